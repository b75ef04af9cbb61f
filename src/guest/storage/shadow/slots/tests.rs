//! Which instructions do not run in a slot.

use super::*;
use crate::storage::shadow;
use crate::test_machine::Bench;
use std::collections::BTreeMap;

/// Those that read the instruction address, or change it, or do both.
const BRANCHES: [u16; 44] = [
    0x0500, 0x0600, 0x0700, 0x0B00, 0x0C00, 0x0D00, 0x4500, 0x4600, 0x4700, 0x4D00, 0x8400, 0x8500,
    0x8600, 0x8700, 0xA704, 0xA705, 0xA706, 0xA707, 0xB946, 0xC004, 0xC005, 0xCC06, 0xE346, 0xE347,
    0xEB44, 0xEB45, 0xEC44, 0xEC45, 0xEC64, 0xEC65, 0xEC76, 0xEC77, 0xEC7C, 0xEC7D, 0xEC7E, 0xEC7F,
    0xECE4, 0xECE5, 0xECF6, 0xECF7, 0xECFC, 0xECFD, 0xECFE, 0xECFF,
];

/// Those that find an operand by the instruction address, and LOAD ADDRESS RELATIVE LONG.
const RELATIVE: [u16; 22] = [
    0xC000, 0xC402, 0xC404, 0xC405, 0xC406, 0xC407, 0xC408, 0xC40B, 0xC40C, 0xC40D, 0xC40E, 0xC40F,
    0xC604, 0xC605, 0xC606, 0xC607, 0xC608, 0xC60A, 0xC60C, 0xC60D, 0xC60E, 0xC60F,
];

/// Those that do not trap, and show the machine.
const SENSITIVE: [u16; 7] = [0xB98D, 0xB2B0, 0xE501, 0xB928, 0xB254, 0xB279, 0xB93C];

#[test]
fn of_all_operation_codes_just_these_do_not_run_in_a_slot() {
    let mut found = BTreeMap::new();
    for first in 0..=u8::MAX {
        for second in 0..=u8::MAX {
            for last in 0..=u8::MAX {
                let text = [first, second, 0, 0, 0, last];
                let opcode = insn::opcode(&text);
                let manner = manner(&text, Caught::ALWAYS);
                let before = *found.entry(opcode).or_insert(manner);
                assert_eq!(before, manner, "{opcode:04X} {text:02X?}");
            }
        }
    }
    for (opcode, manner) in found {
        let expected = match opcode {
            _ if BRANCHES.contains(&opcode) => Manner::Branch,
            _ if RELATIVE.contains(&opcode) => Manner::Relative,
            _ if SENSITIVE.contains(&opcode) => Manner::Sensitive,
            _ => Manner::InSlot,
        };
        assert_eq!(manner, expected, "{opcode:04X}");
    }
}

#[test]
fn what_replaces_an_instruction_has_its_length_and_is_none() {
    for length in [2, 4, 6] {
        let text = refused(length);
        assert_eq!(insn::length(text[0]), length);
        assert!(!insn::assigned(&text));
    }
}

#[test]
fn the_message_security_assist_leaves_its_slots_when_it_is_caught_and_returns_to_them() {
    const KM: [u8; 6] = [0xB9, 0x2E, 0, 0x24, 0, 0];
    for ends_at_tests in [false, true] {
        let mut bench = Bench::new();
        bench.configuration.quirks.ends_at_tests = ends_at_tests;
        shadow::build_identity(&bench.configuration, &mut bench.hardware);
        for (supplied, expected) in [
            (false, Manner::InSlot),
            (true, Manner::Sensitive),
            (false, Manner::InSlot),
        ] {
            bench.configuration.assist.supplied = supplied;
            let slot = find(&bench.cpu, &bench.configuration, &mut bench.hardware, &KM);
            assert_eq!(slot.manner, expected, "{ends_at_tests}");
        }
    }
}
