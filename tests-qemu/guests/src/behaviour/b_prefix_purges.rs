//! SET PREFIX purges the translation-lookaside buffer of its CPU, whether the prefix changes or not. Each CPU has a prefix
//! of its own. (QEMU removes the entries of the two prefix areas only, and sometimes leaves a started CPU asleep, hence
//! not native.)

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use guests::dat::{self, WINDOW};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::{Order, Page, spx, stpx};
use guests::insn::yield_cpu;
use guests::misdirected::{load, store};
use guests::{shows, smp};

guests::clause!(
    "SA22-7832, Chapter 3, Translation-Lookaside Buffer (clearing); Prefixing",
    native = false,
    cpus = 2
);
guests::case!(run);

static mut FRAMES: [Page; 2] = [const { Page([0; 4096]) }; 2];

#[repr(C, align(8192))]
struct Area([u64; 1024]);
static mut AREA: Area = Area([0; 1024]);

/// A place that the runtime leaves alone.
const FIRST: u64 = 0x900;

static OTHER_PREFIX: AtomicU32 = AtomicU32::new(1);
static OTHER_MARK: AtomicU64 = AtomicU64::new(0);

extern "C" fn other() -> ! {
    OTHER_MARK.store(load(FIRST), Ordering::Relaxed);
    OTHER_PREFIX.store(stpx(), Ordering::Release);
    loop {
        yield_cpu();
    }
}

/// What the page holds before and after its entry and the prefix were set.
fn around(prefix: u32) -> (u64, u64) {
    let frame = &raw const FRAMES as u64;
    dat::set_window(3, frame);
    dat::on();
    let before = load(WINDOW + 0x3000);
    dat::set_window(3, frame + 4096);
    spx(prefix);
    let after = load(WINDOW + 0x3000);
    dat::off();
    dat::replace_window(3, dat::INVALID);
    (before, after)
}

/// The same if the entry is set behind the purge, while DAT is off and no table is attached.
fn purged_before(prefix: u32) -> (u64, u64) {
    let frame = &raw const FRAMES as u64;
    dat::set_window(3, frame);
    dat::on();
    let before = load(WINDOW + 0x3000);
    dat::off();
    spx(prefix);
    dat::set_window(3, frame + 4096);
    dat::on();
    let after = load(WINDOW + 0x3000);
    dat::off();
    dat::replace_window(3, dat::INVALID);
    (before, after)
}

fn of_each_cpu() {
    smp::start(1, other);
    store(smp::prefix_area(1) as u64 + FIRST, 0xD1D1_u64);
    smp::stop(1);
    smp::signal(1, Order::Restart, 0);
    while OTHER_PREFIX.load(Ordering::Acquire) & 1 != 0
        || OTHER_MARK.load(Ordering::Relaxed) != 0xD1D1
    {
        yield_cpu();
    }
    shows!(
        "PREFIX-10",
        (OTHER_PREFIX.load(Ordering::Acquire), stpx()),
        (smp::prefix_area(1) as u32, 0)
    );
    smp::stop(1);
}

fn run() {
    let kept = stctg_all();
    let frame = &raw const FRAMES as u64;
    store(frame, 1);
    store(frame + 4096, 2);
    let area = &raw const AREA as u64;
    for at in (0..8192).step_by(8) {
        store(area + at, load(at));
    }
    dat::prepare();
    let same = around(stpx());
    let other = around(area as u32);
    spx(0);
    let behind = [purged_before(stpx()), purged_before(area as u32)];
    spx(0);
    lctlg_all(&kept);
    shows!("TLB-3", [same, other], [(1, 2); 2]);
    shows!(["TLB-3", "TLB-4"], behind, [(1, 2); 2]);
    of_each_cpu();
}
