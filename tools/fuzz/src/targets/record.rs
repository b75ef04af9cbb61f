//! The files that `measure dump` reads.

use std::{
    io::{self, BufReader, Cursor, Write},
    path::Path,
};

use measure::{
    figures::{
        counts::Value,
        figure::Figure,
        group::Grouping,
        nest::Given,
        read::{Manner, read_content},
    },
    formats::{
        recognise::{Encoding, Kind},
        samples,
    },
    views::{
        dump::{self, Form},
        figures::{Shown, csv, json, parquet, text},
    },
};
use millimeter::{
    cpumf::sampling::block::SampleDataBlock,
    record::{
        CounterValues, Ebcdic, Moment, SetType, monitor,
        smf::{Absolutes, Deltas, Envelope, Records, absolutes::Place},
        smp::{LARGE_BLOCK, SMALL_BLOCK},
    },
};
use zerocopy::{FromZeros, IntoBytes};

use super::{about, shape};
use crate::Target;

/// For a name, a buffer of lines, blocks or records, and a counter name in a table.
const FOR_EACH_BYTE: usize = 64;
/// For the buffers: one large block, or a few of the longest record.
const AT_LEAST: usize = 3 << 20;

pub const ALL: &[Target] = &[
    Target {
        name: "smp",
        what: ".SMP, blocks of 4 KiB: dump, and the report's reader",
        good: small_blocks,
        read: |input| {
            let tally = samples::tally(input, SMALL_BLOCK).unwrap();
            let cpu = samples::read(0, input);
            assert_eq!(cpu.entries.len() as u64 + cpu.invalid, tally.basic);
            assert_eq!((cpu.blocks, cpu.malformed), (tally.blocks, tally.malformed));
            assert!(tally.basic as usize * 32 <= input.len());
            let good = whole_blocks(input, SMALL_BLOCK);
            dumped(Kind::Samples { block: SMALL_BLOCK }, input) + &good
        },
        for_each_byte: FOR_EACH_BYTE,
        at_least: AT_LEAST,
    },
    Target {
        name: "smp-large",
        what: ".SMP, blocks of 1 MiB, of which an input is the beginning and the end",
        good: || {
            let small = small_blocks().swap_remove(0);
            vec![[&small[..2048], &small[4032..4096]].concat()]
        },
        read: |input| {
            // Copying the middle of so large a block would only take time.
            let (front, trailer) = input.split_at(input.len().saturating_sub(64));
            let mut block = front.to_vec();
            block.resize(LARGE_BLOCK - trailer.len(), 0);
            block.extend(trailer);
            dumped(Kind::Samples { block: LARGE_BLOCK }, &block)
        },
        for_each_byte: FOR_EACH_BYTE,
        at_least: AT_LEAST + 4 * LARGE_BLOCK,
    },
    Target {
        name: "cnt",
        what: ".CNT, message HIS019I",
        good: || vec![CNT.into(), CNT_LOSSES.into()],
        read: |input| {
            let ascii = dumped(Kind::Counters(Encoding::Ascii), input);
            ascii + &dumped(Kind::Counters(Encoding::Ebcdic), input)
        },
        for_each_byte: FOR_EACH_BYTE,
        at_least: AT_LEAST,
    },
    Target {
        name: "map",
        what: ".MAP",
        good: || vec![MAP.into()],
        read: |input| {
            let ascii = dumped(Kind::Map(Encoding::Ascii), input);
            ascii + &dumped(Kind::Map(Encoding::Ebcdic), input)
        },
        for_each_byte: FOR_EACH_BYTE,
        at_least: AT_LEAST,
    },
    Target {
        name: "smf",
        what: "SMF records, each with its RDW: type 113 subtypes 1 and 2",
        good: || {
            vec![
                deltas(),
                absolutes(),
                [deltas(), absolutes(), deltas()].concat(),
            ]
        },
        read: |input| dumped(Kind::Smf { blocks: false }, input),
        for_each_byte: FOR_EACH_BYTE,
        at_least: AT_LEAST,
    },
    Target {
        name: "smf-blocks",
        what: "SMF records in blocks with BDWs, plain and extended",
        good: || {
            vec![
                in_block(&[deltas(), absolutes()], false),
                in_block(&[absolutes()], true),
            ]
        },
        read: |input| dumped(Kind::Smf { blocks: true }, input),
        for_each_byte: FOR_EACH_BYTE,
        at_least: AT_LEAST,
    },
    Target {
        name: "monitor",
        what: "z/VM monitor records, MRPRCMFC with continuation",
        good: || vec![monitor_records()],
        read: |input| dumped(Kind::Monitor, input),
        for_each_byte: FOR_EACH_BYTE,
        at_least: AT_LEAST,
    },
    Target {
        name: "figures",
        what: "counters of any kind of file, added up in groups, in every form of a report",
        good: || {
            let spanned = in_segments(&[deltas(), absolutes(), later()]);
            let blocks = in_block(&[absolutes(), later()], false);
            let monitor = [monitor_records(), monitor_records()].concat();
            let records = [deltas(), absolutes(), later(), deltas()].concat();
            vec![records, blocks, spanned, monitor, CNT.into()]
        },
        read: figures,
        for_each_byte: FOR_EACH_BYTE,
        at_least: AT_LEAST,
    },
    Target {
        name: "dump",
        what: "any file: what it is, and what is in it",
        good: || {
            let blocks = in_block(&[deltas(), absolutes()], false);
            let texts = [CNT.into(), MAP.into(), b"\x7FELF\x02\x02\x01".to_vec()];
            let mut all = vec![deltas(), absolutes(), blocks, monitor_records()];
            all.extend(small_blocks().into_iter().chain(texts));
            all
        },
        read: |input| {
            let mut answer = String::new();
            for form in [Form::Text, Form::Json, Form::Csv] {
                let (mut out, length) = (Sink::default(), input.len() as u64);
                let done = dump::read(&mut Cursor::new(input), length, form, &mut out);
                answer += &judged(done, out.0, input);
            }
            answer
        },
        for_each_byte: FOR_EACH_BYTE,
        at_least: AT_LEAST,
    },
];

