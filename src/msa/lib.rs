//! The message-security assist: what its instructions compute, as functions of bytes.
//!
//! The Principles of Operation has thirteen instructions that encipher, digest, authenticate and
//! sign. All of them have a function code in general register 0 and a parameter block at the
//! address in general register 1. All that process a message may stop after any number of data
//! blocks with condition code 3, and write the chaining value back to the parameter block.
//! This room follows that: a [`Function`] is stateless, works on whole data blocks that the caller
//! has fetched, and leaves in the parameter block everything that the next piece needs. It does not
//! access storage, and does not know the lengths of operands or their access exceptions.
//!
//! To perform an instruction:
//!
//! 1. [`Instruction`] from the operation code, [`Control`] from general register 0.
//! 2. Function code 0: store [`query`] at the parameter block.
//! 3. [`Function::of`] is `None`, or [`Function::accepts`] false: specification exception. A length that
//!    is not a multiple of [`Function::data_block`]: specification exception (where
//!    [`Function::any_length`] is true, the last piece may be shorter).
//! 4. Fetch [`Function::parameter_length`] bytes of the parameter block.
//! 5. Process pieces of whole data blocks, each with the method of the instruction's class; after each,
//!    the operation may end with condition code 3.
//!
//! | instruction | whole blocks | last piece |
//! |---|---|---|
//! | KM, KMC, KMF, KMO | [`Function::process`] | |
//! | KMCTR | [`Function::process_counters`] | |
//! | KMAC, KIMD | [`Function::digest`] | |
//! | KLMD | [`Function::digest`] | [`Function::digest_last`], then for SHAKE [`Function::extend`] |
//! | KMA | [`Function::supply_hash_subkey`], [`Function::authenticate`], [`Function::process`] | the same two with a short piece, then [`Function::authentication_tag`] |
//! | PRNO | [`Function::generate`], from the end | the same; [`Function::seed`]; [`condition`] |
//! | PCC | | [`Function::compute`] |
//! | KDSA, ECDSA | | [`Function::sign_or_verify`] |
//! | KDSA, EdDSA | [`Function::signature`], [`Signature::take`] | [`Function::end_pass`] |
//!
//! 6. Store [`Function::updated`] of the parameter block.
//!
//! # What is not supplied
//!
//! Query bits are zero for the functions that take a key encrypted under a wrapping key of the machine
//! and for those of PCKMO that make one (a key that the program could read back from this machine's
//! storage would protect nothing), for Ed448 and X448 (KDSA 36 and 44, PCC 73 and 81), for KMC-PRNG
//! (67), and for what came with later assists than the ninth. PCKMO has its query only.
//!
//! # Sources
//!
//! The Principles of Operation were not at hand for most of this. The facts come from programs that were
//! written from it: Linux `arch/s390/crypto`, libica, libzpc, OpenSSL, Go, and Valgrind's extension for
//! s390x, which has the length of each parameter block and which operand is read, stored and advanced.
//! Each module names the programs that it follows, and says where it found none.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod algorithm;
mod cipher;
mod control;
mod function;
mod ghash;
mod instruction;
mod keccak;
mod km;
mod kma;
mod kmac;
mod kmc;
mod kmctr;
mod kmf;
mod kmo;
mod noise;
mod perform;
mod prno;
mod sha;
mod xts;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

pub use control::Control;
pub use curves::eddsa::Signature;
pub use function::{Engine, Function, query, query_accepts};
pub use instruction::Instruction;
pub use noise::Noise;
pub use prno::{CONDITIONING_RATIO, condition};
