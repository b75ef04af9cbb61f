use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{CounterValues, fixtures::bytes, layout::CannotEncode};

/// The first of two records of a CPU, written out by hand from the layout.
pub const PARTIAL_RECORD: &str = "
    0050                | 00 MRHDRLEN 80
    0000                | 02 MRHDRZER
    05 00               | 04 MRHDRDM 5
    000D                | 06 MRHDRRC 13
    DF00000000000002    | 08 MRHDRTOD
    00000000            | 16
    002C                | 20 PRCMFC_INTLEN 44
    0102                | 22 PRCMFC_PFXCPUAD 258
    8003                | 24 PRCMFC_CCFCMFAC COPROC, BASIC, EXT
    00                  | 26
    80                  | 27 PRCMFC_FLAGS P
    00000007            | 28 PRCMFC_CCFCTLCD 7
    00000009            | 32 PRCMFC_RCCLFTIM 9
    000003E8            | 36 PRCMFC_CCFCPUSP 1000
    0001 0002           | 40 PRCMFC_CFVN 1, PRCMFC_CSVN 2
    0003 0006           | 44 PRCMFC_CCFCFVN 3, PRCMFC_CCFCSVN 6
    DF00000000000001    | 48 PRCMFC_CCFTOD
    0040 0010           | 56 PRCMFC_HWCOFF 64, PRCMFC_HWCLEN 16
    00                  | 60
    01                  | 61 PRCMFC_TID 1
    0081                | 62 PRCMFC_CORID 129
    0000000000000011    | 64 PRCMFC_COUNTERS
    FFFFFFFFFFFFFFFF    | 72
";

/// The second.
const LAST_RECORD: &str = "
    0048 0000 05 00 000D DF00000000000002 00000000  | 00 MRHDRLEN 72
    002C 0102 8003 00 00                            | 20 PRCMFC_FLAGS not P
    00000007 00000009 000003E8 0001 0002 0003 0006  | 28
    DF00000000000001 0040 0008 00 01 0081           | 48 PRCMFC_HWCLEN 8
    8000000000000000                                | 64 PRCMFC_COUNTERS
";

const DATA: ProcessorCounters = ProcessorCounters {
    written: 0xDF00_0000_0000_0002,
    cpu: 258,
    coprocessor_group: true,
    lost: 7,
    lifetime: 9,
    speed: 1000,
    versions: [1, 2],
    hardware_versions: [3, 6],
    harvested: 0xDF00_0000_0000_0001,
    thread: 1,
    core: 129,
};

#[test]
fn two_records_of_a_cpu_are_read_from_their_bytes_and_written_to_them() {
    let (first, last) = (bytes(PARTIAL_RECORD), bytes(LAST_RECORD));
    let decoded = [&first, &last].map(|record| decode(record).unwrap().counters.unwrap());
    for record in &decoded {
        assert_eq!(record.data, DATA);
        assert!(record.sets().eq([SetType::BASIC, SetType::EXTENDED]));
    }
    assert!(decoded[0].is_partial && !decoded[1].is_partial);
    assert!(decoded[0].goes_on_in(&decoded[1]) && !decoded[1].goes_on_in(&decoded[0]));
    let all = decoded.iter().flat_map(|record| record.counters.iter());
    assert!(all.eq([0x11, u64::MAX, 1 << 63]));

    // The sets are not in the order of the record.
    let sets = [
        CounterValues::new(SetType::EXTENDED, &[1 << 63]),
        CounterValues::new(SetType::BASIC, &[0x11, u64::MAX]),
    ];
    let mut records = Records::new(&DATA, &sets);
    // 87 bytes have room for two counters, not for three.
    let mut out = [0xAA; 87];
    assert_eq!(records.write(&mut out), Ok(Some(80)));
    assert_eq!(out[..80], first);
    assert_eq!(records.write(&mut out), Ok(Some(72)));
    assert_eq!(out[..72], last);
    assert_eq!(records.write(&mut out), Ok(None));
}

#[test]
fn a_set_is_divided_where_a_page_is_full() {
    let values = [3; 600];
    let sets = [CounterValues::new(SetType::EXTENDED, &values)];
    let mut records = Records::new(&DATA, &sets);
    let mut out = [0; 10_000];
    // 504 counters and 64 bytes are a page.
    assert_eq!(records.write(&mut out), Ok(Some(4096)));
    assert!(decode(&out).unwrap().counters.unwrap().is_partial);
    assert_eq!(records.write(&mut out), Ok(Some(64 + 96 * 8)));
    assert!(!decode(&out).unwrap().counters.unwrap().is_partial);
    assert_eq!(records.write(&mut out), Ok(None));
}

#[test]
fn a_record_of_another_cpu_or_lifetime_does_not_continue_this_one() {
    let (first, last) = (bytes(PARTIAL_RECORD), bytes(LAST_RECORD));
    let first = decode(&first).unwrap().counters.unwrap();
    // CPU address, active sets, lost-data count, lifetime, TOD of the harvest.
    for at in [23, 25, 31, 35, 55] {
        let mut other = last.clone();
        other[at] ^= 4;
        let other = decode(&other).unwrap().counters.unwrap();
        assert!(!first.goes_on_in(&other), "{at}");
    }
}

