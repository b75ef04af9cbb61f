//! The coprocessor groups: what they count, and the register that controls all of them.
//!
//! The groups belong to the machine and not to a CPU, so a machine has one value of this type, and all
//! CPUs use it: it has one enable control, one activation control and one address-change indicator for
//! all groups. Each CPU has its own authorization control, which decides whether it sees the sets at
//! all. The machine's own measurement, one level below, has counters of its own for the same groups.
//!
//! A CPU is known here by a number that never changes. Which address stands for it at present is the
//! configuration's matter.

use super::super::state::ControlState;
use super::GlobalCounterControls;
use super::coprocessor::{Coprocessor, Occupancy, Occupation};

/// The most CPUs, and the most coprocessor groups, of a machine.
const MAXIMUM: usize = 16;

/// The counters of a coprocessor-group counter set (Figure 2-10; numbers 8-63 are reserved).
const COUNTERS: usize = 8;

/// The counters of all groups, by group address and counter number.
type Counts = [[u64; COUNTERS]; MAXIMUM];

/// The coprocessor groups of a model, and the global counter-set-state control register.
#[derive(Clone, Debug)]
pub struct CoprocessorGroups {
    /// The group that each CPU is attached to, by the number of the CPU.
    attached: [u16; MAXIMUM],
    cpus: u16,
    /// How many groups are installed; their addresses are consecutive from zero.
    groups: u16,
    counters: Counts,
    /// The counters at the machine's own level, which no program controls; `None` while it counts
    /// nothing.
    machine_counters: Option<Counts>,
    coprocessors: [[Occupancy; Coprocessor::ALL.len()]; MAXIMUM],
    /// The enable and activation controls, as the state that an authorized CPU observes.
    state: ControlState,
    address_change: bool,
}

