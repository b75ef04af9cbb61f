//! STORE CPU ADDRESS and STORE CPU ID on two CPUs.

use core::sync::atomic::{AtomicU64, Ordering};

use guests::insn::cpu::{Page, stap, stidp, stsi};
use guests::insn::yield_cpu;
use guests::psw::bit;
use guests::{shows, smp};

guests::clause!(
    "SA22-7832, STORE CPU ADDRESS; STORE CPU ID",
    native = true,
    cpus = 2
);
guests::case!(run);

static mut BLOCK: Page = Page([0; 4096]);

/// What the other CPU stores. The identification is not zero.
static OTHER_ADDRESS: AtomicU64 = AtomicU64::new(0);
static OTHER_IDENTIFICATION: AtomicU64 = AtomicU64::new(0);

extern "C" fn identify() -> ! {
    OTHER_ADDRESS.store(stap().into(), Ordering::Relaxed);
    OTHER_IDENTIFICATION.store(stidp(), Ordering::Release);
    loop {
        yield_cpu();
    }
}

/// The CPU address in an identification of format 0.
fn identified(identification: u64) -> Option<u64> {
    (identification & bit(48) == 0).then_some(identification >> 52 & 15)
}

fn run() {
    smp::start(1, identify);
    let other = loop {
        let other = OTHER_IDENTIFICATION.load(Ordering::Acquire);
        if other != 0 {
            break other;
        }
        yield_cpu();
    };
    shows!(
        "STAP-1",
        [stap().into(), OTHER_ADDRESS.load(Ordering::Relaxed)],
        [0, 1_u64]
    );
    let mine = stidp();
    shows!("STIDP-1", mine & !(15 << 52), other & !(15 << 52));
    shows!(
        "STIDP-3",
        identified(mine).is_none_or(|address| address == 0)
    );
    shows!(
        "STIDP-3",
        identified(other).is_none_or(|address| address == 1)
    );
    // SAFETY: the only reference.
    let block = unsafe { &mut *(&raw mut BLOCK) };
    stsi(1, 1, 1, block);
    // Four digits in EBCDIC.
    let machine_type = block.0[48..52].iter().fold(0, |all, &digit| {
        let value = if digit >= 0xF0 {
            digit - 0xF0
        } else {
            digit - 0xC1 + 10
        };
        all << 4 | u64::from(value)
    });
    shows!("STIDP-2", mine >> 16 & 0xFFFF, machine_type);
    smp::stop_others();
}
