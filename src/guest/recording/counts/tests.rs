//! Blocks, by the text of a guest; and what is counted of them.

use super::*;
use crate::state::copies::{CopiedPage, CopiesArea, Source};
use crate::storage::checked::PlacedFrame;
use crate::storage::shadow;
use crate::test_machine::Bench;
use arch::address::Absolute;
use arch::table::PTE_INVALID;
use link::counts::CountEntry;

mod calls;
mod regions;

/// Where the text of the guest is.
const TEXT: u64 = 0x4000;

const CONTEXT: Context = Context::new(7, 3, counts::DAT);

/// A machine with room for the counts, a page of text, and what is given to the host.
struct Counter {
    bench: Bench,
    counting: Counting,
    page: CopiedPage,
    given: Vec<CountEntry>,
    /// Whether the chain has no loop yet.
    may_loop: bool,
    /// How long lasts what the chain replaces.
    lasting: Lasting,
}

impl Counter {
    fn new(text: &[u8]) -> Self {
        let mut bench = Bench::new();
        shadow::build_identity(&bench.configuration, &mut bench.hardware);
        bench.set(TEXT, text);
        let at = bench.hardware.storage.len() + bench.hardware.hsa.len();
        let length = bench.hardware.hsa.len() + CopiesArea::LENGTH as usize;
        bench.hardware.hsa.resize(length, 0);
        let mut counting = begin(&mut bench.hardware, Real(at as u64), Limits::default());
        counting.context = CONTEXT;
        let page = CopiedPage {
            space: 0,
            at: TEXT,
            place: Real(0),
            entry: 0,
            source: Source::Frame(PlacedFrame::in_test(Absolute(TEXT))),
            copy: counting.copies.area.copy(0),
        };
        Self {
            bench,
            counting,
            page,
            given: Vec::new(),
            may_loop: true,
            lasting: Lasting::UntilStop,
        }
    }

    fn enter(&mut self, start: u64) -> Block {
        let given = &mut self.given;
        let found = blocks::enter(
            &self.bench.configuration,
            &mut self.bench.hardware,
            &mut self.counting,
            &Text {
                page: &self.page,
                behind: None,
            },
            (start, self.may_loop, self.lasting),
            &mut |entry| given.push(entry),
        );
        let (number, block) = found.unwrap();
        self.may_loop &= !block.loops();
        let _ = self.counting.chain.push(number);
        block
    }

    /// The guest has executed so many instructions, and is at `here`.
    fn execute(&mut self, done: u64, here: u64) {
        self.may_loop = true;
        let given = &mut self.given;
        attribute(
            &mut self.bench.hardware,
            &mut self.counting,
            done,
            here,
            0,
            &mut |entry| given.push(entry),
        );
    }

    /// The executions of each instruction, by its address.
    fn finish(mut self) -> (Vec<(u64, u64)>, u64, u64) {
        let given = &mut self.given;
        blocks::give_all(&mut self.bench.hardware, &self.counting, &mut |entry| {
            given.push(entry);
        });
        let mut sums = std::collections::BTreeMap::new();
        for entry in &self.given {
            for (at, _) in entry.instructions() {
                *sums.entry(at).or_insert(0) += entry.executions.get();
            }
        }
        let sums = sums.into_iter().collect();
        (sums, self.counting.counted, self.counting.unmatched)
    }
}

/// LR 1,2; LA 3,0(4); EX 5,0(6); BRCT 1,*; LR 1,2.
const LOOP: [u8; 16] = [
    0x18, 0x12, 0x41, 0x30, 0x40, 0, 0x44, 0x50, 0x60, 0, 0xA7, 0x16, 0xFF, 0xFB, 0x18, 0x12,
];

#[test]
fn a_block_ends_with_the_first_branch_which_alone_is_replaced() {
    let mut counter = Counter::new(&LOOP);
    let block = counter.enter(TEXT);
    assert!(block.ends() && block.reads_clock());
    assert_eq!((block.last(), block.end()), (TEXT + 10, TEXT + 14));
    // The EXECUTE counts two.
    assert_eq!(block.instructions(), 5);
    let mut copy = [0; 16];
    counter
        .bench
        .hardware
        .hsa_fetch(counter.page.copy, &mut copy);
    assert_eq!(copy[..10], LOOP[..10]);
    assert_ne!(copy[10..12], LOOP[10..12]);
    assert_eq!(insn::length(copy[10]), 4);
    let changed = copy[10..14]
        .try_into()
        .map(|[a, b, c, d]: [u8; 4]| [a, b, c, d, 0, 0]);
    assert!(!insn::assigned(&changed.unwrap()));
}

