//! What the host types to a machine whose console has only lines.
//!
//! The bytes of the link go in lines of their own, each a command of Hercules that passes its text on. The console keeps
//! one line until the machine has read it, so the next one waits until the machine says so.

use std::collections::VecDeque;

use link::lines;

/// The command of Hercules that passes the rest of its line on to the machine, and that is not shown among its messages.
const COMMAND: &[u8] = b"-.";

/// The bytes that wait, and the lines that were typed.
#[derive(Debug, Default)]
pub struct Typist {
    waiting: VecDeque<u8>,
    typed: u32,
    /// The lines that the machine has read; `None` until it reads any.
    read: Option<u32>,
}

impl Typist {
    /// These bytes are to be typed.
    pub fn add(&mut self, bytes: &[u8]) {
        self.waiting.extend(bytes);
    }

    /// The machine says that it has read so many lines.
    pub fn note_read(&mut self, lines: u32) {
        self.read = Some(lines);
    }

    /// The next line to type, if there is one and the console is free.
    pub fn line(&mut self) -> Option<Vec<u8>> {
        if self.waiting.is_empty() || self.read != Some(self.typed) {
            return None;
        }
        self.typed = self.typed.wrapping_add(1);
        let length = self.waiting.len().min(lines::LONGEST_TYPED);
        let bytes: Vec<u8> = self.waiting.drain(..length).collect();
        let line = COMMAND.iter().copied().chain(lines::encode(&bytes));
        Some(line.chain([b'\n']).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(line: &[u8]) -> Vec<u8> {
        lines::decode(line.strip_prefix(COMMAND).unwrap())
            .unwrap()
            .collect()
    }

    #[test]
    fn a_line_is_typed_when_the_machine_has_read_the_one_before() {
        let bytes: Vec<u8> = (0..=99).collect();
        let mut typist = Typist::default();
        typist.add(&bytes);
        assert_eq!(typist.line(), None, "the machine reads nothing yet");
        typist.note_read(0);
        let first = typist.line().unwrap();
        assert_eq!(first.len(), COMMAND.len() + 123 + 1);
        assert_eq!(typist.line(), None, "the first has not been read");
        typist.note_read(1);
        let second = typist.line().unwrap();
        assert_eq!([carried(&first), carried(&second)].concat(), bytes);
        typist.note_read(2);
        assert_eq!(typist.line(), None, "there is nothing more");
    }

    #[test]
    fn a_machine_that_has_read_more_than_was_typed_gets_nothing() {
        let mut typist = Typist::default();
        typist.add(b"end");
        typist.note_read(7);
        assert_eq!(typist.line(), None);
    }
}
