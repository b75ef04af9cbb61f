//! Finds the instructions that do not trap and yet tell a deprivileged guest too much.
//!
//! EXTRACT PSW shows the real PSW, STORE FACILITY LIST EXTENDED the facilities of the machine below,
//! and QEMU performs TEST PROTECTION and PERFORM CRYPTOGRAPHIC KEY MANAGEMENT OPERATIONS in the
//! problem state, the first against the shadow tables. MOVE PAGE with its condition-code option tells of a
//! page that the shadow tables have not yet, instead of an interruption that would fill them, and SET
//! ADDRESS SPACE CONTROL FAST completes though the guest has DAT off. A page that holds one is executed from a copy in
//! which the first halfword is an unassigned opcode of the same length; the operation exception then
//! brings it to the firmware, which reads the original.
//!
//! The guest reads that copy as data, too. To replace a halfword that is no opcode (B2B0 is also a base
//! and displacement, B98D may be half of an immediate value or a constant) would corrupt what the guest
//! computes; to miss one would show it the wrong PSW. So a candidate counts as **proved** only on
//! evidence, and one that is not proved is for the caller to single-step:
//!
//! 1. Control reaches it. From the entries at which the guest is known to execute, everything that
//!    follows sequentially and every relative branch target is an instruction; nothing is assumed
//!    behind an unconditional branch. What this finds is contradicted only by itself, when two such
//!    paths overlap.
//! 2. A straight decode from where control is reaches it across unconditional branches, with every
//!    opcode assigned. What stands behind a branch may be a constant, so the decode must also go on, without an
//!    unassigned opcode, from the candidate to the next unconditional branch or the end of the page, as
//!    that of real code does.
//! 3. No such decode covers it, but decodes synchronise on it. Started in the wrong place, a
//!    decode of s390 code soon meets an unassigned opcode or falls into step. Every halfword of a
//!    stretch ahead of the candidate is tried; of the decodes that survive no more may pass over it
//!    than end at it, and the decode must go on behind it as in 2.
//!
//! Under 2, one decode that passes over the candidate inside an instruction refutes it, and so does a
//! BRAS that steps over it, which is how constants are put into the stream of instructions.
//!
//! All these opcodes are whole in their first halfword, so a site at the end of the page needs nothing
//! of the next one. An opcode that only EXECUTE's modification makes sensitive is not seen.
//!
//! The instructions of the message-security assist are sensitive only while the machine has business
//! with them ([`Caught`]): otherwise they run below at full speed.

use super::flow::{Next, next};
use super::offsets::Offsets;
use super::{Instruction, assigned, decode, length};

/// The size of a page in bytes.
pub const PAGE: usize = 4096;

/// The halfword that replaces the first one of a sensitive instruction of four bytes.
///
/// B9F3 is unassigned and gives an operation exception with an instruction-length code of 2.
pub const UNASSIGNED_4: u16 = 0xB9F3;

/// The halfword that replaces the first one of a sensitive instruction of six bytes.
///
/// E5FF is unassigned, whatever the other four bytes are, and gives an operation exception with an
/// instruction-length code of 3.
pub const UNASSIGNED_6: u16 = 0xE5FF;

/// How many bytes ahead of a candidate the decodes of the third rule start at the earliest.
const FAR: usize = 96;

/// Which instructions are sensitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// Those whose result in the problem state is never the guest's.
    Always,
    /// Those of the message-security assist, too.
    MessageSecurity,
}

/// A sensitive instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitive {
    /// EXTRACT PSW.
    Epsw,
    /// STORE FACILITY LIST EXTENDED.
    Stfle,
    /// TEST PROTECTION.
    Tprot,
    /// PERFORM CRYPTOGRAPHIC KEY MANAGEMENT OPERATIONS.
    Pckmo,
    /// MOVE PAGE.
    Mvpg,
    /// SET ADDRESS SPACE CONTROL FAST.
    Sacf,
    /// An instruction of the message-security assist that is not privileged, by the second byte of
    /// its opcode.
    MessageSecurity(u8),
}

impl Sensitive {
    /// The sensitive instruction whose text begins with this halfword.
    #[must_use]
    #[inline]
    pub const fn from_halfword(halfword: u16) -> Option<Self> {
        match halfword {
            0xB98D => Some(Self::Epsw),
            0xB2B0 => Some(Self::Stfle),
            0xE501 => Some(Self::Tprot),
            0xB928 => Some(Self::Pckmo),
            0xB254 => Some(Self::Mvpg),
            0xB279 => Some(Self::Sacf),
            // KMAC, KMA, KMF, KMO, PCC, KMCTR, KM, KMC, KDSA, PRNO, KIMD, KLMD.
            0xB91E | 0xB929..=0xB92F | 0xB93A | 0xB93C | 0xB93E | 0xB93F => {
                Some(Self::MessageSecurity(halfword as u8))
            }
            _ => None,
        }
    }

