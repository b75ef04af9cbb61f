//! Folders as a run leaves them, of any size, without a run.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
};

use cpumf::sampling::block::{BASIC_FORMAT, ENTRIES, SampleDataBlock};
use link::stack::StackHead;
use measure::{
    calls::stacks,
    folder::record::{End, GuestEnd, RunRecord, StartedRecord, TotalsRecord},
    symbols::{Symbol, SymbolTable},
};
use object::{
    Architecture, BinaryFormat, Endianness, SymbolFlags, SymbolKind, SymbolScope,
    write::{Object, StandardSection, Symbol as ElfSymbol, SymbolSection},
};
use zerocopy::{FromZeros, IntoBytes};

/// A name with an element, the end of a script, and a character that turns text around.
pub const HOSTILE: &str = "</script><img src=x onerror=\"document.title='taken'\">\u{202E}'";

/// Routines, beside the one with the hostile name.
const ROUTINES: u64 = 300;

/// Bytes of a routine: 8 times the text below.
const LENGTH: u64 = 8 * TEXT.len() as u64;

/// lgr %r2,%r3; aghi %r2,-1; jne 4 bytes back; la %r1,8(%r2,%r15); br %r14.
const TEXT: [u8; 18] = [
    0xB9, 0x04, 0x00, 0x23, 0xA7, 0x2B, 0xFF, 0xFF, 0xA7, 0x74, 0xFF, 0xFE, 0x41, 0x12, 0xF0, 0x08,
    0x07, 0xFE,
];

/// The content of a folder.
pub struct Folder {
    pub samples: u64,
    pub cpus: u16,
    pub readings: u64,
    /// Programs that share the routines. The guest's file is of one.
    pub programs: u64,
    /// Whether each sample has a call stack.
    pub has_stacks: bool,
}

/// A guest with these routines.
fn guest() -> Vec<u8> {
    let mut elf = Object::new(BinaryFormat::Elf, Architecture::S390x, Endianness::Big);
    let text = elf.section_id(StandardSection::Text);
    for routine in 0..=ROUTINES {
        let value = elf.append_section_data(text, &TEXT.repeat(8), 2);
        elf.add_symbol(ElfSymbol {
            name: name(routine).into_bytes(),
            value,
            size: LENGTH,
            kind: SymbolKind::Text,
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Section(text),
            flags: SymbolFlags::None,
        });
    }
    elf.write().unwrap()
}

fn name(routine: u64) -> String {
    match routine {
        0 => HOSTILE.to_owned(),
        routine => format!("module::routine_{routine}"),
    }
}

impl Folder {
    /// A run of one program.
    pub fn of(samples: u64, cpus: u16) -> Self {
        Self {
            samples,
            cpus,
            readings: 1,
            programs: 1,
            has_stacks: false,
        }
    }

    /// Writes it.
    pub fn write(&self, directory: &Path) {
        let file = directory.join("guest.elf");
        fs::write(&file, guest()).unwrap();
        let data = fs::read(&file).unwrap();
        let elf = object::File::parse(&data[..]).unwrap();
        let table = SymbolTable::from_elf(&elf, "synthetic");
        let symbols = table.symbols().iter().enumerate();
        let of_programs = symbols.map(|(number, symbol)| Symbol {
            module: match number as u64 % self.programs {
                0 => symbol.module.clone(),
                number => format!("program-{number}"),
            },
            ..symbol.clone()
        });
        let shown = SymbolTable::of(of_programs.collect());
        fs::write(directory.join("symbols.txt"), shown.to_text()).unwrap();
        let by_cpu = self.samples / u64::from(self.cpus);
        for cpu in 0..self.cpus {
            let path = directory.join(format!("sdb-cpu{cpu}.bin"));
            let stacks = directory.join(format!("stacks-cpu{cpu}.bin"));
            let stacks = self.has_stacks.then_some(stacks);
            blocks(
                &path,
                stacks.as_deref(),
                by_cpu,
                u64::from(cpu),
                table.symbols(),
            );
        }
        self.counters(directory);
        self.record(directory, &file, by_cpu);
    }

