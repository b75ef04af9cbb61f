//! In which general registers an instruction placed values.
//!
//! A register counts as altered when an instruction places a value in it, also one that is equal to the one before: LOAD AND
//! TEST of a register to itself, LOAD ADDRESS with a displacement of zero. Contents before and after do not show that. It
//! follows from the text, and for some instructions from the condition code or from general register 0.
//!
//! Where a table row says `Seen`, storage or a code decides what is placed, and only a change shows it: EDIT AND
//! MARK, PERFORM LOCKED OPERATION, the message-security assist and a few more. The caller adds what has changed in any case.
//!
//! An opcode that is assigned has no default: one that is missing here is `None`, and a test finds it.
//!
//! Source: System/370 Principles of Operation, Program-Event Recording, General-Register Alteration; the descriptions of the
//! instructions in the Principles of Operation.

use super::opcodes::{FOUR_BITS, MAPS, place};
use super::references::State;
use arch::psw::CONDITION_CODE;

/// The registers in which an instruction places values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// None.
    Nothing,
    /// None that the text shows, besides those that change.
    Seen,
    /// R1.
    First,
    /// R1, if the condition code is 1: the operands were unequal, or a status was stored.
    FirstIfOne,
    /// R1, unless the condition code is 3.
    FirstUnlessThree,
    /// R1, if the mask in bits 12-15 selects the condition code before.
    FirstIfShortMask,
    /// R1, if the mask in bits 16-19 selects the condition code before.
    FirstIfLongMask,
    /// R1, if the mask in bits 12-15 is not zero.
    FirstIfAnyMask,
    /// R1, unless the test-results control, bit 16, is one.
    FirstUnlessTest,
    /// R1, unless the field is zero.
    FirstUnlessZero,
    /// R1, and R2 unless that field is zero.
    FirstAndSecond,
    /// R1, and registers 0 and 1.
    FirstAndTimes,
    /// R1, and the pair that R2 designates.
    FirstAndPair,
    /// The pair that R1 designates.
    Pair,
    /// That pair, if the condition code is 1: the operands were unequal.
    PairIfOne,
    /// That pair, and R2.
    PairAndSecond,
    /// That pair, and R2 unless the condition code is 3.
    PairAndSecondUnlessThree,
    /// The pairs that R1 and R2, or R1 and R3 of a format with a base, designate.
    Pairs,
    /// R1 to R3, or to R2 in a format without R3.
    Range,
    /// R1 if the condition code is 1, R2 if it is 3.
    Searched,
    /// R1 if the condition code is 1 or 3, R2 if it is 3.
    Moved,
    /// R1 and R2, unless the condition code is 0.
    Compared,
    /// Registers 1 and 2, if the condition code is 1 or 2.
    Tested,
    /// Register 0.
    Zero,
    /// Register 0, if its bits 32-35 were zeros: the function code of STORE SYSTEM INFORMATION.
    ZeroWithoutFunction,
    /// Register 2.
    Two,
}

use Sort::{First, FirstIfOne, Nothing, Pair, Pairs, Range, Seen, Zero};

/// Where an instruction has the second part of its opcode and its register fields, by its first byte.
#[derive(Clone, Copy)]
struct Layout {
    /// The number of the map, times 256.
    map: u16,
    /// How far the byte that is looked up in the map is from the end of six bytes of text, in bits.
    rest: u8,
    /// The same of the byte with the register fields.
    fields: u8,
}

static LAYOUTS: [Layout; 256] = {
    let mut layouts = [Layout {
        map: 0,
        rest: 40,
        fields: 32,
    }; 256];
    let mut first = 0;
    while first < 256 {
        let (map, at) = place(first as u8);
        layouts[first] = Layout {
            map: (map as u16) << 8,
            rest: 40 - 8 * at as u8,
            // RRE and RRF have them in the last byte, every other format in the second.
            fields: match first {
                0xB2 | 0xB3 | 0xB9 => 16,
                _ => 32,
            },
        };
        first += 1;
    }
    layouts
};

/// A power of two that is not below the number of sorts.
const SIZE: usize = (MAPS << 8).next_power_of_two();

