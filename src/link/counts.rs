//! Exact counts: how often each instruction of the guest was executed.
//!
//! A payload is a heading and some entries. An entry is for a *run*: instructions that follow each other in storage, and were
//! executed one after the other as often as it says. A run may come in several entries and payloads, whose counts add up. So the
//! sum over all entries is what the heading says, and is compared with the instruction counter of the CPU.

use super::layout;
use zerocopy::{
    FromBytes,
    byteorder::big_endian::{U16, U32, U64},
};

/// The most halfwords of a run.
pub const LONGEST_RUN: u64 = 64;

/// The most entries of a payload.
pub const MOST_ENTRIES: usize = 126;

/// [`CountEntry::state`]: the guest was in the problem state.
pub const PROBLEM: u16 = 0x1;

/// [`CountEntry::state`]: DAT was on.
pub const DAT: u16 = 0x2;

layout! {
    /// Heading of a payload; `count` entries follow.
    CountsHead, 32 {
        /// CPU address.
        cpu: U16,
        /// The number of entries.
        count: U16,
        /// Number of the payload, counted from 0 per CPU: a gap shows one that was lost on the link.
        sequence: U32,
        /// How many instructions of this CPU were counted so far, those of this payload included: the sum over all entries.
        counted: U64,
        /// How many instructions this CPU has executed that nobody could count, because it is not known where they were.
        unmatched: U64,
        /// How many instructions this CPU has executed where nothing was to be counted: outside of the window, before the words
        /// on the console, or in the other state.
        skipped: U64,
    }
}

layout! {
    /// A run of instructions, and how often it was executed.
    CountEntry, 48 {
        /// The address of the first instruction.
        start: U64,
        /// Bit n, counted from the left, is one if an instruction begins n halfwords behind `start`.
        begins: U64,
        /// The same for the instructions that count two: an EXECUTE counts one for itself and one for its target.
        twice: U64,
        /// How often each of these instructions was executed.
        executions: U64,
        /// The program parameter.
        parameter: U64,
        /// [`PROBLEM`] and [`DAT`].
        state: U16,
        /// The primary address-space number.
        asn: U16,
        /// Zeros.
        reserved: U32,
    }
}

impl CountEntry {
    /// The addresses at which its instructions begin, and what each execution of one counts.
    pub fn instructions(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (start, begins, twice) = (self.start.get(), self.begins.get(), self.twice.get());
        let here = move |number: u64| 1 << 63 >> number;
        (0..LONGEST_RUN)
            .filter(move |&number| begins & here(number) != 0)
            .map(move |number| {
                let counts = 1 + u64::from(twice & here(number) != 0);
                (start.wrapping_add(2 * number), counts)
            })
    }

    /// What one execution of the run counts.
    #[must_use]
    pub fn instructions_of_one(&self) -> u64 {
        let (begins, twice) = (self.begins.get(), self.twice.get());
        u64::from(begins.count_ones() + (begins & twice).count_ones())
    }
}

/// Decodes a payload into its heading and its entries. `None` if it is not as long as its heading says.
#[must_use]
pub fn parse(payload: &[u8]) -> Option<(&CountsHead, &[CountEntry])> {
    let (head, entries) = CountsHead::ref_from_prefix(payload).ok()?;
    let entries = <[CountEntry]>::ref_from_bytes(entries).ok()?;
    let is_right = entries.len() == usize::from(head.count.get()) && entries.len() <= MOST_ENTRIES;
    is_right.then_some((head, entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::IntoBytes;

    #[test]
    fn a_run_says_where_its_instructions_begin_and_which_of_them_count_two() {
        let entry = CountEntry {
            start: 0x1000.into(),
            // Four bytes, two, and six.
            begins: (0b1011 << 60).into(),
            twice: (0b0010 << 60).into(),
            executions: 3.into(),
            ..CountEntry::default()
        };
        let found: Vec<_> = entry.instructions().collect();
        assert_eq!(found, [(0x1000, 1), (0x1004, 2), (0x1006, 1)]);
        assert_eq!(entry.instructions_of_one(), 4);
    }

    #[test]
    fn a_payload_has_exactly_as_many_runs_as_its_heading_says() {
        let head = CountsHead {
            count: 2.into(),
            ..CountsHead::default()
        };
        let mut payload = head.as_bytes().to_vec();
        payload.extend([7; 2 * size_of::<CountEntry>()]);
        let (parsed, entries) = parse(&payload).unwrap();
        assert_eq!((*parsed, entries.len()), (head, 2));
        for length in 0..payload.len() {
            assert_eq!(parse(&payload[..length]), None, "{length}");
        }
        payload.extend([7; size_of::<CountEntry>()]);
        assert_eq!(parse(&payload), None);
    }
}
