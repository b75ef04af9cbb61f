//! The address spaces of the translation modes, and what the translation-exception identification says of each access
//! that is refused.

use core::arch::asm;

use guests::attempt::{Outcome, ProgramInterruption};
use guests::dat::{self, INVALID, PROTECTED, PageTable, WINDOW, WINDOW_SEGMENT};
use guests::insn::control::{lctlg_0, lctlg_all, stctg_0, stctg_all};
use guests::insn::cpu::Page;
use guests::insn::storage::ptlb;
use guests::misdirected::{load, store};
use guests::psw::bit;
use guests::{attempt, attempt_in_problem_state, shows};

guests::clause!(
    "SA22-7832, Chapter 3, Translation Modes; Assigned Storage Locations (translation-exception identification)",
    native = true
);
guests::case!(run);

/// The first 512 entries of a segment table for each space; the window is the only segment that differs.
#[repr(C, align(4096))]
struct Segments([u64; 512]);

static mut SEGMENTS: [Segments; 3] = [const { Segments([dat::SEGMENT_INVALID; 512]) }; 3];
static mut PAGES: [PageTable; 3] = [const { PageTable([INVALID; 256]) }; 3];
static mut FRAMES: [Page; 3] = [const { Page([0; 4096]) }; 3];

/// Instruction-execution protection in a page-table entry, and its enablement in control register 0.
const NO_EXECUTION: u64 = bit(55);
const EXECUTION_PROTECTION: u64 = bit(43);
const LOW_ADDRESS_PROTECTION: u64 = bit(35);
const SECONDARY_SPACE: u64 = bit(37);
const REAL_SPACE: u64 = bit(58);

/// Pages of each space's window: its own frame, an invalid one, a protected one, and one without execution.
const OWN: u64 = WINDOW;
const NOT_VALID: u64 = WINDOW + 0x1000;
const NO_STORES: u64 = WINDOW + 0x2000;
const NO_FETCHES: u64 = WINDOW + 0x3000;

fn frame(space: usize) -> u64 {
    // SAFETY: the address only.
    unsafe { &raw const FRAMES[space] as u64 }
}

/// Makes the spaces: 0 primary, 1 secondary, 2 home. The frame of each begins with its number and a routine that
/// returns its number.
fn prepare() -> [u64; 16] {
    dat::prepare();
    let mut registers = stctg_all();
    for (space, register) in [1, 7, 13].into_iter().enumerate() {
        // SAFETY: tables that DAT does not use yet.
        let (segments, pages) = unsafe {
            (
                &mut *(&raw mut SEGMENTS[space].0),
                &mut *(&raw mut PAGES[space].0),
            )
        };
        for (n, entry) in segments.iter_mut().enumerate().take(16) {
            *entry = load(dat::segment_entry(n));
        }
        segments[WINDOW_SEGMENT] = &raw const *pages as u64;
        pages[0] = frame(space);
        pages[2] = frame(space) | PROTECTED;
        pages[3] = frame(space) | NO_EXECUTION;
        store(frame(space), space as u64);
        // LGHI 2,space; BR 14. Then BR 1; LR 1,1.
        store(
            frame(space) + 0x100,
            0xA729_0000_07FE_0700 | (space as u64) << 32,
        );
        store(frame(space) + 0x108, 0x07F1_1811_0000_0000);
        registers[register] = &raw const *segments as u64;
    }
    registers[0] |= SECONDARY_SPACE;
    registers
}

/// Fetches from the window in the mode that SET ADDRESS SPACE CONTROL FAST names.
macro_rules! fetched_in {
    ($mode:literal) => {{
        let value: u64;
        // SAFETY: all spaces have the program's pages at the same addresses.
        unsafe {
            asm!(concat!("sacf ", $mode), "lg {v}, 0({a})", "sacf 0", v = out(reg) value, a = in(reg_addr) OWN);
        }
        value
    }};
}

