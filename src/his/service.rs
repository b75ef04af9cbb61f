//! HISSERV: profilers start and stop, and the machine measures what they want together.
//!
//! Each profiler has event types of its own; the machine counts those that any profiler requested and that
//! can be used. The machine samples if any profiler wants samples, with the operator's controls, which are
//! the same for all.
//!
//! # Updates
//!
//! The service can use what was authorized when it last tested that. It does so when it is enabled, when it
//! is refreshed, and when an authorization is taken away. A change of what the profilers depend on is an
//! update: sampling stops, the service hands out the samples taken so far, tells every profiler UpdateStart,
//! makes the change, resumes sampling, and tells every profiler UpdateDone. All of it happens within one
//! call of the machine, so only the exits themselves can issue requests meanwhile.
//!
//! When a profiler that wants samples starts or stops, sampling stops for a moment in the same way, but
//! without an update: so it gets exactly the samples between its start and its stop.

use super::event::CounterLoss;
use super::exit::{Action, Call, Exit, Handling, Inside, Reasons, Samples, StateChange, Status};
use super::machine::{Block, Machine, TakenBlock};
use super::query::{Answered, Query};
use super::reason::Reason;
use super::registry::{MOST_PROFILERS, Profiler, Registration, Registry, Token};
use super::sampling::SamplingControls;
use heapless::Vec;
use link::data::SAMPLE_DATA_BLOCK;

/// The most exit routines of HIS.SERVSTAT: the project's own bound.
pub const MOST_STATUS_EXITS: usize = 4;

/// A profiler has been registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    /// OUTPROFILETKN: its token.
    pub token: Token,
    /// [`Reason::EventsNotAvailable`] if the machine cannot count all requested event types now.
    pub warning: Option<Reason>,
}

/// What remains of a profiler that has stopped.
pub(super) struct Stopped<E> {
    /// Its exit.
    pub exit: Option<E>,
    /// The number of samples that it missed.
    pub missed: u64,
}

/// The service, with the exits of its profilers.
pub struct Service<E> {
    registry: Registry,
    exits: [Option<E>; MOST_PROFILERS],
    status_exits: Vec<E, MOST_STATUS_EXITS>,
    block: Block,
}

