//! Storage for tests: sparse, with holes, and with a program that interferes.

use super::update::SampleStorage;
use crate::arch::address::Absolute;
use crate::arch::tod::TodExtended;
use std::collections::BTreeMap;
use std::ops::Range;

/// Storage of which only `ranges` are available; bytes never stored are zeros.
#[derive(Clone, Debug, Default)]
pub struct SparseStorage {
    pub bytes: BTreeMap<u64, u8>,
    pub ranges: Vec<Range<u64>>,
    /// What the program puts at the place of a compare and swap just before it, last first.
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
        self.bytes.get(&at).copied().unwrap_or(0)
    }

    pub fn bytes_at<const N: usize>(&self, at: u64) -> [u8; N] {
        core::array::from_fn(|index| self.byte(at + index as u64))
    }

    pub fn put(&mut self, at: u64, bytes: &[u8]) {
        for (index, &byte) in bytes.iter().enumerate() {
            self.bytes.insert(at + index as u64, byte);
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
    fn available(&self, at: Absolute, length: u64) -> bool {
        self.has(at.0, length)
    }

    fn load_u64(&self, at: Absolute) -> u64 {
        assert!(
            self.has(at.0, 8) && at.0.is_multiple_of(8),
            "load at {at:X?}"
        );
        self.u64_at(at.0)
    }

    fn store(&mut self, at: Absolute, bytes: &[u8]) {
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
