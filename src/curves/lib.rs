//! The elliptic curves of the message-security assist: the signatures of KDSA and the scalar
//! multiplications of PCC.
//!
//! They are a crate apart from the other functions because they are built for size, the others for speed:
//! generic code, as that of the libraries here is, is compiled with the options of the crate that chooses
//! its types. So nothing that this crate offers is generic.
//!
//! Each operation is on a parameter block, and nothing here panics when it is too short. The tests are those
//! of the instructions, in `src/msa/tests`. Each module names its sources.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod ecdsa;
pub mod eddsa;
pub mod edwards;
