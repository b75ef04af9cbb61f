//! Records of other producers, records that are wrong, and records that are too long.

use proptest::{collection::vec, prelude::*};
use zerocopy::byteorder::big_endian::{U32, U64};

use super::{
    Absolutes, Data, Deltas, Envelope, Identification, LONGEST, Records, Subsystem,
    absolutes::Place,
    decode, decode_with,
    golden::{SUBTYPE_1, SUBTYPE_2},
};
use crate::{
    CounterValues, Counters, Ebcdic, Problem, SetType,
    counters::MOST_COUNTERS,
    fixtures::bytes,
    layout::{CannotEncode, Form, Part},
};

fn put(record: &mut [u8], at: usize, field: &[u8]) {
    record[at..at + field.len()].copy_from_slice(field);
}

#[test]
fn sections_may_be_longer_and_stand_in_another_order() {
    let mut record = bytes(SUBTYPE_1);
    let counters = record[216..232].to_vec();
    // The identification section moves to the end and becomes longer, and so do the basic counters, each
    // now with a word after it; bits without a meaning are ones.
    let identification = record[72..112].to_vec();
    put(&mut record, 36, &240_u32.to_be_bytes());
    put(&mut record, 40, &44_u16.to_be_bytes());
    put(&mut record, 196, &284_u32.to_be_bytes());
    put(&mut record, 200, &12_u16.to_be_bytes());
    put(&mut record, 4, &[0xFF]);
    put(&mut record, 162, &[0xFF, 0xFF]);
    record[72..112].fill(0xEE);
    record.extend(identification);
    record.extend([0xEE; 4]);
    for counter in counters.chunks(8) {
        record.extend(counter);
        record.extend([0xEE; 4]);
    }
    let length = record.len() as u16;
    put(&mut record, 0, &length.to_be_bytes());
    let decoded = decode(&record).unwrap();
    let identification = decoded.envelope.identification.unwrap();
    assert_eq!(identification.job, Ebcdic::new("HISPROC"));
    let Data::Deltas(data) = decoded.data else {
        panic!("another subtype");
    };
    assert!(data.data.lost && data.data.lost_mt);
    let basic = data.sets().next().unwrap();
    assert!(basic.counters.iter().eq([0x1_2345_6789, 2]));
}

#[test]
fn records_of_an_older_version_are_read_with_zeros_for_the_fields_they_lack() {
    let mut record = bytes(SUBTYPE_2);
    put(&mut record, 48, &40_u16.to_be_bytes());
    let Data::Absolutes(short) = decode(&record).unwrap().data else {
        panic!("another subtype");
    };
    // The CPU address is then the old field's.
    assert_eq!((short.data.cpu, short.data.speed), (5, 0));
    let mut record = bytes(SUBTYPE_1);
    put(&mut record, 48, &60_u16.to_be_bytes());
    let Data::Deltas(short) = decode(&record).unwrap().data else {
        panic!("another subtype");
    };
    assert_eq!((short.data.cpu, short.data.core), (1, 0));
    assert_eq!(short.sets().count(), 2);
}

#[test]
fn a_loss_of_mt_counter_data_is_read_from_either_bit() {
    // (flags, lost, lost_mt, the flags that are written again)
    for (flags, lost, lost_mt, written) in [
        (0x0000_u16, false, false, 0x0000_u16),
        (0x8000, true, false, 0x8000),
        (0x4000, false, true, 0x4000),
        (0x2000, false, true, 0x4000),
        (0x6000, false, true, 0x4000),
        (0xA000, true, true, 0xC000),
    ] {
        let mut record = bytes(SUBTYPE_1);
        put(&mut record, 162, &flags.to_be_bytes());
        let Data::Deltas(read) = decode(&record).unwrap().data else {
            panic!("another subtype");
        };
        assert_eq!((read.data.lost, read.data.lost_mt), (lost, lost_mt));
        let again = read.data.section(0, 0).flags;
        assert_eq!(again.get(), written, "{flags:X}");
    }
}

