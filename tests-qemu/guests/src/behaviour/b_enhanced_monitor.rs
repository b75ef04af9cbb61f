//! The enhanced-monitor facility: a monitor call whose class has both masks counts in the CPU's array instead of
//! interrupting. Checks bounds, carries, inaccessible storage, and the address space of the array.

use core::ptr;

use guests::attempt::{interrupted, suppressed};
use guests::check::{check, holds};
use guests::dat::{self, INVALID, PROTECTED, PageTable, SEGMENT_INVALID, WINDOW, WINDOW_SEGMENT};
use guests::insn::control::{lctlg_0, lctlg_8, lctlg_all, stctg_0, stctg_all};
use guests::insn::cpu::facility;
use guests::insn::measurement::{controls, ecctr, lcctl, set};
use guests::insn::storage::ptlb;
use guests::monitor::{ALL_COUNTED, counted, designate, enabled, exceptions, mc};
use guests::{attempt, attempt_in_problem_state, lowcore, shows};

guests::clause!(
    "SA22-7832, Chapter 4, Monitoring (enhanced-monitor facility); Chapter 7, MONITOR CALL",
    native = false
);
guests::case!(run);

const MONITOR_EVENT: u16 = 0x40;
const SPECIFICATION: u16 = 6;
/// Counters of the array.
const SIZE: u32 = 16;
/// Low-address protection, in control register 0.
const LOW_ADDRESS_PROTECTION: u64 = 1 << 28;

/// An array of counters: halfwords, and words behind them.
#[repr(C, align(4096))]
struct Array([u8; 8192]);

static mut ARRAY: Array = Array([0; 8192]);

/// The address of the array.
fn array() -> u64 {
    &raw const ARRAY as u64
}

/// Fetches from storage whose virtual addresses are its real ones, or with DAT off.
fn halfword(at: u64) -> u16 {
    // SAFETY: storage of the array or of a frame that nothing else uses.
    unsafe { ptr::read_volatile(ptr::with_exposed_provenance(at as usize)) }
}

fn word(at: u64) -> u32 {
    let halves = [halfword(at), halfword(at + 2)];
    u32::from(halves[0]) << 16 | u32::from(halves[1])
}

fn set_halfword(at: u64, value: u16) {
    // SAFETY: as above.
    unsafe { ptr::write_volatile(ptr::with_exposed_provenance_mut(at as usize), value) }
}

fn clear(at: u64, bytes: u64) {
    (0..bytes)
        .step_by(2)
        .for_each(|offset| set_halfword(at + offset, 0));
}

/// An array at the beginning of [`ARRAY`], all zeros.
fn fresh(size: u32) -> u64 {
    clear(array(), 8192);
    designate(array(), size);
    array()
}

fn masks() {
    let at = fresh(SIZE);
    lctlg_8(counted(3) | enabled(4) | counted(5) & !enabled(5));
    let both = (attempt!("mc 7(%r0), 3").code(), halfword(at + 14));
    shows!(["ENHANCEDMONITOR-1", "MC-8"], both, (0, 1));
    let event = attempt!("mc 7(%r0), 4").number();
    let stored = (
        lowcore::read::<u16>(lowcore::MONITOR_CLASS),
        lowcore::read::<u64>(lowcore::MONITOR_CODE),
    );
    shows!(
        "ENHANCEDMONITOR-2",
        (event, stored),
        (suppressed(MONITOR_EVENT, 4), (4, 7))
    );
    let nothing = [
        attempt!("mc 7(%r0), 5").code(),
        attempt!("mc 7(%r0), 6").code(),
    ];
    shows!(
        ["ENHANCEDMONITOR-3", "MC-4", "MC-11"],
        (nothing, halfword(at + 14)),
        ([0, 0], 1)
    );
    check(
        "class 16",
        attempt!("mc 7(%r0), 16").number(),
        suppressed(SPECIFICATION, 4),
    );
    lctlg_8(ALL_COUNTED);
    for class in 0..16 {
        let ended = attempt!(
            "exrl {c}, 34f\n j 35f\n 34: mc 9(%r0), 0\n 35:",
            c = in(reg_addr) u64::from(class as u8),
        );
        check("any class, executed", ended.code(), 0);
    }
    shows!("ENHANCEDMONITOR-4", halfword(at + 18), 16);
    let ended = attempt_in_problem_state!("mc 9(%r0), 1");
    shows!(
        "ENHANCEDMONITOR-5",
        (ended.code(), halfword(at + 18)),
        (0, 17)
    );
    shows!("ENHANCEDMONITOR-5", exceptions(), 0);
}

