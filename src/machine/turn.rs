//! Turns: in exact mode just one CPU is out of the enabled wait at any time.
//!
//! Under an instruction-counting clock the CPUs share one virtual clock, and one CPU's slice shows
//! up as time on all others. So a token is passed by emergency signal at the end of a slice and when
//! the guest waits or gives its turn up. The firmware never spins for another CPU; it passes the
//! token. In real-time mode there is no token, and a waiting CPU simply waits.

use crate::arch::control::{CR0_CLOCK_COMPARATOR, CR0_CPU_TIMER, CR14_CHANNEL_REPORT};
use crate::arch::cpu::MAXIMUM_CPUS;
use crate::arch::interruption::external;
use crate::arch::psw;
use crate::guest::dispatch::Next;
use crate::guest::hardware::Hardware;
use crate::guest::measuring::{assist, epoch, schedule, threads};
use crate::guest::recording::per;
use crate::guest::state::configuration::Configuration;
use crate::guest::state::due::Due;
use crate::guest::state::mailbox::Mailbox;
use crate::guest::state::schedule::NEVER;
use crate::guest::state::vcpu::{CpuState, Vcpu};
use crate::link::state::{Held, Progress, Waiting};
use crate::machine::hardware::instruction;
use crate::machine::hardware::wait::{self, Open, Taken, Waited};
use crate::machine::io::{console, input};
use crate::machine::operator::{self, traces};
use crate::machine::state::cpu::Cpu;
use crate::machine::{his, ipl, run};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// SIGNAL PROCESSOR order: emergency signal.
const EMERGENCY_SIGNAL: u8 = 0x03;

/// The CPU that has the turn.
static HOLDER: AtomicU32 = AtomicU32::new(0);

/// CPUs that have something to do: one bit each, from the right.
static READY: AtomicU32 = AtomicU32::new(0);

/// CPUs whose guest has ended: one bit each, from the right.
static ENDED: AtomicU32 = AtomicU32::new(0);

/// CPUs that are not in [`give`]: one bit each, from the right.
static AWAKE: AtomicU32 = AtomicU32::new(0);

/// Whether exact mode's rule holds.
static EXACT: AtomicBool = AtomicBool::new(false);

/// Guest cycles in a slice.
static SLICE: AtomicU64 = AtomicU64::new(NEVER);

/// Whether the host has been told that every CPU waits, and has not said anything since.
static WAITING: AtomicBool = AtomicBool::new(false);

/// The clock at the last sign of life.
static LAST_PROGRESS: AtomicU64 = AtomicU64::new(0);

/// A sign of life about every tenth of a second of guest time, in clock units.
const PROGRESS: u64 = 4096 * 100_000;

/// Sets the rule of the run; called on the first CPU before any other is started.
pub fn set_rule(exact: bool, slice: u64) {
    // In real time the others come to their first wait while this one still prepares the guest.
    AWAKE.store(1, Ordering::SeqCst);
    EXACT.store(exact, Ordering::SeqCst);
    SLICE.store(slice, Ordering::SeqCst);
}

/// Something happened that CPU `cpu` should look at.
pub fn wake(cpu: u16) {
    READY.fetch_or(1 << cpu, Ordering::SeqCst);
    if !EXACT.load(Ordering::Relaxed) {
        // SAFETY: an emergency signal only interrupts.
        unsafe { instruction::sigp(cpu, EMERGENCY_SIGNAL, 0) };
    }
}

/// A CPU that was just started waits for its turn.
pub fn join(cpu: &mut Cpu) {
    cpu.vcpu.sampling.turn = NEVER;
    if EXACT.load(Ordering::Relaxed) {
        wait_for_turn(cpu);
    }
    begin(cpu);
}

/// The guest's first CPU begins its first slice.
pub fn start(cpu: &mut Cpu) {
    for mailbox in &cpu.machine.configuration.mailboxes {
        mailbox.wake_at.store(NEVER, Ordering::SeqCst);
    }
    begin(cpu);
}

