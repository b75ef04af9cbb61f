//! The walk against a second one, which is a table of the architecture and a recursion over it.

use super::*;
use crate::test_machine::Bench;
use crate::test_random::Random;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A row of the table: what each kind of table is indexed by, and its exception.
struct Kind {
    /// The leftmost and rightmost bit of the index in the virtual address.
    index: (u32, u32),
    /// The exception of a missing or invalid entry.
    exception: u16,
    /// The table type, in bits 60-61 of its entries; a page table has none.
    kind: Option<u64>,
    /// The last bit of the origin of the next table, or of the frame, in the entry.
    origin_ends: u32,
}

const KINDS: [Kind; 5] = [
    Kind {
        index: (0, 10),
        exception: 0x39,
        kind: Some(0b11),
        origin_ends: 51,
    },
    Kind {
        index: (11, 21),
        exception: 0x3A,
        kind: Some(0b10),
        origin_ends: 51,
    },
    Kind {
        index: (22, 32),
        exception: 0x3B,
        kind: Some(0b01),
        origin_ends: 51,
    },
    Kind {
        index: (33, 43),
        exception: 0x10,
        kind: Some(0b00),
        origin_ends: 52,
    },
    Kind {
        index: (44, 51),
        exception: 0x11,
        kind: None,
        origin_ends: 51,
    },
];

/// The state of the machine for the second walk.
struct Model<'a> {
    storage: &'a [u8],
    prefix: u64,
    asce: u64,
    at: u64,
}

/// Bits `first` to `last`, counted from the left.
fn bits(value: u64, first: u32, last: u32) -> u64 {
    value << first >> first >> (63 - last)
}

impl Model<'_> {
    fn entry(&self, real: u64) -> Result<u64, u16> {
        let absolute = match real / 8192 {
            0 => real + self.prefix,
            block if block == self.prefix / 8192 => real % 8192,
            _ => real,
        };
        let bytes = usize::try_from(absolute)
            .ok()
            .and_then(|at| self.storage.get(at..at.checked_add(8)?))
            .ok_or(0x05_u16)?;
        Ok(u64::from_be_bytes(bytes.try_into().unwrap()))
    }

    /// Address of the frame, DAT protection and execution protection.
    fn walk(&self) -> Result<(u64, bool, bool), u16> {
        if bits(self.asce, 58, 58) == 1 {
            return Ok((self.at, false, false));
        }
        let top = 3 - bits(self.asce, 60, 61) as usize;
        let (leftmost, _) = KINDS[top].index;
        if leftmost > 0 && bits(self.at, 0, leftmost - 1) != 0 {
            return Err(0x38);
        }
        let origin = self.asce / 4096 * 4096;
        self.step(top, origin, 0..=bits(self.asce, 62, 63), false)
    }

    fn step(
        &self,
        table: usize,
        origin: u64,
        parts: core::ops::RangeInclusive<u64>,
        protected: bool,
    ) -> Result<(u64, bool, bool), u16> {
        let Kind {
            index: (first, last),
            exception,
            kind,
            origin_ends,
        } = KINDS[table];
        if kind.is_some() && !parts.contains(&bits(self.at, first, first + 1)) {
            return Err(exception);
        }
        let entry = self.entry(origin.wrapping_add(8 * bits(self.at, first, last)))?;
        let Some(kind) = kind else {
            return match (bits(entry, 53, 53), bits(entry, 52, 52)) {
                (1, _) => Err(exception),
                (_, 1) => Err(0x12),
                _ => Ok((
                    entry / 4096 * 4096 + self.at % 4096,
                    protected || bits(entry, 54, 54) == 1,
                    bits(entry, 55, 55) == 1,
                )),
            };
        };
        if bits(entry, 58, 58) == 1 {
            return Err(exception);
        }
        let common = kind == 0 && bits(entry, 59, 59) == 1 && bits(self.asce, 55, 55) == 1;
        if bits(entry, 60, 61) != kind || common {
            return Err(0x12);
        }
        let next = bits(entry, 0, origin_ends) << (63 - origin_ends);
        let protected = kind == 0 && bits(entry, 54, 54) == 1;
        self.step(
            table + 1,
            next,
            bits(entry, 56, 57)..=bits(entry, 62, 63),
            protected,
        )
    }
}