/// The sorts of all opcodes: 256 of each map, for the byte that is looked up in it.
static SORTS: [Sort; SIZE] = {
    let mut sorts = [Nothing; SIZE];
    let mut first = 0;
    while first < 256 {
        let (map, _) = place(first as u8);
        let mut rest = 0;
        while rest < 256 {
            // In the map of one byte that byte is looked up; from some map on, its right half.
            let (opcode, at) = if map == 0 {
                (first << 8, first)
            } else if map >= FOUR_BITS {
                (first << 8 | rest & 15, rest)
            } else {
                (first << 8 | rest, rest)
            };
            if let Some(sort) = sort(opcode as u16) {
                sorts[map << 8 | at] = sort;
            }
            rest += if map == 0 { 256 } else { 1 };
        }
        first += 1;
    }
    sorts
};

/// The sort of an instruction, and its byte with the register fields.
#[inline(always)]
pub(super) fn sort_of(text: &[u8; 6]) -> (Sort, u8) {
    let [first, second, third, fourth, fifth, sixth] = *text;
    let number = u64::from_be_bytes([0, 0, first, second, third, fourth, fifth, sixth]);
    let layout = LAYOUTS[usize::from(first)];
    let rest = (number >> (layout.rest & 63)) as u8;
    let at = layout.map | u16::from(rest);
    let fields = (number >> (layout.fields & 63)) as u8;
    (SORTS[usize::from(at) % SIZE], fields)
}

/// The bit of a register.
const fn bit(register: u8) -> u16 {
    0x8000 >> (register & 15)
}

/// The bits of the pair that a register field designates.
const fn pair(register: u8) -> u16 {
    bit(register) | bit(register.wrapping_add(1))
}

/// The bits of the registers from the first to the last, which may be behind register 15.
const fn range(first: u8, last: u8) -> u16 {
    let count = last.wrapping_sub(first) & 15;
    let leftmost = (0xFFFF_u32 << (15 - count)) as u16;
    leftmost.rotate_right(first as u32 & 15)
}

/// The general registers in which an instruction that is completed, or a unit of operation of it, has placed values:
/// register 0 is the leftmost bit. `text` is the text as executed, ORed with the register of its EXECUTE.
#[must_use]
#[inline(always)]
pub fn placed(text: &[u8; 6], before: &State<'_>, after: &State<'_>) -> u16 {
    let (sort, fields) = sort_of(text);
    let (first, second) = (fields >> 4, fields & 15);
    if sort == First {
        // Most of them.
        return bit(first);
    }
    placed_by(sort, text, (first, second), before, after)
}

/// The registers of an instruction of this sort, with these fields.
#[inline(never)]
fn placed_by(
    sort: Sort,
    text: &[u8; 6],
    (first, second): (u8, u8),
    before: &State<'_>,
    after: &State<'_>,
) -> u16 {
    let code = |state: &State<'_>| state.mask >> CONDITION_CODE.trailing_zeros() & 3;
    let given = |is, registers: u16| if is { registers } else { 0 };
    let selects = |mask: u8| mask & (8 >> code(before)) != 0;
    match sort {
        Nothing | Seen => 0,
        First => bit(first),
        FirstIfOne => given(code(after) == 1, bit(first)),
        Sort::FirstUnlessThree => given(code(after) != 3, bit(first)),
        Sort::FirstIfShortMask => given(selects(text[1]), bit(first)),
        Sort::FirstIfLongMask => given(selects(text[2] >> 4), bit(first)),
        Sort::FirstIfAnyMask => given(text[1] & 15 != 0, bit(first)),
        Sort::FirstUnlessTest => given(text[2] & 0x80 == 0, bit(first)),
        Sort::FirstUnlessZero => given(first != 0, bit(first)),
        Sort::FirstAndSecond => bit(first) | given(second != 0, bit(second)),
        Sort::FirstAndTimes => bit(first) | pair(0),
        Sort::FirstAndPair => bit(first) | pair(second),
        Pair => pair(first),
        Sort::PairIfOne => given(code(after) == 1, pair(first)),
        Sort::PairAndSecond => pair(first) | bit(second),
        Sort::PairAndSecondUnlessThree => pair(first) | given(code(after) != 3, bit(second)),
        Pairs => pair(first) | pair(second),
        Range => range(first, second),
        Sort::Searched => match code(after) {
            1 => bit(first),
            3 => bit(second),
            _ => 0,
        },
        Sort::Moved => match code(after) {
            1 => bit(first),
            3 => bit(first) | bit(second),
            _ => 0,
        },
        Sort::Compared => given(code(after) != 0, bit(first) | bit(second)),
        Sort::Tested => given(matches!(code(after), 1 | 2), bit(1) | bit(2)),
        Zero => bit(0),
        Sort::ZeroWithoutFunction => given(before.general[0] << 32 >> 60 == 0, bit(0)),
        Sort::Two => bit(2),
    }
}

