//! Random programs, executed from the copies as the hardware does: what is counted of them is what was executed.

use super::super::{calls, regions};
use super::*;
use crate::state::counting::UnmatchedCalls;
use arch::psw::{ADDRESSING_64, Psw};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// An instruction of a random program; a branch leads to the instruction with this number.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// LR.
    Two,
    /// LA.
    Four,
    /// LARL.
    Six,
    /// BRC of a condition, or of all.
    Jump(u8, usize),
    /// BRCL of a condition.
    Far(usize),
    /// CGIJ.
    Compare(usize),
    /// BRASL.
    Call(usize),
    /// BCR 15,14.
    Return,
    /// STCKF.
    Clock,
}

impl Piece {
    const fn length(self) -> u64 {
        match self {
            Self::Two | Self::Return => 2,
            Self::Four | Self::Jump(..) | Self::Clock => 4,
            Self::Six | Self::Far(_) | Self::Compare(_) | Self::Call(_) => 6,
        }
    }

    /// Where it may go on, by its own address and those of all.
    fn outs(self, next: u64, places: &[u64]) -> Vec<u64> {
        match self {
            Self::Jump(0xF, to) | Self::Call(to) => vec![places[to]],
            Self::Jump(_, to) | Self::Far(to) | Self::Compare(to) => vec![places[to], next],
            Self::Return => (0..4).map(|of| places[of * places.len() / 4]).collect(),
            _ => vec![next],
        }
    }

    fn text(self, at: u64, places: &[u64]) -> Vec<u8> {
        let halfwords = |to: usize| places[to].wrapping_sub(at) as i64 / 2;
        let short = |to: usize| (halfwords(to) as i16).to_be_bytes();
        let long = |to: usize| (halfwords(to) as i32).to_be_bytes();
        match self {
            Self::Two => vec![0x18, 0x12],
            Self::Four => vec![0x41, 0x30, 0x40, 0],
            Self::Six => vec![0xC0, 0x10, 0, 0, 0x07, 0xFE],
            Self::Jump(condition, to) => [&[0xA7, condition << 4 | 4], &short(to)[..]].concat(),
            Self::Far(to) => [&[0xC0, 0x84], &long(to)[..]].concat(),
            Self::Compare(to) => [&[0xEC, 0x18], &short(to)[..], &[0, 0x7C]].concat(),
            Self::Call(to) => [&[0xC0, 0xE5], &long(to)[..]].concat(),
            Self::Return => vec![0x07, 0xFE],
            Self::Clock => vec![0xB2, 0x7C, 0xF0, 0],
        }
    }
}

/// The pieces of a program, of which most branches lead a few instructions forward, and some to themselves or back.
fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let piece = (0_u8..80, 0_usize..18);
    prop::collection::vec(piece, 20..120).prop_map(|drawn| {
        let last = drawn.len() - 1;
        let of = |(place, (kind, to)): (usize, (u8, usize))| {
            // Returns follow the last one.
            let forward = (place + 1 + to / 2).min(last + 1);
            let any = if to < 11 {
                forward
            } else {
                place.saturating_sub(to - 11)
            };
            match kind {
                0..40 => Piece::Two,
                40..52 => Piece::Four,
                52..56 => Piece::Six,
                56..64 => Piece::Jump(8, any),
                64..66 => Piece::Jump(0xF, forward),
                66..70 => Piece::Far(any),
                70..76 => Piece::Compare(any),
                76..78 => Piece::Call(any),
                78 => Piece::Clock,
                _ => Piece::Return,
            }
        };
        drawn.into_iter().enumerate().map(of).collect()
    })
}

/// What the guest does, by chance.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ mixed >> 29) % end
    }
}

/// From where a routine was called, where it begins, and whether it was active already.
type Edge = (u64, u64, bool);

/// What is known of the calls of a program, by a rule that is written again here.
#[derive(Default)]
struct Model {
    /// Where each call that has not ended came from and returns to, and the instructions before it.
    active: Vec<(Edge, u64, u64)>,
    /// How many calls, and what they executed.
    ended: BTreeMap<Edge, (u64, u64)>,
    /// Returns to where no call was, and calls that ended with one before them.
    unmatched: (u64, u64),
    instructions: u64,
}

impl Model {
    fn call(&mut self, site: u64, back: u64, routine: u64) {
        let is_again = self
            .active
            .iter()
            .any(|((_, other, _), ..)| *other == routine);
        let edge = (site, routine, is_again);
        self.ended.entry(edge).or_default().0 += 1;
        self.active.push((edge, back, self.instructions));
    }

    fn end(&mut self, rest: usize) {
        for (edge, _, before) in self.active.drain(rest..) {
            self.ended.get_mut(&edge).unwrap().1 += self.instructions - before;
        }
    }

