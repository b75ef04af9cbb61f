//! One CPU's facilities at one configuration level.
//!
//! The parts (counter sets, sampling controls, pending alerts, program parameter) know nothing of
//! one another. What couples them is here: the external means that authorizes, the resets, the
//! losses, and the alerts that these recognize or make pointless.

use super::alert::{Alert, PendingAlerts};
use super::configuration_level::ConfigurationLevel;
use super::counters::{
    Activity, CoprocessorGroups, CounterFacility, CounterSet, CounterSets, CryptoFunction,
    Occupation,
};
use super::model::Model;
use super::sampling::update::{self, Sampled};
use super::sampling::{
    ActiveFunctions, BasicEntry, Diagnosis, EntryBytes, SampleStorage, SamplingControls,
    SamplingLimits, Snapshot,
};
use zerocopy::IntoBytes;

/// Which of the facilities are installed: what STORE FACILITY LIST EXTENDED says of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Installation {
    /// Facility bit 40: load-program-parameter.
    pub load_program_parameter: bool,
    /// Facility bit 67: CPU-measurement counter.
    pub counters: bool,
    /// Facility bit 68: CPU-measurement sampling (it requires bit 40).
    pub sampling: bool,
    /// Facility bit 142: store-CPU-counter-multiple (it requires bit 67).
    pub store_counter_multiple: bool,
}

impl Installation {
    /// All four.
    pub const ALL: Self = Self {
        load_program_parameter: true,
        counters: true,
        sampling: true,
        store_counter_multiple: true,
    };

    /// None of them.
    pub const NONE: Self = Self {
        load_program_parameter: false,
        counters: false,
        sampling: false,
        store_counter_multiple: false,
    };
}

/// Where the four counters of the level-1 caches stand in the basic and in the problem-state set.
const LEVEL_1: u16 = 2;

/// The counter of cycles with one thread active; that with two threads is the next.
const THREAD_CYCLES: u16 = 448;

/// A reset of the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// CPU reset.
    Cpu,
    /// Initial CPU reset, clear reset or power-on reset: to these facilities they are the same.
    Initial,
}

/// The load-program-parameter and CPU-measurement facilities of one CPU at one level.
#[derive(Clone, Debug)]
pub struct Facility {
    level: ConfigurationLevel,
    installation: Installation,
    pub(super) counters: CounterFacility,
    pub(super) sampling: SamplingControls,
    pub(super) alerts: PendingAlerts,
    program_parameter: u64,
}

impl Facility {
    /// The facility after power-on reset, with nothing authorized. `level` is the level at which
    /// the program runs whose instructions set its controls.
    #[must_use]
    pub const fn new(
        level: ConfigurationLevel,
        model: &'static Model,
        installation: Installation,
        limits: SamplingLimits,
    ) -> Self {
        Self {
            level,
            installation,
            counters: CounterFacility::new(model),
            sampling: SamplingControls::new(limits),
            alerts: PendingAlerts::NONE,
            program_parameter: 0,
        }
    }

    /// The level at which the program runs whose instructions set its controls.
    #[must_use]
    pub const fn level(&self) -> ConfigurationLevel {
        self.level
    }

    /// What is installed.
    #[must_use]
    pub const fn installation(&self) -> &Installation {
        &self.installation
    }

    /// The counter facility.
    #[must_use]
    #[inline]
    pub const fn counters(&self) -> &CounterFacility {
        &self.counters
    }

    /// The sampling controls.
    #[must_use]
    #[inline]
    pub const fn sampling(&self) -> &SamplingControls {
        &self.sampling
    }

    /// The pending measurement alerts.
    #[must_use]
    #[inline]
    pub const fn alerts(&self) -> PendingAlerts {
        self.alerts
    }

    /// The interruption 1407: its 32-bit parameter. Nothing is pending after it.
    pub const fn take_alerts(&mut self) -> u32 {
        self.alerts.take()
    }

