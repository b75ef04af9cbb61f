use proptest::{collection::vec, prelude::*};

use super::*;
use crate::text::TextBuffer;

/// A run on one CPU, with samples and with the z/OS counter set.
const GOLDEN: &str = "\
HIS019I EVENT COUNTERS INFORMATION VERSION 4
FILE NAME: SYSHIS20261121.100000.000.CNT
COMMAND: MODIFY HIS,B
LOSS OF SAMPLE DATA ALERT: NO    SAMPLE BUFFER OVERFLOW COUNT: 12
LOSS OF COUNTER DATA ALERT: YES
STATE CHANGE: NO
MODEL: 8561-701  SEQCODE: 0000000000035DC7
COUNTER VERSION NUMBER 1: 3   COUNTER VERSION NUMBER 2: 6
COUNTER SET= BASIC
COUNTER IDENTIFIERS:
  0: CYCLE COUNT
  1: INSTRUCTION COUNT
COUNTER SET= EXTENDED
COUNTER IDENTIFIERS:
128: L1D_RO_EXCL_WRITES
START TIME: 1970/01/01 01:00:00 START TOD: 7D91048BCA000000
END TIME:   1970/01/01 01:00:01 END TOD:   7D91048CBE240000
COUNTER VALUES (HEXADECIMAL) FOR CPU 0A (CPU SPEED = 1000 CYCLES/MIC):
  0-  1 0000000000000001 FFFFFFFFFFFFFFFF
128-131 0000000000000080 0000000000000081 0000000000000082 0000000000000083
132-132 0000000000000084
COUNTER SET= ZOS
COUNTER IDENTIFIERS:
SOFTWARE COUNTER INFORMATION NOT AVAILABLE
START TIME: 1970/01/01 01:00:00 START TOD: 7D91048BCA000000
END TIME:   1970/01/01 01:00:01 END TOD:   7D91048CBE240000
EVENT COUNTERS (HEXADECIMAL) FOR CPU 0A (CPU SPEED = 1000 CYCLES/MIC):
0000-0003: 0000000000000005 0000000000000006 0000000000000007 0000000000000008
0004-0004: 0000000000000009
";

/// The TOD clock at the beginning of 1970, and a second later.
const START: u64 = 0x7D91_048B_CA00_0000;
const END: u64 = START + 4096 * 1_000_000;
/// An hour.
const LOCAL: i64 = 3600 * 4096 * 1_000_000;

fn golden(write: impl FnOnce(&CounterFile<'_>)) {
    let sets = [
        CounterValues::new(SetType::BASIC, &[1, u64::MAX]),
        CounterValues::new(SetType::EXTENDED, &[0x80, 0x81, 0x82, 0x83, 0x84]),
        CounterValues::new(SetType::ZOS, &[5, 6, 7, 8, 9]),
    ];
    let names = |set, names| SetNames { set, names };
    write(&CounterFile {
        file_name: "SYSHIS20261121.100000.000.CNT",
        command: "MODIFY HIS,B",
        sample_loss: Some(SampleLoss {
            alert: false,
            overflow: 12,
        }),
        counter_loss: true,
        state_change: false,
        model: "8561-701",
        sequence_code: "0000000000035DC7",
        versions: [3, 6],
        local: LOCAL,
        sets: &[
            names(SetType::BASIC, &["Cycle count", "Instruction count"][..]),
            names(SetType::ZOS, &[]),
            names(SetType::EXTENDED, &["L1D_RO_EXCL_WRITES"]),
        ],
        cpus: &[CpuCounters {
            cpu: 10,
            speed: 1000,
            start: START,
            end: Some(END),
            sets: &sets,
        }],
    });
}

fn lines(text: &str) -> Result<Vec<Line<'_>>, (usize, crate::Malformed)> {
    let mut parser = Parser::new();
    let lines = text.lines().enumerate();
    lines
        .map(|(number, line)| {
            parser
                .line(line.as_bytes())
                .map_err(|error| (number, error))
        })
        .collect()
}

#[test]
fn a_file_is_written_as_the_message_has_it() {
    golden(|file| {
        let mut bytes = [0; 3000];
        let mut out = TextBuffer::new(&mut bytes);
        file.write(&mut out).unwrap();
        assert_eq!(core::str::from_utf8(out.as_bytes()).unwrap(), GOLDEN);
        // A full buffer is an error, not a panic.
        let mut short = TextBuffer::new(&mut bytes[..1000]);
        assert!(file.write(&mut short).is_err());
    });
}

