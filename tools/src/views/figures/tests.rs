use std::path::Path;

use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
};
use record::{CounterValues, SetType};

use super::{Shown, csv, json, parquet as table, text};
use crate::figures::{
    example_records::{BEGIN, deltas},
    figure::Figure,
    group::Grouping,
    nest::Given,
    read::{self, Collected, Manner},
};

fn record(system: &str, machine_type: &str, cpu: u16) -> Vec<u8> {
    let sets = [
        CounterValues::new(SetType::BASIC, &[3_000, 1_000, 20, 400, 20, 400]),
        CounterValues::new(SetType::PROBLEM_STATE, &[1, 600]),
        CounterValues::new(SetType::EXTENDED, &[1; 128]),
    ];
    let minute = (BEGIN, BEGIN + 60 * 4_096_000_000);
    deltas((system, machine_type, 4, cpu), minute, &sets)
}

fn collected() -> Collected {
    let bytes = [
        record("SYSA", "2964", 0),
        record("SYSA", "2964", 1),
        record("=SYS", "9999", 0),
    ];
    let manner = Manner {
        by: Grouping {
            system: true,
            interval: true,
            class: true,
            cpu: false,
        },
        model: None,
    };
    read::read_content(&bytes.concat()[..], manner).unwrap()
}

#[test]
fn the_text_has_a_row_for_each_group_and_says_what_is_missing_and_why() {
    let collected = collected();
    let given = Given::default();
    let shown = Shown {
        collected: &collected,
        given: &given,
    };
    let text = text::text(&shown, Path::new("smf"));
    let has = |words: &str| {
        let wanted: Vec<&str> = words.split_whitespace().collect();
        let is_it = |line: &str| {
            line.split_whitespace()
                .collect::<Vec<_>>()
                .starts_with(&wanted)
        };
        assert!(text.lines().any(is_it), "{words}\nin\n{text}");
    };
    has("smf: 3 intervals of CPUs in 2 groups");
    // 18 counters of remote caches, 8 of memory, 6 of local ones and 4 of level 3, each 1 of 40.
    has("SYSA 2964 2026-11-21T10:00:00 60 zIIP 3.000 2.999 0.001 60.00 1666.7 0.00 4.00 8.72 HIGH");
    has("SYSA 2964 2026-11-21T10:00:00 60 zIIP 5.00 10.00 15.00 45.00 20.00 0.03");
    has("=SYS 9999 2026-11-21T10:00:00 60 zIIP 3.000 - - 60.00 1666.7 0.00 4.00 - -");
    has(
        "EST_CPI, FINITE_CPI, RNI, L2P, L3P, L4LP, L4RP, MEMP, SCPL1M, TLB_PERCENT, TLB_MISS, PTE_MISS of unknown: the model is not known, so neither",
    );
    has("formulas of z13");
    has(
        "L2P [1] level-1 misses whose line came from the CPU's level-2 cache (%) 100 × (E133 + E136) ÷ (B2 + B4)",
    );
    has("[1] Linux, tools/perf/pmu-events/arch/s390/cf_z13/transaction.json, after IBM's");
    has(
        "CRYPTO, PRNG, SHA, DEA, AES, BLOCKED of z13: counters of the crypto-activity set were not collected;",
    );
    has("formulas of unknown");
    assert!(text.contains("2.6 × (0.4 × L3P"), "{text}");
    assert!(!text.contains("cryptographic functions"), "{text}");
}

#[test]
fn a_line_of_csv_has_a_cell_for_each_column() {
    let collected = collected();
    let given = Given::default();
    let shown = Shown {
        collected: &collected,
        given: &given,
    };
    let mut out = Vec::new();
    csv::write(&shown, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    let columns: Vec<&str> = lines[0].split(',').collect();
    assert_eq!(columns.len(), 8 + Figure::ALL.len());
    for line in &lines[1..] {
        assert_eq!(line.split(',').count(), columns.len(), "{line}");
    }
    let unknown = "=SYS,9999,unknown,2026-11-21T10:00:00,2026-11-21T10:01:00,zIIP,,1,3,,,60,";
    assert!(lines[1].starts_with(unknown), "{}", lines[1]);
    let known = "SYSA,2964,z13,2026-11-21T10:00:00,2026-11-21T10:01:00,zIIP,,2,3,2.999,0.001,60,";
    assert!(lines[2].starts_with(known), "{}", lines[2]);
}

#[test]
fn the_object_has_each_figure_or_the_reason_why_it_is_missing() {
    let collected = collected();
    let given = Given::default();
    let shown = Shown {
        collected: &collected,
        given: &given,
    };
    let value: serde_json::Value = serde_json::from_str(&json::text(&shown).unwrap()).unwrap();
    assert_eq!(value["records"], 3);
    let groups = value["groups"].as_array().unwrap();
    for group in groups {
        let (figures, missing) = (&group["figures"], &group["missing"]);
        let count = |value: &serde_json::Value| value.as_object().unwrap().len();
        assert_eq!(count(figures) + count(missing), Figure::ALL.len());
    }
    assert_eq!(groups[1]["type"], "zIIP");
    assert_eq!(groups[1]["figures"]["HINT"], "HIGH");
    assert_eq!(groups[1]["figures"]["L3P"], 10.0);
    let why = groups[0]["missing"]["L3P"].as_str().unwrap();
    assert!(why.contains("--model"), "{why}");
    let described = &value["models"]["z13"]["L3P"];
    assert_eq!(
        described["formula"],
        "100 × (E144 + E145 + E162 + E163) ÷ (B2 + B4)"
    );
    let source = described["source"].as_str().unwrap();
    assert!(source.starts_with("Linux, "), "{source}");
}

#[test]
fn a_reader_of_parquet_finds_the_figures_and_nulls_for_missing_ones() {
    let collected = collected();
    let given = Given::default();
    let shown = Shown {
        collected: &collected,
        given: &given,
    };
    let bytes = table::bytes(&shown);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("figures.parquet");
    std::fs::write(&path, bytes).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), 2);
    let rows: Vec<Vec<(String, Field)>> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| {
            let row = row.unwrap();
            let columns = row.get_column_iter();
            columns
                .map(|(name, field)| (name.clone(), field.clone()))
                .collect()
        })
        .collect();
    let field = |row: usize, column: &str| {
        let found = rows[row].iter().find(|(name, _)| name == column);
        found.unwrap().1.clone()
    };
    assert_eq!(rows[0].len(), 8 + Figure::ALL.len());
    assert_eq!(field(0, "system"), Field::Str("=SYS".to_owned()));
    assert_eq!(field(0, "L3P"), Field::Null);
    assert_eq!(field(0, "cpu"), Field::Null);
    assert_eq!(field(1, "L3P"), Field::Double(10.0));
    assert_eq!(field(1, "HINT"), Field::Str("HIGH".to_owned()));
    assert_eq!(field(1, "records"), Field::Int(2));
    // 2026-11-21T10:00:00Z.
    assert_eq!(field(1, "start"), Field::TimestampMillis(1_795_255_200_000));
}
