//! The algorithms of the functions: lengths of keys and data blocks, and the function codes that
//! instructions share.

/// The algorithm of a function, apart from how its instruction chains the data blocks.
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
    /// The sponge with the rate in bytes; the digest has half of 200 bytes less the rate.
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
    pub(super) const fn key(self) -> usize {
        match self {
            Self::Dea => 8,
            Self::Tdea128 | Self::Aes128 | Self::XtsAes128 => 16,
            Self::Tdea192 | Self::Aes192 => 24,
            Self::Aes256 | Self::XtsAes256 => 32,
            _ => 0,
        }
    }

    /// The length of the algorithm's own data block in bytes.
    pub(super) const fn block(self) -> usize {
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
    pub(super) const fn chaining(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
            Self::Sha3 { .. } | Self::Shake { .. } => 200,
            _ => self.block(),
        }
    }

    /// The length of the field of a coordinate or scalar in bytes. The 66 bytes of P-521 are at the right of
    /// their field.
    pub(super) const fn coordinate(self) -> usize {
        match self {
            Self::P384 => 48,
            Self::P521 => 80,
            _ => 32,
        }
    }
}

/// The block ciphers' function codes, which all instructions share.
pub(super) const fn cipher(code: u8) -> Option<Algorithm> {
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
pub(super) const fn hash(code: u8) -> Option<Algorithm> {
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
