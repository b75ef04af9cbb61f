//! Blocks: instructions that follow each other in a page up to the first branch, and how often they were executed.
//!
//! A block is *whole*, or a *part* of one, behind whose last instruction the guest was interrupted. Both are entries of one
//! table. What has no room in it any more is given to the host, and begins again with zero.
//!
//! A block whose branch leads to its own beginning is a *loop*: the guest runs through it freely, and the number of
//! instructions says how often. There is one loop in a chain at most, so that there is one answer.
//!
//! Before the guest comes to a block, it is compared with the text of the guest ([`renew`]). So nothing has to be known of
//! stores into text, and a block is true whatever has been replaced for others.

use crate::hardware::Hardware;
use crate::recording::copies::{Text, is_branch, reads_clock};
use crate::state::configuration::Configuration;
use crate::state::copies::{BLOCKS, CopiedPage, Source};
use crate::state::counting::{Context, Counting};
use crate::state::shadow::MIX;
use crate::storage::shadow::copied;
use arch::address::{PAGE, Real, Virtual};
use insn::executed::is_execute;
use insn::linkage::Kind;
use insn::{Instruction, length, sensitive};
use link::counts::{CountEntry, LONGEST_RUN};

/// Takes what is given to the host.
pub(super) type Each<'e> = dyn FnMut(CountEntry) + 'e;

/// How many places are tried for a block.
const TRIES: u64 = 4;

/// Where the fields of a block are that are accessed alone.
const START: u64 = 0;
const PARAMETER: u64 = 8;
const BEGINS: u64 = 2 * 8;
const TWICE: u64 = 3 * 8;
const EXECUTIONS: u64 = 5 * 8;
const HEADING: u64 = 6 * 8;

/// What a block is, in the rightmost byte of its heading.
const KIND: u64 = 0xFF;
const WHOLE: u64 = 1;
const PART: u64 = 2;
/// Whole, in a chain that has a loop already.
const BEHIND_LOOP: u64 = 3;

/// In the heading: the last instruction is a branch, which is replaced.
const ENDS: u64 = 0x100;

/// In the heading: it is a loop, whose branch is not replaced.
const LOOPS: u64 = 0x800;

/// In the heading: the last instruction is a branch that the guest executes itself.
const OWN_BRANCH: u64 = 0x1000;

/// In the heading: that branch is a call.
const CALLS: u64 = 0x2000;

/// In the heading: an instruction may look at a clock.
const READS_CLOCK: u64 = 0x200;

/// In the heading: it has EXECUTEs by a register, of which it is not known what they count.
const MAY_COUNT_LESS: u64 = 0x400;

/// In the heading: the length in halfwords.
const LENGTH: u32 = 16;

/// In the heading: what is the same for all instructions that the guest executes until it traps.
const STATE: u64 = u64::MAX << 32;

/// A block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// The address of the first instruction.
    pub start: u64,
    parameter: u64,
    /// Where instructions begin, as [`CountEntry::begins`].
    pub begins: u64,
    /// Which of them count two, as [`CountEntry::twice`].
    pub twice: u64,
    /// The hash of its text.
    pub hash: u64,
    executions: u64,
    heading: u64,
    /// Where the target of its EXECUTE RELATIVE LONG is, a doubleword of which the hash is, too, plus one; zero if it has none.
    target: u64,
}

impl Block {
    /// One instruction with so many bytes, a part.
    pub const fn single(context: Context, start: u64, bytes: u64) -> Self {
        Self {
            start,
            parameter: context.parameter,
            begins: 1 << 63,
            twice: 0,
            hash: 0,
            executions: 0,
            heading: context.state | (bytes / 2) << LENGTH | PART,
            target: 0,
        }
    }

    pub fn fetch<H: Hardware>(hardware: &H, at: Real) -> Self {
        let [
            start,
            parameter,
            begins,
            twice,
            hash,
            executions,
            heading,
            target,
        ] = [0, 1, 2, 3, 4, 5, 6, 7].map(|n| hardware.hsa_load(at.offset(8 * n)));
        Self {
            start,
            parameter,
            begins,
            twice,
            hash,
            executions,
            heading,
            target,
        }
    }