/// What a report of figures says in each of its forms. A figure that is a number is one that can be shown.
fn figures(input: &[u8]) -> String {
    let by = Grouping {
        system: true,
        interval: true,
        class: true,
        cpu: true,
    };
    let collected = match read_content(input, Manner { by, model: None }) {
        Ok(collected) => collected,
        Err(error) => return shape(&format!("{error:#}")),
    };
    let given = Given::default();
    let shown = Shown {
        collected: &collected,
        given: &given,
    };
    let mut out = Sink::default();
    csv::write(&shown, &mut out).unwrap();
    let forms = [
        out.0,
        text::text(&shown, Path::new("file")).len(),
        json::text(&shown).unwrap().len(),
        parquet::bytes(&shown).len(),
    ];
    for group in &collected.groups {
        for figure in Figure::ALL {
            if let Ok(Value::Number(number)) = group.counts.figure(figure, &given) {
                assert!(number.is_finite(), "{} is {number}", figure.name());
            }
        }
    }
    let doubts: String = collected.doubts.iter().map(|doubt| shape(doubt)).collect();
    format!("{forms:?} {doubts}", forms = forms.map(about))
}

/// Counts what is written.
#[derive(Default)]
struct Sink(usize);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn dumped(kind: Kind, input: &[u8]) -> String {
    let mut out = Sink::default();
    let done = dump::read_as(kind, &mut BufReader::new(input), Form::Text, &mut out);
    judged(done, out.0, input)
}

/// The answer of a dump. An error must name a field, and an offset within the file.
fn judged(done: anyhow::Result<()>, printed: usize, input: &[u8]) -> String {
    let Err(error) = done else {
        return format!("{} good", about(printed));
    };
    let text = format!("{error:#}");
    if let Some(rest) = text.strip_prefix("offset ") {
        let offset: usize = rest
            .split(' ')
            .next()
            .and_then(|word| word.parse().ok())
            .unwrap();
        // A missing field may begin at the end.
        assert!(offset <= input.len(), "{text}, of {} bytes", input.len());
        assert!(text.contains(", field "), "{text}");
    } else {
        assert!(text.starts_with("the file "), "{text}");
    }
    format!("{} {}", about(printed), shape(&text))
}

