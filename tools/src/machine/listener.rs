//! What Hercules writes, taken apart: the machine's bytes, which are in lines, and its own messages.

use std::{
    mem,
    sync::{Arc, Mutex},
};

use link::lines;

/// The message that a CPU waits for ever.
const DISABLED_WAIT: &[u8] = b"Disabled wait state";

/// How much of its own messages is kept.
const KEPT_MESSAGES: usize = 16 << 10;

/// A line without the colour that Hercules may show it in: it leaves that out of most lines that it writes to a file.
fn after_colour(line: &[u8]) -> &[u8] {
    const COLOUR: &[u8] = b"<pnl,";
    let is_coloured = line.starts_with(COLOUR);
    match line.iter().position(|&byte| byte == b'>') {
        Some(end) if is_coloured => &line[end + 1..],
        _ => line,
    }
}

/// What Hercules writes, taken apart: the bytes of the link, and its own messages.
#[derive(Debug, Default)]
pub struct Listener {
    line: Vec<u8>,
    messages: Arc<Mutex<Vec<u8>>>,
    has_ended: bool,
}

impl Listener {
    /// One that keeps the messages here.
    pub fn new(messages: Arc<Mutex<Vec<u8>>>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }

    /// The bytes of the link in what was written.
    pub fn take(&mut self, written: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &byte in written {
            if byte != b'\n' {
                self.line.push(byte);
                continue;
            }
            let line = mem::take(&mut self.line);
            match lines::decode(after_colour(&line)) {
                Some(carried) => bytes.extend(carried),
                None => self.message(&line),
            }
        }
        bytes
    }

    fn message(&mut self, line: &[u8]) {
        let is_wait = |part: &[u8]| part == DISABLED_WAIT;
        self.has_ended |= line.windows(DISABLED_WAIT.len()).any(is_wait);
        if let Ok(mut messages) = self.messages.lock()
            && messages.len() < KEPT_MESSAGES
        {
            messages.extend(line);
            messages.push(b'\n');
        }
    }

    /// Whether a CPU waits for ever: the machine has ended.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bytes: &[u8]) -> Vec<u8> {
        lines::encode(bytes).chain(*b"\n").collect()
    }

    #[test]
    fn the_bytes_of_the_link_are_separated_from_messages() {
        let messages = Arc::new(Mutex::new(Vec::new()));
        let mut listener = Listener::new(Arc::clone(&messages));
        let mut written = line(b"one");
        written.extend(b"<pnl,color(green,black)>");
        written.extend(line(b"+"));
        written.extend(b"HHCCP011I CPU0000: Disabled wait state\n");
        written.extend(line(&[0, 255]));
        let (first, second) = written.split_at(7);
        let mut bytes = listener.take(first);
        assert!(!listener.has_ended());
        bytes.extend(listener.take(second));
        assert_eq!(bytes, b"one+\x00\xFF");
        assert!(listener.has_ended());
        let kept = messages.lock().unwrap().clone();
        assert_eq!(kept, b"HHCCP011I CPU0000: Disabled wait state\n");
    }
}