/// Executes the routine in the window in that mode.
macro_rules! executed_in {
    ($mode:literal) => {{
        let value: u64;
        // SAFETY: as above; the routine returns.
        unsafe {
            asm!(
                concat!("sacf ", $mode),
                "basr %r14, {a}",
                "sacf 0",
                a = in(reg_addr) OWN + 0x100,
                out("r2") value,
                out("r14") _,
            );
        }
        value
    }};
}

/// The interruption of an attempt: code and identification.
fn met(outcome: Outcome) -> (u16, u64) {
    match outcome {
        Outcome::Program(ProgramInterruption { code, teid, .. }) => (code, teid),
        _ => (0, 0),
    }
}

macro_rules! fetch {
    ($mode:literal, $at:expr) => {
        met(attempt!(concat!("sacf ", $mode, "\n lg %r1, 0({a})\n sacf 0"), a = in(reg_addr) $at))
    };
}

macro_rules! store {
    ($mode:literal, $at:expr) => {
        met(attempt!(concat!("sacf ", $mode, "\n mvghi 0({a}), 1\n sacf 0"), a = in(reg_addr) $at))
    };
}

const PAGE_TRANSLATION: u16 = 0x11;
const PROTECTION: u16 = 4;

/// Identification: a fetch, a store, and the kinds of protection.
const FETCH: u64 = bit(52);
const STORE: u64 = bit(53);
const BY_DAT: u64 = bit(61);
const BY_LOW_ADDRESS: u64 = bit(56);
const BY_EXECUTION: u64 = bit(56) | bit(61);
const SECONDARY: u64 = 2;
const HOME: u64 = 3;

fn modes() {
    shows!("SPACE-1", load(frame(0)), 0);
    shows!("SPACE-2", (fetched_in!("0"), executed_in!("0")), (0, 0));
    shows!("SPACE-3", fetched_in!("0x100"), 1);
    shows!("SPACE-4", executed_in!("0x100"), 0);
    shows!(
        "SPACE-5",
        (fetched_in!("0x300"), executed_in!("0x300")),
        (2, 2)
    );
    let mut registers = stctg_all();
    registers[7] = REAL_SPACE;
    lctlg_all(&registers);
    let value: u64;
    // SAFETY: as in the macro.
    unsafe {
        asm!("sacf 0x100", "lg {v}, 0({a})", "sacf 0", v = out(reg) value, a = in(reg_addr) frame(2));
    }
    shows!("SPACE-6", value, 2);
}

fn identifications() {
    // The whole of it, but for the bits of the address that it does not have.
    shows!(
        "TEID-1",
        fetch!("0", NOT_VALID + 0x123),
        (PAGE_TRANSLATION, NOT_VALID | FETCH)
    );
    shows!("TEID-2", fetch!("0", NOT_VALID + 0x123).1 & 3, 0);
    shows!("TEID-2", fetch!("0x100", NOT_VALID).1 & 3, SECONDARY);
    shows!("TEID-2", fetch!("0x300", NOT_VALID).1 & 3, HOME);
    shows!(
        "TEID-3",
        fetch!("0x100", NOT_VALID).1 & (FETCH | STORE),
        FETCH
    );
    shows!(
        "TEID-3",
        store!("0x100", NOT_VALID).1 & (FETCH | STORE),
        STORE
    );
    // The first byte that is refused is on the second page.
    shows!("TEID-4", fetch!("0", NOT_VALID - 4).1, NOT_VALID | FETCH);
    shows!(
        "TEID-5",
        store!("0", NO_STORES + 8),
        (PROTECTION, NO_STORES | STORE | BY_DAT)
    );
    shows!(
        "TEID-5",
        store!("0x300", NO_STORES + 8),
        (PROTECTION, NO_STORES | STORE | BY_DAT | HOME)
    );
    let problem = attempt_in_problem_state!("lg %r1, 0({a})", a = in(reg_addr) NOT_VALID);
    shows!(
        "TEID-6",
        met(problem),
        (PAGE_TRANSLATION, NOT_VALID | FETCH)
    );
    // Instructions come from the primary space in the secondary-space mode.
    let executed = attempt!("sacf 0x100\n basr %r1, {a}", a = in(reg_addr) NOT_VALID + 0x100);
    shows!(
        "TEID-7",
        met(executed),
        (PAGE_TRANSLATION, NOT_VALID | FETCH)
    );
    let executed = attempt!("sacf 0x300\n basr %r1, {a}", a = in(reg_addr) NOT_VALID + 0x100);
    shows!(
        "TEID-7",
        met(executed),
        (PAGE_TRANSLATION, NOT_VALID | FETCH | HOME)
    );
}

