//! Compares data entries with tables that give the source of each bit of Figures 2-17 to 2-24, and
//! blocks of them, of both sizes and of every model.

use super::super::configuration_level::ConfigurationLevel;
use super::super::facility::Facility;
use super::super::fixtures::{LIMITS, sampling};
use super::super::model::{MODELS, Model};
use super::super::second_opinion::{DATA_ENTRIES, FULL_BLOCKS, agree};
use super::super::{Installation, Sampled};
use super::fixtures::SparseStorage;
use super::request::{HOST_INDICATOR, MAXIMUM_BUFFER_SIZE, SamplingRequest};
use super::{Diagnosis, Snapshot};
use crate::instruction::load_sampling_controls;
use arch::psw::Psw;
use proptest::prelude::*;
use zerocopy::IntoBytes;

/// Figure 2-17: bits of the basic-sampling data entry that come from bits of the PSW.
const FROM_PSW: [(usize, u32); 5] = [(26, 5), (27, 14), (28, 15), (29, 16), (30, 17)];

/// Which program parameter is in which field, by (at the virtual-machine level, host indicator): the
/// guest field, the host field. The level's own is 1, that of the level below 2, and none 0.
const PARAMETERS: [(bool, bool, usize, usize); 4] = [
    (false, false, 1, 0),
    (false, true, 0, 1),
    (true, false, 1, 0),
    (true, true, 1, 2),
];

/// Figures 2-18 to 2-24 by CSVN: the format code, the size, and how many general registers fit after
/// the first 40 bytes.
const DIAGNOSTIC: [(u16, u16, usize, usize); 7] = [
    (1, 0x8001, 64, 3),
    (2, 0x8002, 74, 4),
    (3, 0x8003, 85, 5),
    (4, 0x8004, 112, 9),
    (5, 0x8005, 112, 9),
    (6, 0x8006, 112, 9),
    (7, 0x8007, 173, 16),
];

/// E and C of both functions in a request: basic, diagnostic.
const FUNCTIONS: [u64; 2] = [1 << 9 | 1 << 1, 1 << 8 | 1];

fn basic_entry(snapshot: &Snapshot, indicator: bool) -> Vec<u8> {
    let mut entry = vec![0; 32];
    let mut set = |bit: usize| entry[bit / 8] |= 0x80 >> (bit % 8);
    set(15);
    let level = snapshot.level as usize;
    (32..34)
        .filter(|bit| level >> (33 - bit) & 1 == 1)
        .for_each(&mut set);
    if indicator {
        set(34);
    }
    if snapshot.limited {
        set(35);
    } else {
        for (bit, from) in FROM_PSW {
            if snapshot.psw.mask << from >> 63 == 1 {
                set(bit);
            }
        }
        // One instruction at the sampling point, unless the CPU waits.
        if snapshot.psw.mask << 14 >> 63 == 0 {
            set(23);
        }
    }
    let virtual_machine = level == 2;
    let row = PARAMETERS
        .iter()
        .find(|row| (row.0, row.1) == (virtual_machine, indicator));
    let &(_, _, guest, host) = row.unwrap();
    let parameters = [
        0,
        snapshot.program_parameter,
        snapshot.host_program_parameter,
    ];
    entry[24..32].copy_from_slice(&parameters[host].to_be_bytes());
    if !snapshot.limited {
        entry[6..8].copy_from_slice(&snapshot.cr4.to_be_bytes()[6..]);
        entry[8..16].copy_from_slice(&snapshot.psw.address.to_be_bytes());
        entry[16..24].copy_from_slice(&parameters[guest].to_be_bytes());
    }
    entry
}

fn diagnostic_entry(model: &Model, snapshot: &Snapshot, diagnosis: &Diagnosis) -> Vec<u8> {
    let row = DIAGNOSTIC.iter().find(|row| row.0 == model.csvn).unwrap();
    let mut entry = row.1.to_be_bytes().to_vec();
    entry.extend([0, 0]);
    if !snapshot.limited {
        entry.extend(diagnosis.traps.to_be_bytes());
        entry.extend(diagnosis.psw_mask.to_be_bytes());
        for space in diagnosis.spaces {
            entry.extend(space.to_be_bytes());
        }
        for number in [15, 14].into_iter().chain(0..14).take(row.3) {
            entry.extend(diagnosis.general[number].to_be_bytes());
        }
    }
    entry.resize(row.2, 0);
    entry
}

/// The data entry of the active functions: combined if both bits of `functions` are ones.
fn data_entry(
    model: &Model,
    functions: usize,
    snapshot: &Snapshot,
    diagnosis: &Diagnosis,
    indicator: bool,
) -> Vec<u8> {
    let mut entry = Vec::new();
    if functions & 1 != 0 {
        entry.extend(basic_entry(snapshot, indicator));
    }
    if functions & 2 != 0 {
        entry.extend(diagnostic_entry(model, snapshot, diagnosis));
    }
    entry
}