    /// Whether it is sensitive at the moment.
    const fn is_caught(self, caught: Caught) -> bool {
        matches!(
            (self, caught),
            (
                Self::Epsw | Self::Stfle | Self::Tprot | Self::Pckmo | Self::Mvpg | Self::Sacf,
                Caught::Always
            ) | (_, Caught::MessageSecurity)
        )
    }

    /// The unassigned halfword of the same length that replaces its first one.
    #[must_use]
    pub const fn replacement(self) -> u16 {
        match self {
            Self::Tprot => UNASSIGNED_6,
            Self::Epsw
            | Self::Stfle
            | Self::Pckmo
            | Self::Mvpg
            | Self::Sacf
            | Self::MessageSecurity(_) => UNASSIGNED_4,
        }
    }
}

/// A place in the page where the bits of a sensitive instruction stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The offset of its first byte in the page, even.
    pub offset: usize,
    /// What it is, if it is an instruction.
    pub instruction: Sensitive,
    /// Whether it is.
    pub proved: bool,
}

/// A part of a page: from `start` up to, but not including, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// The offset of its first byte, even.
    pub start: usize,
    /// The offset behind its last byte, even.
    pub end: usize,
}

/// The sites of one page; any number of them fits.
pub struct Sites<'p> {
    page: &'p [u8; PAGE],
    candidates: Offsets,
    proved: Offsets,
    /// Halfwords of instructions that control reaches from an entry.
    reached: Offsets,
}

impl Sites<'_> {
    /// Whether the page can be mapped as it is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    /// Whether a copy of the page with its sites replaced is safe to execute.
    #[must_use]
    pub fn all_proved(&self) -> bool {
        self.candidates == self.proved
    }

    /// The sites, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Site> + '_ {
        self.candidates.iter().filter_map(|offset| {
            let instruction = Sensitive::from_halfword(halfword(self.page, offset))?;
            Some(Site {
                offset,
                instruction,
                proved: self.proved.contains(offset),
            })
        })
    }

    /// The stretches, in ascending order, that control would have to enter before it could reach a
    /// candidate that is neither proved nor inside an instruction that control reaches: from such a
    /// candidate as far to both sides as nothing is known to be executed. `settled` candidates do not
    /// count.
    ///
    /// What control reaches never runs on into a stretch, or the stretch would be reached itself: it is
    /// entered by a branch, an interruption or a PSW that is loaded, or from the page before.
    pub fn stretches(&self, settled: impl Fn(usize) -> bool) -> impl Iterator<Item = Stretch> + '_ {
        let mut doubtful = self.candidates;
        for offset in self.candidates.iter() {
            if self.proved.contains(offset) || self.reached.contains(offset) || settled(offset) {
                doubtful.remove(offset);
            }
        }
        let free = |offset: usize| !self.reached.contains(offset);
        let mut beyond = 0;
        core::iter::from_fn(move || {
            let candidate = doubtful.iter().find(|&offset| offset >= beyond)?;
            let start = (beyond..candidate).step_by(2).rev();
            let start = start.take_while(|&at| free(at)).last().unwrap_or(candidate);
            let end = (candidate..PAGE).step_by(2).find(|&at| !free(at));
            beyond = end.unwrap_or(PAGE);
            Some(Stretch { start, end: beyond })
        })
    }

    /// Replaces the proved sites in a copy of the page; the others stay.
    pub fn replace_in(&self, copy: &mut [u8; PAGE]) {
        for site in self.iter().filter(|site| site.proved) {
            let replacement = site.instruction.replacement().to_be_bytes();
            copy[site.offset..site.offset + 2].copy_from_slice(&replacement);
        }
    }
}