#[test]
fn a_file_is_read_line_by_line() {
    let values = |first, found: &[u64]| {
        let mut values = [0; VALUES];
        values[..found.len()].copy_from_slice(found);
        Line::Values {
            first,
            count: found.len(),
            values,
        }
    };
    let cpu = |software| Line::Cpu {
        cpu: 10,
        speed: 1000,
        software,
    };
    let start = Line::Start("1970/01/01 01:00:00", START);
    let end = Line::End(Some(("1970/01/01 01:00:01", END)));
    let expected = [
        Line::Heading(4),
        Line::FileName("SYSHIS20261121.100000.000.CNT"),
        Line::Command("MODIFY HIS,B"),
        Line::SampleLoss(SampleLoss {
            alert: false,
            overflow: 12,
        }),
        Line::CounterLoss(true),
        Line::StateChange(false),
        Line::Model("8561-701", Some("0000000000035DC7")),
        Line::Versions([3, 6]),
        Line::Set(SetType::BASIC),
        Line::Identifiers,
        Line::Identifier(0, "CYCLE COUNT"),
        Line::Identifier(1, "INSTRUCTION COUNT"),
        Line::Set(SetType::EXTENDED),
        Line::Identifiers,
        Line::Identifier(128, "L1D_RO_EXCL_WRITES"),
        start,
        end,
        cpu(false),
        values(0, &[1, u64::MAX]),
        values(128, &[0x80, 0x81, 0x82, 0x83]),
        values(132, &[0x84]),
        Line::Set(SetType::ZOS),
        Line::Identifiers,
        Line::NoIdentifiers,
        start,
        end,
        cpu(true),
        values(0, &[5, 6, 7, 8]),
        values(4, &[9]),
    ];
    assert_eq!(lines(GOLDEN).unwrap(), expected);
}

#[test]
fn any_number_of_blanks_is_read_and_an_end_may_be_unknown() {
    let text = "HIS019I   EVENT COUNTERS INFORMATION VERSION: 3\r\n\
                \n\
                MODEL:2097-710\n\
                COUNTER SET=BASIC\n\
                START TIME: 2010/03/01 16:14:06   START TOD:  C59D40379C442000\n\
                END TIME:   NOT AVAILABLE\n\
                COUNTER VALUES (HEXADECIMAL) FOR CORE 1 (CPU SPEED =   4404 CYCLES/MIC):  \n   \
                4 -  7  0000000000000001  0000000000000002\n";
    let found = lines(text).unwrap();
    assert_eq!(found[2], Line::Model("2097-710", None));
    assert_eq!(found[5], Line::End(None));
    let values = Line::Values {
        first: 4,
        count: 2,
        values: [1, 2, 0, 0],
    };
    assert_eq!(found[7], values);
}

#[test]
fn a_cpu_that_was_removed_has_no_end() {
    golden(|file| {
        let gone = CpuCounters {
            end: None,
            ..file.cpus[0]
        };
        let file = CounterFile {
            cpus: &[gone],
            command: "TWO\nLINES",
            ..*file
        };
        let mut text = String::new();
        file.write(&mut text).unwrap();
        assert!(text.contains("END TIME:   NOT AVAILABLE\n"));
        assert!(text.contains("COMMAND: TWO?LINES\n"));
        assert!(lines(&text).is_ok());
    });
}

