//! A tally of traps: the number of traps of each cause, and the instructions that they took.
//!
//! Only a run that counts traps keeps it, by trap entries of its own, so other runs pay nothing for it. The
//! recorded lengths do not include its own instructions. A fixed table of causes is large enough for all
//! instructions that trap; if it were ever full, further causes would go into the last line.

use arch::interruption::Class;

/// The cause of a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// An instruction, by its [operation code](insn::opcode).
    Instruction = 1,
    /// A program interruption not caused by a refused instruction, by its code.
    Program = 2,
    /// A supervisor call.
    SupervisorCall = 3,
    /// An external interruption, by its code.
    External = 4,
    /// An I/O interruption.
    InputOutput = 5,
    /// A cause without a line of its own.
    Other = 6,
}

impl Cause {
    /// The cause with this number, if there is one.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Instruction,
            2 => Self::Program,
            3 => Self::SupervisorCall,
            4 => Self::External,
            5 => Self::InputOutput,
            6 => Self::Other,
            _ => return None,
        })
    }

    /// The class of the interruptions that it causes.
    #[must_use]
    pub const fn class(self) -> Class {
        match self {
            Self::Instruction | Self::Program | Self::Other => Class::Program,
            Self::SupervisorCall => Class::SupervisorCall,
            Self::External => Class::External,
            Self::InputOutput => Class::InputOutput,
        }
    }
}

/// The traps of one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The cause.
    pub cause: Cause,
    /// The operation code or interruption code.
    pub number: u16,
    /// The number of traps.
    pub traps: u64,
    /// The machine's instructions in all of them.
    pub instructions: u64,
    /// The instructions in the shortest of them.
    pub least: u64,
    /// The instructions in the longest of them.
    pub most: u64,
}

/// The number of lines in a tally.
pub const LINES: usize = 256;

/// The traps of one CPU by cause.
#[derive(Clone, Debug)]
pub struct Tally {
    lines: heapless::Vec<Line, LINES>,
}

impl Default for Tally {
    fn default() -> Self {
        Self::new()
    }
}

impl Tally {
    /// An empty tally.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            lines: heapless::Vec::new(),
        }
    }

    /// Records a trap of `instructions` instructions.
    pub fn note(&mut self, cause: Cause, number: u16, instructions: u64) {
        let is_it = |line: &Line| (line.cause, line.number) == (cause, number);
        let place = match self.lines.iter().position(is_it) {
            Some(place) => place,
            None if self.lines.len() + 1 < LINES => self.add(cause, number),
            None => match self
                .lines
                .iter()
                .position(|line| line.cause == Cause::Other)
            {
                Some(place) => place,
                None => self.add(Cause::Other, 0),
            },
        };
        if let Some(line) = self.lines.get_mut(place) {
            line.traps += 1;
            line.instructions = line.instructions.saturating_add(instructions);
            line.least = line.least.min(instructions);
            line.most = line.most.max(instructions);
        }
    }

    fn add(&mut self, cause: Cause, number: u16) -> usize {
        let _ = self.lines.push(Line {
            cause,
            number,
            traps: 0,
            instructions: 0,
            least: u64::MAX,
            most: 0,
        });
        self.lines.len() - 1
    }

    /// The lines, in the order in which the causes first occurred.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traps_of_a_cause_are_added_up() {
        let mut tally = Tally::new();
        tally.note(Cause::Instruction, 0xB220, 100);
        tally.note(Cause::Program, 0x10, 500);
        tally.note(Cause::Instruction, 0xB220, 50);
        let line = |cause, number, traps, instructions, [least, most]: [u64; 2]| Line {
            cause,
            number,
            traps,
            instructions,
            least,
            most,
        };
        assert_eq!(
            tally.lines(),
            [
                line(Cause::Instruction, 0xB220, 2, 150, [50, 100]),
                line(Cause::Program, 0x10, 1, 500, [500, 500])
            ]
        );
    }

    #[test]
    fn a_full_tally_loses_no_trap() {
        let mut tally = Tally::new();
        for number in 0..1000 {
            tally.note(Cause::Instruction, number, 1);
        }
        assert_eq!(tally.lines().len(), LINES);
        let traps: u64 = tally.lines().iter().map(|line| line.traps).sum();
        assert_eq!(traps, 1000);
        assert_eq!(tally.lines()[LINES - 1].cause, Cause::Other);
    }

    #[test]
    fn every_cause_has_its_number() {
        for number in 0..=255 {
            if let Some(cause) = Cause::from_number(number) {
                assert_eq!(cause as u8, number);
            }
        }
        assert_eq!(Cause::from_number(7), None);
    }
}
