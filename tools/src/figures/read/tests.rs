use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use record::{
    CounterValues, Ebcdic, SetType,
    monitor::{self, ProcessorCounters},
    smf::{Absolutes, Deltas, Records, absolutes::Place},
};

use super::*;
use crate::{
    figures::{
        counts::Value,
        example_records::{BEGIN, deltas as deltas_from, envelope, written},
        figure::Figure,
        group::Class,
        lack::Lack,
        nest::Given,
    },
    formats::smf::tests::{block, part},
};

/// TOD units in 15 minutes.
const QUARTER: u64 = 900 * 4_096_000_000;

/// System, machine type, class, CPU, the number of the interval, cycles and instructions.
type Row<'a> = (&'a str, &'a str, u8, u16, u64, [u64; 2]);

fn deltas_of(row: Row<'_>, extended: &[u64]) -> Vec<u8> {
    let (system, machine_type, class, cpu, quarter, basic) = row;
    let (start, end) = (BEGIN + quarter * QUARTER, BEGIN + (quarter + 1) * QUARTER);
    let basic = [basic[0], basic[1], 30, 0, 50, 0];
    let sets = [
        CounterValues::new(SetType::BASIC, &basic),
        CounterValues::new(SetType::PROBLEM_STATE, &[1, 500]),
        CounterValues::new(SetType::EXTENDED, extended),
    ];
    deltas_from((system, machine_type, class, cpu), (start, end), &sets)
}

fn deltas(row: Row<'_>) -> Vec<u8> {
    deltas_of(row, &[7; 40])
}

fn absolutes(system: &str, place: Place, quarter: u64, basic: [u64; 2]) -> Vec<u8> {
    let data = Absolutes {
        run_start: BEGIN,
        written: BEGIN + quarter * QUARTER,
        cpu: 3,
        class: 0,
        zcbp: false,
        place,
        lost: false,
        versions: [3, 6],
        speed: 5000,
        machine_type: Ebcdic::new("8561"),
        model: Ebcdic::new("701"),
        sequence_code: Ebcdic::new("0000000000035DC7"),
    };
    let basic = [basic[0], basic[1], 0, 0, 0, 0];
    let sets = [CounterValues::new(SetType::BASIC, &basic)];
    written(Records::absolutes(&envelope(system, None), &data, &sets))
}

/// A record of another type.
fn other() -> Vec<u8> {
    let mut record = deltas(("SYSA", "8561", 0, 0, 0, [1, 1]));
    record[5] = 30;
    record
}

const BY_ALL: Grouping = Grouping {
    system: true,
    interval: true,
    class: true,
    cpu: true,
};

fn manner(by: Grouping) -> Manner {
    Manner { by, model: None }
}

fn by_system() -> Manner {
    manner(Grouping {
        system: true,
        ..Grouping::default()
    })
}

fn number(group: &Group, figure: Figure) -> f64 {
    let value = group.counts.figure(figure, &Given::default());
    value.ok().and_then(Value::number).unwrap_or(f64::NAN)
}

/// System, machine and CPI of each group.
fn rows(collected: &Collected) -> Vec<(String, String, f64)> {
    let groups = collected.groups.iter();
    groups
        .map(|group| {
            let system = group.key.system.clone().unwrap_or_default();
            let cpi = number(group, Figure::Cpi);
            (system, group.key.machine.clone(), cpi)
        })
        .collect()
}

fn row(system: &str, machine: &str, cpi: f64) -> (String, String, f64) {
    (system.to_owned(), machine.to_owned(), cpi)
}

/// Two systems on two machines, with records of other types between theirs.
fn two_systems() -> Vec<Vec<u8>> {
    vec![
        other(),
        deltas(("SYSA", "8561", 0, 0, 0, [3_000, 1_000])),
        deltas(("SYSB", "3931", 0, 0, 0, [8_000, 1_000])),
        other(),
        deltas(("SYSA", "8561", 4, 2, 0, [6_000, 2_000])),
        deltas(("SYSA", "8561", 0, 0, 1, [5_000, 1_000])),
    ]
}

