//! Files with one field spoilt, of each kind: the dump goes on, and then names the field at its offset.

use cpumf::sampling::block::BasicEntry;
use proptest::prelude::*;
use record::smp::LARGE_BLOCK;
use zerocopy::IntoBytes;

use super::super::{
    Form,
    fixtures::{dump_named, monitor_records, smf_record},
};

/// A sample of a guest at level VM whose host has a program parameter.
fn entry(state: u64) -> BasicEntry {
    BasicEntry {
        head: (1 << 48 | 0x28_0000_0000 | 2 << 30 | 1 << 29 | state).into(),
        instruction_address: 0x20_0000.into(),
        guest_program_parameter: 0x1234.into(),
        host_program_parameter: 0x5678.into(),
    }
}

/// LS, bit 35 of an entry, and CL 2.
const LIMITED: u64 = 1 << 48 | 2 << 30 | 1 << 28;

/// Two full blocks, and one with three samples: an ordinary one, a limited one and an ordinary one.
fn blocks() -> Vec<u8> {
    let mut bytes = Vec::new();
    for block in 0..3_u8 {
        let mut entries = vec![entry(0); if block < 2 { 126 } else { 3 }];
        entries[1] = BasicEntry {
            head: LIMITED.into(),
            ..BasicEntry::default()
        };
        let start = bytes.len();
        bytes.extend(entries.as_bytes());
        bytes.resize(start + 4032, 0);
        let mut trailer = [0; 64];
        if block < 2 {
            // F and T, BSDES, and a clock of STORE CLOCK EXTENDED.
            (trailer[0], trailer[5], trailer[17], trailer[18]) = (0xA0, 32, 0xDF, block + 1);
        }
        bytes.extend(trailer);
    }
    bytes
}

/// The offset and the field of each finding in a file of samples, whose name tells what it is.
fn found(bytes: &[u8]) -> Vec<(usize, String)> {
    found_in("sdb-cpu0.bin", bytes)
}

fn found_in(name: &str, bytes: &[u8]) -> Vec<(usize, String)> {
    let (_, error) = dump_named(name, bytes, Form::Csv);
    let error = error.unwrap_or_default();
    let line = |line: &str| {
        let (offset, rest) = line.strip_prefix("offset ")?.split_once(" (")?;
        let (_, rest) = rest.split_once("field ")?;
        Some((offset.parse().unwrap(), rest.split_once(": ")?.0.to_owned()))
    };
    error.lines().map(|text| line(text).unwrap()).collect()
}

