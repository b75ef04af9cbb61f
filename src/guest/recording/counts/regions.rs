//! Regions: all ways that the guest can take from an address on up to branches that the machine performs.
//!
//! The guest executes the other branches of a region itself: relative ones that lead forward, and calls. Each way through it is a
//! different number of instructions up to the place where it stops, or that place is another one. So where the guest stops, and
//! how many instructions that were, says which way it took. A branch behind which that would not be so is performed by the
//! machine.
//!
//! A region is true as long as its text is, and as its branches are replaced in the copies. The guest cannot change a text from
//! which it executes without a trap; so between two traps, in an *epoch*, a region that is true stays true. After a trap, it is
//! enough that its pages are where they were and nothing was stored into them; only if that is not known, it is compared with the
//! text.

use super::blocks::{self, Block, Each, Lasting, add, renew};
use super::{calls, rounds};
use crate::hardware::Hardware;
use crate::recording::copies::{Text, is_replaced};
use crate::state::configuration::Configuration;
use crate::state::copies::{CopiedPage, REGIONS};
use crate::state::counting::Counting;
use crate::state::shadow::MIX;
use crate::storage::shadow::copied;
use arch::address::{Real, Virtual};

/// The most blocks of a region.
const NODES: usize = 8;

/// The most places in it at which the guest can stop.
const LEAVES: usize = 8;

/// The most blocks of a way, each a digit of [`Way::path`].
const LONGEST: u64 = 15;

/// The most ways to the end of a block.
const SEEN: usize = 24;

/// The most branches that the machine performs because there would be too many ways.
const STOPS: usize = 12;

/// How many places a region can have.
const WAYS: u64 = 2;

/// Where the fields of a region are.
const START: u64 = 0;
const EPOCH: u64 = 8;
const PARAMETER: u64 = 16;
/// The state of its [`Context`], and the numbers of nodes and leaves in the rightmost two bytes.
const STATE: u64 = 24;
/// How many instructions its first block has, if that is a loop; or zero.
const LOOP: u64 = 32;
/// How often the guest went round in it, but for once on each way.
const ROUNDS: u64 = 40;
/// When it was last compared with the text ([`Copies::text`](crate::state::copies::Copies::text)); or zero.
const VERSION: u64 = 48;
/// The space in which it was then.
const SPACE: u64 = 56;
const FIRST_LEAF: u64 = 64;
const LEAF: u64 = 32;
const FIRST_NODE: u64 = FIRST_LEAF + LEAVES as u64 * LEAF;
const NODE: u64 = 64;

/// Where the fields of a leaf are.
const ADDRESS: u64 = 0;
/// The text, and in the rightmost two bytes the number of instructions up to it.
const TEXT: u64 = 8;
/// With that number: there are calls on the way.
const HAS_CALLS: u64 = 0x8000;
const PATH: u64 = 16;
const EXECUTIONS: u64 = 24;

/// Where its pages are, and those of the targets of its EXECUTEs, up to a zero: of each where the shadow has its entry, and that.
const FIRST_PAGE: u64 = FIRST_NODE + NODES as u64 * NODE;
const PAGE: u64 = 16;
const PAGES: usize = 4;

/// Where traps have found the guest before, and by how many instructions it had come there.
const FIRST_TRAP: u64 = FIRST_PAGE + PAGES as u64 * PAGE;
const TRAP: u64 = 40;
const TRAPS: u64 = 3;

/// Where the fields of such a place are.
const HERE: u64 = 0;
const DONE: u64 = 8;
/// The blocks that were executed as a whole.
const WHOLE: u64 = 16;
/// How many bytes the guest was from where it should be, the number of the next block, and in the right half how many
/// instructions of that were executed.
const PART: u64 = 24;
const TIMES: u64 = 32;

const _: () = assert!(FIRST_TRAP + TRAPS * TRAP <= crate::state::copies::REGION);

/// In [`STATE`]: there is no region at this address.
const ABSENT: u64 = 0x8000;

