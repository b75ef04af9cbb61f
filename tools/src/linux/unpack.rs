//! The kernel inside its image.
//!
//! A bzImage is a small program, the boot stage, and the kernel itself as compressed data. Nothing says where the data
//! begin or how they were compressed. So every place that begins like compressed data is tried, and the caller decides
//! whether the result is a kernel.

use std::io::{Cursor, Read};

use flate2::read::GzDecoder;
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

/// What may be the kernel: the image itself, if it is not compressed, and everything that can be unpacked from it.
pub fn candidates(image: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let places = (0..image.len()).filter_map(|at| unpack(&image[at..]));
    std::iter::once(image.to_vec()).chain(places)
}

/// Unpacks the compressed data that this begins with, if it does.
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

/// All data of a reader; `None` if it fails or is too long.
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
