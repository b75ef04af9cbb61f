//! The interactive console: the guest's and the operator's side by side in a plain terminal.
//!
//! A line goes to the guest as it was typed. A line that begins with `//` is a command of the
//! operator, and what the machine answers comes back behind `//` too. End of input ends the guest
//! as soon as it waits.

use std::{
    io::{BufRead, stdin, stdout},
    sync::mpsc::{Receiver, sync_channel},
    thread,
};

use anyhow::Result;
use link::state::Mode;

use crate::{
    computer::{
        person::{Input, Person},
        progress::Progress,
    },
    machine::run::{RunOutcome, run_with},
    options::RunOptions,
};

/// What makes a line the operator's.
const OPERATOR: &str = "//";

/// The first line that the person sees.
const GREETING: &str = "A line that begins with // goes to the machine's operator, every other to the guest. Try //help; Ctrl-D or Ctrl-C ends.";

/// Runs a guest with the terminal as its console and the operator's.
pub fn run(options: &RunOptions, progress: &Progress) -> Result<RunOutcome> {
    let mut options = options.clone();
    if options.mode == Mode::Exact {
        options.mode = Mode::Interactive;
    }
    progress.note(GREETING);
    run_with(
        &options,
        progress,
        Some(Person {
            input: Some(typed()),
            is_operator: true,
            screen: &mut stdout(),
        }),
    )
}

/// Lines of standard input as they come. The thread ends with the input or with the process.
fn typed() -> Receiver<Input> {
    let (sender, receiver) = sync_channel(16);
    thread::spawn(move || {
        for line in stdin().lock().lines() {
            let Ok(line) = line else { break };
            if sender.send(input(&line)).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Whose line this is.
fn input(line: &str) -> Input {
    match line.strip_prefix(OPERATOR) {
        Some(command) => Input::Operator(command.trim().to_owned()),
        None => Input::Console(format!("{line}\n").into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_slashes_make_a_line_the_operators() {
        assert_eq!(input("//help"), Input::Operator("help".to_owned()));
        assert_eq!(input("// d his "), Input::Operator("d his".to_owned()));
        assert_eq!(input("ls /"), Input::Console(b"ls /\n".to_vec()));
        assert_eq!(input(""), Input::Console(b"\n".to_vec()));
    }
}
