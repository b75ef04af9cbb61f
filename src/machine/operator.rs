//! The operator's commands.
//!
//! A person at a real console types a line, or the host sends it in frames; the answer is text. The
//! answer to a word that is not understood lists the words that are.

pub mod traces;

use crate::arch::interruption::external;
use crate::command::Change;
use crate::command::{self, Command, ConsoleWords, Cpus, HELP};
use crate::cpumf::CounterSets;
use crate::guest::external_means;
use crate::guest::external_means::TooMany;
use crate::guest::millicode;
use crate::guest::state::account::Mode;
use crate::guest::state::mailbox::MOST_CHANGES;
use crate::guest::state::vcpu::CpuState;
use crate::his::parameters::{self, ParameterFiles};
use crate::link::loader::{COMMANDS_LENGTH, WHEN_WAITING};
use crate::machine::hardware::wait::{Open, Taken};
use crate::machine::hardware::{instruction, sclp, wait};
use crate::machine::io::console;
use crate::machine::io::failure::{WaitState, stop};
use crate::machine::io::input::{HostMessage, Input};
use crate::machine::run;
use crate::machine::state::heap;
use crate::machine::state::machine::Machine;
use crate::machine::state::operator::Asked;
use core::sync::atomic::Ordering;

/// Carries out one line.
pub fn command(machine: Option<&'static Machine>, line: &[u8]) {
    let line = core::str::from_utf8(line).unwrap_or("?");
    if parameters::is_definition(line) {
        define(machine, line);
        return;
    }
    let with_guest = |act: &dyn Fn(&'static Machine)| match machine {
        Some(machine) => act(machine),
        None => console::say(format_args!("no guest is running\n")),
    };
    if crate::his::command::is_command(line) {
        with_guest(&|machine| machine.his.ask(line));
        return;
    }
    match command::parse(line) {
        Ok(Command::Nothing) => {}
        Ok(Command::Help) => console::say(format_args!("{HELP}")),
        Ok(Command::Status) => with_guest(&|machine| status(machine)),
        Ok(Command::Clock) => console::say(format_args!("TOD {:016X}\n", instruction::stckf())),
        Ok(Command::End) => end(machine),
        Ok(Command::Change(cpus, change)) => with_guest(&|machine| ask(machine, cpus, change)),
        Ok(Command::ChangeBelow(change)) => with_guest(&|machine| machine.his.change(change)),
        Ok(Command::Classes(classes)) => with_guest(&|machine| machine.his.count_classes(classes)),
        Ok(Command::Subtypes(only)) => with_guest(&|machine| machine.his.write_subtypes(only)),
        Ok(Command::Trace(trace)) => with_guest(&|machine| traces::begin(machine, trace)),
        Ok(Command::EndTraces(number)) => with_guest(&|machine| traces::end(machine, number)),
        Ok(Command::Traces) => with_guest(&|machine| traces::list(machine)),
        Ok(Command::HoldAt(words)) => with_guest(&|machine| hold_at(machine, words)),
        Ok(Command::CountAt(words)) => with_guest(&|machine| count_at(machine, words)),
        Ok(Command::Go) => ask_stopped(machine, Asked::Go),
        Ok(Command::Show(shown)) => ask_stopped(machine, Asked::Show(shown)),
        Err(misunderstood) => console::say(format_args!("{misunderstood}\n")),
    }
}

/// Takes a line about a parameter file of HIS.
fn define(machine: Option<&'static Machine>, line: &str) {
    let defined = match machine {
        Some(machine) => machine.his.parameters.lock().define(line),
        // Without a guest nothing can use it, but it may still be in error.
        None => ParameterFiles::new().define(line),
    };
    if let Err(wrong) = defined {
        console::say(format_args!("{wrong}\n"));
    }
}

/// Stops the guest when it has written these words, or no longer.
fn hold_at(machine: &Machine, words: Option<ConsoleWords>) {
    let configuration = &machine.configuration;
    if configuration.mode == Mode::RealTime && configuration.cpus > 1 {
        console::say(format_args!(
            "words cannot stop {} CPUs that run at the same time; begin the run without --real-time or with one CPU\n",
            configuration.cpus
        ));
        return;
    }
    configuration.awaited_words.set(words, true);
}

/// Counts executions from when the guest has written these words.
fn count_at(machine: &Machine, words: ConsoleWords) {
    if !machine.counts_from_words {
        console::say(format_args!(
            "this run does not begin to count executions; begin it with --count and --count-from\n"
        ));
        return;
    }
    machine.configuration.awaited_words.set(Some(words), false);
}

/// Makes a request about a guest that is stopped.
fn ask_stopped(machine: Option<&'static Machine>, asked: Asked) {
    match machine {
        Some(machine) => traces::ask(machine.operator, asked),
        None => traces::refuse(),
    }
}

