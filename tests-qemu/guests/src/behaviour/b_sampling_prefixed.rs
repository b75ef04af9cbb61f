//! With DAT off a sample shows the real address of the instruction: in the prefix area that is not the absolute one.

use core::ptr::copy_nonoverlapping;

use guests::insn::cpu::spx;
use guests::insn::measurement::lsctl;
use guests::misdirected::{LOOP, perform_loop, store};
use guests::{sampling, shows};

guests::clause!(
    "SA23-2260, Basic-Sampling Data Entry (instruction address)",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = guests::misdirected::INTERVAL;
/// A place in the prefix area that nothing else uses.
const PLACE: u64 = 0xE00;

#[repr(C, align(8192))]
struct PrefixArea([u8; 8192]);

static mut AREA: PrefixArea = PrefixArea([0; 8192]);

fn run() {
    let area = &raw mut AREA as u64;
    // SAFETY: the area is as long as the prefix area that is copied into it.
    unsafe {
        copy_nonoverlapping(
            core::ptr::without_provenance::<u8>(8),
            (area + 8) as *mut u8,
            8184,
        )
    };
    store(area + PLACE, LOOP);
    spx(area as u32);
    lsctl(&sampling::prepare(1, INTERVAL));
    // SAFETY: the loop stands there, by real address.
    unsafe { perform_loop(PLACE) };
    sampling::stop();
    spx(0);
    for n in 0..4 {
        let entry = sampling::entry(0, n);
        shows!(
            ["BSDE-36", "BSDE-25"],
            (entry.format, entry.address),
            (1, PLACE)
        );
    }
}
