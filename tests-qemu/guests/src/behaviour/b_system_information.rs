//! STORE SYSTEM INFORMATION: the current level is the logical partition (2), and its blocks are available.

use guests::attempt::suppressed;
use guests::check::{check, holds};
use guests::insn::cpu::{Page, stap, stfle, stsi};
use guests::{attempt_on_registers, shows};

guests::clause!(
    "SA22-7832, STORE SYSTEM INFORMATION; Millimeter: the guest is at the logical-partition level",
    native = false
);
guests::case!(run);

static mut BLOCK: Page = Page([0; 4096]);

/// What a byte of the block is before.
const BEFORE: u8 = 0x5A;

/// STORE SYSTEM INFORMATION with these registers: its number, and general register 0 afterwards. Register 1 has bits
/// 48-63 of its own.
fn store(zero: u64, one: u64, at: u64) -> (u64, u64) {
    let mut registers = [zero, one, at, 0, 0];
    let outcome = attempt_on_registers!("lgr %r1, %r2\n stsi 0(%r3)", &mut registers);
    // Without the instruction in front of it.
    let number = outcome.number();
    (if number > 3 { number - 4 } else { number }, registers[0])
}

/// A halfword of the block.
fn halfword(block: &Page, at: usize) -> u16 {
    u16::from_be_bytes([block.0[at], block.0[at + 1]])
}

fn run() {
    // SAFETY: the only reference.
    let block = unsafe { &mut *(&raw mut BLOCK) };
    let at = block.0.as_mut_ptr() as u64;
    block.0.fill(BEFORE);
    shows!(
        ["STSI-1", "STSI-2", "STSI-3"],
        store(0x1234_5678_0000_0000, 0, at + 1),
        (0, 0x1234_5678_2000_0000)
    );
    shows!("STSI-2", block.0.iter().all(|&byte| byte == BEFORE));
    blocks(block);
    unavailable(block);
    for n in 36..56 {
        let (number, _) = store(0x1000_0001 | 1 << (63 - n), 1, at);
        shows!("STSI-11", number, suppressed(6, 4));
    }
    for n in 32..48 {
        let (number, _) = store(0x1000_0001, 1 | 1 << (63 - n), at);
        shows!("STSI-12", number, suppressed(6, 4));
    }
    for offset in [1, 8, 2048] {
        shows!(
            "STSI-13",
            store(0x1000_0001, 1, at + offset).0,
            suppressed(6, 4)
        );
    }
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
}

/// The blocks that there are.
fn blocks(block: &mut Page) {
    let mut get = |function, selector_1, selector_2| {
        block.0.fill(BEFORE);
        let found = stsi(function, selector_1, selector_2, block);
        (
            found,
            halfword(block, 102),
            halfword(block, 38),
            block.0[4095],
        )
    };
    let before = |function: u64, selector: u64| function << 28 | selector;
    let (found, _, _, last) = get(1, 1, 1);
    shows!(["STSI-3", "STSI-4"], (found, last), ((0, before(1, 1)), 0));
    let (found, cpu, _, last) = get(1, 2, 1);
    shows!(
        ["STSI-3", "STSI-5"],
        (found, cpu, last),
        ((0, before(1, 2)), stap(), 0)
    );
    let (found, _, configured, last) = get(1, 2, 2);
    shows!("STSI-6", (found.0, configured, last), (0, 1, 0));
    let (found, cpu, _, last) = get(2, 2, 1);
    shows!(
        ["STSI-3", "STSI-7"],
        (found, cpu, last),
        ((0, before(2, 2)), stap(), 0)
    );
    let (found, _, configured, last) = get(2, 2, 2);
    shows!("STSI-8", (found.0, configured, last), (0, 1, 0));
    get(1, 1, 1);
    holds("1.1.1 has a manufacturer", block.0[32] != 0x40);
}

/// What there is not: level 3, and selectors without a block.
fn unavailable(block: &mut Page) {
    block.0.fill(BEFORE);
    for (function, selector_1, selector_2) in [(3, 2, 2), (4, 1, 1), (15, 1, 2)] {
        shows!("STSI-9", stsi(function, selector_1, selector_2, block).0, 3);
    }
    for (function, selector_1, selector_2) in
        [(1, 9, 1), (1, 1, 9), (1, 0, 0), (2, 1, 1), (2, 2, 7)]
    {
        shows!(
            "STSI-10",
            stsi(function, selector_1, selector_2, block).0,
            3
        );
    }
    shows!(
        ["STSI-9", "STSI-10"],
        block.0.iter().all(|&byte| byte == BEFORE)
    );
}
