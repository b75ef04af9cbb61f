//! The debug information of an ELF file: the functions and source lines that an instruction comes from.

use addr2line::Context;
use anyhow::{Context as _, Result, bail};
use gimli::{BigEndian, EndianSlice};
use object::{CompressionFormat, Object, ObjectSection};

/// The bytes of a section.
pub(super) type Slice<'d> = EndianSlice<'d, BigEndian>;

/// The debug information of a file.
pub struct DebugInformation<'d>(Context<Slice<'d>>);

/// A function that an instruction is part of.
pub struct Frame<'c, 'd>(addr2line::Frame<'c, Slice<'d>>);

/// The sections of debug information. `whose` names the file for a person.
pub(super) fn dwarf<'d>(elf: &object::File<'d>, whose: &str) -> Result<gimli::Dwarf<Slice<'d>>> {
    let has = |name| elf.section_by_name(name).is_some();
    if !has(".debug_info") || !has(".debug_line") {
        bail!(
            "{whose} has no debug information; build it with some (in Rust: debug = 1, and without strip)"
        );
    }
    let load = |id: gimli::SectionId| -> Result<Slice<'d>> {
        let Some(section) = elf.section_by_name(id.name()) else {
            return Ok(EndianSlice::new(&[], BigEndian));
        };
        let file = section.compressed_data()?;
        if file.format != CompressionFormat::None {
            bail!(
                "the debug information of {whose} is compressed ({}); link it without --compress-debug-sections",
                id.name()
            );
        }
        Ok(EndianSlice::new(file.data, BigEndian))
    };
    gimli::Dwarf::load(load)
}

impl<'d> DebugInformation<'d> {
    /// Reads it. `whose` names the file for a person.
    pub fn read(elf: &object::File<'d>, whose: &str) -> Result<Self> {
        let dwarf = dwarf(elf, whose)?;
        let context = Context::from_dwarf(dwarf);
        Ok(Self(context.with_context(|| {
            format!("the debug information of {whose} is damaged; build it again")
        })?))
    }

    /// The functions of an instruction: the innermost inlined one first, and the one with a symbol last. Damage ends them.
    pub fn frames<'c>(&'c self, address: u64) -> impl Iterator<Item = Frame<'c, 'd>> {
        let mut frames = self.0.find_frames(address).skip_all_loads().ok();
        std::iter::from_fn(move || frames.as_mut()?.next().ok()?.map(Frame))
    }
}

