//! SHA-3 and SHAKE (FIPS 202) for KIMD and KLMD.
//!
//! The parameter block is the state of 200 bytes, a string as FIPS 202 writes it: each lane of
//! eight bytes has its lowest byte leftmost.

use keccak::Keccak;

/// The suffix and the first bit of the padding that follow a message of SHA-3, and of SHAKE.
pub(super) const SHA3_PADDING: u8 = 0x06;
/// See [`SHA3_PADDING`].
pub(super) const SHAKE_PADDING: u8 = 0x1F;

/// Takes whole data blocks of `rate` bytes into the state.
pub(super) fn process(rate: usize, parameter: &mut [u8], input: &[u8]) {
    for block in input.chunks_exact(rate.max(1)) {
        super::cipher::exclusive_or(parameter, block);
        permute(parameter);
    }
}

/// KLMD: pads `rest`, which is shorter than `rate`, and takes it into the state.
pub(super) fn last(rate: usize, padding: u8, parameter: &mut [u8], rest: &[u8]) {
    super::cipher::exclusive_or(parameter, rest);
    for (place, bits) in [(rest.len(), padding), (rate - 1, 0x80)] {
        if let Some(byte) = parameter.get_mut(place) {
            *byte ^= bits;
        }
    }
    permute(parameter);
}

/// Fills `output` from the state, which is permuted before each block of `rate` bytes except the first
/// of a message (`continued` false).
pub(super) fn extend(rate: usize, mut continued: bool, parameter: &mut [u8], output: &mut [u8]) {
    for output in output.chunks_mut(rate.max(1)) {
        if continued {
            permute(parameter);
        }
        continued = true;
        for (to, from) in output.iter_mut().zip(&*parameter) {
            *to = *from;
        }
    }
}

fn permute(parameter: &mut [u8]) {
    let (bytes, _) = parameter.as_chunks_mut::<8>();
    let mut lanes = [0; 25];
    for (lane, bytes) in lanes.iter_mut().zip(&*bytes) {
        *lane = u64::from_le_bytes(*bytes);
    }
    Keccak::new().with_f1600(|f1600| f1600(&mut lanes));
    for (bytes, lane) in bytes.iter_mut().zip(lanes) {
        *bytes = lane.to_le_bytes();
    }
}
