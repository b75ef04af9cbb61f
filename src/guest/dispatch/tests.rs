//! Instructions that the hardware could not fetch, and what becomes of their page.

use super::*;
use crate::state::account::Account;
use crate::state::looping::{AT_ONCE, MOST_EXTERNAL};
use crate::state::page_frames::PageState;
use crate::state::vcpu::CpuState;
use crate::storage::scanner;
use crate::test_machine::Bench;
use arch::address::{Absolute, PAGE};
use arch::control::CR0_CLOCK_COMPARATOR;
use arch::lowcore;
use arch::psw::ADDRESSING_64;
use arch::table::{TEID_DAT_PROTECTION, TEID_EXECUTION_PROTECTION, TEID_FETCH};
use core::sync::atomic::Ordering;

/// Where the instruction is: in the prefix area.
const HERE: u64 = 0x400;

/// Gives the machine a program interruption of the hardware under this PSW, with the length and the identification that
/// the hardware has stored.
fn interrupt(bench: &mut Bench, psw: Psw, exception: Exception, length: u32, identification: u64) {
    bench.cpu.psw = psw;
    bench.cpu.interruption.cause = length << 16 | u32::from(exception.code());
    bench.cpu.interruption.identification = identification;
    let Bench {
        cpu,
        configuration,
        hardware,
    } = bench;
    assert_eq!(program(cpu, configuration, hardware), Next::Run);
}

/// The hardware does not fetch the instruction at [`HERE`], whose page has not been executed so far.
fn refused(text: &[u8], mask: u64) -> Bench {
    let mut bench = Bench::new();
    bench.set(HERE, text);
    // LPSWE 410 continues at 6000.
    bench.set_doublewords(HERE + 0x10, &[ADDRESSING_64, 0x6000]);
    let length = 2;
    let psw = Psw {
        mask: mask | ADDRESSING_64,
        address: HERE + u64::from(length),
    };
    let identification = TEID_EXECUTION_PROTECTION | TEID_FETCH;
    interrupt(
        &mut bench,
        psw,
        Exception::Protection,
        length,
        identification,
    );
    bench
}

#[test]
fn an_exception_of_fetching_a_target_has_the_length_of_the_execute() {
    // EX 0,0(2), and EXRL 0,*+8192, each with its length and where its target is.
    let executes: [(&[u8], u64, u64); 2] = [
        (&[0x44, 0, 0x20, 0], 4, 0x7000_0000),
        (&[0xC6, 0, 0x7F, 0xFF, 0xFF, 0xFF], 6, HERE + 0xFFFF_FFFE),
    ];
    for (text, length, target) in executes {
        let mut bench = Bench::new();
        bench.set(HERE, text);
        bench.cpu.general[2] = target;
        let psw = Psw {
            mask: ADDRESSING_64,
            address: HERE,
        };
        // The hardware nullified the fetch of the target, with a length that it made up.
        let missed = target & !0xFFF | TEID_FETCH;
        interrupt(&mut bench, psw, Exception::PageTranslation, 2, missed);
        let addressing = length << 16 | u64::from(Exception::Addressing.code());
        assert_eq!(
            bench.hardware.storage[0x8C..0x90],
            (addressing as u32).to_be_bytes()
        );
        assert_eq!(
            bench.hardware.storage[0x158..0x160],
            (HERE + length).to_be_bytes()
        );
    }
}

#[test]
fn a_privileged_instruction_is_performed_in_a_page_that_stays_data() {
    let bench = refused(&[0xB2, 0xB2, 0x04, 0x10], 0);
    assert_eq!(bench.cpu.psw.address, 0x6000);
    let pages = &bench.configuration.page_frames;
    assert_eq!(pages.state(Absolute(HERE)), PageState::Data);
    // An instruction that is itself refused keeps its address and its length.
    let bench = refused(&[0xB2, 0xB2, 0x04, 0x11], 0);
    let specification = 4 << 16 | u64::from(Exception::Specification.code());
    assert_eq!(
        bench.hardware.storage[0x8C..0x90],
        (specification as u32).to_be_bytes()
    );
    assert_eq!(
        bench.hardware.storage[0x158..0x160],
        (HERE + 4).to_be_bytes()
    );
}