/// In [`STATE`]: the guest has come to this address by traps only, as often as the number of nodes says.
const VISITED: u64 = 0x4000;
const VISIT: u64 = 0x100;

/// How often it comes so before there is a region: where it was interrupted by chance, it does not come again, and another
/// region at a place where it stops would stop it there.
const VISITS: u64 = 4 * VISIT;

/// A branch at which the guest stops.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    /// Its text.
    pub text: [u8; 6],
    /// Where its executions are.
    executions: Real,
    /// Where the rounds of the loop are, and how many there were in addition.
    rounds: (Real, u64),
    /// The way to it, if there are calls on it.
    with_calls: Option<u64>,
}

/// A way to an address.
#[derive(Clone, Copy, Debug)]
struct Way {
    at: u64,
    /// The instructions on it.
    count: u64,
    /// The numbers of its blocks in hexadecimal digits, the first one leftmost but for its own number in the rightmost digit.
    path: u64,
    /// The last branch that the guest executes itself on it.
    from: Option<u64>,
}

/// What a region is made of.
#[derive(Debug, Default)]
struct Built {
    nodes: heapless::Vec<Block, NODES>,
    /// Address, text and number of instructions, and path.
    leaves: heapless::Vec<[u64; 3], LEAVES>,
    /// The instructions of the first block, if it is a loop.
    of_loop: u64,
    /// The last instruction of a block, and the number of instructions up to it on a way.
    seen: heapless::Vec<(u64, u64), SEEN>,
    ways: heapless::Deque<Way, SEEN>,
}

/// The blocks at addresses, if they can be part of a region, whatever its ways are.
type Decoded = heapless::Vec<(u64, Option<Block>), SEEN>;

/// There is no room for a way, or it would be taken for another.
struct Refused;

/// Where the guest executes instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The space.
    pub of: u64,
    /// The bits of an address.
    pub mask: u64,
}

/// The blocks of a way.
fn blocks_of(path: u64) -> impl Iterator<Item = u64> {
    (0..path & 15).map(move |number| path >> (60 - 4 * number) & 15)
}

/// The first place of a region that begins at an address.
fn first_place(counting: &Counting, start: u64) -> u64 {
    let hash = (start ^ counting.context.parameter ^ counting.context.state).wrapping_mul(MIX)
        >> (64 - REGIONS.trailing_zeros());
    hash & !(WAYS - 1)
}

/// A region at an address that is known to be true.
pub(super) fn find<H: Hardware>(hardware: &H, counting: &Counting, start: u64) -> Option<u16> {
    let first = first_place(counting, start);
    let number = (first..first + WAYS).find(|&number| {
        let at = counting.copies.area.region(number);
        hardware.hsa_load(at.offset(START)) == start
            && hardware.hsa_load(at.offset(EPOCH)) == counting.copies.epoch
    })?;
    Some(number as u16)
}

/// The leaf of a region at an address, if the guest has come to it by so many instructions.
pub(super) fn leaf<H: Hardware>(
    hardware: &H,
    counting: &Counting,
    region: u16,
    (here, done): (u64, u64),
) -> Option<Leaf> {
    let at = counting.copies.area.region(region.into());
    let leaves = hardware.hsa_load(at.offset(STATE)) & 0xFF;
    for number in 0..leaves {
        let leaf = at.offset(FIRST_LEAF + number * LEAF);
        if hardware.hsa_load(leaf.offset(ADDRESS)) == here {
            let text = hardware.hsa_load(leaf.offset(TEXT));
            let more = done.checked_sub(text & (HAS_CALLS - 1));
            let of_loop = hardware.hsa_load(at.offset(LOOP));
            let rounds = more.and_then(|more| rounds(more, of_loop));
            if let Some(rounds) = rounds {
                let [a, b, c, d, e, f, ..] = text.to_be_bytes();
                return Some(Leaf {
                    text: [a, b, c, d, e, f],
                    executions: leaf.offset(EXECUTIONS),
                    rounds: (at.offset(ROUNDS), rounds),
                    with_calls: (text & HAS_CALLS != 0)
                        .then(|| hardware.hsa_load(leaf.offset(PATH))),
                });
            }
        }
    }
    None
}

