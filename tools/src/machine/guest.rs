//! The guest that a run measures: where its bytes go and where it starts.
//!
//! The command line names a guest in one of three ways: a bundled guest by its name, an ELF file, or a flat image that
//! begins with an IPL PSW, as a real IPL record does.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use link::loader::{MOST_CPUS, MOST_SEGMENTS};
use object::{
    BigEndian, Object, ObjectSection,
    elf::{EM_S390, ET_DYN, ET_EXEC, FileHeader64, PT_LOAD},
    read::elf::{FileHeader, ProgramHeader},
};

use thiserror::Error;

use crate::{
    building::build,
    calls::places::Places,
    computer::{input_file, progress::Progress, visible::visible},
    nearest,
    symbols::{SymbolTable, places::PlaceNames, signed::Nonce},
};

/// PSW bits 31 and 32: 64-bit addressing. An ELF starts disabled, in supervisor state, DAT off.
pub const ELF_PSW_MASK: u64 = 0x0000_0001_8000_0000;

/// Bit 12 of a PSW of 64 bits is one; the z/Architecture PSW that it becomes has a zero there.
const SHORT_PSW_BIT_12: u64 = 0x0008_0000_0000_0000;

/// Instruction address of a PSW of 64 bits.
const SHORT_PSW_ADDRESS: u64 = 0x7FFF_FFFF;

/// A part of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Guest absolute address.
    pub destination: u64,
    /// Bytes in guest storage. Those beyond `bytes` are zeros.
    pub length: u64,
    /// What is loaded.
    pub bytes: Vec<u8>,
}

/// A guest, ready to be staged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// What reports call it.
    pub name: String,
    /// The file that it came from.
    pub file: PathBuf,
    /// Initial PSW, bits 0-63.
    pub psw_mask: u64,
    /// Initial PSW, bits 64-127.
    pub psw_address: u64,
    /// Its parts in storage.
    pub pieces: Vec<Piece>,
    /// Its routines.
    pub symbols: SymbolTable,
    /// What the operator may name in it.
    pub names: PlaceNames,
    /// Whether it is Linux: a report then tells the programs in it apart.
    pub is_linux: bool,
    /// How many CPUs it says that it needs.
    pub cpus: u32,
    /// With what its first process signs what it says on the console.
    pub nonce: Option<Nonce>,
    /// The piece whose bytes the host may change while the guest is held.
    pub open_piece: Option<usize>,
    /// The archives that its programs come from, if call stacks go on in them.
    pub archives: Vec<Vec<u8>>,
}

/// No guest has this name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "no guest {}: it is neither a file nor bundled{near}. Give the path of an ELF or a flat image; `cargo measure run --list` shows the bundled guests",
    visible(name)
)]
pub struct UnknownGuest {
    /// What was written.
    pub name: String,
    /// The nearest names, in words.
    near: String,
}

impl Guest {
    /// Refuses an argument that names no guest.
    pub fn check(argument: &str) -> Result<()> {
        let bundled = build::bundled_guests();
        let is_there = bundled.iter().any(|name| name == argument) || Path::new(argument).exists();
        if !is_there && bundled.is_empty() {
            return Err(build::without_sources(&format!("the guest {argument}")));
        }
        if !is_there {
            let names: Vec<&str> = bundled.iter().map(String::as_str).collect();
            let near = nearest::mentioned(&nearest::nearest(argument, names));
            bail!(UnknownGuest {
                name: argument.to_owned(),
                near,
            });
        }
        Ok(())
    }

    /// The guest that an argument names. A bundled one is built first.
    pub fn find(argument: &str, progress: &Progress) -> Result<Self> {
        Self::check(argument)?;
        if build::is_bundled(argument) {
            let file = build::build_guest(argument, progress)?;
            return Self::load(&file);
        }
        Self::load(Path::new(argument))
    }

