//! SERVICE CALL and the service-call control blocks that guests need: console output and READ SCP INFO.

use core::arch::asm;
use core::sync::atomic::{AtomicBool, Ordering};

/// READ SCP INFO.
pub const READ_SCP_INFO: u32 = 0x0002_0001;
/// READ STORAGE INFO of storage element 0.
pub const READ_STORAGE_INFO: u32 = 0x0004_0001;
/// WRITE EVENT DATA.
pub const WRITE_EVENT_DATA: u32 = 0x0076_0005;
/// WRITE EVENT MASK.
pub const WRITE_EVENT_MASK: u32 = 0x0078_0005;
/// The event type of the ASCII console.
pub const ASCII_CONSOLE: u8 = 0x1A;
/// Bytes of text that one WRITE EVENT DATA carries.
pub const TEXT: usize = 4096 - 14;

/// A control block: length, function code, control mask, response code, then the command's data.
#[repr(C, align(4096))]
pub struct Sccb(pub [u8; 4096]);

static mut SCCB: Sccb = Sccb([0; 4096]);
static BUSY: AtomicBool = AtomicBool::new(false);

/// SERVICE CALL: command word in the first operand, real address of the block in the second.
/// Condition code 0 accepted, 2 busy, 3 not operational. Exceptions: specification, addressing,
/// privileged operation.
pub fn servc(command: u32, sccb: usize) -> u8 {
    let cc: u64;
    // SAFETY: the block is a whole page of the caller's.
    unsafe {
        asm!(
            ".insn rre,0xb2200000,{command},{sccb}",
            "ipm {cc}",
            "srlg {cc},{cc},28",
            command = in(reg) u64::from(command),
            sccb = in(reg) sccb,
            cc = lateout(reg) cc,
        );
    }
    cc as u8 & 3
}

/// Performs a command on the runtime's block: `fill` writes the block, `read` takes the answer out of it.
pub fn with_block<R>(
    command: u32,
    fill: impl FnOnce(&mut [u8; 4096]),
    read: impl FnOnce(&[u8; 4096]) -> R,
) -> R {
    while BUSY.swap(true, Ordering::Acquire) {
        crate::insn::yield_cpu();
    }
    // SAFETY: BUSY gives this CPU the only reference until it is released.
    let block = unsafe { &mut *(&raw mut SCCB) };
    block.0.fill(0);
    fill(&mut block.0);
    while servc(command, &raw const *block as usize) == 2 {
        crate::insn::yield_cpu();
    }
    let result = read(&block.0);
    BUSY.store(false, Ordering::Release);
    result
}

/// Writes text to the ASCII console, in as many blocks as it needs.
pub fn write_console(text: &[u8]) {
    for part in text.chunks(TEXT) {
        with_block(
            WRITE_EVENT_DATA,
            |block| {
                let event = (part.len() + 6) as u16;
                block[0..2].copy_from_slice(&(event + 8).to_be_bytes());
                block[8..10].copy_from_slice(&event.to_be_bytes());
                block[10] = ASCII_CONSOLE;
                block[14..14 + part.len()].copy_from_slice(part);
            },
            |_| (),
        );
    }
}

/// Where the first part of storage ends, if storage has a hole: READ STORAGE INFO lists the increments that are there.
#[must_use]
pub fn hole() -> Option<u64> {
    let request = |block: &mut [u8; 4096]| block[0..2].copy_from_slice(&4096_u16.to_be_bytes());
    let size = with_block(READ_SCP_INFO, request, |block| {
        (block[50] & 0x40 != 0).then_some(u64::from(block[10]) << 20)
    })?;
    with_block(READ_STORAGE_INFO, request, |block| {
        let entries = block[16..].chunks(4);
        let entries = entries.map(|entry| u64::from(u16::from_be_bytes([entry[0], entry[1]])));
        let gap = (1..).zip(entries).find(|(number, entry)| number != entry);
        gap.map(|(number, _)| (number - 1) * size)
    })
}

/// The end of storage in bytes, from READ SCP INFO: increment number times increment size.
#[must_use]
pub fn storage_end() -> usize {
    with_block(
        READ_SCP_INFO,
        |block| block[0..2].copy_from_slice(&4096_u16.to_be_bytes()),
        |block| {
            let number = u16::from_be_bytes([block[8], block[9]]) as usize;
            let mebibytes = match block[10] {
                0 => u32::from_be_bytes([block[100], block[101], block[102], block[103]]) as usize,
                size => size as usize,
            };
            number * mebibytes << 20
        },
    )
}
