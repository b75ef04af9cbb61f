//! The operator's commands.
//!
//! A person at a real console, or the host by frames, types a line; the answer is text. A word that
//! is not understood is answered with the list of those that are.

pub mod traces;

use self::traces::Asked;
use crate::arch::interruption::external;
use crate::command::Change;
use crate::command::{self, Command, Cpus, HELP};
use crate::cpumf::CounterSets;
use crate::guest::external_means::{self, TooMany};
use crate::guest::state::account::Mode;
use crate::guest::state::vcpu::CpuState;
use crate::his::parameters;
use crate::link::loader::{COMMANDS_LENGTH, WHEN_WAITING};
use crate::machine::hardware::instruction;
use crate::machine::hardware::wait::{self, Open, Taken};
use crate::machine::io::failure::{WaitState, stop};
use crate::machine::io::{console, input};
use crate::machine::ipl::Machine;
use crate::machine::{his, run, turn};
use spin::{Mutex, Once};

/// The machine whose guest is running, if one is.
static RUNNING: Once<&'static Machine> = Once::new();

/// What is to be said when the guest waits, a command a line.
static LATER: Mutex<heapless::String<COMMANDS_LENGTH>> = Mutex::new(heapless::String::new());

/// From here on there is a guest to ask about and to end.
pub fn guest_runs(machine: &'static Machine) {
    RUNNING.call_once(|| machine);
}

/// Carries out one line.
pub fn command(line: &[u8]) {
    let line = core::str::from_utf8(line).unwrap_or("?");
    if parameters::is_definition(line) {
        his::define(line);
        return;
    }
    if crate::his::command::is_command(line) {
        with_guest(|_| his::ask(line));
        return;
    }
    match command::parse(line) {
        Ok(Command::Nothing) => {}
        Ok(Command::Help) => console::say(format_args!("{HELP}")),
        Ok(Command::Status) => with_guest(|machine| status(machine)),
        Ok(Command::Clock) => console::say(format_args!("TOD {:016X}\n", instruction::stckf())),
        Ok(Command::End) => end(),
        Ok(Command::Change(cpus, change)) => with_guest(|machine| ask(machine, cpus, change)),
        Ok(Command::ChangeBelow(change)) => with_guest(|_| his::change(change)),
        Ok(Command::Classes(classes)) => with_guest(|_| his::count_classes(classes)),
        Ok(Command::Trace(trace)) => with_guest(|machine| traces::begin(machine, trace)),
        Ok(Command::EndTraces(number)) => with_guest(|machine| traces::end(machine, number)),
        Ok(Command::Traces) => with_guest(traces::list),
        Ok(Command::Go) => traces::ask(Asked::Go),
        Ok(Command::Show(shown)) => traces::ask(Asked::Show(shown)),
        Err(misunderstood) => console::say(format_args!("{misunderstood}\n")),
    }
}

/// Does something with the machine whose guest is running, or says that none is.
fn with_guest(act: impl FnOnce(&'static Machine)) {
    match RUNNING.get() {
        Some(machine) => act(machine),
        None => console::say(format_args!("no guest is running\n")),
    }
}

/// Answers something that cannot be a line.
pub fn refuse_line() {
    console::say(format_args!(
        "that is no line of at most 256 bytes; these are understood:\n{HELP}"
    ));
}

/// Asks CPUs of the guest for a change, or says why that cannot be.
fn ask(machine: &Machine, cpus: Cpus, change: Change) {
    let configuration = &machine.configuration;
    if let Change::Counters(sets, true) = change {
        if configuration.mode == Mode::RealTime {
            console::say(format_args!(
                "the clock does not count instructions: no counter set has a source, and none is authorized\n"
            ));
            return;
        }
        let groups = configuration.groups().installed();
        let known = machine.model.installed();
        let known = if groups {
            known.union(CounterSets::COPROCESSOR_GROUP)
        } else {
            known
        };
        if sets.without(known) != CounterSets::NONE {
            console::say(format_args!(
                "a {} has no such counter set\n",
                machine.model.name
            ));
            return;
        }
    }
    let asked = match cpus {
        Cpus::All => 0..configuration.cpus,
        Cpus::One(cpu) if cpu < configuration.cpus => cpu..cpu + 1,
        Cpus::One(cpu) => {
            console::say(format_args!(
                "the guest has no CPU {cpu}; its CPUs are 0 to {}\n",
                configuration.cpus - 1
            ));
            return;
        }
    };
    for cpu in asked {
        match external_means::ask(configuration, cpu, change) {
            Ok(()) => turn::wake(cpu),
            Err(TooMany) => console::say(format_args!(
                "CPU {cpu} has not done what it was asked for before; say it again later\n"
            )),
        }
    }
}

/// Carries out what the host wrote into the loader block for the operator to say before the guest runs,
/// and keeps what is to be said when it waits ([`WHEN_WAITING`]).
pub fn begin(commands: &str) {
    for line in commands.lines() {
        match line.strip_prefix(WHEN_WAITING) {
            Some(later) => {
                let mut kept = LATER.lock();
                // The block is no longer than this.
                let _ = kept.push_str(later).and_then(|()| kept.push('\n'));
            }
            None => say(line),
        }
    }
}

/// Carries out a command that was given in advance.
fn say(line: &str) {
    console::say(format_args!("// {line}\n"));
    command(line.as_bytes());
}

/// Every CPU of the guest waits: carries out the next command that was kept for that. False if there is
/// none.
pub fn when_waiting() -> bool {
    let mut line = heapless::String::<COMMANDS_LENGTH>::new();
    {
        let mut later = LATER.lock();
        let Some((next, rest)) = later.split_once('\n') else {
            return false;
        };
        let _ = line.push_str(next);
        let mut kept = heapless::String::new();
        let _ = kept.push_str(rest);
        *later = kept;
    }
    say(&line);
    true
}

/// Says what the machine is doing, CPU by CPU.
fn status(machine: &Machine) {
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
        while !wait::take_events() && !is_input(wait::for_more(true, Open::NOTHING).taken) {}
        input::read();
    }
}

const fn is_input(taken: Taken) -> bool {
    matches!(taken, Taken::External(external::SERVICE_SIGNAL))
}