/// Counts a way to a leaf, and the calls on it.
pub(super) fn count<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    region: u16,
    leaf: &Leaf,
    each: &mut Each<'_>,
) {
    add(hardware, leaf.executions, 1);
    let (at, rounds) = leaf.rounds;
    if rounds != 0 {
        add(hardware, at, rounds);
    }
    if let Some(path) = leaf.with_calls {
        // A way ends at a branch that the machine performs.
        follow_calls(hardware, counting, region, (path, rounds), None, each);
    }
}

/// Follows the calls on a way of a region, with so many rounds of its loop in addition. The last call leads to `end`, if it is the
/// end of the way.
fn follow_calls<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    region: u16,
    (path, rounds): (u64, u64),
    end: Option<u64>,
    each: &mut Each<'_>,
) {
    let at = counting.copies.area.region(region.into());
    let mut passed = rounds * hardware.hsa_load(at.offset(LOOP));
    let mut caller: Option<Block> = None;
    let mut follow = |hardware: &mut H, caller: Option<Block>, routine, passed| {
        if let Some(block) = caller {
            let call = calls::Call {
                site: block.last(),
                back: block.end(),
                routine,
            };
            calls::begin(hardware, counting, call, passed, each);
        }
    };
    for number in blocks_of(path) {
        let node = Block::fetch(hardware, at.offset(FIRST_NODE + number * NODE));
        follow(hardware, caller.take(), node.start, passed);
        passed += node.instructions();
        caller = node.calls().then_some(node);
    }
    if let Some(routine) = end {
        follow(hardware, caller, routine, passed);
    }
}

/// The region at an address: one that is still true, or a new one; or, if there is none, how long lasts what a chain from there
/// replaces.
pub(super) fn enter<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    place: &Place,
    start: u64,
    each: &mut Each<'_>,
) -> Result<u16, Lasting> {
    let first = first_place(counting, start);
    let found = (first..first + WAYS).find(|&number| {
        let at = counting.copies.area.region(number);
        let state = hardware.hsa_load(at.offset(STATE));
        state & 0xFFFF != 0
            && hardware.hsa_load(at.offset(START)) == start
            && hardware.hsa_load(at.offset(PARAMETER)) == counting.context.parameter
            && state & !0xFFFF == counting.context.state
    });
    let mut state = VISITED;
    if let Some(number) = found {
        let at = counting.copies.area.region(number);
        state = hardware.hsa_load(at.offset(STATE));
        if state & VISITED == 0 {
            let is_as_found = is_as_found(hardware, counting, place, at);
            if state & ABSENT != 0 {
                if is_as_found {
                    return Err(Lasting::WhereFree);
                }
            } else if is_as_found || is_compared(configuration, hardware, counting, place, at) {
                hardware.hsa_store(at.offset(EPOCH), counting.copies.epoch);
                return Ok(number as u16);
            }
        }
    }
    let visits = (state & 0xFFFF) + VISIT;
    let waits = state & VISITED != 0 && visits < VISITED | VISITS && !counting.behind_branch;
    let built = if waits {
        None
    } else {
        build(configuration, hardware, counting, place, start)
    };
    let built = built.filter(|built| {
        let mut nodes = built.nodes.iter();
        nodes.all(|node| is_apart(configuration, hardware, counting, place, node))
    });
    let number = found.unwrap_or_else(|| {
        let places = first..first + WAYS;
        let mut empty = places.filter(|&number| {
            let at = counting.copies.area.region(number);
            hardware.hsa_load(at.offset(STATE)) & 0xFFFF == 0
        });
        empty.next().unwrap_or_else(|| {
            counting.next_region = counting.next_region.wrapping_add(1);
            first + counting.next_region % WAYS
        })
    });
    let at = counting.copies.area.region(number);
    clear(hardware, at, each);
    let Some(built) = built else {
        for (field, value) in [
            (START, start),
            (PARAMETER, counting.context.parameter),
            (
                STATE,
                counting.context.state | if waits { visits } else { ABSENT },
            ),
            (VERSION, counting.copies.text),
            (SPACE, place.of),
            (FIRST_PAGE, 0),
        ] {
            hardware.hsa_store(at.offset(field), value);
        }
        return Err(Lasting::UntilStop);
    };
    for (number, node) in (0..).zip(&built.nodes) {
        let mut node = *node;
        let page = page_of(configuration, hardware, counting, place, node.start)
            .ok_or(Lasting::UntilStop)?;
        node.hash = renew(
            configuration,
            hardware,
            counting,
            &page,
            &node,
            Lasting::ForGood,
        );
        node.store(hardware, at.offset(FIRST_NODE + number * NODE));
    }
    for (number, [address, text, path]) in (0..).zip(&built.leaves) {
        let leaf = at.offset(FIRST_LEAF + number * LEAF);
        for (field, value) in [
            (ADDRESS, *address),
            (TEXT, *text),
            (PATH, *path),
            (EXECUTIONS, 0),
        ] {
            hardware.hsa_store(leaf.offset(field), value);
        }
    }
    let numbers = (built.nodes.len() << 8 | built.leaves.len()) as u64;
    for (field, value) in [
        (START, start),
        (PARAMETER, counting.context.parameter),
        (LOOP, built.of_loop),
        (ROUNDS, 0),
        (STATE, counting.context.state | numbers),
    ] {
        hardware.hsa_store(at.offset(field), value);
    }
    if !is_compared(configuration, hardware, counting, place, at) {
        // No way was counted yet.
        hardware.hsa_store(at.offset(STATE), 0);
        return Err(Lasting::UntilStop);
    }
    hardware.hsa_store(at.offset(EPOCH), counting.copies.epoch);
    Ok(number as u16)
}

