//! The watchdog, DIAGNOSE 288.

use super::*;
use crate::dispatch;
use crate::state::pending_work::PendingWork;
use crate::state::schedule::NEVER;
use crate::state::vcpu::CpuState;

const SECOND: u64 = 1_000_000 << 12;

/// DIAGNOSE 288 with the function and the time in registers 2 and 3, and the action in register 1.
const DIAGNOSE: Instruction = Instruction::Diag {
    r1: 2,
    r3: 1,
    second: Operand {
        index: 0,
        base: 0,
        displacement: 0x288,
    },
};

/// A machine that has a watchdog, with a program at 5000.
fn watched() -> Bench {
    let mut bench = Bench::new();
    resets::loaded(&mut bench);
    bench.configuration.watchdog.present = true;
    bench.hardware.tod = 1000 * SECOND;
    bench
}

fn request(bench: &mut Bench, function: u64, seconds: u64) -> Performed {
    (bench.cpu.general[2], bench.cpu.general[3]) = (function, seconds);
    issue(bench, DIAGNOSE)
}

/// CPU 0 attends to what is pending at this time; returns how often the watchdog has expired.
fn expirations_at(bench: &mut Bench, seconds: u64) -> u32 {
    bench.hardware.tod = seconds * SECOND + 1;
    bench.cpu.pending_work |= PendingWork::ATTENTION;
    dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    bench.hardware.expirations
}

#[test]
fn the_watchdog_expires_once_at_the_time_that_was_set_last() {
    let mut bench = watched();
    assert_eq!(request(&mut bench, 0, 20), Ok(Outcome::Completed));
    assert_eq!(expirations_at(&mut bench, 1010), 0);
    assert_eq!(request(&mut bench, 1, 15), Ok(Outcome::Completed));
    assert_eq!(expirations_at(&mut bench, 1024), 0);
    bench.cpu.state = CpuState::CheckStop;
    assert_eq!(expirations_at(&mut bench, 1026), 1);
    assert_eq!(bench.cpu.state, CpuState::Operating);
    assert_eq!((bench.cpu.psw.address, bench.hardware.loads), (0x5000, 1));
    assert_eq!(expirations_at(&mut bench, 2000), 1);
    assert!(request(&mut bench, 1, 15).is_err());
}

#[test]
fn a_cancelled_watchdog_and_one_whose_guest_was_reset_never_expire() {
    let mut bench = watched();
    request(&mut bench, 0, 20).unwrap();
    assert_eq!(request(&mut bench, 2, 0), Ok(Outcome::Completed));
    assert_eq!(expirations_at(&mut bench, 2000), 0);
    request(&mut bench, 0, 20).unwrap();
    // DIAGNOSE 308, load normal.
    bench.cpu.general[1] = 4;
    let load = Instruction::Diag {
        r1: 2,
        r3: 1,
        second: at(0x308),
    };
    assert_eq!(issue(&mut bench, load), Ok(Outcome::Jumped));
    bench.cpu.general[1] = 0;
    assert_eq!(expirations_at(&mut bench, 4000), 0);
    // A guest that has named its exit code has ended.
    request(&mut bench, 0, 20).unwrap();
    bench.configuration.exit_code.name(0, 1);
    assert_eq!(expirations_at(&mut bench, 6000), 0);
}

#[test]
fn the_watchdog_keeps_its_time_while_the_clock_is_set() {
    let mut bench = watched();
    request(&mut bench, 0, 20).unwrap();
    bench.set_doublewords(0x2000, &[5000 * SECOND]);
    let second = at(0x2000);
    assert_eq!(complete(&mut bench, Instruction::Sck { second }), 0);
    assert_eq!(expirations_at(&mut bench, 5019), 0);
    assert_eq!(expirations_at(&mut bench, 5020), 1);
}

#[test]
fn a_time_beyond_the_end_of_the_clock_is_no_other_time() {
    let mut bench = watched();
    request(&mut bench, 0, u64::MAX).unwrap();
    assert_eq!(bench.configuration.watchdog.expires_at(), NEVER - 1);
    assert_eq!(expirations_at(&mut bench, 1_000_000), 0);
    assert_eq!(request(&mut bench, 2, 0), Ok(Outcome::Completed));
}

#[test]
fn cpu_0_watches_for_all_cpus() {
    let mut bench = watched();
    bench.configuration.cpus = 2;
    (bench.cpu.address, bench.cpu.known_as) = (1, 1);
    request(&mut bench, 0, 15).unwrap();
    assert_eq!(bench.hardware.woken, [0]);
    assert_eq!(expirations_at(&mut bench, 2000), 0);
    (bench.cpu.address, bench.cpu.known_as) = (0, 0);
    assert_eq!(expirations_at(&mut bench, 2000), 1);
}

#[test]
fn a_request_that_a_watchdog_does_not_know_is_a_specification_exception() {
    let specification = ProgramInterruption::Specification;
    let mut bench = watched();
    for (function, seconds) in [(0, 14), (1, 15), (2, 0), (3, 15), (1 << 32, 15)] {
        (bench.cpu.general[2], bench.cpu.general[3]) = (function, seconds);
        assert_eq!(exception(&mut bench, DIAGNOSE), specification);
    }
    (bench.cpu.general[2], bench.cpu.general[3]) = (0, 15);
    bench.cpu.general[1] = 1;
    assert_eq!(exception(&mut bench, DIAGNOSE), specification);
    bench.cpu.general[1] = 0;
    let odd = Instruction::Diag {
        r1: 3,
        r3: 1,
        second: at(0x288),
    };
    assert_eq!(exception(&mut bench, odd), specification);
    bench.configuration.watchdog.present = false;
    assert_eq!(exception(&mut bench, DIAGNOSE), specification);
    assert_eq!(bench.configuration.watchdog.expires_at(), NEVER);
}
