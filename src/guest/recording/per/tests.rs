//! A CPU whose instructions are executed one at a time; the test plays the hardware.

use super::*;
use crate::dispatch::{self, Next};
use crate::external_means;
use crate::recording::per::played::{complete, prepare, stepped, trap};
use crate::state::vcpu::HeldBy;
use crate::test_machine::Bench;
use arch::interruption::Class;
use arch::psw::ADDRESSING_64;
use command::Change;
use per::Format;
use per::trace::{Action, Pattern, Trace, What};
use proptest::prelude::*;

/// Where the program is.
const TEXT: u64 = 0x2000;
/// LGHI 2,5; LGHI 3,6; STG 3,8(4); a branch on itself.
const PROGRAM: [u8; 18] = [
    0xA7, 0x29, 0, 5, 0xA7, 0x39, 0, 6, 0xE3, 0x30, 0x40, 0x08, 0, 0x24, 0xA7, 0xF4, 0, 0,
];

fn range(start: u64, end: u64) -> Range {
    Range { start, end }
}

fn trace(what: What, range: Range, action: Action) -> Trace {
    Trace {
        what,
        range,
        action,
    }
}

/// A bench before [`PROGRAM`], with these traces of the operator.
fn bench(traces: &[Trace]) -> Bench {
    let mut bench = Bench::new();
    prepare(&mut bench);
    bench.set(TEXT, &PROGRAM);
    bench.cpu.psw.address = TEXT;
    for &trace in traces {
        bench.configuration.tracing.begin(trace).unwrap();
    }
    external_means::ask(&bench.configuration, 0, Change::Traces).unwrap();
    bench.cpu.pending_work |= PendingWork::ATTENTION;
    bench
}

fn leave(bench: &mut Bench) -> Next {
    dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware)
}

/// The next instruction is executed in its slot, up to the one at `to`; `effect` is what the guest did.
fn run(bench: &mut Bench, to: u64, effect: impl FnOnce(&mut Bench)) -> Next {
    let from = bench.cpu.psw.address;
    assert_eq!(leave(bench), Next::Run);
    assert_eq!(stepped(bench), Some(from));
    effect(bench);
    let next = complete(bench);
    assert_eq!(bench.cpu.psw.address, to);
    next
}

#[test]
fn the_guest_runs_freely_outside_of_the_pages_in_which_something_is_traced() {
    let fetch = |start, end| trace(What::Fetch, range(start, end), Action::Count);
    let is_stepped = |traces: &[Trace]| {
        let mut bench = bench(traces);
        assert_eq!(leave(&mut bench), Next::Run);
        assert_eq!(bench.hardware.traced.len(), 0);
        let found = stepped(&bench);
        assert_eq!(bench.cpu.per.in_slots, found.is_some());
        let is_there = bench.cpu.psw.address == TEXT;
        assert_eq!(is_there, found.is_none());
        found == Some(TEXT)
    };
    let [before, behind] = [fetch(0x1000, 0x10FF), fetch(0x3000, 0x30FF)];
    assert!(!is_stepped(&[before]) && !is_stepped(&[behind, before]));
    assert!(is_stepped(&[
        behind,
        fetch(TEXT + 0x800, TEXT + 0x801),
        before
    ]));
    // More pages than can be protected.
    assert!(is_stepped(&[fetch(0x3000, 0x3F_FFFF)]));
}

#[test]
fn an_instruction_in_the_range_is_an_event_that_the_guest_does_not_see() {
    let registers = trace(
        What::Registers(0x1000),
        range(TEXT, TEXT + 7),
        Action::Trace,
    );
    let mut bench = bench(&[registers]);
    run(&mut bench, TEXT + 4, |bench| bench.cpu.general[2] = 5);
    assert_eq!(
        bench.hardware.traced.len(),
        0,
        "register 2 is not asked for"
    );
    run(&mut bench, TEXT + 8, |bench| bench.cpu.general[3] = 6);
    let [(head, altered, false)] = &bench.hardware.traced[..] else {
        panic!("{:?}", bench.hardware.traced);
    };
    assert_eq!((head.at.get(), head.next.get()), (TEXT + 4, TEXT + 8));
    assert_eq!((head.events, head.traces, head.length), (0x10, 0x80, 4));
    assert_eq!((head.altered.get(), &altered[..]), (0x1000, &[6][..]));
    assert_eq!(bench.cpu.psw.address, TEXT + 8);
    assert_eq!(bench.configuration.tracing.count(0), 1);
    assert_eq!(bench.word(0x8C), 0, "no interruption is delivered");
}

