//! The sensitive instructions, by the halfword with which their text begins, and which of them are caught. Those that a halfword
//! does not tell are not among these ([`split`](super::split)).

/// Which instructions are sensitive: the bits of the table in `suspects` that are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caught(pub(super) u8);

/// The bit of what is sensitive always, and of EXECUTE.
pub(super) const ALWAYS: u8 = 1;
/// The bit of what is sensitive only with the message-security assist.
pub(super) const MESSAGE_SECURITY: u8 = 2;
/// The bit of what a test of rotated bits may begin with.
pub(super) const BEGINS_TEST: u8 = 4;
/// The bit of what MDEB may begin with.
pub(super) const BEGINS_PRODUCT: u8 = 16;
/// The bit of MDEBR.
pub(super) const PRODUCT: u8 = 64;

/// The bits of what a halfword does not tell, with MDEBR, which is caught with MDEB.
const SPLIT: u8 = BEGINS_TEST | BEGINS_PRODUCT | PRODUCT;

impl Caught {
    /// The instructions whose result in the problem state is never the guest's.
    pub const ALWAYS: Self = Self(ALWAYS);

    /// Also all of the message-security assist.
    pub const MESSAGE_SECURITY: Self = Self(ALWAYS | MESSAGE_SECURITY);

    /// These, and the tests of rotated bits ([`split`](super::split)).
    #[must_use]
    #[inline]
    pub const fn with_tests(self) -> Self {
        Self(self.0 | BEGINS_TEST)
    }

    /// These, and MULTIPLY of short BFP operands to a long product: MDEB and MDEBR.
    #[must_use]
    #[inline]
    pub const fn with_products(self) -> Self {
        Self(self.0 | BEGINS_PRODUCT | PRODUCT)
    }

    /// These, except the ones that a halfword does not tell.
    #[must_use]
    #[inline]
    pub const fn without_split(self) -> Self {
        Self(self.0 & !SPLIT)
    }

    /// Whether any are among them that a halfword does not tell.
    #[must_use]
    #[inline]
    pub const fn has_split(self) -> bool {
        self.0 & SPLIT != 0
    }

    /// A number of at most seven bits for each set.
    #[must_use]
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether all of the message-security assist is among them.
    pub(super) const fn message_security(self) -> bool {
        self.0 & MESSAGE_SECURITY != 0
    }

    /// Whether the tests of rotated bits are.
    pub(super) const fn tests(self) -> bool {
        self.0 & BEGINS_TEST != 0
    }

    /// Whether MDEB and MDEBR are.
    pub(super) const fn products(self) -> bool {
        self.0 & PRODUCT != 0
    }
}

/// The opcode of MDEBR.
pub const MDEBR: u16 = 0xB30C;

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
            Self::MessageSecurity(_) => caught.message_security(),
            Self::Mdebr => caught.products(),
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
