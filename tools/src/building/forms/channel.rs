//! What an IPL loads last.

/// IPL PSW of 64 bits: disabled, 31-bit addressing (bits 12 and 32 one), at this address.
pub const fn ipl_psw(address: u64) -> u64 {
    0x0008_0000_8000_0000 | address
}
