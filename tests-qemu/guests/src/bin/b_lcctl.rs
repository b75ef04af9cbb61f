//! LOAD CPU-COUNTER-SET CONTROLS: every valid state transition, condition code 3 with nothing changed for
//! an invalid one, and a specification exception for bits that must be zero.
#![no_std]
#![no_main]

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::{check, holds};
use guests::insn::measurement::{controls, ecctr, lcctl, qctri, scctr, set};

guests::clause!(
    "SA23-2260, LOAD CPU-COUNTER-SET CONTROLS; State of Counter Set; State Transition",
    native = false
);
guests::guest!(run);

/// Enable and activation controls as one number.
fn state() -> u64 {
    let information = qctri();
    controls(information.enable, information.activation)
}

const DISABLED: u64 = 0;
const INACTIVE: u64 = controls(set::BASIC, 0);
const ACTIVE: u64 = controls(set::BASIC, set::BASIC);

fn run() {
    // Every pair of valid states, the same state included.
    for from in [DISABLED, INACTIVE, ACTIVE] {
        for to in [DISABLED, INACTIVE, ACTIVE] {
            lcctl(from);
            check("valid transition: condition code", lcctl(to), 0);
            check("  state", state(), to);
        }
    }
    // Invalid ones leave all sets alone.
    let both = controls(set::BASIC | set::PROBLEM_STATE, set::BASIC);
    for (name, wanted) in [
        ("activation without enablement", controls(0, set::BASIC)),
        (
            "one valid, one activation without enablement",
            controls(set::BASIC, set::BASIC | set::PROBLEM_STATE),
        ),
        (
            "the unauthorized crypto-activity set",
            controls(set::BASIC | set::CRYPTO, set::BASIC),
        ),
        (
            "the unauthorized extended set",
            controls(set::BASIC | set::EXTENDED, set::BASIC),
        ),
    ] {
        for before in [DISABLED, INACTIVE, ACTIVE, both] {
            lcctl(before);
            check(name, lcctl(wanted), 3);
            check("  state unchanged", state(), before);
        }
    }
    lcctl(both);
    for bit in (0..42).chain(48..58) {
        let operand = 1_u64 << (63 - bit);
        let outcome = attempt!(".insn s,0xb2840000,0({a})", a = in(reg_addr) &raw const operand);
        if outcome.number() != suppressed(6, 4) {
            check(
                "a bit that must be zero",
                (bit as u64) << 40 | outcome.number(),
                (bit as u64) << 40 | suppressed(6, 4),
            );
        }
    }
    if qctri().second_version >= 5 {
        for operand in [1_u64 << (63 - 43), 1 << (63 - 59)] {
            let outcome =
                attempt!(".insn s,0xb2840000,0({a})", a = in(reg_addr) &raw const operand);
            check(
                "bits 43 and 59 (second version 5 or more)",
                outcome.number(),
                suppressed(6, 4),
            );
        }
        let operand = controls(set::MT_DIAGNOSTIC | set::BASIC, set::MT_DIAGNOSTIC);
        check("bits 42 and 58 are ignored", lcctl(operand), 0);
        check("  state", state(), INACTIVE);
        lcctl(both);
    }
    check("after all exceptions the state is unchanged", state(), both);
    // What the states mean.
    check("enable", lcctl(INACTIVE), 0);
    check("SCCTR", scctr(1, 1000), 0);
    check("an inactive counter keeps its value", ecctr(1).1, 1000);
    check("an inactive counter does not count", ecctr(1).1, 1000);
    check("activate", lcctl(ACTIVE), 0);
    holds(
        "an active counter counts on from its value",
        ecctr(1).1 > 1000,
    );
    check("deactivate", lcctl(INACTIVE), 0);
    let value = ecctr(1).1;
    holds("the value remains", value > 1000 && ecctr(1).1 == value);
    check("disable", lcctl(DISABLED), 0);
    check("a disabled counter is not available", ecctr(1).0, 3);
    check("enable again", lcctl(INACTIVE), 0);
    check("disabling cleared it", ecctr(1).1, 0);
    lcctl(DISABLED);
    let far = 0x7000_0000_u64;
    check(
        "beyond storage",
        attempt!(".insn s,0xb2840000,0({a})", a = in(reg_addr) far).code(),
        5,
    );
}
