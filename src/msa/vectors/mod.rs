//! Published known answers that two witnesses share: the host's tests of the functions, and the guest
//! that shows the instructions. Each answer is written here once, as its document prints it; numbers
//! are hexadecimal digits, in which white space does not matter, and a number in front is the function
//! code.

mod authentication;
mod ciphers;
mod curves;
mod digests;

pub use authentication::*;
pub use ciphers::*;
pub use curves::*;
pub use digests::*;
