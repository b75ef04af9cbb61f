//! The opcode maps, against instructions that were assembled by name.

use crate::executed::may_become_sensitive;
use crate::opcodes::opcode;
use crate::sensitive::{Caught, differing, is_caught, replace};
use crate::{assigned, length};

/// One instruction of about every kind and column, as GNU as assembles it, with the name in its disassembly.
#[rustfmt::skip]
const ASSEMBLED: &[(&str, u64)] = &[
    ("BALR", 0x05E0),
    ("MVCL", 0x0E24),
    ("LR", 0x1812),
    ("ADR", 0x2A02),
    ("LA", 0x41123008),
    ("BE", 0x47801000),
    ("LAE", 0x51102000),
    ("ST", 0x50102000),
    ("STE", 0x70002000),
    ("MS", 0x71102000),
    ("BRXH", 0x84130004),
    ("SRDA", 0x8E200004),
    ("LAM", 0x9A012000),
    ("CS", 0xBA123000),
    ("ICM", 0xBF172000),
    ("IIHH", 0xA5100002),
    ("TMLL", 0xA7110002),
    ("AGHI", 0xA71BFFFF),
    ("PFPO", 0x010A),
    ("SAM64", 0x010E),
    ("UPT", 0x0102),
    ("CKSM", 0xB2410024),
    ("CUSE", 0xB2570024),
    ("CMPSC", 0xB2630024),
    ("LFPC", 0xB29D2000),
    ("TEND", 0xB2F80000),
    ("NIAI", 0xB2FA0012),
    ("LPEBR", 0xB3000001),
    ("MAEBR", 0xB30E0012),
    ("FIDBRA", 0xB35F1302),
    ("CGDTRA", 0xB3E12413),
    ("RRXTR", 0xB3FF4201),
    ("LDGR", 0xB3C10012),
    ("LGR", 0xB9040012),
    ("BCTGR", 0xB9460012),
    ("SORTL", 0xB9380024),
    ("NNPA", 0xB93B0000),
    ("SELGRL", 0xB9E33412),
    ("POPCNT", 0xB9E10012),
    ("LOCGRNLE", 0xB9E23012),
    ("MSGRKC", 0xB9ED3012),
    ("AHHLR", 0xB9D83012),
    ("TRTRE", 0xB9BD0024),
    ("LARL", 0xC01000000008),
    ("JGE", 0xC08400000008),
    ("BRASL", 0xC0E500000008),
    ("LLILF", 0xC01F00000005),
    ("MSGFI", 0xC21000000005),
    ("LGRL", 0xC41800000008),
    ("CLGFRL", 0xC61E00000008),
    ("BPRP", 0xC51001000001),
    ("BPP", 0xC71010000001),
    ("ECTG", 0xC83110002000),
    ("LPDG", 0xC82510002000),
    ("AIH", 0xCC1800000005),
    ("MVC", 0xD20710002000),
    ("TRTR", 0xD00710002000),
    ("UNPKU", 0xE20710002000),
    ("MVCIN", 0xE80710002000),
    ("PLO", 0xEE1320004000),
    ("LMD", 0xEF1320004000),
    ("SRP", 0xF07310002000),
    ("DP", 0xFD7310002000),
    ("LG", 0xE31230000004),
    ("BI", 0xE3F020000047),
    ("LPQ", 0xE3201000008F),
    ("CLHF", 0xE310200000CF),
    ("MVCRL", 0xE50A10002000),
    ("MVGHI", 0xE54810000005),
    ("TBEGINC", 0xE56110000000),
    ("VLBRG", 0xE61020003006),
    ("VPKZ", 0xE60320001034),
    ("VCLFNL", 0xE6120004305E),
    ("VSCHXP", 0xE61230504074),
    ("VTP", 0xE6010000005F),
    ("VL", 0xE71020000006),
    ("VGEF", 0xE71230001013),
    ("VLEIG", 0xE71000050042),
    ("VGBM", 0xE71000050044),
    ("VN", 0xE71230000068),
    ("VSTRSB", 0xE7123000408B),
    ("VFMAXDB", 0xE712300030EF),
    ("VMXF", 0xE712300020FF),
    ("LMG", 0xEB1230000004),
    ("CSG", 0xEB1230000030),
    ("MVIY", 0xEB0510000052),
    ("AGSI", 0xEB051000007A),
    ("TP", 0xEB70100000C0),
    ("LOCGNLE", 0xEB13200000E2),
    ("LAALG", 0xEB12300000EA),
    ("LOCGHINLE", 0xEC1300050046),
    ("RISBGN", 0xEC1203040559),
    ("CRJE", 0xEC1200048076),
    ("ALGHSIK", 0xEC12000500DB),
    ("CLGIBE", 0xEC18200005FD),
    ("AEB", 0xED123000000A),
    ("MSD", 0xED234000103F),
    ("TDGXT", 0xED1020000059),
    ("STDY", 0xED1020000067),
    ("CZDT", 0xED07100002A8),
];