impl<'c> Frame<'c, '_> {
    /// Its name, demangled.
    pub fn function(&self) -> Option<String> {
        let name = self.0.function.as_ref()?.raw_name().ok()?;
        Some(rustc_demangle::demangle(&name).to_string())
    }

    /// The source file of the instruction in this function, or of the call of the one before it, and the line; 0 if that
    /// is not known.
    pub fn place(&self) -> Option<(&'c str, u32)> {
        let location = self.0.location.as_ref()?;
        Some((location.file?, location.line.unwrap_or(0)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use object::{
        Architecture, BinaryFormat, Endianness, SectionFlags, SectionKind,
        elf::{ELFCOMPRESS_ZLIB, SHF_COMPRESSED},
        write,
    };

    use super::*;

    /// An ELF with these sections.
    fn elf(sections: &[(&str, u64, Vec<u8>)]) -> Vec<u8> {
        let mut file = write::Object::new(BinaryFormat::Elf, Architecture::S390x, Endianness::Big);
        for (name, sh_flags, bytes) in sections {
            let name = name.as_bytes().to_vec();
            let section = file.add_section(Vec::new(), name, SectionKind::Debug);
            file.append_section_data(section, bytes, 1);
            let sh_flags = *sh_flags;
            file.section_mut(section).flags = SectionFlags::Elf { sh_flags };
        }
        file.write().unwrap()
    }

    /// With its length before it.
    fn with_length(bytes: &[u8]) -> Vec<u8> {
        [&(bytes.len() as u32).to_be_bytes(), bytes].concat()
    }

    /// `outer` at 1000-100F; in its second half `inner` is inlined, by line 11 of a.rs.
    fn inlined() -> Vec<u8> {
        // Line 10 at 1000, line 30 at 1008.
        elf(&sections(&[3, 9, 1, 2, 8, 3, 20, 1, 2, 8, 0, 1, 1]))
    }

    /// Its debug information, with a line program that begins in line 1 of a.rs at 1000.
    pub(crate) fn sections(lines: &[u8]) -> [(&'static str, u64, Vec<u8>); 3] {
        // Tag, children; attributes and forms.
        let abbreviations = [
            &[1, 0x11, 1, 0x11, 1, 0x12, 6, 0x10, 0x17, 0, 0][..], // unit: addresses, lines
            &[2, 0x2E, 0, 0x03, 8, 0x20, 0x0B, 0, 0],              // function that is inlined
            &[3, 0x2E, 1, 0x03, 8, 0x11, 1, 0x12, 6, 0, 0],        // function
            &[
                4, 0x1D, 0, 0x31, 0x13, 0x11, 1, 0x12, 6, 0x58, 0x0B, 0x59, 0x0B, 0, 0,
            ], // its place
            &[0],
        ]
        .concat();
        let range =
            |begin: u64, length: u32| [&begin.to_be_bytes()[..], &length.to_be_bytes()].concat();
        // Behind the length: DWARF 4, the abbreviations at 0, addresses of 8 bytes.
        let head = [0, 4, 0, 0, 0, 0, 8];
        let unit = [&[1][..], &range(0x1000, 16), &[0; 4]].concat();
        let inner_at = (4 + head.len() + unit.len()) as u32;
        let unit = [
            &head[..],
            &unit,
            b"\x02inner\0\x01",
            b"\x03outer\0",
            &range(0x1000, 16),
            &[4],
            &inner_at.to_be_bytes(),
            &range(0x1008, 8),
            &[1, 11, 0, 0],
        ]
        .concat();
        let program = [&[0, 9, 2][..], &0x1000_u64.to_be_bytes(), lines].concat();
        let head = [
            &[1, 1, 1, 0xFB, 14, 13][..],
            &[0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1],
            b"\0a.rs\0\0\0\0\0",
        ]
        .concat();
        let lines = [&[0, 4], &with_length(&head)[..], &program].concat();
        [
            (".debug_abbrev", 0, abbreviations),
            (".debug_info", 0, with_length(&unit)),
            (".debug_line", 0, with_length(&lines)),
        ]
    }

    #[test]
    fn an_instruction_has_the_functions_that_are_inlined_there_and_their_lines() {
        let bytes = inlined();
        let elf = object::File::parse(&bytes[..]).unwrap();
        let debug = DebugInformation::read(&elf, "the file").unwrap();
        let found = |address| -> Vec<(String, Option<(&str, u32)>)> {
            let frames = debug.frames(address);
            frames
                .map(|frame| (frame.function().unwrap(), frame.place()))
                .collect()
        };
        assert_eq!(found(0x1002), [("outer".to_owned(), Some(("a.rs", 10)))]);
        assert_eq!(
            found(0x100A),
            [
                ("inner".to_owned(), Some(("a.rs", 30))),
                ("outer".to_owned(), Some(("a.rs", 11)))
            ]
        );
        assert!(found(0x2000).is_empty());
    }

    #[test]
    fn a_file_without_readable_debug_information_is_refused_with_what_helps() {
        let refusal = |sections: &[(&str, u64, Vec<u8>)]| {
            let bytes = elf(sections);
            let elf = object::File::parse(&bytes[..]).unwrap();
            let refused = DebugInformation::read(&elf, "the guest's file").err();
            format!("{:#}", refused.unwrap())
        };
        assert!(refusal(&[]).starts_with("the guest's file has no debug information; build it"));
        let compressed = [&ELFCOMPRESS_ZLIB.to_be_bytes()[..], &[0; 20], &[0x78]].concat();
        let compressed = refusal(&[
            (".debug_info", u64::from(SHF_COMPRESSED), compressed),
            (".debug_line", 0, Vec::new()),
        ]);
        assert!(
            compressed.contains("--compress-debug-sections"),
            "{compressed}"
        );
        let damaged = [
            (".debug_info", 0, vec![0, 0, 0, 99]),
            (".debug_line", 0, Vec::new()),
        ];
        assert!(refusal(&damaged).contains("damaged"));
    }
}
