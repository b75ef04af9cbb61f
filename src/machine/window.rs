//! A window on the hardware: finer samples of a run that is performed again, which cost the guest no time.
//!
//! The trap entries of [`super::trap`] for such a run call the routines here on the way out of each trap, and when an
//! external interruption comes. The routines do what the window wants, and say how the clock is to be set back; the
//! entry then does that at the very instruction. What is to be done is in [`window`].
//!
//! Everything here leaves alone what the path of a trap uses: the account, the virtual CPU and the output that waits.

use crate::arch::address::Real;
use crate::arch::interruption::{Class, external};
use crate::arch::psw::Psw;
use crate::cpumf::sampling::block::BasicEntry;
use crate::cpumf::{Facility, Snapshot};
use crate::guest::delivery::PER_EVENT;
use crate::guest::hardware::Hardware;
use crate::guest::measuring::schedule;
use crate::guest::measuring::window::{self, Interrupted};
use crate::guest::recording::counts::{self, Interrupted as Interruption};
use crate::guest::recording::per::window as traces;
use crate::guest::state::account::Account;
use crate::guest::state::configuration::Configuration;
use crate::guest::state::counting::{Counting, States};
use crate::guest::state::schedule::NEVER;
use crate::guest::state::vcpu::Vcpu;
use crate::guest::state::window::Window;
use crate::guest::state::window_traces::WindowTraces;
use crate::link::counts::CountEntry;
use crate::link::loader;
use crate::machine::hardware::instruction;
use crate::machine::hardware::lowcore::{self, Area, WindowArea};
use crate::machine::hardware::set_back::{
    AROUND_EXIT, AROUND_GUEST, AROUND_STAMP, SPARE, SPARE_OF_PAD,
};
use crate::machine::hardware::wait;
use crate::machine::native::Native;
use crate::machine::state::machine::Cpu;
use crate::machine::state::window::{Executions, Looked, Traced};
use crate::machine::trap::{self, Beside};
use crate::per::trace::Traces;
extern crate alloc;
use alloc::boxed::Box;

/// What of a CPU is counted, and where it has its storage for that.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Where its [`loader::COUNTING_STORAGE`] bytes are.
    pub at: Real,
    /// The states.
    pub states: States,
}

/// From now on this CPU, which has this prefix area, has a window. At IPL only.
/// Executions are counted if there is storage for that: in the whole run if no window is wanted.
pub fn begin(
    area: Area,
    cpu: &mut Cpu,
    wanted: &loader::Window,
    traces: Traces,
    counting: Option<Counted>,
) {
    let window = match (wanted.is_wanted(), counting) {
        (false, _) => Window::new(0, u64::MAX, NEVER),
        (true, None) => Window::new(wanted.from.get(), wanted.to.get(), wanted.interval.get()),
        // Nothing is sampled where everything is counted.
        (true, Some(_)) => Window::new(wanted.from.get(), wanted.to.get(), NEVER),
    };
    let mut looked = Looked::new(window);
    if !traces.is_empty() {
        looked.traced = Some(Box::new(Traced::new(cpu.vcpu.address, traces)));
    }
    if let Some(Counted { at, states }) = counting {
        let counting = counts::begin(&mut cpu.native, at, states);
        looked.executions = Some(Box::new(Executions::new(cpu.vcpu.address, counting)));
    }
    let beside = if looked.executions.is_some() {
        Beside::Counts
    } else if looked.traced.is_some() {
        Beside::Traces
    } else {
        Beside::Nothing
    };
    trap::admit_window(area, beside);
    cpu.window = Some(Box::new(looked));
}

/// Instructions of the trap entry around those that are counted by the clock, beside [`AROUND_EXIT`]: when an interruption
/// is that of the first run; and when it was for the window only, beside the overhead of a trap.
const AROUND_ENTRY: u64 = 6;
const AROUND_SAMPLE: u64 = 7;

