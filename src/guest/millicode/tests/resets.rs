//! Resets by DIAGNOSE 308, and their effect on the measurement facilities.

use super::*;
use crate::dispatch;
use crate::hardware::Hardware;
use crate::state::loaded_program::{LoadedProgram, Segment};
use crate::state::mailbox::order;
use crate::state::schedule::NEVER;
use crate::state::vcpu::CpuState;
use Instruction as I;
use ProgramInterruption as P;
use arch::address::{Absolute, Real};
use arch::psw::{ADDRESSING_64, Psw};
use command::Change;
use core::sync::atomic::Ordering;
use cpumf::instruction::load_cpu_counter_set_controls;
use cpumf::instruction::load_sampling_controls;
use cpumf::sampling::request::SamplingRequest;
use cpumf::{ControlState, CounterSet};

fn diagnose_308(r1: u8) -> I {
    I::Diag {
        r1,
        r3: 1,
        second: at(0x308),
    }
}

/// A bench with two CPUs: basic counter set and basic sampling are active, an alert is pending, and a
/// short PSW is at 0.
fn measuring() -> Bench {
    let mut bench = Bench::new();
    bench.configuration.cpus = 2;
    let activity = bench.cpu.account.activity();
    let own = &mut bench.cpu.own;
    load_cpu_counter_set_controls(own, &activity, 0x0002_0002).unwrap();
    let request = SamplingRequest::basic(true, true, 5000, 0x1_0000, 0x2_0000);
    load_sampling_controls(own, &zerocopy::transmute!(request)).unwrap();
    own.lose_counter_data(CounterSet::Basic, &activity);
    load_cpu_counter_set_controls(own, &activity, 0x0002_0002).unwrap();
    bench.cpu.general[5] = 55;
    bench.cpu.control[4] = 44;
    bench.set_doublewords(0, &[0x0008_0000_8000_4000]);
    bench.hardware.floating_point_control = 0xF800_0000;
    bench.hardware.vectors = [1 << 127 | 1; 32];
    bench.hardware.access = [2; 16];
    bench
}

/// Whether the floating-point-control register, the vector registers with the floating-point registers,
/// and the access registers are clear.
fn cleared(bench: &Bench) -> [bool; 3] {
    let hardware = &bench.hardware;
    [
        hardware.floating_point_control == 0,
        hardware.vectors == [0; 32],
        hardware.access == [0; 16],
    ]
}

#[test]
fn load_normal_resets_this_cpu_initially_and_the_others_and_goes_on_at_the_psw_at_0() {
    let mut bench = measuring();
    bench.cpu.general[1] = 1;
    assert_eq!(issue(&mut bench, diagnose_308(2)), Ok(Outcome::Jumped));
    assert_eq!(bench.cpu.psw.address, 0x4000);
    assert_eq!(bench.cpu.psw.mask, 0x8000_0000, "bit 12 is inverted");
    assert_eq!((bench.cpu.general[5], bench.cpu.control[4]), (55, 0));
    assert_eq!(cleared(&bench), [true, false, false]);
    let own = &bench.cpu.own;
    let basic = own.counters().state(CounterSet::Basic);
    assert_eq!(basic, ControlState::Disabled);
    assert_eq!(own.sampling().basic(), ControlState::Disabled);
    assert!(!own.alerts().any());
    let orders = bench.configuration.mailboxes[1]
        .orders
        .load(Ordering::Relaxed);
    assert_eq!(orders, order::CPU_RESET);
    let own = &bench.configuration.mailboxes[0].orders;
    assert_eq!(own.load(Ordering::Relaxed), 0);
}

#[test]
fn clear_reset_clears_all_registers_and_leaves_storage_keys_and_authorization_alone() {
    let mut bench = measuring();
    bench.set_doublewords(0x3000, &[7]);
    bench.hardware.keys[3] = 0x34;
    bench.cpu.general[1] = 0;
    let authorized = bench.cpu.own.counters().authorized();
    assert_eq!(issue(&mut bench, diagnose_308(2)), Ok(Outcome::Jumped));
    assert_eq!(bench.cpu.general, [0; 16]);
    assert_eq!(cleared(&bench), [true; 3]);
    assert_eq!(bench.hardware.keys[3], 0x34);
    assert_eq!(bench.doubleword(0x3000), 7);
    assert_eq!(bench.cpu.own.counters().authorized(), authorized);
    let orders = bench.configuration.mailboxes[1]
        .orders
        .load(Ordering::Relaxed);
    assert_eq!(orders, order::CLEAR_RESET);
}

