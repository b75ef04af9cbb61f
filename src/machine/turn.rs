//! Turns on the real CPUs: signals, waits, timers, and the host's input meanwhile.
//!
//! The rules are those of [`turns`]: in exact mode just one CPU at a time is out of the enabled wait, and the turn is
//! passed by emergency signal. The firmware never spins for another CPU; it passes the turn.

mod clock;
mod counts;
mod devices;

use self::clock::Ends;
use crate::arch::channel::IoInterruption;
use crate::arch::control::{CR0_CLOCK_COMPARATOR, CR0_CPU_TIMER};
use crate::arch::cpu::MAXIMUM_CPUS;
use crate::arch::interruption::external;
use crate::arch::psw;
use crate::guest::delivery;
use crate::guest::dispatch::Next;
use crate::guest::hardware::Hardware;
use crate::guest::measuring::assist;
use crate::guest::measuring::epoch;
use crate::guest::measuring::schedule;
use crate::guest::measuring::threads;
use crate::guest::measuring::window;
use crate::guest::recording::per;
use crate::guest::state::account::{Account, Mode};
use crate::guest::state::mailbox::Mailbox;
use crate::guest::state::pending_work::PendingWork;
use crate::guest::state::schedule::{NEVER, POLL};
use crate::guest::state::vcpu::{CpuState, HeldBy};
use crate::guest::state::watchdog::WATCHING;
use crate::guest::storage::shadow;
use crate::guest::turns::{self, InStorage, Passing, Reason, Word, Words};
use crate::link::state::{BY_WORDS, Held, Looping, Waiting};
use crate::machine::hardware::lowcore::{self, WindowArea};
use crate::machine::hardware::wait::{Open, Taken, Waited};
use crate::machine::hardware::{instruction, sclp, set_back, wait};
use crate::machine::io::console;
use crate::machine::operator::traces;
use crate::machine::state::machine::Cpu;
use crate::machine::{his, integrity, operator, run, stacks};
use core::sync::atomic::{AtomicBool, Ordering};

/// The longest time, the machine's own included, in which it looks after nobody but the guest, in clock units. A guest whose
/// turn has not ended by then keeps the machine, or the one below, working, so the host's time is longer.
const LOOK: u64 = turns::PROGRESS / 10;

/// A CPU that was just started waits for its turn.
pub fn join(cpu: &mut Cpu) {
    counts::begin(cpu);
    cpu.vcpu.sampling.turn = NEVER;
    let me = cpu.vcpu.address;
    turns::join(&words(cpu), me, &mut OnCpu::new(cpu, false));
    // CPU 0 works meanwhile, and how QEMU mixes the CPUs is not the same in each run.
    let now = instruction::stckf();
    cpu.vcpu.account.start(now);
    cpu.vcpu.sampling.look_at = now + LOOK;
    shadow::come_back(&mut cpu.vcpu, &cpu.machine.configuration);
    begin(cpu);
}

/// The guest's first CPU begins its first slice.
pub fn start(cpu: &mut Cpu) {
    counts::begin(cpu);
    for mailbox in &cpu.machine.configuration.mailboxes {
        mailbox.wake_at.store(NEVER, Ordering::SeqCst);
    }
    cpu.vcpu.sampling.look_at = instruction::stckf() + LOOK;
    shadow::come_back(&mut cpu.vcpu, &cpu.machine.configuration);
    begin(cpu);
}

/// The CPU's slice has ended, or another CPU's clock comparator has been passed: gives the turn to a CPU that is ready.
pub fn end(cpu: &mut Cpu) {
    look_after(cpu, cpu.vcpu.account.entered, false);
    next_turn(cpu);
}

/// The CPU's slice goes on, and the machine has looked after nobody else for long.
#[cold]
#[inline(never)]
pub fn look(cpu: &mut Cpu) {
    look_after(cpu, cpu.vcpu.account.entered, true);
}

