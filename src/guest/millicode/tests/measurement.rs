//! The instructions of SA23-2260: their operands, and what the firmware is told.

use super::*;
use crate::measuring::threads;
use crate::state::pending_work::PendingWork;
use crate::state::schedule::NEVER;
use crate::state::threads::Threads;
use Instruction as I;
use ProgramInterruption as P;
use cpumf::sampling::request::SamplingRequest;
use cpumf::{Activity, CounterSets};

/// Enables and activates the basic and the problem-state counter set.
const BOTH_SETS: u64 = 0x0006_0006;

#[test]
fn lcctl_takes_an_operand_on_any_boundary_and_ecctr_reads_a_counter_by_it() {
    let mut bench = Bench::new();
    bench.set(0x2003, &BOTH_SETS.to_be_bytes());
    assert_eq!(complete(&mut bench, I::Lcctl { second: at(0x2003) }), 0);
    bench.cpu.general[1] = 77;
    bench.cpu.general[2] = 1;
    assert_eq!(complete(&mut bench, I::Scctr { r1: 1, r2: 2 }), 0);
    assert_eq!(complete(&mut bench, I::Ecctr { r1: 3, r2: 2 }), 0);
    assert_eq!(bench.cpu.general[3], 77);
    bench.cpu.general[2] = 0x1_0000;
    assert_eq!(
        exception(&mut bench, I::Ecctr { r1: 3, r2: 2 }),
        P::Specification
    );
}

#[test]
fn the_problem_state_extracts_counters_when_control_register_0_lets_it() {
    let mut bench = problem();
    let stcctm = I::Stcctm {
        r1: 1,
        m3: 1,
        second: at(0x2000),
    };
    assert_eq!(
        exception(&mut bench, I::Ecctr { r1: 3, r2: 2 }),
        P::PrivilegedOperation
    );
    assert_eq!(exception(&mut bench, stcctm), P::PrivilegedOperation);
    bench.cpu.control[0] |= bit64(15);
    // The sets are disabled: no counter is available.
    assert_eq!(complete(&mut bench, I::Ecctr { r1: 3, r2: 2 }), 3);
    bench.cpu.general[1] = 6;
    assert_eq!(complete(&mut bench, stcctm), 3);
    assert_eq!(
        exception(&mut bench, I::Scctr { r1: 1, r2: 2 }),
        P::PrivilegedOperation
    );
}

#[test]
fn stcctm_stores_the_counters_of_a_set_or_none_of_them() {
    let mut bench = Bench::new();
    bench.set_doublewords(0x2000, &[BOTH_SETS]);
    complete(&mut bench, I::Lcctl { second: at(0x2000) });
    (bench.cpu.general[1], bench.cpu.general[2]) = (42, 33);
    complete(&mut bench, I::Scctr { r1: 1, r2: 2 });
    bench.cpu.general[1] = 2;
    assert_eq!(
        complete(
            &mut bench,
            I::Stcctm {
                r1: 1,
                m3: 2,
                second: at(0x3000)
            }
        ),
        0
    );
    assert_eq!(bench.doubleword(0x3008), 42);
    let end = bench.configuration.storage.end() as i32;
    bench.set(0x3F_FFF8, &[1; 8]);
    let beyond = I::Stcctm {
        r1: 1,
        m3: 2,
        second: at(end - 8),
    };
    assert_eq!(exception(&mut bench, beyond), P::Addressing);
    assert_eq!(bench.doubleword(0x3F_FFF8), 0x0101_0101_0101_0101);
    let unaligned = I::Stcctm {
        r1: 1,
        m3: 2,
        second: at(0x3004),
    };
    assert_eq!(exception(&mut bench, unaligned), P::Specification);
}

#[test]
fn qctri_and_qsi_store_sixty_four_bytes() {
    let mut bench = Bench::new();
    bench.configuration.cpus = 3;
    bench.set(0x2000, &[0xFF; 0x90]);
    complete(&mut bench, I::Qctri { second: at(0x2001) });
    assert_eq!(
        bench.hardware.storage[0x2001..0x200D],
        [0, 3, 0, 6, 0, 0, 0, 0, 0, 2, 0, 6]
    );
    assert_eq!(bench.hardware.storage[0x2041], 0xFF);
    complete(&mut bench, I::Qsi { second: at(0x2048) });
    assert_eq!(bench.hardware.storage[0x2088], 0xFF);
    assert_ne!(bench.hardware.storage[0x2048..0x2088], [0xFF; 64]);
}

#[test]
fn lpp_is_effective_when_sampling_is_enabled_and_fetches_its_operand_always() {
    let mut bench = Bench::new();
    bench.set_doublewords(0x2000, &[0x1234]);
    complete(&mut bench, I::Lpp { second: at(0x2000) });
    assert_eq!(bench.cpu.own.program_parameter(), 0);
    assert_eq!(
        exception(
            &mut bench,
            I::Lpp {
                second: at(0x7000_0000)
            }
        ),
        P::Addressing
    );
    let request = SamplingRequest::basic(true, false, 10_000, 0, 0);
    bench.set(0x3000, zerocopy::IntoBytes::as_bytes(&request));
    bench.cpu.pending_work.clear(PendingWork::SAMPLING);
    assert_eq!(complete(&mut bench, I::Lsctl { second: at(0x3000) }), 0);
    assert!(bench.cpu.pending_work.any(PendingWork::SAMPLING) && bench.cpu.own.sampling_enabled());
    complete(&mut bench, I::Lpp { second: at(0x2000) });
    assert_eq!(bench.cpu.own.program_parameter(), 0x1234);
}

