//! Finds the instructions that do not trap and yet show a deprivileged guest too much.
//!
//! EXTRACT PSW shows the real PSW, STORE FACILITY LIST EXTENDED the facilities of the machine below,
//! and QEMU performs TEST PROTECTION and PERFORM CRYPTOGRAPHIC KEY MANAGEMENT OPERATIONS in the
//! problem state, the first against the shadow tables. MOVE PAGE with its condition-code option reports a
//! page that the shadow tables do not have yet, instead of causing an interruption that would fill them, and
//! SET ADDRESS SPACE CONTROL FAST would change the space that the hardware accesses. PERFORM RANDOM NUMBER OPERATION draws
//! from a generator that is not in the state of the machine below. An older QEMU ends at a test of rotated
//! bits, and has wrong products of short BFP operands ([`split`]).
//! A page with the bits of
//! such an instruction is executed from a copy, which only the instruction fetch ever sees. In the copy a
//! halfword that must not be executed is **replaced** by an unassigned opcode that indicates the same length.
//! Executing it causes an operation exception, and the firmware then reads the original.
//!
//! No halfword inside an instruction that the guest executes may be replaced, and every candidate that is an
//! instruction must be. So the scanner determines what control is known to reach: from the places at which the
//! guest is known to execute, everything that follows sequentially and every relative branch target is an
//! instruction; nothing is assumed after an unconditional branch. A candidate at which such an instruction
//! begins is replaced alone; one that is inside such an instruction is not an instruction. The same holds where
//! the decodes of the preceding text leave no doubt (`Evidence`). Around any other candidate every halfword is
//! **covered**, on both sides as far as nothing is known to be executed. Control that gets there by a branch in a
//! register or an interruption traps at the first halfword, wherever in the stretch that is, and this place is
//! then one more from which control is known to continue ([`scan_again`]). So data that merely look like an
//! instruction cost nothing, and code that control has not been seen to reach costs one trap.
//!
//! Control may also come from the preceding page, in the middle of an instruction or after it, and no fetch
//! shows that. The first two halfwords, and the instructions that control could then reach before all of the decodes from
//! the first three halfwords are between two instructions, are never covered; a candidate among them is replaced if more
//! of the three decodes begin an instruction there than pass over it. What follows can be covered as any other text: a
//! decode that began in data must not say what the instructions of a function behind them are. What looks like an
//! EXECUTE is replaced only if none passes over it and it is behind the first two halfwords, which may be a displacement.
//!
//! All these opcodes are whole in their first halfword, so a candidate at the end of the page does not depend
//! on the next page; those of [`split`] do, and such a one is not judged here. Other instructions have the second part of their opcode in their last byte. If that is on the next
//! page, nobody knows here whether it is an instruction: it is covered if it has a candidate among its halfwords, and
//! when control comes to it the firmware knows all of its text. EXECUTE can make a sensitive instruction of an ordinary one; so an EXECUTE that may do it is
//! itself a sensitive instruction here ([`executed`] says which do).
//!
//! The other instructions of the message-security assist are sensitive only while the machine counts or supplies
//! them ([`Caught`]): otherwise they run below at full speed.

pub use super::caught::{Caught, MDEBR, Sensitive, is_caught};
use super::executed;
use super::flow::next;
use super::offsets::{Offsets, PAGE};
use super::opcodes::assigned_as_far;
use super::plain;
use super::split;
use super::suspects::{has_suspect_part, has_suspects, suspects};
use super::{Instruction, assigned, decode, length, opcode};

/// The replacement of a halfword that indicates a length of four bytes.
///
/// B9FF is unassigned and gives an operation exception with an instruction-length code of 2. EXECUTE cannot make another
/// opcode of it, because all bits of its second byte are ones.
const UNASSIGNED_4: u64 = 0xB9FF;

