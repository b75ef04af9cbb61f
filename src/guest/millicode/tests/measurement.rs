//! The instructions of SA23-2260: their operands, and what the firmware is told.

use super::*;
use crate::state::pending_work::PendingWork;
use Instruction as I;
use ProgramInterruption as P;
use cpumf::sampling::request::SamplingRequest;

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
    let end = bench.configuration.storage_end as i32;
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
