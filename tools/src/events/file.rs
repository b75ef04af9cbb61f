//! `trace.bin`: the payloads of a run's traces as the machine sent them, each behind its length (4 bytes, big-endian).

use std::{
    io::{self, BufReader, ErrorKind, Read},
    path::Path,
};

use anyhow::{Context, Result, bail};
use link::{frame::LARGEST_PAYLOAD, trace};

use crate::folder::{self, EVENTS};

/// A payload as the file has it.
pub fn framed(payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(payload);
    bytes
}

/// Gives every payload of a directory's file to `each`, until it returns that it has enough.
///
/// # Errors
/// There is no file, or it is damaged; `each` has got the payloads before the damage.
pub fn read(directory: &Path, mut each: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
    let path = directory.join(EVENTS);
    let file = match folder::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "{} holds no traced events; name the directory of a run that traced some",
            directory.display()
        ),
        opened => opened.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let mut file = BufReader::new(file);
    let mut at = 0_u64;
    loop {
        let wrong = || format!("{} is damaged at offset {at}", path.display());
        let Some(payload) = next(&mut file).with_context(wrong)? else {
            return Ok(());
        };
        trace::parse(&payload, |_| ()).with_context(wrong)?;
        if !each(&payload)? {
            return Ok(());
        }
        at += 4 + payload.len() as u64;
    }
}

fn next(file: &mut impl Read) -> Result<Option<Vec<u8>>> {
    let mut length = Vec::new();
    file.take(4).read_to_end(&mut length)?;
    let length = match length[..] {
        [] => return Ok(None),
        [a, b, c, d] => u32::from_be_bytes([a, b, c, d]) as usize,
        _ => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
    };
    if length > LARGEST_PAYLOAD {
        bail!("{length} bytes are too many for a payload");
    }
    let mut payload = vec![0; length];
    file.read_exact(&mut payload)?;
    Ok(Some(payload))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::trace::tests::payload;
    use std::fs;

    fn payloads(bytes: &[u8]) -> (usize, Result<()>) {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(EVENTS), bytes).unwrap();
        let mut count = 0;
        let done = read(directory.path(), |_| {
            count += 1;
            Ok(true)
        });
        (count, done)
    }

    #[test]
    fn payloads_are_read_back_up_to_the_first_damage() {
        let two = [framed(&payload(0, 0, 2)), framed(&payload(1, 0, 1))].concat();
        let (count, done) = payloads(&two);
        assert!((count, done.is_ok()) == (2, true));
        for cut in [1, 5] {
            let (count, done) = payloads(&two[..two.len() - cut]);
            let error = format!("{:#}", done.unwrap_err());
            assert!(count == 1 && error.contains("damaged at offset"), "{error}");
        }
        let (count, done) = payloads(&[two, vec![0xFF; 8]].concat());
        assert!(count == 2 && done.is_err());
        let directory = tempfile::tempdir().unwrap();
        let error = read(directory.path(), |_| Ok(true))
            .unwrap_err()
            .to_string();
        assert!(error.contains("holds no traced events"), "{error}");
    }
}