/// Looks after the host, the devices, the operator and HIS, while the CPU has the turn. The host hears of the guest in any
/// case if the guest's slice is `slow`.
fn look_after(cpu: &mut Cpu, now: u64, slow: bool) {
    cpu.vcpu.sampling.look_at = now.saturating_add(LOOK);
    cpu.vcpu.pending_work |= PendingWork::CLOCK;
    report_progress(cpu, now, slow);
    devices::poll(cpu);
    if is_called(cpu) {
        operator::read_input(cpu.machine);
    }
    if cpu.machine.his.wants(now) {
        his::work(cpu);
    }
}

/// Looks, if that is due, when the CPU has its turn again.
fn look_if_due(cpu: &mut Cpu, slow: bool) {
    let now = instruction::stckf();
    if cpu.vcpu.sampling.look_at <= now {
        look_after(cpu, now, slow);
    }
}

/// Whether input waits whose service signal has been absorbed with the answer to a call. The answer is given once.
pub fn is_called(cpu: &Cpu) -> bool {
    listens(cpu) && sclp::take_events()
}

/// Reads what the host has sent.
#[cold]
#[inline(never)]
pub fn hear(cpu: &mut Cpu) {
    operator::read_input(cpu.machine);
    if cpu.machine.his.wants(cpu.vcpu.account.entered) {
        his::work(cpu);
    }
    cpu.vcpu.pending_work |= PendingWork::ATTENTION;
}

/// Another CPU has the turn now, if there is one that may have it.
fn next_turn(cpu: &mut Cpu) {
    if words(cpu).exact() && cpu.machine.configuration.cpus > 1 {
        give(cpu, Next::Yield);
    } else {
        begin(cpu);
    }
}

/// The CPU takes one interruption after the other. None of its guest's cycles passes, so its turn would never end, and
/// perhaps the firmware is not left, so the host's input does not interrupt it.
#[cold]
#[inline(never)]
pub fn pause(cpu: &mut Cpu) {
    let now = instruction::stckf();
    devices::poll(cpu);
    if report_progress(cpu, now, false) && listens(cpu) || is_called(cpu) {
        operator::read_input(cpu.machine);
    }
    if cpu.vcpu.looping.is_to_be_reported() {
        report_loop(cpu, now);
    }
    if cpu.machine.his.wants(now) {
        his::work(cpu);
    }
    next_turn(cpu);
}

/// Reports that the CPU takes interruptions without end.
fn report_loop(cpu: &Cpu, now: u64) {
    let vcpu = &cpu.vcpu;
    let (address, class) = (vcpu.address, vcpu.looping.class);
    let code = delivery::last_code(vcpu, &cpu.machine.configuration, &cpu.native, class);
    console::state(&Looping {
        cpu: address.into(),
        class: class as u8,
        code: code.into(),
        psw_mask: vcpu.psw.mask.into(),
        psw_address: vcpu.psw.address.into(),
        tod: now.into(),
        ..Looping::default()
    });
    if !console::framed() {
        console::say(format_args!(
            "CPU {address} takes interruptions {code:04X} without end: PSW {:016X} {:016X}\n",
            vcpu.psw.mask, vcpu.psw.address
        ));
    }
    console::flush();
}

/// Begins a slice.
fn begin(cpu: &mut Cpu) {
    let words = words(cpu);
    turns::begin(&words, cpu.vcpu.address);
    let configuration = &cpu.machine.configuration;
    if configuration.threads.enabled() {
        let busy = threads::sibling(configuration, cpu.vcpu.address)
            .is_some_and(|other| turns::is_busy(&words, other, || clock::now(cpu)));
        threads::begin_turn(&mut cpu.vcpu, configuration, busy);
    }
    let mut slice = words.turns.slice;
    if cpu.vcpu.per.is_stepping() {
        slice = slice.min(per::LONGEST_TURN);
    }
    if configuration.channels.polls.load(Ordering::Relaxed) {
        slice = slice.min(POLL);
    }
    cpu.vcpu.sampling.turn = cpu.vcpu.account.total().saturating_add(slice);
    cpu.vcpu.pending_work |= PendingWork::CLOCK | PendingWork::ATTENTION;
}

/// A device has interrupted the guest's CPU.
#[cold]
pub fn take_io(cpu: &mut Cpu, interruption: IoInterruption) {
    devices::take(cpu, Taken::Io(interruption));
}

