//! An instruction stores by another address into its own page, or into the page of its EXECUTE target; an operand in
//! the secondary space has the same address as the instruction itself; MOVE PAGE with the condition-code option
//! reports only invalid pages; MOVE WITH OPTIONAL SPECIFICATIONS stores into the home space.

use core::arch::asm;

use guests::attempt::Outcome;
use guests::attempt_on_registers;
use guests::check::check;
use guests::dat::{self, INVALID, WINDOW};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::Page;
use guests::insn::storage::ptlb;
use guests::misdirected::store;

guests::clause!(
    "Principles of Operation, Conceptual Sequence; EXECUTE; MOVE PAGE; MOVE WITH OPTIONAL SPECIFICATIONS",
    native = true
);
guests::case!(run);

/// The condition-code option of MOVE PAGE.
const OPTION: u64 = 0x100;

static mut TEXT: Page = Page([0; 4096]);
static mut OTHER: Page = Page([0; 4096]);

/// Tables of the secondary space: 512 segments, and the pages of the window.
static mut SECONDARY: Page = Page([0; 4096]);
static mut SECONDARY_PAGES: Page = Page([0; 4096]);
/// The secondary-space control of control register 0.
const SECONDARY_SPACE: u64 = 1 << (63 - 37);
/// The instruction-execution-protection control of control register 0, and the bit of a page-table entry.
const EXECUTION_PROTECTION: u64 = 1 << (63 - 43);
const NOT_EXECUTED: u64 = 0x100;

/// Attempts an instruction with operands at the addresses in registers 2 and 3, controls in register 0, and a length
/// in register 5.
macro_rules! attempt_move {
    ($text:literal, $controls:expr, $to:expr, $from:expr) => {
        attempt_on_registers!($text, &mut [$controls, $to, $from, 0, 8])
    };
}

/// MOVE PAGE with these controls. Returns the program-interruption code or the condition code.
fn mvpg(controls: u64, to: u64, from: u64) -> u64 {
    match attempt_move!(".insn rre,0xb2540000,%r2,%r3", controls, to, from) {
        Outcome::Completed(code) => code.into(),
        other => other.code().into(),
    }
}

fn run() {
    dat::prepare();
    let text = &raw mut TEXT as u64;
    for (page, frame) in [(0, text), (3, text), (5, &raw mut OTHER as u64)] {
        dat::set_window(page, frame);
    }
    dat::set_window(7, text | INVALID);
    // SAFETY: a page of the guest's. AGSI of the doubleword at 0x200(2), BR 14; the AGSI alone, for EXECUTE.
    unsafe {
        Page::put(&raw mut TEXT, 0, &[0xEB01, 0x2200, 0x007A, 0x07FE]);
        Page::put(&raw mut TEXT, 0x100, &[0xEB01, 0x2200, 0x007A]);
    }
    dat::on();
    for n in 1..4_u64 {
        // SAFETY: the text above returns.
        unsafe {
            asm!("basr %r14, {c}", c = in(reg_addr) WINDOW, in("r2") WINDOW + 0x3000, out("r14") _);
            asm!("ex 0, 0({c})", c = in(reg_addr) WINDOW + 0x100, in("r2") WINDOW + 0x3000);
        }
        // SAFETY: a word of the page.
        let word = unsafe { ((WINDOW + 0x3200) as *const u64).read_volatile() };
        check("stored by another address", word, 2 * n);
    }
    // The first access to a page must not look like an access to an invalid page.
    let (text, other, invalid) = (WINDOW + 0x3000, WINDOW + 0x5000, WINDOW + 0x7000);
    check("MVPG of valid pages", mvpg(OPTION, other, text), 0);
    check("MVPG to an invalid page", mvpg(OPTION, invalid, text), 1);
    check("MVPG from an invalid page", mvpg(OPTION, other, invalid), 2);
    check("MVPG without the option", mvpg(0, other, invalid), 0x11);
    let moved = attempt_move!(
        ".insn ssf,0xc80000000000,0x800(%r2),0x200(%r3),%r5",
        0x00C1_0000_u64,
        other,
        text
    );
    check("MVCOS into the home space", moved.number(), 0);
    // SAFETY: a doubleword of the page.
    let moved = unsafe { ((WINDOW + 0x5800) as *const u64).read_volatile() };
    check("  what it moved", moved, 6);
    secondary();
    dat::off();
}

/// In the secondary-space mode an instruction in the primary space fetches and stores at its own address, which
/// designates another page there: first a page that contains the bits of EXTRACT PSW, then one that must not be
/// executed.
fn secondary() {
    let (text, other) = (&raw mut TEXT, &raw mut OTHER);
    let (segments, pages) = (&raw mut SECONDARY as u64, &raw mut SECONDARY_PAGES as u64);
    store(segments + 8 * dat::WINDOW_SEGMENT as u64, pages);
    store(other as u64 + 0x308, 0x1234);
    // SACF 0x100; LG 3,0x404(2); LG 4,0x308(2); AGSI 0x308(2),1; SACF 0; BR 14.
    let instructions = [
        0xB279, 0x0100, 0xE330, 0x2404, 0x0004, 0xE340, 0x2308, 0x0004, 0xEB01, 0x2308, 0x007A,
        0xB279, 0, 0x07FE,
    ];
    // SAFETY: pages of the guest's. EPSW 2,3 and BR 14 stand where LG has its address.
    unsafe {
        Page::put(text, 0x400, &instructions);
        Page::put(other, 0x404, &[0xB98D, 0x0023, 0x07FE, 0]);
    }
    dat::set_window(1, text as u64);
    let before = stctg_all();
    let mut registers = before;
    registers[0] |= SECONDARY_SPACE | EXECUTION_PROTECTION;
    registers[7] = segments;
    lctlg_all(&registers);
    for (n, more) in [(0, 0), (1, 0), (2, NOT_EXECUTED), (3, NOT_EXECUTED)] {
        store(pages + 8, other as u64 | more);
        ptlb();
        let page = WINDOW + 0x1000;
        let (at_it, fetched): (u64, u64);
        // SAFETY: the text above returns.
        unsafe {
            asm!(
                "basr %r14, {c}",
                c = in(reg_addr) page + 0x400,
                in("r2") page,
                out("r3") at_it,
                out("r4") fetched,
                out("r14") _,
            );
        }
        check(
            "fetched at the instruction's address",
            at_it,
            0xB98D_0023_07FE_0000,
        );
        check("fetched from the same page", fetched, 0x1234 + n);
    }
    // SAFETY: doublewords of the pages.
    let (own, there) = unsafe {
        let at = |page: *mut Page| page.cast::<u64>().add(0x308 / 8).read_volatile();
        (at(text), at(other))
    };
    check("the instruction's own page", own, 0);
    check("the page in the secondary space", there, 0x1238);
    lctlg_all(&before);
}
