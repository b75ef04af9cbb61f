//! What a branch instruction does, determined from its text and the registers.
//!
//! A single step needs it twice: to detect a successful branch to the next sequential instruction, which
//! the next address alone does not show; and to perform an instruction that branches to itself, which a
//! breakpoint at its target would stop before it ran.
//!
//! Everything here follows the instructions' descriptions in the Principles of Operation. BRANCH
//! PREDICTION PRELOAD and NEXT INSTRUCTION ACCESS INTENT only give hints and are not branches. Millicode
//! performs the control instructions that branch (PROGRAM RETURN, PROGRAM TRANSFER, BRANCH AND STACK,
//! BRANCH IN SUBSPACE GROUP).

use core::cmp::Ordering;

use super::opcodes::opcode;
use super::operand::Operand;
use super::{RelativeOffset, format};
use arch::psw::{ADDRESSING_64, BASIC_ADDRESSING, Psw};

/// The location of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The address of its text, to which a relative branch is relative. For the target of an EXECUTE it is
    /// the target's own address.
    pub at: u64,
    /// The address of the next sequential instruction: after the EXECUTE, for a target of one.
    pub next: u64,
    /// The instruction-length code, in halfwords: that of the EXECUTE, for a target of one.
    pub length_code: u8,
}

/// The target of a branch that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// This address.
    Address(u64),
    /// The address in the doubleword at this logical address, to which the addressing mode is then applied:
    /// BRANCH INDIRECT ON CONDITION.
    Stored(u64),
}

/// What a branch instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The target, if the branch is taken; an address has only the bits of the new addressing mode.
    pub target: Option<Target>,
    /// The general register that it changes, and its new content: link, count or index.
    pub changed: Option<(u8, u64)>,
    /// PSW bits 31-32 afterwards, in their place.
    pub addressing: u64,
}

/// Determines what a branch instruction does; `None` if the text is not a branch instruction.
///
/// `mask` is the left half of the PSW before: condition code, program mask and addressing mode.
#[must_use]
pub fn branch(text: &[u8; 6], site: &Site, general: &[u64; 16], mask: u64) -> Option<Branch> {
    let step = Step {
        text,
        site,
        general,
        mask,
    };
    let (r1, r2) = (text[1] >> 4, text[1] & 15);
    let opcode = opcode(text);
    Some(match opcode {
        // BCR, BC, BRC, BRCL, BIC.
        0x0700 => step.go(step.register(r2).filter(|_| step.condition(r1)), None),
        0x4700 => step.when(step.condition(r1), format::rx::second(text), None),
        0xA704 => step.jump(step.condition(r1), step.short(), None),
        0xC004 => step.jump(step.condition(r1), step.long(), None),
        0xE347 => step.indirect(r1),
        // BALR, BAL.
        0x0500 => step.go(step.register(r2), step.link(r1)),
        0x4500 => step.when(true, format::rx::second(text), step.link(r1)),
        // BASR, BAS, BRAS, BRASL.
        0x0D00 => step.go(step.register(r2), step.save(r1)),
        0x4D00 => step.when(true, format::rx::second(text), step.save(r1)),
        0xA705 => step.jump(true, step.short(), step.save(r1)),
        0xC005 => step.jump(true, step.long(), step.save(r1)),
        // BSM, BASSM.
        0x0B00 => step.set_mode(r2, step.mark_mode(r1)),
        0x0C00 => step.set_mode(r2, step.save_mode(r1)),
        // BCTR, BCTGR, BCT, BCTG, BRCT, BRCTG, BRCTH.
        0x0600 => step.count_register(r2, step.count(r1)),
        0xB946 => step.count_register(text[3] & 15, step.count_long(text[3] >> 4)),
        0x4600 => step.count_to(format::rx::second(text), step.count(r1)),
        0xE346 => step.count_to(format::rxy::second(text), step.count_long(r1)),
        0xA706 => step.count_jump(step.short(), step.count(r1)),
        0xA707 => step.count_jump(step.short(), step.count_long(r1)),
        0xCC06 => step.count_jump(step.long(), step.count_high(r1)),
        // BXH, BXLE, BXHG, BXLEG; BRXH, BRXLE, BRXHG, BRXLG.
        0x8600 | 0x8700 | 0xEB44 | 0xEB45 | 0x8400 | 0x8500 | 0xEC44 | 0xEC45 => step.index(opcode),
        // Compare and branch, compare and branch relative.
        0xEC64 | 0xEC65 | 0xEC76 | 0xEC77 | 0xEC7C..=0xEC7F => {
            step.jump(step.compares(), step.short(), None)
        }
        0xECE4 | 0xECE5 | 0xECF6 | 0xECF7 | 0xECFC..=0xECFF => {
            step.when(step.compares(), format::s::second(text), None)
        }
        _ => return None,
    })
}

