use std::path::Path;

use super::*;
use crate::{
    computer::progress::Progress,
    costs::paths::tests::counted,
    counts::tests::{add, add_calls, calls},
    folder::{COUNTERS, counts_name, record::RunRecord},
    profile::tests::collection,
    report::tests::directory,
    symbols::UNKNOWN,
    views::html::{
        page::{Cell, Figure},
        render,
    },
};

fn filled(directory: &Path) -> Page {
    let profile = Profile::open(directory).unwrap();
    page(&profile, None, &mut Progress::Silent.step("")).unwrap()
}

#[test]
fn a_run_becomes_a_page_with_its_losses_and_what_it_lacks() {
    let directory = directory();
    let page = filled(directory.path());
    assert_eq!((page.samples, page.is_success), (7, true));
    let hot: Vec<(&str, u64)> = page
        .hot
        .lines
        .iter()
        .map(|line| (&line.symbol[..], line.samples))
        .collect();
    assert_eq!(
        hot,
        [("inner", 3), ("start", 2), (UNKNOWN, 1), ("(wait)", 1)]
    );
    let losses: Vec<&str> = page
        .warnings
        .iter()
        .filter(|warning| warning.is_loss)
        .map(|loss| &loss.text[..])
        .collect();
    assert_eq!(losses, ["2 samples found no room."]);
    let shares: Vec<(Option<u16>, u64, u64)> = page
        .shares
        .iter()
        .map(|share| (share.cpu, share.supervisor, share.wait))
        .collect();
    assert_eq!(shares, [(None, 6, 1), (Some(0), 4, 1), (Some(1), 2, 0)]);
    let Absent::Because(because) = &page.listings else {
        panic!("{:?}", page.listings)
    };
    assert!(because.contains("/g/loop"), "{because}");
    let Absent::Present(tables) = &page.counters else {
        panic!()
    };
    assert_eq!(
        tables.len(),
        3,
        "of the machine, of its groups, of the guest"
    );
    let share = |figure: &&Figure| figure.name == "Cycles in problem state";
    assert!(page.figures[0].lines.iter().find(share).is_some());
}

#[test]
fn the_paths_of_a_guest_that_is_a_machine_are_in_the_page() {
    let directory = directory();
    assert_eq!(filled(directory.path()).paths, None);
    let mut record = RunRecord::read(directory.path()).unwrap();
    record.paths = counted();
    record.write(directory.path()).unwrap();
    let page = filled(directory.path());
    let paths = page.paths.as_ref().unwrap();
    assert_eq!(paths.paths.frequent().count(), 2);
    // On both CPUs 500 of the basic set, less 5 of the problem-state set.
    assert_eq!(paths.executed, Some(990));
    let text = render::page(&page);
    for shown in [
        "<a href=\"#paths\">Paths</a>",
        "<th scope=\"row\">LPSWE</th>",
        "<td>longer</td>",
        "and 1 more causes with 2 paths",
        "12,720 instructions of the 990 that the guest executed in supervisor state",
    ] {
        assert!(text.contains(shown), "{shown}");
    }
}

#[test]
fn exact_counts_are_in_the_page_and_damaged_ones_are_a_doubt() {
    let directory = directory();
    assert_eq!(filled(directory.path()).exact, None);
    add(
        directory.path(),
        0,
        &[&[(0x20_0000, 4, 10), (0x20_0020, 8, 120)]],
    );
    add_calls(
        directory.path(),
        0,
        1,
        &[calls(0x20_0006, 0x20_0020, (120, 990))],
    );
    let text = render::page(&filled(directory.path()));
    for shown in [
        "<a href=\"#exact\">Exact counts</a>",
        "data-v=\"960\">960</td><td class=\"n\" data-v=\"96\">96.00</td>",
        "data-v=\"990\">990</td><td class=\"n\" data-v=\"99\">99.00</td><td class=\"n\" data-v=\"120\">120</td>",
        "<td class=\"n\">–</td>",
        "sum: 1,000 instructions, as the instruction counter says",
    ] {
        assert!(text.contains(shown), "{shown}\nin\n{text}");
    }
    std::fs::write(directory.path().join(counts_name(0)), [0; 9]).unwrap();
    let page = filled(directory.path());
    assert_eq!(page.exact, None);
    let is_said = |warning: &Warning| warning.text.starts_with("the exact counts in");
    assert!(page.warnings.iter().any(is_said), "{:?}", page.warnings);
}

#[test]
fn every_sample_is_in_one_cell_of_the_time_line() {
    let directory = directory();
    let page = filled(directory.path());
    let Absent::Present(time) = &page.time_line else {
        panic!()
    };
    let lanes: Vec<(Option<u16>, u64)> = time
        .lanes
        .iter()
        .map(|lane| {
            let samples = lane.stacks.iter().map(|cell| u64::from(cell.samples));
            (lane.cpu, samples.sum())
        })
        .collect();
    assert_eq!(lanes, [(Some(0), 5), (Some(1), 2)]);
    assert_eq!(time.routines.len(), 4);
    let states = time.lanes.iter().flat_map(|lane| &lane.states);
    assert_eq!(states.map(|cell| cell.samples).sum::<u32>(), 7);
    let is_in_a_column = |cell: &Cell| cell.column < time.columns;
    let mut cells = time.lanes.iter().flat_map(|lane| &lane.stacks);
    assert!(cells.all(is_in_a_column));
}

#[test]
fn a_run_before_has_lanes_and_columns_of_its_own() {
    let (now, before) = (directory(), directory());
    std::fs::write(before.path().join("sdb-cpu1.bin"), []).unwrap();
    let [profile, before] = [&now, &before].map(|folder| Profile::open(folder.path()).unwrap());
    let page = page(&profile, Some(&before), &mut Progress::Silent.step("")).unwrap();
    assert_eq!(page.before.as_ref().map(|before| before.samples), Some(5));
    let Absent::Present(time) = &page.time_line else {
        panic!()
    };
    let lanes: Vec<_> = time
        .lanes
        .iter()
        .map(|lane| (lane.is_before, lane.cpu))
        .collect();
    let expected = [(true, Some(0)), (false, Some(0)), (false, Some(1))];
    assert_eq!(lanes, expected);
    let all = page.hot.lines.iter();
    assert_eq!(all.filter_map(|line| line.before).sum::<u64>(), 5);
    // The page itself is of this run.
    assert_eq!(page.samples, 7);
}

#[test]
fn a_collection_becomes_a_page_without_the_text_of_its_programs() {
    let directory = collection();
    let page = filled(directory.path());
    assert_eq!(page.samples, 4);
    assert!(matches!(&page.listings, Absent::Because(because) if because.contains("collection")));
    assert!(matches!(&page.counters, Absent::Present(tables) if tables[0].owners == ["CPU 10"]));
}

#[test]
fn a_run_without_samples_and_counters_says_so() {
    let directory = directory();
    for file in ["sdb-cpu0.bin", "sdb-cpu1.bin", COUNTERS] {
        std::fs::write(directory.path().join(file), []).unwrap();
    }
    let page = filled(directory.path());
    assert!(
        matches!(&page.time_line, Absent::Because(because) if because == "No samples were taken.")
    );
    assert!(matches!(&page.counters, Absent::Because(_)));
    assert!(page.hot.lines.is_empty());
    let doubt = page
        .warnings
        .iter()
        .find(|warning| !warning.is_loss)
        .unwrap();
    assert_eq!(doubt.text, "The machine stored 7 samples, and 0 arrived.");
}
