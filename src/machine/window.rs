//! A window on the hardware: finer samples of a run that is performed again, which cost the guest no time.
//!
//! The trap entries of [`super::trap`] for such a run call the routines here on the way out of each trap, and when an
//! external interruption comes. The routines do what the window wants, and say how the clock is to be set back; the
//! entry then does that at the very instruction. What is to be done is in [`window`].
//!
//! Everything here leaves alone what the path of a trap uses: the account, the virtual CPU and the output that waits.

use crate::arch::interruption::Class;
use crate::arch::interruption::external;
use crate::arch::psw::Psw;
use crate::cpumf::sampling::block::BasicEntry;
use crate::cpumf::{Facility, Snapshot};
use crate::guest::measuring::schedule;
use crate::guest::measuring::window::{self, Interrupted};
use crate::guest::state::account::{Account, Mode};
use crate::guest::state::window::Window;
use crate::link::loader;
use crate::machine::hardware::instruction;
use crate::machine::hardware::lowcore::{self, Area, WindowArea};
use crate::machine::state::machine::Cpu;
use crate::machine::state::window::Looked;
use crate::machine::trap;
extern crate alloc;
use alloc::boxed::Box;

/// From now on this CPU, which has this prefix area, has a window. At IPL only.
pub fn begin(area: Area, cpu: &mut Cpu, wanted: &loader::Window) {
    let (from, to) = (wanted.from.get(), wanted.to.get());
    let window = Window::new(from, to, wanted.interval.get());
    cpu.window = Some(Box::new(Looked::new(window)));
    trap::admit_window(area);
}

/// More than the instructions from the last look at the clock here to the one in the trap entry.
const SPARE: u64 = 300;

/// Instructions of the trap entry around those that are counted by the clock: on the way out of a trap; when an
/// interruption is that of the first run; and when it was for the window only, beside the overhead of a trap.
const AROUND_EXIT: u64 = 4;
const AROUND_ENTRY: u64 = 5;
const AROUND_SAMPLE: u64 = 6;

/// Says to the trap entry how to set back what began when the clock showed `began`.
fn settle(cpu: &Cpu, began: u64, beyond: u64, comparator: u64, is_ours: bool) {
    let found = lowcore::WINDOW.get();
    let account = &cpu.vcpu.account;
    let rest = cpu.native.timer_zero().wrapping_sub(began) as i64;
    let back = window::back(account.mode, began, beyond, found.timer, rest);
    let shift = match account.mode {
        Mode::Exact { shift } => shift,
        Mode::RealTime => 0,
    };
    lowcore::set_window(WindowArea {
        target: window::moment(account, began, instruction::stckf(), SPARE),
        rounding: 256,
        shift: 9 + u64::from(shift),
        new_timer: back.timer,
        clock: back.clock,
        comparator,
        after: back.fill,
        is_ours: is_ours.into(),
        ..found
    });
}

/// A trap is complete but for its exit.
#[unsafe(no_mangle)]
extern "C" fn window_exit(cpu: &mut Cpu) {
    let began = lowcore::WINDOW.get().began;
    let mut comparator = cpu.native.comparator();
    let exit = cpu.machine.configuration.charges.exit;
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
    let first_run = cpu.native.comparator();
    let charges = &cpu.machine.configuration.charges;
    let overhead = charges.overhead[Class::External as usize];
    let account = cpu.vcpu.account;
    let now = account.entered;
    let mut interrupted = Interrupted::FirstRun;
    if lowcore::EXTERNAL_CODE.get() == external::CLOCK_COMPARATOR
        && let Some(looked) = &mut cpu.window
    {
        interrupted = looked.window.interrupted(&account, overhead, first_run);
    }
    if interrupted == Interrupted::FirstRun {
        settle(cpu, now, AROUND_ENTRY, first_run, false);
        return;
    }
    // The answer to a service call is an external interruption, too.
    let old = lowcore::EXTERNAL_OLD.get();
    lowcore::set_exit_psw(old);
    if interrupted == Interrupted::Sample {
        take(cpu, &account, old);
    }
    let exit = cpu.machine.configuration.charges.exit;
    let mut comparator = first_run;
    if let Some(looked) = &mut cpu.window {
        comparator = looked
            .window
            .comparator(&account, exit, account.left, now, first_run);
    }
    settle(cpu, now, AROUND_SAMPLE + overhead, comparator, true);
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
