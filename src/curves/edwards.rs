//! Scalar multiplication on Ed25519 in affine coordinates, as PCC computes it.
//!
//! The curve is -x^2 + y^2 = 1 + d x^2 y^2 over the integers modulo 2^255 - 19 (RFC 8032). PCC has
//! both coordinates of a point; the group operations use only the y-coordinate and the lowest bit of
//! the other. So this file tests the point, and recovers the x-coordinate of the product.

use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::traits::Identity;
use p256::elliptic_curve::bigint::{U256, const_monty_params, modular::ConstMontyForm};

use arch::condition::ConditionCode;

const_monty_params!(
    Prime,
    U256,
    "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed",
    "2^255 - 19."
);
type Element = ConstMontyForm<Prime, { U256::LIMBS }>;

/// The d of the curve.
const D: Element = Element::new(&U256::from_be_hex(
    "52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3",
));
/// A square root of -1.
const ROOT_OF_MINUS_1: Element = Element::new(&U256::from_be_hex(
    "2b8324804fc1df0b2b4d00993dfbd7a72f431806ad2fe478c4ee1b274a0ea0b0",
));
/// The prime less 5, over 8.
const ROOT_EXPONENT: U256 =
    U256::from_be_hex("0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffd");

/// PCC-Scalar-Multiply-Ed25519: the parameter block is the coordinates of the result, those of the
/// source and the scalar, 32 bytes each with the highest byte first. Condition code 2 when the
/// source is not on the curve.
pub fn multiply(parameter: &mut [u8]) -> ConditionCode {
    let (fields, _) = parameter.as_chunks_mut::<32>();
    let [result_x, result_y, x, y, scalar] = fields else {
        return ConditionCode::Two;
    };
    let Some(source) = point(x, y) else {
        return ConditionCode::Two;
    };
    let bits = (0..256).map(|bit| scalar[bit / 8] >> (7 - bit % 8) & 1 == 1);
    let product = bits.fold(EdwardsPoint::identity(), |sum, bit| {
        let double = sum + sum;
        if bit { double + source } else { double }
    });
    (*result_x, *result_y) = coordinates(product);
    ConditionCode::Zero
}

/// The point with these coordinates, if it is on the curve.
fn point(x: &[u8; 32], y: &[u8; 32]) -> Option<EdwardsPoint> {
    let (x, y) = (element(x), element(y));
    let (x_squared, y_squared) = (square(x), square(y));
    if y_squared - x_squared != Element::ONE + D * x_squared * y_squared {
        return None;
    }
    let mut compressed = y.retrieve().to_le_bytes();
    compressed.as_mut()[31] |= (x.retrieve().to_le_bytes().as_ref()[0] & 1) << 7;
    CompressedEdwardsY(compressed.into()).decompress()
}

/// The coordinates of a point: the x-coordinate is the root with the right lowest bit of
/// (y^2 - 1) / (d y^2 + 1).
fn coordinates(point: EdwardsPoint) -> ([u8; 32], [u8; 32]) {
    let mut y = point.compress().to_bytes();
    let odd = y[31] >> 7;
    y[31] &= 0x7F;
    y.reverse();
    let y_squared = square(element(&y));
    let (u, v) = (y_squared - Element::ONE, D * y_squared + Element::ONE);
    let cube = square(v) * v;
    let mut x = u * cube * (u * square(cube) * v).pow_vartime(&ROOT_EXPONENT);
    if v * square(x) != u {
        x *= ROOT_OF_MINUS_1;
    }
    if x.retrieve().to_le_bytes().as_ref()[0] & 1 != odd {
        x = -x;
    }
    (x.retrieve().to_be_bytes().into(), y)
}

/// The number, the highest byte first, modulo the prime.
fn element(bytes: &[u8; 32]) -> Element {
    Element::new(&U256::from_be_slice(bytes))
}

/// Not the library's own squaring: built for size, that keeps a check of an index, which could panic.
fn square(element: Element) -> Element {
    element * element
}
