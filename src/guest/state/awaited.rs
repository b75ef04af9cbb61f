//! The words on the guest's console at which the operator wants it to stop.

use command::ConsoleWords;
use core::sync::atomic::{AtomicBool, Ordering};
use spin::Mutex;

/// Words that the guest may write, and how many bytes of them it has written.
#[derive(Clone, Copy, Debug)]
struct Watch {
    words: ConsoleWords,
    written: usize,
}

/// The words that are awaited, if any are. They are met once.
#[derive(Debug, Default)]
pub struct AwaitedWords {
    /// Whether there are any: a guest that writes looks at nothing else.
    any: AtomicBool,
    watch: Mutex<Option<Watch>>,
}

impl AwaitedWords {
    /// Awaits these words from now on, or none.
    pub fn set(&self, words: Option<ConsoleWords>) {
        let watch = words.map(|words| Watch { words, written: 0 });
        self.any.store(watch.is_some(), Ordering::Release);
        *self.watch.lock() = watch;
    }

    /// The guest has written these bytes. Returns whether it has met the words with them; then none are awaited any more.
    #[must_use]
    pub fn are_met_by(&self, bytes: &[u8]) -> bool {
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
        if met {
            self.any.store(false, Ordering::Release);
            *awaited = None;
        }
        met
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_met_once_however_the_guest_divides_them() {
        let awaited = AwaitedWords::default();
        assert!(!awaited.are_met_by(b"login:"));
        awaited.set(ConsoleWords::new(b"login:"));
        assert!(!awaited.are_met_by(b"logo log"));
        assert!(!awaited.are_met_by(b"in"));
        assert!(awaited.are_met_by(b": and more"));
        assert!(!awaited.are_met_by(b"login:"));
        awaited.set(ConsoleWords::new(b"x"));
        awaited.set(None);
        assert!(!awaited.are_met_by(b"x"));
    }
}