/// Says to the trap entry how to set back what began when the clock showed `began`, or would have shown it but for what was
/// left to set back.
fn settle(cpu: &mut Cpu, began: u64, beyond: u64, comparator: u64, is_ours: bool) {
    let found = lowcore::WINDOW.get();
    let left = executions(cpu).map_or(0, |of| core::mem::take(&mut of.counted.left));
    let account = &cpu.vcpu.account;
    let rest = cpu.native.timer_zero().wrapping_sub(began) as i64;
    let timer = found.timer.wrapping_add(left);
    let back = window::back(account.mode, began, beyond, timer, rest);
    // When the guest goes on behind a stop, the timer may not have expired yet.
    let expires_later = rest.wrapping_add(account.units(beyond) as i64) > 0;
    let new_timer = if is_ours && (timer as i64) < 0 && expires_later {
        window::timer_of(account, beyond, timer)
    } else {
        back.timer
    };
    lowcore::set_window(WindowArea {
        target: window::moment(account, began + left, instruction::stckf(), SPARE),
        rounding: 256,
        shift: shift_of(account),
        new_timer,
        clock: back.clock,
        comparator,
        after: back.fill,
        is_ours: is_ours.into(),
        ..found
    });
}

/// How far right a product of clock units is shifted that counts instructions.
const fn shift_of(account: &Account) -> u64 {
    9 + account.mode.shift() as u64
}

/// Lets a whole number of steps pass since the last stamp, so that the clock can be set back by it later: up to the next
/// stamp, or with `beyond` instructions that are to be set back, too, up to the guest.
fn pad(cpu: &mut Cpu, beyond: u64) {
    let account = cpu.vcpu.account;
    let Some(CountsOf { counted, .. }) = executions(cpu) else {
        return;
    };
    // The stamp showed what was left to set back, too.
    let began = account.entered + counted.left;
    let target = window::moment(&account, began, instruction::stckf(), SPARE_OF_PAD);
    let (steps, fill) = window::steps(beyond);
    counted.left += target - began + window::units_of(&account, steps);
    lowcore::set_window(WindowArea {
        target,
        rounding: 256,
        shift: shift_of(&account),
        after: fill,
        ..lowcore::WINDOW.get()
    });
}

/// The stamp of the last trap as it would be but for what was left to set back.
fn correct_stamp(cpu: &mut Cpu) {
    if let Some(CountsOf { counted, vcpu, .. }) = executions(cpu) {
        vcpu.account.entered = vcpu.account.entered.wrapping_sub(counted.left);
    }
}

/// A program interruption has come in a window with exact counts, and nothing but the general registers and the clock has been
/// stored. Returns zero if it is only for the counts and the guest goes on at once.
#[unsafe(no_mangle)]
extern "C" fn count_program(cpu: &mut Cpu) -> u64 {
    correct_stamp(cpu);
    let Some(of) = executions(cpu) else { return 1 };
    let old = counts::seen(&mut of.counted.counting, lowcore::PROGRAM_OLD.get());
    let interrupted = Interruption {
        old,
        identification: lowcore::PROGRAM_IDENTIFICATION.get(),
        translation: lowcore::TRANSLATION_EXCEPTION.get(),
    };
    let stopped = stop_counted(cpu, &interrupted);
    let Some(CountsOf { counted, .. }) = executions(cpu) else {
        return 1;
    };
    counted.stopped = stopped;
    counted.waiting.show_life();
    let may_wait = !counted.counting.reads_clock();
    match stopped {
        Some(overhead) if may_wait && !is_due_soon(cpu) => {
            pad(cpu, AROUND_GUEST + overhead);
            0
        }
        _ => {
            pad(cpu, AROUND_STAMP);
            1
        }
    }
}