/// Whether a waiting CPU's time to run again has come.
pub fn someone_wakes(cpu: &Cpu) -> bool {
    turns::someone_wakes(&words(cpu), cpu.vcpu.account.entered)
}

/// When a waiting CPU will run again without a signal.
fn wake_time(cpu: &mut Cpu) -> u64 {
    let configuration = &cpu.machine.configuration;
    let watchdog = match cpu.vcpu.address {
        WATCHING => configuration.watchdog.expires_at(),
        _ => NEVER,
    };
    if cpu.vcpu.state != CpuState::Operating {
        return watchdog;
    }
    let now = clock::now(cpu);
    let sample = schedule::wakes_for_sample(&mut cpu.vcpu, configuration, now);
    let own = sample.min(watchdog);
    let vcpu = &cpu.vcpu;
    if vcpu.psw.mask & psw::EXTERNAL == 0 {
        return own;
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
            clock::now(cpu).saturating_add(rest)
        }
    } else {
        NEVER
    };
    comparator.min(timer).min(own)
}

/// The words of the CPU's machine that the turns use.
fn words(cpu: &Cpu) -> InStorage<'static> {
    let machine = cpu.machine;
    InStorage {
        turns: &machine.shared.turns,
        configuration: &machine.configuration,
    }
}

/// This CPU's mailbox.
fn mailbox(cpu: &Cpu) -> &'static Mailbox {
    let number = usize::from(cpu.vcpu.address) & (MAXIMUM_CPUS - 1);
    &cpu.machine.configuration.mailboxes[number]
}

/// Gives up the turn, for the reason in `next`, and returns when this CPU has it again.
#[cold]
#[inline(never)]
pub fn give(cpu: &mut Cpu, next: Next) {
    // A guest that gives up its turn for ever has no slice that ends.
    report_progress(cpu, cpu.vcpu.account.entered, false);
    threads::settle(&mut cpu.vcpu, &cpu.machine.configuration);
    let reason = match next {
        Next::Wait => Reason::Wait,
        Next::Stopped => Reason::Stopped,
        Next::Ended => Reason::Ended,
        _ => Reason::Yield,
    };
    let samples = reason == Reason::Wait && cpu.machine.configuration.dedicated;
    let me = cpu.vcpu.address;
    turns::give(&words(cpu), me, reason, &mut OnCpu::new(cpu, samples));
    look_if_due(cpu, false);
    begin(cpu);
}

/// A CPU that passes turns.
struct OnCpu<'a> {
    cpu: &'a mut Cpu,
    /// Whether its wait is sampled.
    samples: bool,
    /// The clock when its wait began.
    began: u64,
}

impl<'a> OnCpu<'a> {
    /// A CPU that is about to pass or to wait for its turn.
    #[inline(always)]
    const fn new(cpu: &'a mut Cpu, samples: bool) -> Self {
        Self {
            cpu,
            samples,
            began: 0,
        }
    }
}

