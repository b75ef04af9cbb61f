//! Files that may be compressed with gzip.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

/// The first bytes of a member of gzip.
const MAGIC: [u8; 2] = [0x1F, 0x8B];

/// Bytes that are read at once.
const PIECE: usize = 1 << 18;

/// The content of a file, decompressed if it is gzip. However much it becomes, only a piece of it is kept.
pub(crate) fn content<'f>(file: impl Read + 'f) -> io::Result<Box<dyn BufRead + 'f>> {
    let mut file = BufReader::with_capacity(PIECE, file);
    if file.fill_buf()?.starts_with(&MAGIC) {
        let content = MultiGzDecoder::new(file);
        return Ok(Box::new(BufReader::with_capacity(PIECE, content)));
    }
    Ok(Box::new(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        content(bytes).unwrap().read_to_end(&mut all).unwrap();
        all
    }

    #[test]
    fn a_file_is_read_as_it_is_unless_it_is_gzip() {
        assert_eq!(read(b"HIS019I"), b"HIS019I");
        assert_eq!(read(b""), b"");
        assert_eq!(read(&packed(b"HIS019I")), b"HIS019I");
        // Several members are one file.
        let members = [packed(b"HIS"), packed(b"019I")].concat();
        assert_eq!(read(&members), b"HIS019I");
    }
}
