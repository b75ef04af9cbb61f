//! The fast path: what a control program issues all the time, in the usual case.
//!
//! Nearly every trap is one of a few instructions, in the 64-bit addressing mode, in a page whose
//! translation is kept, with its operand in another such page. This path fetches, decodes and performs
//! it, and does nothing else. In any other case it changes nothing, and the general path
//! ([`super::perform`]) performs the instruction.

use super::execution::Execution;
use super::path::Fast;
use super::{clock, common, copying, psw, translation};
use crate::hardware::Hardware;
use crate::millicode::outcome::Outcome;
use crate::state::access::Space;
use crate::state::configuration::Configuration;
use crate::state::kept::KeptPage;
use crate::state::pending_work::PendingWork;
use crate::state::text::Text;
use crate::state::vcpu::Vcpu;
use crate::storage::{self, real, shadow};
use arch::address::{Real, Virtual};
use arch::condition::ConditionCode;
use arch::psw::{EXTENDED_ADDRESSING, PROBLEM};
use arch::table::{TEID_ADDRESS, TEID_SPACE};
use insn::{self, Instruction, Operand};

/// Performs and counts the instruction that the hardware has just refused, if the fast path handles its case. In any
/// other case [`Vcpu::text`] has its text, if that is in a page that is kept, or no text.
///
/// The instruction address in `cpu.psw` is that of the next instruction, as the hardware left it.
#[inline(always)]
pub fn perform<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    let mask = cpu.psw.mask;
    let length = u64::from(cpu.interruption.length());
    let at = Virtual(cpu.psw.address.wrapping_sub(length));
    if mask & EXTENDED_ADDRESSING == 0 {
        miss(cpu);
        return false;
    }
    if !storage::is_within_a_page(at) {
        miss(cpu);
        return false;
    }
    let Some(frame) = cpu.kept.find_last_text(mask, at) else {
        return perform_elsewhere(cpu, configuration, hardware, at);
    };
    let doubleword = hardware.load_u64(frame.at(at));
    perform_text(cpu, configuration, hardware, doubleword)
}

/// The same, if the page is not the last one that was used of those with its number.
#[inline(never)]
fn perform_elsewhere<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: Virtual,
) -> bool {
    let Some(frame) = cpu.kept.find_other_text(cpu.psw.mask, at) else {
        miss(cpu);
        return false;
    };
    let doubleword = hardware.load_u64(frame.at(at));
    perform_text(cpu, configuration, hardware, doubleword)
}

/// The same, if the doubleword begins with the text of the instruction.
#[inline(always)]
fn perform_text<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    doubleword: u64,
) -> bool {
    let [text @ .., _, _] = doubleword.to_be_bytes();
    let Some(instruction) = insn::decode_common(&text) else {
        return match text[0] {
            MOVES => with_optional_specifications(cpu, configuration, hardware, doubleword),
            LRA => load_and_store(cpu, configuration, hardware, doubleword),
            _ => by_real_address(cpu, configuration, hardware, doubleword),
        };
    };
    if let Instruction::Stpt { second } = instruction {
        return store_cpu_timer(cpu, configuration, hardware, second, doubleword);
    }
    let problem = cpu.psw.problem_state();
    let run = Execution::fast(cpu, configuration, hardware);
    if let Some(Ok(Outcome::Completed | Outcome::Jumped)) = common(run, &instruction) {
        complete(cpu, configuration, problem);
        return true;
    }
    pass_on(cpu, doubleword);
    false
}

/// STORE CPU TIMER, with what follows if a control program returns to a program by it.
#[inline(always)]
fn store_cpu_timer<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    second: Operand,
    text: u64,
) -> bool {
    let run = &mut Execution::fast(cpu, configuration, hardware);
    if clock::stpt(run, second).is_err() {
        pass_on(cpu, text);
        return false;
    }
    complete(cpu, configuration, false);
    if text as u32 >> 12 == BRANCH_TO_PREFIX_AREA {
        return_to_program(cpu, configuration, hardware, text);
    }
    true
}

/// Counts an instruction that has completed. Where the clock charges one for the refusal, it has done so.
#[inline(always)]
fn complete(cpu: &mut Vcpu, configuration: &Configuration, problem: bool) {
    if !configuration.charges.refused_is_one() {
        correct(cpu, configuration, problem);
    }
}

/// Counts an instruction that has completed where the clock does not charge one for its refusal.
#[cold]
#[inline(never)]
fn correct(cpu: &mut Vcpu, configuration: &Configuration, problem: bool) {
    let charged = configuration.charges.of(cpu.interruption.code());
    cpu.account.correct(1, charged, problem);
}

/// The opcode of STORE CPU TIMER.
const STPT: u64 = 0xB209;

/// An unconditional BRANCH ON CONDITION to an address without base and index, without its displacement.
const BRANCH_TO_PREFIX_AREA: u32 = 0x47F00;