/// Opcodes that no z/Architecture manual defines; SSK (08), ISK (09), the vector facility of ESA/390 (A4, A6)
/// and 0002, the breakpoint, among them.
#[rustfmt::skip]
const NOT_ASSIGNED: &[&[u8]] = &[
    &[0x00, 0x00], &[0x00, 0x02], &[0x01, 0x00], &[0x01, 0x03], &[0x08, 0x12], &[0x09, 0x12],
    &[0x52, 0, 0, 0], &[0x61, 0, 0, 0], &[0x81, 0, 0, 0], &[0xA4, 0, 0, 0], &[0xA6, 0, 0, 0],
    &[0xB0, 0, 0, 0], &[0xB2, 0x03, 0, 0], &[0xB2, 0xFE, 0, 0], &[0xB3, 0x20, 0, 0], &[0xB9, 0x15, 0, 0],
    &[0xB9, 0xB6, 0, 0], &[0xB9, 0xEF, 0, 0], &[0xB9, 0xF3, 0, 0], &[0xC0, 0x02, 0, 0, 0, 0],
    &[0xC4, 0x00, 0, 0, 0, 0], &[0xCC, 0x00, 0, 0, 0, 0], &[0xC9, 0, 0, 0, 0, 0], &[0xD8, 0, 0, 0, 0, 0],
    &[0xE3, 0, 0, 0, 0, 0x00], &[0xE5, 0x03, 0, 0, 0, 0], &[0xE5, 0xFF, 0, 0, 0, 0], &[0xE6, 0, 0, 0, 0, 0],
    &[0xE7, 0, 0, 0, 0, 0x10], &[0xEB, 0, 0, 0, 0, 0x00], &[0xEC, 0, 0, 0, 0, 0x00], &[0xED, 0, 0, 0, 0, 0x00],
    &[0xFE, 0, 0, 0, 0, 0], &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
];

#[test]
fn an_instruction_that_an_assembler_knows_is_assigned() {
    for &(mnemonic, number) in ASSEMBLED {
        let bytes = number.to_be_bytes();
        let first = bytes
            .iter()
            .position(|&byte| byte != 0)
            .expect("no opcode is zero");
        assert_eq!(length(bytes[first]), 8 - first, "{mnemonic}");
        assert!(assigned(&bytes[first..]), "{mnemonic}");
    }
}

#[test]
fn an_opcode_that_no_manual_defines_is_not_assigned() {
    for text in NOT_ASSIGNED {
        assert!(!assigned(text), "{text:02X?}");
    }
}

#[test]
fn text_shorter_than_its_opcode_is_not_assigned() {
    assert!(!assigned(&[]));
    assert!(!assigned(&[0xB2]));
    assert!(!assigned(&[0xEB, 0, 0, 0, 0]));
    assert!(
        assigned(&[0xE5, 0x01]),
        "TPROT is whole in its first halfword"
    );
}

#[test]
fn a_replacement_is_unassigned_and_as_long_as_the_instruction_that_it_replaces() {
    for original in 0..=u16::MAX {
        let replacement = replace(original.into(), 8) as u16;
        let [a, b] = replacement.to_be_bytes();
        assert_eq!(length(original.to_be_bytes()[0]), length(a));
        for operands in [[0x00; 4], [0xFF; 4], [0x10, 0x10, 0x20, 0x20]] {
            let [c, d, e, f] = operands;
            assert!(!assigned(&[a, b, c, d, e, f]), "{original:04X}");
        }
    }
}

#[test]
fn no_mask_of_an_execute_makes_an_assigned_opcode_of_a_replacement() {
    for original in [0x0000_u64, 0xB900, 0xE500] {
        let [first, second] = (replace(original, 8) as u16).to_be_bytes();
        for mask in 0..=255 {
            for rest in [0x00, 0x10, 0xFF] {
                let text = [first, second | mask, rest, rest, rest, rest];
                assert!(!assigned(&text), "{text:02X?}");
            }
        }
    }
}

#[test]
fn a_target_may_become_sensitive_exactly_if_some_mask_makes_it_so() {
    for caught in [
        Caught::ALWAYS,
        Caught::MESSAGE_SECURITY,
        Caught::ALWAYS.with_products(),
    ] {
        for halfword in 0..=u16::MAX {
            let becomes = (0..=0xFF).any(|mask| is_caught(halfword | mask, caught));
            assert_eq!(
                may_become_sensitive(halfword, caught),
                becomes,
                "{halfword:04X}"
            );
        }
    }
}

