//! EdDSA over Ed25519 (RFC 8032), as KDSA computes it, and X25519 (RFC 7748), as PCC does.
//!
//! The parameter block of KDSA is R and S of the signature and then the key, 32 bytes each. RFC
//! 8032 writes numbers with the lowest byte first; here R, S and the public key have the highest
//! byte first. The private key is a string of bytes, not a number, and stands as in the RFC.

use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::montgomery::MontgomeryPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use sha2::{Digest, Sha512};

use crate::arch::condition::ConditionCode;

/// The 32 bytes of field `index`, the order of the bytes reversed.
fn reversed(parameter: &[u8], index: usize) -> [u8; 32] {
    let mut field = as_written(parameter, index);
    field.reverse();
    field
}

fn as_written(parameter: &[u8], index: usize) -> [u8; 32] {
    parameter[32 * index..]
        .first_chunk()
        .copied()
        .unwrap_or_default()
}

fn put_reversed(parameter: &mut [u8], index: usize, mut field: [u8; 32]) {
    field.reverse();
    parameter[32 * index..32 * (index + 1)].copy_from_slice(&field);
}

/// SHA-512 of `prefix` and the message, as a scalar.
fn hash<E>(
    prefix: &[&[u8]],
    message: &mut impl FnMut(&mut dyn FnMut(&[u8])) -> Result<(), E>,
) -> Result<Scalar, E> {
    let mut digest = Sha512::new();
    for prefix in prefix {
        digest.update(prefix);
    }
    message(&mut |piece| digest.update(piece))?;
    Ok(Scalar::from_bytes_mod_order_wide(&digest.finalize().into()))
}

/// KDSA-EdDSA-Verify-Ed25519.
pub(super) fn verify<E>(
    parameter: &[u8],
    message: &mut impl FnMut(&mut dyn FnMut(&[u8])) -> Result<(), E>,
) -> Result<ConditionCode, E> {
    let r = reversed(parameter, 0);
    let s: Option<Scalar> = Scalar::from_canonical_bytes(reversed(parameter, 1)).into();
    let key = reversed(parameter, 2);
    let point = CompressedEdwardsY(key).decompress();
    // The message is taken even when the outcome is known, so that its accesses are the same.
    let challenge = hash(&[&r, &key], message)?;
    let good = s.zip(point).is_some_and(|(s, point)| {
        EdwardsPoint::vartime_double_scalar_mul_basepoint(&challenge, &-point, &s)
            .compress()
            .to_bytes()
            == r
    });
    Ok(if good {
        ConditionCode::Zero
    } else {
        ConditionCode::Two
    })
}

/// KDSA-EdDSA-Sign-Ed25519.
pub(super) fn sign<E>(
    parameter: &mut [u8],
    message: &mut impl FnMut(&mut dyn FnMut(&[u8])) -> Result<(), E>,
) -> Result<ConditionCode, E> {
    let expanded: [u8; 64] = Sha512::digest(as_written(parameter, 2)).into();
    let (scalar, prefix) = expanded.split_at(32);
    let mut key = [0; 32];
    key.copy_from_slice(scalar);
    let key = Scalar::from_bytes_mod_order(clamp_integer(key));
    let public = EdwardsPoint::mul_base(&key).compress();
    let nonce = hash(&[prefix], message)?;
    let r = EdwardsPoint::mul_base(&nonce).compress();
    let challenge = hash(&[r.as_bytes(), public.as_bytes()], message)?;
    put_reversed(parameter, 0, r.to_bytes());
    put_reversed(parameter, 1, (nonce + challenge * key).to_bytes());
    Ok(ConditionCode::Zero)
}

/// PCC-Scalar-Multiply-X25519: the parameter block is the u-coordinate of the result, that of the
/// source and the scalar, the highest byte first. The scalar is taken as it stands: its bits are
/// the program's to set as RFC 7748 has them.
pub(super) fn multiply(parameter: &mut [u8]) -> ConditionCode {
    let scalar = as_written(parameter, 2);
    let bits = (0..256).map(|bit| scalar[bit / 8] >> (7 - bit % 8) & 1 == 1);
    let product = MontgomeryPoint(reversed(parameter, 1)).mul_bits_be(bits);
    put_reversed(parameter, 0, product.to_bytes());
    ConditionCode::Zero
}
