//! How many events arrived, and how many were lost.

use std::collections::BTreeMap;

use link::trace::TraceHead;

/// The events of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OfCpu {
    /// Events that arrived.
    arrived: u64,
    /// One more than the highest number that is known.
    numbered: u64,
    /// Events that found no room in the machine.
    lost: u64,
}

/// The events of all CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventTally(BTreeMap<u16, OfCpu>);

impl EventTally {
    /// Notes a payload.
    pub fn note(&mut self, head: &TraceHead) {
        let cpu = self.0.entry(head.cpu.get()).or_default();
        let (first, count) = (head.first.get(), u64::from(head.count.get()));
        cpu.arrived = cpu.arrived.saturating_add(count);
        cpu.numbered = cpu.numbered.max(first.saturating_add(count));
        cpu.lost = u64::from(head.lost.get());
    }

    /// Events that arrived.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.sum(|cpu| cpu.arrived)
    }

    /// Events that found no room in the machine.
    #[must_use]
    pub fn lost_in_machine(&self) -> u64 {
        self.sum(|cpu| cpu.lost)
    }

    /// Events that the machine sent and that did not arrive: their numbers are missing, and not for lack of room.
    #[must_use]
    pub fn lost_on_link(&self) -> u64 {
        self.sum(|cpu| {
            cpu.numbered
                .saturating_sub(cpu.arrived)
                .saturating_sub(cpu.lost)
        })
    }

    fn sum(&self, of: impl Fn(&OfCpu) -> u64) -> u64 {
        self.0.values().map(of).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(cpu: u16, first: u64, count: u16, lost: u32) -> TraceHead {
        TraceHead {
            cpu: cpu.into(),
            count: count.into(),
            lost: lost.into(),
            first: first.into(),
        }
    }

    fn tally(heads: &[TraceHead]) -> (u64, u64, u64) {
        let mut tally = EventTally::default();
        heads.iter().for_each(|head| tally.note(head));
        (
            tally.arrived(),
            tally.lost_in_machine(),
            tally.lost_on_link(),
        )
    }

    #[test]
    fn numbers_without_a_gap_are_events_without_a_loss() {
        let heads = [
            head(0, 0, 5, 0),
            head(1, 0, 7, 0),
            head(0, 5, 3, 0),
            head(0, 8, 0, 0),
            head(1, 7, 0, 0),
        ];
        assert_eq!(tally(&heads), (15, 0, 0));
    }

    #[test]
    fn a_gap_is_a_loss_in_the_machine_as_far_as_it_counted_and_otherwise_on_the_link() {
        // Events 5 to 9 found no room.
        assert_eq!(
            tally(&[head(0, 0, 5, 5), head(0, 10, 3, 5), head(0, 13, 0, 5)]),
            (8, 5, 0)
        );
        // And a payload of four got lost.
        assert_eq!(
            tally(&[head(0, 0, 5, 5), head(0, 14, 3, 5), head(0, 17, 0, 5)]),
            (8, 5, 4)
        );
        // Only the end shows that the last one is missing.
        assert_eq!(tally(&[head(2, 0, 5, 0), head(2, 9, 0, 0)]), (5, 0, 4));
        assert_eq!(tally(&[head(2, 0, 5, 0)]), (5, 0, 0));
    }

    #[test]
    fn impossible_numbers_do_not_panic() {
        assert_eq!(
            tally(&[head(0, u64::MAX, 9, u32::MAX), head(0, 0, 9, 0)]).0,
            18
        );
    }
}
