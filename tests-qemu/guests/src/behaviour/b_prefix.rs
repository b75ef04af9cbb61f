//! SET PREFIX exchanges the first 8 KiB of real storage with the prefix area: real 0-1FFF is the area,
//! and the area's own real addresses show absolute 0-1FFF.

use core::ptr::{read_volatile, with_exposed_provenance, write_volatile};

use guests::attempt::suppressed;
use guests::check::check;
use guests::insn::cpu::{spx, stpx};
use guests::insn::storage::{iske, lurag, rrbe, sske, sturg};
use guests::{attempt, lowcore, shows};

guests::clause!(
    "SA22-7832, Prefixing; SET PREFIX; STORE PREFIX; instructions with real addresses",
    native = true
);
guests::case!(run);

#[repr(C, align(8192))]
struct Area([u64; 1024]);
static mut AREA: Area = Area([0; 1024]);

/// A free place in the first page, as an index of doublewords, and one in the second.
const FIRST: usize = 0x900 / 8;
const SECOND: usize = 0x1900 / 8;

fn run() {
    let area = &raw mut AREA as *mut u64;
    check("prefix at start", stpx(), 0);
    // The area becomes this CPU's prefix area, so it needs the runtime's fields.
    for n in 0..1024 {
        // SAFETY: both are storage of the guest.
        unsafe { write_volatile(area.add(n), lowcore::read(8 * n)) };
    }
    // SAFETY: inside the area.
    unsafe {
        write_volatile(area.add(FIRST), 0xAAAA);
        write_volatile(area.add(SECOND), 0xBBBB);
    }
    lowcore::write(8 * FIRST, 0x1111_u64);
    lowcore::write(8 * SECOND, 0x2222_u64);
    spx(area as u32);
    shows!(["SPX-1", "STPX-1"], u64::from(stpx()), area as u64);
    let real: [u64; 2] = [FIRST, SECOND].map(|n| lowcore::read(8 * n));
    shows!("SPX-3", real, [0xAAAA, 0xBBBB]);
    // SAFETY: real addresses of the area designate absolute 0-1FFF now.
    unsafe {
        let absolute = [FIRST, SECOND].map(|n| read_volatile(area.add(n)));
        shows!("SPX-4", absolute, [0x1111, 0x2222]);
        write_volatile(area.add(FIRST), 0x3333);
    }
    lowcore::write(8 * FIRST, 0xCCCC_u64);
    // The attempt's interruption takes place by the new prefix area.
    shows!("SPX-3", attempt!(".short 0").number(), suppressed(1, 2));
    by_real_address(area as u64);
    spx(0);
    shows!("SPX-4", lowcore::read::<u64>(8 * FIRST), 0x3333);
    // SAFETY: as above.
    shows!("SPX-3", unsafe { read_volatile(area.add(FIRST)) }, 0xCCCC);
    spx((area as u32) | 0x8000_1FFF);
    shows!(["SPX-2", "STPX-2"], u64::from(stpx()), area as u64);
    spx(0);
    let beyond: u32 = 0x7FFF_E000;
    let at = &raw const beyond as u64;
    let refused = attempt!("spx 0({a})", a = in(reg_addr) at);
    shows!("SPX-6", (refused.number(), stpx()), (suppressed(5, 4), 0));
    // SAFETY: the address is outside the prefix area, so prefixing does not change it.
    check(
        "other storage is untouched",
        u64::from(unsafe { read_volatile(with_exposed_provenance::<u32>(at as usize)) }),
        0x7FFF_E000,
    );
}

/// Instructions with a real address, while `area` is the prefix: they refer to the area by real 0-1FFF.
fn by_real_address(area: u64) {
    let at = 8 * SECOND as u64;
    sturg(0xDDDD, at);
    shows!("STURA-4", lowcore::read::<u64>(8 * SECOND), 0xDDDD);
    shows!("LURA-4", [lurag(at), lurag(area + at)], [0xDDDD, 0x2222]);
    sske(0x10, 0x1000);
    sske(0x26, area + 0x1000);
    rrbe(area + 0x1000);
    let keys = [iske(0x1000), iske(area + 0x1000)];
    spx(0);
    let absolute = [iske(area + 0x1000), iske(0x1000)];
    shows!(
        ["SSKE-6", "ISKE-6"],
        keys.map(|key| key & 0xF0),
        [0x10, 0x20]
    );
    shows!("SSKE-6", absolute.map(|key| key & 0xF0), [0x10, 0x20]);
    shows!("RRBE-8", absolute[1] & 6, 2);
    sske(0, area + 0x1000);
    sske(0, 0x1000);
    spx(area as u32);
}
