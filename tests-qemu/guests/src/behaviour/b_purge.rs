//! After an instruction that purges translations or invalidates a table entry, no CPU that it concerns uses a translation
//! from before it. Two pages of frames lie at the same virtual address, one after the other.

use core::ptr::{read_volatile, with_exposed_provenance, write_volatile};
use core::sync::atomic::{AtomicU64, Ordering};

use guests::attempt::{Outcome, suppressed};
use guests::dat::{self, INVALID, SEGMENT_INVALID, WINDOW, WINDOW_SEGMENT};
use guests::insn::control::stctg_all;
use guests::insn::cpu::Page;
use guests::insn::storage::{ptlb, sske, with_psw_key};
use guests::insn::yield_cpu;
use guests::psw::bit;
use guests::{attempt, attempt_on_registers, shows, smp};

guests::clause!(
    "SA22-7832, COMPARE AND SWAP AND PURGE; INVALIDATE DAT TABLE ENTRY; INVALIDATE PAGE TABLE ENTRY; PURGE TLB",
    native = true,
    cpus = 2
);
guests::case!(run);

/// Two frames that tell which they are.
static mut FRAMES: [Page; 2] = [const { Page([0; 4096]) }; 2];

/// How many times the other CPU was asked to look, and has looked; and what it found.
static ASKED: AtomicU64 = AtomicU64::new(0);
static LOOKED: AtomicU64 = AtomicU64::new(0);
static FOUND: AtomicU64 = AtomicU64::new(0);

/// What [`look`] finds in an invalid page or segment.
const NOTHING: u64 = 0xFFFF;

/// The first doubleword at an address of the window, as this CPU translates it.
fn look() -> u64 {
    let mut found = 0_u64;
    let outcome = attempt!("lg {f}, 0({a})", f = inout(reg) found, a = in(reg_addr) WINDOW);
    if outcome.code() == 0 {
        found
    } else {
        NOTHING | u64::from(outcome.code()) << 16
    }
}

/// Looks with DAT on whenever it is asked to.
extern "C" fn other() -> ! {
    dat::load();
    let mut done = 0;
    loop {
        let asked = ASKED.load(Ordering::Acquire);
        if asked == done {
            yield_cpu();
            continue;
        }
        dat::on();
        let found = look();
        dat::off();
        FOUND.store(found, Ordering::Relaxed);
        done = asked;
        LOOKED.store(done, Ordering::Release);
    }
}

/// What both CPUs find: this one, and the other.
fn both() -> [u64; 2] {
    dat::on();
    let mine = look();
    dat::off();
    let asked = ASKED.load(Ordering::Relaxed) + 1;
    ASKED.store(asked, Ordering::Release);
    while LOOKED.load(Ordering::Acquire) != asked {
        yield_cpu();
    }
    [mine, FOUND.load(Ordering::Relaxed)]
}

/// Makes both CPUs use the first frame.
fn use_first_frame() {
    dat::set_window(0, &raw const FRAMES as u64);
    ptlb_everywhere();
    assert!(both() == [1, 1]);
}

/// Uses the first frame on both CPUs, changes the page-table entry to the second without an invalidation, and purges.
fn after(purge: impl FnOnce()) -> [u64; 2] {
    use_first_frame();
    dat::set_window(0, &raw const FRAMES as u64 + 4096);
    purge();
    both()
}

/// Purges the TLBs of both CPUs.
fn ptlb_everywhere() {
    let mut word = 0_u64;
    let mut registers = [0, 0, 0, &raw mut word as u64 | 1, 0];
    let _ = attempt_on_registers!("csp %r2, %r4", &mut registers);
}

fn run() {
    let frames = &raw mut FRAMES as *mut u64;
    // SAFETY: the frames are the program's own.
    unsafe {
        write_volatile(frames, 1);
        write_volatile(frames.add(512), 2);
    }
    dat::prepare();
    smp::start(1, other);
    compare_and_swap();
    purge_tlb();
    page_table_entry();
    table_entry();
    smp::stop_others();
}