/// Whether all blocks are valid for the report's reader.
fn whole_blocks(input: &[u8], size: usize) -> String {
    let tally = samples::tally(input, size).unwrap();
    format!(
        "{} {}",
        about(tally.malformed as usize),
        about(tally.diagnostic as usize)
    )
}

/// A file of full blocks with samples in several states, and one of combined entries.
fn small_blocks() -> Vec<Vec<u8>> {
    let mut block = SampleDataBlock::new_zeroed();
    for (number, entry) in (0_u64..).zip(&mut block.entries) {
        let states = [
            0x0100_4000_0000,
            0x0128_4000_FFFF,
            0x0010_8000_0001,
            0x0001_0000_0000,
        ];
        let state: u64 = states[number as usize % 4];
        entry.head = (1_u64 << 48 | state).into();
        entry.instruction_address = (0x20_0000 + 4 * number).into();
        entry.guest_program_parameter = number.into();
    }
    block.trailer.flags = 0x80;
    block.trailer.bsdes = 32.into();
    block.trailer.dsdes = 85.into();
    block.trailer.overflow_count = 7.into();
    block.trailer.timestamp[0] = 0xDF;
    let full = block.as_bytes().to_vec();
    let mut combined = vec![0; SMALL_BLOCK];
    let diagnostic = [&[0x80, 6, 0, 0][..], &[0x5A; 81]].concat();
    let pair = [&full[..32], &diagnostic].concat();
    for place in combined[..4032].chunks_exact_mut(pair.len()).take(20) {
        place.copy_from_slice(&pair);
    }
    combined[4032..].copy_from_slice(&full[4032..]);
    combined[4032] = 0x20;
    vec![[full.clone(), combined.clone()].concat(), combined, full]
}

fn envelope() -> Envelope {
    let moment = Moment {
        year: 2026,
        day: 325,
        hundredths: 360_000,
    };
    Envelope::new(Ebcdic::new("MILL"), moment)
}

/// Short and long counters.
fn written(mut records: Records<'_>) -> Vec<u8> {
    let mut out = vec![0; 4096];
    let length = records.write(&mut out).unwrap().unwrap();
    out.truncate(length);
    out
}

fn deltas() -> Vec<u8> {
    let data = Deltas {
        run_start: 0xDF00_0000_0000_0000,
        written: 0xDF00_0000_0000_0001,
        cpu: 1,
        class: 0,
        zcbp: false,
        speed: 1000,
        machine_type: Ebcdic::new("8561"),
        model: Ebcdic::new("T01"),
        versions: [0, 3, 6],
        lost: false,
        lost_mt: false,
        sequence_code: Ebcdic::new("0000000000035DC7"),
        core: 1,
    };
    let sets = [
        CounterValues::new(SetType::BASIC, &[1000, 2000]),
        CounterValues::new(SetType::EXTENDED, &[1 << 40]),
    ];
    written(Records::deltas(&envelope(), &data, &sets))
}

fn absolutes() -> Vec<u8> {
    let data = Absolutes {
        run_start: 0xDF00_0000_0000_0000,
        written: 0xDF00_0000_0000_0001,
        cpu: 1,
        class: 0,
        zcbp: false,
        place: Place::First,
        lost: false,
        versions: [3, 6],
        speed: 1000,
        machine_type: Ebcdic::new("8561"),
        model: Ebcdic::new("T01"),
        sequence_code: Ebcdic::new("0000000000035DC7"),
    };
    let sets = [
        CounterValues::new(SetType::BASIC, &[1, 2, 3, 4, 5, 6]),
        CounterValues::new(SetType::PROBLEM_STATE, &[7, 8]),
    ];
    written(Records::absolutes(&envelope(), &data, &sets))
}

/// The values that [`absolutes`] has, later.
fn later() -> Vec<u8> {
    let mut record = absolutes();
    let data = u32::from_be_bytes(*record[44..].first_chunk().unwrap()) as usize;
    record[data + 8..data + 16].copy_from_slice(&0xDF00_0001_0000_0000_u64.to_be_bytes());
    record
}

