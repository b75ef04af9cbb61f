//! Requests to drop entries of the DAT-on shadows, which the CPUs post for each other.
//!
//! A shadow belongs to its CPU, and no other CPU touches its tables. A CPU that changes what shadows
//! depend on (the state of a page, or a table of the guest that it then purges) makes the change first
//! and then posts a request. Every CPU carries out the requests on its own shadow before its guest
//! continues. A CPU that is too far behind, or that meets a request which is just being written,
//! empties its shadow.

use arch::address::{Absolute, PAGE};
use core::sync::atomic::{AtomicU64, Ordering, fence};

/// Requests that are kept.
const KEPT: u64 = 256;

/// What a shadow must drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Entries that map this page frame, because its state has changed.
    Frame(Absolute),
    /// Entries that were filled from this page-table entry of a guest.
    Entry(Absolute),
    /// The spaces whose highest table has this origin.
    Space(u64),
    /// Everything that the guests' tables no longer say.
    All,
}

/// The rightmost bits of a request's doubleword: its kind.
const KIND: u64 = 7;

impl Request {
    const fn encode(self) -> u64 {
        match self {
            Self::Frame(at) => at.page().0,
            Self::Entry(at) => at.0 & !KIND | 1,
            Self::Space(origin) => origin & !KIND | 2,
            Self::All => 3,
        }
    }

    const fn decode(value: u64) -> Self {
        match value & KIND {
            0 => Self::Frame(Absolute(value)),
            1 => Self::Entry(Absolute(value & !KIND)),
            2 => Self::Space(value & !(PAGE - 1)),
            _ => Self::All,
        }
    }
}

/// The place of one request: the request, and its number plus one while it is complete.
#[derive(Debug)]
struct Place {
    number: AtomicU64,
    request: AtomicU64,
}

/// The last requests, in the order of their numbers.
#[derive(Debug)]
pub(crate) struct Requests {
    posted: AtomicU64,
    places: [Place; KEPT as usize],
}

impl Requests {
    pub(crate) const fn new() -> Self {
        Self {
            posted: AtomicU64::new(0),
            places: [const {
                Place {
                    number: AtomicU64::new(0),
                    request: AtomicU64::new(0),
                }
            }; KEPT as usize],
        }
    }

    /// How many requests there were so far: the number of the next one.
    #[inline]
    pub(crate) fn posted(&self) -> u64 {
        self.posted.load(Ordering::Acquire)
    }

    /// Posts a request, after the change that it is about.
    pub(crate) fn post(&self, request: Request) {
        let number = self.posted.fetch_add(1, Ordering::AcqRel);
        let place = &self.places[(number % KEPT) as usize];
        place.number.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        place.request.store(request.encode(), Ordering::Relaxed);
        place.number.store(number + 1, Ordering::Release);
    }

    /// The request with a number, unless it is overwritten or not complete yet.
    pub(crate) fn get(&self, number: u64) -> Option<Request> {
        let place = &self.places[(number % KEPT) as usize];
        let before = place.number.load(Ordering::Acquire);
        let request = place.request.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let after = place.number.load(Ordering::Relaxed);
        (before == number + 1 && after == before).then(|| Request::decode(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reads_as_posted_until_it_is_overwritten() {
        let requests = Requests::new();
        let posted = [
            Request::Frame(Absolute(0x12_3000)),
            Request::Entry(Absolute(0x45_67F8)),
            Request::Space(0x7FFF_C000),
            Request::All,
        ];
        for request in posted {
            requests.post(request);
        }
        assert_eq!(
            [0, 1, 2, 3].map(|number| requests.get(number)),
            posted.map(Some)
        );
        assert_eq!(requests.get(4), None, "not posted yet");
        for _ in 0..KEPT {
            requests.post(Request::Frame(Absolute(0)));
        }
        assert_eq!(requests.get(0), None, "overwritten");
    }
}