/// A field with a rule: its offset in a block, the bits that break the rule, and its name.
type Rule = (usize, u64, &'static str);

/// The rules of an ordinary sample, whose eight bytes at an offset get other bits.
const SAMPLE: [Rule; 7] = [
    (0, 1 << 45, "R"),
    (0, 1 << 38, "bits 24-25"),
    (0, 1 << 39, "bits 24-25"),
    (0, 1 << 30, "CL"),
    (0, 1 << 27, "bits 36-47"),
    (0, 1 << 16, "bits 36-47"),
    (0, 1 << 29, "H"),
];

/// The rules of a limited sample.
const LIMITED_SAMPLE: [Rule; 9] = [
    (0, 0xF << 40, "U"),
    (0, 1 << 37, "T"),
    (0, 1 << 36, "W"),
    (0, 1 << 35, "P"),
    (0, 3 << 33, "AS"),
    (0, 0xFFFF, "primary ASN"),
    (0, 1 << 31, "CL"),
    (8, u64::MAX, "instruction address"),
    (16, u64::MAX, "guest program parameter"),
];

/// The rules of a trailer.
const TRAILER: [Rule; 5] = [
    (0, 0x1F << 56, "trailer bits 3-7"),
    (0, 0xFF_FFFF << 32, "trailer bytes 1-3"),
    (0, 0x0002, "DSDES"),
    (16, 0xDF << 48, "timestamp"),
    (32, u64::MAX, "trailer bytes 32-39"),
];

/// Where the byte of a field is that its finding names, from the beginning of its entry.
fn named_at(name: &str, at: usize) -> usize {
    match name {
        "R" | "U" => 2,
        "bits 24-25" | "T" | "W" | "P" | "AS" => 3,
        "bits 36-47" | "CL" | "H" => 4,
        "primary ASN" | "DSDES" => 6,
        "trailer bytes 1-3" => 1,
        _ => at,
    }
}

#[test]
fn a_block_without_samples_and_a_hole_among_samples_are_named() {
    let good = blocks();
    assert_eq!(found(&good), []);
    let name = |name: &str| name.to_owned();
    // Zeros instead of a block.
    let mut bytes = good.clone();
    bytes[4096..8192].fill(0);
    assert_eq!(found(&bytes), [(4096, name("data-entry-format code"))]);
    // A hole in a block that is not full, and one in a full block.
    let mut bytes = good.clone();
    bytes[8192 + 32..8192 + 64].fill(0);
    let at = 8192 + 65;
    assert_eq!(found(&bytes), [(at, name("unused entry"))]);
    let mut bytes = good.clone();
    bytes[4096 + 320..4096 + 352].fill(0);
    assert_eq!(
        found(&bytes),
        [(4096 + 320, name("data-entry-format code"))]
    );
    // A single byte behind the last sample.
    let mut bytes = good;
    bytes[8192 + 4031] = 1;
    assert_eq!(found(&bytes), [(8192 + 4031, name("unused entry"))]);
}

#[test]
fn a_timestamp_that_goes_back_is_named_with_the_one_before() {
    let both = [4048, 4096 + 4048].map(|at| (at, "timestamp".to_owned()));
    let mut bytes = blocks();
    bytes[4096 + 4050] = 0;
    assert_eq!(found(&bytes), both);
    // In STORE CLOCK format the clock is not behind an epoch, and bytes 24-31 are reserved.
    let mut bytes = blocks();
    bytes[4096 + 4032] = 0x80;
    bytes[4096 + 4048..4096 + 4064].fill(0);
    bytes[4096 + 4048] = 0xDF;
    assert_eq!(found(&bytes), both);
    bytes[4096 + 4049] = 0x03;
    assert_eq!(found(&bytes), []);
    bytes[4096 + 4063] = 1;
    let reserved = (4096 + 4056, "trailer bytes 24-31".to_owned());
    assert_eq!(found(&bytes), [reserved]);
    // A block of another epoch comes later.
    let mut bytes = blocks();
    (bytes[4096 + 4048], bytes[4096 + 4050]) = (1, 0);
    assert_eq!(found(&bytes), []);
}

#[test]
fn program_parameters_agree_with_the_level_and_the_host_indicator() {
    let mut bytes = blocks();
    // H is one and CL is 1.
    bytes[4] = 0x60;
    let found_guest = [(4, "H"), (16, "guest program parameter")];
    assert_eq!(
        found(&bytes),
        found_guest.map(|(at, name)| (at, name.to_owned()))
    );
    bytes[4] = 0x40;
    let found_host = [(4, "H"), (24, "host program parameter")];
    assert_eq!(
        found(&bytes),
        found_host.map(|(at, name)| (at, name.to_owned()))
    );
    // The fields of an invalid entry need not agree.
    bytes[3] |= 1;
    assert_eq!(found(&bytes), []);
}

#[test]
fn bit_19_of_an_entry_says_that_blocks_have_a_megabyte() {
    let mut bytes = blocks();
    bytes[2] = 0x10;
    assert_eq!(found(&bytes), [(2, "R".to_owned())]);
    let mut large = [entry(1 << 44); 200].as_bytes().to_vec();
    large.resize(LARGE_BLOCK, 0);
    assert_eq!(found(&large), []);
    large[2] = 0x20;
    assert_eq!(found(&large), [(2, "R".to_owned())]);
}

#[test]
fn every_spoilt_record_of_a_file_is_named() {
    let mut bytes = [smf_record(0), smf_record(1), smf_record(2)].concat();
    let length = bytes.len() / 3;
    // The reserved byte of the data section, its offset, and a reserved byte again.
    let data = usize::from(u16::from_be_bytes([bytes[46], bytes[47]]));
    bytes[data + 19] = 1;
    bytes[length + 47] += 9;
    bytes[2 * length + 24] = 1;
    let found = found_in("x.SMF", &bytes);
    assert!(found.contains(&(data + 19, "*".to_owned())), "{found:?}");
    assert!(
        found
            .iter()
            .any(|(at, _)| (length..2 * length).contains(at)),
        "{found:?}"
    );
    assert_eq!(found.last(), Some(&(2 * length + 24, "*".to_owned())));
}

#[test]
fn a_mask_of_sets_and_a_length_that_do_not_agree_are_both_named() {
    let good = monitor_records(0);
    assert_eq!(found_in("x.MON", &good), []);
    // The last of two records has no more than eight counters: no problem-state set in both records' masks.
    let mut bytes = good.clone();
    (bytes[25], bytes[224 + 25]) = (0x0A, 0x0A);
    let both = |base: usize| {
        [
            (base + 24, "PRCMFC_CCFCMFAC".to_owned()),
            (base + 58, "PRCMFC_HWCLEN".to_owned()),
        ]
    };
    assert_eq!(found_in("x.MON", &bytes), both(224));
    // One counter fewer, and a shorter record.
    let mut bytes = good.clone();
    bytes.truncate(good.len() - 8);
    (bytes[224 + 1], bytes[224 + 59]) = (64 + 56, 56);
    assert_eq!(found_in("x.MON", &bytes), both(224));
    // Bits that stand for no set.
    let mut bytes = monitor_records(0);
    (bytes[24], bytes[224 + 24]) = (0x40, 0x40);
    let mask = |at: usize| (at, "PRCMFC_CCFCMFAC".to_owned());
    assert_eq!(found_in("x.MON", &bytes), [mask(24), mask(224 + 24)]);
}

proptest! {
    #[test]
    fn a_spoilt_field_of_a_block_is_named_at_its_offset(
        block in 0..2_usize, sample in 2..126_usize, which in any::<prop::sample::Index>(), chance in any::<u64>(),
    ) {
        let mut bytes = blocks();
        let rules: Vec<(usize, Rule)> = SAMPLE.iter().map(|rule| (32 * sample, *rule))
            .chain(LIMITED_SAMPLE.iter().map(|rule| (32, *rule)))
            .chain(TRAILER.iter().map(|rule| (4032, *rule)))
            .collect();
        let (part, (at, bits, name)) = rules[which.index(rules.len())];
        // Some of the bits, at least one.
        let lowest = bits & bits.wrapping_neg();
        let bits = match bits & chance { 0 => lowest, some => some };
        let start = 4096 * block + part + at;
        let own: &mut [u8; 8] = bytes[start..].first_chunk_mut().unwrap();
        *own = (u64::from_be_bytes(*own) ^ bits).to_be_bytes();
        let field = (4096 * block + part + named_at(name, at), name.to_owned());
        // A later clock in the last full block breaks no rule.
        let found = found(&bytes);
        prop_assert!(found.contains(&field) || name == "timestamp", "{name} {bits:X}: {found:?}");
    }
}
