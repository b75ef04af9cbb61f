//! The host's side of a run: bytes from the machine, and decisions about them.
//!
//! The machine may never end, never answer or send nonsense. Silence, garbage, a console that
//! closes early, an operator who has had enough and a disk without room all end the run with a
//! reason, and QEMU with it.

use std::{
    collections::VecDeque,
    sync::mpsc::{Receiver, TryRecvError},
    thread,
    time::{Duration, Instant},
};

use link::{
    frame::{Channel, DELIMITER, Decoder, LARGEST_ENCODED, LARGEST_PAYLOAD, Received, encode},
    state::{BY_WORDS, TYPED_AHEAD},
};
use zerocopy::IntoBytes;

use crate::{
    computer::{
        interrupt,
        person::{Display, Input},
        progress::Step,
    },
    events::command::{self, CommandError},
    folder::{HANG, record::End},
    machine::{
        collect::{Collector, Noted, WriteError},
        hercules,
        monitor::Socket,
        profiler::Profilers,
        qemu::{self, Heard, Running},
        typist::Mismatch,
    },
    symbols::places::PlaceNames,
};

/// The operator's command that ends the guest.
const END_COMMAND: &str = "end";

/// The operator's command by which a guest that a trace has stopped goes on.
const GO_COMMAND: &str = "go";

/// How often the loop checks everything but the machine's bytes.
const PACE: Duration = Duration::from_millis(50);

/// How often it checks what a person types.
const LIVE_PACE: Duration = Duration::from_millis(10);

/// What is typed goes to the machine in frames of at most this many bytes.
const TYPED_AT_ONCE: usize = 512;

/// How long a machine may take to end after its last frame.
const FAREWELL: Duration = Duration::from_secs(5);

/// The operator's command by which a machine says what it is doing.
const STATUS_COMMAND: &str = "status";

/// How long a machine that was silent may take for its answer to that.
const LAST_WORD: Duration = Duration::from_secs(3);

/// The host's side of the conversation.
pub struct Host<'a, 'n> {
    /// What the host says when every CPU waits, one of these each time.
    pub script: VecDeque<Input>,
    /// How long the host waits before each of these.
    pub pause: Duration,
    /// What a person types, sent as it comes: an interactive run.
    pub live: Option<Receiver<Input>>,
    /// Whether the person may type commands of the operator.
    pub has_operator: bool,
    /// Where the guest's console and the machine's answers are shown.
    pub echo: Option<&'a mut dyn Display>,
    /// What a person may name in a command.
    pub names: &'n PlaceNames,
    /// The profilers on the host.
    pub profilers: Profilers,
    /// QEMU's own monitor, for a machine that no longer answers.
    pub monitor: Option<Socket>,
    /// A link that says nothing for this long has failed.
    pub silence: Duration,
    /// A run that lasts longer is ended.
    pub limit: Option<Duration>,
    /// Whether the raw files are there when the command has ended.
    pub keeps_files: bool,
}

/// A conversation in progress.
struct Session<'a, 's, 'n, 'c> {
    machine: &'a mut Running,
    collector: &'a mut Collector<'c>,
    host: Host<'s, 'n>,
    step: &'a mut Step,
    link_opened: bool,
    last_frame: Instant,
    /// Typed for the guest, and not sent yet.
    typed: VecDeque<u8>,
    /// Bytes that were sent for the guest and not read by it yet.
    unread: usize,
    /// What the person knows about the lines that were typed.
    told_of: Vec<Mismatch>,
    waiting: bool,
    /// The trace that has stopped the guest, or [`BY_WORDS`], until GO.
    held: Option<u16>,
    /// Whether the progress said that the host gives GO itself.
    announced_go: bool,
    ending_since: Option<Instant>,
    forced: bool,
    told_to_end: bool,
    ended: Option<Instant>,
    complete: bool,
    failed: bool,
    /// What the machine has answered since it was asked for a last word.
    answer: Option<String>,
}

