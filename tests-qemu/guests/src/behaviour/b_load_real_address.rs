//! LOAD REAL ADDRESS tells which table entry ended the translation: condition code 1 and the address of the
//! segment-table entry, 2 and the address of the page-table entry, or 3 and an exception code. (QEMU always gives 3,
//! hence not native.)

use guests::attempt::{nullified, suppressed};
use guests::dat::{self, INVALID, PROTECTED, WINDOW, WINDOW_SEGMENT};
use guests::insn::control::{epsw, lctlg_all, stctg_all};
use guests::insn::cpu::Page;
use guests::psw::{self, bit, load_psw};
use guests::{attempt, attempt_in_problem_state, attempt_on_registers, shows};

guests::clause!(
    "SA22-7832, LOAD REAL ADDRESS; STORE REAL ADDRESS",
    native = false
);
guests::case!(run);

static mut PAGE: Page = Page([0; 4096]);

/// What R1 holds before.
const BEFORE: u64 = 0x1234_5678_9ABC_DEF0;
const LEFT: u64 = 0x1234_5678_0000_0000;
/// A bit of a page-table entry that must be zero.
const PAGE_ZERO: u64 = bit(52);
/// A frame above 2 GiB. It is not accessed.
const FAR: u64 = 1 << 31;
/// The secondary-space mode in a PSW.
const SECONDARY: u64 = bit(16);

/// A region-third table: the segment table of the runtime, then an invalid entry, then one of no table.
#[repr(C, align(4096))]
struct RegionTable([u64; 512]);
static mut REGIONS: RegionTable = RegionTable([0x20; 512]);

/// What an instruction of this family leaves: code, condition code and R1.
macro_rules! translate {
    ($text:literal, $at:expr) => {{
        let mut register = BEFORE;
        let outcome = attempt!($text, r = inout(reg) register, a = in(reg_addr) $at);
        (outcome.code(), outcome.condition_code(), register)
    }};
}

fn run() {
    let real = &raw const PAGE as u64;
    dat::prepare();
    dat::set_window(2, real | PROTECTED);
    dat::set_window(3, real | INVALID);
    dat::set_window(4, real | PAGE_ZERO);
    dat::set_window(5, FAR);
    // A page table beyond storage.
    dat::set_segment(WINDOW_SEGMENT + 2, 0x7000_0000);
    for on in [false, true] {
        if on {
            dat::on();
        }
        forms(real);
        far();
        stops();
        store_real_address(real);
        if on {
            dat::off();
        }
    }
    spaces(real);
    regions(real);
}

/// The three instructions in each addressing mode.
fn forms(real: u64) {
    let at = WINDOW + 0x2ABC;
    let found = (0, 0, real + 0xABC);
    shows!(
        ["LRA-1", "LRA-4", "LRA-6"],
        translate!("lrag {r}, 0({a})", at),
        found
    );
    shows!("LRA-2", translate!("lra {r}, 0({a})", at), found);
    shows!("LRA-2", translate!("lray {r}, 0({a})", at), found);
    let found = (0, 0, LEFT | (real + 0xABC));
    // More bits than the mode has.
    let wide = at | 0xFFFF_FFFF_8000_0000;
    let narrow = translate!("sam31\n lra {r}, 0({a})\n sam64", wide);
    shows!(["LRA-3", "LRA-16"], narrow, found);
    shows!(
        "LRA-3",
        translate!("sam31\n lray {r}, 0({a})\n sam64", wide),
        found
    );
    let own = translate!("sam24\n lra {r}, 0({a})\n sam64", real + 0xABC);
    shows!("LRA-3", own, found);
}

/// A real address that has more than 31 bits.
fn far() {
    let at = WINDOW + 0x5ABC;
    shows!(
        "LRA-1",
        translate!("lrag {r}, 0({a})", at),
        (0, 0, FAR + 0xABC)
    );
    shows!(
        "LRA-17",
        translate!("sam31\n lra {r}, 0({a})\n sam64", at),
        (0x13, 0xFF, BEFORE)
    );
    shows!(
        "LRA-17",
        translate!("sam31\n lray {r}, 0({a})\n sam64", at),
        (0x13, 0xFF, BEFORE)
    );
}

/// Where translations end that find no address.
fn stops() {
    let entry = dat::window_origin() + 3 * 8;
    let invalid = WINDOW + 0x3ABC;
    shows!(
        "LRA-8",
        translate!("lrag {r}, 0({a})", invalid),
        (0, 2, entry)
    );
    let narrow = translate!("sam31\n lra {r}, 0({a})\n sam64", invalid);
    shows!("LRA-8", narrow, (0, 2, LEFT | entry));
    let entry = dat::segment_entry(WINDOW_SEGMENT + 1);
    let invalid = WINDOW + (1 << 20);
    shows!(
        "LRA-7",
        translate!("lrag {r}, 0({a})", invalid),
        (0, 1, entry)
    );
    let narrow = translate!("sam31\n lra {r}, 0({a})\n sam64", invalid);
    shows!("LRA-7", narrow, (0, 1, LEFT | entry));
    // Beyond what a segment table can translate: the ASCE-type exception.
    let beyond = translate!("lrag {r}, 0({a})", 1_u64 << 33);
    shows!(["LRA-11", "LRA-12"], beyond, (0, 3, LEFT | 0x8000_0038));
    let wrong = attempt!("lrag %r1, 0({a})", a = in(reg_addr) WINDOW + 0x4000);
    shows!("LRA-13", wrong.number(), suppressed(0x12, 6));
    let nowhere = attempt!("lrag %r1, 0({a})", a = in(reg_addr) WINDOW + (2 << 20));
    shows!("LRA-14", nowhere.number(), suppressed(5, 6));
}

