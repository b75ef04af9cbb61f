//! Where a routine has its return address, by what its text has done up to an instruction.
//!
//! A routine that calls others saves general register 14 in its caller's frame, and makes a frame for itself; the back
//! chain then leads from its frame to that place. At its first instructions, at its last one, and in all of a routine that
//! calls nobody it is otherwise, and the chain begins with the caller. What holds at an instruction follows from the
//! instructions on any path from the beginning of the routine to it, since compilers keep them consistent.

use std::{collections::BTreeMap, fmt::Write as _, ops::Range};

use anyhow::{Context, Result, bail};
use insn::flow;

use crate::symbols::SymbolTable;

/// Where the return address of a routine is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Where the back chain leads: the routine has saved it and has a frame.
    #[default]
    Chain,
    /// In general register 14; the routine has no frame.
    Register,
    /// In the caller's frame, at which the chain begins: the routine has saved it and has no frame.
    Saved,
    /// In general register 14, although the routine has a frame.
    RegisterBesideFrame,
}

impl Place {
    const ALL: [Self; 4] = [
        Self::Chain,
        Self::Register,
        Self::Saved,
        Self::RegisterBesideFrame,
    ];

    const fn of(state: State) -> Self {
        match (state.is_saved, state.frame != 0) {
            (true, true) => Self::Chain,
            (true, false) => Self::Saved,
            (false, true) => Self::RegisterBesideFrame,
            (false, false) => Self::Register,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Register => "register",
            Self::Saved => "saved",
            Self::RegisterBesideFrame => "register-beside-frame",
        }
    }

    /// The return addresses of a stack, the innermost first: `chain` is what the back chain led to.
    #[must_use]
    pub fn returns(self, link: u64, saved_link: u64, chain: &[u64]) -> Vec<u64> {
        let first = match self {
            Self::Chain => None,
            Self::Register | Self::RegisterBesideFrame => Some(link),
            Self::Saved => Some(saved_link),
        };
        // What the chain leads to first is then another routine's.
        let rest = match self {
            Self::RegisterBesideFrame => chain.get(1..).unwrap_or_default(),
            _ => chain,
        };
        first.into_iter().chain(rest.iter().copied()).collect()
    }
}

/// The places of return addresses in a program: ranges of addresses, in ascending order. Elsewhere it is
/// [`Place::Chain`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    ranges: Vec<(Range<u64>, Place)>,
}

impl Places {
    /// Those of a program with these routines. `text` returns the bytes of a range of addresses, as far as they are known.
    pub fn of<'t>(symbols: &SymbolTable, mut text: impl FnMut(Range<u64>) -> &'t [u8]) -> Self {
        let mut places = Self::default();
        for symbol in symbols.symbols() {
            let bytes = text(symbol.start..symbol.end);
            for (offset, length, state) in states(bytes) {
                let start = symbol.start + offset;
                places.add(start..start + length, Place::of(state));
            }
        }
        places
    }

    fn add(&mut self, range: Range<u64>, place: Place) {
        if place == Place::Chain {
            return;
        }
        match self.ranges.last_mut() {
            Some((last, known)) if *known == place && last.end == range.start => {
                last.end = range.end;
            }
            _ => self.ranges.push((range, place)),
        }
    }

    /// The place at the instruction at this address.
    #[must_use]
    pub fn at(&self, address: u64) -> Place {
        let behind = self
            .ranges
            .partition_point(|(range, _)| range.start <= address);
        let found = behind
            .checked_sub(1)
            .and_then(|place| self.ranges.get(place));
        match found {
            Some((range, place)) if range.contains(&address) => *place,
            _ => Place::Chain,
        }
    }

    /// As text: start, end and place, separated by tabs, a range a line.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (range, place) in &self.ranges {
            // Writing to a string does not fail.
            let word = place.word();
            let _ = writeln!(text, "{:016X}\t{:016X}\t{word}", range.start, range.end);
        }
        text
    }

    /// Reads what [`Self::to_text`] wrote.
    ///
    /// # Errors
    /// The line that is damaged.
    pub fn from_text(text: &str) -> Result<Self> {
        let mut ranges: Vec<(Range<u64>, Place)> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let about = || format!("line {} is not a range and a place", number + 1);
            let mut fields = line.split('\t');
            let mut next = || fields.next().with_context(about);
            let (start, end, word) = (next()?, next()?, next()?);
            let address = |text| u64::from_str_radix(text, 16).with_context(about);
            let range = address(start)?..address(end)?;
            let place = Place::ALL.into_iter().find(|place| place.word() == word);
            let is_in_order = ranges
                .last()
                .is_none_or(|(last, _)| last.end <= range.start);
            let Some(place) = place.filter(|_| is_in_order && !range.is_empty()) else {
                bail!(about());
            };
            ranges.push((range, place));
        }
        Ok(Self { ranges })
    }
}

