//! PERFORM RANDOM NUMBER OPERATION: SHA-512-DRNG, and true random numbers from entropy that the
//! caller supplies.
//!
//! SHA-512-DRNG is Hash_DRBG of SP 800-90A. Its parameter block:
//!
//! | bytes | field |
//! |---|---|
//! | 0-3 | reserved |
//! | 4-7 | reseed counter: requests since the last seed, and one; zero before the first seed |
//! | 8-15 | stream bytes: how much was generated since the first seed |
//! | 16-127 | V, 888 bits at the right |
//! | 128-239 | C, likewise |
//!
//! A request is filled from its end to its beginning. V does not change until all of it is filled, so the
//! remaining length determines the next block, and a request that was stopped needs no other state.
//!
//! Sources: Linux `arch/s390/crypto/prng.c` (the fields, a known answer, and the stream bytes as the
//! count of all that was generated); libica `s390_drbg_sha512.c` (the first seed finds zeros, a later
//! one leaves the stream bytes, and one request may be of 64 KiB); Valgrind's extension for s390x (the
//! operand is filled from right to left, and only the length in the register goes down). No public
//! source was found for a reseed counter that is at its largest, nor for the ratio of function 112:
//! Linux only reads that it has one.

use sha2::{Digest, Sha512};

/// The operand that function 112 of PRNO stores: the ratio of raw entropy (bytes 0-3) to conditioned bytes
/// (bytes 4-7), four to one.
pub const CONDITIONING_RATIO: [u8; 8] = [0, 0, 0, 4, 0, 0, 0, 1];

/// PRNO, TRNG: 64 conditioned bytes from 256 raw ones. The machine has no noise of its own: `raw` comes
/// from [`Noise`](super::Noise), and the same run gives the same bytes.
#[must_use]
pub fn condition(raw: &[u8; 256]) -> [u8; 64] {
    Sha512::digest(raw).into()
}

const RESEED_COUNTER: core::ops::Range<usize> = 4..8;
const STREAM_BYTES: core::ops::Range<usize> = 8..16;
/// V and C without the byte of zeros at their left.
const V: core::ops::Range<usize> = 17..128;
const C: core::ops::Range<usize> = 129..240;
/// A value of 888 bits.
const VALUE: usize = 111;

/// The parameter block.
type Parameter = [u8; C.end];

/// The longest seed material of one request in bytes.
const MAXIMUM_SEED: usize = 512;

/// Whether the generator was ever seeded.
pub(super) fn is_seeded(parameter: &Parameter) -> bool {
    parameter[RESEED_COUNTER] != [0; 4]
}

/// Instantiates the generator, or seeds it again.
pub(super) fn seed(parameter: &mut Parameter, entropy: &[u8]) {
    let entropy = &entropy[..entropy.len().min(MAXIMUM_SEED)];
    let v = if is_seeded(parameter) {
        derive(&[&[1], &parameter[V], entropy])
    } else {
        parameter[STREAM_BYTES].fill(0);
        derive(&[entropy])
    };
    let c = derive(&[&[0], &v]);
    parameter[..RESEED_COUNTER.start].fill(0);
    parameter[RESEED_COUNTER].copy_from_slice(&1_u32.to_be_bytes());
    parameter[V.start - 1] = 0;
    parameter[V].copy_from_slice(&v);
    parameter[C.start - 1] = 0;
    parameter[C].copy_from_slice(&c);
}

/// Hash_df: 888 bits from the material.
fn derive(material: &[&[u8]]) -> [u8; VALUE] {
    let mut value = [0; VALUE];
    for (part, counter) in value.chunks_mut(64).zip(1_u8..) {
        let mut digest = Sha512::new_with_prefix([counter]);
        digest.update((8 * VALUE as u32).to_be_bytes());
        for material in material {
            digest.update(material);
        }
        for (to, from) in part.iter_mut().zip(digest.finalize()) {
            *to = from;
        }
    }
    value
}

/// Bytes of the request, from block `first` on: Hashgen.
pub(super) fn generate(parameter: &mut Parameter, first: u64, output: &mut [u8]) {
    let mut data = [0; VALUE];
    data.copy_from_slice(&parameter[V]);
    add(&mut data, &first.to_be_bytes());
    for output in output.chunks_mut(64) {
        for (to, from) in output.iter_mut().zip(Sha512::digest(data)) {
            *to = from;
        }
        add(&mut data, &[1]);
    }
    let stream = &mut parameter[STREAM_BYTES];
    let before = u64::from_be_bytes(stream.first_chunk().copied().unwrap_or_default());
    let after = before.wrapping_add(output.len() as u64);
    stream.copy_from_slice(&after.to_be_bytes());
}

/// Ends the request and advances the generator.
pub(super) fn complete(parameter: &mut Parameter) {
    let mut v = [0; VALUE];
    v.copy_from_slice(&parameter[V]);
    let hash = Sha512::new_with_prefix([3]).chain_update(v).finalize();
    add(&mut v, &hash);
    add(&mut v, &parameter[C]);
    add(&mut v, &parameter[RESEED_COUNTER]);
    parameter[V].copy_from_slice(&v);
    let requests = u32::from_be_bytes(
        parameter[RESEED_COUNTER]
            .first_chunk()
            .copied()
            .unwrap_or_default(),
    );
    // A counter that wrapped to zero would look like a generator that was never seeded.
    let requests = requests.saturating_add(1);
    parameter[RESEED_COUNTER].copy_from_slice(&requests.to_be_bytes());
}

/// The sum modulo 2 to the 888, the numbers aligned at the right.
fn add(value: &mut [u8; VALUE], addend: &[u8]) {
    let mut carry = 0;
    let addend = addend.iter().rev().copied().chain(core::iter::repeat(0));
    for (byte, addend) in value.iter_mut().rev().zip(addend) {
        let sum = u16::from(*byte) + u16::from(addend) + carry;
        *byte = sum as u8;
        carry = sum >> 8;
    }
}