#[test]
fn each_halfword_of_a_doubleword_is_replaced_independently() {
    const DOUBLEWORD: u64 = 0x07FE_B98D_E501_4100;
    for which in 0..16 {
        let copied = replace(DOUBLEWORD, which);
        assert_eq!(differing(DOUBLEWORD, copied), which);
        for (n, unassigned) in [0x0000, 0xB9FF, 0xE5FF, 0xB9FF].into_iter().enumerate() {
            let of = |doubleword: u64| doubleword >> (48 - 16 * n) & 0xFFFF;
            let expected = if which >> n & 1 == 0 {
                of(DOUBLEWORD)
            } else {
                unassigned
            };
            assert_eq!(of(copied), expected, "{which:04b}");
        }
    }
    assert_eq!(differing(0x8000_0001_7FFF_0000, 0), 0b0111);
}

#[test]
fn a_normalized_opcode_has_only_the_bits_that_select_the_instruction() {
    assert_eq!(opcode(&[0xB2, 0x20, 0xFF, 0xFF, 0xFF, 0xFF]), 0xB220);
    assert_eq!(opcode(&[0xEB, 0xFF, 0xFF, 0xFF, 0xFF, 0x17]), 0xEB17);
    assert_eq!(opcode(&[0xC6, 0xF0, 0xFF, 0xFF, 0xFF, 0xFF]), 0xC600);
    assert_eq!(opcode(&[0x44, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), 0x4400);
}

/// Every opcode of every page, against the disassembler of binutils.
///
/// Takes some ten seconds, and needs `s390x-linux-gnu-objdump`.
#[test]
#[ignore = "needs binutils for s390x"]
fn whatever_binutils_disassembles_is_assigned_and_nothing_else_but_the_listed_additions() {
    // What binutils lacks and control programs use.
    const ADDITIONS: &[u16] = &[
        0xAA00, 0xAA01, 0xAA02, 0xAA03, 0xAA04, 0xB220, 0xB256, 0xB25F, 0xB2AD, 0xB2AE, 0xB2AF,
        0xB2F0, 0xB9A0, 0xB9A4, 0xB9AB, 0xB9D0, 0xB9D2, 0xB9D3, 0xB9D4, 0xB9D5, 0xB9D6, 0xE3D0,
        0xE3D4, 0xEB17, 0xEB60, 0xEB61, 0xEB62, 0xEBD0, 0xEBD1, 0xEBD4,
    ];
    // Reserved operand bits distinguish vector opcodes, so several operands are tried for each.
    let mut state = 1_u32;
    let mut texts = Vec::new();
    for first in 0..=255 {
        let place = match first {
            0x01 | 0xB2 | 0xB3 | 0xB9 | 0xE5 | 0xA5 | 0xA7 | 0xAA | 0xC0 | 0xC2 | 0xC4 | 0xC6
            | 0xC8 | 0xCC => 1,
            0xE3 | 0xE6 | 0xE7 | 0xEB..=0xED => 5,
            _ => 0,
        };
        for code in if place == 0 { first..=first } else { 0..=255 } {
            for attempt in 0..200 {
                let mut text = [first, 0, 0, 0, 0, 0];
                for byte in text[1..].iter_mut().filter(|_| attempt > 0) {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    *byte = (state >> 24) as u8 & [0xFF, 0xF0, 0x0F, 0][(state >> 16 & 3) as usize];
                }
                text[place] = code;
                // Behind a shorter one, instructions of two bytes (BCR 0,7).
                text[length(first)..].fill(0x07);
                texts.push(text);
            }
        }
    }
    let file = std::env::temp_dir().join(format!("opcodes-{}.bin", std::process::id()));
    std::fs::write(&file, texts.concat()).expect("the texts can be written");
    let output = std::process::Command::new("s390x-linux-gnu-objdump")
        .args(["-b", "binary", "-m", "s390:64-bit", "-EB", "-D", "-z"])
        .arg(&file)
        .output()
        .expect("s390x-linux-gnu-objdump runs");
    std::fs::remove_file(&file).expect("the file can be removed");
    let mut known = std::collections::BTreeSet::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut columns = line.split('\t');
        let offset = columns
            .next()
            .and_then(|column| usize::from_str_radix(column.trim().trim_end_matches(':'), 16).ok());
        if let (Some(offset), Some(_), Some(name)) = (offset, columns.next(), columns.next())
            && offset % 6 == 0
            && !name.starts_with('.')
        {
            known.insert(opcode(&texts[offset / 6]));
        }
    }
    assert!(
        known.len() > 1000,
        "the disassembler answered: {}",
        known.len()
    );
    for text in texts {
        let code = opcode(&text);
        assert_eq!(
            assigned(&text),
            known.contains(&code) || ADDITIONS.contains(&code),
            "{code:04X}"
        );
    }
}
