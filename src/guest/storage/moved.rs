//! Operands of moves between address spaces, and frames of call stacks, whose pages are kept.
//!
//! A control program moves to and from the same few pages of a program in each supervisor call, and samples find a program
//! in the same few pages of its stack. A page is kept with its space, for access key zero only, and until this CPU learns of
//! a purge, as in a translation-lookaside buffer. A page that was stored into stays data until the state of some page
//! changes.

use crate::hardware::Hardware;
use crate::state::access::{Access, Fault, Manner, Space};
use crate::state::configuration::Configuration;
use crate::state::kept::MovedPage;
use crate::state::page_frames::PageState;
use crate::state::vcpu::Vcpu;
use crate::storage::{Claim, Piece, is_within_a_page, piece, shadow, text_within_a_page};
use arch::address::{PAGE, Virtual};
use arch::interruption::ProgramInterruption;

/// Tests an operand of at most 4096 bytes in an address space that the instruction names, for access key zero.
///
/// # Errors
/// As [`resolve`](super::resolve).
#[inline]
pub fn resolve<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    space: Space,
    at: Virtual,
    length: u64,
    access: Access,
) -> Result<Claim, Fault> {
    cpu.per.note(Some(space), at, length, access);
    let mask = cpu.psw.address_mask();
    let at = Virtual(at.0 & mask);
    let room = PAGE - at.byte_index();
    if length <= room {
        let first = within_a_page(cpu, configuration, hardware, space, at, length, access)?;
        return Ok(Claim::within_a_page(first));
    }
    if length > PAGE {
        return Err(Fault::plain(ProgramInterruption::Specification));
    }
    let beyond = Virtual(at.offset(room).0 & mask);
    let rest = length - room;
    Ok(Claim {
        first: within_a_page(cpu, configuration, hardware, space, at, room, access)?,
        second: within_a_page(cpu, configuration, hardware, space, beyond, rest, access)?,
    })
}

/// The same for an operand within one page.
#[inline]
fn within_a_page<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    space: Space,
    at: Virtual,
    length: u64,
    access: Access,
) -> Result<Piece, Fault> {
    let asce = space.asce(cpu);
    let cell = cpu.kept.moved(at, access);
    if let Some(place) = cell.get().find(asce, at)
        && !shadow::stale(cpu, configuration)
    {
        return Ok(Piece::new(place, length));
    }
    translate(cpu, configuration, hardware, space, at, length, access)
}

/// The same for a page that is not kept; it is from now on, unless parts of it may be protected, or the scanner must be told of
/// a store into it, which may yet not be made.
#[inline(never)]
fn translate<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    space: Space,
    at: Virtual,
    length: u64,
    access: Access,
) -> Result<Piece, Fault> {
    let manner = Manner::without_key(Some(space), access);
    let found = piece(cpu, configuration, hardware, manner, at, length)?;
    let is_kept = access != Access::Store
        || at.page().0 > PAGE && {
            let frame = found.start().absolute().page();
            configuration.page_frames.state(frame) == PageState::Data
        };
    if length != 0 && is_kept {
        let page = MovedPage::new(space.asce(cpu), at, found.start());
        cpu.kept.moved(at, access).set(page);
    }
    Ok(found)
}

/// A doubleword of a stack frame in a space, whatever its key; its page is kept like one of a move.
///
/// # Errors
/// The access exception that a fetch would meet.
#[inline(always)]
pub fn frame<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    space: Space,
    at: Virtual,
) -> Result<Piece, Fault> {
    within_a_page(cpu, configuration, hardware, space, at, 8, Access::Fetch)
}

/// The text of an instruction that a program has executed in its space, if it is well before the end of its page.
#[inline]
pub fn text<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
) -> Option<[u8; 6]> {
    let space = Space::current(cpu, Access::Execute)?;
    if !is_within_a_page(at) {
        return None;
    }
    let access = Access::Execute;
    let found = within_a_page(cpu, configuration, hardware, space, at, 8, access).ok()?;
    Some(text_within_a_page(hardware, found.start()))
}