/// The CPU's slice has ended, or another CPU's clock has: give the turn to whoever is ready.
pub fn end(cpu: &mut Cpu) {
    report_progress(cpu);
    if listens(cpu) && wait::take_events() {
        // Its signal was taken away with the answer to a call, and the guest may never wait.
        ipl::read_input(cpu.machine);
    }
    if his::wants(cpu.vcpu.account.entered) {
        his::work(cpu);
    }
    if EXACT.load(Ordering::Relaxed) && cpu.machine.configuration.cpus > 1 {
        give(cpu, Next::Yield);
    } else {
        begin(cpu);
    }
}

/// Begins a slice.
fn begin(cpu: &mut Cpu) {
    AWAKE.fetch_or(1 << cpu.vcpu.address, Ordering::SeqCst);
    let configuration = &cpu.machine.configuration;
    if configuration.threads.enabled() {
        let busy = threads::sibling(configuration, cpu.vcpu.address)
            .is_some_and(|other| is_busy(configuration, other));
        threads::begin_turn(&mut cpu.vcpu, configuration, busy);
    }
    let mut slice = SLICE.load(Ordering::Relaxed);
    if cpu.vcpu.per.is_stepping() {
        slice = slice.min(per::LONGEST_TURN);
    }
    cpu.vcpu.sampling.turn = cpu.vcpu.account.total().saturating_add(slice);
    cpu.vcpu.due |= Due::CLOCK | Due::ATTENTION;
}

/// Whether another CPU's clock has passed the time at which it wants to run.
pub fn someone_wakes(cpu: &Cpu) -> bool {
    let configuration = &cpu.machine.configuration;
    configuration.cpus > 1
        && EXACT.load(Ordering::Relaxed)
        && earliest(configuration) < cpu.vcpu.account.entered
}

/// Whether CPU `other`, which has no turn, has work: it gave its turn up with work left, was signalled,
/// or its clock has passed.
fn is_busy(configuration: &Configuration, other: u16) -> bool {
    let mailbox = &configuration.mailboxes[usize::from(other) & (MAXIMUM_CPUS - 1)];
    READY.load(Ordering::SeqCst) & (1 << other) != 0
        || mailbox.wake_at.load(Ordering::SeqCst) < instruction::stckf()
}

/// The earliest clock at which a waiting CPU wants to run.
fn earliest(configuration: &Configuration) -> u64 {
    let mailboxes = configuration
        .mailboxes
        .iter()
        .take(usize::from(configuration.cpus));
    mailboxes
        .map(|mailbox| mailbox.wake_at.load(Ordering::Relaxed))
        .min()
        .unwrap_or(NEVER)
}

/// When a waiting CPU wants to run again though nobody signals it.
fn wake_time(cpu: &mut Cpu) -> u64 {
    if cpu.vcpu.state != CpuState::Operating {
        return NEVER;
    }
    let now = instruction::stckf();
    let sample = schedule::wakes_for_sample(&mut cpu.vcpu, &cpu.machine.configuration, now);
    let vcpu = &cpu.vcpu;
    if vcpu.psw.mask & psw::EXTERNAL == 0 {
        return sample;
    }
    let comparator = if vcpu.control[0] & CR0_CLOCK_COMPARATOR != 0 {
        vcpu.clock_comparator
    } else {
        NEVER
    };
    let timer = if vcpu.control[0] & CR0_CPU_TIMER != 0 {
        let rest = cpu.native.cpu_timer();
        if rest >> 63 != 0 {
            0
        } else {
            instruction::stckf().saturating_add(rest)
        }
    } else {
        NEVER
    };
    comparator.min(timer).min(sample)
}