#[test]
fn an_error_names_what_is_wrong_with_a_line_and_where() {
    // (line of the golden file, what it is instead, offset and name in the error)
    let table: [(usize, &str, usize, &str); 22] = [
        (0, "HIS020I EVENT", 0, "HIS019I"),
        (
            0,
            "HIS019I EVENT COUNTERS INFORMATION VERSION x",
            43,
            "VERSION",
        ),
        (
            3,
            "LOSS OF SAMPLE DATA ALERT: MAYBE",
            27,
            "LOSS OF SAMPLE DATA ALERT",
        ),
        (
            3,
            "LOSS OF SAMPLE DATA ALERT: NO",
            29,
            "SAMPLE BUFFER OVERFLOW COUNT",
        ),
        (5, "STATE CHANGE: NO YES", 17, "STATE CHANGE"),
        (
            7,
            "COUNTER VERSION NUMBER 1: 70000",
            26,
            "COUNTER VERSION NUMBER 1",
        ),
        (8, "COUNTER SET= CACHE", 13, "COUNTER SET"),
        (9, "COUNTERS", 0, "line"),
        (
            15,
            "START TIME: 1970-01-01 01:00:00 START TOD: 0",
            12,
            "START TIME",
        ),
        (
            15,
            "START TIME: 1970/01/01 01:00:00 START TOD: X",
            43,
            "START TOD",
        ),
        (17, "COUNTER VALUES (HEXADECIMAL) FOR LPAR 0", 32, "FOR"),
        (18, "  0-  4 0 0 0 0 0", 6, "counter"),
        (19, "  1-  3 0 0 0", 0, "counter"),
        (20, "132-132 11112222333344445", 8, "value"),
        (20, "132-132 111122223333444", 8, "value"),
        (20, "132-132 111122223333444X", 8, "value"),
        (
            27,
            "0000-0003: 0000000000000005 0000000000000006",
            44,
            "value",
        ),
        (
            15,
            "START TIME: 1970/13/01 01:00:00 START TOD: 0",
            17,
            "START TIME",
        ),
        (
            15,
            "START TIME: 1970/02/29 01:00:00 START TOD: 0",
            20,
            "START TIME",
        ),
        (
            16,
            "END TIME:   1970/01/01 24:00:01 END TOD: 0",
            23,
            "END TIME",
        ),
        (
            16,
            "END TIME:   1970/01/01 01:60:01 END TOD: 0",
            26,
            "END TIME",
        ),
        (
            16,
            "END TIME:   1970/01/01 01:00:60 END TOD: 0",
            29,
            "END TIME",
        ),
    ];
    for (number, instead, offset, field) in table {
        let mut text: Vec<&str> = GOLDEN.lines().collect();
        text[number] = instead;
        let (line, error) = lines(&text.join("\n")).unwrap_err();
        assert_eq!((line, error.field), (number, field), "{instead}: {error}");
        // A line of values that comes too early is refused at its first number.
        let offset = if number == 19 { 2 } else { offset };
        assert_eq!(error.offset, offset, "{instead}: {error}");
    }
}

#[test]
fn values_mean_nothing_without_their_cpu() {
    let early = "HIS019I EVENT COUNTERS INFORMATION VERSION 4\n  0-  1 0 0";
    let (line, error) = lines(early).unwrap_err();
    assert_eq!((line, error.offset, error.field), (1, 2, "counter"));
    let early = "HIS019I EVENT COUNTERS INFORMATION VERSION 4\nCOUNTER VALUES (HEXADECIMAL)";
    assert_eq!(lines(early).unwrap_err().1.field, "COUNTER VALUES");
}

proptest! {
    #[test]
    fn values_are_read_as_they_were_written(
        basic in vec(any::<u64>(), 0..7), zos in vec(any::<u64>(), 0..30), cpu in any::<u16>(), speed in any::<u32>(),
    ) {
        let sets = [CounterValues::new(SetType::BASIC, &basic), CounterValues::new(SetType::ZOS, &zos)];
        let cpus = [CpuCounters { cpu, speed, start: START, end: Some(END), sets: &sets }];
        let names = [SetType::BASIC, SetType::ZOS].map(|set| SetNames { set, names: &[] });
        let mut text = String::new();
        golden(|file| CounterFile { sets: &names, cpus: &cpus, ..*file }.write(&mut text).unwrap());
        let (mut found, mut of_zos) = ([Vec::<u64>::new(), Vec::new()], false);
        for line in lines(&text).unwrap() {
            match line {
                Line::Cpu { cpu: of, speed: with, software } => {
                    prop_assert_eq!((of, with), (cpu, speed));
                    of_zos = software;
                }
                Line::Values { first, count, values } => {
                    let found = &mut found[usize::from(of_zos)];
                    prop_assert_eq!(usize::from(first), found.len());
                    found.extend(&values[..count]);
                }
                _ => {}
            }
        }
        prop_assert_eq!(found, [basic, zos]);
    }

    #[test]
    fn a_file_with_wrong_bytes_is_read_or_refused_at_a_place_within_a_line(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = GOLDEN.as_bytes().to_vec();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let mut parser = Parser::new();
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Err(error) = parser.line(line) {
                prop_assert!(error.offset <= line.len(), "{}", error);
                break;
            }
        }
    }

    #[test]
    fn random_lines_are_read_or_refused(found in vec(vec(any::<u8>(), 0..60), 0..10)) {
        let mut parser = Parser::new();
        parser.line(GOLDEN.lines().next().unwrap().as_bytes()).unwrap();
        for line in found {
            let _ = parser.line(&line);
        }
    }
}