/// The replacement of a halfword that indicates a length of six bytes.
///
/// E5FF is unassigned, whatever the other four bytes are, and gives an operation exception with an
/// instruction-length code of 3. EXECUTE cannot make another opcode of it either.
const UNASSIGNED_6: u64 = 0xE5FF;

/// The most bytes before a candidate at which the decodes of [`Evidence`] begin.
const FAR: usize = 96;

/// The number of consecutive instructions that prove a decode to be in step.
const ENOUGH: u8 = 8;

/// The most bytes of an instruction that can be on the next page.
const LONGEST_REST: usize = 4;

/// The opcode of EXECUTE RELATIVE LONG.
const EXECUTE_RELATIVE_LONG: u16 = 0xC600;

/// Whether the instruction at an offset, if it is one, is sensitive at the moment: also an EXECUTE that may make a
/// sensitive instruction of its target.
#[must_use]
pub fn is_caught_at(page: &[u8; PAGE], offset: usize, caught: Caught) -> bool {
    is_caught_in(offset, caught, |offset| halfword(page, offset))
}

/// The same for a page of which `halfword` gives the halfword at each offset.
#[must_use]
#[inline]
pub fn is_caught_in(offset: usize, caught: Caught, halfword: impl Fn(usize) -> u16) -> bool {
    let first = halfword(offset);
    if is_caught(first, caught) {
        // Some text of every boot has the halfword of MDEBR. Its third byte should be zero, and no assembler makes another.
        return first != MDEBR || offset + 4 > PAGE || halfword(offset + 2) >> 8 == 0;
    }
    if split::may_begin(first) {
        return caught.has_split()
            && offset + 6 <= PAGE
            && split::is_caught([first, halfword(offset + 2), halfword(offset + 4)], caught);
    }
    if !executed::modifies(first) {
        return false;
    }
    let length = length((first >> 8) as u8);
    let text = (offset + length <= PAGE).then(|| {
        let mut text = [0; 6];
        let places = text.as_chunks_mut::<2>().0.iter_mut();
        for (place, at) in places.take(length / 2).zip((offset..).step_by(2)) {
            *place = halfword(at).to_be_bytes();
        }
        text
    });
    executed::is_doubtful(first, text, caught, |distance| {
        Some(halfword(at_distance(offset, distance)?))
    })
}

/// The halfwords of a doubleword that each set of four names; the rightmost bit is the first halfword.
static MASKS: [u64; 16] = masks();

const fn masks() -> [u64; 16] {
    let mut masks = [0; 16];
    let mut which = 0;
    while which < 16 {
        let bits = which as u64;
        let ones = (bits & 1) << 48 | (bits & 2) << 31 | (bits & 4) << 14 | (bits & 8) >> 3;
        masks[which] = ones * 0xFFFF;
        which += 1;
    }
    masks
}

/// A doubleword of the copy. `which` says which of its halfwords are replaced: the rightmost bit is the first
/// halfword.
///
/// The replacement of a halfword that indicates a length of two bytes is 0000. It is never assigned, and neither is
/// another one that begins with 00.
#[must_use]
pub fn replace(doubleword: u64, which: u8) -> u64 {
    // The leftmost two bits of a halfword indicate the length: 00 two bytes, 11 six.
    let (left, right) = (doubleword >> 15 & EACH, doubleword >> 14 & EACH);
    let unassigned = ((left & right) * UNASSIGNED_6) | ((left ^ right) * UNASSIGNED_4);
    let mask = MASKS[which as usize & 15];
    doubleword & !mask | unassigned & mask
}

/// Which halfwords of two doublewords differ, in the form of [`replace`].
#[must_use]
pub const fn differing(one: u64, other: u64) -> u8 {
    // A one in the other bits of a halfword carries into its leftmost bit.
    let changed = one ^ other;
    let ones = (((changed & !LEFTMOST) + !LEFTMOST) | changed) >> 15 & EACH;
    (ones >> 48 & 1 | ones >> 31 & 2 | ones >> 14 & 4 | ones << 3 & 8) as u8
}