/// Gives the turn up, for the reason in `next`, and comes back with it.
#[cold]
#[inline(never)]
pub fn give(cpu: &mut Cpu, next: Next) {
    let me = cpu.vcpu.address;
    let machine = cpu.machine;
    let configuration = &machine.configuration;
    threads::settle(&mut cpu.vcpu, configuration);
    let mailbox = &configuration.mailboxes[usize::from(me) & (MAXIMUM_CPUS - 1)];
    let bit = 1 << me;
    if next == Next::Ended {
        ENDED.fetch_or(bit, Ordering::SeqCst);
    }
    if next == Next::Yield {
        READY.fetch_or(bit, Ordering::SeqCst);
    } else {
        READY.fetch_and(!bit, Ordering::SeqCst);
        mailbox.wake_at.store(wake_time(cpu), Ordering::SeqCst);
        if next == Next::Wait {
            open(&cpu.vcpu, mailbox);
        }
        // An order that came in between keeps the CPU ready.
        if mailbox.orders.load(Ordering::SeqCst) != 0 {
            READY.fetch_or(bit, Ordering::SeqCst);
        }
    }
    let was_last = AWAKE.fetch_and(!bit, Ordering::SeqCst) == bit;
    if was_last && matches!(next, Next::Stopped | Next::Ended) && nobody_can_start(configuration) {
        run::guest_is_down(cpu, ENDED.load(Ordering::SeqCst));
    }
    let stopped_at = instruction::stckf();
    if EXACT.load(Ordering::Relaxed) {
        give_exact(cpu);
    } else if next != Next::Yield {
        wait_in_real_time(cpu);
    }
    if next == Next::Wait && configuration.dedicated {
        sample_wait(cpu, stopped_at);
    }
    mailbox.wake_at.store(NEVER, Ordering::SeqCst);
    mailbox.open_subclasses.store(0, Ordering::SeqCst);
    mailbox.open_reports.store(false, Ordering::SeqCst);
    ENDED.fetch_and(!bit, Ordering::SeqCst);
    begin(cpu);
}

/// Says for which interruptions of the channel subsystem a waiting CPU is open.
fn open(cpu: &Vcpu, mailbox: &Mailbox) {
    let subclasses = if cpu.psw.mask & psw::IO == 0 {
        0
    } else {
        (cpu.control[6] >> 24) as u8
    };
    let reports =
        cpu.psw.mask & psw::MACHINE_CHECK != 0 && cpu.control[14] & CR14_CHANNEL_REPORT != 0;
    mailbox.open_subclasses.store(subclasses, Ordering::SeqCst);
    mailbox.open_reports.store(reports, Ordering::SeqCst);
}

/// What these waiting CPUs are open for, if there is a device that may interrupt and room to hold it.
fn open_to_devices(configuration: &Configuration, mailboxes: &[Mailbox]) -> Open {
    let channels = &configuration.channels;
    if !channels.present() || !channels.held.has_room() {
        return Open::NOTHING;
    }
    mailboxes.iter().fold(Open::NOTHING, |open, mailbox| Open {
        subclasses: open.subclasses | mailbox.open_subclasses.load(Ordering::SeqCst),
        reports: open.reports | mailbox.open_reports.load(Ordering::SeqCst),
    })
}

/// Holds what a device had to say, and wakes the first CPU that is open for it.
#[cold]
fn hold(cpu: &Cpu, taken: Taken) {
    let configuration = &cpu.machine.configuration;
    let held = &configuration.channels.held;
    let mask = match taken {
        Taken::External(_) => return,
        Taken::Io(interruption) => {
            held.hold_io(interruption);
            interruption.mask()
        }
        Taken::MachineCheck(code) => {
            held.hold_machine_check(code);
            0
        }
    };
    let me = usize::from(cpu.vcpu.address);
    let is_open = |number: usize| {
        let mailbox = &configuration.mailboxes[number & (MAXIMUM_CPUS - 1)];
        match mask {
            0 => mailbox.open_reports.load(Ordering::SeqCst),
            mask => mailbox.open_subclasses.load(Ordering::SeqCst) & mask != 0,
        }
    };
    let cpus = usize::from(configuration.cpus);
    if let Some(first) = (me..cpus).chain(0..me).find(|&number| is_open(number)) {
        READY.fetch_or(1 << first, Ordering::SeqCst);
        if first != me && !EXACT.load(Ordering::Relaxed) {
            // SAFETY: an emergency signal only interrupts.
            unsafe { instruction::sigp(first as u16, EMERGENCY_SIGNAL, 0) };
        }
    }
}