impl Passing for OnCpu<'_> {
    fn clock(&self) -> u64 {
        clock::now(self.cpu)
    }

    fn wake_time(&mut self) -> u64 {
        wake_time(self.cpu)
    }

    fn open(&mut self) {
        devices::publish(&self.cpu.vcpu, mailbox(self.cpu));
    }

    fn rest_begins(&mut self) {
        self.began = clock::now(self.cpu);
        shadow::step_aside(&self.cpu.vcpu, &self.cpu.machine.configuration);
    }

    fn rest_ends(&mut self) {
        shadow::come_back(&mut self.cpu.vcpu, &self.cpu.machine.configuration);
        if self.samples {
            sample_wait(self.cpu, self.began);
        }
        devices::withdraw(mailbox(self.cpu));
    }

    fn look_around(&mut self) {
        let configuration = &self.cpu.machine.configuration;
        configuration.assist.gives_up(&self.cpu.vcpu);
        if configuration.channels.present() {
            devices::look(self.cpu);
        }
    }

    fn park(&mut self) {
        park(self.cpu);
    }

    fn before_passing(&mut self) {
        console::flush_if_large();
    }

    fn before_waiting(&mut self) {
        instruction::sckc(NEVER);
        instruction::share(self.cpu);
    }

    fn hand_over(&mut self, next: u16) {
        let (me, passed) = (self.cpu.vcpu.address, &self.cpu.machine.shared.passed);
        clock::hand_over(self.cpu);
        rest(self.cpu, Ends::ByTurn, || passed.pass_and_wait(me, next));
        // The CPU that has the turn may have done something on this CPU's behalf.
        instruction::share(self.cpu);
    }

    fn wait(&mut self) {
        let passed = &self.cpu.machine.shared.passed;
        rest(self.cpu, Ends::ByTurn, || passed.wait());
        instruction::share(self.cpu);
    }

    fn idle(&mut self) {
        let before = self.cpu.vcpu.account.idle;
        idle(self.cpu);
        let machine = self.cpu.machine;
        if machine.his.wants(instruction::stckf()) {
            his::work(self.cpu);
        }
        let rested = self.cpu.vcpu.account.idle - before;
        machine.configuration.assist.rested(rested);
    }

    fn has_turn(&mut self) {
        told_waiting(self.cpu).store(false, Ordering::SeqCst);
        // The real timer is set again for the rest; in a wait the CPU timer runs.
        self.cpu.native.extend_cpu_timer(0);
    }

    fn before_resting(&mut self) {
        console::flush();
    }

    fn care_for_all(&mut self) -> bool {
        let is_done = needs_the_host(self.cpu);
        console::flush();
        is_done
    }

    fn rest(&mut self) {
        let cpu = &mut *self.cpu;
        let machine = cpu.machine;
        let configuration = &machine.configuration;
        instruction::sckc(wake_time(cpu).min(machine.his.due_at()));
        let own = usize::from(cpu.vcpu.address) & (MAXIMUM_CPUS - 1);
        let mailbox = configuration.mailboxes.get(own..=own).unwrap_or_default();
        let open = devices::waited_for(configuration, mailbox);
        wait_with_input(cpu, listens(cpu), open);
        if machine.his.wants(instruction::stckf()) {
            his::work(cpu);
        }
    }

    fn guest_is_down(&mut self, ended: u32) {
        run::guest_is_down(self.cpu, ended);
    }
}

/// Whether the host has been told that every CPU waits.
fn told_waiting(cpu: &Cpu) -> &'static AtomicBool {
    &cpu.machine.shared.turns.told_waiting
}

/// Samples the wait of a dedicated CPU, which has ended. The wait lasts until the CPU has its turn again; it includes
/// what the firmware itself takes within a wait that continues.
#[cold]
fn sample_wait(cpu: &mut Cpu, began: u64) {
    let now = clock::now(cpu);
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
        if cpu.vcpu.sampling.after.is_any() {
            stacks::after_sample(cpu);
        }
    }
}

/// CPU cycles that are too few to wait for.
const SHORTEST_WAIT: u64 = 64;

/// A coprocessor is busy with this CPU's function: gives up the turn until it has finished, whatever becomes pending
/// meanwhile.
#[cold]
#[inline(never)]
pub fn occupied(cpu: &mut Cpu) {
    let me = cpu.vcpu.address;
    let configuration = &cpu.machine.configuration;
    let words = words(cpu);
    while let Some(until) = assist::waits_until(&cpu.vcpu, configuration, clock::now(cpu)) {
        words.and(Word::Ready, !(1 << me));
        words.store(Word::WakeAt(me), until);
        let assist = &configuration.assist;
        let before = assist.now(&cpu.vcpu);
        let samples = false;
        turns::pass(&words, me, &mut OnCpu::new(cpu, samples));
        if assist.now(&cpu.vcpu) == before {
            // All CPUs were idle, and the path to the wait took longer than the wait.
            let rest = cpu.vcpu.occupied_until.saturating_sub(before);
            assist.rested(rest.min(SHORTEST_WAIT));
        }
    }
    words.store(Word::WakeAt(me), NEVER);
    look_if_due(cpu, true);
    begin(cpu);
}

