//! The fast path is the general path without the rare cases: what it completes, it completes as the general
//! path does, and if it does not complete an instruction, it changes nothing.

use super::super::fast_path;
use super::*;
use crate::state::kept::KeptPage;
use crate::state::pending_work::PendingWork;
use crate::state::schedule::NEVER;
use crate::state::shadow::Request;
use crate::state::text::Text;
use crate::state::vcpu::Vcpu;
use crate::storage::PlacedFrame;
use crate::{dispatch, storage};
use arch::address::{Absolute, PAGE, Real, Virtual};
use arch::control::asce::REAL_SPACE;
use arch::psw::{ADDRESS_SPACE, ADDRESSING_64, DAT, KEY, PROBLEM, SECONDARY_SPACE};
use core::sync::atomic::Ordering;
use proptest::prelude::*;

/// Where the instruction is.
const TEXT: u64 = 0x4000;
/// Where its operand usually is.
const OPERAND: u64 = 0x5000;

/// The first halfwords of what [`insn::decode_common`] knows, and some of their neighbours.
fn operation() -> impl Strategy<Value = [u8; 2]> {
    let second = prop::sample::select(vec![0x09, 0x12, 0x80, 0xB1, 0xB2, 0xE4, 0x08, 0x02]);
    prop_oneof![
        second.prop_map(|second| [0xB2, second]),
        (
            prop::sample::select(vec![0x80, 0xAC, 0xAD, 0xAE, 0xEB]),
            any::<u8>()
        )
            .prop_map(|(first, second)| [first, second]),
    ]
}

/// Addresses in the operand's page, at its end, and elsewhere.
fn address() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => (0u64..512).prop_map(|n| OPERAND + n * 8),
        2 => OPERAND..OPERAND + 0x1000,
        1 => OPERAND + 0xFF0..OPERAND + 0x1010,
        1 => any::<u64>(),
        1 => 0u64..8,
    ]
}

/// The left half of a PSW, usually a plausible one.
fn mask() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => any::<u8>().prop_map(|system| (u64::from(system & 0x43) << 56) | ADDRESSING_64),
        1 => any::<u64>().prop_map(|bits| bits & 0x43C7_FF00_0000_0000 | ADDRESSING_64),
        1 => any::<u64>().prop_map(|bits| bits & 0x43C7_FF00_8000_0000),
    ]
}

/// An instruction, and the state of the CPU that issues it.
struct Case {
    text: [u8; 6],
    general: [u64; 16],
    /// The doublewords that fill the operand's page.
    content: [u64; 4],
    mask: u64,
    control0: u64,
    /// Whether the pages of the text, of the operand, and of a stored operand have been accessed before.
    warm: [bool; 3],
}

impl Case {
    /// The CPU when the instruction has been refused.
    fn refused(&self) -> Bench {
        let length = insn::length(self.text[0]) as u64;
        // The least storage that there is: all of it is compared.
        let mut bench = Bench::with_storage(1 << 20);
        bench.set(TEXT, &self.text);
        for at in (OPERAND..OPERAND + 0x1000).step_by(32) {
            bench.set_doublewords(at, &self.content);
        }
        bench.cpu.general = self.general;
        bench.cpu.control[0] = self.control0;
        // DAT is off for every space here, so the same pages are used in any mode. They are accessed with key zero first.
        let mask = self.mask & !DAT;
        bench.cpu.psw = arch::psw::Psw {
            mask: mask & !KEY,
            address: TEXT + length,
        };
        bench.cpu.interruption.cause = (length as u32) << 16 | 2;
        let Bench {
            cpu,
            configuration,
            hardware,
        } = &mut bench;
        if self.warm[0] {
            cpu.keep_text(Virtual(TEXT), PlacedFrame::in_test(Absolute(TEXT)));
        }
        if self.warm[1] {
            storage::fetch_u64(cpu, configuration, hardware, Virtual(OPERAND)).unwrap();
        }
        if self.warm[2] {
            let at = Virtual(OPERAND + 0x800);
            storage::put_u64(cpu, configuration, hardware, at, 0).unwrap();
        }
        cpu.psw.mask = mask;
        configuration.keys_were_set.store(true, Ordering::Relaxed);
        hardware.keys[(OPERAND / PAGE) as usize] = 0x38;
        cpu.pending_work = crate::state::pending_work::PendingWork::NOTHING;
        bench
    }