/// Whether a timer would interrupt soon by the clock, which is ahead of the guest's.
fn is_due_soon(cpu: &mut Cpu) -> bool {
    // Clock units of more instructions than a stop takes, but for rare ones.
    const SOON: u64 = 1 << 14;
    let (comparator, zero) = (cpu.native.comparator(), cpu.native.timer_zero());
    let entered = cpu.vcpu.account.entered;
    let Some(CountsOf { counted, .. }) = executions(cpu) else {
        return true;
    };
    let then = entered.saturating_add(counted.left + SOON);
    // One that is due already waits for the guest to enable it, which is a trap.
    let rest = |at: u64| zero.wrapping_sub(at) as i64;
    entered < comparator && then >= comparator || rest(entered) > 0 && rest(then) <= 0
}

/// Another interruption has come in a window with exact counts.
#[unsafe(no_mangle)]
extern "C" fn window_other(cpu: &mut Cpu) {
    correct_stamp(cpu);
    let now = cpu.vcpu.account.entered;
    settle(cpu, now, AROUND_ENTRY, cpu.native.comparator(), false);
}

/// A trap of a class is complete but for its exit.
#[unsafe(no_mangle)]
extern "C" fn window_exit(cpu: &mut Cpu, class: Class) {
    let began = lowcore::WINDOW.get().began;
    let mut comparator = cpu.native.comparator();
    let exit = cpu.machine.configuration.charges.exit;
    go_on_traced(cpu, class, began);
    go_on_counted(cpu, began);
    if let Some(looked) = &mut cpu.window {
        if looked.window.is_over(began) {
            // The traps that follow are as in the first run.
            trap::admit_plain();
        } else {
            let account = &cpu.vcpu.account;
            comparator = looked
                .window
                .comparator(account, exit, began, began, comparator);
        }
    }
    settle(cpu, began, AROUND_EXIT, comparator, false);
}

/// An external interruption has come, and nothing but the general registers and the clock has been stored.
#[unsafe(no_mangle)]
extern "C" fn window_external(cpu: &mut Cpu) {
    correct_stamp(cpu);
    let first_run = cpu.native.comparator();
    let charges = &cpu.machine.configuration.charges;
    let overhead = charges.overhead[Class::External as usize];
    let account = cpu.vcpu.account;
    let now = account.entered;
    let mut interrupted = Interrupted::FirstRun;
    let code = lowcore::EXTERNAL_CODE.get();
    // These come again as long as they are due.
    let is_timer = matches!(code, external::CLOCK_COMPARATOR | external::CPU_TIMER);
    if code == external::CLOCK_COMPARATOR
        && let Some(looked) = &mut cpu.window
    {
        interrupted = looked.window.interrupted(&account, overhead, first_run);
    }
    let is_early = is_timer && is_early(cpu, code);
    if is_early {
        interrupted = Interrupted::Nothing;
    }
    let old = lowcore::EXTERNAL_OLD.get();
    if interrupted == Interrupted::Sample {
        take(cpu, &account, old);
    }
    let is_ours = interrupted != Interrupted::FirstRun;
    let is_traced = is_traced(cpu);
    if is_traced && (is_ours || is_timer) && old.address != lowcore::EXIT_PSW.get().address {
        look_at_next(cpu, old);
    } else if is_timer && let Some(looking) = look_counted(cpu, old) {
        lowcore::set_exit_psw(looking);
    } else if is_ours {
        // The answer to a service call is an external interruption, too.
        lowcore::set_exit_psw(old);
        if !is_traced {
            go_on_stopped(cpu, old, overhead);
        }
        cross_edge(cpu, old, overhead);
    } else {
        settle(cpu, now, AROUND_ENTRY, first_run, false);
        return;
    }
    resume(cpu, overhead);
    let area = lowcore::WINDOW.get();
    if code == external::CPU_TIMER && area.new_timer >> 62 != 0 {
        // It is set to less than zero as its greatest value, and nothing would be pending any more.
        lowcore::set_window(WindowArea {
            new_timer: 0,
            ..area
        });
    }
}

