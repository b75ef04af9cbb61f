//! Moves between address spaces, and of pages.
//!
//! Both operands are tested before a byte is moved, each with its own access key, and an access exception nullifies the
//! whole instruction.

use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::Performed;
use crate::millicode::path::{Fast, Path};
use crate::state::access::{Access, AccessKey, Fault, Manner, Space};
use crate::storage::{self, Claim, Piece, moved, scanner, shadow};
use arch::address::{PAGE, Virtual};
use arch::condition::ConditionCode;
use arch::control::CR0_SECONDARY_SPACE;
use arch::interruption::ProgramInterruption;
use arch::psw::AddressSpace;
use insn::Operand;

/// The part of a claim from `offset` on that is contiguous.
fn part(claim: &Claim, offset: u64) -> Piece {
    if offset < claim.first.length() {
        claim.first.after(offset)
    } else {
        claim.second.after(offset - claim.first.length())
    }
}

/// Moves the bytes of one claim to another, from left to right.
#[inline]
fn copy<H: Hardware, P>(run: &mut Execution<'_, H, P>, from: &Claim, to: &Claim) {
    if from.second.length() | to.second.length() == 0 {
        return copy_piece(run, from.first, to.first);
    }
    let mut offset = 0;
    loop {
        let (source, target) = (part(from, offset), part(to, offset));
        let length = source.length().min(target.length());
        if length == 0 {
            return;
        }
        copy_piece(run, source, target);
        offset += length;
    }
}

/// Moves as many bytes as both pieces have.
#[inline]
fn copy_piece<H: Hardware, P>(run: &mut Execution<'_, H, P>, source: Piece, target: Piece) {
    let length = source.length().min(target.length());
    if length == 0 {
        return;
    }
    let (from, to) = (source.start(), target.start());
    scanner::store_into(run.configuration, run.hardware, to.absolute());
    let [at, into] = [from, to].map(|place| place.absolute().0);
    if at.abs_diff(into) < length {
        overlapping(run, source, target, length);
    } else if length == PAGE {
        run.hardware.move_page(from.frame(), to.frame());
    } else {
        run.hardware.copy(from, to, length);
    }
}

/// Moves bytes to where some of them are: pieces of 256 bytes, each of which is fetched before it is stored.
#[cold]
#[inline(never)]
fn overlapping<H: Hardware, P>(
    run: &mut Execution<'_, H, P>,
    mut source: Piece,
    mut target: Piece,
    mut length: u64,
) {
    let mut buffer = [0; 256];
    while length != 0 {
        let part = length.min(buffer.len() as u64);
        let bytes = buffer.split_at_mut(part as usize).0;
        run.hardware.load(source.start(), bytes);
        run.hardware.store(target.start(), bytes);
        (source, target) = (source.after(part), target.after(part));
        length -= part;
    }
}

/// An operand in an address space, with its access key.
#[derive(Clone, Copy)]
struct Place {
    space: Space,
    at: Virtual,
    key: AccessKey,
}

/// Moves at most 4096 bytes between address spaces.
///
/// # Errors
/// Access: fetch for the source, then store for the target.
#[inline]
fn transfer<H: Hardware, P>(
    run: &mut Execution<'_, H, P>,
    to: Place,
    from: Place,
    length: u64,
) -> Result<(), Fault> {
    let claim = |place: Place, access| {
        let Place { space, at, key } = place;
        if key.is_zero() {
            let (cpu, configuration) = (&*run.cpu, run.configuration);
            return moved::resolve(
                cpu,
                configuration,
                &*run.hardware,
                space,
                at,
                length,
                access,
            );
        }
        let manner = Manner {
            space: Some(space),
            access,
            key,
        };
        storage::resolve_in(run.cpu, run.configuration, run.hardware, manner, at, length)
    };
    let source = claim(from, Access::Fetch)?;
    let target = claim(to, Access::Store)?;
    copy(run, &source, &target);
    Ok(())
}