    /// The guest in a file.
    pub fn load(file: &Path) -> Result<Self> {
        let data = input_file::read_once(file)
            .with_context(|| format!("cannot read the guest {}", file.display()))?;
        let name = match file.file_stem() {
            Some(stem) => stem.to_string_lossy().into_owned(),
            None => bail!("{} does not name a guest", file.display()),
        };
        Self::parse(&name, file, &data)
            .with_context(|| format!("{} is not a guest", file.display()))
    }

    /// The guest in these bytes.
    pub fn parse(name: &str, file: &Path, data: &[u8]) -> Result<Self> {
        if data.starts_with(b"\x7FELF") {
            Self::from_elf(name, file, data)
        } else {
            Self::from_flat(name, file, data)
        }
    }

    /// First address behind the guest.
    pub fn end(&self) -> u64 {
        // `parse` has checked that no piece leaves the address range.
        self.pieces
            .iter()
            .map(|piece| piece.destination + piece.length)
            .max()
            .unwrap_or(0)
    }

    /// Where its routines have their return addresses.
    pub fn places(&self) -> Places {
        Places::of(&self.symbols, |range| {
            let found = self.pieces.iter().find_map(|piece| {
                let first = usize::try_from(range.start.checked_sub(piece.destination)?).ok()?;
                let rest = piece.bytes.get(first..)?;
                let length = usize::try_from(range.end - range.start).ok()?;
                rest.get(..length.min(rest.len()))
            });
            found.unwrap_or_default()
        })
    }

    fn from_elf(name: &str, file: &Path, data: &[u8]) -> Result<Self> {
        if data.get(4..6) != Some(&[2, 2][..]) {
            bail!("it is an ELF file, but not one of 64 bits and big-endian; build it for s390x");
        }
        let header = FileHeader64::<BigEndian>::parse(data)
            .context("its ELF header is damaged; build it again")?;
        let machine = header.e_machine(BigEndian);
        if machine != EM_S390 {
            bail!(
                "it is an ELF file for machine {machine}, not for s390x (22); build it for s390x"
            );
        }
        // As QEMU's -kernel does, a position-independent program is loaded at the addresses in its headers. It relocates
        // itself, if at all.
        let kind = header.e_type(BigEndian);
        if kind != ET_EXEC && kind != ET_DYN {
            bail!("it is an ELF file of type {kind}, not a linked program (2 or 3); link it");
        }
        let headers = header
            .program_headers(BigEndian, data)
            .context("its program headers are damaged; build it again")?;
        let mut pieces = Vec::new();
        for segment in headers
            .iter()
            .filter(|segment| segment.p_type(BigEndian) == PT_LOAD)
        {
            let (destination, length) = (segment.p_paddr(BigEndian), segment.p_memsz(BigEndian));
            let Ok(bytes) = segment.data(BigEndian, data) else {
                bail!(
                    "its segment at {destination:X} lies behind the end of the file; build it again"
                );
            };
            if bytes.len() as u64 > length || destination.checked_add(length).is_none() {
                bail!(
                    "its segment at {destination:X} has the impossible length {length:X}; build it again"
                );
            }
            if length > 0 {
                pieces.push(Piece {
                    destination,
                    length,
                    bytes: bytes.to_vec(),
                });
            }
        }
        let entry = header.e_entry(BigEndian);
        let starts_in =
            |piece: &Piece| (piece.destination..piece.destination + piece.length).contains(&entry);
        if !entry.is_multiple_of(2) || !pieces.iter().any(starts_in) {
            bail!(
                "its entry {entry:X} is not an instruction address in any of its segments; name one with ENTRY in its linker script"
            );
        }
        if pieces.len() > MOST_SEGMENTS {
            bail!(
                "it has {} segments, and at most {MOST_SEGMENTS} can be loaded; merge some in its linker script",
                pieces.len()
            );
        }
        let elf = object::File::parse(data).context("its sections are damaged; build it again")?;
        debug_assert!(!elf.is_little_endian());
        Ok(Self {
            nonce: None,
            open_piece: None,
            archives: Vec::new(),
            name: name.to_owned(),
            file: file.to_owned(),
            psw_mask: ELF_PSW_MASK,
            psw_address: entry,
            pieces,
            symbols: SymbolTable::from_elf(&elf, name),
            names: PlaceNames::from_elf(&elf),
            is_linux: false,
            cpus: declared_cpus(&elf),
        })
    }