#[test]
fn processor_class_2_is_zaap_or_zcbp_as_the_flags_say() {
    for (golden, class_at, flags_at, zcbp) in [
        (SUBTYPE_1, 130, 162, 0x1000_u16),
        (SUBTYPE_2, 129, 130, 0x2400),
    ] {
        for (flags, name, meaning) in [(0x2000 & !zcbp, "zAAP", false), (zcbp, "zCBP", true)] {
            let mut record = bytes(golden);
            let flags = if golden == SUBTYPE_2 {
                flags | 0x2000
            } else {
                flags
            };
            put(&mut record, class_at, &[2]);
            put(&mut record, flags_at, &flags.to_be_bytes());
            let mut names = Vec::new();
            let decoded = decode_with(&record, &mut |part| {
                part.check(&mut |wrong| panic!("{wrong}"));
                let Part::Section { fields, .. } = part else {
                    return;
                };
                names.extend(fields.iter().filter_map(|field| match field.form {
                    Form::Code(codes) if field.name.ends_with("CpuProcClass") => {
                        codes.iter().find(|(code, _)| *code == 2)
                    }
                    _ => None,
                }));
            });
            let zcbp = match decoded.unwrap().data {
                Data::Deltas(decoded) => decoded.data.zcbp,
                Data::Absolutes(decoded) => decoded.data.zcbp,
            };
            assert_eq!((names, zcbp), (vec![(2, name)], meaning));
        }
    }
}

#[test]
fn an_error_names_the_field_that_is_wrong_and_its_offset() {
    // (which golden record, offset of a field, its new value, offset and name in the error)
    let table: [(&str, usize, &[u8], usize, &str); 20] = [
        (SUBTYPE_1, 0, &[0xFF, 0xFF], 0, "SMF113LEN"),
        (SUBTYPE_1, 0, &[0, 27], 0, "SMF113LEN"),
        (SUBTYPE_1, 2, &[1, 0], 2, "SMF113SEG"),
        (SUBTYPE_1, 5, &[30], 5, "SMF113RTY"),
        (SUBTYPE_1, 22, &[0, 3], 22, "SMF113STY"),
        (SUBTYPE_1, 26, &[0, 23], 26, "SMF113SDL"),
        (SUBTYPE_1, 26, &[0x0F, 0], 26, "SMF113SDL"),
        (SUBTYPE_1, 28, &[0xFF, 0xFF, 0xFF, 0xFF], 28, "SMF113SOF"),
        (SUBTYPE_1, 28, &[0, 0, 0, 27], 28, "SMF113SOF"),
        (SUBTYPE_1, 32, &[0, 17], 32, "SMF113SLN"),
        (SUBTYPE_1, 42, &[0, 6], 42, "SMF113ION"),
        (SUBTYPE_1, 48, &[0, 59], 48, "SMF113DLN"),
        (SUBTYPE_1, 50, &[0, 0], 50, "SMF113DON"),
        (SUBTYPE_1, 164, &[0, 0, 0, 240], 164, "SMF113_1_CSOF"),
        (SUBTYPE_1, 196, &[0, 0, 0, 225], 202, "SMF113_1_CDON"),
        (SUBTYPE_1, 212, &[0, 3], 212, "SMF113_1_CDLN"),
        (SUBTYPE_1, 214, &[0, 3], 214, "SMF113_1_CDON"),
        (SUBTYPE_2, 140, &[0, 11], 140, "SMF113_2_CSLN"),
        (SUBTYPE_2, 202, &[0, 4], 202, "SMF113_2_CSN"),
        (SUBTYPE_2, 214, &[0, 0], 150, "SMF113_2_CDON"),
    ];
    for (golden, at, value, offset, field) in table {
        let mut record = bytes(golden);
        put(&mut record, at, value);
        let error = decode(&record).unwrap_err();
        assert_eq!((error.offset, error.field), (offset, field), "{error}");
    }
}