/// Which locations an interruption leaves alone.
fn left_alone() {
    let invalid = met(attempt!("lg %r1, 0({a})", a = in(reg_addr) NOT_VALID));
    let operation = attempt!(".short 0");
    shows!(
        "TEID-8",
        (operation.code(), met(operation).1),
        (1, invalid.1)
    );
    let addressing = attempt!("lg %r1, 0({a})", a = in(reg_addr) WINDOW + 0x4000);
    shows!(
        "TEID-8",
        (addressing.code(), met(addressing).1),
        (5, invalid.1)
    );
}

/// Executes the second routine in a page, which returns by general register 1.
fn run_at(at: u64) -> Outcome {
    attempt!("basr %r1, {a}", a = in(reg_addr) at + 0x108)
}

fn execution_protection() {
    let cr0 = stctg_0();
    shows!("EXECUTIONPROTECTION-1", run_at(NO_FETCHES).code(), 0);
    lctlg_0(cr0 | EXECUTION_PROTECTION);
    let executed = run_at(NO_FETCHES);
    let target = attempt!("ex %r0, 0({a})", a = in(reg_addr) NO_FETCHES + 0x10A);
    let fetched = attempt!("lg %r1, 0({a})", a = in(reg_addr) NO_FETCHES);
    let stored = attempt!("mvghi 8({a}), 1", a = in(reg_addr) NO_FETCHES);
    let elsewhere = run_at(OWN);
    lctlg_0(cr0);
    shows!(
        ["EXECUTIONPROTECTION-2", "TEID-11"],
        met(executed),
        (PROTECTION, NO_FETCHES | FETCH | BY_EXECUTION)
    );
    shows!(
        "EXECUTIONPROTECTION-3",
        met(target),
        (PROTECTION, NO_FETCHES | FETCH | BY_EXECUTION)
    );
    shows!(
        "EXECUTIONPROTECTION-4",
        (fetched.code(), stored.code()),
        (0, 0)
    );
    shows!("EXECUTIONPROTECTION-5", elsewhere.code(), 0);
}

fn low_addresses() {
    let cr0 = stctg_0();
    lctlg_0(cr0 | LOW_ADDRESS_PROTECTION);
    let found = [
        store!("0", 0x180_u64),
        store!("0x100", 0x1180_u64),
        store!("0x300", 0x8_u64),
    ];
    lctlg_0(cr0);
    let kind = STORE | BY_LOW_ADDRESS;
    shows!("TEID-9", found[0], (PROTECTION, kind));
    shows!("TEID-9", found[1], (PROTECTION, 0x1000 | kind | SECONDARY));
    shows!("TEID-9", found[2], (PROTECTION, kind | HOME));
}

fn run() {
    let kept = stctg_all();
    let registers = prepare();
    // SAFETY: an entry of a table that DAT does not use yet. Beyond storage.
    unsafe { PAGES[0].0[4] = 1 << 40 };
    lctlg_all(&registers);
    dat::on();
    ptlb();
    modes();
    lctlg_all(&registers);
    identifications();
    left_alone();
    execution_protection();
    low_addresses();
    dat::off();
    lctlg_all(&kept);
}
