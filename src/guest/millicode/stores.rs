//! Ordinary stores, which the hardware may not make into a protected page.
//!
//! All of an operand is tested before any of it is stored. A number on its boundary is stored at once, as other CPUs
//! observe it.

use crate::hardware::Hardware;
use crate::millicode::characters;
use crate::millicode::execution::Execution;
use crate::millicode::outcome::{Outcome, Performed};
use crate::state::access::Access;
use crate::storage;
use arch::address::Virtual;
use insn::store::{Place, Store, What};

/// The bytes of sixteen registers.
const ALL_REGISTERS: usize = 128;

/// Performs a store at a logical address; [`Outcome::Unknown`] if it takes the firmware longer than the hardware.
///
/// Program exceptions: access (fetch, operand 2; store, operand 1).
///
/// Source: Principles of Operation, "STORE", "STORE MULTIPLE", "MOVE", "EXCLUSIVE OR".
pub(super) fn store<H: Hardware>(
    run: &mut Execution<'_, H>,
    store: &Store,
    at: Virtual,
) -> Performed {
    match (store.what, store.place) {
        (What::Register(r1), _) => number(run, at, store.width, run.register(r1)),
        (What::Immediate(value), _) => number(run, at, store.width, value),
        (What::Registers(r1, r3), _) => several(run, at, store.width, r1, r3),
        (What::Second(second), Place::Operand(first)) if is_short(store) => {
            characters::mvc(run, last(store), first, second)
        }
        (What::ExclusiveOr(second), Place::Operand(first)) if is_short(store) => {
            characters::xc(run, last(store), first, second)
        }
        _ => Ok(Outcome::Unknown),
    }
}

/// The length code of an operand of characters.
const fn last(store: &Store) -> u8 {
    (store.width - 1) as u8
}

const fn is_short(store: &Store) -> bool {
    characters::is_short(last(store))
}

/// Stores the rightmost bytes of a value.
#[inline]
fn number<H: Hardware>(
    run: &mut Execution<'_, H>,
    at: Virtual,
    width: u16,
    value: u64,
) -> Performed {
    // While the instruction is watched, its operand is noted.
    if !run.cpu.per.watching
        && let Some(frame) =
            storage::kept_frame(run.cpu, run.configuration, at, width.into(), Access::Store)
    {
        let place = frame.at(at);
        match width {
            1 => run.hardware.store_u8(place, value as u8),
            2 => run.hardware.store_u16(place, value as u16),
            4 => run.hardware.store_u32(place, value as u32),
            _ => run.hardware.store_u64(place, value),
        }
        return Ok(Outcome::Completed);
    }
    match width {
        1 => run.put_u8(at, value as u8)?,
        2 => run.put_u16(at, value as u16)?,
        4 => run.put_u32(at, value as u32)?,
        _ => run.put_u64(at, value)?,
    }
    Ok(Outcome::Completed)
}

/// Stores the registers from R1 to R3, which wrap from 15 to 0.
fn several<H: Hardware>(
    run: &mut Execution<'_, H>,
    at: Virtual,
    width: u16,
    r1: u8,
    r3: u8,
) -> Performed {
    let numbers = 0..=(r3.wrapping_sub(r1) & 15);
    let width = usize::from(width);
    let length = numbers.len() * width;
    let claim = run.claim(at, length as u64, Access::Store)?;
    let general = run.cpu.general;
    let values = numbers.map(|number| general[usize::from(r1.wrapping_add(number) & 15)]);
    if width == 8 && at.0.is_multiple_of(8) {
        claim.store_doublewords(run.configuration, run.hardware, values);
    } else if width == 4 && at.0.is_multiple_of(4) && claim.second.length() == 0 {
        claim.store_words(
            run.configuration,
            run.hardware,
            values.map(|value| value as u32),
        );
    } else {
        let mut bytes = [0; ALL_REGISTERS];
        for (into, value) in bytes.chunks_exact_mut(width).zip(values) {
            let bytes = value.to_be_bytes();
            // The rightmost ones.
            into.iter_mut()
                .rev()
                .zip(bytes.iter().rev())
                .for_each(|(into, &byte)| *into = byte);
        }
        if let Some(bytes) = bytes.get(..length) {
            claim.store(run.configuration, run.hardware, bytes);
        }
    }
    Ok(Outcome::Completed)
}