/// Carries out a run. `sent` is what a machine that goes on has sent before. When this returns the machine has ended, and
/// the collector's record says how.
pub fn drive(
    machine: &mut Running,
    collector: &mut Collector<'_>,
    host: Host<'_, '_>,
    sent: &[u8],
    step: &mut Step,
) {
    let mut session = Session {
        machine,
        collector,
        host,
        step,
        link_opened: false,
        last_frame: Instant::now(),
        typed: VecDeque::new(),
        unread: 0,
        told_of: Vec::new(),
        waiting: false,
        held: None,
        announced_go: false,
        ending_since: None,
        forced: false,
        told_to_end: false,
        ended: None,
        complete: false,
        failed: false,
        answer: None,
    };
    let end = session.run(sent).unwrap_or_else(|error| {
        session.machine.kill();
        Some(End::Tool {
            text: error.to_string(),
        })
    });
    if let Some(end) = end {
        collector.record.end = end;
    }
    match collector.finish() {
        Ok(lines) => lines.iter().for_each(|line| step.say(line)),
        Err(error) => step.say(&error.to_string()),
    }
    // On a full disk the record of the beginning stays, and the caller still has the end.
    let _ = collector.write_record();
}

impl Session<'_, '_, '_, '_> {
    /// Returns the end of the run, or `None` if the record has it already.
    fn run(&mut self, sent: &[u8]) -> Result<Option<End>, WriteError> {
        let began = Instant::now();
        let mut decoder = Box::new(Decoder::<LARGEST_ENCODED>::new());
        self.bytes(&mut decoder, sent)?;
        loop {
            if interrupt::requested() {
                self.stop(&mut decoder)?;
                return Ok(Some(End::Interrupted));
            }
            if self.host.limit.is_some_and(|limit| began.elapsed() > limit) {
                self.stop(&mut decoder)?;
                return Ok(Some(End::TimeLimit));
            }
            self.say_what_was_typed()?;
            self.go_on_typing();
            let pace = self.host.live.as_ref().map_or(PACE, |_| LIVE_PACE);
            match self.machine.hear(pace) {
                Heard::Bytes(bytes) => self.bytes(&mut decoder, &bytes)?,
                Heard::Silence => {}
                Heard::End => return Ok(self.closed()),
            }
            if self.complete {
                // The record has the guest's end already, and the rest does not matter.
                let _ = self.machine.finish(FAREWELL);
                return Ok(self.forced.then_some(End::Waiting));
            }
            if self
                .ending_since
                .is_some_and(|since| since.elapsed() > FAREWELL)
            {
                self.stop(&mut decoder)?;
                return Ok(if self.failed {
                    None
                } else {
                    Some(End::Waiting)
                });
            }
            if self
                .ended
                .is_some_and(|since| since.elapsed() > self.host.silence)
            {
                let seconds = self.host.silence.as_secs();
                self.stop(&mut decoder)?;
                let text = format!(
                    "the guest ended {seconds} s ago, and the machine has not finished sending its data; this is a defect of the machine, and the run's directory shows how far it came"
                );
                return Ok(Some(End::Tool { text }));
            }
            let waits_for_a_person =
                (self.waiting || self.held.is_some()) && self.host.live.is_some();
            if !waits_for_a_person && self.last_frame.elapsed() > self.host.silence {
                let mut text = self.silent(&decoder);
                text.push_str(&self.last_word(&mut decoder)?);
                self.stop(&mut decoder)?;
                return Ok(Some(End::Tool { text }));
            }
        }
    }

    /// What a machine that has been silent is doing: in its own words if it still answers the operator, else as QEMU's
    /// monitor shows it.
    fn last_word(&mut self, decoder: &mut Decoder) -> Result<String, WriteError> {
        if decoder.is_open() {
            self.answer = Some(String::new());
            self.collector.keep_command(STATUS_COMMAND)?;
            self.send(Channel::Operator, STATUS_COMMAND.as_bytes());
            let asked = Instant::now();
            while asked.elapsed() < LAST_WORD {
                let is_answered = self.answer.as_ref().is_some_and(|text| !text.is_empty());
                match self.machine.hear(PACE) {
                    Heard::Bytes(bytes) => self.bytes(decoder, &bytes)?,
                    Heard::Silence if !is_answered => {}
                    Heard::Silence | Heard::End => break,
                }
            }
        }
        if let Some(answer) = self.answer.take().filter(|text| !text.is_empty()) {
            return Ok(format!(
                "\nThe machine still answers:\n{}",
                answer.trim_end()
            ));
        }
        let Some(monitor) = self.host.monitor.take() else {
            return Ok(String::new());
        };
        Ok(match self.collector.keep_remains(&monitor) {
            Ok(text) => {
                let cpus = text.lines().filter(|line| !line.starts_with(' '));
                let all = match self.host.keeps_files {
                    true => format!(" ({HANG} has all of it)"),
                    false => String::new(),
                };
                format!(
                    "\nThe machine answers no more. QEMU's monitor shows its CPUs{all}:\n{}",
                    cpus.collect::<Vec<_>>().join("\n")
                )
            }
            Err(error) => {
                format!("\nThe machine answers no more, and its CPUs cannot be seen: {error:#}")
            }
        })
    }

