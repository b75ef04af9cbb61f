//! The instructions of the message-security assist and their query function.

/// An instruction of the message-security assist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// CIPHER MESSAGE (B92E): each data block for itself, and XTS.
    Km,
    /// CIPHER MESSAGE WITH CHAINING (B92F).
    Kmc,
    /// CIPHER MESSAGE WITH CIPHER FEEDBACK (B92A).
    Kmf,
    /// CIPHER MESSAGE WITH OUTPUT FEEDBACK (B92B).
    Kmo,
    /// CIPHER MESSAGE WITH COUNTER (B92D).
    Kmctr,
    /// CIPHER MESSAGE WITH AUTHENTICATION (B929).
    Kma,
    /// COMPUTE MESSAGE AUTHENTICATION CODE (B91E).
    Kmac,
    /// COMPUTE INTERMEDIATE MESSAGE DIGEST (B93E).
    Kimd,
    /// COMPUTE LAST MESSAGE DIGEST (B93F).
    Klmd,
    /// PERFORM RANDOM NUMBER OPERATION (B93C), once PERFORM PSEUDORANDOM NUMBER OPERATION.
    Prno,
    /// PERFORM CRYPTOGRAPHIC COMPUTATION (B92C).
    Pcc,
    /// COMPUTE DIGITAL SIGNATURE AUTHENTICATION (B93A).
    Kdsa,
    /// PERFORM CRYPTOGRAPHIC KEY MANAGEMENT OPERATION (B928), privileged.
    Pckmo,
}

impl Instruction {
    /// All instructions of the assist.
    pub const ALL: [Self; 13] = [
        Self::Km,
        Self::Kmc,
        Self::Kmf,
        Self::Kmo,
        Self::Kmctr,
        Self::Kma,
        Self::Kmac,
        Self::Kimd,
        Self::Klmd,
        Self::Prno,
        Self::Pcc,
        Self::Kdsa,
        Self::Pckmo,
    ];

    /// The instruction's operation code.
    #[must_use]
    pub const fn operation_code(self) -> u16 {
        match self {
            Self::Kmac => 0xB91E,
            Self::Pckmo => 0xB928,
            Self::Kma => 0xB929,
            Self::Kmf => 0xB92A,
            Self::Kmo => 0xB92B,
            Self::Pcc => 0xB92C,
            Self::Kmctr => 0xB92D,
            Self::Km => 0xB92E,
            Self::Kmc => 0xB92F,
            Self::Kdsa => 0xB93A,
            Self::Prno => 0xB93C,
            Self::Kimd => 0xB93E,
            Self::Klmd => 0xB93F,
        }
    }

    /// The facility bit that says that the instruction is installed: 17 message-security assist,
    /// 76 its extension 3, 77 extension 4, 57 extension 5, 146 extension 8, 155 extension 9.
    #[must_use]
    pub const fn facility(self) -> u32 {
        match self {
            Self::Km | Self::Kmc | Self::Kmac | Self::Kimd | Self::Klmd => 17,
            Self::Pckmo => 76,
            Self::Kmf | Self::Kmo | Self::Kmctr | Self::Pcc => 77,
            Self::Prno => 57,
            Self::Kma => 146,
            Self::Kdsa => 155,
        }
    }
}
