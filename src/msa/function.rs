//! The functions of the message-security assist: codes, parameter blocks and data blocks.

use core::ops::Range;

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

/// What a function computes with, apart from how its instruction chains the data blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// One, two or three keys of 8 bytes.
    Dea,
    Tdea128,
    Tdea192,
    /// A key of 16, 24 or 32 bytes.
    Aes128,
    Aes192,
    Aes256,
    /// A key of 16 or 32 bytes and a tweak.
    XtsAes128,
    XtsAes256,
    Sha1,
    Sha256,
    Sha512,
    /// The sponge with the rate in bytes; the digest is half of what the rate leaves of 200 bytes.
    Sha3 {
        rate: u8,
    },
    Shake {
        rate: u8,
    },
    Ghash,
    Sha512Drng,
    ConditioningRatio,
    TrueRandom,
    /// Signatures and scalar multiplication over an elliptic curve.
    P256,
    P384,
    P521,
    Ed25519,
    X25519,
}

impl Algorithm {
    /// The length of the key of a block cipher in bytes, of one of the two keys for XTS; else 0.
    const fn key(self) -> usize {
        match self {
            Self::Dea => 8,
            Self::Tdea128 | Self::Aes128 | Self::XtsAes128 => 16,
            Self::Tdea192 | Self::Aes192 => 24,
            Self::Aes256 | Self::XtsAes256 => 32,
            _ => 0,
        }
    }

    /// The data block that the algorithm itself has, in bytes.
    const fn block(self) -> usize {
        match self {
            Self::Dea | Self::Tdea128 | Self::Tdea192 => 8,
            Self::Aes128
            | Self::Aes192
            | Self::Aes256
            | Self::XtsAes128
            | Self::XtsAes256
            | Self::Ghash => 16,
            Self::Sha1 | Self::Sha256 | Self::Sha512Drng => 64,
            Self::Sha512 => 128,
            Self::Sha3 { rate } | Self::Shake { rate } => rate as usize,
            Self::ConditioningRatio
            | Self::TrueRandom
            | Self::P256
            | Self::P384
            | Self::P521
            | Self::Ed25519
            | Self::X25519 => 1,
        }
    }

    /// The field of a digest's parameter block that the digest itself chains, in bytes.
    const fn chaining(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
            Self::Sha3 { .. } | Self::Shake { .. } => 200,
            _ => self.block(),
        }
    }

    /// The length of the field of a coordinate or scalar in bytes. The 66 bytes of P-521 stand at
    /// the right of theirs.
    const fn coordinate(self) -> usize {
        match self {
            Self::P384 => 48,
            Self::P521 => 80,
            _ => 32,
        }
    }
}

/// A function of an instruction that is supplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    pub(super) instruction: Instruction,
    pub(super) code: u8,
    pub(super) algorithm: Algorithm,
}

impl Function {
    /// The function with `code` (1-127) of `instruction`; none when it is not supplied, which is a
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
                80 => Some(Algorithm::X25519),
                _ => cipher(code),
            },
            Instruction::Kdsa => match code {
                1 | 9 => Some(Algorithm::P256),
                2 | 10 => Some(Algorithm::P384),
                3 | 11 => Some(Algorithm::P521),
                32 | 40 => Some(Algorithm::Ed25519),
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

    /// The instruction whose function it is.
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

    /// Whether general register 0 modifies the function in a way that is defined; where not, a
    /// specification exception. The modifier bit must be zero where it has no meaning, and the
    /// length of the cipher feedback of KMF is 1 up to the block of the cipher.
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
                Algorithm::P256 | Algorithm::P384 | Algorithm::P521 => 5 * algorithm.coordinate(),
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
                // The XTS parameter; the intermediate bit index is this machine's to leave alone.
                Algorithm::XtsAes128 | Algorithm::XtsAes256 => key + 3 * block..key + 4 * block,
                Algorithm::X25519 => 0..32,
                Algorithm::P256 | Algorithm::P384 | Algorithm::P521 => {
                    0..2 * algorithm.coordinate()
                }
                // The message-authentication code takes the place of the chaining value.
                _ => 8 + block..8 + 2 * block,
            },
            Instruction::Kdsa => match self.code {
                9..=11 | 40 => 0..2 * algorithm.coordinate(),
                _ => 0..0,
            },
        }
    }

    /// Where the key of a block cipher is in the parameter block; empty where there is none.
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

    /// The data block in bytes: what one step of the function takes and, where there is an output,
    /// gives. 1 where an operand has no blocks or there is none.
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
    /// others a length that is no multiple of the data block is a specification exception.
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

/// The block ciphers' function codes, which all instructions share.
const fn cipher(code: u8) -> Option<Algorithm> {
    match code {
        1 => Some(Algorithm::Dea),
        2 => Some(Algorithm::Tdea128),
        3 => Some(Algorithm::Tdea192),
        18 => Some(Algorithm::Aes128),
        19 => Some(Algorithm::Aes192),
        20 => Some(Algorithm::Aes256),
        _ => None,
    }
}

/// The hash functions' codes, which KIMD and KLMD share.
const fn hash(code: u8) -> Option<Algorithm> {
    match code {
        1 => Some(Algorithm::Sha1),
        2 => Some(Algorithm::Sha256),
        3 => Some(Algorithm::Sha512),
        32 => Some(Algorithm::Sha3 { rate: 144 }),
        33 => Some(Algorithm::Sha3 { rate: 136 }),
        34 => Some(Algorithm::Sha3 { rate: 104 }),
        35 => Some(Algorithm::Sha3 { rate: 72 }),
        36 => Some(Algorithm::Shake { rate: 168 }),
        37 => Some(Algorithm::Shake { rate: 136 }),
        _ => None,
    }
}