fn compare_and_swap() {
    let mut operand = [0x3333_3333_4444_4444_u64];
    let at = operand.as_mut_ptr() as u64;
    let mut registers = [0, 0xAAAA_AAAA_5555_5555, 0x6666_6666, at, 0];
    let outcome = attempt_on_registers!("csp %r2, %r4", &mut registers);
    shows!(
        ["CSP-2", "CSP-3"],
        (outcome.condition_code(), doubleword(at), registers[1]),
        (1, 0x3333_3333_4444_4444, 0xAAAA_AAAA_3333_3333)
    );
    let mut registers = [0, 0x3333_3333_5555_5555, 0, at, 0];
    let outcome = attempt_on_registers!("cspg %r2, %r4", &mut registers);
    shows!(
        ["CSP-2", "CSP-4"],
        (outcome.condition_code(), doubleword(at), registers[1]),
        (1, 0x3333_3333_4444_4444, 0x3333_3333_4444_4444)
    );
    let mut zero = 0_u64;
    let request = &raw mut zero as u64 | 1;
    let found = after(|| {
        let _ = attempt_on_registers!("csp %r2, %r4", &mut [0, 0, 0, request, 0]);
    });
    shows!("CSP-7", found[0], 2);
    shows!("CSP-8", found[1], 2);
    let found = after(|| {
        let _ = attempt_on_registers!("cspg %r2, %r4", &mut [0, 0, 0, request, 0]);
    });
    shows!("CSP-7", found[0], 2);
    shows!("CSP-8", found[1], 2);
}

/// The doubleword at an address.
fn doubleword(at: u64) -> u64 {
    // SAFETY: the address of a doubleword of the caller.
    unsafe { read_volatile(with_exposed_provenance(at as usize)) }
}

fn purge_tlb() {
    shows!("PTLB-1", after(ptlb)[0], 2);
}

/// INVALIDATE PAGE TABLE ENTRY with these registers, and M4.
macro_rules! ipte {
    ($table:expr, $index:expr, $m4:literal) => {
        attempt!(
            concat!(".insn rrf,0xb2210000,{t},{i},0,", $m4),
            t = in(reg) $table,
            i = in(reg) $index
        )
    };
}

fn page_table_entry() {
    let table = dat::window_origin();
    let frame = &raw const FRAMES as u64;
    /// The page that is invalidated, with bits beside its index in the register.
    const INDEX: u64 = 0x5A5A_5A5A_5A50_0FFF;
    let entry = |n: usize| doubleword(table + 8 * n as u64);
    for n in 1..3 {
        dat::set_window(n, frame);
    }
    use_first_frame();
    let outcome = ipte!(table | 0x7FF, WINDOW, 0);
    shows!(
        ["IPTE-1", "IPTE-3"],
        (outcome.code(), entry(0)),
        (0, frame | INVALID)
    );
    shows!(["IPTE-1", "IPTE-2"], [entry(1), entry(2)], [frame; 2]);
    let nothing = NOTHING | 0x11 << 16;
    let found = both();
    shows!("IPTE-6", found[0], nothing);
    shows!("IPTE-7", found[1], nothing);
    dat::set_window(0, frame);
    let outcome = ipte!(table, INDEX, 0);
    shows!("IPTE-4", (outcome.code(), entry(0)), (0, frame | INVALID));
    // The other bits of an entry.
    dat::set_window(0, frame | 0x2FF);
    let outcome = ipte!(table, 0_u64, 0);
    shows!(
        "IPTE-2",
        (outcome.code(), entry(0)),
        (0, frame | 0x2FF | INVALID)
    );
    // Local clearing.
    use_first_frame();
    let outcome = ipte!(table, 0_u64, 1);
    shows!("IPTE-8", (outcome.code(), both()[0]), (0, nothing));
    ptlb_everywhere();
    // The table is real: it is not valid as a virtual address.
    dat::set_window(0, frame);
    dat::set_identity(table & !0xFFF, false);
    dat::on();
    let code = ipte!(table, 0_u64, 0).code();
    dat::off();
    dat::set_identity(table & !0xFFF, true);
    shows!("IPTE-5", (code, entry(0)), (0, frame | INVALID));
    // Its block has another key than the PSW.
    dat::set_window(0, frame);
    sske(0x30, table);
    let code = with_psw_key(5, || ipte!(table, 0_u64, 0)).code();
    sske(0, table);
    shows!("IPTE-9", (code, entry(0)), (0, frame | INVALID));
    let nowhere = ipte!(0x7000_0000_u64, 0_u64, 0);
    shows!("IPTE-11", nowhere.number(), suppressed(5, 4));
}