/// The address space of a code in the PSW; the access-register mode is not offered.
const fn space(code: AddressSpace) -> Result<Space, Fault> {
    match code {
        AddressSpace::Primary => Ok(Space::Primary),
        AddressSpace::Secondary => Ok(Space::Secondary),
        AddressSpace::Home => Ok(Space::Home),
        AddressSpace::AccessRegister => Err(Fault::plain(ProgramInterruption::SpecialOperation)),
    }
}

/// The operand-access controls of MOVE WITH OPTIONAL SPECIFICATIONS: 16 bits of general register 0.
#[derive(Clone, Copy)]
struct AccessControls(u16);

impl AccessControls {
    /// The access key, if the controls specify one.
    const fn key(self) -> Option<AccessKey> {
        if self.0 & 2 != 0 {
            Some(AccessKey::new((self.0 >> 12) as u8))
        } else {
            None
        }
    }

    /// The address-space control, if the controls specify one.
    const fn space(self) -> Option<AddressSpace> {
        if self.0 & 1 == 0 {
            return None;
        }
        Some(match self.0 >> 6 & 3 {
            0 => AddressSpace::Primary,
            1 => AddressSpace::AccessRegister,
            2 => AddressSpace::Secondary,
            _ => AddressSpace::Home,
        })
    }
}

/// MOVE WITH OPTIONAL SPECIFICATIONS: moves as many bytes as R3 says (64 bits in the 64-bit addressing
/// mode, else bits 32-63), at most 4096, from the second to the first operand. Bits 32-47 of general
/// register 0 can give the first operand an address space and a key of its own, bits 48-63 the second.
///
/// Condition codes: 0, all moved; 3, the length is more than 4096, and 4096 bytes are moved.
///
/// Program exceptions: special operation, when DAT is off, when the first operand is specified to be
/// in the home space in the problem state, when an operand is in the secondary space and the
/// secondary-space control is zero, or for the access-register mode; privileged operation, in the
/// problem state when the PSW-key mask has a zero for a key, specified or of the PSW; access (fetch,
/// operand 2; store, operand 1).
///
/// Source: Principles of Operation, "MOVE WITH OPTIONAL SPECIFICATIONS".
#[inline]
pub(super) fn mvcos<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    first: Operand,
    second: Operand,
    r3: u8,
) -> Performed<P::Refusal> {
    let problem = run.problem_state()?;
    run.dat()?;
    let zero = run.register(0);
    let (to, from) = (
        AccessControls((zero >> 16) as u16),
        AccessControls(zero as u16),
    );
    if to.space() == Some(AddressSpace::Home) && problem {
        return fault(ProgramInterruption::SpecialOperation);
    }
    let current = run.cpu.psw.address_space();
    let target = space(to.space().unwrap_or(current))?;
    let source = space(from.space().unwrap_or(current))?;
    if target == Space::Secondary || source == Space::Secondary {
        run.secondary_space()?;
    }
    // Here the PSW key needs authority like any other. A program without authority for its key must
    // not reach another space, where pages may have that very key.
    let [to_key, from_key] = [to, from].map(|controls| controls.key().unwrap_or(run.key()));
    if !run.may_use_key(to_key) || !run.may_use_key(from_key) {
        return fault(ProgramInterruption::PrivilegedOperation);
    }
    let asked = run.length_in(r3);
    let to = Place {
        space: target,
        at: run.address(first),
        key: to_key,
    };
    let from = Place {
        space: source,
        at: run.address(second),
        key: from_key,
    };
    transfer(run, to, from, asked.min(PAGE))?;
    run.done(if asked > PAGE {
        ConditionCode::Three
    } else {
        ConditionCode::Zero
    })
}

/// General register 0 of a control program in its home space that moves from a program, whose space is the secondary one, and
/// the same for a move to it. The keys are those of the PSW.
const FROM_PROGRAM: u32 = 0x81;
const TO_PROGRAM: u32 = FROM_PROGRAM << 16;