    /// The program-parameter register.
    #[must_use]
    #[inline]
    pub const fn program_parameter(&self) -> u64 {
        self.program_parameter
    }

    pub(super) const fn set_program_parameter(&mut self, parameter: u64) {
        self.program_parameter = parameter;
    }

    /// Whether a sampling function is enabled: what LPP of the level above depends on.
    #[must_use]
    #[inline]
    pub const fn sampling_enabled(&self) -> bool {
        self.sampling.enabled()
    }

    /// The sampling interval in CPU cycles while a sampling function is active.
    #[must_use]
    #[inline]
    pub const fn active_interval(&self) -> Option<u64> {
        if self.sampling.active() {
            Some(self.sampling.interval())
        } else {
            None
        }
    }

    /// Takes one sample: builds the entry that the active functions ask for, and performs the
    /// sample-data-block update process. `diagnosis` is asked only when the diagnostic-sampling
    /// function is active and the sample is not limited.
    #[inline]
    pub fn sample<S: SampleStorage>(
        &mut self,
        snapshot: &Snapshot,
        diagnosis: impl FnOnce() -> Diagnosis,
        storage: &mut S,
    ) -> Sampled {
        let functions = self.sampling.active_functions();
        if functions == ActiveFunctions::None {
            return Sampled::NotActive;
        }
        let basic = snapshot.entry(self.sampling.host_indicator());
        if functions == ActiveFunctions::Basic {
            return self.store_entry(basic.as_bytes(), storage);
        }
        let basic = (functions == ActiveFunctions::Both).then_some(basic);
        let told = (!snapshot.limited).then(diagnosis);
        self.diagnose(basic, told, storage)
    }

    /// Takes a diagnostic or combined sample.
    #[cold]
    #[inline(never)]
    fn diagnose<S: SampleStorage>(
        &mut self,
        basic: Option<BasicEntry>,
        diagnosis: Option<Diagnosis>,
        storage: &mut S,
    ) -> Sampled {
        let entry = EntryBytes::diagnostic(self.counters.model(), basic, diagnosis);
        self.store_entry(entry.as_slice(), storage)
    }

    #[inline(always)]
    fn store_entry<S: SampleStorage>(&mut self, entry: &[u8], storage: &mut S) -> Sampled {
        let counters = &self.counters;
        update::update(&mut self.sampling, &mut self.alerts, storage, entry, || {
            counters.model().dsdes
        })
    }

    /// The external means: authorizes exactly `sets` of the CPU counter sets. A set that is enabled
    /// and not among them is unauthorized with a counter-authorization-change alert.
    pub fn authorize_counters(&mut self, sets: CounterSets, activity: &Activity) {
        if self.counters.authorize(sets, activity) {
            self.alerts.recognize(Alert::CounterAuthorizationChange);
        }
        self.settle_alerts();
    }

    /// The external means, for the coprocessor-group counter sets: this CPU sees them unauthorized,
    /// or as the global controls in `groups` have them. The latter do not change, nor do counters;
    /// but a CPU that sees enabled sets no more gets a counter-authorization-change alert.
    pub const fn authorize_coprocessor_groups(
        &mut self,
        authorized: bool,
        groups: &CoprocessorGroups,
    ) {
        let before = groups.state(self.counters.coprocessor_groups_authorized());
        self.counters.authorize_coprocessor_groups(authorized);
        if before.enabled() && !authorized {
            self.alerts.recognize(Alert::CounterAuthorizationChange);
        }
    }

    /// The external means: authorizes the basic-sampling function or takes its authorization away,
    /// the latter with a sampling-authorization-change alert if it is enabled.
    pub fn authorize_basic_sampling(&mut self, authorized: bool) {
        let lost = self.sampling.authorize_basic(authorized);
        self.sampling_authorized(lost);
    }

