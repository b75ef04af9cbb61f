//! The instructions of SA23-2260 on the coprocessor groups, which all CPUs share.

use crate::hardware::Hardware;
use crate::measuring::assist;
use crate::millicode::execution::Execution;
use crate::millicode::measurement::authorized;
use crate::millicode::outcome::Performed;
use cpumf::Instruction as Issued;
use cpumf::instruction::{
    extract_coprocessor_group_address, extract_peripheral_counter,
    load_peripheral_counter_set_controls, set_peripheral_counter,
};
use insn::Operand;

/// LOAD PERIPHERAL-COUNTER-SET CONTROLS: the doubleword at the second-operand address, on any
/// boundary, enables and activates the coprocessor-group counter sets.
///
/// Condition codes: 0, controls set; 3, not set.
///
/// Program exceptions: operation; privileged operation; access (fetch, operand 2); specification,
/// for a one in an unassigned position of the operand.
///
/// Source: SA23-2260, "LOAD PERIPHERAL-COUNTER-SET CONTROLS".
pub(super) fn lpctl<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    authorized(run, Issued::LoadPeripheralCounterSetControls)?;
    let controls = run.fetch_u64(run.address(second))?;
    let mut groups = run.configuration.groups();
    let code = load_peripheral_counter_set_controls(&run.cpu.own, &mut groups, controls)?;
    drop(groups);
    assist::counting_changed(run.cpu, run.configuration, run.hardware);
    run.done(code)
}

/// SET PERIPHERAL COUNTER: R1 (64 bits) goes to the counter whose number is in bits 56-63 of R2, of
/// the group whose address is in bits 40-55.
///
/// Condition codes: 0, set; 3, not available.
///
/// Program exceptions: operation; privileged operation; specification, when bits 0-39 of R2 are not
/// zeros.
///
/// Source: SA23-2260, "SET PERIPHERAL COUNTER".
pub(super) fn spctr<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    let (value, place) = (run.register(r1), run.register(r2));
    let problem = run.cpu.psw.problem_state();
    let mut groups = run.configuration.groups();
    let code = set_peripheral_counter(&run.cpu.own, &mut groups, problem, value, place)?;
    drop(groups);
    run.done(code)
}

/// EXTRACT PERIPHERAL COUNTER: the counter whose number is in bits 56-63 of R2, of the group whose
/// address is in bits 40-55, goes to R1 (64 bits).
///
/// Condition codes: 0, extracted; 3, not available (R1 stays).
///
/// Program exceptions: as SET PERIPHERAL COUNTER.
///
/// Source: SA23-2260, "EXTRACT PERIPHERAL COUNTER".
pub(super) fn epctr<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    let place = run.register(r2);
    let problem = run.cpu.psw.problem_state();
    let groups = run.configuration.groups();
    let (value, code) = extract_peripheral_counter(&run.cpu.own, &groups, problem, place)?;
    drop(groups);
    if let Some(value) = value {
        run.set_register(r1, value);
    }
    run.done(code)
}

/// EXTRACT COPROCESSOR-GROUP ADDRESS: the address of the group of the CPU that bits 48-63 of R2
/// designate goes to bits 40-55 of R1, zeros to bits 32-39 and 56-63; bits 0-31 stay. The address is
/// one that the program sees at present: that of a core until multithreading is enabled, afterwards that
/// of a thread.
///
/// Condition codes: 0, extracted; 3, there is no such CPU, or it is attached to no group (R1 stays).
///
/// Program exceptions: operation; privileged operation; specification, when bits 0-47 of R2 are not
/// zeros.
///
/// Source: SA23-2260, "EXTRACT COPROCESSOR-GROUP ADDRESS".
pub(super) fn ecpga<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    let (before, cpu) = (run.register(r1), run.register(r2));
    let problem = run.cpu.psw.problem_state();
    let configuration = run.configuration;
    let attached = |address| {
        configuration
            .groups()
            .attached(configuration.cpu_at(address)?)
    };
    let (address, code) =
        extract_coprocessor_group_address(&run.cpu.own, attached, problem, before, cpu)?;
    if let Some(address) = address {
        run.set_register(r1, address);
    }
    run.done(code)
}
