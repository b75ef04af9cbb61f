//! The decoder against texts that an assembler made, and the scanner against code and what looks like it.

mod assignment;
mod decoding;
mod page_ends;
mod placed;
mod scanning;
mod stores;
mod strict;

/// Text of up to six bytes, padded with zeros.
fn padded(bytes: &[u8]) -> [u8; 6] {
    let mut text = [0; 6];
    text[..bytes.len()].copy_from_slice(bytes);
    text
}
