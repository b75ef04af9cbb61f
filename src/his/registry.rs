//! The profilers, their requests, and what is in effect because of them.

use super::command::{Name, name};
use super::event::{Events, SampleTypes};
use super::machine::{Machine, SamplingOrder};
use super::reason::Reason;
use super::sampling::SamplingControls;
use arch::tod::{Tod, UNITS_PER_MICROSECOND};
use heapless::{Deque, Vec};

/// The most profilers at once: the project's own bound.
pub const MOST_PROFILERS: usize = 8;

/// The most profilers of the guest: the other places stay free for the machine and the host, whatever the guest does.
pub const MOST_OF_GUEST: usize = 4;

/// The blocks that a profiler can have pending.
pub const WINDOW: usize = 4;

/// The identification of a profiler in its requests. No two profilers ever have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(pub u64);

/// Where a profiler runs. Only its owner can issue its requests: anyone could guess a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// In the machine.
    Machine,
    /// On the host, at the other end of the link.
    Host,
    /// In the guest.
    Guest,
}

/// The parameters with which a profiler starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Where it runs.
    pub owner: Owner,
    /// NAME: the name that others see. Names need not be unique.
    pub name: Name,
    /// EVENT: the event types that it will query; may be none.
    pub events: Events,
    /// SAMPLE: whether it wants the samples that are collected.
    pub samples: bool,
}

impl Registration {
    /// The registration of a profiler in the machine, under a name of 1 to 8 letters, digits and national
    /// characters; blanks after them are ignored.
    ///
    /// # Errors
    /// [`Reason::Name`] and [`Reason::Events`].
    pub fn new(named: &str, events: Events, samples: bool) -> Result<Self, Reason> {
        Self::of(Owner::Machine, named, events, samples)
    }

    /// The same for a profiler of any owner.
    ///
    /// # Errors
    /// The same as [`Self::new`].
    pub fn of(owner: Owner, named: &str, events: Events, samples: bool) -> Result<Self, Reason> {
        let name = name(named.trim_end_matches(' '), true).ok_or(Reason::Name)?;
        if !events.without(Events::COMPLETE).is_empty() {
            return Err(Reason::Events);
        }
        Ok(Self {
            owner,
            name,
            events,
            samples,
        })
    }
}

/// A profiler.
#[derive(Clone, Debug)]
pub struct Profiler {
    /// Its token.
    pub token: Token,
    /// The parameters with which it started.
    pub registration: Registration,
    /// When it started.
    pub started: Tod,
    /// The number of its EVENTDATA queries.
    pub queries: u64,
    first_query: Tod,
    last_query: Tod,
    /// The number of blocks that it has handled.
    pub blocks: u64,
    /// The TOD units that it took for them.
    handling: u64,
    /// When it received each block that it has not handled yet.
    pub(super) pending: Deque<Tod, WINDOW>,
    /// The number of samples that it missed.
    pub missed: u64,
    /// The part of them that the service has not reported to it yet.
    pub(super) untold: u64,
    /// The service has told it that it missed some.
    pub(super) loss_told: bool,
}

impl Profiler {
    /// The average time between its queries in microseconds; 0 before the second.
    #[must_use]
    pub fn between_queries(&self) -> u64 {
        let span = self.last_query.0.wrapping_sub(self.first_query.0);
        let spans = self.queries.saturating_sub(1);
        span.checked_div(spans).unwrap_or(0) / UNITS_PER_MICROSECOND
    }

    /// The average time in microseconds that it took for a block; 0 before the first.
    #[must_use]
    pub fn per_block(&self) -> u64 {
        self.handling.checked_div(self.blocks).unwrap_or(0) / UNITS_PER_MICROSECOND
    }

    /// Records a query at this time.
    pub(super) fn note_query(&mut self, now: Tod) {
        if self.queries == 0 {
            self.first_query = now;
        }
        self.last_query = now;
        self.queries += 1;
    }

    /// Records a block that was handled between these times.
    pub(super) fn note_block(&mut self, from: Tod, to: Tod) {
        self.handling = self.handling.saturating_add(to.0.saturating_sub(from.0));
        self.blocks += 1;
    }
}

/// The profilers and what is in effect: the whole service except the exits.
#[derive(Clone, Debug)]
pub struct Registry {
    pub(super) enabled: bool,
    pub(super) profilers: [Option<Profiler>; MOST_PROFILERS],
    pub(super) controls: SamplingControls,
    /// The event types that the service can use: those that were authorized when it last tested that.
    pub(super) usable: Events,
    /// The sample types that the service can use.
    pub(super) usable_types: SampleTypes,
    /// The event types that the machine counts for the service.
    pub(super) counting: Events,
    /// The sampling that the machine does for the service.
    pub(super) sampling: Option<SamplingOrder>,
    /// How many times the machine has lost counter data since its IPL, those of the MT-diagnostic set aside.
    pub(super) counter_losses: u32,
    last_token: u64,
}