/// Each record in three segments.
fn in_segments(records: &[Vec<u8>]) -> Vec<u8> {
    let segments = records.iter().flat_map(|record| {
        let content = &record[4..];
        let (one, two) = (content.len() / 3, content.len() / 2);
        let parts = [
            (1, &content[..one]),
            (3, &content[one..two]),
            (2, &content[two..]),
        ];
        parts.map(|(code, content)| {
            let length = (content.len() as u16 + 4).to_be_bytes();
            [&length[..], &[code, 0], content].concat()
        })
    });
    segments.flatten().collect()
}

fn in_block(records: &[Vec<u8>], extended: bool) -> Vec<u8> {
    let length = 4 + records.iter().map(Vec::len).sum::<usize>() as u32;
    let word = if extended {
        1 << 31 | length
    } else {
        length << 16
    };
    [&word.to_be_bytes()[..], &records.concat()].concat()
}

fn monitor_records() -> Vec<u8> {
    let data = monitor::ProcessorCounters {
        written: 0xDF00_0000_0000_0001,
        cpu: 1,
        coprocessor_group: false,
        lost: 1,
        lifetime: 2,
        speed: 1000,
        versions: [3, 6],
        hardware_versions: [1, 1],
        harvested: 0xDF00_0000_0000_0000,
        thread: 0,
        core: 1,
    };
    let sets = [
        CounterValues::new(SetType::BASIC, &[1, 2, 3, 4, 5, 6]),
        CounterValues::new(SetType::PROBLEM_STATE, &[7, 8]),
        CounterValues::new(SetType::CRYPTO_ACTIVITY, &[9; 20]),
    ];
    let mut records = monitor::Records::new(&data, &sets);
    // Space for five counters, so that there are several records.
    let (mut all, mut out) = (Vec::new(), vec![0; 64 + 5 * 8]);
    while let Some(length) = records.write(&mut out).unwrap() {
        all.extend(&out[..length]);
    }
    all
}

const CNT: &str = "\
HIS019I EVENT COUNTERS INFORMATION VERSION 4
FILE NAME: SYSHIS20261121.100000.000.CNT
COMMAND: MODIFY HIS,B,CTRONLY,CTR=ALL
LOSS OF COUNTER DATA ALERT: NO
STATE CHANGE: NO
MODEL: 8561-T01   SEQCODE: 0000000000035DC7
COUNTER VERSION NUMBER 1: 3   COUNTER VERSION NUMBER 2: 6
COUNTER SET= BASIC
COUNTER IDENTIFIERS:
  0: CYCLE COUNT
  1: INSTRUCTION COUNT
  2: L1 I-CACHE DIRECTORY-WRITE COUNT
  3: L1 I-CACHE PENALTY CYCLE COUNT
  4: L1 D-CACHE DIRECTORY-WRITE COUNT
  5: L1 D-CACHE PENALTY CYCLE COUNT
START TIME: 2026/11/21 10:00:00 START TOD: DF00000000000000
END TIME:   2026/11/21 10:00:01 END TOD:   DF00000000000001
COUNTER VALUES (HEXADECIMAL) FOR CPU 00 (CPU SPEED = 1000 CYCLES/MIC):
  0-  3 00000000000003E8 0000000000000002 0000000000000000 0000000000000001
  4-  5 0000000000000000 0000000000000000
";

const CNT_LOSSES: &str = "\
HIS019I EVENT COUNTERS INFORMATION VERSION 4
LOSS OF SAMPLE DATA ALERT: YES    SAMPLE BUFFER OVERFLOW COUNT: 12
LOSS OF COUNTER DATA ALERT: NO
STATE CHANGE: YES
COUNTER SET= ZOS
COUNTER IDENTIFIERS:
SOFTWARE COUNTER INFORMATION NOT AVAILABLE
START TIME: 2026/11/21 10:00:00 START TOD: DF00000000000000
END TIME:   NOT AVAILABLE
EVENT COUNTERS (HEXADECIMAL) FOR CPU 01 (CPU SPEED = 1000 CYCLES/MIC):
  0-  1 00000000000003E8 0000000000000002
";

const MAP: &str = "\
I SYS GUEST
A 0001*MASTER*
BX0001PRIVATE 0000000000000000000000000FFFFFFF
MN    workload000000000020000000000000002FFFFF
EN    long_nam0000000000200004                long_name_of_it
";