    fn from_flat(name: &str, file: &Path, data: &[u8]) -> Result<Self> {
        let Some(psw) = data
            .first_chunk::<8>()
            .map(|bytes| u64::from_be_bytes(*bytes))
        else {
            bail!(
                "it has {} bytes: too short for an ELF file and for an image with an IPL PSW",
                data.len()
            );
        };
        let address = psw & SHORT_PSW_ADDRESS;
        if psw & SHORT_PSW_BIT_12 == 0 || !address.is_multiple_of(2) || address >= data.len() as u64
        {
            bail!(
                "it is not an ELF file, and {psw:016X} at its start is no IPL PSW that starts within its {} bytes; give an ELF file, or put an IPL PSW (bit 12 one, even address) at 0",
                data.len()
            );
        }
        let piece = Piece {
            destination: 0,
            length: data.len() as u64,
            bytes: data.to_vec(),
        };
        Ok(Self {
            nonce: None,
            open_piece: None,
            archives: Vec::new(),
            name: name.to_owned(),
            file: file.to_owned(),
            psw_mask: psw & !SHORT_PSW_BIT_12 & !SHORT_PSW_ADDRESS,
            psw_address: address,
            pieces: vec![piece],
            symbols: SymbolTable::default(),
            names: PlaceNames::default(),
            is_linux: false,
            cpus: 1,
        })
    }
}