/// MOVE WITH OPTIONAL SPECIFICATIONS as a control program uses it, if it moves within two pages that are kept. Returns false,
/// and has changed nothing, in any other case.
#[inline(always)]
pub(super) fn mvcos_kept<H: Hardware>(
    run: &mut Execution<'_, H, Fast>,
    first: Operand,
    second: Operand,
    r3: u8,
) -> bool {
    let cpu = &*run.cpu;
    let program = cpu.control[7];
    let home = cpu.control[13];
    let (into, of) = match cpu.general[0] as u32 {
        FROM_PROGRAM => (home, program),
        TO_PROGRAM => (program, home),
        _ => return false,
    };
    if !cpu.is_in_home_space()
        || run.supervisor().is_err()
        || cpu.control[0] & CR0_SECONDARY_SPACE == 0
        || cpu.per.is_on()
    {
        return false;
    }
    let (to, from) = (run.address(first), run.address(second));
    let length = run.register(r3);
    if length > PAGE - to.byte_index() || length > PAGE - from.byte_index() {
        return false;
    }
    // A page that is kept for stores is data.
    let (Some(source), Some(target)) = (
        cpu.kept.moved(from, Access::Fetch).get().find(of, from),
        cpu.kept.moved(to, Access::Store).get().find(into, to),
    ) else {
        return false;
    };
    if source.frame() == target.frame() || length == 0 || shadow::stale(cpu, run.configuration) {
        return false;
    }
    if length == PAGE {
        run.hardware.move_page(source.frame(), target.frame());
    } else {
        run.hardware.copy(source, target, length);
    }
    run.cpu.set_cc(ConditionCode::Zero);
    true
}

/// The access key in bits 56-59 of a register.
fn key_in<H: Hardware>(run: &Execution<'_, H>, n: u8) -> AccessKey {
    AccessKey::new((run.register(n) >> 4) as u8)
}

/// MOVE TO PRIMARY and MOVE TO SECONDARY: at most 256 bytes, as many as R1 says, from `from` to `to`, of which the
/// operand in the secondary space has the access key `key`.
fn move_to<H: Hardware>(
    run: &mut Execution<'_, H>,
    r1: u8,
    key: AccessKey,
    to: Place,
    from: Place,
) -> Performed {
    run.dat()?;
    run.secondary_space()?;
    if !matches!(
        run.cpu.psw.address_space(),
        AddressSpace::Primary | AddressSpace::Secondary
    ) {
        return fault(ProgramInterruption::SpecialOperation);
    }
    if !run.may_use_key(key) {
        return fault(ProgramInterruption::PrivilegedOperation);
    }
    let asked = run.length_in(r1);
    transfer(run, to, from, asked.min(256))?;
    run.done(if asked > 256 {
        ConditionCode::Three
    } else {
        ConditionCode::Zero
    })
}

/// MOVE TO PRIMARY: from the second operand in the secondary space to the first in the primary one.
/// R1 is the length, bits 56-59 of R3 the access key of the second operand.
///
/// Condition codes: 0, all moved; 3, the length is more than 256, and 256 bytes are moved.
///
/// Program exceptions: special operation, when DAT is off, the secondary-space control is zero, or
/// the CPU is in neither primary- nor secondary-space mode; privileged operation, in the problem
/// state when the PSW-key mask has a zero for the key; access (fetch, operand 2; store, operand 1).
///
/// Source: Principles of Operation, "MOVE TO PRIMARY".
pub(super) fn mvcp<H: Hardware>(
    run: &mut Execution<'_, H>,
    r1: u8,
    first: Operand,
    second: Operand,
    r3: u8,
) -> Performed {
    let key = key_in(run, r3);
    let to = Place {
        space: Space::Primary,
        at: run.address(first),
        key: run.key(),
    };
    let from = Place {
        space: Space::Secondary,
        at: run.address(second),
        key,
    };
    move_to(run, r1, key, to, from)
}