    /// Takes both paths from there, if the fast one completes the instruction.
    fn agree(&self) {
        let seen = |bench: &mut Bench| {
            bench.cpu.text = Text::default();
            bench.cpu.forget_translations();
            format!("{:x?}", bench.cpu)
        };
        let (mut one, mut other) = (self.refused(), self.refused());
        let performed = fast_path::perform(&mut one.cpu, &one.configuration, &mut one.hardware);
        if performed {
            dispatch::program(&mut other.cpu, &other.configuration, &mut other.hardware);
        }
        assert_eq!(seen(&mut one), seen(&mut other));
        assert!(one.hardware.storage == other.hardware.storage);
        if performed {
            return;
        }
        // What the fast path passes on, with the text or without it.
        let (mut one, mut other) = (self.refused(), self.refused());
        fast_path::perform(&mut one.cpu, &one.configuration, &mut one.hardware);
        let next = dispatch::refused(&mut one.cpu, &one.configuration, &mut one.hardware);
        let general = dispatch::program(&mut other.cpu, &other.configuration, &mut other.hardware);
        assert_eq!(next, general);
        assert_eq!(seen(&mut one), seen(&mut other));
        assert!(one.hardware.storage == other.hardware.storage);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8000, ..ProptestConfig::default() })]

    #[test]
    fn the_fast_path_does_what_the_general_path_does_or_nothing(
        [first, second] in operation(),
        fields in (any::<u8>(), any::<u8>()),
        last in prop::sample::select(vec![0x17, 0x2F, 0x25]),
        general in prop::array::uniform16(address()),
        content in prop::array::uniform4(mask()),
        mask in mask(),
        control0 in prop_oneof![Just(0), any::<u64>()],
        warm in prop::array::uniform3(prop::bool::weighted(0.9)),
    ) {
        let text = [first, second, fields.0, fields.1, 0, last];
        Case { text, general, content, mask, control0, warm }.agree();
    }
}

#[test]
fn stosm_that_sets_a_bit_that_must_be_zero_acts_alike_on_both_paths() {
    Case {
        text: [0xAD, 0x08, 0xA0, 0x00, 0, 0],
        general: [OPERAND; 16],
        content: [
            0x4200_0001_8000_0000,
            ADDRESSING_64,
            ADDRESSING_64,
            ADDRESSING_64,
        ],
        mask: ADDRESSING_64,
        control0: 0,
        warm: [true, false, true],
    }
    .agree();
}

