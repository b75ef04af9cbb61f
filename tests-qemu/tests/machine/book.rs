//! The book says what the sources say.

use std::fs;

use measure::{building::repository::root, figures::figure::Figure};
use tests_qemu::suite::test;

fn text(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

#[test]
fn the_table_of_wait_states_lists_every_wait_state_and_no_other() {
    let source = text("src/machine/io/failure.rs");
    let body = source
        .split("pub enum WaitState {")
        .nth(1)
        .unwrap()
        .split("\n}")
        .next()
        .unwrap();
    let mut defined: Vec<String> = body
        .lines()
        .filter_map(|line| line.split_once("= 0x"))
        .map(|(_, number)| number.trim_end_matches(',').to_owned())
        .collect();
    defined.sort();
    assert!(defined.len() > 5, "{defined:?}");
    let table = text("tools/book/src/wait-states.md");
    let mut listed: Vec<String> = table
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()))
        .collect();
    listed.sort();
    assert_eq!(listed, defined);
}

#[test]
fn every_bundled_guest_that_is_not_a_behaviour_guest_is_named() {
    let page = text("tools/book/src/guests.md");
    for guest in measure::building::build::bundled_guests() {
        assert!(
            guest.starts_with("b_") || page.contains(&format!("`{guest}`")),
            "{guest}"
        );
    }
}

#[test]
fn the_table_of_figures_lists_every_figure_and_no_other() {
    let page = text("tools/book/src/figures.md");
    let table = page.split("## The figures").nth(1).unwrap();
    let table = table.split("## Sources").next().unwrap();
    let first_cells = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let listed: Vec<&str> = first_cells
        .filter_map(|line| line.split('|').next())
        .flat_map(|cell| cell.split(','))
        .map(|name| name.trim().trim_matches('`'))
        .collect();
    assert_eq!(listed, Figure::ALL.map(Figure::name));
}