/// What a scan has found.
#[derive(Clone, Copy, Debug)]
pub struct Scan {
    /// The halfwords that are replaced.
    pub replaced: Offsets,
    /// Whether an EXECUTE that modifies its target is trusted, as long as the page does not change.
    pub trusts: bool,
    /// Whether everything that may be sensitive is an EXECUTE.
    pub only_executes: bool,
}

/// Which halfwords of a page are replaced when it is first executed.
///
/// `entry` is the offset at which the guest is known to begin an instruction; an odd offset or one outside the page is
/// ignored. `carried` is the number of bytes (0, 2 or 4) at the beginning of the page that belong to an executed
/// instruction of the preceding page; an entry follows them. `caught` selects the instructions to look for.
#[must_use]
pub fn scan(page: &[u8; PAGE], entry: Option<usize>, carried: usize, caught: Caught) -> Scan {
    let found = candidates_of(page, caught);
    let candidates = found.replaced;
    if candidates.is_empty() {
        return found;
    }
    if found.only_executes {
        // Many pages have what looks like one. To follow control in all of them would cost too much.
        let mut replaced = Offsets::NONE;
        let is_clear = candidates.iter().all(|candidate| {
            let evidence = evidence(page, candidate);
            if evidence == Evidence::Begins || entry == Some(candidate) {
                replaced.insert(candidate);
            }
            evidence != Evidence::None || entry == Some(candidate)
        });
        if is_clear {
            return Scan { replaced, ..found };
        }
    }
    let mut reached = Decoded::NOTHING;
    reached.inside.insert_range(0, carried);
    let carried_to = (carried > 0).then_some(carried);
    for entry in entry.into_iter().chain(carried_to) {
        reached.follow(page, entry, &Offsets::ALL);
    }
    // Control may also come from the preceding page.
    let before = Decoded::from_preceding_page(page, &reached);
    let (mut begins, mut left) = (reached.begins, Offsets::ALL);
    for decoded in &before {
        left.remove_all(&decoded.begins);
        left.remove_all(&decoded.inside);
    }
    // The rest of an instruction that begins there is no opcode, so no decode need know it.
    let mut carried_over = Offsets::NONE;
    carried_over.insert_range(0, LONGEST_REST);
    left.remove_all(&carried_over);
    for candidate in candidates.iter() {
        let count = |of: fn(&Decoded) -> &Offsets| {
            let found = before
                .iter()
                .filter(|decoded| of(decoded).contains(candidate));
            found.count()
        };
        let (as_begin, as_inside) = (
            count(|decoded| &decoded.begins),
            count(|decoded| &decoded.inside),
        );
        // What looks like an EXECUTE is common among displacements, so no decode may contradict.
        let is_begin = if executed::modifies(halfword(page, candidate)) {
            as_begin > 0 && as_inside == 0 && candidate >= LONGEST_REST
        } else {
            as_begin > as_inside
        };
        if is_begin {
            begins.insert(candidate);
        }
    }
    let mut replaced = settle(page, &candidates, &begins, &reached, left);
    // Nothing follows an entry that is not assigned. If its rest is covered, it might become one that is.
    if let Some(entry) = entry
        && entry < PAGE
        && entry.is_multiple_of(2)
        && !reached.begins.contains(entry)
        && !reached.inside.contains(entry)
    {
        replaced.insert(entry);
    }
    Scan { replaced, ..found }
}

/// The same, when control has reached a replaced halfword: `before` are the replaced halfwords, and `entry` is the
/// offset of this one. `is_assigned` says whether an instruction begins there, by all of its text: the page may have only a part.
#[must_use]
pub fn scan_again(
    page: &[u8; PAGE],
    before: &Offsets,
    (entry, is_assigned): (usize, bool),
    caught: Caught,
) -> Offsets {
    // Halfwords that are not replaced are known, and so is what follows from them.
    let mut reached = Decoded::NOTHING;
    if is_assigned && let Some(length) = extends(page, entry) {
        reached.enter_whole(entry, length);
    }
    reached.follow(page, entry, before);
    // A halfword that was replaced alone cannot be distinguished. Where all near ones were replaced, no
    // instruction extends into anything else.
    let left = before.extended_where_near(|at| {
        let doubleword = doubleword(page, at);
        !differing(doubleword, replace(doubleword, 15))
    });
    let mut candidates = candidates_of(page, caught).replaced;
    candidates.keep_all(before);
    settle(page, &candidates, &reached.begins, &reached, left)
}

