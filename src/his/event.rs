//! Event types and sample types, which a profiler can request.
//!
//! An event type is a counter set: one of the CPU-measurement counter facility, or the ZOS set, which the
//! enhanced-monitor facility counts. A sample type is a sampling function. The service designates both by
//! masks of one bit each (HisEvnTyp and HisSmpTyp). The published text does not give the bits. These are
//! the project's own: from the left in the order in which DISPLAY HIS names them, then MT-diagnostic, which
//! is newer.

use arch::bits::bit32;
use arch::set_operations;
use core::fmt;
use cpumf::{CounterSet, CounterSets};

/// Counters of the ZOS set.
pub const ZOS_COUNTERS: u16 = 1500;

/// One event type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The basic counter set.
    Basic,
    /// The problem-state counter set.
    ProblemState,
    /// The crypto-activity counter set.
    Crypto,
    /// The extended counter set.
    Extended,
    /// The ZOS counter set: counters of the enhanced-monitor facility.
    Zos,
    /// The MT-diagnostic counter set.
    MtDiagnostic,
}

impl Event {
    /// All event types, in the order of their bits.
    pub const ALL: [Self; 6] = [
        Self::Basic,
        Self::ProblemState,
        Self::Crypto,
        Self::Extended,
        Self::Zos,
        Self::MtDiagnostic,
    ];

    /// The bit of the event type.
    #[must_use]
    pub const fn bit(self) -> Events {
        Events(bit32(self as u32))
    }

    /// Its name in DISPLAY HIS.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Basic => "BASIC",
            Self::ProblemState => "PROBLEM-STATE",
            Self::Crypto => "CRYPTO",
            Self::Extended => "EXTENDED",
            Self::Zos => "ZOS",
            Self::MtDiagnostic => "MT-DIAGNOSTIC",
        }
    }

    /// The counter set of the CPU-measurement counter facility; none for the ZOS set.
    #[must_use]
    pub const fn counter_set(self) -> Option<CounterSet> {
        Some(match self {
            Self::Basic => CounterSet::Basic,
            Self::ProblemState => CounterSet::ProblemState,
            Self::Crypto => CounterSet::CryptoActivity,
            Self::Extended => CounterSet::Extended,
            Self::MtDiagnostic => CounterSet::MtDiagnostic,
            Self::Zos => return None,
        })
    }
}

/// The counters of which data are lost. The measurement alert tells no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterLoss {
    /// Those of all sets but the MT-diagnostic one (loss of CPU counter data).
    Cpu,
    /// Those of the MT-diagnostic set (loss of MT counter data).
    Mt,
}

impl CounterLoss {
    /// The loss of data of a counter set.
    #[must_use]
    pub const fn of(set: CounterSet) -> Self {
        match set {
            CounterSet::MtDiagnostic => Self::Mt,
            CounterSet::Basic
            | CounterSet::ProblemState
            | CounterSet::CryptoActivity
            | CounterSet::Extended => Self::Cpu,
        }
    }

    /// The event types of which data may be lost.
    #[must_use]
    pub const fn events(self) -> Events {
        let mt = Event::MtDiagnostic.bit();
        match self {
            Self::Cpu => Events::HARDWARE.without(mt),
            Self::Mt => mt,
        }
    }
}

/// A mask of event types, 32 bits: BASIC 80000000, PROBLEM-STATE 40000000, CRYPTO 20000000, EXTENDED
/// 10000000, ZOS 08000000, MT-DIAGNOSTIC 04000000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events(pub u32);

set_operations!(Events of Event);

impl Events {
    /// The event types that hardware counts.
    pub const HARDWARE: Self = Self::COMPLETE.without(Self::SOFTWARE);
    /// The event types that software counts by MONITOR CALL.
    pub const SOFTWARE: Self = Event::Zos.bit();
    /// All event types.
    pub const COMPLETE: Self = Self(0xFC00_0000);

    /// The event types, in the order of their bits.
    pub fn iter(self) -> impl Iterator<Item = Event> {
        Event::ALL.into_iter().filter(move |&event| self.has(event))
    }