#[test]
fn whole_blocks_and_parts_of_them_add_up_and_what_does_not_fit_is_unmatched() {
    let mut counter = Counter::new(&LOOP);
    for _ in 0..3 {
        counter.enter(TEXT);
        counter.execute(5, TEXT + 14);
    }
    // Interrupted behind the second instruction, and behind the EXECUTE.
    counter.enter(TEXT);
    counter.execute(2, TEXT + 6);
    counter.enter(TEXT + 6);
    counter.execute(2, TEXT + 10);
    // An EXECUTE that counts one, more than the block has, and another place than its end.
    for (done, here) in [(3, TEXT + 10), (6, TEXT + 14), (5, TEXT + 10)] {
        counter.enter(TEXT);
        counter.execute(done, here);
    }
    let (sums, counted, unmatched) = counter.finish();
    let expected = [(0, 5), (2, 5), (6, 5), (10, 3)].map(|(at, count)| (TEXT + at, count));
    assert_eq!(sums, expected);
    assert_eq!((counted, unmatched), (3 * 5 + 2 + 2 + 3, 6 + 5));
}

#[test]
fn a_block_whose_text_has_changed_is_given_to_the_host_and_found_anew() {
    let mut counter = Counter::new(&LOOP);
    counter.enter(TEXT);
    counter.execute(5, TEXT + 14);
    // The branch becomes a load, and what is behind it a branch.
    counter
        .bench
        .set(TEXT + 10, &[0xA7, 0x18, 0, 1, 0x07, 0xFE]);
    let block = counter.enter(TEXT);
    assert_eq!((block.last(), block.instructions()), (TEXT + 14, 6));
    let mut copy = [0; 16];
    counter
        .bench
        .hardware
        .hsa_fetch(counter.page.copy, &mut copy);
    assert_eq!(copy[10..14], [0xA7, 0x18, 0, 1]);
    assert_ne!(copy[14..], [0x07, 0xFE]);
    counter.execute(6, TEXT + 16);
    let (sums, counted, unmatched) = counter.finish();
    let expected = [(0, 2), (2, 2), (6, 2), (10, 2), (14, 1)];
    assert_eq!(sums, expected.map(|(at, count)| (TEXT + at, count)));
    assert_eq!((counted, unmatched), (11, 0));
}

#[test]
fn what_was_replaced_for_an_overlapping_block_is_put_back() {
    // LARL whose operand reads as a branch: BCR 15,14 at an offset of four.
    let mut counter = Counter::new(&[0xC0, 0x10, 0, 0, 0x07, 0xFE, 0x07, 0xFE]);
    let inner = counter.enter(TEXT + 4);
    assert_eq!((inner.last(), inner.end()), (TEXT + 4, TEXT + 6));
    let outer = counter.enter(TEXT);
    assert_eq!((outer.last(), outer.instructions()), (TEXT + 6, 2));
    let mut copy = [0; 8];
    counter
        .bench
        .hardware
        .hsa_fetch(counter.page.copy, &mut copy);
    assert_eq!(copy[..6], [0xC0, 0x10, 0, 0, 0x07, 0xFE]);
}

#[test]
fn a_branch_to_which_the_guest_comes_again_stays_replaced_unless_it_is_within_another_instruction()
{
    let text = [0xC0, 0x10, 0, 0, 0x07, 0xFE, 0x07, 0xFE];
    let copied_after = |starts: &[u64], lasting| {
        let mut counter = Counter::new(&text);
        let copy = counter.page.copy;
        let whole = u64::from_be_bytes(text);
        counter.bench.hardware.hsa_store(copy, whole);
        counter.lasting = lasting;
        for start in starts {
            let block = counter.enter(*start);
            counter.execute(block.instructions(), block.end());
        }
        counter.bench.hardware.hsa_load(copy).to_be_bytes()
    };
    assert_eq!(copied_after(&[TEXT], Lasting::UntilStop), text);
    let stays = copied_after(&[TEXT], Lasting::WhereFree);
    assert_eq!(stays[..6], text[..6]);
    assert_ne!(stays[6..], text[6..]);
    // The operand of the LARL reads as a branch, too.
    assert_eq!(copied_after(&[TEXT, TEXT + 4], Lasting::WhereFree), stays);
    let other = copied_after(&[TEXT + 4, TEXT], Lasting::WhereFree);
    assert_ne!(other[4..6], text[4..6]);
    assert_eq!(other[6..], text[6..]);
}