/// Each monitor call is one instruction, and an EXECUTE of it two, whatever its effect.
fn instructions() {
    fresh(SIZE);
    lcctl(controls(set::BASIC, set::BASIC));
    for (name, control8) in [("no effect", 0), ("counted", ALL_COUNTED)] {
        lctlg_8(control8);
        // SAFETY: counts, and changes only the registers that it names.
        let [first, second] = unsafe {
            let (first, last): (u64, u64);
            core::arch::asm!(
                ".insn rre,0xb2e40000,{f},{n}",
                "mc 3(%r0), 1",
                "mc 3(%r0), 1",
                "mc 3(%r0), 1",
                ".insn rre,0xb2e40000,{l},{n}",
                n = in(reg) 1_u64,
                f = out(reg) first,
                l = out(reg) last,
            );
            let plain = last - first;
            let (first, last): (u64, u64);
            core::arch::asm!(
                "j 36f",
                "35: mc 3(%r0), 1",
                "36: larl {t}, 35b",
                ".insn rre,0xb2e40000,{f},{n}",
                "exrl %r0, 35b",
                "ex %r0, 0({t})",
                ".insn rre,0xb2e40000,{l},{n}",
                n = in(reg) 1_u64,
                f = out(reg) first,
                l = out(reg) last,
                t = out(reg_addr) _,
            );
            [plain, last - first]
        };
        guests::println!("{name}");
        check("  three and one ECCTR", first, 4);
        check("  two executed and one ECCTR", second, 5);
    }
    lctlg_8(enabled(1));
    let before = ecctr(1).1;
    let _ = attempt!("nopr 0");
    let without = ecctr(1).1 - before;
    let before = ecctr(1).1;
    let _ = attempt!("mc 3(%r0), 1");
    let with = ecctr(1).1 - before;
    holds("a monitor event completes", with > without);
    lcctl(0);
}

fn carries() {
    let at = fresh(SIZE);
    lctlg_8(ALL_COUNTED);
    let words = at + 2 * u64::from(SIZE);
    for _ in 0..0x1_0003 {
        mc::<2>(5);
    }
    shows!(
        ["ENHANCEDMONITOR-6", "MC-8", "MC-9"],
        (halfword(at + 10), word(words + 20)),
        (3, 1)
    );
    set_halfword(at + 10, 0xFFFF);
    set_halfword(words + 20, 0xFFFF);
    set_halfword(words + 22, 0xFFFF);
    mc::<2>(5);
    shows!(
        ["ENHANCEDMONITOR-6", "MC-9"],
        (halfword(at + 10), word(words + 20)),
        (0, 0)
    );
    check("  its neighbours", word(words + 16) | word(words + 24), 0);
    // With an odd number of counters the words are not on a word boundary. One of them crosses a page boundary.
    let at = fresh(1365);
    let number = (4096 - 2 - 2 * 1365) / 4;
    let place = at + 2 * 1365 + 4 * number;
    check("a word across a page boundary", place & 0xFFF, 0xFFE);
    set_halfword(at + 2 * number, 0xFFFF);
    set_halfword(place + 2, 0xFFFF);
    mc::<2>(number);
    check("  carries across it", word(place), 0x1_0000);
    check("no exception", exceptions(), 0);
}

fn bounds() {
    let at = fresh(SIZE);
    lctlg_8(ALL_COUNTED);
    for (code, expected) in [
        (15, 0),
        (16, 1),
        (17, 2),
        (u64::MAX, 3),
        (1 << 63, 4),
        (1 << 32, 5),
    ] {
        mc::<0>(code);
        shows!(["ENHANCEDMONITOR-7", "MC-10"], exceptions(), expected);
    }
    shows!("ENHANCEDMONITOR-7", halfword(at + 30), 1);
    lowcore::write(guests::monitor::SIZE, 0_u32);
    mc::<0>(0);
    check("an array without counters", exceptions(), 6);
    lowcore::write(guests::monitor::EXCEPTIONS, u32::MAX);
    mc::<0>(0);
    check("the exception count wraps", exceptions(), 0);
    designate(at + 7, SIZE);
    mc::<0>(2);
    check("an origin on no boundary", halfword(at + 4), 1);
}

/// Addresses without storage of the guest: beyond its end, where the storage of the machine begins, and elsewhere.
fn elsewhere() {
    lctlg_8(ALL_COUNTED);
    let end = storage_end();
    for (name, origin, code, expected) in [
        ("behind the end of storage", end, 0, 1),
        ("across it: in storage", end - 8, 3, 0),
        ("across it: behind", end - 8, 4, 1),
        ("far behind", 1 << 40, 3, 1),
        ("at the end of the address space", u64::MAX, 3, 1),
        ("in the highest 2 GiB", 0x7FFF_F000, 3, 1),
    ] {
        designate(origin, SIZE);
        let call = attempt!("mc 0({a}), 0", a = in(reg_addr) code as u64).code();
        if expected == 0 {
            check(name, call, 0);
            check("  exceptions", exceptions(), 0);
        } else {
            shows!("MC-12", (call, exceptions()), (0, expected));
        }
    }
    // The machine's storage has not changed: the machine would stop the guest otherwise.
    designate(u64::MAX, 0x1000);
    let at = 0xB00_u64;
    set_halfword(at, 0);
    mc::<0>(4 + at / 2);
    check("an array that wraps goes on at 0", halfword(at), 1);
    check("  exceptions", exceptions(), 0);
    designate(at, SIZE);
    let cr0 = stctg_0();
    lctlg_0(cr0 | LOW_ADDRESS_PROTECTION);
    mc::<0>(0);
    check(
        "low-address protection, not in what it covers",
        halfword(at),
        2,
    );
    designate_protected(0x1F0);
    mc::<0>(7);
    mc::<0>(8);
    lctlg_0(cr0);
    check("low-address protection: exceptions", exceptions(), 1);
}