/// Looks whether a device has something to say to a CPU that waits, before another one goes on.
fn look_at_devices(cpu: &Cpu) {
    let configuration = &cpu.machine.configuration;
    let open = open_to_devices(configuration, &configuration.mailboxes);
    if open.subclasses != 0
        && let Some(interruption) = wait::take_io(open.subclasses)
    {
        hold(cpu, Taken::Io(interruption));
    }
}

/// Samples the wait of a dedicated CPU, which has ended. It lasts until the CPU has its turn again; what
/// the firmware itself takes within a wait that goes on belongs to it.
#[cold]
fn sample_wait(cpu: &mut Cpu, began: u64) {
    let now = instruction::stckf();
    let traps = cpu.vcpu.account.traps;
    let since = match cpu.vcpu.sampling.waited {
        (before, until) if before == traps => until,
        _ => began,
    };
    cpu.vcpu.sampling.waited = (traps, now);
    let mut rest = cpu.vcpu.account.ticks(since, now);
    while schedule::sample_in_wait(
        &mut cpu.vcpu,
        &cpu.machine.configuration,
        &mut cpu.native,
        &mut cpu.blocks,
        &mut rest,
    ) {
        if cpu.vcpu.sampling.block_full {
            cpu.send_full_blocks();
        }
    }
}

/// CPU cycles that are too short to be waited for.
const SHORTEST_WAIT: u64 = 64;

/// A coprocessor is busy with this CPU's function: gives the turn up until it is done, whatever may
/// be pending meanwhile.
#[cold]
#[inline(never)]
pub fn occupied(cpu: &mut Cpu) {
    let me = cpu.vcpu.address;
    let configuration = &cpu.machine.configuration;
    let mailbox = &configuration.mailboxes[usize::from(me) & (MAXIMUM_CPUS - 1)];
    while let Some(until) = assist::waits_until(&cpu.vcpu, configuration, instruction::stckf()) {
        READY.fetch_and(!(1 << me), Ordering::SeqCst);
        mailbox.wake_at.store(until, Ordering::SeqCst);
        let assist = &configuration.assist;
        let before = assist.now(&cpu.vcpu);
        give_exact(cpu);
        if assist.now(&cpu.vcpu) == before {
            // Nobody had anything to do, and the way to the wait took longer than the wait.
            let rest = cpu.vcpu.occupied_until.saturating_sub(before);
            assist.rested(rest.min(SHORTEST_WAIT));
        }
    }
    mailbox.wake_at.store(NEVER, Ordering::SeqCst);
    begin(cpu);
}

/// Whether every CPU is down and none has an order to carry out, which might start it.
///
/// A CPU takes its orders while it is awake, and shows its new state after that: so the orders are looked
/// at first.
fn nobody_can_start(configuration: &Configuration) -> bool {
    let mailboxes = &configuration.mailboxes[..usize::from(configuration.cpus).min(MAXIMUM_CPUS)];
    let ordered = |mailbox: &Mailbox| mailbox.orders.load(Ordering::SeqCst) != 0;
    if mailboxes.iter().any(ordered)
        || READY.load(Ordering::SeqCst) != 0
        || AWAKE.load(Ordering::SeqCst) != 0
    {
        return false;
    }
    let ended = ENDED.load(Ordering::SeqCst);
    mailboxes.iter().enumerate().all(|(cpu, mailbox)| {
        ended & (1 << cpu) != 0 || mailbox.state.load(Ordering::SeqCst) != CpuState::Operating as u8
    })
}

