//! The instructions that advance through storage and whose registers show how far.
//!
//! Each follows the description of its instruction in the Principles of Operation, mainly the resulting
//! condition code and "Resulting Registers".

use super::operand::Place;
use super::{Access, Knowledge, OperandSpace, Step, condition_code};

/// An instruction, or several that differ in the size of their characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// MOVE LONG.
    MoveLong,
    /// MOVE LONG EXTENDED, MOVE LONG UNICODE.
    MoveLongExtended,
    /// COMPARE LOGICAL LONG.
    CompareLong,
    /// COMPARE LOGICAL LONG EXTENDED (1) and UNICODE (2).
    CompareLongExtended(u8),
    /// COMPARE LOGICAL STRING.
    CompareString,
    /// SEARCH STRING (1), SEARCH STRING UNICODE (2).
    SearchString(u8),
    /// MOVE STRING.
    MoveString,
    /// CHECKSUM.
    Checksum,
    /// TRANSLATE AND TEST.
    TranslateAndTest,
    /// TRANSLATE AND TEST REVERSE.
    TranslateAndTestReverse,
    /// TRANSLATE EXTENDED.
    TranslateExtended,
    /// TRANSLATE AND TEST EXTENDED.
    TranslateAndTestExtended,
    /// TRANSLATE AND TEST REVERSE EXTENDED.
    TranslateAndTestReverseExtended,
    /// TRANSLATE ONE TO ONE and the like, with the size of a character of the second operand.
    TranslateCharacters(u8),
    /// CONVERT UTF-8 TO UTF-16 and the like.
    Convert,
}

