//! What EXECUTE can make of its target.
//!
//! Unless its R1 field is zero, EXECUTE ORs bits 56-63 of a general register into the second byte of its target. So the
//! instruction that is performed is nowhere in storage, and what is sensitive about it can be in the mask alone:
//!
//! - **Opcodes of one byte** (and those whose second part is the sixth byte: E3, E6, E7, EB, EC, ED): the mask changes
//!   registers, lengths, immediate values. The opcode stays, and so does the T bit that makes some of these sensitive.
//! - **Opcodes with a second part in bits 12-15** (A5, A7, AA, C0, C2, C4, C6, C8, CC): the mask can make another
//!   instruction of the same first byte. None of these is sensitive either. An EXECUTE RELATIVE LONG among them is an
//!   execute exception, and so is an EXECUTE.
//! - **Opcodes whose second byte is the second byte** (01, B2, B3, B9, E5): the mask can set bits of it, and clear none.
//!   So a target becomes sensitive exactly if it has the first byte of a sensitive instruction, and in its second
//!   byte no one that the sensitive instruction lacks: B900, B904 and B98D become EXTRACT PSW; B200 becomes SET ADDRESS
//!   SPACE CONTROL FAST. The other way round, a sensitive instruction becomes an ordinary one, or one that does not
//!   exist.
//!
//! B900 (LOAD POSITIVE) and B904 (LOAD) are most of what a program executes. They cannot be replaced; so the EXECUTE is,
//! in each page with one, unless its R1 field is zero or the text shows that its target is harmless: an EXECUTE
//! RELATIVE LONG of a target in its own page ([`is_doubtful`]). An EXECUTE finds its target by registers, and an
//! EXECUTE RELATIVE LONG of another page by the translation at that moment, so no scan can know these.
//!
//! The firmware then finds the instruction as modified. It performs it, if it is one that it performs. If no mask can
//! make a sensitive instruction of this target, the EXECUTE is trusted until its page changes: control programs move
//! characters by it hundreds of thousands of times, which must not trap. Otherwise the hardware executes it alone. So
//! an EXECUTE that first has a harmless target and then one that it makes sensitive is caught only by a strict machine
//! ([`strict`](super::strict)), which trusts none.
//!
//! A replacement that could be the target of an EXECUTE has ones in all bits of its second byte, or a first byte by
//! which it is not assigned whatever follows: no mask makes another opcode of it.

use super::caught::{Caught, MDEBR, Sensitive};
use super::opcodes::opcode;

/// The opcode of EXECUTE RELATIVE LONG.
const EXECUTE_RELATIVE_LONG: u16 = 0xC600;

/// The instructions that a target may become, except those that are caught with the message-security assist.
const ALWAYS: [u16; 7] = [0xB98D, 0xB2B0, 0xE501, 0xB928, 0xB254, 0xB279, 0xB93C];

/// Those of the message-security assist.
const MESSAGE_SECURITY: [u16; 11] = [
    0xB91E, 0xB929, 0xB92A, 0xB92B, 0xB92C, 0xB92D, 0xB92E, 0xB92F, 0xB93A, 0xB93E, 0xB93F,
];

/// The one that is caught with MDEB.
const PRODUCTS: [u16; 1] = [MDEBR];

/// Whether EXECUTE can make a sensitive instruction of the target whose text begins with this halfword.
#[must_use]
pub fn may_become_sensitive(halfword: u16, caught: Caught) -> bool {
    let becomes = |&sensitive: &u16| {
        debug_assert!(Sensitive::from_halfword(sensitive).is_some());
        halfword & 0xFF00 == sensitive & 0xFF00 && halfword & !sensitive == 0
    };
    ALWAYS.iter().any(becomes)
        || caught.message_security() && MESSAGE_SECURITY.iter().any(becomes)
        || caught.products() && PRODUCTS.iter().any(becomes)
}

/// Whether the text of a sensitive instruction may begin with this halfword, or with what EXECUTE makes of it: whether it
/// has the first byte of any.
#[must_use]
pub const fn may_have_a_part(halfword: u16) -> bool {
    matches!(halfword >> 8, 0xB2 | 0xB3 | 0xB9 | 0xE5)
}

/// Whether the instruction whose text begins with this halfword is an EXECUTE.
#[must_use]
#[inline]
pub const fn is_execute(halfword: u16) -> bool {
    halfword & 0xFF00 == 0x4400 || halfword & 0xFF0F == EXECUTE_RELATIVE_LONG
}

/// Whether the instruction whose text begins with this halfword is an EXECUTE that modifies its target.
#[must_use]
#[inline]
pub const fn modifies(halfword: u16) -> bool {
    is_execute(halfword) && halfword & 0x00F0 != 0
}

/// Whether the text, as long as it is in a page, is an EXECUTE that may make a sensitive instruction of its target.
///
/// `target` gives the halfword at a distance from the text, if it is in the same page.
#[must_use]
pub fn is_doubtful(
    first: u16,
    text: Option<[u8; 6]>,
    caught: Caught,
    target: impl FnOnce(i64) -> Option<u16>,
) -> bool {
    if !modifies(first) {
        return false;
    }
    let target = text
        .filter(|text| opcode(text) == EXECUTE_RELATIVE_LONG)
        .map(|text| super::format::ril::ri2(&text).bytes())
        .and_then(target);
    target.is_none_or(|target| may_become_sensitive(target, caught))
}
