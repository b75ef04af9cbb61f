//! DIAGNOSE 288: the watchdog, if the machine below has one.
//!
//! When the watchdog of the machine below expires, all of that machine is reset, and what was measured is lost. So it is
//! never set. The time is kept here, and when it is over, CPU 0 does for the guest what the reset does: it loads the program
//! that the guest began with, as DIAGNOSE 308 with subcode 4. Measuring below the guest continues.

use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::load;
use crate::millicode::outcome::{Outcome, Performed};
use crate::state::configuration::Configuration;
use crate::state::vcpu::Vcpu;
use crate::state::watchdog::WATCHING;
use arch::interruption::ProgramInterruption::Specification;

/// The watchdog is enabled, and its time begins.
const INITIALIZE: u64 = 0;
/// Its time begins anew.
const CHANGE: u64 = 1;
/// It is disabled.
const CANCEL: u64 = 2;
/// The shortest time, in seconds.
const SHORTEST: u64 = 15;
/// What happens when the time is over: the reset of the machine.
const RESET: u64 = 0;

/// DIAGNOSE 288: R1 is the function, R1 + 1 the time in seconds, and R3 the action.
///
/// Condition code: unchanged.
///
/// Program exceptions: specification, when there is no watchdog, for an odd R1, an action other than zero, a function
/// above 2, less than 15 seconds (unless it is cancelled), and when a disabled watchdog is changed or cancelled.
pub(super) fn control<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r3: u8) -> Performed {
    let watchdog = &run.configuration.watchdog;
    if !watchdog.present || r1 & 1 != 0 || run.register(r3) != RESET {
        return fault(Specification);
    }
    let (function, seconds) = (run.register(r1), run.register(r1 | 1));
    match function {
        INITIALIZE | CHANGE
            if seconds >= SHORTEST && (function == INITIALIZE || watchdog.is_enabled()) =>
        {
            watchdog.set(run.hardware.clock(), seconds);
            if run.cpu.address != WATCHING {
                // It computes again when to look.
                run.hardware.wake(WATCHING);
            }
            Ok(Outcome::Completed)
        }
        CANCEL if watchdog.disable() => Ok(Outcome::Completed),
        _ => fault(Specification),
    }
}

/// Loads the guest's program anew if the watchdog has expired.
pub fn watch<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    let watchdog = &configuration.watchdog;
    if cpu.address != WATCHING
        || !watchdog.present
        || configuration.exit_code.get().is_some()
        || !watchdog.take_expired(|| hardware.clock())
    {
        return;
    }
    hardware.expired();
    // CPU 0 is the first thread of its core, and there is a program.
    let _ = load::load_normal(&mut Execution::general(cpu, configuration, hardware));
}