#[test]
fn a_trace_of_stores_compares_addresses_and_with_a_pattern_also_contents() {
    let data = |digits| What::Store(Some(Pattern::from_digits(digits).unwrap()));
    let at = range(0x500F, 0x500F);
    let traces = [
        trace(What::Store(None), at, Action::Trace),
        trace(data("06"), at, Action::Count),
        trace(data("05"), at, Action::Count),
        // More pages than can be protected.
        trace(What::Store(None), range(0x5010, 0x3F_FFFF), Action::Count),
    ];
    let mut bench = bench(&traces);
    run(&mut bench, TEXT + 4, |bench| bench.cpu.general[3] = 6);
    bench.cpu.psw.address = TEXT + 8;
    bench.cpu.general[4] = 0x5000;
    run(&mut bench, TEXT + 14, |bench| {
        bench.set_doublewords(0x5008, &[6]);
    });
    let counts = [0, 1, 2, 3].map(|number| bench.configuration.tracing.count(number));
    assert_eq!(counts, [1, 1, 0, 0]);
    let (head, ..) = &bench.hardware.traced[0];
    assert_eq!((head.traces, head.events), (0xC0, 0x20));
    assert_eq!(
        (head.stored_at.get(), head.stored_length.get()),
        (0x5008, 8)
    );
}

#[test]
fn the_guest_has_its_own_events_beside_those_of_the_operator() {
    let mut bench = bench(&[trace(What::Fetch, range(TEXT, TEXT + 3), Action::Trace)]);
    bench.cpu.psw.mask |= psw::PER;
    bench.cpu.control[9] = 0x4000_0000;
    bench.cpu.control[10] = TEXT;
    bench.cpu.control[11] = TEXT;
    bench.set_doublewords(0x1D0, &[ADDRESSING_64, 0x7000]);
    bench.cpu.pending_work |= PendingWork::CONTROLS;
    run(&mut bench, TEXT + 4, |bench| bench.cpu.general[2] = 5);
    leave(&mut bench);
    assert_eq!(bench.hardware.traced.len(), 1);
    assert_eq!(bench.cpu.psw.address, 0x7000);
    assert_eq!(bench.word(0x8C), 0x0004_0080);
    assert_eq!(bench.doubleword(0x98), TEXT);
}

/// A bench whose guest records these events of its own, before this text.
fn recording(events: u64, text: &[u8]) -> Bench {
    let mut bench = bench(&[]);
    bench.set(TEXT, text);
    bench.cpu.psw.mask |= psw::PER | ADDRESSING_64;
    bench.cpu.control[9] = events;
    bench.cpu.control[11] = u64::MAX;
    bench.set_doublewords(0x1D0, &[ADDRESSING_64, 0x7000]);
    bench.cpu.pending_work |= PendingWork::CONTROLS;
    bench
}

#[test]
fn a_register_is_altered_by_a_value_that_it_has_already() {
    // LTR 3,3; LA 3,0(3); CR 3,3.
    let texts: [(&[u8], u32); 3] = [
        (&[0x12, 0x33], 0x0002_0080),
        (&[0x41, 0x30, 0x30, 0x00], 0x0004_0080),
        (&[0x19, 0x33], 0),
    ];
    for (text, identification) in texts {
        for (mask, is_chosen) in [(0x1000, true), (0xEFFF, false)] {
            let mut bench = recording(0x1000_0000 | mask, text);
            run(&mut bench, TEXT + text.len() as u64, |_| {});
            leave(&mut bench);
            let expected = if is_chosen { identification } else { 0 };
            assert_eq!(bench.word(0x8C), expected, "{text:X?} {mask:X}");
        }
    }
}

/// The supervisor calls.
fn call(bench: &mut Bench) {
    assert_eq!(leave(bench), Next::Run);
    assert_eq!(stepped(bench), Some(TEXT));
    let at = bench.cpu.psw.address;
    trap(bench, Class::SupervisorCall, 0x0002_002A, at + 2, 1);
    let (cpu, configuration) = (&mut bench.cpu, &bench.configuration);
    dispatch::supervisor_call(cpu, configuration, &mut bench.hardware);
    leave(bench);
}

#[test]
fn a_psw_that_is_refused_is_indicated_with_the_event_of_what_introduced_it_and_a_length_of_zero() {
    const REFUSED: [u64; 2] = [1 << 63 | ADDRESSING_64, 0x6666];
    const FETCH: u64 = 0x4000_0000;
    let is_indicated = |bench: &Bench| {
        assert_eq!(bench.word(0x8C), 0x0000_0086);
        assert_eq!(bench.doubleword(0x98), TEXT);
        assert_eq!([0x150, 0x158].map(|at| bench.doubleword(at)), REFUSED);
        assert_eq!(bench.cpu.psw.address, 0x7000);
    };
    // LPSWE 0(4), which traps.
    let mut loads = recording(FETCH, &[0xB2, 0xB2, 0x40, 0]);
    loads.cpu.general[4] = 0x5000;
    loads.set_doublewords(0x5000, &REFUSED);
    assert_eq!(leave(&mut loads), Next::Run);
    assert_eq!(stepped(&loads), Some(TEXT));
    let at = loads.cpu.psw.address;
    trap(&mut loads, Class::Program, 0x0004_0002, at + 4, 0);
    leave(&mut loads);
    is_indicated(&loads);
    // SVC 42 whose new PSW is refused; then one whose is not.
    let mut calls = recording(FETCH, &[0x0A, 42]);
    calls.set_doublewords(0x1C0, &REFUSED);
    call(&mut calls);
    is_indicated(&calls);
    assert_eq!(calls.word(0x88), 0x0002_002A);
    let mut calls = recording(FETCH, &[0x0A, 42]);
    calls.set_doublewords(0x1C0, &[ADDRESSING_64, 0x6666]);
    call(&mut calls);
    assert_eq!(calls.word(0x8C), 0x0002_0080);
}

