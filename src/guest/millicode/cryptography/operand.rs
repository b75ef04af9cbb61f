//! Operands in storage and in pairs of registers, and the parameter block.

use super::{Issue, PIECE};
use crate::hardware::Hardware;
use crate::millicode::execution::Execution;
use crate::state::access::{Access, Fault};
use arch::address::{PAGE, Virtual};
use core::ops::Range;
use msa::Function;

const LONGEST: usize = Function::LONGEST_PARAMETER_BLOCK;

/// The address of the parameter block.
pub(super) fn parameter_address<H: Hardware>(run: &Execution<'_, H>) -> Virtual {
    Virtual(run.address_in(1))
}

/// The parameter block of a function.
pub(super) struct Parameters {
    bytes: [u8; LONGEST],
    length: usize,
    at: Virtual,
    updated: Range<usize>,
}

impl Parameters {
    /// Fetches the parameter block, and tests that what the function updates of it can be stored.
    ///
    /// # Errors
    /// Access: fetch for the whole, store for what is updated.
    pub fn fetch<H: Hardware>(run: &Execution<'_, H>, issue: &Issue) -> Result<Self, Fault> {
        let length = issue.function.parameter_length().min(LONGEST);
        let updated = issue.function.updated();
        let mut parameters = Self {
            bytes: [0; LONGEST],
            length,
            at: parameter_address(run),
            updated: updated.start.min(length)..updated.end.min(length),
        };
        if length != 0 {
            run.fetch(parameters.at, parameters.bytes())?;
        }
        if !parameters.updated.is_empty() {
            let length = parameters.updated.len() as u64;
            run.claim(parameters.place(), length, Access::Store)?;
        }
        Ok(parameters)
    }

    /// The parameter block.
    pub fn bytes(&mut self) -> &mut [u8] {
        self.bytes.split_at_mut(self.length.min(LONGEST)).0
    }

    /// Where the updated part is.
    fn place(&self) -> Virtual {
        self.at.offset(self.updated.start as u64)
    }

    /// Stores what the function updates.
    ///
    /// # Errors
    /// None, after [`Parameters::fetch`].
    pub fn store<H: Hardware>(&self, run: &mut Execution<'_, H>) -> Result<(), Fault> {
        match self.bytes.get(self.updated.clone()) {
            None | Some([]) => Ok(()),
            Some(updated) => run.put(self.place(), updated),
        }
    }
}

/// A piece of an operand, copied into the firmware.
pub(super) struct Piece {
    bytes: [u8; PIECE as usize],
    length: usize,
}

impl Piece {
    /// A piece of zeros.
    pub const fn new(length: u64) -> Self {
        let length = if length < PIECE { length } else { PIECE };
        Self {
            bytes: [0; PIECE as usize],
            length: length as usize,
        }
    }

    /// Fetches the piece of `length` bytes at `at`.
    ///
    /// # Errors
    /// Access.
    pub fn fetch<H: Hardware>(
        run: &Execution<'_, H>,
        at: Virtual,
        length: u64,
    ) -> Result<Self, Fault> {
        let mut piece = Self::new(length);
        if piece.length != 0 {
            run.fetch(at, piece.bytes())?;
        }
        Ok(piece)
    }

    /// The piece.
    pub fn bytes(&mut self) -> &mut [u8] {
        self.bytes.split_at_mut(self.length.min(PIECE as usize)).0
    }

    /// Stores the piece at `at`.
    ///
    /// # Errors
    /// Access.
    pub fn store<H: Hardware>(&self, run: &mut Execution<'_, H>, at: Virtual) -> Result<(), Fault> {
        if self.length == 0 {
            return Ok(());
        }
        run.put(at, self.bytes.split_at(self.length.min(PIECE as usize)).0)
    }
}

/// How many of the `length` bytes at `at`, at most [`PIECE`], can be accessed: all of them, or the
/// whole units in the first page.
///
/// # Errors
/// Access, if not even one unit can be.
pub(super) fn reach<H: Hardware>(
    run: &Execution<'_, H>,
    at: Virtual,
    length: u64,
    unit: u64,
    access: Access,
) -> Result<u64, Fault> {
    let Err(found) = run.claim(at, length, access) else {
        return Ok(length);
    };
    let room = PAGE - at.byte_index();
    let inside = whole(room, unit);
    if inside == 0 || inside >= length {
        return Err(found);
    }
    run.claim(at, inside, access)?;
    Ok(inside)
}

/// The most bytes of a message that one execution processes: whole units of at most [`PIECE`] bytes,
/// or all that is left if that is no more.
pub(super) const fn most(left: u64, unit: u64) -> u64 {
    if left <= PIECE {
        left
    } else {
        whole(PIECE, unit)
    }
}

/// How many of these bytes are in whole units.
pub(super) const fn whole(bytes: u64, unit: u64) -> u64 {
    match bytes.checked_rem(unit) {
        Some(rest) => bytes - rest,
        None => bytes,
    }
}

/// Puts an address or a length into a register, in the addressing mode.
fn set<H: Hardware>(run: &mut Execution<'_, H>, register: u8, value: u64) {
    if run.extended() {
        run.set_register(register, value);
    } else {
        run.set_word(register, value as u32);
    }
}

/// Advances the address in a register.
pub(super) fn advance<H: Hardware>(run: &mut Execution<'_, H>, register: u8, by: u64) {
    let address = run.address_in(register).wrapping_add(by) & run.cpu.psw.address_mask();
    set(run, register, address);
}

/// Removes bytes from the front of the operand that a pair of registers designates.
pub(super) fn consume<H: Hardware>(run: &mut Execution<'_, H>, pair: u8, by: u64) {
    advance(run, pair, by);
    shorten(run, pair, by);
}

/// Removes bytes from the end of the operand that a pair of registers designates.
pub(super) fn shorten<H: Hardware>(run: &mut Execution<'_, H>, pair: u8, by: u64) {
    let length = run.length_in(pair | 1).wrapping_sub(by);
    set(run, pair | 1, length);
}