#[test]
fn a_file_of_two_systems_has_groups_of_both() {
    let collected = read_content(&two_systems().concat()[..], by_system()).unwrap();
    let expected = [row("SYSA", "8561", 3.5), row("SYSB", "3931", 8.0)];
    assert_eq!(rows(&collected), expected);
    assert_eq!(collected.records, 4);
    assert_eq!(collected.doubts, Vec::<String>::new());
    // All systems together are still two machines.
    let together = read_content(&two_systems().concat()[..], manner(Grouping::default())).unwrap();
    assert_eq!(
        rows(&together),
        [row("", "3931", 8.0), row("", "8561", 3.5)]
    );
}

#[test]
fn groups_are_by_interval_type_and_cpu_as_well() {
    let collected = read_content(&two_systems().concat()[..], manner(BY_ALL)).unwrap();
    let found: Vec<_> = collected
        .groups
        .iter()
        .map(|group| {
            let interval = group.key.interval.unwrap();
            let seconds = interval.end - interval.start;
            let class = group.key.class.unwrap();
            (
                seconds,
                class,
                group.key.cpu.unwrap(),
                number(group, Figure::Cpi),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (900, Class::new(0, false), 0, 3.0),
            (900, Class::new(4, false), 2, 3.0),
            (900, Class::new(0, false), 0, 5.0),
            (900, Class::new(0, false), 0, 8.0),
        ]
    );
    // 3,000 cycles of 5,000 a microsecond, in 900 seconds.
    let busy = number(&collected.groups[0], Figure::Busy);
    assert!((busy - 100.0 * 0.6 / 900e6).abs() < 1e-15, "{busy}");
    assert!((number(&collected.groups[0], Figure::Mips) - 5000.0 / 3.0).abs() < 1e-9);
    assert!((number(&collected.groups[0], Figure::L1Misses) - 8.0).abs() < 1e-12);
}

#[test]
fn blocks_segments_and_gzip_make_no_difference() {
    let records = two_systems();
    let expected = rows(&read_content(&records.concat()[..], by_system()).unwrap());
    let in_blocks = [block(&records[..3]), block(&records[3..])].concat();
    // Every record in three segments, in blocks that end between them.
    let parts: Vec<Vec<u8>> = records
        .iter()
        .flat_map(|record| {
            let content = &record[4..];
            let (one, two) = (content.len() / 3, content.len() - 1);
            [
                part(1, &content[..one]),
                part(3, &content[one..two]),
                part(2, &content[two..]),
            ]
        })
        .collect();
    let spanned: Vec<u8> = parts.chunks(4).flat_map(block).collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&spanned).unwrap();
    let packed = encoder.finish().unwrap();
    for bytes in [in_blocks, parts.concat(), spanned, packed] {
        let collected = read_content(&bytes[..], by_system()).unwrap();
        assert_eq!(rows(&collected), expected);
        assert_eq!(collected.doubts, Vec::<String>::new());
    }
}

#[test]
fn values_so_far_become_counts_of_the_time_between_records() {
    let records = [
        absolutes("SYSA", Place::First, 0, [1_000_000, 400_000]),
        absolutes("SYSA", Place::Intermediate, 1, [1_006_000, 402_000]),
        absolutes("SYSA", Place::Final, 2, [1_010_000, 403_000]),
    ];
    let collected = read_content(&records.concat()[..], by_system()).unwrap();
    assert_eq!(rows(&collected), [row("SYSA", "8561", 10.0 / 3.0)]);
    assert_eq!(collected.records, 2);
    let by_interval = read_content(&records.concat()[..], manner(BY_ALL)).unwrap();
    let cpi: Vec<f64> = rows(&by_interval).iter().map(|row| row.2).collect();
    assert_eq!(cpi, [3.0, 4.0]);
    // A counter that was set back leaves its interval out.
    let set_back = absolutes("SYSA", Place::Final, 3, [5, 5]);
    let all = [records.concat(), set_back].concat();
    let collected = read_content(&all[..], by_system()).unwrap();
    assert_eq!(collected.records, 2);
    assert!(collected.doubts[0].starts_with("1 records have a counter below"));
}