    /// The event types of these counter sets.
    #[must_use]
    pub fn of_counter_sets(sets: CounterSets) -> Self {
        Event::ALL
            .into_iter()
            .filter(|event| event.counter_set().is_some_and(|set| sets.has(set)))
            .fold(Self::NONE, |events, event| events.union(event.bit()))
    }

    /// The counter sets of the CPU-measurement counter facility among these event types; not the ZOS set.
    #[must_use]
    pub fn counter_sets(self) -> CounterSets {
        self.iter()
            .filter_map(Event::counter_set)
            .fold(CounterSets::NONE, |sets, set| sets.union(set.bit()))
    }
}

/// The names, separated by commas; NONE if there is none.
impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, self.iter().map(Event::name))
    }
}

/// A mask of sample types, 32 bits: BASIC 80000000, DIAG 40000000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleTypes(pub u32);

set_operations!(SampleTypes);

impl SampleTypes {
    /// The basic-sampling function.
    pub const BASIC: Self = Self(bit32(0));
    /// The diagnostic-sampling function.
    pub const DIAGNOSTIC: Self = Self(bit32(1));
    /// Both: what a request for diagnostic samples selects. A basic entry precedes each diagnostic one, and says
    /// where the sample was taken.
    pub const COMBINED: Self = Self::BASIC.union(Self::DIAGNOSTIC);

    /// Whether the mask has this sample type.
    #[must_use]
    pub const fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }

    /// What can be collected of these authorized types: no diagnostic samples without basic ones.
    #[must_use]
    pub const fn collectable(self) -> Self {
        if self.has(Self::BASIC) {
            self
        } else {
            Self::NONE
        }
    }
}

/// The names, separated by commas; NONE if there is none.
impl fmt::Display for SampleTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [(Self::BASIC, "BASIC"), (Self::DIAGNOSTIC, "DIAG")];
        let among = names.into_iter().filter(|&(kind, _)| self.has(kind));
        list(f, among.map(|(_, name)| name))
    }
}

fn list(f: &mut fmt::Formatter<'_>, names: impl Iterator<Item = &'static str>) -> fmt::Result {
    let mut any = false;
    for name in names {
        if any {
            f.write_str(",")?;
        }
        f.write_str(name)?;
        any = true;
    }
    if any { Ok(()) } else { f.write_str("NONE") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_type_has_a_bit_of_its_own_and_complete_has_all_of_them() {
        let bits = Event::ALL.map(|event| event.bit().0);
        assert_eq!(bits.iter().fold(0, |all, bit| all | bit), 0xFC00_0000);
        assert_eq!(bits.iter().map(|bit| bit.count_ones()).sum::<u32>(), 6);
        assert_eq!(Events::COMPLETE.0, 0xFC00_0000);
        assert!(!Events::HARDWARE.has(Event::Zos));
        assert_eq!(Events::HARDWARE.union(Events::SOFTWARE), Events::COMPLETE);
    }

    #[test]
    fn the_zos_set_is_not_a_counter_set_of_the_cpu_measurement_facility() {
        let sets = CounterSets::BASIC.union(CounterSets::EXTENDED);
        let events = Events::of_counter_sets(sets);
        assert_eq!(events, Events(0x9000_0000));
        assert_eq!(events.union(Events::SOFTWARE).counter_sets(), sets);
        assert_eq!(Events::SOFTWARE.counter_sets(), CounterSets::NONE);
    }

    #[test]
    fn a_mask_is_shown_as_the_names_in_it_or_none() {
        assert_eq!(Events::NONE.to_string(), "NONE");
        assert_eq!(Events(0x4800_0000).to_string(), "PROBLEM-STATE,ZOS");
        assert_eq!(SampleTypes::COMBINED.to_string(), "BASIC,DIAG");
        assert_eq!(SampleTypes::NONE.to_string(), "NONE");
    }

    #[test]
    fn diagnostic_samples_are_not_collected_without_basic_ones() {
        for types in [SampleTypes::BASIC, SampleTypes::COMBINED] {
            assert_eq!(types.collectable(), types);
        }
        assert_eq!(SampleTypes::DIAGNOSTIC.collectable(), SampleTypes::NONE);
    }
}
