//! Guest storage by logical, real and absolute address: claims and their tests.
//!
//! An address in a guest's register or instruction is a claim. Here it is translated, prefixed and compared with the
//! end of the guest's storage before it is passed to the hardware. A failed test is the program interruption that
//! the Principles of Operation has for it. All bytes of an operand are tested before the first one is stored, so a
//! store that fails has changed nothing. Every store tells the scanner which page it touches, because the original
//! of a code copy must not change without the scanner's knowledge.
//!
//! Key-controlled protection (`keys`) applies to what is accessed here for an instruction. The machine below keeps
//! storage keys but does not test them when it performs an instruction itself.

use crate::hardware::Hardware;
use crate::state::access::{Access, AccessKey, Fault, Manner, Space};
use crate::state::configuration::Configuration;
use crate::state::kept::KeptPage;
use crate::state::page_frames::PageState;
use crate::state::vcpu::Vcpu;
use arch::address::{Absolute, PAGE, Real, Virtual};
use arch::control::{CR0_LOW_ADDRESS_PROTECTION, asce};
use arch::extent::Extent;
use arch::interruption::ProgramInterruption;

pub mod checked;
pub mod dat;
mod keys;
pub mod moved;
pub mod program;
pub mod real;
mod scalar;
pub mod scanner;
pub mod shadow;
mod text;

pub use checked::{Checked, Frame, Piece, Placed, PlacedFrame, PrefixArea};
pub use scalar::{
    fetch_u8, fetch_u16, fetch_u32, fetch_u64, put_real_u32, put_real_u64, put_u8, put_u16,
    put_u32, put_u64, real_u32, real_u64,
};
pub use text::{
    is_within_a_page, keep_text, kept_doubleword, kept_text, stepped_text, text, text_at,
    text_within_a_page,
};

/// The bytes at the beginning of each of the first two pages that low-address protection covers.
const LOW_ADDRESSES: u64 = 512;

/// An operand, tested: up to two pieces, since it may cross a page boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The bytes up to the page boundary.
    pub first: Piece,
    /// The bytes beyond it; of length zero if there are none.
    pub second: Piece,
}

impl Claim {
    /// The claim of an operand that does not cross a page boundary.
    #[must_use]
    #[inline(always)]
    pub const fn within_a_page(first: Piece) -> Self {
        Self {
            first,
            second: Piece::NONE,
        }
    }

    /// Stores as many doublewords as the claim is long, which is not zero. The claim was made on a doubleword
    /// boundary, and for [`Access::Store`].
    #[inline(always)]
    pub fn store_doublewords<H: Hardware>(
        &self,
        configuration: &Configuration,
        hardware: &mut H,
        mut values: impl Iterator<Item = u64>,
    ) {
        let doublewords = self.first.length() as usize / 8;
        scanner::store_into(configuration, hardware, self.first.start().absolute());
        hardware.store_doublewords(self.first.start(), values.by_ref().take(doublewords));
        if self.second.length() != 0 {
            scanner::store_into(configuration, hardware, self.second.start().absolute());
            hardware.store_doublewords(self.second.start(), values);
        }
    }

    /// Stores as many words as the claim is long, all of which are in one page. The claim was made on a word boundary,
    /// and for [`Access::Store`].
    pub fn store_words<H: Hardware>(
        &self,
        configuration: &Configuration,
        hardware: &mut H,
        values: impl Iterator<Item = u32>,
    ) {
        scanner::store_into(configuration, hardware, self.first.start().absolute());
        for (offset, value) in (0..self.first.length()).step_by(4).zip(values) {
            hardware.store_u32(self.first.at(offset), value);
        }
    }

    /// Loads the bytes; `into` is as long as the claim.
    #[inline]
    pub fn load<H: Hardware>(&self, hardware: &H, into: &mut [u8]) {
        let (first, second) = into.split_at_mut((self.first.length() as usize).min(into.len()));
        hardware.load(self.first.start(), first);
        if !second.is_empty() && second.len() as u64 <= self.second.length() {
            hardware.load(self.second.start(), second);
        }
    }

    /// Stores the bytes; `from` is as long as the claim, which was made for [`Access::Store`].
    #[inline]
    pub fn store<H: Hardware>(&self, configuration: &Configuration, hardware: &mut H, from: &[u8]) {
        let (first, second) = from.split_at((self.first.length() as usize).min(from.len()));
        if !first.is_empty() {
            scanner::store_into(configuration, hardware, self.first.start().absolute());
            hardware.store(self.first.start(), first);
        }
        if !second.is_empty() && second.len() as u64 <= self.second.length() {
            scanner::store_into(configuration, hardware, self.second.start().absolute());
            hardware.store(self.second.start(), second);
        }
    }
}