#[test]
fn an_interval_that_both_subtypes_describe_counts_once() {
    let records = [
        absolutes("SYSA", Place::First, 0, [100, 100]),
        absolutes("SYSB", Place::First, 0, [100, 100]),
        deltas(("SYSA", "8561", 0, 3, 0, [3_000, 1_000])),
        absolutes("SYSA", Place::Final, 1, [900_100, 1_100]),
        absolutes("SYSB", Place::Final, 1, [7_100, 1_100]),
    ];
    let collected = read_content(&records.concat()[..], by_system()).unwrap();
    let expected = [row("SYSA", "8561", 3.0), row("SYSB", "8561", 7.0)];
    assert_eq!(rows(&collected), expected);
    assert_eq!(
        collected.doubts,
        ["1 intervals of subtype 2 are also there as subtype 1, and count only once"]
    );
}

#[test]
fn sets_that_a_writer_divided_among_records_are_one_interval() {
    // Counters of z/OS that leave no room in the record of the others.
    let data = Deltas {
        run_start: BEGIN,
        written: BEGIN + QUARTER,
        cpu: 1,
        class: 0,
        zcbp: false,
        speed: 5000,
        machine_type: Ebcdic::new("8561"),
        model: Ebcdic::new("T01"),
        versions: [1, 3, 6],
        lost: true,
        lost_mt: false,
        sequence_code: Ebcdic::new("0000000000035DC7"),
        core: 1,
    };
    let software = vec![u64::MAX; 2_048];
    let extended = vec![1 << 40; 2_048];
    let sets = [
        CounterValues::new(SetType::BASIC, &[30, 10]),
        CounterValues::new(SetType::ZOS, &software),
        CounterValues::new(SetType::EXTENDED, &extended),
    ];
    let bytes = written(Records::deltas(&envelope("SYSA", None), &data, &sets));
    let collected = read_content(&bytes[..], manner(BY_ALL)).unwrap();
    assert_eq!(collected.records, 1);
    let group = &collected.groups[0];
    assert_eq!(number(group, Figure::Cpi), 3.0);
    assert_eq!(
        number(group, Figure::FiniteCpi),
        (1_u64 << 40) as f64 / 10.0
    );
    // Without an interval of its own the record is about the time since the run began.
    let interval = group.key.interval.unwrap();
    assert_eq!(interval.end - interval.start, 900);
    assert_eq!(
        collected.doubts,
        ["1 records say that counter data were lost"]
    );
}

#[test]
fn the_flags_of_a_record_name_zcbp_and_a_loss_of_mt_counter_data() {
    let mut bytes = Vec::new();
    // Class and flags: a zAAP, a CP and a zCBP of a system with zCBPs, and the loss in either bit.
    for (cpu, (class, flags)) in (0..).zip([
        (2, 0x0000_u16),
        (0, 0x1000),
        (2, 0x1000),
        (2, 0x5000),
        (2, 0x3000),
    ]) {
        let mut record = deltas(("SYSA", "8561", class, cpu, 0, [3_000, 1_000]));
        let data = u32::from_be_bytes(*record[44..].first_chunk().unwrap()) as usize;
        record[data + 50..data + 52].copy_from_slice(&flags.to_be_bytes());
        bytes.extend(record);
    }
    let collected = read_content(&bytes[..], manner(BY_ALL)).unwrap();
    let classes = collected.groups.iter().map(|group| {
        let class = group.key.class.unwrap().to_string();
        (group.key.cpu.unwrap(), class)
    });
    let mut classes: Vec<_> = classes.collect();
    classes.sort();
    let expected = ["zAAP", "CP", "zCBP", "zCBP", "zCBP"].map(str::to_owned);
    assert_eq!(classes, (0..).zip(expected).collect::<Vec<_>>());
    assert_eq!(
        collected.doubts,
        ["2 records say that counter data of the MT-diagnostic set were lost"]
    );
}

