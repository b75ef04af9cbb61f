//! The CPU itself: address, identity, facilities, prefix, and signals to other CPUs.

use core::arch::asm;

/// STORE CPU ADDRESS.
#[must_use]
pub fn stap() -> u16 {
    let mut value = 0_u16;
    // SAFETY: stores two bytes into a local.
    unsafe { asm!("stap 0({a})", a = in(reg_addr) &raw mut value) };
    value
}

/// STORE CPU ID.
#[must_use]
pub fn stidp() -> u64 {
    let mut value = 0_u64;
    // SAFETY: stores eight bytes into a local.
    unsafe { asm!("stidp 0({a})", a = in(reg_addr) &raw mut value) };
    value
}

/// STORE FACILITY LIST: the word at real location 200.
#[must_use]
pub fn stfl() -> u32 {
    // SAFETY: stores into this CPU's prefix area.
    unsafe { asm!("stfl 0") };
    crate::lowcore::read(crate::lowcore::FACILITY_LIST)
}

/// STORE FACILITY LIST EXTENDED: as many doublewords as `list` has. The results are the condition
/// code (0 complete, 3 more follow) and the number of doublewords the machine has.
pub fn stfle(list: &mut [u64]) -> (u8, usize) {
    let (cc, count): (u64, u64);
    // SAFETY: stores at most the doublewords that `list` has.
    unsafe {
        asm!(
            "stfle 0({a})",
            "ipm {c}",
            a = in(reg_addr) list.as_mut_ptr(),
            c = out(reg) cc,
            inout("r0") list.len() as u64 - 1 => count,
        );
    }
    ((cc >> 28) as u8 & 3, (count as usize & 0xFF) + 1)
}

/// Whether STORE FACILITY LIST EXTENDED shows a facility bit.
#[must_use]
pub fn facility(bit: usize) -> bool {
    let mut list = [0; 4];
    stfle(&mut list);
    list[bit / 64] >> (63 - bit % 64) & 1 == 1
}

/// STORE SYSTEM INFORMATION: function code, selectors, block. The results are the condition code and
/// general register 0 (function 0: the current level in bits 32-35).
pub fn stsi(function: u32, selector_1: u32, selector_2: u32, block: &mut Page) -> (u8, u64) {
    let (cc, r0): (u64, u64);
    // SAFETY: stores into a whole page.
    unsafe {
        asm!(
            "stsi 0({a})",
            "ipm {c}",
            a = in(reg_addr) block.0.as_mut_ptr(),
            c = out(reg) cc,
            inout("r0") u64::from(function << 28 | selector_1) => r0,
            in("r1") u64::from(selector_2),
        );
    }
    ((cc >> 28) as u8 & 3, r0)
}

/// 4 KiB on a boundary of their own size.
#[repr(C, align(4096))]
pub struct Page(pub [u8; 4096]);

impl Page {
    /// Puts halfwords of instruction text at an offset.
    ///
    /// # Safety
    /// Nothing refers to the page.
    pub unsafe fn put(page: *mut Self, offset: usize, halfwords: &[u16]) {
        assert!(offset + 2 * halfwords.len() <= size_of::<Self>());
        for (index, &halfword) in halfwords.iter().enumerate() {
            // SAFETY: inside the page, which the caller alone uses.
            unsafe {
                let at = page.cast::<u8>().add(offset + 2 * index).cast::<u16>();
                at.write_volatile(halfword);
            }
        }
    }
}

/// STORE PREFIX.
#[must_use]
pub fn stpx() -> u32 {
    let mut value = 0_u32;
    // SAFETY: stores four bytes into a local.
    unsafe { asm!("stpx 0({a})", a = in(reg_addr) &raw mut value) };
    value
}

/// SET PREFIX. The new prefix area must hold new PSWs.
pub fn spx(prefix: u32) {
    // SAFETY: the caller has made the area.
    unsafe { asm!("spx 0({a})", a = in(reg_addr) &raw const prefix) }
}

/// Orders of SIGNAL PROCESSOR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Order {
    /// Sense.
    Sense = 1,
    /// External call.
    ExternalCall = 2,
    /// Emergency signal.
    EmergencySignal = 3,
    /// Start.
    Start = 4,
    /// Stop.
    Stop = 5,
    /// Restart.
    Restart = 6,
    /// Stop and store status.
    StopAndStoreStatus = 9,
    /// Initial CPU reset.
    InitialCpuReset = 0xB,
    /// CPU reset.
    CpuReset = 0xC,
    /// Set prefix.
    SetPrefix = 0xD,
    /// Store status at address.
    StoreStatusAtAddress = 0xE,
    /// Set architecture.
    SetArchitecture = 0x12,
    /// Conditional emergency signal.
    ConditionalEmergencySignal = 0x13,
    /// Sense running status.
    SenseRunningStatus = 0x15,
    /// Set multithreading.
    SetMultithreading = 0x16,
    /// Store additional status at address.
    StoreAdditionalStatusAtAddress = 0x17,
    /// An order that no machine assigns.
    Unassigned = 0xFE,
}

/// SIGNAL PROCESSOR. Condition code 0 accepted, 1 status stored (the second result), 2 busy, 3 not
/// operational.
pub fn sigp(cpu: u16, order: Order, parameter: u32) -> (u8, u32) {
    let (cc, status): (u64, u64);
    // SAFETY: the caller wants what the order does to the other CPU.
    unsafe {
        asm!(
            "sigp %r2,{cpu},0({order})",
            "ipm {c}",
            cpu = in(reg) u64::from(cpu),
            order = in(reg_addr) order as u64,
            c = out(reg) cc,
            inout("r2") 0_u64 => status,
            in("r3") u64::from(parameter),
        );
    }
    ((cc >> 28) as u8 & 3, status as u32)
}