/// Tests that `length` bytes at an absolute address are in the guest's storage.
///
/// # Errors
/// Addressing.
#[inline]
pub const fn checked_absolute(
    configuration: &Configuration,
    at: Absolute,
    length: u64,
) -> Result<Checked, Fault> {
    match Checked::within(at, length, &configuration.storage) {
        Some(at) => Ok(at),
        None => Err(Fault::plain(ProgramInterruption::Addressing)),
    }
}

/// Tests that bytes at an absolute address lie in the guest's storage, and says which they are.
#[must_use]
#[inline]
pub fn checked_piece(configuration: &Configuration, at: Absolute, length: u64) -> Option<Piece> {
    let at = Checked::within(at, length, &configuration.storage)?;
    Some(Piece::new(at, length))
}

/// Tests that bytes lie in what will be guest storage, for an IPL that has no configuration yet.
#[must_use]
pub fn checked_at_ipl(storage: &Extent, at: Absolute, length: u64) -> Option<Piece> {
    let at = Checked::within(at, length, storage)?;
    Some(Piece::new(at, length))
}

/// The prefix area of a CPU, if it lies in the guest's storage.
#[must_use]
#[inline]
pub fn prefix_area<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
) -> Option<PrefixArea> {
    PrefixArea::within(cpu.prefix, &configuration.storage, |frame| {
        placed(hardware, frame)
    })
}

/// Tests an operand of at most 4096 bytes at a logical address. The PSW determines the address space, the access key,
/// the addressing mode in which the address wraps, and whether DAT is on. Instructions are fetched without a key, as the
/// machine below fetches them.
///
/// A page is kept for key zero only: with another key the storage key is tested each time, because it can change.
///
/// # Errors
/// For each of the pages, in the order of the operand: protection for a store to effective
/// addresses 0-511 and 4096-4607 if control register 0 protects low addresses and the space is not
/// private; what [`dat::translate`] finds; addressing beyond the end of storage; protection by the
/// storage key. Specification if `length` is more than 4096.
#[inline]
pub fn resolve<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
    length: u64,
    access: Access,
) -> Result<Claim, Fault> {
    let at = Virtual(at.0 & cpu.psw.address_mask());
    let space = Space::current(cpu, access);
    if access != Access::Execute {
        cpu.per.note(None, at, length, access);
        let key = AccessKey::of(&cpu.psw);
        if !key.is_zero() {
            let manner = Manner { space, access, key };
            return locate(cpu, configuration, hardware, manner, at, length);
        }
    }
    if let Some(piece) = kept(cpu, configuration, hardware, at, length, access) {
        return Ok(Claim::within_a_page(piece));
    }
    let manner = Manner::without_key(space, access);
    let claim = locate(cpu, configuration, hardware, manner, at, length)?;
    let keeps = match access {
        Access::Fetch => true,
        // The scanner must be told of a store into any other page, and the store may yet not be made.
        Access::Store => {
            let frame = claim.first.start().absolute().page();
            configuration.page_frames.state(frame) == PageState::Data
        }
        Access::Execute => false,
    };
    if keeps && claim.first.length() == length && length != 0 {
        let frame = placed(hardware, claim.first.start().frame());
        let page = KeptPage::placed(cpu.psw.mask, at, frame);
        cpu.kept.keep_operand(at, access == Access::Store, page);
    }
    Ok(claim)
}

/// The place of an operand in a page that was fetched from or stored into before, for access key zero; `at` is within
/// the addressing mode. There is none for a store that low-address protection may forbid.
///
/// A page that was stored into stays data until the state of some page changes, so the scanner need not be told
/// again.
#[inline(always)]
pub fn kept<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
    length: u64,
    access: Access,
) -> Option<Piece> {
    let frame = kept_frame(cpu, configuration, at, length, access)?;
    Some(Piece::new(frame_of(hardware, frame).at(at), length))
}

/// The page frame of an operand, under the same conditions as [`kept`].
#[inline(always)]
pub fn kept_frame(
    cpu: &Vcpu,
    configuration: &Configuration,
    at: Virtual,
    length: u64,
    access: Access,
) -> Option<PlacedFrame> {
    let frame = if access == Access::Execute {
        // What the hardware has fetched from the page shows that instructions may be.
        cpu.kept_text(at)?
    } else {
        let store = access == Access::Store;
        let page = cpu.kept.operand(at, store).get();
        page.find_frame(cpu.psw.mask, at)?
    };
    let inside = length <= PAGE - at.byte_index();
    let stored = || !protectable(at) && !shadow::stale(cpu, configuration);
    (inside && (access != Access::Store || stored())).then_some(frame)
}

/// Tests an operand in an address space, or with an access key, that the instruction names (such as MOVE WITH OPTIONAL
/// SPECIFICATIONS).
///
/// # Errors
/// As [`resolve`].
#[inline]
pub fn resolve_in<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    manner: Manner,
    at: Virtual,
    length: u64,
) -> Result<Claim, Fault> {
    cpu.per.note(manner.space, at, length, manner.access);
    locate(cpu, configuration, hardware, manner, at, length)
}

