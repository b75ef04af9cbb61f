//! The answer of an EVENTDATA query.

use zerocopy::{FromBytes, byteorder::big_endian::U64};
use {
    arch::tod::Tod,
    his::{
        answer::{AnswerHead, CpuEntry, SetHead},
        event::Events,
    },
};

/// The counters of a CPU at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuCounters {
    /// CPU address.
    pub cpu: u16,
    /// That moment.
    pub tod: Tod,
    /// Cycles in a microsecond.
    pub cpu_speed: u32,
    /// The counter sets.
    pub sets: Vec<SetCounters>,
}

/// The counters of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetCounters {
    /// Its event type.
    pub event: Events,
    /// The number of its first counter.
    pub first: u16,
    /// Their values.
    pub values: Vec<u64>,
}

impl CpuCounters {
    /// The counter with this number.
    pub fn counter(&self, number: u16) -> Option<u64> {
        self.sets.iter().find_map(|set| {
            let place = number.checked_sub(set.first)?;
            set.values.get(usize::from(place)).copied()
        })
    }
}

/// The whole entries of an answer area.
pub(super) fn cpus(area: &[u8]) -> Vec<CpuCounters> {
    let Ok((head, _)) = AnswerHead::ref_from_prefix(area) else {
        return Vec::new();
    };
    let mut rest = area.get(head.first.get().into()..).unwrap_or_default();
    let mut cpus = Vec::new();
    for _ in 0..head.entries.get() {
        let Some((cpu, behind)) = cpu(rest) else {
            break;
        };
        cpus.push(cpu);
        rest = behind;
    }
    cpus
}

fn cpu(bytes: &[u8]) -> Option<(CpuCounters, &[u8])> {
    let (head, _) = CpuEntry::ref_from_prefix(bytes).ok()?;
    let (entry, behind) = bytes.split_at_checked(head.length.get() as usize)?;
    let mut rest = entry.get(size_of::<CpuEntry>()..)?;
    let mut sets = Vec::new();
    for _ in 0..head.sets.get() {
        let (set, counters) = SetHead::ref_from_prefix(rest).ok()?;
        let count = set.count.get().into();
        let (values, more) = <[U64]>::ref_from_prefix_with_elems(counters, count).ok()?;
        sets.push(SetCounters {
            event: Events(set.event.get()),
            first: set.first.get(),
            values: values.iter().map(|value| value.get()).collect(),
        });
        rest = more;
    }
    let cpu = CpuCounters {
        cpu: head.cpu.get(),
        tod: Tod(head.tod.get()),
        cpu_speed: head.cpu_speed.get(),
        sets,
    };
    Some((cpu, behind))
}
