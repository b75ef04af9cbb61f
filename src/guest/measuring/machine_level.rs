//! The counters of the machine's own level, one below the program's.
//!
//! The machine decides at IPL which counter sets it counts, and they stay active until it stops. HIS adds others
//! while it collects. No instruction of the program, no reset and no external means changes them. The program's
//! own sets do not affect these, nor these the program's.
//!
//! Cycles and instructions are totals of the account. Functions of the message-security assist are counted as
//! they are issued, and lines of modelled caches as they are brought in. The work of the shadow and the cycles of
//! threads have totals elsewhere, which are added to the counters only when these are inspected ([`settle`]), at
//! the end of a run. So no path of a program is longer because the machine counts.
//!
//! A set is authorized only if it has a source. In real-time mode none has, unless the machine below counts. The MT-diagnostic set has one if
//! cores have threads; it becomes active when the program first enables multithreading.

use crate::measuring::threads;
use crate::state::configuration::Configuration;
use crate::state::extended::{self, Counted};
use crate::state::vcpu::Vcpu;
use cpumf::counters::CounterSet;
use cpumf::instruction::load_cpu_counter_set_controls;
use cpumf::{CounterSets, Model};

/// Activates the machine's counters of a CPU at IPL: the sets of `wanted` that have a source.
pub fn activate(cpu: &mut Vcpu, configuration: &Configuration, wanted: CounterSets) {
    if !cpu.account.counts_instructions() {
        return;
    }
    let sources = sources(cpu.machine.counters().model(), configuration);
    cpu.machine_sets = wanted.intersection(sources);
    load(cpu, cpu.machine_sets);
    if wanted.intersection(CounterSets::COPROCESSOR_GROUP) != CounterSets::NONE {
        configuration.groups().count_for_machine();
    }
}

/// The counter sets that have a source where instructions are counted.
#[must_use]
pub fn sources(model: &Model, configuration: &Configuration) -> CounterSets {
    let installed = if configuration.native {
        // Coprocessors are modelled by a clock that counts instructions.
        model.installed().without(CounterSets::CRYPTO_ACTIVITY)
    } else {
        model.installed()
    };
    if configuration.threads.installed() {
        installed
    } else {
        installed.without(CounterSets::MT_DIAGNOSTIC)
    }
}

/// Counts these sets too, which have a source. The sets that were activated at IPL continue, and so does any set
/// that counts already; the counters of the others begin at zero.
pub fn count_besides(cpu: &mut Vcpu, configuration: &Configuration, sets: CounterSets) {
    settle(cpu, configuration);
    load(cpu, cpu.machine_sets.union(sets));
}

/// Authorizes, enables and activates these sets, and no others.
fn load(cpu: &mut Vcpu, sets: CounterSets) {
    let loaded = CounterSet::LOADED
        .into_iter()
        .filter(|&set| sets.has(set))
        .fold(0, |sets, set| sets | u64::from(set.bit().0));
    let activity = cpu.account.activity();
    let before = cpu.machine.counters().authorized();
    // A set must be authorized before it is enabled and activated, and disabled before it is deauthorized.
    cpu.machine
        .authorize_counters(before.union(sets), &activity);
    let _ = load_cpu_counter_set_controls(&mut cpu.machine, &activity, loaded << 16 | loaded);
    cpu.machine.authorize_counters(sets, &activity);
}

/// Adds this CPU's cycles to its core. Each CPU of a core must do so before any of them calls [`settle`], or its
/// last turn is missing.
pub fn book(cpu: &mut Vcpu, configuration: &Configuration) {
    threads::take_note(cpu, configuration);
    threads::settle(cpu, configuration);
    cpu.count_translations();
}