/// Whether a timer has interrupted only because the clock is ahead of the guest's, or was, as QEMU does not forget that a CPU timer
/// has expired when it is set. If it interrupts at the same moment again, it is due.
fn is_early(cpu: &mut Cpu, code: u16) -> bool {
    let charges = &cpu.machine.configuration.charges;
    let account = &cpu.vcpu.account;
    let entry = charges.overhead[Class::External as usize] - charges.exit;
    let then = account.entered.wrapping_sub(account.units(entry));
    let (comparator, zero) = (cpu.native.comparator(), cpu.native.timer_zero());
    let Some(CountsOf { counted, .. }) = executions(cpu) else {
        return false;
    };
    let is_early = match code {
        external::CLOCK_COMPARATOR => then < comparator,
        _ => (then.wrapping_sub(zero) as i64) < 0,
    };
    let moment = Some((code, then));
    let is_again = core::mem::replace(&mut counted.early, moment) == moment;
    is_early && !is_again
}

/// A program interruption has come in a window with traces, and nothing but the general registers and the clock has been
/// stored.
#[unsafe(no_mangle)]
extern "C" fn window_program(cpu: &mut Cpu) {
    let identification = lowcore::PROGRAM_IDENTIFICATION.get();
    let is_traced = !cpu.vcpu.per.is_on() && is_traced(cpu);
    let mut old = lowcore::PROGRAM_OLD.get();
    if let Some(parts) = parts(cpu) {
        old = traces::seen(&mut parts.traced.traces, old);
    }
    correct_stamp(cpu);
    if let Some(overhead) = executions(cpu).and_then(|of| of.counted.stopped.take()) {
        resume(cpu, overhead);
        return;
    }
    if is_traced && identification as u16 == PER_EVENT {
        let charges = &cpu.machine.configuration.charges;
        let overhead = charges.overhead[Class::Program as usize] + u64::from(charges.nullified);
        go_on_stopped(cpu, old, overhead);
        resume(cpu, overhead);
        return;
    }
    if is_traced {
        go_on_met(cpu, old, identification);
        // What the first run has is without events.
        let without = identification & !u32::from(PER_EVENT);
        let old = traces::free(old);
        wait::closed(|| lowcore::set_program_interruption(without, old));
    }
    let now = cpu.vcpu.account.entered;
    settle(cpu, now, AROUND_ENTRY, cpu.native.comparator(), false);
}

/// Counts, on the way out of a trap, what the guest has executed.
#[inline(never)]
fn go_on_counted(cpu: &mut Cpu, now: u64) {
    let how = (lowcore::EXIT_PSW.get(), is_counted(cpu, now));
    exit_counted(cpu, |vcpu, configuration, native, counting, each| {
        counts::trapped(vcpu, configuration, native, counting, how, each)
    });
}

/// Prepares the exit with the PSW that the counting chooses, if there is any.
fn exit_counted(
    cpu: &mut Cpu,
    choose: impl FnOnce(
        &Vcpu,
        &Configuration,
        &mut Native,
        &mut Counting,
        &mut dyn FnMut(CountEntry),
    ) -> Psw,
) {
    if let Some(of) = executions(cpu) {
        let Executions {
            counting, waiting, ..
        } = of.counted;
        let each = &mut |entry| waiting.add(entry);
        let real = choose(of.vcpu, of.configuration, of.native, counting, each);
        lowcore::set_exit_psw(real);
    }
}

/// Whether the guest is to be counted at a moment.
fn is_counted(cpu: &Cpu, now: u64) -> bool {
    let machine = cpu.machine;
    let has_begun = !machine.counts_from_words || machine.configuration.awaited_words.were_met();
    has_begun && (cpu.window.as_ref()).is_some_and(|looked| looked.window.has(now))
}

/// The guest goes on after an interruption that was only for the window, with this old PSW and overhead. If the window has
/// begun or ended with it, so has the counting.
#[inline(never)]
fn cross_edge(cpu: &mut Cpu, old: Psw, overhead: u64) {
    let account = cpu.vcpu.account;
    let is_wanted = is_counted(cpu, account.entered);
    let executed = account.ticks(account.left, account.entered);
    let how = (old, executed.saturating_sub(overhead), is_wanted);
    exit_counted(cpu, |vcpu, configuration, native, counting, each| {
        counts::interrupted(vcpu, configuration, native, counting, how, each)
    });
}