impl Registry {
    pub(super) const fn new() -> Self {
        Self {
            enabled: false,
            profilers: [const { None }; MOST_PROFILERS],
            controls: SamplingControls::DEFAULT,
            usable: Events::NONE,
            usable_types: SampleTypes::NONE,
            counting: Events::NONE,
            sampling: None,
            counter_losses: 0,
            last_token: 0,
        }
    }

    /// Whether the service is enabled and accepts requests.
    #[must_use]
    pub const fn enabled(&self) -> bool {
        self.enabled
    }

    /// The sampling controls that are set.
    #[must_use]
    pub const fn controls(&self) -> SamplingControls {
        self.controls
    }

    /// The event types that can be used.
    #[must_use]
    pub const fn usable(&self) -> Events {
        self.usable
    }

    /// The sample types that can be used.
    #[must_use]
    pub const fn usable_types(&self) -> SampleTypes {
        self.usable_types
    }

    /// The event types that are counted.
    #[must_use]
    pub const fn counting(&self) -> Events {
        self.counting
    }

    /// The sample types that are collected.
    #[must_use]
    pub fn sampled(&self) -> SampleTypes {
        let order = self.sampling;
        order.map_or(SampleTypes::NONE, |order| order.types)
    }

    /// How many times the machine has lost counter data since its IPL, whether anyone collected it or not.
    #[must_use]
    pub const fn counter_losses(&self) -> u32 {
        self.counter_losses
    }

    /// The profilers, in the order of their places.
    pub fn profilers(&self) -> impl Iterator<Item = &Profiler> {
        self.profilers.iter().flatten()
    }

    pub(super) fn profiling(&self) -> bool {
        self.profilers().next().is_some()
    }

    /// Whether one more profiler can be registered.
    pub(super) fn has_room(&self) -> bool {
        self.profilers.iter().any(Option::is_none)
    }

    /// The token of the profiler in a place.
    pub(super) fn token(&self, place: usize) -> Option<Token> {
        Some(self.profilers[place].as_ref()?.token)
    }

    /// The place of the profiler with this token.
    pub(super) fn place(&self, token: Token) -> Result<usize, Reason> {
        if !self.enabled {
            return Err(Reason::NotEnabled);
        }
        let has = |profiler: &Option<Profiler>| {
            profiler
                .as_ref()
                .is_some_and(|profiler| profiler.token == token)
        };
        self.profilers.iter().position(has).ok_or(Reason::Token)
    }

    /// The tokens of the profilers of this owner.
    pub(super) fn of(&self, owner: Owner) -> Vec<Token, MOST_PROFILERS> {
        let own = |profiler: &&Profiler| profiler.registration.owner == owner;
        let mut tokens = Vec::new();
        for profiler in self.profilers().filter(own) {
            let _ = tokens.push(profiler.token);
        }
        tokens
    }

    /// Registers a profiler; returns its place and its token.
    pub(super) fn register(
        &mut self,
        registration: &Registration,
        now: Tod,
    ) -> Result<(usize, Token), Reason> {
        if !self.enabled {
            return Err(Reason::NotEnabled);
        }
        let owner = registration.owner;
        if owner == Owner::Guest && self.of(owner).len() >= MOST_OF_GUEST {
            return Err(Reason::TooManyProfilers);
        }
        let mut places = self.profilers.iter();
        let place = places
            .position(Option::is_none)
            .ok_or(Reason::TooManyProfilers)?;
        self.last_token += 1;
        let token = Token(self.last_token);
        self.profilers[place] = Some(Profiler {
            token,
            registration: registration.clone(),
            started: now,
            queries: 0,
            first_query: now,
            last_query: now,
            blocks: 0,
            handling: 0,
            pending: Deque::new(),
            missed: 0,
            untold: 0,
            loss_told: false,
        });
        Ok((place, token))
    }

    /// What the profilers want, as far as it can be used: the event types, and the sampling if one of them
    /// wants samples.
    pub(super) fn wanted(&self, machine: &dyn Machine) -> (Events, Option<SamplingOrder>) {
        let events = self
            .profilers()
            .fold(Events::NONE, |events, profiler| {
                events.union(profiler.registration.events)
            })
            .intersection(self.usable);
        let types = self.controls.types.intersection(self.usable_types);
        let samples = self
            .profilers()
            .any(|profiler| profiler.registration.samples);
        if !samples || types.is_empty() {
            return (events, None);
        }
        let limits = machine.sampling().limits;
        // The controls were possible when they were set; the speed may have changed since.
        let interval = self.controls.nearest_interval(&limits);
        let buffers = self.controls.buffers;
        let order = SamplingOrder {
            types,
            interval,
            buffers,
        };
        (events, Some(order))
    }

    /// Makes the machine do what the profilers want, if it does not yet. The caller has stopped sampling that
    /// must change.
    pub(super) fn put_into_effect(&mut self, machine: &mut dyn Machine) {
        let (events, sampling) = self.wanted(machine);
        if events != self.counting {
            self.counting = events;
            machine.enable(events);
        }
        if sampling != self.sampling {
            if let Some(order) = &sampling {
                machine.start_sampling(order);
            }
            self.sampling = sampling;
        }
    }
}
