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

/// The service as a profiler sees it while it is called.
pub struct Requests<'a> {
    pub(super) token: Option<Token>,
    /// Whether the call is one in which PROFILE requests are refused.
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

    /// REQUEST=QUERY,TYPE=EVENT, SAMPLE, PROFILERS or EVENTDATA, the last of its own event types on these CPUs (bit 0, the
    /// leftmost, is CPU 0; none for all). The profiler is called with the [`Answer`].
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

    /// REQUEST=PROFILE,ACTION=STOP. The profiler is called a last time when it is done.
    ///
    /// # Errors
    /// [`Reason::WithinExit`] if it is called for a state, samples or a status, and [`Reason::Token`] if it is not registered.
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

    /// It is done with the oldest of the blocks for which it answered that it was not.
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

/// What became of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// [`Reason::AnswerCut`] if only a part of it is there, or why there is none.
    pub reason: Option<Reason>,
    /// The answer area, as [`his::answer`] has its layout.
    pub area: &'a [u8],
}

impl Answer<'_> {
    /// Its head, if there is an answer.
    pub fn head(&self) -> Option<&AnswerHead> {
        Some(AnswerHead::ref_from_prefix(self.area).ok()?.0)
    }

    /// The counters of an EVENTDATA query, CPU by CPU; what is cut off is not there.
    pub fn cpus(&self) -> Vec<CpuCounters> {
        cpus(self.area)
    }
}
