//! Where the host finds the guest in the storage of a machine that no longer answers.
//!
//! The prefix area of each real CPU is that of the architecture; at [`CPU`] it has the address of what the machine keeps
//! of the guest's CPU, which begins with [`GuestCpu`].

use zerocopy::byteorder::big_endian::U64;

/// In a prefix area: the address of the guest's CPU.
pub const CPU: usize = 0x200;

super::layout! {
    /// What the machine keeps of a CPU of the guest, as of the last trap.
    GuestCpu, 144 {
        /// General registers 0 to 15.
        registers: [U64; 16],
        /// The guest's PSW, bits 0-63.
        psw_mask: U64,
        /// The guest's PSW, bits 64-127.
        psw_address: U64,
    }
}