impl<E: Exit> Default for Service<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Exit> Service<E> {
    /// A service that is not enabled.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            registry: Registry::new(),
            exits: [const { None }; MOST_PROFILERS],
            status_exits: Vec::new(),
            block: [0; SAMPLE_DATA_BLOCK],
        }
    }

    /// Adds a routine to the dynamic exit HIS.SERVSTAT. Returns the routine if the exit has the most already.
    pub fn add_status_exit(&mut self, exit: E) -> Result<(), E> {
        self.status_exits.push(exit)
    }

    /// The profilers and what is in effect.
    #[must_use]
    pub const fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The profiler with this token.
    #[must_use]
    pub fn profiler(&self, token: Token) -> Option<&Profiler> {
        self.registry
            .profilers()
            .find(|profiler| profiler.token == token)
    }

    /// HIS starts: the service can be used, with the default sampling controls.
    pub fn enable(&mut self, machine: &mut dyn Machine) {
        if self.registry.enabled {
            return;
        }
        self.registry.enabled = true;
        self.registry.controls = SamplingControls::DEFAULT;
        self.look(machine);
        self.tell_status(machine, Status::Enabled);
    }

    /// HIS stops: all profilers stop, and the service can no longer be used.
    pub fn disable(&mut self, machine: &mut dyn Machine) {
        if !self.registry.enabled {
            return;
        }
        self.suspend(machine);
        let profiled = self.registry.profiling();
        for place in 0..MOST_PROFILERS {
            self.registry.profilers[place] = None;
            self.exits[place] = None;
        }
        self.registry.put_into_effect(machine);
        if profiled {
            self.tell_status(machine, Status::Stopped);
        }
        self.registry.enabled = false;
        self.tell_status(machine, Status::Disabled);
    }

    /// REQUEST=PROFILE,ACTION=START: registers a profiler with its exit.
    ///
    /// # Errors
    /// [`Reason::NotEnabled`], [`Reason::TooManyProfilers`].
    pub fn start(
        &mut self,
        machine: &mut dyn Machine,
        registration: &Registration,
        exit: E,
    ) -> Result<Started, Reason> {
        let first = !self.registry.profiling();
        let now = machine.tod();
        let (place, token) = self.registry.register(registration, now)?;
        if registration.samples {
            // The new profiler is not called yet: it does not get the samples taken before.
            self.suspend(machine);
        }
        self.exits[place] = Some(exit);
        self.registry.put_into_effect(machine);
        if first {
            self.tell_status(machine, Status::Started);
        }
        let missing = registration.events.without(self.registry.usable);
        let warning = (!missing.is_empty()).then_some(Reason::EventsNotAvailable);
        Ok(Started { token, warning })
    }

    /// REQUEST=PROFILE,ACTION=STOP: gives a profiler the samples taken until now, removes it, and returns
    /// its exit.
    ///
    /// # Errors
    /// [`Reason::NotEnabled`], [`Reason::Token`].
    pub fn stop(&mut self, machine: &mut dyn Machine, token: Token) -> Result<E, Reason> {
        let stopped = self.stop_after(machine, token, None)?;
        stopped.exit.ok_or(Reason::Token)
    }

    /// The same, with a last call of the exit after it has received all its samples.
    pub(super) fn stop_after(
        &mut self,
        machine: &mut dyn Machine,
        token: Token,
        last: Option<&Call<'_>>,
    ) -> Result<Stopped<E>, Reason> {
        let place = self.registry.place(token)?;
        self.drain(machine, place);
        if let Some(call) = last {
            self.call_exit(machine, place, call);
        }
        let profiler = self.registry.profilers[place].take();
        let exit = self.exits[place].take();
        self.registry.put_into_effect(machine);
        if !self.registry.profiling() {
            self.tell_status(machine, Status::Stopped);
        }
        let missed = profiler.map_or(0, |profiler| profiler.missed);
        Ok(Stopped { exit, missed })
    }

    /// REQUEST=QUERY.
    ///
    /// # Errors
    /// The same as [`Registry::query`].
    pub fn query(
        &mut self,
        machine: &mut dyn Machine,
        query: &Query,
        area: &mut [u8],
    ) -> Result<Answered, Reason> {
        self.registry.query(machine, query, area)
    }

    /// Calls the exit of one profiler.
    pub(super) fn call(&mut self, machine: &mut dyn Machine, token: Token, call: &Call<'_>) {
        if let Ok(place) = self.registry.place(token) {
            self.call_exit(machine, place, call);
        }
    }

    /// A CPU has full blocks: calls each profiler that wants samples with each of them.
    pub fn blocks_ready(&mut self, machine: &mut dyn Machine) {
        while let Some(taken) = machine.take_block(&mut self.block) {
            self.give(machine, taken);
        }
    }

    /// A profiler is done with its oldest pending block.
    pub fn done(&mut self, machine: &mut dyn Machine, token: Token) {
        let Ok(place) = self.registry.place(token) else {
            return;
        };
        let now = machine.tod();
        let Some(profiler) = &mut self.registry.profilers[place] else {
            return;
        };
        if let Some(from) = profiler.pending.pop_front() {
            profiler.note_block(from, now);
            self.tell_loss(machine, place);
        }
    }

    /// Sets the sampling controls for all profilers. The caller has tested that the machine supports them.
    pub fn set_controls(&mut self, machine: &mut dyn Machine, controls: SamplingControls) {
        if !self.registry.enabled || controls == self.registry.controls {
            return;
        }
        self.update(machine, Reasons::PARAMETERS_CHANGED, |service, _| {
            service.registry.controls = controls;
        });
    }

    /// SERVICE,REFRESH: uses what has been authorized since the last test.
    pub fn refresh(&mut self, machine: &mut dyn Machine) {
        if self.registry.enabled {
            self.update(machine, Reasons::PARAMETERS_CHANGED, Self::look);
        }
    }

    /// An authorization has changed. The service no longer uses what lost its authorization; it uses what
    /// gained one from the next refresh on.
    pub fn authorization_changed(&mut self, machine: &mut dyn Machine) {
        let lost = self.registry.usable.without(machine.events().authorized);
        let types = machine.sampling().authorized.collectable();
        let lost_types = self.registry.usable_types.without(types);
        let mut reasons = Reasons::NONE;
        if !lost.intersection(self.registry.counting).is_empty() {
            reasons = reasons.union(Reasons::COUNTERS_DEAUTHORIZED);
        }
        if !lost_types.intersection(self.registry.sampled()).is_empty() {
            reasons = reasons.union(Reasons::SAMPLING_DEAUTHORIZED);
        }
        let forget = |service: &mut Self, _: &mut dyn Machine| {
            let registry = &mut service.registry;
            registry.usable = registry.usable.without(lost);
            registry.usable_types = registry.usable_types.without(lost_types);
        };
        if reasons == Reasons::NONE {
            forget(self, machine);
        } else {
            self.update(machine, reasons, forget);
        }
    }

    /// The speed of the CPUs has changed, and so the number of cycles in a minute.
    pub fn speed_changed(&mut self, machine: &mut dyn Machine) {
        if self.registry.sampling.is_some() {
            self.update(machine, Reasons::SPEED_CHANGED, |_, _| {});
        } else {
            self.notify(machine, Reasons::SPEED_CHANGED);
        }
    }

    /// The machine has lost counter data.
    pub fn counter_data_lost(&mut self, machine: &mut dyn Machine, loss: CounterLoss) {
        let lost = Reasons::COUNTER_DATA_LOST;
        let reasons = match loss {
            CounterLoss::Cpu => {
                let losses = &mut self.registry.counter_losses;
                *losses = losses.saturating_add(1);
                lost
            }
            CounterLoss::Mt => lost.union(Reasons::ONLY_MT),
        };
        self.notify(machine, reasons);
    }

    /// The machine has lost sample data: its blocks were full.
    pub fn sample_data_lost(&mut self, machine: &mut dyn Machine) {
        self.notify(machine, Reasons::SAMPLE_DATA_LOST);
    }

    /// Records what is authorized.
    fn look(&mut self, machine: &mut dyn Machine) {
        self.registry.usable = machine.events().authorized;
        self.registry.usable_types = machine.sampling().authorized.collectable();
    }

    fn update(
        &mut self,
        machine: &mut dyn Machine,
        reasons: Reasons,
        change: impl FnOnce(&mut Self, &mut dyn Machine),
    ) {
        self.suspend(machine);
        self.tell_state(machine, Action::UpdateStart, reasons);
        change(self, machine);
        self.registry.put_into_effect(machine);
        self.tell_state(machine, Action::UpdateDone, Reasons::NONE);
    }

    /// Stops sampling, if it is active, and hands out the samples.
    fn suspend(&mut self, machine: &mut dyn Machine) {
        if self.registry.sampling.take().is_some() {
            machine.stop_sampling();
            self.blocks_ready(machine);
        }
    }

    /// The same, if the profiler in this place wants samples.
    fn drain(&mut self, machine: &mut dyn Machine, place: usize) {
        let profiler = self.registry.profilers[place].as_ref();
        if profiler.is_some_and(|profiler| profiler.registration.samples) {
            self.suspend(machine);
        }
    }

    /// Notifies the profilers without an update.
    fn notify(&mut self, machine: &mut dyn Machine, reasons: Reasons) {
        self.tell_state(machine, Action::None, reasons);
    }

    fn tell_state(&mut self, machine: &mut dyn Machine, action: Action, reasons: Reasons) {
        let call = Call::State(StateChange { action, reasons });
        for place in 0..MOST_PROFILERS {
            self.call_exit(machine, place, &call);
        }
    }

    fn tell_status(&mut self, machine: &mut dyn Machine, status: Status) {
        for exit in &mut self.status_exits {
            let mut inside = Inside {
                token: None,
                registry: &mut self.registry,
                machine,
            };
            exit.call(&Call::Status(status), &mut inside);
        }
    }

    /// Calls the exit in a place, if there is one.
    fn call_exit(
        &mut self,
        machine: &mut dyn Machine,
        place: usize,
        call: &Call<'_>,
    ) -> Option<Handling> {
        let exit = self.exits[place].as_mut()?;
        let mut inside = Inside {
            token: self.registry.token(place),
            registry: &mut self.registry,
            machine,
        };
        Some(exit.call(call, &mut inside))
    }

    /// Tells a profiler, once, that it has missed samples. Its next block says how many.
    fn tell_loss(&mut self, machine: &mut dyn Machine, place: usize) {
        let Some(profiler) = &mut self.registry.profilers[place] else {
            return;
        };
        if profiler.untold > 0 && !profiler.loss_told {
            profiler.loss_told = true;
            let action = Action::None;
            let reasons = Reasons::SAMPLE_DATA_LOST;
            let call = Call::State(StateChange { action, reasons });
            self.call_exit(machine, place, &call);
        }
    }

    /// Gives the block that has been taken to the profilers that want samples.
    fn give(&mut self, machine: &mut dyn Machine, taken: TakenBlock) {
        for place in 0..MOST_PROFILERS {
            let Some(exit) = &mut self.exits[place] else {
                continue;
            };
            let registry = &mut self.registry;
            let Some(profiler) = &mut registry.profilers[place] else {
                continue;
            };
            if !profiler.registration.samples {
                continue;
            }
            if profiler.pending.is_full() {
                let samples = u64::from(taken.samples);
                profiler.missed += samples;
                profiler.untold += samples;
                continue;
            }
            let missed = core::mem::take(&mut profiler.untold);
            profiler.loss_told = false;
            let call = Call::Samples(Samples {
                cpu: taken.cpu,
                block: &self.block,
                samples: taken.samples,
                missed,
            });
            let from = machine.tod();
            let mut inside = Inside {
                token: registry.token(place),
                registry,
                machine,
            };
            let handling = exit.call(&call, &mut inside);
            let to = machine.tod();
            let Some(profiler) = &mut self.registry.profilers[place] else {
                continue;
            };
            match handling {
                Handling::Done => profiler.note_block(from, to),
                // It fits: tested above.
                Handling::Pending => {
                    let _ = profiler.pending.push_back(from);
                }
            }
        }
    }
}
