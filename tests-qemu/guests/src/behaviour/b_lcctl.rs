//! LOAD CPU-COUNTER-SET CONTROLS: every valid state transition, condition code 3 with nothing changed for
//! an invalid one, and a specification exception for bits that must be zero.

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::{check, holds};
use guests::insn::measurement::{controls, ecctr, lcctl, qctri, scctr, set};
use guests::shows;

guests::clause!(
    "SA23-2260, LOAD CPU-COUNTER-SET CONTROLS; State of Counter Set; State Transition",
    native = false
);
guests::case!(run);

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
            shows!("LCCTL-12", lcctl(to), 0);
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
            match name {
                "activation without enablement" => shows!("LCCTL-14", lcctl(wanted), 3),
                "one valid, one activation without enablement" => {
                    shows!("LCCTL-11", lcctl(wanted), 3)
                }
                _ => shows!(["LCCTL-13", "LCCTL-15"], lcctl(wanted), 3),
            }
            shows!(["LCCTL-11", "LCCTL-13"], state(), before);
        }
    }
    for (bits, set) in [
        (1_u64 << (63 - 45) | 1 << (63 - 61), set::PROBLEM_STATE),
        (1 << (63 - 46) | 1 << (63 - 62), set::BASIC),
    ] {
        lcctl(bits);
        let expected = (0, controls(set, set));
        if set == set::BASIC {
            shows!(["LCCTL-4", "LCCTL-1"], (lcctl(bits), state()), expected);
        } else {
            shows!(["LCCTL-3", "LCCTL-1"], (lcctl(bits), state()), expected);
        }
    }
    let bytes = [0_u8, 0, 0, 0, 0, 0, 2, 0, 0, 0];
    let odd = bytes.as_ptr() as u64 + 1;
    let outcome = attempt!(".insn s,0xb2840000,0({a})", a = in(reg_addr) odd);
    shows!("LCCTL-20", (outcome.number(), state()), (0, INACTIVE));
    lcctl(both);
    for bit in (0..42).chain(48..58) {
        let operand = 1_u64 << (63 - bit);
        let outcome = attempt!(".insn s,0xb2840000,0({a})", a = in(reg_addr) &raw const operand);
        shows!(
            "LCCTL-6",
            (bit as u64) << 40 | outcome.number(),
            (bit as u64) << 40 | suppressed(6, 4),
        );
    }
    if qctri().second_version >= 5 {
        for operand in [1_u64 << (63 - 43), 1 << (63 - 59)] {
            let outcome =
                attempt!(".insn s,0xb2840000,0({a})", a = in(reg_addr) &raw const operand);
            shows!("LCCTL-10", outcome.number(), suppressed(6, 4),);
        }
        let operand = controls(set::MT_DIAGNOSTIC | set::BASIC, set::MT_DIAGNOSTIC);
        shows!("LCCTL-7", lcctl(operand), 0);
        check("  state", state(), INACTIVE);
        lcctl(both);
    }
    shows!("LCCTL-6", state(), both);
    // The effect of the states.
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
    shows!("STATE-3", ecctr(1).0, 3);
    check("enable again", lcctl(INACTIVE), 0);
    shows!("CPUSET-1", ecctr(1).1, 0);
    lcctl(DISABLED);
    let far = 0x7000_0000_u64;
    shows!(
        "LCCTL-18",
        attempt!(".insn s,0xb2840000,0({a})", a = in(reg_addr) far).code(),
        5,
    );
}