    pub fn store<H: Hardware>(&self, hardware: &mut H, at: Real) {
        let fields = [
            self.start,
            self.parameter,
            self.begins,
            self.twice,
            self.hash,
            self.executions,
            self.heading,
            self.target,
        ];
        for (place, value) in (0..).step_by(8).zip(fields) {
            hardware.hsa_store(at.offset(place), value);
        }
    }

    /// Whether its last instruction is a branch that is replaced.
    pub const fn ends(&self) -> bool {
        self.heading & ENDS != 0
    }

    /// Whether its last instruction is a branch that the guest executes itself.
    pub const fn has_branch(&self) -> bool {
        self.heading & OWN_BRANCH != 0
    }

    /// Whether that is a call.
    pub const fn calls(&self) -> bool {
        self.heading & CALLS != 0
    }

    /// The branch at its end, with this text, is not replaced.
    pub fn leave_alone(&mut self, text: &[u8; 6]) {
        self.heading = self.heading & !ENDS | OWN_BRANCH;
        if Kind::of(text) == Kind::Call {
            self.heading |= CALLS;
        }
    }

    /// Whether it is a loop.
    pub const fn loops(&self) -> bool {
        self.heading & LOOPS != 0
    }

    /// How many of its EXECUTEs may count one instead of two.
    pub const fn may_count_less(&self) -> u64 {
        if self.heading & MAY_COUNT_LESS != 0 {
            (self.twice & self.begins).count_ones() as u64
        } else {
            0
        }
    }

    /// The same of which so many EXECUTEs, the first ones, count one.
    pub fn with_less(&self, less: u64) -> Self {
        let mut found = *self;
        for _ in 0..less {
            found.twice &= !(1 << 63 >> found.twice.leading_zeros());
        }
        found.heading = found.heading & !KIND | PART;
        found
    }

    /// Where the target of its EXECUTE RELATIVE LONG is, if it has one.
    pub const fn target(&self) -> Option<u64> {
        match self.target {
            0 => None,
            target => Some(target & !1),
        }
    }

    /// Whether an instruction of it may look at a clock.
    pub const fn reads_clock(&self) -> bool {
        self.heading & READS_CLOCK != 0
    }

    /// The address behind it, to which the addressing mode has yet to be applied.
    pub const fn end(&self) -> u64 {
        self.start.wrapping_add(2 * (self.heading >> LENGTH & 0xFF))
    }

    /// The address of its last instruction.
    pub const fn last(&self) -> u64 {
        let number = 63 - self.begins.trailing_zeros() as u64;
        self.start.wrapping_add(2 * number)
    }

    /// What one execution of it counts.
    pub const fn instructions(&self) -> u64 {
        (self.begins.count_ones() + (self.begins & self.twice).count_ones()) as u64
    }

    /// The part of it that has so many instructions.
    pub fn first(&self, count: u32) -> Self {
        let mut part = Self { begins: 0, ..*self };
        let mut rest = self.begins;
        for _ in 0..count {
            let next = 1 << 63 >> rest.leading_zeros();
            rest &= !next;
            part.begins |= next;
        }
        part.twice &= part.begins;
        let behind = match rest {
            0 => self.heading >> LENGTH & 0xFF,
            _ => rest.leading_zeros().into(),
        };
        part.heading = self.heading & (STATE | MAY_COUNT_LESS) | behind << LENGTH | PART;
        part
    }

    /// Gives it to the host, if it was executed.
    fn give(&self, each: &mut Each<'_>) {
        if self.executions != 0 {
            each(self.entry());
        }
    }

    /// Gives so many executions of it to the host.
    pub fn give_as(self, executions: u64, each: &mut Each<'_>) {
        Self { executions, ..self }.give(each);
    }

    /// For the host.
    fn entry(&self) -> CountEntry {
        CountEntry {
            start: self.start.into(),
            begins: self.begins.into(),
            twice: (self.twice & self.begins).into(),
            executions: self.executions.into(),
            parameter: self.parameter.into(),
            state: ((self.heading >> 32) as u16).into(),
            asn: ((self.heading >> 48) as u16).into(),
            ..CountEntry::default()
        }
    }
}