#[test]
fn cpu_reset_leaves_everything_enabled_and_inactive_and_no_sample_is_due() {
    let mut bench = measuring();
    bench.cpu.pending_work |= crate::state::pending_work::PendingWork::SAMPLING;
    let dear = bench.cpu.own.sampling().dear();
    bench.configuration.mailboxes[0]
        .orders
        .store(order::CPU_RESET, Ordering::Relaxed);
    super::super::take_orders(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    crate::measuring::schedule::arm(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    let own = &bench.cpu.own;
    let basic = own.counters().state(CounterSet::Basic);
    assert_eq!(basic, ControlState::Inactive);
    assert_eq!(own.sampling().basic(), ControlState::Inactive);
    assert_eq!(own.sampling().dear(), dear);
    assert!(!own.alerts().any());
    assert_eq!(bench.cpu.sampling.own, NEVER);
    assert_eq!(cleared(&bench), [false; 3]);
}

#[test]
fn a_change_by_the_operator_comes_before_the_reset_that_waits_with_it() {
    let mut bench = measuring();
    let unauthorize = Change::BasicSampling(false);
    crate::external_means::ask(&bench.configuration, 0, unauthorize).unwrap();
    bench.configuration.mailboxes[0]
        .orders
        .fetch_or(order::INITIAL_CPU_RESET, Ordering::Relaxed);
    super::super::take_orders(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    assert_eq!(bench.cpu.own.sampling().basic(), ControlState::Unauthorized);
    assert!(!bench.cpu.own.alerts().any(), "the reset has cleared it");
}

#[test]
fn there_are_no_load_parameters_to_set_or_store_and_nothing_to_load_without_a_program() {
    let mut bench = Bench::new();
    bench.cpu.general[2] = 0x3000;
    for (subcode, response) in [(5, 0x402), (6, 0x102)] {
        bench.cpu.general[1] = subcode;
        assert_eq!(issue(&mut bench, diagnose_308(2)), Ok(Outcome::Completed));
        assert_eq!(bench.cpu.general[3], response);
        assert_eq!(exception(&mut bench, diagnose_308(3)), P::Specification);
    }
    bench.cpu.general[2] = bench.configuration.storage.end();
    assert_eq!(exception(&mut bench, diagnose_308(2)), P::Addressing);
    bench.cpu.general[2] = 0x3008;
    assert_eq!(exception(&mut bench, diagnose_308(2)), P::Specification);
    for subcode in [2, 3, 4, 7, 0x1_0000_0001] {
        bench.cpu.general[1] = subcode;
        assert_eq!(exception(&mut bench, diagnose_308(2)), P::Specification);
    }
}

/// A program of one doubleword at 5000, which its PSW designates.
pub(super) fn loaded(bench: &mut Bench) {
    let kept = bench.configuration.storage.end() + bench.hardware.hsa.len() as u64 - 0x1000;
    bench.hardware.hsa_store(Real(kept), 0x1122_3344_5566_7788);
    let mut program = LoadedProgram::new(Psw {
        mask: ADDRESSING_64,
        address: 0x5000,
    });
    let segment = Segment {
        destination: Absolute(0x5000),
        length: 8,
        kept: Real(kept),
        kept_length: 8,
    };
    program.add(segment).unwrap();
    bench.configuration.loaded_program = program;
}

#[test]
fn a_load_brings_the_program_back_and_load_clear_clears_everything_else() {
    for (subcode, cleared) in [(3, true), (4, false)] {
        let mut bench = measuring();
        loaded(&mut bench);
        bench.set_doublewords(0x3000, &[7]);
        bench.set_doublewords(0x5000, &[8]);
        bench.cpu.prefix = 0x8000;
        bench.cpu.general[1] = subcode;
        assert_eq!(issue(&mut bench, diagnose_308(2)), Ok(Outcome::Jumped));
        assert_eq!(bench.doubleword(0x5000), 0x1122_3344_5566_7788);
        assert_eq!(bench.doubleword(0x3000), if cleared { 0 } else { 7 });
        assert_eq!(
            (bench.cpu.psw.mask, bench.cpu.psw.address),
            (ADDRESSING_64, 0x5000)
        );
        assert_eq!(
            (bench.cpu.prefix, bench.cpu.state),
            (0, CpuState::Operating)
        );
        assert_eq!(bench.cpu.general[5], if cleared { 0 } else { 55 });
        let own = &bench.cpu.own;
        assert_eq!(own.sampling().basic(), ControlState::Disabled);
        let orders = bench.configuration.mailboxes[1]
            .orders
            .load(Ordering::Relaxed);
        let expected = if cleared {
            order::CLEAR_RESET
        } else {
            order::CPU_RESET
        };
        assert_eq!(orders, expected);
        assert_eq!(bench.hardware.loads, 1);
    }
}

#[test]
fn every_reset_of_a_cpu_purges_its_translations() {
    for order in [
        order::CPU_RESET,
        order::INITIAL_CPU_RESET,
        order::CLEAR_RESET,
    ] {
        let mut bench = measuring();
        let before = bench.hardware.purges;
        bench.configuration.mailboxes[0]
            .orders
            .store(order, Ordering::Relaxed);
        dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        assert_eq!(bench.hardware.purges, before + 1, "{order:X}");
    }
}
