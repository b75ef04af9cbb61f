//! Whole files, and files that are wrong.

use std::fs;

use proptest::{collection::vec, prelude::*};
use tempfile::TempDir;
use {
    arch::ebcdic,
    record::{map, smp::LARGE_BLOCK},
};

use super::{
    Form,
    fixtures::{
        COUNTERS, MAP, dump, dump_named, has, in_block, monitor_records, other_record, smf_record,
    },
};
use crate::formats::recognise::{Encoding, Kind, kind};
use crate::{computer::progress::Progress, formats::samples::tests::block};

mod golden;
mod spoilt;

#[test]
fn smf_records_are_shown_field_by_field_with_the_names_of_their_counters() {
    let (text, error) = dump(&[smf_record(1), other_record()].concat(), Form::Text);
    assert_eq!(error, None);
    assert!(
        text.starts_with("SMF type 113 subtype 1, offset 0\n  header\n"),
        "{text}"
    );
    for words in [
        "SMF113LEN 232",
        "SMF113FLG 40 subtypes",
        "SMF113TME 360000 01:00:00.00",
        "SMF113DTE 0126325F 2026.325",
        "SMF113SID MILL",
        "SMF113_1_CpuId 1",
        "SMF113_1_CpuProcClass 0 CP",
        "SMF113_1_MachType 8561",
        "SMF113_1_CSType 4 EXTENDED",
        "SMF113_1_CSFlags 8000 SMF113_1_CSUseLCDS",
        "SMF113_1_SCDS 000007D0 BASIC 1: Instruction count",
        "SMF type 30, not described here, offset 232",
        "RTY 30",
    ] {
        assert!(has(&text, words), "{words}\n{text}");
    }
    assert!(
        text.contains("SMF113_1_LCDS            0000010000000000  EXTENDED 128: "),
        "{text}"
    );
}

#[test]
fn block_descriptor_words_change_only_offsets() {
    let records = [smf_record(0), smf_record(1), other_record()];
    let (plain, error) = dump(&records.concat(), Form::Json);
    assert_eq!(error, None);
    let blocks = [in_block(&records[..2]), in_block(&records[2..])].concat();
    let (blocked, error) = dump(&blocks, Form::Json);
    assert_eq!(error, None);
    let fields = |text: &str| -> Vec<(String, serde_json::Value)> {
        text.lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .flat_map(|record| record["fields"].as_array().unwrap().clone())
            .map(|field| (field["name"].to_string(), field["value"].clone()))
            .collect()
    };
    assert_eq!(fields(&plain), fields(&blocked));
    let last: serde_json::Value = serde_json::from_str(blocked.lines().last().unwrap()).unwrap();
    assert_eq!(last["offset"], 2 * 232 + 8);
}

#[test]
fn everything_before_the_first_error_is_printed_and_then_the_error_is_named() {
    let mut bytes = [smf_record(0), smf_record(1)].concat();
    // The offset of the second record's data section.
    bytes[232 + 44] = 0xFF;
    let (text, error) = dump(&bytes, Form::Text);
    let error = error.unwrap();
    assert!(
        error.starts_with("offset 276 (114 hexadecimal), field SMF113DOF: leads to "),
        "{error}"
    );
    assert!(has(&text, "SMF type 113 subtype 1, offset 232"));
    assert!(
        text.trim_end().ends_with("SMF113DON                1"),
        "{text}"
    );
    // Cut off: the first record is whole.
    let (text, error) = dump(&bytes[..300], Form::Text);
    let expected = "offset 232 (E8 hexadecimal), field RDW: says 232 bytes, and 68 are there";
    assert_eq!(error.unwrap(), expected);
    assert!(has(&text, "SMF113_1_CoreId 0"));
    // JSON and CSV are well formed even then.
    let (text, _) = dump(&bytes, Form::Json);
    for line in text.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    assert_eq!(text.lines().count(), 2);
}

