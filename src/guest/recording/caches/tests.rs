use super::*;
use crate::test_machine::Bench;
use arch::psw::{ADDRESSING_64, DAT, PROBLEM, Psw};
use arch::table::{PTE_INVALID, PTE_PROTECTION};
use cache::Geometry;
use cpumf::instruction::load_cpu_counter_set_controls;
use cpumf::model::{Z10, Z15};
use cpumf::{ConfigurationLevel, CounterSets, Facility, Installation, Model, SamplingLimits};

/// Where the segment table and the page table are.
const SEGMENTS: u64 = 0x8000;
const PAGES: u64 = 0xC000;

/// A bench whose CPU has caches, and counts at both levels.
fn bench(model: &'static Model) -> Bench {
    let mut bench = Bench::new();
    let geometry = Geometry::parse("i=1K/2/64/10,d=512/2/32/100").unwrap();
    let storage = vec![0; geometry.doublewords()].leak();
    bench.cpu.caches = Some(Box::leak(Box::new(Caches::new(geometry, storage).unwrap())));
    let limits = SamplingLimits {
        minimum: 1000,
        maximum: 1 << 32,
        cpu_speed: 1000,
    };
    let activity = bench.cpu.account.activity();
    let counting = |level| {
        let mut facility = Facility::new(level, model, Installation::ALL, limits);
        facility.authorize_counters(CounterSets::HONEST, &activity);
        load_cpu_counter_set_controls(&mut facility, &activity, 0x0006_0006).unwrap();
        facility
    };
    bench.cpu.own = counting(ConfigurationLevel::LogicalPartition);
    bench.cpu.machine = counting(ConfigurationLevel::BasicMachine);
    bench
}

fn execute(bench: &mut Bench, references: &[(u64, u64, Access)]) {
    let references = references
        .iter()
        .map(|&(at, length, access)| Reference::new(Virtual(at), length, access));
    step(
        &mut bench.cpu,
        &bench.configuration,
        &bench.hardware,
        references,
    );
}

fn counters(facility: &Facility, first: u64) -> [Option<u64>; 4] {
    let now = cpumf::counters::Activity::NONE;
    core::array::from_fn(|n| facility.counters().read(first + n as u64, &now))
}

/// Turns DAT on, with an empty page table.
fn map(bench: &mut Bench, entries: &[(u64, u64)]) {
    bench.set_doublewords(SEGMENTS, &[PAGES]);
    bench.set_doublewords(SEGMENTS + 8, &[0x20; 2047]);
    bench.set_doublewords(PAGES, &[PTE_INVALID; 256]);
    for (page, entry) in entries {
        bench.set_doublewords(PAGES + page * 8, &[*entry]);
    }
    bench.cpu.control[1] = SEGMENTS;
    bench.cpu.psw = Psw {
        mask: ADDRESSING_64 | DAT,
        address: 0,
    };
}

#[test]
fn the_basic_set_counts_both_states_and_the_problem_state_set_of_cfvn_1_one() {
    let mut bench = bench(&Z10);
    execute(&mut bench, &[(0x1000, 6, Access::Execute)]);
    bench.cpu.psw.mask |= PROBLEM;
    execute(
        &mut bench,
        &[
            (0x103E, 4, Access::Execute),
            (0x2000, 8, Access::Fetch),
            (0x2020, 40, Access::Store),
        ],
    );
    for facility in [&bench.cpu.own, &bench.cpu.machine] {
        assert_eq!(counters(facility, 2), [2, 20, 3, 300].map(Some));
        assert_eq!(counters(facility, 34), [1, 10, 3, 300].map(Some));
    }
}

#[test]
fn there_are_no_cache_counters_in_the_problem_state_set_of_later_models() {
    let mut bench = bench(&Z15);
    bench.cpu.psw.mask |= PROBLEM;
    execute(&mut bench, &[(0x1000, 6, Access::Execute)]);
    assert_eq!(counters(&bench.cpu.own, 2), [1, 10, 0, 0].map(Some));
    assert_eq!(counters(&bench.cpu.own, 34), [None; 4]);
}

#[test]
fn penalty_cycles_are_in_no_cycle_count() {
    let mut bench = bench(&Z15);
    let before = bench.cpu.account.activity();
    execute(&mut bench, &[(0x2000, 8, Access::Fetch)]);
    assert_eq!(bench.cpu.account.activity(), before);
}

#[test]
fn an_inactive_set_counts_nothing_but_lines_are_brought_in() {
    let mut bench = bench(&Z15);
    let activity = bench.cpu.account.activity();
    load_cpu_counter_set_controls(&mut bench.cpu.own, &activity, 0x0006_0000).unwrap();
    execute(&mut bench, &[(0x2000, 8, Access::Fetch)]);
    assert_eq!(counters(&bench.cpu.own, 2), [0; 4].map(Some));
    load_cpu_counter_set_controls(&mut bench.cpu.own, &activity, 0x0006_0006).unwrap();
    execute(&mut bench, &[(0x2000, 8, Access::Fetch)]);
    assert_eq!(counters(&bench.cpu.own, 2), [0; 4].map(Some));
    assert_eq!(counters(&bench.cpu.machine, 2), [0, 0, 1, 100].map(Some));
}

