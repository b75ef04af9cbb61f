//! GHASH (SP 800-38D): the Galois-field multiplier of KIMD and KMA.
//!
//! POLYVAL is the same field with its bytes reversed, apart from one factor (RFC 8452, appendix A).

use polyval::hazmat::FieldElement;

/// Takes the whole blocks of `input` into `hash` with the hash subkey.
pub(super) fn process(hash: &mut [u8; 16], subkey: [u8; 16], input: &[u8]) {
    let subkey = FieldElement::from(subkey).reverse().mulx();
    let mut state = FieldElement::from(*hash).reverse();
    for block in input.as_chunks().0 {
        state = (state + FieldElement::from(*block).reverse()) * subkey;
    }
    *hash = state.reverse().into();
}

/// The product of two elements, bit 0 leftmost.
pub(super) fn product(left: [u8; 16], right: [u8; 16]) -> [u8; 16] {
    let right = FieldElement::from(right).reverse().mulx();
    (FieldElement::from(left).reverse() * right)
        .reverse()
        .into()
}
