//! Millicode: the routines that perform an instruction for the guest.
//!
//! An instruction arrives here because the machine below refused it, as privileged or as unknown, in the real problem
//! state in which every guest runs. What the refusal means depends on the guest's own problem-state bit, controls and
//! facilities. The hardware made no other test first, so each routine makes every test again, in the architected order:
//! operation, privileged operation, special operation, specification, access.
//!
//! One file holds one family of instructions. A routine has its operands as the instruction names them. It changes
//! nothing until all exceptions have been tested, and it ends with an [`Outcome`] or with the
//! [`Fault`](crate::state::access::Fault) that it met. What control programs issue all the time also has a
//! shorter path ([`fast_path`]). No instruction of a guest can make a routine panic.
//!
//! An instruction without a routine is [`Outcome::Unknown`]: the guest takes an operation exception, as for an absent
//! facility, and the machine's log gets one line.

mod branch;
mod characters;
mod chsc;
mod clock;
mod conditional_signal;
mod control;
mod copying;
mod cryptography;
mod decimal;
mod diagnose;
mod execution;
mod facility;
pub mod fast_path;
mod io;
mod key;
mod load;
mod measurement;
mod multiply;
mod orders;
pub mod outcome;
mod path;
mod peripheral;
mod prefix;
mod psw;
mod purge;
mod relative;
mod rotated;
mod sclp;
mod service;
mod signal;
mod space;
mod status;
mod stores;
mod system;
mod translation;
mod watchdog;

#[cfg(test)]
mod tests;

pub use orders::{publish, take_orders};

use crate::hardware::{ChannelInstruction, Hardware};
use crate::millicode::outcome::{Outcome, Performed};
use crate::state::configuration::Configuration;
use crate::state::vcpu::Vcpu;
use arch::address::Virtual;
use arch::psw::{ADDRESS_SPACE, AddressSpace, KEY};
use cryptography::perform as assist;
use execution::Execution;
use insn::Instruction;
use insn::branch::{Site, branch};
use insn::relative::{Relative, address, relative};
use insn::store::Store;
use msa::Instruction as Assist;
use path::Path;
pub use service::announce_input;
pub use watchdog::watch;

/// Performs an instruction that control programs issue all the time: one that [`insn::decode_common`] knows, except SIGNAL
/// PROCESSOR, most orders of which only the general path gives.
///
/// Each routine gets an [`Execution`] of its own, so that one which is not inlined does not have it put into storage for
/// the others.
#[inline(always)]
fn common<H: Hardware, P: Path>(
    run: Execution<'_, H, P>,
    instruction: &Instruction,
) -> Option<Performed<P::Refusal>> {
    use Instruction as I;
    Some(match *instruction {
        I::Ssm { second } => psw::ssm(&mut { run }, second),
        I::Stnsm { first, i2 } => psw::stnsm(&mut { run }, first, i2),
        I::Stosm { first, i2 } => psw::stosm(&mut { run }, first, i2),
        I::Lpswe { second } => psw::lpswe(&mut { run }, second),
        I::Stpt { second } => clock::stpt(&mut { run }, second),
        I::Stap { second } => facility::stap(&mut { run }, second),
        I::Stfl { .. } => facility::stfl(&mut { run }),
        I::Sigp { r3, second, .. } if P::FAST => signal::sense(&mut { run }, r3, second),
        I::Lpp { second } => measurement::lpp(&mut { run }, second),
        I::Ecctr { r1, r2 } => measurement::ecctr(&mut { run }, r1, r2),
        I::Stcctm { r1, m3, second } => measurement::stcctm(&mut { run }, r1, m3, second),
        I::Lctlg { r1, r3, second } => control::lctlg(&mut { run }, r1, r3, second),
        _ => return None,
    })
}

/// Performs an instruction for the guest.
///
/// `cpu.psw` designates the instruction (or the EXECUTE whose target it is), and `cpu.text.length` is the length by
/// which the caller advances the instruction address.
///
/// # Errors
/// The fault whose interruption the caller delivers.
pub fn perform<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    instruction: &Instruction,
) -> Performed {
    let run = &mut Execution::general(cpu, configuration, hardware);
    perform_in(run, instruction)
}