#[test]
fn a_page_that_is_not_counted_is_mapped_as_long_as_the_shadow_has_it() {
    let mut counter = Counter::new(&[]);
    let hardware = &mut counter.bench.hardware;
    // A segment table and a page table of the shadow.
    let table = Real((hardware.storage.len() + hardware.hsa.len()) as u64);
    let room = hardware.hsa.len() + 2 * PAGE as usize;
    hardware.hsa.resize(room, 0);
    let pages = table.offset(PAGE);
    let entry = pages.offset(TEXT / PAGE * 8);
    hardware.hsa_store(table, pages.0);
    hardware.hsa_store(entry, TEXT);
    let (of, at) = (table.0, Virtual(TEXT));
    let copies = &mut counter.counting.copies;
    assert!(copied::is_there(hardware, of, at) && !copied::is_uncopied(hardware, copies, of, at));
    assert_eq!(copied::uncopied_page(hardware, copies, of, at), Some(()));
    let own = copied::uncopied_space(hardware, copies, of);
    assert_ne!(own, of);
    assert!(copied::is_uncopied(hardware, copies, of, at) && !copies.purges);
    hardware.hsa_store(entry, TEXT + PAGE);
    copied::uncopied_space(hardware, copies, of);
    assert!(!copied::is_uncopied(hardware, copies, of, at) && copies.purges);
    hardware.hsa_store(entry, PTE_INVALID);
    assert_eq!(copied::uncopied_page(hardware, copies, of, at), None);
}

#[test]
fn straight_text_is_a_chain_of_blocks_up_to_the_end_of_the_page() {
    let mut counter = Counter::new(&[]);
    let (mut at, mut count) = (TEXT, 0);
    while at < TEXT + PAGE {
        let block = counter.enter(at);
        assert!(!block.ends());
        count += block.instructions();
        at = block.end();
    }
    assert_eq!((at, count), (TEXT + PAGE, PAGE / 2));
    counter.execute(count, at);
    let (sums, counted, unmatched) = counter.finish();
    assert_eq!(
        (sums.len() as u64, counted, unmatched),
        (PAGE / 2, PAGE / 2, 0)
    );
    assert!(sums.iter().all(|&(_, executions)| executions == 1));
}

#[test]
fn a_table_that_is_full_gives_to_the_host_and_loses_nothing() {
    // Each block has one BCR, and there are more than twice as many as there are places.
    let text = [0x07_u8, 0xFE].repeat(PAGE as usize / 2);
    let mut counter = Counter::new(&text);
    for round in 1..=20 {
        for number in 0..PAGE / 2 {
            counter.counting.chain.clear();
            let at = TEXT + 2 * number;
            // The same text at many addresses.
            let start = at + round * (1 << 20);
            counter.enter(start);
            counter.execute(1, start + 2);
        }
    }
    let (sums, counted, unmatched) = counter.finish();
    let all = 20 * PAGE / 2;
    assert_eq!((sums.len() as u64, counted, unmatched), (all, all, 0));
    assert!(sums.iter().all(|&(_, executions)| executions == 1));
}

/// LR 1,2; LA 3,0(4); BRCT 1,*-6; LR 1,2; BCR 15,14: a loop of three instructions, and two behind it.
const ROUND: [u8; 14] = [
    0x18, 0x12, 0x41, 0x30, 0x40, 0, 0xA7, 0x16, 0xFF, 0xFD, 0x18, 0x12, 0x07, 0xFE,
];

