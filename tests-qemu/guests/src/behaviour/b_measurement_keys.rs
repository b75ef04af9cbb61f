//! Key-controlled protection of the operands of the measurement instructions: what does not match is an access
//! exception, and leaves controls, storage and the program parameter as they were.

use guests::check::{check, digits, holds};
use guests::insn::control::{lctlg_0, lctlg_all, stctg_0, stctg_all};
use guests::insn::cpu::Page;
use guests::insn::measurement::{controls, lcctl, lpp, lsctl, qctri, qsi, set};
use guests::insn::storage::{sske, with_psw_key};
use guests::psw::bit;
use guests::sampling::{self, busy};
use guests::{attempt, attempt_in_problem_state, dat, shows};

guests::clause!(
    "SA23-2260, Program Exceptions (access, by storage key) of LPP, LCCTL, LPCTL, LSCTL, QCTRI, QSI and STCCTM",
    native = false
);
guests::case!(run);

const PROTECTION: u16 = 4;
/// The PSW key while an instruction is attempted, unless told.
const KEY: u64 = 5;
/// A storage key that does not match it, with fetch protection.
const OTHER: u8 = 0x38;
const PARAMETER: u64 = 0x4242_4242_4242_4242;
const FILLER: u8 = 0xA5;
const INTERVAL: u64 = 10_000;

static mut BLOCKS: [Page; 2] = [const { Page([0; 4096]) }; 2];

fn blocks() -> (u64, u64) {
    let first = &raw const BLOCKS as u64;
    (first, first + 4096)
}

fn fill(at: u64, length: u64, byte: u8) {
    for n in 0..length {
        // SAFETY: inside the blocks.
        unsafe { core::ptr::write_volatile((at + n) as *mut u8, byte) };
    }
}

fn is_filled(at: u64, length: u64) -> bool {
    // SAFETY: as above.
    (0..length).all(|n| unsafe { core::ptr::read_volatile((at + n) as *const u8) } == FILLER)
}

/// The codes of the instructions that fetch at these addresses with a PSW key: zeros, which load a parameter of zeros,
/// or disable what was enabled.
fn fetch(key: u64, a: u64) -> [u16; 4] {
    with_psw_key(key, || {
        [
            attempt!(".insn s,0xb2800000,0({a})", a = in(reg_addr) a).code(),
            attempt!(".insn s,0xb2840000,0({a})", a = in(reg_addr) a).code(),
            attempt!(".insn s,0xb2850000,0({a})", a = in(reg_addr) a).code(),
            attempt!(".insn s,0xb2870000,0({a})", a = in(reg_addr) a).code(),
        ]
    })
}

/// The code of LOAD PROGRAM PARAMETER alone.
fn load(key: u64, a: u64) -> u16 {
    with_psw_key(key, || {
        attempt!(".insn s,0xb2800000,0({a})", a = in(reg_addr) a).code()
    })
}

/// The codes of the instructions that store at an address.
fn store(key: u64, a: u64) -> [u16; 3] {
    with_psw_key(key, || {
        [
            attempt!(".insn s,0xb28e0000,0({a})", a = in(reg_addr) a).code(),
            attempt!(".insn s,0xb2860000,0({a})", a = in(reg_addr) a).code(),
            attempt!(".insn rsy,0xeb0000000017,{n},1,0({a})", n = in(reg) 6_u64, a = in(reg_addr) a)
                .code(),
        ]
    })
}

/// Enables what the fetched operands disable.
fn enable() -> u64 {
    let before = controls(set::BASIC, set::BASIC);
    lcctl(before);
    lsctl(&sampling::prepare(4, INTERVAL));
    lpp(PARAMETER);
    before
}