/// INVALIDATE DAT TABLE ENTRY: the table, the selection, and the space whose translations are cleared.
fn idte(table: u64, selection: u64, space: u64) -> Outcome {
    let mut registers = [0, table, selection, space, 0];
    attempt_on_registers!(".insn rrf,0xb98e0000,%r2,%r3,%r4,0", &mut registers)
}

fn table_entry() {
    let space = stctg_all()[1];
    let segments = space & !0xFFF;
    let entry = |n: usize| doubleword(dat::segment_entry(n));
    let page_table = dat::window_origin();
    let window = (WINDOW_SEGMENT as u64) << 20;
    for n in 1..4 {
        dat::set_segment(WINDOW_SEGMENT + n, page_table);
    }
    use_first_frame();
    let outcome = idte(segments, window, 0);
    let invalid = page_table | SEGMENT_INVALID;
    shows!(
        ["IDTE-1", "IDTE-2"],
        (
            outcome.code(),
            entry(WINDOW_SEGMENT),
            entry(WINDOW_SEGMENT + 1)
        ),
        (0, invalid, page_table)
    );
    let found = both();
    let nothing = NOTHING | 0x10 << 16;
    shows!("IDTE-5", found[0], nothing);
    shows!("IDTE-6", found[1], nothing);
    let outcome = idte(segments, (window + (1 << 20)) | 1, 0);
    let entries = [1, 2, 3].map(|n| entry(WINDOW_SEGMENT + n));
    shows!(
        "IDTE-3",
        (outcome.code(), entries),
        (0, [invalid, invalid, page_table])
    );
    dat::set_segment(WINDOW_SEGMENT, page_table);
    // A region-third table of its own, in use by no space.
    let mut regions = Regions([0x1000 | 0b0100; 512]);
    let table = regions.0.as_mut_ptr() as u64;
    let outcome = idte(table | 0b0100, 3 << 31, 0);
    let entries = [2, 3, 4].map(|n| doubleword(table + 8 * n));
    shows!(
        "IDTE-4",
        (outcome.code(), entries),
        (0, [0x1004, 0x1024, 0x1004])
    );
    // Clearing only.
    let found = after(|| {
        let outcome = idte(segments, bit(52) | window, space);
        shows!(
            "IDTE-7",
            (outcome.code(), entry(WINDOW_SEGMENT)),
            (0, page_table)
        );
    });
    shows!("IDTE-8", found[0], 2);
    shows!("IDTE-9", found[1], 2);
    for n in 44..52 {
        let outcome = idte(segments, window | bit(n), 0);
        shows!(
            "IDTE-10",
            (outcome.number(), entry(WINDOW_SEGMENT)),
            (suppressed(6, 4), page_table)
        );
    }
    sske(0x30, dat::segment_entry(WINDOW_SEGMENT));
    let code = with_psw_key(5, || idte(segments, window, 0)).code();
    sske(0, dat::segment_entry(WINDOW_SEGMENT));
    shows!("IDTE-11", (code, entry(WINDOW_SEGMENT)), (0, invalid));
    shows!(
        "IDTE-13",
        idte(0x7000_0000, 0, 0).number(),
        suppressed(5, 4)
    );
}

/// A region-third table.
#[repr(C, align(4096))]
struct Regions([u64; 512]);