/// Performs the branch behind the STORE CPU TIMER that was just performed, and the LOAD PSW EXTENDED at its target, if that
/// can be performed now: so a control program returns to a program. Otherwise the guest continues with the branch.
///
/// One trap is shorter than two. Nothing can become pending meanwhile, and if a sample is due between them, they are executed
/// one by one.
#[inline(always)]
fn return_to_program<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    text: u64,
) {
    let (next, target) = (cpu.psw.address, text & 0xFFF);
    if !cpu.pending_work.is_empty()
        || cpu.sampling.next_sample() <= cpu.account.total() + 1
        || shadow::stale(cpu, configuration)
    {
        return;
    }
    cpu.psw.address = target;
    if lpswe_at(cpu, configuration, hardware, Virtual(target)) {
        cpu.account.complete_another(false);
        cpu.account.complete_another(false);
    } else {
        cpu.psw.address = next;
    }
}

/// Performs the STORE CPU TIMER with which a control program's handler begins, in the same trap as the interruption that the
/// CPU has just taken, if nothing is to be done between them.
#[inline(always)]
pub fn perform_first<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    if !cpu.pending_work.is_only(PendingWork::SPACE)
        || cpu.psw.mask & EXTENDED_ADDRESSING == 0
        || !cpu.is_in_home_space() && !cpu.keeps_programs()
        || shadow::stale(cpu, configuration)
    {
        return;
    }
    let at = Virtual(cpu.psw.address);
    let Some(doubleword) = storage::kept_doubleword(cpu, hardware, at) else {
        return;
    };
    let [text @ .., _, _] = doubleword.to_be_bytes();
    if doubleword >> 48 != STPT || cpu.sampling.next_sample() <= cpu.account.total() {
        return;
    }
    if let Some(Instruction::Stpt { second }) = insn::decode_common(&text)
        && clock::stpt(&mut Execution::fast(cpu, configuration, hardware), second).is_ok()
    {
        // In the 64-bit addressing mode.
        cpu.psw.address = at.0.wrapping_add(4);
        cpu.account.complete_another(false);
    }
}

/// Performs the LOAD PSW EXTENDED at an address that the PSW designates, if its page is kept. Returns false, and has changed
/// nothing, in any other case.
#[inline(always)]
fn lpswe_at<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: Virtual,
) -> bool {
    /// LOAD PSW EXTENDED.
    const LPSWE: u64 = 0xB2B2;
    let Some(doubleword) = storage::kept_doubleword(cpu, hardware, at) else {
        return false;
    };
    let [text @ .., _, _] = doubleword.to_be_bytes();
    if doubleword >> 48 != LPSWE {
        return false;
    }
    let Some(Instruction::Lpswe { second }) = insn::decode_common(&text) else {
        return false;
    };
    let run = &mut Execution::fast(cpu, configuration, hardware);
    psw::lpswe(run, second).is_ok()
}

/// Performs a LOAD PSW EXTENDED that the hardware could not fetch, from a page whose translation is kept: it has nullified
/// the fetch with a translation exception. Returns false, and has changed nothing, in any other case.
///
/// Control programs end interruptions by this instruction in their prefix area, which stays data
/// because they store into it at every interruption.
#[inline(never)]
pub fn perform_not_fetched<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    let at = Virtual(cpu.psw.address);
    let page_and_space = cpu.interruption.identification & (TEID_ADDRESS | TEID_SPACE);
    // In the supervisor state the hardware fetches instructions, and nothing else, from the primary space.
    if cpu.psw.mask & (EXTENDED_ADDRESSING | PROBLEM) != EXTENDED_ADDRESSING
        || page_and_space != at.page().0 | Space::Primary as u64
        || cpu.pending_work.any(PendingWork::PER)
        || cpu.shadow.alone.is_some()
        || shadow::stale(cpu, configuration)
    {
        return false;
    }
    let charged = configuration.charges.of(cpu.interruption.code());
    if !lpswe_at(cpu, configuration, hardware, at) {
        return false;
    }
    cpu.account.correct(1, charged, false);
    true
}

/// Leaves an instruction to the general path, which has to fetch its text.
#[cold]
#[inline(never)]
const fn miss(cpu: &mut Vcpu) {
    cpu.text = Text::NONE;
}

/// Leaves an instruction to the general path with its text.
#[inline(never)]
const fn pass_on(cpu: &mut Vcpu, doubleword: u64) {
    let [text @ .., _, _] = doubleword.to_be_bytes();
    cpu.text = Text::of(text);
}

/// The first byte of MOVE WITH OPTIONAL SPECIFICATIONS and a few others.
const MOVES: u8 = 0xC8;

/// MOVE WITH OPTIONAL SPECIFICATIONS, if `text` begins with it.
#[inline(never)]
fn with_optional_specifications<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    doubleword: u64,
) -> bool {
    let [text @ .., _, _] = doubleword.to_be_bytes();
    if let Some(Instruction::Mvcos { first, second, r3 }) = insn::decode_move(&text) {
        let run = &mut Execution::fast(cpu, configuration, hardware);
        if copying::mvcos_kept(run, first, second, r3)
            || copying::mvcos(run, first, second, r3).is_ok()
        {
            complete(cpu, configuration, false);
            return true;
        }
    }
    pass_on(cpu, doubleword);
    false
}

