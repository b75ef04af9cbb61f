//! What is on screens of all sizes.

use std::fs;

use proptest::prelude::*;
use ratatui::{Terminal, backend::TestBackend};

use super::*;
use crate::{
    folder::{CONSOLE, COUNTERS, RECORD, SYMBOLS, record::End, sdb_name},
    formats::{
        counters::tests::payload,
        samples::tests::{LIMITED, WAIT, block},
    },
    report,
    views::top::{
        fixtures::{append, change, running, started},
        tally::{Order, Span},
    },
};
use link::data::Level;

fn follow(directory: &tempfile::TempDir) -> Followed {
    let mut followed = Followed::open(directory.path()).unwrap();
    followed.refresh(u64::MAX);
    followed
}

/// The lines of a screen of this size.
fn screen(followed: &Followed, choices: &mut Choices, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| draw(followed, choices, frame.area(), frame.buffer_mut()))
        .unwrap();
    let buffer = terminal.backend().buffer().clone();
    let row = |y| {
        let cells = (0..width).filter_map(|x| buffer.cell((x, y)));
        cells.map(|cell| cell.symbol()).collect::<String>()
    };
    (0..height).map(|y| row(y).trim_end().to_owned()).collect()
}

fn place(lines: &[String], words: &str) -> usize {
    let found = lines.iter().position(|line| line.contains(words));
    found.unwrap_or_else(|| panic!("{words}\nin\n{}", lines.join("\n")))
}

