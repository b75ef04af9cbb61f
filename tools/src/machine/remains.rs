//! What a machine that no longer answers was doing: read from a core file that QEMU's monitor wrote.
//!
//! The file has the registers of the real CPUs, and the storage of the HSA. In the HSA are the prefix areas, which have
//! the last interruption of each class, and what the machine keeps of the guest's CPUs ([`link::remains`]).

use std::fmt::Write as _;

use anyhow::{Context, Result};
use arch::{interruption::Class, lowcore, psw};
use link::remains::{CPU, GuestCpu};
use object::{
    BigEndian,
    elf::{FileHeader64, PT_LOAD},
    read::elf::{FileHeader, ProgramHeader},
};
use zerocopy::FromBytes;

use crate::machine::failure::ImageSymbols;

/// In the note of a CPU's status: where its PSW is. The general registers follow.
const PSW: usize = 112;
/// The type of that note.
const STATUS: u32 = 1;
/// The type of the note with the CPU's prefix.
const PREFIX: u32 = 0x305;

/// The storage that belongs to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Its first address.
    pub base: u64,
    /// The first address behind it.
    pub end: u64,
    /// Where the image is.
    pub image: u64,
}

impl Area {
    /// The HSA. The image is at its beginning.
    pub const fn hsa(base: u64, end: u64) -> Self {
        Self {
            base,
            end,
            image: base,
        }
    }

    /// Where the machine is before it says where: the prefix area at 0, and the image as it was loaded.
    pub const fn before_ipl(image: u64) -> Self {
        Self {
            base: 0,
            end: 4 << 20,
            image,
        }
    }
}

/// A real CPU.
#[derive(Debug, Default)]
struct RealCpu {
    psw: [u64; 2],
    registers: [u64; 16],
    prefix: u64,
}

/// Storage and CPUs of the core file.
#[derive(Debug, Default)]
struct Core<'a> {
    cpus: Vec<RealCpu>,
    storage: Vec<(u64, &'a [u8])>,
}

impl<'a> Core<'a> {
    fn parse(file: &'a [u8]) -> Result<Self> {
        let header = FileHeader64::<BigEndian>::parse(file)?;
        let mut core = Self::default();
        for part in header.program_headers(BigEndian, file)? {
            if part.p_type(BigEndian) == PT_LOAD
                && let Ok(bytes) = part.data(BigEndian, file)
            {
                core.storage.push((part.p_paddr(BigEndian), bytes));
            }
            let Some(mut notes) = part.notes(BigEndian, file)? else {
                continue;
            };
            while let Some(note) = notes.next()? {
                core.note(note.n_type(BigEndian), note.desc());
            }
        }
        Ok(core)
    }

    /// A note. Each CPU's notes begin with its status.
    fn note(&mut self, kind: u32, bytes: &[u8]) {
        if kind == STATUS {
            let mut words = bytes.get(PSW..).unwrap_or_default().as_chunks().0.iter();
            let mut next = || words.next().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            self.cpus.push(RealCpu {
                psw: [next(), next()],
                registers: std::array::from_fn(|_| next()),
                prefix: 0,
            });
        } else if let (PREFIX, Some(cpu), Some(prefix)) =
            (kind, self.cpus.last_mut(), bytes.first_chunk())
        {
            cpu.prefix = u32::from_be_bytes(*prefix).into();
        }
    }

    /// The bytes from an address to the end of what the file has there.
    fn storage(&self, at: u64) -> Option<&'a [u8]> {
        self.storage.iter().find_map(|(begin, bytes)| {
            let offset = usize::try_from(at.checked_sub(*begin)?).ok()?;
            bytes.get(offset..).filter(|rest| !rest.is_empty())
        })
    }
}

/// What every CPU was doing, for a person.
pub fn describe(file: &[u8], area: Area, image: &ImageSymbols) -> Result<String> {
    let core = Core::parse(file).context("the core file of QEMU cannot be read")?;
    let mut text = String::new();
    for (number, cpu) in core.cpus.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "real CPU {number}: {}, prefix {:X}",
            named(cpu.psw, area, image),
            cpu.prefix
        );
        registers(&mut text, &cpu.registers);
        let Some(prefix_area) = core.storage(cpu.prefix) else {
            continue;
        };
        if let Some((guest, _)) = doubleword(prefix_area, CPU)
            .filter(|at| *at != 0)
            .and_then(|at| core.storage(at))
            .and_then(|bytes| GuestCpu::ref_from_prefix(bytes).ok())
        {
            let _ = writeln!(
                text,
                " the guest's CPU at the last trap: PSW {:016X} {:016X}",
                guest.psw_mask.get(),
                guest.psw_address.get()
            );
            registers(&mut text, &guest.registers.map(zerocopy::U64::get));
        }
        for (class, identification) in CLASSES {
            interruption(&mut text, prefix_area, class, identification, |psw| {
                named(psw, area, image)
            });
        }
    }
    Ok(text)
}

/// The classes of interruptions, and where the CPU stored four bytes that identify the last one.
const CLASSES: [(Class, u64); 6] = [
    (Class::Program, lowcore::PROGRAM_IDENTIFICATION),
    (Class::SupervisorCall, lowcore::SVC_IDENTIFICATION),
    (Class::External, lowcore::EXTERNAL_CPU_ADDRESS),
    (Class::InputOutput, lowcore::SUBSYSTEM_IDENTIFICATION),
    (Class::MachineCheck, lowcore::MACHINE_CHECK_CODE),
    (Class::Restart, lowcore::ARCHITECTURAL_MODE - 3),
];

