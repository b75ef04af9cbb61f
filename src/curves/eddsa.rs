//! EdDSA over Ed25519 (RFC 8032), as KDSA computes it, and X25519 (RFC 7748), as PCC does.
//!
//! The parameter block of KDSA is R and S of the signature and then the key, 32 bytes each. RFC
//! 8032 writes numbers with the lowest byte first; here R, S and the public key have the highest
//! byte first. The private key is a string of bytes, not a number, and has the form of the RFC.
//!
//! A message of any length is hashed, once to verify and twice to sign: for the nonce, and then with
//! R for the challenge. So an operation that may stop keeps, between its pieces, its pass, how much of
//! the message the pass has taken, and the digest so far ([`Signature`]).

use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::montgomery::MontgomeryPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use sha2::digest::common::hazmat::{SerializableState, SerializedState};
use sha2::{Digest, Sha512};

use arch::condition::ConditionCode;

/// The 32 bytes of field `index` in reverse order.
fn reversed(parameter: &[u8], index: usize) -> [u8; 32] {
    let mut field = as_written(parameter, index);
    field.reverse();
    field
}

fn as_written(parameter: &[u8], index: usize) -> [u8; 32] {
    let field = parameter.get(32 * index..);
    let field = field.and_then(|bytes| bytes.first_chunk());
    field.copied().unwrap_or_default()
}

fn put_reversed(parameter: &mut [u8], index: usize, mut field: [u8; 32]) {
    field.reverse();
    let place = parameter.get_mut(32 * index..);
    if let Some(place) = place.and_then(|bytes| bytes.first_chunk_mut()) {
        *place = field;
    }
}

/// What the message is hashed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Nonce = 1,
    Challenge = 2,
}

/// A signature that is being made or verified, between two pieces of its message.
#[derive(Clone, Debug)]
pub struct Signature {
    signs: bool,
    pass: Pass,
    /// How much of the message the pass has taken.
    taken: u64,
    digest: Sha512,
    /// In the second pass of signing: the nonce, and R.
    nonce: [u8; 32],
    r: [u8; 32],
}

/// The digest's own bytes in [`Signature::state`].
const DIGEST: usize = size_of::<SerializedState<Sha512>>();

impl Signature {
    /// The length of [`Signature::state`] in bytes: a doubleword, which is not zero because its first halfword
    /// is the pass; how much the pass has taken; the nonce and R; the digest.
    pub const STATE: usize = 8 + 8 + 32 + 32 + DIGEST;

    /// Begins to sign with, or to verify, the signature of `parameter`, at least 96 bytes.
    #[must_use]
    pub fn begin(signs: bool, parameter: &[u8]) -> Self {
        let (pass, digest) = if signs {
            let (_, prefix) = expanded(parameter);
            (Pass::Nonce, Sha512::new_with_prefix(prefix))
        } else {
            let (r, key) = (reversed(parameter, 0), reversed(parameter, 2));
            let digest = Sha512::new_with_prefix(r).chain_update(key);
            (Pass::Challenge, digest)
        };
        Self {
            signs,
            pass,
            taken: 0,
            digest,
            nonce: [0; 32],
            r: [0; 32],
        }
    }

    /// The state with which the operation can continue later.
    #[must_use]
    pub fn state(&self) -> [u8; Self::STATE] {
        let mut state = [0; Self::STATE];
        state[1] = self.pass as u8;
        state[8..16].copy_from_slice(&self.taken.to_be_bytes());
        state[16..48].copy_from_slice(&self.nonce);
        state[48..80].copy_from_slice(&self.r);
        state[80..].copy_from_slice(&self.digest.serialize());
        state
    }

