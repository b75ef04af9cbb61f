//! The instructions on the coprocessor groups.

use super::*;
use crate::state::threads::Threads;
use Instruction as I;
use ProgramInterruption as P;
use core::sync::atomic::Ordering;
use cpumf::counters::{Coprocessor, CoprocessorGroups};

/// Two CPUs in one group and two in another; this CPU is authorized for their counter sets.
fn grouped() -> Bench {
    let mut bench = Bench::new();
    bench.configuration.cpus = 4;
    *bench.configuration.groups() = CoprocessorGroups::new(4, 2);
    let groups = bench.configuration.groups();
    bench.cpu.own.authorize_coprocessor_groups(true, &groups);
    drop(groups);
    bench
}

#[test]
fn lpctl_takes_an_operand_on_any_boundary_and_qctri_shows_what_it_did() {
    let mut bench = grouped();
    bench.set(0x2003, &3_u64.to_be_bytes());
    assert_eq!(complete(&mut bench, I::Lpctl { second: at(0x2003) }), 0);
    complete(&mut bench, I::Qctri { second: at(0x3001) });
    // Versions, authorization, enable, activation, maximum CPU address, version, maximum group address.
    assert_eq!(
        bench.hardware.storage[0x3001..0x3010],
        [0, 3, 0x80, 6, 0x80, 0, 0x80, 0, 0, 3, 0, 6, 0, 1, 0]
    );
    bench.set(0x2003, &1_u64.to_be_bytes());
    assert_eq!(complete(&mut bench, I::Lpctl { second: at(0x2003) }), 3);
    bench.set(0x2003, &4_u64.to_be_bytes());
    let reserved = exception(&mut bench, I::Lpctl { second: at(0x2003) });
    assert_eq!(reserved, P::Specification);
    let end = bench.configuration.storage.end() as i32;
    let beyond = I::Lpctl {
        second: at(end - 4),
    };
    assert_eq!(exception(&mut bench, beyond), P::Addressing);
}

#[test]
fn spctr_sets_and_epctr_extracts_a_counter_of_the_group_that_r2_designates() {
    let mut bench = grouped();
    bench.set_doublewords(0x2000, &[3]);
    complete(&mut bench, I::Lpctl { second: at(0x2000) });
    (bench.cpu.general[1], bench.cpu.general[2]) = (77, 0x0104);
    assert_eq!(complete(&mut bench, I::Spctr { r1: 1, r2: 2 }), 0);
    let issued = bench
        .configuration
        .groups()
        .issue(3, Coprocessor::DeaAes, 0, 9);
    assert!(issued.is_some());
    assert_eq!(complete(&mut bench, I::Epctr { r1: 3, r2: 2 }), 0);
    assert_eq!(bench.cpu.general[3], 78);
    bench.cpu.general[2] = 0x0204;
    assert_eq!(complete(&mut bench, I::Epctr { r1: 3, r2: 2 }), 3);
    assert_eq!(complete(&mut bench, I::Spctr { r1: 3, r2: 2 }), 3);
    assert_eq!(bench.cpu.general[3], 78, "R1 stays");
    bench.cpu.general[2] = 1 << 24;
    for instruction in [I::Epctr { r1: 3, r2: 2 }, I::Spctr { r1: 3, r2: 2 }] {
        assert_eq!(exception(&mut bench, instruction), P::Specification);
    }
}

#[test]
fn ecpga_gives_the_group_of_any_cpu_and_keeps_the_left_half_of_r1() {
    let mut bench = grouped();
    bench.cpu.general[1] = u64::MAX;
    bench.cpu.general[2] = 3;
    assert_eq!(complete(&mut bench, I::Ecpga { r1: 1, r2: 2 }), 0);
    assert_eq!(bench.cpu.general[1], 0xFFFF_FFFF_0000_0100);
    bench.cpu.general[2] = 4;
    assert_eq!(complete(&mut bench, I::Ecpga { r1: 1, r2: 2 }), 3);
    bench.cpu.general[2] = 0x1_0000;
    let wide = exception(&mut bench, I::Ecpga { r1: 1, r2: 2 });
    assert_eq!(wide, P::Specification);
}

