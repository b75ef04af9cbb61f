use std::fs;

use record::{Ebcdic, Moment, smf::Envelope};

use super::*;
use crate::{
    computer::progress::Progress,
    folder::record::RunRecord,
    profile::tests::collection,
    report::tests::directory,
    views::html::{
        fill,
        page::{Figure, Page},
        render,
    },
};

const PREFIX: &str = "SYSHIS20260301.161406";

/// A record of subtype 1: cycles and instructions, and those of the problem state.
fn record(cpu: u16, written: u64, counts: [u64; 4], lost: bool) -> Vec<u8> {
    let moment = Moment {
        year: 2026,
        day: 60,
        hundredths: 0,
    };
    let envelope = Envelope::new(Ebcdic::new("MILL"), moment);
    let deltas = Deltas {
        run_start: 0x1000,
        written,
        cpu,
        class: 0,
        zcbp: false,
        speed: 1000,
        machine_type: Ebcdic::new("8561"),
        model: Ebcdic::new("T01"),
        versions: [0, 3, 6],
        lost,
        lost_mt: false,
        sequence_code: Ebcdic::new("12"),
        core: cpu,
    };
    let sets = [
        RecordedSet::new(SetType::BASIC, &counts[..2]),
        RecordedSet::new(SetType::PROBLEM_STATE, &counts[2..]),
    ];
    let mut out = vec![0; 1000];
    let mut records = smf::Records::deltas(&envelope, &deltas, &sets);
    let length = records.write(&mut out).unwrap().unwrap();
    out.truncate(length);
    out
}

/// Three intervals of two CPUs.
fn records() -> Vec<u8> {
    let mut file = Vec::new();
    for (number, [one, other]) in [
        [[300, 100, 60, 50], [100, 100, 0, 0]],
        [[500, 100, 0, 0], [100, 200, 30, 10]],
        [[0, 0, 0, 0], [150, 100, 15, 10]],
    ]
    .into_iter()
    .enumerate()
    {
        let written = 0x2000 * (number as u64 + 1);
        file.extend(record(0, written, one, number == 1));
        file.extend(record(1, written + 1, other, false));
    }
    file
}

fn page(directory: &Path) -> Page {
    let profile = Profile::open(directory).unwrap();
    fill::page(&profile, None, &mut Progress::Silent.step("")).unwrap()
}

fn figure<'f>(figures: &'f [Figures], name: &str) -> &'f Figure {
    let mut lines = figures.iter().flat_map(|figures| &figures.lines);
    lines.find(|line| line.name == name).unwrap()
}

fn tables(page: &Page) -> &[CounterTable] {
    match &page.counters {
        Absent::Present(tables) => tables,
        Absent::Because(because) => panic!("{because}"),
    }
}

/// A collection without .CNT files.
fn without_counters() -> tempfile::TempDir {
    let directory = collection();
    for set in ["000", "001"] {
        fs::remove_file(directory.path().join(format!("{PREFIX}.{set}.CNT"))).unwrap();
    }
    let file = directory.path().join(format!("{PREFIX}.000.SMF"));
    fs::write(file, records()).unwrap();
    directory
}

#[test]
fn figures_of_a_collection_have_a_value_for_each_interval_of_its_records() {
    let directory = without_counters();
    let page = page(directory.path());
    let cpi = figure(&page.figures, "Cycles per instruction");
    // CPU 0, CPU 1, and all: 800 ÷ 200, 350 ÷ 400, 1150 ÷ 600.
    assert_eq!(cpi.values[..2], [Some(4.0), Some(0.875)]);
    assert_eq!(cpi.chart, [Some(2.0), Some(2.0), Some(1.5)]);
    let problem = figure(&page.figures, "Cycles in problem state");
    assert_eq!(problem.chart, [Some(15.0), Some(5.0), Some(10.0)]);
    let [table] = tables(&page) else { panic!() };
    assert_eq!(table.intervals, 3);
    let cycles = &table.rows[0];
    assert_eq!(cycles.values, [Some(800), Some(350)]);
    assert_eq!(cycles.chart, [400.0, 600.0, 150.0]);
    let notes = table.notes.join("\n");
    assert!(
        notes.contains("SMF records of type 113, subtype 1"),
        "{notes}"
    );
    assert!(notes.contains("1 of the SMF records say"), "{notes}");
    let text = render::page(&page);
    assert!(text.contains("Cycles per instruction by interval"));
    assert!(
        text.contains("data-values=\"2.000 2.000 1.500\""),
        "the chart's values"
    );
}

#[test]
fn a_file_of_records_that_is_cut_off_is_a_doubt_and_what_came_before_is_shown() {
    let directory = without_counters();
    let file = directory.path().join(format!("{PREFIX}.000.SMF"));
    let whole = records();
    fs::write(&file, &whole[..whole.len() - 10]).unwrap();
    let page = page(directory.path());
    let [table] = tables(&page) else { panic!() };
    assert_eq!(table.rows[0].values, [Some(800), Some(200)]);
    let warnings: Vec<&str> = page
        .warnings
        .iter()
        .map(|warning| &warning.text[..])
        .collect();
    let warnings = warnings.join("\n");
    assert!(warnings.contains("000.SMF: offset "), "{warnings}");
    assert!(warnings.contains("field RDW: says "), "{warnings}");
}

#[test]
fn counters_of_the_cnt_file_are_kept_and_only_the_charts_come_from_the_records() {
    let directory = collection();
    let file = directory.path().join(format!("{PREFIX}.000.SMF"));
    let both = [
        record(10, 0x2000, [9, 1, 0, 0], false),
        record(10, 0x4000, [12, 3, 0, 0], false),
    ];
    fs::write(file, both.concat()).unwrap();
    let page = page(directory.path());
    let [table] = tables(&page) else { panic!() };
    assert_eq!(table.rows[0].values, [Some(0x15)]);
    assert_eq!(table.rows[0].chart, [9.0, 12.0]);
}

#[test]
fn a_run_has_its_own_counters_and_those_of_each_collection() {
    let directory = directory();
    let mut run = RunRecord::read(directory.path()).unwrap();
    let elsewhere = "SYSHIS20260302.000000.".to_owned();
    run.collections = vec![format!("{PREFIX}."), elsewhere];
    run.write(directory.path()).unwrap();
    let own = page(directory.path());
    let own = tables(&own).len();
    let file = directory.path().join(format!("{PREFIX}.000.SMF"));
    fs::write(&file, records()).unwrap();
    let with_his = page(directory.path());
    let tables = tables(&with_his);
    assert_eq!(tables.len(), own + 1);
    let last = &tables[own];
    assert_eq!(last.title, format!("{PREFIX}: The machine's measurement"));
    assert_eq!(last.intervals, 3);
    let of_his = with_his.figures.last().unwrap();
    assert!(of_his.title.starts_with(PREFIX));
    let cpi = figure(std::slice::from_ref(of_his), "Cycles per instruction");
    assert_eq!(cpi.chart, [Some(2.0), Some(2.0), Some(1.5)]);
}
