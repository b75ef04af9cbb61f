//! The extended counters: how they follow from the work of the shadow.
//!
//! Filling the shadow only adds to a few totals ([`Fills`]). It does not touch the counters, because hardly any program
//! uses them. When the program inspects the extended counters of a CPU or changes their state,
//! [`Vcpu::count_translations`](crate::state::vcpu::Vcpu::count_translations) first counts what was added since
//! the last time. The machine's own level uses the same totals when it inspects its counters
//! ([`crate::measuring::machine_level`]).

use cpumf::counters::extended::Translation;
use cpumf::{CounterSet, Facility};

/// The number of the first extended counter, on every model. Counters of lower numbers need no
/// [`Vcpu::count_translations`](crate::state::vcpu::Vcpu::count_translations).
pub const FIRST_COUNTER: u64 = 128;

/// What the shadow of a CPU has done so far. These totals only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fills {
    /// Entries written for an operand.
    pub data: u64,
    /// Cycles that this took.
    pub data_cycles: u64,
    /// Entries written for an instruction fetch.
    pub instruction: u64,
    /// Cycles that this took.
    pub instruction_cycles: u64,
    /// Page tables added to the shadow.
    pub segments: u64,
}

impl Fills {
    /// No fills.
    pub const NONE: Self = Self {
        data: 0,
        data_cycles: 0,
        instruction: 0,
        instruction_cycles: 0,
        segments: 0,
    };

    /// An entry was written for an instruction fetch or for an operand, `cycles` after it was missed.
    #[inline]
    pub const fn add(&mut self, executing: bool, cycles: u64) {
        if executing {
            self.instruction += 1;
            self.instruction_cycles += cycles;
        } else {
            self.data += 1;
            self.data_cycles += cycles;
        }
    }

    /// So many entries of pages near one that was missed were written with it.
    #[inline]
    pub const fn add_near(&mut self, executing: bool, entries: u64) {
        if executing {
            self.instruction += entries;
        } else {
            self.data += entries;
        }
    }

    /// The total that a counter counts.
    const fn of(&self, translation: Translation) -> u64 {
        match translation {
            Translation::DataWrite => self.data,
            Translation::DataMiss => self.data_cycles,
            Translation::InstructionWrite => self.instruction,
            Translation::InstructionMiss => self.instruction_cycles,
            Translation::PageWrite => self.data + self.instruction,
            Translation::SegmentWrite => self.segments,
        }
    }
}

/// How much of the totals the machine's counters include, as [`settle`](crate::measuring::machine_level::settle)
/// left them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    pub(crate) fills: Fills,
    pub(crate) thread_cycles: [u64; 2],
}

/// Counts what happened between `before` and `now`, if the set is active.
pub(crate) fn count(facility: &mut Facility, before: &Fills, now: &Fills) {
    if !facility.counters().state(CounterSet::Extended).active() {
        return;
    }
    let model = facility.counters().model();
    for translation in Translation::ALL {
        let amount = now.of(translation) - before.of(translation);
        facility.count_extended(translation.counter(model), amount);
    }
}

#[cfg(test)]
mod tests {
    use crate::test_machine::Bench;
    use cpumf::CounterSets;
    use cpumf::instruction::load_cpu_counter_set_controls;

    fn load(bench: &mut Bench, controls: u64) {
        bench.cpu.count_translations();
        let activity = bench.cpu.account.activity();
        load_cpu_counter_set_controls(&mut bench.cpu.own, &activity, controls).unwrap();
    }

    fn read(bench: &mut Bench, number: u64) -> u64 {
        bench.cpu.count_translations();
        let activity = bench.cpu.account.activity();
        bench.cpu.own.counters().read(number, &activity).unwrap()
    }

    #[test]
    fn only_what_happens_while_the_set_is_active_is_counted() {
        let mut bench = Bench::new();
        let activity = bench.cpu.account.activity();
        let own = &mut bench.cpu.own;
        own.authorize_counters(CounterSets::EXTENDED, &activity);
        bench.cpu.fills.add(false, 500);
        load(&mut bench, 0x0001_0001);
        bench.cpu.fills.add(false, 300);
        bench.cpu.fills.add(true, 400);
        bench.cpu.fills.add(false, 100);
        bench.cpu.fills.segments += 1;
        load(&mut bench, 0x0001_0000);
        bench.cpu.fills.add(true, 1000);
        // A z15: data writes and miss cycles, instruction writes and miss cycles, pages, segments.
        let counters = [129, 130, 134, 135, 137, 138].map(|number| read(&mut bench, number));
        assert_eq!(counters, [2, 400, 1, 400, 3, 1]);
        assert_eq!(read(&mut bench, 128), 0, "caches are not modelled");
    }
}