/// The block with a number.
pub(super) fn of<H: Hardware>(hardware: &H, counting: &Counting, number: u16) -> Block {
    Block::fetch(hardware, counting.copies.area.block(number.into()))
}

/// The whole block that begins at an address in a page. Its last instruction, if that is a branch, is replaced, and the rest is
/// as the guest has it; but a loop is entered as it is, if it may be one. `None` if there is no room for one more block in this
/// chain.
pub(super) fn enter<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    text: &Text<'_>,
    (start, may_loop, lasting): (u64, bool, Lasting),
    each: &mut Each<'_>,
) -> Option<(u16, Block)> {
    // No branch changes it.
    let context = counting.context;
    let kind = if may_loop { WHOLE } else { BEHIND_LOOP };
    let number = place(hardware, counting, context, start, (kind, 0, 0), each)?;
    let at = counting.copies.area.block(number.into());
    let mut block = Block::fetch(hardware, at);
    if block.heading & KIND == kind
        && renew(
            configuration,
            hardware,
            counting,
            text.page,
            &block,
            lasting,
        ) == block.hash
    {
        return Some((number, block));
    }
    block.give(each);
    block = decode(configuration, hardware, context, text, start, kind);
    block.hash = renew(
        configuration,
        hardware,
        counting,
        text.page,
        &block,
        lasting,
    );
    block.store(hardware, at);
    Some((number, block))
}

/// Counts so many executions of a whole block.
pub(super) fn count<H: Hardware>(
    hardware: &mut H,
    counting: &Counting,
    number: u16,
    executions: u64,
) {
    let at = counting.copies.area.block(number.into()).offset(EXECUTIONS);
    add(hardware, at, executions);
}

/// Adds to a number. The bits that have no room are lost: all ones take one away.
pub(super) fn add<H: Hardware>(hardware: &mut H, at: Real, more: u64) {
    let before = hardware.hsa_load(at);
    hardware.hsa_store(at, before.wrapping_add(more));
}

/// Counts one execution of a part.
pub(super) fn count_part<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    part: &Block,
    each: &mut Each<'_>,
) {
    let context = Context {
        parameter: part.parameter,
        state: part.heading & STATE,
    };
    let found = place(
        hardware,
        counting,
        context,
        part.start,
        (PART, part.begins, part.twice & part.begins),
        each,
    );
    let Some(number) = found else {
        let once = Block {
            executions: 1,
            ..*part
        };
        once.give(each);
        return;
    };
    let at = counting.copies.area.block(number.into());
    if hardware.hsa_load(at.offset(HEADING)) == 0 {
        Block {
            executions: 0,
            twice: part.twice & part.begins,
            ..*part
        }
        .store(hardware, at);
    }
    count(hardware, counting, number, 1);
}

/// Gives everything to the host.
pub(super) fn give_all<H: Hardware>(hardware: &mut H, counting: &Counting, each: &mut Each<'_>) {
    for number in 0..BLOCKS {
        let at = counting.copies.area.block(number);
        let block = Block::fetch(hardware, at);
        // What is empty was not executed.
        if block.executions != 0 {
            block.give(each);
            hardware.hsa_store(at.offset(EXECUTIONS), 0);
        }
    }
}

