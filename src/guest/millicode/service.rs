//! SERVICE CALL: the guest's access to the service element.
//!
//! The service-call control block (SCCB) is copied. So the machine below never sees an address of the
//! guest, and what it says of itself can be reduced to the guest's configuration. Events (the
//! console) are handled in the firmware: see [`super::sclp`].
//!
//! The service is complete when the instruction ends, so a run can be repeated exactly. The service
//! signal that reports the end is pending at once, for any CPU of the configuration that is enabled for it.

use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::Performed;
use crate::millicode::sclp::{self, Block, response};
use crate::state::access::Fault;
use crate::state::configuration::Configuration;
use crate::state::pending_work::PendingWork;
use crate::state::vcpu::{CpuState, HeldBy};
use crate::storage;
use arch::address::{Absolute, PAGE, PREFIX_AREA};
use arch::condition::ConditionCode;
use arch::control::CR0_SERVICE_SIGNAL;
use arch::interruption::ProgramInterruption;
use arch::psw::EXTERNAL;
use core::sync::atomic::Ordering;

/// The bits of a command word that select the command.
const COMMAND: u32 = 0xFFFF_00FF;
const READ_SCP_INFO: u32 = 0x0002_0001;
const READ_SCP_INFO_FORCED: u32 = 0x0012_0001;
/// Of storage element 0.
const READ_STORAGE_INFO: u32 = 0x0004_0001;
const READ_CPU_INFO: u32 = 0x0001_0001;
const READ_EVENT_DATA: u32 = 0x0077_0005;
const WRITE_EVENT_DATA: u32 = 0x0076_0005;
const WRITE_EVENT_MASK: u32 = 0x0078_0005;

/// The bits that an SCCB address may have: 31 bits, on a doubleword boundary.
const ADDRESS: u64 = 0x7FFF_FFF8;

/// The bit of a service signal's parameter that says that events are pending.
const EVENTS_PENDING: u32 = 1;

/// Input for the guest waits to be read: makes a service signal pending, if the guest takes it.
/// Returns whether it does.
pub fn announce_input(configuration: &Configuration) -> bool {
    let taken = sclp::takes_input(configuration);
    if taken {
        configuration
            .service_signal
            .fetch_or(EVENTS_PENDING, Ordering::SeqCst);
    }
    taken
}

/// SERVICE CALL: bits 32-63 of R1 are the command word, R2 the absolute address of the SCCB, whose
/// first halfword is its length. The response code goes to its bytes 6-7; a service-signal external
/// interruption with the address of the SCCB as parameter becomes pending.
///
/// Condition codes: 0, performed; 3, not operational. It is never busy (2): the service is complete
/// when the instruction ends, and a program that does not take its service signals (as QEMU allows)
/// can continue.
///
/// Program exceptions: privileged operation; addressing, when the SCCB is not in the configuration;
/// specification, when it is not a 31-bit address on a doubleword boundary, when the SCCB is in
/// absolute 0-1FFF or in the prefix area, or when its length is below 8. An SCCB that crosses a 4 KiB
/// boundary is no exception, but a response (0100).
///
/// Source: QEMU and Linux for the interface, which has no public description.
#[inline(never)]
pub(super) fn servc<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    run.supervisor()?;
    let command = run.register(r1) as u32;
    let at = checked(run, run.register(r2))?;
    let configuration = run.configuration;
    let mut block: Block = [0; PAGE as usize];
    let header = block.split_at_mut(sclp::HEADER).0;
    storage::fetch_absolute(configuration, run.hardware, at, header)?;
    let length = usize::from(sclp::halfword(&block, 0));
    if length < sclp::HEADER {
        return fault(ProgramInterruption::Specification);
    }
    if at.byte_index() + length as u64 > PAGE {
        sclp::respond(&mut block, response::BOUNDARY_VIOLATION);
        put(run, at, block.split_at(sclp::HEADER).0)?;
    } else {
        storage::fetch_absolute(
            configuration,
            run.hardware,
            at,
            block.split_at_mut(length).0,
        )?;
        let code = serve(run, command, length, &mut block);
        if code != ConditionCode::Zero {
            return run.done(code);
        }
        put(run, at, block.split_at(length).0)?;
    }
    // The address of the last call stays, next to an indication of pending events. What was typed
    // before the program asked for events is pending from then on.
    if run.hardware.console_waits() {
        announce_input(configuration);
    }
    let signal = &configuration.service_signal;
    signal.fetch_and(!(ADDRESS as u32), Ordering::AcqRel);
    signal.fetch_or(at.0 as u32, Ordering::AcqRel);
    run.cpu.pending_work |= PendingWork::ATTENTION;
    if run.cpu.psw.mask & EXTERNAL == 0 || run.cpu.control[0] & CR0_SERVICE_SIGNAL == 0 {
        tell_others(run);
    }
    run.done(ConditionCode::Zero)
}

