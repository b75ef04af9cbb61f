//! Records that are malformed and left out.

use record::Malformed;

use super::Sink;
use crate::formats::wrong;

/// How many they are, and what is wrong with the first.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    number: u64,
    first: Option<String>,
}

impl LeftOut {
    /// One more, in the data that begin at this offset.
    pub(super) fn add(&mut self, base: u64, malformed: Malformed) {
        self.number += 1;
        self.first
            .get_or_insert_with(|| wrong(base, malformed).to_string());
    }

    /// Says so. `records` names what they are.
    pub(super) fn tell(self, records: &str, sink: &mut Sink) {
        if let Some(first) = self.first {
            sink.doubt(
                self.number,
                &format!("{records} are malformed and left out; the first: {first}"),
            );
        }
    }
}
