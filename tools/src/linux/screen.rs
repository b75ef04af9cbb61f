//! The part of the guest's console that is shown: the output of the command. Also notes how the command ended.
//!
//! The first process of the guest writes lines that begin with a record separator, one before the command and one with
//! its exit code ([`markers`]). These lines are never shown. Everything between the two is shown, and with `--verbose`
//! everything outside, too.

use std::{
    fmt,
    io::{self, Write},
};

use crate::{
    computer::person::Display,
    numbers::grouped,
    symbols::markers::{self, Marker},
};

/// What the lines begin with.
const BEGIN: &[u8] = markers::BEGIN.as_bytes();

/// A console on its way to the screen.
pub struct Screen<'a> {
    out: &'a mut dyn Write,
    /// Whether everything is shown.
    verbose: bool,
    /// Whether the command runs.
    running: bool,
    /// A line that may be a marker.
    held: Vec<u8>,
    code: Option<u8>,
    counts: Option<Instructions>,
}

/// The instructions that the command took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions {
    /// In problem state.
    pub user: u64,
    /// In supervisor state, on its behalf.
    pub kernel: u64,
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, kernel) = (grouped(self.user), grouped(self.kernel));
        write!(
            f,
            "{user} instructions in problem state, {kernel} in the kernel"
        )
    }
}

impl<'a> Screen<'a> {
    /// A screen that shows everything if `verbose`, and otherwise nothing yet.
    pub fn new(out: &'a mut dyn Write, verbose: bool) -> Self {
        Self {
            out,
            verbose,
            running: false,
            held: Vec::new(),
            code: None,
            counts: None,
        }
    }

    /// How many instructions the command took, if they were counted.
    pub fn counts(&self) -> Option<Instructions> {
        self.counts
    }

    /// The exit code of the command, if it has come to its end.
    pub fn code(&self) -> Option<u8> {
        self.code
    }

    fn is_shown(&self) -> bool {
        self.running || self.verbose
    }

    /// Whether the held bytes are, or may become, a marker.
    fn may_be_marker(&self) -> bool {
        let length = self.held.len().min(BEGIN.len());
        self.held[..length] == BEGIN[..length]
    }

    /// Takes a line that begins like a marker. Returns whether it is one.
    fn understand(&mut self) -> bool {
        let line = String::from_utf8_lossy(&self.held[BEGIN.len()..]);
        match Marker::of(&line) {
            Some(Marker::Command) => self.running = true,
            Some(Marker::Counted { user, all }) => {
                let kernel = all.saturating_sub(user);
                self.counts = Some(Instructions { user, kernel });
            }
            Some(Marker::Exit(code)) => {
                self.code = Some(code);
                self.running = false;
            }
            // Other markers are for the report. While the command runs, its lines are not markers.
            Some(_) => return !self.running,
            None => return false,
        }
        true
    }
}

impl Display for Screen<'_> {
    /// The command begins anew, because the guest does.
    fn loaded(&mut self) {
        self.running = false;
        self.code = None;
        self.counts = None;
        self.held.clear();
    }

    /// The kernel takes what is typed as soon as it has its console, and keeps it from a shell that opens the
    /// terminal later, until the next key.
    fn is_heard(&self) -> bool {
        self.running
    }
}

impl Write for Screen<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut shown = Vec::new();
        for &byte in bytes {
            if self.held.is_empty() && byte != BEGIN[0] {
                if self.is_shown() {
                    shown.push(byte);
                }
                continue;
            }
            if byte == BEGIN[0] && self.is_shown() {
                // A marker may begin here, even behind held bytes.
                shown.append(&mut self.held);
            }
            if byte == BEGIN[0] {
                self.held.clear();
            }
            self.held.push(byte);
            if !self.may_be_marker() || byte == b'\n' {
                let ours =
                    self.may_be_marker() && self.held.len() > BEGIN.len() && self.understand();
                if !ours && self.is_shown() {
                    shown.append(&mut self.held);
                }
                self.held.clear();
            }
        }
        if !shown.is_empty() {
            self.out.write_all(&shown)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONSOLE: &[u8] =
        b"[0.1] Booting\r\n\x1Emillimeter: command\nhello\n\x1Emore \x1E\nno newline\x1E\x1Emillimeter: exit 7\nreboot: off\n";

    /// What is shown of a console that comes in pieces of this length, and the exit code.
    fn seen(console: &[u8], verbose: bool, length: usize) -> (String, Option<u8>) {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, verbose);
        for piece in console.chunks(length) {
            screen.write_all(piece).unwrap();
        }
        let code = screen.code();
        (String::from_utf8(out).unwrap(), code)
    }

    #[test]
    fn the_commands_output_is_shown_and_nothing_else_however_it_arrives() {
        for length in 1..CONSOLE.len() {
            let shown = "hello\n\x1Emore \x1E\nno newline\x1E".to_owned();
            assert_eq!(seen(CONSOLE, false, length), (shown, Some(7)), "{length}");
        }
    }

    #[test]
    fn the_guest_reads_typed_input_between_the_shells_beginning_and_its_end() {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, true);
        for (piece, heard) in [
            ("booting\n", false),
            ("\x1Emillimeter: command\n", true),
            ("# ", true),
            ("\x1Emillimeter: exit 0\n", false),
        ] {
            screen.write_all(piece.as_bytes()).unwrap();
            assert_eq!(screen.is_heard(), heard, "{piece}");
        }
    }

    #[test]
    fn with_verbose_everything_but_the_markers_is_shown() {
        let (shown, code) = seen(CONSOLE, true, 5);
        assert_eq!(
            shown,
            "[0.1] Booting\r\nhello\n\x1Emore \x1E\nno newline\x1Ereboot: off\n"
        );
        assert_eq!(code, Some(7));
    }

    #[test]
    fn a_guest_that_dies_first_has_no_exit_code() {
        assert_eq!(seen(&CONSOLE[..60], false, 60).1, None);
        assert_eq!(seen(b"\x1Emillimeter: exit x\n", false, 9).1, None);
    }
}
