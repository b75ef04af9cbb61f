//! Fields, texts and lengths.

use proptest::prelude::*;

use super::padded;
use crate::instruction::TABLE;
use crate::*;

/// Instructions as GNU as assembles them (there MVCP's length register is in its first operand), except STCCTM,
/// RPCIT and PQAP, which it does not know and which follow their definitions.
#[rustfmt::skip]
const ASSEMBLED: &[(u64, &str)] = &[
    (0x80003010, "SSM 0x10(3)"),
    (0xACFCFFFF, "STNSM 0xfff(15),252"),
    (0xAD03F008, "STOSM 0x8(15),3"),
    (0xB2B20150, "LPSWE 0x150"),
    (0xEB0F2FF8FF2F, "LCTLG 0,15,-0x8(2)"),
    (0xEB11FFF87F25, "STCTG 1,1,0x7fff8(15)"),
    (0xB7004010, "LCTL 0,0,0x10(4)"),
    (0xAE120006, "SIGP 1,2,0x6"),
    (0x83120308, "DIAG 1,2,0x308"),
    (0xB2101010, "SPX 0x10(1)"),
    (0xB212F020, "STAP 0x20(15)"),
    (0xB1123010, "LRA 1,0x10(2,3)"),
    (0xE3123FFFFF03, "LRAG 1,-0x1(2,3)"),
    (0xB2213112, "IPTE 1,2,3,1"),
    (0xB98E2113, "IDTE 1,2,3,1"),
    (0xB98F4126, "CRDTE 2,4,6,1"),
    (0xB22B8012, "SSKE 1,2,8"),
    (0xB2800338, "LPP 0x338"),
    (0xB2843010, "LCCTL 0x10(3)"),
    (0xB2E40012, "ECCTR 1,2"),
    (0xB2E00034, "SCCTR 3,4"),
    (0xB28EF0A0, "QCTRI 0xa0(15)"),
    (0xB286F0A8, "QSI 0xa8(15)"),
    (0xB287F0B0, "LSCTL 0xb0(15)"),
    (0xB2B01000, "STFLE 0x0(1)"),
    (0xB98D0067, "EPSW 6,7"),
    (0xE50110102020, "TPROT 0x10(1),0x20(2)"),
    (0xB9280000, "PCKMO"),
    (0xC83010102020, "MVCOS 0x10(1),0x20(2),3"),
    (0xDA1420103020, "MVCP 1,0x10(2),0x20(3),4"),
    (0x44123010, "EX 1,0x10(2,3)"),
    (0xC650FFFFFF80, "EXRL 5,*-0x100"),
    (0x0A2A, "SVC 42"),
    (0xAF0B0001, "MC 0x1,11"),
    (0x0101, "PR"),
    (0x0104, "PTFF"),
    (0xB9294026, "KMA 2,4,6"),
    (0xB92D4026, "KMCTR 2,4,6"),
    (0xB9396024, "DFLTCC 2,4,6"),
    (0xEB009FF0FF71, "LPSWEY -0x10(9)"),
    (0xB2790300, "SACF 0x300"),
    (0xB2540012, "MVPG 1,2"),
    (0xB2300000, "CSCH"),
    (0xB2361010, "TPI 0x10(1)"),
    (0xEB123010000F, "TRACG 1,2,0x10(3)"),
    (0xB2FF1008, "TRAP4 0x8(1)"),
    (0xB2782010, "STCKE 0x10(2)"),
    (0xB22C0001, "TB 0,1"),
    (0xB2500023, "CSP 2,3"),
    (0xB2240050, "IAC 5"),
    (0xB93C0024, "PRNO 2,4"),
    (0xEB1330100017, "STCCTM 1,3,0x10(3)"),
    (0xB9D30024, "RPCIT 2,4"),
    (0xB2AF0000, "PQAP"),
];

/// The bytes of an instruction written as one number.
fn text(number: u64) -> [u8; 6] {
    let bytes = number.to_be_bytes();
    let first = [2, 4, 6]
        .into_iter()
        .map(|length| 8 - length)
        .rev()
        .find(|&first| number >> ((8 - first) * 8) == 0 && length(bytes[first]) == 8 - first);
    padded(&bytes[first.expect("a number of the length that its first bits give")..])
}

