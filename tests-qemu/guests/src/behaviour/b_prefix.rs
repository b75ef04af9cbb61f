//! SET PREFIX exchanges the first 8 KiB of real storage with the prefix area: real 0-1FFF is the area,
//! and the area's own real addresses show absolute 0-1FFF.

use core::ptr::{read_volatile, with_exposed_provenance, write_volatile};

use guests::attempt::suppressed;
use guests::check::check;
use guests::insn::cpu::{spx, stpx};
use guests::{attempt, lowcore};

guests::clause!(
    "Principles of Operation, Prefixing; SET PREFIX; STORE PREFIX",
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
    check("prefix is set", u64::from(stpx() == area as u32), 1);
    check(
        "real 900 is the area's",
        lowcore::read::<u64>(8 * FIRST),
        0xAAAA,
    );
    check(
        "real 1900 is the area's",
        lowcore::read::<u64>(8 * SECOND),
        0xBBBB,
    );
    // SAFETY: real addresses of the area designate absolute 0-1FFF now.
    unsafe {
        check(
            "area + 900 is absolute 900",
            read_volatile(area.add(FIRST)),
            0x1111,
        );
        check(
            "area + 1900 is absolute 1900",
            read_volatile(area.add(SECOND)),
            0x2222,
        );
        write_volatile(area.add(FIRST), 0x3333);
    }
    lowcore::write(8 * FIRST, 0xCCCC_u64);
    let outcome = attempt!(".short 0");
    check(
        "an interruption uses the new prefix area",
        outcome.number(),
        suppressed(1, 2),
    );
    spx(0);
    check(
        "absolute 900 as stored through the area",
        lowcore::read::<u64>(8 * FIRST),
        0x3333,
    );
    // SAFETY: as above.
    unsafe {
        check(
            "the area as stored through real 900",
            read_volatile(area.add(FIRST)),
            0xCCCC,
        )
    };
    let low_bits = (area as u32) | 0x8000_1FFF;
    spx(low_bits);
    check(
        "bits 0 and 20-31 are ignored",
        u64::from(stpx() == area as u32),
        1,
    );
    spx(0);
    let mut beyond: u32 = 0x7FFF_E000;
    let at = &raw mut beyond as u64;
    check(
        "SPX beyond storage",
        attempt!("spx 0({a})", a = in(reg_addr) at).number(),
        suppressed(5, 4),
    );
    check("prefix unchanged", stpx(), 0);
    check(
        "SPX on a halfword",
        attempt!("spx 0({a})", a = in(reg_addr) at + 2).number(),
        suppressed(6, 4),
    );
    check(
        "STPX on a halfword",
        attempt!("stpx 0({a})", a = in(reg_addr) at + 2).number(),
        suppressed(6, 4),
    );
    // SAFETY: the address is outside the prefix area, so prefixing does not change it.
    check(
        "other storage is untouched",
        u64::from(unsafe { read_volatile(with_exposed_provenance::<u32>(at as usize)) }),
        0x7FFF_E000,
    );
}
