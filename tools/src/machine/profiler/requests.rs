//! A profiler's requests to the machine.

use zerocopy::FromBytes;
use {
    his::{
        Reason, Token,
        answer::{AnswerHead, Kind},
    },
    link::service::{Function, LONGEST_ANSWER, Request},
};

use super::counters::{CpuCounters, cpus};

/// The service, as a profiler sees it during a call.
pub struct Requests<'a> {
    pub(super) token: Option<Token>,
    /// Whether the call refuses PROFILE requests.
    pub(super) within_exit: bool,
    /// The token that identifies the profiler.
    pub(super) number: u64,
    pub(super) made: &'a mut Vec<Request>,
}

impl Requests<'_> {
    /// Its token, once it is registered.
    pub const fn token(&self) -> Option<Token> {
        self.token
    }

    /// REQUEST=QUERY,TYPE=EVENT, SAMPLE, PROFILERS or EVENTDATA. EVENTDATA queries the profiler's own event types on
    /// these CPUs (bit 0, the leftmost, is CPU 0; `None` for all). The profiler is called with the [`Answer`].
    pub fn query(&mut self, kind: Kind, cpus: Option<u64>) {
        let token = self.token.map_or(0, |token| token.0);
        self.ask(Request {
            kind: (kind as u32).into(),
            token: token.into(),
            cpus: cpus.unwrap_or(u64::MAX).into(),
            length: (LONGEST_ANSWER as u32).into(),
            ..Request::new(Function::Query)
        });
    }

    /// REQUEST=PROFILE,ACTION=STOP. The profiler is called a last time when it has stopped.
    ///
    /// # Errors
    /// [`Reason::WithinExit`] in a call for a state, samples or a status, and [`Reason::Token`] if the profiler is not
    /// registered.
    pub fn stop(&mut self) -> Result<(), Reason> {
        if self.within_exit {
            return Err(Reason::WithinExit);
        }
        let token = self.token.ok_or(Reason::Token)?;
        self.ask(Request {
            token: token.0.into(),
            ..Request::new(Function::Stop)
        });
        Ok(())
    }

    /// Acknowledges the oldest block that is pending.
    pub fn done(&mut self) {
        if let Some(token) = self.token {
            self.ask(Request {
                token: token.0.into(),
                ..Request::new(Function::Done)
            });
        }
    }

    fn ask(&mut self, request: Request) {
        self.made.push(Request {
            area: self.number.into(),
            ..request
        });
    }
}

/// The outcome of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// [`Reason::AnswerCut`] if the answer is only a part, or why there is no answer.
    pub reason: Option<Reason>,
    /// The answer area, laid out as in [`his::answer`].
    pub area: &'a [u8],
}

impl Answer<'_> {
    /// Its head, if there is an answer.
    pub fn head(&self) -> Option<&AnswerHead> {
        Some(AnswerHead::ref_from_prefix(self.area).ok()?.0)
    }

    /// The counters of an EVENTDATA query, CPU by CPU, without those that are cut off.
    pub fn cpus(&self) -> Vec<CpuCounters> {
        cpus(self.area)
    }
}
