//! ECDSA over P-256, P-384 and P-521 (FIPS 186-5), as KDSA computes it, and the scalar
//! multiplications of PCC.
//!
//! The parameter block is five fields, each a number with its leftmost byte first: the signature's
//! r and s, the digest, and then the public key's x and y to verify, or the private key and a
//! random number to sign. A field is as long as a coordinate, except for P-521, whose 66 bytes are at the
//! right of 80.
//!
//! Sources: OpenSSL `ecp_s390x_nistp.c` (the fields of both instructions; that any condition code but
//! 0 is a failure); Go `crypto/internal/fips140/ecdsa` (signing: code 2 requests another random number,
//! code 1 is an error that no other number corrects); libica `s390_crypto.h` (a nonce without an inverse, an
//! invalid signature and a public key that is not on the curve all fail). No public source gives the code of
//! the last two, or that of an invalid point with PCC; here it is 2.

use p256::NistP256;
use p256::elliptic_curve::group::Group as _;
use p256::elliptic_curve::ops::{Invert, MulByGeneratorVartime, Reduce};
use p256::elliptic_curve::point::AffineCoordinates;
use p256::elliptic_curve::{CurveArithmetic, FieldBytes, ff::Field, ff::PrimeField};
use p384::NistP384;
use p521::NistP521;
use sha2::{Digest, Sha512};

use arch::condition::ConditionCode;

type Scalar<C> = <C as CurveArithmetic>::Scalar;
type Point<C> = <C as CurveArithmetic>::ProjectivePoint;

/// The curve of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// Of 256 bits.
    P256,
    /// Of 384 bits.
    P384,
    /// Of 521 bits.
    P521,
}

impl Curve {
    /// KDSA-ECDSA-Verify.
    #[must_use]
    pub fn verify(self, parameter: &[u8]) -> ConditionCode {
        match self {
            Self::P256 => verify::<NistP256>(parameter),
            Self::P384 => verify::<NistP384>(parameter),
            Self::P521 => verify::<NistP521>(parameter),
        }
    }

    /// KDSA-ECDSA-Sign: with `deterministic` the random number is the nonce; otherwise SHA-512 makes the
    /// nonce from the private key, the digest and the random number, so that a poor random number does no
    /// harm. Each model may make it in its own way. Condition code 1 when the private key is zero or not
    /// below the order: no other random number would help.
    pub fn sign(self, deterministic: bool, parameter: &mut [u8]) -> ConditionCode {
        match self {
            Self::P256 => sign::<NistP256>(deterministic, parameter),
            Self::P384 => sign::<NistP384>(deterministic, parameter),
            Self::P521 => sign::<NistP521>(deterministic, parameter),
        }
    }

    /// PCC-Scalar-Multiply: the parameter block is the coordinates of the result, those of the source
    /// and the scalar.
    pub fn multiply(self, parameter: &mut [u8]) -> ConditionCode {
        condition(match self {
            Self::P256 => multiplied::<NistP256>(parameter),
            Self::P384 => multiplied::<NistP384>(parameter),
            Self::P521 => multiplied::<NistP521>(parameter),
        })
    }
}

/// The indexes of the fields: first the signature or the result of a multiplication, then the inputs.
const R: usize = 0;
const S: usize = 1;
const DIGEST: usize = 2;
const PUBLIC_KEY: usize = 3;
const PRIVATE_KEY: usize = 3;
const RANDOM_NUMBER: usize = 4;
const SOURCE: usize = 2;
const SCALAR: usize = 4;

/// The length of a number and of its field.
fn lengths<C: CurveArithmetic>() -> (usize, usize) {
    match FieldBytes::<C>::default().len() {
        66 => (66, 80),
        length => (length, length),
    }
}

/// The number in field `index`; `None` if the bytes to the left of the number are not zeros.
fn field<C: CurveArithmetic>(parameter: &[u8], index: usize) -> Option<FieldBytes<C>> {
    let (length, field) = lengths::<C>();
    let bytes = parameter.get(index * field..(index + 1) * field)?;
    let (left, right) = bytes.split_at_checked(field - length)?;
    let mut number = FieldBytes::<C>::default();
    for (to, from) in number.iter_mut().zip(right) {
        *to = *from;
    }
    left.iter().all(|&byte| byte == 0).then_some(number)
}

fn put<C: CurveArithmetic>(parameter: &mut [u8], index: usize, number: &FieldBytes<C>) {
    let (length, field) = lengths::<C>();
    let bytes = parameter.get_mut(index * field..(index + 1) * field);
    if let Some((left, right)) = bytes.and_then(|bytes| bytes.split_at_mut_checked(field - length))
    {
        left.fill(0);
        for (to, from) in right.iter_mut().zip(number) {
            *to = *from;
        }
    }
}