/// Whether [`placed`] finds all registers that an instruction alters. If not, storage or a code decides of some, and only
/// those that change are known.
#[must_use]
pub fn finds_all(text: &[u8; 6]) -> bool {
    sort_of(text).0 != Seen
}

/// Sorts an opcode as [`opcode`] gives it; `None` is one that is not in the table.
pub(super) const fn sort(opcode: u16) -> Option<Sort> {
    match (opcode >> 8) as u8 {
        0x01 | 0xB2 => control(opcode),
        0xB3 => floating(opcode),
        0xB9 => registers(opcode),
        0xA5..=0xAA | 0xC0..=0xCC => immediate(opcode),
        0xE3 => long_indexed(opcode),
        0xE5..=0xE7 | 0xEB..=0xED => long(opcode),
        _ => one_byte(opcode),
    }
}

/// Opcodes of one byte.
const fn one_byte(opcode: u16) -> Option<Sort> {
    Some(match opcode >> 8 {
        // SPM, BCR, SVC, CLR, CR; floating point.
        0x04 | 0x07 | 0x0A | 0x15 | 0x19 | 0x20..=0x3F => Nothing,
        // BALR, BCTR, BASSM, BASR; BSM.
        0x05 | 0x06 | 0x0C | 0x0D => First,
        0x0B => Sort::FirstUnlessZero,
        // MVCL, CLCL: always, even with lengths of zero.
        0x0E | 0x0F => Pairs,
        // LPR to LCR, NR, OR, XR, LR, AR, SR, ALR, SLR; MR, DR.
        0x10..=0x14 | 0x16..=0x18 | 0x1A | 0x1B | 0x1E | 0x1F => First,
        0x1C | 0x1D => Pair,
        // STH, STC, EX, BC, CH, CVD, ST, CL, C.
        0x40 | 0x42 | 0x44 | 0x47 | 0x49 | 0x4E | 0x50 | 0x55 | 0x59 => Nothing,
        // LA, IC, BAL, BCT, LH, AH, SH, MH, BAS, CVB, LAE.
        0x41 | 0x43 | 0x45 | 0x46 | 0x48 | 0x4A..=0x4D | 0x4F | 0x51 => First,
        // N, O, X, L, A, S, AL, SL, MS; M, D.
        0x54 | 0x56..=0x58 | 0x5A | 0x5B | 0x5E | 0x5F | 0x71 => First,
        0x5C | 0x5D => Pair,
        // Floating point.
        0x60 | 0x67..=0x70 | 0x78..=0x7F => Nothing,
        // SSM, LPSW, DIAG.
        0x80 | 0x82 => Nothing,
        0x83 => Seen,
        // BRXH, BRXLE, BXH, BXLE, SRL, SLL, SRA, SLA; SRDL, SLDL, SRDA, SLDA.
        0x84..=0x8B => First,
        0x8C..=0x8F => Pair,
        // STM to XI, TRACE, LAM, STAM; LM.
        0x90..=0x97 | 0x99..=0x9B => Nothing,
        0x98 => Range,
        // STNSM, STOSM, MC; SIGP stores a status; LRA; STCTL, LCTL.
        0xAC | 0xAD | 0xAF | 0xB6 | 0xB7 => Nothing,
        0xAE => FirstIfOne,
        0xB1 => First,
        // CS, CDS; CLM, STCM; ICM.
        0xBA => FirstIfOne,
        0xBB => Sort::PairIfOne,
        0xBD | 0xBE => Nothing,
        0xBF => Sort::FirstIfAnyMask,
        // TRTR, TRT: an address in register 1 and a function byte in register 2.
        0xD0 | 0xDD => Sort::Tested,
        // MVN to XC, MVCK to TR, ED; EDMK: an address in register 1, if the first digit is in the result.
        0xD1..=0xD7 | 0xD9..=0xDC | 0xDE => Nothing,
        0xDF => Seen,
        // PKU, UNPKU, MVCIN, PKA, UNPKA; PLO; LMD.
        0xE1 | 0xE2 | 0xE8..=0xEA => Nothing,
        0xEE => Seen,
        0xEF => Range,
        // Decimal.
        0xF0..=0xF3 | 0xF8..=0xFD => Nothing,
        _ => return None,
    })
}