#[test]
fn a_model_that_is_not_known_has_the_figures_of_all_models_and_a_remedy() {
    let bytes = deltas(("SYSA", "9999", 0, 0, 0, [3_000, 1_000]));
    let collected = read_content(&bytes[..], by_system()).unwrap();
    let group = &collected.groups[0];
    assert_eq!(number(group, Figure::Cpi), 3.0);
    assert_eq!(number(group, Figure::ProblemState), 50.0);
    let lack = group.counts.figure(Figure::Memory, &Given::default());
    assert_eq!(lack, Err(Lack::UnknownModel));
    assert!(Lack::UnknownModel.to_string().contains("--model"));
    let named = Manner {
        model: Some(Generation::Z16),
        ..by_system()
    };
    let collected = read_content(&bytes[..], named).unwrap();
    // 8 counters of 7 each, of 80 misses; the record has no counter above 167.
    let lack = collected.groups[0]
        .counts
        .figure(Figure::Memory, &Given::default());
    assert_eq!(lack, Err(Lack::NotCollected(180)));
    let level_2 = collected.groups[0]
        .counts
        .figure(Figure::Level2, &Given::default());
    assert_eq!(level_2, Err(Lack::NotCollected(169)));
}

#[test]
fn a_file_that_is_cut_off_is_reported_as_far_as_it_goes() {
    let whole = two_systems().concat();
    let last = deltas(("SYSA", "8561", 0, 0, 1, [5_000, 1_000])).len();
    let collected = read_content(&whole[..whole.len() - last + 50], by_system()).unwrap();
    let expected = [row("SYSA", "8561", 3.0), row("SYSB", "3931", 8.0)];
    assert_eq!(rows(&collected), expected);
    assert!(
        collected.doubts[0].contains("cut off"),
        "{:?}",
        collected.doubts
    );
    assert!(
        collected.doubts[0].contains("field RDW"),
        "{:?}",
        collected.doubts
    );
}

#[test]
fn a_malformed_record_is_left_out_and_named() {
    let good = deltas(("SYSA", "8561", 0, 0, 0, [3_000, 1_000]));
    // The sections of the sets lie on the data section.
    let mut overlapping = deltas(("SYSA", "8561", 0, 1, 0, [9_000, 1_000]));
    let data = u32::from_be_bytes(*overlapping[44..].first_chunk().unwrap()) as usize;
    overlapping[data + 52..data + 56].copy_from_slice(&(data as u32).to_be_bytes());
    let bytes = [&overlapping[..], &good].concat();
    let collected = read_content(&bytes[..], by_system()).unwrap();
    assert_eq!(rows(&collected), [row("SYSA", "8561", 3.0)]);
    let doubt = &collected.doubts[0];
    assert!(
        doubt.starts_with("1 records of type 113 are malformed"),
        "{doubt}"
    );
    assert!(doubt.contains("field SMF113_1_CSOF"), "{doubt}");
}

/// As dumps behind each other, of which one begins within a record and ends within another.
#[test]
fn a_record_of_which_segments_are_missing_is_left_out_and_the_others_count() {
    let a = deltas(("SYSA", "8561", 0, 0, 0, [3_000, 1_000]));
    let b = deltas(("SYSB", "8561", 0, 0, 0, [5_000, 1_000]));
    let (begun, ended) = (part(1, &a[4..100]), part(2, &b[100..]));
    let bytes = [&a[..], &ended, &begun, &b].concat();
    let collected = read_content(&bytes[..], by_system()).unwrap();
    let expected = [row("SYSA", "8561", 3.0), row("SYSB", "8561", 5.0)];
    assert_eq!(rows(&collected), expected);
    let offset = format!("offset {} ", a.len() + 2);
    let doubt = &collected.doubts[0];
    assert!(
        doubt.starts_with("2 segments of spanned records"),
        "{doubt}"
    );
    assert!(doubt.contains(&offset), "{doubt}");
}

