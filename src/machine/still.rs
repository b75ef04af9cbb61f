//! A guest's clock that stands still while the machine works.
//!
//! The clock of an exact run advances with every instruction, and so does the guest's, which is the same: a guest sees how
//! long the machine takes for it. A guest that measures itself by its clock would count the machine's instructions. So a
//! run can ask for a clock that shows the guest's own time and its waits only. The machine then sets the clock back on
//! every way out, as in a window ([`window`]): to what it showed when the machine last left to the guest, and as many
//! instructions on as the guest has executed. The CPU timer goes back with it. How the CPUs have one such clock is in
//! [`super::turn`].

use crate::arch::address::Virtual;
use crate::arch::interruption::{Class, external};
use crate::guest::dispatch;
use crate::guest::measuring::{schedule, window};
use crate::guest::state::account::Mode;
use crate::guest::storage;
use crate::insn;
use crate::link::paths::{Paths, State};
use crate::link::tally::Cause;
use crate::machine::hardware::instruction;
use crate::machine::hardware::lowcore::{self, WindowArea};
use crate::machine::hardware::set_back::{AROUND_EXIT, SPARE};
use crate::machine::native::Still;
use crate::machine::state::machine::Cpu;
use crate::machine::trap;
extern crate alloc;
use alloc::boxed::Box;

/// From now on counts the [paths](crate::link::paths) of the control program on this CPU. At IPL only. The guest's clock
/// does not show that, so its paths have the same length.
pub fn count_paths(cpu: &mut Cpu) {
    cpu.paths = Some(Box::new(Paths::new()));
}

fn state(cpu: &Cpu) -> State {
    State {
        problem: cpu.vcpu.psw.problem_state(),
        executed: cpu.vcpu.account.cycles[0],
    }
}

/// A trap is complete but for its exit.
fn note(cpu: &mut Cpu, before: State, cause: Cause, number: u16) {
    let after = state(cpu);
    if let Some(paths) = &mut cpu.paths {
        paths.note(before, after, cause, number);
    }
}

#[unsafe(no_mangle)]
extern "C" fn program_interruption_still(cpu: &mut Cpu) {
    entered(cpu, Class::Program);
    let before = state(cpu);
    if cpu.paths.is_none() {
        if trap::program_interruption(cpu) == 0 {
            lowcore::set_exit_psw(lowcore::PROGRAM_OLD.get());
        }
        return;
    }
    let code = lowcore::PROGRAM_IDENTIFICATION.get();
    cpu.vcpu.interruption.cause = code;
    let machine = cpu.machine;
    let configuration = &machine.configuration;
    dispatch::enter(
        &mut cpu.vcpu,
        configuration,
        &mut cpu.native,
        Class::Program,
    );
    let refused = matches!(cpu.vcpu.interruption.code(), 0x01 | 0x02);
    let length = u64::from(cpu.vcpu.interruption.length());
    let at = Virtual(cpu.vcpu.psw.address.wrapping_sub(length));
    let kept = if refused && before.problem {
        storage::kept_text(&cpu.vcpu, &cpu.native, at)
    } else {
        None
    };
    trap::perform_program(cpu, machine, refused);
    if refused {
        // If the text had to be translated first, it has been kept.
        let opcode = insn::opcode(&kept.unwrap_or(cpu.vcpu.text.bytes));
        note(cpu, before, Cause::Instruction, opcode);
    } else {
        note(cpu, before, Cause::Program, code as u16 & 0xFF);
    }
}

#[unsafe(no_mangle)]
extern "C" fn supervisor_call_interruption_still(cpu: &mut Cpu) {
    entered(cpu, Class::SupervisorCall);
    let before = state(cpu);
    trap::supervisor_call_interruption(cpu);
    note(cpu, before, Cause::SupervisorCall, 0);
}

#[unsafe(no_mangle)]
extern "C" fn external_interruption_still(cpu: &mut Cpu) {
    entered(cpu, Class::External);
    let before = state(cpu);
    let code = lowcore::EXTERNAL_CODE.get();
    trap::external_interruption(cpu);
    note(cpu, before, Cause::External, code);
}

#[unsafe(no_mangle)]
extern "C" fn io_interruption_still(cpu: &mut Cpu) {
    entered(cpu, Class::InputOutput);
    let before = state(cpu);
    trap::io_interruption(cpu);
    note(cpu, before, Cause::InputOutput, 0);
}

/// The guest has been left by an interruption of a class: its clock stands still from now on.
#[inline]
fn entered(cpu: &mut Cpu, class: Class) {
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
    let own = account.units(own);
    cpu.vcpu.sampling.set_back(own);
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
