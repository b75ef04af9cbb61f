//! The identity of the CPU: its address, its identification and its facilities.

use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::{Outcome, Performed};
use crate::millicode::path::Path;
use crate::storage::{self, scanner};
use arch::address::Absolute;
use arch::bits::bit64;
use arch::condition::ConditionCode;
use arch::facility::FACILITY_DOUBLEWORDS;
use arch::interruption::ProgramInterruption;
use arch::lowcore;
use insn::Operand;

/// Bit 48 of the CPU identification: it is in format 1, which has no CPU address.
const FORMAT_1: u64 = bit64(48);
/// Bits 8-11 of the CPU identification: in format 0 the CPU address.
const IDENTIFIED_ADDRESS: u32 = 52;

/// STORE CPU ADDRESS: the CPU address is stored as a halfword at the second-operand address.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a halfword
/// boundary; access (store, operand 2).
///
/// Source: Principles of Operation, "STORE CPU ADDRESS".
#[inline(always)]
pub(super) fn stap<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    second: Operand,
) -> Performed<P::Refusal> {
    run.supervisor()?;
    let at = run.address(second);
    run.boundary(at, 2)?;
    run.put_u16(at, run.cpu.known_as)?;
    Ok(Outcome::Completed)
}

/// STORE CPU ID: version code, identification number, machine type and format are stored as a
/// doubleword at the second-operand address. In format 0 the leftmost digit of the identification
/// number is the CPU address.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a doubleword
/// boundary; access (store, operand 2).
///
/// Source: Principles of Operation, "STORE CPU ID".
pub(super) fn stidp<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    run.supervisor()?;
    let at = run.address(second);
    run.boundary(at, 8)?;
    let mut identification = run.configuration.cpu_id;
    if identification & FORMAT_1 == 0 {
        let digit = u64::from(run.cpu.known_as & 15) << IDENTIFIED_ADDRESS;
        identification = identification & !(15 << IDENTIFIED_ADDRESS) | digit;
    }
    run.put_u64(at, identification)?;
    Ok(Outcome::Completed)
}

/// STORE FACILITY LIST: the first 32 facility bits are stored at real location 200 (C8). Neither
/// key-controlled nor low-address protection applies; the second-operand address is ignored.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation.
///
/// Source: Principles of Operation, "STORE FACILITY LIST".
#[inline(always)]
pub(super) fn stfl<H: Hardware, P: Path>(run: &mut Execution<'_, H, P>) -> Performed<P::Refusal> {
    run.supervisor()?;
    let [first, ..] = run.configuration.facilities.0;
    let Some(area) = storage::prefix_area(run.cpu, run.configuration, run.hardware) else {
        return fault(ProgramInterruption::Addressing);
    };
    scanner::store_into(run.configuration, run.hardware, Absolute(run.cpu.prefix));
    let at = area.at(lowcore::FACILITY_LIST);
    run.hardware.store_u32(at, (first >> 32) as u32);
    Ok(Outcome::Completed)
}

/// STORE FACILITY LIST EXTENDED: bits 56-63 of general register 0 are one less than the number of
/// doublewords that the program has room for. As much of the list as there is room for is stored at
/// the second-operand address, and bits 56-63 of general register 0 become one less than the number
/// of doublewords in the list.
///
/// It is not privileged and does not trap below; the scanner makes it trap, because the guest's
/// facilities are not the hardware's.
///
/// Condition codes: 0, the whole list is stored; 3, a part of it.
///
/// Program exceptions: specification, when the operand is not on a doubleword boundary; access
/// (store, operand 2).
///
/// Source: Principles of Operation, "STORE FACILITY LIST EXTENDED".
pub(super) fn stfle<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    let at = run.address(second);
    run.boundary(at, 8)?;
    let list = &run.configuration.facilities;
    let needed = list.doublewords();
    let room = usize::from(run.register(0) as u8) + 1;
    let mut bytes = [0; FACILITY_DOUBLEWORDS * 8];
    for (to, doubleword) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(list.0) {
        *to = doubleword.to_be_bytes();
    }
    let stored = bytes.split_at(needed.min(room) * 8).0;
    run.put(at, stored)?;
    run.set_register(0, run.register(0) & !0xFF | (needed as u64 - 1));
    run.done(if room < needed {
        ConditionCode::Three
    } else {
        ConditionCode::Zero
    })
}
