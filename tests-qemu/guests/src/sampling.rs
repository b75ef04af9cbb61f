//! A sampling buffer of the guest: one table, some blocks, and functions to read them.

use core::ptr::{read_volatile, write_volatile};

use crate::insn::cpu::Page;
use crate::insn::measurement::{ACTIVATE_BASIC, ENABLE_BASIC, SamplingRequest, lsctl};

/// Blocks there are.
pub const BLOCKS: usize = 16;
/// Data entries of 32 bytes in a 4 KiB block.
pub const ENTRIES: usize = (4096 - 64) / 32;
/// Trailer bit 0 of the first doubleword: block full.
pub const FULL: u64 = 1 << 63;
/// Trailer bit 1: alert request.
pub const ALERT: u64 = 1 << 62;
/// Trailer bit 2: the timestamp is in STORE CLOCK EXTENDED format.
pub const EXTENDED_TIMESTAMP: u64 = 1 << 61;
/// Offset of the trailer in a 4 KiB block.
pub const TRAILER: usize = 4096 - 64;

#[repr(C, align(4096))]
struct Table([u64; 512]);

static mut TABLE: Table = Table([0; 512]);
static mut SECOND_TABLE: Table = Table([0; 512]);
static mut DATA: [Page; BLOCKS] = [const { Page([0; 4096]) }; BLOCKS];

/// A basic-sampling data entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Entry {
    /// Data-entry format code, 0001.
    pub format: u16,
    /// Bits 16-31: R, U, T, W, P, AS, I.
    pub state: u16,
    /// Bits 32-47: CL, H, LS.
    pub level: u16,
    /// Primary address-space number.
    pub asn: u16,
    /// Instruction address.
    pub address: u64,
    /// Guest program parameter.
    pub guest_parameter: u64,
    /// Host program parameter.
    pub host_parameter: u64,
}

/// The origin of the table.
#[must_use]
pub fn table() -> u64 {
    &raw const TABLE as u64
}

/// The origin of the second table.
#[must_use]
pub fn second_table() -> u64 {
    &raw const SECOND_TABLE as u64
}

/// The origin of a block.
#[must_use]
pub fn block(n: usize) -> u64 {
    assert!(n < BLOCKS);
    &raw const DATA as u64 + 4096 * n as u64
}

/// Sets an entry of the table (the second one for `n` from 512).
pub fn set_table_entry(n: usize, entry: u64) {
    let table = if n < 512 { table() } else { second_table() };
    // SAFETY: inside one of the tables.
    unsafe { write_volatile((table as *mut u64).add(n % 512), entry) }
}

/// Clears the blocks, links `count` of them in the table, and links the table to itself behind them. The request
/// enables and activates basic sampling at this interval from the first block on.
#[must_use]
pub fn prepare(count: usize, interval: u64) -> SamplingRequest {
    for n in 0..BLOCKS {
        for m in 0..512 {
            // SAFETY: inside a block.
            unsafe { write_volatile((block(n) as *mut u64).add(m), 0) };
        }
    }
    for n in 0..count {
        set_table_entry(n, block(n));
    }
    set_table_entry(count, table() | 1);
    SamplingRequest {
        state: ENABLE_BASIC | ACTIVATE_BASIC,
        interval,
        tear: table(),
        dear: block(0),
        ignored: [0; 4],
    }
}

/// Disables both sampling functions.
pub fn stop() -> u8 {
    lsctl(&SamplingRequest::default())
}

/// A data entry of a block.
#[must_use]
pub fn entry(n: usize, m: usize) -> Entry {
    // SAFETY: inside a block; any bytes are an entry.
    unsafe { read_volatile((block(n) as *const Entry).add(m)) }
}

/// A doubleword of a block's trailer: 0 flags and sizes, 1 overflow count, 2-3 timestamp, 4-7 the rest.
#[must_use]
pub fn trailer(n: usize, doubleword: usize) -> u64 {
    // SAFETY: inside the trailer.
    unsafe { read_volatile(((block(n) + TRAILER as u64) as *const u64).add(doubleword)) }
}

/// Stores a doubleword of a block's trailer.
pub fn set_trailer(n: usize, doubleword: usize, value: u64) {
    // SAFETY: inside the trailer.
    unsafe {
        write_volatile(
            ((block(n) + TRAILER as u64) as *mut u64).add(doubleword),
            value,
        )
    }
}

/// How many entries of a block are stored: those with a format code that is not zero.
#[must_use]
pub fn stored(n: usize) -> usize {
    (0..ENTRIES)
        .take_while(|&m| entry(n, m).format != 0)
        .count()
}

/// Performs a loop of `turns` instructions between two labels. Returns the address range of the loop.
pub fn busy(turns: u64) -> core::ops::Range<u64> {
    let (start, end): (u64, u64);
    // SAFETY: registers only.
    unsafe {
        core::arch::asm!(
            "larl {s}, 40f",
            "larl {e}, 41f",
            "40: brctg {n}, 40b",
            "41:",
            s = out(reg) start,
            e = out(reg) end,
            n = inout(reg) turns => _,
        );
    }
    start..end
}

/// Resets the block-full indicator and the overflow count and sets the alert request, by COMPARE DOUBLE AND SWAP,
/// because the machine may update the trailer at the same time.
pub fn free_block(n: usize, alert: bool) {
    let at = block(n) + TRAILER as u64;
    loop {
        let (flags, count) = (trailer(n, 0), trailer(n, 1));
        let new = flags & !(FULL | ALERT) | if alert { ALERT } else { 0 };
        let cc: u64;
        // SAFETY: the trailer of a block, on a quadword boundary.
        unsafe {
            core::arch::asm!(
                "cdsg %r2, %r4, 0({a})",
                "ipm {c}",
                a = in(reg_addr) at,
                c = out(reg) cc,
                inout("r2") flags => _,
                inout("r3") count => _,
                in("r4") new,
                in("r5") 0_u64,
            );
        }
        if cc >> 28 & 3 == 0 {
            return;
        }
    }
}

/// Samples at an interval, and returns the program parameter in a sample.
pub fn parameter(interval: u64) -> u64 {
    lsctl(&prepare(4, interval));
    busy(4 * interval);
    stop();
    entry(0, 1).guest_parameter
}
