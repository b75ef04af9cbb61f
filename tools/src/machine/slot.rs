//! A slot: pages of a started guest that the host fills before the guest reads them.
//!
//! A guest that is kept for later runs cannot know what they will ask of it. So it holds pages that only the host gives a
//! meaning: each begins with a sign that no other run has and its number, and the host finds them in storage by that.
//! What the guest then reads there is the same for it as if it had always been there.

use std::{
    fs::File,
    io,
    os::unix::fs::{FileExt, MetadataExt},
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// Storage is read in pieces of this length, which is a number of pages.
const PIECE: usize = 4 << 20;

/// Digits of the number of a page.
const DIGITS: usize = 8;

/// The pages of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    sign: String,
    pages: usize,
}

/// Where the pages of a slot are in storage: the number of the page, and its absolute address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places(Vec<(usize, u64)>);

impl Slot {
    /// A slot for as many bytes, with a sign that nothing else has.
    pub fn new(sign: &str, bytes: usize) -> Self {
        Self {
            sign: format!("a page for the host {sign} "),
            pages: bytes.div_ceil(PAGE),
        }
    }

    /// Its bytes before the host fills it.
    pub fn blank(&self) -> Vec<u8> {
        (0..self.pages)
            .flat_map(|number| self.page(number))
            .collect()
    }

    /// A page that no program can have in part: all of it is the sign and the number.
    fn page(&self, number: usize) -> Vec<u8> {
        let text = format!("{}{number:0DIGITS$} ", self.sign).into_bytes();
        text.iter().copied().cycle().take(PAGE).collect()
    }

    /// Finds its pages in storage: where the guest has them, and where the machine keeps what it loads again.
    pub fn find(&self, storage: &File) -> Result<Places> {
        let mut places = Vec::new();
        let length = storage.metadata()?.size();
        let mut piece = vec![0; PIECE];
        let mut at = 0;
        while let Some(begin) = next_data(storage, at, length)? {
            let begin = begin - begin % PAGE as u64;
            let read = read_at_most(storage, &mut piece, begin)?;
            for (page, address) in piece[..read]
                .chunks_exact(PAGE)
                .zip((begin..).step_by(PAGE))
            {
                places.extend(self.number(page).map(|number| (number, address)));
            }
            at = begin + PIECE as u64;
        }
        let missing = (0..self.pages).find(|&page| !places.iter().any(|&(found, _)| found == page));
        ensure!(
            missing.is_none(),
            "the started guest does not hold page {} of the {} that the host fills",
            missing.unwrap_or_default(),
            self.pages
        );
        Ok(Places(places))
    }

    /// The number of the page, if these bytes are one.
    fn number(&self, bytes: &[u8]) -> Option<usize> {
        let digits = bytes.strip_prefix(self.sign.as_bytes())?.get(..DIGITS)?;
        let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
        (number < self.pages && bytes == self.page(number)).then_some(number)
    }
}

impl Places {
    /// Fills the pages with this content, and with zeros after it.
    pub fn fill(&self, storage: &File, content: &[u8]) -> Result<()> {
        let room = self.0.iter().map(|&(number, _)| (number + 1) * PAGE).max();
        ensure!(
            content.len() <= room.unwrap_or(0),
            "{} bytes do not fit into a slot of {}",
            content.len(),
            room.unwrap_or(0)
        );
        for &(number, address) in &self.0 {
            let mut page = [0; PAGE];
            let part = content.get(number * PAGE..).unwrap_or_default();
            let part = &part[..part.len().min(PAGE)];
            page[..part.len()].copy_from_slice(part);
            storage
                .write_all_at(&page, address)
                .context("cannot write into the guest's storage")?;
        }
        Ok(())
    }
}

/// Where the next bytes of a sparse file are that may not be zero.
pub fn next_data(file: &File, from: u64, length: u64) -> io::Result<Option<u64>> {
    if from >= length {
        return Ok(None);
    }
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(from)) {
        Ok(at) => Ok(Some(at)),
        Err(rustix::io::Errno::NXIO) => Ok(None),
        // This file system does not know where they are.
        Err(rustix::io::Errno::INVAL) => Ok(Some(from)),
        Err(error) => Err(error.into()),
    }
}

/// Reads from a file at this place until the buffer is full or the file ends.
pub fn read_at_most(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], at + read as u64)? {
            0 => break,
            length => read += length,
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Storage of 16 MiB that is a hole, but for these bytes.
    fn storage(parts: &[(u64, &[u8])]) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(16 << 20).unwrap();
        for (at, bytes) in parts {
            file.write_all_at(bytes, *at).unwrap();
        }
        file
    }

    fn bytes(file: &File, at: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, at).unwrap();
        bytes
    }

    #[test]
    fn pages_are_found_wherever_they_are_and_filled() {
        let slot = Slot::new("123", 2 * PAGE + 1);
        let blank = slot.blank();
        let pages: Vec<&[u8]> = blank.chunks(PAGE).collect();
        let kept = 0xE0_0000;
        let storage = storage(&[
            (0x3F_F000, pages[2]),
            (0x40_0000, pages[0]),
            (0x7000, pages[1]),
            (kept, &blank),
        ]);
        let places = slot.find(&storage).unwrap();
        let content: Vec<u8> = (0..PAGE + 10).map(|n| (n % 251) as u8).collect();
        places.fill(&storage, &content).unwrap();
        assert_eq!(bytes(&storage, 0x40_0000, PAGE), content[..PAGE]);
        assert_eq!(bytes(&storage, 0x7000, 10), content[PAGE..]);
        assert_eq!(bytes(&storage, 0x7000 + 10, 100), [0; 100]);
        assert_eq!(bytes(&storage, 0x3F_F000, PAGE), [0; PAGE]);
        assert_eq!(bytes(&storage, kept, content.len()), content);
        assert!(places.fill(&storage, &vec![1; 3 * PAGE + 1]).is_err());
    }

    #[test]
    fn what_is_not_a_whole_page_at_its_place_stays_as_it_is() {
        let slot = Slot::new("123", 2 * PAGE);
        let blank = slot.blank();
        let mut spoilt = blank[PAGE..].to_vec();
        spoilt[4000] ^= 1;
        let storage = storage(&[(0, &blank), (0x8000, &spoilt), (0x1_0010, &blank)]);
        let places = slot.find(&storage).unwrap();
        assert_eq!(places, Places(vec![(0, 0), (1, PAGE as u64)]));
        let other = Slot::new("124", PAGE);
        assert!(other.find(&storage).is_err());
    }

    #[test]
    fn a_guest_that_does_not_hold_all_pages_is_refused() {
        let slot = Slot::new("1", 3 * PAGE);
        let blank = slot.blank();
        let storage = storage(&[(0, &blank[..2 * PAGE])]);
        let error = slot.find(&storage).unwrap_err().to_string();
        assert!(error.contains("page 2 of the 3"), "{error}");
    }
}