/// Finds the sites of a page and classes them.
///
/// `entries` are the offsets at which the guest is known to begin an instruction: that of the fault, and
/// others seen before. `carried` is the number of bytes (0, 2 or 4) at the beginning of the page that
/// belong to an executed instruction of the page before; they are no site, and what follows them is an
/// entry. Odd offsets and offsets outside the page are no entries. `caught` says what is looked for.
#[must_use]
pub fn scan<'p>(
    page: &'p [u8; PAGE],
    entries: &[usize],
    carried: usize,
    caught: Caught,
) -> Sites<'p> {
    let mut sites = Sites {
        page,
        candidates: match caught {
            Caught::Always => candidates::<false>(page),
            Caught::MessageSecurity => candidates::<true>(page),
        },
        proved: Offsets::NONE,
        reached: Offsets::NONE,
    };
    if sites.is_empty() {
        return sites;
    }

    let mut reached = Decoded {
        begins: Offsets::NONE,
        inside: Offsets::NONE,
        stepped_over: Offsets::NONE,
    };
    reached.inside.insert_range(0, carried);
    let mut swept = reached;
    let carried_to = (carried > 0).then_some(carried);
    for entry in entries.iter().copied().chain(carried_to) {
        if entry < PAGE && entry % 2 == 0 {
            reached.follow(page, entry);
        }
    }
    for offset in reached.begins.iter() {
        swept.sweep(page, offset);
    }

    sites.reached = reached.begins;
    sites.reached.insert_all(&reached.inside);
    for offset in sites.candidates.iter() {
        let proved = if reached.inside.contains(offset) {
            false
        } else if reached.begins.contains(offset) {
            true
        } else if swept.inside.contains(offset) || reached.stepped_over.contains(offset) {
            false
        } else {
            (swept.begins.contains(offset) || synchronises(page, offset)) && goes_on(page, offset)
        };
        if proved {
            sites.proved.insert(offset);
        }
    }
    sites
}

/// Where the bits of a sensitive instruction stand, those of the message-security assist among them if
/// `ASSIST` says so.
///
/// Most pages have none, and every page that is ever executed goes through this: four doublewords are
/// looked at at once.
fn candidates<const ASSIST: bool>(page: &[u8; PAGE]) -> Offsets {
    const BYTES: usize = 32;
    let caught = if ASSIST {
        Caught::MessageSecurity
    } else {
        Caught::Always
    };
    let mut found = Offsets::NONE;
    for (n, bytes) in page.as_chunks::<BYTES>().0.iter().enumerate() {
        let all = [0, 8, 16, 24].map(|at| {
            let doubleword = bytes[at..at + 8].try_into().unwrap_or_default();
            suspects::<ASSIST>(u64::from_be_bytes(doubleword))
        });
        let [a, b, c, d] = all;
        if (a | b | c | d) & LEFTMOST == 0 {
            continue;
        }
        for (at, suspects) in (n * BYTES..).step_by(8).zip(all) {
            let mut rest = suspects & LEFTMOST;
            while rest != 0 {
                let bit = rest.leading_zeros();
                rest &= !(1 << 63 >> bit);
                let offset = at + bit as usize / 8;
                let sensitive = Sensitive::from_halfword(halfword(page, offset));
                if sensitive.is_some_and(|sensitive| sensitive.is_caught(caught)) {
                    found.insert(offset);
                }
            }
        }
    }
    found
}

/// A one in each halfword of a doubleword.
const EACH: u64 = 0x0001_0001_0001_0001;
/// The leftmost bit of each halfword.
const LEFTMOST: u64 = EACH << 15;

/// Has, in the leftmost bit of each halfword, whether it may be that of a sensitive instruction.
///
/// No sensitive one is ever missed. Others are taken for one, now and then: sensitive ones are compared in the
/// bits in which they agree. They agree in few, and common opcodes (LGR is B904) with them; but when each bit is
/// added to its left neighbour without a carry, E501, B98D and B279 agree in four, and B928, B254 and B2B0 in six,
/// and of the halfwords of a kernel one in 120 agrees with either.
#[inline]
const fn suspects<const ASSIST: bool>(doubleword: u64) -> u64 {
    /// Has a one in the leftmost bit of each halfword that is `value` in the bits `mask`, which do not
    /// include the leftmost one: so no halfword borrows of another.
    const fn equal(halfwords: u64, mask: u64, value: u64) -> u64 {
        LEFTMOST - ((halfwords & (mask * EACH)) ^ (value * EACH))
    }
    // The leftmost bit of a halfword gets one of its neighbour's, and is not compared.
    let sums = doubleword ^ doubleword >> 1;
    let equal_to_one = equal(sums, 0x0131, 0x0101) | equal(sums, 0x7129, 0x6128);
    let equal_to_one = if ASSIST {
        // B900 to B93F.
        equal_to_one | equal(doubleword, 0x7FC0, 0x3900)
    } else {
        equal_to_one
    };
    // All of them begin with a one.
    doubleword & equal_to_one
}

/// Whether any halfword of a doubleword may be that of a sensitive instruction. None is ever missed.
#[inline]
#[must_use]
pub const fn may_be_sensitive(doubleword: u64, caught: Caught) -> bool {
    let suspects = match caught {
        Caught::Always => suspects::<false>(doubleword),
        Caught::MessageSecurity => suspects::<true>(doubleword),
    };
    suspects & LEFTMOST != 0
}

