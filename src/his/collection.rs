//! What happens to a collection run: the machine tells it, and the run goes on, begins new files or ends.
//!
//! # What ends a run early, and what begins new files
//!
//! * Lost sample or counter data, if DATALOSS=STOP.
//! * A counter set or sample type of the run that is no longer authorized, always.
//! * A change of the state: the speed of the CPUs, or the sampling controls of a run that writes samples.
//!   STATECHANGE=SAVE goes on with the next set of files, STOP ends the run, IGNORE goes on as before.
//!
//! That the sampling controls are such a state is the project's own reading: samples of two frequencies
//! in one file could not be told apart.

use super::command::{DataLoss, OnStateChange};
use super::exit::{Call, Exit, Step};
use super::machine::Machine;
use super::message::Message;
use super::operator::{His, say};
use super::registry::Token;
use super::run::{Cause, Completion, Run};
use arch::tod::Tod;

impl<E: Exit> His<E> {
    /// HIS goes down: a run ends, then the service is disabled.
    pub fn disable(&mut self, machine: &mut dyn Machine) {
        self.end_early(machine, Cause::Disabled);
        self.service.disable(machine);
    }

    /// Full blocks are to be handed out.
    pub fn blocks_ready(&mut self, machine: &mut dyn Machine) {
        self.service.blocks_ready(machine);
        self.count_missed(machine);
    }

    /// A profiler is done with the oldest block that it had pending.
    pub fn done(&mut self, machine: &mut dyn Machine, token: Token) {
        self.service.done(machine, token);
    }

    /// An authorization has changed.
    pub fn authorization_changed(&mut self, machine: &mut dyn Machine) {
        self.service.authorization_changed(machine);
        self.count_missed(machine);
        self.authorization_lost(machine);
    }

    /// Ends a run that collects what can be used no more.
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
    pub fn counter_data_lost(&mut self, machine: &mut dyn Machine) {
        self.service.counter_data_lost(machine);
        let stops = |run: &Run| run.parameters.counters && stops_at_loss(run);
        if self.running().is_some_and(|(run, _)| stops(run)) {
            self.end_early(machine, Cause::CounterDataLost);
        }
    }

    /// The machine has lost so many samples: its blocks were full.
    pub fn sample_data_lost(&mut self, machine: &mut dyn Machine, samples: u64) {
        self.service.sample_data_lost(machine);
        self.add_lost(machine, samples);
    }

    /// What HISPROF records cannot be written, or something else ends the run.
    pub fn end_early(&mut self, machine: &mut dyn Machine, cause: Cause) {
        if self.running().is_some() {
            say(machine, &Message::Early(cause));
            self.finish(machine, Completion::Early(cause));
        }
    }

    /// When [`Self::tick`] is to be called next.
    #[must_use]
    pub fn due_at(&self) -> Option<Tod> {
        let (run, _) = self.running()?;
        match (run.interval, run.deadline()) {
            (Some(interval), Some(deadline)) => Some(interval.min(deadline)),
            (interval, deadline) => interval.or(deadline),
        }
    }

    /// Time has passed: an interval record may be due, or the end of the run. Intervals that were not
    /// looked at in time are one.
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

    /// The run that goes on.
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

    /// Adds the samples that have passed HISPROF by to those that the run has lost.
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

    /// Ends the run: the last samples, the last records, and HISPROF stops.
    pub(super) fn finish(&mut self, machine: &mut dyn Machine, completion: Completion) {
        let Some((_, token)) = self.running() else {
            return;
        };
        // From here on nothing ends it again.
        if let Some(run) = &mut self.run {
            run.completion = completion;
            run.ended = Some(machine.tod());
        }
        let end = Call::Step(Step::End);
        let stopped = self.service.stop_after(machine, token, Some(&end));
        if let Some(run) = &mut self.run {
            // HISPROF is there as long as its run goes on.
            let missed = stopped.map_or(run.missed, |stopped| stopped.missed);
            run.lost_samples = run.lost_samples.saturating_add(missed - run.missed);
            run.missed = missed;
            say(machine, &Message::Ended(run));
        }
    }
}

fn stops_at_loss(run: &Run) -> bool {
    run.parameters.data_loss == DataLoss::Stop
}
