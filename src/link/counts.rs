//! Exact counts: how often each instruction of the guest was executed.
//!
//! A payload is a heading and some entries. Most entries are for a *run*: instructions that follow each other in storage, and were
//! executed one after the other as often as it says. A run may come in several entries and payloads, whose counts add up. So the
//! sum over all entries is what the heading says, and is compared with the instruction counter of the CPU.
//!
//! Other entries are for the *calls* of a routine from one place ([`Calls`]), which add up in the same way, and for what could not
//! be matched of them ([`Unmatched`]).

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

/// [`CountEntry::kind`]: a run.
const RUN: u16 = 0;

/// [`CountEntry::kind`]: [`Calls`].
const CALLS: u16 = 1;

/// [`CountEntry::kind`]: [`Calls`] of a routine that had not yet returned to its caller.
const CALLS_AGAIN: u16 = 2;

/// [`CountEntry::kind`]: [`Unmatched`].
const UNMATCHED: u16 = 3;

layout! {
    /// A run of instructions, and how often it was executed. The fields of other entries are in brackets: calls, and what is
    /// unmatched.
    CountEntry, 48 {
        /// The address of the first instruction. [The address of the call; the returns.]
        start: U64,
        /// Bit n, counted from the left, is one if an instruction begins n halfwords after `start`. [The address of the routine; the
        /// abandoned calls.]
        begins: U64,
        /// The same for the instructions that count two: an EXECUTE counts one for itself and one for its target. [The inclusive
        /// instructions; the calls that were not followed.]
        twice: U64,
        /// How often each of these instructions was executed. [The number of calls.]
        executions: U64,
        /// The program parameter.
        parameter: U64,
        /// [`PROBLEM`] and [`DAT`].
        state: U16,
        /// The primary address-space number.
        asn: U16,
        /// What the entry is: 0 a run, 1 calls, 2 calls of a routine that is active already, 3 what is unmatched.
        kind: U16,
        /// Zeros.
        reserved: U16,
    }
}

/// Calls of a routine from one place. A call ends when the routine returns, or is abandoned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// The address of the instruction that calls; zero if there is none: the routine was entered by an interruption, or the count
    /// began in it.
    pub site: u64,
    /// The address at which the routine was entered.
    pub routine: u64,
    /// How often it was called.
    pub times: u64,
    /// The instructions that were executed from the call to its end, those of the routines that it called included.
    pub inclusive: u64,
    /// Whether the routine was active already, so that another call has these instructions, too.
    pub is_again: bool,
    /// The program parameter.
    pub parameter: u64,
    /// [`PROBLEM`] and [`DAT`].
    pub state: u16,
    /// The primary address-space number.
    pub asn: u16,
}

impl From<Calls> for CountEntry {
    fn from(calls: Calls) -> Self {
        Self {
            start: calls.site.into(),
            begins: calls.routine.into(),
            twice: calls.inclusive.into(),
            executions: calls.times.into(),
            parameter: calls.parameter.into(),
            state: calls.state.into(),
            asn: calls.asn.into(),
            kind: if calls.is_again { CALLS_AGAIN } else { CALLS }.into(),
            reserved: 0.into(),
        }
    }
}

/// What could not be matched of calls and returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Branches on general register 14 to an address to which no call returns.
    pub returns: u64,
    /// Calls that ended because one before them did.
    pub abandoned: u64,
    /// Calls whose instructions are not known, because too many were active.
    pub not_followed: u64,
}

impl From<Unmatched> for CountEntry {
    fn from(unmatched: Unmatched) -> Self {
        Self {
            start: unmatched.returns.into(),
            begins: unmatched.abandoned.into(),
            twice: unmatched.not_followed.into(),
            kind: UNMATCHED.into(),
            ..Self::default()
        }
    }
}

impl CountEntry {
    /// The calls, if the entry is for such.
    #[must_use]
    pub fn calls(&self) -> Option<Calls> {
        matches!(self.kind.get(), CALLS | CALLS_AGAIN).then(|| Calls {
            site: self.start.get(),
            routine: self.begins.get(),
            times: self.executions.get(),
            inclusive: self.twice.get(),
            is_again: self.kind == CALLS_AGAIN,
            parameter: self.parameter.get(),
            state: self.state.get(),
            asn: self.asn.get(),
        })
    }

    /// What is unmatched, if the entry is for that.
    #[must_use]
    pub fn unmatched(&self) -> Option<Unmatched> {
        (self.kind == UNMATCHED).then(|| Unmatched {
            returns: self.start.get(),
            abandoned: self.begins.get(),
            not_followed: self.twice.get(),
        })
    }

    /// Where its instructions begin, and which of them count two. Only a run has some.
    fn run(&self) -> (u64, u64) {
        if self.kind == RUN {
            (self.begins.get(), self.twice.get())
        } else {
            (0, 0)
        }
    }

    /// The addresses at which its instructions begin, and what each execution of one counts.
    pub fn instructions(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (start, (begins, twice)) = (self.start.get(), self.run());
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
        let (begins, twice) = self.run();
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
    fn calls_and_what_is_unmatched_have_no_instructions_of_their_own() {
        let calls = Calls {
            site: 0x1000,
            routine: u64::MAX,
            times: 2,
            inclusive: 17,
            is_again: true,
            parameter: 3,
            state: DAT,
            asn: 4,
        };
        let unmatched = Unmatched {
            returns: 1,
            abandoned: 2,
            not_followed: 3,
        };
        for entry in [calls.into(), unmatched.into()] {
            let entry: CountEntry = entry;
            assert_eq!(entry.instructions().count(), 0);
            assert_eq!(entry.instructions_of_one(), 0);
        }
        assert_eq!(CountEntry::from(calls).calls(), Some(calls));
        assert_eq!(CountEntry::from(calls).unmatched(), None);
        assert_eq!(CountEntry::from(unmatched).unmatched(), Some(unmatched));
        assert_eq!(CountEntry::default().calls(), None);
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