/// The operator holds the guest, for a trace or for words on its console: waits until the operator lets it continue. The
/// other CPUs have no turn meanwhile, and for the guest the CPU timer stands still. In exact mode the run is the same however
/// long the host takes, and even if another QEMU continues it.
#[cold]
#[inline(never)]
pub fn hold_guest(cpu: &mut Cpu) {
    let Some(by) = cpu.vcpu.take_hold() else {
        return;
    };
    cpu.native.settle_clock();
    let began = instruction::stckf();
    let before = cpu.vcpu.account;
    shadow::step_aside(&cpu.vcpu, &cpu.machine.configuration);
    park(cpu);
    traces::stopped(cpu, by);
    let number = match by {
        HeldBy::Trace(trace) => trace.into(),
        HeldBy::Words => BY_WORDS,
    };
    while !traces::perform_requests(cpu) {
        if operator::when_waiting(cpu.machine) {
            continue;
        }
        if !told_waiting(cpu).swap(true, Ordering::SeqCst) {
            console::state(&Held {
                cpu: cpu.vcpu.address.into(),
                trace: number.into(),
                tod: instruction::stckf().into(),
                ..Held::default()
            });
        }
        console::flush();
        wait_with_input(cpu, true, Open::NOTHING);
    }
    told_waiting(cpu).store(false, Ordering::SeqCst);
    if words(cpu).exact()
        && let Mode::Exact { shift } = cpu.vcpu.account.mode
    {
        fill_up(&cpu.vcpu.account, shift, began);
    }
    let now = instruction::stckf();
    let held = now - began;
    if cpu.native.still.clock != 0 {
        cpu.native.rested(now, now);
    }
    // What the machine itself does meanwhile depends on how the host's words arrive.
    cpu.vcpu.account.held(&before, began, now);
    cpu.native.extend_cpu_timer(held);
    cpu.machine.configuration.watchdog.extend(held);
    shadow::come_back(&mut cpu.vcpu, &cpu.machine.configuration);
    begin(cpu);
}

/// In exact mode the guest is held for so many clock units, a second.
const HELD: u64 = 4096 * 1_000_000;

/// The machine's own instructions that are certainly enough to begin a wait, in clock units.
const LATEST: u64 = 4096 * 10;

/// Waits until a second after `began`. How many instructions the machine took since then depends on how the host's words
/// arrived, and QEMU, which lets several CPUs take turns by a timer of its own, may have jumped to that, more often than it
/// takes for a second if the host was busy. So it is first a whole number of seconds, and all but one of them are taken
/// back.
fn fill_up(account: &Account, shift: u32, began: u64) {
    let taken = instruction::stckf() - began + LATEST;
    let held = taken.next_multiple_of(HELD);
    let due = began + held;
    instruction::sckc(due);
    while instruction::stckf() < due {
        wait::for_external();
    }
    set_clock_back(account, shift, held - HELD);
}

/// Sets the clock back by so many units, a whole number of seconds, so that the clock counts nanoseconds as before. This
/// takes the same instructions however many they are. No comparator is set then, and a CPU timer that is far away.
fn set_clock_back(account: &Account, shift: u32, units: u64) {
    let began = instruction::stckf();
    let target = window::moment(account, began, began, set_back::SPARE);
    set_back::perform(WindowArea {
        target,
        rounding: 256,
        shift: 9 + u64::from(shift),
        new_timer: i64::MAX as u64,
        clock: target.wrapping_sub(units),
        comparator: u64::MAX,
        after: 1,
        ..lowcore::WINDOW.get()
    });
}

/// Silences this CPU's timers before it waits for its turn, for another's timer or for the host.
fn park(cpu: &Cpu) {
    instruction::sckc(NEVER);
    // If input may come at any time, virtual time follows the host's and does not jump.
    if cpu.machine.shared.input.listening() == 0 {
        wait::stop_cpu_timer();
    } else {
        instruction::spt(i64::MAX as u64);
    }
}

/// Waits, and accounts the wait as idle time; all other time on this path is the machine's own.
fn rest(cpu: &mut Cpu, ends: Ends, wait: impl FnOnce() -> Waited) -> Taken {
    cpu.native.settle_clock();
    cpu.vcpu.account.rested = clock::stop(cpu);
    let waited = wait();
    // Another CPU may have set the clock meanwhile.
    let forward = epoch::follow(&mut cpu.vcpu, &cpu.machine.configuration, &mut cpu.native);
    let (from, to) = clock::go_on(cpu, &waited, ends, forward);
    cpu.vcpu.account.rest(from, to);
    waited.taken
}