#[test]
fn a_stop_is_after_the_instruction_and_before_the_next_one() {
    let mut bench = bench(&[trace(What::Fetch, range(TEXT, TEXT), Action::Stop)]);
    run(&mut bench, TEXT + 4, |bench| bench.cpu.general[2] = 5);
    assert_eq!(leave(&mut bench), Next::Held);
    assert_eq!(bench.cpu.take_hold(), Some(HeldBy::Trace(0)));
    assert_eq!(bench.cpu.psw.address, TEXT + 4);
    assert_eq!(leave(&mut bench), Next::Run);
    assert_eq!(stepped(&bench), Some(TEXT + 4));
}

#[test]
fn a_branch_to_itself_is_an_event_each_time() {
    let mut bench = bench(&[trace(What::Branch, Range::ALL, Action::Trace)]);
    bench.cpu.psw.address = TEXT + 14;
    for turn in 1..=3 {
        run(&mut bench, TEXT + 14, |_| {});
        assert_eq!(bench.configuration.tracing.count(0), turn);
    }
}

#[test]
fn when_the_last_trace_has_ended_nothing_is_recorded() {
    let mut bench = bench(&[trace(What::Fetch, Range::ALL, Action::Count)]);
    run(&mut bench, TEXT + 4, |bench| bench.cpu.general[2] = 5);
    bench.configuration.tracing.traces.lock().end(None).unwrap();
    external_means::ask(&bench.configuration, 0, Change::Traces).unwrap();
    bench.cpu.pending_work |= PendingWork::ATTENTION;
    assert_eq!(leave(&mut bench), Next::Run);
    assert_eq!(bench.cpu.psw.address, TEXT + 4);
    assert!(!bench.cpu.pending_work.any(PendingWork::PER) && !bench.cpu.per.is_on());
}

proptest! {
    #[test]
    fn whatever_is_requested_the_next_instruction_is_stepped_or_can_have_no_event_by_its_address(
        control in any::<[u64; 3]>(),
        masks in any::<u8>(),
        s370 in any::<bool>(),
        traces in prop::collection::vec(any::<(u8, u16, u64, u64)>(), 0..4),
        here in prop_oneof![Just(TEXT), Just(TEXT + 4), 0_u64..0x40_0000],
    ) {
        let traces = traces.into_iter().map(|(what, mask, start, end)| {
            let what = match what % 4 {
                0 => What::Branch,
                1 => What::Fetch,
                2 => What::Store(None),
                _ => What::Registers(mask),
            };
            trace(what, range(start, end), Action::Count)
        });
        let mut bench = bench(&traces.collect::<Vec<_>>());
        bench.configuration.per.format = if s370 { Format::S370 } else { Format::Z };
        let [nine, ten, eleven] = control;
        // The nullifying event would be delivered for ever, because it is recorded in its own handler as
        // everywhere.
        let nine = (nine & 0xFF_FFFF | u64::from(masks) << 24) & !0x0100_0000;
        bench.cpu.control[9..12].copy_from_slice(&[nine, ten, eleven]);
        bench.cpu.psw.mask |= psw::PER;
        bench.cpu.psw.address = here & !1;
        bench.cpu.pending_work |= PendingWork::CONTROLS;
        prop_assert_eq!(leave(&mut bench), Next::Run);
        let recording = &bench.cpu.per;
        let controls = &recording.controls;
        prop_assert_eq!(recording.is_on(), controls.events != 0 || recording.below);
        if let Some(at) = stepped(&bench) {
            prop_assert_eq!(at, here & !1);
            prop_assert!(recording.is_on());
        } else if recording.watching {
            prop_assert_eq!(recording.watched.text.length, 0, "it cannot be fetched");
            prop_assert!(recording.is_on());
        } else {
            prop_assert!(!controls.ask_for(event::BRANCH | event::REGISTERS));
            prop_assert!(places(&bench.cpu).all(|range| !range.contains(here & !1)));
            prop_assert!(!recording.in_slots);
            prop_assert_eq!(bench.cpu.psw.address, here & !1);
        }
    }
}

#[test]
fn a_machine_that_cannot_execute_one_instruction_at_a_time_says_so_once_and_records_nothing() {
    let mut bench = Bench::new();
    bench.cpu.psw.mask |= psw::PER;
    bench.cpu.control[9] = 0x4000_0000;
    bench.cpu.control[11] = u64::MAX;
    for _ in 0..2 {
        bench.cpu.pending_work |= PendingWork::CONTROLS;
        assert_eq!(leave(&mut bench), Next::Run);
    }
    assert_eq!(bench.hardware.unrecorded, 1);
    assert!(!bench.cpu.per.is_on());
}