/// The hardware, which cannot forbid the execution of a page, has missed the operand of the instruction at [`HERE`] among the
/// instructions, or refused a store there. The operand is 2000 bytes (hexadecimal) behind.
fn missed(text: [u8; 6], exception: Exception, mut bench: Bench) -> Bench {
    bench.configuration.execution_protection = false;
    bench.set(HERE, &text);
    let is_protected = exception == Exception::Protection;
    let psw = Psw {
        mask: ADDRESSING_64,
        address: HERE + if is_protected { 6 } else { 0 },
    };
    let kind = if is_protected {
        TEID_DAT_PROTECTION
    } else {
        TEID_FETCH
    };
    interrupt(&mut bench, psw, exception, 6, OPERAND & !0xFFF | kind);
    assert_eq!(bench.cpu.psw.address, HERE + 6);
    bench
}

/// Where the operand of these instructions is.
const OPERAND: u64 = HERE + 0x2000;

#[test]
fn a_relative_long_operand_that_is_missing_among_the_instructions_leaves_its_page_data() {
    let mut bench = Bench::new();
    bench.set_doublewords(OPERAND, &[0x8000_0001_0000_0002]);
    // LGRL 3; LGFRL 4; CLRL 5.
    let bench = missed(
        [0xC4, 0x38, 0, 0, 0x10, 0],
        Exception::PageTranslation,
        bench,
    );
    assert_eq!(bench.cpu.general[3], 0x8000_0001_0000_0002);
    let mut bench = missed(
        [0xC4, 0x4C, 0, 0, 0x10, 0],
        Exception::PageTranslation,
        bench,
    );
    assert_eq!(bench.cpu.general[4], 0xFFFF_FFFF_8000_0001);
    bench.cpu.general[5] = 1;
    let bench = missed(
        [0xC6, 0x5F, 0, 0, 0x10, 0],
        Exception::PageTranslation,
        bench,
    );
    assert_eq!(bench.cpu.psw.mask >> 44 & 3, 1);
    let pages = &bench.configuration.page_frames;
    assert_eq!(pages.state(Absolute(OPERAND)), PageState::Data);
}

#[test]
fn a_relative_long_operand_is_protected_by_its_storage_key() {
    // Key 5 with fetch protection, and key 3.
    for (storage, is_refused) in [(0x58, false), (0x38, true)] {
        let mut bench = Bench::new();
        bench.configuration.execution_protection = false;
        bench.hardware.keys[(OPERAND / PAGE) as usize] = storage;
        let were_set = &bench.configuration.keys_were_set;
        were_set.store(true, Ordering::Relaxed);
        bench.set_doublewords(OPERAND, &[77]);
        // LGRL 3.
        bench.set(HERE, &[0xC4, 0x38, 0, 0, 0x10, 0]);
        let psw = Psw {
            mask: ADDRESSING_64 | 5 << 52,
            address: HERE,
        };
        let missed = OPERAND & !0xFFF | TEID_FETCH;
        interrupt(&mut bench, psw, Exception::PageTranslation, 6, missed);
        let interrupted = bench.doubleword(0x88) as u32;
        let protection = 6 << 16 | u32::from(Exception::Protection.code());
        assert_eq!(interrupted == protection, is_refused, "{interrupted:x}");
        assert_eq!(bench.cpu.general[3], if is_refused { 0 } else { 77 });
    }
}

#[test]
fn a_relative_long_store_into_a_page_that_was_executed_makes_it_data() {
    let mut bench = Bench::new();
    let Bench {
        configuration,
        hardware,
        ..
    } = &mut bench;
    let at = Absolute(OPERAND);
    scanner::make_executable(configuration, hardware, at, scanner::Entry::At(0));
    assert_eq!(configuration.page_frames.state(at), PageState::Text);
    bench.cpu.general[3] = 0x1122_3344_5566_7788;
    // STGRL 3.
    let bench = missed([0xC4, 0x3B, 0, 0, 0x10, 0], Exception::Protection, bench);
    assert_eq!(bench.hardware.load_u64(at), 0x1122_3344_5566_7788);
    assert_eq!(bench.configuration.page_frames.state(at), PageState::Data);
}