/// The next CPU in turn that is ready, or wants to run by now; one in whose favour the turn was given up comes
/// first, the asking one last.
fn pick(configuration: &Configuration, me: u16) -> Option<u16> {
    let now = instruction::stckf();
    let ready = READY.load(Ordering::SeqCst);
    let favoured = configuration.favoured.swap(0, Ordering::Relaxed);
    favoured
        .checked_sub(1)
        .filter(|&cpu| cpu != me)
        .into_iter()
        .chain((1..=configuration.cpus).map(|step| (me + step) % configuration.cpus))
        .find(|&cpu| {
            let mailbox = &configuration.mailboxes[usize::from(cpu) & (MAXIMUM_CPUS - 1)];
            ready & (1 << cpu) != 0 || mailbox.wake_at.load(Ordering::SeqCst) < now
        })
}

fn give_exact(cpu: &mut Cpu) {
    let me = cpu.vcpu.address;
    let assist = &cpu.machine.configuration.assist;
    assist.gives_up(&cpu.vcpu);
    let mut parked = false;
    if cpu.machine.configuration.channels.present() {
        look_at_devices(cpu);
    }
    loop {
        let next = pick(&cpu.machine.configuration, me);
        if next != Some(me) && !parked {
            park();
            parked = true;
        }
        match next {
            Some(next) if next == me => break,
            Some(next) => {
                console::flush_if_large();
                HOLDER.store(u32::from(next), Ordering::SeqCst);
                // SAFETY: an emergency signal only interrupts; the CPU is in its enabled wait.
                unsafe { instruction::sigp(next, EMERGENCY_SIGNAL, 0) };
                wait_for_turn(cpu);
                break;
            }
            None => {
                let before = cpu.vcpu.account.idle;
                idle(cpu);
                if his::wants(instruction::stckf()) {
                    his::work(cpu);
                }
                assist.rested(cpu.vcpu.account.idle - before);
            }
        }
    }
    WAITING.store(false, Ordering::SeqCst);
    READY.fetch_and(!(1 << me), Ordering::SeqCst);
    // The real timer is set again for what is left; in a wait the CPU timer goes on.
    cpu.native.extend_cpu_timer(0);
}

/// A trace of the operator has stopped the guest: waits until the operator lets it go on. The other CPUs have no turn
/// meanwhile, and the CPU's clock stands still for the guest.
#[cold]
#[inline(never)]
pub fn hold_guest(cpu: &mut Cpu) {
    let Some(trace) = cpu.vcpu.per.held.take() else {
        return;
    };
    let began = instruction::stckf();
    park();
    traces::stopped(cpu, trace);
    while !traces::is_let_go(cpu) {
        if operator::when_waiting() {
            continue;
        }
        if !WAITING.swap(true, Ordering::SeqCst) {
            console::state(&Held {
                cpu: cpu.vcpu.address.into(),
                trace: u16::from(trace).into(),
                tod: instruction::stckf().into(),
                ..Held::default()
            });
        }
        console::flush();
        wait_with_input(cpu, true, Open::NOTHING);
    }
    WAITING.store(false, Ordering::SeqCst);
    cpu.native.extend_cpu_timer(instruction::stckf() - began);
    begin(cpu);
}

/// Silences this CPU's timers before it waits for its turn, for another's timer or for the host.
fn park() {
    instruction::sckc(NEVER);
    // Where input may come at any time, virtual time follows the host's and does not jump.
    if input::listening() == 0 {
        wait::stop_cpu_timer();
    } else {
        instruction::spt(i64::MAX as u64);
    }
}

/// Waits until this CPU has the turn.
fn wait_for_turn(cpu: &mut Cpu) {
    instruction::sckc(NEVER);
    let me = u32::from(cpu.vcpu.address);
    instruction::share(cpu);
    while HOLDER.load(Ordering::SeqCst) != me {
        rest(cpu, wait::for_external);
        // Who has the turn may have done something on this CPU's behalf.
        instruction::share(cpu);
    }
}

