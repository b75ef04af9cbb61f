//! What QEMU takes for the machine's traps by itself, whatever the machine does in them.
//!
//! The guest `bare-traps` has a trap in each turn of a loop, with a handler of one instruction. Its host time on bare QEMU
//! beyond that of the same loop without traps, for each trap, is the least that a trap costs. The number of traps of a part
//! of Linux makes that a share of what the part takes on bare QEMU.

use std::time::Duration;

use anyhow::{Result, bail};
use comfy_table::Cell;

use super::{BOOT, Bench, TIMED_BOOT, Times, Traps};
use crate::bench::{bare_time, right, table};

/// The guest with a trap in each turn of its loop, and the one without.
const GUESTS: [&str; 2] = ["bare-traps", "bare-loop"];

/// Turns of their loops.
const TURNS: f64 = 4e6;

/// What QEMU takes for traps by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    /// Nanoseconds of an interruption and of the LOAD PSW EXTENDED that ends it.
    pub nanoseconds: f64,
    /// Each part: its name, its traps, and what these take in percent of the part on bare QEMU.
    pub parts: Vec<(String, u64, f64)>,
}

impl Floor {
    /// Measures a trap as often as the parts were timed, and takes the shortest times.
    pub(super) fn measure(
        bench: &Bench<'_>,
        pairs: usize,
        traps: &[(String, Vec<Traps>)],
        timed: &[(&str, f64)],
        times: &[(Times, Times)],
    ) -> Result<Self> {
        let step = bench.progress.step("timing traps on bare QEMU");
        let mut shortest = [Duration::MAX; 2];
        for _ in 0..pairs {
            for (guest, shortest) in GUESTS.iter().zip(&mut shortest) {
                *shortest = bare_time(guest, &bench.options.run)?.min(*shortest);
            }
        }
        step.done("timed traps on bare QEMU");
        let [with, without] = shortest;
        let nanoseconds = with.saturating_sub(without).as_secs_f64() * 1e9 / TURNS;
        if nanoseconds == 0.0 {
            bail!(
                "the loop of {} took no longer than that of {}, so this computer is too busy; try again",
                GUESTS[0],
                GUESTS[1]
            );
        }
        Ok(Self::new(nanoseconds, traps, timed, times))
    }

    fn new(
        nanoseconds: f64,
        traps: &[(String, Vec<Traps>)],
        timed: &[(&str, f64)],
        times: &[(Times, Times)],
    ) -> Self {
        let part = |(what, traps): &(String, Vec<Traps>)| {
            let name = if what == BOOT { TIMED_BOOT } else { what };
            let place = timed.iter().position(|(timed, _)| *timed == name)?;
            let natively = times.iter().map(|(_, natively)| natively[place]).min()?;
            let number: u64 = traps.iter().map(|line| line.traps).sum();
            let share = number as f64 * nanoseconds * 1e-9 / natively.as_secs_f64();
            Some((what.clone(), number, share * 100.0))
        };
        Self {
            nanoseconds,
            parts: traps.iter().filter_map(part).collect(),
        }
    }
}

/// The shares.
pub(super) fn text(floor: &Floor) -> String {
    let title = format!("QEMU alone, {:.0} ns a trap", floor.nanoseconds);
    let mut table = table([&title, "traps", "percent"]);
    for (what, number, percent) in &floor.parts {
        table.add_row(vec![
            Cell::new(what),
            right(number),
            right(format!("{percent:.1}")),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_a_part_is_of_its_shortest_time_on_bare_qemu() {
        let line = |traps| Traps {
            cause: String::new(),
            traps,
            instructions: 1,
        };
        let traps = [
            (BOOT.to_owned(), vec![line(1_000_000), line(1_000_000)]),
            ("fork and exec".to_owned(), vec![line(500_000)]),
            ("not timed".to_owned(), vec![line(9)]),
        ];
        let timed = [(TIMED_BOOT, 1.0), ("fork and exec", 1.0)];
        let seconds = |all: [u64; 2]| all.map(Duration::from_secs).to_vec();
        let times = [
            (seconds([9, 9]), seconds([5, 3])),
            (seconds([9, 9]), seconds([4, 2])),
        ];
        let floor = Floor::new(200.0, &traps, &timed, &times);
        let shown: Vec<_> = floor
            .parts
            .iter()
            .map(|(what, number, percent)| (&what[..], *number, (percent * 1e6).round() / 1e6))
            .collect();
        let expected = [("boot", 2_000_000, 10.0), ("fork and exec", 500_000, 5.0)];
        assert_eq!(shown, expected);
        let text = text(&floor);
        assert!(text.contains("200 ns") && text.contains("10.0"), "{text}");
    }
}