/// A program interruption has come. If it is only for the counts, counts what the guest has executed, prepares the exit, and
/// returns the overhead. If not, it becomes what it is in the first run.
#[inline(never)]
fn stop_counted(cpu: &mut Cpu, interrupted: &Interruption) -> Option<u64> {
    let CountsOf {
        counted,
        vcpu,
        configuration,
        native,
        ..
    } = executions(cpu)?;
    let Executions {
        counting, waiting, ..
    } = counted;
    let stopped = counts::stopped(
        vcpu,
        configuration,
        native,
        counting,
        interrupted,
        &mut |entry| waiting.add(entry),
    );
    if let Some((real, overhead)) = stopped {
        lowcore::set_exit_psw(real);
        return Some(overhead);
    }
    if counting.is_on() {
        let first_run = counts::as_without(vcpu, native, interrupted);
        wait::closed(|| {
            lowcore::set_program_interruption(first_run.identification, first_run.old);
            lowcore::set_translation_exception(first_run.translation);
        });
    }
    None
}

/// The PSW with which the hardware is to try to fetch the next instruction first, if it is.
fn look_counted(cpu: &mut Cpu, old: Psw) -> Option<Psw> {
    counts::look(&mut executions(cpu)?.counted.counting, old)
}

/// Lets the guest go on after an interruption that was only for the window.
fn resume(cpu: &mut Cpu, overhead: u64) {
    let first_run = cpu.native.comparator();
    let exit = cpu.machine.configuration.charges.exit;
    let account = cpu.vcpu.account;
    let mut comparator = first_run;
    if let Some(looked) = &mut cpu.window {
        comparator =
            looked
                .window
                .comparator(&account, exit, account.left, account.entered, first_run);
    }
    settle(
        cpu,
        account.entered,
        AROUND_SAMPLE + overhead,
        comparator,
        true,
    );
}

/// The traces of a CPU's window, if it has some.
fn traces_of(cpu: &Cpu) -> Option<&WindowTraces> {
    Some(&cpu.window.as_ref()?.traced.as_ref()?.traces)
}

/// Whether the hardware stops the guest for traces.
fn is_traced(cpu: &Cpu) -> bool {
    traces_of(cpu).is_some_and(WindowTraces::is_on)
}

/// What tracing takes of a CPU.
struct Parts<'c> {
    window: Window,
    traced: &'c mut Traced,
    vcpu: &'c mut Vcpu,
    configuration: &'static Configuration,
    native: &'c mut Native,
}

/// What tracing takes of a CPU, if its window has traces.
fn parts(cpu: &mut Cpu) -> Option<Parts<'_>> {
    let looked = cpu.window.as_mut()?;
    Some(Parts {
        window: looked.window,
        traced: looked.traced.as_mut()?,
        vcpu: &mut cpu.vcpu,
        configuration: &cpu.machine.configuration,
        native: &mut cpu.native,
    })
}

/// What counting takes of a CPU.
struct CountsOf<'c> {
    counted: &'c mut Executions,
    vcpu: &'c mut Vcpu,
    configuration: &'static Configuration,
    native: &'c mut Native,
}

/// What counting takes of a CPU, if its window has counts.
fn executions(cpu: &mut Cpu) -> Option<CountsOf<'_>> {
    let looked = cpu.window.as_mut()?;
    Some(CountsOf {
        counted: looked.executions.as_mut()?,
        vcpu: &mut cpu.vcpu,
        configuration: &cpu.machine.configuration,
        native: &mut cpu.native,
    })
}