#[test]
fn instructions_that_control_programs_issue_all_the_time_take_the_fast_path() {
    for text in [
        [0x80, 0x00, 0x50, 0x00, 0, 0],
        [0xAC, 0xFC, 0x50, 0x00, 0, 0],
        [0xAD, 0x03, 0x50, 0x00, 0, 0],
        [0xB2, 0x09, 0x50, 0x00, 0, 0],
        [0xB2, 0x12, 0x50, 0x00, 0, 0],
        [0xAE, 0x10, 0x00, 0x01, 0, 0],
        [0xB2, 0x80, 0x50, 0x00, 0, 0],
        [0xB2, 0xB1, 0x00, 0x00, 0, 0],
        [0xB2, 0xB2, 0x50, 0x00, 0, 0],
        [0xB2, 0xE4, 0x00, 0x12, 0, 0],
        [0xEB, 0x11, 0x50, 0x00, 0, 0x17],
        [0xEB, 0x11, 0x50, 0x00, 0, 0x2F],
        [0xB1, 0x10, 0x50, 0x00, 0, 0],
        [0xB9, 0x25, 0x00, 0x15, 0, 0],
    ] {
        let mut bench = Bench::new();
        bench.set(TEXT, &text);
        bench.cpu.general[5] = OPERAND;
        bench.cpu.general[1] = 6;
        bench.cpu.control[1] = REAL_SPACE;
        let length = insn::length(text[0]) as u64;
        let issue = |bench: &mut Bench, path: &mut dyn FnMut(&mut Bench) -> bool| {
            bench.cpu.psw.mask = ADDRESSING_64;
            bench.cpu.psw.address = TEXT + length;
            bench.cpu.interruption.cause = (length as u32) << 16 | 2;
            path(bench)
        };
        let mut fast = |bench: &mut Bench| {
            fast_path::perform(&mut bench.cpu, &bench.configuration, &mut bench.hardware)
        };
        assert!(
            !issue(&mut bench, &mut fast),
            "no page is kept yet {text:x?}"
        );
        issue(&mut bench, &mut |bench| {
            dispatch::program(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
            true
        });
        assert!(issue(&mut bench, &mut fast), "{text:x?}");
    }
}

#[test]
fn an_odd_instruction_address_never_takes_the_fast_path() {
    let mut bench = Bench::new();
    // STAP at an odd address, in a page that is kept.
    bench.set(TEXT + 1, &[0xB2, 0x12, 0x50, 0x00]);
    bench.cpu.general[5] = OPERAND;
    bench
        .cpu
        .keep_text(Virtual(TEXT), PlacedFrame::in_test(Absolute(TEXT)));
    bench.cpu.psw.mask = ADDRESSING_64;
    bench.cpu.psw.address = TEXT + 5;
    bench.cpu.interruption.cause = 4 << 16 | 2;
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &mut bench;
    storage::put_u64(cpu, configuration, hardware, Virtual(OPERAND), 0).unwrap();
    assert!(!fast_path::perform(cpu, configuration, hardware));
    dispatch::program(cpu, configuration, hardware);
    let specification = 4 << 16 | u32::from(ProgramInterruption::Specification.code());
    assert_eq!(hardware.storage[0x8C..0x90], specification.to_be_bytes());
}

#[test]
fn a_store_by_the_real_address_that_was_just_loaded_is_performed_in_the_same_trap() {
    // LRA 1,0(5) and STURG 7,1.
    let text = [0xB1, 0x10, 0x50, 0x00, 0xB9, 0x25, 0x00, 0x71];
    let refused = || {
        let mut bench = Bench::new();
        bench.set(TEXT, &text);
        bench.cpu.general[5] = OPERAND;
        bench.cpu.general[7] = 0x0123_4567_89AB_CDEF;
        bench.cpu.control[1] = REAL_SPACE;
        bench.cpu.psw.mask = ADDRESSING_64;
        bench.cpu.psw.address = TEXT + 4;
        bench.cpu.interruption.cause = 4 << 16 | 2;
        bench
            .cpu
            .keep_text(Virtual(TEXT), PlacedFrame::in_test(Absolute(TEXT)));
        bench
    };
    let (mut one, mut other) = (refused(), refused());
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &mut one;
    assert!(fast_path::perform(cpu, configuration, hardware));
    assert_eq!(one.cpu.account.total(), 2);
    other.cpu.forget_translations();
    for text in [[0xB1, 0x10, 0x50, 0, 0, 0], [0xB9, 0x25, 0, 0x71, 0, 0]] {
        complete(&mut other, insn::decode(&text));
    }
    assert_eq!(one.cpu.psw.address, TEXT + 8);
    assert_eq!(one.cpu.psw.mask, other.cpu.psw.mask);
    assert_eq!(one.cpu.general, other.cpu.general);
    assert!(one.hardware.storage == other.hardware.storage);
    let at = OPERAND as usize;
    assert_eq!(
        one.hardware.storage[at..at + 8],
        one.cpu.general[7].to_be_bytes()
    );
}

#[test]
fn a_store_before_which_a_sample_is_due_traps_by_itself() {
    // The sample is due so many instructions behind LRA 1,0(5), which STURG 7,1 follows.
    for (due, performed) in [(0, 1), (1, 1), (2, 2), (NEVER, 2)] {
        let mut bench = Bench::new();
        bench.set(TEXT, &[0xB1, 0x10, 0x50, 0x00, 0xB9, 0x25, 0x00, 0x71]);
        bench.cpu.general[5] = OPERAND;
        bench.cpu.control[1] = REAL_SPACE;
        bench.cpu.psw.mask = ADDRESSING_64;
        bench.cpu.psw.address = TEXT + 4;
        bench.cpu.interruption.cause = 4 << 16 | 2;
        let cpu = &mut bench.cpu;
        cpu.keep_text(Virtual(TEXT), PlacedFrame::in_test(Absolute(TEXT)));
        cpu.sampling.machine = due;
        assert!(fast_path::perform(
            cpu,
            &bench.configuration,
            &mut bench.hardware
        ));
        assert_eq!(cpu.account.total(), performed, "due at {due}");
        assert_eq!(cpu.psw.address, TEXT + 4 * performed, "due at {due}");
    }
}

/// A CPU in the supervisor state that has just been refused the STPT 0(5) at [`TEXT`], with the LPSWE 410 to which the
/// branch behind the STPT leads.
fn returning(due: u64) -> Bench {
    let mut bench = Bench::new();
    bench.set(TEXT, &[0xB2, 0x09, 0x50, 0x00, 0x47, 0xF0, 0x04, 0x00]);
    bench.set(0x400, &[0xB2, 0xB2, 0x04, 0x10, 0, 0, 0, 0]);
    bench.set_doublewords(0x410, &[ADDRESSING_64 | PROBLEM, 0x6000]);
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &mut bench;
    cpu.general[5] = OPERAND;
    cpu.psw.mask = ADDRESSING_64;
    cpu.pending_work = PendingWork::NOTHING;
    for page in [TEXT, 0] {
        cpu.keep_text(Virtual(page), PlacedFrame::in_test(Absolute(page)));
    }
    storage::put_u64(cpu, configuration, hardware, Virtual(OPERAND), 0).unwrap();
    storage::fetch_u64(cpu, configuration, hardware, Virtual(0x410)).unwrap();
    cpu.psw.address = TEXT + 4;
    cpu.interruption.cause = 4 << 16 | 2;
    cpu.sampling.machine = due;
    bench
}

#[test]
fn a_return_to_a_program_is_performed_in_one_trap_unless_a_sample_is_due_in_it() {
    for (due, performed) in [(0, 1), (1, 1), (2, 1), (3, 3), (NEVER, 3)] {
        let mut bench = returning(due);
        let Bench {
            cpu,
            configuration,
            hardware,
        } = &mut bench;
        assert!(fast_path::perform(cpu, configuration, hardware));
        assert_eq!(cpu.account.total(), performed, "due at {due}");
        let returned = performed == 3;
        assert_eq!(cpu.psw.address, if returned { 0x6000 } else { TEXT + 4 });
        assert_eq!(cpu.psw.problem_state(), returned);
    }
}

#[test]
fn a_return_to_a_program_ends_where_the_page_of_the_lpswe_has_been_purged() {
    let mut bench = returning(NEVER);
    complete(&mut bench, Instruction::Ptlb {});
    bench.configuration.shadow.requests.post(Request::All);
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &mut bench;
    cpu.keep_text(Virtual(TEXT), PlacedFrame::in_test(Absolute(TEXT)));
    cpu.psw.address = TEXT + 4;
    fast_path::perform(cpu, configuration, hardware);
    assert!(!cpu.psw.problem_state());
}

#[test]
fn a_handler_begins_in_the_trap_of_its_interruption_unless_a_sample_is_due_before_it() {
    for (due, performed) in [(0, 0), (1, 1), (NEVER, 1)] {
        let mut bench = returning(due);
        let Bench {
            cpu,
            configuration,
            hardware,
        } = &mut bench;
        cpu.psw.address = TEXT;
        cpu.pending_work = PendingWork::SPACE;
        fast_path::perform_first(cpu, configuration, hardware);
        assert_eq!(cpu.account.total(), performed, "due at {due}");
        assert_eq!(cpu.psw.address, TEXT + 4 * performed);
        // Interruptions that the new PSW opens come first.
        let mut bench = returning(due);
        bench.cpu.psw.address = TEXT;
        bench.cpu.pending_work = PendingWork::SPACE | PendingWork::OPENED;
        fast_path::perform_first(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        assert_eq!(bench.cpu.psw.address, TEXT);
    }
}

#[test]
fn an_lpswe_that_could_not_be_fetched_is_performed_from_a_kept_page_in_the_supervisor_state_only() {
    // The page that the hardware missed, its mode, and whether the LPSWE is performed.
    for (missed, problem, performs) in [(0, 0, true), (0x1000, 0, false), (0, PROBLEM, false)] {
        let mut bench = returning(NEVER);
        let Bench {
            cpu,
            configuration,
            hardware,
        } = &mut bench;
        cpu.psw.mask |= problem;
        cpu.psw.address = 0x400;
        cpu.interruption.cause = 2 << 16 | 0x10;
        cpu.interruption.identification = missed;
        let performed = fast_path::perform_not_fetched(cpu, configuration, hardware);
        assert_eq!(performed, performs);
        assert_eq!(cpu.psw.address, if performs { 0x6000 } else { 0x400 });
        assert_eq!(cpu.account.total(), u64::from(performs));
    }
}

#[test]
fn the_purge_of_an_entry_leaves_only_pages_with_another_number() {
    let mut bench = Bench::new();
    let cpu = &mut bench.cpu;
    cpu.psw.mask = ADDRESSING_64 | DAT | ADDRESS_SPACE;
    let pages = [0x12_3000, 0x45_2000, 0x45_3000];
    for page in pages {
        cpu.keep_text(Virtual(page), PlacedFrame::in_test(Absolute(page)));
    }
    let kept = |cpu: &Vcpu| pages.map(|page| cpu.kept_text(Virtual(page)).is_some());
    // Entries of any page table: the number of the page in its segment counts.
    for (entry, left) in [
        (0x7000 + 0x22 * 8, [true, true, true]),
        (0x7000 + 0x23 * 8, [false, true, true]),
        (0x7800 + 0x53 * 8, [false, true, false]),
        (0x9000 + 0x52 * 8, [false, false, false]),
    ] {
        cpu.kept.forget_entry(Absolute(entry));
        assert_eq!(kept(cpu), left, "{entry:x}");
    }
}

#[test]
fn two_pages_of_text_with_one_number_are_kept_and_an_entry_purges_both() {
    let mut bench = Bench::new();
    let cpu = &mut bench.cpu;
    cpu.psw.mask = ADDRESSING_64 | DAT | ADDRESS_SPACE;
    let pages = [0x43_1000, 0xA3_1000, 0xB3_1000];
    let kept = |cpu: &Vcpu| pages.map(|page| cpu.kept_text(Virtual(page)).is_some());
    for (page, left) in pages.into_iter().zip([
        [true, false, false],
        [true, true, false],
        [false, true, true],
    ]) {
        // The second time, no other page makes room.
        for _ in 0..2 {
            cpu.keep_text(Virtual(page), PlacedFrame::in_test(Absolute(page)));
            assert_eq!(kept(cpu), left);
        }
    }
    cpu.kept.forget_entry(Absolute(0x7000 + 0x31 * 8));
    assert_eq!(kept(cpu), [false; 3]);
}

#[test]
fn a_real_address_that_was_loaded_is_purged_whether_dat_was_on_or_off() {
    let mut bench = Bench::new();
    let cpu = &mut bench.cpu;
    let at = Virtual(0x12_3000);
    for mask in [ADDRESSING_64, ADDRESSING_64 | DAT] {
        cpu.control[1] = 0x2000;
        cpu.change_programs();
        let keep = |cpu: &mut Vcpu| {
            let page = KeptPage::of_real(mask, at, Real(0x7000));
            cpu.kept.keep_real(page);
            assert!(cpu.kept.find_real(mask, at).is_some());
        };
        let is_kept = |cpu: &Vcpu| cpu.kept.find_real(mask, at).is_some();
        keep(cpu);
        cpu.kept.forget_entry(Absolute(0x9000 + 0x23 * 8));
        assert!(!is_kept(cpu));
        keep(cpu);
        cpu.kept.forget_space(0x2000);
        assert!(!is_kept(cpu));
        keep(cpu);
        cpu.control[1] = 0x5000;
        cpu.change_programs();
        assert!(!is_kept(cpu));
    }
}

#[test]
fn only_kept_pages_of_the_home_space_survive_a_change_of_the_program() {
    let mut bench = Bench::new();
    let cpu = &mut bench.cpu;
    let modes = [0, DAT, DAT | SECONDARY_SPACE, DAT | ADDRESS_SPACE];
    let keep = |cpu: &mut Vcpu| {
        for (mode, page) in modes.into_iter().zip(0..) {
            cpu.psw.mask = mode;
            cpu.keep_text(
                Virtual(TEXT + page * PAGE),
                PlacedFrame::in_test(Absolute(TEXT)),
            );
        }
    };
    let kept = |cpu: &mut Vcpu| {
        cpu.change_translations();
        let mut page = 0;
        modes.map(|mode| {
            cpu.psw.mask = mode;
            page += 1;
            cpu.kept_text(Virtual(TEXT + (page - 1) * PAGE)).is_some()
        })
    };
    cpu.change_translations();
    keep(cpu);
    assert_eq!(kept(cpu), [true; 4]);
    cpu.control[1] = 0x2000;
    assert_eq!(kept(cpu), [true, false, false, true]);
    keep(cpu);
    cpu.control[7] = 0x3000;
    assert_eq!(kept(cpu), [true, false, false, true]);
    keep(cpu);
    cpu.control[13] = 0x4000;
    assert_eq!(kept(cpu), [false; 4]);
    keep(cpu);
    cpu.prefix = 0x8000;
    assert_eq!(
        kept(cpu),
        [false; 4],
        "real addresses mean something else now"
    );
}

#[test]
fn a_page_whose_real_address_was_loaded_is_kept_until_the_guest_purges() {
    const ELSEWHERE: u64 = 0x7000;
    let mut bench = Bench::new();
    // LRA 1,8(5).
    bench.set(TEXT, &[0xB1, 0x10, 0x50, 0x08, 0, 0, 0, 0]);
    bench.cpu.general[5] = OPERAND;
    bench.cpu.control[1] = REAL_SPACE;
    let loaded = |bench: &mut Bench, problem: u64| {
        bench.cpu.psw.mask = ADDRESSING_64 | problem;
        bench.cpu.psw.address = TEXT + 4;
        bench.cpu.interruption.cause = 4 << 16 | 2;
        bench
            .cpu
            .keep_text(Virtual(TEXT), PlacedFrame::in_test(Absolute(TEXT)));
        let Bench {
            cpu,
            configuration,
            hardware,
        } = bench;
        fast_path::perform(cpu, configuration, hardware).then_some(cpu.general[1])
    };
    assert_eq!(loaded(&mut bench, 0), Some(OPERAND + 8));
    // What is kept is what is loaded.
    let page = Real(ELSEWHERE);
    bench
        .cpu
        .kept
        .keep_real(KeptPage::of_real(ADDRESSING_64, Virtual(OPERAND), page));
    assert_eq!(loaded(&mut bench, 0), Some(ELSEWHERE + 8));
    bench.cpu.general[5] = OPERAND + 0x1000;
    assert_eq!(loaded(&mut bench, 0), Some(OPERAND + 0x1008));
    bench.cpu.general[5] = OPERAND;
    bench
        .cpu
        .kept
        .keep_real(KeptPage::of_real(ADDRESSING_64, Virtual(OPERAND), page));
    assert_eq!(loaded(&mut bench, PROBLEM), None);
    bench.cpu.psw.mask = ADDRESSING_64;
    complete(&mut bench, Instruction::Ptlb {});
    dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    assert_eq!(loaded(&mut bench, 0), Some(OPERAND + 8));
}

#[test]
fn text_at_the_end_of_a_24_bit_address_space_is_not_kept_for_the_end_of_the_64_bit_one() {
    let mut bench = Bench::with_storage(16 << 20);
    // STAP 0(5), behind which the address space begins again.
    let at = (16 << 20) - 4;
    bench.set(at, &[0xB2, 0x12, 0x50, 0x00]);
    bench.cpu.general[5] = OPERAND;
    bench.cpu.psw = arch::psw::Psw::default();
    bench.cpu.interruption.cause = 4 << 16 | 2;
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &mut bench;
    assert!(!fast_path::perform(cpu, configuration, hardware));
    dispatch::refused(cpu, configuration, hardware);
    assert_eq!(cpu.psw.address, 0);
    let mask = ADDRESSING_64;
    assert!(cpu.kept.find_text(mask, Virtual(at)).is_some());
    assert!(cpu.kept.find_text(mask, Virtual(u64::MAX)).is_none());
}