/// What a routine has done up to an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    /// It has saved register 14.
    is_saved: bool,
    /// Bytes of its frame.
    frame: i64,
}

/// Offset and length of each instruction of a routine, and the state in which it begins. Text that no path leads to
/// (behind a table of addresses) is in the state of the instruction before it.
fn states(text: &[u8]) -> Vec<(u64, u64, State)> {
    let mut reached: BTreeMap<usize, State> = BTreeMap::new();
    let mut open = vec![(0, State::default())];
    while let Some((offset, before)) = open.pop() {
        let Some(instruction) = instruction(text, offset) else {
            continue;
        };
        if reached.contains_key(&offset) {
            continue;
        }
        reached.insert(offset, before);
        let after = after(&instruction, before);
        let target = |distance: i64| offset.checked_add_signed(distance.try_into().ok()?);
        let next = flow::next(&instruction);
        if next.is_sequential() {
            open.push((offset + insn::length(instruction[0]), after));
        }
        // A call leads to another routine.
        let distance = next.distance().filter(|_| !is_call(&instruction));
        open.extend(distance.and_then(target).map(|target| (target, after)));
    }
    let mut all = Vec::new();
    let (mut offset, mut state) = (0, State::default());
    while let Some(instruction) = instruction(text, offset) {
        let length = insn::length(instruction[0]);
        state = reached.get(&offset).copied().unwrap_or(state);
        all.push((offset as u64, length as u64, state));
        offset += length;
    }
    all
}

/// The instruction at an offset, if all of it is there; zeros behind it.
fn instruction(text: &[u8], offset: usize) -> Option<[u8; 6]> {
    let length = insn::length(*text.get(offset)?);
    let mut instruction = [0; 6];
    instruction[..length].copy_from_slice(text.get(offset..offset + length)?);
    Some(instruction)
}

/// BRAS or BRASL: whatever register it names, what it branches to is not the same routine.
fn is_call(text: &[u8; 6]) -> bool {
    matches!((text[0], text[1] & 15), (0xA7 | 0xC0, 5))
}

/// Where a routine saves register 14 in the frame of its caller: in the standard and in the packed layout.
const SAVED_LINK: [i64; 2] = [112, 136];

