//! Storage for tests: sparse, with holes, and with a program that interferes.

use super::update::SampleStorage;
use arch::address::Absolute;
use arch::tod::TodExtended;
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes with consecutive addresses, and which of them were ever stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    bytes: [u8; LINE],
    stored: u64,
}

const LINE: usize = 64;

impl Line {
    const NEW: Self = Self {
        bytes: [0; LINE],
        stored: 0,
    };
}

/// Storage with only `ranges` available; bytes never stored are zeros.
#[derive(Clone, Debug, Default)]
pub struct SparseStorage {
    lines: BTreeMap<u64, Line>,
    pub ranges: Vec<Range<u64>>,
    /// What the program stores at the location of each compare and swap just before it, last first.
    pub interference: Vec<u128>,
    pub clock: u8,
}

impl SparseStorage {
    pub fn new(range: Range<u64>) -> Self {
        Self {
            ranges: vec![range],
            clock: 0xC0,
            ..Self::default()
        }
    }

    pub fn has(&self, at: u64, length: u64) -> bool {
        let holds = |range: &Range<u64>| {
            range.contains(&at) && at.checked_add(length).is_some_and(|end| end <= range.end)
        };
        self.ranges.iter().any(holds)
    }

    pub fn byte(&self, at: u64) -> u8 {
        let line = self.lines.get(&(at / LINE as u64));
        line.map_or(0, |line| line.bytes[at as usize % LINE])
    }

    /// Whether the byte was ever stored.
    pub fn stored(&self, at: u64) -> bool {
        let line = self.lines.get(&(at / LINE as u64));
        line.is_some_and(|line| line.stored >> (at % LINE as u64) & 1 == 1)
    }

    /// How many bytes were ever stored.
    pub fn stored_bytes(&self) -> usize {
        let counts = self.lines.values().map(|line| line.stored.count_ones());
        counts.sum::<u32>() as usize
    }

    /// An address at which the contents are not those of `other`.
    pub fn difference(&self, other: &Self) -> Option<u64> {
        let contents = |storage: &Self, place: &u64| {
            let line = storage.lines.get(place);
            line.map_or(Line::NEW.bytes, |line| line.bytes)
        };
        let places = self.lines.keys().chain(other.lines.keys());
        places.copied().find_map(|place| {
            let pairs = contents(self, &place)
                .into_iter()
                .zip(contents(other, &place));
            let at = pairs.enumerate().find(|(_, (own, its))| own != its)?.0;
            Some(place * LINE as u64 + at as u64)
        })
    }

    pub fn bytes_at<const N: usize>(&self, at: u64) -> [u8; N] {
        core::array::from_fn(|index| self.byte(at + index as u64))
    }

    pub fn put(&mut self, at: u64, bytes: &[u8]) {
        let (mut at, mut rest) = (at, bytes);
        while !rest.is_empty() {
            let line = self.lines.entry(at / LINE as u64).or_insert(Line::NEW);
            let first = at as usize % LINE;
            let (here, behind) = rest.split_at(rest.len().min(LINE - first));
            for (index, &byte) in (first..).zip(here) {
                line.bytes[index] = byte;
                line.stored |= 1 << index;
            }
            (at, rest) = (at + here.len() as u64, behind);
        }
    }

    pub fn put_u64(&mut self, at: u64, value: u64) {
        self.put(at, &value.to_be_bytes());
    }

    pub fn u64_at(&self, at: u64) -> u64 {
        u64::from_be_bytes(self.bytes_at(at))
    }
}

impl SampleStorage for SparseStorage {
    type Place = Absolute;

    fn available(&self, at: Absolute, length: u64) -> Option<Absolute> {
        self.has(at.0, length).then_some(at)
    }

    fn load_u64(&self, place: Absolute, offset: u64) -> u64 {
        let at = place.offset(offset);
        assert!(
            self.has(at.0, 8) && at.0.is_multiple_of(8),
            "load at {at:X?}"
        );
        self.u64_at(at.0)
    }

    fn store(&mut self, place: Absolute, offset: u64, bytes: &[u8]) {
        let at = place.offset(offset);
        assert!(self.has(at.0, bytes.len() as u64), "store at {at:X?}");
        self.put(at.0, bytes);
    }

    fn compare_and_swap(&mut self, at: Absolute, expected: u128, new: u128) -> Result<(), u128> {
        assert!(
            self.has(at.0, 16) && at.0.is_multiple_of(16),
            "swap at {at:X?}"
        );
        if let Some(value) = self.interference.pop() {
            self.put(at.0, &value.to_be_bytes());
        }
        let found = u128::from_be_bytes(self.bytes_at(at.0));
        if found == expected {
            self.put(at.0, &new.to_be_bytes());
            Ok(())
        } else {
            Err(found)
        }
    }

    fn time_of_day(&self) -> TodExtended {
        TodExtended([self.clock; 16])
    }
}
