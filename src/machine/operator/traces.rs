//! The operator's traces: what begins and ends them, where their events go, and what is shown of a guest that one of
//! them has stopped.
//!
//! Events are gathered for each CPU and sent when there is no room for another one. In exact mode the guest waits for the
//! console, so nothing is lost; in real time another CPU may have it, and what finds no room then is counted.

use crate::arch::address::Virtual;
use crate::arch::cpu::MAXIMUM_CPUS;
use crate::command::Change;
use crate::command::Shown;
use crate::guest::external_means;
use crate::guest::recording::per::traced;
use crate::guest::state::account::Mode;
use crate::link::frame::Channel;
use crate::link::state::Traced;
use crate::link::trace::{Event, Stream};
use crate::machine::io::console;
use crate::machine::ipl::Machine;
use crate::machine::state::cpu::Cpu;
use crate::machine::turn;
use crate::per::trace::{Action, NoSuch, TooMany, Trace};
use core::sync::atomic::{AtomicBool, Ordering};
use spin::Mutex;

/// Bytes of events that wait to be sent, for each CPU.
const ROOM: usize = 8192;

/// Commands that are kept while the guest is stopped.
const MOST_KEPT: usize = 8;

/// Bytes of storage in one line.
const IN_A_LINE: u64 = 16;

/// What waits to be sent.
static STREAMS: [Mutex<Stream<ROOM>>; MAXIMUM_CPUS] = [
    Mutex::new(Stream::new(0)),
    Mutex::new(Stream::new(1)),
    Mutex::new(Stream::new(2)),
    Mutex::new(Stream::new(3)),
];

/// Whether anything was ever traced.
static USED: AtomicBool = AtomicBool::new(false);

/// Whether the guest is stopped.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// What the operator asks for while the guest is stopped.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    /// To see something of the CPU.
    Show(Shown),
    /// To let it go on.
    Go,
}

/// What was asked for and not done.
static ASKED: Mutex<heapless::Deque<Asked, MOST_KEPT>> = Mutex::new(heapless::Deque::new());

/// Begins a trace, or says why that cannot be.
pub fn begin(machine: &Machine, trace: Trace) {
    let configuration = &machine.configuration;
    if !configuration.per.exact {
        console::say(format_args!(
            "nothing can be traced: the machine below does not execute one instruction at a time; begin the run with --trace\n"
        ));
        return;
    }
    let together = configuration.mode == Mode::RealTime && configuration.cpus > 1;
    if trace.action == Action::Stop && together {
        console::say(format_args!(
            "no trace stops {} CPUs that run side by side; begin the run without --real-time or with one CPU\n",
            configuration.cpus
        ));
        return;
    }
    match configuration.tracing.begin(trace) {
        Ok(number) => {
            USED.store(true, Ordering::Relaxed);
            console::say(format_args!("trace {number}: {trace}\n"));
            tell(machine);
        }
        Err(TooMany) => console::say(format_args!(
            "there are as many traces as there can be; PER shows them, and PER OFF n ends one\n"
        )),
    }
}

/// Ends the trace with a number, or all.
pub fn end(machine: &Machine, number: Option<u8>) {
    let ended = machine.configuration.tracing.traces.lock().end(number);
    match ended {
        Ok(()) => tell(machine),
        Err(NoSuch(number)) => console::say(format_args!(
            "there is no trace {number}; PER shows those that there are\n"
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

/// Has every CPU take the traces over.
fn tell(machine: &Machine) {
    for cpu in 0..machine.configuration.cpus {
        if external_means::ask(&machine.configuration, cpu, Change::Traces).is_err() {
            console::say(format_args!(
                "CPU {cpu} has not done what it was asked for before, and keeps its traces; say it again later\n"
            ));
        }
        turn::wake(cpu);
    }
}

/// An event of a CPU.
pub fn add(cpu: u16, event: &Event<'_>, stops: bool) {
    let framed = console::framed();
    if stops || !framed {
        console::say(format_args!("CPU {cpu} {event}\n"));
    }
    if framed {
        let mut stream = STREAMS[usize::from(cpu) % MAXIMUM_CPUS].lock();
        if !stream.has_room() {
            send(&mut stream);
        }
        stream.add(event);
    }
}

fn send(stream: &mut Stream<ROOM>) {
    if !stream.is_empty() && console::try_send(Channel::Trace, &stream.payload()) {
        stream.taken();
    }
}

/// Sends the events of a CPU that wait to be sent.
pub fn flush(cpu: u16) {
    if USED.load(Ordering::Relaxed) {
        send(&mut STREAMS[usize::from(cpu) % MAXIMUM_CPUS].lock());
    }
}

/// The run has ended, and only this CPU runs: sends what waits, and how many events there were.
pub fn finish(machine: &Machine) {
    if !USED.load(Ordering::Relaxed) {
        return;
    }
    for stream in STREAMS.iter().take(usize::from(machine.configuration.cpus)) {
        let mut stream = stream.lock();
        send(&mut stream);
        console::send(Channel::Trace, &stream.payload());
    }
    let tracing = &machine.configuration.tracing;
    let traces = *tracing.traces.lock();
    for (number, _) in traces.all() {
        console::state(&Traced {
            trace: u16::from(number).into(),
            events: tracing.count(number).into(),
            ..Traced::default()
        });
    }
}

/// Takes what is asked of a guest that is stopped.
pub fn ask(asked: Asked) {
    if !STOPPED.load(Ordering::Relaxed) {
        console::say(format_args!(
            "the guest is not stopped; a trace does that: PER ... STOP\n"
        ));
    } else if ASKED.lock().push_back(asked).is_err() {
        console::say(format_args!("too much at once; say it again\n"));
    }
}

/// A trace has stopped the guest on this CPU.
pub fn stopped(cpu: &Cpu, trace: u8) {
    STOPPED.store(true, Ordering::Relaxed);
    flush(cpu.vcpu.address);
    console::say(format_args!(
        "CPU {} is stopped by trace {trace}; SHOW shows it, GO lets it go on\n",
        cpu.vcpu.address
    ));
    show(cpu, Shown::Psw);
    show(cpu, Shown::Registers);
}

/// Does what was asked for; whether the guest goes on.
pub fn is_let_go(cpu: &Cpu) -> bool {
    loop {
        let next = ASKED.lock().pop_front();
        match next {
            Some(Asked::Show(shown)) => show(cpu, shown),
            Some(Asked::Go) => {
                STOPPED.store(false, Ordering::Relaxed);
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
        let bytes = &mut bytes[..(last - at + 1) as usize];
        let configuration = &cpu.machine.configuration;
        let at_first = Virtual(at);
        let seen = traced::peek(&cpu.vcpu, configuration, &cpu.native, None, at_first, bytes);
        if seen.is_none() {
            console::say(format_args!(
                "{at:016X} has no translation, or lies behind the storage\n"
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
