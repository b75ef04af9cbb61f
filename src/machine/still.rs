//! A guest's clock that stands still while the machine works.
//!
//! The clock of an exact run advances with every instruction, and so does the guest's, which is the same: a guest sees how
//! long the machine takes for it. A guest that measures itself by its clock would count the machine's instructions. So a
//! run can ask for a clock that shows the guest's own time and its waits only. The machine then sets the clock back on
//! every way out, as in a window ([`window`]): to what it showed when the machine last left to the guest, and as many
//! instructions on as the guest has executed. The CPU timer goes back with it. How the CPUs have one such clock is in
//! [`super::turn`].

use crate::arch::interruption::{Class, external};
use crate::guest::measuring::{schedule, window};
use crate::guest::state::account::Mode;
use crate::machine::hardware::instruction;
use crate::machine::hardware::lowcore::{self, WindowArea};
use crate::machine::native::Still;
use crate::machine::state::machine::Cpu;

/// More than the instructions from the last look at the clock here to the one in the trap entry.
const SPARE: u64 = 300;

/// Instructions of the trap entry around those that are counted by the clock.
const AROUND_EXIT: u64 = 4;

/// The guest has been left by an interruption of a class: its clock stands still from now on.
#[inline]
pub fn entered(cpu: &mut Cpu, class: Class) {
    let charges = &cpu.machine.configuration.charges;
    let account = &cpu.vcpu.account;
    let overhead = charges.overhead[class as usize].saturating_sub(charges.exit);
    // What has passed is a whole number of instructions.
    let passed = account
        .ticks(account.left, account.entered)
        .saturating_sub(overhead);
    let charged = match class {
        Class::Program => charges.of(lowcore::PROGRAM_IDENTIFICATION.get() as u16),
        _ => 1,
    };
    let completed = passed.saturating_add_signed(1 - charged);
    let at = |ticks| account.left.wrapping_add(account.units(ticks));
    let mut clock = at(passed);
    // The guest's comparator has interrupted. Rounding must not hide that.
    let comparator = cpu.vcpu.clock_comparator;
    if matches!(class, Class::External)
        && lowcore::EXTERNAL_CODE.get() == external::CLOCK_COMPARATOR
        && comparator == cpu.native.comparator()
        && account.entered > comparator
    {
        clock = clock.max(comparator.saturating_add(1));
    }
    cpu.native.still = Still {
        clock,
        completed: at(completed),
        forward: 0,
        own: 0,
        total: Some(account.total()),
    };
}

/// A trap is complete but for its exit: says to the trap entry how the clock is to be set back.
#[unsafe(no_mangle)]
extern "C" fn still_exit(cpu: &mut Cpu) {
    let found = lowcore::WINDOW.get();
    let configuration = &cpu.machine.configuration;
    let exit = configuration.charges.exit;
    let account = &mut cpu.vcpu.account;
    let Mode::Exact { shift } = account.mode else {
        return;
    };
    // The guest may have set its clock, which the hardware's does not show yet.
    let forward = cpu.native.still.forward;
    let began = found.began.wrapping_add(forward);
    let passed = |from| account.ticks(from, began);
    let (hidden, own) = match cpu.native.still {
        Still {
            total: Some(total), ..
        } => {
            let hidden = passed(account.left).saturating_sub(account.total() - total);
            (hidden, hidden)
        }
        // Another CPU may have taken some of it.
        Still { clock, own, .. } => (passed(clock) + exit, passed(own) + exit),
    };
    account.hidden += own;
    let left = began.wrapping_sub(account.units(hidden));
    let comparator = schedule::comparator(&cpu.vcpu, configuration, left);
    cpu.native.note_comparator(comparator);
    let account = &cpu.vcpu.account;
    let rest = cpu.native.timer_zero().wrapping_sub(began) as i64;
    let beyond = hidden + AROUND_EXIT;
    let back = window::back(account.mode, found.began, beyond, found.timer, rest);
    lowcore::set_window(WindowArea {
        target: window::moment(account, found.began, instruction::stckf(), SPARE),
        rounding: 256,
        shift: 9 + u64::from(shift),
        new_timer: back.timer,
        clock: back.clock.wrapping_add(forward),
        comparator,
        after: back.fill,
        is_ours: 0,
        ..found
    });
}