/// Like [`designate`], while low-address protection is on.
fn designate_protected(origin: u64) {
    let cr0 = stctg_0();
    lctlg_0(cr0 & !LOW_ADDRESS_PROTECTION);
    set_halfword(origin + 14, 0);
    designate(origin, SIZE);
    lctlg_0(cr0);
}

/// The end of the guest's storage. Nothing can be fetched beyond it.
fn storage_end() -> u64 {
    let mut end = 16_u64 << 20;
    while attempt!("lg %r1, 0({a})", a = in(reg_addr) end).code() == 0 {
        end += 1 << 20;
    }
    end
}

/// 2048 segment-table entries.
#[repr(C, align(16384))]
struct SegmentTable([u64; 2048]);

static mut HOME: SegmentTable = SegmentTable([SEGMENT_INVALID; 2048]);
static mut HOME_PAGES: PageTable = PageTable([INVALID; 256]);

/// A frame that nothing else uses, inside the identity.
const FRAMES: u64 = 0x90_0000;

fn set_home(page: usize, entry: u64) {
    // SAFETY: an entry of the table, and CPU 0 alone uses it.
    unsafe { (&raw mut HOME_PAGES.0[page]).write_volatile(entry) };
    ptlb();
}

/// The array in the home space, which contains nothing else.
fn home_space() {
    dat::prepare();
    // SAFETY: as above.
    unsafe {
        (&raw mut HOME.0[WINDOW_SEGMENT]).write_volatile(&raw const HOME_PAGES as u64);
    }
    let mut registers = stctg_all();
    registers[13] = &raw const HOME as u64 | 3;
    registers[8] = ALL_COUNTED;
    lctlg_all(&registers);
    clear(FRAMES, 4 * 4096);
    // Halfwords on page 0, words on pages 1 and 2.
    designate(WINDOW, 2048);
    mc::<0>(1);
    shows!(
        "ENHANCEDMONITOR-8",
        (exceptions(), halfword(WINDOW + 2)),
        (0, 1)
    );
    clear(WINDOW, 4);
    dat::on();
    mc::<0>(1);
    shows!("ENHANCEDMONITOR-10", exceptions(), 1);
    set_home(0, FRAMES);
    set_home(1, FRAMES + 0x1000);
    mc::<0>(1);
    shows!("ENHANCEDMONITOR-9", halfword(FRAMES + 2), 1);
    set_halfword(FRAMES + 2, 0xFFFF);
    mc::<0>(1);
    check("a carry: halfword", halfword(FRAMES + 2), 0);
    check("  word", word(FRAMES + 0x1004), 1);
    set_halfword(FRAMES + 3000, 0xFFFF);
    mc::<0>(1500);
    check(
        "no page for the word: halfword",
        halfword(FRAMES + 3000),
        0xFFFF,
    );
    check("  exceptions", exceptions(), 2);
    set_home(2, FRAMES + 0x2000 | PROTECTED);
    mc::<0>(1500);
    check(
        "a protected page for the word: halfword",
        halfword(FRAMES + 3000),
        0xFFFF,
    );
    check("  exceptions", exceptions(), 3);
    set_home(2, FRAMES + 0x2000);
    mc::<0>(1500);
    check("and a page for it: halfword", halfword(FRAMES + 3000), 0);
    check("  word", word(FRAMES + 0x1000 + 6000), 1);
    set_home(0, FRAMES | PROTECTED);
    mc::<0>(1);
    shows!("ENHANCEDMONITOR-10", exceptions(), 4);
    set_home(0, FRAMES + 0x3000);
    mc::<0>(1);
    check("another page, after a purge", halfword(FRAMES + 0x3002), 1);
    for (name, asce) in [
        ("a segment table beyond storage", 1_u64 << 40 | 3),
        (
            "a table of the wrong type",
            (&raw const HOME as u64) | 4 | 3,
        ),
        ("a short table", &raw const HOME as u64),
    ] {
        let before = exceptions();
        registers = stctg_all();
        registers[13] = asce;
        // A short table has 512 entries; the window is entry 64. There is no entry beyond the 512.
        lctlg_all(&registers);
        let origin = if asce & 3 == 3 { WINDOW } else { 0x4000_0000 };
        lowcore::write(guests::monitor::ORIGIN, origin);
        check(name, attempt!("mc 1(%r0), 0").code(), 0);
        check("  exceptions", exceptions(), before + 1);
    }
    dat::off();
    lctlg_8(0);
}

fn run() {
    holds("facility 36", facility(36));
    masks();
    instructions();
    carries();
    bounds();
    elsewhere();
    home_space();
    lctlg_8(enabled(1));
    check(
        "and an event is an event",
        attempt!("mc 1(%r0), 1").number(),
        interrupted(MONITOR_EVENT, 4, 4),
    );
    lctlg_8(0);
}
