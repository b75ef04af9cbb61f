//! SIGNAL PROCESSOR, and carrying out orders.

use super::super::take_orders;
use super::*;
use crate::dispatch::{self, Next};
use crate::state::account::Mode;
use crate::state::configuration::Configuration;
use crate::state::mailbox::order;
use crate::state::pending_work::PendingWork;
use crate::state::vcpu::CpuState;
use Instruction as I;
use arch::address::Absolute;
use arch::facility::{FacilityList, VECTOR};
use arch::psw::{ADDRESSING_64, EXTERNAL, IO, Psw, WAIT};
use core::sync::atomic::{AtomicU32, Ordering};

/// Issues SIGNAL PROCESSOR from CPU 0; returns condition code and status.
fn sigp(bench: &mut Bench, order: i32, cpu: u64, parameter: u64) -> (u8, u32) {
    (
        bench.cpu.general[2],
        bench.cpu.general[3],
        bench.cpu.general[5],
    ) = (0, parameter, cpu);
    let code = complete(
        bench,
        I::Sigp {
            r1: 2,
            r3: 5,
            second: at(order),
        },
    );
    (code, bench.cpu.general[2] as u32)
}

/// A bench with two CPUs; CPU 1 is stopped.
fn two() -> Bench {
    let mut bench = Bench::new();
    bench.configuration.cpus = 2;
    bench.configuration.facilities = FacilityList::default().with(VECTOR);
    bench
}

