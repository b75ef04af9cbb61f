//! The fields of each instruction format.
//!
//! Each format has a module and each field a function, with the names of the Principles of Operation
//! ("first" is D1(B1), "second" D2(X2,B2)), so that a row of the instruction table reads like one of the
//! manual.

use super::operand::Operand;

/// Bits 0-3 of a byte.
const fn high(byte: u8) -> u8 {
    byte >> 4
}

/// Bits 4-7 of a byte.
const fn low(byte: u8) -> u8 {
    byte & 15
}

/// Base and 12-bit displacement, from the halfword at `at`.
const fn short(text: &[u8; 6], at: usize) -> Operand {
    let displacement = (low(text[at]) as i32) << 8 | text[at + 1] as i32;
    Operand {
        index: 0,
        base: high(text[at]),
        displacement,
    }
}

/// Base and 20-bit displacement: DL in bits 20-31, its extension DH, the signed part, in bits 32-39.
const fn long(text: &[u8; 6]) -> Operand {
    let mut operand = short(text, 2);
    operand.displacement |= (text[4] as i8 as i32) << 12;
    operand
}

macro_rules! fields {
    ($($(#[$doc:meta])* $format:ident { $($field:ident: $type:ty = |$text:ident| $value:expr;)* })*) => {$(
        $(#[$doc])*
        pub(super) mod $format {
            #[allow(unused_imports, reason = "not every format has fields in half bytes or in storage")]
            use super::{high, long, low, short, Operand};
            $(
                #[inline]
                pub const fn $field($text: &[u8; 6]) -> $type {
                    $value
                }
            )*
        }
    )*};
}

fields! {
    /// The opcode alone: E, and instructions of S and RRE without operands.
    none {}
    i { i: u8 = |text| text[1]; }
    s { second: Operand = |text| short(text, 2); }
    si {
        first: Operand = |text| short(text, 2);
        i2: u8 = |text| text[1];
    }
    siy { first: Operand = |text| long(text); }
    rx {
        r1: u8 = |text| high(text[1]);
        second: Operand = |text| Operand { index: low(text[1]), ..short(text, 2) };
    }
    rxy {
        r1: u8 = |text| high(text[1]);
        second: Operand = |text| Operand { index: low(text[1]), ..long(text) };
    }
    rs {
        r1: u8 = |text| high(text[1]);
        r3: u8 = |text| low(text[1]);
        second: Operand = |text| short(text, 2);
    }
    rsy {
        r1: u8 = |text| high(text[1]);
        r3: u8 = |text| low(text[1]);
        m3: u8 = |text| low(text[1]);
        second: Operand = |text| long(text);
    }
    rre {
        r1: u8 = |text| high(text[3]);
        r2: u8 = |text| low(text[3]);
    }
    /// RRF-a to RRF-d: the instruction determines which of R3, M3 and M4 it has.
    rrf {
        r1: u8 = |text| high(text[3]);
        r2: u8 = |text| low(text[3]);
        r3: u8 = |text| high(text[2]);
        m3: u8 = |text| high(text[2]);
        m4: u8 = |text| low(text[2]);
    }
    /// RIL-b: a relative-immediate operand of 32 bits.
    ril {
        r1: u8 = |text| high(text[1]);
        ri2: crate::RelativeOffset = |text| {
            crate::RelativeOffset(i32::from_be_bytes([text[2], text[3], text[4], text[5]]))
        };
    }
    /// SS-a: a length, which is one less than the number of bytes.
    ss_a {
        l: u8 = |text| text[1];
        first: Operand = |text| short(text, 2);
        second: Operand = |text| short(text, 4);
    }
    /// SS-d: a length and a key in registers.
    ss {
        r1: u8 = |text| high(text[1]);
        r3: u8 = |text| low(text[1]);
        first: Operand = |text| short(text, 2);
        second: Operand = |text| short(text, 4);
    }
    sse {
        first: Operand = |text| short(text, 2);
        second: Operand = |text| short(text, 4);
    }
    ssf {
        r3: u8 = |text| high(text[1]);
        first: Operand = |text| short(text, 2);
        second: Operand = |text| short(text, 4);
    }
}