#[test]
fn a_record_that_is_cut_off_says_where() {
    for golden in [SUBTYPE_1, SUBTYPE_2] {
        let record = bytes(golden);
        for length in 0..record.len() {
            let error = decode(&record[..length]).unwrap_err();
            let expected = match length {
                0..28 => Problem::Missing,
                _ => Problem::Truncated {
                    says: record.len() as u64,
                    there: length as u64,
                },
            };
            assert_eq!(error.problem, expected, "{length}: {error}");
        }
    }
    let error = decode(&bytes(SUBTYPE_1)[..12]).unwrap_err();
    assert_eq!((error.offset, error.field), (10, "SMF113DTE"));
}

#[test]
fn sets_that_share_their_counters_cannot_make_a_record_endless() {
    let mut record = bytes(SUBTYPE_1);
    // A hundred sections, each with all bytes of the record after its header.
    let at = record.len();
    for _ in 0..100 {
        record.extend([0, 1, 0, 0, 0, 0, 0, 28, 0, 4, 1, 0]);
    }
    put(&mut record, 164, &(at as u32).to_be_bytes());
    put(&mut record, 170, &100_u16.to_be_bytes());
    let length = record.len() as u16;
    put(&mut record, 0, &length.to_be_bytes());
    let error = decode(&record).unwrap_err();
    assert_eq!((error.offset, error.field), (at + 4, "SMF113_1_CDOF"));
    assert_eq!(error.problem, Problem::Overlap { at: 28 });
}

fn envelope() -> Envelope {
    decode(&bytes(SUBTYPE_1)).unwrap().envelope
}

fn deltas() -> Deltas {
    let record = bytes(SUBTYPE_1);
    let Data::Deltas(decoded) = decode(&record).unwrap().data else {
        panic!("another subtype");
    };
    decoded.data
}

#[test]
fn a_set_that_does_not_fit_begins_another_record() {
    let values: Vec<u64> = (0..MOST_COUNTERS as u64).map(|n| n << 32).collect();
    let sets = [1, 2, 3, 4, 5, 6].map(|set| CounterValues::new(SetType(set), &values));
    let (envelope, deltas) = (envelope(), deltas());
    let mut records = Records::deltas(&envelope, &deltas, &sets);
    let mut out = vec![0; 40_000];
    let mut found = Vec::new();
    let mut lengths = Vec::new();
    while let Some(length) = records.write(&mut out).unwrap() {
        lengths.push(length);
        let record = decode(&out[..length]).unwrap();
        assert_eq!(record.envelope, envelope);
        let Data::Deltas(data) = record.data else {
            panic!("another subtype");
        };
        assert_eq!(data.data, deltas);
        for set in data.sets() {
            found.push((set.set, set.counters.iter().collect::<Vec<_>>()));
        }
    }
    // 16 KiB a set: one of 32,756 bytes does not hold two.
    assert_eq!(lengths, [192 + 12 + 4 + 16_384; 6]);
    assert!(lengths.iter().all(|length| *length <= LONGEST));
    let sets: Vec<_> = sets.iter().map(|set| (set.set, values.clone())).collect();
    assert_eq!(found, sets);
}

#[test]
fn a_record_of_exactly_the_longest_length_is_one_record() {
    // 192 bytes in front, 24 for two sections; 8 * 2020 + 8 * 2047 + 4 = 32,540 are left: 32,536.
    let values = [u64::MAX; MOST_COUNTERS];
    let of = |second: usize| {
        let sets = [
            CounterValues::new(SetType::ZOS, &values[..2020]),
            CounterValues::new(SetType(9), &values[..second]),
        ];
        let (envelope, deltas) = (envelope(), deltas());
        let mut records = Records::deltas(&envelope, &deltas, &sets);
        let mut out = vec![0; LONGEST];
        let mut lengths = Vec::new();
        while let Some(length) = records.write(&mut out).unwrap() {
            lengths.push(length);
        }
        lengths
    };
    assert_eq!(of(2047), [216 + 8 * 4067]);
    assert_eq!(of(2048).len(), 2);
}

