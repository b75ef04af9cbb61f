//! Key-controlled protection: the storage key of a block and the key of an access to it.
//!
//! Every 4 KiB block of absolute storage has a storage key: four access-control bits and the fetch-protection bit. An
//! access is permitted if its key is zero or equals the access-control bits; a fetch also if the block is not
//! fetch-protected. Two controls in control register 0 override this: fetch-protection override for fetches from
//! effective addresses 0-2047 of a space that is not private, storage-protection override for all accesses to blocks
//! whose access-control bits are 9.
//!
//! The guest's keys are those of the machine below, which does not test them.

use crate::hardware::Hardware;
use crate::state::access::{Access, Fault, Manner, Space};
use crate::state::configuration::Configuration;
use crate::state::vcpu::Vcpu;
use crate::storage::Piece;
use arch::address::Virtual;
use arch::control::{
    CR0_FETCH_PROTECTION_OVERRIDE, CR0_STORAGE_PROTECTION_OVERRIDE, asce::PRIVATE_SPACE,
};
use core::sync::atomic::Ordering;

/// The fetch-protection bit of a storage key.
const FETCH_PROTECTION: u8 = 0x08;
/// The access-control bits for which storage-protection override permits everything.
const OVERRIDDEN: u8 = 9;
/// The bytes at the beginning of a space that fetch-protection override covers.
const OVERRIDDEN_BYTES: u64 = 2048;

/// Tests an access to bytes of one block, at effective address `at`, with a key other than zero.
///
/// # Errors
/// Protection.
#[cold]
#[inline(never)]
pub(super) fn test<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    manner: Manner,
    at: Virtual,
    piece: Piece,
) -> Result<(), Fault> {
    // To read a key makes the machine below keep them, which costs. There is none to read before one was set.
    let key = if configuration.keys_were_set.load(Ordering::Relaxed) {
        hardware.storage_key(piece.start())
    } else {
        0
    };
    let control = key >> 4;
    let matches = manner.key.number() == control;
    let fetched = manner.access != Access::Store
        && (key & FETCH_PROTECTION == 0 || fetch_is_overridden(cpu, manner.space, at, piece));
    let overridden = control == OVERRIDDEN && cpu.control[0] & CR0_STORAGE_PROTECTION_OVERRIDE != 0;
    if matches || fetched || overridden {
        return Ok(());
    }
    let space = manner.space.unwrap_or(Space::Primary);
    Err(Fault::key_controlled_protection(at, manner.access, space))
}

/// Whether fetch-protection override applies to all of these bytes. A real address is not in a private space.
fn fetch_is_overridden(cpu: &Vcpu, space: Option<Space>, at: Virtual, piece: Piece) -> bool {
    let private = space.is_some_and(|space| space.asce(cpu) & PRIVATE_SPACE != 0);
    let inside = OVERRIDDEN_BYTES.checked_sub(at.0);
    cpu.control[0] & CR0_FETCH_PROTECTION_OVERRIDE != 0
        && !private
        && inside.is_some_and(|inside| piece.length() <= inside)
}

#[cfg(test)]
mod tests;
