//! The operator's commands.
//!
//! A person at a real console, or the host by frames, types a line; the answer is text. A word that
//! is not understood is answered with the list of those that are.

use crate::arch::interruption::external;
use crate::machine::failure::{WaitState, stop};
use crate::machine::{console, input, instruction, wait};

const HELP: &str = "\
HELP          this list
STATUS        what the machine is doing
CLOCK         the TOD clock
END           end the machine in a disabled wait
";

/// Carries out one line.
pub fn command(line: &[u8]) {
    let text = core::str::from_utf8(line).unwrap_or("").trim();
    let mut words = text.split_ascii_whitespace();
    let verb = words.next().unwrap_or("");
    let is = |word: &str| verb.eq_ignore_ascii_case(word);
    if verb.is_empty() {
        return;
    }
    if is("HELP") {
        console::say(format_args!("{HELP}"));
    } else if is("STATUS") {
        console::say(format_args!("no guest is running\n"));
    } else if is("CLOCK") {
        console::say(format_args!("TOD {:016X}\n", instruction::stckf()));
    } else if is("END") {
        console::flush();
        stop(WaitState::OperatorEnd);
    } else {
        console::say(format_args!("{verb} is not understood; these are:\n{HELP}"));
    }
}

/// The operator's prompt, when there is no guest to run.
pub fn prompt(lacking: bool) -> ! {
    if lacking {
        console::say(format_args!("Guests cannot be run on this machine.\n"));
    } else {
        console::say(format_args!(
            "No guest is loaded. HELP lists the commands.\n"
        ));
    }
    loop {
        if !console::framed() {
            console::say(format_args!("MM> "));
        }
        console::flush();
        while !wait::take_events() && wait::for_external_or_input() != external::SERVICE_SIGNAL {}
        input::read();
    }
}
