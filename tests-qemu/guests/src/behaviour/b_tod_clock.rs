//! The TOD clock and the two timers: what they show, what sets them, and at which rate the CPU timer runs.

use guests::insn::clock::{MICROSECOND, sck, sckc, spt, stck, stckc, stcke, stckf, stpt};
use guests::{attempt, shows};

guests::clause!(
    "SA22-7832, Chapter 4, TOD Clock; Clock Comparator; CPU Timer",
    native = true
);
guests::case!(run);

/// Of a clock: an hour.
const HOUR: u64 = 3_600_000_000 * MICROSECOND;

/// The clock, and bits 112-127 of the extended clock.
fn extended() -> (u64, u16) {
    let bytes = stcke();
    let mut clock = [0; 8];
    clock.copy_from_slice(&bytes[1..9]);
    (
        u64::from_be_bytes(clock),
        u16::from_be_bytes([bytes[14], bytes[15]]),
    )
}

fn clock() {
    let mut before = stck();
    let mut rises = true;
    for _ in 0..100 {
        let now = stck();
        rises &= now > before;
        before = now;
    }
    shows!("CLOCK-1", rises);
    let (first, fast, (middle, _), last) = (stck(), stckf(), extended(), stck());
    shows!("CLOCK-2", first <= fast && fast <= middle && middle <= last);
    // SAFETY: the program's own register, which is put back.
    unsafe { core::arch::asm!("sckpf", in("r0") 0x1234_u64) };
    let set = extended().1;
    // SAFETY: as above.
    unsafe { core::arch::asm!("sckpf", in("r0") 0_u64) };
    shows!("CLOCK-3", (set, extended().1), (0x1234, 0));
    let later = stck() + HOUR;
    shows!("CLOCK-4", sck(later), 0);
    let now = stck();
    shows!("CLOCK-4", now >= later && now < later + HOUR / 60);
}

/// The two timers, which nothing but their instructions sets.
fn timers() {
    for value in [0x0123_4567_89AB_CDEF, u64::MAX] {
        sckc(value);
        let set = sck(stck() + HOUR);
        shows!("COMPARATOR-5", (set, stckc()), (0, value));
    }
    spt(HOUR as i64);
    let (clock, timer) = (stckf(), stpt());
    while stckf() < clock + 5000 * MICROSECOND {}
    let (clock, timer) = (stckf() - clock, timer - stpt());
    shows!("TIMER-7", timer.abs_diff(clock as i64) < clock / 2);
    let before = stpt();
    let set = sck(stck() + HOUR);
    let passed = before - stpt();
    shows!(
        "TIMER-8",
        set == 0 && passed > 0 && passed < HOUR as i64 / 2
    );
    spt(i64::MAX);
}

fn refused() {
    let mut values = [0_u64; 2];
    let odd = values.as_mut_ptr() as u64 + 4;
    let codes = [
        attempt!("sck 0({a})", a = in(reg_addr) odd).code(),
        attempt!("sckc 0({a})", a = in(reg_addr) odd).code(),
        attempt!("spt 0({a})", a = in(reg_addr) odd).code(),
        attempt!("stckc 0({a})", a = in(reg_addr) odd).code(),
        attempt!("stpt 0({a})", a = in(reg_addr) odd).code(),
    ];
    shows!("CLOCK-7", codes, [6; 5]);
}

fn run() {
    clock();
    timers();
    refused();
}