#[test]
fn a_record_of_lengths_that_lie_is_left_out_or_ends_the_reading_and_what_precedes_it_counts() {
    let good = deltas(("SYSA", "8561", 0, 0, 0, [3_000, 1_000]));
    for at in 0..good.len() {
        for byte in [0, 1, 0x7F, 0xFF] {
            let mut bad = good.clone();
            bad[at] = byte;
            let bytes = [&good[..], &bad, &good].concat();
            let collected = read_content(&bytes[..], by_system()).unwrap();
            assert!(collected.records >= 1, "{at} {byte}");
        }
    }
}

#[test]
fn a_counter_version_number_that_is_not_known_has_the_figures_of_all_models() {
    let mut bytes = deltas(("SYSA", "    ", 0, 0, 0, [3_000, 1_000]));
    let known = read_content(&bytes[..], by_system()).unwrap();
    assert_eq!(known.groups[0].counts.generation(), Some(Generation::Z15));
    assert_eq!(known.groups[0].key.machine, "CSVN 6");
    let versions = bytes
        .windows(6)
        .position(|words| words == [0, 0, 0, 3, 0, 6]);
    let at = versions.unwrap();
    bytes[at + 4..at + 6].copy_from_slice(&0xFFFF_u16.to_be_bytes());
    let collected = read_content(&bytes[..], by_system()).unwrap();
    let group = &collected.groups[0];
    assert_eq!(group.key.machine, "CSVN 65535");
    assert_eq!(group.counts.generation(), None);
    assert_eq!(number(group, Figure::Cpi), 3.0);
    let lack = group.counts.figure(Figure::FiniteCpi, &Given::default());
    assert_eq!(lack, Err(Lack::UnknownModel));
}

#[test]
fn a_file_that_grows_without_end_when_it_is_unpacked_is_refused_at_its_first_bytes() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let piece = vec![0; 1 << 20];
    for _ in 0..64 {
        encoder.write_all(&piece).unwrap();
    }
    let packed = encoder.finish().unwrap();
    let error = read_content(&packed[..], by_system()).unwrap_err();
    assert!(error.to_string().contains("holds no counters"), "{error:#}");
    // The same record ten thousand times stays one group.
    let record = deltas(("SYSA", "8561", 0, 0, 0, [3_000, 1_000]));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..10_000 {
        encoder.write_all(&record).unwrap();
    }
    let packed = encoder.finish().unwrap();
    assert!(packed.len() < record.len() * 200);
    let collected = read_content(&packed[..], by_system()).unwrap();
    assert_eq!(rows(&collected), [row("SYSA", "8561", 3.0)]);
}

#[test]
fn damaged_gzip_and_other_files_are_errors_with_a_remedy() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&two_systems().concat()).unwrap();
    let mut packed = encoder.finish().unwrap();
    packed.truncate(30);
    assert!(read_content(&packed[..], by_system()).is_err());
    let error = read_content(&[][..], by_system()).unwrap_err();
    assert!(error.to_string().contains("empty"));
    let error = read_content(&b"\x05 packed"[..], by_system()).unwrap_err();
    assert!(error.to_string().contains("AMATERSE"), "{error}");
}