#[test]
fn a_block_descriptor_word_that_is_wrong_is_named() {
    let record = other_record();
    let mut bytes = in_block(&[record]).repeat(2);
    bytes[28 + 1] = 27;
    let (text, error) = dump(&bytes, Form::Csv);
    let expected =
        "offset 32 (20 hexadecimal), field RDW: leads to offset 56, and the record ends at 55";
    assert_eq!(error.unwrap(), expected);
    assert!(
        text.contains("\"SMF type 30, not described here\",,9,RTY,30,\n"),
        "{text}"
    );
    bytes[28 + 2] = 1;
    let (_, error) = dump(&bytes, Form::Csv);
    assert!(
        error
            .unwrap()
            .starts_with("offset 28 (1C hexadecimal), field BDW: ")
    );
}

#[test]
fn counters_of_monitor_records_are_named_through_all_records_of_a_cpu() {
    let (text, error) = dump(
        &[monitor_records(0), monitor_records(1)].concat(),
        Form::Text,
    );
    assert_eq!(error, None);
    for words in [
        "monitor record, domain 5 record 13, offset 0",
        "PRCMFC_CCFCMFAC 000E PRCMFC_CRYPTO, PRCMFC_PROB, PRCMFC_BASIC",
        "PRCMFC_FLAGS 80 PRCMFC_P",
        "PRCMFC_COUNTERS 0000000000000006 BASIC 5: Level-1 D-cache penalty cycle count",
        "PRCMFC_COUNTERS 0000000000000008 PROBLEM-STATE 33: Problem-state instruction count",
        // The version of the data's format tells how many counters a set has, not that of the hardware.
        "PRCMFC_COUNTERS 0000000000000009 CRYPTO-ACTIVITY 64: PRNG function count",
    ] {
        assert!(has(&text, words), "{words}\n{text}");
    }
}

#[test]
fn a_monitor_record_that_does_not_go_on_is_named() {
    let whole = monitor_records(0);
    let first = &whole[..224];
    let expected = "offset 27 (1B hexadecimal), field PRCMFC_P: must be followed by the record that goes on, \
                    if it is one";
    assert_eq!(dump(first, Form::Text).1.unwrap(), expected);
    let other = [first, &monitor_records(1)[224..]].concat();
    assert_eq!(dump(&other, Form::Text).1.unwrap(), expected);
    let (_, error) = dump(&whole[..60], Form::Text);
    let expected = "offset 0 (0 hexadecimal), field MRHDRLEN: says 224 bytes, and 60 are there";
    assert_eq!(error.unwrap(), expected);
}

#[test]
fn every_sample_and_every_trailer_is_shown() {
    let mut bytes = block(&[(0x20_0000, 0), (0x20_0004, 0)], 5);
    bytes.extend(block(&[(0x30_0000, 0)], 0));
    let (text, error) = dump(&bytes, Form::Text);
    assert_eq!(error, None);
    let samples = text.matches("basic-sampling data entry, offset ").count();
    assert_eq!(
        (samples, text.matches("trailer entry, offset ").count()),
        (3, 2)
    );
    assert!(has(&text, "instruction address 0000000000200004"));
    assert!(has(&text, "sample overflow count 5"));
    assert!(has(&text, "basic-sampling data entry, offset 4096"));
}

#[test]
fn a_combined_entry_is_shown_as_its_two_data_entries() {
    let mut bytes = block(&[(0x20_0000, 0)], 0);
    bytes[4032 + 7] = 112;
    bytes[32..36].copy_from_slice(&[0x80, 0x06, 0, 1]);
    bytes[36..40].copy_from_slice(&[0xDE, 0xAD, 0xBE, 0xEF]);
    bytes[32 + 112] = 0;
    bytes[32 + 113] = 1;
    let (text, error) = dump(&bytes, Form::Text);
    assert_eq!(error, None);
    assert!(has(&text, "diagnostic-sampling data entry, offset 32"));
    assert!(has(&text, "I 1 invalid"));
    assert!(text.contains("model-dependent          DEADBEEF0000"));
    assert!(has(&text, "basic-sampling data entry, offset 144"));
}

