//! What the machine below performs wrongly, found at IPL by trying it.
//!
//! What millicode can perform at no cost to other instructions is performed in its place. The rest is the guest's, and the log
//! says so. Each of these is mended in some version of QEMU; the host's `doctor` names it.

use super::calibrate::{OPERANDS, SEQUENCE, run};
use super::probe::probe;
use crate::arch::control::{CR0_AFP, CR0_VECTOR};
use crate::arch::facility::{FacilityList, VECTOR};
use crate::arch::interruption::ProgramInterruption as Exception;
use crate::arch::psw::{ADDRESSING_64, PROBLEM, Psw};
use crate::guest::hardware::Hardware;
use crate::guest::state::configuration::Quirks;
use crate::guest::storage::Piece;
use crate::machine::hardware::wait::with_cr0;
use crate::machine::native::Native;
use heapless::String;

/// Tries what some machine below performs wrongly, and logs what this one does.
pub fn find(
    native: &mut Native,
    storage: Piece,
    facilities: &FacilityList,
    is_strict: bool,
) -> Quirks {
    if is_strict && executes_at_odd_addresses(native, storage) {
        defmt::warn!(
            "the machine below executes at odd addresses, where a strict machine does not look: take a newer QEMU for a guest that attacks"
        );
    }
    let found = Quirks {
        ends_at_tests: may_end_at_tests(native, storage),
        multiplies_wrongly: multiplies_wrongly(native, storage),
    };
    let performed = [
        (found.ends_at_tests, "RNSBG, ROSBG and RXSBG with the T bit"),
        (found.multiplies_wrongly, "MDEB and MDEBR"),
    ];
    if let Some(names) = names(&performed) {
        defmt::info!(
            "performed in the place of the machine below: {=str}",
            names.as_str()
        );
    }
    let wrong = [
        (
            facilities.has(VECTOR) && sums_wrongly(native, storage),
            "VCKSM",
        ),
        (adds_wrongly(native, storage), "LARL at -4 GiB"),
        (
            fetches_off_boundary(native, storage),
            "LRL and LGRL off a boundary",
        ),
    ];
    if let Some(names) = names(&wrong) {
        defmt::warn!(
            "the machine below performs wrongly: {=str}; take a newer QEMU for a guest that needs it",
            names.as_str()
        );
    }
    found
}

/// The names of what was found, in one text that has room for all.
fn names(of: &[(bool, &str)]) -> Option<String<128>> {
    let mut text = String::new();
    for &(_, name) in of.iter().filter(|(is_found, _)| *is_found) {
        let before = if text.is_empty() { "" } else { "; " };
        let _ = text.push_str(before).and_then(|()| text.push_str(name));
    }
    (!text.is_empty()).then_some(text)
}

/// Runs a text that ends with SUPERVISOR CALL, with floating-point and vector registers. Whether it came to its end.
fn completes(native: &mut Native, storage: Piece, text: &[u8]) -> bool {
    with_cr0(CR0_AFP | CR0_VECTOR, || run(native, storage, 0, text, 0)).code == 0
}

/// Whether it executes what is at an odd branch address, as QEMU 7.2 does, instead of a specification exception.
fn executes_at_odd_addresses(native: &mut Native, storage: Piece) -> bool {
    let target = 0x801;
    native.store(storage.start(), &[0x07, 0xF1]);
    // A supervisor call.
    native.store(storage.at(target), &[0x0A, 0]);
    let mut registers = [0; 16];
    registers[1] = SEQUENCE + target;
    let psw = Psw {
        mask: PROBLEM | ADDRESSING_64,
        address: SEQUENCE,
    };
    probe(psw, &registers).code != Exception::Specification.code()
}

/// Whether it may end at a test of rotated bits ([`insn::split`](crate::insn::split)). Nothing may try one, so
/// this is known by another instruction that QEMU lacks at least as long: it has CONVERT TO BINARY (64) from 9.0 on, and is right
/// about the tests from 8.0 on. In between they are performed needlessly.
fn may_end_at_tests(native: &mut Native, storage: Piece) -> bool {
    let convert = [0xE3, 0x50, 0x10, 0, 0, 0x0E, 0x0A, 0];
    run(native, storage, 0, &convert, 0).code == Exception::Operation.code()
}

/// Whether it has wrong products of short BFP operands, as QEMU before 8.0.4 does: it takes the first operand for a long one.
fn multiplies_wrongly(native: &mut Native, storage: Piece) -> bool {
    const THREE: u64 = 0x4040_0000 << 32;
    const NINE: u64 = 0x4022 << 48;
    native.store_u64(storage.at(OPERANDS), THREE);
    #[rustfmt::skip]
    let text = [
        // LD 0,0(1); MDEBR 0,0; STD 0,8(1)
        0x68, 0, 0x10, 0, 0xB3, 0x0C, 0, 0, 0x60, 0, 0x10, 8,
        // LD 0,0(1); MDEB 0,0(1); STD 0,16(1)
        0x68, 0, 0x10, 0, 0xED, 0, 0x10, 0, 0, 0x0C, 0x60, 0, 0x10, 16,
        // LZDR 0
        0xB3, 0x75, 0, 0, 0x0A, 0,
    ];
    completes(native, storage, &text)
        && [8, 16]
            .into_iter()
            .any(|at| native.load_u64(storage.at(OPERANDS + at)) != NINE)
}

/// Whether VECTOR CHECKSUM has a wrong sum, as in QEMU 7.2.
fn sums_wrongly(native: &mut Native, storage: Piece) -> bool {
    // The sum of all words, and of the second one once more, with the carries added.
    native.store_u64(storage.at(OPERANDS), 0xFFFF_FFFF_FFFF_FFFF);
    native.store_u64(storage.at(OPERANDS + 8), 0x0000_0002_8000_0000);
    const SUM: u64 = 0x8000_0002;
    #[rustfmt::skip]
    let text = [
        // VL 0,0(1); VCKSM 0,0,0; VST 0,16(1); VGBM 0,0
        0xE7, 0, 0x10, 0, 0, 0x06, 0xE7, 0, 0, 0, 0, 0x66, 0xE7, 0, 0x10, 16, 0, 0x0E, 0xE7, 0, 0, 0, 0, 0x44,
        0x0A, 0,
    ];
    completes(native, storage, &text) && native.load_u64(storage.at(OPERANDS + 16)) != SUM
}

/// Whether LOAD ADDRESS RELATIVE LONG takes the distance of -4 GiB for zero, as QEMU before 8.0.4 does.
fn adds_wrongly(native: &mut Native, storage: Piece) -> bool {
    // LARL 5; STG 5,0(1)
    let text = [
        0xC0, 0x50, 0x80, 0, 0, 0, 0xE3, 0x50, 0x10, 0, 0, 0x24, 0x0A, 0,
    ];
    completes(native, storage, &text)
        && native.load_u64(storage.at(OPERANDS)) != SEQUENCE.wrapping_sub(4 << 30)
}

/// Whether LOAD RELATIVE LONG of a word or a doubleword fetches an operand that is on no boundary of its, as QEMU before 8.0
/// does, instead of a specification exception.
fn fetches_off_boundary(native: &mut Native, storage: Piece) -> bool {
    [0x5D, 0x58].into_iter().any(|opcode| {
        // Two bytes from here.
        let text = [0xC4, opcode, 0, 0, 0, 1, 0x0A, 0];
        completes(native, storage, &text)
    })
}