/// Gives the counts of a region to the host; it is none any more.
fn clear<H: Hardware>(hardware: &mut H, at: Real, each: &mut Each<'_>) {
    if hardware.hsa_load(at.offset(STATE)) & 0xFF != 0 {
        give(hardware, at, each);
        for number in 0..TRAPS {
            hardware.hsa_store(at.offset(FIRST_TRAP + number * TRAP + DONE), 0);
        }
    }
    for field in [STATE, EPOCH] {
        hardware.hsa_store(at.offset(field), 0);
    }
}

/// Whether a region that was compared with the text is known to be as it was then.
fn is_as_found<H: Hardware>(hardware: &H, counting: &Counting, place: &Place, at: Real) -> bool {
    let field = |offset| hardware.hsa_load(at.offset(offset));
    field(VERSION) == counting.copies.text
        && field(SPACE) == place.of
        && (0..PAGES as u64)
            .map(|number| FIRST_PAGE + number * PAGE)
            .map(|page| (page, field(page)))
            .take_while(|&(_, found)| found != 0)
            .all(|(page, found)| {
                copied::is_as_found(hardware, &counting.copies, Real(found), field(page + 8))
            })
}

/// The guest has stopped on a way through a region where it should not: so it is compared with the text again.
pub(super) fn doubt<H: Hardware>(hardware: &mut H, counting: &Counting, region: u16) {
    let at = counting.copies.area.region(region.into());
    hardware.hsa_store(at.offset(VERSION), 0);
}

