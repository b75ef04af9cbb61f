//! Says where the kernel has put the number of its arguments, which is the first address of its stack.
#![no_std]
#![no_main]

use programs::{entry, say};

programs::program!(run);

fn run() -> u8 {
    let arguments = entry::start().arguments.addr();
    say!("{:x}\n", arguments - size_of::<u64>());
    0
}