/// Makes the bench's CPU another CPU for a moment, which takes its orders.
fn obey(bench: &mut Bench, address: u16, state: CpuState) -> CpuState {
    let was = bench.cpu.state;
    (bench.cpu.address, bench.cpu.state) = (address, state);
    take_orders(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    let state = bench.cpu.state;
    (bench.cpu.address, bench.cpu.state) = (0, was);
    state
}

#[test]
fn a_cpu_that_is_not_in_the_configuration_is_not_operational_before_its_order_is_looked_at() {
    let mut bench = two();
    assert_eq!(sigp(&mut bench, 0xFF, 2, 0), (3, 0));
    assert_eq!(sigp(&mut bench, 0xFF, 1, 0), (1, 0x02));
    assert!(bench.hardware.woken.is_empty());
}

#[test]
fn sense_shows_a_stopped_cpu_and_a_pending_external_call() {
    let mut bench = two();
    assert_eq!(sigp(&mut bench, 0x01, 0, 0), (0, 0));
    assert_eq!(sigp(&mut bench, 0x01, 1, 0), (1, 0x40));
    assert_eq!(sigp(&mut bench, 0x02, 1, 0), (0, 0));
    assert_eq!(sigp(&mut bench, 0x02, 1, 0), (1, 0x80));
    assert_eq!(sigp(&mut bench, 0x01, 1, 0), (1, 0xC0));
    assert_eq!(
        bench.configuration.mailboxes[1]
            .external_call
            .load(Ordering::Relaxed),
        1
    );
    assert_eq!(bench.hardware.woken, [1]);
}

#[test]
fn a_stopped_cpu_refuses_a_conditional_emergency_signal_to_another_space_or_to_a_wait_at_zero() {
    const BOTH: u64 = IO | EXTERNAL;
    // (mask and address of the PSW, address-space number in the parameter, whether the signal becomes pending)
    let cases = [
        (0, 0x1000, 7, true),
        (EXTERNAL, 0x1000, 7, true),
        (IO | WAIT, 0, 7, true),
        (BOTH | WAIT, 0x1000, 7, true),
        (BOTH | WAIT, 0, 7, false),
        (BOTH | WAIT, 0, 5, false),
        (BOTH, 0, 7, false),
        (BOTH, 0x1000, 7, false),
        (BOTH, 0x1000, 5, true),
        (BOTH, 0x1000, 6, true),
        (BOTH, 0x1000, 0xABCD_0006, true),
    ];
    for (mask, address, asn, is_pending) in cases {
        let mut bench = two();
        let own = bench.cpu.psw;
        bench.cpu.psw = Psw {
            mask: ADDRESSING_64 | mask,
            address,
        };
        (bench.cpu.control[3], bench.cpu.control[4]) = (0xFFFF_0006, 0xFFFF_0005);
        // It operates, whatever its PSW is.
        obey(&mut bench, 1, CpuState::Operating);
        let bare = bench.cpu.psw;
        bench.cpu.psw = own;
        assert_eq!(sigp(&mut bench, 0x13, 1, asn), (0, 0), "{mask:x} {asn}");
        let emergency = |bench: &Bench| {
            let mailbox = &bench.configuration.mailboxes[1];
            mailbox.emergency.swap(0, Ordering::Relaxed)
        };
        assert_eq!(emergency(&bench), 1);
        bench.cpu.psw = bare;
        obey(&mut bench, 1, CpuState::Stopped);
        bench.cpu.psw = own;
        let expected = if is_pending { (0, 0) } else { (1, 0x200) };
        assert_eq!(sigp(&mut bench, 0x13, 1, asn), expected, "{mask:x} {asn}");
        assert_eq!(emergency(&bench), u32::from(is_pending));
    }
}

#[test]
fn emergency_signals_are_kept_by_signalling_cpu() {
    let mut bench = two();
    assert_eq!(sigp(&mut bench, 0x03, 1, 0), (0, 0));
    assert_eq!(sigp(&mut bench, 0x03, 1, 0), (0, 0));
    assert_eq!(
        bench.configuration.mailboxes[1]
            .emergency
            .load(Ordering::Relaxed),
        1
    );
    assert_eq!(sigp(&mut bench, 0x03, 0, 0), (0, 0));
    assert!(bench.cpu.pending_work.any(PendingWork::ATTENTION));
}

#[test]
fn a_cpu_that_signals_another_gives_up_its_turn() {
    let mut bench = two();
    bench.cpu.general[5] = 1;
    let instruction = I::Sigp {
        r1: 2,
        r3: 5,
        second: at(0x01),
    };
    assert_eq!(issue(&mut bench, instruction), Ok(Outcome::Yield));
    bench.cpu.general[5] = 0;
    assert_eq!(issue(&mut bench, instruction), Ok(Outcome::Completed));
}

#[test]
fn an_order_makes_the_cpu_busy_until_it_is_carried_out() {
    let mut bench = two();
    assert_eq!(sigp(&mut bench, 0x04, 1, 0), (0, 0));
    // Whatever it is to do next, except a reset; an order that is not assigned is refused as ever.
    for order in [1, 2, 3, 4, 5, 6, 9, 0xD, 0xE, 0x13, 0x15] {
        assert_eq!(sigp(&mut bench, order, 1, 0), (2, 0), "{order:X}");
    }
    assert_eq!(sigp(&mut bench, 0xFF, 1, 0), (1, 0x02));
    assert_eq!(obey(&mut bench, 1, CpuState::Stopped), CpuState::Operating);
    assert_eq!(sigp(&mut bench, 0x01, 1, 0), (0, 0));
    assert_eq!(sigp(&mut bench, 0x05, 1, 0), (0, 0));
    assert_eq!(obey(&mut bench, 1, CpuState::Operating), CpuState::Stopped);
    assert_eq!(sigp(&mut bench, 0x01, 1, 0), (1, 0x40));
}

#[test]
fn set_prefix_requires_a_stopped_cpu_and_an_area_in_storage() {
    let mut bench = two();
    let end = bench.configuration.storage.end();
    assert_eq!(sigp(&mut bench, 0x0D, 0, 0x4000), (1, 0x200));
    assert_eq!(sigp(&mut bench, 0x0D, 1, end), (1, 0x100));
    assert_eq!(sigp(&mut bench, 0x0D, 1, 0x5FFF), (0, 0));
    obey(&mut bench, 1, CpuState::Stopped);
    assert_eq!(bench.cpu.prefix, 0x4000);
}

#[test]
fn restart_exchanges_the_psws_and_makes_the_cpu_operate() {
    let mut bench = two();
    let new = Psw {
        mask: ADDRESSING_64,
        address: 0x1234,
    };
    bench.set_doublewords(0x1A0, &[new.mask, new.address]);
    bench.cpu.psw.address = 0x5678;
    assert_eq!(sigp(&mut bench, 0x06, 1, 0), (0, 0));
    assert_eq!(obey(&mut bench, 1, CpuState::Stopped), CpuState::Operating);
    assert_eq!(bench.cpu.psw, new);
    assert_eq!(bench.doubleword(0x128), 0x5678);
}

#[test]
fn stop_and_store_status_fills_the_save_area_at_absolute_1200() {
    let mut bench = two();
    bench.cpu.prefix = 0x8000;
    bench.cpu.control[3] = 33;
    bench.cpu.clock_comparator = 0x1234_5678_9ABC_DEF0;
    bench.cpu.general[15] = 1515;
    bench.hardware.vectors[15] = 0x0123_4567_89AB_CDEF_u128 << 64;
    bench.hardware.floating_point_control = 0x0080_0000;
    bench.hardware.access[15] = 0xACCE_5515;
    assert_eq!(sigp(&mut bench, 0x09, 1, 0), (0, 0));
    assert_eq!(obey(&mut bench, 1, CpuState::Operating), CpuState::Stopped);
    assert_eq!(bench.doubleword(0x1278), 0x0123_4567_89AB_CDEF);
    assert_eq!(bench.doubleword(0x12F8), 1515);
    assert_eq!(bench.doubleword(0x1300), bench.cpu.psw.mask);
    assert_eq!(bench.word(0x1318), 0x8000);
    assert_eq!(bench.word(0x131C), 0x0080_0000);
    assert_eq!(bench.word(0x137C), 0xACCE_5515);
    assert_eq!(bench.doubleword(0x1330), 0x0012_3456_789A_BCDE);
    assert_eq!(bench.doubleword(0x1398), 33);
    assert_eq!(bench.hardware.storage[0xA3], 1);
}

#[test]
fn store_status_at_address_stores_there_only() {
    let mut bench = two();
    bench.cpu.general[15] = 1515;
    assert_eq!(sigp(&mut bench, 0x0E, 1, 0x2_0001), (0, 0));
    obey(&mut bench, 1, CpuState::Stopped);
    assert_eq!(bench.doubleword(0x2_00F8), 1515);
    assert_eq!(bench.doubleword(0x12F8), 0);
}

#[test]
fn store_additional_status_stores_the_vector_registers_on_a_1024_byte_boundary() {
    let mut bench = two();
    bench.hardware.vectors = core::array::from_fn(|n| (n as u128) << 120 | n as u128);
    let end = bench.configuration.storage.end();
    for parameter in [0x2_0200, 0x2_0001, 0x2_000A, end, u64::MAX << 32] {
        let answer = sigp(&mut bench, 0x17, 1, parameter);
        assert_eq!(answer, (1, 0x100), "{parameter:X}");
    }
    assert_eq!(sigp(&mut bench, 0x17, 0, 0x2_0000), (1, 0x200));
    bench.set(0x2_0200, &[0x55; 512]);
    assert_eq!(sigp(&mut bench, 0x17, 1, 0x2_0000), (0, 0));
    obey(&mut bench, 1, CpuState::Stopped);
    for n in 0..32 {
        assert_eq!(bench.doubleword(0x2_0000 + 16 * n), n << 56);
        assert_eq!(bench.doubleword(0x2_0008 + 16 * n), n);
    }
    let mut rest = [0; 512];
    bench.hardware.load(Absolute(0x2_0200), &mut rest);
    assert_eq!(rest, [0x55; 512]);
}

#[test]
fn store_additional_status_is_an_invalid_order_without_the_vector_facility() {
    let mut bench = two();
    bench.configuration.facilities = FacilityList::default();
    assert_eq!(sigp(&mut bench, 0x17, 1, 0x2_0000), (1, 0x02));
}

#[test]
fn what_a_stopped_cpu_is_to_store_is_there_when_signal_processor_ends() {
    // In exact mode: the CPU has the next turn, before any other one that is ready.
    let mut bench = two();
    bench.configuration.mode = Mode::Exact { shift: 0 };
    for (order, favoured) in [(0x0D, 2), (0x0E, 2), (0x17, 2), (0x04, 0)] {
        assert_eq!(sigp(&mut bench, order, 1, 0x4000), (0, 0));
        let given = bench.configuration.favoured.swap(0, Ordering::Relaxed);
        assert_eq!(given, favoured, "{order:X}");
        obey(&mut bench, 1, CpuState::Stopped);
    }
}

#[test]
fn a_cpu_is_busy_until_it_has_carried_out_its_orders() {
    let Bench {
        cpu,
        configuration,
        hardware,
    } = Box::leak(Box::new(two()));
    let configuration: &Configuration = configuration;
    let orders = &configuration.mailboxes[1].orders;
    let looks: &AtomicU32 = Box::leak(Box::default());
    hardware.store_watcher = Some(Box::new(|| {
        assert_ne!(orders.load(Ordering::Relaxed), 0);
        looks.fetch_add(1, Ordering::Relaxed);
    }));
    cpu.address = 1;
    orders.store(order::STORE_STATUS, Ordering::Relaxed);
    take_orders(cpu, configuration, hardware);
    assert_ne!(looks.load(Ordering::Relaxed), 0);
    assert_eq!(orders.load(Ordering::Relaxed), 0);
}

#[test]
fn the_cpu_timer_of_a_stopped_cpu_stands_still() {
    let mut bench = two();
    bench.hardware.timer = 1000;
    assert_eq!(sigp(&mut bench, 0x05, 1, 0), (0, 0));
    assert_eq!(obey(&mut bench, 1, CpuState::Operating), CpuState::Stopped);
    bench.hardware.timer = 400;
    assert_eq!(sigp(&mut bench, 0x0E, 1, 0x2_0000), (0, 0));
    obey(&mut bench, 1, CpuState::Stopped);
    assert_eq!(bench.doubleword(0x2_0128), 1000);
    assert_eq!(sigp(&mut bench, 0x04, 1, 0), (0, 0));
    assert_eq!(obey(&mut bench, 1, CpuState::Stopped), CpuState::Operating);
    assert_eq!(
        (bench.hardware.timer, bench.cpu.standing_timer),
        (1000, None)
    );
    // Initial CPU reset sets it to zero, and CPU reset does not.
    for (order, timer) in [(0x0C, 1000), (0x0B, 0)] {
        assert_eq!(sigp(&mut bench, order, 1, 0), (0, 0));
        assert_eq!(obey(&mut bench, 1, CpuState::Operating), CpuState::Stopped);
        bench.hardware.timer = 400;
        assert_eq!(bench.cpu.standing_timer, Some(timer));
        bench.hardware.timer = 1000;
        bench.cpu.standing_timer = None;
    }
}

#[test]
fn a_reset_is_accepted_by_a_busy_cpu_and_ends_what_made_it_busy() {
    let mut bench = two();
    assert_eq!(sigp(&mut bench, 0x03, 1, 0), (0, 0));
    assert_eq!(sigp(&mut bench, 0x04, 1, 0), (0, 0));
    assert_eq!(sigp(&mut bench, 0x0B, 1, 0), (0, 0));
    bench.cpu.prefix = 0x4000;
    bench.cpu.control[1] = 7;
    assert_eq!(obey(&mut bench, 1, CpuState::Operating), CpuState::Stopped);
    assert_eq!((bench.cpu.prefix, bench.cpu.control[1]), (0, 0));
    assert_eq!(
        (bench.cpu.control[0], bench.cpu.control[14]),
        (0xE0, 0xC200_0000)
    );
    assert_eq!(
        bench.configuration.mailboxes[1]
            .emergency
            .load(Ordering::Relaxed),
        0
    );
    assert_eq!(sigp(&mut bench, 0x01, 1, 0), (1, 0x40));
}

#[test]
fn the_configuration_is_always_in_the_z_architecture_mode() {
    assert_eq!(sigp(&mut two(), 0x12, 0, 1), (1, 0x100));
}

/// Makes the bench's CPU another CPU for a moment, which goes as far as it can with its PSW.
fn go_on(bench: &mut Bench, address: u16, state: CpuState, psw: Psw) -> Next {
    let (was, own) = (bench.cpu.state, bench.cpu.psw);
    (bench.cpu.address, bench.cpu.state, bench.cpu.psw) = (address, state, psw);
    bench.cpu.pending_work |= PendingWork::ATTENTION;
    let next = dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    (bench.cpu.address, bench.cpu.state, bench.cpu.psw) = (0, was, own);
    next
}

#[test]
fn a_cpu_is_running_unless_it_waits_or_is_not_operating() {
    let mut bench = two();
    let mut running = |state, mask| {
        let psw = Psw {
            mask: ADDRESSING_64 | mask,
            address: 0x1000,
        };
        let next = go_on(&mut bench, 1, state, psw);
        (next, sigp(&mut bench, 0x15, 1, 0))
    };
    let not_running = (1, 0x400);
    assert_eq!(running(CpuState::Operating, 0), (Next::Run, (0, 0)));
    assert_eq!(
        running(CpuState::Operating, WAIT | EXTERNAL),
        (Next::Wait, not_running)
    );
    assert_eq!(running(CpuState::Operating, 0), (Next::Run, (0, 0)));
    assert_eq!(
        running(CpuState::Operating, WAIT),
        (Next::Ended, not_running)
    );
    assert_eq!(running(CpuState::Stopped, 0), (Next::Stopped, not_running));
    assert_eq!(running(CpuState::CheckStop, 0), (Next::Ended, not_running));
    assert_eq!(sigp(&mut bench, 0x15, 0, 0), (0, 0), "the CPU itself runs");
}

#[test]
fn the_check_stop_state_can_be_sensed_as_soon_as_a_cpu_has_entered_it() {
    let mut bench = two();
    // An invalid PSW, and a program new PSW that is invalid too.
    let psw = Psw {
        mask: u64::MAX,
        address: 0,
    };
    bench.set_doublewords(0x1D0, &[u64::MAX, 0]);
    let next = go_on(&mut bench, 1, CpuState::Operating, psw);
    assert_eq!(next, Next::Ended);
    assert_eq!(sigp(&mut bench, 0x01, 1, 0), (1, 0x10));
}

/// Two cores of two threads; every CPU but 0 is stopped.
fn cores() -> Bench {
    let mut bench = Bench::new();
    bench.configuration.cpus = 4;
    bench.configuration.threads = crate::state::threads::Threads::new(2);
    bench
}

#[test]
fn set_multithreading_is_an_invalid_order_where_cores_have_one_thread() {
    let mut bench = two();
    assert_eq!(sigp(&mut bench, 0x16, 0, 1), (1, 0x02));
    // The order is for the configuration: the CPU address is ignored.
    assert_eq!(sigp(&mut bench, 0x16, 77, 1), (1, 0x02));
}

#[test]
fn set_multithreading_makes_threads_of_cores() {
    let mut bench = cores();
    assert_eq!(sigp(&mut bench, 0x01, 1, 0), (1, 0x40));
    assert_eq!(sigp(&mut bench, 0x01, 2, 0).0, 3);
    assert_eq!(sigp(&mut bench, 0x16, 77, 1), (0, 0));
    assert_eq!(sigp(&mut bench, 0x01, 3, 0), (1, 0x40));
    assert_eq!(sigp(&mut bench, 0x01, 4, 0).0, 3);
    // The order is invalid now.
    assert_eq!(sigp(&mut bench, 0x16, 0, 1), (1, 0x02));
    assert_eq!(sigp(&mut bench, 0x16, 0, 0), (1, 0x02));
    // CPU resets leave it enabled.
    assert_eq!(sigp(&mut bench, 0x0B, 3, 0), (0, 0));
    obey(&mut bench, 3, CpuState::Stopped);
    assert!(bench.configuration.threads.enabled());
}

#[test]
fn set_multithreading_accepts_zero_and_changes_nothing() {
    let mut bench = cores();
    assert_eq!(sigp(&mut bench, 0x16, 0, 0), (0, 0));
    assert!(!bench.configuration.threads.enabled());
}

#[test]
fn set_multithreading_is_issued_with_zero_and_then_again_after_a_load() {
    let mut bench = cores();
    assert_eq!(sigp(&mut bench, 0x16, 0, 1), (0, 0));
    // As a load does.
    bench.configuration.threads.disable();
    crate::measuring::threads::take_note(&mut bench.cpu, &bench.configuration);
    assert_eq!(sigp(&mut bench, 0x16, 0, 0), (0, 0));
    assert!(!bench.configuration.threads.enabled());
    assert_eq!(sigp(&mut bench, 0x16, 0, 1), (0, 0));
    assert!(bench.configuration.threads.enabled());
}

#[test]
fn set_multithreading_refuses_a_wrong_parameter_before_other_cpus_are_looked_at() {
    let mut bench = cores();
    let state = &bench.configuration.mailboxes[3].state;
    state.store(CpuState::Operating as u8, Ordering::Relaxed);
    for parameter in [2, 31, 33, 0x8000_0001] {
        let answer = sigp(&mut bench, 0x16, 0, parameter);
        assert_eq!(answer, (1, 0x100), "{parameter:X}");
    }
    assert_eq!(sigp(&mut bench, 0x16, 0, 1), (1, 0x200));
    let mailbox = &bench.configuration.mailboxes[3];
    mailbox
        .state
        .store(CpuState::CheckStop as u8, Ordering::Relaxed);
    mailbox.orders.store(1, Ordering::Relaxed);
    assert_eq!(sigp(&mut bench, 0x16, 0, 1).0, 2);
    bench.configuration.mailboxes[3]
        .orders
        .store(0, Ordering::Relaxed);
    assert_eq!(sigp(&mut bench, 0x16, 0, 1), (0, 0));
}

#[test]
fn orders_and_signals_go_to_the_cpu_that_the_address_stands_for_at_the_time() {
    let mut bench = cores();
    // Core 1 is CPU number 2.
    assert_eq!(sigp(&mut bench, 0x03, 1, 0), (0, 0));
    assert_eq!(bench.hardware.woken, [2]);
    let emergency = |bench: &Bench, cpu: usize| {
        let mailbox = &bench.configuration.mailboxes[cpu];
        mailbox.emergency.load(Ordering::Relaxed)
    };
    assert_eq!((emergency(&bench, 1), emergency(&bench, 2)), (0, 1));
    assert_eq!(sigp(&mut bench, 0x16, 0, 1), (0, 0));
    assert_eq!(sigp(&mut bench, 0x03, 1, 0), (0, 0));
    assert_eq!((emergency(&bench, 1), emergency(&bench, 2)), (1, 1));
}

#[test]
fn an_exit_code_stops_all_cpus_and_no_order_starts_one_again() {
    let mut bench = two();
    let diagnose = I::Diag {
        r1: 4,
        r3: 0,
        second: at(0x701),
    };
    bench.cpu.general[4] = 0x100;
    assert_eq!(
        exception(&mut bench, diagnose),
        ProgramInterruption::Specification
    );
    assert_eq!(bench.configuration.exit_code.get(), None);
    bench.cpu.general[4] = 0xFFFF_FFFF_0000_0007;
    complete(&mut bench, diagnose);
    assert_eq!(bench.hardware.woken, [1]);
    assert_eq!(
        obey(&mut bench, 1, CpuState::Operating),
        CpuState::Stopped,
        "the other CPU"
    );
    assert_eq!(obey(&mut bench, 0, CpuState::Operating), CpuState::Stopped);
    for restarting in [order::START, order::RESTART, order::CLEAR_RESET] {
        let orders = &bench.configuration.mailboxes[1].orders;
        orders.store(restarting, Ordering::Relaxed);
        assert_eq!(obey(&mut bench, 1, CpuState::Stopped), CpuState::Stopped);
    }
    bench.cpu.general[4] = 9;
    complete(&mut bench, diagnose);
    assert_eq!(bench.configuration.exit_code.get(), Some((0, 7)));
}
