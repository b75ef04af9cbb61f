use record::{CounterValues, SetType};

use super::*;
use crate::figures::example_records::{BEGIN, deltas};

const MINUTE: u64 = 60 * 4_096_000_000;

/// A record of a minute.
fn record(system: &str, machine_type: &str, minute: u64, counts: [u64; 2]) -> Vec<u8> {
    let start = BEGIN + minute * MINUTE;
    let sets = [CounterValues::new(SetType::BASIC, &counts)];
    deltas((system, machine_type, 0, 0), (start, start + MINUTE), &sets)
}

fn page_of(records: &[Vec<u8>]) -> Page {
    let by = Grouping {
        system: true,
        interval: true,
        class: true,
        cpu: false,
    };
    let collected = read::read_content(&records.concat()[..], Manner { by, model: None }).unwrap();
    page(&collected, &Given::default(), Path::new("d/dump.smf"))
}

#[test]
fn each_system_has_its_figures_and_a_chart_by_interval() {
    let page = page_of(&[
        record("SYSA", "2964", 0, [300, 100]),
        record("SYSA", "2964", 1, [500, 100]),
        record("SYSB", "3931", 0, [900, 100]),
    ]);
    let titles: Vec<&str> = page.figures.iter().map(|part| &part.title[..]).collect();
    assert_eq!(titles, ["SYSA, 2964 (z13), CP", "SYSB, 3931 (z16), CP"]);
    let cpi = &page.figures[0].lines[0];
    assert_eq!((cpi.name, &cpi.formula[..]), ("CPI", "B0 ÷ B1"));
    assert_eq!(cpi.values, [Some(4.0)]);
    assert_eq!(cpi.chart, [Some(3.0), Some(5.0)]);
    let text = render::page(&page);
    for shown in [
        "CPI by interval",
        "data-values=\"3.000 5.000\"",
        "2026-11-21 10:02:00 UTC",
        "3 intervals of CPUs",
    ] {
        assert!(text.contains(shown), "{shown}");
    }
    for hidden in ["Time line", "<small>", "id=\"code\""] {
        assert!(!text.contains(hidden), "{hidden}");
    }
}

#[test]
fn a_figure_that_is_missing_is_named_with_its_reason() {
    let page = page_of(&[record("SYSA", "9999", 0, [300, 100])]);
    let notes = page.figures[0].notes.join("\n");
    assert!(notes.contains("--model"), "{notes}");
    assert!(
        page.figures[0]
            .lines
            .iter()
            .all(|line| line.name != "EST_CPI")
    );
}

#[test]
fn many_intervals_share_the_steps_of_a_chart() {
    let intervals = MOST_COLUMNS as u64 * 2 + 1;
    let records: Vec<Vec<u8>> = (0..intervals)
        .map(|minute| record("SYSA", "2964", minute, [200, 100]))
        .collect();
    let page = page_of(&records);
    let chart = &page.figures[0].lines[0].chart;
    assert_eq!(chart.len() as u64, intervals.div_ceil(3));
    assert!(chart.iter().all(|value| *value == Some(2.0)));
    assert!(page.figures[0].notes.join("\n").contains("is 3 intervals"));
}

#[test]
fn more_systems_than_the_page_shows_are_a_doubt_and_names_change_no_text() {
    let records: Vec<Vec<u8>> = (0..=MOST_PARTS)
        .map(|number| record(&format!("<{number:03}"), "2964", 0, [200, 100]))
        .collect();
    let page = page_of(&records);
    assert_eq!(page.figures.len(), MOST_PARTS);
    assert!(page.warnings[0].text.starts_with("1 more systems"));
    assert!(render::page(&page).contains("&lt;000, 2964"));
}
