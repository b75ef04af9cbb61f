//! The functions of the message-security assist: codes, parameter blocks and data blocks.

use core::ops::Range;

use super::algorithm::{Algorithm, cipher, hash};
use super::kma::KEY as KMA_KEY;
use super::{Control, Instruction};

/// The coprocessor whose counters of the crypto-activity counter set count a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// PERFORM RANDOM NUMBER OPERATION, whatever digests it uses.
    Prng,
    /// The secure-hash functions.
    Sha,
    /// The functions with DEA and TDEA.
    Dea,
    /// The functions with AES, and those of the Galois-field multiplier (GHASH).
    Aes,
    /// The functions with elliptic curves.
    Ecc,
}

/// A supplied function of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    pub(super) instruction: Instruction,
    pub(super) code: u8,
    pub(super) algorithm: Algorithm,
}

/// KDSA-EdDSA-Verify-Ed25519.
const EDDSA_VERIFY: u8 = 32;
/// KDSA-EdDSA-Sign-Ed25519.
pub(super) const EDDSA_SIGN: u8 = 40;

impl Function {
    /// The length of the longest parameter block of all in bytes.
    pub const LONGEST_PARAMETER_BLOCK: usize = 400;

    /// The function with `code` (1-127) of `instruction`; `None` if it is not supplied, which is a
    /// specification exception. Function code 0 is [`super::query`].
    #[must_use]
    pub const fn of(instruction: Instruction, code: u8) -> Option<Self> {
        let algorithm = match instruction {
            Instruction::Km => match code {
                50 => Some(Algorithm::XtsAes128),
                52 => Some(Algorithm::XtsAes256),
                _ => cipher(code),
            },
            Instruction::Kmc
            | Instruction::Kmf
            | Instruction::Kmo
            | Instruction::Kmctr
            | Instruction::Kmac => cipher(code),
            Instruction::Kma => match code {
                18..=20 => cipher(code),
                _ => None,
            },
            Instruction::Kimd => match code {
                65 => Some(Algorithm::Ghash),
                _ => hash(code),
            },
            Instruction::Klmd => hash(code),
            Instruction::Prno => match code {
                3 => Some(Algorithm::Sha512Drng),
                112 => Some(Algorithm::ConditioningRatio),
                114 => Some(Algorithm::TrueRandom),
                _ => None,
            },
            Instruction::Pcc => match code {
                50 => Some(Algorithm::XtsAes128),
                52 => Some(Algorithm::XtsAes256),
                64 => Some(Algorithm::P256),
                65 => Some(Algorithm::P384),
                66 => Some(Algorithm::P521),
                72 => Some(Algorithm::Ed25519),
                80 => Some(Algorithm::X25519),
                _ => cipher(code),
            },
            Instruction::Kdsa => match code {
                1 | 9 => Some(Algorithm::P256),
                2 | 10 => Some(Algorithm::P384),
                3 | 11 => Some(Algorithm::P521),
                EDDSA_VERIFY | EDDSA_SIGN => Some(Algorithm::Ed25519),
                _ => None,
            },
            Instruction::Pckmo => None,
        };
        match algorithm {
            Some(algorithm) => Some(Self {
                instruction,
                code,
                algorithm,
            }),
            None => None,
        }
    }

    /// Its instruction.
    #[must_use]
    pub const fn instruction(self) -> Instruction {
        self.instruction
    }

    /// The function code.
    #[must_use]
    pub const fn code(self) -> u8 {
        self.code
    }

    /// Which coprocessor performs the function, for the counters.
    #[must_use]
    pub const fn engine(self) -> Engine {
        if let Instruction::Prno = self.instruction {
            return Engine::Prng;
        }
        match self.algorithm {
            Algorithm::Dea | Algorithm::Tdea128 | Algorithm::Tdea192 => Engine::Dea,
            Algorithm::Aes128
            | Algorithm::Aes192
            | Algorithm::Aes256
            | Algorithm::XtsAes128
            | Algorithm::XtsAes256
            | Algorithm::Ghash => Engine::Aes,
            Algorithm::Sha1
            | Algorithm::Sha256
            | Algorithm::Sha512
            | Algorithm::Sha3 { .. }
            | Algorithm::Shake { .. } => Engine::Sha,
            Algorithm::P256
            | Algorithm::P384
            | Algorithm::P521
            | Algorithm::Ed25519
            | Algorithm::X25519 => Engine::Ecc,
            Algorithm::Sha512Drng | Algorithm::ConditioningRatio | Algorithm::TrueRandom => {
                Engine::Prng
            }
        }
    }