/// Performs the instruction in `cpu.text`, which is not an EXECUTE, as [`perform`] does.
///
/// # Errors
/// As [`perform`].
#[inline(never)]
pub fn perform_text<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Performed {
    let run = &mut Execution::general(cpu, configuration, hardware);
    match insn::decode_listed(&run.cpu.text.bytes) {
        Some(instruction) => perform_in(run, &instruction),
        None => perform_unlisted(run),
    }
}

/// Performs the instruction in the CPU's text if it is one that only some versions of QEMU perform wrongly.
#[inline(always)]
fn perform_unlisted<H: Hardware>(run: &mut Execution<'_, H>) -> Performed {
    match run.cpu.text.bytes[0] {
        0xEC => rotated::test(run),
        0xB3 | 0xED => multiply::to_long(run),
        _ => Ok(Outcome::Unknown),
    }
}

#[inline(always)]
fn perform_in<H: Hardware>(run: &mut Execution<'_, H>, instruction: &Instruction) -> Performed {
    use Instruction as I;
    let again = Execution::general(run.cpu, run.configuration, run.hardware);
    if let Some(performed) = common(again, instruction) {
        return performed;
    }
    match *instruction {
        I::Lpsw { second } => psw::lpsw(run, second),
        I::Epsw { r1, r2 } => psw::epsw(run, r1, r2),
        I::Spka { second } => psw::spka(run, second),
        I::Ipk {} => psw::ipk(run),

        I::Sac { second } | I::Sacf { second } => space::sac(run, second),
        I::Iac { r1 } => space::iac(run, r1),
        I::Epar { r1 } => space::epar(run, r1),
        I::Esar { r1 } => space::esar(run, r1),

        I::Lctl { r1, r3, second } => control::lctl(run, r1, r3, second),
        I::Stctl { r1, r3, second } => control::stctl(run, r1, r3, second),
        I::Stctg { r1, r3, second } => control::stctg(run, r1, r3, second),

        I::Spx { second } => prefix::spx(run, second),
        I::Stpx { second } => prefix::stpx(run, second),

        I::Stidp { second } => facility::stidp(run, second),
        I::Stfle { second } => facility::stfle(run, second),
        I::Stsi { second } => system::stsi(run, second),

        I::Sck { second } => clock::sck(run, second),
        I::Sckc { second } => clock::sckc(run, second),
        I::Stckc { second } => clock::stckc(run, second),
        I::Spt { second } => clock::spt(run, second),
        I::Sckpf {} => clock::sckpf(run),

        I::Sigp { r1, r3, second } => signal::sigp(run, r1, r3, second),
        I::Servc { r1, r2 } => service::servc(run, r1, r2),
        I::Diag { r1, r3, second } => diagnose::diag(run, r1, r3, second),

        I::Sske { r1, r2, .. } => key::sske(run, r1, r2),
        I::Iske { r1, r2 } => key::iske(run, r1, r2),
        I::Rrbe { r2, .. } => key::rrbe(run, r2),
        I::Ivsk { r1, r2 } => key::ivsk(run, r1, r2),
        I::Tb { r2, .. } => key::tb(run, r2),

        I::Lra { r1, second } | I::Lray { r1, second } => translation::lra(run, r1, second),
        I::Lrag { r1, second } => translation::lrag(run, r1, second),
        I::Lura { r1, r2 } => translation::lura(run, r1, r2),
        I::Lurag { r1, r2 } => translation::lurag(run, r1, r2),
        I::Stura { r1, r2 } => translation::stura(run, r1, r2),
        I::Sturg { r1, r2 } => translation::sturg(run, r1, r2),
        I::Strag { first, second } => translation::strag(run, first, second),
        I::Tprot { first, second } => translation::tprot(run, first, second),

        I::Ipte { r1, r2, m4, .. } => purge::ipte(run, r1, r2, m4),
        I::Idte { r1, r2, r3, m4 } => purge::idte(run, r1, r2, r3, m4),
        I::Csp { r1, r2 } => purge::csp(run, r1, r2),
        I::Cspg { r1, r2 } => purge::cspg(run, r1, r2),
        I::Ptlb {} => purge::ptlb(run),
        I::Palb {} => purge::palb(run),

        I::Mvcos { first, second, r3 } => copying::mvcos(run, first, second, r3),
        I::Mvcp {
            r1,
            first,
            second,
            r3,
        } => copying::mvcp(run, r1, first, second, r3),
        I::Mvcs {
            r1,
            first,
            second,
            r3,
        } => copying::mvcs(run, r1, first, second, r3),
        I::Mvpg { r1, r2 } => copying::mvpg(run, r1, r2),

        I::Qctri { second } => measurement::qctri(run, second),
        I::Lcctl { second } => measurement::lcctl(run, second),
        I::Scctr { r1, r2 } => measurement::scctr(run, r1, r2),
        I::Qsi { second } => measurement::qsi(run, second),
        I::Lsctl { second } => measurement::lsctl(run, second),
        I::Lpctl { second } => peripheral::lpctl(run, second),
        I::Spctr { r1, r2 } => peripheral::spctr(run, r1, r2),
        I::Epctr { r1, r2 } => peripheral::epctr(run, r1, r2),
        I::Ecpga { r1, r2 } => peripheral::ecpga(run, r1, r2),

        I::Stsch { second } => io::stsch(run, second),
        I::Msch { second } => io::msch(run, second),
        I::Ssch { second } => io::ssch(run, second),
        I::Tsch { second } => io::tsch(run, second),
        I::Csch {} => io::order(run, ChannelInstruction::Csch),
        I::Hsch {} => io::order(run, ChannelInstruction::Hsch),
        I::Rsch {} => io::order(run, ChannelInstruction::Rsch),
        I::Xsch {} => io::order(run, ChannelInstruction::Xsch),
        I::Rchp {} => io::rchp(run),
        I::Schm {} => io::schm(run),
        I::Tpi { second } => io::tpi(run, second),
        I::Stcrw { second } => io::stcrw(run, second),
        I::Stcps { second } => io::stcps(run, second),
        I::Chsc { r1 } => chsc::chsc(run, r1),

        I::Cvb { r1, second } | I::Cvby { r1, second } => decimal::cvb(run, r1, second),
        I::Cvbg { r1, second } => decimal::cvbg(run, r1, second),
        I::Cvdg { r1, second } => decimal::cvdg(run, r1, second),

        I::Km { r1, r2 } => assist(run, Assist::Km, (r1, r2, 0)),
        I::Kmc { r1, r2 } => assist(run, Assist::Kmc, (r1, r2, 0)),
        I::Kmf { r1, r2 } => assist(run, Assist::Kmf, (r1, r2, 0)),
        I::Kmo { r1, r2 } => assist(run, Assist::Kmo, (r1, r2, 0)),
        I::Kmctr { r1, r3, r2 } => assist(run, Assist::Kmctr, (r1, r2, r3)),
        I::Kma { r1, r3, r2 } => assist(run, Assist::Kma, (r1, r2, r3)),
        I::Kmac { r1, r2 } => assist(run, Assist::Kmac, (r1, r2, 0)),
        I::Kimd { r1, r2 } => assist(run, Assist::Kimd, (r1, r2, 0)),
        I::Klmd { r1, r2 } => assist(run, Assist::Klmd, (r1, r2, 0)),
        I::Prno { r1, r2 } => assist(run, Assist::Prno, (r1, r2, 0)),
        I::Kdsa { r1, r2 } => assist(run, Assist::Kdsa, (r1, r2, 0)),
        I::Pcc {} => assist(run, Assist::Pcc, (0, 0, 0)),
        I::Pckmo {} => assist(run, Assist::Pckmo, (0, 0, 0)),
        _ => Ok(Outcome::Unknown),
    }
}

