//! The extended counters that have a source here, and their numbers.
//!
//! Each model defines what its extended counters count and what programs call them. Most count cache lines
//! by their origin, which this machine does not know: they are zeros by definition. But every model counts
//! what its translation-lookaside buffers do, and that has an honest source: the machine shadows the
//! program's translation tables, and the shadow *is* the TLB of the CPU. An access that misses an entry
//! fills it, and the purging instructions empty it.
//!
//! * A *write* is an entry that the machine put into the shadow because an instruction fetch, or an
//!   access to an operand, missed it, or missed that of a page near it.
//! * A *miss cycle* is a cycle of the machine's clock from the miss to the entry. The CPU does not
//!   execute then, so the basic counter set has none of these cycles.
//! * A *segment write* is a page table that the shadow newly holds. It corresponds to a combined
//!   region-and-segment-table entry of a TLB.
//!
//! Counter numbers are those of the public definitions of each model.

use super::super::model::Model;

/// An event in the shadow that an extended counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translation {
    /// An entry was written because of an operand.
    DataWrite,
    /// A cycle passed while such an entry was missing.
    DataMiss,
    /// An entry was written because of an instruction fetch.
    InstructionWrite,
    /// A cycle passed while such an entry was missing.
    InstructionMiss,
    /// An entry for a page was written, for any access.
    PageWrite,
    /// An entry for a segment was written.
    SegmentWrite,
}

impl Translation {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::DataWrite,
        Self::DataMiss,
        Self::InstructionWrite,
        Self::InstructionMiss,
        Self::PageWrite,
        Self::SegmentWrite,
    ];

    /// The number of the counter that counts it on a model.
    #[must_use]
    pub const fn counter(self, model: &Model) -> u16 {
        // In the order of `ALL`, by the counter second version number.
        let numbers: [u16; 6] = match model.csvn {
            1 => [139, 146, 138, 145, 140, 141],
            2 => [144, 130, 145, 131, 146, 148],
            3 => [133, 128, 140, 129, 141, 143],
            4 => [129, 130, 134, 135, 137, 139],
            _ => [129, 130, 134, 135, 137, 138],
        };
        numbers[self as usize]
    }

    /// What is counted, in words.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::DataWrite => "entries that the shadow tables gained because of an operand",
            Self::DataMiss => "cycles of the machine's clock while such an entry was missing",
            Self::InstructionWrite => {
                "entries that the shadow tables gained because of an instruction fetch"
            }
            Self::InstructionMiss => {
                "cycles of the machine's clock while such an entry was missing"
            }
            Self::PageWrite => "page entries that the shadow tables gained",
            Self::SegmentWrite => "page tables that the shadow newly holds",
        }
    }

    /// The name that programs give the counter on a model.
    #[must_use]
    pub const fn name(self, model: &Model) -> &'static str {
        match (self, model.csvn < 5) {
            (Self::DataWrite, true) => "DTLB1_WRITES",
            (Self::DataMiss, true) => "DTLB1_MISSES",
            (Self::InstructionWrite, true) => "ITLB1_WRITES",
            (Self::InstructionMiss, true) => "ITLB1_MISSES",
            (Self::DataWrite, false) => "DTLB2_WRITES",
            (Self::DataMiss, false) => "DTLB2_MISSES",
            (Self::InstructionWrite, false) => "ITLB2_WRITES",
            (Self::InstructionMiss, false) => "ITLB2_MISSES",
            (Self::PageWrite, _) => "TLB2_PTE_WRITES",
            (Self::SegmentWrite, _) => "TLB2_CRSTE_WRITES",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::model::{MODELS, Z10, Z13, Z14, Z15, Z16, Z196, ZEC12};
    use super::super::CounterSet;
    use super::*;

    #[test]
    fn every_model_counts_translations_in_extended_counters_of_its_own_numbers() {
        // The public numbers, in hexadecimal digits, as programs list them.
        let table: [(&Model, &str, u16); 14] = [
            (&Z10, "ITLB1_WRITES", 0x8A),
            (&Z10, "DTLB1_MISSES", 0x92),
            (&Z196, "ITLB1_MISSES", 0x83),
            (&Z196, "TLB2_CRSTE_WRITES", 0x94),
            (&ZEC12, "DTLB1_WRITES", 0x85),
            (&ZEC12, "TLB2_PTE_WRITES", 0x8D),
            (&Z13, "TLB2_CRSTE_WRITES", 0x8B),
            (&Z13, "ITLB1_WRITES", 0x86),
            (&Z14, "DTLB2_WRITES", 0x81),
            (&Z14, "ITLB2_MISSES", 0x87),
            (&Z15, "TLB2_CRSTE_WRITES", 0x8A),
            (&Z15, "DTLB2_MISSES", 0x82),
            (&Z16, "ITLB2_MISSES", 0x87),
            (&Z16, "TLB2_PTE_WRITES", 0x89),
        ];
        for (model, name, number) in table {
            let found = Translation::ALL
                .into_iter()
                .find(|translation| translation.name(model) == name);
            assert_eq!(
                found.unwrap().counter(model),
                number,
                "{name} of {}",
                model.name
            );
        }
    }

    #[test]
    fn every_event_has_an_extended_counter_of_its_own() {
        for model in &MODELS {
            let mut numbers = Translation::ALL.map(|translation| translation.counter(model));
            numbers.sort_unstable();
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
            let extended = model.range(CounterSet::Extended);
            assert!(numbers.iter().all(|&number| extended.contains(number)));
        }
    }
}
