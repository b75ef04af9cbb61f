//! The clocks: STORE CLOCK, FAST and EXTENDED agree and go forward; comparator and CPU timer keep their values; SET
//! CLOCK sets the clock.

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::{check, holds};
use guests::insn::clock::{MICROSECOND, sck, sckc, spt, stck, stckc, stcke, stckf, stpt};

guests::clause!(
    "Principles of Operation, TOD Clock; Clock Comparator; CPU Timer",
    native = true
);
guests::case!(run);

fn run() {
    let first = stck();
    let fast = stckf();
    let extended = stcke();
    let middle = u64::from_be_bytes([
        extended[1],
        extended[2],
        extended[3],
        extended[4],
        extended[5],
        extended[6],
        extended[7],
        extended[8],
    ]);
    let last = stck();
    holds("STCK goes forward", first <= fast && fast <= last);
    holds(
        "STCKE bits 8-71 are STCK's bits 0-63",
        fast <= middle && middle <= last,
    );
    check("STCKE bits 0-7", extended[0], 0);
    holds("two STCK differ", stck() != stck());
    for value in [0x0123_4567_89AB_CDEF_u64, 0xFFFF_FFFF_FFFF_FFFF] {
        sckc(value);
        check("clock comparator keeps what is set", stckc(), value);
    }
    let second = 1_000_000 * MICROSECOND as i64;
    spt(second);
    let timer = stpt();
    holds("CPU timer decrements", timer < second && timer > 0);
    let before = stpt();
    check(
        "SET CLOCK an hour on: condition code",
        sck(stck() + 3600 * second as u64),
        0,
    );
    let passed = before - stpt();
    holds(
        "SET CLOCK leaves the CPU timer alone",
        passed > 0 && passed < second / 2,
    );
    spt(i64::MAX);
    let later = stck() + 3600 * 1_000_000 * MICROSECOND;
    check("SET CLOCK: condition code", sck(later), 0);
    let now = stck();
    holds(
        "the clock goes on from what was set",
        now >= later && now < later + 1_000_000 * MICROSECOND,
    );
    let mut value = [0_u64; 2];
    let odd = value.as_mut_ptr() as u64 + 4;
    check(
        "SCKC on a word boundary",
        attempt!("sckc 0({a})", a = in(reg_addr) odd).number(),
        suppressed(6, 4),
    );
    check(
        "STCKC on a word boundary",
        attempt!("stckc 0({a})", a = in(reg_addr) odd).number(),
        suppressed(6, 4),
    );
    check(
        "SPT on a word boundary",
        attempt!("spt 0({a})", a = in(reg_addr) odd).number(),
        suppressed(6, 4),
    );
    check(
        "STPT on a word boundary",
        attempt!("stpt 0({a})", a = in(reg_addr) odd).number(),
        suppressed(6, 4),
    );
    check(
        "SCK on a word boundary",
        attempt!("sck 0({a})", a = in(reg_addr) odd).number(),
        suppressed(6, 4),
    );
}