/// Compares a region with the text, and notes when, and where its pages are. Returns whether it is true. It never is if an
/// instruction of it begins within one of another region: what is replaced for the one would change the other.
fn is_compared<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    place: &Place,
    at: Real,
) -> bool {
    let nodes = hardware.hsa_load(at.offset(STATE)) >> 8 & 0xFF;
    let node =
        |hardware: &H, number: u64| Block::fetch(hardware, at.offset(FIRST_NODE + number * NODE));
    let is_apart = (0..nodes).all(|number| {
        let node = node(hardware, number);
        is_apart(configuration, hardware, counting, place, &node)
    });
    if !is_apart || !is_true(configuration, hardware, counting, place, at) {
        return false;
    }
    let mut version = counting.copies.text;
    let mut pages: heapless::Vec<CopiedPage, PAGES> = heapless::Vec::new();
    for number in 0..nodes {
        let node = node(hardware, number);
        for address in [Some(node.start), node.target()].into_iter().flatten() {
            let is_same = |page: &CopiedPage| page.at == Virtual(address).page().0;
            if pages.iter().any(is_same) {
                continue;
            }
            let page = page_of(configuration, hardware, counting, place, address);
            if page.is_none_or(|page| pages.push(page).is_err()) {
                version = 0;
            }
        }
    }
    // Looking for a page may have changed others.
    if version != counting.copies.text {
        version = 0;
    }
    for (number, page) in (0..).zip(&pages) {
        let field = at.offset(FIRST_PAGE + number * PAGE);
        hardware.hsa_store(field, page.place.0);
        hardware.hsa_store(field.offset(8), page.entry);
    }
    if !pages.is_full() {
        hardware.hsa_store(at.offset(FIRST_PAGE + pages.len() as u64 * PAGE), 0);
    }
    hardware.hsa_store(at.offset(VERSION), version);
    hardware.hsa_store(at.offset(SPACE), place.of);
    true
}

/// Whether no instruction of a block overlaps one of another region. Before anything is replaced for it.
fn is_apart<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    place: &Place,
    node: &Block,
) -> bool {
    let page = page_of(configuration, hardware, counting, place, node.start);
    let area = counting.copies.area;
    page.is_none_or(|page| !blocks::overlaps(hardware, area.halfwords(page.copy), node))
}

/// The page of instructions at an address.
fn page_of<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    place: &Place,
    at: u64,
) -> Option<CopiedPage> {
    copied::page(
        configuration,
        hardware,
        &mut counting.copies,
        place.of,
        Virtual(at),
    )
}

/// Whether a region is as the text is now. What of it is not replaced in the copies is replaced. One of its blocks may put back
/// what another one needs, where instructions overlap; then it never is.
fn is_true<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    place: &Place,
    at: Real,
) -> bool {
    for _ in 0..2 {
        let before = counting.copies.epoch;
        if !is_renewed(configuration, hardware, counting, place, at) {
            return false;
        }
        if counting.copies.epoch == before {
            return true;
        }
    }
    false
}

/// Compares a region with the text, and replaces what of it is not replaced in the copies. Returns whether it is as the text is.
fn is_renewed<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    place: &Place,
    at: Real,
) -> bool {
    let nodes = hardware.hsa_load(at.offset(STATE)) >> 8 & 0xFF;
    (0..nodes).all(|number| {
        let node = Block::fetch(hardware, at.offset(FIRST_NODE + number * NODE));
        let page = page_of(configuration, hardware, counting, place, node.start);
        page.is_some_and(|page| {
            // Another region stops where this one does not.
            let is_left_alone = node.ends() || !is_replaced(hardware, &page, node.last());
            is_left_alone
                && renew(
                    configuration,
                    hardware,
                    counting,
                    &page,
                    &node,
                    Lasting::ForGood,
                ) == node.hash
        })
    })
}

/// Finds all ways from an address on.
fn build<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    place: &Place,
    start: u64,
) -> Option<Built> {
    let mut stops: heapless::Vec<u64, STOPS> = heapless::Vec::new();
    let mut decoded = Decoded::new();
    loop {
        let mut built = Built::default();
        let _ = built.ways.push_back(Way {
            at: start,
            count: 0,
            path: 0,
            from: None,
        });
        // The nearest places first, so that there is room for them.
        let refused = loop {
            let Some(way) = built.ways.pop_front() else {
                return Some(built);
            };
            let followed = follow(
                configuration,
                hardware,
                counting,
                (place, &stops),
                (&mut built, &mut decoded),
                &way,
            );
            if followed.is_err() {
                break way;
            }
        };
        stops.push(refused.from?).ok()?;
    }
}