/// 01, B2.
const fn control(opcode: u16) -> Option<Sort> {
    Some(match opcode {
        // PR, UPT, PFPO; PTFF, SCKPF, TAM, SAM24 to SAM64, TRAP2.
        0x0101 | 0x0102 | 0x010A => Seen,
        0x0104 | 0x0107 | 0x010B..=0x010E | 0x01FF => Nothing,
        // LBEAR to SPKA; IPK: register 2; PTLB to STAP, SIE; PC; SAC; CFC: registers 1 to 3.
        0xB200..=0xB20A | 0xB20D..=0xB217 | 0xB219 => Nothing,
        0xB20B => Sort::Two,
        0xB218 | 0xB21A => Seen,
        // SERVC, IPTE; IPM, IVSK, IAC; SSAR; EPAR, ESAR; PT; ISKE; RRBE.
        0xB220 | 0xB221 | 0xB225 | 0xB228 | 0xB22A => Nothing,
        0xB222..=0xB224 | 0xB226 | 0xB227 | 0xB229 => First,
        // SSKE: the key before, and the next block; TB: register 0; DXR, PGIN, PGOUT, CSCH to SCHM, BAKR.
        0xB22B => Seen,
        0xB22C => Zero,
        0xB22D..=0xB240 => Nothing,
        // CKSM; SQDR, SQER, STURA, MSTA, PALB; EREG; ESTA; LURA; TAR, CPYA, SAR; EAR, MSR.
        0xB241 => Sort::FirstAndPair,
        0xB244..=0xB248 | 0xB24C..=0xB24E | 0xB254 | 0xB25F => Nothing,
        0xB249 => Range,
        0xB24A => Pair,
        0xB24B | 0xB24F | 0xB252 => First,
        // CSP; (MVPG); MVST, CLST, SRST; STHYI, BSG, BSA; CUSE, CMPSC.
        0xB250 => FirstIfOne,
        0xB255 => Sort::Moved,
        0xB25D => Sort::Compared,
        0xB25E => Sort::Searched,
        0xB256 | 0xB25A => Seen,
        0xB258 => Sort::FirstUnlessZero,
        0xB257 | 0xB263 => Pairs,
        // SIGA; XSCH, RP, STCKE, SACF, STCKF; STSI; LPP to QPACI.
        0xB274 => Seen,
        0xB276..=0xB279 | 0xB27C | 0xB280..=0xB28F => Nothing,
        0xB27D => Sort::ZeroWithoutFunction,
        // SRNM, STFPC, LFPC; TRE; CU21, CU12; NQAP, DQAP, PQAP; STFLE: register 0.
        0xB299 | 0xB29C | 0xB29D => Nothing,
        0xB2A5 => Pair,
        0xB2A6 | 0xB2A7 => Pairs,
        0xB2AD..=0xB2AF => Seen,
        0xB2B0 => Zero,
        // STFL, LPSWE, SRNMB, SRNMT, LFAS; SCCTR, SPCTR; ECCTR, EPCTR, ECPGA.
        0xB2B1 | 0xB2B2 | 0xB2B8 | 0xB2B9 | 0xB2BD | 0xB2E0 | 0xB2E1 => Nothing,
        0xB2E4 | 0xB2E5 | 0xB2ED => Sort::FirstUnlessThree,
        // PPA; ETND; IUCV; TEND, NIAI, TABORT, TRAP4.
        0xB2E8 | 0xB2F8 | 0xB2FA | 0xB2FC | 0xB2FF => Nothing,
        0xB2EC => First,
        0xB2F0 => Seen,
        _ => return None,
    })
}

