//! Tests of what interruptions store, which PSW they load, and in which order they come.

use super::machine_check::{GUARDED_STORAGE_VALIDITY, VECTOR_VALIDITY};
use super::*;
use crate::hardware::Saved;
use crate::recording::per;
use crate::state::access::{Access, Space};
use crate::state::pending_work::PendingWork;
use crate::test_machine::Bench;
use ProgramInterruption as P;
use arch::address::Virtual;
use arch::control::{
    CR0_CLOCK_COMPARATOR, CR0_CPU_TIMER, CR0_EMERGENCY_SIGNAL, CR0_EXTERNAL_CALL,
    CR0_LOW_ADDRESS_PROTECTION, CR0_MEASUREMENT_ALERT, CR0_SERVICE_SIGNAL,
};
use arch::psw::{ADDRESSING_64, BASIC_ADDRESSING, BIT_12, DAT, EXTERNAL, PROBLEM, WAIT};
use core::sync::atomic::Ordering;
use cpumf::counters::{Activity, CounterSets};
use cpumf::instruction::load_cpu_counter_set_controls;
use proptest::prelude::*;

/// The prefix of the tests' CPU.
const PREFIX: u64 = 0x4_0000;
/// The PSW before an interruption.
const HERE: Psw = Psw {
    mask: ADDRESSING_64 | EXTERNAL | PROBLEM,
    address: 0x12_3456,
};

/// The new PSW of a class: disabled, and with an address of its own.
fn new_psw(class: Class) -> Psw {
    Psw {
        mask: ADDRESSING_64,
        address: 0x1000 * (class as u64 + 1),
    }
}

const CLASSES: [Class; 6] = [
    Class::Restart,
    Class::External,
    Class::SupervisorCall,
    Class::Program,
    Class::MachineCheck,
    Class::InputOutput,
];

/// A bench whose CPU has a prefix, low addresses protected, and good new PSWs.
fn bench() -> Bench {
    let mut bench = Bench::with_storage(1 << 20);
    bench.cpu.prefix = PREFIX;
    bench.cpu.psw = HERE;
    bench.cpu.control[0] = CR0_LOW_ADDRESS_PROTECTION;
    for class in CLASSES {
        let psw = new_psw(class);
        bench.set_doublewords(PREFIX + lowcore::new_psw(class), &[psw.mask, psw.address]);
    }
    bench.set(PREFIX + 0x80, &[0xEE; 0x98]);
    bench
}

fn old(bench: &Bench, class: Class) -> Psw {
    let at = PREFIX + lowcore::old_psw(class);
    Psw {
        mask: bench.doubleword(at),
        address: bench.doubleword(at + 8),
    }
}

/// Asserts that an interruption of a class took place at `HERE`.
#[track_caller]
fn exchanged(bench: &Bench, class: Class) {
    assert_eq!((bench.cpu.psw, old(bench, class)), (new_psw(class), HERE));
    assert!(bench.cpu.pending_work.any(PendingWork::ATTENTION));
}

fn program_of(bench: &mut Bench, fault: Fault, length: u8) {
    per::program(
        &mut bench.cpu,
        &bench.configuration,
        &mut bench.hardware,
        fault,
        length,
    );
}

fn deliver(bench: &mut Bench) -> bool {
    deliver_pending(&mut bench.cpu, &bench.configuration, &mut bench.hardware)
}

/// A word or doubleword of the prefix area that no interruption has stored into.
const UNTOUCHED: u64 = 0xEEEE_EEEE_EEEE_EEEE;

#[test]
fn a_nullified_instruction_is_designated_by_the_old_psw() {
    let mut bench = bench();
    let at = Virtual(0x55_5000);
    let fault = Fault::access(P::PageTranslation, at, Access::Store, Space::Home);
    program_of(&mut bench, fault, 6);
    exchanged(&bench, Class::Program);
    assert_eq!(bench.word(PREFIX + 0x8C), 0x0006_0011);
    assert_eq!(bench.doubleword(PREFIX + 0xA8), 0x55_5403);
    assert_eq!(bench.word(PREFIX + 0xA0) >> 24, 0);
}

