//! STORE SYSTEM INFORMATION: the current level is the logical partition (2), and its blocks are available.

use guests::attempt;
use guests::check::{check, holds};
use guests::insn::cpu::{Page, stap, stfle, stsi};

guests::clause!(
    "Principles of Operation, STORE SYSTEM INFORMATION; Millimeter: the guest is at the logical-partition level",
    native = false
);
guests::case!(run);

static mut BLOCK: Page = Page([0; 4096]);

fn run() {
    // SAFETY: the only reference.
    let block = unsafe { &mut *(&raw mut BLOCK) };
    let (cc, r0) = stsi(0, 0, 0, block);
    check("function 0: condition code", cc, 0);
    check("current level", r0 >> 28 & 0xF, 2);
    for (function, selector_1, selector_2) in
        [(1, 1, 1), (1, 2, 1), (1, 2, 2), (2, 2, 1), (2, 2, 2)]
    {
        block.0.fill(0);
        let (cc, _) = stsi(function, selector_1, selector_2, block);
        let which = u64::from(function << 8 | selector_1 << 4 | selector_2);
        check(
            "block is there, condition code",
            which << 4 | u64::from(cc),
            which << 4,
        );
        holds("it holds something", block.0.iter().any(|&byte| byte != 0));
    }
    stsi(2, 2, 1, block);
    check(
        "2.2.1: CPU address (bytes 102-103)",
        u16::from_be_bytes([block.0[102], block.0[103]]),
        stap(),
    );
    stsi(2, 2, 2, block);
    holds(
        "2.2.2: at least one configured CPU (bytes 38-39)",
        u16::from_be_bytes([block.0[38], block.0[39]]) >= 1,
    );
    check(
        "level 3 is not there, condition code",
        stsi(3, 2, 2, block).0,
        3,
    );
    check(
        "an unassigned selector, condition code",
        stsi(1, 9, 1, block).0,
        3,
    );
    let mut facilities = [0; 1];
    stfle(&mut facilities);
    check(
        "configuration topology, facility bit 11",
        facilities[0] >> (63 - 11) & 1,
        0,
    );
    for selector in [1, 2, 6] {
        let (cc, _) = stsi(15, 1, selector, block);
        check("so there is no 15.1.x, condition code", cc, 3);
    }
    let page = block.0.as_mut_ptr() as u64;
    let odd = attempt!(
        "lgr %r4, %r0\n lgfi %r0, 0x10000001\n lghi %r1, 1\n stsi 0({a})\n lgr %r0, %r4",
        a = in(reg_addr) page + 8,
    );
    check("block not on a page boundary: code", odd.code(), 6);
    let reserved = attempt!(
        "lgr %r4, %r0\n lgfi %r0, 0x10000101\n lghi %r1, 1\n stsi 0({a})\n lgr %r0, %r4",
        a = in(reg_addr) page,
    );
    check(
        "a reserved bit of register 0 is one: code",
        reserved.code(),
        6,
    );
}