impl Step<'_> {
    pub(super) fn progress(&mut self, instruction: Progress) -> Knowledge {
        // R1 and R2 of formats RR and RRE, R1 and R3 of RS and RSY.
        let (r1, r2) = (self.text[1] >> 4, self.text[1] & 15);
        let (e1, e2) = (self.text[3] >> 4, self.text[3] & 15);
        match instruction {
            Progress::MoveLong => self.move_long(r1, r2, 0x00FF_FFFF),
            Progress::MoveLongExtended => self.move_long(r1, r2, self.length_bits()),
            Progress::CompareLong => self.compare_long(r1, r2, 0x00FF_FFFF, 1),
            Progress::CompareLongExtended(size) => {
                self.compare_long(r1, r2, self.length_bits(), size.into())
            }
            Progress::CompareString => self.compare_string(e1, e2),
            Progress::SearchString(size) => self.search_string(e1, e2, size.into()),
            Progress::MoveString => self.move_string(e1, e2),
            Progress::Checksum => {
                let length = self.counted(e2, self.length_bits());
                self.by_register(Access::Fetch, e2, self.content(e2), length);
                Knowledge::Complete
            }
            Progress::TranslateAndTest => self.translate_and_test(false),
            Progress::TranslateAndTestReverse => self.translate_and_test(true),
            Progress::TranslateExtended => self.translate_extended(e1),
            Progress::TranslateAndTestExtended => self.translate_and_test_extended(e1, false),
            Progress::TranslateAndTestReverseExtended => self.translate_and_test_extended(e1, true),
            Progress::TranslateCharacters(size) => self.translate_characters(e1, e2, size.into()),
            Progress::Convert => self.convert(e1, e2),
        }
    }

    /// The number of bytes by which the length in the odd register of a pair went down.
    pub(super) fn counted(&self, even: u8, bits: u64) -> u64 {
        self.content(even | 1).wrapping_sub(self.result(even | 1)) & bits
    }

    /// With destructive overlap (condition code 3 of MOVE LONG) nothing is moved, and no length changes.
    fn move_long(&mut self, r1: u8, r2: u8, bits: u64) -> Knowledge {
        let (first, second) = (self.counted(r1, bits), self.counted(r2, bits));
        self.by_register(Access::Fetch, r2, self.content(r2), second);
        self.by_register(Access::Store, r1, self.content(r1), first);
        Knowledge::Complete
    }

    /// The bytes that differ were fetched and are not counted.
    fn compare_long(&mut self, r1: u8, r2: u8, bits: u64, size: u64) -> Knowledge {
        let unequal = matches!(condition_code(self.after), 1 | 2);
        for register in [r1, r2] {
            let left = self.result(register | 1) & bits;
            let last = if unequal { left.min(size) } else { 0 };
            let length = self.counted(register, bits) + last;
            self.by_register(Access::Fetch, register, self.content(register), length);
        }
        Knowledge::Complete
    }

    /// When the operands are equal the registers do not change, and only storage determines their end.
    fn compare_string(&mut self, r1: u8, r2: u8) -> Knowledge {
        let code = condition_code(self.after);
        if code == 0 {
            return Knowledge::StoresOnly;
        }
        for register in [r1, r2] {
            let length = self.advance(register) + u64::from(code != 3);
            self.by_register(Access::Fetch, register, self.content(register), length);
        }
        Knowledge::Complete
    }

    /// R1 designates the end of the string before, and the character found afterwards; R2 changes only when
    /// the instruction ended early.
    fn search_string(&mut self, r1: u8, r2: u8, size: u64) -> Knowledge {
        let start = self.content(r2);
        let length = match condition_code(self.after) {
            1 => (self.result(r1).wrapping_sub(start) & self.wrap) + size,
            2 => self.content(r1).wrapping_sub(start) & self.wrap,
            _ => self.advance(r2),
        };
        self.by_register(Access::Fetch, r2, start, length);
        Knowledge::Complete
    }

    /// When all was moved, R1 designates the ending character and R2 does not change.
    fn move_string(&mut self, r1: u8, r2: u8) -> Knowledge {
        let ended = condition_code(self.after) == 1;
        let length = self.advance(r1) + u64::from(ended);
        self.by_register(Access::Fetch, r2, self.content(r2), length);
        self.by_register(Access::Store, r1, self.content(r1), length);
        Knowledge::Complete
    }

    /// Register 1 has the address of the byte that ended it, if one did. The argument bytes determine which
    /// function bytes were fetched.
    fn translate_and_test(&mut self, reverse: bool) -> Knowledge {
        let (first, base) = self.place(Place::Base);
        let all = u64::from(self.text[1]);
        let found = condition_code(self.after) != 0;
        let distance = match (found, reverse) {
            (false, _) => all,
            (true, false) => self.result(1).wrapping_sub(first) & self.wrap,
            (true, true) => first.wrapping_sub(self.result(1)) & self.wrap,
        };
        let leftmost = if reverse {
            first.wrapping_sub(distance)
        } else {
            first
        };
        self.access(
            Access::Fetch,
            leftmost,
            distance + 1,
            OperandSpace::Current(base),
        );
        Knowledge::StoresOnly
    }

    /// The test byte, which ends it, was fetched and is neither translated nor counted.
    fn translate_extended(&mut self, r1: u8) -> Knowledge {
        let length = self.counted(r1, self.length_bits());
        let start = self.content(r1);
        self.by_register(Access::Update, r1, start, length);
        if condition_code(self.after) == 1 {
            self.by_register(Access::Fetch, r1, start.wrapping_add(length), 1);
        }
        Knowledge::StoresOnly
    }

    /// With M3 bit 0 (A) one, argument characters have two bytes. The one that was found is not counted.
    fn translate_and_test_extended(&mut self, r1: u8, reverse: bool) -> Knowledge {
        let size = if self.text[2] & 0x80 != 0 { 2 } else { 1 };
        let found = condition_code(self.after) == 1;
        let length = self.counted(r1, self.length_bits()) + if found { size } else { 0 };
        let start = self.content(r1);
        let leftmost = if reverse {
            start.wrapping_add(size).wrapping_sub(length)
        } else {
            start
        };
        self.by_register(Access::Fetch, r1, leftmost, length);
        Knowledge::StoresOnly
    }

    /// The character that translates into the test character ends it; it was fetched, and neither register
    /// has passed it.
    fn translate_characters(&mut self, r1: u8, r2: u8, size: u64) -> Knowledge {
        let found = condition_code(self.after) == 1;
        let fetched = self.advance(r2) + if found { size } else { 0 };
        self.by_register(Access::Fetch, r2, self.content(r2), fetched);
        self.by_register(Access::Store, r1, self.content(r1), self.advance(r1));
        Knowledge::StoresOnly
    }

    /// A character that does not fit or is not valid was fetched and is not counted; its length is in
    /// storage.
    fn convert(&mut self, r1: u8, r2: u8) -> Knowledge {
        let bits = self.length_bits();
        let (stored, fetched) = (self.counted(r1, bits), self.counted(r2, bits));
        self.by_register(Access::Fetch, r2, self.content(r2), fetched);
        self.by_register(Access::Store, r1, self.content(r1), stored);
        match condition_code(self.after) {
            1 | 2 => Knowledge::StoresOnly,
            _ => Knowledge::Complete,
        }
    }
}
