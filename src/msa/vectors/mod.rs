//! Published known answers, for the host's tests of the functions and for the guest that tests the
//! instructions. Each answer is here once, as its document prints it. Numbers are hexadecimal digits, in
//! which white space does not matter, and a leading number is the function code.

mod authentication;
mod ciphers;
mod curves;
mod digests;

pub use authentication::*;
pub use ciphers::*;
pub use curves::*;
pub use digests::*;