/// B3: floating point, some of it to general registers.
const fn floating(opcode: u16) -> Option<Sort> {
    Some(match opcode {
        // EFPC; CFEBR to CFXBR, CLFEBR to CLFXBR, CGEBR to CGXBR, CLGEBR to CLGXBR.
        0xB38C | 0xB398..=0xB39A | 0xB39C..=0xB39E | 0xB3A8..=0xB3AA | 0xB3AC..=0xB3AE => First,
        // CFER to CFXR, CGER to CGXR, LGDR.
        0xB3B8..=0xB3BA | 0xB3C8..=0xB3CA | 0xB3CD => First,
        // CGDTR, CUDTR, CSDTR, EEDTR, ESDTR, CGXTR, EEXTR, ESXTR; CUXTR, CSXTR.
        0xB3E1..=0xB3E3 | 0xB3E5 | 0xB3E7 | 0xB3E9 | 0xB3ED | 0xB3EF => First,
        0xB3EA | 0xB3EB => Pair,
        // In floating-point registers, and the floating-point-control register.
        0xB300..=0xB38B
        | 0xB38D..=0xB397
        | 0xB3A0..=0xB3A6
        | 0xB3B4..=0xB3B6
        | 0xB3C0..=0xB3C6
        | 0xB3D0..=0xB3E0
        | 0xB3E4
        | 0xB3E8
        | 0xB3EC
        | 0xB3F0..=0xB3FF => Nothing,
        _ => return None,
    })
}

/// B9.
const fn registers(opcode: u16) -> Option<Sort> {
    Some(match opcode {
        // LPGR to MSGR; DSGR; EREGG; LRVGR to MSGFR; DSGFR; KMAC; LRVR.
        0xB900..=0xB90C | 0xB90F..=0xB91C | 0xB91F => First,
        0xB90D | 0xB91D => Pair,
        0xB90E => Range,
        // CGR, CLGR, STURG; LBR, LHR; PCKMO, CGFR, CLGFR.
        0xB920 | 0xB921 | 0xB925 | 0xB928 | 0xB930 | 0xB931 => Nothing,
        0xB926 | 0xB927 => First,
        // KMAC; KMA, KMF, KMO, PCC, KMCTR, KM, KMC; SORTL, DFLTCC, KDSA, NNPA, PRNO, KIMD, KLMD.
        0xB91E | 0xB929..=0xB92F | 0xB938..=0xB93F => Seen,
        // CFDTR to CLFXTR, BCTGR; CDFTR to CXLFTR, CGRT, CLGRT, CRT, CLRT.
        0xB941..=0xB94B => First,
        0xB951..=0xB961 | 0xB972 | 0xB973 => Nothing,
        // NNGRK to NXRK; NGR to XGR; FLOGR; LLGCR, LLGHR; MLGR, DLGR; ALCGR, SLBGR.
        0xB964..=0xB967 | 0xB974..=0xB977 | 0xB980..=0xB982 | 0xB984 | 0xB985 => First,
        0xB983 | 0xB986 | 0xB987 => Pair,
        0xB988 | 0xB989 => First,
        // CSPG, CRDTE; RDP, IDTE; EPSW.
        0xB98A | 0xB98F => FirstIfOne,
        0xB98B | 0xB98E => Nothing,
        0xB98D => Sort::FirstAndSecond,
        // TRTT to TROO; LLCR, LLHR; MLR, DLR; ALCR, SLBR.
        0xB990..=0xB993 => Sort::PairAndSecond,
        0xB994 | 0xB995 | 0xB998 | 0xB999 => First,
        0xB996 | 0xB997 => Pair,
        // EPair, ESAIR, ESEA; PTI, SSAIR, UVC; CLP, TPEI, PTF, PFMF; LPTEA, ESSA, IRBM, RRBM.
        0xB99A..=0xB99D => First,
        0xB99E | 0xB99F | 0xB9A4 => Nothing,
        0xB9A0..=0xB9A2 | 0xB9AF => Seen,
        0xB9AA..=0xB9AE => First,
        // CU14 to CU42; TRTRE, TRTE: a function code, unless there is more to be translated; SRSTU.
        0xB9B0..=0xB9B3 => Pairs,
        0xB9BD | 0xB9BF => Sort::PairAndSecondUnlessThree,
        0xB9BE => Sort::Searched,
        // SELFHR to SLHHHR; CHHR, CLHHR; PCISTG to PCILGI; AHHLR to SLHHLR; CHLR, CLHLR.
        0xB9C0..=0xB9CB | 0xB9D8..=0xB9DB => First,
        0xB9CD | 0xB9CF | 0xB9DD | 0xB9DF => Nothing,
        0xB9D0..=0xB9D6 => Seen,
        // LOCFHR, LOCGR, LOCR; POPCNT, SELGR, NGRK to SLGRK; MGRK; MSGRKC, SELR, NRK to MSRKC.
        0xB9E0 | 0xB9E2 | 0xB9F2 => Sort::FirstIfLongMask,
        0xB9E1 | 0xB9E3..=0xB9EB | 0xB9ED..=0xB9FF => First,
        0xB9EC => Pair,
        _ => return None,
    })
}

