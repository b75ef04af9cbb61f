//! The lines of the table of symbols, found quickly.
//!
//! A profile has millions of samples, but only some thousand different ones. So a small table keeps the result for a
//! data entry until the next equal one.

use std::{cmp::Reverse, collections::HashMap};

use cpumf::sampling::block::BasicEntry;

use crate::symbols::names::{Line, Names};

/// Places of the small table; a power of two.
const KEPT: usize = 1 << 14;

/// Most lines; process numbers could make any number of them.
const MOST_LINES: usize = 1 << 18;

/// The line for all names beyond the limit.
const TOO_MANY: &str = "(more symbols than can be told apart)";

/// Number of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place(pub usize);

/// Samples by line.
pub struct Lines<'n> {
    names: &'n Names,
    places: HashMap<Line<'n>, Place>,
    counts: Vec<u64>,
    kept: Vec<(BasicEntry, Place)>,
}

impl<'n> Lines<'n> {
    /// No samples yet.
    pub fn new(names: &'n Names) -> Self {
        Self {
            names,
            places: HashMap::new(),
            counts: Vec::new(),
            // An entry of zeros is not a data entry, so it is never found.
            kept: vec![Default::default(); KEPT],
        }
    }

    /// The line of a sample.
    pub fn place(&mut self, entry: &BasicEntry) -> Place {
        let parameter = entry.guest_program_parameter.get();
        let mixed =
            (entry.instruction_address.get() ^ parameter.rotate_left(20) ^ entry.head.get())
                .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let kept = (mixed >> (64 - KEPT.ilog2())) as usize;
        if self.kept[kept].0 == *entry {
            return self.kept[kept].1;
        }
        let mut line = self.names.line(entry);
        if self.places.len() >= MOST_LINES && !self.places.contains_key(&line) {
            line = Line {
                symbol: TOO_MANY.into(),
                module: "".into(),
            };
        }
        let next = Place(self.places.len());
        let place = *self.places.entry(line).or_insert(next);
        self.counts.resize(self.places.len(), 0);
        self.kept[kept] = (*entry, place);
        place
    }

    /// Counts a sample of a line.
    pub fn count(&mut self, place: Place) {
        self.counts[place.0] += 1;
    }

    /// How many lines there are.
    pub fn count_of_places(&self) -> usize {
        self.places.len()
    }

    /// Lines with symbol, module and samples: the hottest first, equal ones in alphabetical order.
    pub fn ranked(&self) -> Vec<(Place, String, String, u64)> {
        let mut lines: Vec<(&Line<'_>, Place)> = self
            .places
            .iter()
            .map(|(line, place)| (line, *place))
            .collect();
        lines.sort_by_key(|(line, place)| (Reverse(self.counts[place.0]), *line));
        let ranked = lines.into_iter().map(|(line, place)| {
            let (symbol, module) = (line.symbol.to_string(), line.module.to_string());
            (place, symbol, module, self.counts[place.0])
        });
        ranked.collect()
    }
}
