//! The boot record that the command `zipl` writes on a disk with blocks of 512 bytes, as a list-directed IPL follows it.
//!
//! Block 0 leads to a table of programs, that to a program, and that to its components: what is loaded, where, and the PSW
//! that is loaded in the end. A component is a chain of tables with pointers to extents of blocks. The form `scsi` of the
//! image ([`crate::building::forms`]) has the same tables.
//!
//! Nothing on the disk is trusted: each number is checked before it is followed, and the work is limited.

use std::{
    collections::BTreeSet,
    io::{Read, Seek, SeekFrom},
};

use anyhow::{Context, Result, bail, ensure};

/// Bytes of a block.
pub const BLOCK: usize = 512;

/// What every table begins with.
const MAGIC: &[u8] = b"zIPL";

/// The version of block 0.
const VERSION: u32 = 1;

/// Bytes of a pointer, and of the entry of a component.
const POINTER: usize = 16;
const ENTRY: usize = 32;

/// Programs of a table: its first entry is its heading.
const MOST_PROGRAMS: usize = BLOCK / POINTER - 1;

/// The type of a component that is loaded, of a signature of the one before it, and of the PSW that is loaded in the end.
const ENTER: u8 = 1;
const LOAD: u8 = 2;
const SIGNATURE: u8 = 3;

/// The type of a program for IPL, in byte 4 of its table. Others are dumps.
const FOR_IPL: u8 = 0;

/// The most tables of one component. Each has 31 extents, so even a component that is scattered over the disk needs fewer.
const MOST_TABLES: usize = 1 << 16;

/// Where a pointer leads.
#[derive(Clone, Copy, Debug)]
struct Pointer {
    /// The number of the first block.
    block: u64,
    /// Bytes of a block.
    size: usize,
    /// How many blocks.
    count: u64,
}

impl Pointer {
    fn of(bytes: &[u8; POINTER]) -> Self {
        let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let mut block = [0; 8];
        block.copy_from_slice(&bytes[..8]);
        Self {
            block: u64::from_be_bytes(block),
            size: half(8).into(),
            count: u64::from(half(10)) + 1,
        }
    }

    /// Whether there is none.
    const fn is_null(&self) -> bool {
        self.block == 0
    }
}

/// The bytes of a component, and where they go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Absolute address.
    pub address: u64,
    /// Whole blocks.
    pub bytes: Vec<u8>,
}

/// A program of the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What is loaded, by ascending address.
    pub components: Vec<Component>,
    /// The PSW that is loaded in the end, in its form of 64 bits.
    pub psw: u64,
}

/// A disk, of which a number of blocks can be read.
struct Disk<D> {
    disk: D,
    blocks: u64,
}

impl<D: Read + Seek> Disk<D> {
    /// Reads the blocks of a pointer. All of them must be on the disk.
    fn read(&mut self, from: Pointer, what: &str) -> Result<Vec<u8>> {
        let Pointer { block, size, count } = from;
        ensure!(
            size == BLOCK,
            "{what} has blocks of {size} bytes, and only those of {BLOCK} are understood"
        );
        let end = block.checked_add(count);
        if end.is_none_or(|end| end > self.blocks) {
            bail!(
                "{what} is {count} blocks from block {block} on, and the disk has {}",
                self.blocks
            );
        }
        let mut bytes = vec![0; count as usize * BLOCK];
        self.disk
            .seek(SeekFrom::Start(block * BLOCK as u64))
            .and_then(|_| self.disk.read_exact(&mut bytes))
            .with_context(|| format!("cannot read {what} at block {block}"))?;
        Ok(bytes)
    }

    /// Reads a block that is a table.
    fn table(&mut self, pointer: Pointer, what: &str) -> Result<Vec<u8>> {
        let bytes = self.read(
            Pointer {
                count: 1,
                ..pointer
            },
            what,
        )?;
        ensure!(
            bytes.starts_with(MAGIC),
            "block {} should be {what}, and does not begin with zIPL",
            pointer.block
        );
        Ok(bytes)
    }