fn words(lines: &[String], of: &str) -> Vec<String> {
    let line = &lines[place(lines, of)];
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_run_that_goes_on_shows_losses_then_states_then_what_is_hot() {
    let directory = running();
    let samples = [
        (0x20_0000, WAIT),
        (0x20_0000, 1 << (63 - 28)),
        (0x20_0020, 0),
    ];
    append(directory.path(), &sdb_name(1), &block(&samples, 0));
    let mut choices = Choices::default();
    let lines = screen(&follow(&directory), &mut choices, 120, 40);
    let order = [
        "loop: exact mode, 2 CPUs, a sample every 1,000,000 cycles",
        "Running",
        "2.000 s of guest time, 1,500 million instructions, 10 samples in 3 blocks",
        "LOST  2 samples found no room.",
        "supervisor",
        "recent %",
        "Counters: the machine says what it has counted when the guest has ended.",
        "q quit  p pause  t by: recent",
    ];
    let places: Vec<usize> = order.iter().map(|words| place(&lines, words)).collect();
    assert!(
        places.is_sorted() && places[7] == 39,
        "{}",
        lines.join("\n")
    );
    let cpu: Vec<&str> = lines[places[4] + 2].split_whitespace().collect();
    let shares = ["60.00", "20.00", "20.00"];
    assert_eq!(cpu[1..], [&shares[..], &shares, &["5", "0"]].concat());
    let inner = words(&lines, "inner");
    assert_eq!(inner, ["40.00", "40.00", "4", "g", "inner"]);
}

#[test]
fn a_run_that_has_ended_shows_its_reason_and_its_counters_with_rates_and_figures() {
    let directory = report::tests::directory();
    change(directory.path(), |record| record.started = Some(started()));
    let basic = payload(0, Level::Machine, 1, 0, &[4_000_000, 1_000_000]);
    append(directory.path(), crate::folder::COUNTERS, &basic);
    let followed = follow(&directory);
    let mut choices = Choices::default();
    let lines = screen(&followed, &mut choices, 120, 60);
    place(&lines, "The guest ended with success");
    assert!(place(&lines, "LOST  2 samples") < place(&lines, "counted"));
    let cpi = words(&lines, "Cycles per instruction");
    assert_eq!(cpi[0], "3.999");
    // 4,001,001 cycles are 4.001001 ms; in a second there would be this many instructions.
    let instructions = words(&lines, " Instruction count");
    assert_eq!(instructions[..3], ["1,000,500", "250,062,421", "1"]);
    choices.table = Table::Counters;
    let lines = screen(&followed, &mut choices, 120, 90);
    let group = place(&lines, "by coprocessor group, group 1:");
    assert!(lines[group + 1..].iter().any(|line| line.contains("41")));
    place(&lines, "The guest's own measurement");
    place(&lines, "that count nothing here");
}

#[test]
fn the_state_of_a_run_that_failed_or_was_cut_off_is_its_first_line() {
    let directory = running();
    for (end, sentence) in [
        (End::Waiting, "The guest failed: every CPU waits"),
        (End::Interrupted, "The run was interrupted"),
        (
            End::Tool {
                text: "QEMU is\u{1B}[31m gone\nand said".to_owned(),
            },
            "QEMU is\\u{1b}[31m gone",
        ),
    ] {
        change(directory.path(), |record| record.end = end);
        let lines = screen(&follow(&directory), &mut Choices::default(), 120, 30);
        assert!(lines[1].starts_with(sentence), "{}", lines[1]);
        place(&lines, "DOUBT  The run did not come to its end");
    }
}

#[test]
fn any_size_of_the_terminal_has_room_for_something() {
    let runs = [running(), report::tests::directory()];
    for directory in &runs {
        append(directory.path(), &sdb_name(0), &block(&[(1, LIMITED)], 9));
        let followed = follow(directory);
        for height in (0..12).chain([24, 200]) {
            for width in [0, 1, 2, 3, 7, 20, 80, 400] {
                for table in [Table::Symbols, Table::Counters] {
                    let mut choices = Choices {
                        table,
                        offset: usize::MAX,
                        ..Choices::default()
                    };
                    let lines = screen(&followed, &mut choices, width, height);
                    assert_eq!(lines.len(), usize::from(height));
                }
            }
        }
        let lines = screen(&followed, &mut Choices::default(), 30, 5);
        assert!(lines[0].starts_with("loop: exact mode"), "{lines:?}");
    }
}

#[test]
fn a_name_cannot_write_on_the_terminal() {
    let directory = running();
    let hostile = "evil\u{1B}[2J\u{7}\u{202E}name";
    let table = format!("0000000000200000\t0000000000200040\tmod\u{9B}ule\t{hostile}\n");
    fs::write(directory.path().join(SYMBOLS), table).unwrap();
    change(directory.path(), |record| {
        record.guest = hostile.to_owned();
        record.mode = hostile.to_owned();
        record.started = None;
    });
    let followed = follow(&directory);
    let lines = screen(&followed, &mut Choices::default(), 200, 40);
    let text = text(&followed, &Choices::default());
    for text in lines.iter().map(String::as_str).chain(text.lines()) {
        let is_plain = |letter: char| !letter.is_control() && letter != '\u{202E}';
        assert!(text.chars().all(is_plain), "{text:?}");
    }
    place(&lines, "mod\\u{9b}ule");
    place(&lines, "evil\\u{1b}[2J\\u{7}\\u{202e}name: evil");
}

#[test]
fn the_symbols_are_scrolled_and_ordered_as_the_keys_say() {
    let directory = running();
    let table: String = (0..60)
        .map(|number: u64| {
            let start = 0x20_0000 + number * 16;
            format!("{start:016X}\t{:016X}\tm\tr{number:02}\n", start + 16)
        })
        .collect();
    fs::write(directory.path().join(SYMBOLS), table).unwrap();
    for number in 0..60 {
        let samples = vec![(0x20_0000 + number * 16, 0); 60 - number as usize];
        append(directory.path(), &sdb_name(0), &block(&samples, 0));
    }
    let followed = follow(&directory);
    let first = |choices: &mut Choices| {
        let lines = screen(&followed, choices, 100, 30);
        let heading = place(&lines, "recent %");
        let shown: Vec<&str> = lines[heading + 1].split_whitespace().collect();
        shown[4].to_owned()
    };
    let mut choices = Choices::default();
    assert_eq!(first(&mut choices), "r00");
    choices.offset = 10;
    assert_eq!(first(&mut choices), "r10");
    choices.offset = 1000;
    assert_eq!(first(&mut choices), "r59");
    // 60 routines, an unknown address and the wait state.
    assert_eq!(choices.offset, 61, "the last line stays in sight");
    choices = Choices {
        order: Order::Symbol,
        span: Span::Total,
        offset: 2,
        ..Choices::default()
    };
    assert_eq!(first(&mut choices), "r00");
}

#[test]
fn warnings_beyond_the_room_for_them_are_counted() {
    let directory = running();
    fs::remove_file(directory.path().join(SYMBOLS)).unwrap();
    change(directory.path(), |record| {
        record.link.blocks_missing = 3;
        record.link.bad_frames = 4;
        record.link.bad_payloads = 5;
    });
    let lines = screen(&follow(&directory), &mut Choices::default(), 100, 14);
    place(&lines, "LOST  2 samples found no room.");
    place(&lines, "LOST  3 sample-data blocks did not arrive.");
    place(&lines, "… and 3 more lines");
}

#[test]
fn a_single_look_is_text_without_what_only_a_live_view_has() {
    let directory = report::tests::directory();
    let followed = follow(&directory);
    let text = text(&followed, &Choices::default());
    for expected in [
        "loop: exact mode, 2 CPUs",
        "The guest ended with success",
        "LOST  2 samples found no room.",
        "inner",
        "(unknown address)",
        "Instruction count",
    ] {
        assert!(text.contains(expected), "{expected}\nin\n{text}");
    }
    assert!(!text.contains("recent") && !text.contains("quit"), "{text}");
    assert!(text.lines().all(|line| line == line.trim_end()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn garbage_in_any_file_never_panics(
        place in 0_usize..5,
        bytes in prop::collection::vec(any::<u8>(), 0..9000),
        cut in 0_usize..9000,
    ) {
        let directory = running();
        change(directory.path(), |record| record.is_linux = place == 4);
        let mut followed = follow(&directory);
        let sdb = sdb_name(1);
        let name = [&sdb[..], COUNTERS, SYMBOLS, RECORD, CONSOLE][place];
        for part in [&bytes[..], &bytes[..cut.min(bytes.len())]] {
            append(directory.path(), name, part);
            followed.refresh(u64::MAX);
            followed.refresh(u64::MAX);
            screen(&followed, &mut Choices::default(), 80, 24);
            text(&followed, &Choices::default());
        }
        // The other CPU's file is as good as ever.
        prop_assert_eq!(followed.tally.cpus[&0].samples(Span::Total), 5.0);
    }
}