    /// Continues from a state; `None` if it is not a valid one.
    #[must_use]
    pub fn resume(signs: bool, state: &[u8; Self::STATE]) -> Option<Self> {
        let field = |at: usize| state[at..].first_chunk().copied().unwrap_or_default();
        let pass = match (signs, state[1]) {
            (true, 1) => Pass::Nonce,
            (_, 2) => Pass::Challenge,
            _ => return None,
        };
        let digest = SerializedState::<Sha512>::try_from(&state[80..]).ok()?;
        Some(Self {
            signs,
            pass,
            taken: u64::from_be_bytes(state[8..].first_chunk().copied().unwrap_or_default()),
            digest: Sha512::deserialize(&digest).ok()?,
            nonce: field(16),
            r: field(48),
        })
    }

    /// How much of the message this pass has taken, which is the offset of the next piece.
    #[must_use]
    pub const fn taken(&self) -> u64 {
        self.taken
    }

    /// Takes the next piece of the message.
    pub fn take(&mut self, piece: &[u8]) {
        self.digest.update(piece);
        self.taken = self.taken.saturating_add(piece.len() as u64);
    }

    /// All of the message has been taken. `None` if it must be taken once more from its beginning; otherwise
    /// the condition code, and a signature that was made is in the parameter block.
    pub fn end_pass(&mut self, parameter: &mut [u8]) -> Option<ConditionCode> {
        let digest = core::mem::take(&mut self.digest).finalize();
        let number = Scalar::from_bytes_mod_order_wide(&digest.into());
        if !self.signs {
            return Some(verdict(parameter, &number));
        }
        let (key, _) = expanded(parameter);
        if self.pass == Pass::Nonce {
            self.pass = Pass::Challenge;
            self.taken = 0;
            self.nonce = number.to_bytes();
            self.r = EdwardsPoint::mul_base(&number).compress().to_bytes();
            let public = EdwardsPoint::mul_base(&key).compress();
            self.digest.update(self.r);
            self.digest.update(public.as_bytes());
            return None;
        }
        let nonce = Scalar::from_bytes_mod_order(self.nonce);
        put_reversed(parameter, 0, self.r);
        put_reversed(parameter, 1, (nonce + number * key).to_bytes());
        Some(ConditionCode::Zero)
    }
}

/// The scalar of the private key, and the prefix for the nonce.
fn expanded(parameter: &[u8]) -> (Scalar, [u8; 32]) {
    let digest: [u8; 64] = Sha512::digest(as_written(parameter, 2)).into();
    let (scalar, prefix) = digest.split_at(32);
    let half = |half: &[u8]| half.first_chunk().copied().unwrap_or_default();
    let key = Scalar::from_bytes_mod_order(clamp_integer(half(scalar)));
    (key, half(prefix))
}

/// Condition code 0 if the signature is valid, otherwise 2.
fn verdict(parameter: &[u8], challenge: &Scalar) -> ConditionCode {
    let r = reversed(parameter, 0);
    let s: Option<Scalar> = Scalar::from_canonical_bytes(reversed(parameter, 1)).into();
    let point = CompressedEdwardsY(reversed(parameter, 2)).decompress();
    let good = s.zip(point).is_some_and(|(s, point)| {
        EdwardsPoint::vartime_double_scalar_mul_basepoint(challenge, &-point, &s)
            .compress()
            .to_bytes()
            == r
    });
    if good {
        ConditionCode::Zero
    } else {
        ConditionCode::Two
    }
}

/// PCC-Scalar-Multiply-X25519: the parameter block is the u-coordinate of the result, that of the
/// source and the scalar, the highest byte first. The scalar is used unchanged: the program sets its bits
/// as RFC 7748 requires.
pub fn multiply(parameter: &mut [u8]) -> ConditionCode {
    let scalar = as_written(parameter, 2);
    let bits = (0..256).map(|bit| scalar[bit / 8] >> (7 - bit % 8) & 1 == 1);
    let product = MontgomeryPoint(reversed(parameter, 1)).mul_bits_be(bits);
    put_reversed(parameter, 0, product.to_bytes());
    ConditionCode::Zero
}