#[test]
fn a_block_that_is_wrong_or_cut_off_is_named() {
    let good = block(&[(0x20_0000, 0)], 0);
    let mut unknown = good.clone();
    unknown[33] = 7;
    let bytes = [good.clone(), unknown].concat();
    let (text, error) = dump(&bytes, Form::Text);
    let error = error.unwrap();
    let expected = "offset 4128 (1020 hexadecimal), field data-entry-format code: is 7 ";
    assert!(error.starts_with(expected), "{error}");
    assert!(has(&text, "basic-sampling data entry, offset 4096"));
    let mut size = good.clone();
    size.extend(&good);
    size[4096 + 4032] = 0x80;
    size[4096 + 4032 + 5] = 64;
    assert!(
        dump(&size, Form::Text)
            .1
            .unwrap()
            .contains("offset 8132 (1FC4 hexadecimal), field BSDES")
    );
    let (text, error) = dump(&bytes[..5000], Form::Text);
    let expected = "offset 4096 (1000 hexadecimal), field sample-data block: says 4096 bytes, and 904 are there";
    assert_eq!(error.unwrap(), expected);
    assert!(has(&text, "trailer entry, offset 4032"));
}

#[test]
fn texts_are_shown_in_ascii_and_in_ebcdic() {
    let in_ebcdic = |text: &str| -> Vec<u8> {
        let code = |character| {
            if character == '\n' {
                0x15
            } else {
                ebcdic::code(character as u8).unwrap()
            }
        };
        text.chars().map(code).collect()
    };
    let (text, error) = dump(COUNTERS.as_bytes(), Form::Text);
    assert_eq!(error, None);
    for words in [
        "VERSION 4",
        "FILE NAME SYSHIS20261121.100000.000.CNT",
        "START TOD DF00000000000000",
        "CPU SPEED 1000 cycles per microsecond",
        "counter 0 00000000000003E8 CYCLE COUNT",
        "counter 1 0000000000000002 INSTRUCTION COUNT",
    ] {
        assert!(has(&text, words), "{words}\n{text}");
    }
    assert_eq!(dump(&in_ebcdic(COUNTERS), Form::Text).0, text);
    let (text, error) = dump(MAP.as_bytes(), Form::Text);
    assert_eq!(error, None);
    assert!(has(&text, "MapRecordType I information"));
    assert!(has(&text, "MapStartAddress 0000000000200000"));
    assert_eq!(dump(&in_ebcdic(MAP), Form::Text).0, text);
}

#[test]
fn a_line_that_is_wrong_is_named_by_its_offset_in_the_file() {
    let wrong = COUNTERS.replace("END TOD:   DF", "END TOD:   XX");
    let (text, error) = dump(wrong.as_bytes(), Form::Text);
    let at = wrong.find("XX").unwrap();
    let expected = format!("offset {at} ({at:X} hexadecimal), field END TOD: must be ");
    let error = error.unwrap();
    assert!(error.starts_with(&expected), "{error}");
    assert!(has(&text, "START TOD DF00000000000000"));
    let wrong = MAP.replace("2FFFFF", "1FFFFF");
    let (_, error) = dump(wrong.as_bytes(), Form::Text);
    assert!(
        error
            .unwrap()
            .starts_with("offset 42 (2A hexadecimal), field MapEndAddress: ")
    );
    // What is missing is named with the line that needs it, and the dump goes on.
    let missing = COUNTERS.replace("STATE CHANGE: NO\n", "");
    let (text, error) = dump(missing.as_bytes(), Form::Text);
    let at = missing.find("MODEL").unwrap();
    let expected =
        format!("offset {at} ({at:X} hexadecimal), field STATE CHANGE: must be before this line");
    assert_eq!(error.unwrap(), expected);
    assert!(has(&text, "counter 1 0000000000000002 INSTRUCTION COUNT"));
    let long = format!("{COUNTERS}{}", "X".repeat(20_000));
    let (_, error) = dump(long.as_bytes(), Form::Text);
    assert!(
        error
            .unwrap()
            .contains("field line: must be shorter than 16,384 characters")
    );
}

#[test]
fn a_file_of_another_kind_is_refused() {
    assert_eq!(dump(&[], Form::Text).1.unwrap(), "the file is empty");
    for bytes in [
        &b"\x7FELF\x02\x02\x01\0\0\0\0\0\0\0\0\0"[..],
        b"hello\n",
        &[0xFF; 8192],
    ] {
        let (text, error) = dump(bytes, Form::Text);
        assert!(error.unwrap().starts_with("the file is of no known kind"));
        assert_eq!(text, "");
    }
    let directory = TempDir::new().unwrap();
    let refusal = super::dump(
        directory.path(),
        Form::Text,
        Progress::Silent,
        &mut Vec::new(),
    );
    assert!(refusal.unwrap_err().to_string().contains("is not a file"));
    let missing = directory.path().join("missing");
    let refusal = super::dump(&missing, Form::Text, Progress::Silent, &mut Vec::new());
    assert!(refusal.unwrap_err().to_string().starts_with("cannot open "));
}