/// Waits, and books the wait as the rest that it is: all else on the way is the machine's own.
fn rest(cpu: &mut Cpu, wait: impl FnOnce() -> Waited) -> Taken {
    cpu.vcpu.account.rested = instruction::stckf();
    let waited = wait();
    // Another CPU may have set the clock meanwhile.
    let forward = epoch::follow(&mut cpu.vcpu, &cpu.machine.configuration, &mut cpu.native);
    let from = waited.from.wrapping_add(forward);
    cpu.vcpu.account.rest(from, waited.to);
    waited.taken
}

/// No CPU is ready: waits for the first clock, or for the host's input if there is none.
///
/// This is the only point at which exact mode reads the link: no timer is armed, so virtual time
/// stands still, whatever the host's delay.
fn idle(cpu: &mut Cpu) {
    let first = earliest(&cpu.machine.configuration);
    console::flush();
    if first != NEVER {
        instruction::sckc(first.min(his::due()));
        let configuration = &cpu.machine.configuration;
        let open = open_to_devices(configuration, &configuration.mailboxes);
        wait_with_input(cpu, listens(cpu), open);
        instruction::sckc(NEVER);
        return;
    }
    if operator::when_waiting() {
        return;
    }
    // A device may have something to say, and the host cannot know.
    let configuration = &cpu.machine.configuration;
    let open = open_to_devices(configuration, &configuration.mailboxes);
    // Said once: the host answers each time, and what it says may come in pieces.
    if open == Open::NOTHING && !WAITING.swap(true, Ordering::SeqCst) {
        console::state(&Waiting {
            tod: instruction::stckf().into(),
        });
    }
    console::flush();
    wait_with_input(cpu, true, open);
}

/// Whether this CPU reads what comes while the guest executes: where turns are taken the one that has the
/// turn, else CPU 0.
fn listens(cpu: &Cpu) -> bool {
    input::listening() != 0 && (EXACT.load(Ordering::Relaxed) || cpu.vcpu.address == 0)
}

/// Waits for an external interruption, and what is open; input, if it may come, is read and wakes its
/// CPU.
fn wait_with_input(cpu: &mut Cpu, admit: bool, open: Open) {
    let taken = if admit && wait::take_events() {
        // Its signal was taken away with the answer to a call.
        Taken::External(external::SERVICE_SIGNAL)
    } else {
        rest(cpu, || wait::for_more(admit, open))
    };
    match taken {
        Taken::External(external::SERVICE_SIGNAL) => {
            if ipl::read_input(cpu.machine) {
                WAITING.store(false, Ordering::SeqCst);
            }
        }
        Taken::External(external::CPU_TIMER) => cpu.vcpu.pending.cpu_timer = true,
        Taken::External(_) => {}
        taken => hold(cpu, taken),
    }
}

/// A waiting or stopped CPU in real-time mode.
fn wait_in_real_time(cpu: &mut Cpu) {
    let bit = 1 << cpu.vcpu.address;
    console::flush();
    if READY.fetch_and(!bit, Ordering::SeqCst) & bit != 0 {
        return;
    }
    instruction::sckc(wake_time(cpu));
    let configuration = &cpu.machine.configuration;
    let own = usize::from(cpu.vcpu.address) & (MAXIMUM_CPUS - 1);
    let open = open_to_devices(configuration, &configuration.mailboxes[own..=own]);
    wait_with_input(cpu, listens(cpu), open);
}

/// Says how far the guest is, now and then.
fn report_progress(cpu: &Cpu) {
    let now = cpu.vcpu.account.entered;
    if now.wrapping_sub(LAST_PROGRESS.load(Ordering::Relaxed)) < PROGRESS {
        return;
    }
    LAST_PROGRESS.store(now, Ordering::Relaxed);
    let instructions = run::instructions(cpu.machine, &cpu.vcpu);
    console::state(&Progress {
        instructions: instructions.into(),
        tod: now.into(),
    });
    console::flush();
}