/// Performs the instruction in `cpu.text`, if it is a branch. `at` is the address of its text.
///
/// # Errors
/// As [`perform`].
#[cold]
pub fn perform_branch<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: Virtual,
) -> Performed {
    let length = cpu.text.length;
    let site = Site {
        at: at.0,
        next: cpu.psw.address.wrapping_add(length.into()),
        length_code: length / 2,
    };
    let Some(found) = branch(&cpu.text.bytes, &site, &cpu.general, cpu.psw.mask) else {
        return Ok(Outcome::Unknown);
    };
    in_place_of_the_hardware(cpu, |cpu| {
        branch::branch(
            &mut Execution::general(cpu, configuration, hardware),
            &found,
        )
    })
}

/// Performs an instruction that the hardware performs everywhere else. It tests no storage keys, as if the PSW key were
/// zero, and where an instruction stands must make no difference.
fn in_place_of_the_hardware(
    cpu: &mut Vcpu,
    perform: impl FnOnce(&mut Vcpu) -> Performed,
) -> Performed {
    let key = cpu.psw.mask & KEY;
    cpu.psw.mask &= !KEY;
    let performed = perform(cpu);
    cpu.psw.mask |= key;
    performed
}

/// Performs an instruction with a relative-long operand, which is in the space of the instructions.
///
/// # Errors
/// As [`perform`].
#[cold]
pub fn perform_relative<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    found: &Relative,
) -> Performed {
    let own = cpu.psw.mask;
    if cpu.psw.address_space() == AddressSpace::Secondary {
        // Instructions are in the primary space then.
        cpu.psw.mask &= !ADDRESS_SPACE;
    }
    // The hardware has met the missing page before it could test a key.
    let run = &mut Execution::general(cpu, configuration, hardware);
    let performed = relative::relative(run, found);
    cpu.psw.mask = cpu.psw.mask & !ADDRESS_SPACE | own & ADDRESS_SPACE;
    performed
}