#[test]
fn a_set_that_a_record_cannot_hold_is_refused() {
    let (envelope, deltas) = (envelope(), deltas());
    let mut out = [0; 1000];
    let many = [0; MOST_COUNTERS + 1];
    let sets = [CounterValues::new(SetType::ZOS, &many)];
    let mut records = Records::deltas(&envelope, &deltas, &sets);
    let refusal = records.write(&mut out);
    assert_eq!(refusal, Err(CannotEncode::TooManyCounters));

    let sets = [CounterValues::new(SetType::ZOS, &[1, 2])];
    let mut records = Records::deltas(&envelope, &deltas, &sets);
    let refusal = records.write(&mut out[..215]);
    assert_eq!(refusal, Err(CannotEncode::NoRoom { needs: 216 }));
    assert_eq!(records.write(&mut out[..216]), Ok(Some(216)));

    let record = bytes(SUBTYPE_2);
    let Data::Absolutes(decoded) = decode(&record).unwrap().data else {
        panic!("another subtype");
    };
    let mut records = Records::absolutes(&envelope, &decoded.data, &sets);
    assert_eq!(records.write(&mut out), Err(CannotEncode::NoSuchSet(5)));
}

#[test]
fn an_interval_without_any_set_is_one_record() {
    let (envelope, deltas) = (envelope(), deltas());
    let mut records = Records::deltas(&envelope, &deltas, &[]);
    let mut out = [0; 1000];
    let length = records.write(&mut out).unwrap().unwrap();
    let Data::Deltas(decoded) = decode(&out[..length]).unwrap().data else {
        panic!("another subtype");
    };
    assert_eq!(decoded.sets().count(), 0);
    assert_eq!(records.write(&mut out), Ok(None));
}

pub fn any_text<const N: usize>() -> impl Strategy<Value = Ebcdic<N>> {
    any::<[u8; N]>().prop_map(Ebcdic)
}

pub fn any_envelope() -> impl Strategy<Value = Envelope> {
    let product =
        (any_text(), any_text(), any_text()).prop_map(|(version, product, level)| Subsystem {
            version,
            product,
            level,
        });
    let identification = (any_text(), any_text(), any::<[u32; 2]>(), any::<[u64; 2]>()).prop_map(
        |(job, step, reader, interval)| Identification {
            job,
            reader_time: U32::new(reader[0]),
            reader_date: U32::new(reader[1]),
            step,
            interval_start: U64::new(interval[0]),
            interval_end: U64::new(interval[1]),
        },
    );
    (
        any_text(),
        prop::option::of(any_text()),
        any::<(u8, u32, u32)>(),
        prop::option::of(product),
        prop::option::of(identification),
    )
        .prop_map(
            |(system, subsystem, (bits, time, date), product, identification)| Envelope {
                system,
                subsystem,
                system_bits: bits & 0x1E,
                time,
                date,
                product,
                identification,
            },
        )
}

/// Values of a set, half of them short.
pub fn any_values() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        vec(any::<u64>(), 0..40),
        vec(any::<u32>().prop_map(u64::from), 0..40)
    ]
}