/// The other instructions that use real addresses, if `text` begins with one.
#[inline(never)]
fn by_real_address<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    text: u64,
) -> bool {
    let run = &mut Execution::fast(cpu, configuration, hardware);
    let [a, b, c, d, e, f, ..] = text.to_be_bytes();
    let performed = match insn::decode_real(&[a, b, c, d, e, f]) {
        Some(Instruction::Lrag { r1, second }) => load_real_address(run, r1, second),
        Some(Instruction::Sturg { r1, r2 }) => store_using_real_address(run, r1, r2),
        _ => false,
    };
    if performed {
        complete(cpu, configuration, false);
    } else {
        pass_on(cpu, text);
    }
    performed
}

/// The first byte of LOAD REAL ADDRESS, the short one.
const LRA: u8 = 0xB1;

/// The first half of STORE USING REAL ADDRESS.
const STURG: u64 = 0xB925;

/// LOAD REAL ADDRESS, with the STORE USING REAL ADDRESS that follows it if the fast path handles that too.
///
/// A control program that changes its own text issues them together, and one trap is shorter than two.
/// The first one cannot make an interruption pending between them. But if a sample is due there, the store traps
/// by itself.
#[inline(never)]
fn load_and_store<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    text: u64,
) -> bool {
    let [a, b, c, d, e, f, ..] = text.to_be_bytes();
    let Some(Instruction::Lra { r1, second }) = insn::decode_real(&[a, b, c, d, e, f]) else {
        return false;
    };
    let run = &mut Execution::fast(cpu, configuration, hardware);
    if !load_real_address(run, r1, second) {
        pass_on(cpu, text);
        return false;
    }
    // Both are privileged, so the CPU is in the supervisor state.
    complete(run.cpu, configuration, false);
    if text >> 16 & 0xFFFF == STURG
        && run.cpu.sampling.next_sample() > run.cpu.account.total()
        && store_using_real_address(run, (text >> 4) as u8 & 15, text as u8 & 15)
    {
        // In the 64-bit addressing mode.
        cpu.psw.address = cpu.psw.address.wrapping_add(4);
        cpu.account.complete_another(false);
    }
    true
}

/// STORE USING REAL ADDRESS; false if the fast path does not handle the case.
#[inline(always)]
fn store_using_real_address<H: Hardware>(run: &mut Execution<'_, H, Fast>, r1: u8, r2: u8) -> bool {
    let (at, value) = (Real(run.register(r2)), run.register(r1));
    if at.0.is_multiple_of(8)
        && run.supervisor().is_ok()
        && real::store(run.cpu, run.configuration, run.hardware, at, value)
    {
        run.cpu.per.note_store_real();
        return true;
    }
    store_elsewhere(run.cpu, run.configuration, run.hardware, r1, r2)
}

/// The same in the other cases.
#[inline(never)]
fn store_elsewhere<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    r1: u8,
    r2: u8,
) -> bool {
    let run = &mut Execution::fast(cpu, configuration, hardware);
    translation::sturg(run, r1, r2).is_ok()
}

/// LOAD REAL ADDRESS; false if the fast path does not handle the case. A control program looks up each page
/// that it changes more than once, so the page is kept like those of operands: until the guest purges, as in a
/// translation-lookaside buffer.
#[inline(always)]
fn load_real_address<H: Hardware>(
    run: &mut Execution<'_, H, Fast>,
    r1: u8,
    second: Operand,
) -> bool {
    let at = run.address(second);
    let mask = run.cpu.psw.mask;
    if let Some(real) = run.cpu.kept.find_real(mask, at)
        && mask & PROBLEM == 0
        && !shadow::stale(run.cpu, run.configuration)
    {
        run.set_register(r1, real.0);
        run.cpu.set_cc(ConditionCode::Zero);
        return true;
    }
    if translation::lra(run, r1, second).is_err() {
        return false;
    }
    if run.cpu.psw.condition_code() == ConditionCode::Zero {
        let real = Real(run.register(r1));
        run.cpu.kept.keep_real(KeptPage::of_real(mask, at, real));
    }
    true
}

/// Performs as [`perform`] if only the translation of the text's page was missing, which is kept from now on.
#[inline(never)]
pub fn perform_in_new_page<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    let length = u64::from(cpu.interruption.length());
    // Below the 64-bit mode an instruction may end where the address space does.
    let at = Virtual(cpu.psw.address.wrapping_sub(length) & cpu.psw.address_mask());
    if cpu.kept_text(at).is_some() || !storage::keep_text(cpu, configuration, hardware, at) {
        miss(cpu);
        return false;
    }
    perform(cpu, configuration, hardware)
}
