//! Counter sets and their counters: states, stored values, and what activity adds to them.
//!
//! Programs extract counters far more often than they change a state, so a change of state computes
//! everything that the state decides. A counter that counts is stored less the total that it counts, and
//! its `Source` says whether it is available and which total to add.

use super::super::model::Model;
use super::super::state::{ControlState, InvalidTransition};
use super::activity::Source;
use super::{Activity, CounterSet, CounterSets};

/// One more than the last counter number of any model.
const NUMBERS: usize = 496;

/// The number of the first MT-diagnostic counter. No other set has a higher number.
pub(crate) const MT_DIAGNOSTIC: u64 = 448;

/// The counter facility of one CPU at one level: the local counter-set-state control register and
/// the counters.
#[derive(Clone, Debug)]
pub struct CounterFacility {
    model: &'static Model,
    states: [ControlState; 5],
    /// What each counter counts at present, by counter number.
    sources: [Source; NUMBERS],
    /// The counters, each less the total that it counts at present.
    stored: [u64; NUMBERS],
    coprocessor_groups_authorized: bool,
    multithreading: bool,
}

impl CounterFacility {
    /// The facility of a model after power-on reset, with nothing authorized.
    #[must_use]
    pub const fn new(model: &'static Model) -> Self {
        Self {
            model,
            states: [ControlState::Unauthorized; 5],
            sources: [Source::Unavailable; NUMBERS],
            stored: [0; NUMBERS],
            coprocessor_groups_authorized: false,
            multithreading: false,
        }
    }