/// A service signal is pending, and this CPU is not enabled for it: every other operating CPU looks whether it is.
/// One that waits would not look by itself.
fn tell_others<H: Hardware>(run: &mut Execution<'_, H>) {
    let mailboxes = (0..run.configuration.cpus).zip(&run.configuration.mailboxes);
    for (cpu, mailbox) in mailboxes {
        let operates = mailbox.state.load(Ordering::Acquire) == CpuState::Operating as u8;
        if cpu != run.cpu.address && operates {
            run.hardware.wake(cpu);
        }
    }
}

/// The address of the SCCB, tested.
fn checked<H: Hardware>(run: &Execution<'_, H>, at: u64) -> Result<Absolute, Fault> {
    let header = sclp::HEADER as u64;
    storage::checked_absolute(run.configuration, Absolute(at), header)?;
    let low = at < PREFIX_AREA || at.wrapping_sub(run.cpu.prefix) < PREFIX_AREA;
    if low || at & !ADDRESS != 0 {
        return fault(ProgramInterruption::Specification);
    }
    Ok(Absolute(at))
}

/// Stores the answer.
fn put<H: Hardware>(run: &mut Execution<'_, H>, at: Absolute, bytes: &[u8]) -> Result<(), Fault> {
    storage::put_absolute(run.configuration, run.hardware, at, bytes)
}

/// Performs a command on a copy of the SCCB, whose length has been tested.
fn serve<H: Hardware>(
    run: &mut Execution<'_, H>,
    command: u32,
    length: usize,
    block: &mut Block,
) -> ConditionCode {
    let configuration = run.configuration;
    let hardware = &mut *run.hardware;
    match command & COMMAND {
        READ_SCP_INFO | READ_SCP_INFO_FORCED => {
            let code = hardware.service_call(READ_SCP_INFO, block);
            if sclp::responded(block, response::NORMAL_READ) {
                sclp::limit_scp_info(configuration, length, block);
            }
            return code;
        }
        READ_CPU_INFO => {
            let code = hardware.service_call(READ_CPU_INFO, block);
            if sclp::responded(block, response::NORMAL_READ) {
                sclp::limit_cpu_info(configuration, length, block);
            }
            return code;
        }
        // The command mask leaves out the identification of a storage element.
        READ_STORAGE_INFO if configuration.storage.has_hole() && command == READ_STORAGE_INFO => {
            sclp::read_storage_info(configuration, length, block);
        }
        WRITE_EVENT_MASK => sclp::write_event_mask(configuration, length, block),
        WRITE_EVENT_DATA => {
            if sclp::write_event_data(configuration, hardware, length, block) {
                run.cpu.hold(HeldBy::Words);
            }
        }
        READ_EVENT_DATA => sclp::read_event_data(configuration, hardware, length, block),
        _ => sclp::respond(block, response::INVALID_COMMAND),
    }
    ConditionCode::Zero
}
