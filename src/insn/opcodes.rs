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
    let rest = match SECOND_PARTS[text[0] as usize] {
        SecondPart::None => 0,
        SecondPart::Byte1 => text[1],
        SecondPart::Byte5 => text[5],
        SecondPart::Half => text[1] & 15,
    };
    (text[0] as u16) << 8 | rest as u16
}

/// The second part of an opcode.
#[derive(Clone, Copy)]
enum SecondPart {
    None,
    Byte1,
    Byte5,
    /// Bits 12-15.
    Half,
}

/// The second parts of opcodes, by their first bytes.
const SECOND_PARTS: [SecondPart; 256] = {
    let mut parts = [SecondPart::None; 256];
    let mut first = 0;
    while first < 256 {
        parts[first] = match place(first as u8) {
            (_, 0) => SecondPart::None,
            (FOUR_BITS.., _) => SecondPart::Half,
            (_, 1) => SecondPart::Byte1,
            (_, _) => SecondPart::Byte5,
        };
        first += 1;
    }
    parts
};

/// Where the opcodes that begin with a byte are: the number of the map, which is theirs alone, and which byte of the text is looked up in it.
#[must_use]
pub(super) const fn place(first: u8) -> (usize, usize) {
    match first {
        0x01 => (1, 1),
        0xB2 => (2, 1),
        0xB3 => (3, 1),
        0xB9 => (4, 1),
        0xE5 => (5, 1),
        0xE3 => (6, 5),
        0xE6 => (7, 5),
        0xE7 => (8, 5),
        0xEB => (9, 5),
        0xEC => (10, 5),
        0xED => (11, 5),
        0xA5 => (12, 1),
        0xA7 => (13, 1),
        0xAA => (14, 1),
        0xC0 => (15, 1),
        0xC2 => (16, 1),
        0xC4 => (17, 1),
        0xC6 => (18, 1),
        0xC8 => (19, 1),
        0xCC => (20, 1),
        _ => (0, 0),
    }
}

/// The number of the first map of opcodes whose second part is bits 12-15.
pub(super) const FOUR_BITS: usize = 12;

/// The number of maps.
pub(super) const MAPS: usize = 21;

/// The maps, by their numbers. From [`FOUR_BITS`] on a map has the same row sixteen times.
#[rustfmt::skip]
const ALL: [Page; MAPS] = [
    BYTE, PAGE_01, PAGE_B2, PAGE_B3, PAGE_B9, PAGE_E5, PAGE_E3, PAGE_E6, PAGE_E7, PAGE_EB, PAGE_EC, PAGE_ED,
    [0xFFFF; 16], [0xFFFF; 16], [0xF800; 16], [0xCFFF; 16], [0xCCFF; 16], [0x2F9F; 16], [0xAFAF; 16], [0xEC00; 16],
    [0x02B5; 16],
];

/// Whether the opcode with this byte is assigned in a map.
#[must_use]
pub(super) const fn assigned_in(map: usize, code: u8) -> bool {
    ALL[map][(code >> 4) as usize] << (code & 15) & 0x8000 != 0
}

/// Whether an instruction with this operation code exists, privileged or not, installed or not.
///
/// Text that is shorter than its operation code is not assigned.
#[must_use]
pub fn assigned(text: &[u8]) -> bool {
    assigned_as_far(text).unwrap_or(false)
}

/// Whether the instruction with this text exists, if the text has its whole operation code, as the text at the end of a page may
/// not have.
pub(super) fn assigned_as_far(text: &[u8]) -> Option<bool> {
    let (map, at) = place(*text.first()?);
    let code = *text.get(at)?;
    Some(assigned_in(map, code))
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
