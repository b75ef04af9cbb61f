//! The order of the lines: which lines there must be, and which counters.
//!
//! A parser reads each line alone. The rules compare the lines with each other, so they also find what is missing from a
//! file that was cut off between two lines, or that lost lines in its middle.

use super::Line;
use crate::{Malformed, Problem, SetType};

#[cfg(test)]
mod tests;

/// The function that gets each rule that is broken, with its offset in the file.
pub type Found<'f> = dyn FnMut(Malformed) + 'f;

/// The lines of the heading in their order.
const HEADING: [&str; 8] = [
    "HIS019I",
    "FILE NAME",
    "COMMAND",
    "LOSS OF SAMPLE DATA ALERT",
    "LOSS OF COUNTER DATA ALERT",
    "STATE CHANGE",
    "MODEL",
    "COUNTER VERSION NUMBER 1",
];
/// The place of the line that only a run with samples has.
const SAMPLE_LOSS: usize = 3;
/// The place of the line that the message has from [`WITH_LOSS`] on.
const COUNTER_LOSS: usize = 4;
const WITH_LOSS: u32 = 4;

/// How many types of sets are known; the types begin with 1.
const SETS: usize = SetType::ALL.len();

/// The part of the file that has come last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Heading,
    /// A counter set, whose identifiers follow or have come.
    Set {
        with_identifiers: bool,
    },
    Start,
    End,
    /// The values of a CPU.
    Values,
}

/// The rules of a file, line after line.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    version: u32,
    /// The place of the next line of the heading.
    next_heading: usize,
    stage: Stage,
    /// The last set that a line has named.
    set: SetType,
    /// By type: the number behind the last identifier, if a line has named the set.
    named: [Option<u16>; SETS],
    /// When the run of a CPU began, and where it says so.
    start: (u64, usize),
    /// The values belong to the z/OS set.
    software: bool,
    /// By type: whether the CPU has values of the set.
    seen: [bool; SETS],
    /// The same for any CPU.
    ever_seen: [bool; SETS],
    /// The set of the last values, the number behind them, and where they are.
    values: Option<(usize, u16, usize)>,
}

/// The set to which counter `number` belongs, by its place in [`SetType::ALL`].
fn place_of(number: u16) -> usize {
    let sets = SetType::ALL.iter().enumerate();
    let hardware = sets.filter(|(_, set)| **set != SetType::ZOS);
    let mut begun = hardware.filter(|(_, set)| set.first_counter().unwrap_or(0) <= number);
    begun.next_back().map_or(0, |(place, _)| place)
}

fn place(set: SetType) -> Option<usize> {
    SetType::ALL.iter().position(|known| *known == set)
}

fn first_of(place: usize) -> u16 {
    let set = SetType::ALL.get(place);
    set.and_then(|set| set.first_counter()).unwrap_or(0)
}

const fn wrong(offset: usize, field: &'static str, expected: &'static str) -> Malformed {
    Malformed {
        offset,
        field,
        problem: Problem::Form { expected },
    }
}

const BEFORE: &str = "before this line";

impl Rules {
    /// Rules for a new file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Compares the next line, which is at `at` in the file, with those before.
    pub fn line(&mut self, at: usize, line: &Line<'_>, found: &mut Found<'_>) {
        match *line {
            Line::Heading(version) => {
                self.version = version;
                self.heading(0, at, found);
            }
            Line::FileName(_) => self.heading(1, at, found),
            Line::Command(_) => self.heading(2, at, found),
            Line::SampleLoss(_) => self.heading(SAMPLE_LOSS, at, found),
            Line::CounterLoss(_) => self.heading(COUNTER_LOSS, at, found),
            Line::StateChange(_) => self.heading(5, at, found),
            Line::Model(..) => self.heading(6, at, found),
            Line::Versions(_) => self.heading(7, at, found),
            Line::Set(set) => self.set(set, at, found),
            Line::Identifiers => self.identifiers(at, found),
            Line::NoIdentifiers if self.set != SetType::ZOS => {
                found(wrong(
                    at,
                    "COUNTER IDENTIFIERS",
                    "there, as the set is not ZOS",
                ));
            }
            Line::Identifier(number, _) => self.identifier(number, at, found),
            Line::Start(_, tod) => self.start(tod, at, found),
            Line::End(time) => self.end_time(time.map(|(_, tod)| tod), at, found),
            Line::Cpu { software, .. } => self.cpu(software, at, found),
            Line::Values { first, count, .. } => self.values(first, count as u16, at, found),
            Line::NoIdentifiers | Line::Blank => {}
        }
    }