#[test]
fn a_suppressed_instruction_is_stepped_over_in_its_addressing_mode() {
    let mut bench = bench();
    program_of(&mut bench, P::PrivilegedOperation.into(), 4);
    assert_eq!(bench.word(PREFIX + 0x8C), 0x0004_0002);
    assert_eq!(old(&bench, Class::Program).address, HERE.address + 4);
    assert_eq!(bench.doubleword(PREFIX + 0xA8), UNTOUCHED);
    bench.cpu.psw = Psw {
        mask: BASIC_ADDRESSING,
        address: 0x7FFF_FFFE,
    };
    program_of(&mut bench, P::Operation.into(), 4);
    assert_eq!(old(&bench, Class::Program).address, 2);
}

#[test]
fn an_addressing_exception_stores_no_identification_and_protection_does() {
    let mut bench = bench();
    program_of(&mut bench, P::Addressing.into(), 4);
    assert_eq!(bench.doubleword(PREFIX + 0xA8), UNTOUCHED);
    program_of(
        &mut bench,
        Fault::dat_protection(Virtual(0x1234), Space::Primary),
        4,
    );
    assert_eq!(bench.doubleword(PREFIX + 0xA8), 0x1404);
    assert_eq!(bench.word(PREFIX + 0x8C), 0x0004_0004);
}

#[test]
fn a_reflected_condition_stores_what_its_code_calls_for_and_nothing_else() {
    let condition = Condition {
        code: 0x07,
        length: 4,
        monitor_class: 0x00AB,
        monitor_code: 0x1122_3344,
        identification: 0x7777_7000,
        access_id: 5,
        operand_access: None,
        per: None,
    };
    let run = |code, per| {
        let mut bench = bench();
        let condition = Condition {
            code,
            per,
            ..condition
        };
        reflect(
            &mut bench.cpu,
            &bench.configuration,
            &mut bench.hardware,
            &condition,
        );
        exchanged(&bench, Class::Program);
        assert_eq!(bench.word(PREFIX + 0x8C) >> 16, 4);
        [0x90, 0x98, 0xA0, 0xA8, 0xB0].map(|at| bench.doubleword(PREFIX + at))
    };
    let untouched = [UNTOUCHED; 5];
    assert_eq!(run(0x08, None), untouched);
    let mut data = untouched;
    data[0] = 0x7777_7000_EEEE_EEEE;
    assert_eq!(run(0x07, None), data);
    let mut monitor = untouched;
    monitor[0] = 0xEEEE_EEEE_00AB_EEEE;
    monitor[4] = 0x1122_3344;
    assert_eq!(run(0x40, None), monitor);
    let mut access = untouched;
    access[2] = 0x05EE_EEEE_EEEE_EEEE;
    access[3] = 0x7777_7000;
    assert_eq!(run(0x04, None), access);
    let mut event = untouched;
    event[0] = 0xEEEE_EEEE_EEEE_4080;
    event[1] = 0x9999;
    event[2] = 0xEE03_EEEE_EEEE_EEEE;
    let per = Identification {
        events: 0x40,
        mode: 0x80,
        address: 0x9999,
        access: 3,
        ..Identification::default()
    };
    assert_eq!(run(0, Some(per)), event);
}

#[test]
fn a_per_event_is_a_bit_of_the_program_interruption_code() {
    let mut bench = bench();
    let condition = Condition {
        code: 0x09,
        length: 2,
        per: Some(Identification::default()),
        ..Condition::default()
    };
    reflect(
        &mut bench.cpu,
        &bench.configuration,
        &mut bench.hardware,
        &condition,
    );
    assert_eq!(bench.word(PREFIX + 0x8C), 0x0002_0089);
    let met = Interruption {
        cause: 0x0002_0089,
        ..Interruption::default()
    };
    assert_eq!(Condition::of(&met).code, 0x09);
}

#[test]
fn a_supervisor_call_stores_its_length_and_number() {
    let mut bench = bench();
    supervisor_call(
        &mut bench.cpu,
        &bench.configuration,
        &mut bench.hardware,
        0xA5,
        2,
    );
    exchanged(&bench, Class::SupervisorCall);
    assert_eq!(bench.word(PREFIX + 0x88), 0x0002_00A5);
}

