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
use crate::guest::measuring::schedule;
use crate::guest::measuring::window::{self, Interrupted};
use crate::guest::recording::copies::{self, Interrupted as Interruption};
use crate::guest::recording::counts;
use crate::guest::recording::per::window as traces;
use crate::guest::state::account::Account;
use crate::guest::state::configuration::Configuration;
use crate::guest::state::copies::Copies;
use crate::guest::state::counting::{Counting, Limits};
use crate::guest::state::schedule::NEVER;
use crate::guest::state::vcpu::Vcpu;
use crate::guest::state::window::Window;
use crate::guest::state::window_traces::WindowTraces;
use crate::link::counts::CountEntry;
use crate::link::loader;
use crate::link::trace::Event;
use crate::machine::hardware::instruction;
use crate::machine::hardware::lowcore::{self, Area, WindowArea};
use crate::machine::hardware::set_back::{
    AROUND_EXIT, AROUND_GUEST, AROUND_STAMP, SPARE, SPARE_OF_PAD,
};
use crate::machine::hardware::wait;
use crate::machine::native::Native;
use crate::machine::state::machine::Cpu;
use crate::machine::state::window::{Ahead, Executions, Looked, Traced};
use crate::machine::trap::{self, Beside};
use crate::per::trace::Traces;
extern crate alloc;
use alloc::boxed::Box;

/// What is done in a window in addition to its samples.
#[derive(Clone, Debug)]
pub enum Further {
    /// Nothing.
    Nothing,
    /// Executions within these limits are counted, in the whole run if no window is wanted. The CPU has
    /// [`loader::COUNTING_STORAGE`] bytes for that at this address.
    Counts(Real, Limits),
    /// The CPU has these traces, and as many bytes.
    Traces(Real, Traces),
}

/// From now on this CPU, which has this prefix area, has a window. At IPL only.
pub fn begin(area: Area, cpu: &mut Cpu, wanted: &loader::Window, further: Further) {
    let interval = match further {
        // Nothing is sampled where everything is counted.
        Further::Counts(..) => NEVER,
        _ => wanted.interval.get(),
    };
    let window = if wanted.is_wanted() {
        Window::new(wanted.from.get(), wanted.to.get(), interval)
    } else {
        Window::new(0, u64::MAX, NEVER)
    };
    let mut looked = Looked::new(window);
    let beside = match further {
        Further::Nothing => Beside::Nothing,
        Further::Counts(at, limits) => {
            let counting = counts::begin(&mut cpu.native, at, limits);
            looked.executions = Some(Box::new(Executions::new(cpu.vcpu.address, counting)));
            Beside::Stops
        }
        Further::Traces(at, traces) => {
            let traces = traces::new(&mut cpu.native, traces, at);
            looked.traced = Some(Box::new(Traced::new(cpu.vcpu.address, traces)));
            Beside::Stops
        }
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
    let left = ahead(cpu).map_or(0, |ahead| core::mem::take(&mut ahead.left));
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
    let Some(ahead) = ahead(cpu) else { return };
    // The stamp showed what was left to set back, too.
    let began = account.entered + ahead.left;
    let target = window::moment(&account, began, instruction::stckf(), SPARE_OF_PAD);
    let (steps, fill) = window::steps(beyond);
    ahead.left += target - began + window::units_of(&account, steps);
    lowcore::set_window(WindowArea {
        target,
        rounding: 256,
        shift: shift_of(&account),
        after: fill,
        ..lowcore::WINDOW.get()
    });
}

/// By how much the clock of a CPU with a window is ahead of the guest's.
fn ahead(cpu: &mut Cpu) -> Option<&mut Ahead> {
    Some(&mut cpu.window.as_mut()?.ahead)
}

/// The stamp of the last trap as it would be but for what was left to set back.
fn correct_stamp(cpu: &mut Cpu) {
    let left = ahead(cpu).map_or(0, |ahead| ahead.left);
    let entered = &mut cpu.vcpu.account.entered;
    *entered = entered.wrapping_sub(left);
}

/// A program interruption has come in a window in which the guest stops at instructions, and nothing but the general registers and
/// the clock has been stored. Returns zero if it is only for the window and the guest goes on at once.
#[unsafe(no_mangle)]
extern "C" fn stop_program(cpu: &mut Cpu) -> u64 {
    correct_stamp(cpu);
    let counted = stop_counted(cpu);
    let stopped = counted.or_else(|| stop_traced(cpu));
    if let Some(ahead) = ahead(cpu) {
        ahead.stopped = stopped.map(|stopped| stopped.overhead);
    }
    match stopped {
        Some(Stopped {
            overhead,
            reads_clock: false,
        }) if !is_due_soon(cpu) => {
            pad(cpu, AROUND_GUEST + overhead);
            0
        }
        _ => {
            pad(cpu, AROUND_STAMP);
            1
        }
    }
}

/// The guest has stopped only for the window.
#[derive(Clone, Copy, Debug)]
struct Stopped {
    overhead: u64,
    /// Whether it may look at a clock before it stops again.
    reads_clock: bool,
}

/// Whether a timer would interrupt soon by the clock, which is ahead of the guest's.
fn is_due_soon(cpu: &mut Cpu) -> bool {
    // Clock units of more instructions than a stop takes, but for rare ones.
    const SOON: u64 = 1 << 14;
    let (comparator, zero) = (cpu.native.comparator(), cpu.native.timer_zero());
    let entered = cpu.vcpu.account.entered;
    let Some(ahead) = ahead(cpu) else { return true };
    let then = entered.saturating_add(ahead.left + SOON);
    // One that is due already waits for the guest to enable it, which is a trap.
    let rest = |at: u64| zero.wrapping_sub(at) as i64;
    entered < comparator && then >= comparator || rest(entered) > 0 && rest(then) <= 0
}

/// Another interruption has come in a window in which the guest stops at instructions.
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
    let beyond = AROUND_EXIT.wrapping_add_signed(of_other_psw(cpu));
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
    settle(cpu, began, beyond, comparator, false);
}