    /// What is missing at the end of the file, which is at `at`.
    pub fn end(&mut self, at: usize, found: &mut Found<'_>) {
        let missing = match self.stage {
            Stage::Heading => "COUNTER SET",
            Stage::Set { .. } => "START TIME",
            Stage::Start => "END TIME",
            Stage::End => "COUNTER VALUES",
            Stage::Values => {
                self.leave_cpu(found);
                // The set of a core may be missing from a CPU, but not from all.
                if (0..SETS).all(|place| self.ever_seen[place] || !self.has_counters(place)) {
                    return;
                }
                "COUNTER VALUES"
            }
        };
        let problem = Problem::Missing;
        found(Malformed {
            offset: at,
            field: missing,
            problem,
        });
    }

    /// The line at `place` in the heading.
    fn heading(&mut self, place: usize, at: usize, found: &mut Found<'_>) {
        if place < self.next_heading || self.stage != Stage::Heading {
            let expected = "there once, in the order of the message";
            found(wrong(at, HEADING[place], expected));
            return;
        }
        self.skip_to(place, at, found);
        self.next_heading = place + 1;
    }

    /// Shows the lines of the heading that should have come before the one at `place`.
    fn skip_to(&mut self, place: usize, at: usize, found: &mut Found<'_>) {
        let skipped = HEADING.iter().enumerate().take(place);
        for (missing, field) in skipped.skip(self.next_heading) {
            let is_optional = match missing {
                SAMPLE_LOSS => true,
                COUNTER_LOSS => self.version < WITH_LOSS,
                _ => false,
            };
            if !is_optional {
                found(wrong(at, field, BEFORE));
            }
        }
    }

    /// A line that names a set.
    fn set(&mut self, set: SetType, at: usize, found: &mut Found<'_>) {
        match self.stage {
            Stage::Heading => {
                self.skip_to(HEADING.len(), at, found);
            }
            Stage::Values => self.leave_cpu(found),
            Stage::Set { .. } => self.leave_set(at, found),
            Stage::Start => found(wrong(at, "END TIME", BEFORE)),
            Stage::End => found(wrong(at, "COUNTER VALUES", BEFORE)),
        }
        let named = place(set).and_then(|place| self.named.get_mut(place));
        if let Some(named) = named {
            if named.is_some() {
                let expected = "a set that no line before names";
                found(wrong(at, "COUNTER SET", expected));
            }
            *named = Some(set.first_counter().unwrap_or(0));
        }
        self.set = set;
        self.stage = Stage::Set {
            with_identifiers: false,
        };
    }

    /// The line before the identifiers of a set.
    fn identifiers(&mut self, at: usize, found: &mut Found<'_>) {
        let begun = Stage::Set {
            with_identifiers: false,
        };
        if self.stage != begun {
            found(wrong(at, "COUNTER SET", "in the line before"));
        }
        self.stage = Stage::Set {
            with_identifiers: true,
        };
    }

    fn leave_set(&self, at: usize, found: &mut Found<'_>) {
        let begun = Stage::Set {
            with_identifiers: false,
        };
        if self.stage == begun {
            found(wrong(at, "COUNTER IDENTIFIERS", BEFORE));
        }
    }

    fn identifier(&mut self, number: u16, at: usize, found: &mut Found<'_>) {
        self.leave_set(at, found);
        self.stage = Stage::Set {
            with_identifiers: true,
        };
        let named = place(self.set).and_then(|place| self.named.get_mut(place));
        if let Some(Some(next)) = named {
            if number != *next {
                let expected = "the number behind the one before, or the set's first";
                found(Malformed {
                    offset: at,
                    field: "COUNTER IDENTIFIER",
                    problem: Problem::Value {
                        found: number.into(),
                        expected,
                    },
                });
            }
            *next = number.saturating_add(1);
        }
    }

    fn start(&mut self, tod: u64, at: usize, found: &mut Found<'_>) {
        match self.stage {
            Stage::Heading => found(wrong(at, "COUNTER SET", BEFORE)),
            Stage::Set { .. } => self.leave_set(at, found),
            Stage::Start => found(wrong(at, "END TIME", BEFORE)),
            Stage::End => found(wrong(at, "COUNTER VALUES", BEFORE)),
            Stage::Values => self.leave_cpu(found),
        }
        self.stage = Stage::Start;
        self.start = (tod, at);
    }