/// A5 to AA and C0 to CC.
const fn immediate(opcode: u16) -> Option<Sort> {
    Some(match opcode {
        // IIHH to LLILL.
        0xA500..=0xA50F => First,
        // TMLH to TMHL, BRC, CHI, CGHI; BRAS to MGHI.
        0xA700..=0xA704 | 0xA70E | 0xA70F => Nothing,
        0xA705..=0xA70D => First,
        // MVCLE, CLCLE; runtime instrumentation.
        0xA800 | 0xA900 => Pairs,
        0xAA00..=0xAA04 => Seen,
        // LARL, LGFI, BRASL to LLILF; BRCL.
        0xC000 | 0xC001 | 0xC005..=0xC00F => First,
        0xC004 => Nothing,
        // MSGFI to ALFI; CGFI to CLFI.
        0xC200..=0xC20B => First,
        0xC20C..=0xC20F => Nothing,
        // LLHRL to LLGHRL, LGRL, LGFRL to LLGFRL; STHRL, STGRL, STRL.
        0xC402..=0xC406 | 0xC408 | 0xC40C..=0xC40E => First,
        0xC407 | 0xC40B | 0xC40F => Nothing,
        // BPRP, BPP, EXRL, PFDRL, CGHRL to CLRL.
        0xC500 | 0xC700 | 0xC600..=0xC60F => Nothing,
        // MVCOS; ECTG: registers 0 and 1, too; CSST; LPD, LPDG.
        0xC800 => Nothing,
        0xC801 => Sort::FirstAndTimes,
        0xC802 => FirstIfOne,
        0xC804 | 0xC805 => Pair,
        // BRCTH, AIH, ALSIH, ALSIHN; CIH, CLIH.
        0xCC06..=0xCC0B => First,
        0xCC0D | 0xCC0F => Nothing,
        _ => return None,
    })
}

/// E3.
const fn long_indexed(opcode: u16) -> Option<Sort> {
    Some(match opcode & 0xFF {
        // LTG to MSG; DSG; CVBG to MSGF; DSGF; LRV, LRVH.
        0x02..=0x0C | 0x0E..=0x1C | 0x1E | 0x1F => First,
        0x0D | 0x1D => Pair,
        // CG to CVDY; LZRG; CVDG to CLGF; LTGF; CGH, PFD; AGH to MGH; STRV, STRVH.
        0x20..=0x26 | 0x2E..=0x31 | 0x34 | 0x36 | 0x3E | 0x3F => Nothing,
        0x2A | 0x32 | 0x38..=0x3C => First,
        // BCTG, LLGFSG, LGG; BIC, STGSC, LGSC, STY.
        0x46 | 0x48 | 0x4C => First,
        0x47 | 0x49 | 0x4D | 0x50 => Nothing,
        // MSY to NY; CLY; OY to LY; CY; AY, SY; MFY; ALY, SLY.
        0x51..=0x54 | 0x56..=0x58 | 0x5A | 0x5B | 0x5E | 0x5F => First,
        0x55 | 0x59 => Nothing,
        0x5C => Pair,
        // STHY, STCY, CHY; LAY, ICY to LHY, AHY to MHY.
        0x70 | 0x72 | 0x79 => Nothing,
        0x71 | 0x73..=0x78 | 0x7A..=0x7C => First,
        // NG to MSGC, LGAT, ALCG, SLBG; MG, MLG, DLG, LPQ; STPQ.
        0x80..=0x83 | 0x85 | 0x88 | 0x89 => First,
        0x84 | 0x86 | 0x87 | 0x8F => Pair,
        0x8E => Nothing,
        // LLGC to LLH; ML, DL; ALC to LAT.
        0x90..=0x95 | 0x98..=0x9F => First,
        0x96 | 0x97 => Pair,
        // LBH, LLCH, LHH, LLHH, LFHAT, LFH; STCH, STHH, STFH to CLHF, MPCIFC, STPCIFC.
        0xC0 | 0xC2 | 0xC4 | 0xC6 | 0xC8 | 0xCA => First,
        0xC3 | 0xC7 | 0xCB..=0xD4 => Nothing,
        _ => return None,
    })
}