/// The last interruption of a class, unless there was none.
fn interruption(
    text: &mut String,
    prefix_area: &[u8],
    class: Class,
    identification: u64,
    name: impl Fn([u64; 2]) -> String,
) {
    let at = lowcore::old_psw(class) as usize;
    let old = [at, at + 8].map(|at| doubleword(prefix_area, at).unwrap_or_default());
    if old == [0; 2] {
        return;
    }
    let code = prefix_area.get(identification as usize..);
    let code = code.and_then(<[u8]>::first_chunk).copied();
    let _ = writeln!(
        text,
        " last {class:?}: {:08X}, old {}",
        code.map_or(0, u32::from_be_bytes),
        name(old)
    );
}

/// A PSW, and who executes there.
fn named(psw: [u64; 2], area: Area, image: &ImageSymbols) -> String {
    let [mask, address] = psw;
    let whose = if mask & psw::PROBLEM != 0 {
        "the guest".to_owned()
    } else if mask & psw::WAIT != 0 {
        "the machine waits".to_owned()
    } else if (area.image..area.end).contains(&address) {
        let name = image.name(address - area.image);
        format!("the machine, {}", name.trim_start())
    } else {
        "the machine".to_owned()
    };
    format!("PSW {mask:016X} {address:016X} ({whose})")
}

fn registers(text: &mut String, registers: &[u64; 16]) {
    for (number, four) in registers.chunks(4).enumerate() {
        let four: Vec<String> = four.iter().map(|value| format!("{value:016X}")).collect();
        let _ = writeln!(text, " R{:<2} {}", 4 * number, four.join(" "));
    }
}

fn doubleword(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A core file of two CPUs: a header, two program headers, notes, and the storage at 100000.
    fn core(psws: [[u64; 2]; 2], storage: &[u8]) -> Vec<u8> {
        let note = |kind: u32, bytes: &[u8]| {
            let mut note = [5, bytes.len() as u32, kind].map(u32::to_be_bytes).concat();
            note.extend(b"CORE\0\0\0\0");
            note.extend(bytes);
            note
        };
        let mut notes = Vec::new();
        for (number, psw) in psws.into_iter().enumerate() {
            let mut status = vec![0; PSW];
            status.extend(psw.map(u64::to_be_bytes).concat());
            status.extend((0..16_u64).flat_map(u64::to_be_bytes));
            notes.extend(note(STATUS, &status));
            let prefix = 0x10_0000 + 0x2000 * number as u32;
            notes.extend(note(PREFIX, &prefix.to_be_bytes()));
        }
        let mut file = b"\x7FELF\x02\x02\x01\0\0\0\0\0\0\0\0\0".to_vec();
        for half in [4_u16, 22] {
            file.extend(half.to_be_bytes());
        }
        file.extend(1_u32.to_be_bytes());
        for word in [0_u64, 64, 0] {
            file.extend(word.to_be_bytes());
        }
        file.extend(0_u32.to_be_bytes());
        for half in [64_u16, 56, 2, 64, 0, 0] {
            file.extend(half.to_be_bytes());
        }
        let at = 64 + 2 * 56;
        for (kind, offset, address, length) in [
            (4_u32, at, 0, notes.len()),
            (PT_LOAD, at + notes.len(), 0x10_0000, storage.len()),
        ] {
            file.extend(kind.to_be_bytes());
            file.extend(0_u32.to_be_bytes());
            for word in [offset as u64, 0, address, length as u64, length as u64, 4] {
                file.extend(word.to_be_bytes());
            }
        }
        file.extend(notes);
        file.extend(storage);
        file
    }

    fn put(storage: &mut [u8], at: usize, words: &[u64]) {
        for (place, word) in storage[at..].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
    }

    #[test]
    fn each_cpu_shows_who_executes_its_registers_and_its_last_interruptions() {
        let mut storage = vec![0; 0x5000];
        put(&mut storage, 0x88, &[0x0004_0002]);
        put(&mut storage, 0x150, &[psw::PROBLEM, 0x20_0000]);
        put(&mut storage, CPU, &[0x10_4000]);
        put(&mut storage, 0x4000 + 128, &[0x0102, 0x20_1234]);
        let core = core([[psw::PROBLEM, 0x20_0002], [psw::WAIT, 0]], &storage);
        let area = Area::hsa(0x10_0000, 0x20_0000);
        let text = describe(&core, area, &ImageSymbols::default()).unwrap();
        for line in [
            "real CPU 0: PSW 0001000000000000 0000000000200002 (the guest), prefix 100000",
            " R12 000000000000000C 000000000000000D 000000000000000E 000000000000000F",
            " the guest's CPU at the last trap: PSW 0000000000000102 0000000000201234",
            " last Program: 00040002, old PSW 0001000000000000 0000000000200000 (the guest)",
            "real CPU 1: PSW 0002000000000000 0000000000000000 (the machine waits), prefix 102000",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let traps = text
            .lines()
            .filter(|line| line.starts_with(" last"))
            .count();
        assert_eq!(traps, 1, "{text}");
    }

    #[test]
    fn a_core_file_that_breaks_off_is_refused_or_shows_what_there_is() {
        let area = Area::before_ipl(0);
        let core = core([[0; 2]; 2], &[0; 0x3000]);
        for length in 0..core.len() {
            let _ = describe(&core[..length], area, &ImageSymbols::default());
        }
        assert!(describe(b"", area, &ImageSymbols::default()).is_err());
    }
}