/// Brings the counters of the CPU up to date, at both levels.
pub fn settle(cpu: &mut Vcpu, configuration: &Configuration) {
    book(cpu, configuration);
    let before = cpu.machine_counted;
    let now = Counted {
        fills: cpu.fills,
        thread_cycles: configuration.threads.cycles(cpu.address),
    };
    cpu.machine_counted = now;
    extended::count(&mut cpu.machine, &before.fills, &now.fills);
    let cycles = now.thread_cycles.into_iter().zip(before.thread_cycles);
    for (threads, (now, before)) in (1..).zip(cycles) {
        cpu.machine.count_thread_cycles(threads, now - before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measuring::threads::{begin_turn, take_note};
    use crate::state::account::{Account, Mode};
    use crate::state::threads::Threads;
    use crate::test_machine::Bench;
    use cpumf::counters::CoprocessorGroups;
    use cpumf::model::{Z10, Z15};
    use cpumf::{ConfigurationLevel, Facility, Installation, Model, SamplingLimits};

    const EVERY: CounterSets = CounterSets(0x802F);

    fn cpu(model: &'static Model, mode: Mode) -> Vcpu {
        let limits = SamplingLimits {
            minimum: 1000,
            maximum: 1 << 32,
            cpu_speed: 1000,
        };
        let facility = |level| Facility::new(level, model, Installation::ALL, limits);
        let own = facility(ConfigurationLevel::LogicalPartition);
        let mut cpu = Vcpu::new(0, own, facility(ConfigurationLevel::BasicMachine));
        cpu.account = Account::new(mode, 1000);
        cpu
    }

    fn exact(model: &'static Model) -> Vcpu {
        cpu(model, Mode::Exact { shift: 0 })
    }

    fn counter(cpu: &Vcpu, number: u64) -> Option<u64> {
        let now = cpu.account.activity();
        cpu.machine.counters().read(number, &now)
    }

    #[test]
    fn a_set_without_a_source_is_not_authorized() {
        let mut bench = Bench::new();
        *bench.configuration.groups() = CoprocessorGroups::new(1, 2);
        let authorized = |mut cpu: Vcpu, bench: &Bench| {
            activate(&mut cpu, &bench.configuration, EVERY);
            cpu.machine.counters().authorized().0
        };
        assert_eq!(authorized(cpu(&Z15, Mode::RealTime), &bench), 0);
        assert!(bench.configuration.groups().machine_counters().is_empty());
        assert_eq!(authorized(exact(&Z10), &bench), 0xF);
        assert_eq!(authorized(exact(&Z15), &bench), 0xF);
        assert_eq!(bench.configuration.groups().machine_counters().len(), 1);
        bench.configuration.threads = Threads::new(2);
        assert_eq!(authorized(exact(&Z15), &bench), 0x2F);
        assert_eq!(authorized(exact(&Z10), &bench), 0xF);
    }

    #[test]
    fn what_is_not_wanted_is_not_counted() {
        let bench = Bench::new();
        let mut cpu = exact(&Z15);
        activate(&mut cpu, &bench.configuration, CounterSets::EXTENDED);
        assert_eq!((counter(&cpu, 0), counter(&cpu, 129)), (None, Some(0)));
    }

    #[test]
    fn translations_are_counted_from_ipl_on_and_only_once_however_often_they_are_inspected() {
        let bench = Bench::new();
        let mut cpu = exact(&Z15);
        activate(&mut cpu, &bench.configuration, CounterSets::EXTENDED);
        cpu.fills.add(false, 500);
        cpu.initial_cpu_reset();
        cpu.fills.add(true, 40);
        for _ in 0..2 {
            settle(&mut cpu, &bench.configuration);
            let found = [129, 130, 134, 135, 137].map(|number| counter(&cpu, number));
            assert_eq!(found, [1, 500, 1, 40, 2].map(Some));
        }
        cpu.fills.add(true, 2);
        settle(&mut cpu, &bench.configuration);
        assert_eq!(counter(&cpu, 135), Some(42));
    }

    #[test]
    fn threads_are_counted_over_all_times_that_the_program_enables_them() {
        let mut bench = Bench::new();
        bench.configuration.threads = Threads::new(2);
        let configuration = &bench.configuration;
        let mut cpu = exact(&Z15);
        let activity = cpu.account.activity();
        cpu.own
            .authorize_counters(CounterSets::MT_DIAGNOSTIC, &activity);
        activate(&mut cpu, configuration, CounterSets::MT_DIAGNOSTIC);
        cpu.account.cycles[0] += 9;
        for cycles in [100, 30] {
            assert_eq!(counter(&cpu, 448).is_some(), cycles == 30);
            configuration.threads.enable();
            take_note(&mut cpu, configuration);
            cpu.account.cycles[0] += cycles;
            begin_turn(&mut cpu, configuration, true);
            cpu.account.cycles[1] += 5;
            configuration.threads.disable();
            take_note(&mut cpu, configuration);
        }
        settle(&mut cpu, configuration);
        let found = [448, 449].map(|number| counter(&cpu, number));
        assert_eq!(found, [Some(130), Some(10)]);
        let now = cpu.account.activity();
        assert_eq!(cpu.own.counters().read(448, &now), None);
    }
}
