//! The operator's traces: beginning and ending them, and showing a guest that one of them has stopped.

use crate::arch::address::Virtual;
use crate::command::{self, Change, Command, Shown};
use crate::guest::external_means;
use crate::guest::recording::per::traced;
use crate::guest::state::account::Mode;
use crate::guest::state::vcpu::HeldBy;
use crate::link::loader::IN_WINDOW;
use crate::machine::io::console;
use crate::machine::state::machine::{Cpu, Machine};
use crate::machine::state::operator::{Asked, Operator};
use crate::per::trace::{Action, NoSuch, TooMany, Trace, Traces};
use core::sync::atomic::Ordering;

/// Bytes of storage in one line.
const IN_A_LINE: u64 = 16;

/// Begins a trace, or says why that is not possible.
pub fn begin(machine: &Machine, trace: Trace) {
    let configuration = &machine.configuration;
    if !configuration.per.records {
        console::say(format_args!(
            "nothing can be traced, because the machine below cannot forbid the execution of a page: take QEMU\n"
        ));
        return;
    }
    let together = configuration.mode == Mode::RealTime && configuration.cpus > 1;
    if trace.action == Action::Stop && together {
        console::say(format_args!(
            "a trace cannot stop {} CPUs that run at the same time; begin the run without --real-time or with one CPU\n",
            configuration.cpus
        ));
        return;
    }
    match configuration.tracing.begin(trace) {
        Ok(number) => {
            machine.shared.events.begin();
            console::say(format_args!("trace {number}: {trace}\n"));
            hand_to_cpus(machine);
        }
        Err(TooMany) => console::say(format_args!(
            "no more traces are possible; PER shows them, and PER OFF n ends one\n"
        )),
    }
}

/// The traces that the host's commands begin in a window. The host has checked them.
pub fn of_window(commands: &str) -> Traces {
    let mut traces = Traces::NONE;
    let lines = commands.lines();
    for line in lines.filter_map(|line| line.strip_prefix(IN_WINDOW)) {
        let Ok(Command::Trace(trace)) = command::parse(line) else {
            defmt::error!("the window has no trace {=str}", line);
            continue;
        };
        if traces.add(trace).is_err() {
            defmt::error!("the window has no room for {=str}", line);
        }
    }
    traces
}

/// The host's commands without those of a window, which come last.
pub fn without_window(commands: &str) -> &str {
    let mut length = 0;
    for line in commands.split_inclusive('\n') {
        if line.starts_with(IN_WINDOW) {
            break;
        }
        length += line.len();
    }
    commands.get(..length).unwrap_or_default()
}

/// Ends the trace with a number, or all.
pub fn end(machine: &Machine, number: Option<u8>) {
    let ended = machine.configuration.tracing.traces.lock().end(number);
    match ended {
        Ok(()) => hand_to_cpus(machine),
        Err(NoSuch(number)) => console::say(format_args!(
            "there is no trace {number}; PER shows the traces\n"
        )),
    }
}

/// Shows the traces.
pub fn list(machine: &Machine) {
    let tracing = &machine.configuration.tracing;
    let traces = *tracing.traces.lock();
    if traces.is_empty() {
        console::say(format_args!("nothing is traced\n"));
    }
    for (number, trace) in traces.all() {
        let count = tracing.count(number);
        console::say(format_args!("trace {number}: {trace}, {count} events\n"));
    }
}

/// Makes every CPU take over the traces.
fn hand_to_cpus(machine: &Machine) {
    for cpu in 0..machine.configuration.cpus {
        if external_means::ask(&machine.configuration, cpu, Change::Traces).is_err() {
            console::say(format_args!(
                "CPU {cpu} has not carried out earlier requests yet and keeps its traces; try again later\n"
            ));
        }
        machine.shared.wake(cpu);
    }
}

/// Says that the guest is not stopped.
pub fn refuse() {
    console::say(format_args!(
        "the guest is not stopped; a trace stops it: PER ... STOP\n"
    ));
}

/// Keeps a request about a stopped guest.
pub fn ask(operator: &Operator, asked: Asked) {
    if !operator.stopped.load(Ordering::Relaxed) {
        refuse();
    } else if operator.asked.lock().push_back(asked).is_err() {
        console::say(format_args!("too many commands at once; try again\n"));
    }
}

/// The guest has been stopped on this CPU.
pub fn stopped(cpu: &Cpu, by: HeldBy) {
    cpu.machine.operator.stopped.store(true, Ordering::Relaxed);
    cpu.machine.shared.events.flush(cpu.vcpu.address);
    let address = cpu.vcpu.address;
    match by {
        HeldBy::Trace(trace) => {
            console::say(format_args!(
                "CPU {address} is stopped by trace {trace}; SHOW shows it, GO continues it\n"
            ));
            show(cpu, Shown::Psw);
            show(cpu, Shown::Registers);
        }
        // The host says it where somebody should know.
        HeldBy::Words if console::framed() => {}
        HeldBy::Words => console::say(format_args!(
            "CPU {address} is stopped by what it wrote; SHOW shows it, GO continues it\n"
        )),
    }
}

/// Does what was requested; returns whether the guest continues.
pub fn perform_requests(cpu: &Cpu) -> bool {
    let operator = cpu.machine.operator;
    loop {
        let next = operator.asked.lock().pop_front();
        match next {
            Some(Asked::Show(shown)) => show(cpu, shown),
            Some(Asked::Go) => {
                operator.stopped.store(false, Ordering::Relaxed);
                return true;
            }
            None => return false,
        }
    }
}

/// Shows something of a CPU.
fn show(cpu: &Cpu, shown: Shown) {
    match shown {
        Shown::Psw => {
            let psw = cpu.vcpu.psw;
            console::say(format_args!("PSW {:016X} {:016X}\n", psw.mask, psw.address));
        }
        Shown::Registers => show_registers('R', &cpu.vcpu.general),
        Shown::Controls => show_registers('C', &cpu.vcpu.control),
        Shown::Storage(start, end) => show_storage(cpu, start, end),
    }
}

/// Sixteen registers, four in a line.
fn show_registers(kind: char, registers: &[u64; 16]) {
    for (number, four) in registers.as_chunks::<4>().0.iter().enumerate() {
        let [a, b, c, d] = four;
        let first = 4 * number;
        console::say(format_args!(
            "{kind}{first:<2} {a:016X} {b:016X} {c:016X} {d:016X}\n"
        ));
    }
}

/// Storage as the program's addresses designate it, a line for sixteen bytes.
fn show_storage(cpu: &Cpu, start: u64, end: u64) {
    let mut at = start;
    loop {
        let last = (at | (IN_A_LINE - 1)).min(end);
        let mut bytes = [0; IN_A_LINE as usize];
        let count = (last - at + 1).min(IN_A_LINE) as usize;
        let bytes = bytes.split_at_mut(count).0;
        let configuration = &cpu.machine.configuration;
        let at_first = Virtual(at);
        let seen = traced::peek(&cpu.vcpu, configuration, &cpu.native, None, at_first, bytes);
        if seen.is_none() {
            console::say(format_args!(
                "{at:016X} has no translation, or is beyond the end of storage\n"
            ));
            return;
        }
        let mut shown = heapless::String::<{ 2 * IN_A_LINE as usize }>::new();
        for byte in bytes.iter() {
            // There is room for a whole line.
            let _ = core::fmt::write(&mut shown, format_args!("{byte:02X}"));
        }
        console::say(format_args!("{at:016X} {shown}\n"));
        if last == end {
            return;
        }
        at = last + 1;
    }
}
