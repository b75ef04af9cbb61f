//! Low-address protection: while control register 0 bit 35 is one, stores to 0-511 and 4096-4607 meet a protection
//! exception. Fetches and other stores do not, and no store does in a private space, even a real one.

use guests::attempt::{nullified, suppressed};
use guests::dat::{self, WINDOW};
use guests::externals;
use guests::insn::clock::{MICROSECOND, sckc, stckf};
use guests::insn::control::{lctlg_0, lctlg_all, stctg_0, stctg_all, wait};
use guests::insn::cpu::stfl;
use guests::insn::storage::tprot;
use guests::psw::{self, bit};
use guests::{attempt, attempt_in_problem_state, lowcore, shows};

guests::clause!(
    "SA22-7832, Chapter 3, Low-Address Protection",
    native = true
);
guests::case!(run);

/// Bits of an address-space-control element: a private space, and a real one.
const PRIVATE: u64 = bit(55);
const REAL: u64 = bit(58);
/// The low-address-protection control.
const CONTROL: u64 = bit(35);

/// The codes of stores at 180, 200 and 1180 in a primary space with these bits.
fn in_space(element: u64) -> [u16; 3] {
    let mut control = stctg_all();
    control[1] = element;
    lctlg_all(&control);
    dat::on();
    let codes = [store(0x180), store(0x200), store(0x1180)];
    dat::off();
    codes
}

fn store(address: u64) -> u16 {
    attempt!("mvi 0({a}), 0x5A", a = in(reg_addr) address).code()
}

/// The codes of stores that the machine performs for a control program.
fn by_control_instructions() -> [u16; 5] {
    [
        attempt!("stosm 0({a}), 0", a = in(reg_addr) 0x180_u64).code(),
        attempt!("stosm 0({a}), 0", a = in(reg_addr) 0x200_u64).code(),
        // Eight bytes that end in the protected ones, and that begin in them.
        attempt!("stctg 2, 2, 0({a})", a = in(reg_addr) 0xFF8_u64).code(),
        attempt!("stctg 2, 3, 0({a})", a = in(reg_addr) 0xFF8_u64).code(),
        attempt!("stpx 0({a})", a = in(reg_addr) 0x11FC_u64).code(),
    ]
}

fn with_dat_off(cr0: u64) {
    shows!("LOWADDRESS-1", store(0x1F8), 0);
    lowcore::write(0x1F8, 0x1234_5678_9ABC_DEF0_u64);
    lctlg_0(cr0 | CONTROL);
    let inside = [
        store(0),
        store(0x180),
        store(0x1FF),
        store(0x1000),
        store(0x11FF),
    ];
    let outside = [store(0x200), store(0xFFF), store(0x1200), store(0x1FFF)];
    let fetch = attempt!("llgc %r1, 0({a})", a = in(reg_addr) 0x180_u64).code();
    let across = attempt!("stg {v}, 0({a})", v = in(reg) 0_u64, a = in(reg_addr) 0x1FC_u64);
    let problem = attempt_in_problem_state!("mvi 0({a}), 1", a = in(reg_addr) 0x180_u64);
    let control = by_control_instructions();
    // Storing during an interruption is not subject to the protection, nor is that of the facility list.
    externals::record();
    lctlg_0(cr0 | CONTROL | externals::CLOCK_COMPARATOR);
    sckc(stckf() + 100 * MICROSECOND);
    wait(psw::EXTERNAL);
    let woken = externals::take_codes();
    lctlg_0(cr0 | CONTROL);
    let list = stfl();
    let tests = [
        tprot(0x180, 0),
        tprot(0x200, 0),
        tprot(0x1000, 0),
        tprot(0x1200, 0),
    ];
    lctlg_0(cr0);
    shows!("LOWADDRESS-2", inside, [4; 5]);
    shows!("LOWADDRESS-3", outside, [0; 4]);
    shows!("LOWADDRESS-4", fetch, 0);
    shows!("LOWADDRESS-5", across.number(), suppressed(4, 6));
    shows!(
        "LOWADDRESS-5",
        lowcore::read::<u64>(0x1F8),
        0x1234_5678_9ABC_DEF0
    );
    shows!("LOWADDRESS-6", problem.number(), suppressed(4, 4));
    shows!(["LOWADDRESS-2", "LOWADDRESS-3"], control, [4, 0, 0, 4, 4]);
    shows!("LOWADDRESS-7", woken, 0x1004);
    shows!("LOWADDRESS-8", list != 0);
    shows!("LOWADDRESS-9", tests, [1, 0, 1, 0]);
}

fn with_dat_on(cr0: u64) {
    dat::prepare();
    let tables = stctg_all()[1];
    lctlg_0(cr0 | CONTROL);
    shows!("LOWADDRESS-10", in_space(tables), [4, 0, 4]);
    shows!("LOWADDRESS-11", in_space(tables | PRIVATE), [0; 3]);
    shows!("LOWADDRESS-10", in_space(REAL), [4, 0, 4]);
    shows!("LOWADDRESS-11", in_space(REAL | PRIVATE), [0; 3]);
    // It is the address before translation that counts, and the protection comes before translation.
    let mut control = stctg_all();
    control[1] = tables;
    lctlg_all(&control);
    dat::set_window(0, 0);
    dat::set_identity(0x1000, false);
    dat::on();
    let mapped = store(WINDOW + 0x180);
    let invalid = attempt!("mvi 0({a}), 1", a = in(reg_addr) 0x1180_u64).number();
    let invalid_outside = attempt!("mvi 0({a}), 1", a = in(reg_addr) 0x1280_u64).number();
    dat::off();
    dat::set_identity(0x1000, true);
    shows!("LOWADDRESS-12", mapped, 0);
    shows!("LOWADDRESS-13", invalid, suppressed(4, 4));
    shows!("LOWADDRESS-13", invalid_outside, nullified(0x11, 4));
}

fn run() {
    let cr0 = stctg_0();
    with_dat_off(cr0);
    with_dat_on(cr0);
    lctlg_0(cr0);
    shows!("LOWADDRESS-1", store(0x1F8), 0);
}