#[test]
fn a_file_is_recognised_by_its_content() {
    let smf = smf_record(0);
    let samples = block(&[(1, 0)], 0);
    let unused = vec![0; 4096];
    let blocks = in_block(std::slice::from_ref(&smf));
    let monitor = monitor_records(0);
    let table = [
        (&smf[..], Kind::Smf { blocks: false }),
        (&other_record(), Kind::Smf { blocks: false }),
        (&blocks, Kind::Smf { blocks: true }),
        (&monitor, Kind::Monitor),
        (&samples, Kind::Samples { block: 4096 }),
        (&unused, Kind::Samples { block: 4096 }),
        (&samples[..100], Kind::Samples { block: 4096 }),
        (COUNTERS.as_bytes(), Kind::Counters(Encoding::Ascii)),
        (MAP.as_bytes(), Kind::Map(Encoding::Ascii)),
    ];
    for (bytes, expected) in table {
        assert_eq!(kind(bytes, &[]), Some(expected));
    }
    // A block of 1 MiB has an entry where one of 4 KiB has its trailer.
    let entry = [0, 1, 1, 0];
    let large: Vec<u8> = entry
        .iter()
        .chain(&[0; 28])
        .copied()
        .cycle()
        .take(1 << 16)
        .collect();
    let trailer = &samples[4032..];
    let block = LARGE_BLOCK;
    assert_eq!(kind(&large, trailer), Some(Kind::Samples { block }));
    // A block in an extended form, with a length of 31 bits.
    let mut extended = vec![0x80, 0, 0, 28];
    extended.extend(other_record());
    assert_eq!(kind(&extended, &[]), Some(Kind::Smf { blocks: true }));
    assert_eq!(dump(&extended, Form::Text).1, None);
}

/// Every field of two bytes or more in the other order: where they are, and how long.
fn exchanged(bytes: &[u8], fields: &[(usize, usize)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (at, length) in fields {
        bytes[*at..at + length].reverse();
    }
    bytes
}

#[test]
fn a_little_endian_file_is_reported_as_such() {
    let says = |bytes: &[u8], field: &str| {
        let (text, error) = dump(bytes, Form::Text);
        let expected = format!("offset 0 (0 hexadecimal), field {field}: looks little-endian, ");
        assert!(error.as_ref().unwrap().starts_with(&expected), "{error:?}");
        assert_eq!(text, "");
    };
    let samples = block(&[(0x20_0000, 0), (0x20_0004, 0)], 0);
    let by_fields = exchanged(&samples, &[(0, 2), (32, 2), (4036, 2)]);
    says(&by_fields, "data-entry-format code");
    for width in [4, 8] {
        let words = samples.chunks_exact(width);
        let all: Vec<u8> = words.flat_map(|word| word.iter().rev().copied()).collect();
        says(&all, "data-entry-format code");
    }
    let record = exchanged(&smf_record(0), &[(0, 2), (6, 4), (22, 2), (26, 2)]);
    says(&record.repeat(3), "RDW");
    let mut blocked = vec![(record.len() + 4) as u8, 0, 0, 0];
    blocked.extend(&record);
    says(&blocked, "BDW");
    // Two records of a CPU: the first has twenty counters, the second eight.
    let monitor = exchanged(&monitor_records(0), &[(0, 2), (6, 2), (224, 2), (230, 2)]);
    says(&monitor, "MRHDRLEN");
    // A block that is little-endian behind one that is not: its trailer is read first.
    let (_, error) = dump(&[samples, by_fields].concat(), Form::Text);
    let error = error.unwrap();
    let expected = "offset 8132 (1FC4 hexadecimal), field BSDES: is 8192 ";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.contains("looks little-endian"), "{error}");
}