#[test]
fn monitor_records_are_readings_of_a_cpu_whose_difference_counts() {
    let record = |lifetime, quarter: u64, cycles, csvn| {
        let data = ProcessorCounters {
            written: BEGIN + quarter * QUARTER + 5,
            cpu: 1,
            coprocessor_group: false,
            lost: 0,
            lifetime,
            speed: 5000,
            versions: [3, csvn],
            hardware_versions: [3, csvn],
            harvested: BEGIN + quarter * QUARTER,
            thread: 0,
            core: 1,
        };
        let basic = [cycles, cycles / 4, 0, 0, 0, 0];
        let extended = vec![cycles; 160];
        let sets = [
            CounterValues::new(SetType::BASIC, &basic),
            CounterValues::new(SetType::EXTENDED, &extended),
        ];
        let mut records = monitor::Records::new(&data, &sets);
        // Room for forty counters, so that each reading has several records.
        let (mut all, mut out) = (Vec::new(), vec![0; 64 + 40 * 8]);
        while let Some(length) = records.write(&mut out).unwrap() {
            all.extend(&out[..length]);
        }
        all
    };
    let bytes = [
        record(1, 0, 4_000, 7),
        record(1, 1, 8_000, 7),
        // The counters began anew.
        record(2, 2, 400, 7),
        record(2, 3, 4_400, 7),
    ];
    let collected = read_content(&bytes.concat()[..], manner(BY_ALL)).unwrap();
    let expected = [row("", "CSVN 7", 4.0), row("", "CSVN 7", 4.0)];
    assert_eq!(rows(&collected), expected);
    let group = &collected.groups[0];
    assert_eq!(group.counts.generation(), Some(Generation::Z16));
    assert_eq!(number(group, Figure::FiniteCpi), 4.0);
    assert_eq!((group.key.class, group.key.cpu), (None, Some(1)));
    // The last reading lacks its last record.
    let cut = [bytes[0].clone(), bytes[1].clone(), bytes[2][..500].to_vec()].concat();
    let collected = read_content(&cut[..], manner(BY_ALL)).unwrap();
    assert_eq!(collected.records, 1);
    assert_eq!(collected.doubts.len(), 2, "{:?}", collected.doubts);
}

#[test]
fn a_cnt_file_is_one_interval_of_each_cpu() {
    let text = "\
HIS019I EVENT COUNTERS INFORMATION VERSION 4
LOSS OF COUNTER DATA ALERT: YES
MODEL: 8561-T01   SEQCODE: 0000000000035DC7
COUNTER VERSION NUMBER 1: 3   COUNTER VERSION NUMBER 2: 6
COUNTER SET= BASIC
COUNTER IDENTIFIERS:
  0: CYCLE COUNT
  1: INSTRUCTION COUNT
START TIME: 2026/11/21 10:00:00 START TOD: DF00000000000000
END TIME:   2026/11/21 10:15:00 END TOD:   DF00035A4E900000
COUNTER VALUES (HEXADECIMAL) FOR CPU 00 (CPU SPEED = 1000 CYCLES/MIC):
  0-  1 00000000000003E8 00000000000000FA
COUNTER VALUES (HEXADECIMAL) FOR CPU 01 (CPU SPEED = 1000 CYCLES/MIC):
  0-  1 0000000000000008 0000000000000004
";
    let collected = read_content(text.as_bytes(), manner(BY_ALL)).unwrap();
    let expected = [row("", "8561", 4.0), row("", "8561", 2.0)];
    assert_eq!(rows(&collected), expected);
    let interval = collected.groups[0].key.interval.unwrap();
    assert_eq!(interval.end - interval.start, 900);
    assert_eq!(collected.doubts.len(), 1);
}

#[test]
fn a_folder_of_a_run_has_the_counters_that_count_something() {
    let directory = crate::report::tests::directory();
    let collected = read(directory.path(), manner(BY_ALL)).unwrap();
    assert_eq!(collected.groups.len(), 2);
    let group = &collected.groups[1];
    assert_eq!(number(group, Figure::Cpi), 1001.0 / 500.0);
    let lack = group.counts.figure(Figure::Busy, &Given::default());
    assert_eq!(lack, Err(Lack::NoSpeed));
    // No level-1 cache is modelled.
    let lack = group.counts.figure(Figure::L1Misses, &Given::default());
    assert!(
        matches!(lack, Err(Lack::NotCollected(2) | Lack::CountsNothing(2))),
        "{lack:?}"
    );
}
