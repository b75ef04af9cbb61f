//! HIS as the machine holds it, and the operator's commands.
//!
//! The machine reports events (a command, full blocks, an authorization, a loss, the passage of time), and
//! HIS controls the service and the collection run. It calls the exit of HISPROF at every step of the run,
//! and the exit writes the output.

use super::command::{Begin, Command, parse, parse_with_file};
use super::display::Display;
use super::event::{Events, SampleTypes};
use super::exit::{Call, Exit, Step};
use super::machine::{File, Machine};
use super::message::Message;
use super::reason::Reason;
use super::registry::{Owner, Registration};
use super::request::{self, LONGEST_ANSWER, Request};
use super::run::{Cause, Completion, HISPROF, Run};
use super::sampling::{SamplingControls, SamplingParameters, Setting, frequencies};
use super::service::Service;
use arch::tod::{Tod, UNITS_PER_MICROSECOND};

/// The service and the collection run.
pub struct His<E> {
    /// HISSERV.
    pub service: Service<E>,
    pub(super) run: Option<Run>,
    /// STOP HIS: only START HIS enables the service again.
    stopped: bool,
}

impl<E: Exit> Default for His<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Exit> His<E> {
    /// HIS before it starts.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            service: Service::new(),
            run: None,
            stopped: false,
        }
    }

    /// The latest run, active or ended.
    #[must_use]
    pub const fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// There is something to do: HIS starts, unless the operator has stopped it.
    pub fn wanted(&mut self, machine: &mut dyn Machine) {
        if !self.stopped {
            self.service.enable(machine);
        }
    }

    /// Carries out a line that [`is_command`](super::command::is_command) accepts, and shows the answer to
    /// the operator. `hisprof` makes the exit of HISPROF for a run that begins.
    pub fn command(
        &mut self,
        machine: &mut dyn Machine,
        line: &str,
        hisprof: impl FnOnce(&Run) -> E,
    ) {
        let mut file = File::new();
        let command = match Self::read(machine, line, &mut file) {
            Ok(command) => command,
            Err(message) => return say(machine, &message),
        };
        let done = match command {
            Command::Begin(begin) => self.begin(machine, line, begin, hisprof),
            Command::End => self.end(machine),
            Command::Service { sampling, .. } => self.set_sampling(machine, &sampling),
            Command::Refresh => self.refresh(machine),
            Command::Start => self.start(machine),
            Command::Stop => self.stop(machine),
            Command::Display => {
                let now = machine.tod();
                let display = Display::of(now, &*machine, self.service.registry(), self.run());
                machine.say(format_args!("{display}"));
                Ok(())
            }
        };
        if let Err(message) = done {
            say(machine, &message);
        }
    }

    /// Performs a request of a profiler outside the machine, as [`request::perform`] does.
    pub fn request(
        &mut self,
        machine: &mut dyn Machine,
        owner: Owner,
        request: &mut Request,
        exit: impl FnOnce(&Request) -> E,
        area: &mut [u8; LONGEST_ANSWER],
    ) -> usize {
        let stored = request::perform(&mut self.service, machine, owner, request, exit, area);
        // If sampling had to stop for the request, samples were handed out.
        self.count_missed(machine);
        stored
    }

    /// The guest has been reset: stops its profilers.
    pub fn guest_was_reset(&mut self, machine: &mut dyn Machine) {
        for token in self.service.registry().of(Owner::Guest) {
            // The token was just looked up.
            let _ = self.service.stop(machine, token);
        }
    }

    /// Reads a command with its parameter file.
    fn read<'a>(
        machine: &mut dyn Machine,
        line: &'a str,
        file: &'a mut File,
    ) -> Result<Command, Message<'a>> {
        let command = parse(line).map_err(|refused| Message::Refused(refused, None))?;
        let Some(name) = command.dd_name().cloned() else {
            return Ok(command);
        };
        match machine.file(&name) {
            Some(text) => *file = text,
            None => return Err(Message::NoFile(name)),
        }
        parse_with_file(line, file).map_err(|refused| Message::Refused(refused, Some(name)))
    }

    /// BEGIN.
    fn begin(
        &mut self,
        machine: &mut dyn Machine,
        line: &str,
        begin: Begin,
        hisprof: impl FnOnce(&Run) -> E,
    ) -> Result<(), Message<'static>> {
        self.must_be_enabled()?;
        if let Some((run, _)) = self.running() {
            return Err(Message::RunGoesOn(run.started));
        }
        let events = self.events_of(machine, &begin)?;
        let controls = self.controls(machine, &begin.sampling)?;
        if begin.samples {
            let usable = self.service.registry().usable_types();
            if controls.types.intersection(usable).is_empty() {
                return Err(self.unusable_types(machine, controls.types));
            }
        }
        let now = machine.tod();
        let second = |tod: Tod| tod.0 / (1_000_000 * UNITS_PER_MICROSECOND);
        if let Some(run) = &self.run
            && second(run.started) == second(now)
        {
            return Err(Message::SameSecond(run.started));
        }
        if !self.service.registry().has_room() {
            return Err(Message::Service(Reason::TooManyProfilers));
        }
        let registration =
            Registration::new(HISPROF, events, begin.samples).map_err(Message::Service)?;
        self.service.set_controls(machine, controls);
        let mut run = Run::new(line, begin, events, now);
        let exit = hisprof(&run);
        let started = self
            .service
            .start(machine, &registration, exit)
            .map_err(Message::Service)?;
        run.token = Some(started.token);
        run.dropped = machine.dropped_calls();
        run.types = self.types_of(&run);
        say(machine, &Message::Begun(&run));
        self.run = Some(run);
        let begin = Call::Step(Step::Begin);
        self.service.call(machine, started.token, &begin);
        Ok(())
    }

    /// The event types of a run: all that the command names, or the usable ones of a group.
    fn events_of(&self, machine: &dyn Machine, begin: &Begin) -> Result<Events, Message<'static>> {
        if !begin.counters {
            return Ok(Events::NONE);
        }
        let usable = self.service.registry().usable();
        let choice = begin.counter_sets;
        let events = choice.events.intersection(usable);
        let missing = choice.events.without(usable);
        let nothing = events.is_empty() && !begin.samples;
        if nothing || choice.named && !missing.is_empty() {
            return Err(Message::Events {
                asked: missing,
                usable,
                refresh: machine.events().authorized.without(usable),
            });
        }
        Ok(events)
    }

    /// START HIS.
    fn start(&mut self, machine: &mut dyn Machine) -> Result<(), Message<'static>> {
        if self.service.registry().enabled() {
            return Err(Message::IsActive);
        }
        self.stopped = false;
        self.service.enable(machine);
        say(machine, &Message::Started);
        Ok(())
    }

    /// STOP HIS.
    fn stop(&mut self, machine: &mut dyn Machine) -> Result<(), Message<'static>> {
        self.must_be_enabled()?;
        self.end_early(machine, Cause::Stopped);
        self.service.disable(machine);
        self.stopped = true;
        say(machine, &Message::Stopped);
        Ok(())
    }

    /// END.
    fn end(&mut self, machine: &mut dyn Machine) -> Result<(), Message<'static>> {
        self.must_be_enabled()?;
        self.running().ok_or(Message::NoRun)?;
        self.finish(machine, Completion::Ended);
        Ok(())
    }

    /// SERVICE with sampling parameters.
    fn set_sampling(
        &mut self,
        machine: &mut dyn Machine,
        sampling: &SamplingParameters,
    ) -> Result<(), Message<'static>> {
        self.must_be_enabled()?;
        let controls = self.controls(machine, sampling)?;
        let changed = controls != self.service.registry().controls();
        self.service.set_controls(machine, controls);
        say(machine, &Message::Controls(controls));
        if let Some((run, _)) = self.running() {
            let types = self.types_of(run);
            if let Some(run) = &mut self.run {
                run.types = types;
            }
        }
        self.count_missed(machine);
        let samples = self
            .running()
            .is_some_and(|(run, _)| run.parameters.samples);
        if changed && samples {
            self.state_changed(machine);
        }
        Ok(())
    }

    /// SERVICE,REFRESH. A run keeps the event types and sample types with which it began.
    fn refresh(&mut self, machine: &mut dyn Machine) -> Result<(), Message<'static>> {
        self.must_be_enabled()?;
        self.service.refresh(machine);
        self.authorization_lost(machine);
        self.count_missed(machine);
        let message = Message::Refreshed(
            self.service.registry().usable(),
            self.service.registry().usable_types(),
        );
        say(machine, &message);
        Ok(())
    }

    /// The sample types that a run writes now.
    fn types_of(&self, run: &Run) -> SampleTypes {
        if run.parameters.samples {
            self.service.registry().sampled()
        } else {
            SampleTypes::NONE
        }
    }

    /// The refusal of sample types that cannot be used.
    fn unusable_types(&self, machine: &dyn Machine, asked: SampleTypes) -> Message<'static> {
        let usable = self.service.registry().usable_types();
        let authorized = machine.sampling().authorized.collectable();
        Message::SampleTypes {
            asked,
            usable,
            refresh: authorized.without(usable),
        }
    }

    fn must_be_enabled(&self) -> Result<(), Message<'static>> {
        if self.service.registry().enabled() {
            Ok(())
        } else {
            Err(Message::IsInactive)
        }
    }

    /// The sampling controls after a command, if the machine has them.
    fn controls(
        &self,
        machine: &dyn Machine,
        sampling: &SamplingParameters,
    ) -> Result<SamplingControls, Message<'static>> {
        let state = machine.sampling();
        let controls = sampling.over(&self.service.registry().controls());
        if controls.interval(&state.limits).is_none() {
            let (least, most) = frequencies(&state.limits);
            return Err(Message::Frequency(controls.frequency, least, most));
        }
        if !(1..=state.most_buffers).contains(&controls.buffers) {
            return Err(Message::Buffers(controls.buffers, state.most_buffers));
        }
        if let Setting::Value(asked) = sampling.types {
            let usable = self.service.registry().usable_types();
            let asked = asked.without(usable);
            if !asked.is_empty() {
                return Err(self.unusable_types(machine, asked));
            }
        }
        Ok(controls)
    }
}

pub(super) fn say(machine: &mut dyn Machine, message: &Message<'_>) {
    machine.say(format_args!("{message}\n"));
}
