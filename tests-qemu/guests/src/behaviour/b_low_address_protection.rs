//! Low-address protection: while control register 0 bit 35 is one, stores to 0-511 and 4096-4607 meet a protection
//! exception. Fetches and other stores do not, and no store does in a private space, even a real one.

use guests::attempt;
use guests::check::{check, holds};
use guests::dat;
use guests::externals;
use guests::insn::clock::{MICROSECOND, sckc, stckf};
use guests::insn::control::{lctlg_0, lctlg_all, stctg_0, stctg_all, wait};
use guests::insn::storage::tprot;
use guests::psw::{self, bit};

guests::clause!(
    "Principles of Operation, Low-Address Protection; TEST PROTECTION",
    native = true
);
guests::case!(run);

/// Bits of an address-space-control element: a private space, and a real one.
const PRIVATE: u64 = bit(55);
const REAL: u64 = bit(58);

/// The codes of stores at 180, 200 and 1180 in a primary space with these bits.
fn in_space(element: u64) -> u64 {
    let mut control = stctg_all();
    control[1] = element;
    lctlg_all(&control);
    dat::on();
    let codes = [store(0x180), store(0x200), store(0x1180)];
    dat::off();
    codes
        .iter()
        .fold(0, |all, code| all << 4 | u64::from(*code))
}

fn store(address: u64) -> u16 {
    attempt!("mvi 0({a}), 0x5A", a = in(reg_addr) address).code()
}

fn run() {
    let cr0 = stctg_0();
    check("off: store at 1F8", store(0x1F8), 0);
    lctlg_0(cr0 | bit(35));
    let codes = [
        store(0x180),
        store(0x1FF),
        store(0x200),
        store(0xFFF),
        store(0x1000),
        store(0x11FF),
        store(0x1200),
    ];
    let fetch = attempt!("llgc %r1, 0({a})", a = in(reg_addr) 0x180_u64).code();
    // Storing during an interruption is not subject to the protection.
    externals::record();
    lctlg_0(cr0 | bit(35) | externals::CLOCK_COMPARATOR);
    sckc(stckf() + 100 * MICROSECOND);
    wait(psw::EXTERNAL);
    let woken = externals::take_codes();
    lctlg_0(cr0 | bit(35));
    let tests = [
        tprot(0x180, 0),
        tprot(0x200, 0),
        tprot(0x1000, 0),
        tprot(0x1200, 0),
    ];
    lctlg_0(cr0);
    check(
        "on: stores at 180 1FF 200 FFF 1000 11FF 1200",
        codes
            .iter()
            .fold(0_u64, |all, code| all << 4 | u64::from(*code)),
        0x440_0440,
    );
    check("on: fetch at 180", fetch, 0);
    check("on: the clock comparator ends a wait", woken, 0x1004);
    check(
        "TEST PROTECTION of 180 200 1000 1200",
        tests
            .iter()
            .fold(0_u64, |all, cc| all << 4 | u64::from(*cc)),
        0x1010,
    );
    dat::prepare();
    let tables = stctg_all()[1];
    lctlg_0(cr0 | bit(35));
    for (name, element, codes) in [
        ("a space", tables, 0x404),
        ("a private space", tables | PRIVATE, 0),
        ("a real space", REAL, 0x404),
        ("a private real space", REAL | PRIVATE, 0),
    ] {
        check(name, in_space(element), codes);
    }
    lctlg_0(cr0);
    holds("off again", store(0x1F8) == 0);
}