/// The place of the block of a kind that begins at an address, or of the part of it in which these instructions begin, of which
/// these count two: one that has it, or an empty one. `None` if each place that it can have is part of the chain.
fn place<H: Hardware>(
    hardware: &mut H,
    counting: &Counting,
    context: Context,
    start: u64,
    (kind, begins, twice): (u64, u64, u64),
    each: &mut Each<'_>,
) -> Option<u16> {
    let hash = (start ^ begins ^ twice).wrapping_mul(MIX) >> (64 - BLOCKS.trailing_zeros());
    let places = (hash..hash + TRIES).map(|number| (number % BLOCKS) as u16);
    let mut empty = None;
    for number in places.clone() {
        let at = counting.copies.area.block(number.into());
        let heading = hardware.hsa_load(at.offset(HEADING));
        if heading == 0 {
            empty = empty.or(Some(number));
        } else if heading & (STATE | KIND) == context.state | kind
            && hardware.hsa_load(at.offset(START)) == start
            && hardware.hsa_load(at.offset(PARAMETER)) == context.parameter
            && (kind != PART
                || [BEGINS, TWICE].map(|field| hardware.hsa_load(at.offset(field)))
                    == [begins, twice])
        {
            return Some(number);
        }
    }
    if empty.is_some() {
        return empty;
    }
    // Another one each time.
    let turn = (counting.counted % TRIES) as usize;
    let mut others = places.clone().cycle().skip(turn).take(TRIES as usize);
    let number = others.find(|number| !counting.chain.contains(number))?;
    let at = counting.copies.area.block(number.into());
    Block::fetch(hardware, at).give(each);
    hardware.hsa_store(at.offset(EXECUTIONS), 0);
    hardware.hsa_store(at.offset(HEADING), 0);
    Some(number)
}

/// Finds the block that begins at an address in a page, by the text of the guest.
fn decode<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    context: Context,
    page: &Text<'_>,
    start: u64,
    kind: u64,
) -> Block {
    let first = Virtual(start).byte_index();
    let mut block = Block {
        start,
        parameter: context.parameter,
        begins: 0,
        twice: 0,
        hash: 0,
        executions: 0,
        heading: context.state | kind,
        target: 0,
    };
    let mut halfword = 0;
    while halfword < LONGEST_RUN && first + 2 * halfword < PAGE {
        let text = page.at(hardware, first + 2 * halfword);
        let (begin, here) = (halfword, 1 << 63 >> halfword);
        let is_execute = is_execute(u16::from_be_bytes([text[0], text[1]]));
        let mut executed = None;
        if is_execute {
            let at = start.wrapping_add(2 * begin);
            executed = target_of(configuration, hardware, page.page.space, at, &text);
            if let Some(executed) = executed {
                if block.target != 0 && block.target != executed.doubleword | 1 {
                    // There is room for one.
                    break;
                }
                block.target = executed.doubleword | 1;
            }
        }
        block.begins |= here;
        halfword += length(text[0]) as u64 / 2;
        if executed.map_or(is_execute || reads_clock(&text), |executed| {
            executed.may_read_clock()
        }) {
            block.heading |= READS_CLOCK;
        }
        if is_execute {
            match executed.and_then(|executed| executed.counts_one) {
                Some(true) => {}
                Some(false) => block.twice |= here,
                None => {
                    block.twice |= here;
                    block.heading |= MAY_COUNT_LESS;
                }
            }
        } else if is_branch(configuration, &text) {
            // How often it went round must be the only thing that is not known.
            let is_known = kind == WHOLE && block.heading & MAY_COUNT_LESS == 0;
            block.heading |= if is_known && leads_back(&text, 2 * begin) {
                LOOPS
            } else {
                ENDS
            };
            break;
        }
    }
    block.heading |= halfword << LENGTH;
    block
}

/// The block that begins at an address in a page, if it does nothing that only a chain can have: look at a clock, count what is not
/// known, extend into the next page, or, unless it `may_loop`, go round in a loop. Nor does its branch close a loop that begins
/// elsewhere and is one block: the guest goes round in that freely.
pub(super) fn plain<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    context: Context,
    page: &Text<'_>,
    (start, may_loop): (u64, bool),
) -> Option<Block> {
    let others = READS_CLOCK | MAY_COUNT_LESS | if may_loop { 0 } else { LOOPS };
    let block = decode(configuration, hardware, context, page, start, WHOLE);
    let is_inside = Virtual(start).byte_index() + block.end().wrapping_sub(start) <= PAGE;
    if !is_inside || block.heading & others != 0 {
        return None;
    }
    let last = block.last();
    let back = distance(&page.at(hardware, Virtual(last).byte_index()));
    if block.ends()
        && let Some(back @ ..0) = back
        && last.wrapping_add(back as u64) & !(PAGE - 1) == last & !(PAGE - 1)
    {
        let first = last.wrapping_add(back as u64);
        let closed = decode(configuration, hardware, context, page, first, WHOLE);
        if closed.loops() && closed.last() == last {
            return None;
        }
    }
    Some(block)
}

