//! The instructions of SA23-2260, on the guest's own facility.
//!
//! [`cpumf`] does what they do. Here their operands are fetched and stored, and the rest of
//! the firmware is told what has changed: when the next sample is due, or a pending measurement
//! alert.

use crate::hardware::Hardware;
use crate::measuring::{assist, threads};
use crate::millicode::execution::Execution;
use crate::millicode::outcome::{Outcome, Performed};
use crate::millicode::path::Path;
use crate::state::access::Access;
use crate::state::extended;
use crate::state::pending_work::PendingWork;
use crate::state::schedule::NEVER;
use arch::condition::ConditionCode;
use cpumf::counters::GlobalCounterControls;
use cpumf::instruction::extract_cpu_counter;
use cpumf::instruction::load_cpu_counter_set_controls;
use cpumf::instruction::load_sampling_controls;
use cpumf::instruction::query_counter_information;
use cpumf::instruction::query_sampling_information;
use cpumf::instruction::set_cpu_counter;
use cpumf::instruction::store_cpu_counter_multiple;
use cpumf::{CounterSet, Instruction as Issued, authorize, load_program_parameter};
use insn::Operand;

/// The tests before any operand: operation, then privileged operation.
#[inline(always)]
pub(super) fn authorized<H: Hardware, P: Path>(
    run: &Execution<'_, H, P>,
    instruction: Issued,
) -> Result<(), P::Refusal> {
    let (cpu, problem) = (&*run.cpu, run.problem_state()?);
    Ok(authorize(&cpu.own, instruction, problem, cpu.control[0])?)
}

/// Reports that the guest's sampling controls have changed: the next sample is due one interval from
/// now, and an alert may have become pending or been cleared.
fn sampling_changed<H: Hardware>(run: &mut Execution<'_, H>) {
    run.cpu.sampling.own = NEVER;
    run.cpu.pending_work |= PendingWork::SAMPLING | PendingWork::ATTENTION;
}

/// LOAD PROGRAM PARAMETER: the doubleword at the second-operand address, on any boundary, becomes the
/// program parameter if a sampling function is enabled at this configuration level or the one below.
/// Otherwise it has no effect, but the operand is fetched all the same.
///
/// Condition code: unchanged.
///
/// Program exceptions: operation; privileged operation; access (fetch, operand 2).
///
/// Source: SA23-2260, "LOAD PROGRAM PARAMETER".
#[inline(always)]
pub(super) fn lpp<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    second: Operand,
) -> Performed<P::Refusal> {
    authorized(run, Issued::LoadProgramParameter)?;
    let parameter = run.fetch_u64(run.address(second))?;
    let below = run.cpu.machine.sampling_enabled();
    load_program_parameter(&mut run.cpu.own, parameter, below);
    Ok(Outcome::Completed)
}

/// EXTRACT CPU COUNTER: the counter whose number is in bits 48-63 of R2 goes to R1 (64 bits).
///
/// Condition codes: 0, extracted; 3, not available (R1 stays).
///
/// Program exceptions: operation; privileged operation, in the problem state when bit 15 of control
/// register 0 is zero; specification, when bits 0-47 of R2 are not zeros.
///
/// Source: SA23-2260, "EXTRACT CPU COUNTER".
#[inline(always)]
pub(super) fn ecctr<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    r1: u8,
    r2: u8,
) -> Performed<P::Refusal> {
    let number = run.register(r2);
    if number >= extended::FIRST_COUNTER {
        run.cpu.count_translations();
        if number >= crate::state::threads::FIRST_COUNTER {
            threads::settle(run.cpu, run.configuration);
        }
    }
    let cpu = &*run.cpu;
    let (activity, problem) = (cpu.account.activity(), cpu.psw.problem_state());
    let (value, code) = extract_cpu_counter(&cpu.own, &activity, problem, cpu.control[0], number)?;
    if let Some(value) = value {
        run.set_register(r1, value);
    }
    run.done(code)
}

/// SET CPU COUNTER: R1 (64 bits) goes to the counter whose number is in bits 48-63 of R2.
///
/// Condition codes: 0, set; 3, not available.
///
/// Program exceptions: operation; privileged operation; specification, when bits 0-47 of R2 are not
/// zeros.
///
/// Source: SA23-2260, "SET CPU COUNTER".
pub(super) fn scctr<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    let (value, number) = (run.register(r1), run.register(r2));
    run.cpu.count_translations();
    let (activity, problem) = (run.cpu.account.activity(), run.cpu.psw.problem_state());
    let code = set_cpu_counter(&mut run.cpu.own, &activity, problem, value, number)?;
    run.done(code)
}

