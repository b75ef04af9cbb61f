//! The clocks: STORE CLOCK, FAST and EXTENDED agree and go forward; comparator and CPU timer keep their values; SET
//! CLOCK sets the clock.

use guests::attempt::suppressed;
use guests::check::{check, holds};
use guests::insn::clock::{MICROSECOND, sck, sckc, spt, stck, stckc, stcke, stckf, stpt};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::{attempt_on_registers, externals, shows};

guests::clause!(
    "SA22-7832, TOD Clock; Clock Comparator; CPU Timer",
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
        shows!(["SCKC-1", "STCKC-1"], stckc(), value);
    }
    let second = 1_000_000 * MICROSECOND as i64;
    spt(second);
    let timer = stpt();
    shows!(["SPT-1", "STPT-1"], timer < second && timer > 0);
    let before = stpt();
    let hour = 3600 * second as u64;
    shows!("SCK-1", sck(stck() + hour), 0);
    let passed = before - stpt();
    shows!("SCK-4", passed > 0 && passed < second / 2);
    spt(i64::MAX);
    let later = stck() + hour;
    shows!("SCK-1", sck(later), 0);
    let now = stck();
    shows!(
        "SCK-1",
        now >= later && now < later + second as u64 && stck() > now
    );
    programmable_field();
    pending();
}

/// SET CLOCK PROGRAMMABLE FIELD.
fn programmable_field() {
    let field = || u16::from_be_bytes(stcke().last_chunk().copied().unwrap_or_default());
    let set = |zero: u64| attempt_on_registers!("sckpf", &mut [zero, 0, 0, 0, 0]);
    shows!(
        ["SCKPF-1", "SCKPF-2"],
        (set(0x5A5A_5A5A_0000_8001).code(), field()),
        (0, 0x8001)
    );
    for wrong in [0x1_0000, 0x8000_0000] {
        shows!(
            "SCKPF-4",
            (set(wrong | 7).number(), field()),
            (suppressed(6, 2), 0x8001)
        );
    }
    shows!("SCKPF-1", (set(0).code(), field()), (0, 0));
}

/// Whether an interruption is pending follows the value that was set last.
fn pending() {
    externals::record();
    let cr0 = stctg_0();
    /// The code of the interruption that occurs when the external mask opens, or zero.
    fn opened() -> u64 {
        stosm::<0x01>();
        stnsm::<0xFE>();
        externals::take_codes()
    }
    lctlg_0(cr0 | externals::CLOCK_COMPARATOR);
    sckc(stck() - MICROSECOND);
    shows!("SCKC-3", opened(), 0x1004);
    sckc(0);
    sckc(u64::MAX);
    shows!("SCKC-2", opened(), 0);
    lctlg_0(cr0 | externals::CPU_TIMER);
    spt(-1);
    spt(i64::MAX);
    shows!("SPT-2", opened(), 0);
    lctlg_0(cr0);
}