    /// Whether general register 0 modifies the function in a defined way; otherwise a specification
    /// exception. The modifier bit must be zero if it has no meaning, and the length of the cipher feedback
    /// of KMF is from 1 to the block of the cipher.
    #[must_use]
    pub const fn accepts(self, control: Control) -> bool {
        let modifier = match self.instruction {
            Instruction::Km
            | Instruction::Kmc
            | Instruction::Kmf
            | Instruction::Kmo
            | Instruction::Kmctr
            | Instruction::Kma => true,
            Instruction::Prno => self.code == 3,
            Instruction::Kdsa => matches!(self.code, 9..=11),
            _ => false,
        };
        let feedback = match self.instruction {
            Instruction::Kmf => {
                0 < control.cipher_feedback() && control.cipher_feedback() <= self.algorithm.block()
            }
            _ => true,
        };
        feedback && (modifier || !control.modifier())
    }

    /// The length of the parameter block in bytes. TRNG of PRNO has none.
    #[must_use]
    pub const fn parameter_length(self) -> usize {
        let algorithm = self.algorithm;
        let (key, block) = (algorithm.key(), algorithm.block());
        match self.instruction {
            Instruction::Km => match algorithm {
                Algorithm::XtsAes128 | Algorithm::XtsAes256 => key + block,
                _ => key,
            },
            Instruction::Kmctr => key,
            Instruction::Kmc | Instruction::Kmf | Instruction::Kmo | Instruction::Kmac => {
                block + key
            }
            Instruction::Kma => KMA_KEY + key,
            Instruction::Kimd => match algorithm {
                Algorithm::Ghash => 32,
                _ => algorithm.chaining(),
            },
            Instruction::Klmd => match algorithm {
                Algorithm::Sha1 | Algorithm::Sha256 => algorithm.chaining() + 8,
                Algorithm::Sha512 => algorithm.chaining() + 16,
                _ => algorithm.chaining(),
            },
            Instruction::Prno => match algorithm {
                Algorithm::Sha512Drng => 240,
                Algorithm::ConditioningRatio => 8,
                _ => 0,
            },
            Instruction::Pcc => match algorithm {
                Algorithm::XtsAes128 | Algorithm::XtsAes256 => key + 4 * block,
                Algorithm::P256 | Algorithm::P384 | Algorithm::P521 | Algorithm::Ed25519 => {
                    5 * algorithm.coordinate()
                }
                Algorithm::X25519 => 96,
                _ => 8 + 2 * block + key,
            },
            Instruction::Kdsa => match algorithm {
                Algorithm::Ed25519 => 96,
                _ => 5 * algorithm.coordinate(),
            },
            Instruction::Pckmo => 0,
        }
    }

    /// The bytes of the parameter block that the function stores; empty when it stores none.
    #[must_use]
    pub const fn updated(self) -> Range<usize> {
        let algorithm = self.algorithm;
        let (key, block) = (algorithm.key(), algorithm.block());
        match self.instruction {
            Instruction::Km => match algorithm {
                Algorithm::XtsAes128 | Algorithm::XtsAes256 => key..key + block,
                _ => 0..0,
            },
            Instruction::Kmctr | Instruction::Pckmo => 0..0,
            Instruction::Kmc | Instruction::Kmf | Instruction::Kmo | Instruction::Kmac => 0..block,
            // The counter value, the tag and the hash subkey.
            Instruction::Kma => 12..48,
            Instruction::Kimd | Instruction::Klmd => 0..algorithm.chaining(),
            Instruction::Prno => 0..self.parameter_length(),
            Instruction::Pcc => match algorithm {
                // The XTS parameter; this machine does not change the intermediate bit index.
                Algorithm::XtsAes128 | Algorithm::XtsAes256 => key + 3 * block..key + 4 * block,
                Algorithm::X25519 => 0..32,
                Algorithm::P256 | Algorithm::P384 | Algorithm::P521 | Algorithm::Ed25519 => {
                    0..2 * algorithm.coordinate()
                }
                // The message-authentication code replaces the chaining value.
                _ => 8 + block..8 + 2 * block,
            },
            Instruction::Kdsa => match self.code {
                9..=11 | EDDSA_SIGN => 0..2 * algorithm.coordinate(),
                _ => 0..0,
            },
        }
    }

