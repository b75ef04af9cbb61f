//! The kernel inside its image.
//!
//! A bzImage is a small program, the boot stage, and the kernel itself as compressed data, with nothing
//! before it that says where it begins or how it was compressed. So every place that begins like compressed
//! data is tried, and what comes out is the kernel if its caller finds in it what a kernel has.

use std::io::{Cursor, Read};

use flate2::read::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

/// A kernel is no longer than this, and data that seems to be is none.
const LONGEST: u64 = 512 << 20;

/// A dictionary needs no more than this, in KiB.
const LARGEST_DICTIONARY: u32 = 512 << 10;

/// How compressed data begins.
const GZIP: &[u8] = b"\x1F\x8B\x08";
const XZ: &[u8] = b"\xFD7zXZ\0";
const ZSTANDARD: &[u8] = b"\x28\xB5\x2F\xFD";

/// What the image may hold: itself, if nothing is compressed, and all that can be unpacked from it.
pub fn candidates(image: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let places = (0..image.len()).filter_map(|at| unpack(&image[at..]));
    std::iter::once(image.to_vec()).chain(places)
}

/// The data that this begins with, if it is compressed data.
fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let packed_at = Cursor::new(packed);
    if packed.starts_with(GZIP) {
        whole(GzDecoder::new(packed_at))
    } else if packed.starts_with(XZ) {
        whole(XzReader::new_mem_limit(
            packed_at,
            false,
            LARGEST_DICTIONARY,
        ))
    } else if packed.starts_with(ZSTANDARD) {
        let limit = u64::from(LARGEST_DICTIONARY) << 10;
        whole(StreamingDecoder::new_with_max_window_size(packed_at, limit).ok()?)
    } else {
        None
    }
}

/// All that a reader gives, unless it stumbles or does not end.
fn whole(reader: impl Read) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    let length = reader.take(LONGEST).read_to_end(&mut data).ok()?;
    (length as u64 != LONGEST).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    #[test]
    fn what_was_compressed_is_found_behind_whatever_stands_before_it() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&[7; 5000]).unwrap();
        // Something that begins like it, and is none.
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
            assert_eq!(
                unpack(&followed).as_deref(),
                Some(&b"kernel\n"[..]),
                "{packed:?}"
            );
            assert_eq!(unpack(&packed[..packed.len() - 9]), None);
        }
        assert_eq!(unpack(&ZSTANDARD[..3]), None);
    }
}
