//! SERVICE CALL: READ SCP INFO and WRITE EVENT DATA answer in the block. The block also reports a command that is not
//! assigned, and a block that is too short. A block that is not aligned is a specification exception.

use guests::attempt;
use guests::check::{check, holds};
use guests::insn::cpu::Page;
use guests::sccb::{READ_SCP_INFO, WRITE_EVENT_DATA, servc, storage_end};

guests::clause!(
    "SCLP: SERVICE CALL, READ SCP INFO, WRITE EVENT DATA, response codes",
    native = true
);
guests::case!(run);

static mut BLOCK: Page = Page([0; 4096]);

/// Condition code and response code of a command on a block of this length.
fn perform(command: u32, length: u16, fill: impl FnOnce(&mut [u8; 4096])) -> u32 {
    // SAFETY: the only reference.
    let block = unsafe { &mut (*(&raw mut BLOCK)).0 };
    block.fill(0);
    block[0..2].copy_from_slice(&length.to_be_bytes());
    fill(block);
    let cc = servc(command, &raw const BLOCK as usize);
    // SAFETY: the only reference.
    let block = unsafe { &(*(&raw const BLOCK)).0 };
    u32::from(cc) << 16 | u32::from(u16::from_be_bytes([block[6], block[7]]))
}

fn run() {
    check(
        "READ SCP INFO",
        perform(READ_SCP_INFO, 4096, |_| ()),
        0x0010,
    );
    let end = storage_end();
    holds(
        "storage ends on a megabyte, at 4 MiB or above",
        end >= 4 << 20 && end.is_multiple_of(1 << 20),
    );
    check(
        "READ SCP INFO in 16 bytes",
        perform(READ_SCP_INFO, 16, |_| ()),
        0x0300,
    );
    check(
        "a command that is not assigned",
        perform(0x00AA_0001, 4096, |_| ()),
        0x01F0,
    );
    let written = perform(WRITE_EVENT_DATA, 8 + 6 + 6, |block| {
        block[8..10].copy_from_slice(&12_u16.to_be_bytes());
        block[10] = 0x1A;
        block[14..20].copy_from_slice(b"hello\n");
    });
    check("WRITE EVENT DATA to the ASCII console", written, 0x0020);
    let command = u64::from(READ_SCP_INFO);
    let block = &raw mut BLOCK as u64;
    let at = |address: u64| {
        attempt!(".insn rre,0xb2200000,{c},{a}", c = in(reg) command, a = in(reg) address).code()
    };
    check("block on a word boundary", at(block + 4), 6);
    check("block in real 0-1FFF", at(0x1000), 6);
    check("block beyond storage", at(0x7000_0000), 5);
    check(
        "a block with a length that crosses its page",
        perform_at_end(),
        0x0100,
    );
}

/// READ SCP INFO with a block of 16 bytes length that begins 8 bytes before the page's end.
fn perform_at_end() -> u32 {
    // SAFETY: inside the block. The length exceeds the page, which is the purpose of the test.
    unsafe {
        let at = (&raw mut BLOCK as *mut u8).add(4096 - 8);
        at.cast::<[u8; 8]>().write([0, 16, 0, 0, 0, 0, 0, 0]);
        let cc = servc(READ_SCP_INFO, at as usize);
        let answer = at.cast::<[u8; 8]>().read_volatile();
        u32::from(cc) << 16 | u32::from(u16::from_be_bytes([answer[6], answer[7]]))
    }
}
