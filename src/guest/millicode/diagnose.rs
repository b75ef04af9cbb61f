//! DIAGNOSE: what the machine below offers a control program in addition to the architecture.
//!
//! Two codes give up the CPU for a while: 44 voluntarily, and 9C in favour of another CPU, which has the next turn if
//! it has anything to do. Both are accepted. A program that waits for another CPU issues them instead of spinning, and
//! with one clock for all CPUs spinning wastes everybody's time.
//!
//! Code 500 tells a virtio device of the machine below that there is something in a queue for it.
//!
//! Code 308 resets the configuration ([`super::load`]), and code 288 is the watchdog ([`super::watchdog`]).
//!
//! Codes 700 and 701 are the machine's own. With 700 a program profiles the machine that it runs in, as HISSERV allows.
//! With 701 it ends, and names the exit code of the run.
//!
//! Codes that only hypervisors offer (204, 258 and 260) are specification exceptions, as on QEMU.

use crate::channel::virtio::attention;
use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::{Outcome, Performed};
use crate::millicode::{load, orders, watchdog};
use crate::state::pending_work::PendingWork;
use crate::state::schedule::POLL;
use crate::storage;
use arch::address::Absolute;
use arch::interruption::ProgramInterruption;
use core::sync::atomic::Ordering;
use insn::Operand;
use link::service::{Function, LONGEST_ANSWER, Request};
use zerocopy::IntoBytes;

/// Voluntary time-slice end.
const TIME_SLICE_END: u16 = 0x44;
/// Voluntary time-slice end in favour of the CPU whose address is in R1.
const TIME_SLICE_END_DIRECTED: u16 = 0x9C;

/// The watchdog.
const WATCHDOG: u16 = 0x288;
/// Reset and load.
const LOAD: u16 = 0x308;
/// Calls of a hypervisor.
const HYPERVISOR: u16 = 0x500;
/// Requests of a profiler.
const SERVICE: u16 = 0x700;
/// End of the guest with an exit code.
const END: u16 = 0x701;
/// Function of code 500: there is something in a queue for a virtio device.
const NOTIFICATION: u64 = 3;

/// DIAGNOSE: bits 48-63 of the second-operand address are the function code.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, for a function that is not offered.
///
/// Source: the interface between Linux and its hypervisors, "DIAGNOSE function codes".
pub(super) fn diag<H: Hardware>(
    run: &mut Execution<'_, H>,
    r1: u8,
    r3: u8,
    second: Operand,
) -> Performed {
    run.supervisor()?;
    match run.address(second).0 as u16 {
        TIME_SLICE_END => Ok(Outcome::Yield),
        TIME_SLICE_END_DIRECTED => {
            favour(run, r1);
            Ok(Outcome::Yield)
        }
        LOAD => load::control(run, r1, r3),
        WATCHDOG => watchdog::control(run, r1, r3),
        SERVICE => service(run),
        END => end(run, r1),
        HYPERVISOR if run.configuration.channels.present() => notify(run),
        _ => fault(ProgramInterruption::Specification),
    }
}

/// DIAGNOSE 9C: the CPU whose address is in bits 48-63 of R1 has the next turn. If there is no such CPU, or it is this
/// one, no CPU is favoured.
fn favour<H: Hardware>(run: &mut Execution<'_, H>, r1: u8) {
    let address = run.register(r1) as u16;
    let target = run.configuration.cpu_at(address);
    let number = target.map_or(0, |target| target + 1);
    run.configuration.favoured.store(number, Ordering::Relaxed);
}

/// DIAGNOSE 500: register 1 is the function. For the virtio notification, registers 2 to 4 are the subsystem
/// identification, the queue and a cookie; the new cookie or a negative number goes to register 2.
///
/// Program exceptions: specification, for any other function, and when there is no device.
fn notify<H: Hardware>(run: &mut Execution<'_, H>) -> Performed {
    if run.register(1) != NOTIFICATION {
        return fault(ProgramInterruption::Specification);
    }
    let operands = [2, 3, 4].map(|n| run.register(n));
    let answer = attention::notify(run.configuration, run.hardware, operands);
    run.set_register(2, answer);
    if run.configuration.channels.polls.load(Ordering::Relaxed) {
        let soon = run.cpu.account.total() + POLL;
        run.cpu.sampling.turn = run.cpu.sampling.turn.min(soon);
        run.cpu.pending_work |= PendingWork::CLOCK;
    }
    Ok(Outcome::Completed)
}

/// DIAGNOSE 700: general register 2 has the absolute address of a [`Request`] of 64 bytes on a 64-byte boundary, which
/// is performed for the guest: START without samples (SAMPLE=NO), STOP and QUERY. An answer is stored at the absolute
/// address in the request, for at most its length and at most [`LONGEST_ANSWER`] bytes; to get all of a longer answer,
/// query by CPU. Afterwards the request holds the result, and bits 32-63 of general register 0 the reason code
/// (`Reason` of the crate `his`).
///
/// A reset of the guest removes its profilers. Neither keys nor low-address protection apply.
///
/// Condition code: a quarter of the return code. 0, done; 1, done with something to note; 2, the request is wrong; 3,
/// it cannot be done now.
///
/// Program exceptions: specification, when the request is not on a 64-byte boundary; addressing, when it or the
/// answer area is not available.
fn service<H: Hardware>(run: &mut Execution<'_, H>) -> Performed {
    let at = Absolute(run.register(2));
    if !at.0.is_multiple_of(size_of::<Request>() as u64) {
        return fault(ProgramInterruption::Specification);
    }
    let mut request = Request::default();
    storage::fetch_absolute(run.configuration, run.hardware, at, request.as_mut_bytes())?;
    let length = u64::from(request.length.get()).min(LONGEST_ANSWER as u64);
    if request.function.get() == Function::Query as u32 && length != 0 {
        let area = Absolute(request.area.get());
        storage::checked_absolute(run.configuration, area, length)?;
    }
    Ok(Outcome::Service)
}

/// DIAGNOSE 701: bits 32-63 of R1 are an exit code from 0 to 255. All CPUs of the guest stop, and the guest has ended
/// with this code: 0 is a success. If CPUs name several, the first one counts. Bits 0-31 of R1, and R3, are ignored.
///
/// A program in the problem state cannot issue it, and one in the supervisor state can also stop all its CPUs by SIGNAL
/// PROCESSOR.
///
/// Condition code: unchanged; no instruction follows that could test it.
///
/// Program exceptions: privileged operation; specification, when the code is above 255.
fn end<H: Hardware>(run: &mut Execution<'_, H>, r1: u8) -> Performed {
    let Ok(code) = u8::try_from(run.register(r1) as u32) else {
        return fault(ProgramInterruption::Specification);
    };
    orders::end_guest(run, code);
    Ok(Outcome::Completed)
}