/// Traces on the way out of a trap of a class.
#[inline(never)]
fn go_on_traced(cpu: &mut Cpu, class: Class, now: u64) {
    let Some(parts) = parts(cpu) else { return };
    let Traced { traces, events } = parts.traced;
    traces::trapped(
        parts.vcpu,
        parts.configuration,
        parts.native,
        traces,
        class,
        &mut |event| events.add(event),
    );
    let (next, total) = (parts.vcpu.psw, parts.vcpu.account.total());
    parts.go_on(now, next, total, lowcore::EXIT_PSW.get());
}

/// Traces at an interruption that was only for the window, with this old PSW and overhead.
#[inline(never)]
fn go_on_stopped(cpu: &mut Cpu, old: Psw, overhead: u64) {
    let Some(mut parts) = parts(cpu) else { return };
    parts.stopped(old);
    let account = &parts.vcpu.account;
    let (now, next) = (account.entered, parts.vcpu.interrupted_psw(old));
    let span = account.ticks(account.left, now).saturating_sub(overhead);
    let total = account.total() + span;
    parts.go_on(now, next, total, old);
}

/// The hardware tries to fetch the next instruction, before an interruption of the first run that came behind the watched one
/// is delivered. The interruption comes again.
#[inline(never)]
fn look_at_next(cpu: &mut Cpu, old: Psw) {
    let Some(mut parts) = parts(cpu) else { return };
    let masks = parts.configuration.per.masks;
    parts.stopped(old);
    let (controls, looking) = traces::look(&mut parts.traced.traces, masks, old);
    parts.native.load_recording(controls);
    lowcore::set_exit_psw(looking);
}

/// Traces at a program interruption of the first run. It may be that of the instruction behind the watched one, if the
/// hardware found it before it looked for events.
#[inline(never)]
fn go_on_met(cpu: &mut Cpu, old: Psw, identification: u32) {
    let charges = &cpu.machine.configuration.charges;
    let charged = charges.of(identification as u16).unsigned_abs();
    let overhead = charges.overhead[Class::Program as usize] + charged;
    let here = traces::failing(old, identification);
    if traces_of(cpu).is_some_and(|traces| !traces.watches(here.address)) {
        go_on_stopped(cpu, here, overhead);
    }
}

impl Parts<'_> {
    /// The hardware has stopped the guest before the instruction that this old PSW designates.
    fn stopped(&mut self, old: Psw) {
        let Traced { traces, events } = &mut *self.traced;
        traces::stopped(
            self.vcpu,
            self.configuration,
            self.native,
            traces,
            old,
            &mut |event| events.add(event),
        );
    }

    /// Prepares the exit at a moment: the guest goes on at the PSW `next`, which is `real` in the hardware, and its account
    /// then shows `total` cycles.
    fn go_on(self, now: u64, next: Psw, total: u64, real: Psw) {
        let Traced { traces, .. } = self.traced;
        let is_traced = self.window.has(now) && traces::is_possible(self.vcpu, self.configuration);
        if is_traced {
            let controls = traces::watch(
                self.vcpu,
                self.configuration,
                self.native,
                traces,
                next,
                total,
            );
            self.native.load_recording(controls);
            lowcore::set_exit_psw(traces::stopping(real));
        } else if let Some(controls) = traces::rest(self.vcpu, traces) {
            self.native.load_recording(controls);
            if !self.vcpu.per.is_on() {
                lowcore::set_exit_psw(traces::free(real));
            }
        }
    }
}

/// Takes a sample of the guest as it was interrupted.
#[inline(never)]
fn take(cpu: &mut Cpu, account: &Account, old: Psw) {
    let limited = cpu.machine.configuration.limited;
    let snapshot = Snapshot {
        psw: cpu.vcpu.interrupted_psw(old),
        ..schedule::snapshot(&cpu.vcpu, limited)
    };
    let entry = entry(&snapshot, &cpu.vcpu.machine);
    let Some(looked) = &mut cpu.window else {
        return;
    };
    looked.add(cpu.vcpu.address, entry, account.entered);
}

fn entry(snapshot: &Snapshot, facility: &Facility) -> BasicEntry {
    snapshot.entry(facility.sampling().host_indicator())
}
