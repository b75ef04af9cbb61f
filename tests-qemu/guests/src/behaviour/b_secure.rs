//! Limited samples of a secure guest: which fields a basic and a diagnostic entry leave out.

use core::ptr::read_volatile;

use guests::insn::control::{lctlg_4, stctg_all};
use guests::insn::measurement::{
    ACTIVATE_DIAGNOSTIC, ENABLE_DIAGNOSTIC, SamplingRequest, lpp, lsctl, qsi,
};
use guests::sampling::{self, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Limited Sample",
    native = false,
    options = "--secure=limited --operator 'AUTH CPU 0 SAMPLING DIAGNOSTIC ON'"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;

fn run() {
    let cr4 = stctg_all()[4];
    lctlg_4(0x1234);
    let request = sampling::prepare(4, INTERVAL);
    shows!(
        "BSDE-14",
        lsctl(&SamplingRequest {
            state: request.state | ENABLE_DIAGNOSTIC | ACTIVATE_DIAGNOSTIC,
            ..request
        }),
        0
    );
    let size = u64::from(qsi().diagnostic_entry_size);
    lpp(0x1234_5678_9ABC_DEF0);
    busy(10 * INTERVAL);
    sampling::stop();
    lctlg_4(cr4);
    for n in 1..9 {
        let at = sampling::block(0) + n * (32 + size);
        // SAFETY: inside the block.
        let doubleword = |offset: u64| unsafe { read_volatile((at + offset) as *const u64) };
        // SAFETY: as above.
        let byte = |offset: u64| unsafe { read_volatile((at + offset) as *const u8) };
        let first = doubleword(0);
        shows!("BSDE-14", (first >> 48, first >> 28 & 1), (1, 1));
        shows!("BSDE-16", first >> 30 & 3, 2);
        shows!("BSDE-17", first >> 32 & 0xFFF, 0);
        shows!("BSDE-18", first & 0xFFFF, 0);
        shows!("BSDE-19", doubleword(8), 0);
        shows!("BSDE-20", doubleword(16), 0);
        shows!(
            "DSDE-5",
            byte(32) >= 0x80 && (36..32 + size).all(|offset| byte(offset) == 0)
        );
    }
}