    fn branch(&mut self, to: u64) {
        match self.active.iter().rposition(|&(_, back, _)| back == to) {
            Some(place) => {
                self.unmatched.1 += (self.active.len() - place - 1) as u64;
                self.end(place);
            }
            None => self.unmatched.0 += 1,
        }
    }

    fn execute(&mut self, piece: Piece, at: u64, going: u64) {
        self.instructions += 1;
        match piece {
            Piece::Call(_) => self.call(at, at + piece.length(), going),
            Piece::Return if going != at + piece.length() => self.branch(going),
            _ => {}
        }
    }
}

/// A program in storage, and what was executed of it.
struct Program {
    counter: Counter,
    pieces: BTreeMap<u64, Piece>,
    places: Vec<u64>,
    executed: BTreeMap<u64, u64>,
    model: Model,
}

impl Program {
    fn new(pieces: &[Piece]) -> Self {
        let mut at = TEXT;
        let mut places = Vec::new();
        for piece in pieces {
            places.push(at);
            at += piece.length();
        }
        let texts = pieces.iter().zip(&places);
        let text: Vec<u8> = texts
            .flat_map(|(piece, &at)| piece.text(at, &places))
            .collect();
        let mut counter = Counter::new(&text);
        let page = CopiedPage {
            place: counter.counting.copies.area.copy(1),
            ..counter.page
        };
        for offset in (0..PAGE).step_by(8) {
            let hardware = &mut counter.bench.hardware;
            let doubleword = copied::load(hardware, page.source, offset);
            hardware.hsa_store(page.copy.offset(offset), doubleword);
        }
        counter.counting.copies.pages[(TEXT / PAGE) as usize % crate::state::copies::PAGES] =
            Some(page);
        let mut model = Model::default();
        model.call(0, u64::MAX, TEXT);
        let psw = Psw {
            mask: ADDRESSING_64,
            address: TEXT,
        };
        let Counter {
            bench, counting, ..
        } = &mut counter;
        calls::go_on(
            &bench.cpu,
            &mut bench.hardware,
            counting,
            psw,
            None,
            &mut |_| (),
        );
        counting.context = CONTEXT;
        Self {
            model,
            counter,
            pieces: places.iter().copied().zip(pieces.iter().copied()).collect(),
            places,
            executed: BTreeMap::new(),
        }
    }

    fn enter(&mut self, start: u64) -> Option<u16> {
        let Counter {
            bench,
            counting,
            given,
            ..
        } = &mut self.counter;
        let place = regions::Place {
            of: 0,
            mask: u64::MAX,
        };
        let each = &mut |entry| given.push(entry);
        regions::enter(
            &bench.configuration,
            &mut bench.hardware,
            counting,
            &place,
            start,
            each,
        )
        .ok()
    }

    /// Whether the hardware finds what the guest has at an address.
    fn is_own(&self, at: u64, piece: Piece) -> bool {
        let mut found = [0; 2];
        let Counter { bench, page, .. } = &self.counter;
        bench
            .hardware
            .hsa_fetch(page.copy.offset(at - TEXT), &mut found);
        found == piece.text(at, &self.places)[..2]
    }

    /// Executes from an address on, in a region, until the guest stops, or is interrupted before so many instructions. Returns
    /// where it goes on.
    fn execute(&mut self, region: u16, start: u64, most: u64, random: &mut Random) -> u64 {
        let (mut at, mut done) = (start, 0);
        loop {
            let Some(&piece) = self.pieces.get(&at) else {
                panic!("the guest is at {at:X}");
            };
            assert!(done < 100_000, "the guest does not stop");
            let next = at + piece.length();
            let is_own = self.is_own(at, piece);
            if is_own && done == most {
                self.attribute(region, done, at, NEAR);
                return at;
            }
            *self.executed.entry(at).or_default() += 1;
            done += 1;
            let mut outs = piece.outs(next, &self.places);
            let active = self.model.active.iter().rev();
            if let Piece::Return = piece
                && random.below(4) != 0
            {
                let back = active
                    .map(|&(_, back, _)| back)
                    .take(1 + random.below(3) as usize);
                outs = outs
                    .into_iter()
                    .take(1)
                    .chain(back.filter(|&back| back != u64::MAX))
                    .collect();
                outs.reverse();
                outs.truncate(2);
            }
            let going = outs[random.below(outs.len() as u64) as usize];
            self.model.execute(piece, at, going);
            if !is_own {
                let Counter {
                    bench,
                    counting,
                    given,
                    ..
                } = &mut self.counter;
                let each = &mut |entry| given.push(entry);
                match regions::leaf(&bench.hardware, counting, region, (at, done)) {
                    Some(leaf) => {
                        assert_eq!(leaf.text[..2], piece.text(at, &self.places)[..2]);
                        regions::count(&mut bench.hardware, counting, region, &leaf, each);
                        counting.counted += done;
                        counting.following.pass(done);
                    }
                    // Another region needs it.
                    None => self.attribute(region, done, next, 0),
                }
                self.branched(piece, at, going);
                return going;
            }
            at = going;
        }
    }

