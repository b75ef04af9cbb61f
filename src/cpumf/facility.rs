//! One CPU's facilities at one configuration level.
//!
//! The parts (counter sets, sampling controls, pending alerts, program parameter) do not use one
//! another. This file couples them: the external means that authorizes, the resets, the losses, and the
//! alerts that these recognize or clear.

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

/// Which of the facilities are installed, as STORE FACILITY LIST EXTENDED shows them.
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
    /// All four are installed.
    pub const ALL: Self = Self {
        load_program_parameter: true,
        counters: true,
        sampling: true,
        store_counter_multiple: true,
    };

    /// None is installed.
    pub const NONE: Self = Self {
        load_program_parameter: false,
        counters: false,
        sampling: false,
        store_counter_multiple: false,
    };
}

/// The index of the first of four level-1 cache counters in the basic and in the problem-state set.
const LEVEL_1: u16 = 2;

/// The counter of cycles with one thread active; the next counts cycles with two.
const THREAD_CYCLES: u16 = 448;

/// A reset of the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// CPU reset.
    Cpu,
    /// Initial CPU reset, clear reset or power-on reset, which these facilities do not distinguish.
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
    /// The facility after power-on reset, with nothing authorized. `level` is the level of the program that
    /// sets its controls.
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

    /// The level of the program that sets its controls.
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

    /// Takes interruption 1407: returns its 32-bit parameter and clears all pending alerts.
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

    /// Whether a sampling function is enabled. LPP at the level above depends on it.
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

    /// Takes one sample: builds the entry of the active functions, and performs the sample-data-block
    /// update process. Calls `diagnosis` only when the diagnostic-sampling function is active and the
    /// sample is not limited.
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

    /// The external means: authorizes exactly `sets` of the CPU counter sets. If an enabled set loses
    /// its authorization, a counter-authorization-change alert is recognized.
    pub fn authorize_counters(&mut self, sets: CounterSets, activity: &Activity) {
        if self.counters.authorize(sets, activity) {
            self.alerts.recognize(Alert::CounterAuthorizationChange);
        }
        self.settle_alerts();
    }

    /// The external means, for the coprocessor-group counter sets: this CPU sees them unauthorized, or
    /// in the state of the global controls in `groups`. Those controls and the counters do not change.
    /// If the CPU loses its authorization for enabled sets, a counter-authorization-change alert is
    /// recognized.
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

    /// The external means: authorizes or unauthorizes the basic-sampling function. If an enabled
    /// function loses its authorization, a sampling-authorization-change alert is recognized.
    pub fn authorize_basic_sampling(&mut self, authorized: bool) {
        let lost = self.sampling.authorize_basic(authorized);
        self.sampling_authorized(lost);
    }

    /// The same for the diagnostic-sampling function. Each function has its own authorization control;
    /// the basic-sampling function does not change.
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

    /// Counts a function that the CPU issued to a coprocessor, with the cycles in `occupation`. An active
    /// crypto-activity counter set counts it, if the model has counters for such functions.
    pub fn count_crypto(&mut self, function: CryptoFunction, occupation: Occupation) {
        for (number, amount) in (function.first_counter()..).zip(occupation.counted()) {
            self.counters.count(number, amount);
        }
    }

    /// Counts activity of the level-1 caches: directory writes and penalty cycles of the instruction
    /// cache, then those of the data cache. The active basic counter set counts them. In the problem
    /// state the active problem-state set counts them too, if it has counters for them (CFVN 1).
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

    /// Counts `cycles` CPU cycles during which `threads` threads (one or two) of the CPU's core were
    /// active. The active MT-diagnostic counter set of every CPU of the core counts them.
    pub fn count_thread_cycles(&mut self, threads: u16, cycles: u64) {
        if let 1 | 2 = threads {
            self.counters.count(THREAD_CYCLES + threads - 1, cycles);
        }
    }

    /// Counts `amount` in extended counter `number`, if the model has it and its set is active.
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
    /// active) and the alert is recognized. Nothing changes if the set is not active.
    pub fn lose_counter_data(&mut self, set: CounterSet, activity: &Activity) {
        if self.counters.lose(set, activity) {
            self.alerts.recognize(match set {
                CounterSet::MtDiagnostic => Alert::LossOfMtCounterData,
                _ => Alert::LossOfCounterData,
            });
        }
    }

    /// The machine lost sample data: active sampling functions become inactive, and the alert is
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

    /// Clears the alerts that the present states no longer allow to be pending.
    pub(super) fn settle_alerts(&mut self) {
        let counters = self.counters.enabled().without(CounterSets::MT_DIAGNOSTIC);
        self.alerts
            .settle(self.sampling.enabled(), !counters.is_empty());
    }
}

#[cfg(test)]
mod tests;
