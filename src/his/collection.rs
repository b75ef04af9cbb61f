//! Events during a collection run: the machine reports them, and the run continues, begins new files or ends.
//!
//! # What ends a run early, and what begins new files
//!
//! * Lost sample or counter data of what the run collects, if DATALOSS=STOP, ends the run. The machine tells only whether
//!   the counters are those of the MT-diagnostic set.
//! * When a counter set or sample type of the run is no longer authorized, the run ends.
//! * A state change is a change of the speed of the CPUs, or of the sampling controls in a run that writes
//!   samples. STATECHANGE=SAVE continues with the next set of files, STOP ends the run, IGNORE continues
//!   without a change.
//!
//! The project chose to treat the sampling controls as such a state: a file could not distinguish samples of
//! two frequencies.

use super::command::{DataLoss, OnStateChange};
use super::event::{CounterLoss, Event};
use super::exit::{Call, Exit, Step};
use super::machine::Machine;
use super::message::Message;
use super::operator::{His, say};
use super::registry::Token;
use super::run::{Cause, Completion, Run};
use arch::tod::Tod;

impl<E: Exit> His<E> {
    /// The guest has ended, and HIS stops with it: ends the run, then disables the service.
    pub fn guest_ended(&mut self, machine: &mut dyn Machine) {
        self.finish(machine, Completion::GuestEnded);
        self.service.disable(machine);
    }

    /// Hands out full blocks.
    pub fn blocks_ready(&mut self, machine: &mut dyn Machine) {
        self.service.blocks_ready(machine);
        self.count_missed(machine);
    }

    /// A profiler is done with its oldest pending block.
    pub fn done(&mut self, machine: &mut dyn Machine, token: Token) {
        self.service.done(machine, token);
    }

    /// An authorization has changed.
    pub fn authorization_changed(&mut self, machine: &mut dyn Machine) {
        self.service.authorization_changed(machine);
        self.count_missed(machine);
        self.authorization_lost(machine);
    }

    /// Ends a run that collects an event type or sample type that can no longer be used.
    pub(super) fn authorization_lost(&mut self, machine: &mut dyn Machine) {
        let Some((run, _)) = self.running() else {
            return;
        };
        let usable = self.service.registry().usable();
        let usable_types = self.service.registry().usable_types();
        if !run.types.without(usable_types).is_empty() {
            self.end_early(machine, Cause::SamplingDeauthorized);
        } else if !run.events.without(usable).is_empty() {
            self.end_early(machine, Cause::CountersDeauthorized);
        }
    }

    /// The speed of the CPUs has changed.
    pub fn speed_changed(&mut self, machine: &mut dyn Machine) {
        self.service.speed_changed(machine);
        self.count_missed(machine);
        self.state_changed(machine);
    }

    /// The machine has lost counter data.
    pub fn counter_data_lost(&mut self, machine: &mut dyn Machine, loss: CounterLoss) {
        self.service.counter_data_lost(machine, loss);
        let collects = |run: &Run| !run.events.intersection(loss.events()).is_empty();
        let stops = |run: &Run| collects(run) && stops_at_loss(run);
        if self.running().is_some_and(|(run, _)| stops(run)) {
            self.end_early(machine, Cause::CounterDataLost);
        }
    }

    /// The machine has lost `samples` samples because its blocks were full.
    pub fn sample_data_lost(&mut self, machine: &mut dyn Machine, samples: u64) {
        self.service.sample_data_lost(machine);
        self.add_lost(machine, samples);
    }

    /// Ends the run early, for example because its output cannot be written.
    pub fn end_early(&mut self, machine: &mut dyn Machine, cause: Cause) {
        if self.running().is_some() {
            say(machine, &Message::Early(cause));
            self.finish(machine, Completion::Early(cause));
        }
    }