/// Where a branch leads that the guest can execute itself, and whether it may go on behind it: a call, or another branch with a
/// fixed target that leads forward.
pub(super) fn outs(text: &[u8; 6], at: u64, mask: u64) -> Option<(u64, bool)> {
    let distance = distance(text)?;
    let target = at.wrapping_add(distance as u64) & mask;
    match (text[0], text[1]) {
        (0xA7 | 0xC0, second) if second & 15 == 5 => Some((target, false)),
        (0xA7 | 0xC0, second) if second & 15 == 4 && second < 0x10 => None,
        _ if distance <= 0 => None,
        (0xA7 | 0xC0, second) => Some((target, second < 0xF0 || second & 15 != 4)),
        _ => Some((target, true)),
    }
}

/// Whether a branch leads so many bytes back, and does nothing else but count.
fn leads_back(text: &[u8; 6], bytes: u64) -> bool {
    let is_call = matches!(text, [0xA7 | 0xC0, second, ..] if second & 15 == 5);
    !is_call && distance(text) == Some(-(bytes as i64))
}

/// How far a branch leads whose target is fixed, in bytes.
fn distance(text: &[u8; 6]) -> Option<i64> {
    let [first, second, a, b, c, d] = *text;
    let halfwords: i64 = match (first, second & 15, d) {
        // BRC, BRAS, BRCT, BRCTG; BRXH, BRXLE; BRXHG, BRXLG; compare and branch relative.
        (0xA7, 4..=7, _)
        | (0x84 | 0x85, ..)
        | (0xEC, _, 0x44 | 0x45 | 0x64 | 0x65 | 0x76 | 0x77 | 0x7C..=0x7F) => {
            i16::from_be_bytes([a, b]).into()
        }
        // BRCL, BRASL; BRCTH.
        (0xC0, 4 | 5, _) | (0xCC, 6, _) => i32::from_be_bytes([a, b, c, d]).into(),
        _ => return None,
    };
    Some(2 * halfwords)
}

/// The target of an EXECUTE.
#[derive(Clone, Copy, Debug)]
struct Executed {
    /// The address of the doubleword in which it begins.
    doubleword: u64,
    /// Its first byte, which no mask changes.
    first: u8,
    /// Whether the clock charges both as one instruction; `None` if that is not known. QEMU performs some instructions as part
    /// of the EXECUTE, if their length is only in the register.
    counts_one: Option<bool>,
}

impl Executed {
    /// Whether it looks at a clock without a trap, with some mask.
    const fn may_read_clock(self) -> bool {
        matches!(self.first, 0x01 | 0xB2 | 0xC8)
    }
}

/// The target of the EXECUTE at an address, if the text says where it is, and the shadow has its page.
fn target_of<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    space: u64,
    at: u64,
    text: &[u8; 6],
) -> Option<Executed> {
    let (target, _) = match insn::decode(text) {
        execute @ Instruction::Exrl { .. } => insn::target(&execute, at, &[0; 16])?,
        _ => return None,
    };
    let target = Virtual(target);
    let source = copied::operand(configuration, hardware, space, target)?;
    let offset = target.byte_index();
    let doubleword = copied::load(hardware, source, offset & !7);
    let first = (doubleword << (8 * (offset & 6)) >> 48) as u16;
    let counts_one = match first {
        0xD000 | 0xD200 | 0xD400 | 0xD500 | 0xD600 | 0xD700 | 0xDA00 | 0xDC00 | 0xDD00 => {
            Some(true)
        }
        // In a code copy it may be replaced.
        _ => matches!(source, Source::Frame(_)).then_some(false),
    };
    Some(Executed {
        doubleword: target.0 & !7,
        first: (first >> 8) as u8,
        counts_one,
    })
}

/// How long a copy is as a block needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lasting {
    /// Until the guest stops, for a chain.
    UntilStop,
    /// Until text changes, where nothing was replaced before and no instruction of a region overlaps, and else until the guest stops:
    /// for a chain to which it comes again.
    WhereFree,
    /// Until text changes, for a region.
    ForGood,
}

