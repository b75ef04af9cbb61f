//! The contents that a program interruption stored while events were recorded, as text.

use core::fmt::{self, Write};

use super::{Form, form, text};
use crate::psw::{DAT, Psw};
use crate::{check, println};

/// What a program interruption stored.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Program-interruption code.
    pub code: u16,
    /// Instruction length.
    pub length: u16,
    /// Locations 150 to 159.
    pub stored: [u8; 10],
    /// The old PSW.
    pub old: Psw,
}

/// Locations 150 to 159 are set to this before an interruption.
pub(super) const UNTOUCHED: [u8; 10] = [0xEE; 10];

pub(super) const NONE: Event = Event {
    code: 0,
    length: 0,
    stored: [0; 10],
    old: Psw::new(0, 0),
};

impl Event {
    /// Whether it is a translation exception, alone or together with other conditions.
    pub(super) const fn is_translation(&self) -> bool {
        matches!(self.code & 0x7F, 0x10 | 0x11 | 0x38..=0x3B)
    }

    /// The PER address, and whether the other stored fields are right for the form: with 64-bit addresses and the
    /// primary space in z/Architecture.
    #[must_use]
    pub fn per_address(&self) -> (u64, bool) {
        let [_, mode, at @ ..] = self.stored;
        match form() {
            Form::Z => {
                let dat = if self.old.mask & DAT != 0 { 0x10 } else { 0 };
                (u64::from_be_bytes(at), mode == 0xE0 | dat)
            }
            Form::S370 => {
                let [zero, a, b, c, rest @ ..] = at;
                let is_regular = mode == 0 && zero == 0 && rest == [0xEE; 4];
                (u32::from_be_bytes([0, a, b, c]).into(), is_regular)
            }
        }
    }
}

impl fmt::Display for Event {
    /// Interruption code, instruction length, PER code, and the distances of the PER address and of the old PSW from
    /// the beginning of the text, all in hexadecimal digits; then the condition code. Without a PER event there is
    /// `-` in place of its fields, or `stored` if any of them was stored. If location 151 is not the one of the form
    /// and of the usual mode, its contents follow the PER code.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = |address: u64| address.wrapping_sub(text()) as u16;
        write!(f, "{:04x} {} ", self.code, self.length)?;
        let [events, mode, ..] = self.stored;
        if self.code & 0x80 != 0 {
            let (address, is_regular) = self.per_address();
            write!(f, "{events:02x}")?;
            if !is_regular {
                write!(f, "/{mode:02x}")?;
            }
            write!(f, " {:04x}", offset(address))?;
        } else {
            f.write_str(if self.stored == UNTOUCHED {
                "-"
            } else {
                "stored"
            })?;
        }
        let condition_code = self.old.condition_code();
        write!(f, " {:04x} cc{condition_code}", offset(self.old.address))
    }
}

/// A line of text on the stack.
struct Line {
    bytes: [u8; 64],
    length: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let into = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        into.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// Prints interruptions and compares them with those that the architecture requires. Returns whether they are equal.
pub fn expect(name: &str, got: &[Event], expected: &[&str]) -> bool {
    println!("{name}:");
    let mut right = got.len() == expected.len();
    for (number, event) in got.iter().enumerate() {
        let mut line = Line {
            bytes: [0; 64],
            length: 0,
        };
        let _ = write!(line, "{event}");
        let wanted = expected.get(number).copied().unwrap_or("nothing");
        if line.bytes[..line.length] == *wanted.as_bytes() {
            println!("  {event}");
        } else {
            right = false;
            println!("  {event}, expected {wanted}");
        }
    }
    if !right {
        check::fail();
        println!(
            "FAILED {name}: {} interruptions, expected {}",
            got.len(),
            expected.len()
        );
    }
    right
}