    /// When the machine must call [`Self::tick`] next.
    #[must_use]
    pub fn due_at(&self) -> Option<Tod> {
        let (run, _) = self.running()?;
        match (run.interval, run.deadline()) {
            (Some(interval), Some(deadline)) => Some(interval.min(deadline)),
            (interval, deadline) => interval.or(deadline),
        }
    }

    /// Time has passed: an interval record or the end of the run may be due. Intervals that passed since
    /// the previous call become one.
    pub fn tick(&mut self, machine: &mut dyn Machine) {
        let now = machine.tod();
        let Some((run, token)) = self.running() else {
            return;
        };
        if run.deadline().is_some_and(|deadline| deadline <= now) {
            self.finish(machine, Completion::Elapsed);
            return;
        }
        if run.interval.is_some_and(|interval| interval <= now) {
            let next = run.next_interval(now);
            if let Some(run) = &mut self.run {
                run.interval = next;
            }
            let interval = Call::Step(Step::Interval);
            self.service.call(machine, token, &interval);
        }
    }

    /// The run that is active.
    pub(super) fn running(&self) -> Option<(&Run, Token)> {
        let run = self.run.as_ref().filter(|run| run.running())?;
        Some((run, run.token?))
    }

    pub(super) fn state_changed(&mut self, machine: &mut dyn Machine) {
        let Some((run, token)) = self.running() else {
            return;
        };
        match run.parameters.state_change {
            OnStateChange::Ignore => {}
            OnStateChange::Stop => self.end_early(machine, Cause::StateChanged),
            OnStateChange::Save => {
                if let Some(run) = &mut self.run {
                    run.files += 1;
                    let files = Call::Step(Step::NextFiles(run.files));
                    say(machine, &Message::NextFiles(run));
                    self.service.call(machine, token, &files);
                }
            }
        }
    }

    /// Adds the samples that HISPROF has missed to those that the run has lost.
    pub(super) fn count_missed(&mut self, machine: &mut dyn Machine) {
        let Some((run, token)) = self.running() else {
            return;
        };
        let missed = self
            .service
            .profiler(token)
            .map_or(run.missed, |profiler| profiler.missed);
        let more = missed - run.missed;
        if more > 0 {
            if let Some(run) = &mut self.run {
                run.missed = missed;
            }
            self.add_lost(machine, more);
        }
    }

    fn add_lost(&mut self, machine: &mut dyn Machine, samples: u64) {
        if self.running().is_none() {
            return;
        }
        let Some(run) = &mut self.run else { return };
        if !run.parameters.samples {
            return;
        }
        run.lost_samples = run.lost_samples.saturating_add(samples);
        if stops_at_loss(run) {
            self.end_early(machine, Cause::SampleDataLost);
        }
    }

    /// Ends the run: writes the last samples and the last records, and stops HISPROF.
    pub(super) fn finish(&mut self, machine: &mut dyn Machine, completion: Completion) {
        let Some((_, token)) = self.running() else {
            return;
        };
        // From here on nothing can end it again.
        if let Some(run) = &mut self.run {
            run.completion = completion;
            run.ended = Some(machine.tod());
        }
        let dropped = machine.dropped_calls();
        let state_change = completion == Completion::Early(Cause::StateChanged);
        let end = Call::Step(Step::End { state_change });
        let stopped = self.service.stop_after(machine, token, Some(&end));
        if let Some(run) = &mut self.run {
            // HISPROF is registered as long as its run is active.
            let missed = stopped.map_or(run.missed, |stopped| stopped.missed);
            run.lost_samples = run.lost_samples.saturating_add(missed - run.missed);
            run.missed = missed;
            say(machine, &Message::Ended(run));
            let dropped = dropped.saturating_sub(run.dropped);
            if run.events.has(Event::Zos) && dropped > 0 {
                say(machine, &Message::Dropped(dropped));
            }
        }
    }
}

fn stops_at_loss(run: &Run) -> bool {
    run.parameters.data_loss == DataLoss::Stop
}
