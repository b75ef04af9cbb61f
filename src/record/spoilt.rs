//! Records with one field spoilt: the decoder shows the field, by its name and at its offset.

use proptest::prelude::*;

use super::{
    Malformed,
    fixtures::bytes,
    layout::{Field, Form, Part, Visitor},
    monitor::{self, tests::PARTIAL_RECORD},
    smf::{
        self,
        golden::{SUBTYPE_1, SUBTYPE_2},
    },
};

/// A decoder of records.
type Decode = fn(&[u8], &mut Visitor<'_>) -> Result<(), Malformed>;

/// A record and its decoder.
type Record = (Vec<u8>, Decode);

/// A valid record of each kind.
fn records() -> [Record; 3] {
    let of_smf: Decode = |bytes, visit| smf::decode_with(bytes, visit).map(|_| ());
    let of_monitor: Decode = |bytes, visit| monitor::decode_with(bytes, visit).map(|_| ());
    [
        (bytes(SUBTYPE_1), of_smf),
        (bytes(SUBTYPE_2), of_smf),
        (bytes(PARTIAL_RECORD), of_monitor),
    ]
}

/// Offset and name of everything that is wrong in a record.
fn wrong(record: &[u8], decode: Decode) -> Vec<(usize, &'static str)> {
    let mut wrong = Vec::new();
    let mut add = |malformed: Malformed| wrong.push((malformed.offset, malformed.field));
    let done = decode(record, &mut |part| part.check(&mut add));
    if let Err(malformed) = done {
        add(malformed);
    }
    wrong
}

/// The fields of a record with their offsets in it.
fn fields(record: &[u8], decode: Decode) -> Vec<(usize, Field)> {
    let mut all = Vec::new();
    let mut add = |part: Part<'_>| {
        if let Part::Section { at, fields, .. } = part {
            all.extend(fields.iter().map(|field| (at + field.offset, *field)));
        }
    };
    decode(record, &mut add).unwrap();
    all
}

/// A value against the rule of a field's form, if the form has one. `chance` chooses among several.
fn spoilt(field: &Field, now: u64, chance: u64) -> Option<u64> {
    let bits = 8 * field.length as u32;
    match field.form {
        Form::Number | Form::Hexadecimal | Form::Mask | Form::Tod => None,
        Form::Bits(names) => {
            let is_reserved = |bit: &u32| names.iter().all(|(named, _)| named != bit);
            let bit = one_of((0..bits).filter(is_reserved), chance);
            Some(now | 1 << (bits - 1 - bit))
        }
        Form::Code(names) => {
            let is_wrong = |code: &u64| names.iter().all(|(named, _)| named != code);
            Some(one_of((0..256).filter(is_wrong), chance))
        }
        Form::Hundredths => Some(8_640_000 + chance % 1000),
        // No year, no day 0, no day 366 of 2026, no sign, no decimal digit.
        Form::PackedDate => {
            let wrong = [0, 0x0126_000F, 0x0126_366F, 0x0126_3651, 0x0126_A25F];
            Some(one_of(wrong, chance))
        }
        Form::Text => {
            let is_wrong =
                |code: &u64| *code != 0 && arch::ebcdic::character(*code as u8).is_none();
            let code = one_of((0..256).filter(is_wrong), chance);
            let at = chance as u32 % bits / 8 * 8;
            let at = at.min(56);
            Some(now & !(0xFF << at) | code << at)
        }
        Form::Reserved => Some(1 << (chance % u64::from(bits))),
    }
}

/// The one of these values that chance has chosen.
fn one_of<T: Copy>(values: impl IntoIterator<Item = T>, chance: u64) -> T {
    let values: Vec<T> = values.into_iter().collect();
    values[chance as usize % values.len()]
}

#[test]
fn a_valid_record_breaks_no_rule() {
    for (record, decode) in records() {
        assert_eq!(wrong(&record, decode), []);
    }
}