fn run() {
    let (first, second) = blocks();
    let cr0 = stctg_0();
    for (key, storage, fetched, stored) in [
        (KEY, OTHER, PROTECTION, PROTECTION),
        (KEY, 0x30, 0, PROTECTION),
        (KEY, 0x08, PROTECTION, PROTECTION),
        (KEY, 0x00, 0, PROTECTION),
        (KEY, 0x58, 0, 0),
        (3, OTHER, 0, 0),
        (0, OTHER, 0, 0),
    ] {
        sske(0, first);
        fill(first, 0x200, 0);
        let before = enable();
        let active = qsi().state;
        sske(storage, first);
        let [load, sets, groups, samples] = fetch(key, first);
        shows!("LPP-13", load, fetched);
        shows!("LCCTL-18", sets, fetched);
        shows!("LPCTL-10", groups, fetched);
        shows!("LSCTL-24", samples, fetched);
        let after = qctri();
        let kept = controls(after.enable, after.activation) == before;
        shows!("LCCTL-18", kept, fetched == PROTECTION);
        shows!("LSCTL-24", qsi().state == active, fetched == PROTECTION);
        // Enabled again, so that STCCTM has something to store.
        enable();
        fill(first, 0x200, FILLER);
        let [counters, sampling, multiple] = store(key, first);
        shows!("QCTRI-13", counters, stored);
        shows!("QSI-16", sampling, stored);
        shows!("STCCTM-26", multiple, stored);
        holds(
            "nothing is stored, or something",
            is_filled(first, 0x200) == (stored == PROTECTION),
        );
    }
    parameter(first);
    crossing(first, second);
    overrides(cr0, first);
    order(cr0, first);
    in_a_space(first);
    sske(0, first);
    sske(0, second);
    lcctl(0);
}

/// A LOAD PROGRAM PARAMETER that was refused has not changed the parameter.
fn parameter(first: u64) {
    enable();
    sske(OTHER, first);
    fetch(KEY, first);
    lsctl(&sampling::prepare(4, INTERVAL));
    busy(4 * INTERVAL);
    sampling::stop();
    shows!("LPP-15", sampling::entry(0, 1).guest_parameter, PARAMETER);
}

/// The last byte alone is in a block that does not match, or only the first is in one that does.
fn crossing(first: u64, second: u64) {
    enable();
    sske(0x58, first);
    sske(OTHER, second);
    fill(first, 4096, FILLER);
    for inside in 1..48 {
        let a = second - inside;
        let [load, sets, groups, samples] = fetch(KEY, a);
        if inside < 8 {
            shows!(["LPP-13", "LCCTL-18"], (load, sets), (4, 4));
            shows!("LPCTL-10", groups, PROTECTION);
        }
        shows!("LSCTL-24", samples, PROTECTION);
        let [counters, sampling, _] = store(KEY, a);
        shows!(["QCTRI-13", "QSI-16"], (counters, sampling), (4, 4));
    }
    let [_, _, multiple] = store(KEY, second - 8);
    shows!("STCCTM-26", multiple, PROTECTION);
    holds("nothing is stored in front of it", is_filled(first, 4096));
    let ahead = store(KEY, second - 64);
    check("in front of it", digits(&ahead), 0);
    // The identification designates the block that does not match.
    let outcome = with_psw_key(
        KEY,
        || attempt!(".insn s,0xb2860000,0({a})", a = in(reg_addr) second - 8),
    );
    if let guests::attempt::Outcome::Program(program) = outcome {
        check("its identification", program.teid - second, 0x408);
        check("  the PSW is advanced", program.advanced, 4);
    }
}

/// Storage-protection override for blocks with key 9; fetch-protection override for addresses 0-2047.
fn overrides(cr0: u64, first: u64) {
    fill(first, 0x200, 0);
    sske(0x98, first);
    check("key 9: fetches", digits(&fetch(KEY, first)), 0x404_0404);
    check("key 9: stores", digits(&store(KEY, first)), 0x4_0404);
    lctlg_0(cr0 | bit(39));
    check("override: fetches", digits(&fetch(KEY, first)), 0);
    enable();
    check("override: stores", digits(&store(KEY, first)), 0);
    sske(0xA8, first);
    check(
        "override, key 10: stores",
        digits(&store(KEY, first)),
        0x4_0404,
    );
    lctlg_0(cr0);
    // Real page 0: an interruption stores there and fetches the new PSW, whatever the key.
    sske(OTHER, 0);
    let without = load(KEY, 0x7F8);
    lctlg_0(cr0 | bit(38));
    let with = [load(KEY, 0x7F8), load(KEY, 0x7F9), load(KEY, 0x800)];
    let stores = with_psw_key(KEY, || {
        attempt!(".insn s,0xb2860000,0({a})", a = in(reg_addr) 0x600_u64).code()
    });
    lctlg_0(cr0);
    sske(0, 0);
    check("page 0", without, 4);
    check("override: 7F8 7F9 800", digits(&with), 0x404);
    check("override: a store", stores, 4);
}

