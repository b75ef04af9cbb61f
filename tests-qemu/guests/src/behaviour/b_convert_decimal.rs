//! CONVERT TO BINARY and CONVERT TO DECIMAL of 64 bits, which older versions of QEMU lack and the machine performs then.

use guests::attempt::{Outcome, interrupted, suppressed};
use guests::check::check;
use guests::{attempt_on_registers, lowcore};

guests::clause!(
    "SA22-7832, CONVERT TO BINARY; CONVERT TO DECIMAL",
    native = false
);
guests::case!(run);

/// A packed number, and bytes around it that stay.
#[repr(C, align(16))]
struct Area([u128; 3]);

/// What R1 holds before.
const BEFORE: u64 = 0xAAAA_AAAA_BBBB_BBBB;

/// The largest values, and one more, as packed decimal digits with a sign.
const MOST_32: u128 = 0x2_1474_8364_7C;
const LEAST_32: u128 = 0x2_1474_8364_8D;
const BEYOND_32: u128 = 0x2_1474_8364_8C;
const MOST_64: u128 = 0x9223_3720_3685_4775_807C;
const LEAST_64: u128 = 0x9223_3720_3685_4775_808D;
const BEYOND_64: u128 = 0x9223_3720_3685_4775_808C;

/// Attempts an instruction whose operand is at general register 3 and whose result is in general register 2.
macro_rules! convert {
    ($text:literal, $at:expr) => {{
        let mut registers = [0, BEFORE, $at, 0, 0];
        let outcome = attempt_on_registers!($text, &mut registers);
        (ended(outcome), registers[1])
    }};
}

/// How an attempt ended; zero if it completed, with whatever condition code.
fn ended(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Completed(_) => 0,
        interrupted => interrupted.number(),
    }
}

/// Checks the outcome of an attempt and the register afterwards.
fn ends(name: &str, got: (u64, u64), expected: (u64, u64)) {
    check(name, got.0, expected.0);
    check("  R1", got.1, expected.1);
}

fn binary() {
    let of_32 = |packed: u128| {
        let operand = (packed as u64).to_be_bytes();
        let at = &raw const operand as u64;
        let short = convert!("cvb %r2, 0(%r3)", at);
        let long = convert!("cvby %r2, -4096(%r3)", at + 4096);
        // They differ in their length alone.
        check("  CVBY", long.1, short.1);
        check("  ends", long.0 & !0xFFFF, short.0 & !0xFFFF);
        short
    };
    let high = BEFORE & !0xFFFF_FFFF;
    for (packed, value) in [
        (0x2_5594C, 0x63FA),
        (0x2_5594F, 0x63FA),
        (0x2_5594A, 0x63FA),
        (0x1D, 0xFFFF_FFFF),
        (0x1B, 0xFFFF_FFFF),
        (0xC, 0),
        (0xD, 0),
        (MOST_32, 0x7FFF_FFFF),
        (LEAST_32, 0x8000_0000),
    ] {
        ends("CVB", of_32(packed), (0, high | value));
    }
    // Completed, with the rightmost bits, and the next instruction in the old PSW.
    for (packed, value) in [
        (BEYOND_32, 0x8000_0000),
        (0x9999_9999_9999_999C, 0xA4C6_7FFF),
    ] {
        ends(
            "CVB beyond",
            of_32(packed),
            (interrupted(9, 4, 4), high | value),
        );
    }
    for packed in [0, 0x19, 0xA000_0000_0000_000C, 0xAC] {
        lowcore::write(lowcore::DATA_EXCEPTION_CODE, 0xFFFF_FFFF_u32);
        ends("CVB data", of_32(packed), (suppressed(7, 4), BEFORE));
        check(
            "  code",
            lowcore::read::<u32>(lowcore::DATA_EXCEPTION_CODE),
            0,
        );
    }

    let of_64 = |packed: u128| {
        let operand = packed.to_be_bytes();
        convert!("cvbg %r2, 0(%r3)", &raw const operand as u64)
    };
    for (packed, value) in [
        (0x2_5594C, 0x63FA),
        (0x1D, u64::MAX),
        (0xC, 0),
        (BEYOND_32, 0x8000_0000),
        (MOST_64, i64::MAX as u64),
        (LEAST_64, i64::MIN as u64),
    ] {
        ends("CVBG", of_64(packed), (0, value));
    }
    for packed in [BEYOND_64, u128::MAX / 15 * 9 + 3] {
        ends("CVBG beyond", of_64(packed), (suppressed(9, 6), BEFORE));
    }
    // A number that has a digit which is none and is too large as well is an overflow to QEMU.
    for packed in [0, 0xA << 60 | 0xC, 0xFC] {
        ends("CVBG data", of_64(packed), (suppressed(7, 6), BEFORE));
    }
}

fn decimal() {
    for (value, packed) in [
        (0, 0xC),
        (25_594, 0x2_5594C),
        (u64::MAX, 0x1D),
        (i64::MAX as u64, MOST_64),
        (i64::MIN as u64, LEAST_64),
    ] {
        let mut area = Area([u128::MAX; 3]);
        let at = &raw mut area as u64 + 13;
        let mut registers = [0, value, at, 0, 0];
        let outcome = ended(attempt_on_registers!("cvdg %r2, 0(%r3)", &mut registers));
        // SAFETY: the area is still there, and only this attempt has stored into it.
        let bytes: [u8; 48] = unsafe { core::ptr::read_volatile((&raw const area).cast()) };
        let stored = bytes[13..29].try_into().map_or(0, u128::from_be_bytes);
        ends("CVDG", (outcome, registers[1]), (0, value));
        check("  stored", stored, packed);
        let around = bytes[..13].iter().chain(&bytes[29..]);
        check("  around", around.filter(|byte| **byte != 0xFF).count(), 0);
    }
}

fn run() {
    binary();
    decimal();
}