    /// Ends QEMU and keeps what it had still sent.
    fn stop(&mut self, decoder: &mut Decoder) -> Result<(), WriteError> {
        self.machine.kill();
        while let Heard::Bytes(bytes) = self.machine.hear(FAREWELL) {
            self.bytes(decoder, &bytes)?;
        }
        Ok(())
    }

    fn bytes(&mut self, decoder: &mut Decoder, bytes: &[u8]) -> Result<(), WriteError> {
        let mut text = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let noted = match decoder.take(&mut rest) {
                Received::Nothing | Received::Bad => continue,
                Received::Text(byte) => {
                    text.push(byte);
                    continue;
                }
                Received::Frame(frame) => self.collector.frame(frame)?,
            };
            self.last_frame = Instant::now();
            self.noted(noted)?;
        }
        self.collector.record.link.bad_frames = decoder.bad_frames();
        if !text.is_empty() {
            self.collector.boot_text(&text)?;
        }
        Ok(())
    }

    fn noted(&mut self, noted: Noted) -> Result<(), WriteError> {
        self.waiting = false;
        match noted {
            Noted::Data => {}
            Noted::Console(bytes) => {
                self.show(&bytes);
                self.send_typed();
            }
            Noted::Answer(text) => {
                self.show_answer(&text);
                if let Some(answer) = &mut self.answer {
                    answer.push_str(&text);
                }
            }
            Noted::Errors(errors) => {
                for error in errors {
                    self.step.say(&format!("the machine says: {error}"));
                }
            }
            Noted::Progress { instructions } => {
                self.step.update(&format!(
                    "{} million instructions",
                    instructions / 1_000_000
                ));
            }
            Noted::Waiting => {
                self.waiting = true;
                self.answer_the_wait()?;
            }
            Noted::Held { trace } => {
                self.held = Some(trace);
                self.answer_the_hold()?;
            }
            Noted::Traced(payload) => {
                if let Some(echo) = &mut self.host.echo {
                    self.step.aside(|| echo.traced(&payload));
                }
            }
            Noted::Loaded => {
                self.step.say("the guest has been loaded anew");
                if let Some(echo) = &mut self.host.echo {
                    echo.loaded();
                }
            }
            Noted::InputRead { bytes } => {
                self.unread = self.unread.saturating_sub(bytes);
                self.send_typed();
            }
            Noted::LineRead { lines } => self.machine.line_read(lines),
            Noted::GuestEnded => {
                self.held = None;
                self.ended.get_or_insert_with(Instant::now);
                self.ending_since = None;
            }
            Noted::NotWritten { answer, why } => {
                self.step.say(&why);
                self.send(Channel::Files, &answer);
            }
            Noted::Service(payload) => {
                if !self.host.profilers.take(&payload) {
                    self.collector.count_bad_payload();
                }
                self.send_requests()?;
            }
            Noted::Failed => {
                self.failed = true;
                self.ending_since = Some(Instant::now());
            }
            Noted::End => self.complete = true,
        }
        Ok(())
    }

    /// Every CPU waits: the host says the next input of the script, a person types, or the guest ends.
    fn answer_the_wait(&mut self) -> Result<(), WriteError> {
        if self.ended.is_some() || self.failed || self.ending_since.is_some() {
            return Ok(());
        }
        // The machine performs the profilers' requests in this wait, and reports the wait again afterwards.
        self.host.profilers.wait();
        self.send_requests()?;
        if !self.host.profilers.are_answered() {
            return Ok(());
        }
        if let Some(input) = self.host.script.pop_front() {
            thread::sleep(self.host.pause);
            return self.say(&input);
        }
        if self.host.live.is_none() {
            self.forced = true;
            self.ending_since = Some(Instant::now());
            self.say(&Input::Operator(END_COMMAND.to_owned()))?;
        }
        Ok(())
    }

    /// A trace has stopped the guest: the host says the next input of the script, a person types, or the host says GO.
    fn answer_the_hold(&mut self) -> Result<(), WriteError> {
        let Some(trace) = self.held else {
            return Ok(());
        };
        if let Some(input) = self.host.script.pop_front() {
            return self.say(&input);
        }
        if self.host.live.is_some() && self.host.has_operator {
            if trace == BY_WORDS {
                self.show_answer(
                    "the guest is stopped by what it wrote; SHOW shows it, GO continues it",
                );
            }
            return Ok(());
        }
        // Words hold the guest once, and whoever wanted it knows.
        if trace != BY_WORDS && !self.announced_go {
            self.announced_go = true;
            self.step.say(&format!(
                "the guest is stopped by trace {trace}, and nobody is there to say GO: it goes on, now and later"
            ));
        }
        self.say(&Input::Operator(GO_COMMAND.to_owned()))
    }

    fn say_what_was_typed(&mut self) -> Result<(), WriteError> {
        while let Some(live) = &self.host.live {
            match live.try_recv() {
                Ok(input) => self.say_typed(input)?,
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.host.live = None;
                    if self.waiting {
                        self.answer_the_wait()?;
                    }
                    self.answer_the_hold()?;
                }
            }
        }
        Ok(())
    }

    /// Says what a person typed. If it names something that the guest does not have, the host answers itself.
    fn say_typed(&mut self, input: Input) -> Result<(), WriteError> {
        let Input::Operator(line) = &input else {
            return self.say(&input);
        };
        match command::resolved(line, self.host.names) {
            Ok(resolved) => self.say(&Input::Operator(resolved.line)),
            Err(CommandError::Misunderstood { .. }) => self.say(&input),
            Err(error) => {
                self.collector.keep_command(line)?;
                self.collector.keep_answer(&error.to_string())?;
                self.show_answer(&error.to_string());
                Ok(())
            }
        }
    }

    fn say(&mut self, input: &Input) -> Result<(), WriteError> {
        // The machine reports a wait again after it has heard something.
        self.waiting = false;
        self.host.profilers.go_on();
        match input {
            Input::Operator(command) => {
                self.collector.keep_command(command)?;
                self.told_to_end |= command.trim().eq_ignore_ascii_case(END_COMMAND);
                if command.trim().eq_ignore_ascii_case(GO_COMMAND) {
                    self.held = None;
                }
                self.send(Channel::Operator, command.as_bytes());
            }
            // An empty input also needs a frame, or a machine that waits for input would wait for ever.
            Input::Console(bytes) if bytes.is_empty() => self.send(Channel::Console, &[]),
            Input::Console(bytes) => {
                self.typed.extend(bytes);
                self.send_typed();
            }
        }
        Ok(())
    }

    /// Sends what was typed for the guest once the guest reads it, as far as the machine has room.
    fn send_typed(&mut self) {
        let echo = self.host.echo.as_ref();
        if echo.is_some_and(|echo| !echo.is_heard()) {
            return;
        }
        loop {
            let room = TYPED_AHEAD.saturating_sub(self.unread).min(TYPED_AT_ONCE);
            let part: Vec<u8> = self.typed.drain(..room.min(self.typed.len())).collect();
            if part.is_empty() {
                return;
            }
            self.unread += part.len();
            self.send(Channel::Console, &part);
        }
    }

    /// Goes on with lines that wait for a console of lines. Says once of each kind what is wrong with them.
    fn go_on_typing(&mut self) {
        let Some(mismatch) = self.machine.go_on_typing() else {
            return;
        };
        if !self.told_of.contains(&mismatch) {
            self.told_of.push(mismatch);
            self.step.say(match mismatch {
                Mismatch::Lost => "the machine has not read a line that was typed, and input may be missing; type it again",
                Mismatch::Excess => "the machine has read more lines than were typed, and input may be missing; if so, type it again",
            });
        }
        // What was lost will never be read.
        self.unread = 0;
        self.send_typed();
    }

    /// Sends the profilers' requests, and says which of them have failed.
    fn send_requests(&mut self) -> Result<(), WriteError> {
        for request in self.host.profilers.made() {
            self.send(Channel::Service, request.as_bytes());
        }
        for failure in self.host.profilers.failures() {
            self.step.say(&failure);
            self.collector.keep_answer(&format!("{failure}\n"))?;
        }
        Ok(())
    }

    /// Sends a frame.
    fn send(&mut self, channel: Channel, payload: &[u8]) {
        let mut out = vec![0; LARGEST_ENCODED];
        // A longer payload is cut, and the machine says that it is too long.
        let payload = &payload[..payload.len().min(LARGEST_PAYLOAD)];
        if let Ok(length) = encode(channel, &[payload], &mut out) {
            if !self.link_opened {
                self.link_opened = true;
                self.machine.send(&[DELIMITER]);
            }
            self.machine.send(&out[..length]);
        }
        self.last_frame = Instant::now();
    }

    fn show_answer(&mut self, text: &str) {
        if let Some(echo) = &mut self.host.echo {
            self.step.aside(|| {
                drop(
                    text.lines()
                        .try_for_each(|line| echo.answer(line))
                        .and_then(|()| echo.flush()),
                )
            });
        }
    }

    fn show(&mut self, bytes: &[u8]) {
        if let Some(echo) = &mut self.host.echo {
            // A reader who has gone away must not end the run.
            self.step
                .aside(|| drop(echo.write_all(bytes).and_then(|()| echo.flush())));
        }
    }

    /// The console has closed without an end of the run.
    fn closed(&mut self) -> Option<End> {
        let status = self.machine.finish(FAREWELL);
        if self.failed {
            return None;
        }
        if self.told_to_end {
            // A machine that stops at once on END did what it was told.
            return Some(if self.forced {
                End::Waiting
            } else {
                End::Interrupted
            });
        }
        let complaints = self.machine.complaints();
        let how = match status {
            Ok(status) => status.to_string(),
            Err(error) => format!("{error:#}"),
        };
        let name = self.machine.name();
        let mut text = match self.machine.is_hercules() {
            false => format!("{name} ended before the run did ({how})"),
            // It does not end by itself, so its end says nothing.
            true => format!("the machine ended before the run did, in {name}"),
        };
        if !complaints.is_empty() {
            text.push_str(&format!("; it said:\n{complaints}"));
        }
        self.add_boot_text(&mut text);
        let remedy = match self.machine.is_hercules() {
            false => qemu::remedy(&complaints),
            true => hercules::remedy(&complaints),
        };
        text.push_str(&format!("\nWhat helps: {remedy}"));
        Some(End::Tool { text })
    }

    fn silent(&self, decoder: &Decoder) -> String {
        let seconds = self.host.silence.as_secs();
        let mut text = if decoder.bad_frames() > self.collector.record.link.frames {
            format!(
                "the link carries garbage: {} frames do not check, and for {seconds} s none does",
                decoder.bad_frames()
            )
        } else if decoder.is_open() {
            let name = self.machine.name();
            format!("the link has been silent for {seconds} s while {name} runs on")
        } else {
            format!("the machine has not opened the link within {seconds} s")
        };
        self.add_boot_text(&mut text);
        text.push_str(
            "\nWhat helps: a longer --silence if this computer is very busy; else this is a defect of the machine, and the run's directory shows how far it came",
        );
        text
    }

    fn add_boot_text(&self, text: &mut String) {
        let boot = String::from_utf8_lossy(&self.collector.boot_tail);
        if !boot.trim().is_empty() {
            text.push_str(&format!(
                "\nBefore the link was open the machine said:\n{}",
                boot.trim_end()
            ));
        }
    }
}

#[cfg(test)]
mod tests;