    fn end_time(&mut self, tod: Option<u64>, at: usize, found: &mut Found<'_>) {
        if self.stage != Stage::Start {
            found(wrong(at, "START TIME", "in the line before"));
        } else if let Some(end) = tod.filter(|end| *end < self.start.0) {
            let (start, begun) = self.start;
            for (offset, field, value, expected) in [
                (begun, "START TOD", start, "not after END TOD"),
                (at, "END TOD", end, "not before START TOD"),
            ] {
                found(Malformed {
                    offset,
                    field,
                    problem: Problem::Value {
                        found: value,
                        expected,
                    },
                });
            }
        }
        self.stage = Stage::End;
    }

    fn cpu(&mut self, software: bool, at: usize, found: &mut Found<'_>) {
        if self.stage == Stage::Values {
            self.leave_cpu(found);
        }
        if self.stage != Stage::End {
            found(wrong(at, "END TIME", "in the line before"));
        }
        let of_software = place(SetType::ZOS);
        let has = |place: usize| (Some(place) == of_software) == software;
        let mut sets = self.named.iter().enumerate();
        if !sets.any(|(place, named)| named.is_some() && has(place)) {
            let field = match software {
                true => "EVENT COUNTERS",
                false => "COUNTER VALUES",
            };
            found(wrong(at, field, "behind the COUNTER SET of such counters"));
        }
        self.stage = Stage::Values;
        self.software = software;
        self.seen = [false; SETS];
        self.values = None;
    }

    /// A line with `count` values from counter `first` on.
    fn values(&mut self, first: u16, count: u16, at: usize, found: &mut Found<'_>) {
        let of = match self.software {
            true => place(SetType::ZOS).unwrap_or(0),
            false => place_of(first),
        };
        let continued = self.values.filter(|(place, ..)| *place == of);
        let expected = match continued {
            Some((_, next, _)) => next,
            None => {
                self.leave_values(found);
                first_of(of)
            }
        };
        let number = |found: u16, expected| Malformed {
            offset: at,
            field: "counter",
            problem: Problem::Value {
                found: found.into(),
                expected,
            },
        };
        if first != expected {
            let rule = "the number behind the one before, or the first of a set";
            found(number(first, rule));
        }
        let behind = first.saturating_add(count);
        let named = self.named.get(of).copied().flatten();
        if !self.software && named.is_none_or(|named| behind > named) {
            found(number(behind - 1, "a counter that an identifier names"));
        }
        for seen in [&mut self.seen, &mut self.ever_seen] {
            if let Some(seen) = seen.get_mut(of) {
                *seen = true;
            }
        }
        self.values = Some((of, behind, at));
    }

    /// Shows if values of the last set are missing.
    fn leave_values(&self, found: &mut Found<'_>) {
        let Some((of, behind, at)) = self.values.filter(|_| !self.software) else {
            return;
        };
        let named = self.named.get(of).copied().flatten();
        if named.is_some_and(|named| behind < named) {
            let expected = "followed by the values of all counters of the set";
            found(wrong(at, "counter", expected));
        }
    }

    /// Whether a line has named the set, and others its counters. Those of z/OS have no identifiers.
    fn has_counters(&self, place: usize) -> bool {
        let named = self.named.get(place).copied().flatten();
        let is_software = SetType::ALL.get(place) == Some(&SetType::ZOS);
        named.is_some_and(|next| is_software || next > first_of(place))
    }

    /// Shows what is missing of a CPU: values of a set, or a set.
    fn leave_cpu(&mut self, found: &mut Found<'_>) {
        self.leave_values(found);
        let at = self.values.map_or(self.start.1, |(.., at)| at);
        // The set of a core has values on one of its CPUs only, and may come alone.
        let of_core = place(SetType::MT_DIAGNOSTIC);
        let is_core = of_core.is_some_and(|place| self.seen[place]);
        let of_software = place(SetType::ZOS);
        let others = (0..SETS).filter(|place| Some(*place) != of_core);
        let wanted = others.filter(|place| (Some(*place) == of_software) == self.software);
        let (mut missing, mut all) = (0, 0);
        for place in wanted {
            missing += usize::from(self.has_counters(place) && !self.seen[place]);
            all += usize::from(self.named[place].is_some());
        }
        if missing > 0 && !(is_core && missing == all) {
            let expected = "followed by the values of all sets";
            found(wrong(at, "COUNTER VALUES", expected));
        }
        self.values = None;
    }
}
