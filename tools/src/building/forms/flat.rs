//! The image as it is in storage, taken out of its ELF.

use anyhow::{Context, Result, bail};
use object::{
    BigEndian, Object, ObjectSymbol,
    elf::{FileHeader64, PT_LOAD},
    read::elf::{FileHeader, ProgramHeader},
};

use super::{Carried, Part};

/// Parts with a smaller gap between them become one, with zeros in the gap.
const GAP: u64 = 64 << 10;

/// The bytes of the image in storage, from its first to its last address.
#[derive(Debug, PartialEq, Eq)]
pub struct Flat {
    /// Where it is loaded.
    pub address: u64,
    /// Where it is entered.
    pub entry: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A header of the image's ELF.
pub type Header = FileHeader64<BigEndian>;

/// The header of the image's ELF.
pub fn parse(elf: &[u8]) -> Result<&Header> {
    let header = Header::parse(elf).context("the image's ELF header is damaged; build it again")?;
    Ok(header)
}

/// The bytes of the image, with zeros where it has none.
pub fn flatten(elf: &[u8]) -> Result<Flat> {
    let header = parse(elf)?;
    let segments = header
        .program_headers(BigEndian, elf)
        .context("the image's program headers are damaged; build it again")?;
    let loads = || {
        segments.iter().filter(|segment| {
            segment.p_type(BigEndian) == PT_LOAD && segment.p_memsz(BigEndian) > 0
        })
    };
    let Some(address) = loads().map(|segment| segment.p_paddr(BigEndian)).min() else {
        bail!("the image has no segments; build it again");
    };
    let mut bytes = Vec::new();
    for segment in loads() {
        let start = (segment.p_paddr(BigEndian) - address) as usize;
        let Ok(data) = segment.data(BigEndian, elf) else {
            bail!("the image's segments are damaged; build it again")
        };
        let end = start + (segment.p_memsz(BigEndian) as usize).max(data.len());
        if end > 16 << 20 {
            bail!("the image is spread over {end} bytes; it must be in one piece");
        }
        bytes.resize(bytes.len().max(end), 0);
        bytes[start..start + data.len()].copy_from_slice(data);
    }
    Ok(Flat {
        address,
        entry: header.e_entry(BigEndian),
        bytes,
    })
}

/// The address that a symbol of the image has, as it was linked.
pub fn symbol(elf: &[u8], name: &str) -> Result<u64> {
    let file = object::File::parse(elf).context("the image's ELF is damaged; build it again")?;
    let symbol = file
        .symbol_by_name(name)
        .with_context(|| format!("the image has no symbol {name}; build it again"))?;
    Ok(symbol.address())
}

/// All that must be in storage, in the order of its addresses: the image first.
pub fn contents(flat: Flat, carried: &Carried) -> Vec<Part> {
    let image = Part {
        address: flat.address,
        bytes: flat.bytes,
    };
    merged([image].into_iter().chain(carried.parts.iter().cloned()))
}

/// These parts in the order of their addresses, those close to each other as one.
pub fn merged(parts: impl IntoIterator<Item = Part>) -> Vec<Part> {
    let mut parts: Vec<Part> = parts.into_iter().collect();
    parts.sort_by_key(|part| part.address);
    let mut merged: Vec<Part> = Vec::new();
    for part in parts {
        match merged.last_mut() {
            Some(last) if part.address >= last.end() && part.address - last.end() < GAP => {
                last.bytes.resize((part.address - last.address) as usize, 0);
                last.bytes.extend(part.bytes);
            }
            _ => merged.push(part),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::{super::test_image::elf, *};

    #[test]
    fn the_flat_image_has_every_segment_at_its_distance_and_zeros_behind_it() {
        let flat = flatten(&elf()).unwrap();
        assert_eq!(
            (flat.address, flat.entry, flat.bytes.len()),
            (0x2_0000, 0x2_0004, 0x18)
        );
        assert_eq!(flat.bytes[..4], [1, 2, 3, 4]);
        assert_eq!(flat.bytes[4..16], [0; 12]);
        assert_eq!(flat.bytes[16..], [5, 6, 7, 8, 0, 0, 0, 0]);
    }

    #[test]
    fn parts_close_to_each_other_become_one_with_zeros_between() {
        let part = |address, bytes: &[u8]| Part {
            address,
            bytes: bytes.to_vec(),
        };
        let merged = merged([
            part(0x100_0000, &[7]),
            part(0x2_0000, &[1, 2]),
            part(0x2_0004, &[3]),
        ]);
        let expected = [part(0x2_0000, &[1, 2, 0, 0, 3]), part(0x100_0000, &[7])];
        assert_eq!(merged, expected);
    }

    #[test]
    fn a_symbol_that_is_not_there_is_named() {
        let mut elf = elf();
        // e_shoff, e_shnum and e_shstrndx: no sections.
        elf[40..48].fill(0);
        elf[60..64].fill(0);
        let error = symbol(&elf, "_start_with_parts").unwrap_err().to_string();
        assert!(error.contains("_start_with_parts"), "{error}");
    }
}
