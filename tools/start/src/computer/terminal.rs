//! The terminal as the guest's keyboard: every key goes to the guest as it is struck.
//!
//! Meanwhile the terminal's own meaning of keys, including Ctrl-C, is off. So one key leads out: Ctrl-A, followed by a
//! letter. However the tool ends, it restores the terminal.

use std::{
    io::{IsTerminal, Read, stdin},
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::computer::{interrupt, person::Input};

/// The key that leads out: Ctrl-A.
const ESCAPE: u8 = 0x01;

/// What the guest gets at the end of an input that is not a terminal: Ctrl-D for the program that reads, and a
/// line for the shell, which may miss a Ctrl-D that comes before it is ready to read.
const END_OF_INPUT: &[u8] = b"\x04exit\n";

/// The help for it.
pub const HELP: &str =
    "Ctrl-A x ends the guest (twice: at once), Ctrl-A a sends Ctrl-A, Ctrl-A h says this again.";

/// The operator's command that ends the guest.
const END_COMMAND: &str = "end";

/// How the terminal was before it was changed.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// A terminal that sends every key as it is struck. Dropping it restores what was.
pub struct Raw(());

impl Raw {
    /// Switches the terminal to raw input; `None` if standard input is not a terminal.
    pub fn enter() -> Option<Self> {
        let before = tcgetattr(stdin()).ok()?;
        let mut raw = before.clone();
        raw.make_raw();
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        tcsetattr(stdin(), OptionalActions::Flush, &raw).ok()?;
        Some(Self(()))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back as it was, if it was changed.
pub fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        // A terminal that has gone away needs nothing.
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &before);
    }
}

/// Rows and columns of the terminal, if standard input is one.
pub fn size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(stdin()).ok()?;
    (size.ws_row != 0 && size.ws_col != 0).then_some((size.ws_row, size.ws_col))
}

/// What keys mean.
#[derive(Debug, PartialEq, Eq)]
enum Key {
    /// These bytes are for the guest.
    Typed(Vec<u8>),
    /// End the guest.
    End,
    /// Show the help.
    Help,
}

/// Keys as they are struck.
#[derive(Default)]
struct Keys {
    escaped: bool,
}

impl Keys {
    /// What these bytes mean, in their order.
    fn strike(&mut self, bytes: &[u8]) -> Vec<Key> {
        let mut keys = Vec::new();
        let mut typed = Vec::new();
        for &byte in bytes {
            if !std::mem::take(&mut self.escaped) {
                if byte == ESCAPE {
                    self.escaped = true;
                } else {
                    typed.push(byte);
                }
                continue;
            }
            let key = match byte {
                b'x' | b'X' => Key::End,
                b'a' | b'A' | ESCAPE => {
                    typed.push(ESCAPE);
                    continue;
                }
                _ => Key::Help,
            };
            if !typed.is_empty() {
                keys.push(Key::Typed(std::mem::take(&mut typed)));
            }
            keys.push(key);
        }
        if !typed.is_empty() {
            keys.push(Key::Typed(typed));
        }
        keys
    }
}

/// What is typed, as it comes: from a terminal every key, from anything else every byte unchanged, and then bytes that
/// end a shell. The thread ends with the input or with the process.
pub fn typed() -> Receiver<Input> {
    let (sender, receiver) = sync_channel(16);
    thread::spawn(move || {
        if stdin().is_terminal() {
            send_keys(stdin().lock(), &sender);
        } else {
            send_bytes(stdin().lock(), &sender);
        }
    });
    receiver
}

/// Sends keys until the input ends or the receiver is gone.
fn send_keys(mut input: impl Read, sender: &SyncSender<Input>) {
    let mut keys = Keys::default();
    let mut bytes = [0; 256];
    let mut told_to_end = false;
    while let Ok(length @ 1..) = input.read(&mut bytes) {
        for key in keys.strike(&bytes[..length]) {
            let input = match key {
                Key::Typed(bytes) => Input::Console(bytes),
                Key::End if told_to_end => return interrupt::request(),
                Key::End => {
                    told_to_end = true;
                    Input::Operator(END_COMMAND.to_owned())
                }
                Key::Help => {
                    eprint!("\r\n{HELP}\r\n");
                    continue;
                }
            };
            if sender.send(input).is_err() {
                return;
            }
        }
    }
}

/// Sends bytes, and [`END_OF_INPUT`] after them on a line of its own.
fn send_bytes(mut input: impl Read, sender: &SyncSender<Input>) {
    let mut bytes = [0; 256];
    let mut last = b'\n';
    while let Ok(length @ 1..) = input.read(&mut bytes) {
        last = bytes[length - 1];
        if sender
            .send(Input::Console(bytes[..length].to_vec()))
            .is_err()
        {
            return;
        }
    }
    let line_end: &[u8] = if last == b'\n' { b"" } else { b"\n" };
    let _ = sender.send(Input::Console([line_end, END_OF_INPUT].concat()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(bytes: &[u8]) -> Key {
        Key::Typed(bytes.to_vec())
    }

    #[test]
    fn keys_go_to_the_guest_except_after_control_a() {
        let mut keys = Keys::default();
        assert_eq!(keys.strike(b"ls\r\x03"), [typed(b"ls\r\x03")]);
        assert_eq!(keys.strike(b"a\x01"), [typed(b"a")]);
        assert_eq!(keys.strike(b"xb"), [Key::End, typed(b"b")]);
        assert_eq!(
            keys.strike(b"\x01ac\x01\x01d\x01h"),
            [typed(b"\x01c\x01d"), Key::Help]
        );
        assert_eq!(keys.strike(b"\x01"), []);
        assert_eq!(keys.strike(b"X"), [Key::End]);
    }

    #[test]
    fn an_input_that_ends_ends_the_shell() {
        for (input, end) in [
            (&b"exit 3\n"[..], &b"\x04exit\n"[..]),
            (b"ls", b"\n\x04exit\n"),
            (b"", b"\x04exit\n"),
        ] {
            let (sender, receiver) = sync_channel(16);
            send_bytes(input, &sender);
            drop(sender);
            let heard: Vec<u8> = receiver
                .iter()
                .flat_map(|input| match input {
                    Input::Console(bytes) => bytes,
                    Input::Operator(command) => panic!("{command}"),
                })
                .collect();
            assert_eq!(heard, [input, end].concat());
        }
    }
}
