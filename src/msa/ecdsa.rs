//! ECDSA over P-256 and P-384 (FIPS 186-5), as KDSA computes it.
//!
//! The parameter block is five numbers of the length of a coordinate, the leftmost byte first: the
//! signature's r and s, the digest, and then the public key's x and y to verify, or the private
//! key and a random number to sign.

use p256::elliptic_curve::group::Group as _;
use p256::elliptic_curve::ops::{Invert, MulByGeneratorVartime, Reduce};
use p256::elliptic_curve::point::AffineCoordinates;
use p256::elliptic_curve::{CurveArithmetic, FieldBytes, ff::Field, ff::PrimeField};
use sha2::{Digest, Sha512};

use crate::arch::condition::ConditionCode;

type Scalar<C> = <C as CurveArithmetic>::Scalar;
type Point<C> = <C as CurveArithmetic>::ProjectivePoint;

/// Field `index` of the parameter block.
fn field<C: CurveArithmetic>(parameter: &[u8], index: usize) -> FieldBytes<C> {
    let mut field = FieldBytes::<C>::default();
    let length = field.len();
    field.copy_from_slice(&parameter[index * length..(index + 1) * length]);
    field
}

/// The number in `bytes` when it is one up to the order less one.
fn in_range<C: CurveArithmetic>(bytes: FieldBytes<C>) -> Option<Scalar<C>> {
    Option::<Scalar<C>>::from(Scalar::<C>::from_repr(bytes))
        .filter(|scalar| !bool::from(scalar.is_zero()))
}

/// The x-coordinate modulo the order.
fn reduced_x<C: CurveArithmetic>(point: Point<C>) -> Scalar<C> {
    let affine: C::AffinePoint = point.into();
    Scalar::<C>::reduce(&affine.x())
}

/// The point with the coordinates in fields `index` and the next, when it is on the curve.
fn point<C: CurveArithmetic>(parameter: &[u8], index: usize) -> Option<Point<C>> {
    let (x, y) = (
        field::<C>(parameter, index),
        field::<C>(parameter, index + 1),
    );
    Option::<C::AffinePoint>::from(C::AffinePoint::from_coordinates(&x, &y)).map(Point::<C>::from)
}

/// KDSA-ECDSA-Verify.
pub(super) fn verify<C: CurveArithmetic>(parameter: &[u8]) -> ConditionCode {
    if is_good::<C>(parameter) == Some(true) {
        ConditionCode::Zero
    } else {
        ConditionCode::Two
    }
}

fn is_good<C: CurveArithmetic>(parameter: &[u8]) -> Option<bool> {
    let r = in_range::<C>(field::<C>(parameter, 0))?;
    let s = in_range::<C>(field::<C>(parameter, 1))?;
    let digest = Scalar::<C>::reduce(&field::<C>(parameter, 2));
    let key = point::<C>(parameter, 3)?;
    let inverse = Option::<Scalar<C>>::from(Invert::invert(&s))?;
    let point =
        Point::<C>::mul_by_generator_and_mul_add_vartime(&(digest * inverse), &(r * inverse), &key);
    Some(!bool::from(point.is_identity()) && reduced_x::<C>(point) == r)
}

/// KDSA-ECDSA-Sign: with `deterministic` the random number is the nonce; else the nonce comes from
/// the private key, the digest and the random number by SHA-512, so that a poor random number does
/// no harm. How it is made is the model's own affair.
pub(super) fn sign<C: CurveArithmetic>(deterministic: bool, parameter: &mut [u8]) -> ConditionCode {
    let Some(key) = in_range::<C>(field::<C>(parameter, 3)) else {
        return ConditionCode::Two;
    };
    let digest = Scalar::<C>::reduce(&field::<C>(parameter, 2));
    // A nonce is out of range once in 2 to the 32 times at most.
    for attempt in 0_u8..=u8::MAX {
        let nonce = if deterministic {
            field::<C>(parameter, 4)
        } else {
            derived_nonce::<C>(parameter, attempt)
        };
        if let Some((r, s)) =
            in_range::<C>(nonce).and_then(|nonce| signature::<C>(key, digest, nonce))
        {
            let length = r.len();
            parameter[..length].copy_from_slice(&r);
            parameter[length..2 * length].copy_from_slice(&s);
            return ConditionCode::Zero;
        }
        if deterministic {
            break;
        }
    }
    ConditionCode::Two
}

fn derived_nonce<C: CurveArithmetic>(parameter: &[u8], attempt: u8) -> FieldBytes<C> {
    let mut nonce = FieldBytes::<C>::default();
    let length = nonce.len();
    let digest = Sha512::new_with_prefix(&parameter[2 * length..5 * length])
        .chain_update([attempt])
        .finalize();
    nonce.copy_from_slice(&digest[..length]);
    nonce
}

fn signature<C: CurveArithmetic>(
    key: Scalar<C>,
    digest: Scalar<C>,
    nonce: Scalar<C>,
) -> Option<(FieldBytes<C>, FieldBytes<C>)> {
    let r = reduced_x::<C>(Point::<C>::generator() * nonce);
    let inverse = Option::<Scalar<C>>::from(Invert::invert(&nonce))?;
    let s = inverse * (digest + r * key);
    (!bool::from(r.is_zero()) && !bool::from(s.is_zero())).then(|| (r.to_repr(), s.to_repr()))
}

/// PCC-Scalar-Multiply: the parameter block is the coordinates of the result, those of the source
/// and the scalar.
pub(super) fn multiply<C: CurveArithmetic>(parameter: &mut [u8]) -> ConditionCode {
    let Some(source) = point::<C>(parameter, 2) else {
        return ConditionCode::Two;
    };
    let product = source * Scalar::<C>::reduce(&field::<C>(parameter, 4));
    if bool::from(product.is_identity()) {
        return ConditionCode::Two;
    }
    let result: C::AffinePoint = product.into();
    let (x, y) = (result.x(), result.y());
    let length = x.len();
    parameter[..length].copy_from_slice(&x);
    parameter[length..2 * length].copy_from_slice(&y);
    ConditionCode::Zero
}
