//! Addresses in the 24-bit mode wrap at 16 MiB: those of operands, and that of the next instruction. (QEMU lets both run
//! beyond, hence not native. The machine wraps what it performs, and the instruction address when it traps.)

use guests::attempt::Outcome;
use guests::insn::control::{lctlg_all, stctg_all};
use guests::misdirected::{load, store};
use guests::{attempt, shows};

guests::clause!(
    "SA22-7832, Chapter 3, Address Size and Wraparound",
    native = false
);
guests::case!(run);

/// The end of the space of 24-bit addresses.
const END: u64 = 0x100_0000;
/// An address beyond it whose rightmost bits are the same as those of an address below.
const BEYOND: u64 = 0xABCD_0000_0000_0000 | END;

fn run() {
    let kept = stctg_all();
    let mut registers = kept;
    registers[4] = 0x1111_1111;
    registers[5] = 0x2222_2222;
    lctlg_all(&registers);
    let low: u64 = load(0);
    store(END, 0x7777_7777_7777_7777);
    store(0x900, 0_u64);
    // Bits above the mode's.
    let above = attempt!("sam24\n stctl 4, 5, 0({a})\n sam64", a = in(reg_addr) BEYOND | 0x900);
    shows!(
        "ADDRESS-1",
        (above.code(), load(0x900)),
        (0, 0x1111_1111_2222_2222)
    );
    store(0x900, 0_u64);
    let at_31 = 0xABCD_0000_8000_0900_u64;
    let above = attempt!("sam31\n stctl 4, 5, 0({a})\n sam64", a = in(reg_addr) at_31);
    shows!(
        "ADDRESS-2",
        (above.code(), load(0x900)),
        (0, 0x1111_1111_2222_2222)
    );
    let above = attempt!("stctl 4, 5, 0({a})", a = in(reg_addr) BEYOND | 0x900);
    shows!("ADDRESS-3", above.code(), 5);
    // The second of two words is at zero.
    let across = attempt!("sam24\n stctl 4, 5, 0({a})\n sam64", a = in(reg_addr) END - 4);
    let found = (load(END - 8) & 0xFFFF_FFFF, load(0) >> 32, load(END));
    shows!("ADDRESS-4", across.code(), 0);
    shows!(
        "ADDRESS-4",
        found,
        (0x1111_1111, 0x2222_2222, 0x7777_7777_7777_7777)
    );
    lctlg_all(&kept);
    // NOPR at the end, and an instruction that interrupts at zero.
    store(END - 8, 0x0700_0700_0700_0700);
    store(0, 0_u64);
    let across = attempt!("sam24\n basr %r1, {a}", a = in(reg_addr) END - 8);
    store(0, low);
    if let Outcome::Program(program) = across {
        shows!("ADDRESS-5", (program.code, program.old.address), (1, 2));
    } else {
        shows!("ADDRESS-5", across.code(), 1);
    }
}