/// A value that is occasionally an unlikely one.
fn mostly<T: core::fmt::Debug + Clone + 'static>(
    usual: T,
    odd: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = T> {
    prop_oneof![12 => Just(usual), 1 => odd]
}

/// An entry's origin: mostly one of the first 62 pages, sometimes anywhere.
fn origin() -> impl Strategy<Value = u64> {
    prop_oneof![14 => (0_u64..62).prop_map(|page| page << 12), 1 => any::<u64>()]
}

/// Origin, flags that are exclusive-ored into a good entry, table offset and table length.
type Entry = (u64, u64, u64, u64);

/// Address, level and origin of the first table, the entries of the path, bits that are
/// exclusive-ored into the designation, and the number of the prefix area.
type Case = (u64, u64, u64, Vec<Entry>, u64, u64);

/// The entries of a path.
fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let flags = mostly(0, (0_u32..12).prop_map(|bit| 1_u64 << bit));
    prop::collection::vec(
        (origin(), flags, mostly(0, 0_u64..4), mostly(3, 0_u64..4)),
        5,
    )
}

#[test]
fn any_tables_are_walked_as_a_second_walk_walks_them() {
    let case = (
        any::<u64>(),
        0_u64..4,
        origin(),
        entries(),
        mostly(0, 0_u64..4096),
        0_u64..30,
    );
    let seen = RefCell::new(BTreeMap::new());
    let mut runner = TestRunner::new(Config {
        cases: 6000,
        failure_persistence: None,
        ..Config::default()
    });
    let bench = RefCell::new(Bench::with_storage(1 << 20));
    let check = |(at, level, top, entries, noise, prefix): Case| {
        let mut bench = bench.borrow_mut();
        bench.hardware.storage.fill(0);
        bench.cpu.prefix = prefix * 8192;
        bench.cpu.control[0] |= CR0_INSTRUCTION_EXECUTION_PROTECTION;
        // Usually an address that the designation can translate.
        let at = if noise == 0 && level < 3 {
            at & ((1 << (31 + 11 * level)) - 1)
        } else {
            at
        };
        let asce = (top & !0xFFF | level << 2 | 3) ^ noise;
        let mut table = Real(top & !0xFFF);
        for (level, &(origin, flags, offset, length)) in (0..=level).rev().zip(&entries) {
            let at = bench
                .cpu
                .absolute(table.offset((at >> (20 + 11 * level) & 0x7FF) * 8));
            let value = (origin & !0xFFF | offset << 6 | level << 2 | length) ^ flags;
            if bench.configuration.holds(at, 8) {
                bench.hardware.store_u64(at, value);
            }
            table = Real(if level == 0 {
                value & STE_ORIGIN
            } else {
                value & RTE_ORIGIN
            });
        }
        let page = bench.cpu.absolute(table.offset((at >> 12 & 0xFF) * 8));
        if bench.configuration.holds(page, 8) {
            bench
                .hardware
                .store_u64(page, entries[4].0 & !0xFFF ^ entries[4].1);
        }
        let Bench {
            cpu,
            configuration,
            hardware,
        } = &*bench;
        let found = walk(cpu, configuration, hardware, asce, Virtual(at))
            .map(|found| (found.real.0, found.protected, found.execution_protected))
            .map_err(|stop| stop.interruption.code());
        let model = Model {
            storage: &hardware.storage,
            prefix: cpu.prefix,
            asce,
            at,
        };
        prop_assert_eq!(found, model.walk());
        *seen.borrow_mut().entry(found.err()).or_insert(0) += 1;
        Ok(())
    };
    runner.run(&case, check).unwrap();
    // The test is only meaningful if the cases reach every result.
    let ends = [
        None,
        Some(5),
        Some(0x10),
        Some(0x11),
        Some(0x12),
        Some(0x38),
    ];
    for end in ends.into_iter().chain([0x39, 0x3A, 0x3B].map(Some)) {
        assert!(seen.borrow().contains_key(&end), "{end:X?}: {seen:?}");
    }
    assert!(seen.borrow()[&None] > 600, "{seen:?}");
}

