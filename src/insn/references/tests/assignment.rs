//! The table against the opcode maps and against the instruction formats.

use super::super::table::{Sort, sort};
use super::{Access, Knowledge, run};
use crate::{assigned, opcode};

/// Every assigned opcode.
fn all() -> Vec<u16> {
    let mut found = Vec::new();
    for first in 0..=255 {
        for second in 0..=255 {
            for text in [[first, second, 0, 0, 0, 0], [first, 0, 0, 0, 0, second]] {
                if assigned(&text) {
                    found.push(opcode(&text));
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether the format of an assigned opcode has a base and a displacement, or a long relative address, by its
/// disassembly.
fn has_address(opcode: u16) -> bool {
    #[rustfmt::skip]
    const B2: [u16; 16] = [
        0xEFE0, 0xE8E0, 0x0000, 0x3E60, 0x0000, 0x0000, 0x0000, 0x09CC,
        0x8F03, 0x004C, 0x0000, 0xE0C4, 0x0000, 0x0000, 0x0000, 0x0009,
    ];
    let [first, second] = opcode.to_be_bytes();
    match first {
        0xB2 => B2[usize::from(second >> 4)] << (second & 15) & 0x8000 != 0,
        0xB3 | 0xB9 | 0x84 | 0x85 => false,
        0xE6 | 0xE7 => second < 0x40,
        0xEC => second >= 0xE0,
        0xC0 => second == 0,
        0xCC | 0xC2 => false,
        0x40..=0x9F | 0xA8 | 0xA9 | 0xAC..=0xFF => true,
        _ => false,
    }
}

/// Instructions whose address is not that of a storage operand.
#[rustfmt::skip]
const ADDRESS_ONLY: &[u16] = &[
    // LA, EX, BAL, BCT, BC, BAS, LAE, BXH, BXLE and the shifts.
    0x4100, 0x4400, 0x4500, 0x4600, 0x4700, 0x4D00, 0x5100, 0x8600, 0x8700, 0x8800, 0x8900, 0x8A00, 0x8B00,
    0x8C00, 0x8D00, 0x8E00, 0x8F00,
    // SRNM, SRNMB, SRNMT, TABORT; LARL; BPRP, BPP, EXRL, PFDRL.
    0xB299, 0xB2B8, 0xB2B9, 0xB2FC, 0xC000, 0xC500, 0xC600, 0xC602, 0xC700,
    // PFD, BCTG, LAY, LAEY; TBEGIN, TBEGINC.
    0xE336, 0xE346, 0xE371, 0xE375, 0xE560, 0xE561,
    // VLGV, VLVG, LCBB, VESL, VERLL, VESRL, VESRA.
    0xE721, 0xE722, 0xE727, 0xE730, 0xE733, 0xE738, 0xE73A,
    // SRAG, SLAG, SRLG, SLLG, RLLG, RLL, BXHG, BXLEG, ECAG, SRAK, SLAK, SRLK, SLLK.
    0xEB0A, 0xEB0B, 0xEB0C, 0xEB0D, 0xEB1C, 0xEB1D, 0xEB44, 0xEB45, 0xEB4C, 0xEBDC, 0xEBDD, 0xEBDE, 0xEBDF,
    // CGRB, CLGRB, CRB, CLRB, CGIB, CLGIB, CIB, CLIB.
    0xECE4, 0xECE5, 0xECF6, 0xECF7, 0xECFC, 0xECFD, 0xECFE, 0xECFF,
    // TCEB, TCDB, TCXB, SLDT, SRDT, SLXT, SRXT, TDCET, TDGET, TDCDT, TDGDT, TDCXT, TDGXT.
    0xED10, 0xED11, 0xED12, 0xED40, 0xED41, 0xED48, 0xED49, 0xED50, 0xED51, 0xED54, 0xED55, 0xED58, 0xED59,
];

/// Instructions of the problem state whose operands are designated by registers alone.
#[rustfmt::skip]
const BY_REGISTER: &[u16] = &[
    // UPT, PTFF, MVCL, CLCL; the five of runtime instrumentation.
    0x0102, 0x0104, 0x0E00, 0x0F00, 0xAA00, 0xAA01, 0xAA02, 0xAA03, 0xAA04,
    // CKSM, MVPG, MVST, CUSE, CLST, SRST, CMPSC, TRE, CU21, CU12.
    0xB241, 0xB254, 0xB255, 0xB257, 0xB25D, 0xB25E, 0xB263, 0xB2A5, 0xB2A6, 0xB2A7,
    // KMAC, KMA, KMF, KMO, PCC, KMCTR, KM, KMC, SORTL, DFLTCC, KDSA, NNPA, PRNO, KIMD, KLMD.
    0xB91E, 0xB929, 0xB92A, 0xB92B, 0xB92C, 0xB92D, 0xB92E, 0xB92F, 0xB938, 0xB939, 0xB93A, 0xB93B, 0xB93C,
    0xB93E, 0xB93F,
    // TRTT, TRTO, TROT, TROO, CU14, CU24, CU41, CU42, TRTRE, SRSTU, TRTE.
    0xB990, 0xB991, 0xB992, 0xB993, 0xB9B0, 0xB9B1, 0xB9B2, 0xB9B3, 0xB9BD, 0xB9BE, 0xB9BF,
];

#[test]
fn no_assigned_opcode_is_forgotten() {
    let all = all();
    assert!(all.len() > 1200, "{}", all.len());
    for opcode in all {
        assert!(sort(opcode).is_some(), "{opcode:04X} is in no row");
    }
}

#[test]
fn an_opcode_has_operands_if_its_format_has_an_address_but_for_two_lists() {
    for opcode in all() {
        let found = sort(opcode).expect("it is in the table");
        if found == Sort::Control {
            continue;
        }
        let expected = if has_address(opcode) {
            !ADDRESS_ONLY.contains(&opcode)
        } else {
            BY_REGISTER.contains(&opcode)
        };
        assert_eq!(found != Sort::Nothing, expected, "{opcode:04X}: {found:?}");
    }
    for opcode in ADDRESS_ONLY {
        assert!(has_address(*opcode), "{opcode:04X}");
    }
}

#[test]
fn an_instruction_with_a_relative_or_a_long_displacement_twin_has_its_operand() {
    /// Opcodes of one operation with different addresses.
    #[rustfmt::skip]
    const TWINS: &[(&str, &[u64])] = &[
        ("L", &[0x5810_0000, 0xE310_0000_0058, 0xC41D_0000_0000]),
        ("ST", &[0x5010_0000, 0xE310_0000_0050, 0xC41F_0000_0000]),
        ("LH", &[0x4810_0000, 0xE310_0000_0078, 0xC415_0000_0000]),
        ("STH", &[0x4010_0000, 0xE310_0000_0070, 0xC417_0000_0000]),
        ("LGH", &[0xE310_0000_0015, 0xC414_0000_0000]),
        ("LG", &[0xE310_0000_0004, 0xC418_0000_0000]),
        ("STG", &[0xE310_0000_0024, 0xC41B_0000_0000]),
        ("LGF", &[0xE310_0000_0014, 0xC41C_0000_0000]),
        ("LLGF", &[0xE310_0000_0016, 0xC41E_0000_0000]),
        ("LLGH", &[0xE310_0000_0091, 0xC416_0000_0000]),
        ("LLH", &[0xE310_0000_0095, 0xC412_0000_0000]),
        ("C", &[0x5910_0000, 0xE310_0000_0059, 0xC61D_0000_0000]),
        ("CL", &[0x5510_0000, 0xE310_0000_0055, 0xC61F_0000_0000]),
        ("CG", &[0xE310_0000_0020, 0xC618_0000_0000]),
        ("CLG", &[0xE310_0000_0021, 0xC61A_0000_0000]),
        ("CGF", &[0xE310_0000_0030, 0xC61C_0000_0000]),
        ("CLGF", &[0xE310_0000_0031, 0xC61E_0000_0000]),
        ("CH", &[0x4910_0000, 0xE310_0000_0079, 0xC615_0000_0000]),
        ("CGH", &[0xE310_0000_0034, 0xC614_0000_0000]),
        ("A", &[0x5A10_0000, 0xE310_0000_005A]),
        ("S", &[0x5B10_0000, 0xE310_0000_005B]),
        ("AL", &[0x5E10_0000, 0xE310_0000_005E]),
        ("SL", &[0x5F10_0000, 0xE310_0000_005F]),
        ("N", &[0x5410_0000, 0xE310_0000_0054]),
        ("O", &[0x5610_0000, 0xE310_0000_0056]),
        ("X", &[0x5710_0000, 0xE310_0000_0057]),
        ("MS", &[0x7110_0000, 0xE310_0000_0051]),
        ("M", &[0x5C20_0000, 0xE320_0000_005C]),
        ("AH", &[0x4A10_0000, 0xE310_0000_007A]),
        ("SH", &[0x4B10_0000, 0xE310_0000_007B]),
        ("MH", &[0x4C10_0000, 0xE310_0000_007C]),
        ("CVB", &[0x4F10_0000, 0xE310_0000_0006]),
        ("CVD", &[0x4E10_0000, 0xE310_0000_0026]),
        ("IC", &[0x4310_0000, 0xE310_0000_0073]),
        ("STC", &[0x4210_0000, 0xE310_0000_0072]),
        ("LE", &[0x7810_0000, 0xED10_0000_0064]),
        ("LD", &[0x6810_0000, 0xED10_0000_0065]),
        ("STE", &[0x7010_0000, 0xED10_0000_0066]),
        ("STD", &[0x6010_0000, 0xED10_0000_0067]),
        ("LM", &[0x98E3_0000, 0xEBE3_0000_0098]),
        ("STM", &[0x90E3_0000, 0xEBE3_0000_0090]),
        ("LAM", &[0x9AE3_0000, 0xEBE3_0000_009A]),
        ("STAM", &[0x9BE3_0000, 0xEBE3_0000_009B]),
        ("CS", &[0xBA12_0000, 0xEB12_0000_0014]),
        ("CDS", &[0xBB24_0000, 0xEB24_0000_0031]),
        ("CLM", &[0xBD1B_0000, 0xEB1B_0000_0021]),
        ("ICM", &[0xBF1B_0000, 0xEB1B_0000_0081]),
        ("STCM", &[0xBE1B_0000, 0xEB1B_0000_002D]),
        ("TM", &[0x9112_0000, 0xEB12_0000_0051]),
        ("MVI", &[0x9212_0000, 0xEB12_0000_0052]),
        ("NI", &[0x9412_0000, 0xEB12_0000_0054]),
        ("CLI", &[0x9512_0000, 0xEB12_0000_0055]),
        ("OI", &[0x9612_0000, 0xEB12_0000_0056]),
        ("XI", &[0x9712_0000, 0xEB12_0000_0057]),
    ];
    for (name, twins) in TWINS {
        let operand = |number| {
            let (found, _) = run().of(number);
            assert_eq!(found.len(), 1, "{name} {number:X}");
            (found[0].access, found[0].length)
        };
        for &twin in &twins[1..] {
            assert_eq!(operand(twin), operand(twins[0]), "{name} {twin:X}");
        }
        let stores = name.starts_with("ST") || ["CVD", "MVI"].contains(name);
        assert_eq!(operand(twins[0]).0 == Access::Store, stores, "{name}");
    }
}

#[test]
fn incomplete_knowledge_is_reported() {
    // LPSWE, STCTG, SSM, SERVC, TPROT.
    for control in [
        0xB2B2_0000,
        0xEB01_0000_0025,
        0x8000_0000,
        0xB220_0012,
        0xE501_0000_0000,
    ] {
        assert_eq!(
            run().of(control),
            (vec![], Knowledge::Elsewhere),
            "{control:X}"
        );
    }
    // CMPSC, DFLTCC, SORTL, NNPA, UPT, VSCEG.
    for unknown in [
        0xB263_0024,
        0xB939_0024,
        0xB938_0024,
        0xB93B_0000,
        0x0102,
        0xE712_3000_001A,
    ] {
        assert_eq!(
            run().of(unknown),
            (vec![], Knowledge::Unknown),
            "{unknown:X}"
        );
    }
    // VGEG, CUSE.
    for fetches in [0xE712_3000_0012, 0xB257_0024] {
        assert_eq!(
            run().of(fetches),
            (vec![], Knowledge::StoresOnly),
            "{fetches:X}"
        );
    }
}