#[test]
fn fields_that_contradict_each_other_are_both_shown() {
    type Wrong = &'static [(usize, &'static str)];
    let [deltas, absolutes, monitor] = records();
    // (record, offset of the spoilt field, its new value, what is wrong then)
    let table: [(&Record, usize, &[u8], Wrong); 31] = [
        (&deltas, 0, &[0, 0xF9], &[(0, "SMF113LEN")]),
        (&deltas, 4, &[0x80], &[(4, "SMF113FLG")]),
        // The subsystem section is the data section: its offset, or that of the data.
        (&deltas, 31, &[112], &[(28, "SMF113SOF"), (44, "SMF113DOF")]),
        (&deltas, 39, &[60], &[(28, "SMF113SOF"), (36, "SMF113IOF")]),
        (
            &deltas,
            34,
            &[0, 2],
            &[(34, "SMF113SON"), (28, "SMF113SOF"), (36, "SMF113IOF")],
        ),
        (&deltas, 47, &[104], &[(36, "SMF113IOF"), (44, "SMF113DOF")]),
        (
            &deltas,
            167,
            &[180],
            &[(44, "SMF113DOF"), (164, "SMF113_1_CSOF")],
        ),
        (
            &deltas,
            199,
            &[224],
            &[(196, "SMF113_1_CDOF"), (208, "SMF113_1_CDOF")],
        ),
        (&deltas, 199, &[30], &[(196, "SMF113_1_CDOF")]),
        (
            &deltas,
            211,
            &[220],
            &[(196, "SMF113_1_CDOF"), (208, "SMF113_1_CDOF")],
        ),
        (
            &deltas,
            96,
            &[0xE0],
            &[(96, "SMF113IntervalStart"), (104, "SMF113IntervalEnd")],
        ),
        (
            &deltas,
            112,
            &[0xE0],
            &[(112, "SMF113_1_CTS"), (120, "SMF113_1_CTM")],
        ),
        (
            &deltas,
            120,
            &[0xDE],
            &[(112, "SMF113_1_CTS"), (120, "SMF113_1_CTM")],
        ),
        (
            &deltas,
            194,
            &[0],
            &[(194, "SMF113_1_CSFlags"), (200, "SMF113_1_CDLN")],
        ),
        (
            &deltas,
            213,
            &[5],
            &[(206, "SMF113_1_CSFlags"), (212, "SMF113_1_CDLN")],
        ),
        (&deltas, 205, &[1], &[(204, "SMF113_1_CSType")]),
        (&absolutes, 130, &[0xE8], &[(130, "SMF113_2_CF")]),
        (&absolutes, 130, &[0x08], &[(130, "SMF113_2_CF")]),
        (
            &absolutes,
            120,
            &[0xDE],
            &[(112, "SMF113_2_CTS"), (120, "SMF113_2_CTM")],
        ),
        (
            &absolutes,
            128,
            &[6],
            &[(128, "SMF113_2_CPU#"), (176, "SMF113_2_CpuId")],
        ),
        (
            &absolutes,
            177,
            &[6],
            &[(128, "SMF113_2_CPU#"), (176, "SMF113_2_CpuId")],
        ),
        (
            &absolutes,
            139,
            &[0xA0],
            &[(44, "SMF113DOF"), (136, "SMF113_2_CSOF")],
        ),
        (
            &absolutes,
            146,
            &[0, 0xD4],
            &[(136, "SMF113_2_CSOF"), (144, "SMF113_2_CDOF")],
        ),
        (&absolutes, 200, &[5], &[(200, "SMF113_2_CST")]),
        (&absolutes, 212, &[1], &[(212, "SMF113_2_CST")]),
        (
            &absolutes,
            204,
            &[0xE0],
            &[(204, "SMF113_2_CSP"), (202, "SMF113_2_CSN")],
        ),
        (
            &absolutes,
            205,
            &[0x01],
            &[(204, "SMF113_2_CSP"), (202, "SMF113_2_CSN")],
        ),
        (
            &monitor,
            8,
            &[0xDE],
            &[(48, "PRCMFC_CCFTOD"), (8, "MRHDRTOD")],
        ),
        (
            &monitor,
            20,
            &[0, 50],
            &[(20, "PRCMFC_INTLEN"), (56, "PRCMFC_HWCOFF")],
        ),
        (
            &monitor,
            56,
            &[0, 72],
            &[(56, "PRCMFC_HWCOFF"), (58, "PRCMFC_HWCLEN")],
        ),
        (&monitor, 58, &[0, 8], &[(0, "MRHDRLEN")]),
    ];
    for ((record, decode), at, value, expected) in table {
        let mut record = record.clone();
        // What follows the record is not its own.
        record.resize(record.len() + 16, 0);
        record[at..at + value.len()].copy_from_slice(value);
        // A section that is read elsewhere has other fields that are wrong.
        let mut wrong = wrong(&record, *decode);
        wrong.retain(|found| expected.contains(found));
        assert_eq!(wrong, expected, "{at}: {value:X?}");
    }
}

proptest! {
    #[test]
    fn a_spoilt_field_is_shown_by_its_name_and_at_its_offset(
        which in 0..3_usize, field in any::<prop::sample::Index>(), chance in any::<u64>(),
    ) {
        let [(mut record, decode)] = [records()[which].clone()];
        let ruled: Vec<_> = fields(&record, decode)
            .into_iter()
            .filter(|(_, field)| spoilt(field, 0, 0).is_some())
            .collect();
        let (at, field) = ruled[field.index(ruled.len())];
        // A text may be longer than a number: its last bytes change.
        let length = field.length.min(8);
        let start = at + field.length - length;
        let own = &mut record[start..start + length];
        let now = own.iter().fold(0, |now, byte| now << 8 | u64::from(*byte));
        let value = spoilt(&field, now, chance).unwrap();
        own.copy_from_slice(&value.to_be_bytes()[8 - length..]);
        prop_assert!(wrong(&record, decode).contains(&(at, field.name)), "{} {value:X}", field.name);
    }
}