proptest! {
    #[test]
    fn records_of_subtype_1_are_read_as_they_were_written(
        envelope in any_envelope(),
        (run_start, written, speed) in any::<(u64, u64, u32)>(),
        (cpu, versions, core) in any::<(u16, [u16; 3], u16)>(),
        (class, zcbp, lost, lost_mt) in any::<(u8, bool, bool, bool)>(),
        (machine_type, model, sequence_code) in (any_text(), any_text(), any_text()),
        values in vec((any::<u16>(), any_values()), 0..8),
    ) {
        let data = Deltas {
            run_start, written, cpu, class, zcbp, speed, machine_type, model, versions, lost, lost_mt,
            sequence_code, core,
        };
        let sets: Vec<_> = values.iter().map(|(set, values)| CounterValues::new(SetType(*set), values)).collect();
        let mut out = [0; 4096];
        let mut records = Records::deltas(&envelope, &data, &sets);
        let length = records.write(&mut out).unwrap().unwrap();
        let record = decode(&out).unwrap();
        prop_assert_eq!(record.envelope, envelope);
        let Data::Deltas(decoded) = record.data else { panic!("another subtype") };
        prop_assert_eq!(decoded.data, data);
        let found: Vec<_> = decoded.sets().collect();
        prop_assert_eq!(&found, &sets);
        // What was decoded is written as the same bytes.
        let mut again = [0xFF; 4096];
        let mut records = Records::deltas(&envelope, &decoded.data, &found);
        prop_assert_eq!(records.write(&mut again), Ok(Some(length)));
        prop_assert_eq!(&again[..length], &out[..length]);
    }

    #[test]
    fn records_of_subtype_2_are_read_as_they_were_written(
        envelope in any_envelope(),
        (run_start, written, speed) in any::<(u64, u64, u32)>(),
        (cpu, class, zcbp, versions, lost) in any::<(u16, u8, bool, [u16; 2], bool)>(),
        place in prop_oneof![Just(Place::First), Just(Place::Intermediate), Just(Place::Final),
                             Just(Place::Other(0)), Just(Place::Other(0xA000))],
        (machine_type, model, sequence_code) in (any_text(), any_text(), any_text()),
        values in vec((1..=4_u16, any_values()), 0..5),
    ) {
        let data = Absolutes {
            run_start, written, cpu, class, zcbp, place, lost, versions, speed, machine_type, model,
            sequence_code,
        };
        let sets: Vec<_> = values.iter().map(|(set, values)| CounterValues::new(SetType(*set), values)).collect();
        let mut out = [0; 4096];
        let mut records = Records::absolutes(&envelope, &data, &sets);
        let length = records.write(&mut out).unwrap().unwrap();
        let record = decode(&out).unwrap();
        prop_assert_eq!(record.envelope, envelope);
        let Data::Absolutes(decoded) = record.data else { panic!("another subtype") };
        prop_assert_eq!(decoded.data, data);
        let found: Vec<_> = decoded.sets().collect();
        prop_assert_eq!(&found, &sets);
        let mut again = [0xFF; 4096];
        let mut records = Records::absolutes(&envelope, &decoded.data, &found);
        prop_assert_eq!(records.write(&mut again), Ok(Some(length)));
        prop_assert_eq!(&again[..length], &out[..length]);
    }

    #[test]
    fn a_record_with_wrong_bytes_is_read_or_refused_at_a_place_within_it(
        which in any::<bool>(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut record = bytes(if which { SUBTYPE_1 } else { SUBTYPE_2 });
        for (at, value) in changes {
            let at = at.index(record.len());
            record[at] = value;
        }
        for bytes in [&record[..], &record[..cut.index(record.len())]] {
            if let Err(error) = decode(bytes) {
                prop_assert!(error.offset <= bytes.len(), "{}", error);
                prop_assert!(error.field.starts_with("SMF113") || error.field == "*", "{}", error);
            }
        }
    }

    #[test]
    fn random_bytes_are_read_or_refused(mut bytes in vec(any::<u8>(), 0..400), plausible in any::<bool>()) {
        if plausible && bytes.len() > 28 {
            let length = (bytes.len() as u16).to_be_bytes();
            put(&mut bytes, 0, &length);
            put(&mut bytes, 2, &[0, 0, 0x40, 113]);
            bytes[22] = 0;
            bytes[23] = bytes[23] % 2 + 1;
            put(&mut bytes, 26, &[0, 24]);
        }
        if let Ok(record) = decode(&bytes) {
            match record.data {
                Data::Deltas(data) => data.sets().map(|set| set.counters.iter().count()).sum::<usize>(),
                Data::Absolutes(data) => data.sets().map(|set| set.counters.iter().count()).sum(),
            };
        }
    }
}

#[test]
fn a_counter_is_found_by_its_index_in_the_set() {
    assert_eq!(Counters::new(&[1, 2]).get(1), Some(2));
    assert_eq!(SetType::EXTENDED.first_counter(), Some(128));
}