    /// The model, which says what is installed.
    #[must_use]
    pub const fn model(&self) -> &'static Model {
        self.model
    }

    /// The state of a set.
    #[must_use]
    #[inline]
    pub const fn state(&self, set: CounterSet) -> ControlState {
        self.states[set as usize]
    }

    /// The authorization controls.
    #[must_use]
    pub fn authorized(&self) -> CounterSets {
        let cpu = self.those(ControlState::authorized);
        if self.coprocessor_groups_authorized {
            cpu.union(CounterSets::COPROCESSOR_GROUP)
        } else {
            cpu
        }
    }

    /// The enable controls of the CPU counter sets.
    #[must_use]
    pub fn enabled(&self) -> CounterSets {
        self.those(ControlState::enabled)
    }

    /// The activation controls of the CPU counter sets.
    #[must_use]
    pub fn active(&self) -> CounterSets {
        self.those(ControlState::active)
    }

    fn those(&self, test: fn(ControlState) -> bool) -> CounterSets {
        CounterSet::ALL
            .into_iter()
            .filter(|&set| test(self.state(set)))
            .fold(CounterSets::NONE, |sets, set| sets.union(set.bit()))
    }

    /// The contents of counter `number`, unless it is unassigned, not installed, unauthorized or
    /// disabled.
    #[must_use]
    #[inline(always)]
    pub fn read(&self, number: u64, now: &Activity) -> Option<u64> {
        let at = number as usize;
        match *self.sources.get(at)? {
            Source::Unavailable => None,
            source => Some(self.stored[at].wrapping_add(now.of(source))),
        }
    }

    /// The contents of `count` counters from number `first` on; an unavailable one is zero.
    #[inline(always)]
    pub(crate) fn read_range(
        &self,
        first: u16,
        count: u16,
        now: &Activity,
    ) -> impl Iterator<Item = u64> + use<'_> {
        let totals = now.totals();
        let range = usize::from(first)..usize::from(first) + usize::from(count);
        let sources = self.sources.get(range.clone()).unwrap_or_default();
        let stored = self.stored.get(range).unwrap_or_default();
        sources
            .iter()
            .zip(stored)
            .map(move |(&source, &stored)| stored.wrapping_add(totals[source as usize]))
    }

    /// Sets a counter so that reading it at once gives `value`. False when the counter is
    /// unassigned, not installed, unauthorized, disabled or read-only.
    pub(crate) fn write(&mut self, number: u64, value: u64, now: &Activity) -> bool {
        let at = number as usize;
        match self.sources.get(at) {
            Some(&source) if source != Source::Unavailable && number < MT_DIAGNOSTIC => {
                self.stored[at] = value.wrapping_sub(now.of(source));
                true
            }
            _ => false,
        }
    }

    /// Adds `amount` to counter `number`, which has no total in [`Activity`], if its set is active.
    pub(crate) fn count(&mut self, number: u16, amount: u64) {
        if let Some((set, _)) = self.model.locate(number)
            && self.state(set).active()
        {
            let stored = &mut self.stored[usize::from(number)];
            *stored = stored.wrapping_add(amount);
        }
    }

    /// Puts all sets that the program controls into the states that `enable` and `activation` request,
    /// or changes none of them.
    ///
    /// # Errors
    /// [`InvalidTransition`] when any set cannot make its transition; no set is changed then.
    pub(crate) fn load(
        &mut self,
        enable: CounterSets,
        activation: CounterSets,
        now: &Activity,
    ) -> Result<(), InvalidTransition> {
        let mut states = self.states;
        for set in CounterSet::LOADED {
            let state = &mut states[set as usize];
            *state = state.request(enable.has(set), activation.has(set))?;
        }
        for set in CounterSet::LOADED {
            self.enter(set, states[set as usize], now);
        }
        Ok(())
    }

    /// The external means: gives every installed CPU counter set the authorization control that
    /// `sets` has for it. Returns whether an enabled set was unauthorized.
    pub(crate) fn authorize(&mut self, sets: CounterSets, now: &Activity) -> bool {
        let installed = self.model.installed();
        let mut alert = false;
        for set in CounterSet::ALL {
            let state = self.state(set);
            let next = state.authorize(sets.intersection(installed).has(set));
            alert |= state.enabled() && !next.authorized();
            self.enter(set, next, now);
            // While multithreading is on, authorization activates the set (Figure 2-2, note 3).
            if set == CounterSet::MtDiagnostic && self.multithreading && next.authorized() {
                self.enter(set, ControlState::Active, now);
            }
        }
        alert
    }

    /// The authorization control for the coprocessor-group counter sets.
    #[must_use]
    pub const fn coprocessor_groups_authorized(&self) -> bool {
        self.coprocessor_groups_authorized
    }

    /// The external means, for the coprocessor-group counter sets.
    pub(crate) const fn authorize_coprocessor_groups(&mut self, authorized: bool) {
        self.coprocessor_groups_authorized = authorized;
    }

    /// Multithreading was enabled (SIGNAL PROCESSOR set multithreading, accepted with a nonzero
    /// parameter) or disabled: the only actions that enable and disable the MT-diagnostic set.
    pub(crate) fn multithreading(&mut self, on: bool, now: &Activity) {
        self.multithreading = on;
        let set = CounterSet::MtDiagnostic;
        if self.state(set).authorized() {
            let state = if on {
                ControlState::Active
            } else {
                ControlState::Disabled
            };
            self.enter(set, state, now);
        }
    }

    /// Counter data of an active set was lost: the set becomes inactive, but the MT-diagnostic set stays
    /// active. Returns whether the set was active.
    pub(crate) fn lose(&mut self, set: CounterSet, now: &Activity) -> bool {
        let state = self.state(set);
        if state.active() && set != CounterSet::MtDiagnostic {
            self.enter(set, state.deactivated(), now);
        }
        state.active()
    }

    /// CPU reset: activation controls become zeros, the counters keep their contents. The MT-diagnostic
    /// set does not change while multithreading is on.
    pub(crate) fn deactivate(&mut self, now: &Activity) {
        for set in CounterSet::ALL {
            if !(set == CounterSet::MtDiagnostic && self.multithreading) {
                self.enter(set, self.state(set).deactivated(), now);
            }
        }
    }

    /// Initial CPU reset, clear reset or power-on reset: disables every set and clears its counters,
    /// except the MT-diagnostic set while multithreading is on.
    pub(crate) fn disable(&mut self, now: &Activity) {
        for set in CounterSet::ALL {
            if !(set == CounterSet::MtDiagnostic && self.multithreading) {
                self.enter(set, self.state(set).disabled(), now);
            }
        }
    }

    /// Changes the state of one set, and starts, stops or clears its counters accordingly.
    fn enter(&mut self, set: CounterSet, next: ControlState, now: &Activity) {
        let cleared = self.state(set).enabled() && !next.enabled();
        self.states[set as usize] = next;
        let range = self.model.range(set);
        let counters = self.sources.iter_mut().zip(&mut self.stored);
        let counters = counters.skip(range.first.into());
        for (index, (counted, stored)) in (0..range.count).zip(counters) {
            let source = match next {
                ControlState::Unauthorized | ControlState::Disabled => Source::Unavailable,
                ControlState::Inactive => Source::Nothing,
                ControlState::Active => Source::of(set, index),
            };
            let before = core::mem::replace(counted, source);
            *stored = if cleared {
                0
            } else {
                stored
                    .wrapping_add(now.of(before))
                    .wrapping_sub(now.of(source))
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::model::{MODELS, Z15};
    use super::*;

    fn at(cycles: u64) -> Activity {
        Activity {
            cycles,
            instructions: cycles / 2,
            problem_cycles: cycles / 4,
            problem_instructions: cycles / 8,
        }
    }

    fn authorized() -> CounterFacility {
        let mut counters = CounterFacility::new(&Z15);
        counters.authorize(CounterSets::HONEST, &at(0));
        counters
    }

    fn load(counters: &mut CounterFacility, enable: u16, activation: u16, now: u64) {
        counters
            .load(CounterSets(enable), CounterSets(activation), &at(now))
            .unwrap();
    }

    #[test]
    fn every_model_has_room_for_all_its_counters() {
        for model in &MODELS {
            for set in CounterSet::ALL {
                let range = model.range(set);
                let end = usize::from(range.first + range.count);
                assert!(end <= NUMBERS, "{} {set:?}", model.name);
            }
        }
    }

    #[test]
    fn an_active_counter_counts_from_its_activation() {
        let mut counters = authorized();
        load(&mut counters, 6, 6, 1000);
        assert_eq!(counters.read(0, &at(1800)), Some(800));
        assert_eq!(counters.read(1, &at(1800)), Some(400));
        assert_eq!(counters.read(32, &at(1800)), Some(200));
        assert_eq!(counters.read(33, &at(1800)), Some(100));
    }

    #[test]
    fn the_cache_counters_of_the_basic_set_count_nothing() {
        let mut counters = authorized();
        load(&mut counters, 6, 6, 1000);
        for number in 2..=5 {
            assert_eq!(counters.read(number, &at(1 << 40)), Some(0));
        }
    }

    #[test]
    fn deactivation_stops_a_counter_and_activation_resumes_it() {
        let mut counters = authorized();
        load(&mut counters, 2, 2, 0);
        load(&mut counters, 2, 0, 100);
        assert_eq!(counters.read(0, &at(500)), Some(100));
        load(&mut counters, 2, 2, 500);
        assert_eq!(counters.read(0, &at(560)), Some(160));
    }

    #[test]
    fn disabling_clears_the_counters_and_hides_them() {
        let mut counters = authorized();
        load(&mut counters, 2, 2, 0);
        load(&mut counters, 0, 0, 100);
        assert_eq!(counters.read(0, &at(100)), None);
        load(&mut counters, 2, 0, 100);
        assert_eq!(counters.read(0, &at(200)), Some(0));
    }

    #[test]
    fn loading_the_active_state_again_disturbs_nothing() {
        let mut counters = authorized();
        load(&mut counters, 2, 2, 0);
        load(&mut counters, 2, 2, 100);
        assert_eq!(counters.read(0, &at(150)), Some(150));
    }

    #[test]
    fn a_carry_out_of_bit_0_of_a_counter_is_ignored() {
        let mut counters = authorized();
        load(&mut counters, 2, 2, 0);
        assert!(counters.write(0, u64::MAX, &at(0)));
        assert_eq!(counters.read(0, &at(3)), Some(2));
    }

    #[test]
    fn lcctl_leaves_all_sets_alone_when_one_transition_is_invalid() {
        let mut counters = authorized();
        load(&mut counters, 2, 2, 0);
        let refused = counters.load(CounterSets(0x8), CounterSets(0), &at(10));
        assert_eq!(refused, Err(InvalidTransition));
        assert_eq!(counters.active(), CounterSets::BASIC);
        assert_eq!(counters.read(0, &at(20)), Some(20));
    }

    #[test]
    fn multithreading_alone_enables_and_disables_the_mt_diagnostic_set() {
        let mut counters = CounterFacility::new(&Z15);
        counters.authorize(CounterSets::MT_DIAGNOSTIC, &at(0));
        load(&mut counters, 0x20, 0x20, 0);
        assert_eq!(
            counters.state(CounterSet::MtDiagnostic),
            ControlState::Disabled
        );
        counters.multithreading(true, &at(0));
        assert_eq!(
            counters.state(CounterSet::MtDiagnostic),
            ControlState::Active
        );
        counters.deactivate(&at(0));
        counters.disable(&at(0));
        load(&mut counters, 0, 0, 0);
        assert_eq!(
            counters.state(CounterSet::MtDiagnostic),
            ControlState::Active
        );
        counters.multithreading(false, &at(0));
        assert_eq!(
            counters.state(CounterSet::MtDiagnostic),
            ControlState::Disabled
        );
    }
}