#[test]
fn counters_are_at_their_offset_after_a_longer_section() {
    let mut record = bytes(LAST_RECORD);
    let counter = record.split_off(64);
    record.extend([0xEE; 12]);
    record.extend(&counter);
    record[1] = 84;
    record[21] = 52;
    record[57] = 76;
    let decoded = decode(&record).unwrap().counters.unwrap();
    assert!(decoded.counters.iter().eq([1 << 63]));
    assert_eq!(decoded.data, DATA);
}

#[test]
fn only_the_header_of_another_monitor_record_is_decoded() {
    let mut record = bytes(LAST_RECORD);
    record[7] = 20;
    record[21] = 0;
    let decoded = decode(&record).unwrap();
    assert!(decoded.counters.is_none());
    assert_eq!((decoded.length, decoded.header.record.get()), (72, 20));
}

#[test]
fn an_error_names_the_field_that_is_wrong_and_its_offset() {
    // (offset of a field, its new value, offset and name in the error)
    let table: [(usize, [u8; 2], usize, &str); 9] = [
        (0, [0, 19], 0, "MRHDRLEN"),
        (0, [0, 73], 0, "MRHDRLEN"),
        (2, [0, 1], 2, "MRHDRZER"),
        (0, [0, 21], 20, "PRCMFC_INTLEN"),
        (20, [0, 39], 20, "PRCMFC_INTLEN"),
        (20, [1, 0], 20, "PRCMFC_INTLEN"),
        (56, [0, 63], 56, "PRCMFC_HWCOFF"),
        (58, [0, 7], 58, "PRCMFC_HWCLEN"),
        (58, [0, 16], 58, "PRCMFC_HWCLEN"),
    ];
    for (at, value, offset, field) in table {
        let mut record = bytes(LAST_RECORD);
        record[at..at + 2].copy_from_slice(&value);
        let error = decode(&record).unwrap_err();
        assert_eq!((error.offset, error.field), (offset, field), "{error}");
    }
    let error = decode(&bytes(LAST_RECORD)[..13]).unwrap_err();
    let expected = (8, "MRHDRTOD", Problem::Missing);
    assert_eq!((error.offset, error.field, error.problem), expected);
}

#[test]
fn a_set_that_a_record_cannot_hold_is_refused() {
    let mut out = [0; 71];
    let sets = [CounterValues::new(SetType::BASIC, &[1])];
    let refusal = Records::new(&DATA, &sets).write(&mut out);
    assert_eq!(refusal, Err(CannotEncode::NoRoom { needs: 72 }));
    assert_eq!(Records::new(&DATA, &[]).write(&mut out), Ok(Some(64)));
    let sets = [CounterValues::new(SetType::MT_DIAGNOSTIC, &[1])];
    let refusal = Records::new(&DATA, &sets).write(&mut out);
    assert_eq!(refusal, Err(CannotEncode::NoSuchSet(6)));
}

proptest! {
    #[test]
    fn counters_are_read_from_as_many_records_as_they_need(
        (written, cpu, coprocessor_group, lost, lifetime, speed) in any::<(u64, u16, bool, u32, u32, u32)>(),
        (versions, hardware_versions, harvested, thread, core) in
            any::<([u16; 2], [u16; 2], u64, u8, u16)>(),
        values in prop::array::uniform4(prop::option::of(vec(any::<u64>(), 0..30))),
        room in 72..400_usize,
    ) {
        let data = ProcessorCounters {
            written, cpu, coprocessor_group, lost, lifetime, speed, versions, hardware_versions, harvested,
            thread, core,
        };
        let sets: Vec<_> = SETS
            .iter()
            .zip(&values)
            .filter_map(|((set, _), values)| Some(CounterValues::new(*set, values.as_ref()?)))
            .collect();
        let mut records = Records::new(&data, &sets);
        let mut out = vec![0; room];
        let (mut found, mut last): (Vec<u64>, _) = (Vec::new(), true);
        while let Some(length) = records.write(&mut out).unwrap() {
            let record = decode(&out).unwrap();
            prop_assert_eq!(record.length, length);
            let decoded = record.counters.unwrap();
            prop_assert_eq!(decoded.data, data);
            prop_assert!(decoded.sets().eq(sets.iter().map(|set| set.set)));
            found.extend(decoded.counters.iter());
            last = !decoded.is_partial;
        }
        prop_assert!(last);
        let expected: Vec<u64> = values.into_iter().flatten().flatten().collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_record_with_wrong_bytes_is_read_or_refused_at_a_place_within_it(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut record = bytes(PARTIAL_RECORD);
        for (at, value) in changes {
            let at = at.index(record.len());
            record[at] = value;
        }
        for bytes in [&record[..], &record[..cut.index(record.len())]] {
            match decode(bytes) {
                Ok(record) => {
                    prop_assert!(record.length <= bytes.len());
                    let counters = record.counters.map_or(0, |found| found.counters.iter().count());
                    prop_assert!(counters * 8 <= bytes.len());
                }
                Err(error) => prop_assert!(error.offset <= bytes.len(), "{}", error),
            }
        }
    }

    #[test]
    fn random_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
    }
}