/// Which halfwords are replaced: the candidates at which an instruction begins, and the stretches with a doubtful
/// candidate among the halfwords that are `left` and not reached.
fn settle(
    page: &[u8; PAGE],
    candidates: &Offsets,
    begins: &Offsets,
    reached: &Decoded,
    mut left: Offsets,
) -> Offsets {
    left.remove_all(&reached.begins);
    left.remove_all(&reached.inside);
    let mut replaced = Offsets::NONE;
    let mut end = 0;
    for candidate in candidates.iter() {
        if begins.contains(candidate) && !reached.inside.contains(candidate) {
            replaced.insert(candidate);
        }
        if candidate < end || !left.contains(candidate) {
            continue;
        }
        match evidence(page, candidate) {
            Evidence::Begins => {
                replaced.insert(candidate);
                continue;
            }
            Evidence::Inside => continue,
            Evidence::None => {}
        }
        end = left.end(candidate);
        replaced.insert_range(left.begin(candidate), end);
    }
    replaced
}

/// The offsets of the bits of sensitive instructions that are caught.
pub(super) fn candidates_of(page: &[u8; PAGE], caught: Caught) -> Scan {
    const BYTES: usize = 32;
    let (mut found, mut trusts, mut only_executes) = (Offsets::NONE, false, true);
    for (n, bytes) in page.as_chunks::<BYTES>().0.iter().enumerate() {
        let doublewords = [0, 8, 16, 24].map(|at| {
            let doubleword = bytes[at..at + 8].try_into().unwrap_or_default();
            u64::from_be_bytes(doubleword)
        });
        let begin = n * BYTES;
        let next = || doubleword(page, begin + BYTES);
        if !has_suspects(doublewords, next, caught, || has_split(page, begin)) {
            continue;
        }
        for offset in suspects(bytes, caught).map(|at| n * BYTES + at) {
            if is_caught_at(page, offset, caught) {
                found.insert(offset);
                only_executes &= executed::modifies(halfword(page, offset));
            } else {
                trusts |= executed::modifies(halfword(page, offset));
            }
        }
    }
    Scan {
        replaced: found,
        trusts,
        only_executes,
    }
}

/// Whether an instruction of [`split`] may begin in the 32 bytes at an offset. Behind the page its beginning is taken, where none
/// of this page ends.
#[inline(never)]
fn has_split(page: &[u8; PAGE], offset: usize) -> bool {
    let text = [0, 8, 16, 24].map(|at| doubleword(page, offset + at));
    split::may_begin_in(text, doubleword(page, offset + 32))
}

/// A one in each halfword of a doubleword.
const EACH: u64 = 0x0001_0001_0001_0001;
/// The leftmost bit of each halfword.
const LEFTMOST: u64 = EACH << 15;

/// Whether any halfword of a doubleword may be that of a sensitive instruction, or may make one with the text around it.
/// Never misses one.
#[inline]
#[must_use]
pub fn may_be_sensitive(doubleword: u64, caught: Caught) -> bool {
    has_suspect_part(doubleword, caught)
}

/// Whether the instruction with this text is sensitive by itself: it is no EXECUTE.
#[must_use]
pub fn is_caught_text(text: &[u8; 6], caught: Caught) -> bool {
    let halfwords = split::halfwords(text);
    is_caught(halfwords[0], caught) || split::is_caught(halfwords, caught)
}

