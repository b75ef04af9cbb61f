//! Samples show the address-space control: primary, secondary and home space, with primary or home virtual
//! instruction addresses, and with DAT off also that of the access-register mode, with real ones. (With DAT on no
//! program runs in that mode: `b_access_register_mode`.)

use core::arch::asm;
use core::ops::Range;

use guests::dat;
use guests::insn::control::{lctlg_0, stctg_0};
use guests::insn::measurement::lsctl;
use guests::psw::{self, bit, load_psw};
use guests::sampling::{self, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Basic-Sampling Data Entry (address-space control, instruction address)",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
/// Bits 29-30 of an entry, in its state halfword.
const SPACE: u32 = 1;

/// Samples a loop. Returns the address-space control, which must be the same in all entries of the loop.
fn sample(work: impl FnOnce() -> Range<u64>) -> Option<u16> {
    lsctl(&sampling::prepare(4, INTERVAL));
    let range = work();
    sampling::stop();
    let mut found = None;
    for n in 0..sampling::stored(0) {
        let entry = sampling::entry(0, n);
        if !range.contains(&entry.address) {
            continue;
        }
        let space = entry.state >> SPACE & 3;
        if found.is_some_and(|before| before != space) {
            return None;
        }
        found = Some(space);
    }
    found
}

fn run() {
    let cr0 = stctg_0();
    // Secondary-space control.
    lctlg_0(cr0 | bit(37));
    dat::prepare();
    dat::on();
    let loop_of_twenty = || busy(20 * INTERVAL);
    shows!(["BSDE-8", "BSDE-33"], sample(loop_of_twenty), Some(0));
    // SAFETY: the three spaces are the same.
    let secondary = sample(|| unsafe {
        asm!("sac 0x100(%r0)");
        let range = busy(20 * INTERVAL);
        asm!("sac 0(%r0)");
        range
    });
    shows!(["BSDE-8", "BSDE-33"], secondary, Some(2));
    // SAFETY: as above.
    let home = sample(|| unsafe {
        asm!("sac 0x300(%r0)");
        let range = busy(20 * INTERVAL);
        asm!("sac 0(%r0)");
        range
    });
    shows!(["BSDE-8", "BSDE-27"], home, Some(3));
    dat::off();
    load_psw(psw::INITIAL | bit(17));
    let access_register = sample(loop_of_twenty);
    load_psw(psw::INITIAL);
    shows!(["BSDE-8", "BSDE-25"], access_register, Some(1));
    lctlg_0(cr0);
}
