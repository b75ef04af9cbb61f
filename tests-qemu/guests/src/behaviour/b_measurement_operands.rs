//! An access exception for any byte of the operand of a measurement instruction is recognized, and
//! leaves controls, counters and the program parameter as they were.

use guests::attempt;
use guests::dat;
use guests::insn::cpu::Page;
use guests::insn::measurement::{controls, lcctl, lpp, lsctl, qctri, qsi, set};
use guests::sampling::{self, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Program Exceptions (access) of LPP, LCCTL, LSCTL, QCTRI, QSI and STCCTM",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const PAGE_TRANSLATION: u16 = 0x11;
const PARAMETER: u64 = 0x4242_4242_4242_4242;

static mut FRAME: Page = Page([0; 4096]);

fn run() {
    dat::prepare();
    dat::set_window(8, &raw const FRAME as u64);
    dat::on();
    // The page behind this address is invalid.
    let end = dat::WINDOW + 9 * 4096;
    let before = controls(set::BASIC | set::PROBLEM_STATE, set::BASIC);
    lcctl(before);
    lsctl(&sampling::prepare(4, INTERVAL));
    lpp(PARAMETER);
    for inside in 0..8_u64 {
        let a = end - inside;
        let outcome = attempt!(".insn s,0xb2800000,0({a})", a = in(reg_addr) a);
        shows!("LPP-13", outcome.code(), PAGE_TRANSLATION);
        let outcome = attempt!(".insn s,0xb2840000,0({a})", a = in(reg_addr) a);
        shows!("LCCTL-18", outcome.code(), PAGE_TRANSLATION);
        let state = qctri();
        shows!("LCCTL-18", controls(state.enable, state.activation), before);
    }
    let active = qsi().state;
    for inside in 0..64_u64 {
        let a = end - inside;
        let outcome = attempt!(".insn s,0xb2870000,0({a})", a = in(reg_addr) a);
        shows!("LSCTL-24", outcome.code(), PAGE_TRANSLATION);
        shows!("LSCTL-24", qsi().state, active);
        let outcome = attempt!(".insn s,0xb28e0000,0({a})", a = in(reg_addr) a);
        shows!("QCTRI-13", outcome.code(), PAGE_TRANSLATION);
        let outcome = attempt!(".insn s,0xb2860000,0({a})", a = in(reg_addr) a);
        shows!("QSI-16", outcome.code(), PAGE_TRANSLATION);
    }
    for inside in 0..6_u64 {
        let a = end - 8 * inside;
        let outcome = attempt!(".insn rsy,0xeb0000000017,{n},1,0({a})", n = in(reg) 6_u64, a = in(reg_addr) a);
        shows!("STCCTM-26", outcome.code(), PAGE_TRANSLATION);
    }
    let a = end - 48;
    let outcome =
        attempt!(".insn rsy,0xeb0000000017,{n},1,0({a})", n = in(reg) 6_u64, a = in(reg_addr) a);
    shows!("STCCTM-26", outcome.number(), 0);
    // Storing into a protected page.
    dat::set_window(10, &raw const FRAME as u64 | dat::PROTECTED);
    let a = dat::WINDOW + 10 * 4096;
    let outcome = attempt!(".insn s,0xb28e0000,0({a})", a = in(reg_addr) a);
    shows!("QCTRI-13", outcome.code(), 4);
    let outcome = attempt!(".insn s,0xb2860000,0({a})", a = in(reg_addr) a);
    shows!("QSI-16", outcome.code(), 4);
    let outcome =
        attempt!(".insn rsy,0xeb0000000017,{n},1,0({a})", n = in(reg) 6_u64, a = in(reg_addr) a);
    shows!("STCCTM-26", outcome.code(), 4);
    // None of them changed the program parameter.
    let outcome = attempt!(".insn s,0xb2800000,0({a})", a = in(reg_addr) end);
    shows!("LPP-15", outcome.code(), PAGE_TRANSLATION);
    lsctl(&sampling::prepare(4, INTERVAL));
    busy(4 * INTERVAL);
    sampling::stop();
    shows!("LPP-15", sampling::entry(0, 1).guest_parameter, PARAMETER);
    dat::off();
    lcctl(0);
}
