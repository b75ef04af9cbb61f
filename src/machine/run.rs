//! The end of a run: the machine sends everything that was measured, and stops.

use crate::arch::psw::Psw;
use crate::cpumf::{CounterSet, Facility};
use crate::guest::delivery::MOST_IN_A_ROW;
use crate::guest::measuring::machine_level;
use crate::guest::recording::counts;
use crate::guest::recording::per::window;
use crate::guest::state::account::Mode;
use crate::guest::state::configuration::Configuration;
use crate::guest::state::vcpu::{CpuState, Vcpu};
use crate::link::data::{COPROCESSOR_GROUP, Counters, Level, MOST_COUNTERS};
use crate::link::paths::Paths;
use crate::link::state::{self, Counted, End, GuestEnded, Reason, SUCCESS_ADDRESS, Totals, Traps};
use crate::machine::hardware::instruction;
use crate::machine::his;
use crate::machine::integrity;
use crate::machine::io::console;
use crate::machine::io::failure::{self, WaitState};
use crate::machine::io::log;
use crate::machine::stacks;
use crate::machine::state::machine::{Cpu, Machine};
use crate::machine::state::window::{Executions, Traced};
use crate::per::trace::{MOST_TRACES, Traces};
use core::sync::atomic::Ordering;
use zerocopy::byteorder::big_endian::U64;

/// The counters of one set.
type Values = heapless::Vec<U64, MOST_COUNTERS>;

/// Visits the CPUs of a machine while no other CPU runs.
fn each_cpu(machine: &Machine, mut visit: impl FnMut(&mut Cpu)) {
    for cpu in machine.cpus.iter() {
        // SAFETY: every other CPU is stopped; this one holds no other reference into its own `Cpu`
        // that it uses again.
        visit(unsafe { &mut *cpu.get() });
    }
}

/// Instructions that the guest has completed on all CPUs, as far as the accounts know.
pub fn instructions(machine: &Machine, running: &Vcpu) -> u64 {
    let mut sum = 0;
    for (number, cpu) in machine.cpus.iter().enumerate() {
        if number == usize::from(running.address) {
            sum += running.account.activity().instructions;
        } else {
            // SAFETY: two words of another CPU's account, read for a sign of life only.
            let cycles =
                unsafe { core::ptr::read_volatile(&raw const (*cpu.get()).vcpu.account.cycles) };
            sum += cycles[0] + cycles[1];
        }
    }
    sum
}

/// What can be seen of a CPU that may be running.
pub struct Seen {
    /// Stopped, operating or check-stop.
    pub state: CpuState,
    /// The guest's PSW as of the last trap.
    pub psw: Psw,
    /// Guest cycles as of the last trap.
    pub cycles: u64,
    /// The most units of its pool of shadow tables that were ever in use at once.
    pub units: u64,
    /// How often its shadow was emptied.
    pub emptied: u64,
}

/// Inspects CPU `number`, which the machine has.
pub fn look(machine: &Machine, number: u16) -> Seen {
    let cpu = machine.cpus.of(number).get();
    // SAFETY: words of a `Cpu` that was built before the guest started, read for a display only; a
    // CPU that is running may change them meanwhile.
    unsafe {
        let cycles = core::ptr::read_volatile(&raw const (*cpu).vcpu.account.cycles);
        Seen {
            units: core::ptr::read_volatile(&raw const (*cpu).vcpu.shadow.most_units),
            emptied: core::ptr::read_volatile(&raw const (*cpu).vcpu.shadow.purges),
            state: core::ptr::read_volatile(&raw const (*cpu).vcpu.state),
            psw: core::ptr::read_volatile(&raw const (*cpu).vcpu.psw),
            cycles: cycles[0] + cycles[1],
        }
    }
}