/// No CPU is ready: waits for the first clock, or for the host's input if there is none.
///
/// This is the only point at which exact mode reads the link: no timer is armed, so virtual time
/// stands still, whatever the host's delay.
fn idle(cpu: &mut Cpu) {
    let first = turns::earliest(&words(cpu));
    console::flush();
    if first != NEVER {
        instruction::sckc(first.min(cpu.machine.his.due_at()));
        let configuration = &cpu.machine.configuration;
        let open = devices::waited_for(configuration, &configuration.mailboxes);
        wait_with_input(cpu, listens(cpu), open);
        instruction::sckc(NEVER);
        return;
    }
    if needs_the_host(cpu) {
        return;
    }
    console::flush();
    let configuration = &cpu.machine.configuration;
    let open = devices::waited_for(configuration, &configuration.mailboxes);
    wait_with_input(cpu, true, open);
}

/// Every CPU waits, and no clock ends that: carries out the next of the operator's commands that were given for this, or
/// reports the wait to the host. Returns whether a command was carried out.
fn needs_the_host(cpu: &Cpu) -> bool {
    if operator::when_waiting(cpu.machine) {
        return true;
    }
    // A device may interrupt, and the host cannot know.
    let configuration = &cpu.machine.configuration;
    let open = devices::waited_for(configuration, &configuration.mailboxes);
    // This is reported once: the host answers each time, and its message may come in pieces.
    if open == Open::NOTHING && !told_waiting(cpu).swap(true, Ordering::SeqCst) {
        console::state(&Waiting {
            tod: instruction::stckf().into(),
        });
    }
    false
}

/// Whether this CPU reads input that comes while the guest executes: with turns the CPU that has the turn, otherwise
/// CPU 0.
fn listens(cpu: &Cpu) -> bool {
    cpu.machine.shared.input.listening() != 0 && (words(cpu).exact() || cpu.vcpu.address == 0)
}

/// Waits for an external interruption, and for what is open. If input is admitted, reads it and wakes the CPU that it
/// is for.
fn wait_with_input(cpu: &mut Cpu, admit: bool, open: Open) {
    let taken = if admit && sclp::take_events() {
        // Its signal was absorbed with the answer to a call.
        Taken::External(external::SERVICE_SIGNAL)
    } else {
        rest(cpu, Ends::WithTurn, || wait::for_more(admit, open))
    };
    turns::awake(&words(cpu), cpu.vcpu.address);
    match taken {
        Taken::External(external::SERVICE_SIGNAL) => {
            if operator::read_input(cpu.machine) {
                told_waiting(cpu).store(false, Ordering::SeqCst);
            }
        }
        Taken::External(external::CPU_TIMER) => cpu_timer_has_expired(cpu),
        Taken::External(_) => {}
        taken => devices::take(cpu, taken),
    }
}

/// The real CPU timer has interrupted: the condition is pending for the guest.
///
/// By the architecture it stays pending in the hardware as long as the timer is negative, and no guest would ever get
/// further; QEMU forgets it. In QEMU's exact mode no timer may be set for nothing, because virtual time could jump to it.
pub fn cpu_timer_has_expired(cpu: &mut Cpu) {
    cpu.vcpu.pending.cpu_timer = true;
    if words(cpu).exact() {
        wait::quiet_cpu_timer();
    } else {
        instruction::spt(i64::MAX as u64);
    }
}

/// Reports now and then how far the guest is, and in any case if it is `slow`. Returns whether it has.
fn report_progress(cpu: &Cpu, now: u64, slow: bool) -> bool {
    integrity::look(cpu, now);
    let turns = &cpu.machine.shared.turns;
    if !turns.is_progress_due(now) && !slow {
        return false;
    }
    let instructions = run::instructions(cpu.machine, &cpu.vcpu);
    turns
        .last_instructions
        .store(instructions, Ordering::Relaxed);
    console::progress(instructions, now);
    true
}
