//! Key-controlled protection on the test machine.

use crate::state::access::{Access, AccessKey, Fault, Manner, Space};
use crate::storage::{Claim, locate, resolve};
use crate::test_machine::Bench;
use arch::address::{PAGE, Virtual};
use arch::bits::bit64;
use arch::control::asce::{PRIVATE_SPACE, REAL_SPACE};
use arch::interruption::ProgramInterruption;
use arch::psw::DAT;
use core::sync::atomic::Ordering;

/// The block that the tests access.
const BLOCK: u64 = 0x5000;
const FETCH_OVERRIDE: u64 = bit64(38);
const STORAGE_OVERRIDE: u64 = bit64(39);

/// A bench of which one block has a key.
fn with_key(block: u64, key: u8) -> Bench {
    let mut bench = Bench::new();
    set_key(&mut bench, block, key);
    bench
}

fn set_key(bench: &mut Bench, block: u64, key: u8) {
    let were_set = &bench.configuration.keys_were_set;
    were_set.store(true, Ordering::Relaxed);
    bench.hardware.keys[(block / PAGE) as usize] = key;
}

/// Gives the PSW a key.
fn set_psw_key(bench: &mut Bench, key: u8) {
    bench.cpu.psw.mask |= u64::from(key) << 52;
}

/// Accesses bytes with a key, by real address or in a space.
fn access(
    bench: &Bench,
    space: Option<Space>,
    key: u8,
    (at, length): (u64, u64),
    access: Access,
) -> Result<Claim, Fault> {
    let Bench {
        cpu,
        configuration,
        hardware,
    } = bench;
    let manner = Manner {
        space,
        access,
        key: AccessKey::new(key),
    };
    locate(cpu, configuration, hardware, manner, Virtual(at), length)
}

/// Accesses bytes with the key of the PSW.
fn logical(bench: &Bench, at: u64, length: u64, access: Access) -> Result<Claim, Fault> {
    let Bench {
        cpu,
        configuration,
        hardware,
    } = bench;
    resolve(cpu, configuration, hardware, Virtual(at), length, access)
}

#[test]
fn an_access_needs_key_zero_or_the_key_of_the_block_and_a_fetch_only_if_it_is_fetch_protected() {
    for controls in [0, STORAGE_OVERRIDE] {
        for storage in (0..=0xFF).step_by(2) {
            let mut bench = with_key(BLOCK, storage);
            bench.cpu.control[0] = controls;
            for key in 0..16 {
                let matches = key == 0 || key == storage >> 4;
                let overridden = controls != 0 && storage >> 4 == 9;
                let stores = matches || overridden;
                let fetches = stores || storage & 8 == 0;
                let of = |kind| access(&bench, None, key, (BLOCK, 8), kind).is_ok();
                assert_eq!(of(Access::Store), stores, "{key:X} {storage:02X}");
                assert_eq!(of(Access::Fetch), fetches, "{key:X} {storage:02X}");
            }
        }
    }
}

#[test]
fn until_a_key_is_set_every_block_has_key_zero() {
    let mut bench = Bench::new();
    // What the machine below has there is not read.
    bench.hardware.keys[(BLOCK / PAGE) as usize] = 0x38;
    let of = |key, kind| access(&bench, None, key, (BLOCK, 8), kind).is_ok();
    assert!(of(0, Access::Store) && of(3, Access::Fetch) && of(5, Access::Fetch));
    assert!(!of(3, Access::Store) && !of(5, Access::Store));
}

#[test]
fn the_identification_tells_the_page_the_kind_of_access_and_the_protection() {
    let mut bench = with_key(BLOCK, 0x38);
    set_psw_key(&mut bench, 5);
    let fault = logical(&bench, BLOCK + 0x123, 1, Access::Fetch).unwrap_err();
    assert_eq!(fault.interruption, ProgramInterruption::Protection);
    assert_eq!(fault.identification, BLOCK | 0x808);
    let fault = logical(&bench, BLOCK - 4, 8, Access::Store).unwrap_err();
    assert_eq!(fault.identification, 0x4000 | 0x408);
    set_key(&mut bench, BLOCK - PAGE, 0x50);
    let fault = logical(&bench, BLOCK - 4, 8, Access::Store).unwrap_err();
    assert_eq!(fault.identification, BLOCK | 0x408);
}

#[test]
fn fetch_protection_override_covers_the_first_2048_bytes_of_a_space_that_is_not_private() {
    let mut bench = with_key(0, 0x38);
    let fetch = |bench: &Bench, space, at, length| {
        access(bench, space, 5, (at, length), Access::Fetch).is_ok()
    };
    assert!(!fetch(&bench, None, 0, 8));
    bench.cpu.control[0] |= FETCH_OVERRIDE;
    assert!(fetch(&bench, None, 0, 8) && fetch(&bench, None, 0x7F8, 8));
    assert!(!fetch(&bench, None, 0x7F9, 8) && !fetch(&bench, None, 0x800, 1));
    assert!(access(&bench, None, 5, (0, 8), Access::Store).is_err());
    bench.cpu.psw.mask |= DAT;
    bench.cpu.control[1] = REAL_SPACE;
    bench.cpu.control[7] = REAL_SPACE | PRIVATE_SPACE;
    assert!(fetch(&bench, Some(Space::Primary), 0, 8));
    assert!(!fetch(&bench, Some(Space::Secondary), 0, 8));
}

#[test]
fn what_was_accessed_with_key_zero_is_tested_for_another_key() {
    let mut bench = with_key(BLOCK, 0x38);
    for kind in [Access::Fetch, Access::Store] {
        assert!(logical(&bench, BLOCK, 8, kind).is_ok());
    }
    set_psw_key(&mut bench, 5);
    for kind in [Access::Fetch, Access::Store] {
        assert!(logical(&bench, BLOCK, 8, kind).is_err());
    }
    // And one that was permitted is tested again, because the key of the block can change.
    set_key(&mut bench, BLOCK, 0x58);
    assert!(logical(&bench, BLOCK, 8, Access::Store).is_ok());
    set_key(&mut bench, BLOCK, 0x38);
    assert!(logical(&bench, BLOCK, 8, Access::Store).is_err());
}

#[test]
fn low_address_protection_and_addressing_come_before_the_key() {
    let mut bench = with_key(0, 0x38);
    bench.cpu.control[0] |= bit64(35);
    set_psw_key(&mut bench, 5);
    let fault = logical(&bench, 0x180, 8, Access::Store).unwrap_err();
    assert_eq!(fault.identification, 0x480);
    let beyond = bench.configuration.storage.end();
    let fault = logical(&bench, beyond, 8, Access::Store).unwrap_err();
    assert_eq!(fault.interruption, ProgramInterruption::Addressing);
}

#[test]
fn instructions_are_fetched_without_a_key() {
    let mut bench = with_key(BLOCK, 0x38);
    set_psw_key(&mut bench, 5);
    assert!(logical(&bench, BLOCK, 6, Access::Execute).is_ok());
}