#[test]
fn an_io_interruption_stores_three_words() {
    let mut bench = bench();
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &mut bench;
    io(
        cpu,
        configuration,
        hardware,
        IoInterruption {
            subsystem: 0x0001_0003,
            parameter: 0x89AB_CDEF,
            identification: 0x3800_0000,
        },
    );
    exchanged(&bench, Class::InputOutput);
    assert_eq!(bench.doubleword(PREFIX + 0xB8), 0x0001_0003_89AB_CDEF);
    assert_eq!(bench.word(PREFIX + 0xC0), 0x3800_0000);
}

#[test]
fn a_held_interruption_is_delivered_when_the_guest_is_enabled_for_it() {
    let mut bench = bench();
    let interruption = IoInterruption {
        subsystem: 0x0001_0003,
        parameter: 0x89AB_CDEF,
        identification: 0x1800_0000,
    };
    bench.configuration.channels.held.hold_io(interruption);
    bench
        .configuration
        .channels
        .held
        .hold_machine_check(0x0040_0000_0000_0000);
    bench.cpu.psw.mask &= !(EXTERNAL | IO | MACHINE_CHECK);
    bench.cpu.control[6] = 0;
    bench.cpu.control[14] = 0;
    assert!(!deliver(&mut bench));
    bench.cpu.psw.mask |= IO | MACHINE_CHECK;
    assert!(!deliver(&mut bench));
    bench.cpu.control[6] = 0x1000_0000;
    bench.cpu.control[14] = 0x1000_0000;
    bench.hardware.vectors[3] = 0x0123_4567_89AB_CDEF << 64;
    bench.hardware.access[2] = 0x1234;
    // The machine check comes first, with the registers of this CPU.
    assert!(deliver(&mut bench));
    assert_eq!(bench.doubleword(PREFIX + 0xE8), 0x0040_0000_0000_0000);
    assert_eq!(bench.doubleword(PREFIX + 0x1218), 0x0123_4567_89AB_CDEF);
    assert_eq!(bench.word(PREFIX + 0x1348), 0x1234);
    bench.cpu.psw.mask |= IO;
    assert!(deliver(&mut bench));
    assert_eq!(bench.doubleword(PREFIX + 0xB8), 0x0001_0003_89AB_CDEF);
    bench.cpu.psw.mask |= IO;
    assert!(!deliver(&mut bench));
}

