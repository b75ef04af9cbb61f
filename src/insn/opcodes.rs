//! Which operation codes are assigned in z/Architecture, up to the z16.
//!
//! One map for each opcode page, drawn like the opcode charts: sixteen rows, row *n* for the codes n0 to
//! nF, the leftmost bit for n0. The maps come from an assembler's opcode tables for the Principles of
//! Operation, completed with instructions that control programs use and other manuals define: the
//! CPU-measurement, service-call, adjunct-processor and PCI instructions, runtime instrumentation, the
//! calls to a hypervisor. Codes without a published meaning, codes that only a debugger stores (0002) and
//! codes of ESA/390 (SSK, ISK) are not assigned.
//!
//! The scanner depends on the maps in both directions: a decode that reaches an unassigned code is out of
//! step or has left the code, and a sensitive instruction is replaced by a code that must cause an
//! operation exception on every machine.

/// Sixteen rows of sixteen codes.
type Page = [u16; 16];

/// The operation code as one number: the first byte and, if the opcode has a second part, that part: the
/// second byte, the sixth, or bits 12-15 as a number from 0 to F.
///
/// `B220` is SERVC, `EB17` STCCTM (first and sixth byte), `C600` EXRL, `4400` EX.
#[must_use]
#[inline]
pub const fn opcode(text: &[u8; 6]) -> u16 {
    let rest = match text[0] {
        0x01 | 0xB2 | 0xB3 | 0xB9 | 0xE5 => text[1],
        0xE3 | 0xE6 | 0xE7 | 0xEB..=0xED => text[5],
        0xA5 | 0xA7 | 0xAA | 0xC0 | 0xC2 | 0xC4 | 0xC6 | 0xC8 | 0xCC => text[1] & 15,
        _ => 0,
    };
    (text[0] as u16) << 8 | rest as u16
}

/// Whether an instruction with this operation code exists, privileged or not, installed or not.
///
/// Text that is shorter than its operation code is not assigned.
#[must_use]
pub fn assigned(text: &[u8]) -> bool {
    let Some(&first) = text.first() else {
        return false;
    };
    let on = |page: &Page, index: usize| {
        text.get(index)
            .is_some_and(|&code| page[usize::from(code >> 4)] << (code & 15) & 0x8000 != 0)
    };
    let four_bits = |row: u16| {
        text.get(1)
            .is_some_and(|&byte| row << (byte & 15) & 0x8000 != 0)
    };
    match first {
        0x01 => on(&PAGE_01, 1),
        0xB2 => on(&PAGE_B2, 1),
        0xB3 => on(&PAGE_B3, 1),
        0xB9 => on(&PAGE_B9, 1),
        0xE5 => on(&PAGE_E5, 1),
        0xE3 => on(&PAGE_E3, 5),
        0xE6 => on(&PAGE_E6, 5),
        0xE7 => on(&PAGE_E7, 5),
        0xEB => on(&PAGE_EB, 5),
        0xEC => on(&PAGE_EC, 5),
        0xED => on(&PAGE_ED, 5),
        0xA5 => four_bits(0xFFFF),
        0xA7 => four_bits(0xFFFF),
        0xAA => four_bits(0xF800),
        0xC0 => four_bits(0xCFFF),
        0xC2 => four_bits(0xCCFF),
        0xC4 => four_bits(0x2F9F),
        0xC6 => four_bits(0xAFAF),
        0xC8 => four_bits(0xEC00),
        0xCC => four_bits(0x02B5),
        _ => on(&BYTE, 0),
    }
}

/// Opcodes of one byte; the pages below are absent here.
#[rustfmt::skip]
const BYTE: Page = [
    0x0F3F, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xCFFF, 0x81FF, 0xC0FF,
    0xBFFF, 0xFFF0, 0x00CF, 0x4337, 0x0500, 0xFF7F, 0x60E3, 0xF0FC,
];