/// The place of an operand that is accessed in this manner. Unlike [`resolve`] it keeps no page, because the scanner
/// must learn of a page that is stored into before the page is kept, and it notes no access.
///
/// # Errors
/// As [`resolve`].
#[inline]
pub fn locate<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    manner: Manner,
    at: Virtual,
    length: u64,
) -> Result<Claim, Fault> {
    let mask = cpu.psw.address_mask();
    let at = Virtual(at.0 & mask);
    let room = PAGE - at.byte_index();
    if length <= room {
        let first = piece(cpu, configuration, hardware, manner, at, length)?;
        return Ok(Claim::within_a_page(first));
    }
    if length > PAGE {
        return Err(Fault::plain(ProgramInterruption::Specification));
    }
    let beyond = Virtual(at.offset(room).0 & mask);
    Ok(Claim {
        first: piece(cpu, configuration, hardware, manner, at, room)?,
        second: piece(cpu, configuration, hardware, manner, beyond, length - room)?,
    })
}

/// A page frame with its place in the machine.
#[inline(always)]
pub fn placed<H: Hardware>(hardware: &H, frame: Frame) -> PlacedFrame {
    PlacedFrame::new(hardware.real_of(frame.origin().absolute()))
}

/// The page frame at a place in the machine.
#[inline(always)]
pub fn frame_of<H: Hardware>(hardware: &H, placed: PlacedFrame) -> Frame {
    Frame::new(hardware.absolute_of(placed.real()))
}

/// The claim of bytes within one page that are accessed in this manner. The addressing mode is not applied.
///
/// # Errors
/// As [`resolve`].
#[inline]
pub fn piece<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    manner: Manner,
    at: Virtual,
    length: u64,
) -> Result<Piece, Fault> {
    if length == 0 {
        return Ok(Piece::NONE);
    }
    let Manner { space, access, key } = manner;
    let real = if let Some(space) = space {
        let element = space.asce(cpu);
        if access == Access::Store && element & asce::PRIVATE_SPACE == 0 && low(cpu, at.0) {
            return Err(Fault::low_address_protection(at, space));
        }
        dat::translate(cpu, configuration, hardware, element, space, at, access)?.real
    } else {
        if access == Access::Store && low(cpu, at.0) {
            return Err(Fault::low_address_protection(at, Space::Primary));
        }
        Real(at.0)
    };
    let place = checked_absolute(configuration, cpu.absolute(real), length)?;
    let piece = Piece::new(place, length);
    if !key.is_zero() {
        keys::test(cpu, configuration, hardware, manner, at, piece)?;
    }
    Ok(piece)
}

/// Whether low-address protection may cover an effective address.
#[inline(always)]
pub const fn protectable(at: Virtual) -> bool {
    at.0 & !PAGE < LOW_ADDRESSES
}

/// Whether low-address protection covers an effective address.
#[inline]
const fn low(cpu: &Vcpu, at: u64) -> bool {
    cpu.control[0] & CR0_LOW_ADDRESS_PROTECTION != 0 && protectable(Virtual(at))
}

/// Fetches an operand of at most 4096 bytes.
///
/// # Errors
/// As [`resolve`]; `into` is unchanged then.
#[inline(always)]
pub fn fetch<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
    into: &mut [u8],
) -> Result<(), Fault> {
    let length = into.len() as u64;
    resolve(cpu, configuration, hardware, at, length, Access::Fetch)?.load(hardware, into);
    Ok(())
}

/// Stores an operand of at most 4096 bytes. All of it is tested before any of it is stored.
///
/// # Errors
/// As [`resolve`]; storage is unchanged then.
#[inline(always)]
pub fn put<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: Virtual,
    from: &[u8],
) -> Result<(), Fault> {
    let length = from.len() as u64;
    let claim = resolve(cpu, configuration, hardware, at, length, Access::Store)?;
    claim.store(configuration, hardware, from);
    Ok(())
}

/// Fetches bytes at an absolute address (a service-call control block, a sample-data block).
///
/// # Errors
/// Addressing; `into` is unchanged then.
#[inline]
pub fn fetch_absolute<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    at: Absolute,
    into: &mut [u8],
) -> Result<(), Fault> {
    let at = checked_absolute(configuration, at, into.len() as u64)?;
    hardware.load(at, into);
    Ok(())
}

/// Stores bytes at an absolute address. Low-address protection does not apply.
///
/// # Errors
/// Addressing; storage is unchanged then.
#[inline]
pub fn put_absolute<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
    from: &[u8],
) -> Result<(), Fault> {
    let at = checked_absolute(configuration, at, from.len() as u64)?;
    for first in Piece::new(at, from.len() as u64).frames() {
        scanner::store_into(configuration, hardware, first.absolute());
    }
    hardware.store(at, from);
    Ok(())
}

#[cfg(test)]
mod tests;