    /// Reads a component by its chain of tables. It may have so many bytes.
    fn component(&mut self, first: Pointer, address: u64, most: u64) -> Result<Component> {
        let mut bytes = Vec::new();
        let mut followed = BTreeSet::new();
        let mut next = first;
        loop {
            ensure!(
                followed.insert(next.block) && followed.len() <= MOST_TABLES,
                "the tables of the component for address {address:X} do not end: block {} comes again",
                next.block
            );
            let what = format!("a table of the component for address {address:X}");
            let table = self.read(Pointer { count: 1, ..next }, &what)?;
            let pointers = table.as_chunks().0.iter().map(Pointer::of);
            let pointers: Vec<Pointer> = pointers.take_while(|one| !one.is_null()).collect();
            // The last one of a full table leads to the next table.
            let is_full = pointers.len() == BLOCK / POINTER;
            let (extents, more) = pointers.split_at(pointers.len() - usize::from(is_full));
            for &extent in extents {
                let length = bytes.len() as u64 + extent.count * BLOCK as u64;
                ensure!(
                    length <= most,
                    "the component for address {address:X} has more than the {most} bytes that are left of the disk or of the guest's storage"
                );
                let what = format!("an extent of the component for address {address:X}");
                bytes.extend(self.read(extent, &what)?);
            }
            match more {
                [pointer] => next = *pointer,
                _ => return Ok(Component { address, bytes }),
            }
        }
    }
}

/// Whether a disk begins with a boot record.
pub fn is_one(first_block: &[u8]) -> bool {
    first_block.starts_with(MAGIC)
}

/// Reads program `number` of a disk of so many bytes. Its components must end below `storage`, and together have no more bytes.
///
/// # Errors
/// What is wrong, with the block.
pub fn read(disk: impl Read + Seek, length: u64, number: usize, storage: u64) -> Result<Program> {
    let mut disk = Disk {
        disk,
        blocks: length / BLOCK as u64,
    };
    let first = Pointer {
        block: 0,
        size: BLOCK,
        count: 1,
    };
    let record = disk.read(first, "the boot record")?;
    ensure!(
        is_one(&record),
        "it has no boot record: block 0 does not begin with zIPL"
    );
    let word = |bytes: &[u8], at: usize| {
        let found = bytes
            .get(at..at + 4)
            .and_then(|found| found.try_into().ok());
        found.map_or(0, u32::from_be_bytes)
    };
    let version = word(&record, 4);
    ensure!(
        version == VERSION,
        "its boot record has version {version}, and only version {VERSION} is understood"
    );
    let pointer = |bytes: &[u8], index: usize| -> Option<Pointer> {
        let found = bytes.as_chunks().0.get(index).map(Pointer::of);
        found.filter(|found| !found.is_null())
    };
    let table = pointer(&record, 1).context("its boot record leads nowhere")?;
    let programs = disk.table(table, "the table of programs")?;
    // An entry without a pointer does not end the table.
    let known = (0..MOST_PROGRAMS).filter(|&number| pointer(&programs, number + 1).is_some());
    let program = (number < MOST_PROGRAMS)
        .then(|| pointer(&programs, number + 1))
        .flatten();
    let program = program.with_context(|| {
        let known: Vec<String> = known.map(|number| number.to_string()).collect();
        match &known[..] {
            [] => "its table of programs is empty".to_owned(),
            _ => format!(
                "it has no program {number}; choose one of {}",
                known.join(", ")
            ),
        }
    })?;
    let program = disk.table(program, &format!("program {number}"))?;
    ensure!(
        program[MAGIC.len()] == FOR_IPL,
        "program {number} is not for IPL; it writes a dump"
    );
    let mut components = Vec::new();
    let mut loaded = 0;
    for entry in program.as_chunks::<ENTRY>().0.iter().skip(1) {
        let address = u64::from_be_bytes([
            entry[24], entry[25], entry[26], entry[27], entry[28], entry[29], entry[30], entry[31],
        ]);
        match entry[23] {
            LOAD => {}
            SIGNATURE => continue,
            ENTER => {
                ensure!(!components.is_empty(), "program {number} loads nothing");
                return Ok(Program {
                    components: apart(components)?,
                    psw: address,
                });
            }
            other => bail!("program {number} has a component of the unknown type {other}"),
        }
        let most = storage.checked_sub(address).with_context(|| {
            format!("program {number} loads to address {address:X}, beyond the guest's storage")
        })?;
        // No block is loaded twice, so there is no more than the disk has.
        let most = most.min(length.min(storage).saturating_sub(loaded));
        let table = pointer(entry, 0)
            .with_context(|| format!("the component for address {address:X} leads nowhere"))?;
        let component = disk.component(table, address, most)?;
        loaded += component.bytes.len() as u64;
        components.push(component);
    }
    bail!("program {number} has no PSW to load in the end")
}

