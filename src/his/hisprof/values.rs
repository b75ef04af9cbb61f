//! The readings of a collection run, in storage that the machine lends.
//!
//! A run keeps four readings of each CPU. With the software counters each reading has many values: too many
//! for the small image, and a run must not allocate storage. So the machine sets the storage aside when it
//! starts.

use super::MOST_VALUES;
use crate::machine::Thread;
use arch::tod::Tod;

/// The number of readings of a CPU.
const READINGS: usize = 4;

/// The number of values in all readings of a CPU.
pub const ROOM: usize = READINGS * MOST_VALUES;

/// Values of consecutive counters.
#[derive(Debug)]
pub struct Values {
    room: Option<&'static mut [u64]>,
    count: usize,
}

impl Values {
    /// No values, and no space for any.
    const NONE: Self = Self {
        room: None,
        count: 0,
    };

    /// All values.
    pub fn all(&self) -> &[u64] {
        let room = self.room.as_deref().unwrap_or_default();
        &room[..self.count]
    }

    pub const fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds a value. All values of a CPU fit.
    pub fn push(&mut self, value: u64) {
        let place = self
            .room
            .as_deref_mut()
            .and_then(|room| room.get_mut(self.count));
        if let Some(place) = place {
            *place = value;
            self.count += 1;
        }
    }

    fn copy(&mut self, from: &Self) {
        self.clear();
        from.all().iter().for_each(|&value| self.push(value));
    }
}

/// The counters of a CPU at one moment.
#[derive(Debug)]
pub struct Reading {
    /// The moment: TOD clock, bits 0-63. `None` if the CPU was not installed.
    pub at: Option<Tod>,
    pub values: Values,
}

impl Reading {
    const NOTHING: Self = Self {
        at: None,
        values: Values::NONE,
    };

    pub const fn clear(&mut self) {
        self.at = None;
        self.values.clear();
    }

    /// Copies another reading.
    pub fn copy(&mut self, from: &Self) {
        self.at = from.at;
        self.values.copy(&from.values);
    }
}

/// Puts into `into` how far the counters advanced between two readings, and returns their times, if there are both.
pub fn change(from: &Reading, to: &Reading, into: &mut Values) -> Option<(Tod, Tod)> {
    let (begin, end) = (from.at?, to.at?);
    into.clear();
    for (from, to) in from.values.all().iter().zip(to.values.all()) {
        into.push(to.wrapping_sub(*from));
    }
    Some((begin, end))
}

/// The readings of a CPU.
#[derive(Debug)]
pub struct Cpu {
    /// Which thread of which core it is.
    pub thread: Thread,
    /// At the beginning of this set of files.
    pub first: Reading,
    /// At the last record.
    pub last: Reading,
    /// Now.
    pub now: Reading,
    /// How far the counters advanced between two of these.
    pub change: Values,
}

impl Cpu {
    /// No readings, and no space for any.
    pub const NEW: Self = Self {
        thread: Thread { core: 0, number: 0 },
        first: Reading::NOTHING,
        last: Reading::NOTHING,
        now: Reading::NOTHING,
        change: Values::NONE,
    };

    /// Forgets all readings.
    pub fn clear(&mut self) {
        for reading in [&mut self.first, &mut self.last, &mut self.now] {
            reading.clear();
        }
    }

    /// Takes the space for all readings.
    pub fn take(&mut self, pieces: &mut impl Iterator<Item = &'static mut [u64]>) {
        for values in [
            &mut self.first.values,
            &mut self.last.values,
            &mut self.now.values,
            &mut self.change,
        ] {
            *values = Values {
                room: pieces.next(),
                count: 0,
            };
        }
    }
}