/// 01xx, two bytes: no operands.
#[rustfmt::skip]
const PAGE_01: Page = [
    0x693E, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000,
    0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0001,
];

/// B2xx, four bytes.
#[rustfmt::skip]
const PAGE_B2: Page = [
    0xEFF4, 0xE8E0, 0xFFFF, 0xFFF8, 0xCFFF, 0xAFA7, 0x1000, 0x0BCC,
    0x8F03, 0x004C, 0x0707, 0xE0C4, 0x0000, 0x0000, 0xCC8C, 0x80A9,
];

/// B3xx, four bytes: floating point.
#[rustfmt::skip]
const PAGE_B3: Page = [
    0xFFFF, 0xFFFF, 0x0E03, 0x03FF, 0xFFFC, 0xD1D1, 0xF740, 0xFF01,
    0x0C08, 0xEEEE, 0xEEEE, 0x0EE0, 0x4EE4, 0xFFFF, 0xFDFD, 0x7F7F,
];

/// B9xx, four bytes: registers of 64 bits, and much else.
#[rustfmt::skip]
const PAGE_B9: Page = [
    0xFFFF, 0xFBFF, 0xC7FF, 0xC0FB, 0x7270, 0x7070, 0xCF00, 0x3F00,
    0xFFF7, 0xFFF7, 0xE83B, 0xF007, 0x80F5, 0xBEF5, 0xFFFC, 0xAFF4,
];

/// E5xx, six bytes: the second opcode byte follows the first.
#[rustfmt::skip]
const PAGE_E5: Page = [
    0xE023, 0x0000, 0x0000, 0x0000, 0x0888, 0x0CCC, 0xC000, 0x0000,
    0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000,
];

/// E3..xx, six bytes: 20-bit displacements and an index.
#[rustfmt::skip]
const PAGE_E3: Page = [
    0x3AFF, 0x3FFF, 0xCE23, 0xEAFB, 0x03CC, 0xDFFB, 0x0000, 0xF7F8,
    0xFFC3, 0xCFCD, 0x0000, 0x0000, 0xBBB5, 0x8800, 0x0000, 0x0000,
];

/// E6..xx, six bytes: vectors of decimal numbers.
#[rustfmt::skip]
const PAGE_E6: Page = [
    0x7F73, 0x0000, 0x0000, 0x0D0D, 0x0040, 0xEEFF, 0x0000, 0xFDFE,
    0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000,
];

/// E7..xx, six bytes: vectors.
#[rustfmt::skip]
const PAGE_E7: Page = [
    0xFFF2, 0x3030, 0x6100, 0x93A3, 0xFE24, 0xB209, 0xEFFF, 0xBDAF,
    0xEF3F, 0x0D03, 0x7F7F, 0x08DD, 0xFD3A, 0x0FD3, 0x35B3, 0xF5DF,
];

/// EB..xx, six bytes: 20-bit displacements and two registers.
#[rustfmt::skip]
const PAGE_EB: Page = [
    0x083D, 0x090C, 0xDE1D, 0xC002, 0x0C08, 0x6F00, 0xE022, 0x4022,
    0xC003, 0x82B0, 0x0000, 0x0000, 0x8000, 0xC80F, 0xFBA0, 0x3BA0,
];

/// EC..xx, six bytes: compare and branch, rotate.
#[rustfmt::skip]
const PAGE_EC: Page = [
    0x0000, 0x0000, 0x0000, 0x0000, 0x2E02, 0x4F44, 0x0C00, 0xF30F,
    0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x00F0, 0x0C00, 0x030F,
];

/// ED..xx, six bytes: floating point in storage.
#[rustfmt::skip]
const PAGE_ED: Page = [
    0x0FFF, 0xEDFF, 0x0E03, 0x0DFF, 0xC0C0, 0xCCC0, 0x0F00, 0x0000,
    0x0000, 0x0000, 0x00FF, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000,
];