#[test]
fn a_line_is_found_by_its_absolute_address() {
    let mut bench = bench(&Z15);
    // Two pages at one absolute address, and real 0 at the prefix.
    map(&mut bench, &[(3, 0x5_0000), (4, 0x5_0000), (5, 0)]);
    bench.cpu.prefix = 0x6_0000;
    execute(
        &mut bench,
        &[
            (0x3010, 8, Access::Fetch),
            (0x4010, 8, Access::Store),
            (0x5010, 8, Access::Fetch),
        ],
    );
    assert_eq!(counters(&bench.cpu.own, 2), [0, 0, 2, 200].map(Some));
    bench.cpu.psw.mask &= !DAT;
    execute(
        &mut bench,
        &[
            (0x5_0010, 8, Access::Fetch),
            (0x10, 8, Access::Store),
            (0x6_0010, 8, Access::Fetch),
        ],
    );
    assert_eq!(
        counters(&bench.cpu.own, 2),
        [0, 0, 3, 300].map(Some),
        "absolute 10 is new"
    );
}

#[test]
fn an_operand_that_crosses_pages_is_found_in_both() {
    let mut bench = bench(&Z15);
    map(&mut bench, &[(3, 0x5_0000), (4, 0x2_0000)]);
    execute(&mut bench, &[(0x3FE0, 64, Access::Store)]);
    bench.cpu.psw.mask &= !DAT;
    execute(
        &mut bench,
        &[(0x5_0FE0, 32, Access::Fetch), (0x2_0000, 32, Access::Fetch)],
    );
    assert_eq!(counters(&bench.cpu.own, 2), [0, 0, 2, 200].map(Some));
}

#[test]
fn addresses_wrap_in_the_addressing_mode() {
    let mut bench = bench(&Z15);
    bench.cpu.psw.mask &= !ADDRESSING_64;
    for at in [0x8100_0040, 0x40] {
        execute(&mut bench, &[(at, 8, Access::Fetch)]);
        assert_eq!(counters(&bench.cpu.own, 2), [0, 0, 1, 100].map(Some));
    }
}

#[test]
fn a_reference_that_is_refused_is_the_last_one_of_its_instruction() {
    for (at, access) in [
        (0x5000, Access::Fetch),
        (0x4000, Access::Store),
        (0x7F_0000, Access::Fetch),
    ] {
        let mut bench = bench(&Z15);
        map(&mut bench, &[(3, 0x5_0000), (4, 0x2_0000 | PTE_PROTECTION)]);
        execute(
            &mut bench,
            &[
                (0x3000, 4, Access::Execute),
                (at, 8, access),
                (0x3100, 8, Access::Fetch),
            ],
        );
        assert_eq!(counters(&bench.cpu.own, 2), [1, 10, 0, 0].map(Some));
    }
}

#[test]
fn an_instruction_can_name_the_space_of_an_operand() {
    let mut bench = bench(&Z15);
    map(&mut bench, &[(3, 0x5_0000)]);
    bench.cpu.control[7] = 0x1_0000;
    bench.set_doublewords(0x1_0000, &[0x1_4000]);
    bench.set_doublewords(0x1_4000, &[PTE_INVALID; 256]);
    bench.set_doublewords(0x1_4000 + 3 * 8, &[0x7_0000]);
    let fetch = |space| Reference {
        space,
        ..Reference::new(Virtual(0x3000), 8, Access::Fetch)
    };
    let references = [None, Some(Space::Secondary), Some(Space::Primary)].map(fetch);
    step(
        &mut bench.cpu,
        &bench.configuration,
        &bench.hardware,
        references,
    );
    assert_eq!(counters(&bench.cpu.own, 2), [0, 0, 2, 200].map(Some));
}

#[test]
fn a_store_that_is_only_referred_to_keeps_no_page_of_the_millicodes() {
    let mut bench = bench(&Z15);
    map(&mut bench, &[(3, 0x5_0000)]);
    execute(&mut bench, &[(0x3000, 8, Access::Store)]);
    let kept = storage::kept(
        &bench.cpu,
        &bench.configuration,
        &bench.hardware,
        Virtual(0x3000),
        8,
        Access::Store,
    );
    assert_eq!(kept, None, "the scanner has not been told of a store");
}

#[test]
fn a_reset_takes_all_lines_away_and_no_counter() {
    let mut bench = bench(&Z15);
    for _ in 0..2 {
        execute(&mut bench, &[(0x1000, 4, Access::Execute)]);
    }
    assert_eq!(counters(&bench.cpu.machine, 2)[0], Some(1));
    bench.cpu.cpu_reset();
    execute(&mut bench, &[(0x1000, 4, Access::Execute)]);
    assert_eq!(counters(&bench.cpu.machine, 2)[0], Some(2));
}

#[test]
fn without_caches_nothing_is_counted() {
    let mut bench = bench(&Z10);
    bench.cpu.caches = None;
    execute(&mut bench, &[(0x1000, 4, Access::Execute)]);
    assert_eq!(counters(&bench.cpu.own, 2), [0; 4].map(Some));
    assert!(bench.cpu.caches.is_none());
}