/// Follows a way through one more block.
fn follow<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    (place, stops): (&Place, &[u64]),
    (built, decoded): (&mut Built, &mut Decoded),
    way: &Way,
) -> Result<(), Refused> {
    let page = page_of(configuration, hardware, counting, place, way.at);
    let page = page.filter(|_| way.at & 1 == 0).ok_or(Refused)?;
    let known = built.nodes.iter().position(|node| node.start == way.at);
    let text = Text {
        page: &page,
        behind: None,
    };
    let at_last = |hardware: &H, node: &Block| text.at(hardware, Virtual(node.last()).byte_index());
    let number = match known {
        Some(number) => number,
        None => {
            let start = (way.at, built.nodes.is_empty());
            let known = decoded.iter().find(|(at, _)| *at == way.at);
            let found = match known {
                Some((_, found)) => *found,
                None => {
                    let found =
                        blocks::plain(configuration, hardware, counting.context, &text, start);
                    // If there is no room, it is decoded again.
                    let _ = decoded.push((way.at, found));
                    found
                }
            };
            let mut node = found.ok_or(Refused)?;
            if node.loops() {
                if is_replaced(hardware, &page, node.last()) {
                    return Err(Refused);
                }
                built.of_loop = node.instructions();
            }
            if node.ends() {
                let last = node.last();
                let is_own = blocks::outs(&at_last(hardware, &node), last, place.mask).is_some()
                    && !stops.contains(&last)
                    && !is_replaced(hardware, &page, last);
                if is_own {
                    node.leave_alone(&at_last(hardware, &node));
                }
            }
            built.nodes.push(node).map_err(|_| Refused)?;
            built.nodes.len() - 1
        }
    };
    let is_again = blocks_of(way.path).any(|block| block == number as u64);
    let length = way.path & 15;
    if is_again || length == LONGEST {
        return Err(Refused);
    }
    let node = built.nodes[number];
    let path = (way.path | (number as u64) << (60 - 4 * length)) + 1;
    let count = way.count + node.instructions();
    let last = node.last();
    // Ways that meet somewhere have the same end.
    let is_same = |&(at, of_other): &(u64, u64)| {
        at == last && rounds(count.abs_diff(of_other), built.of_loop).is_some()
    };
    if built.seen.iter().any(is_same) {
        return Err(Refused);
    }
    built.seen.push((last, count)).map_err(|_| Refused)?;
    let text = at_last(hardware, &node);
    if node.ends() {
        let [a, b, c, d, e, f] = text;
        let mut text = u64::from_be_bytes([a, b, c, d, e, f, 0, 0]) | count;
        if blocks_of(path).any(|number| built.nodes[number as usize].calls()) {
            text |= HAS_CALLS;
        }
        return built.leaves.push([last, text, path]).map_err(|_| Refused);
    }
    let further = Way {
        at: node.end() & place.mask,
        count,
        path,
        from: way.from,
    };
    let (outs, from) = match node.has_branch() {
        true => (blocks::outs(&text, last, place.mask), Some(last)),
        false => (None, way.from),
    };
    let (target, goes_on) = outs.map_or((None, true), |(target, may_not)| (Some(target), may_not));
    let ways = [goes_on.then_some(further.at), target];
    for at in ways.into_iter().flatten() {
        let next = Way {
            at,
            from,
            ..further
        };
        built.ways.push_back(next).map_err(|_| Refused)?;
    }
    Ok(())
}

/// A place on a way, `distance` bytes from where it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reached {
    distance: u64,
    /// The blocks that were executed as a whole.
    path: u64,
    /// The next one, and how many of its instructions were executed.
    part: Option<(u64, u32)>,
    /// The rounds in the loop in addition.
    rounds: u64,
}