    /// The machine has performed a branch.
    fn branched(&mut self, piece: Piece, at: u64, going: u64) {
        let mut text = [0; 6];
        let bytes = piece.text(at, &self.places);
        text[..bytes.len()].copy_from_slice(&bytes);
        let Counter {
            bench,
            counting,
            given,
            ..
        } = &mut self.counter;
        let next = Psw {
            mask: ADDRESSING_64,
            address: going,
        };
        let branch = (&text, at, piece.length());
        let each = &mut |entry| given.push(entry);
        calls::branched(&mut bench.hardware, counting, branch, next, each);
    }

    fn attribute(&mut self, region: u16, done: u64, here: u64, near: u64) {
        let Counter {
            bench,
            counting,
            given,
            ..
        } = &mut self.counter;
        counting.region = Some(region);
        let each = &mut |entry| given.push(entry);
        attribute(&mut bench.hardware, counting, done, here, near, each);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_way_through_a_region_is_known_by_where_the_guest_stops_and_by_the_clock(
        pieces in pieces(),
        seed in any::<u64>(),
    ) {
        let end = [Piece::Return; 4];
        let mut program = Program::new(&[&pieces[..], &end].concat());
        let mut random = Random(seed);
        let mut at = TEXT;
        for _ in 0..400 {
            let region = regions::find(&program.counter.bench.hardware, &program.counter.counting, at)
                .or_else(|| program.enter(at));
            let Some(region) = region else {
                // It begins with what only a chain can have, or is new after a trap.
                let piece = program.pieces[&at];
                let outs = piece.outs(at + piece.length(), &program.places);
                let going = outs[random.below(outs.len() as u64) as usize];
                program.model.execute(piece, at, going);
                program.counter.counting.following.pass(1);
                program.branched(piece, at, going);
                program.counter.counting.behind_branch = random.below(4) != 0;
                at = going;
                continue;
            };
            let is_interrupted = random.below(5) == 0;
            let most = if is_interrupted { random.below(40) } else { u64::MAX };
            at = program.execute(region, at, most, &mut random);
            let counting = &mut program.counter.counting;
            counting.behind_branch = !is_interrupted;
            if is_interrupted {
                counting.copies.epoch += 1;
            }
        }
        let Program { mut counter, executed, mut model, .. } = program;
        let Counter { bench, counting, given, .. } = &mut counter;
        model.end(0);
        calls::give_all(&mut bench.hardware, counting, &mut |entry| given.push(entry));
        let UnmatchedCalls { returns, abandoned, not_followed } = counting.following.unmatched;
        prop_assert_eq!(((returns, abandoned), not_followed), (model.unmatched, 0));
        let mut calls: BTreeMap<Edge, (u64, u64)> = BTreeMap::new();
        for of in given.iter().filter_map(CountEntry::calls) {
            let (times, inclusive) = calls.entry((of.site, of.routine, of.is_again)).or_default();
            *times += of.times;
            *inclusive += of.inclusive;
        }
        prop_assert_eq!(calls, model.ended);
        regions::give_all(&mut bench.hardware, counting, &mut |entry| given.push(entry));
        let (sums, counted, unmatched) = counter.finish();
        let all: u64 = executed.values().sum();
        prop_assert_eq!((counted, unmatched), (all, 0));
        prop_assert_eq!(sums, executed.into_iter().collect::<Vec<_>>());
    }
}

/// A branch leads into the middle of another instruction, where there is another branch.
#[test]
fn a_region_never_replaces_what_is_within_an_instruction_of_another_one() {
    // The last halfword of the LARL is a BCR 15,14.
    let mut program = Program::new(&[Piece::Six, Piece::Return]);
    program.counter.counting.behind_branch = true;
    assert!(program.enter(TEXT).is_some());
    let copied = |program: &Program| {
        let Counter { bench, page, .. } = &program.counter;
        bench.hardware.hsa_load(page.copy)
    };
    let replaced = copied(&program);
    assert_eq!(program.enter(TEXT + 4), None);
    program.counter.counting.copies.epoch += 1;
    assert!(program.enter(TEXT).is_some());
    assert_eq!(copied(&program), replaced);
}
