//! Return and reason codes of HISSERV.
//!
//! The published text says that register 15 holds a return code and register 0 a reason code, and gives
//! no numbers. The return codes here follow the custom of system services: 0 for success, 4 for success with
//! a warning, 8 for a wrong request, 12 for a request that cannot be performed now. The reason codes are the
//! project's own: the return code in the second byte from the right, then a number.

use core::fmt;

/// Why a request was not performed, or not in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Reason {
    /// 0401: the answer area holds only a part of the answer.
    AnswerCut = 0x0401,
    /// 0402: some of the event types are not available now. The profiler is registered, and gets them when
    /// they become available.
    EventsNotAvailable = 0x0402,
    /// 0801: no profiler has this token.
    Token = 0x0801,
    /// 0802: the name is not 1 to 8 letters, digits and national characters.
    Name = 0x0802,
    /// 0803: the mask has bits that are not event types.
    Events = 0x0803,
    /// 0804: a PROFILE request was issued from within an exit.
    WithinExit = 0x0804,
    /// 0805: the head of the answer does not fit into the answer area.
    AnswerArea = 0x0805,
    /// 0806: the CPU mask designates no installed CPU.
    Cpus = 0x0806,
    /// 0807: no request has this number, or no query this type.
    Request = 0x0807,
    /// 0808: a profiler in the guest has no exit, so it cannot have samples.
    NoExit = 0x0808,
    /// 0C01: the service is not enabled.
    NotEnabled = 0x0C01,
    /// 0C02: the most profilers are registered already.
    TooManyProfilers = 0x0C02,
    /// 0C03: the most requests are waiting already.
    TooManyRequests = 0x0C03,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 13] = [
        Self::AnswerCut,
        Self::EventsNotAvailable,
        Self::Token,
        Self::Name,
        Self::Events,
        Self::WithinExit,
        Self::AnswerArea,
        Self::Cpus,
        Self::Request,
        Self::NoExit,
        Self::NotEnabled,
        Self::TooManyProfilers,
        Self::TooManyRequests,
    ];

    /// The reason with this code, if there is one.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.code() == code)
    }

    /// The reason code, for register 0.
    #[must_use]
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The return code, for register 15: 4, 8 or 12.
    #[must_use]
    pub const fn return_code(self) -> u32 {
        self.code() >> 8
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AnswerCut => "the answer area holds only a part of the answer",
            Self::EventsNotAvailable => "some event types are not available",
            Self::Token => "no profiler has this token",
            Self::Name => "a name is 1 to 8 letters, digits and @#$",
            Self::Events => "the mask has bits that stand for no event type",
            Self::WithinExit => "an exit cannot issue a PROFILE request",
            Self::AnswerArea => "the answer area has no room for the head of the answer",
            Self::Cpus => "the mask names no CPU that is there",
            Self::Request => "there is no such request",
            Self::NoExit => "a profiler in the guest has no exit, and so no samples",
            Self::NotEnabled => "the service is not enabled",
            Self::TooManyProfilers => "there are as many profilers as there can be",
            Self::TooManyRequests => "as many requests wait as can be kept",
        })
    }
}

impl core::error::Error for Reason {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_return_code_is_in_the_reason_code() {
        assert_eq!(Reason::AnswerCut.return_code(), 4);
        assert_eq!(Reason::WithinExit.return_code(), 8);
        assert_eq!(Reason::NotEnabled.return_code(), 12);
        assert_eq!(Reason::WithinExit.code(), 0x0804);
    }
}