/// The guest has executed so many instructions in a region, and the next one is `near` bytes from `here` at most: counts them.
/// Returns whether it is known which they are.
pub(super) fn attribute<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    region: u16,
    (done, here, near): (u64, u64, u64),
    each: &mut Each<'_>,
) -> bool {
    let at = counting.copies.area.region(region.into());
    if let Some((times, path)) = known_trap(hardware, at, (done, here, near)) {
        add(hardware, times, 1);
        follow_calls_to(hardware, counting, region, (path, 0), (here, near), each);
        return true;
    }
    let of_loop = hardware.hsa_load(at.offset(LOOP));
    let mut best: Option<Reached> = None;
    let mut is_only = true;
    for number in 0..hardware.hsa_load(at.offset(STATE)) & 0xFF {
        let leaf = at.offset(FIRST_LEAF + number * LEAF);
        let path = hardware.hsa_load(leaf.offset(PATH));
        along(
            hardware,
            at,
            (path, of_loop),
            (done, here),
            &mut |reached| match best {
                Some(found) if found == reached || found.distance < reached.distance => {}
                Some(found) if found.distance == reached.distance => is_only = false,
                _ => (best, is_only) = (Some(reached), true),
            },
        );
    }
    let Some(found) = best.filter(|found| is_only && found.distance <= near) else {
        return false;
    };
    if found.rounds != 0 {
        add(hardware, at.offset(ROUNDS), found.rounds);
    }
    let way = (found.path, found.rounds);
    follow_calls_to(hardware, counting, region, way, (here, near), each);
    let oldest = at.offset(FIRST_TRAP + (TRAPS - 1) * TRAP);
    give_trap(hardware, at, oldest, each);
    for number in (1..TRAPS).rev() {
        let to = at.offset(FIRST_TRAP + number * TRAP);
        for field in (0..TRAP).step_by(8) {
            let value = hardware.hsa_load(at.offset(FIRST_TRAP + (number - 1) * TRAP + field));
            hardware.hsa_store(to.offset(field), value);
        }
    }
    // With rounds of a loop it is another number each time.
    let (number, count) = found.part.unwrap_or_default();
    for (field, value) in [
        (HERE, here),
        (DONE, if found.rounds == 0 { done } else { 0 }),
        (WHOLE, found.path),
        (PART, found.distance << 48 | number << 32 | u64::from(count)),
        (TIMES, 1),
    ] {
        hardware.hsa_store(at.offset(FIRST_TRAP + field), value);
    }
    true
}

/// Where it is counted that a trap has found the guest `near` bytes from an address at most, after so many instructions, if it was
/// found so before, and the blocks that it has executed as a whole.
fn known_trap<H: Hardware>(
    hardware: &H,
    region: Real,
    (done, here, near): (u64, u64, u64),
) -> Option<(Real, u64)> {
    (0..TRAPS)
        .map(|number| region.offset(FIRST_TRAP + number * TRAP))
        .find_map(|trap| {
            let is_known = hardware.hsa_load(trap.offset(HERE)) == here
                && hardware.hsa_load(trap.offset(DONE)) == done
                && hardware.hsa_load(trap.offset(PART)) >> 48 <= near;
            is_known.then(|| (trap.offset(TIMES), hardware.hsa_load(trap.offset(WHOLE))))
        })
}

/// Gives to the host how often a trap has found the guest at a place.
fn give_trap<H: Hardware>(hardware: &mut H, region: Real, trap: Real, each: &mut Each<'_>) {
    let [path, part, times] =
        [WHOLE, PART, TIMES].map(|field| hardware.hsa_load(trap.offset(field)));
    let node = |hardware: &H, number: u64| {
        Block::fetch(hardware, region.offset(FIRST_NODE + number * NODE))
    };
    if times == 0 {
        return;
    }
    for number in blocks_of(path) {
        node(hardware, number).give_as(times, each);
    }
    let (number, count) = (part >> 32 & 0xFFFF, part as u32);
    if count != 0 {
        node(hardware, number).first(count).give_as(times, each);
    }
    hardware.hsa_store(trap.offset(TIMES), 0);
}

