//! Instruction text, by the guest's own translation.

use super::{placed, resolve};
use crate::hardware::Hardware;
use crate::state::access::{Access, Fault};
use crate::state::configuration::Configuration;
use crate::state::text::Text;
use crate::state::vcpu::Vcpu;
use crate::storage::checked::{Checked, Piece};
use arch::address::{PAGE, Virtual};
use arch::interruption::ProgramInterruption;
use insn;

/// Whether an instruction may be at an address, and well before the end of its page.
#[inline(always)]
pub const fn is_within_a_page(at: Virtual) -> bool {
    // The text is fetched as a doubleword. The offset is compared in halfwords; an odd address becomes a very
    // large number, because there is no instruction at one.
    at.byte_index().rotate_right(1) <= (PAGE - 8) / 2
}

/// The text of an instruction at an absolute address of the guest's storage; [`is_within_a_page`] holds for
/// its address.
#[inline(always)]
pub fn text_within_a_page<H: Hardware>(hardware: &H, at: Checked) -> [u8; 6] {
    let [text @ .., _, _] = hardware.load_u64(at).to_be_bytes();
    text
}

/// The text of an instruction that the hardware has fetched, if its page is kept and it is well before the end
/// of the page.
#[inline(always)]
pub fn kept_text<H: Hardware>(cpu: &Vcpu, hardware: &H, at: Virtual) -> Option<[u8; 6]> {
    let [text @ .., _, _] = kept_doubleword(cpu, hardware, at)?.to_be_bytes();
    Some(text)
}

/// The same, with what follows in the doubleword that begins with it.
#[inline(always)]
pub fn kept_doubleword<H: Hardware>(cpu: &Vcpu, hardware: &H, at: Virtual) -> Option<u64> {
    if !is_within_a_page(at) {
        return None;
    }
    Some(hardware.load_u64(cpu.kept_text(at)?.at(at)))
}

/// Bytes of instruction text within a page, if the page is kept while instructions are executed one at a time.
#[inline]
pub fn stepped_text(cpu: &Vcpu, at: Virtual, length: u64) -> Option<Piece> {
    debug_assert!(length <= PAGE - at.byte_index());
    Some(Piece::new(cpu.stepped_text(at)?, length))
}

/// Translates and keeps the page of an instruction that the hardware has fetched; returns whether
/// [`kept_text`] has its text now.
#[inline(never)]
pub fn keep_text<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
) -> bool {
    if cpu.per.is_on() {
        return false;
    }
    let found = resolve(cpu, configuration, hardware, at, 1, Access::Execute);
    let Ok(found) = found else { return false };
    cpu.keep_text(at, placed(hardware, found.first.start().frame()));
    kept_text(cpu, hardware, at).is_some()
}

/// The text of the instruction that the PSW designates.
///
/// # Errors
/// Specification if the address is odd; otherwise as [`resolve`], for as many halfwords as the instruction
/// has.
#[inline]
pub fn text<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
) -> Result<Text, Fault> {
    text_at(cpu, configuration, hardware, Virtual(cpu.psw.address))
}

/// The text of the instruction at an address, for the target of an EXECUTE.
///
/// The length is that of the instruction itself; bytes beyond it are zeros.
///
/// # Errors
/// As [`text`].
#[inline]
pub fn text_at<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
) -> Result<Text, Fault> {
    if at.0 & 1 != 0 {
        return Err(Fault::plain(ProgramInterruption::Specification));
    }
    let room = PAGE - at.byte_index();
    let here = room.min(6);
    let first = resolve(cpu, configuration, hardware, at, here, Access::Execute)?;
    let mut bytes = [0; 6];
    first.load(hardware, &mut bytes[..here as usize]);
    let length = insn::length(bytes[0]) as u8;
    if u64::from(length) > here {
        let rest = u64::from(length) - here;
        let beyond = resolve(
            cpu,
            configuration,
            hardware,
            at.offset(here),
            rest,
            Access::Execute,
        )?;
        if let Some(behind) = bytes.get_mut(here as usize..usize::from(length)) {
            beyond.load(hardware, behind);
        }
    }
    bytes[usize::from(length)..].fill(0);
    Ok(Text::of(bytes))
}
