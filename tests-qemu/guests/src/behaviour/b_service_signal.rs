//! A service signal interrupts any CPU that is enabled for it, and not only the one that issued SERVICE CALL. That CPU
//! may wait. (Bare QEMU 7.2 does not end its wait, hence not native.)

use core::sync::atomic::{AtomicBool, Ordering};

use guests::externals::{self, SERVICE_SIGNAL};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm, wait};
use guests::insn::cpu::{Order, Page};
use guests::insn::yield_cpu;
use guests::sccb::servc;
use guests::{psw, shows, smp};

guests::clause!(
    "SA22-7832, Chapter 6, External Interruption (service signal)",
    native = false,
    cpus = 2,
    options = "; --real-time"
);
guests::case!(run);

static mut BLOCK: Page = Page([0; 4096]);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Waits for a service signal.
extern "C" fn second() -> ! {
    externals::record();
    lctlg_0(stctg_0() | SERVICE_SIGNAL);
    wait(psw::EXTERNAL);
    stnsm::<0xFE>();
    INTERRUPTED.store(true, Ordering::Release);
    loop {
        yield_cpu();
    }
}

fn run() {
    // What was printed has left a service signal pending.
    externals::record();
    lctlg_0(stctg_0() | SERVICE_SIGNAL);
    stosm::<0x01>();
    stnsm::<0xFE>();
    externals::take_codes();
    smp::start(1, second);
    while smp::signal(1, Order::SenseRunningStatus, 0).0 == 0 {
        yield_cpu();
    }
    // SAFETY: the only reference. A command that is not assigned, in a block of 8 bytes.
    let block = unsafe { &mut *(&raw mut BLOCK) };
    block.0[1] = 8;
    let at = &raw const block.0 as usize;
    let cc = servc(0x00AA_0001, at);
    while !INTERRUPTED.load(Ordering::Acquire) {
        yield_cpu();
    }
    let external = externals::get(0);
    shows!(
        "EXTERNALINTERRUPTION-22",
        (cc, externals::recorded(), external.code),
        (0, 1, 0x2401)
    );
    shows!(
        "EXTERNALINTERRUPTION-22",
        u64::from(external.parameter & !7),
        at as u64
    );
}