#[test]
fn lsctl_with_a_reserved_bit_changes_nothing() {
    let mut bench = Bench::new();
    bench.cpu.pending_work.clear(PendingWork::SAMPLING);
    bench.set(0x3000, &[0xFF; 64]);
    assert_eq!(
        exception(&mut bench, I::Lsctl { second: at(0x3000) }),
        P::Specification
    );
    assert!(!bench.cpu.pending_work.any(PendingWork::SAMPLING));
}

#[test]
fn the_instructions_that_query_and_control_are_privileged_before_access() {
    let mut bench = problem();
    bench.cpu.control[0] |= bit64(15);
    let second = at(0x7000_0000);
    for instruction in [
        I::Lpp { second },
        I::Lcctl { second },
        I::Qctri { second },
        I::Lsctl { second },
        I::Qsi { second },
    ] {
        let found = exception(&mut bench, instruction);
        assert_eq!(found, P::PrivilegedOperation, "{instruction}");
    }
}

#[test]
fn controls_that_are_set_may_open_or_clear_an_alert_and_sampling_controls_move_the_next_sample() {
    let mut bench = Bench::new();
    let noticed = |bench: &mut Bench, instruction| {
        bench
            .cpu
            .pending_work
            .clear(PendingWork::ATTENTION | PendingWork::SAMPLING);
        bench.cpu.sampling.own = 1000;
        let code = complete(bench, instruction);
        let work = bench.cpu.pending_work;
        let next = bench.cpu.sampling.own;
        let attention = work.any(PendingWork::ATTENTION);
        (code, attention, work.any(PendingWork::SAMPLING), next)
    };
    bench.set_doublewords(0x2000, &[BOTH_SETS]);
    let lcctl = I::Lcctl { second: at(0x2000) };
    assert_eq!(noticed(&mut bench, lcctl), (0, true, false, 1000));
    let lsctl = I::Lsctl { second: at(0x3000) };
    let request = SamplingRequest::basic(true, true, 10_000, 0x4000, 0x5000);
    bench.set(0x3000, zerocopy::IntoBytes::as_bytes(&request));
    assert_eq!(noticed(&mut bench, lsctl), (0, true, true, NEVER));
    // Activation without enablement.
    let request = SamplingRequest::basic(false, true, 10_000, 0x4000, 0x5000);
    bench.set(0x3000, zerocopy::IntoBytes::as_bytes(&request));
    assert_eq!(noticed(&mut bench, lsctl), (3, false, false, 1000));
}

#[test]
fn ecctr_and_stcctm_count_what_the_shadow_did_before_they_show_extended_counters() {
    // z15: 138 is TLB2_CRSTE_WRITES, page tables added to the shadow.
    let counter = 138;
    let mut bench = Bench::new();
    bench
        .cpu
        .own
        .authorize_counters(CounterSets::EXTENDED, &Activity::NONE);
    bench.set_doublewords(0x2000, &[0x0001_0001]);
    complete(&mut bench, I::Lcctl { second: at(0x2000) });
    bench.cpu.fills.segments += 5;
    bench.cpu.general[2] = counter;
    assert_eq!(complete(&mut bench, I::Ecctr { r1: 3, r2: 2 }), 0);
    assert_eq!(bench.cpu.general[3], 5);
    bench.cpu.fills.segments += 2;
    bench.cpu.general[1] = counter - 128 + 1;
    let stcctm = I::Stcctm {
        r1: 1,
        m3: 0,
        second: at(0x3000),
    };
    assert_eq!(complete(&mut bench, stcctm), 1);
    assert_eq!(bench.doubleword(0x3000 + 8 * (counter - 128)), 7);
    assert_eq!(bench.doubleword(0x3008 + 8 * (counter - 128)), 0);
}

#[test]
fn ecctr_and_stcctm_show_the_cycles_of_threads_up_to_now() {
    let mut bench = Bench::new();
    bench.configuration.cpus = 2;
    bench.configuration.threads = Threads::new(2);
    bench
        .cpu
        .own
        .authorize_counters(CounterSets::MT_DIAGNOSTIC, &Activity::NONE);
    bench.configuration.threads.enable();
    threads::take_note(&mut bench.cpu, &bench.configuration);
    bench.cpu.account.cycles[0] += 100;
    bench.cpu.general[2] = 448;
    assert_eq!(complete(&mut bench, I::Ecctr { r1: 3, r2: 2 }), 0);
    assert_eq!(bench.cpu.general[3], 100);
    bench.cpu.account.cycles[0] += 11;
    bench.cpu.general[1] = 1;
    let stcctm = I::Stcctm {
        r1: 1,
        m3: 5,
        second: at(0x3000),
    };
    assert_eq!(complete(&mut bench, stcctm), 1);
    assert_eq!(bench.doubleword(0x3000), 111);
}

#[test]
fn qctri_stores_the_highest_address_of_a_cpu_that_the_program_can_use() {
    let mut bench = Bench::new();
    bench.configuration.cpus = 4;
    complete(&mut bench, I::Qctri { second: at(0x2000) });
    assert_eq!(bench.hardware.storage[0x2008..0x200A], [0, 3]);
    bench.configuration.threads = Threads::new(2);
    complete(&mut bench, I::Qctri { second: at(0x2000) });
    assert_eq!(bench.hardware.storage[0x2008..0x200A], [0, 1]);
}

#[test]
fn stcctm_that_stores_nothing_does_not_access_its_operand() {
    let mut bench = Bench::new();
    bench.cpu.general[1] = 0;
    let nowhere = I::Stcctm {
        r1: 1,
        m3: 1,
        second: at(0x7000_0000),
    };
    assert_eq!(complete(&mut bench, nowhere), 3);
}