    fn record(&self, directory: &Path, file: &Path, by_cpu: u64) {
        let totals = (0..self.cpus).map(|cpu| TotalsRecord {
            cpu,
            guest_cycles: by_cpu * 100_000,
            guest_instructions: by_cpu * 100_000,
            firmware_instructions: by_cpu * 500,
            traps: by_cpu,
            samples_taken: by_cpu,
            samples_lost: u64::from(cpu),
        });
        let record = RunRecord {
            version: "0".to_owned(),
            guest: "synthetic".to_owned(),
            guest_file: file.to_owned(),
            mode: "exact".to_owned(),
            cpus: self.cpus.into(),
            storage: 512 << 20,
            interval: 100_000,
            configuration: vec![HOSTILE.to_owned()],
            rtc: "now".to_owned(),
            qemu: "none".to_owned(),
            started: Some(StartedRecord {
                mode: "exact".to_owned(),
                cpus: self.cpus,
                cpu_speed: 1000,
                tod: START,
                guest_storage_end: 1 << 28,
                hsa_end: 1 << 29,
                machine_type: "8561".to_owned(),
                cfvn: 3,
                csvn: 6,
                below: None,
            }),
            end: End::Guest(GuestEnd {
                cpu: 0,
                reason: 1,
                psw_mask: 2 << 48,
                psw_address: 0xFFF,
                code: 0,
            }),
            loads: 1,
            totals: totals.collect(),
            ..RunRecord::default()
        };
        record.write(directory).unwrap();
    }

    /// Basic, problem-state and extended sets of each CPU, read again and again.
    fn counters(&self, directory: &Path) {
        let mut bytes = Vec::new();
        for reading in 1..=self.readings {
            for cpu in 0..self.cpus {
                let wave = (reading * 7 + u64::from(cpu) * 3) % 11;
                let instructions = reading * 1_000_000 + wave * 90_000;
                let cycles = instructions + reading * 400_000 + wave * 50_000;
                let mut set = |number: u16, first: u16, values: &[u64]| {
                    let head = [cpu, 1, number, first, values.len() as u16, 1];
                    bytes.extend(head.iter().flat_map(|half| half.to_be_bytes()));
                    bytes.extend(values.iter().flat_map(|value| value.to_be_bytes()));
                };
                set(1, 0, &[cycles, instructions, 0, 0, 0, 0]);
                set(2, 32, &[cycles / 3, instructions / 4]);
                set(0, 128, &[0, reading * 70 + wave * 9, 0, reading * 5]);
            }
        }
        fs::write(directory.join("counters.bin"), bytes).unwrap();
    }
}

/// When the run begins, TOD clock.
const START: u64 = 0xE000_0000_0000_0000;

/// Phases of some hundred blocks, each with its own hot routines.
fn blocks(path: &Path, calls_file: Option<&Path>, samples: u64, cpu: u64, symbols: &[Symbol]) {
    let mut calls = Vec::new();
    let mut out = BufWriter::new(File::create(path).unwrap());
    let mut random = 0x9E37_79B9_7F4A_7C15 ^ (cpu << 32);
    let mut tod = START;
    let mut sampled = 0_u64;
    let all = samples.div_ceil(ENTRIES as u64);
    for number in 0..all {
        let here = (samples - number * ENTRIES as u64).min(ENTRIES as u64) as usize;
        let mut block = SampleDataBlock::new_zeroed();
        let phase = number * 6 / all.max(1);
        for entry in &mut block.entries[..here] {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // Few routines have most of the samples.
            let share = random % 1000;
            let routine = (share * share * share / 12_000_000 + phase * 11) % (ROUTINES + 1);
            let symbol = &symbols[routine as usize];
            let places = [0, 4, 8, 12, 16];
            let turn = (random >> 20) % 8 * 18;
            let address = symbol.start + turn + places[(random >> 40) as usize % 5];
            let state = match (random >> 50) % 16 {
                0 => 1 << (63 - 27),
                1..=5 => 1 << (63 - 28),
                _ => 0,
            };
            entry.head = (u64::from(BASIC_FORMAT) << 48 | state).into();
            entry.instruction_address = address.into();
            if calls_file.is_some() {
                // Each routine has one caller, and all of those have one.
                let caller = &symbols[(routine % 7 + 1) as usize];
                let head = StackHead {
                    sample: sampled.into(),
                    address: address.into(),
                    count: 2.into(),
                    ..StackHead::default()
                };
                let returns = [caller.start + 4, symbols[0].start + 4];
                calls.extend(stacks::bytes(&head, &returns));
            }
            sampled += 1;
        }
        tod += 4096 * 100 * here as u64 + (random >> 54) * 4096;
        if here == ENTRIES {
            block.trailer.flags = 0x80;
            block.trailer.bsdes = 32.into();
            block.trailer.timestamp[..8].copy_from_slice(&tod.to_be_bytes());
        }
        out.write_all(block.as_bytes()).unwrap();
    }
    out.flush().unwrap();
    if let Some(path) = calls_file {
        fs::write(path, calls).unwrap();
    }
}