    /// The offset in the parameter block of the doubleword that is not zero while the function is stopped
    /// (condition code 3); its state follows. `None` for a function without such state.
    ///
    /// It is after the key, for signing after 16 reserved bytes. Programs provide 4096 bytes for all of it.
    #[must_use]
    pub const fn continuation(self) -> Option<usize> {
        match (self.instruction, self.code) {
            (Instruction::Kdsa, EDDSA_VERIFY) => Some(96),
            (Instruction::Kdsa, EDDSA_SIGN) => Some(112),
            _ => None,
        }
    }

    /// The key of a block cipher in the parameter block; empty if there is none.
    pub(super) const fn key(self) -> Range<usize> {
        let (key, block) = (self.algorithm.key(), self.algorithm.block());
        let start = match self.instruction {
            Instruction::Km | Instruction::Kmctr => 0,
            Instruction::Kma => KMA_KEY,
            Instruction::Pcc => match self.algorithm {
                Algorithm::XtsAes128 | Algorithm::XtsAes256 => 0,
                _ => 8 + 2 * block,
            },
            _ => block,
        };
        start..start + key
    }

    /// The length of the data block in bytes: one step of the function takes this much and, if it has an
    /// output, gives this much. 1 if there is no operand or it has no blocks.
    #[must_use]
    pub const fn data_block(self, control: Control) -> usize {
        match self.instruction {
            Instruction::Kmf => control.cipher_feedback(),
            Instruction::Pcc | Instruction::Kdsa | Instruction::Pckmo => 1,
            _ => self.algorithm.block(),
        }
    }

    /// Whether an operand may have any length, so that its last piece may be shorter than a data
    /// block: KLMD, the last of the text and of the additional data of KMA, PRNO and KDSA. With the
    /// others a length that is not a multiple of the data block is a specification exception.
    #[must_use]
    pub const fn any_length(self) -> bool {
        matches!(
            self.instruction,
            Instruction::Klmd | Instruction::Kma | Instruction::Prno | Instruction::Kdsa
        )
    }

    /// Whether the first operand is filled by [`Function::extend`] after the message (KLMD with a
    /// SHAKE function).
    #[must_use]
    pub const fn extends(self) -> bool {
        matches!(
            (self.instruction, self.algorithm),
            (Instruction::Klmd, Algorithm::Shake { .. })
        )
    }
}

/// Whether function code 0 of an instruction is accepted with this general register 0; otherwise a specification
/// exception. The modifier bit must be zero for an instruction without a function that it modifies. KDSA takes it with
/// the functions that sign only. The others ignore it.
///
/// No public source tells whether PRNO ignores it; QEMU does.
#[must_use]
pub const fn query_accepts(instruction: Instruction, control: Control) -> bool {
    match instruction {
        Instruction::Kmac
        | Instruction::Kimd
        | Instruction::Klmd
        | Instruction::Pcc
        | Instruction::Kdsa
        | Instruction::Pckmo => !control.modifier(),
        Instruction::Km
        | Instruction::Kmc
        | Instruction::Kmf
        | Instruction::Kmo
        | Instruction::Kmctr
        | Instruction::Kma
        | Instruction::Prno => true,
    }
}

/// The operand that function code 0 stores: bit n is one if function code n of the instruction is supplied.
#[must_use]
pub fn query(instruction: Instruction) -> [u8; 16] {
    let mut status = 1_u128 << 127;
    for code in 1..128 {
        if Function::of(instruction, code).is_some() {
            status |= 1 << (127 - code);
        }
    }
    status.to_be_bytes()
}
