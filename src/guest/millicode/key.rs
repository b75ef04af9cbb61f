//! Storage keys: set, inserted, reset, by 4 KiB block.
//!
//! The machine below keeps a key for each block of storage. The guest's keys are those of the same absolute blocks.
//! What is accessed for an instruction of this room is tested by them ([`crate::storage`]).

use crate::hardware::Hardware;
use crate::millicode::execution::Execution;
use crate::millicode::outcome::{Outcome, Performed};
use crate::millicode::space::extract;
use crate::state::access::{Access, Fault, Space};
use crate::storage::{self, Checked, dat};
use arch::address::{PAGE, Real, Virtual};
use arch::condition::ConditionCode;
use arch::control::CR0_LOW_ADDRESS_PROTECTION;
use core::sync::atomic::Ordering;

/// The block that register R2 designates by real address.
fn block<H: Hardware>(run: &Execution<'_, H>, r2: u8) -> Result<Checked, Fault> {
    run.supervisor()?;
    let real = Real(run.address_in(r2)).page();
    storage::checked_absolute(run.configuration, run.cpu.absolute(real), PAGE)
}

/// SET STORAGE KEY EXTENDED: bits 56-62 of R1 become the key of the block whose real address is in
/// R2. The conditional and multiple-block forms are not installed: the M3 field is ignored.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; addressing.
///
/// Source: Principles of Operation, "SET STORAGE KEY EXTENDED".
pub(super) fn sske<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    let at = block(run, r2)?;
    let key = run.register(r1) as u8 & 0xFE;
    run.configuration
        .keys_were_set
        .store(true, Ordering::Relaxed);
    run.hardware.set_storage_key(at, key);
    Ok(Outcome::Completed)
}

/// INSERT STORAGE KEY EXTENDED: the key of the block whose real address is in R2 goes to bits 56-62
/// of R1, a zero to bit 63; bits 0-55 stay.
///
/// Condition code: unchanged. Program exceptions: privileged operation; addressing.
///
/// Source: Principles of Operation, "INSERT STORAGE KEY EXTENDED".
pub(super) fn iske<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    let at = block(run, r2)?;
    let key = u64::from(run.hardware.storage_key(at) & 0xFE);
    run.set_register(r1, run.register(r1) & !0xFF | key);
    Ok(Outcome::Completed)
}

/// RESET REFERENCE BIT EXTENDED: the reference bit of the block whose real address is in R2 becomes
/// zero; R1 is ignored.
///
/// Condition codes: the reference and change bits before: 0, both zero; 1, change one; 2, reference
/// one; 3, both one.
///
/// Program exceptions: privileged operation; addressing.
///
/// Source: Principles of Operation, "RESET REFERENCE BIT EXTENDED".
pub(super) fn rrbe<H: Hardware>(run: &mut Execution<'_, H>, r2: u8) -> Performed {
    let at = block(run, r2)?;
    let code = run.hardware.reset_reference(at);
    run.done(code)
}

/// INSERT VIRTUAL STORAGE KEY: access-control and fetch-protection bits of the key of the block
/// whose virtual address is in R2 go to bits 56-60 of R1, zeros to bits 61-63; bits 0-55 stay.
///
/// Condition code: unchanged.
///
/// Program exceptions: special operation, when DAT is off; privileged operation, in the problem state when the
/// extraction-authority control is zero; access (operand 2, protection excepted).
///
/// Source: Principles of Operation, "INSERT VIRTUAL STORAGE KEY".
pub(super) fn ivsk<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    extract(run)?;
    let space = run.operand_space();
    let (cpu, at) = (&*run.cpu, Virtual(run.address_in(r2)));
    let (asce, access) = (space.asce(cpu), Access::Fetch);
    let found = dat::translate(
        cpu,
        run.configuration,
        run.hardware,
        asce,
        space,
        at,
        access,
    )?;
    let real = found.real.page();
    let at = storage::checked_absolute(run.configuration, cpu.absolute(real), PAGE)?;
    let key = u64::from(run.hardware.storage_key(at) & 0xF8);
    run.set_register(r1, run.register(r1) & !0xFF | key);
    Ok(Outcome::Completed)
}

/// TEST BLOCK: the block whose real address is in R2 is cleared and found usable; general register 0
/// becomes zero. R1 is ignored.
///
/// Condition code: 0, the block is usable (1, unusable, does not occur).
///
/// Program exceptions: privileged operation; protection, when low-address protection covers the
/// block (blocks 0 and 1 while bit 35 of control register 0 is one); addressing.
///
/// Source: Principles of Operation, "TEST BLOCK".
pub(super) fn tb<H: Hardware>(run: &mut Execution<'_, H>, r2: u8) -> Performed {
    run.supervisor()?;
    let real = Real(run.address_in(r2)).page();
    if real.0 <= PAGE && run.cpu.control[0] & CR0_LOW_ADDRESS_PROTECTION != 0 {
        return Err(Fault::low_address_protection(
            Virtual(real.0),
            Space::Primary,
        ));
    }
    let at = storage::checked_absolute(run.configuration, run.cpu.absolute(real), PAGE)?;
    let at = at.absolute();
    for part in 0..PAGE / 256 {
        storage::put_absolute(
            run.configuration,
            run.hardware,
            at.offset(part * 256),
            &[0; 256],
        )?;
    }
    run.set_register(0, 0);
    run.done(ConditionCode::Zero)
}
