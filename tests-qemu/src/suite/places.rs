//! Which tests run side by side.
//!
//! A test that computes all the time has a processor for itself. One that mostly waits takes the part of a processor that it
//! needs, so others run meanwhile. Of those that wait for a place the longest begins first.

use std::{
    collections::BTreeMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// How much more may be promised than there is. Prices are rounded, and a test that computes waits now and then.
const MORE: f64 = 0.3;

/// How many tests run side by side at most, for each processor: each has storage and files, however long it waits.
const MOST: usize = 4;

/// Parts of processors that are promised.
pub struct Places {
    processors: f64,
    most: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    promised: f64,
    running: usize,
    /// What those that wait need, in the order in which they are to begin.
    waiting: BTreeMap<usize, f64>,
}

/// A place, until it is dropped.
pub struct Place<'a> {
    places: &'a Places,
    weight: f64,
}

impl Places {
    /// Places on so many processors.
    pub fn new(processors: usize) -> Self {
        Self {
            processors: processors as f64,
            most: MOST * processors,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// How many tests may have a place at a time.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Waits for a place of this many processors. Of two that could begin the one of the lower rank does.
    pub fn take(&self, rank: usize, weight: f64) -> Place<'_> {
        let mut state = self.state();
        state.waiting.insert(rank, weight);
        self.changed.notify_all();
        while self.next(&state) != Some(rank) {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting.remove(&rank);
        state.promised += weight;
        state.running += 1;
        self.changed.notify_all();
        Place {
            places: self,
            weight,
        }
    }

    /// The rank of the test that begins now.
    fn next(&self, state: &State) -> Option<usize> {
        let fits = |weight: f64| {
            let is_room = state.promised + weight <= self.processors + MORE;
            state.running == 0 || is_room && state.running < self.most
        };
        let mut waiting = state.waiting.iter();
        waiting
            .find(|&(_, &weight)| fits(weight))
            .map(|(&rank, _)| rank)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.places.state();
        state.promised -= self.weight;
        state.running -= 1;
        self.places.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(running: &[f64], waiting: &[f64]) -> Option<usize> {
        let state = State {
            promised: running.iter().sum(),
            running: running.len(),
            waiting: waiting.iter().copied().enumerate().collect(),
        };
        Places::new(2).next(&state)
    }

    #[test]
    fn two_that_compute_have_two_processors_and_a_third_waits() {
        assert_eq!(next(&[], &[1.0, 1.0, 1.0]), Some(0));
        assert_eq!(next(&[1.0], &[1.0, 1.0]), Some(0));
        assert_eq!(next(&[1.0, 1.0], &[1.0]), None);
    }

    #[test]
    fn one_that_waits_runs_beside_two_that_compute_and_overtakes_the_third() {
        assert_eq!(next(&[1.0, 1.0], &[1.0, 0.2]), Some(1));
        assert_eq!(next(&[1.0, 1.0, 0.2], &[0.2]), None);
        assert_eq!(next(&[0.1; 8], &[0.1]), None);
    }

    #[test]
    fn one_that_needs_more_than_there_is_runs_alone() {
        assert_eq!(next(&[], &[3.0, 1.0]), Some(0));
        assert_eq!(next(&[0.1], &[3.0, 1.0]), Some(1));
    }

    #[test]
    fn a_place_that_is_given_back_is_taken_by_who_waits() {
        let places = Places::new(1);
        let first = places.take(0, 1.0);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| drop(places.take(1, 1.0)));
            drop(first);
            second.join().unwrap();
        });
        let state = places.state();
        assert_eq!((state.running, state.waiting.len()), (0, 0));
    }
}