/// E5, E6, E7, EB, EC and ED.
const fn long(opcode: u16) -> Option<Sort> {
    Some(match opcode {
        0xE500..=0xE5FF => Nothing,
        // VCVB, VCVBG; VLGV, LCBB; other vectors.
        0xE650 | 0xE652 | 0xE721 | 0xE727 => First,
        0xE600..=0xE7FF => Nothing,
        // LMG, LMH, LMY.
        0xEB04 | 0xEB96 | 0xEB98 => Range,
        // SRAG to SLLG, RLLG, RLL, BXHG, BXLEG, ECAG, SRAK to SLLK.
        0xEB0A..=0xEB0D | 0xEB1C | 0xEB1D | 0xEB44 | 0xEB45 | 0xEB4C | 0xEBDC..=0xEBDF => First,
        // CSY, CSG; CDSY, CDSG.
        0xEB14 | 0xEB30 => FirstIfOne,
        0xEB31 | 0xEB3E => Sort::PairIfOne,
        // TRACG, STCCTM, CLMH, CLMY, CLT to LCTLG.
        0xEB0F | 0xEB17 | 0xEB20..=0xEB2F => Nothing,
        // TMY to XIY, ASI to LPSWEY, AGSI, ALGSI; LRIC, STRIC, MRIC.
        0xEB51..=0xEB57 | 0xEB6A..=0xEB7E => Nothing,
        0xEB60..=0xEB62 => Seen,
        // ICMH, ICMY; MVCLU, CLCLU; STMY, LAMY, STAMY, TP; PCISTB, SIC, PCISTBI.
        0xEB80 | 0xEB81 => Sort::FirstIfAnyMask,
        0xEB8E | 0xEB8F => Pairs,
        0xEB90 | 0xEB9A | 0xEB9B | 0xEBC0 | 0xEBD1 => Nothing,
        0xEBD0 | 0xEBD4 => Seen,
        // LOCFH, LOCG, LOC; STOCFH, STOCG, STOC; LANG to LAALG, LAN to LAAL.
        0xEBE0 | 0xEBE2 | 0xEBF2 => Sort::FirstIfShortMask,
        0xEBE1 | 0xEBE3 | 0xEBF3 => Nothing,
        0xEBE4..=0xEBEA | 0xEBF4..=0xEBFA => First,
        // LOCHI, LOCGHI, LOCHHI; BRXHG, BRXLG; RISBLG, RISBG, RISBGN, RISBHG; RNSBG, ROSBG, RXSBG.
        0xEC42 | 0xEC46 | 0xEC4E => Sort::FirstIfShortMask,
        0xEC44 | 0xEC45 | 0xEC51 | 0xEC55 | 0xEC59 | 0xEC5D => First,
        0xEC54 | 0xEC56 | 0xEC57 => Sort::FirstUnlessTest,
        // Compare and branch, compare and trap; AHIK to ALGHSIK.
        0xEC64..=0xEC7F | 0xECE4..=0xECFF => Nothing,
        0xECD8..=0xECDB => First,
        0xED00..=0xEDFF => Nothing,
        _ => return None,
    })
}