#[test]
fn bits_0_and_1_give_the_length() {
    for (first, expected) in [
        (0x01, 2),
        (0x3F, 2),
        (0x40, 4),
        (0x80, 4),
        (0xBF, 4),
        (0xC0, 6),
        (0xFF, 6),
    ] {
        assert_eq!(length(first), expected);
    }
}

#[test]
fn an_assembled_instruction_reads_as_it_was_written() {
    for &(number, expected) in ASSEMBLED {
        assert_eq!(decode(&text(number)).to_string(), expected);
    }
}

#[test]
fn a_long_displacement_is_signed_and_a_short_one_is_not() {
    let lowest = decode(&text(0xEB0F_F000_8025));
    assert_eq!(lowest.to_string(), "STCTG 0,15,-0x80000(15)");
    let highest = decode(&text(0xB2B2_FFFF));
    assert_eq!(
        highest,
        Instruction::Lpswe {
            second: Operand {
                index: 0,
                base: 15,
                displacement: 4095
            }
        }
    );
}

#[test]
fn register_0_adds_nothing_to_an_address() {
    let mut registers = [7; 16];
    registers[0] = 0xDEAD;
    registers[3] = u64::MAX;
    let operand = |index, base, displacement| Operand {
        index,
        base,
        displacement,
    };
    assert_eq!(operand(0, 0, 8).address(&registers), 8);
    assert_eq!(operand(3, 0, 8).address(&registers), 7);
    assert_eq!(operand(2, 3, -7).address(&registers), u64::MAX);
}

#[test]
fn execute_changes_the_second_byte_of_its_target_by_or() {
    let target = text(0x0A01);
    assert_eq!(
        decode(&modified_target(target, 1, &[0x42; 16])),
        Instruction::Svc { i: 0x43 }
    );
}

#[test]
fn what_the_firmware_has_no_routine_for_keeps_its_opcode() {
    assert_eq!(
        decode(&text(0xB904_0012)),
        Instruction::Other { opcode: 0xB904 }
    );
    assert_eq!(
        decode(&text(0xB9F3_0012)),
        Instruction::Unassigned { opcode: 0xB9F3 }
    );
    assert_eq!(decode(&text(0xB9F3_0012)).to_string(), "opcode B9F3");
    assert_eq!(decode(&[0; 6]), Instruction::Unassigned { opcode: 0 });
}

#[test]
fn every_instruction_in_the_table_is_found_and_no_two_share_a_mnemonic() {
    let mut mnemonics = std::collections::BTreeSet::new();
    for &(code, mnemonic) in TABLE {
        let [first, rest] = code.to_be_bytes();
        // One of the two places has the opcode; the other has an operand or is reserved.
        let text = match first {
            0xE3 | 0xEB => [first, 0, 0, 0, 0, rest],
            _ => [first, rest, 0, 0, 0, 0],
        };
        let instruction = decode(&text);
        assert_eq!(
            (instruction.opcode(), instruction.mnemonic()),
            (code, mnemonic)
        );
        assert!(instruction.to_string().starts_with(mnemonic));
        assert!(assigned(&text), "{mnemonic} is assigned");
        assert!(mnemonics.insert(mnemonic), "{mnemonic} twice");
    }
}

proptest! {
    #[test]
    fn any_text_decodes_and_only_an_assigned_one_to_an_instruction(text: [u8; 6]) {
        let instruction = decode(&text);
        let unassigned = matches!(instruction, Instruction::Unassigned { .. });
        prop_assert_eq!(assigned(&text), !unassigned);
        prop_assert!(!instruction.to_string().is_empty());
        prop_assert!(!instruction.title().is_empty());
        prop_assert_eq!(instruction.opcode() >> 8, u16::from(text[0]));
    }

    #[test]
    fn bytes_behind_an_instruction_do_not_change_it(text: [u8; 6], behind: [u8; 6]) {
        let length = length(text[0]);
        let mut other = behind;
        other[..length].copy_from_slice(&text[..length]);
        prop_assert_eq!(decode(&text), decode(&other));
        prop_assert_eq!(assigned(&text), assigned(&text[..length]));
    }
}