    /// The same for the diagnostic-sampling function. Each function has its own authorization
    /// control; the other one goes on.
    pub fn authorize_diagnostic_sampling(&mut self, authorized: bool) {
        let lost = self.sampling.authorize_diagnostic(authorized);
        self.sampling_authorized(lost);
    }

    fn sampling_authorized(&mut self, lost: bool) {
        if lost {
            self.alerts.recognize(Alert::SamplingAuthorizationChange);
        }
        self.settle_alerts();
    }

    /// Multithreading was enabled or disabled for the configuration.
    pub fn multithreading(&mut self, on: bool, activity: &Activity) {
        self.counters.multithreading(on, activity);
    }

    /// The CPU issued a function to a coprocessor, which took what `occupation` says: an active
    /// crypto-activity counter set counts it, if the model has counters for such functions.
    pub fn count_crypto(&mut self, function: CryptoFunction, occupation: Occupation) {
        for (number, amount) in (function.first_counter()..).zip(occupation.counted()) {
            self.counters.count(number, amount);
        }
    }

    /// The level-1 caches of the CPU did something while it was in the problem state, or not: directory writes and
    /// penalty cycles of the instruction cache, then those of the data cache. The active basic counter
    /// set counts them, and in the problem state so does the problem-state set, if the model's has
    /// counters for them (CFVN 1).
    pub fn count_level_1(&mut self, problem_state: bool, amounts: [u64; 4]) {
        let sets = [
            (CounterSet::Basic, true),
            (CounterSet::ProblemState, problem_state),
        ];
        for (set, _) in sets.into_iter().filter(|(_, counts)| *counts) {
            let range = self.counters.model().range(set);
            for (number, amount) in (range.first + LEVEL_1..).zip(amounts) {
                if range.contains(number) {
                    self.counters.count(number, amount);
                }
            }
        }
    }

    /// The core that the CPU is a thread of was busy for `cycles` CPU cycles with `threads` of its
    /// threads, one or two: an active MT-diagnostic counter set counts them, at every CPU of the core
    /// alike.
    pub fn count_thread_cycles(&mut self, threads: u16, cycles: u64) {
        if let 1 | 2 = threads {
            self.counters.count(THREAD_CYCLES + threads - 1, cycles);
        }
    }

    /// An activity happened that an extended counter counts on this model.
    pub fn count_extended(&mut self, number: u16, amount: u64) {
        if self
            .counters
            .model()
            .range(CounterSet::Extended)
            .contains(number)
        {
            self.counters.count(number, amount);
        }
    }

    /// The machine lost counter data of a set: an active set becomes inactive (MT-diagnostic stays
    /// active) and the alert is recognized. A set that is not active had nothing to lose.
    pub fn lose_counter_data(&mut self, set: CounterSet, activity: &Activity) {
        if self.counters.lose(set, activity) {
            self.alerts.recognize(match set {
                CounterSet::MtDiagnostic => Alert::LossOfMtCounterData,
                _ => Alert::LossOfCounterData,
            });
        }
    }

    /// The machine lost sample data: active sampling functions become inactive and the alert is
    /// recognized.
    pub const fn lose_sample_data(&mut self) {
        if self.sampling.active() {
            self.sampling.deactivate();
            self.alerts.recognize(Alert::LossOfSampleData);
        }
    }

    /// A reset. Authorization controls survive every reset.
    pub fn reset(&mut self, reset: Reset, activity: &Activity) {
        self.alerts.reset();
        match reset {
            Reset::Cpu => {
                self.counters.deactivate(activity);
                self.sampling.deactivate();
            }
            Reset::Initial => {
                self.counters.disable(activity);
                self.sampling.disable();
                self.program_parameter = 0;
            }
        }
    }

    /// Clears the alerts that the present states make pointless.
    pub(super) fn settle_alerts(&mut self) {
        let counters = self.counters.enabled().without(CounterSets::MT_DIAGNOSTIC);
        self.alerts
            .settle(self.sampling.enabled(), !counters.is_empty());
    }
}

#[cfg(test)]
mod tests;