/// What decodes of a page have made of its halfwords.
#[derive(Clone, Copy)]
struct Decoded {
    /// First halfwords of instructions.
    begins: Offsets,
    /// The other halfwords of instructions.
    inside: Offsets,
    /// Halfwords between a BRAS and what it branches forward to.
    stepped_over: Offsets,
}

impl Decoded {
    /// Enters the instruction at `offset`; tells its text, unless this decode ends here: at an opcode
    /// that is not assigned, at the end of the page, or where it was before.
    fn enter(&mut self, page: &[u8; PAGE], offset: usize) -> Option<[u8; 6]> {
        if self.begins.contains(offset) {
            return None;
        }
        let text = text(page, offset);
        let whole = text.filter(|text| assigned(text));
        if whole.is_some() || (text.is_none() && assigned(&page[offset..offset + 2])) {
            self.begins.insert(offset);
            self.inside
                .insert_range(offset + 2, offset + length(page[offset]));
        }
        whole
    }

    /// Follows control from an entry to everything that its instructions say they lead to.
    fn follow(&mut self, page: &[u8; PAGE], entry: usize) {
        let mut pending = Offsets::NONE;
        pending.insert(entry);
        while let Some(start) = pending.pop() {
            let mut offset = start;
            while let Some(text) = (offset < PAGE).then(|| self.enter(page, offset)).flatten() {
                let next = next(&text);
                let target = next
                    .distance()
                    .and_then(|distance| at_distance(offset, distance));
                if let Some(target) = target
                    && !self.begins.contains(target)
                {
                    pending.insert(target);
                }
                // The target of EXECUTE RELATIVE LONG is an instruction, wherever it stands.
                if let Instruction::Exrl { ri2, .. } = decode(&text)
                    && let Some(target) = at_distance(offset, ri2.bytes())
                {
                    self.enter(page, target);
                }
                if let (Next::Over(_), target) = (next, target.unwrap_or(PAGE)) {
                    self.stepped_over
                        .insert_range(offset + length(text[0]), target);
                }
                if !next.is_sequential() {
                    break;
                }
                offset += length(text[0]);
            }
        }
    }

    /// Decodes straight on from an entry, across every branch.
    fn sweep(&mut self, page: &[u8; PAGE], entry: usize) {
        let mut offset = entry;
        while offset < PAGE && self.enter(page, offset).is_some() {
            offset += length(page[offset]);
        }
    }
}

/// Whether a decode from `offset` meets an unconditional branch or the end of the page before it meets
/// an opcode that is not assigned.
fn goes_on(page: &[u8; PAGE], mut offset: usize) -> bool {
    while let Some(text) = text(page, offset) {
        if !assigned(&text) {
            return false;
        }
        if !next(&text).is_sequential() {
            return true;
        }
        offset += length(text[0]);
    }
    true
}

/// Whether decodes that begin anywhere in a stretch ahead of `site` show that an instruction begins
/// there: no more of them may pass over it than end at it. Where none survives (what stands ahead is
/// no code), nothing speaks against it.
fn synchronises(page: &[u8; PAGE], site: usize) -> bool {
    let (mut at, mut over) = (0, 0);
    for start in (site.saturating_sub(FAR)..site).step_by(2) {
        let mut offset = start;
        while let Some(text) = (offset < site).then(|| text(page, offset)).flatten() {
            if !assigned(&text) {
                break;
            }
            offset += length(text[0]);
        }
        match offset.cmp(&site) {
            core::cmp::Ordering::Less => {}
            core::cmp::Ordering::Equal => at += 1,
            core::cmp::Ordering::Greater => over += 1,
        }
    }
    at >= over
}

/// The offset at a distance from another, if it is in the page.
fn at_distance(offset: usize, distance: i64) -> Option<usize> {
    let distance = isize::try_from(distance).ok()?;
    offset
        .checked_add_signed(distance)
        .filter(|&target| target < PAGE)
}

/// The halfword at an even offset.
fn halfword(page: &[u8; PAGE], offset: usize) -> u16 {
    u16::from_be_bytes([page[offset], page[offset + 1]])
}

/// The text of the instruction at `offset`, if the page holds all of it.
fn text(page: &[u8; PAGE], offset: usize) -> Option<[u8; 6]> {
    let length = length(*page.get(offset)?);
    let bytes = page.get(offset..offset + length)?;
    let mut text = [0; 6];
    text[..length].copy_from_slice(bytes);
    Some(text)
}