fn controls(functions: usize) -> u64 {
    (0..2)
        .filter(|function| functions >> function & 1 == 1)
        .map(|function| FUNCTIONS[function])
        .sum()
}

fn snapshot() -> impl Strategy<Value = Snapshot> {
    let level = prop_oneof![
        Just(ConfigurationLevel::BasicMachine),
        Just(ConfigurationLevel::LogicalPartition),
        Just(ConfigurationLevel::VirtualMachine),
    ];
    let words = (any::<[u64; 5]>(), level, any::<bool>());
    words.prop_map(
        |([mask, address, cr4, own, below], level, limited)| Snapshot {
            psw: Psw { mask, address },
            cr4,
            program_parameter: own,
            host_program_parameter: below,
            level,
            limited,
        },
    )
}

fn diagnosis() -> impl Strategy<Value = Diagnosis> {
    (any::<u32>(), any::<[u64; 4]>(), any::<[u64; 16]>()).prop_map(
        |(traps, [psw_mask, spaces @ ..], general)| Diagnosis {
            traps,
            psw_mask,
            spaces,
            general,
        },
    )
}

#[test]
fn a_sample_is_the_entry_of_the_figures_for_the_active_functions() {
    let cases = (
        0..MODELS.len(),
        0_usize..3,
        1_usize..4,
        any::<bool>(),
        snapshot(),
        diagnosis(),
    );
    agree(
        DATA_ENTRIES,
        cases,
        |(model, level, functions, indicator, snapshot, diagnosis)| {
            let level = [
                ConfigurationLevel::BasicMachine,
                ConfigurationLevel::LogicalPartition,
                ConfigurationLevel::VirtualMachine,
            ][level];
            let model = &MODELS[model];
            let mut facility = Facility::new(level, model, Installation::ALL, LIMITS);
            facility.authorize_basic_sampling(true);
            facility.authorize_diagnostic_sampling(true);
            let word = controls(functions) | if indicator { HOST_INDICATOR } else { 0 };
            let request = SamplingRequest::new(word, 1000, 0x1_0000, 0x2_0000);
            load_sampling_controls(&mut facility, request.as_bytes().try_into().unwrap()).unwrap();
            let mut storage = SparseStorage::new(0..0x10_0000);
            let sampled = facility.sample(&snapshot, || diagnosis, &mut storage);
            prop_assert_eq!(sampled, Sampled::Stored);
            let shown = indicator && level == ConfigurationLevel::LogicalPartition;
            let entry = data_entry(model, functions, &snapshot, &diagnosis, shown);
            let stored: Vec<u8> = (0..entry.len() as u64)
                .map(|at| storage.byte(0x2_0000 + at))
                .collect();
            prop_assert_eq!(stored, entry.clone());
            prop_assert_eq!(storage.stored_bytes(), entry.len());
            prop_assert_eq!(facility.sampling().dear(), 0x2_0000 + entry.len() as u64);
            Ok(())
        },
    );
}

/// Fills a ring of two blocks from its last entries on: an entry is never in two blocks.
#[test]
fn a_block_becomes_full_when_the_whole_entry_has_no_space() {
    let cases = (
        0..MODELS.len(),
        1_usize..4,
        any::<bool>(),
        0_u64..500,
        snapshot(),
        diagnosis(),
    );
    agree(
        FULL_BLOCKS,
        cases,
        |(model, functions, large, left, snapshot, diagnosis)| {
            let model = &MODELS[model];
            let size: u64 = if large { 0x10_0000 } else { 0x1000 };
            let (table, first, second) = (2 * size, 3 * size, 4 * size);
            let mut storage = SparseStorage::new(0..5 * size);
            storage.put_u64(table, first);
            storage.put_u64(table + 8, second);
            storage.put_u64(table + 16, table | 1);
            let word = controls(functions) | if large { MAXIMUM_BUFFER_SIZE } else { 0 };
            let trailer = first + size - 64;
            let mut facility = sampling(model, word, table, trailer - left);
            let length = data_entry(model, functions, &snapshot, &diagnosis, false).len() as u64;
            let entries = left / length;
            for _ in 0..entries {
                let sampled = facility.sample(&snapshot, || diagnosis, &mut storage);
                prop_assert_eq!(sampled, Sampled::Stored);
            }
            prop_assert_eq!(storage.byte(trailer), 0);
            let sampled = facility.sample(&snapshot, || diagnosis, &mut storage);
            prop_assert_eq!(sampled, Sampled::StoredInNextBlock);
            prop_assert_eq!(storage.byte(trailer), 0xA0);
            let row = DIAGNOSTIC.iter().find(|row| row.0 == model.csvn).unwrap();
            prop_assert_eq!(storage.bytes_at::<4>(trailer + 4), [0, 32, 0, row.2 as u8]);
            prop_assert_eq!(facility.sampling().dear(), second + length);
            // The block has only entries and the trailer; the entry that does not fit stored no byte.
            let end = trailer - left + entries * length;
            prop_assert!((end..trailer).all(|at| !storage.stored(at)));
            Ok(())
        },
    );
}
