//! The state of HIS on this machine, and the requests to it.
//!
//! Commands of the operator and requests of profilers on the host wait until a CPU has left its guest and has the turn
//! (`his::work`).

mod files;
mod profiler;

use crate::command::Change;
use crate::guest::state::schedule::NEVER;
use crate::his::event::{Events, SampleTypes};
use crate::his::hisprof::{Hisprof, ROOM};
use crate::his::parameters::ParameterFiles;
use crate::his::request::{LONGEST_ANSWER, Request};
use crate::his::{His, Reason};
use crate::link::frame::Channel;
use crate::link::service::{self, ServiceHead};
use crate::machine::io::console;
use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};
pub use files::{HisprofExit, Link};
pub use profiler::Profiler;
use spin::Mutex;
use zerocopy::IntoBytes;
extern crate alloc;
use alloc::boxed::Box;

/// The longest command, in bytes: a line of the operator.
const LONGEST: usize = 256;

/// The most waiting commands.
const MOST_COMMANDS: usize = 8;

/// The most waiting requests of the host: a notice for each block that it can have, and some more.
const MOST_REQUESTS: usize = 40;

/// A request of the operator.
// There is no heap to box it in, and there are few.
#[allow(clippy::large_enum_variant)]
pub enum Asked {
    /// A command to HIS.
    Command(heapless::String<LONGEST>),
    /// A change at the machine's level.
    Change(Change),
    /// The monitor classes to count.
    Classes(u16),
    /// The only subtype of SMF records to write, or both.
    Subtypes(Option<u8>),
}

/// Events and sample types that the operator has taken away from HIS (AUTH MACHINE).
#[derive(Debug)]
pub struct Taken {
    events: AtomicU32,
    types: AtomicU32,
}

impl Taken {
    /// The event types that are taken away.
    #[must_use]
    pub fn events(&self) -> Events {
        Events(self.events.load(Ordering::Relaxed))
    }

    /// The sample types that are taken away.
    #[must_use]
    pub fn types(&self) -> SampleTypes {
        SampleTypes(self.types.load(Ordering::Relaxed))
    }

    /// Gives event types back, or takes them away.
    pub fn set_events(&self, events: Events, authorized: bool) {
        take(&self.events, events.0, authorized);
    }

    /// Gives sample types back, or takes them away.
    pub fn set_types(&self, types: SampleTypes, authorized: bool) {
        take(&self.types, types.0, authorized);
    }
}

fn take(taken: &AtomicU32, bits: u32, authorized: bool) {
    if authorized {
        taken.fetch_and(!bits, Ordering::Relaxed);
    } else {
        taken.fetch_or(bits, Ordering::Relaxed);
    }
}

/// What HIS counts by software.
#[derive(Debug)]
pub struct Software {
    /// The monitor classes, as control register 8 has them: all, until the operator chooses some.
    pub classes: AtomicU16,
    /// Whether they are counted.
    pub counting: AtomicBool,
}

/// HIS and the requests to it.
pub struct Service {
    /// HIS.
    pub his: Mutex<His<Profiler>>,
    /// HISPROF's exit.
    pub hisprof: &'static HisprofExit,
    /// What the operator has requested and no CPU has done yet.
    pub operator_requests: Mutex<heapless::Deque<Asked, MOST_COMMANDS>>,
    /// The parameter files.
    pub parameters: Mutex<ParameterFiles>,
    /// What the host has requested and no CPU has done yet.
    pub requests: Mutex<heapless::Deque<Request, MOST_REQUESTS>>,
    /// Where answers are composed.
    pub area: Mutex<[u8; LONGEST_ANSWER]>,
    /// Whether the host is told when the service comes up or goes down: it has had a profiler.
    pub tells_host: AtomicBool,
    /// Whether there is work: a request of the operator or the host, or the host cannot write.
    pub attention: AtomicBool,
    /// Whether the host cannot write.
    pub not_written: AtomicBool,
    /// Whether HIS has the machine's sampling function.
    pub samples: AtomicBool,
    /// Lost samples that HIS has been told of.
    pub lost_told: AtomicU64,
    /// When HIS is due to work even if nothing happens: TOD clock, bits 0-63.
    pub due_at: AtomicU64,
    /// How often the guest had been reset when HIS last looked.
    pub resets: AtomicU32,
    /// What HIS counts by software.
    pub software: Software,
    /// What the operator has taken away from HIS.
    pub taken: Taken,
}