/// The halfwords of a page as decodes have classified them.
#[derive(Clone, Copy)]
struct Decoded {
    /// First halfwords of instructions.
    begins: Offsets,
    /// The other halfwords of instructions.
    inside: Offsets,
}

impl Decoded {
    const NOTHING: Self = Self {
        begins: Offsets::NONE,
        inside: Offsets::NONE,
    };

    /// Enters the instruction at `offset`; returns its text, unless this decode ends here: at an opcode
    /// that is not assigned, at the end of the page, or at a place where it has been.
    fn enter(&mut self, page: &[u8; PAGE], offset: usize) -> Option<[u8; 6]> {
        if self.begins.contains(offset) {
            return None;
        }
        let text = text(page, offset).filter(|text| assigned(text));
        if let Some(text) = text {
            self.enter_whole(offset, length(text[0]));
        } else if let Some(length) = extends(page, offset)
            && is_assigned_at(page, offset) == Some(true)
        {
            self.enter_whole(offset, length);
        }
        text
    }

    /// Enters the instruction of so many bytes at `offset`.
    fn enter_whole(&mut self, offset: usize, length: usize) {
        self.begins.insert(offset);
        for rest in (2..length).step_by(2) {
            self.inside.insert(offset + rest);
        }
    }

    /// Follows control from an entry to everything that its instructions lead to, as long as it stays
    /// `within`.
    fn follow(&mut self, page: &[u8; PAGE], entry: usize, within: &Offsets) {
        if entry >= PAGE || !entry.is_multiple_of(2) {
            return;
        }
        let mut pending = Offsets::NONE;
        pending.insert(entry);
        while let Some(start) = pending.pop() {
            let mut offset = start;
            while offset < PAGE && within.contains(offset) {
                if let Some(length) = plain::passed(page, offset) {
                    if self.begins.contains(offset) {
                        break;
                    }
                    self.enter_whole(offset, length);
                    offset += length;
                    continue;
                }
                let Some(text) = self.enter(page, offset) else {
                    break;
                };
                let next = next(&text);
                let target = next
                    .distance()
                    .and_then(|distance| at_distance(offset, distance));
                if let Some(target) = target
                    && !self.begins.contains(target)
                {
                    pending.insert(target);
                }
                // The target of EXECUTE RELATIVE LONG is an instruction, wherever it is.
                if opcode(&text) == EXECUTE_RELATIVE_LONG
                    && let Instruction::Exrl { ri2, .. } = decode(&text)
                    && let Some(target) = at_distance(offset, ri2.bytes())
                {
                    self.enter(page, target);
                }
                if !next.is_sequential() {
                    break;
                }
                offset += length(text[0]);
            }
        }
    }

    /// What control could reach at once from the preceding page: the decodes from each of the first three halfwords, as
    /// long as one of them is in the middle of an instruction. Where they all have ended or meet, control that comes
    /// that far can be caught, and tells which of them is right.
    fn from_preceding_page(page: &[u8; PAGE], reached: &Self) -> [Self; 3] {
        let mut decodes = [Self::NOTHING; 3];
        let mut places = [Some(0), Some(2), Some(4)];
        let mut end = LONGEST_REST;
        loop {
            let before = end;
            for (decode, place) in decodes.iter_mut().zip(&mut places) {
                while let Some(offset) = place.filter(|&offset| offset < end) {
                    *place = decode.at_once(page, offset, reached, &mut end);
                }
            }
            if end == before {
                return decodes;
            }
        }
    }

    /// Enters the instruction at an offset, if control is not known to reach it; returns where the next one begins. `end`
    /// is the end of the last instruction so far.
    fn at_once(
        &mut self,
        page: &[u8; PAGE],
        offset: usize,
        reached: &Self,
        end: &mut usize,
    ) -> Option<usize> {
        if reached.begins.contains(offset) {
            return None;
        }
        let text = self.enter(page, offset)?;
        let behind = offset + length(text[0]);
        *end = behind.max(*end);
        next(&text).is_sequential().then_some(behind)
    }
}

