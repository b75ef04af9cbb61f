//! The sensitive instructions, by the halfword with which their text begins, and which of them are caught. Those that a halfword
//! does not tell are not among these ([`split`](super::split)).

/// Which instructions are sensitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caught {
    /// Whether all of the message-security assist is.
    pub(super) message_security: bool,
    /// Whether the tests of rotated bits are ([`split`](super::split)).
    pub(super) tests: bool,
    /// Whether MULTIPLY of short BFP operands to a long product is.
    pub(super) products: bool,
}

impl Caught {
    /// The instructions whose result in the problem state is never the guest's.
    pub const ALWAYS: Self = Self {
        message_security: false,
        tests: false,
        products: false,
    };

    /// Also all of the message-security assist.
    pub const MESSAGE_SECURITY: Self = Self {
        message_security: true,
        ..Self::ALWAYS
    };

    /// These, and the tests of rotated bits.
    #[must_use]
    pub const fn with_tests(self) -> Self {
        Self {
            tests: true,
            ..self
        }
    }

    /// These, and MDEB and MDEBR.
    #[must_use]
    pub const fn with_products(self) -> Self {
        Self {
            products: true,
            ..self
        }
    }

    /// These, except the ones that a halfword does not tell.
    #[must_use]
    pub const fn without_split(self) -> Self {
        Self {
            tests: false,
            products: false,
            ..self
        }
    }

    /// Whether any are among them that a halfword does not tell.
    #[must_use]
    pub const fn has_split(self) -> bool {
        self.tests || self.products
    }
}

/// The opcode of MDEBR.
pub(super) const MDEBR: u16 = 0xB30C;

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
    /// MULTIPLY of short BFP operands to a long product, in registers.
    Mdebr,
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
            MDEBR => Some(Self::Mdebr),
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
        match self {
            Self::MessageSecurity(_) => caught.message_security,
            Self::Mdebr => caught.products,
            _ => true,
        }
    }
}

/// Whether the instruction whose text begins with this halfword is sensitive at the moment.
#[must_use]
#[inline]
pub fn is_caught(halfword: u16, caught: Caught) -> bool {
    Sensitive::from_halfword(halfword).is_some_and(|sensitive| sensitive.is_caught(caught))
}
