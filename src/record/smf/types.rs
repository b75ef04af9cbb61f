//! The types of a record's counter sets: no two sets have the same.

use crate::layout::{Found, Visitor};

/// A bit for each type that a section had. Types from 64 on are not known, and not remembered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Types(u64);

impl Types {
    /// Adds the type of the next section, and shows it if another section had it.
    pub(super) fn add(&mut self, found: Found, visit: &mut Visitor<'_>) {
        let bit = if found.value < 64 {
            1 << found.value
        } else {
            0
        };
        if self.0 & bit != 0 {
            found.wrong("a type that no section before has", visit);
        }
        self.0 |= bit;
    }
}