/// Other exceptions before it and behind it.
fn order(cr0: u64, first: u64) {
    enable();
    sske(OTHER, first);
    fill(first, 0x200, 0xFF);
    let codes = fetch(KEY, first);
    check(
        "access before the contents of the operand",
        digits(&codes),
        0x404_0404,
    );
    let unaligned = with_psw_key(
        KEY,
        || attempt!(".insn rsy,0xeb0000000017,{n},1,4({a})", n = in(reg) 6_u64, a = in(reg_addr) first),
    );
    check("specification before access", unaligned.code(), 6);
    let program = attempt_in_problem_state!(".insn s,0xb28e0000,0({a})", a = in(reg_addr) first);
    check("privileged operation before access", program.code(), 2);
    check("addressing", digits(&store(KEY, 0x7000_0000)), 0x5_0505);
    // Low-address protection holds for key zero, too.
    lctlg_0(cr0 | bit(35));
    let low = [store(0, 0x100), store(KEY, 0x100)];
    let outcome = attempt!(".insn s,0xb2860000,0({a})", a = in(reg_addr) 0x1180_u64);
    lctlg_0(cr0);
    check("low addresses", digits(&low[0]), 0x4_0404);
    check("low addresses, by key", digits(&low[1]), 0x4_0404);
    if let guests::attempt::Outcome::Program(program) = outcome {
        check("its identification", program.teid, 0x1480);
    }
}

/// By virtual address.
fn in_a_space(first: u64) {
    sske(OTHER, first);
    dat::prepare();
    dat::set_window(8, first);
    dat::set_window(10, first | dat::PROTECTED);
    let at = |page: u64| dat::WINDOW + page * 4096;
    dat::on();
    let codes = [8, 9, 10].map(|page| store(KEY, at(page))[1]);
    let by_translation = with_psw_key(
        KEY,
        || attempt!(".insn s,0xb2860000,0({a})", a = in(reg_addr) at(10)),
    );
    let by_key = with_psw_key(
        KEY,
        || attempt!(".insn s,0xb2800000,0x10({a})", a = in(reg_addr) at(8)),
    );
    let matching = [3, 0].map(|key| load(key, at(8)));
    dat::off();
    check(
        "virtual: by key, invalid, protected",
        digits(&codes),
        0x4_1104,
    );
    check("virtual: keys 3 and 0", digits(&matching), 0);
    for (name, outcome, identification) in [
        ("DAT protection comes first", by_translation, 0xA404),
        ("then the key", by_key, 0x8808),
    ] {
        if let guests::attempt::Outcome::Program(program) = outcome {
            check(name, program.teid - dat::WINDOW, identification);
        }
    }
    private(first);
}

/// Fetch-protection override has no effect in a private space.
fn private(first: u64) {
    let saved = stctg_all();
    let page_0 = |element: u64| {
        let mut registers = saved;
        registers[0] |= bit(38);
        registers[1] = element;
        lctlg_all(&registers);
        dat::on();
        let code = load(KEY, 0x7C0);
        dat::off();
        code
    };
    sske(OTHER, 0);
    let codes = [page_0(saved[1]), page_0(saved[1] | bit(55))];
    sske(0, 0);
    sske(0, first);
    lctlg_all(&saved);
    check("override in a space, in a private one", digits(&codes), 0x4);
}
