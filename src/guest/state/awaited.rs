//! The words on the guest's console at which the operator wants it to stop, or executions to be counted from then on.

use command::ConsoleWords;
use core::sync::atomic::{AtomicBool, Ordering};
use spin::Mutex;

/// Words that the guest may write, and how many bytes of them it has written.
#[derive(Clone, Copy, Debug)]
struct Watch {
    words: ConsoleWords,
    written: usize,
    holds: bool,
}

/// The words that are awaited, if any are. They are met once.
#[derive(Debug, Default)]
pub struct AwaitedWords {
    /// Whether there are any: a guest that writes looks at nothing else.
    any: AtomicBool,
    watch: Mutex<Option<Watch>>,
    /// Whether some have been met.
    were_met: AtomicBool,
}

impl AwaitedWords {
    /// Awaits these words from now on, or none. If it `holds`, the guest stops when it has written them.
    pub fn set(&self, words: Option<ConsoleWords>, holds: bool) {
        let watch = words.map(|words| Watch {
            words,
            written: 0,
            holds,
        });
        self.any.store(watch.is_some(), Ordering::Release);
        *self.watch.lock() = watch;
    }

    /// Whether words have been met.
    #[must_use]
    pub fn were_met(&self) -> bool {
        self.were_met.load(Ordering::Acquire)
    }

    /// The guest has written these bytes. If it has met the words with them, none are awaited any more. Returns whether it
    /// is to stop.
    #[must_use]
    pub fn hold_by(&self, bytes: &[u8]) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let mut awaited = self.watch.lock();
        let Some(watch) = awaited.as_mut() else {
            return false;
        };
        let met = bytes.iter().any(|&byte| {
            watch.written = watch.words.follow(watch.written, byte);
            watch.written == watch.words.bytes().len()
        });
        let holds = met && watch.holds;
        if met {
            self.any.store(false, Ordering::Release);
            self.were_met.store(true, Ordering::Release);
            *awaited = None;
        }
        holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_met_once_however_the_guest_divides_them() {
        let awaited = AwaitedWords::default();
        assert!(!awaited.hold_by(b"login:"));
        awaited.set(ConsoleWords::new(b"login:"), true);
        assert!(!awaited.hold_by(b"logo log"));
        assert!(!awaited.hold_by(b"in"));
        assert!(!awaited.were_met());
        assert!(awaited.hold_by(b": and more"));
        assert!(awaited.were_met());
        assert!(!awaited.hold_by(b"login:"));
        awaited.set(ConsoleWords::new(b"x"), true);
        awaited.set(None, true);
        assert!(!awaited.hold_by(b"x"));
    }

    #[test]
    fn words_from_which_on_executions_are_counted_do_not_stop_the_guest() {
        let awaited = AwaitedWords::default();
        awaited.set(ConsoleWords::new(b"go"), false);
        assert!(!awaited.hold_by(b"go") && awaited.were_met());
    }
}