#[test]
fn a_file_that_is_valid_in_both_byte_orders_is_read_as_big_endian() {
    // 257 bytes: the same in both.
    let mut record = other_record();
    record.resize(257, 0x40);
    record[..2].copy_from_slice(&[1, 1]);
    record[5] = 113;
    let (_, error) = dump(&record, Form::Text);
    assert!(
        error
            .unwrap()
            .contains("\noffset 26 (1A hexadecimal), field SMF113SDL")
    );
    // All zeros: blocks without samples, which nobody would write.
    let empty = |at: u64| {
        format!(
            "offset {at} ({at:X} hexadecimal), field data-entry-format code: is 0 (0 hexadecimal), and must be that of \
             an entry, as the block is in a file of samples"
        )
    };
    let (_, error) = dump(&[0; 8192], Form::Text);
    assert_eq!(error.unwrap(), format!("{}\n{}", empty(0), empty(4096)));
}

#[test]
fn a_damaged_beginning_is_reported_if_the_files_name_says_its_kind() {
    let mut samples = block(&[(1, 0), (2, 0)], 0);
    samples[1] = 9;
    let mut smf = smf_record(0);
    smf[1] = 3;
    for (name, bytes, expected) in [
        (
            "SYSHIS20261121.100000.000.SMP.00",
            &samples[..],
            "offset 0 (0 hexadecimal), field data-entry-format code: is 9 ",
        ),
        (
            "sdb-cpu0.bin",
            &samples,
            "offset 0 (0 hexadecimal), field data-entry-format code: is 9 ",
        ),
        (
            "x.CNT",
            b"HIS018I EVENT",
            "offset 0 (0 hexadecimal), field HIS019I: must be this word",
        ),
        (
            "x.map",
            b"X\n",
            "offset 0 (0 hexadecimal), field MapRecordType: must be ",
        ),
        (
            "x.SMF",
            &smf,
            "offset 0 (0 hexadecimal), field RDW: says 3 bytes",
        ),
        (
            "x.MON",
            &[0, 3, 0, 0],
            "offset 4 (4 hexadecimal), field MRHDRDM: ",
        ),
    ] {
        let (_, error) = dump_named(name, bytes, Form::Text);
        let error = error.unwrap();
        assert!(error.starts_with(expected), "{name}: {error}");
        assert!(
            dump(bytes, Form::Text)
                .1
                .unwrap()
                .starts_with("the file is of no known kind"),
            "{name}"
        );
    }
}

#[test]
fn an_entry_that_is_missing_in_a_full_block_is_named() {
    let mut samples = block(&[(1, 0); 126], 0);
    (samples[4032], samples[4048]) = (0x80, 0xDF);
    assert_eq!(dump(&samples, Form::Text).1, None);
    // One bit: the format code of an entry is zero.
    samples[320 + 1] ^= 1;
    let (text, error) = dump(&samples, Form::Text);
    let expected = "offset 320 (140 hexadecimal), field data-entry-format code: is 0 ";
    assert!(error.unwrap().starts_with(expected));
    assert!(has(&text, "basic-sampling data entry, offset 288"));
}

#[test]
fn a_map_that_was_written_is_recognised() {
    let mut text = String::new();
    map::Record::information("SYS", "GUEST")
        .write(&mut text)
        .unwrap();
    assert_eq!(kind(text.as_bytes(), &[]), Some(Kind::Map(Encoding::Ascii)));
}

#[test]
fn a_reader_that_goes_away_has_seen_what_it_wanted() {
    struct Gone;
    impl std::io::Write for Gone {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, block(&[(1, 0); 126], 0).repeat(100)).unwrap();
    assert!(super::dump(&file, Form::Text, Progress::Silent, &mut Gone).is_ok());
}

proptest! {
    #[test]
    fn a_file_with_wrong_bytes_never_panics(
        which in 0..6_usize,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = match which {
            0 => [smf_record(0), smf_record(1)].concat(),
            1 => in_block(&[smf_record(0), other_record()]),
            2 => monitor_records(0),
            3 => block(&[(1, 0), (2, 0)], 3),
            4 => COUNTERS.as_bytes().to_vec(),
            _ => MAP.as_bytes().to_vec(),
        };
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        for form in [Form::Text, Form::Json, Form::Csv] {
            let (_, error) = dump(&bytes, form);
            if let Some(error) = error {
                let is_named = error.starts_with("offset ") && error.contains(", field ");
                prop_assert!(is_named || error.starts_with("the file is of no known kind"), "{}", error);
            }
        }
    }
}
