//! Every assigned opcode, sorted by the storage operands that it has.
//!
//! Lengths and places are those of the instructions' descriptions and formats in the Principles of
//! Operation. A comment lists the mnemonics of its row in the order of their opcodes. Assigned opcodes have
//! no default: one that is missing here is `None`, and a test finds it.

use super::Access::{self, Fetch, Store, Update};
use super::function::Function;
use super::operand::Extent::{self, *};
use super::operand::Place::{self, *};
use super::progress::Progress;

mod vector;

/// An operand that the text describes.
type Operand = (Access, Place, Extent);

/// The storage operands of an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// No operand in storage; an address may be a number of bits, a branch address or a value.
    Nothing,
    /// One operand.
    One(Access, Place, Extent),
    /// Several, sources first.
    Several(&'static [Operand]),
    /// These, and others that are fetched depending on the contents of storage.
    Partly(&'static [Operand]),
    /// One at base and long displacement, when the mask in the right half of byte 1 selects the condition code.
    OnCondition(Access, Extent),
    /// One that is stored only if the condition code afterwards is zero.
    Swap(Place, Extent),
    /// Operands up to the point that the registers show.
    Counted(Progress),
    /// Operands that a code or a control in a register determines.
    Controlled(Function),
    /// Operands that text and registers do not determine.
    Unknown,
    /// A control instruction, or one of those that millicode performs for the guest.
    Control,
}

/// Sorts an opcode as [`opcode`](crate::opcode) gives it; `None` is one that is not in the table.
pub(super) const fn sort(opcode: u16) -> Option<Sort> {
    match (opcode >> 8) as u8 {
        0x01 | 0xB2 | 0xB3 | 0xB9 => registers(opcode),
        0xA5..=0xAA | 0xC0..=0xCC => immediate(opcode),
        0xE3 => long_indexed(opcode),
        0xE5 | 0xEB => long(opcode),
        0xE6 | 0xE7 => vector::vector(opcode),
        0xED => vector::floating(opcode),
        _ => one_byte(opcode),
    }
}

/// Opcodes of one byte, and EC.
const fn one_byte(opcode: u16) -> Option<Sort> {
    use Sort::*;
    const MOVED: Sort = Several(&[(Fetch, Behind, Length), (Store, Base, Length)]);
    const CHANGED: Sort = Several(&[(Fetch, Behind, Length), (Update, Base, Length)]);
    Some(match opcode >> 8 {
        // Formats RR and EC: registers and immediate values.
        0x04..=0x0D | 0x10..=0x3F | 0xEC => Nothing,
        0x0E => Counted(Progress::MoveLong),
        0x0F => Counted(Progress::CompareLong),
        // LA, EX, BAL, BCT, BC, BAS, LAE.
        0x41 | 0x44..=0x47 | 0x4D | 0x51 => Nothing,
        // STC; IC.
        0x42 => One(Store, Indexed, Bytes(1)),
        0x43 => One(Fetch, Indexed, Bytes(1)),
        // STH; LH, CH, AH, SH, MH.
        0x40 => One(Store, Indexed, Bytes(2)),
        0x48..=0x4C => One(Fetch, Indexed, Bytes(2)),
        // CVD; CVB.
        0x4E => One(Store, Indexed, Bytes(8)),
        0x4F => One(Fetch, Indexed, Bytes(8)),
        // ST, STE; N, CL, O, X, L, C, A, S, M, D, AL, SL, MS, and LE to SU.
        0x50 | 0x70 => One(Store, Indexed, Bytes(4)),
        0x54..=0x5F | 0x71 | 0x78..=0x7F => One(Fetch, Indexed, Bytes(4)),
        // STD; MXD, LD to SW.
        0x60 => One(Store, Indexed, Bytes(8)),
        0x67..=0x6F => One(Fetch, Indexed, Bytes(8)),
        // SSM, LPSW, DIAG; TRACE; STNSM, STOSM, SIGP, MC; LRA; STCTL, LCTL.
        0x80 | 0x82 | 0x83 | 0x99 | 0xAC..=0xAF | 0xB1 | 0xB6 | 0xB7 => Control,
        // BRXH to BXLE; SRL to SLDA.
        0x84..=0x8F => Nothing,
        // STM, STAM; LM, LAM.
        0x90 | 0x9B => One(Store, Base, Registers(4)),
        0x98 | 0x9A => One(Fetch, Base, Registers(4)),
        // TM, CLI; MVI; TS, NI, OI, XI.
        0x91 | 0x95 => One(Fetch, Base, Bytes(1)),
        0x92 => One(Store, Base, Bytes(1)),
        0x93 | 0x94 | 0x96 | 0x97 => One(Update, Base, Bytes(1)),
        // CS, CDS.
        0xBA => Swap(Base, Bytes(4)),
        0xBB => Swap(Base, Bytes(8)),
        // CLM, ICM; STCM.
        0xBD | 0xBF => One(Fetch, Base, Mask),
        0xBE => One(Store, Base, Mask),
        // TRTR, TRT.
        0xD0 => Counted(Progress::TranslateAndTestReverse),
        0xDD => Counted(Progress::TranslateAndTest),
        // MVC; MVN, MVZ, NC, OC, XC; CLC.
        0xD2 => MOVED,
        0xD1 | 0xD3 | 0xD4 | 0xD6 | 0xD7 => CHANGED,
        0xD5 => Several(&[(Fetch, Base, Length), (Fetch, Behind, Length)]),
        // MVCK, MVCP, MVCS.
        0xD9 => Controlled(Function::MoveWithKey),
        0xDA => Controlled(Function::MoveToPrimary),
        0xDB => Controlled(Function::MoveToSecondary),
        // TR, ED, EDMK: bytes of the table, or of the source as the pattern selects them.
        0xDC | 0xDE | 0xDF => Partly(&[(Update, Base, Length)]),
        // PKU, PKA; UNPKU, UNPKA: the packed operand has 16 bytes.
        0xE1 | 0xE9 => Several(&[(Fetch, Behind, Length), (Store, Base, Bytes(16))]),
        0xE2 | 0xEA => Several(&[(Fetch, Behind, Bytes(16)), (Store, Base, Length)]),
        0xE8 => Controlled(Function::MoveInverse),
        0xEE => Controlled(Function::PerformLockedOperation),
        // LMD.
        0xEF => Several(&[(Fetch, Base, Registers(4)), (Fetch, Behind, Registers(4))]),
        // SRP; MVO, AP, SP, MP, DP; PACK, UNPK, ZAP; CP.
        0xF0 => One(Update, Base, Length1),
        0xF1 | 0xFA..=0xFD => Several(&[(Fetch, Behind, Length2), (Update, Base, Length1)]),
        0xF2 | 0xF3 | 0xF8 => Several(&[(Fetch, Behind, Length2), (Store, Base, Length1)]),
        0xF9 => Several(&[(Fetch, Base, Length1), (Fetch, Behind, Length2)]),
        _ => return None,
    })
}

/// 01, B2, B3, B9: registers, and control instructions with an address in storage.
const fn registers(opcode: u16) -> Option<Sort> {
    use Sort::*;
    Some(match opcode {
        // PR, SCKPF, TRAP2.
        0x0101 | 0x0107 | 0x01FF => Control,
        // UPT; PTFF.
        0x0102 | 0x0104 => Unknown,
        // PFPO, TAM, SAM24, SAM31, SAM64.
        0x010A..=0x010E => Nothing,
        // LBEAR to STAP, SIE to SAC.
        0xB200..=0xB219 if !matches!(opcode, 0xB205) => Control,
        // STCK, STCKF; STCKE.
        0xB205 | 0xB27C => One(Store, Base, Bytes(8)),
        0xB278 => One(Store, Base, Bytes(16)),
        // CFC, CUSE.
        0xB21A | 0xB257 => Partly(&[]),
        // IPM, DXR, SQDR, SQER, CPYA, SAR, EAR, MSR.
        0xB222 | 0xB22D | 0xB244 | 0xB245 | 0xB24D..=0xB24F | 0xB252 => Nothing,
        // CKSM, MVPG, MVST, CLST, SRST.
        0xB241 => Counted(Progress::Checksum),
        0xB254 => Controlled(Function::MovePage),
        0xB255 => Counted(Progress::MoveString),
        0xB25D => Counted(Progress::CompareString),
        0xB25E => Counted(Progress::SearchString(1)),
        // SERVC, IPTE, IVSK to TB, PGIN to SCHM, BAKR.
        0xB220 | 0xB221 | 0xB223..=0xB22C | 0xB22E..=0xB240 => Control,
        // STURA to TAR, CSP, STHYI, BSG, BSA, CHSC.
        0xB246..=0xB24C | 0xB250 | 0xB256 | 0xB258 | 0xB25A | 0xB25F => Control,
        // CMPSC.
        0xB263 => Unknown,
        // SIGA, XSCH, RP, SACF, STSI; LPP to QPACI.
        0xB274..=0xB277 | 0xB279 | 0xB27D | 0xB280..=0xB28F => Control,
        // SRNM, SRNMB, SRNMT.
        0xB299 | 0xB2B8 | 0xB2B9 => Nothing,
        // STFPC; LFPC, LFAS.
        0xB29C => One(Store, Base, Bytes(4)),
        0xB29D | 0xB2BD => One(Fetch, Base, Bytes(4)),
        0xB2A5 => Counted(Progress::TranslateExtended),
        // CU21, CU12.
        0xB2A6 | 0xB2A7 => Counted(Progress::Convert),
        // NQAP, DQAP, PQAP, STFL, LPSWE.
        0xB2AD..=0xB2AF | 0xB2B1 | 0xB2B2 => Control,
        0xB2B0 => Controlled(Function::StoreFacilityList),
        // SCCTR, SPCTR, ECCTR, EPCTR, ECPGA, IUCV, TRAP4.
        0xB2E0..=0xB2E5 | 0xB2ED | 0xB2F0 | 0xB2FF => Control,
        // PPA, ETND, TEND, NIAI, TABORT.
        0xB2E8 | 0xB2EC | 0xB2F8 | 0xB2FA | 0xB2FC => Nothing,
        // Floating point in registers.
        0xB300..=0xB3FF => Nothing,
        // LURAG, EREGG, STURG.
        0xB905 | 0xB90E | 0xB925 => Control,
        // LPGR to CLGFR.
        0xB900..=0xB91D | 0xB91F..=0xB924 | 0xB926 | 0xB927 | 0xB930..=0xB937 => Nothing,
        // KMAC, KIMD, KLMD; KMA; KMF, KMO, KM, KMC; KMCTR.
        0xB91E | 0xB93E | 0xB93F => Controlled(Function::Digest),
        0xB92A | 0xB92B | 0xB92E | 0xB92F => Controlled(Function::Cipher),
        0xB92D => Controlled(Function::CipherWithCounter),
        // KMA, PCC, KDSA; PRNO.
        0xB929 | 0xB92C | 0xB93A => Controlled(Function::Queried),
        0xB93C => Controlled(Function::RandomNumber),
        // PCKMO.
        0xB928 => Control,
        // SORTL, DFLTCC, NNPA.
        0xB938 | 0xB939 | 0xB93B => Unknown,
        // CFDTR to CXLFTR and BCTGR, CGRT to NXRK, NGR to SLBGR.
        0xB941..=0xB989 => Nothing,
        // CSPG, RDP, EPSW, IDTE, CRDTE.
        0xB98A | 0xB98B | 0xB98D..=0xB98F => Control,
        // TRTT, TRTO; TROT, TROO.
        0xB990 | 0xB991 => Counted(Progress::TranslateCharacters(2)),
        0xB992 | 0xB993 => Counted(Progress::TranslateCharacters(1)),
        // LLCR to SLBR.
        0xB994..=0xB999 => Nothing,
        // EPAIR to SSAIR, CLP, TPEI, PTF, UVC, LPTEA to PFMF.
        0xB99A..=0xB9AF => Control,
        // CU14, CU24, CU41, CU42.
        0xB9B0..=0xB9B3 => Counted(Progress::Convert),
        0xB9BD => Counted(Progress::TranslateAndTestReverseExtended),
        0xB9BE => Counted(Progress::SearchString(2)),
        0xB9BF => Counted(Progress::TranslateAndTestExtended),
        // PCISTG to PCILGI.
        0xB9D0..=0xB9D6 => Control,
        // SELFHR to CLHHR, AHHLR to MSRKC.
        0xB9C0..=0xB9CF | 0xB9D8..=0xB9FF => Nothing,
        _ => return None,
    })
}

/// A5 to AA and C0 to CC: immediate values and relative operands, for the most part.
const fn immediate(opcode: u16) -> Option<Sort> {
    use Sort::*;
    Some(match opcode {
        0xA500..=0xA50F | 0xA700..=0xA70F => Nothing,
        0xA800 => Counted(Progress::MoveLongExtended),
        0xA900 => Counted(Progress::CompareLongExtended(1)),
        // RINEXT, RION, TRIC, RIOFF, RIEMIT: the buffer of runtime instrumentation.
        0xAA00..=0xAA04 => Unknown,
        0xC000..=0xC00F | 0xC200..=0xC20F | 0xCC06..=0xCC0F => Nothing,
        // LLHRL, LGHRL, LHRL, LLGHRL; CGHRL, CHRL, CLGHRL, CLHRL.
        0xC402 | 0xC404..=0xC406 | 0xC604..=0xC607 => One(Fetch, Relative, Bytes(2)),
        // LGFRL, LRL, LLGFRL; CGFRL, CRL, CLGFRL, CLRL.
        0xC40C..=0xC40E | 0xC60C..=0xC60F => One(Fetch, Relative, Bytes(4)),
        // LGRL, CGRL, CLGRL.
        0xC408 | 0xC608 | 0xC60A => One(Fetch, Relative, Bytes(8)),
        // STHRL, STRL, STGRL.
        0xC407 => One(Store, Relative, Bytes(2)),
        0xC40F => One(Store, Relative, Bytes(4)),
        0xC40B => One(Store, Relative, Bytes(8)),
        // BPRP, BPP, EXRL, PFDRL.
        0xC500 | 0xC700 | 0xC600 | 0xC602 => Nothing,
        0xC800 => Controlled(Function::MoveWithOptionalSpecifications),
        0xC801 => Controlled(Function::ExtractCpuTime),
        0xC802 => Controlled(Function::CompareAndSwapAndStore),
        // LPD, LPDG.
        0xC804 => Several(&[(Fetch, Base, Bytes(4)), (Fetch, Behind, Bytes(4))]),
        0xC805 => Several(&[(Fetch, Base, Bytes(8)), (Fetch, Behind, Bytes(8))]),
        _ => return None,
    })
}

/// E3: an index and a long displacement.
const fn long_indexed(opcode: u16) -> Option<Sort> {
    use Sort::*;
    Some(match opcode & 0xFF {
        // LRAG, LRAY, MPCIFC, STPCIFC.
        0x03 | 0x13 | 0xD0 | 0xD4 => Control,
        // PFD, BCTG, LAY, LAEY.
        0x36 | 0x46 | 0x71 | 0x75 => Nothing,
        0x47 => Controlled(Function::BranchIndirect),
        // ICY, LB, LGB, LLGC, LLC, LBH, LLCH.
        0x73 | 0x76 | 0x77 | 0x90 | 0x94 | 0xC0 | 0xC2 => One(Fetch, IndexedLong, Bytes(1)),
        // LGH, LRVH, CGH, AGH, SGH, MGH, LHY to SHY, MHY, LLGH, LLH, LHH, LLHH.
        0x15 | 0x1F | 0x34 | 0x38 | 0x39 | 0x3C | 0x78..=0x7C | 0x91 | 0x95 | 0xC4 | 0xC6 => {
            One(Fetch, IndexedLong, Bytes(2))
        }
        // LT, LGF, LLGF to LRV, CGF, CLGF, LTGF, LLZRGF, LZRF, LLGFSG.
        0x12 | 0x14 | 0x16..=0x1E | 0x30..=0x32 | 0x3A | 0x3B | 0x48 => {
            One(Fetch, IndexedLong, Bytes(4))
        }
        // MSY, MSC, NY to SY, MFY, ALY, SLY.
        0x51 | 0x53..=0x5C | 0x5E | 0x5F => One(Fetch, IndexedLong, Bytes(4)),
        // ML to SLB, LLGTAT, LLGFAT, LAT, LFHAT, LFH, CHF, CLHF.
        0x96..=0x99 | 0x9C | 0x9D | 0x9F | 0xC8 | 0xCA | 0xCD | 0xCF => {
            One(Fetch, IndexedLong, Bytes(4))
        }
        // LTG, LG, CVBY, AG to DSG, LRVG, CG, CLG, LZRG, LGG, NG to SLBG.
        0x02 | 0x04 | 0x06 | 0x08..=0x0D | 0x0F | 0x20 | 0x21 | 0x2A | 0x4C | 0x80..=0x89 => {
            One(Fetch, IndexedLong, Bytes(8))
        }
        // CVBG, LPQ; LGSC.
        0x0E | 0x8F => One(Fetch, IndexedLong, Bytes(16)),
        0x4D => One(Fetch, IndexedLong, Bytes(32)),
        // STCY, STCH; STRVH, STHY, STHH; STRV, STY, STFH; STG, NTSTG, CVDY, STRVG; CVDG, STPQ; STGSC.
        0x72 | 0xC3 => One(Store, IndexedLong, Bytes(1)),
        0x3F | 0x70 | 0xC7 => One(Store, IndexedLong, Bytes(2)),
        0x3E | 0x50 | 0xCB => One(Store, IndexedLong, Bytes(4)),
        0x24..=0x26 | 0x2F => One(Store, IndexedLong, Bytes(8)),
        0x2E | 0x8E => One(Store, IndexedLong, Bytes(16)),
        0x49 => One(Store, IndexedLong, Bytes(32)),
        _ => return None,
    })
}

/// E5: two operands, or one and an immediate value; EB: a long displacement.
const fn long(opcode: u16) -> Option<Sort> {
    use Sort::*;
    Some(match opcode {
        // LASP, TPROT, STRAG.
        0xE500..=0xE502 => Control,
        0xE50A => Controlled(Function::MoveRightToLeft),
        // MVCSK, MVCDK.
        0xE50E | 0xE50F => Controlled(Function::MoveWithKeyInRegister),
        // MVHHI, MVGHI, MVHI.
        0xE544 => One(Store, Base, Bytes(2)),
        0xE548 => One(Store, Base, Bytes(8)),
        0xE54C => One(Store, Base, Bytes(4)),
        // CHHSI, CLHHSI; CGHSI, CLGHSI; CHSI, CLFHSI.
        0xE554 | 0xE555 => One(Fetch, Base, Bytes(2)),
        0xE558 | 0xE559 => One(Fetch, Base, Bytes(8)),
        0xE55C | 0xE55D => One(Fetch, Base, Bytes(4)),
        // TBEGIN, TBEGINC: the diagnostic block is stored when the transaction is aborted, if ever.
        0xE560 | 0xE561 => Nothing,
        // LMG; STMG; LMY, LMH, LAMY; STMY, STMH, STAMY.
        0xEB04 => One(Fetch, Long, Registers(8)),
        0xEB24 => One(Store, Long, Registers(8)),
        0xEB96 | 0xEB98 | 0xEB9A => One(Fetch, Long, Registers(4)),
        0xEB26 | 0xEB90 | 0xEB9B => One(Store, Long, Registers(4)),
        // SRAG to SLLG, RLLG, RLL, SRAK to SLLK; BXHG, BXLEG; ECAG.
        0xEB0A..=0xEB0D | 0xEB1C | 0xEB1D | 0xEBDC..=0xEBDF | 0xEB44 | 0xEB45 | 0xEB4C => Nothing,
        // TRACG, STCCTM, STCTG, LCTLG, LPSWEY, PCISTB, SIC, PCISTBI.
        0xEB0F | 0xEB17 | 0xEB25 | 0xEB2F | 0xEB71 | 0xEBD0 | 0xEBD1 | 0xEBD4 => Control,
        // LRIC, STRIC, MRIC: the controls of runtime instrumentation.
        0xEB60..=0xEB62 => Unknown,
        // CSY; CDSY, CSG; CDSG.
        0xEB14 => Swap(Long, Bytes(4)),
        0xEB30 | 0xEB31 => Swap(Long, Bytes(8)),
        0xEB3E => Swap(Long, Bytes(16)),
        // CLMH, CLMY, ICMH, ICMY; STCMH, STCMY.
        0xEB20 | 0xEB21 | 0xEB80 | 0xEB81 => One(Fetch, Long, Mask),
        0xEB2C | 0xEB2D => One(Store, Long, Mask),
        // CLT, CLGT.
        0xEB23 => One(Fetch, Long, Bytes(4)),
        0xEB2B => One(Fetch, Long, Bytes(8)),
        // TMY, CLIY; MVIY; NIY, OIY, XIY.
        0xEB51 | 0xEB55 => One(Fetch, Long, Bytes(1)),
        0xEB52 => One(Store, Long, Bytes(1)),
        0xEB54 | 0xEB56 | 0xEB57 => One(Update, Long, Bytes(1)),
        // ASI, ALSI, LAN to LAALY; AGSI, ALGSI, LANG to LAALG.
        0xEB6A | 0xEB6E | 0xEBF4..=0xEBFA => One(Update, Long, Bytes(4)),
        0xEB7A | 0xEB7E | 0xEBE4..=0xEBEA => One(Update, Long, Bytes(8)),
        // MVCLU, CLCLU.
        0xEB8E => Counted(Progress::MoveLongExtended),
        0xEB8F => Counted(Progress::CompareLongExtended(2)),
        // TP.
        0xEBC0 => One(Fetch, Base, Length1),
        // LOCFH, LOC; LOCG; STOCFH, STOC; STOCG.
        0xEBE0 | 0xEBF2 => OnCondition(Fetch, Bytes(4)),
        0xEBE2 => OnCondition(Fetch, Bytes(8)),
        0xEBE1 | 0xEBF3 => OnCondition(Store, Bytes(4)),
        0xEBE3 => OnCondition(Store, Bytes(8)),
        _ => return None,
    })
}