/// The groups of the CPUs at addresses 0-4, as ECPGA gives them.
fn groups_by_address(bench: &mut Bench) -> [Option<u64>; 5] {
    [0, 1, 2, 3, 4].map(|address| {
        bench.cpu.general[2] = address;
        let code = complete(bench, I::Ecpga { r1: 1, r2: 2 });
        (code == 0).then_some(bench.cpu.general[1] >> 8)
    })
}

#[test]
fn ecpga_gives_the_groups_of_cores_until_multithreading_is_enabled_and_of_threads_afterwards() {
    let mut bench = grouped();
    bench.configuration.threads = Threads::new(2);
    let cores = [Some(0), Some(1), None, None, None];
    assert_eq!(groups_by_address(&mut bench), cores);
    bench.configuration.threads.enable();
    let threads = [Some(0), Some(0), Some(1), Some(1), None];
    assert_eq!(groups_by_address(&mut bench), threads);
}

/// Byte 14 of what QCTRI stores.
fn change_indicator(bench: &mut Bench) -> u8 {
    complete(bench, I::Qctri { second: at(0x3000) });
    bench.hardware.storage[0x300E]
}

/// SIGP, set multithreading, with a parameter.
fn set_multithreading(bench: &mut Bench, parameter: u64) {
    bench.cpu.general[5] = parameter;
    let order = I::Sigp {
        r1: 4,
        r3: 3,
        second: at(0x16),
    };
    assert_eq!(complete(bench, order), 0);
}

/// DIAGNOSE 308, load normal; the other CPUs carry out their resets.
fn reset_configuration(bench: &mut Bench) {
    bench.set_doublewords(0, &[0x0008_0000_8000_4000]);
    bench.cpu.general[1] = 1;
    let reset = I::Diag {
        r1: 2,
        r3: 1,
        second: at(0x308),
    };
    complete(bench, reset);
    for other in &bench.configuration.mailboxes[1..] {
        other.orders.store(0, Ordering::Relaxed);
    }
}

#[test]
fn multithreading_sets_the_address_change_indicator_while_the_group_sets_are_enabled() {
    let mut bench = grouped();
    bench.configuration.threads = Threads::new(2);
    bench.set_doublewords(0x2000, &[0, 2]);
    let (disable, enable) = (at(0x2000), at(0x2008));
    set_multithreading(&mut bench, 1);
    assert_eq!(change_indicator(&mut bench), 0, "the sets are disabled");
    complete(&mut bench, I::Lpctl { second: enable });
    assert_eq!(change_indicator(&mut bench), 0);
    reset_configuration(&mut bench);
    assert_eq!(change_indicator(&mut bench), 0x80, "threads became cores");
    complete(&mut bench, I::Lpctl { second: disable });
    complete(&mut bench, I::Lpctl { second: enable });
    reset_configuration(&mut bench);
    assert_eq!(change_indicator(&mut bench), 0, "cores stayed cores");
    set_multithreading(&mut bench, 0);
    assert_eq!(change_indicator(&mut bench), 0, "a parameter of zero");
    set_multithreading(&mut bench, 1);
    assert_eq!(change_indicator(&mut bench), 0x80, "cores became threads");
}

#[test]
fn the_coprocessor_group_instructions_are_privileged_whatever_control_register_0_says() {
    let mut bench = grouped();
    bench.cpu.psw.mask |= PROBLEM;
    bench.cpu.control[0] |= bit64(15);
    bench.cpu.general[2] = u64::MAX;
    for instruction in [
        I::Lpctl {
            second: at(0x7FFF_FFF1),
        },
        I::Spctr { r1: 1, r2: 2 },
        I::Epctr { r1: 1, r2: 2 },
        I::Ecpga { r1: 1, r2: 2 },
    ] {
        assert_eq!(exception(&mut bench, instruction), P::PrivilegedOperation);
    }
}
