//! What the host types to a machine whose console has only lines.
//!
//! The bytes of the link go in lines of their own, each a command of Hercules that passes its text on. The console keeps
//! one line until the machine has read it, so the next one waits until the machine says so.
//!
//! A line may be lost, and the machine does not count it. After `PATIENCE` a line without bytes shows whether the machine
//! still reads: if it does, its count is right, and the host goes on from there.

use std::{
    collections::VecDeque,
    mem,
    time::{Duration, Instant},
};

use link::lines;

/// The command of Hercules that passes the rest of its line on to the machine, and that is not shown among its messages.
const COMMAND: &[u8] = b"-.";

/// How long a machine may take to say that it has read a line. It is interrupted for each, so only a computer that is
/// far too busy takes so long.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is wrong with the machine's count of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The machine has not read all lines.
    Lost,
    /// The machine has read more lines than were typed.
    Excess,
}

/// What was last typed, and whether the machine has answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    /// A line with bytes.
    #[default]
    Bytes,
    /// A line without bytes.
    Empty,
    /// The same, and the machine has read a line since.
    Answered,
}

/// The bytes that wait, and the lines that were typed.
#[derive(Debug, Default)]
pub struct Typist {
    waiting: VecDeque<u8>,
    typed: u32,
    /// The lines that the machine has read; `None` until it reads any.
    read: Option<u32>,
    last: Last,
    /// When a line was last typed or read.
    since: Option<Instant>,
    /// What nobody has been told yet.
    mismatch: Option<Mismatch>,
}

impl Typist {
    /// These bytes are to be typed.
    pub fn add(&mut self, bytes: &[u8]) {
        self.waiting.extend(bytes);
    }

    /// The machine says that it has read so many lines.
    pub fn note_read(&mut self, lines: u32, now: Instant) {
        self.read = Some(lines);
        self.since = Some(now);
        if self.last == Last::Empty {
            self.last = Last::Answered;
        }
        if lines.wrapping_sub(self.typed).cast_signed() > 0 {
            self.go_on_from(lines, Mismatch::Excess);
        }
    }

    /// The machine's count is right.
    fn go_on_from(&mut self, lines: u32, why: Mismatch) {
        self.typed = lines;
        self.last = Last::Bytes;
        self.mismatch = Some(why);
    }

    /// What was wrong with the count since this was last asked.
    pub fn mismatch(&mut self) -> Option<Mismatch> {
        self.mismatch.take()
    }

    /// The next line to type, if there is one and the console is free.
    pub fn line(&mut self, now: Instant) -> Option<Vec<u8>> {
        let read = self.read?;
        if read != self.typed {
            let since = self.since.get_or_insert(now);
            if now.saturating_duration_since(*since) < PATIENCE {
                return None;
            }
            if self.last != Last::Answered {
                self.last = Last::Empty;
                return Some(self.typed_line(&[], now));
            }
            self.go_on_from(read, Mismatch::Lost);
        }
        self.last = Last::Bytes;
        if self.waiting.is_empty() {
            return None;
        }
        let length = self.waiting.len().min(lines::LONGEST_TYPED);
        let rest = self.waiting.split_off(length);
        let bytes: Vec<u8> = mem::replace(&mut self.waiting, rest).into();
        Some(self.typed_line(&bytes, now))
    }

    /// The line with these bytes, which is typed now.
    fn typed_line(&mut self, bytes: &[u8], now: Instant) -> Vec<u8> {
        self.typed = self.typed.wrapping_add(1);
        self.since = Some(now);
        let line = COMMAND.iter().copied().chain(lines::encode(bytes));
        line.chain([b'\n']).collect()
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

    /// A machine at the other end, and a clock. Lines with these numbers, counted from 1, do not arrive as they were typed.
    struct Link {
        typist: Typist,
        now: Instant,
        damaged: Vec<u32>,
        typed: u32,
        read: u32,
        received: Vec<u8>,
        mismatches: Vec<Mismatch>,
    }

    impl Link {
        fn new(damaged: &[u32]) -> Self {
            let now = Instant::now();
            let mut typist = Typist::default();
            typist.note_read(0, now);
            Self {
                typist,
                now,
                damaged: damaged.to_vec(),
                typed: 0,
                read: 0,
                received: Vec::new(),
                mismatches: Vec::new(),
            }
        }

        /// So many seconds pass. The machine reads what is typed.
        fn pass(&mut self, seconds: u32) {
            for _ in 0..seconds {
                while let Some(line) = self.typist.line(self.now) {
                    self.typed += 1;
                    if !self.damaged.contains(&self.typed) {
                        self.received.extend(carried(&line));
                        self.read += 1;
                        self.typist.note_read(self.read, self.now);
                    }
                }
                self.mismatches.extend(self.typist.mismatch());
                self.now += Duration::from_secs(1);
            }
        }
    }

    #[test]
    fn a_line_is_typed_when_the_machine_has_read_the_one_before() {
        let now = Instant::now();
        let bytes: Vec<u8> = (0..=99).collect();
        let mut typist = Typist::default();
        typist.add(&bytes);
        assert_eq!(typist.line(now), None, "the machine reads nothing yet");
        typist.note_read(0, now);
        let first = typist.line(now).unwrap();
        assert_eq!(first.len(), COMMAND.len() + 123 + 1);
        assert_eq!(typist.line(now), None, "the first has not been read");
        typist.note_read(1, now);
        let second = typist.line(now).unwrap();
        assert_eq!([carried(&first), carried(&second)].concat(), bytes);
        typist.note_read(2, now);
        assert_eq!(typist.line(now), None, "there is nothing more");
        assert_eq!(typist.mismatch(), None);
    }

    #[test]
    fn input_goes_on_after_a_lost_line() {
        // Also after one of the lines that are typed because of it.
        for damaged in [&[2][..], &[2, 3], &[2, 3, 4]] {
            let mut link = Link::new(damaged);
            link.typist.add(b"first");
            link.pass(1);
            link.typist.add(b"lost");
            link.pass(1);
            link.typist.add(b"second");
            link.pass(100);
            link.typist.add(b"third");
            link.pass(100);
            assert_eq!(link.received, b"firstsecondthird", "{damaged:?}");
            assert_eq!(link.mismatches, [Mismatch::Lost], "{damaged:?}");
        }
    }

    #[test]
    fn a_machine_that_still_has_the_last_line_has_time_to_read_it() {
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        let mut typist = Typist::default();
        typist.note_read(0, now);
        typist.add(b"first");
        assert!(typist.line(now).is_some());
        assert_eq!(typist.line(at(9)), None);
        let empty = typist.line(at(10)).unwrap();
        assert_eq!(carried(&empty), b"");
        // It reads the first line just then, so that the empty one is still to come.
        typist.note_read(1, at(11));
        typist.add(b"second");
        assert_eq!(typist.line(at(12)), None);
        typist.note_read(2, at(13));
        assert_eq!(carried(&typist.line(at(13)).unwrap()), b"second");
        assert_eq!(typist.mismatch(), None, "nothing was lost");
    }

    #[test]
    fn a_machine_that_has_read_more_than_was_typed_is_typed_on_from_its_count() {
        let mut link = Link::new(&[]);
        link.read = 7;
        link.typist.note_read(7, link.now);
        link.typist.add(b"end");
        link.pass(1);
        assert_eq!(link.received, b"end");
        link.read = 70;
        link.typist.note_read(70, link.now);
        link.typist.add(b".");
        link.pass(1);
        assert_eq!(link.received, b"end.");
        assert_eq!(link.mismatches, [Mismatch::Excess; 2]);
    }
}