/// The operator ends the guest: as [`end`], from the CPU that took the command.
pub fn end_by_operator(machine: &'static Machine) -> ! {
    let cell = machine.cpus.of(instruction::stap());
    // SAFETY: this CPU's own cell; the caller of the command is not returned to.
    let vcpu = unsafe { &(*cell.get()).vcpu };
    end(machine, vcpu, Reason::Operator, 0, WaitState::OperatorEnd)
}

/// Every CPU is down, `cpu` was the last to go down, and nothing can start one again.
///
/// If a CPU named an exit code, that is the result. `ended` has one bit for each CPU that is in a disabled wait or in the
/// check-stop state. Those CPUs decide the result, this one first. A guest that has only stopped its CPUs has switched its
/// machine off.
pub fn guest_is_down(cpu: &mut Cpu, ended: u32) -> ! {
    let machine = cpu.machine;
    if let Some((number, code)) = machine.configuration.exit_code.get() {
        ended_with(machine, number, code)
    }
    if ended & (1 << cpu.vcpu.address) != 0 {
        guest_ended(cpu)
    }
    if ended != 0 {
        let other = machine.cpus.of(ended.trailing_zeros() as u16);
        // SAFETY: that CPU waits for its turn and will not get it again; it is not this one, which is
        // stopped.
        guest_ended(unsafe { &mut *other.get() });
    }
    end(machine, &cpu.vcpu, Reason::Stopped, 0, WaitState::Success)
}

/// The guest has ended with an exit code, which CPU `number` named.
fn ended_with(machine: &'static Machine, number: u16, code: u8) -> ! {
    let cpu = machine.cpus.of(number).get();
    // SAFETY: all CPUs are down. Only this one executes, and it does not use its own `Cpu` again.
    let vcpu = unsafe { &(*cpu).vcpu };
    let why = match code {
        0 => WaitState::Success,
        _ => WaitState::GuestFailed,
    };
    end(machine, vcpu, Reason::ExitCode, code, why)
}

/// The guest has ended on `cpu` by a disabled wait or the check-stop state.
fn guest_ended(cpu: &mut Cpu) -> ! {
    let psw = cpu.vcpu.psw;
    let (reason, why) = match cpu.vcpu.state {
        CpuState::CheckStop if cpu.vcpu.in_a_row >= MOST_IN_A_ROW => {
            (Reason::ProgramLoop, WaitState::GuestLoops)
        }
        CpuState::CheckStop if cpu.vcpu.looping.is_endless() => {
            (Reason::ExternalLoop, WaitState::GuestInterrupted)
        }
        CpuState::CheckStop => (Reason::CheckStop, WaitState::GuestCheckStop),
        _ if psw.address == SUCCESS_ADDRESS => (Reason::DisabledWait, WaitState::Success),
        _ => (Reason::DisabledWait, WaitState::GuestFailed),
    };
    end(cpu.machine, &cpu.vcpu, reason, 0, why)
}