/// The evidence of decodes about a candidate that control is not known to reach.
///
/// A decode of s390 code that begins in the wrong place soon reaches an unassigned opcode or falls into step. So of the
/// decodes that begin at each halfword before a candidate, all that reach it agree, if the text there is code. Data
/// follow an unconditional branch: no decode continues there, and one decode must have been long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evidence {
    /// All of them end there: it is an instruction.
    Begins,
    /// All of them pass over it: it is inside an instruction.
    Inside,
    /// They disagree, or none is long enough.
    None,
}

/// The evidence of decodes about the candidate at an offset.
fn evidence(page: &[u8; PAGE], candidate: usize) -> Evidence {
    let first = candidate.saturating_sub(FAR);
    // The offset that the decode from each offset reaches, and its number of instructions; zero if it ends before.
    let mut decodes = [(0, 0); FAR / 2];
    // The longest that ends at the candidate, and the longest that passes over it.
    let (mut at, mut over) = (0, 0);
    for offset in (first..candidate).step_by(2).rev() {
        let passed = plain::passed(page, offset).or_else(|| {
            let Some(text) = text(page, offset) else {
                let length = extends(page, offset)?;
                return is_assigned_at(page, offset)?.then_some(length);
            };
            (assigned(&text) && next(&text).is_sequential()).then(|| length(text[0]))
        });
        if passed.is_none() && is_assigned_at(page, offset).is_none() {
            // The next page decides whether it passes over the candidate.
            return Evidence::None;
        }
        let decode = match passed {
            Some(length) => {
                let end = offset + length;
                if end < candidate {
                    let known = decodes.get((end - first) / 2);
                    let (end, count) = known.copied().unwrap_or((end, 0));
                    (end, if count == 0 { 0 } else { count + 1 })
                } else {
                    (end, 1)
                }
            }
            _ => (offset, 0),
        };
        if let Some(place) = decodes.get_mut((offset - first) / 2) {
            *place = decode;
        }
        let longest = if decode.0 == candidate {
            &mut at
        } else {
            &mut over
        };
        *longest = decode.1.max(*longest);
    }
    match (at, over) {
        (ENOUGH.., 0) => Evidence::Begins,
        (0, ENOUGH..) => Evidence::Inside,
        _ => Evidence::None,
    }
}

/// The offset at a distance from another, if it is in the page.
fn at_distance(offset: usize, distance: i64) -> Option<usize> {
    let distance = isize::try_from(distance).ok()?;
    offset
        .checked_add_signed(distance)
        .filter(|&target| target < PAGE)
}

/// The doubleword that holds an offset of a page.
#[must_use]
#[inline]
pub fn doubleword(page: &[u8; PAGE], offset: usize) -> u64 {
    let (doublewords, _) = page.as_chunks::<8>();
    u64::from_be_bytes(doublewords[offset % PAGE / 8])
}

/// The halfword that holds an offset.
fn halfword(page: &[u8; PAGE], offset: usize) -> u16 {
    let at = (offset % PAGE) & !1;
    u16::from_be_bytes([page[at], page[at | 1]])
}

/// The length of the instruction at `offset`, if it is one that extends into the next page.
fn extends(page: &[u8; PAGE], offset: usize) -> Option<usize> {
    let length = length(*page.get(offset)?);
    (offset + length > PAGE).then_some(length)
}

/// Whether the instruction at `offset` is assigned, if its opcode is in the page.
fn is_assigned_at(page: &[u8; PAGE], offset: usize) -> Option<bool> {
    assigned_as_far(page.get(offset..)?)
}

/// The text of the instruction at `offset`, if all of it is in the page.
fn text(page: &[u8; PAGE], offset: usize) -> Option<[u8; 6]> {
    let length = length(*page.get(offset)?);
    let bytes = page.get(offset..offset + length)?;
    let mut text = [0; 6];
    text[..length].copy_from_slice(bytes);
    Some(text)
}
