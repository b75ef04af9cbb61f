//! The sensitive instructions, by the halfword with which their text begins, and which of them are caught. The tests of
//! rotated bits are not among these: a halfword does not tell ([`rotated`](super::rotated)).

/// Which instructions are sensitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caught {
    /// Whether all of the message-security assist is.
    pub(super) message_security: bool,
    /// Whether the tests of rotated bits are ([`rotated`](super::rotated)).
    pub(super) tests: bool,
}

impl Caught {
    /// The instructions whose result in the problem state is never the guest's.
    pub const ALWAYS: Self = Self {
        message_security: false,
        tests: false,
    };

    /// Also all of the message-security assist.
    pub const MESSAGE_SECURITY: Self = Self {
        message_security: true,
        tests: false,
    };

    /// These, and the tests of rotated bits.
    #[must_use]
    pub const fn with_tests(self) -> Self {
        Self {
            tests: true,
            ..self
        }
    }

    /// These, except the tests of rotated bits.
    #[must_use]
    pub const fn without_tests(self) -> Self {
        Self {
            tests: false,
            ..self
        }
    }

    /// Whether the tests of rotated bits are among them.
    #[must_use]
    pub const fn has_tests(self) -> bool {
        self.tests
    }
}

/// A sensitive instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitive {
    /// EXTRACT PSW.
    Epsw,
    /// STORE FACILITY LIST EXTENDED.
    Stfle,
    /// TEST PROTECTION.
    Tprot,
    /// PERFORM CRYPTOGRAPHIC KEY MANAGEMENT OPERATIONS.
    Pckmo,
    /// MOVE PAGE.
    Mvpg,
    /// SET ADDRESS SPACE CONTROL FAST.
    Sacf,
    /// PERFORM RANDOM NUMBER OPERATION: the true random numbers of the machine below are not in its state, so a run that goes
    /// on from a kept state would draw others.
    Prno,
    /// Another instruction of the message-security assist that is not privileged, by the second byte of its opcode.
    MessageSecurity(u8),
}

impl Sensitive {
    /// The sensitive instruction whose text begins with this halfword.
    #[must_use]
    #[inline]
    pub const fn from_halfword(halfword: u16) -> Option<Self> {
        match halfword {
            0xB98D => Some(Self::Epsw),
            0xB2B0 => Some(Self::Stfle),
            0xE501 => Some(Self::Tprot),
            0xB928 => Some(Self::Pckmo),
            0xB254 => Some(Self::Mvpg),
            0xB279 => Some(Self::Sacf),
            0xB93C => Some(Self::Prno),
            // KMAC, KMA, KMF, KMO, PCC, KMCTR, KM, KMC, KDSA, KIMD, KLMD.
            0xB91E | 0xB929..=0xB92F | 0xB93A | 0xB93E | 0xB93F => {
                Some(Self::MessageSecurity(halfword as u8))
            }
            _ => None,
        }
    }

    /// Whether it is sensitive at the moment.
    #[must_use]
    pub const fn is_caught(self, caught: Caught) -> bool {
        caught.message_security || !matches!(self, Self::MessageSecurity(_))
    }
}

/// Whether the instruction whose text begins with this halfword is sensitive at the moment.
#[must_use]
#[inline]
pub fn is_caught(halfword: u16, caught: Caught) -> bool {
    Sensitive::from_halfword(halfword).is_some_and(|sensitive| sensitive.is_caught(caught))
}