/// The number, if it is from one to the order less one.
fn in_range<C: CurveArithmetic>(number: FieldBytes<C>) -> Option<Scalar<C>> {
    Option::<Scalar<C>>::from(Scalar::<C>::from_repr(number))
        .filter(|scalar| !bool::from(scalar.is_zero()))
}

/// The x-coordinate modulo the order.
fn reduced_x<C: CurveArithmetic>(point: Point<C>) -> Scalar<C> {
    let affine: C::AffinePoint = point.into();
    Scalar::<C>::reduce(&affine.x())
}

/// The point with the coordinates in fields `index` and the next, when it is on the curve.
fn point<C: CurveArithmetic>(parameter: &[u8], index: usize) -> Option<Point<C>> {
    let x = field::<C>(parameter, index)?;
    let y = field::<C>(parameter, index + 1)?;
    Option::<C::AffinePoint>::from(C::AffinePoint::from_coordinates(&x, &y)).map(Point::<C>::from)
}

/// Condition code 0 if there is an outcome, otherwise 2.
fn condition(outcome: Option<()>) -> ConditionCode {
    outcome.map_or(ConditionCode::Two, |()| ConditionCode::Zero)
}

fn verify<C: CurveArithmetic>(parameter: &[u8]) -> ConditionCode {
    condition(is_good::<C>(parameter).filter(|&good| good).map(drop))
}

fn is_good<C: CurveArithmetic>(parameter: &[u8]) -> Option<bool> {
    let r = in_range::<C>(field::<C>(parameter, R)?)?;
    let s = in_range::<C>(field::<C>(parameter, S)?)?;
    let digest = Scalar::<C>::reduce(&field::<C>(parameter, DIGEST)?);
    let key = point::<C>(parameter, PUBLIC_KEY)?;
    let inverse = Option::<Scalar<C>>::from(Invert::invert(&s))?;
    let point =
        Point::<C>::mul_by_generator_and_mul_add_vartime(&(digest * inverse), &(r * inverse), &key);
    Some(!bool::from(point.is_identity()) && reduced_x::<C>(point) == r)
}

fn sign<C: CurveArithmetic>(deterministic: bool, parameter: &mut [u8]) -> ConditionCode {
    match field::<C>(parameter, PRIVATE_KEY).and_then(in_range::<C>) {
        None => ConditionCode::One,
        Some(key) => condition(signed::<C>(deterministic, key, parameter)),
    }
}

fn signed<C: CurveArithmetic>(
    deterministic: bool,
    key: Scalar<C>,
    parameter: &mut [u8],
) -> Option<()> {
    let digest = Scalar::<C>::reduce(&field::<C>(parameter, DIGEST)?);
    let (r, s) = if deterministic {
        let nonce = in_range::<C>(field::<C>(parameter, RANDOM_NUMBER)?)?;
        signature::<C>(key, digest, nonce)?
    } else {
        // A nonce is out of range once in 2 to the 32 times at most.
        (0..=u8::MAX).find_map(|attempt| {
            let nonce = in_range::<C>(derived_nonce::<C>(parameter, attempt)?)?;
            signature::<C>(key, digest, nonce)
        })?
    };
    put::<C>(parameter, R, &r);
    put::<C>(parameter, S, &s);
    Some(())
}

fn derived_nonce<C: CurveArithmetic>(parameter: &[u8], attempt: u8) -> Option<FieldBytes<C>> {
    let (_, field) = lengths::<C>();
    let secrets = parameter.get(DIGEST * field..5 * field)?;
    let mut nonce = FieldBytes::<C>::default();
    for (part, counter) in nonce.chunks_mut(64).zip(0_u8..) {
        let digest = Sha512::new_with_prefix(secrets)
            .chain_update([attempt, counter])
            .finalize();
        for (to, from) in part.iter_mut().zip(digest) {
            *to = from;
        }
    }
    if nonce.len() == 66 {
        // 521 bits are 65 bytes and one bit.
        nonce[0] &= 1;
    }
    Some(nonce)
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

fn multiplied<C: CurveArithmetic>(parameter: &mut [u8]) -> Option<()> {
    let source = point::<C>(parameter, SOURCE)?;
    let product = source * Scalar::<C>::reduce(&field::<C>(parameter, SCALAR)?);
    if bool::from(product.is_identity()) {
        return None;
    }
    let result: C::AffinePoint = product.into();
    put::<C>(parameter, R, &result.x());
    put::<C>(parameter, S, &result.y());
    Some(())
}
