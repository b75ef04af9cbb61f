//! What the fast path keeps between traps: it is used where the general path would find the same, and only there.

use super::super::copying::mvcos_kept;
use super::super::execution::Execution;
use super::super::fast_path;
use super::*;
use crate::state::page_frames::PageState;
use crate::state::pending_work::PendingWork;
use crate::storage::PlacedFrame;
use crate::storage::scanner::{Entry, make_executable};
use crate::{delivery, dispatch, storage};
use arch::address::{Absolute, PAGE, Virtual};
use arch::control::CR0_SECONDARY_SPACE;
use arch::psw::{ADDRESS_SPACE, ADDRESSING_64, DAT, KEY, PROBLEM, Psw, SECONDARY_SPACE};
use arch::table::PTE_INVALID;
use insn::Operand;
use proptest::prelude::*;

/// Where the instruction is, in real and in virtual storage.
const TEXT: u64 = 0x4000;
/// The home-space mode.
const HOME: u64 = ADDRESSING_64 | DAT | ADDRESS_SPACE;

/// What a test sees of a machine: not what is kept, nor where the text came from.
fn seen(bench: &mut Bench) -> String {
    bench.cpu.text = Default::default();
    bench.cpu.forget_translations();
    format!("{:x?}", bench.cpu)
}

/// The CPU when it has been refused the instruction at [`TEXT`], which is of `length` bytes.
fn refuse(bench: &mut Bench, mask: u64, length: u64) {
    bench.cpu.psw = Psw {
        mask,
        address: TEXT + length,
    };
    bench.cpu.interruption.cause = (length as u32) << 16 | 2;
    let frame = PlacedFrame::in_test(Absolute(TEXT));
    bench.cpu.keep_text(Virtual(TEXT), frame);
}

/// Takes the fast path, and the general one from the same state, and compares them if the fast one has performed the instruction.
/// Returns whether it has.
fn agree(refused: &dyn Fn() -> Bench) -> bool {
    let (mut one, mut other) = (refused(), refused());
    let performed = fast_path::perform(&mut one.cpu, &one.configuration, &mut one.hardware);
    if performed {
        other.cpu.forget_translations();
        dispatch::program(&mut other.cpu, &other.configuration, &mut other.hardware);
    }
    assert!(seen(&mut one) == seen(&mut other), "performed: {performed}");
    assert!(one.hardware.storage == other.hardware.storage);
    performed
}

/// A move with both of its pages kept, if `warm` says so.
#[derive(Clone, Copy, Debug)]
struct Move {
    controls: u64,
    to: u64,
    from: u64,
    length: u64,
    mask: u64,
    /// Whether control register 0 allows the secondary space.
    secondary: bool,
    /// The primary page-table entry of the target has another frame, or is protected.
    target: u64,
    warm: bool,
}