/// Reads what the host sent. Input for the guest becomes a service signal, if it takes events. Returns
/// whether anything arrived ([`Input::read`]).
pub fn read_input(machine: &'static Machine) -> bool {
    let complete = machine.shared.input.read(|message| match message {
        HostMessage::Line(line) => command(Some(machine), &line),
        HostMessage::Unusable => refuse_line(),
        HostMessage::Request(request) => machine.his.ask_for(request),
        HostMessage::NotWritten => machine.his.not_written(),
    });
    let configuration = &machine.configuration;
    if machine.shared.input.waiting() && millicode::announce_input(configuration) {
        for cpu in 0..configuration.cpus {
            machine.shared.wake(cpu);
        }
    }
    complete
}

/// Answers a message that cannot be a line.
pub fn refuse_line() {
    console::say(format_args!(
        "that is no line of at most 256 bytes; these are understood:\n{HELP}"
    ));
}

/// Asks CPUs of the guest for a change, or says why that is not possible.
fn ask(machine: &Machine, cpus: Cpus, change: Change) {
    let configuration = &machine.configuration;
    if let Change::Counters(sets, true) = change {
        if !configuration.counts_instructions() {
            console::say(format_args!(
                "the clock does not count instructions, so no counter set has a source and none is authorized\n"
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
            Ok(()) => machine.shared.wake(cpu),
            Err(TooMany) => console::say(format_args!(
                "CPU {cpu} has not carried out earlier requests yet; try again later\n"
            )),
        }
    }
}

/// Each change in the block fits into the mailbox of a CPU: no command for a CPU is shorter than this one.
const _: () = assert!(COMMANDS_LENGTH / "INTERRUPT CPU 0\n".len() <= MOST_CHANGES);

/// Carries out the commands that the host wrote into the loader block, and keeps those that are meant
/// for when the guest waits ([`WHEN_WAITING`]). `work` does what a command has requested of HIS, so that the next one
/// finds room.
pub fn begin(machine: &'static Machine, commands: &str, mut work: impl FnMut()) {
    for line in commands.lines() {
        match line.strip_prefix(WHEN_WAITING) {
            Some(later) => {
                let mut kept = machine.operator.later.lock();
                // The block is no longer than this buffer.
                let _ = kept.push_str(later).and_then(|()| kept.push('\n'));
            }
            None => {
                say(machine, line);
                work();
            }
        }
    }
}

/// Carries out a command that was given in advance.
fn say(machine: &'static Machine, line: &str) {
    console::say(format_args!("// {line}\n"));
    command(Some(machine), line.as_bytes());
}

/// Every CPU of the guest waits: carries out the next of the commands kept for this. Returns false if
/// there is none.
pub fn when_waiting(machine: &'static Machine) -> bool {
    let mut line = heapless::String::<COMMANDS_LENGTH>::new();
    {
        let mut later = machine.operator.later.lock();
        let Some((next, rest)) = later.split_once('\n') else {
            return false;
        };
        let _ = line.push_str(next);
        let mut kept = heapless::String::new();
        let _ = kept.push_str(rest);
        *later = kept;
    }
    say(machine, &line);
    true
}

/// Shows what the machine is doing, CPU by CPU.
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
            "CPU {number}: {state}, PSW {:016X} {:016X}, {} cycles; shadow tables {} of {} units at most, \
             emptied {} times\n",
            seen.psw.mask,
            seen.psw.address,
            seen.cycles,
            seen.units,
            machine.configuration.shadow.units(),
            seen.emptied
        ));
    }
    let frames = &machine.configuration.page_frames;
    let (copies, all_copies) = frames.copies_in_use();
    let (queues, buffers) = machine.configuration.channels.queues();
    let (heap, all_heap) = heap::in_use();
    console::say(format_args!(
        "pages scanned {}, copied {}; code copies in use {copies} of {all_copies}; device queues {queues} with \
         {buffers} buffers; heap {heap} of {all_heap} bytes; frames sent {}\n",
        frames.scans.load(Ordering::Relaxed),
        frames.copied.load(Ordering::Relaxed),
        console::frames()
    ));
}

/// Ends the guest, and reports everything that was measured; or ends a machine without a guest.
fn end(machine: Option<&'static Machine>) -> ! {
    if let Some(machine) = machine {
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
    let input = Input::new(false);
    loop {
        if !console::framed() {
            console::say(format_args!("MM> "));
        }
        console::flush();
        while !sclp::take_events() && !is_input(wait::for_more(true, Open::NOTHING).taken) {}
        input.read(|message| match message {
            HostMessage::Line(line) => command(None, &line),
            HostMessage::Unusable => refuse_line(),
            // There is no guest to measure.
            HostMessage::Request(_) | HostMessage::NotWritten => {}
        });
    }
}

const fn is_input(taken: Taken) -> bool {
    matches!(taken, Taken::External(external::SERVICE_SIGNAL))
}