#[test]
fn an_instruction_that_is_missing_is_not_taken_for_an_operand() {
    let mut bench = Bench::new();
    bench.configuration.execution_protection = false;
    // LGRL of its own page.
    bench.set(HERE, &[0xC4, 0x38, 0, 0, 0, 0x10]);
    let psw = Psw {
        mask: ADDRESSING_64,
        address: HERE,
    };
    let missed = HERE & !0xFFF | TEID_FETCH;
    interrupt(&mut bench, psw, Exception::PageTranslation, 2, missed);
    assert_eq!(bench.cpu.psw.address, HERE);
    let pages = &bench.configuration.page_frames;
    assert_eq!(pages.state(Absolute(HERE)), PageState::Text);
}

#[test]
fn an_unprivileged_or_refused_instruction_makes_its_page_text() {
    for (text, mask) in [
        (&[0x07, 0x07][..], 0),
        (&[0xB2, 0xB2, 0x04, 0x10], psw::PROBLEM),
    ] {
        let bench = refused(text, mask);
        assert_eq!(bench.cpu.psw.address, HERE);
        let pages = &bench.configuration.page_frames;
        assert_eq!(pages.state(Absolute(HERE)), PageState::Text);
    }
}

#[test]
fn an_execute_whose_target_cannot_be_fetched_has_its_own_length_and_an_odd_target_comes_first() {
    const FAR: u64 = 1 << 40;
    for (target, exception) in [
        (FAR, Exception::Addressing),
        (FAR + 1, Exception::Specification),
    ] {
        let mut bench = Bench::new();
        // EX 0,0(1). The hardware has a length for what it could not fetch.
        bench.set(HERE, &[0x44, 0x00, 0x10, 0x00]);
        bench.cpu.general[1] = target;
        let psw = Psw {
            mask: ADDRESSING_64,
            address: HERE + 2,
        };
        interrupt(&mut bench, psw, Exception::Addressing, 2, FAR);
        let hardware = &bench.hardware;
        let identification = hardware.load_u32(Absolute(lowcore::PROGRAM_IDENTIFICATION));
        assert_eq!(identification, 4 << 16 | u32::from(exception.code()));
        let old = Absolute(lowcore::old_psw(Class::Program));
        assert_eq!(hardware.load_u64(old.offset(8)), HERE + 4);
    }
}

#[test]
fn behind_the_end_of_the_address_space_the_instruction_address_is_that_of_its_beginning() {
    for (mode, beyond, address) in [
        (0, 0x100_0000, 0),
        (psw::BASIC_ADDRESSING, 0x8000_0002, 2),
        (psw::BASIC_ADDRESSING, 0x100_0000, 0x100_0000),
        (ADDRESSING_64, 0x8000_0002, 0x8000_0002),
    ] {
        let Bench {
            mut cpu,
            configuration,
            mut hardware,
        } = Bench::new();
        cpu.psw.mask = mode;
        cpu.interruption.old = Psw {
            mask: real_psw(&cpu).mask,
            address: beyond,
        };
        cpu.interruption.cause = 2 << 16;
        let class = Class::SupervisorCall;
        take_over(&mut cpu);
        enter(&mut cpu, &configuration, &mut hardware, class);
        supervisor_call(&mut cpu, &configuration, &mut hardware);
        let old = Absolute(lowcore::old_psw(class));
        assert_eq!(hardware.load_u64(old), mode);
        assert_eq!(hardware.load_u64(old.offset(8)), address);
    }
}