/// STORE REAL ADDRESS stores what LOAD REAL ADDRESS finds.
fn store_real_address(real: u64) {
    let mut stored = [0_u64; 2];
    let place = stored.as_mut_ptr() as u64;
    let store = |first: u64, second: u64| attempt!(".insn sse,0xe50200000000,0({f}),0({s})", f = in(reg_addr) first, s = in(reg_addr) second);
    let outcome = store(place, WINDOW + 0x2ABC);
    shows!(["STRAG-1", "STRAG-2", "STRAG-3"], outcome.code(), 0);
    shows!(["STRAG-1", "STRAG-2", "STRAG-3"], stored, [real + 0xABC, 0]);
    shows!(
        "STRAG-5",
        store(place + 4, WINDOW + 0x2ABC).number(),
        suppressed(6, 6)
    );
    stored = [BEFORE; 2];
    shows!(
        "STRAG-6",
        store(place, WINDOW + 0x3ABC).number(),
        nullified(0x11, 6)
    );
    shows!(
        "STRAG-6",
        store(place, WINDOW + (1 << 20)).number(),
        nullified(0x10, 6)
    );
    shows!(["STRAG-5", "STRAG-6"], stored, [BEFORE; 2]);
    for code in 0..4_u8 {
        let mut registers = [0, u64::from(code) << 28, place, WINDOW + 0x2ABC, 0];
        let kept = attempt_on_registers!(
            "spm %r2\n .insn sse,0xe50200000000,0(%r3),0(%r4)",
            &mut registers
        );
        shows!("STRAG-4", kept.condition_code(), code);
    }
    let problem = attempt_in_problem_state!(".insn sse,0xe50200000000,1(%r0),0(%r0)");
    shows!("STRAG-8", problem.number(), suppressed(2, 6));
    if epsw().0 & (psw::DAT >> 32) as u32 != 0 {
        shows!(
            "STRAG-7",
            store(WINDOW + 0x2000, WINDOW + 0x2ABC).number(),
            suppressed(4, 6)
        );
        shows!(
            "STRAG-7",
            store(WINDOW + 0x3000, WINDOW + 0x2ABC).number(),
            nullified(0x11, 6)
        );
    }
}

/// The space of the PSW: the secondary one is a real space, which translates every address to itself.
fn spaces(real: u64) {
    let saved = stctg_all();
    let mut control = saved;
    control[7] = bit(58);
    lctlg_all(&control);
    let at = WINDOW + 0x2ABC;
    load_psw(psw::INITIAL | SECONDARY);
    let mut secondary = BEFORE;
    // SAFETY: reads tables only.
    unsafe {
        core::arch::asm!("lrag {r}, 0({a})", r = inout(reg) secondary, a = in(reg_addr) at);
    }
    load_psw(psw::INITIAL);
    lctlg_all(&saved);
    shows!("LRA-5", secondary, at);
    shows!(
        "LRA-5",
        translate!("lrag {r}, 0({a})", at),
        (0, 0, real + 0xABC)
    );
}

/// A region-third table: its first entry leads to the segment table, its second is invalid, its third has a segment
/// table without the second quarter.
fn regions(real: u64) {
    let saved = stctg_all();
    let mut control = saved;
    let table = &raw const REGIONS as u64;
    let segments = saved[1] & !0xFFF;
    // SAFETY: the table is the program's, and not in use yet.
    unsafe {
        let table = (&raw mut REGIONS).cast::<u64>();
        table.write_volatile(segments | 0b0111);
        table.add(1).write_volatile(0x20 | 0b0100);
        table.add(2).write_volatile(segments | 0b0100);
    }
    // Designation type 01, table length 0: 512 entries.
    control[1] = table | 0b0100;
    lctlg_all(&control);
    let first = translate!("lrag {r}, 0({a})", WINDOW + 0x2ABC);
    let invalid = translate!("lrag {r}, 0({a})", 1_u64 << 31);
    let short = translate!("lrag {r}, 0({a})", (2_u64 << 31) + (512 << 20));
    let beyond = translate!("lrag {r}, 0({a})", 512_u64 << 31);
    lctlg_all(&saved);
    shows!("LRA-1", first, (0, 0, real + 0xABC));
    shows!(["LRA-10", "LRA-11"], invalid, (0, 3, LEFT | 0x8000_003B));
    shows!(["LRA-9", "LRA-11"], short, (0, 3, LEFT | 0x8000_0010));
    shows!(["LRA-9", "LRA-11"], beyond, (0, 3, LEFT | 0x8000_003B));
}
