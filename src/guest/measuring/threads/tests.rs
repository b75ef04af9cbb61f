//! What two threads of a core share, and what is their own.

use super::*;
use crate::state::account::{Account, Mode};
use crate::state::threads::Threads;
use crate::test_machine::Bench;
use cpumf::{ConfigurationLevel, CounterSets, Facility, Installation, SamplingLimits};

/// Two cores of two threads.
fn cores() -> Bench {
    let mut bench = Bench::new();
    bench.configuration.cpus = 4;
    bench.configuration.threads = Threads::new(2);
    bench
}

/// A CPU whose MT-diagnostic counter set is authorized.
fn cpu(number: u16) -> Vcpu {
    let limits = SamplingLimits {
        minimum: 1000,
        maximum: 1 << 32,
        cpu_speed: 1000,
    };
    let facility = || {
        let level = ConfigurationLevel::LogicalPartition;
        let model = &cpumf::model::Z15;
        Facility::new(level, model, Installation::ALL, limits)
    };
    let mut cpu = Vcpu::new(number, facility(), facility());
    cpu.account = Account::new(Mode::Exact { shift: 0 }, 1000);
    let activity = cpu.account.activity();
    cpu.own
        .authorize_counters(CounterSets::MT_DIAGNOSTIC, &activity);
    cpu
}

/// Counters 448 and 449.
fn counters(cpu: &Vcpu) -> [Option<u64>; 2] {
    let activity = cpu.account.activity();
    [448, 449].map(|number| cpu.own.counters().read(number, &activity))
}

#[test]
fn addresses_designate_cores_until_multithreading_is_enabled_and_threads_afterwards() {
    let bench = cores();
    let configuration = &bench.configuration;
    let known = || [0, 1, 2, 3].map(|address| configuration.cpu_at(address));
    assert_eq!(known(), [Some(0), Some(2), None, None]);
    assert_eq!(configuration.highest_address(), 1);
    assert_eq!(configuration.threads.address_of(2), 1);
    configuration.threads.enable();
    assert_eq!(known(), [Some(0), Some(1), Some(2), Some(3)]);
    assert_eq!(configuration.highest_address(), 3);
    assert_eq!(configuration.threads.address_of(2), 2);
    configuration.threads.disable();
    assert_eq!(known(), [Some(0), Some(2), None, None]);
    assert_eq!(configuration.threads.specified(), 1);
    assert_eq!(configuration.cpu_at(0xFFFF), None);
    let first = [0, 1, 2, 3].map(|number| configuration.threads.is_first(number));
    assert_eq!(first, [true, false, true, false]);
}

#[test]
fn without_threads_an_address_is_a_number() {
    let mut bench = Bench::new();
    bench.configuration.cpus = 3;
    let known = [0, 1, 2, 3].map(|address| bench.configuration.cpu_at(address));
    assert_eq!(known, [Some(0), Some(1), Some(2), None]);
    assert_eq!(sibling(&bench.configuration, 2), None);
    assert!(bench.configuration.threads.is_first(1));
}

#[test]
fn the_counter_set_is_active_while_multithreading_is_enabled_and_not_there_otherwise() {
    let bench = cores();
    let mut cpu = cpu(0);
    take_note(&mut cpu, &bench.configuration);
    assert_eq!(counters(&cpu), [None, None]);
    bench.configuration.threads.enable();
    take_note(&mut cpu, &bench.configuration);
    assert_eq!(counters(&cpu), [Some(0), Some(0)]);
    cpu.initial_cpu_reset();
    assert_eq!(counters(&cpu), [Some(0), Some(0)]);
    bench.configuration.threads.disable();
    take_note(&mut cpu, &bench.configuration);
    assert_eq!(counters(&cpu), [None, None]);
}

#[test]
fn both_threads_of_a_core_show_the_cycles_of_both_and_another_core_shows_none_of_them() {
    let bench = cores();
    let configuration = &bench.configuration;
    let (mut first, mut second, mut stranger) = (cpu(0), cpu(1), cpu(2));
    first.account.cycles[0] = 5000;
    configuration.threads.enable();
    take_note(&mut first, configuration);
    // Alone, then with the other thread.
    begin_turn(&mut first, configuration, false);
    first.account.cycles[0] += 100;
    begin_turn(&mut first, configuration, true);
    first.account.cycles[1] += 30;
    settle(&mut first, configuration);
    assert_eq!(counters(&first), [Some(100), Some(30)]);
    // The second thread starts later, and counts what its core has done before.
    take_note(&mut second, configuration);
    begin_turn(&mut second, configuration, true);
    second.account.cycles[0] += 7;
    settle(&mut second, configuration);
    assert_eq!(counters(&second), [Some(100), Some(37)]);
    settle(&mut first, configuration);
    assert_eq!(counters(&first), counters(&second));
    take_note(&mut stranger, configuration);
    settle(&mut stranger, configuration);
    assert_eq!(counters(&stranger), [Some(0), Some(0)]);
}

#[test]
fn enabling_again_counts_from_zero() {
    let bench = cores();
    let configuration = &bench.configuration;
    let mut cpu = cpu(0);
    for cycles in [10, 20] {
        configuration.threads.enable();
        take_note(&mut cpu, configuration);
        cpu.account.cycles[0] += cycles;
        settle(&mut cpu, configuration);
        assert_eq!(counters(&cpu), [Some(cycles), Some(0)]);
        configuration.threads.disable();
        take_note(&mut cpu, configuration);
    }
}