impl Service {
    /// HIS of `cpus` CPUs before it comes up. Called at IPL, while there is a heap.
    #[must_use]
    pub fn new(cpus: usize) -> Self {
        let mut hisprof = Hisprof::new(Link::new());
        hisprof.lend(alloc::vec![0; cpus * ROOM].leak());
        Self {
            his: Mutex::new(His::new()),
            hisprof: Box::leak(Box::new(Mutex::new(hisprof))),
            operator_requests: Mutex::new(heapless::Deque::new()),
            parameters: Mutex::new(ParameterFiles::new()),
            requests: Mutex::new(heapless::Deque::new()),
            area: Mutex::new([0; LONGEST_ANSWER]),
            tells_host: AtomicBool::new(false),
            attention: AtomicBool::new(false),
            not_written: AtomicBool::new(false),
            samples: AtomicBool::new(false),
            lost_told: AtomicU64::new(0),
            due_at: AtomicU64::new(NEVER),
            resets: AtomicU32::new(0),
            software: Software {
                classes: AtomicU16::new(u16::MAX),
                counting: AtomicBool::new(false),
            },
            taken: Taken {
                events: AtomicU32::new(0),
                types: AtomicU32::new(0),
            },
        }
    }

    /// Keeps a command until a CPU does it.
    pub fn ask(&self, line: &str) {
        // No line is longer than that.
        self.keep(heapless::String::try_from(line).map(Asked::Command).ok());
    }

    /// Keeps a choice of monitor classes until a CPU makes it.
    pub fn count_classes(&self, classes: u16) {
        self.keep(Some(Asked::Classes(classes)));
    }

    /// Keeps a choice of subtypes until a CPU makes it.
    pub fn write_subtypes(&self, only: Option<u8>) {
        self.keep(Some(Asked::Subtypes(only)));
    }

    /// Keeps a change at the machine's level until a CPU makes it.
    pub fn change(&self, change: Change) {
        self.keep(Some(Asked::Change(change)));
    }

    fn keep(&self, asked: Option<Asked>) {
        if !asked.is_some_and(|asked| self.operator_requests.lock().push_back(asked).is_ok()) {
            console::say(format_args!(
                "HIS has not carried out earlier requests yet; try again later\n"
            ));
        }
        self.attention.store(true, Ordering::Relaxed);
    }

    /// Keeps a request of the host until a CPU performs it.
    pub fn ask_for(&self, mut request: Request) {
        if self.requests.lock().push_back(request).is_err() {
            request.reason = Reason::TooManyRequests.code().into();
            answer(&request, &[]);
        }
        self.attention.store(true, Ordering::Relaxed);
    }

    /// The host cannot write what a run collects.
    pub fn not_written(&self) {
        self.not_written.store(true, Ordering::Relaxed);
        self.attention.store(true, Ordering::Relaxed);
    }

    /// Whether HIS uses the machine's sample-data blocks.
    #[must_use]
    pub fn samples(&self) -> bool {
        self.samples.load(Ordering::Relaxed)
    }

    /// When HIS is due to work even if nothing happens.
    #[must_use]
    pub fn due_at(&self) -> u64 {
        self.due_at.load(Ordering::Relaxed)
    }

    /// Whether HIS has work to do.
    #[must_use]
    #[inline]
    pub fn wants(&self, now: u64) -> bool {
        self.attention.load(Ordering::Relaxed) || now >= self.due_at()
    }
}

/// Answers a request of the host.
pub fn answer(request: &Request, area: &[u8]) {
    let head = ServiceHead {
        call: service::Call::Answer as u8,
        token: request.token,
        ..ServiceHead::default()
    };
    console::send(
        Channel::Service,
        &[head.as_bytes(), request.as_bytes(), area],
    );
}