/// A register and its new content.
type Change = Option<(u8, u64)>;

/// An instruction and the state before it.
struct Step<'a> {
    text: &'a [u8; 6],
    site: &'a Site,
    general: &'a [u64; 16],
    mask: u64,
}

impl Step<'_> {
    fn content(&self, number: u8) -> u64 {
        self.general[usize::from(number & 15)]
    }

    fn wrap(&self, address: u64) -> u64 {
        let psw = Psw {
            mask: self.mask,
            address,
        };
        address & psw.address_mask()
    }

    /// Whether a mask of four bits selects the condition code.
    fn condition(&self, mask: u8) -> bool {
        mask & 8 >> (self.mask >> 44 & 3) != 0
    }

    /// The branch address in register R2; a zero in the field means no branch.
    fn register(&self, r2: u8) -> Option<u64> {
        (r2 != 0).then(|| self.wrap(self.content(r2)))
    }

    fn short(&self) -> RelativeOffset {
        RelativeOffset(i16::from_be_bytes([self.text[2], self.text[3]]).into())
    }

    fn long(&self) -> RelativeOffset {
        format::ril::ri2(self.text)
    }

    fn go(&self, target: Option<u64>, changed: Change) -> Branch {
        Branch {
            target: target.map(Target::Address),
            changed,
            addressing: self.mask & ADDRESSING_64,
        }
    }

    fn when(&self, taken: bool, operand: Operand, changed: Change) -> Branch {
        let target = taken.then(|| self.wrap(operand.address(self.general)));
        self.go(target, changed)
    }

    fn jump(&self, taken: bool, offset: RelativeOffset, changed: Change) -> Branch {
        let target = self.site.at.wrapping_add_signed(offset.bytes());
        self.go(taken.then(|| self.wrap(target)), changed)
    }

    /// BRANCH INDIRECT ON CONDITION.
    fn indirect(&self, m1: u8) -> Branch {
        let stored = self.wrap(format::rxy::second(self.text).address(self.general));
        Branch {
            target: self.condition(m1).then_some(Target::Stored(stored)),
            ..self.go(None, None)
        }
    }

    /// The link of BRANCH AND SAVE: the next sequential address and, below the 64-bit mode, the basic
    /// addressing mode in bit 32.
    fn save(&self, r1: u8) -> Change {
        let next = self.wrap(self.site.next);
        let link = if self.mask & ADDRESSING_64 == ADDRESSING_64 {
            next
        } else {
            with_low(self.content(r1), next as u32 | self.basic_mode())
        };
        Some((r1, link))
    }

    /// The link of BRANCH AND LINK, which in the 24-bit mode has instruction-length code, condition code
    /// and program mask in its leftmost byte.
    fn link(&self, r1: u8) -> Change {
        if self.mask & ADDRESSING_64 != 0 {
            return self.save(r1);
        }
        let state = u32::from(self.site.length_code & 3) << 6 | (self.mask >> 40) as u32 & 0x3F;
        let link = state << 24 | self.wrap(self.site.next) as u32;
        Some((r1, with_low(self.content(r1), link)))
    }

    /// Bit 32 of a link: one in the 31-bit mode.
    fn basic_mode(&self) -> u32 {
        u32::from(self.mask & BASIC_ADDRESSING != 0) << 31
    }

    /// The link of BRANCH AND SAVE AND SET MODE: BRANCH AND SAVE's, with bit 63 one in the 64-bit mode.
    fn save_mode(&self, r1: u8) -> Change {
        let extended = self.mask & ADDRESSING_64 == ADDRESSING_64;
        self.save(r1)
            .map(|(r1, link)| (r1, link | u64::from(extended)))
    }

    /// The contents of R1 after BRANCH AND SET MODE, unless the field is zero: only the addressing mode
    /// changes.
    fn mark_mode(&self, r1: u8) -> Change {
        let old = self.content(r1);
        let new = if self.mask & ADDRESSING_64 == ADDRESSING_64 {
            old | 1
        } else {
            with_low(old, old as u32 & 0x7FFF_FFFF | self.basic_mode())
        };
        (r1 != 0).then_some((r1, new))
    }

    /// Branches to the address in R2 in the mode that it gives: bit 63 one for 64-bit, then bit 32 one for
    /// 31-bit. Bit 63 is not part of the address.
    fn set_mode(&self, r2: u8, changed: Change) -> Branch {
        if r2 == 0 {
            return self.go(None, changed);
        }
        let content = self.content(r2);
        let (addressing, target) = if content & 1 != 0 {
            (ADDRESSING_64, content & !1)
        } else if content & 0x8000_0000 != 0 {
            (BASIC_ADDRESSING, content & 0x7FFF_FFFF)
        } else {
            (0, content & 0x00FF_FFFF)
        };
        Branch {
            target: Some(Target::Address(target)),
            changed,
            addressing,
        }
    }

    /// Bits 32-63 of R1 less one, and whether that is not zero.
    fn count(&self, r1: u8) -> (bool, Change) {
        let count = (self.content(r1) as u32).wrapping_sub(1);
        (count != 0, Some((r1, with_low(self.content(r1), count))))
    }

    fn count_long(&self, r1: u8) -> (bool, Change) {
        let count = self.content(r1).wrapping_sub(1);
        (count != 0, Some((r1, count)))
    }

    /// The same for bits 0-31: BRANCH RELATIVE ON COUNT HIGH.
    fn count_high(&self, r1: u8) -> (bool, Change) {
        let count = self.content(r1).wrapping_sub(1 << 32);
        (count >> 32 != 0, Some((r1, count)))
    }

    fn count_register(&self, r2: u8, (taken, changed): (bool, Change)) -> Branch {
        self.go(self.register(r2).filter(|_| taken), changed)
    }

    fn count_to(&self, operand: Operand, (taken, changed): (bool, Change)) -> Branch {
        self.when(taken, operand, changed)
    }

    fn count_jump(&self, offset: RelativeOffset, (taken, changed): (bool, Change)) -> Branch {
        self.jump(taken, offset, changed)
    }

    /// Adds R3 to R1 and compares the sum with the old content of the odd register of R3's pair.
    fn index(&self, opcode: u16) -> Branch {
        let (r1, r3) = (self.text[1] >> 4, self.text[1] & 15);
        let long = opcode & 0xFF != 0;
        let (first, increment, limit) = (self.content(r1), self.content(r3), self.content(r3 | 1));
        let (order, sum) = if long {
            let sum = first.wrapping_add(increment);
            ((sum as i64).cmp(&(limit as i64)), sum)
        } else {
            let sum = (first as u32).wrapping_add(increment as u32);
            ((sum as i32).cmp(&(limit as i32)), with_low(first, sum))
        };
        let on_high = matches!(opcode, 0x8600 | 0x8400 | 0xEB44 | 0xEC44);
        let taken = (order == Ordering::Greater) == on_high;
        let changed = Some((r1, sum));
        match opcode {
            0x8600 | 0x8700 => self.when(taken, format::rs::second(self.text), changed),
            0xEB44 | 0xEB45 => self.when(taken, format::rsy::second(self.text), changed),
            _ => self.jump(taken, self.short(), changed),
        }
    }

    /// Whether the mask of a compare-and-branch instruction selects the result of its comparison.
    fn compares(&self) -> bool {
        let code = self.text[5];
        let immediate = matches!(code, 0x7C..=0x7F | 0xFC..=0xFF);
        let logical = code & 1 != 0;
        let long = matches!(code, 0x64 | 0x65 | 0xE4 | 0xE5 | 0x7C | 0x7D | 0xFC | 0xFD);
        let first = self.content(self.text[1] >> 4);
        let (second, m3) = match (immediate, logical) {
            (false, _) => (self.content(self.text[1]), self.text[4] >> 4),
            (true, false) => (self.text[4] as i8 as u64, self.text[1]),
            (true, true) => (self.text[4].into(), self.text[1]),
        };
        let order = match (long, logical) {
            (true, true) => first.cmp(&second),
            (true, false) => (first as i64).cmp(&(second as i64)),
            (false, true) => (first as u32).cmp(&(second as u32)),
            (false, false) => (first as i32).cmp(&(second as i32)),
        };
        let selector = match order {
            Ordering::Equal => 8,
            Ordering::Less => 4,
            Ordering::Greater => 2,
        };
        m3 & selector != 0
    }
}

/// A register with bits 32-63 replaced.
const fn with_low(register: u64, low: u32) -> u64 {
    register & 0xFFFF_FFFF_0000_0000 | low as u64
}

#[cfg(test)]
mod tests;
