//! Instruction text, by the guest's own translation.

use super::resolve;
use crate::arch::address::{PAGE, Virtual};
use crate::arch::interruption::ProgramInterruption;
use crate::guest::configuration::Configuration;
use crate::guest::dat::{Access, Fault};
use crate::guest::hardware::Hardware;
use crate::guest::vcpu::{Text, Vcpu};
use crate::insn;

/// The text of an instruction that the hardware has fetched, if its page is kept and it stands well
/// before the end of the page.
#[inline(always)]
pub fn kept_text<H: Hardware>(cpu: &Vcpu, hardware: &H, at: Virtual) -> Option<[u8; 6]> {
    // It is fetched as a doubleword.
    if at.byte_index() > PAGE - 8 {
        return None;
    }
    let [text @ .., _, _] = hardware.load_u64(cpu.kept_text(at)?).to_be_bytes();
    Some(text)
}

/// The text of the instruction that the PSW designates.
///
/// # Errors
/// Specification if the address is odd; else as [`resolve`], for as many halfwords as the
/// instruction has.
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
        beyond.load(hardware, &mut bytes[here as usize..usize::from(length)]);
    }
    bytes[usize::from(length)..].fill(0);
    Ok(Text {
        bytes,
        length,
        executed: false,
    })
}
