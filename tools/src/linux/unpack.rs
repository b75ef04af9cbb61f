//! The kernel inside its image.
//!
//! A bzImage is a small program, the boot stage, and the kernel itself as compressed data. Nothing says where the data
//! begin or how they were compressed. So every place that begins like compressed data is tried, and the caller decides
//! whether the result is a kernel.
//!
//! An image from a guest's disk is whatever the guest wrote there, and a few bytes may unpack to gigabytes. So all
//! attempts together have a `Budget`.

use std::{
    cell::Cell,
    io::{self, BufReader, Read},
};

use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

/// A kernel is not longer than this. Longer data are something else.
const LONGEST: u64 = 512 << 20;

/// The most that a dictionary needs, in KiB.
const LARGEST_DICTIONARY: u32 = 512 << 10;

/// How compressed data begins.
const GZIP: &[u8] = b"\x1F\x8B\x08";
const XZ: &[u8] = b"\xFD7zXZ\0";
const ZSTANDARD: &[u8] = b"\x28\xB5\x2F\xFD";

/// What all attempts on one image may take together.
#[derive(Clone, Copy, Debug)]
struct Budget {
    /// Bytes that are read and bytes that are unpacked, also by attempts that fail.
    bytes: u64,
    /// Attempts. Some words of the boot stage and of the data begin like compressed data, but not many.
    attempts: u32,
}

impl Budget {
    /// Several times what a kernel needs.
    const DEFAULT: Self = Self {
        bytes: 1 << 30,
        attempts: 16,
    };
}

/// What may be the kernel: the image itself, if it is not compressed, and everything that can be unpacked from it.
pub fn candidates(image: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    within(Budget::DEFAULT, image)
}

/// The same within a budget.
fn within(mut budget: Budget, image: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let places = (0..image.len()).filter(|&at| is_packed(&image[at..]));
    let unpacked = places.map_while(move |at| {
        budget.attempts = budget.attempts.checked_sub(1)?;
        let left = Cell::new(budget.bytes);
        let found = unpack(&image[at..], &left);
        budget.bytes = left.get();
        (budget.bytes != 0).then_some(found)
    });
    std::iter::once(image.to_vec()).chain(unpacked.flatten())
}

/// Whether this begins like compressed data.
fn is_packed(bytes: &[u8]) -> bool {
    [GZIP, XZ, ZSTANDARD]
        .iter()
        .any(|begin| bytes.starts_with(begin))
}

/// Unpacks the compressed data that this begins with. What that takes is taken from the bytes that are left.
fn unpack(packed: &[u8], left: &Cell<u64>) -> Option<Vec<u8>> {
    // Each byte is paid for once, not with every piece that the decoder takes.
    let input = BufReader::new(Paid { from: packed, left });
    if packed.starts_with(GZIP) {
        whole(GzDecoder::new(input), left)
    } else if packed.starts_with(XZ) {
        whole(
            XzReader::new_mem_limit(input, false, LARGEST_DICTIONARY),
            left,
        )
    } else {
        let limit = u64::from(LARGEST_DICTIONARY) << 10;
        whole(
            StreamingDecoder::new_with_max_window_size(input, limit).ok()?,
            left,
        )
    }
}

/// All data of a decoder; `None` if it fails, or if they are too long or more than is left.
fn whole(decoder: impl Read, left: &Cell<u64>) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    let mut from = Paid {
        from: decoder,
        left,
    }
    .take(LONGEST);
    from.read_to_end(&mut data).ok()?;
    (data.len() as u64 != LONGEST).then_some(data)
}

/// A reader that fails when nothing is left.
struct Paid<'a, R> {
    from: R,
    left: &'a Cell<u64>,
}

impl<R: Read> Read for Paid<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left.get()).unwrap_or(usize::MAX);
        if most == 0 {
            return Err(io::Error::other("it unpacks to too much"));
        }
        let most = most.min(buffer.len());
        let count = self.from.read(&mut buffer[..most])?;
        self.left.set(self.left.get().saturating_sub(count as u64));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    #[test]
    fn compressed_data_are_found_anywhere_in_the_image() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&[7; 5000]).unwrap();
        // Something that begins like compressed data but is not.
        let mut image = [b"boot\x1F\x8B\x08\x28\xB5\x2F\xFD\xFD7zXZ\0", XZ].concat();
        image.extend(encoder.finish().unwrap());
        image.extend(b"behind");
        let found: Vec<Vec<u8>> = candidates(&image).collect();
        assert_eq!(found, [image.clone(), vec![7; 5000]]);
    }

    #[test]
    fn an_xz_stream_and_a_zstandard_frame_are_unpacked() {
        // "kernel\n" as xz and zstd write it.
        let xz = b"\xFD7zXZ\0\0\x01\x69\x22\xDE\x36\x02\0\x21\x01\x16\0\0\0\x74\x2F\xE5\xA3\x01\0\x06kernel\n\0\0\x69\xAE\x8E\x73\0\x01\x1B\x07\x12\xEB\xD4\x17\x90\x42\x99\x0D\x01\0\0\0\0\x01YZ";
        let zstandard = b"\x28\xB5\x2F\xFD\0\x58\x39\0\0kernel\n";
        for packed in [&xz[..], zstandard] {
            let followed = [packed, b"something else"].concat();
            let left = Cell::new(1000);
            assert_eq!(
                unpack(&followed, &left).as_deref(),
                Some(&b"kernel\n"[..]),
                "{packed:?}"
            );
            assert_eq!(left.get(), 1000 - 7 - followed.len() as u64);
            assert_eq!(unpack(&packed[..packed.len() - 9], &left), None);
        }
        assert!(!is_packed(&ZSTANDARD[..3]));
    }

    /// So many zeros, compressed.
    fn zeros(number: usize) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![0; number]).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn an_image_full_of_compressed_zeros_costs_no_more_than_the_budget() {
        let image = zeros(100_000).repeat(20);
        let budget = |bytes, attempts| {
            let found = within(Budget { bytes, attempts }, &image).skip(1);
            found.map(|data| data.len()).collect::<Vec<_>>()
        };
        assert_eq!(budget(1 << 30, 16), [100_000; 16]);
        assert_eq!(budget(250_000, 100), [100_000; 2]);
        assert_eq!(budget(0, 100), [0; 0]);
    }

    #[test]
    fn an_attempt_that_fails_counts_like_one_that_succeeds() {
        // The check at the end is wrong.
        let mut bad = zeros(100_000);
        *bad.last_mut().unwrap() ^= 1;
        let image = [bad.repeat(5), zeros(77)].concat();
        let found = |bytes, attempts| {
            let found = within(Budget { bytes, attempts }, &image).skip(1);
            found.map(|data| data.len()).collect::<Vec<_>>()
        };
        assert_eq!(found(1 << 30, 16), [77]);
        assert_eq!(found(1 << 30, 5), [0; 0]);
        assert_eq!(found(450_000, 16), [0; 0]);
    }
}
