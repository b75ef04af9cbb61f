//! What a strict machine replaces in a page: nothing depends on which halfwords are believed to be instructions.
//!
//! A guest that attacks the machine can branch into the middle of an instruction, and its text may be data as far as any
//! decode can tell. So every halfword with which a sensitive instruction could begin is replaced, wherever it is, and so
//! is every halfword with which an instruction could begin that **encloses** a replaced one: that has it among its other
//! halfwords. Then no instruction that the hardware executes, wherever control enters the page, is sensitive, and none
//! has a replaced halfword in it. Both hold by the lengths of the halfwords alone.
//!
//! An instruction that was replaced only because of what it encloses traps, and the firmware has it performed as it stands
//! in the original. This costs a trap each time. Fortunately such a chain is short: few halfwords of most code have
//! the length of a longer instruction.
//!
//! An instruction at the end of a page can extend into the next one. If it may find a replaced halfword there
//! ([`begins_replaced`]), it is replaced, on a machine that is not strict, too ([`ends`]).

use super::length;
use super::offsets::{Offsets, PAGE};
use super::sensitive::{self, Caught, Scan};

/// Which halfwords of a page are replaced. `into_next` says whether an instruction that extends into the next page is to
/// be replaced.
#[must_use]
pub fn scan(page: &[u8; PAGE], caught: Caught, into_next: bool) -> Scan {
    let Scan {
        mut replaced,
        trusts,
        ..
    } = sensitive::candidates_of(page, caught);
    enclose(page, &mut replaced, into_next);
    Scan {
        replaced,
        trusts,
        only_executes: false,
    }
}

/// The halfwords with which an instruction could begin that extends into the next page, or that encloses one of these.
#[must_use]
pub fn ends(page: &[u8; PAGE]) -> Offsets {
    let mut ends = Offsets::NONE;
    enclose(page, &mut ends, true);
    ends
}

/// Adds the halfwords with which an instruction could begin that has one of the set among its others, or extends
/// `into_next`.
fn enclose(page: &[u8; PAGE], replaced: &mut Offsets, into_next: bool) {
    for offset in (0..PAGE).step_by(2).rev() {
        let end = offset + page.get(offset).map_or(2, |&first| length(first));
        let mut others = (offset + 2..end).step_by(2);
        if others.any(|other| replaced.contains(other) || other >= PAGE && into_next) {
            replaced.insert(offset);
        }
    }
}

/// Whether an instruction can extend from the page that ends with this doubleword into the next one.
#[must_use]
pub fn extends(last: u64) -> bool {
    let [.., third, _, fourth, _] = last.to_be_bytes();
    length(third) > 4 || length(fourth) > 2
}

/// Whether an instruction that extends from the preceding page into this one may find a replaced halfword.
#[must_use]
pub fn begins_replaced(replaced: &Offsets) -> bool {
    replaced.contains(0) || replaced.contains(2)
}