impl CoprocessorGroups {
    /// A model without coprocessor groups: their counter sets and controls are not installed.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            attached: [0; MAXIMUM],
            cpus: 0,
            groups: 0,
            counters: [[0; COUNTERS]; MAXIMUM],
            machine_counters: None,
            coprocessors: [[Occupancy::FREE; Coprocessor::ALL.len()]; MAXIMUM],
            state: ControlState::Disabled,
            address_change: false,
        }
    }

    /// The groups of a machine with `cpus` CPUs (at most 16), after power-on reset. Each group has
    /// `shared` of them, at least one.
    #[must_use]
    pub fn new(cpus: u16, shared: u16) -> Self {
        let mut groups = Self::none();
        groups.cpus = cpus.min(MAXIMUM as u16);
        for (cpu, group) in (0..groups.cpus).zip(&mut groups.attached) {
            *group = cpu / shared.max(1);
            groups.groups = *group + 1;
        }
        groups
    }

    /// Whether the coprocessor-group counter sets, and the controls for them, are installed.
    #[must_use]
    pub const fn installed(&self) -> bool {
        self.groups > 0
    }

    /// The state of all coprocessor-group counter sets with respect to a CPU whose authorization
    /// control for them is `authorized`.
    #[must_use]
    pub const fn state(&self, authorized: bool) -> ControlState {
        if authorized && self.installed() {
            self.state
        } else {
            ControlState::Unauthorized
        }
    }

    /// What QUERY COUNTER INFORMATION stores about the groups. The maximum CPU address is that of the
    /// CPUs given to [`new`](Self::new).
    #[must_use]
    pub const fn controls(&self) -> GlobalCounterControls {
        GlobalCounterControls {
            maximum_cpu_address: self.cpus.saturating_sub(1),
            maximum_group_address: self.groups.saturating_sub(1),
            enable: self.state.enabled(),
            activation: self.state.active(),
            address_change: self.address_change,
        }
    }

    /// The group that a CPU is attached to, unless the CPU is not installed.
    #[must_use]
    pub fn attached(&self, cpu: u16) -> Option<u16> {
        let attached = self.attached.get(..usize::from(self.cpus))?;
        attached.get(usize::from(cpu)).copied()
    }

    /// A CPU was, or may have been, attached to another group: `group`, if it is installed.
    pub fn attach(&mut self, cpu: u16, group: u16) {
        if group < self.groups && self.attached(cpu).is_some() {
            self.attached[usize::from(cpu)] = group;
        }
        self.addresses_may_have_changed();
    }

    /// The group address that a program extracts with some CPU address may be another than before,
    /// because a CPU was attached to another group or has another address. Sets the address-change
    /// indicator to one if the enable control is one.
    pub const fn addresses_may_have_changed(&mut self) {
        self.address_change |= self.state.enabled();
    }

    /// The CPU issues a function that takes `cycles` CPU cycles to a coprocessor of its group, at `now`
    /// by a clock of CPU cycles that all CPUs share. The group's counters count it while they are
    /// active; the coprocessor is occupied in any case.
    ///
    /// `None` when the CPU is not installed, or is attached to no group.
    pub fn issue(
        &mut self,
        cpu: u16,
        coprocessor: Coprocessor,
        now: u64,
        cycles: u64,
    ) -> Option<Occupation> {
        let group = usize::from(self.attached(cpu)?);
        let coprocessors = self.coprocessors.get_mut(group)?;
        let occupation = coprocessors[coprocessor as usize].issue(now, cycles);
        let own = self.state.active().then_some(&mut self.counters);
        for counts in own.into_iter().chain(&mut self.machine_counters) {
            let first = 4 * coprocessor as usize;
            let counters = counts.get_mut(group)?.iter_mut().skip(first);
            for (counter, amount) in counters.zip(occupation.counted()) {
                *counter = counter.wrapping_add(amount);
            }
        }
        Some(occupation)
    }

    /// The machine's own level counts from now on, whatever a program does to its controls.
    pub fn count_for_machine(&mut self) {
        if self.installed() {
            self.machine_counters
                .get_or_insert([[0; COUNTERS]; MAXIMUM]);
        }
    }

    /// Whether either level counts functions, or the program can make its level count by activating the
    /// sets.
    #[must_use]
    pub const fn counting(&self) -> bool {
        self.state.enabled() || self.machine_counters.is_some()
    }

    /// The counters of each group as the program would extract them; empty while they are disabled.
    #[must_use]
    pub fn counters(&self) -> &[[u64; COUNTERS]] {
        let groups = if self.state.enabled() { self.groups } else { 0 };
        &self.counters[..usize::from(groups).min(MAXIMUM)]
    }

    /// The counters of each group at the machine's own level; empty unless that level counts.
    #[must_use]
    pub fn machine_counters(&self) -> &[[u64; COUNTERS]] {
        let counts = self.machine_counters.as_ref();
        counts.map_or(&[], |counts| {
            &counts[..usize::from(self.groups).min(MAXIMUM)]
        })
    }

    /// Whether a CPU whose authorization control is `authorized` has this counter: the sets are
    /// enabled, and the group and the counter are installed.
    fn available(&self, authorized: bool, place: CounterPlace) -> bool {
        self.state(authorized).enabled()
            && place.group < self.groups
            && usize::from(place.number) < COUNTERS
    }

    /// The contents of a counter, if it is available.
    pub(crate) fn counter(&self, authorized: bool, place: CounterPlace) -> Option<u64> {
        let counters = self.counters.get(usize::from(place.group))?;
        let counter = counters.get(usize::from(place.number))?;
        self.available(authorized, place).then_some(*counter)
    }

    /// Sets a counter. False when it is not available.
    pub(crate) fn set_counter(
        &mut self,
        authorized: bool,
        place: CounterPlace,
        value: u64,
    ) -> bool {
        let available = self.available(authorized, place);
        let counters = self.counters.get_mut(usize::from(place.group));
        let counter = counters.and_then(|counters| counters.get_mut(usize::from(place.number)));
        match counter {
            Some(counter) if available => {
                *counter = value;
                true
            }
            _ => false,
        }
    }

    /// Puts all sets into a state. Disabling clears every counter and the address-change indicator.
    pub(crate) const fn enter(&mut self, next: ControlState) {
        self.state = next;
        if !next.enabled() {
            self.counters = [[0; COUNTERS]; MAXIMUM];
            self.address_change = false;
        }
    }

    /// Clear reset or power-on reset of the basic machine. A reset of a CPU or of a logical partition
    /// does not change the groups.
    pub const fn reset(&mut self) {
        self.enter(ControlState::Disabled);
    }
}

/// Where a peripheral counter is, as bits 40-63 of a general register designate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CounterPlace {
    /// The coprocessor-group address (bits 40-55).
    pub group: u16,
    /// The counter number (bits 56-63).
    pub number: u8,
}