impl Move {
    fn refused(&self) -> Bench {
        let mut bench = translating();
        // MVCOS 0(5),0(6),7.
        bench.set(TEXT, &[0xC8, 0x70, 0x50, 0x00, 0x60, 0x00]);
        for page in [0x5, 0x6, 0x105, 0x106] {
            let bytes: Vec<u8> = (0..PAGE).map(|n| (n * 7 + page) as u8).collect();
            bench.set(page * PAGE, &bytes);
        }
        if self.target != 0 {
            change_entry(&mut bench, 5, self.target);
        }
        bench.cpu.general[0] = self.controls;
        (bench.cpu.general[5], bench.cpu.general[6]) = (self.to, self.from);
        bench.cpu.general[7] = self.length;
        bench.cpu.psw.mask = HOME;
        dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        if self.warm {
            // Both ways, and last that of the instruction: pages with the same number displace each other.
            let mut ways = [0x81, 0x81_0000];
            if self.controls == 0x81 {
                ways.reverse();
            }
            for controls in ways {
                let mut general = bench.cpu.general;
                core::mem::swap(&mut general, &mut bench.cpu.general);
                bench.cpu.general[0] = controls;
                for (to, from) in [(0x5000, 0x6000), (0x5000, 0x5000), (0x6000, 0x6000)] {
                    (bench.cpu.general[5], bench.cpu.general[6]) = (to, from);
                    bench.cpu.general[7] = 1;
                    refuse(&mut bench, HOME, 6);
                    dispatch::program(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
                }
                bench.cpu.general = general;
            }
            dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        }
        if !self.secondary {
            bench.cpu.control[0] &= !CR0_SECONDARY_SPACE;
        }
        refuse(&mut bench, self.mask, 6);
        bench
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn a_move_between_pages_that_are_kept_moves_what_any_move_would(
        controls in prop_oneof![
            4 => Just(0x81), 4 => Just(0x81_0000), 1 => Just(0x81_0081), 1 => Just(0), 1 => any::<u64>()
        ],
        offsets in (0..PAGE, 0..PAGE),
        pages in prop::sample::select(vec![(5, 6), (5, 5), (6, 5), (0, 6), (5, 0)]),
        length in prop_oneof![4 => 0..300u64, 1 => 0..=PAGE, 1 => Just(PAGE), 1 => any::<u64>()],
        at_beginning in any::<bool>(),
        mask in prop::sample::select(vec![HOME, HOME, HOME, HOME | PROBLEM, HOME | KEY, ADDRESSING_64 | DAT, ADDRESSING_64]),
        secondary in prop::bool::weighted(0.9),
        target in prop::sample::select(vec![0, 0, 0, 0x200, 0x10_0000]),
        warm in prop::bool::weighted(0.9),
    ) {
        let at = |page: u64, offset| page * PAGE + if at_beginning { 0 } else { offset };
        let (to, from) = (at(pages.0, offsets.0), at(pages.1, offsets.1));
        let case = Move { controls, to, from, length, mask, secondary, target, warm };
        agree(&|| case.refused());
    }
}

#[test]
fn a_move_from_a_program_and_one_to_it_are_short_once_their_pages_are_kept() {
    for controls in [0x81, 0x81_0000] {
        for (warm, length, is_short) in [
            (true, 700, true),
            (false, 700, false),
            (true, 0xFE0, true),
            (true, 0xFE1, false),
            (true, 0, false),
        ] {
            let case = Move {
                controls,
                to: 0x5010,
                from: 0x6020,
                length,
                mask: HOME,
                secondary: true,
                target: 0,
                warm,
            };
            let mut bench = case.refused();
            let Bench {
                cpu,
                configuration,
                hardware,
            } = &mut bench;
            let run = &mut Execution::fast(cpu, configuration, hardware);
            let first = operand(5);
            assert_eq!(mvcos_kept(run, first, operand(6), 7), is_short, "{case:?}");
        }
    }
}

/// The storage operand at the address in a register.
fn operand(base: u8) -> Operand {
    let decoded = insn::decode(&[0xB2, 0xB2, base << 4, 0, 0, 0]);
    let Instruction::Lpswe { second } = decoded else {
        panic!("{decoded}");
    };
    second
}

/// What the page at 5000 is before a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    Data,
    Text,
    Copied,
}

/// A CPU with a prefix that has been refused STURG 7,1.
fn storing(page: Page, at: u64, value: u64) -> Bench {
    let mut bench = Bench::new();
    bench.set(TEXT, &[0xB9, 0x25, 0x00, 0x71, 0, 0]);
    // BR 14, and in a page with a copy STFLE 0(1), too.
    let text: &[u8] = match page {
        Page::Copied => &[0xB2, 0xB0, 0x10, 0x00, 0x07, 0xFE],
        _ => &[0x07, 0xFE],
    };
    bench.set(0x5000, text);
    if page != Page::Data {
        let Bench {
            configuration,
            hardware,
            ..
        } = &mut bench;
        make_executable(configuration, hardware, Absolute(0x5000), Entry::At(0));
        let state = configuration.page_frames.state(Absolute(0x5000));
        assert_eq!(matches!(state, PageState::Text), page == Page::Text);
    }
    bench.cpu.prefix = 0x8000;
    bench.cpu.general[1] = at;
    bench.cpu.general[7] = value;
    refuse(&mut bench, ADDRESSING_64, 4);
    bench
}

#[test]
fn a_store_by_real_address_stores_where_it_should_and_ends_text_that_becomes_sensitive() {
    // LGR 1,2 twice, and STFLE 0(1) with a branch of no effect.
    for value in [0xB904_0012_B904_0012, 0xB2B0_1000_4700_0000] {
        for page in [Page::Data, Page::Text, Page::Copied] {
            for at in [
                0x5008,
                0x5FF8,
                0,
                0x1FF8,
                0x2000,
                0x8000,
                0x9FF8,
                0xA000,
                0x5004,
                4 << 20,
            ] {
                let refused = || storing(page, at, value);
                let (mut one, mut other) = (refused(), refused());
                let performed =
                    fast_path::perform(&mut one.cpu, &one.configuration, &mut one.hardware);
                if performed {
                    dispatch::program(&mut other.cpu, &other.configuration, &mut other.hardware);
                    let same = seen(&mut one) == seen(&mut other);
                    assert!(same, "{page:?} {at:x} {value:x}");
                }
                assert!(one.hardware.storage == other.hardware.storage);
                let [one, other] = [one, other]
                    .map(|bench| bench.configuration.page_frames.state(Absolute(0x5000)));
                assert_eq!(one, other, "{page:?} {at:x} {value:x}");
                assert_eq!(performed, at % 8 == 0 && at < 4 << 20, "{at:x}");
            }
        }
    }
}

#[test]
fn a_space_that_was_changed_in_the_home_space_has_no_text_of_the_one_before() {
    let program = ADDRESSING_64 | DAT | PROBLEM;
    let secondary = program | SECONDARY_SPACE;
    for (register, mode) in [(1, program), (7, secondary)] {
        for changes in [false, true] {
            let mut bench = translating();
            let before = bench.cpu.control[register];
            let loaded = before ^ if changes { 0x1000 } else { 0 };
            // LCTLG 1,1,0(5), or of register 7, and the PSW of LPSWE 8(5).
            let field = (register << 4 | register) as u8;
            bench.set(TEXT, &[0xEB, field, 0x50, 0x00, 0x00, 0x2F]);
            bench.set_doublewords(0x5000, &[loaded, program, 0x6000]);
            bench.cpu.general[5] = 0x5000;
            // The hardware has the tables of both.
            for mask in [program, HOME] {
                bench.cpu.psw.mask = mask;
                bench.cpu.pending_work |= PendingWork::CONTROLS;
                dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
            }
            let frame = PlacedFrame::in_test(Absolute(0x6000));
            bench.cpu.psw.mask = mode;
            bench.cpu.keep_text(Virtual(0x6000), frame);
            refuse(&mut bench, HOME, 6);
            let Bench {
                cpu,
                configuration,
                hardware,
            } = &mut bench;
            storage::fetch_u64(cpu, configuration, hardware, Virtual(0x5000)).unwrap();
            assert!(fast_path::perform(cpu, configuration, hardware));
            assert_eq!(cpu.control[register], loaded);
            // While the guest is in the home space, nothing need be forgotten.
            cpu.psw.mask = mode;
            assert!(cpu.kept_text(Virtual(0x6000)).is_some());
            cpu.psw.mask = HOME;
            let second = operand(1);
            bench.cpu.general[1] = 0x5008;
            assert!(issue(&mut bench, Instruction::Lpswe { second }).is_ok());
            // Only the space, as after each supervisor call.
            assert_eq!(bench.cpu.pending_work, PendingWork::SPACE);
            dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
            bench.cpu.psw.mask = mode;
            let is_kept = bench.cpu.kept_text(Virtual(0x6000)).is_some();
            assert_eq!(is_kept, !changes, "{register}");
        }
    }
}

#[test]
fn an_interruption_makes_the_prefix_area_data_whatever_it_has_become_since_the_last_one() {
    let mut bench = Bench::new();
    for _ in 0..2 {
        for prefix in [0x8000, 0xA000] {
            bench.cpu.prefix = prefix;
            bench.set_doublewords(prefix + 0x1C0, &[ADDRESSING_64, 0x6000]);
            for number in [1, 2] {
                if number == 2 {
                    // BR 14: the page is executed.
                    bench.set(prefix + 0x800, &[0x07, 0xFE]);
                    let Bench {
                        configuration,
                        hardware,
                        ..
                    } = &mut bench;
                    make_executable(configuration, hardware, Absolute(prefix), Entry::At(0x800));
                }
                bench.cpu.psw = Psw {
                    mask: ADDRESSING_64 | PROBLEM,
                    address: 0x7000 + u64::from(number),
                };
                let Bench {
                    cpu,
                    configuration,
                    hardware,
                } = &mut bench;
                delivery::supervisor_call(cpu, configuration, hardware, number, 2);
                let state = configuration.page_frames.state(Absolute(prefix));
                assert_eq!(state, PageState::Data, "{prefix:x} {number}");
                assert_eq!(bench.cpu.psw.address, 0x6000);
                let old = [ADDRESSING_64 | PROBLEM, 0x7000 + u64::from(number)];
                assert_eq!([0x140, 0x148].map(|at| bench.doubleword(prefix + at)), old);
            }
        }
    }
}

#[test]
fn a_handler_of_a_space_that_was_changed_does_not_begin_with_text_of_the_one_before() {
    for (mode, changes, begins) in [
        (ADDRESSING_64 | DAT, false, true),
        (ADDRESSING_64 | DAT, true, false),
        (HOME, true, true),
    ] {
        let mut bench = translating();
        // STPT 0(5).
        bench.set(TEXT, &[0xB2, 0x09, 0x50, 0x00, 0, 0, 0, 0]);
        bench.cpu.general[5] = 0x5000;
        bench.cpu.psw = Psw {
            mask: mode,
            address: TEXT,
        };
        dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        let Bench {
            cpu,
            configuration,
            hardware,
        } = &mut bench;
        cpu.keep_text(Virtual(TEXT), PlacedFrame::in_test(Absolute(TEXT)));
        storage::put_u64(cpu, configuration, hardware, Virtual(0x5000), 0).unwrap();
        if changes {
            cpu.control[1] ^= 0x1000;
        }
        cpu.pending_work = PendingWork::SPACE;
        fast_path::perform_first(cpu, configuration, hardware);
        assert_eq!(cpu.psw.address == TEXT + 4, begins, "{mode:x} {changes}");
    }
}

#[test]
fn a_move_that_is_shortened_after_an_exception_still_ends_the_text_that_it_stores_into() {
    let mut bench = translating();
    bench.cpu.psw.mask = HOME;
    dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    // MVCOS 0(5),0(6),7 to a program: its page 5 is executed, and its page 6 is not there.
    bench.set(TEXT, &[0xC8, 0x70, 0x50, 0x00, 0x60, 0x00]);
    bench.set(0x10_5000, &[0x07, 0xFE]);
    let entry = PAGES + 0x800 + 6 * 8;
    bench.set_doublewords(entry, &[PTE_INVALID]);
    let Bench {
        configuration,
        hardware,
        ..
    } = &mut bench;
    make_executable(configuration, hardware, Absolute(0x10_5000), Entry::At(0));
    dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    bench.cpu.general[0] = 0x81_0000;
    (bench.cpu.general[5], bench.cpu.general[6]) = (0x5FF0, 0x7000);
    for (length, state) in [(0x20, PageState::Text), (0x10, PageState::Data)] {
        bench.cpu.general[7] = length;
        for _ in 0..2 {
            refuse(&mut bench, HOME, 6);
            let Bench {
                cpu,
                configuration,
                hardware,
            } = &mut bench;
            if !fast_path::perform(cpu, configuration, hardware) {
                dispatch::program(cpu, configuration, hardware);
            }
        }
        let found = bench.configuration.page_frames.state(Absolute(0x10_5000));
        assert_eq!(found, state, "{length:x}");
    }
}

#[test]
fn a_purge_in_the_home_space_forgets_what_was_kept_of_the_program_before() {
    let mut bench = translating();
    let program = ADDRESSING_64 | DAT;
    bench.cpu.psw.mask = program;
    dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &mut bench;
    storage::fetch_u64(cpu, configuration, hardware, Virtual(0x5000)).unwrap();
    let is_kept = |bench: &Bench| {
        let page = bench.cpu.kept.operand(Virtual(0x5000), false).get();
        page.find_frame(program, Virtual(0x5000)).is_some()
    };
    assert!(is_kept(&bench));
    // Another program has the page at the same place, and the first one has another place for it.
    bench.cpu.psw.mask = HOME;
    bench.cpu.control[1] = SEGMENTS + 0x1000;
    bench.set_doublewords(PAGES + 0x800 + 5 * 8, &[0x5000]);
    bench.set_doublewords(PAGES + 5 * 8, &[0x7000]);
    complete(&mut bench, Instruction::Ptlb {});
    dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    assert!(!is_kept(&bench));
}

/// The instructions that purge all translations of a CPU, with operands for [`complete`].
fn purges() -> [Instruction; 3] {
    let zero = Operand {
        base: 0,
        index: 0,
        displacement: 0x800,
    };
    [
        Instruction::Ptlb {},
        Instruction::Spx { second: zero },
        Instruction::Cspg { r1: 2, r2: 4 },
    ]
}

#[test]
fn no_kept_translation_outlasts_a_purge_with_dat_off() {
    let program = ADDRESSING_64 | DAT;
    for purge in purges() {
        let mut bench = translating();
        bench.cpu.psw.mask = program;
        dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        let Bench {
            cpu,
            configuration,
            hardware,
        } = &mut bench;
        // The last ones that were kept are those that a purge may keep.
        for (at, mask) in [(0x7000, ADDRESSING_64), (0x5000, program)] {
            cpu.psw.mask = mask;
            storage::fetch_u64(cpu, configuration, hardware, Virtual(at)).unwrap();
            storage::put_u64(cpu, configuration, hardware, Virtual(at), 0).unwrap();
        }
        let kept = |bench: &Bench| {
            [(0x5000, program), (0x7000, ADDRESSING_64)].map(|(at, mask)| {
                [false, true].map(|store| {
                    let page = bench.cpu.kept.operand(Virtual(at), store).get();
                    page.find_frame(mask, Virtual(at)).is_some()
                })
            })
        };
        assert_eq!(kept(&bench), [[true; 2]; 2]);
        bench.cpu.psw.mask = ADDRESSING_64;
        bench.cpu.general[2..5].copy_from_slice(&[0, 0, 0x2001]);
        complete(&mut bench, purge);
        dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        assert_eq!(kept(&bench)[0], [false; 2], "{purge:?}");
    }
}

#[test]
fn a_page_of_text_that_is_stepped_through_is_forgotten_at_a_purge() {
    for purge in purges() {
        let mut bench = translating();
        bench.cpu.psw.mask = ADDRESSING_64 | DAT;
        dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        let place = storage::checked_absolute(&bench.configuration, Absolute(0x5000), 8).unwrap();
        bench.cpu.keep_stepped_text(Virtual(0x5000), place);
        assert!(bench.cpu.stepped_text(Virtual(0x5000)).is_some());
        bench.cpu.general[2..5].copy_from_slice(&[0, 0, 0x2001]);
        complete(&mut bench, purge);
        dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        assert!(
            bench.cpu.stepped_text(Virtual(0x5000)).is_none(),
            "{purge:?}"
        );
    }
}