/// Ends the run: `vcpu` is the CPU that it ended on, `code` its exit code if that is the reason.
fn end(machine: &'static Machine, vcpu: &Vcpu, reason: Reason, code: u8, why: WaitState) -> ! {
    let (address, psw) = (vcpu.address, vcpu.psw);
    // What waits in real time may be writing on the console, and the operator ends a guest whose CPUs execute.
    failure::stop_others_without(|| {
        let traces = &machine.configuration.tracing.traces;
        console::is_held()
            || log::is_held()
            || traces.is_locked()
            || machine.shared.events.is_held()
    });
    let tod = instruction::stckf();
    console::state(&GuestEnded {
        cpu: address.into(),
        reason: reason as u8,
        code,
        reserved_word: 0.into(),
        psw_mask: psw.mask.into(),
        psw_address: psw.address.into(),
        tod: tod.into(),
    });
    if !console::framed() {
        console::say(format_args!(
            "The guest has ended on CPU {address}: PSW {:016X} {:016X}, exit code {code}\n",
            psw.mask, psw.address
        ));
    }
    his::go_down(machine);
    log_copies(machine);
    log_shadow(machine);
    let configuration = &machine.configuration;
    each_cpu(machine, |cpu| {
        machine_level::book(&mut cpu.vcpu, configuration)
    });
    each_cpu(machine, |cpu| {
        his::take_full_blocks(cpu);
        cpu.send_last_block();
        stacks::send(cpu);
        machine_level::settle(&mut cpu.vcpu, configuration);
        send_counters(&cpu.vcpu, Level::Machine);
        send_counters(&cpu.vcpu, Level::Guest);
        send_totals(&cpu.vcpu);
        send_tallies(cpu);
    });
    send_group_counters(configuration);
    finish_traces(machine);
    finish_windows(machine);
    let mut found = Ok(());
    each_cpu(machine, |cpu| {
        let number = cpu.vcpu.address;
        if number == address {
            found = found.and(integrity::check_shared(machine, &cpu.native));
        }
        if number == address || integrity::others_are_settled(machine) {
            found = found.and_then(|()| integrity::check_own(cpu));
        }
    });
    if let Err(changed) = found {
        failure::fail(
            WaitState::Integrity,
            psw,
            &[0; 16],
            format_args!("{changed}"),
        );
    }
    console::state(&End {
        frames: (console::frames() + 1).into(),
        reserved: 0.into(),
    });
    console::flush();
    failure::stop(why)
}

/// Sends the waiting traced events, and their number.
fn finish_traces(machine: &Machine) {
    let events = &machine.shared.events;
    if !events.used() {
        return;
    }
    events.finish();
    let tracing = &machine.configuration.tracing;
    let traces = *tracing.traces.lock();
    for (number, _) in traces.all() {
        console::state(&state::Traced {
            trace: u16::from(number).into(),
            events: tracing.count(number).into(),
            ..state::Traced::default()
        });
    }
}

/// Sends the samples and the events of windows that wait, and how many events there were.
fn finish_windows(machine: &Machine) {
    let mut traces = Traces::NONE;
    let mut counts = [0; MOST_TRACES];
    let mut unseen = 0u64;
    each_cpu(machine, |cpu| {
        let Some(looked) = &mut cpu.window else {
            return;
        };
        looked.send(cpu.vcpu.address);
        if let Some(executions) = &mut looked.executions {
            let Executions { counting, waiting } = &mut **executions;
            counts::finish(&cpu.vcpu, &mut cpu.native, counting, &mut |entry| {
                waiting.add(entry);
            });
            waiting.finish(counting);
        }
        if let Some(traced) = &mut looked.traced {
            let Traced {
                traces: its,
                events,
            } = &mut **traced;
            let configuration = &machine.configuration;
            window::ended(
                &mut cpu.vcpu,
                configuration,
                &cpu.native,
                its,
                &mut |event| {
                    events.add(event);
                },
            );
            traced.finish();
            traces = traced.traces.all();
            unseen += traced.traces.unseen;
            for (sum, count) in counts.iter_mut().zip(traced.traces.counts) {
                *sum += count;
            }
        }
    });
    for (number, _) in traces.all() {
        console::state(&state::Traced {
            trace: u16::from(number).into(),
            events: counts[usize::from(number) % MOST_TRACES].into(),
            unseen: u32::try_from(unseen).unwrap_or(u32::MAX).into(),
            ..state::Traced::default()
        });
    }
}

/// Logs how many pages are executed from copies, and how often control reached what was covered in them.
fn log_copies(machine: &Machine) {
    let pages = &machine.configuration.page_frames;
    let [scans, copied, uncovered] =
        [&pages.scans, &pages.copied, &pages.uncovered].map(|count| count.load(Ordering::Relaxed));
    if copied != 0 {
        defmt::info!(
            "{=u64} of {=u64} scanned pages were copied, {=u64} places uncovered",
            copied,
            scans,
            uncovered
        );
    }
}