impl CounterPlace {
    /// The place that `register` designates; `None` when bits 0-39 are not zeros.
    pub(crate) const fn designated(register: u64) -> Option<Self> {
        if register >> 24 != 0 {
            return None;
        }
        Some(Self {
            group: (register >> 8) as u16,
            number: register as u8,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four CPUs, two to a group, all sets active.
    fn active() -> CoprocessorGroups {
        let mut groups = CoprocessorGroups::new(4, 2);
        groups.enter(ControlState::Active);
        groups
    }

    fn contents(groups: &CoprocessorGroups, group: u16) -> [u64; COUNTERS] {
        core::array::from_fn(|number| {
            let number = number as u8;
            let place = CounterPlace { group, number };
            groups.counter(true, place).unwrap()
        })
    }

    #[test]
    fn cpus_of_one_group_block_each_other_and_those_of_another_do_not() {
        let mut groups = active();
        let sha = Coprocessor::Sha;
        let first = groups.issue(0, sha, 1000, 300).unwrap();
        let neighbour = groups.issue(1, sha, 1100, 50).unwrap();
        let stranger = groups.issue(2, sha, 1100, 50).unwrap();
        assert_eq!(first.blocked, 0);
        assert_eq!(neighbour.blocked, 200);
        assert_eq!(stranger.blocked, 0);
        assert_eq!(contents(&groups, 0), [2, 350, 1, 200, 0, 0, 0, 0]);
        assert_eq!(contents(&groups, 1), [1, 50, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn the_two_coprocessors_of_a_group_work_beside_each_other() {
        let mut groups = active();
        groups.issue(0, Coprocessor::Sha, 0, 100);
        let other = groups.issue(1, Coprocessor::DeaAes, 10, 20).unwrap();
        assert_eq!(other.blocked, 0);
        assert_eq!(contents(&groups, 0), [1, 100, 0, 0, 1, 20, 0, 0]);
    }

    #[test]
    fn a_coprocessor_is_occupied_also_while_nothing_is_counted() {
        let mut groups = active();
        groups.enter(ControlState::Inactive);
        groups.issue(0, Coprocessor::Sha, 0, 100);
        groups.enter(ControlState::Active);
        let blocked = groups.issue(1, Coprocessor::Sha, 40, 1).unwrap();
        assert_eq!(blocked.blocked, 60);
        assert_eq!(contents(&groups, 0)[..4], [1, 1, 1, 60]);
    }

    #[test]
    fn a_change_of_address_is_indicated_only_while_the_sets_are_enabled() {
        let mut groups = CoprocessorGroups::new(4, 2);
        groups.attach(0, 1);
        assert_eq!(groups.attached(0), Some(1));
        assert!(!groups.controls().address_change);
        groups.enter(ControlState::Inactive);
        groups.attach(0, 0);
        assert!(groups.controls().address_change);
        groups.enter(ControlState::Disabled);
        assert!(!groups.controls().address_change);
    }

    #[test]
    fn a_basic_machine_reset_disables_the_sets_and_clears_their_counters() {
        let mut groups = active();
        groups.issue(0, Coprocessor::Sha, 0, 100);
        groups.reset();
        assert_eq!(groups.state(true), ControlState::Disabled);
        groups.enter(ControlState::Inactive);
        assert_eq!(contents(&groups, 0), [0; COUNTERS]);
    }

    #[test]
    fn a_group_or_a_counter_that_is_not_installed_is_not_available() {
        let mut groups = active();
        let mut is_available = |group, number| {
            let place = CounterPlace { group, number };
            let read = groups.counter(true, place).is_some();
            assert_eq!(groups.set_counter(true, place, 1), read);
            read
        };
        assert!(is_available(1, 7));
        for (group, number) in [(2, 0), (15, 0), (16, 0), (0xFFFF, 0), (1, 8), (1, 0xFF)] {
            assert!(!is_available(group, number), "{group} {number}");
        }
    }

    #[test]
    fn the_machines_level_counts_whatever_the_program_does_to_its_own() {
        let mut groups = CoprocessorGroups::new(4, 2);
        assert!(!groups.counting() && groups.machine_counters().is_empty());
        groups.count_for_machine();
        assert!(groups.counting() && groups.counters().is_empty());
        groups.issue(0, Coprocessor::Sha, 0, 100);
        groups.enter(ControlState::Active);
        groups.issue(2, Coprocessor::DeaAes, 0, 30);
        assert_eq!(groups.counters()[1], [0, 0, 0, 0, 1, 30, 0, 0]);
        assert_eq!(groups.counters()[0], [0; COUNTERS]);
        groups.reset();
        groups.issue(1, Coprocessor::Sha, 40, 10);
        let expected = [[2, 110, 1, 60, 0, 0, 0, 0], [0, 0, 0, 0, 1, 30, 0, 0]];
        assert_eq!(groups.machine_counters(), expected);
        assert!(groups.counters().is_empty());
    }

    #[test]
    fn a_model_without_coprocessors_has_no_group_and_no_attached_cpu() {
        let mut groups = CoprocessorGroups::none();
        assert!(!groups.installed());
        assert_eq!(groups.state(true), ControlState::Unauthorized);
        assert_eq!(groups.attached(0), None);
        assert_eq!(groups.issue(0, Coprocessor::Sha, 0, 1), None);
        assert_eq!(groups.controls(), GlobalCounterControls::default());
        groups.count_for_machine();
        assert!(!groups.counting() && groups.machine_counters().is_empty());
    }
}
