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
//! An instruction at the end of a page can extend into the next one. Whether it encloses a replaced halfword there is
//! known by [`begins_replaced`]; if it is not known, the instruction is replaced.

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
    for offset in (0..PAGE).step_by(2).rev() {
        let end = offset + page.get(offset).map_or(2, |&first| length(first));
        let mut others = (offset + 2..end).step_by(2);
        if others.any(|other| replaced.contains(other) || other >= PAGE && into_next) {
            replaced.insert(offset);
        }
    }
    Scan {
        replaced,
        trusts,
        only_executes: false,
    }
}

/// Whether an instruction that extends into this page, from the preceding one, may enclose a replaced halfword.
#[must_use]
pub fn begins_replaced(replaced: &Offsets) -> bool {
    replaced.contains(0) || replaced.contains(2)
}