/// Performs the target of an EXECUTE in `cpu.text`, if its operand depends on the address of the target, `at`.
///
/// # Errors
/// As [`perform`].
#[cold]
pub fn perform_relative_target<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: Virtual,
) -> Performed {
    let text = cpu.text.bytes;
    if let Some(found) = relative(&text, at.0) {
        return perform_relative(cpu, configuration, hardware, &found);
    }
    let Some((register, address)) = address(&text, at.0) else {
        return Ok(Outcome::Unknown);
    };
    let mask = cpu.psw.address_mask();
    let run = &mut Execution::general(cpu, configuration, hardware);
    if mask == u64::MAX {
        run.set_register(register, address);
    } else {
        run.set_word(register, (address & mask) as u32);
    }
    Ok(Outcome::Completed)
}

/// Performs a store that the hardware would make, if its page were not protected. The operand is at a logical address.
///
/// # Errors
/// As [`perform`].
#[inline]
pub fn perform_store<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    store: &Store,
    at: Virtual,
) -> Performed {
    in_place_of_the_hardware(cpu, |cpu| {
        let run = &mut Execution::general(cpu, configuration, hardware);
        stores::store(run, store, at)
    })
}

/// Performs an instruction that the hardware would perform, were it not replaced, if it is one of those that control
/// programs execute most.
///
/// # Errors
/// As [`perform`].
#[cold]
pub fn perform_characters<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    instruction: &Instruction,
) -> Performed {
    use Instruction as I;
    in_place_of_the_hardware(cpu, |cpu| {
        let run = &mut Execution::general(cpu, configuration, hardware);
        match *instruction {
            I::Mvc { l, first, second } if characters::is_short(l) => {
                characters::mvc(run, l, first, second)
            }
            I::Xc { l, first, second } if characters::is_short(l) => {
                characters::xc(run, l, first, second)
            }
            _ => Ok(Outcome::Unknown),
        }
    })
}