/// Logs the work of the shadows of guests with DAT on.
fn log_shadow(machine: &Machine) {
    let (mut fills, mut drops, mut purges, mut units) = (0u64, 0u64, 0u64, 0u64);
    each_cpu(machine, |cpu| {
        fills += cpu.vcpu.shadow.fills;
        drops += cpu.vcpu.shadow.dropped();
        purges += cpu.vcpu.shadow.purges;
        units += cpu.vcpu.shadow.most_units;
    });
    if fills != 0 {
        defmt::info!(
            "{=u64} shadow fills, {=u64} requests, {=u64} spaces dropped, {=u64} times emptied, {=u64} units at most",
            fills,
            machine.configuration.shadow.posted(),
            drops - purges,
            purges,
            units
        );
    }
}

fn send_totals(vcpu: &Vcpu) {
    let activity = vcpu.account.activity();
    if !console::framed() {
        // Nobody reads the payload then.
        console::say(format_args!(
            "CPU {}: {} cycles of the guest, {} samples\n",
            vcpu.address, activity.cycles, vcpu.sampling.taken
        ));
    }
    console::state(&Totals {
        cpu: vcpu.address.into(),
        reserved: 0.into(),
        reserved_word: 0.into(),
        guest_cycles: activity.cycles.into(),
        guest_instructions: activity.instructions.into(),
        // The counters of the machine below stand still in the firmware.
        firmware_instructions: match vcpu.account.counted {
            Some(_) => 0,
            None => vcpu.account.firmware(),
        }
        .into(),
        traps: vcpu.account.traps.into(),
        samples_taken: vcpu.sampling.taken.into(),
        samples_lost: vcpu.sampling.lost.into(),
    });
}

/// Sends the traps of a CPU, and the paths of its guest's control program, in a run that counts them.
fn send_tallies(cpu: &Cpu) {
    let tallies = [
        (Counted::Machine, cpu.tally.as_deref()),
        (
            Counted::ControlProgram,
            cpu.paths.as_deref().map(Paths::tally),
        ),
    ];
    for (counted, tally) in tallies {
        for line in tally.iter().flat_map(|tally| tally.lines()) {
            console::state(&Traps {
                cpu: cpu.vcpu.address.into(),
                cause: line.cause as u8,
                counted: counted as u8,
                number: line.number.into(),
                reserved_half: 0.into(),
                traps: line.traps.into(),
                instructions: line.instructions.into(),
                least: line.least.into(),
                most: line.most.into(),
            });
        }
    }
}

/// Sends the counter sets of a CPU at one level that are enabled.
fn send_counters(vcpu: &Vcpu, level: Level) {
    let facility: &Facility = match level {
        Level::Machine => &vcpu.machine,
        Level::Guest => &vcpu.own,
    };
    let now = vcpu.account.activity();
    let counters = facility.counters();
    for set in CounterSet::ALL {
        let range = counters.model().range(set);
        let mut values = Values::new();
        for number in range.first..range.first + range.count {
            let Some(value) = counters.read(number.into(), &now) else {
                break;
            };
            let _ = values.push(value.into());
        }
        send_set(level, vcpu.address, set.code().into(), range.first, &values);
    }
}

/// Sends the counters of each coprocessor group, at the levels that have them enabled. Without a clock
/// that counts instructions there is no group.
fn send_group_counters(configuration: &Configuration) {
    if configuration.mode == Mode::RealTime {
        return;
    }
    let groups = configuration.groups();
    let levels = [
        (Level::Machine, groups.machine_counters()),
        (Level::Guest, groups.counters()),
    ];
    for (level, counters) in levels {
        for (group, counters) in (0..).zip(counters) {
            let values = counters.iter().map(|&counter| counter.into()).collect();
            send_set(level, group, COPROCESSOR_GROUP, 0, &values);
        }
    }
}

/// Sends one counter set of a CPU or of a group, if there are any counters.
fn send_set(level: Level, whose: u16, set: u16, first: u16, values: &Values) {
    if values.is_empty() {
        return;
    }
    // An enabled set is authorized.
    console::counters(&Counters::new(level, whose, set, first, values));
}