/// Follows the calls on a way, as [`follow_calls`], up to where the guest was found. A call that the machine performs there, because
/// another region stops at it, is followed by that.
fn follow_calls_to<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    region: u16,
    (path, rounds): (u64, u64),
    (here, near): (u64, u64),
    each: &mut Each<'_>,
) {
    let at = counting.copies.area.region(region.into());
    let whole = path & 15;
    if whole == 0 {
        return;
    }
    let node =
        |hardware: &H, number: u64| Block::fetch(hardware, at.offset(FIRST_NODE + number * NODE));
    let last = node(hardware, path >> (64 - 4 * whole) & 15);
    if near == 0 && last.end() == here {
        follow_calls(hardware, counting, region, (path, rounds), None, each);
        return;
    }
    let kept = !(u64::MAX >> (4 * whole));
    let mut ways = (0..hardware.hsa_load(at.offset(STATE)) & 0xFF)
        .map(|number| hardware.hsa_load(at.offset(FIRST_LEAF + number * LEAF + PATH)));
    let way = ways.find(|way| (way ^ path) & kept == 0 && way & 15 > whole);
    let next = way.map(|way| node(hardware, way >> (60 - 4 * whole) & 15).start);
    follow_calls(hardware, counting, region, (path, rounds), next, each);
}

/// The places along a way that it reaches with so many instructions.
fn along<H: Hardware>(
    hardware: &H,
    region: Real,
    (path, of_loop): (u64, u64),
    (done, here): (u64, u64),
    each: &mut dyn FnMut(Reached),
) {
    let mut before = 0;
    for (place, number) in (0..).zip(blocks_of(path)) {
        if before > done {
            return;
        }
        let node = Block::fetch(hardware, region.offset(FIRST_NODE + number * NODE));
        let all = node.begins.count_ones();
        for count in 0..=all {
            let part = node.first(count);
            let more = done.checked_sub(before + part.instructions());
            if let Some(rounds) = more.and_then(|more| rounds(more, of_loop)) {
                let ahead = here.wrapping_sub(part.end());
                let whole = place + u64::from(count == all);
                let kept = if whole == 0 {
                    0
                } else {
                    path & !(u64::MAX >> (4 * whole)) | whole
                };
                each(Reached {
                    distance: ahead.min(ahead.wrapping_neg()),
                    path: kept,
                    part: (count != 0 && count != all).then_some((number, count)),
                    rounds,
                });
            }
        }
        before += node.instructions();
    }
}

/// Gives the counts of a region to the host, and forgets them.
fn give<H: Hardware>(hardware: &mut H, at: Real, each: &mut Each<'_>) {
    let rounds = hardware.hsa_load(at.offset(ROUNDS));
    if rounds != 0 {
        Block::fetch(hardware, at.offset(FIRST_NODE)).give_as(rounds, each);
        hardware.hsa_store(at.offset(ROUNDS), 0);
    }
    for number in 0..hardware.hsa_load(at.offset(STATE)) & 0xFF {
        let leaf = at.offset(FIRST_LEAF + number * LEAF);
        let executions = hardware.hsa_load(leaf.offset(EXECUTIONS));
        if executions == 0 {
            continue;
        }
        for number in blocks_of(hardware.hsa_load(leaf.offset(PATH))) {
            let node = Block::fetch(hardware, at.offset(FIRST_NODE + number * NODE));
            node.give_as(executions, each);
        }
        hardware.hsa_store(leaf.offset(EXECUTIONS), 0);
    }
    for number in 0..TRAPS {
        give_trap(hardware, at, at.offset(FIRST_TRAP + number * TRAP), each);
    }
}

/// Gives everything to the host.
pub(super) fn give_all<H: Hardware>(hardware: &mut H, counting: &Counting, each: &mut Each<'_>) {
    for number in 0..REGIONS {
        let at = counting.copies.area.region(number);
        if hardware.hsa_load(at.offset(STATE)) & 0xFF != 0 {
            give(hardware, at, each);
        }
    }
}