#[test]
fn a_restart_only_exchanges_the_psw() {
    let mut bench = bench();
    restart(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    exchanged(&bench, Class::Restart);
    assert_eq!(bench.doubleword(PREFIX + 0x88), UNTOUCHED);
}

#[test]
fn a_machine_check_saves_the_registers_and_says_which_are_valid() {
    let mut bench = bench();
    bench.cpu.general[15] = 0xF00D;
    bench.cpu.control[13] = 0xD00D;
    bench.cpu.clock_comparator = 0x1122_3344_5566_7788;
    bench.hardware.timer = 0x0123;
    let mut saved = Saved {
        floating_point_control: 0x0080_0000,
        ..Saved::default()
    };
    saved.floating_point[1] = 0xF1;
    saved.access[2] = 0xA2;
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &mut bench;
    let code = 0x0040_0F5D_4003_0000 | VECTOR_VALIDITY | GUARDED_STORAGE_VALIDITY;
    machine_check(cpu, configuration, hardware, code, &saved);
    exchanged(&bench, Class::MachineCheck);
    let stored = code & !(VECTOR_VALIDITY | GUARDED_STORAGE_VALIDITY);
    assert_eq!(bench.doubleword(PREFIX + 0xE8), stored);
    assert_eq!(bench.doubleword(PREFIX + 0x1208), 0xF1);
    assert_eq!(bench.doubleword(PREFIX + 0x1280 + 15 * 8), 0xF00D);
    assert_eq!(bench.word(PREFIX + 0x131C), 0x0080_0000);
    assert_eq!(bench.doubleword(PREFIX + 0x1328), 0x0123);
    assert_eq!(bench.doubleword(PREFIX + 0x1330), 0x0011_2233_4455_6677);
    assert_eq!(bench.word(PREFIX + 0x1348), 0xA2);
    assert_eq!(bench.doubleword(PREFIX + 0x1380 + 13 * 8), 0xD00D);
}

/// Everything pending at once, all subclasses enabled.
fn everything_pending() -> Bench {
    let mut bench = bench();
    bench.cpu.control[0] = CR0_EMERGENCY_SIGNAL
        | CR0_EXTERNAL_CALL
        | CR0_CLOCK_COMPARATOR
        | CR0_CPU_TIMER
        | CR0_SERVICE_SIGNAL
        | CR0_MEASUREMENT_ALERT;
    let mailbox = &bench.configuration.mailboxes[0];
    mailbox.emergency.store(0b1010, Ordering::Relaxed);
    mailbox.external_call.store(3, Ordering::Relaxed);
    bench
        .configuration
        .service_signal
        .store(0x0001_2000, Ordering::Relaxed);
    bench.cpu.clock_comparator = 999;
    bench.hardware.tod = 1000;
    bench.hardware.timer = u64::MAX;
    let own = &mut bench.cpu.own;
    load_cpu_counter_set_controls(own, &Activity::NONE, 0x0006_0000).unwrap();
    own.authorize_counters(CounterSets::NONE, &Activity::NONE);
    assert_eq!(own.alerts().parameter(), 0x80);
    bench
}

/// Delivers one external interruption: signalling CPU and code, and the parameter.
#[track_caller]
fn next_external(bench: &mut Bench) -> (u32, u32) {
    bench.cpu.psw = HERE;
    bench.set(PREFIX + 0x80, &[0xEE; 8]);
    assert!(deliver(bench));
    exchanged(bench, Class::External);
    (bench.word(PREFIX + 0x84), bench.word(PREFIX + 0x80))
}

#[test]
fn signals_come_from_cores_until_multithreading_is_enabled_and_from_threads_after_it() {
    const NONE: u32 = UNTOUCHED as u32;
    for (enabled, signals) in [(false, [0, 1, 1]), (true, [1, 3, 2])] {
        let mut bench = everything_pending();
        bench.configuration.cpus = 4;
        bench.configuration.threads = crate::state::threads::Threads::new(2);
        if enabled {
            bench.configuration.threads.enable();
        }
        for (address, code) in signals.into_iter().zip([0x1201, 0x1201, 0x1202]) {
            assert_eq!(next_external(&mut bench), (address << 16 | code, NONE));
        }
    }
}

#[test]
fn external_conditions_are_taken_in_the_architected_order_and_once_each() {
    const NONE: u32 = UNTOUCHED as u32;
    let mut bench = everything_pending();
    assert_eq!(next_external(&mut bench), (0x0001_1201, NONE));
    assert_eq!(next_external(&mut bench), (0x0003_1201, NONE));
    assert_eq!(next_external(&mut bench), (0x0002_1202, NONE));
    // The timers are levels: they interrupt again until the program sets them.
    assert_eq!(next_external(&mut bench), (0x1004, NONE));
    assert_eq!(next_external(&mut bench), (0x1004, NONE));
    bench.cpu.clock_comparator = 1000;
    assert_eq!(next_external(&mut bench), (0x1005, NONE));
    bench.hardware.timer = 0;
    assert_eq!(next_external(&mut bench), (0x2401, 0x0001_2000));
    assert_eq!(next_external(&mut bench), (0x1407, 0x80));
    bench.cpu.psw = HERE;
    assert!(!deliver(&mut bench) && !any_open(&bench.cpu, &bench.configuration));
    assert_eq!(bench.cpu.psw, HERE);
}

#[test]
fn a_condition_stays_pending_while_its_subclass_mask_is_zero() {
    let subclasses = [
        (CR0_EMERGENCY_SIGNAL, 0x1201),
        (CR0_EXTERNAL_CALL, 0x1202),
        (CR0_CLOCK_COMPARATOR, 0x1004),
        (CR0_CPU_TIMER, 0x1005),
        (CR0_SERVICE_SIGNAL, 0x2401),
        (CR0_MEASUREMENT_ALERT, 0x1407),
    ];
    let mut bench = everything_pending();
    bench.cpu.control[0] = 0;
    refresh(&mut bench.cpu, &bench.hardware);
    assert!(!any_open(&bench.cpu, &bench.configuration) && !deliver(&mut bench));
    for (subclass, code) in subclasses {
        bench.cpu.psw = HERE;
        bench.cpu.control[0] = subclass;
        assert!(any_open(&bench.cpu, &bench.configuration));
        assert_eq!(next_external(&mut bench).0 & 0xFFFF, code);
    }
}

#[test]
fn no_external_interruption_is_taken_when_the_psw_is_disabled_or_the_cpu_does_not_operate() {
    let mut bench = everything_pending();
    bench.cpu.psw.mask &= !EXTERNAL;
    assert!(!deliver(&mut bench) && !any_open(&bench.cpu, &bench.configuration));
    bench.cpu.psw = HERE;
    bench.cpu.state = CpuState::Stopped;
    assert!(!deliver(&mut bench) && !any_open(&bench.cpu, &bench.configuration));
    bench.cpu.state = CpuState::Operating;
    assert!(any_open(&bench.cpu, &bench.configuration) && deliver(&mut bench));
}

#[test]
fn an_interruption_ends_the_wait_and_the_old_psw_still_shows_it() {
    let mut bench = everything_pending();
    bench.cpu.psw.mask |= WAIT;
    assert!(deliver(&mut bench));
    assert!(!bench.cpu.psw.wait() && old(&bench, Class::External).wait());
}

#[test]
fn a_refused_psw_interrupts_before_anything_pending_with_length_0() {
    let mut bench = everything_pending();
    let bad = Psw {
        mask: HERE.mask | BIT_12 | WAIT,
        address: 0x777,
    };
    bench.cpu.pending_work.clear(PendingWork::ATTENTION);
    load_psw(&mut bench.cpu, bad);
    assert!(bench.cpu.pending_work.any(PendingWork::ATTENTION));
    assert!(deliver(&mut bench));
    assert_eq!(
        (bench.cpu.psw, old(&bench, Class::Program)),
        (new_psw(Class::Program), bad)
    );
    assert_eq!(bench.word(PREFIX + 0x8C), 0x0000_0006);
    // The program new PSW disables external interruptions, so they wait.
    assert!(!deliver(&mut bench));
}

#[test]
fn a_good_psw_is_loaded_and_nothing_happens() {
    let mut bench = bench();
    let good = Psw {
        mask: ADDRESSING_64 | WAIT,
        address: 0xFFF,
    };
    load_psw(&mut bench.cpu, good);
    assert!(!deliver(&mut bench));
    assert_eq!(bench.cpu.psw, good);
}

#[test]
fn a_refused_new_psw_is_the_program_old_psw_at_once() {
    let mut bench = everything_pending();
    let bad = Psw {
        mask: BASIC_ADDRESSING,
        address: 1 << 31,
    };
    bench.set_doublewords(
        PREFIX + lowcore::new_psw(Class::External),
        &[bad.mask, bad.address],
    );
    assert!(deliver(&mut bench));
    assert_eq!(old(&bench, Class::External), HERE);
    assert_eq!(
        (bench.cpu.psw, old(&bench, Class::Program)),
        (new_psw(Class::Program), bad)
    );
    assert_eq!(bench.word(PREFIX + 0x8C), 0x0000_0006);
    assert_eq!(bench.cpu.state, CpuState::Operating);
}

#[test]
fn a_refused_program_new_psw_ends_in_the_check_stop_state() {
    let mut bench = bench();
    let bad = Psw {
        mask: ADDRESSING_64 | 1,
        address: 0x777,
    };
    bench.set_doublewords(
        PREFIX + lowcore::new_psw(Class::Program),
        &[bad.mask, bad.address],
    );
    program_of(&mut bench, P::Operation.into(), 2);
    assert_eq!(bench.cpu.state, CpuState::CheckStop);
    assert_eq!((bench.cpu.psw, old(&bench, Class::Program)), (bad, bad));
    assert!(!deliver(&mut bench));
}

#[test]
fn the_access_register_mode_is_refused_but_not_while_dat_is_off() {
    let access_register = 1 << 46;
    let mask = ADDRESSING_64 | access_register;
    assert!(refused(&Psw {
        mask: mask | DAT,
        address: 0
    }));
    assert!(!refused(&Psw { mask, address: 0 }));
    for other in [0, 2, 3] {
        assert!(!refused(&Psw {
            mask: ADDRESSING_64 | DAT | other << 46,
            address: 0
        }));
    }
}

#[test]
fn a_prefix_area_beyond_storage_stops_the_cpu_and_stores_nothing() {
    let mut bench = bench();
    bench.cpu.prefix = bench.configuration.storage.end() - 4096;
    let before = bench.hardware.storage.clone();
    program_of(&mut bench, P::Operation.into(), 2);
    assert_eq!(bench.cpu.state, CpuState::CheckStop);
    assert!(bench.hardware.storage == before);
}

fn psws() -> impl Strategy<Value = Psw> {
    let mask = prop_oneof![
        any::<u64>(),
        any::<u64>().prop_map(|mask| mask & !0xB80A_00FE_7FFF_FFFF | ADDRESSING_64),
    ];
    (mask, any::<u64>()).prop_map(|(mask, address)| Psw { mask, address })
}

proptest! {
    #[test]
    fn after_any_interruption_the_psw_can_be_run_or_the_cpu_is_checked_stopped(
        here in psws(),
        new in prop::collection::vec(psws(), 6),
        prefix in 0_u64..130,
        kind in 0..6,
        code in any::<u16>(),
        length in any::<u8>(),
        word in any::<u32>(),
    ) {
        let mut bench = Bench::with_storage(1 << 20);
        bench.cpu.prefix = prefix * 8192;
        for (class, psw) in CLASSES.into_iter().zip(&new) {
            let at = (prefix % 128) * 8192 + lowcore::new_psw(class);
            bench.set_doublewords(at, &[psw.mask, psw.address]);
        }
        bench.cpu.psw = here;
        let Bench { cpu, configuration, hardware } = &mut bench;
        match kind {
            0 => restart(cpu, configuration, hardware),
            1 => external(cpu, configuration, hardware, code, length.into(), Some(word)),
            2 => supervisor_call(cpu, configuration, hardware, code as u8, length),
            3 => {
                let condition = Condition { code, length, ..Condition::default() };
                reflect(cpu, configuration, hardware, &condition);
            }
            4 => machine_check(cpu, configuration, hardware, word.into(), &Saved::default()),
            _ => io(cpu, configuration, hardware, IoInterruption::default()),
        }
        prop_assert!(!refused(&cpu.psw) || cpu.state == CpuState::CheckStop);
        if prefix < 128 {
            let loaded = new[if kind == 3 { 3 } else { kind as usize }];
            let expected = if refused(&loaded) { new[3] } else { loaded };
            prop_assert_eq!(cpu.psw, expected);
            prop_assert_eq!(cpu.state == CpuState::CheckStop, refused(&expected));
        } else {
            prop_assert_eq!(cpu.state, CpuState::CheckStop);
        }
    }
}

#[test]
fn a_handler_that_is_interrupted_at_its_first_instruction_ends_the_guest_unless_it_can_be_interrupted()
 {
    for (mask, ends) in [(ADDRESSING_64, true), (ADDRESSING_64 | EXTERNAL, false)] {
        let mut bench = Bench::new();
        bench.set_doublewords(0x1D0, &[mask, 0x4000]);
        let met = Condition {
            code: ProgramInterruption::Operation.code(),
            length: 2,
            ..Condition::default()
        };
        for _ in 0..=MOST_IN_A_ROW {
            assert_eq!(bench.cpu.state, CpuState::Operating);
            advance(&mut bench.cpu, 2);
            reflect(
                &mut bench.cpu,
                &bench.configuration,
                &mut bench.hardware,
                &met,
            );
        }
        assert_eq!(bench.cpu.state == CpuState::CheckStop, ends);
        // A handler that gets further does not count.
        bench.cpu.in_a_row = 9;
        advance(&mut bench.cpu, 8);
        reflect(
            &mut bench.cpu,
            &bench.configuration,
            &mut bench.hardware,
            &met,
        );
        assert_eq!(bench.cpu.in_a_row, 0);
    }
}

#[test]
fn a_page_translation_stores_the_operand_access_identification_of_move_page_only() {
    for (operand_access, stored) in [(None, 0xEE), (Some(0x12), 0x12)] {
        let mut bench = bench();
        let fault = Fault {
            operand_access,
            ..Fault::access(
                P::PageTranslation,
                Virtual(0x5000),
                Access::Fetch,
                Space::Primary,
            )
        };
        let condition = Condition::of_fault(&mut bench.cpu, fault, 4);
        let (configuration, hardware) = (&bench.configuration, &mut bench.hardware);
        reflect(&mut bench.cpu, configuration, hardware, &condition);
        let at = Absolute(PREFIX + lowcore::OPERAND_ACCESS);
        assert_eq!(bench.hardware.load_u8(at), stored);
    }
}