/// The state behind an instruction.
fn after(text: &[u8; 6], before: State) -> State {
    let [first, second, third, fourth, fifth, sixth] = *text;
    let (r1, r3, base) = (second >> 4, second & 15, third >> 4);
    let State { is_saved, frame } = before;
    let short = i64::from(i16::from_be_bytes([third, fourth]));
    let long = i64::from(i32::from_be_bytes([third, fourth, fifth, sixth]));
    let unsigned = i64::from(u32::from_be_bytes([third, fourth, fifth, sixth]));
    let displacement = i64::from(third & 15) << 8 | i64::from(fourth);
    let displacement = i64::from(fifth as i8) << 12 | displacement;
    // A register of the stack pointer's name or of the frame pointer's designates the frame.
    let is_frame = matches!(base, 15 | 11);
    let of_r14 = displacement + 8 * (14 - i64::from(r1));
    let is_link = is_frame && SAVED_LINK.contains(&(of_r14 - frame));
    let is_stack_pointer = (r1, r3, base) == (15, 0, 15);
    let moved = |distance: i64| State {
        is_saved,
        frame: (frame - distance).max(0),
    };
    let covers = |register: u8| r1 <= register && (register <= r3 || r3 < r1);
    match (first, sixth) {
        // STMG, STG.
        (0xEB, 0x24) if covers(14) && is_link => State {
            is_saved: true,
            frame,
        },
        (0xE3, 0x24) if (r1, r3) == (14, 0) && is_link => State {
            is_saved: true,
            frame,
        },
        // LMG, LG.
        (0xEB, 0x04) if is_frame && (covers(15) || covers(14) && is_link) => State {
            is_saved: is_saved && !(covers(14) && is_link),
            frame: if covers(15) { 0 } else { frame },
        },
        (0xE3, 0x04) if (r1, r3) == (14, 0) && is_link => State {
            is_saved: false,
            frame,
        },
        (0xE3, 0x04) if (r1, r3) == (15, 0) && is_frame => State { is_saved, frame: 0 },
        // LAY, LA.
        (0xE3, 0x71) if is_stack_pointer => moved(displacement),
        (0x41, _) if is_stack_pointer => moved(i64::from(third & 15) << 8 | i64::from(fourth)),
        // AGHI, AGFI, SLGFI, ALGFI.
        (0xA7, _) if (r1, r3) == (15, 0xB) => moved(short),
        (0xC2, _) if (r1, r3) == (15, 8) => moved(long),
        (0xC2, _) if (r1, r3) == (15, 4) => moved(-unsigned),
        (0xC2, _) if (r1, r3) == (15, 10) => moved(unsigned),
        _ => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const START: u64 = 0x20_0000;

    fn places(text: &[&[u8]]) -> (Places, Vec<u64>) {
        let bytes = text.concat();
        let end = START + bytes.len() as u64;
        let line = format!("{START:016X}\t{end:016X}\tg\troutine\n");
        let symbols = SymbolTable::from_text(&line).unwrap();
        let addresses = text.iter().scan(START, |at, bytes| {
            *at += bytes.len() as u64;
            Some(*at - bytes.len() as u64)
        });
        (Places::of(&symbols, |_| &bytes), addresses.collect())
    }

    fn of_each(text: &[&[u8]]) -> Vec<Place> {
        let (places, addresses) = places(text);
        addresses
            .into_iter()
            .map(|address| places.at(address))
            .collect()
    }

    const STMG: &[u8] = &[0xEB, 0x6F, 0xF0, 0x30, 0x00, 0x24];
    const LGR: &[u8] = &[0xB9, 0x04, 0x00, 0x1F];
    const AGHI: &[u8] = &[0xA7, 0xFB, 0xFF, 0x60];
    const STG: &[u8] = &[0xE3, 0x10, 0xF0, 0x00, 0x00, 0x24];
    const BRASL: &[u8] = &[0xC0, 0xE5, 0x00, 0x00, 0x10, 0x00];
    const LMG: &[u8] = &[0xEB, 0x6F, 0xF0, 0xD0, 0x00, 0x04]; // 208 = 160 + 48
    const BR: &[u8] = &[0x07, 0xFE];
    const ADD: &[u8] = &[0x1A, 0x23];

    use Place::{Chain, Register, RegisterBesideFrame, Saved};

    #[test]
    fn a_routine_that_calls_others_has_its_return_address_in_the_chain_between_prologue_and_epilogue()
     {
        let found = of_each(&[STMG, LGR, AGHI, STG, BRASL, LMG, BR]);
        let expected = [Register, Saved, Saved, Chain, Chain, Chain, Register];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_routine_that_calls_nobody_has_its_return_address_in_the_register() {
        // BRC back to the beginning, on a condition.
        let back = [0xA7, 0x74, 0xFF, 0xFF];
        assert_eq!(of_each(&[ADD, &back, BR]), [Register; 3]);
        let up = [0xA7, 0xFB, 0x00, 0xA0];
        let expected = [Register, RegisterBesideFrame, RegisterBesideFrame, Register];
        assert_eq!(of_each(&[AGHI, ADD, &up, BR]), expected);
    }

    #[test]
    fn a_register_that_is_put_aside_in_the_frame_is_not_a_return_address() {
        let put: &[u8] = &[0xE3, 0xE0, 0xF0, 0x90, 0x00, 0x24];
        let get: &[u8] = &[0xE3, 0xE0, 0xF0, 0x90, 0x00, 0x04];
        assert_eq!(of_each(&[put, get, BR]), [Register; 3]);
        let found = of_each(&[STMG, LGR, AGHI, STG, put, get, ADD, LMG, BR]);
        assert_eq!(found[4..], [Chain, Chain, Chain, Chain, Register]);
    }

    #[test]
    fn what_follows_a_return_is_in_the_state_of_the_branch_that_leads_there() {
        // The branch leads behind the first return.
        let ahead = [0xA7, 0x74, 0x00, 0x06];
        let text = [STMG, LGR, AGHI, STG, &ahead, LMG, BR, ADD, BRASL];
        let found = of_each(&text);
        assert_eq!(found[4..], [Chain, Chain, Register, Chain, Chain]);
    }

    #[test]
    fn the_layout_of_a_packed_kernel_counts_too() {
        let stmg: &[u8] = &[0xEB, 0xBF, 0xF0, 0x70, 0x00, 0x24];
        let lay: &[u8] = &[0xE3, 0xF0, 0xFF, 0x58, 0xFF, 0x71];
        // 280 = 168 + 112, where register 11 is.
        let lmg: &[u8] = &[0xEB, 0xBF, 0xF1, 0x18, 0x00, 0x04];
        let found = of_each(&[stmg, LGR, lay, ADD, lmg, BR]);
        assert_eq!(found, [Register, Saved, Saved, Chain, Chain, Register]);
    }

    #[test]
    fn the_first_return_address_is_where_its_place_says() {
        let chain = [1, 2, 3];
        assert_eq!(Chain.returns(8, 9, &chain), chain);
        assert_eq!(Register.returns(8, 9, &chain), [8, 1, 2, 3]);
        assert_eq!(Saved.returns(8, 9, &chain), [9, 1, 2, 3]);
        assert_eq!(RegisterBesideFrame.returns(8, 9, &chain), [8, 2, 3]);
        assert_eq!(RegisterBesideFrame.returns(8, 9, &[]), [8]);
    }

    #[test]
    fn the_text_form_is_read_back_and_a_damaged_one_refused_with_its_line() {
        let (places, _) = places(&[STMG, LGR, AGHI, STG, BRASL, LMG, BR]);
        let text = places.to_text();
        assert_eq!(text.lines().count(), 3);
        assert_eq!(Places::from_text(&text).unwrap(), places);
        for damaged in ["1\t2\tnowhere", "1\t2", "z\t2\tsaved", "2\t2\tsaved"] {
            let text = format!("0\t1\tsaved\n{damaged}\n");
            let error = Places::from_text(&text).unwrap_err().to_string();
            assert!(error.contains("line 2"), "{error}");
        }
        assert!(Places::from_text("4\t8\tsaved\n6\t9\tsaved").is_err());
    }

    proptest! {
        #[test]
        fn whatever_the_text_each_instruction_has_one_state(text in prop::collection::vec(any::<u8>(), 0..300)) {
            let found = states(&text);
            let mut at = 0;
            for (offset, length, _) in found {
                prop_assert_eq!(offset, at);
                at += length;
            }
            prop_assert!(at <= text.len() as u64);
        }
    }
}
