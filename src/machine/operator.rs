//! The operator's commands.
//!
//! A person at a real console, or the host by frames, types a line; the answer is text. A word that
//! is not understood is answered with the list of those that are.

use crate::arch::interruption::external;
use crate::guest::vcpu::CpuState;
use crate::machine::failure::{WaitState, stop};
use crate::machine::ipl::Machine;
use crate::machine::{console, input, instruction, run, wait};
use spin::Once;

/// The machine whose guest is running, if one is.
static RUNNING: Once<&'static Machine> = Once::new();

/// From here on there is a guest to ask about and to end.
pub fn guest_runs(machine: &'static Machine) {
    RUNNING.call_once(|| machine);
}

const HELP: &str = "\
HELP          this list
STATUS        what each CPU of the guest is doing
CLOCK         the TOD clock
END           end the guest, and the machine in a disabled wait
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
        status();
    } else if is("CLOCK") {
        console::say(format_args!("TOD {:016X}\n", instruction::stckf()));
    } else if is("END") {
        end();
    } else {
        console::say(format_args!("{verb} is not understood; these are:\n{HELP}"));
    }
}

/// Says what the machine is doing, CPU by CPU.
fn status() {
    let Some(machine) = RUNNING.get() else {
        console::say(format_args!("no guest is running\n"));
        return;
    };
    for number in 0..machine.configuration.cpus {
        let seen = run::look(machine, number);
        let state = match seen.state {
            CpuState::Stopped => "stopped",
            CpuState::CheckStop => "check-stop",
            CpuState::Operating if seen.psw.wait() => "waiting",
            CpuState::Operating => "operating",
        };
        console::say(format_args!(
            "CPU {number}: {state}, PSW {:016X} {:016X}, {} cycles\n",
            seen.psw.mask, seen.psw.address, seen.cycles
        ));
    }
}

/// Ends the guest, with everything that was measured, or a machine without one.
fn end() -> ! {
    if let Some(machine) = RUNNING.get() {
        run::end_by_operator(machine);
    }
    console::flush();
    stop(WaitState::OperatorEnd)
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
        while !wait::take_events() && wait::for_external_or_input().code != external::SERVICE_SIGNAL
        {
        }
        input::read();
    }
}
