//! Instruction text, by the guest's own translation.

use super::resolve;
use crate::arch::address::{PAGE, Real, Virtual};
use crate::arch::interruption::ProgramInterruption;
use crate::guest::configuration::Configuration;
use crate::guest::dat::{self, Access, Fault, Space};
use crate::guest::hardware::Hardware;
use crate::guest::vcpu::{Text, Vcpu};
use crate::insn;

/// The text of an instruction that the hardware has fetched, if its page is kept and it stands well
/// before the end of the page.
#[inline(always)]
pub fn kept_text<H: Hardware>(cpu: &Vcpu, hardware: &H, at: Virtual) -> Option<[u8; 6]> {
    // It is fetched as a doubleword; and at an odd address there is no instruction.
    if at.byte_index() > PAGE - 8 || at.0 & 1 != 0 {
        return None;
    }
    let [text @ .., _, _] = hardware.load_u64(cpu.kept_text(at)?).to_be_bytes();
    Some(text)
}

/// Translates and keeps the page of an instruction that the hardware has fetched; whether [`kept_text`] has
/// its text now.
#[inline(never)]
pub fn keep_text<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
) -> bool {
    let real = if cpu.psw.dat() {
        let space = Space::of(cpu, Access::Execute);
        let asce = space.asce(cpu);
        match dat::walk(cpu, configuration, hardware, asce, at) {
            Ok(found) if !found.execution_protected => found.real,
            _ => return false,
        }
    } else {
        Real(at.0)
    };
    let place = cpu.absolute(real);
    if !configuration.holds(place.page(), PAGE) {
        return false;
    }
    cpu.keep_text(at, place);
    kept_text(cpu, hardware, at).is_some()
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