/// Where table `n` of a level is.
const fn table(level: u64, n: u64) -> u64 {
    0x4_0000 + (level * 4 + n) * 0x4000
}

/// Tables of every level that lead to each other in many ways.
///
/// Each level has four tables of 16 KiB from 40000 on, with the page tables below them; four indices of
/// each are used.
fn tables(random: &mut Random, bench: &mut Bench) -> [[u64; 4]; 5] {
    let mut used = [[0, 1, 0, 2047]; 5];
    used[4] = [0, 1, 0, 255];
    for (level, used) in used.iter_mut().enumerate() {
        used[2] = random.below(if level == 4 { 256 } else { 2048 });
    }
    bench.hardware.storage.fill(0x20);
    for (level, n) in (0..4).flat_map(|level| (0..4).map(move |n| (level, n))) {
        for index in used[level as usize] {
            let mut value = if level == 0 {
                (0x2_0000 + random.below(8) * 0x800) | random.below(2) << 9
            } else {
                let length = [3, 3, 3, 2, 1, 0][random.below(6) as usize];
                let offset = [0, 0, 0, 0, 1, 3][random.below(6) as usize];
                table(level - 1, random.below(4)) | offset << 6 | level << 2 | length
            };
            if random.below(12) == 0 {
                value ^= 1 << random.below(64);
            }
            bench.set_doublewords(table(level, n) + index * 8, &[value]);
        }
    }
    for (n, index) in (0..8).flat_map(|n| used[4].map(|index| (n, index))) {
        let bits = [0, 0, 0, 0x100, 0x200, 0x400, 0x800, 0xFF][random.below(8) as usize];
        let value = random.below(0x120) << 12 | bits;
        bench.set_doublewords(0x2_0000 + n * 0x800 + index * 8, &[value]);
    }
    used
}

#[test]
fn a_million_addresses_are_translated_as_the_second_walk_translates_them() {
    let mut random = Random(7);
    let mut bench = Bench::with_storage(1 << 20);
    bench.cpu.control[0] |= CR0_INSTRUCTION_EXECUTION_PROTECTION;
    let (mut translated, mut refused) = (0_u32, 0_u32);
    for world in 0..500 {
        let used = tables(&mut random, &mut bench);
        bench.cpu.prefix = random.below(30) * 8192;
        for step in 0..2_000 {
            let level = random.below(4);
            let mut at = used[4][random.below(4) as usize] << 12 | random.below(4096);
            for (n, used) in used[..=level as usize].iter().enumerate() {
                at |= used[random.below(4) as usize] << (20 + 11 * n);
            }
            let mut asce = table(level, random.below(4)) | level << 2 | 3;
            if random.below(16) == 0 {
                asce ^= 1 << random.below(64);
            }
            let Bench {
                cpu,
                configuration,
                hardware,
            } = &bench;
            let found = walk(cpu, configuration, hardware, asce, Virtual(at))
                .map(|found| (found.real.0, found.protected, found.execution_protected))
                .map_err(|stop| stop.interruption.code());
            let model = Model {
                storage: &hardware.storage,
                prefix: cpu.prefix,
                asce,
                at,
            };
            assert_eq!(
                found,
                model.walk(),
                "world {world}, step {step}: {at:x} by {asce:x}"
            );
            if found.is_ok() {
                translated += 1;
            } else {
                refused += 1;
            }
        }
    }
    assert!(
        translated > 100_000 && refused > 100_000,
        "{translated}, {refused}"
    );
}