/// Makes the copy of a page as the guest has it where a block is, but for the branch at its end. Returns the hash of what the
/// guest has. No region is known to be true any more where the copy loses what one may need.
pub(super) fn renew<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    page: &CopiedPage,
    block: &Block,
    lasting: Lasting,
) -> u64 {
    let first = Virtual(block.start).byte_index();
    let end = (first + block.end().wrapping_sub(block.start)).min(PAGE);
    let last = Virtual(block.last()).byte_index();
    let mut hash = block.heading >> LENGTH & 0xFF;
    if block.target != 0 {
        let target = Virtual(block.target & !1);
        let source = copied::operand(configuration, hardware, page.space, target);
        let doubleword = source.map(|source| copied::load(hardware, source, target.byte_index()));
        hash ^= doubleword.unwrap_or_default().wrapping_mul(MIX);
    }
    for at in (first & !7..end).step_by(8) {
        let mut mask = u64::MAX;
        if at < first {
            mask >>= 8 * (first - at);
        }
        if end < at + 8 {
            mask &= u64::MAX << (8 * (at + 8 - end));
        }
        let original = copied::load(hardware, page.source, at);
        hash = (hash ^ original & mask).wrapping_mul(MIX).rotate_left(23);
        let wanted = if block.ends() && last & !7 == at {
            sensitive::replace(original, 1 << (last >> 1 & 3))
        } else {
            original
        };
        let place = page.copy.offset(at);
        let copied = hardware.hsa_load(place);
        if (copied ^ wanted) & mask != 0 {
            let halfwords = counting.copies.area.halfwords(page.copy);
            let is_free = (copied ^ original) & mask == 0;
            let is_lost = match lasting {
                Lasting::WhereFree if is_free && !overlaps(hardware, halfwords, block) => false,
                Lasting::UntilStop | Lasting::WhereFree => {
                    counting.copies.edits.push((place, copied)).is_err()
                }
                Lasting::ForGood => (copied ^ original) & mask != 0,
            };
            if is_lost {
                counting.copies.change();
            }
            hardware.hsa_store(place, copied & !mask | wanted & mask);
        }
    }
    hash
}

/// Notes where the instructions of a block are, in what is known `at` this address of the halfwords of its page. Returns whether one
/// overlaps another one that is known, or may.
pub(super) fn overlaps<H: Hardware>(hardware: &mut H, at: Real, block: &Block) -> bool {
    let first = Virtual(block.start).byte_index() / 2;
    let length = block.heading >> LENGTH & 0xFF;
    if length > 64 {
        // It would need one more bit.
        return true;
    }
    let within = !u64::MAX.unbounded_shr(length as u32) & !block.begins;
    let (word, shift) = (first / 64, first % 64);
    let parts = [
        (word, block.begins >> shift, within >> shift),
        (
            word + 1,
            block.begins.unbounded_shl(64 - shift as u32),
            within.unbounded_shl(64 - shift as u32),
        ),
    ];
    let places = |word: u64| [word, word + PAGE / 128].map(|word| at.offset(8 * word));
    let parts = || {
        parts
            .iter()
            .filter(|(word, begin, within)| *word < PAGE / 128 && (begin | within) != 0)
    };
    let overlaps = parts().any(|&(word, begin, within)| {
        let [begins, inside] = places(word).map(|place| hardware.hsa_load(place));
        begins & within | inside & begin != 0
    });
    if !overlaps {
        for &(word, begin, within) in parts() {
            for (place, more) in places(word).into_iter().zip([begin, within]) {
                let known = hardware.hsa_load(place);
                hardware.hsa_store(place, known | more);
            }
        }
    }
    overlaps
}

/// Makes the first bytes of a page, to which an instruction extends from the page before, as the guest has them.
pub(super) fn renew_beginning<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    page: &CopiedPage,
    bytes: u64,
) {
    let mask = !(u64::MAX >> (8 * bytes));
    let original = copied::load(hardware, page.source, 0);
    let copied = hardware.hsa_load(page.copy);
    if (copied ^ original) & mask != 0 {
        hardware.hsa_store(page.copy, copied & !mask | original & mask);
        counting.copies.change();
    }
}