#[test]
fn the_rounds_of_a_loop_are_known_by_the_number_of_instructions_and_by_where_the_guest_is() {
    // Instructions, where the guest is then, and how often it executed each instruction.
    let cases: [(u64, u64, [u64; 5]); 7] = [
        (3 + 2, 14, [1, 1, 1, 1, 1]),
        (3 * 100 + 2, 14, [100; 5]),
        (3 * 100, 0, [100, 100, 100, 0, 0]),
        (3 * 100 + 1, 2, [101, 100, 100, 0, 0]),
        (2, 6, [1, 1, 0, 0, 0]),
        (3 * 7 + 2, 6, [8, 8, 7, 0, 0]),
        (3 * 7 + 1, 12, [7, 7, 7, 1, 0]),
    ];
    for (done, here, mut expected) in cases {
        if here == 14 {
            // What is behind the loop is executed once.
            expected[3] = 1;
            expected[4] = 1;
        }
        let mut counter = Counter::new(&ROUND);
        let block = counter.enter(TEXT);
        assert!(block.loops() && !block.ends());
        let behind = counter.enter(TEXT + 10);
        assert!(behind.ends());
        counter.execute(done, TEXT + here);
        let (sums, counted, unmatched) = counter.finish();
        let places = [0, 2, 6, 10, 12].into_iter().zip(expected);
        let places: Vec<_> = places
            .filter(|&(_, times)| times != 0)
            .map(|(at, times)| (TEXT + at, times))
            .collect();
        assert_eq!(sums, places, "{done} {here}");
        assert_eq!((counted, unmatched), (done, 0));
    }
    // Neither a number of rounds, nor the place for it.
    for (done, here) in [(3 * 100 + 1, 14), (3 * 100, 12), (4, 2)] {
        let mut counter = Counter::new(&ROUND);
        counter.enter(TEXT);
        counter.enter(TEXT + 10);
        counter.execute(done, TEXT + here);
        let expected = if (done, here) == (4, 2) { 0 } else { done };
        assert_eq!(counter.finish().2, expected, "{done} {here}");
    }
}

#[test]
fn a_second_loop_of_a_chain_stops_the_guest() {
    let text = [&ROUND[..10], &ROUND[..10], &ROUND[10..]].concat();
    let mut counter = Counter::new(&text);
    assert!(counter.enter(TEXT).loops());
    let second = counter.enter(TEXT + 10);
    assert!(second.ends() && !second.loops());
    counter.execute(3 * 5 + 3, TEXT + 20);
    assert!(counter.enter(TEXT + 10).loops());
    let (sums, counted, unmatched) = counter.finish();
    let expected = [(0, 5), (2, 5), (6, 5), (10, 1), (12, 1), (16, 1)];
    assert_eq!(sums, expected.map(|(at, times)| (TEXT + at, times)));
    assert_eq!((counted, unmatched), (18, 0));
}

#[test]
fn what_the_machine_performs_with_a_trap_in_addition_is_counted_where_it_is() {
    // STPT 5F0, and BC 15,5E0 behind it.
    let mut counter = Counter::new(&[0xB2, 0x09, 0x05, 0xF0, 0x47, 0xF0, 0x05, 0xE0]);
    let copy = counter.page.copy;
    counter
        .bench
        .hardware
        .hsa_store(copy, 0xB209_05F0_B9FF_05E0);
    let place = (TEXT / PAGE) as usize % crate::state::copies::PAGES;
    counter.counting.copies.pages[place] = Some(counter.page);
    let at = |address: u64| Psw {
        mask: ADDRESSING_64,
        address,
    };
    let mut also = |old: u64, next: u64, delivered| {
        counter.bench.cpu.interruption.old = at(old);
        counter.bench.cpu.psw = at(next);
        let Counter {
            bench, counting, ..
        } = &counter;
        match also_performed(&bench.cpu, &bench.hardware, counting, delivered) {
            Some(Also::First(at, bytes)) => vec![(at, bytes)],
            Some(Also::Return(both)) => both.to_vec(),
            None => vec![],
        }
    };
    assert_eq!(also(TEXT + 4, 0x9_0000, None), [(TEXT + 4, 4), (0x5E0, 4)]);
    // It goes on with the branch, or something else has trapped.
    assert_eq!(also(TEXT + 4, TEXT + 4, None), []);
    assert_eq!(also(TEXT, 0x9_0000, None), []);
    assert_eq!(also(TEXT + 6, 0x9_0000, None), []);
    assert_eq!(also(TEXT + PAGE + 4, 0x9_0000, None), []);
    // The handler of an interruption.
    let handler = Some((at(TEXT + 4), 0x9_0000));
    assert_eq!(also(TEXT + 4, 0x9_0004, handler), [(0x9_0000, 4)]);
    assert_eq!(also(TEXT + 4, 0x9_0000, handler), []);
    let given = &mut counter.given;
    let hardware = &mut counter.bench.hardware;
    account_for_one(hardware, &mut counter.counting, 0x5E0, 4, &mut |entry| {
        given.push(entry)
    });
    counter.counting.phase = Phase::Rests;
    account_for_one(hardware, &mut counter.counting, 0x5E0, 4, &mut |entry| {
        given.push(entry)
    });
    assert_eq!(counter.counting.skipped, 1);
    assert_eq!(counter.finish(), (vec![(0x5E0, 1)], 1, 0));
}
