//! Interruptions that the firmware took while the guest's CPUs waited, and that are still pending.

use arch::channel::{IoInterruption, SUBCHANNELS};
use core::sync::atomic::{AtomicU64, Ordering};
use spin::Mutex;

/// The most I/O interruptions that can be pending: one of each subchannel, and an adapter's for each subclass.
const MOST: usize = SUBCHANNELS + 8;

/// What is held for the first CPU that is enabled for it.
#[derive(Debug, Default)]
pub struct Held {
    io: Mutex<heapless::Vec<IoInterruption, MOST>>,
    /// The code of a machine-check interruption, or zero.
    machine_check: AtomicU64,
    /// How many things are held.
    count: AtomicU64,
}

impl Held {
    /// Whether anything is held.
    #[must_use]
    #[inline]
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Acquire) != 0
    }

    /// How many things are held.
    #[must_use]
    #[inline]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Whether a machine check is held: another one may not be taken then.
    #[must_use]
    pub fn has_machine_check(&self) -> bool {
        self.machine_check.load(Ordering::Acquire) != 0
    }

    /// Holds an I/O interruption. One that is held already adds nothing.
    pub fn hold_io(&self, interruption: IoInterruption) {
        let mut io = self.io.lock();
        if !io.contains(&interruption) && io.push(interruption).is_ok() {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Holds a machine check that announces channel reports. A second one adds nothing.
    pub fn hold_machine_check(&self, code: u64) {
        if self.machine_check.swap(code, Ordering::AcqRel) == 0 {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// The subclasses of the I/O interruptions that are held: bits 32-39 of control register 6.
    #[must_use]
    pub fn subclasses(&self) -> u8 {
        let io = self.io.lock();
        io.iter().fold(0, |masks, one| masks | one.mask())
    }

    /// Takes the first I/O interruption of an enabled subclass: `masks` is bits 32-39 of control
    /// register 6.
    pub fn take_io(&self, masks: u8) -> Option<IoInterruption> {
        if !self.any() {
            return None;
        }
        let mut io = self.io.lock();
        let open = io
            .iter()
            .map(|one| one.mask())
            .filter(|mask| mask & masks != 0);
        // The subclass with the lowest number comes first.
        let first = open.max()?;
        let at = io.iter().position(|one| one.mask() == first)?;
        let taken = (at < io.len()).then(|| io.remove(at))?;
        self.count.fetch_sub(1, Ordering::AcqRel);
        Some(taken)
    }

    /// Takes the machine check.
    pub fn take_machine_check(&self) -> Option<u64> {
        let code = self.machine_check.swap(0, Ordering::AcqRel);
        if code == 0 {
            return None;
        }
        self.count.fetch_sub(1, Ordering::AcqRel);
        Some(code)
    }

    /// A subchannel's status was taken or cleared, so its interruption is no longer pending.
    pub fn drop_of(&self, subsystem: u32) {
        if !self.any() {
            return;
        }
        // A subsystem word may name the same subchannel with or without the identification of its
        // subsystem.
        let same = |one: &IoInterruption| one.subsystem as u16 == subsystem as u16;
        // An adapter interruption does not belong to a subchannel.
        let mut io = self.io.lock();
        let before = io.len();
        io.retain(|one| one.is_of_adapter() || !same(one));
        let dropped = (before - io.len()) as u64;
        self.count.fetch_sub(dropped, Ordering::AcqRel);
    }

    /// I/O-system reset: nothing is pending.
    pub fn clear(&self) {
        let mut io = self.io.lock();
        io.clear();
        self.machine_check.store(0, Ordering::Release);
        self.count.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interruption(subsystem: u32, identification: u32) -> IoInterruption {
        IoInterruption {
            subsystem,
            parameter: 7,
            identification,
        }
    }

    #[test]
    fn the_lowest_open_subclass_is_taken_first_and_closed_ones_stay() {
        let held = Held::default();
        held.hold_io(interruption(0x1_0000, 0x1800_0000));
        held.hold_io(interruption(0x1_0001, 0x0800_0000));
        held.hold_io(interruption(0x1_0002, 0x0800_0000));
        assert_eq!(held.take_io(0x0F), None);
        let numbers: Vec<u32> = core::iter::from_fn(|| held.take_io(0xFF))
            .map(|one| one.subsystem & 0xFFFF)
            .collect();
        assert_eq!(numbers, [1, 2, 0]);
        assert!(!held.any());
    }

    #[test]
    fn a_status_that_was_taken_interrupts_no_more_but_adapters_do() {
        let held = Held::default();
        held.hold_io(interruption(0x1_0003, 0x1800_0000));
        held.hold_io(interruption(0, 0x8000_0000));
        held.drop_of(0x0001_0003);
        held.drop_of(0x0001_0000);
        assert_eq!(held.take_io(0xFF), Some(interruption(0, 0x8000_0000)));
        held.hold_machine_check(9);
        held.hold_machine_check(9);
        assert_eq!(held.take_machine_check(), Some(9));
        assert!(!held.any() && held.take_machine_check().is_none());
    }
}
