//! Sampling while a CPU waits.

use super::*;
use crate::measuring::epoch;
use crate::state::account::{Account, Counted};
use crate::test_machine::Bench;
use arch::psw::WAIT;
use arch::tod::units;
use core::sync::atomic::Ordering;
use cpumf::instruction::load_sampling_controls;
use cpumf::sampling::request::SamplingRequest;

const INTERVAL: u64 = 10_000;
/// Where the table and the block are.
const TABLE: u64 = 0x1_0000;
const BLOCK: u64 = 0x2_0000;

/// The machine's level takes no samples here.
struct Nowhere;

impl SampleStorage for Nowhere {
    type Place = core::convert::Infallible;

    fn available(&self, _: Absolute, _: u64) -> Option<Self::Place> {
        None
    }
    fn load_u64(&self, place: Self::Place, _: u64) -> u64 {
        match place {}
    }
    fn store(&mut self, place: Self::Place, _: u64, _: &[u8]) {
        match place {}
    }
    fn compare_and_swap(&mut self, place: Self::Place, _: u128, _: u128) -> Result<(), u128> {
        match place {}
    }
    fn time_of_day(&self) -> TodExtended {
        TodExtended([0; 16])
    }
}

/// A waiting CPU whose own sampling has just been activated.
fn waiting(dedicated: bool) -> Bench {
    let mut bench = Bench::new();
    bench.cpu.account = Account::new(Mode::Exact { shift: 0 }, 1000);
    bench.configuration.dedicated = dedicated;
    bench.set_doublewords(TABLE, &[BLOCK, TABLE | 1]);
    let request = SamplingRequest::basic(true, true, INTERVAL, TABLE, BLOCK);
    let loaded = load_sampling_controls(&mut bench.cpu.own, &zerocopy::transmute!(request));
    assert!(loaded.is_ok());
    bench.cpu.pending_work |= PendingWork::SAMPLING;
    bench.cpu.psw.mask |= WAIT;
    bench
}

/// The CPU has waited for so many cycles: returns the number of samples.
fn wait(bench: &mut Bench, cycles: u64) -> u64 {
    let mut rest = cycles;
    let mut samples = 0;
    while sample_in_wait(
        &mut bench.cpu,
        &bench.configuration,
        &mut bench.hardware,
        &mut Nowhere,
        &mut rest,
    ) {
        samples += 1;
    }
    assert_eq!(rest, 0);
    samples
}

#[test]
fn the_interval_continues_during_the_waits_of_a_dedicated_cpu() {
    let mut bench = waiting(true);
    let wakes = wakes_for_sample(&mut bench.cpu, &bench.configuration, 1 << 40);
    assert_eq!(wakes, (1 << 40) + units(INTERVAL));
    assert_eq!(wait(&mut bench, INTERVAL - 1), 0);
    assert_eq!(wait(&mut bench, 1), 1);
    assert_eq!(wait(&mut bench, 2 * INTERVAL + INTERVAL / 2), 2);
    // Half an interval is left, in guest time or in the next wait.
    let total = bench.cpu.account.total();
    assert_eq!(bench.cpu.sampling.own, total + INTERVAL / 2);
    bench.cpu.account.cycles[0] += INTERVAL / 4;
    assert_eq!(wait(&mut bench, INTERVAL / 4), 1);
    // Four entries with W, and without an instruction.
    for n in 0..5 {
        let head = bench.doubleword(BLOCK + 32 * n);
        let expected = if n < 4 { 0x0001_0010_4000_0000 } else { 0 };
        assert_eq!(head, expected, "{n}");
    }
}

#[test]
fn nothing_wakes_a_cpu_that_is_not_dedicated_or_not_sampled() {
    let mut bench = waiting(false);
    let wakes = wakes_for_sample(&mut bench.cpu, &bench.configuration, 1 << 40);
    assert_eq!(wakes, NEVER);
    let mut bench = waiting(true);
    bench.cpu.own = Bench::facility();
    let wakes = wakes_for_sample(&mut bench.cpu, &bench.configuration, 1 << 40);
    assert_eq!(wakes, NEVER);
    assert_eq!(wait(&mut bench, u64::MAX / 2), 0);
}

#[test]
fn samples_of_a_limited_configuration_are_limited() {
    let mut bench = waiting(true);
    bench.configuration.limited = true;
    let _ = wakes_for_sample(&mut bench.cpu, &bench.configuration, 0);
    assert_eq!(wait(&mut bench, INTERVAL), 1);
    assert_eq!(bench.doubleword(BLOCK), 0x0001_0000_5000_0000);
}

#[test]
fn the_comparator_of_a_clock_that_is_set_back_is_that_of_the_sample_or_of_the_guest_whichever_is_first()
 {
    let mut bench = waiting(false);
    bench.configuration.charges.exit = 3;
    renew(&mut bench.cpu);
    let left = units(1 << 40);
    let sample = left + units(INTERVAL + 3) + ROUNDED_OFF;
    bench.cpu.clock_comparator = NEVER;
    let comparator = |bench: &Bench| comparator(&bench.cpu, &bench.configuration, left);
    assert_eq!(comparator(&bench), sample);
    bench.cpu.clock_comparator = sample - 1;
    assert_eq!(comparator(&bench), sample - 1);
    // The condition is pending already.
    bench.cpu.pending.clock_comparator = true;
    assert_eq!(comparator(&bench), sample);
    bench.cpu.sampling.own = NEVER;
    bench.cpu.sampling.turn = NEVER;
    assert_eq!(comparator(&bench), NEVER);
}

#[test]
fn a_sample_is_due_when_a_cpu_of_any_speed_has_executed_the_cycles_of_its_interval() {
    for (cpu_speed, nanoseconds) in [(1000, 1_000_000), (5200, 192_307), (500, 2_000_000)] {
        let mut bench = waiting(false);
        bench.cpu.account = Account::new(Mode::RealTime, cpu_speed);
        bench.cpu.account.counted = Some(Counted::default());
        renew(&mut bench.cpu);
        bench.cpu.sampling.own = 1_000_000;
        bench.cpu.clock_comparator = NEVER;
        bench.cpu.sampling.turn = NEVER;
        let now = bench.hardware.clock();
        arm(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        let ahead = bench.hardware.comparator - now;
        assert_eq!(ahead, units(nanoseconds), "{cpu_speed}");
    }
}

#[test]
fn the_comparator_is_early_enough_for_what_the_machine_looks_after() {
    let mut bench = waiting(false);
    bench.cpu.clock_comparator = NEVER;
    bench.cpu.sampling.turn = 1_000_000;
    let armed = |bench: &mut Bench| {
        arm(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        bench.hardware.comparator
    };
    let of_turn = armed(&mut bench);
    bench.cpu.sampling.look_at = of_turn - 1;
    assert_eq!(armed(&mut bench), of_turn - 1);
    let left = bench.hardware.clock();
    assert_eq!(
        comparator(&bench.cpu, &bench.configuration, left),
        of_turn - 1
    );
    // A guest that sets the clock does not change how long that takes, nor does a machine that hides what has passed.
    bench.configuration.epoch.store(1000, Ordering::SeqCst);
    epoch::follow(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    assert_eq!(bench.cpu.sampling.look_at, of_turn + 999);
    bench.cpu.sampling.set_back(1000);
    assert_eq!(bench.cpu.sampling.look_at, of_turn - 1);
}