/// How many instructions more than in the first run it took to set the PSW of the exit, after a program interruption whose old PSW
/// differs from that of the first run.
fn of_other_psw(cpu: &mut Cpu) -> i64 {
    let Some([here, first_run]) = ahead(cpu).and_then(|ahead| ahead.old.take()) else {
        return 0;
    };
    // Otherwise the machine itself was interrupted, and both runs have set it.
    if lowcore::PROGRAM_OLD.get() != here {
        return 0;
    }
    let exit = lowcore::EXIT_PSW.get();
    let more = i64::from(exit != here) - i64::from(exit != first_run);
    more * trap::OF_OTHER_EXIT_PSW as i64
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
    if is_timer && interrupted == Interrupted::FirstRun && is_early(cpu, code) {
        interrupted = Interrupted::Nothing;
    }
    let old = lowcore::EXTERNAL_OLD.get();
    if interrupted == Interrupted::Sample {
        take(cpu, &account, old);
    }
    let is_ours = interrupted != Interrupted::FirstRun;
    if (is_ours || is_timer)
        && let Some(looking) = look_traced(cpu, old)
    {
        lowcore::set_exit_psw(looking);
    } else if is_timer && let Some(looking) = look_counted(cpu, old) {
        lowcore::set_exit_psw(looking);
    } else if is_ours {
        // The answer to a service call is an external interruption, too.
        lowcore::set_exit_psw(old);
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
    let Some(ahead) = ahead(cpu) else {
        return false;
    };
    let is_early = match code {
        external::CLOCK_COMPARATOR => then < comparator,
        _ => (then.wrapping_sub(zero) as i64) < 0,
    };
    let moment = Some((code, then));
    let is_again = core::mem::replace(&mut ahead.early, moment) == moment;
    is_early && !is_again
}

/// A program interruption has come, which [`stop_program`] knows.
#[unsafe(no_mangle)]
extern "C" fn window_program(cpu: &mut Cpu) {
    correct_stamp(cpu);
    if let Some(overhead) = ahead(cpu).and_then(|ahead| ahead.stopped.take()) {
        resume(cpu, overhead);
        return;
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
        let Executions { counting, waiting } = of.counted;
        let each = &mut |entry| waiting.add(entry);
        let real = choose(of.vcpu, of.configuration, of.native, counting, each);
        lowcore::set_exit_psw(real);
    }
}

/// Whether the guest is to be counted at a moment.
fn is_counted(cpu: &mut Cpu, now: u64) -> bool {
    let machine = cpu.machine;
    let has_begun = !machine.counts_from_words || machine.configuration.awaited_words.were_met();
    has_begun && (cpu.window.as_mut()).is_some_and(|looked| looked.window.reaches(now))
}

/// The guest goes on after an interruption that was only for the window, with this old PSW and overhead. If the window has
/// begun or ended with it, so has what is done in it.
#[inline(never)]
fn cross_edge(cpu: &mut Cpu, old: Psw, overhead: u64) {
    let account = cpu.vcpu.account;
    let is_wanted = is_counted(cpu, account.entered);
    let executed = account
        .ticks(account.left, account.entered)
        .saturating_sub(overhead);
    exit_counted(cpu, |vcpu, configuration, native, counting, each| {
        let how = (old, executed, is_wanted);
        counts::interrupted(vcpu, configuration, native, counting, how, each)
    });
    exit_traced(cpu, |vcpu, configuration, native, traces, each| {
        let how = (old, account.total() + executed, is_wanted);
        traces::interrupted(vcpu, configuration, native, traces, how, each)
    });
}

/// A program interruption has come. If it is only for the counts, counts what the guest has executed, and prepares the exit. If
/// not, it becomes what it is in the first run.
#[inline(never)]
fn stop_counted(cpu: &mut Cpu) -> Option<Stopped> {
    let CountsOf {
        counted,
        vcpu,
        configuration,
        native,
    } = executions(cpu)?;
    let Executions { counting, waiting } = counted;
    waiting.show_life();
    let interrupted = program_interruption(&mut counting.copies);
    let each = &mut |entry| waiting.add(entry);
    let stopped = counts::stopped(vcpu, configuration, native, counting, &interrupted, each);
    if let Some((real, overhead)) = stopped {
        lowcore::set_exit_psw(real);
        return Some(Stopped {
            overhead,
            reads_clock: counting.reads_clock(),
        });
    }
    if counting.is_on() {
        become_first_run(cpu, &interrupted);
    }
    None
}

/// The interruption that the hardware has stored becomes that of the first run. A store into the prefix area takes long: while the
/// guest has low-address protection, the machine closes that, and QEMU empties the whole TLB each time. So the old PSW is left as it
/// is.
fn become_first_run(cpu: &mut Cpu, interrupted: &Interruption) {
    let first_run = copies::as_without(&cpu.vcpu, &cpu.native, interrupted);
    let here = lowcore::PROGRAM_OLD.get();
    if let Some(ahead) = ahead(cpu)
        && here != first_run.old
    {
        ahead.old = Some([here, first_run.old]);
    }
    if lowcore::PROGRAM_IDENTIFICATION.get() != first_run.identification
        || lowcore::TRANSLATION_EXCEPTION.get() != first_run.translation
    {
        wait::closed(|| {
            lowcore::set_program_identification(first_run.identification);
            lowcore::set_translation_exception(first_run.translation);
        });
    }
}

/// The program interruption that has come.
fn program_interruption(copies: &mut Copies) -> Interruption {
    Interruption {
        old: copies::seen(copies, lowcore::PROGRAM_OLD.get()),
        identification: lowcore::PROGRAM_IDENTIFICATION.get(),
        translation: lowcore::TRANSLATION_EXCEPTION.get(),
    }
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
struct TracesOf<'c> {
    traced: &'c mut Traced,
    vcpu: &'c mut Vcpu,
    configuration: &'static Configuration,
    native: &'c mut Native,
}

/// What tracing takes of a CPU, if its window has traces.
fn traced(cpu: &mut Cpu) -> Option<TracesOf<'_>> {
    let looked = cpu.window.as_mut()?;
    let traced = looked.traced.as_mut()?;
    traced.traces.due = looked.window.due;
    Some(TracesOf {
        traced,
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

/// Prepares the exit with the PSW that the tracing chooses, if there is any.
fn exit_traced(
    cpu: &mut Cpu,
    choose: impl FnOnce(
        &mut Vcpu,
        &Configuration,
        &mut Native,
        &mut WindowTraces,
        &mut dyn FnMut(&Event<'_>),
    ) -> Psw,
) {
    if let Some(of) = traced(cpu) {
        let Traced { traces, events } = of.traced;
        let each = &mut |event: &Event<'_>| events.add(event);
        let real = choose(of.vcpu, of.configuration, of.native, traces, each);
        lowcore::set_exit_psw(real);
    }
    note_stops(cpu);
}

/// As long as the guest stops for traces, its samples are taken where it stops.
fn note_stops(cpu: &mut Cpu) {
    let is_traced = is_traced(cpu);
    if let Some(looked) = &mut cpu.window {
        looked.window.by_stops = is_traced;
    }
}

/// Traces on the way out of a trap of a class.
#[inline(never)]
fn go_on_traced(cpu: &mut Cpu, class: Class, now: u64) {
    let how = (class, lowcore::EXIT_PSW.get(), is_counted(cpu, now));
    exit_traced(cpu, |vcpu, configuration, native, traces, each| {
        traces::trapped(vcpu, configuration, native, traces, how, each)
    });
}

/// A program interruption has come. If it is only for the traces, prepares the exit. If not, it becomes what it is in the first
/// run.
#[inline(never)]
fn stop_traced(cpu: &mut Cpu) -> Option<Stopped> {
    let is_wanted = is_counted(cpu, cpu.vcpu.account.entered);
    let of = traced(cpu)?;
    let Traced { traces, events } = of.traced;
    let interrupted = program_interruption(&mut traces.copies);
    if !traces.is_on() {
        return None;
    }
    let each = &mut |event: &Event<'_>| events.add(event);
    let how = (&interrupted, is_wanted);
    let stopped = traces::stopped(of.vcpu, of.configuration, of.native, traces, how, each);
    let Some(stop) = stopped else {
        traces::met(
            of.vcpu,
            of.configuration,
            of.native,
            traces,
            &interrupted,
            each,
        );
        become_first_run(cpu, &interrupted);
        return None;
    };
    let reads_clock = traces.reads_clock();
    lowcore::set_exit_psw(stop.real);
    if let Some((old, total)) = stop.at {
        sample_stop(cpu, old, total);
    }
    note_stops(cpu);
    Some(Stopped {
        overhead: stop.overhead,
        reads_clock,
    })
}

/// The guest has stopped at this PSW, and its account would show so many cycles. Takes a sample if one is due.
fn sample_stop(cpu: &mut Cpu, old: Psw, total: u64) {
    let looked = cpu.window.as_mut();
    if looked.is_some_and(|looked| looked.window.is_due(total)) {
        let account = cpu.vcpu.account;
        take(cpu, &account, old);
    }
}

/// The PSW with which the hardware is to try to fetch the next instruction first, if it is.
fn look_traced(cpu: &mut Cpu, old: Psw) -> Option<Psw> {
    if !is_traced(cpu) {
        return None;
    }
    let of = traced(cpu)?;
    let traces = &mut of.traced.traces;
    let has_executed = traces.is_after_branch() || old.address != lowcore::EXIT_PSW.get().address;
    if !has_executed {
        return None;
    }
    traces::look(of.vcpu, of.configuration, of.native, traces, old)
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