/// STORE CPU COUNTER MULTIPLE: at most as many counters as bits 48-63 of R1 say, of the set that the
/// M3 field selects, are stored as doublewords at the second-operand address.
///
/// Condition codes: 0, all counters of the set are stored; 1, fewer; 2, the number in R1 is more than
/// the set has; 3, none.
///
/// Program exceptions: operation; privileged operation, in the problem state when bit 15 of control
/// register 0 is zero; special operation, in the problem state with code 9; specification, when bits
/// 0-47 of R1 are not zeros, the code is reserved, or the operand is not on a doubleword boundary;
/// access (store, operand 2).
///
/// Source: SA23-2260, "STORE CPU COUNTER MULTIPLE".
#[inline(never)]
pub(super) fn stcctm<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    r1: u8,
    m3: u8,
    second: Operand,
) -> Performed<P::Refusal> {
    let (count, at) = (run.register(r1), run.address(second));
    match CounterSet::designated(m3) {
        Some(CounterSet::Extended) => run.cpu.count_translations(),
        Some(CounterSet::MtDiagnostic) => threads::settle(run.cpu, run.configuration),
        _ => {}
    }
    let (cpu, problem) = (&*run.cpu, run.problem_state()?);
    let activity = cpu.account.activity();
    let multiple = store_cpu_counter_multiple(&cpu.own, problem, cpu.control[0], count, m3, at)?;
    let length = u64::from(multiple.count) * 8;
    if let Some(place) = run.kept(at, length, Access::Store) {
        let counters = multiple.doublewords(&run.cpu.own, &activity);
        run.hardware.store_doublewords(place, counters);
    } else if length != 0 {
        let claim = run.claim(at, length, Access::Store)?;
        let counters = multiple.doublewords(&run.cpu.own, &activity);
        claim.store_doublewords(run.configuration, run.hardware, counters);
    }
    multiple.complete(&mut run.cpu.own);
    run.done(multiple.condition_code)
}

/// QUERY COUNTER INFORMATION: 64 bytes about versions and states of the counter sets are stored at
/// the second-operand address, on any boundary.
///
/// Condition code: unchanged.
///
/// Program exceptions: operation; privileged operation; access (store, operand 2).
///
/// Source: SA23-2260, "QUERY COUNTER INFORMATION".
pub(super) fn qctri<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    authorized(run, Issued::QueryCounterInformation)?;
    let global = GlobalCounterControls {
        maximum_cpu_address: run.configuration.highest_address(),
        ..run.configuration.groups().controls()
    };
    let block = query_counter_information(&run.cpu.own, &global);
    run.put(run.address(second), &block)?;
    Ok(Outcome::Completed)
}

/// LOAD CPU-COUNTER-SET CONTROLS: the doubleword at the second-operand address, on any boundary,
/// enables and activates counter sets.
///
/// Condition codes: 0, controls set; 3, not set.
///
/// Program exceptions: operation; privileged operation; access (fetch, operand 2); specification,
/// for a one in an unassigned position of the operand.
///
/// Source: SA23-2260, "LOAD CPU-COUNTER-SET CONTROLS".
pub(super) fn lcctl<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    authorized(run, Issued::LoadCpuCounterSetControls)?;
    let controls = run.fetch_u64(run.address(second))?;
    run.cpu.count_translations();
    let activity = run.cpu.account.activity();
    let code = load_cpu_counter_set_controls(&mut run.cpu.own, &activity, controls)?;
    run.cpu.pending_work |= PendingWork::ATTENTION;
    assist::counting_changed(run.cpu, run.configuration, run.hardware);
    run.done(code)
}

/// QUERY SAMPLING INFORMATION: 64 bytes about the sampling facility are stored at the second-operand
/// address, on any boundary.
///
/// Condition code: unchanged.
///
/// Program exceptions: operation; privileged operation; access (store, operand 2).
///
/// Source: SA23-2260, "QUERY SAMPLING INFORMATION".
pub(super) fn qsi<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    authorized(run, Issued::QuerySamplingInformation)?;
    let block = query_sampling_information(&run.cpu.own);
    run.put(run.address(second), &block)?;
    Ok(Outcome::Completed)
}

/// LOAD SAMPLING CONTROLS: the 64 bytes at the second-operand address, on any boundary, set the
/// sampling functions, the interval and the registers that designate the sample-data block.
///
/// Condition codes: 0, controls set; 3, not set.
///
/// Program exceptions: operation; privileged operation; access (fetch, operand 2); specification,
/// for a one in an unassigned position of the operand.
///
/// Source: SA23-2260, "LOAD SAMPLING CONTROLS".
pub(super) fn lsctl<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    authorized(run, Issued::LoadSamplingControls)?;
    let mut request = [0; 64];
    run.fetch(run.address(second), &mut request)?;
    let code = load_sampling_controls(&mut run.cpu.own, &request)?;
    if code == ConditionCode::Zero {
        sampling_changed(run);
    }
    run.done(code)
}
