//! Calls of routines: with too many of them, of several programs, and with interruptions.

use super::super::calls::{self, Call};
use super::*;
use crate::state::copies::{DEEPEST, SITES, STACKS};
use crate::state::counting::UnmatchedCalls;
use arch::interruption::Class;
use arch::lowcore;
use arch::psw::ADDRESSING_64;
use link::counts::Calls;
use std::collections::BTreeMap;

/// BCR 15,14.
const RETURN: [u8; 6] = [0x07, 0xFE, 0, 0, 0, 0];

/// A program in supervisor state at an address.
const fn at(address: u64) -> Psw {
    Psw {
        mask: ADDRESSING_64,
        address,
    }
}

/// By place and routine, how many calls there were, and what they executed.
type Found = BTreeMap<(u64, u64), (u64, u64)>;

impl Counter {
    /// The guest goes on at a PSW, in the space with this control register 1.
    fn turn(&mut self, space: u64, next: Psw) {
        self.bench.cpu.control[1] = space;
        let given = &mut self.given;
        calls::go_on(
            &self.bench.cpu,
            &mut self.bench.hardware,
            &mut self.counting,
            next,
            None,
            &mut |entry| given.push(entry),
        );
    }

    fn call(&mut self, site: u64, routine: u64) {
        let call = Call {
            site,
            back: site + 6,
            routine,
        };
        let given = &mut self.given;
        let each = &mut |entry| given.push(entry);
        calls::begin(&mut self.bench.hardware, &mut self.counting, call, 0, each);
    }

    /// A branch on register 14 from somewhere.
    fn back(&mut self, to: u64) {
        let given = &mut self.given;
        calls::branched(
            &mut self.bench.hardware,
            &mut self.counting,
            (&RETURN, 0x7000, 2),
            at(to),
            &mut |entry| given.push(entry),
        );
    }

    /// A trap was handled that came at `old`, and the guest goes on at a PSW.
    fn trap(&mut self, old: u64, next: Psw) {
        self.bench.cpu.interruption.old = at(old);
        self.bench.cpu.psw = next;
        let delivered = delivered(
            &self.bench.cpu,
            &self.bench.configuration,
            &self.bench.hardware,
        );
        let given = &mut self.given;
        calls::trapped(
            &self.bench.cpu,
            &mut self.bench.hardware,
            &mut self.counting,
            (false, delivered),
            &mut |entry| given.push(entry),
        );
    }

    fn pass(&mut self, instructions: u64) {
        self.counting.following.pass(instructions);
    }

    /// The calls, and what did not match.
    fn all(mut self) -> (Found, UnmatchedCalls) {
        let given = &mut self.given;
        calls::give_all(&mut self.bench.hardware, &mut self.counting, &mut |entry| {
            given.push(entry);
        });
        let mut found = Found::new();
        for Calls {
            site,
            routine,
            times,
            inclusive,
            ..
        } in self.given.iter().filter_map(CountEntry::calls)
        {
            let sum = found.entry((site, routine)).or_default();
            *sum = (sum.0 + times, sum.1 + inclusive);
        }
        (found, self.counting.following.unmatched)
    }
}

#[test]
fn calls_for_which_there_is_no_room_return_before_the_others() {
    const MORE: u64 = 10;
    let mut counter = Counter::new(&LOOP);
    counter.turn(0, at(TEXT));
    // The program itself is one.
    for _ in 0..DEEPEST - 1 + MORE {
        counter.call(0x1000, 0x2000);
        counter.pass(1);
    }
    for _ in 0..DEEPEST - 1 + MORE {
        counter.back(0x1006);
    }
    counter.pass(100);
    counter.back(0x1006);
    let (found, unmatched) = counter.all();
    // Each has one instruction more than the one that it calls.
    let of_last = MORE + 1;
    let sum: u64 = (of_last..of_last + DEEPEST - 1).sum();
    assert_eq!(found[&(0x1000, 0x2000)], (DEEPEST - 1 + MORE, sum));
    let expected = UnmatchedCalls {
        returns: 1,
        abandoned: 0,
        not_followed: MORE,
    };
    assert_eq!(unmatched, expected);
}

#[test]
fn calls_from_more_places_than_there_is_room_for_are_all_given_to_the_host() {
    let mut counter = Counter::new(&LOOP);
    counter.turn(0, at(TEXT));
    let sites = || (0..3 * SITES).map(|number| 0x10_0000 + 2 * number);
    for _ in 0..2 {
        for site in sites() {
            counter.call(site, 0x2000);
            counter.pass(3);
            counter.back(site + 6);
        }
    }
    let (found, unmatched) = counter.all();
    assert_eq!(unmatched, UnmatchedCalls::default());
    assert!(sites().all(|site| found[&(site, 0x2000)] == (2, 6)));
}

#[test]
fn what_other_programs_execute_is_in_no_call_of_a_program() {
    let mut counter = Counter::new(&LOOP);
    let spaces = || (1..=STACKS as u64).map(|number| number << 12);
    let user = Psw {
        mask: at(TEXT).mask | PROBLEM,
        ..at(TEXT)
    };
    for round in 0..2 {
        for space in spaces() {
            counter.turn(space, user);
            if round == 0 {
                counter.call(space, 0x2000);
            }
            counter.pass(space);
        }
    }
    for space in spaces() {
        counter.turn(space, user);
        counter.back(space + 6);
        counter.pass(1);
    }
    // One more ends the calls of the program that has waited longest.
    counter.turn(0x999_9000, user);
    let (found, unmatched) = counter.all();
    assert_eq!(unmatched, UnmatchedCalls::default());
    for space in spaces() {
        assert_eq!(found[&(space, 0x2000)], (1, 2 * space));
    }
    let all: u64 = spaces().map(|space| 2 * space + 1).sum();
    assert_eq!(found[&(0, TEXT)], (STACKS as u64 + 1, all));
}

#[test]
fn an_interruption_is_in_no_call_before_it_and_ends_where_the_program_goes_on() {
    const HANDLER: u64 = 0x9000;
    let mut counter = Counter::new(&LOOP);
    let new = at(HANDLER);
    let external = Class::External;
    let psw = |psw: Psw| [psw.mask.to_be_bytes(), psw.address.to_be_bytes()].concat();
    counter.bench.set(lowcore::new_psw(external), &psw(new));
    counter.turn(0, at(TEXT));
    counter.call(0x1000, 0x2000);
    counter.pass(5);
    let interrupted = at(0x2010);
    counter
        .bench
        .set(lowcore::old_psw(external), &psw(interrupted));
    // The machine has performed the first instruction of the handler.
    counter.trap(interrupted.address, at(HANDLER + 4));
    counter.pass(100);
    counter.call(HANDLER + 8, 0x3000);
    counter.pass(50);
    // A trap whose instruction the machine performs.
    counter.trap(0x3004, at(0x3008));
    counter.back(HANDLER + 14);
    // The handler jumps by loading a PSW.
    counter.trap(HANDLER + 20, at(HANDLER + 0x100));
    counter.pass(7);
    counter.trap(HANDLER + 0x104, interrupted);
    counter.pass(2);
    counter.back(0x1006);
    let (found, unmatched) = counter.all();
    assert_eq!(unmatched, UnmatchedCalls::default());
    let expected = [
        ((0, TEXT), (1, 7)),
        ((0, HANDLER), (1, 157)),
        ((0x1000, 0x2000), (1, 7)),
        ((HANDLER + 8, 0x3000), (1, 50)),
    ];
    assert_eq!(found, expected.into());
}