/// MOVE TO SECONDARY: from the second operand in the primary space to the first in the secondary one.
/// R1 is the length, bits 56-59 of R3 the access key of the first operand.
///
/// Condition codes and program exceptions: as MOVE TO PRIMARY.
///
/// Source: Principles of Operation, "MOVE TO SECONDARY".
pub(super) fn mvcs<H: Hardware>(
    run: &mut Execution<'_, H>,
    r1: u8,
    first: Operand,
    second: Operand,
    r3: u8,
) -> Performed {
    let key = key_in(run, r3);
    let to = Place {
        space: Space::Secondary,
        at: run.address(first),
        key,
    };
    let from = Place {
        space: Space::Primary,
        at: run.address(second),
        key: run.key(),
    };
    move_to(run, r1, key, to, from)
}

/// Bits 48-51 of general register 0, which must be zeros for MOVE PAGE.
const MVPG_RESERVED: u64 = 0xF000;
/// Bit 52: the first operand has the access key in bits 56-59, not the PSW key.
const MVPG_FIRST_KEY: u64 = 0x0800;
/// Bit 53: the second operand has it.
const MVPG_SECOND_KEY: u64 = 0x0400;
/// Bit 55, the condition-code option: an invalid page is a condition code, not an interruption.
const MVPG_OPTION: u64 = 0x0100;

/// MOVE PAGE: moves the page at the logical address in R2 to the page at the one in R1; bits 52-63
/// of the addresses are ignored. General register 0 holds the controls.
///
/// Condition codes: 0, moved; with the condition-code option 1, the page-table entry of the first
/// operand is invalid; 2, that of the second operand is.
///
/// Program exceptions: specification, when bits 48-51 of general register 0 are not zeros or bits 52
/// and 53 are both ones; privileged operation, in the problem state when the PSW-key mask has a zero
/// for a key that is specified; access (fetch, operand 2; store, operand 1). The interruption for a page translation
/// stores the R1 and R2 fields as the operand access identification, by which the control program finds the operand.
///
/// Source: Principles of Operation, "MOVE PAGE"; "Assigned Storage Locations", 162.
pub(super) fn mvpg<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    let controls = run.register(0);
    let specified = controls & (MVPG_FIRST_KEY | MVPG_SECOND_KEY);
    if controls & MVPG_RESERVED != 0 || specified == MVPG_FIRST_KEY | MVPG_SECOND_KEY {
        return fault(ProgramInterruption::Specification);
    }
    let key = key_in(run, 0);
    if specified != 0 && !run.may_use_key(key) {
        return fault(ProgramInterruption::PrivilegedOperation);
    }
    let claim = |n: u8, access, specifies| {
        let page = Virtual(run.address_in(n)).page();
        let claim = if specified == specifies {
            let manner = Manner {
                space: Space::current(run.cpu, access),
                access,
                key,
            };
            storage::resolve_in(run.cpu, run.configuration, run.hardware, manner, page, PAGE)
        } else {
            storage::resolve(run.cpu, run.configuration, run.hardware, page, PAGE, access)
        };
        claim.map(|claim| claim.first.start())
    };
    let invalid = |found: &Fault| {
        found.interruption == ProgramInterruption::PageTranslation && controls & MVPG_OPTION != 0
    };
    let identified = |found: Fault| Fault {
        operand_access: (found.interruption == ProgramInterruption::PageTranslation)
            .then_some(r1 << 4 | r2),
        ..found
    };
    let source = match claim(r2, Access::Fetch, MVPG_SECOND_KEY) {
        Err(found) if invalid(&found) => return run.done(ConditionCode::Two),
        found => found.map_err(identified)?,
    };
    let target = match claim(r1, Access::Store, MVPG_FIRST_KEY) {
        Err(found) if invalid(&found) => return run.done(ConditionCode::One),
        found => found.map_err(identified)?,
    };
    scanner::store_into(run.configuration, run.hardware, target.absolute());
    run.hardware.move_page(source.frame(), target.frame());
    run.done(ConditionCode::Zero)
}