/// The components in the order of their addresses. No two of them have a byte in common.
fn apart(mut components: Vec<Component>) -> Result<Vec<Component>> {
    components.retain(|component| !component.bytes.is_empty());
    components.sort_by_key(|component| component.address);
    for pair in components.windows(2) {
        let [first, second] = pair else { continue };
        let end = first.address + first.bytes.len() as u64;
        ensure!(
            end <= second.address,
            "the components for addresses {:X} and {:X} overlap",
            first.address,
            second.address
        );
    }
    Ok(components)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    const STORAGE: u64 = 1 << 20;

    fn put(disk: &mut Vec<u8>, at: usize, bytes: &[u8]) {
        disk.resize(disk.len().max(at + bytes.len()), 0);
        disk[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn point(disk: &mut Vec<u8>, at: usize, block: u64, count: u16) {
        put(disk, at, &block.to_be_bytes());
        put(disk, at + 8, &512u16.to_be_bytes());
        put(disk, at + 10, &(count - 1).to_be_bytes());
    }

    /// A disk with two programs. Program 0 loads what begins at block 100, in 40 extents of one block from the last to the
    /// first, to 10000, and what begins at block 200 to A000. Program 1 loads the latter to 20000.
    fn disk() -> Vec<u8> {
        let mut disk = vec![0; 256 * BLOCK];
        for block in [0, 1, 2, 3] {
            put(&mut disk, block * BLOCK, b"zIPL");
        }
        put(&mut disk, 4, &1u32.to_be_bytes());
        point(&mut disk, 16, 1, 1);
        point(&mut disk, BLOCK + 16, 2, 1);
        point(&mut disk, BLOCK + 32, 3, 1);
        let component = |disk: &mut Vec<u8>, at: usize, table: u64, kind: u8, address: u64| {
            if table != 0 {
                point(disk, at, table, 1);
            }
            put(disk, at + 23, &[kind]);
            put(disk, at + 24, &address.to_be_bytes());
        };
        component(&mut disk, 2 * BLOCK + 32, 10, LOAD, 0x1_0000);
        component(&mut disk, 2 * BLOCK + 64, 0, SIGNATURE, 0x77);
        component(&mut disk, 2 * BLOCK + 96, 12, LOAD, 0xA000);
        component(&mut disk, 2 * BLOCK + 128, 0, ENTER, 0x0008_0000_8000_A050);
        component(&mut disk, 3 * BLOCK + 32, 12, LOAD, 0x2_0000);
        component(&mut disk, 3 * BLOCK + 64, 0, ENTER, 0x0008_0000_8002_0000);
        for number in 0..40u64 {
            let (table, place) = (10 + number / 31, number % 31);
            let at = table as usize * BLOCK + place as usize * POINTER;
            point(&mut disk, at, 139 - number, 1);
        }
        point(&mut disk, 10 * BLOCK + 31 * POINTER, 11, 1);
        point(&mut disk, 12 * BLOCK, 200, 3);
        for block in 100..203 {
            let bytes = [block as u8; BLOCK];
            put(&mut disk, block * BLOCK, &bytes);
        }
        disk
    }

    fn program(disk: &[u8], number: usize) -> Result<Program> {
        read(Cursor::new(disk), disk.len() as u64, number, STORAGE)
    }

    /// What is wrong with the disk once it is changed.
    fn refusal(change: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut disk = disk();
        change(&mut disk);
        format!("{:#}", program(&disk, 0).unwrap_err())
    }

    #[test]
    fn the_tables_lead_to_the_components_of_the_chosen_program() {
        let found = program(&disk(), 0).unwrap();
        let [stage, kernel] = &found.components[..] else {
            panic!("{} components", found.components.len());
        };
        assert_eq!((stage.address, stage.bytes.len()), (0xA000, 3 * BLOCK));
        assert_eq!((kernel.address, kernel.bytes.len()), (0x1_0000, 40 * BLOCK));
        let first = kernel.bytes.iter().step_by(BLOCK).copied();
        assert!(first.eq((100..140).rev()));
        assert_eq!(found.psw, 0x0008_0000_8000_A050);
        let other = program(&disk(), 1).unwrap();
        assert_eq!(other.components[0].bytes, stage.bytes);
        assert_eq!(other.psw, 0x0008_0000_8002_0000);
        let refused = program(&disk(), 2).unwrap_err().to_string();
        assert!(
            refused.contains("no program 2") && refused.contains("choose one of 0, 1"),
            "{refused}"
        );
    }

    #[test]
    fn a_gap_in_the_table_of_programs_hides_no_program_behind_it() {
        let mut disk = disk();
        let entry: Vec<u8> = disk[BLOCK + 32..BLOCK + 48].to_vec();
        let last = MOST_PROGRAMS - 1;
        for number in [4, last] {
            put(&mut disk, BLOCK + 16 * (number + 1), &entry);
        }
        put(&mut disk, BLOCK + 32, &[0; 16]);
        for number in [4, last] {
            assert_eq!(program(&disk, number).unwrap().psw, 0x0008_0000_8002_0000);
        }
        for number in [1, 3, last + 1, usize::MAX] {
            let refused = program(&disk, number).unwrap_err().to_string();
            assert!(refused.contains("choose one of 0, 4, 30"), "{refused}");
        }
    }

    #[test]
    fn each_lie_of_a_disk_is_refused_by_name() {
        let at = |block: usize, byte: usize| block * BLOCK + byte;
        let cases: [(&str, usize, &[u8]); 14] = [
            ("no boot record", 0, b"IPL1"),
            ("version 9", 4, &9u32.to_be_bytes()),
            ("leads nowhere", 16, &[0; 8]),
            ("3 blocks from block 254", at(12, 0), &254u64.to_be_bytes()),
            ("more than the", at(12, 10), &0xFFFEu16.to_be_bytes()),
            ("blocks of 4096", at(1, 24), &4096u16.to_be_bytes()),
            ("should be program 0", at(2, 0), b"ZIPL"),
            ("writes a dump", at(2, 4), &[1]),
            ("unknown type 9", at(2, 55), &[9]),
            ("comes again", at(10, 31 * POINTER), &10u64.to_be_bytes()),
            ("overlap", at(2, 120), &0x1_0200u64.to_be_bytes()),
            (
                "beyond the guest's storage",
                at(2, 56),
                &u64::MAX.to_be_bytes(),
            ),
            (
                "more than the 512 bytes",
                at(2, 56),
                &(STORAGE - 512).to_be_bytes(),
            ),
            ("table of programs is empty", at(1, 16), &[0; 32]),
        ];
        for (words, place, bytes) in cases {
            let refused = refusal(|disk| put(disk, place, bytes));
            assert!(refused.contains(words), "{words}: {refused}");
        }
        let refused = refusal(|disk| {
            for entry in 1..16 {
                put(disk, 2 * BLOCK + entry * ENTRY + 23, &[SIGNATURE]);
            }
        });
        assert!(refused.contains("no PSW"), "{refused}");
        let refused = refusal(|disk| put(disk, 2 * BLOCK, &u64::MAX.to_be_bytes()));
        assert!(refused.contains("should be program 0"), "{refused}");
        let refused = refusal(|disk| put(disk, 16, &u64::MAX.to_be_bytes()));
        assert!(refused.contains("the disk has 256"), "{refused}");
    }

    proptest! {
        #[test]
        fn whatever_is_on_a_disk_no_more_is_loaded_than_fits(
            changes in prop::collection::vec((0usize..16 * BLOCK, any::<u8>()), 0..40),
            number in 0usize..3,
            length in 0usize..256 * BLOCK,
        ) {
            let mut disk = disk();
            for (at, byte) in changes {
                disk[at] = byte;
            }
            disk.truncate(length);
            if let Ok(found) = program(&disk, number) {
                let mut end = 0;
                for component in &found.components {
                    prop_assert!(component.address >= end);
                    end = component.address + component.bytes.len() as u64;
                }
                prop_assert!(end <= STORAGE);
            }
        }
    }
}