/// The CPUs that a bundled guest needs: `cpus=N` in a line of its section `.clause`, by default 1.
fn declared_cpus(elf: &object::File<'_>) -> u32 {
    let section = elf.section_by_name(".clause");
    let data = section.and_then(|section| section.data().ok());
    let text = String::from_utf8_lossy(data.unwrap_or_default());
    let declared = text.lines().find_map(|line| line.strip_prefix("cpus="));
    declared
        .and_then(|number| number.parse().ok())
        .map_or(1, |number: u32| number.clamp(1, MOST_CPUS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(data: &[u8]) -> Result<Guest> {
        Guest::parse("g", Path::new("/tmp/g"), data)
    }

    fn refusal(data: &[u8]) -> String {
        format!("{:#}", parse(data).unwrap_err())
    }

    /// A small ELF: header, one program header, four bytes of text.
    fn elf() -> Vec<u8> {
        let mut data = b"\x7FELF\x02\x02\x01\0\0\0\0\0\0\0\0\0".to_vec();
        data.extend(2u16.to_be_bytes()); // ET_EXEC
        data.extend(22u16.to_be_bytes()); // EM_S390
        data.extend(1u32.to_be_bytes());
        data.extend(0x20_0000u64.to_be_bytes()); // entry
        data.extend(64u64.to_be_bytes()); // program headers
        data.extend([0; 8]); // no sections
        data.extend([0; 4]);
        for half in [64u16, 56, 1, 64, 0, 0] {
            data.extend(half.to_be_bytes());
        }
        data.extend(1u32.to_be_bytes()); // PT_LOAD
        data.extend(5u32.to_be_bytes());
        for word in [120u64, 0x20_0000, 0x20_0000, 4, 0x100, 0x1000] {
            data.extend(word.to_be_bytes());
        }
        data.extend([0x07, 0xFE, 0x00, 0x00]);
        data
    }

    #[test]
    fn an_elf_gives_its_segments_and_starts_at_its_entry() {
        let guest = parse(&elf()).unwrap();
        assert_eq!(
            (guest.psw_mask, guest.psw_address),
            (0x1_8000_0000, 0x20_0000)
        );
        let piece = Piece {
            destination: 0x20_0000,
            length: 0x100,
            bytes: vec![7, 0xFE, 0, 0],
        };
        assert_eq!(guest.pieces, [piece]);
        assert_eq!(guest.end(), 0x20_0100);
    }

    #[test]
    fn a_position_independent_elf_is_loaded_at_the_addresses_in_its_headers() {
        let mut data = elf();
        data[17] = 3;
        let guest = parse(&data).unwrap();
        assert_eq!(guest, parse(&elf()).unwrap());
        assert_eq!(guest.pieces[0].destination, 0x20_0000);
    }

    #[test]
    fn an_elf_for_another_machine_is_refused_with_the_remedy() {
        let with = |at: usize, byte: u8| {
            let mut data = elf();
            data[at] = byte;
            refusal(&data)
        };
        assert!(with(19, 62).contains("machine 62, not for s390x"));
        assert!(with(5, 1).contains("big-endian"));
        assert!(with(17, 1).contains("type 1, not a linked program"));
        assert!(with(31, 1).contains("entry"));
        assert!(with(64 + 8 + 5, 1).contains("behind the end of the file"));
    }

    #[test]
    fn a_flat_image_starts_at_its_ipl_psw_in_the_addressing_mode_it_says() {
        let mut data = vec![0; 0x400];
        data[..8].copy_from_slice(&0x0008_0000_8000_0200u64.to_be_bytes());
        let guest = parse(&data).unwrap();
        assert_eq!((guest.psw_mask, guest.psw_address), (0x8000_0000, 0x200));
        assert_eq!(guest.pieces[0].length, 0x400);
    }

    #[test]
    fn a_flat_image_without_an_ipl_psw_is_refused() {
        assert!(refusal(b"short").contains("too short"));
        assert!(refusal(&[0; 64]).contains("no IPL PSW"));
        let mut odd = vec![0; 0x400];
        odd[..8].copy_from_slice(&0x0008_0000_8000_0201u64.to_be_bytes());
        assert!(refusal(&odd).contains("no IPL PSW"));
        odd[..8].copy_from_slice(&0x0008_0000_8000_0400u64.to_be_bytes());
        assert!(refusal(&odd).contains("no IPL PSW"));
    }

    #[test]
    fn a_guest_that_does_not_exist_is_refused_with_the_way_to_the_choices() {
        let error = Guest::find("/no/such/guest", &Progress::Silent)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("/no/such/guest") && error.contains("run --list"),
            "{error}"
        );
    }

    #[test]
    fn a_misspelt_guest_is_answered_with_the_nearest_names_and_not_with_all() {
        let refusal = |name: &str| {
            let error = Guest::find(name, &Progress::Silent).unwrap_err();
            error.to_string()
        };
        assert!(
            refusal("hsah").contains("the nearest is hash."),
            "{}",
            refusal("hsah")
        );
        let behaviour = refusal("b_sampling_wiat");
        assert!(
            behaviour.contains("the nearest are b_sampling_wait,"),
            "{behaviour}"
        );
        for name in ["hsah", "b_", "nothing-like-it"] {
            assert!(refusal(name).len() < 300, "{}", refusal(name));
        }
    }

    proptest! {
        #[test]
        fn a_damaged_elf_never_panics(changes in prop::collection::vec((0usize..124, any::<u8>()), 0..6), cut in 0usize..=124) {
            let mut data = elf();
            for (at, byte) in changes {
                data[at] = byte;
            }
            data.truncate(cut);
            if let Ok(guest) = parse(&data) {
                prop_assert!(guest.pieces.iter().all(|piece| piece.bytes.len() as u64 <= piece.length));
                let _ = guest.end();
            }
        }
    }

    #[test]
    fn a_guest_that_may_have_no_end_is_named_and_not_awaited() {
        let refused = Guest::load(Path::new("/dev/full")).unwrap_err();
        let refused = format!("{refused:#}");
        for word in ["guest /dev/full", "a device", "copy"] {
            assert!(refused.contains(word), "{word}: {refused}");
        }
    }
}