#[test]
fn a_guest_that_meets_what_was_resolved_again_and_again_gives_up_its_turn() {
    let Bench {
        mut cpu,
        configuration,
        mut hardware,
    } = refused(&[0x07, 0x07], 0);
    let length = u64::from(cpu.interruption.length());
    cpu.account = Account::new(Mode::Exact { shift: 0 }, 1000);
    let mut pauses = 0;
    for _ in 0..1000 {
        cpu.psw.address = HERE + length;
        assert_eq!(program(&mut cpu, &configuration, &mut hardware), Next::Run);
        assert_eq!(cpu.psw.address, HERE);
        pauses += u32::from(leave(&mut cpu, &configuration, &mut hardware) == Next::Pause);
    }
    assert_eq!(pauses, 1000 / crate::state::looping::AT_ONCE);
}

#[test]
fn a_page_behind_the_end_of_the_address_space_is_the_one_at_its_beginning_for_instructions_only() {
    // In the 24-bit mode the machine below computes and translates addresses of 31 bits.
    for (from, page, translated) in [
        (0x100_0800, 0x100_0000, 0),
        (0x2_8100_0800, 0x100_0000, 0),
        (0x800, 0x7FFF_F000, 0x7FFF_F000),
        (0x800, 0x100_0000, 0x100_0000),
        (0x800, 0xFF_F000, 0xFF_F000),
    ] {
        let mut bench = Bench::new();
        let cpu = &mut bench.cpu;
        cpu.psw = Psw::default();
        cpu.interruption.cause = u32::from(Exception::SegmentTranslation.code());
        cpu.interruption.old.address = from;
        cpu.interruption.identification = page;
        assert_eq!(
            access::page_of_exception(cpu),
            Virtual(translated),
            "{from:X} {page:X}"
        );
        // Protection suppresses: the address has advanced.
        cpu.interruption.cause = 6 << 16 | u32::from(Exception::Protection.code());
        cpu.interruption.old.address = from + 6;
        assert_eq!(
            access::page_of_exception(cpu),
            Virtual(translated),
            "{from:X} {page:X}"
        );
    }
}

#[test]
fn an_external_new_psw_that_is_enabled_for_a_pending_condition_ends_in_the_check_stop_state() {
    for wait in [0, psw::WAIT] {
        let mut bench = Bench::new();
        let mask = psw::ADDRESSING_64 | psw::EXTERNAL | wait;
        bench.set_doublewords(lowcore::new_psw(Class::External), &[mask, 0x5000]);
        bench.cpu.psw.mask |= psw::EXTERNAL;
        bench.cpu.control[0] |= CR0_CLOCK_COMPARATOR;
        (bench.cpu.clock_comparator, bench.hardware.tod) = (0, 1);
        let mut pauses = 0;
        bench.cpu.pending_work |= PendingWork::ATTENTION;
        let next = loop {
            match leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware) {
                Next::Pause => pauses += 1,
                next => break next,
            }
        };
        assert_eq!((next, bench.cpu.state), (Next::Ended, CpuState::CheckStop));
        assert_eq!(pauses, MOST_EXTERNAL / AT_ONCE);
        assert!(bench.cpu.looping.is_endless() && bench.cpu.looping.is_to_be_reported());
    }
}

#[test]
fn a_compare_and_trap_counts_one_whatever_the_clock_charges_for_other_data_exceptions() {
    // CRT 4,4, and CVB of data that are no digits.
    for (text, data_exception_code, counted) in [
        (&[0xB9, 0x72, 0x80, 0x44], 0xFF, 1),
        (&[0x4F, 0x30, 0x10, 0x00], 0x00, 0),
    ] {
        for (of_trap, of_data) in [(1, 1), (1, 0), (0, 1)] {
            let mut bench = Bench::new();
            bench.configuration.charges.compare_and_trap = of_trap;
            let data = Exception::Data.code();
            bench.configuration.charges.set(data, of_data);
            bench.set(HERE, text);
            // What the clock has charged is in the account already.
            let charged = if counted == 1 { of_trap } else { of_data };
            bench.cpu.account.cycles = [10 + u64::from(charged), 0];
            let psw = Psw {
                mask: ADDRESSING_64,
                address: HERE + 4,
            };
            interrupt(&mut bench, psw, Exception::Data, 4, data_exception_code);
            let total = bench.cpu.account.total();
            assert_eq!(total, 10 + counted, "{of_trap} {of_data}");
        }
    }
}
