//! The fields of the PSW: what is loaded is current, and each has its effect.

use guests::attempt::Outcome;
use guests::insn::control::{epsw, ipm, spm};
use guests::insn::cpu::Page;
use guests::psw::{self, load_psw};
use guests::{attempt, attempt_in_problem_state, dat, shows};

guests::clause!("SA22-7832, Chapter 4, Program-Status Word", native = true);
guests::case!(run);

static mut PAGE: Page = Page([0; 4096]);

/// The left half of the PSW, with its condition code.
fn current() -> u64 {
    let (high, low) = epsw();
    u64::from(high) << 32 | u64::from(low)
}

/// The left half after a PSW with this one was loaded.
fn loaded(mask: u64) -> u64 {
    load_psw(mask);
    let found = current();
    load_psw(psw::INITIAL);
    found
}

/// Asserts that each of these values of a field becomes current. The field ends with this bit.
macro_rules! shows_field {
    ($statement:literal, $values:expr, $last:literal) => {
        for value in $values {
            let mask = psw::INITIAL | value << (63 - $last);
            shows!($statement, loaded(mask), mask);
        }
    };
}

fn fields() {
    shows_field!("PSW-9", 0..16, 11);
    shows_field!("PSW-10", 0..4, 17);
    shows_field!("PSW-11", 0..4, 19);
    shows_field!("PSW-12", 0..16, 23);
    shows_field!("PSW-13", 0..2, 13);
    // By the instructions of the program mask.
    spm(0x2A);
    let found = ipm() & 0x3F;
    spm(0);
    shows!(["PSW-11", "PSW-12"], found, 0x2A);
}

/// The condition code decides a branch.
fn condition_code() {
    for code in 0..4_u64 {
        let taken: u64;
        load_psw(psw::INITIAL);
        // SAFETY: registers only.
        unsafe {
            core::arch::asm!(
                "spm {c}",
                "lghi {t}, 0",
                "jnz 40f",
                "aghi {t}, 8",
                "40:",
                c = in(reg) code << 28,
                t = out(reg) taken,
            );
        }
        shows!("PSW-11", taken == 8, code == 0);
    }
}

fn problem_state() {
    let refused = attempt_in_problem_state!("stosm 0x900(%r0), 0");
    shows!("PSW-14", refused.code(), 2);
    let allowed = attempt_in_problem_state!("lghi %r1, 5");
    shows!("PSW-14", matches!(allowed, Outcome::Completed(_)));
    shows!("PSW-15", attempt!("stosm 0x900(%r0), 0").code(), 0);
}

/// Bit 5, and the addressing mode.
fn dat_and_mode() {
    let frame = &raw const PAGE as u64;
    dat::prepare();
    dat::set_window(0, frame);
    let off = attempt!("lg %r1, 0({a})", a = in(reg_addr) dat::WINDOW | 1 << 31);
    dat::on();
    let on = attempt!("lg %r1, 0({a})", a = in(reg_addr) dat::WINDOW);
    dat::off();
    shows!("PSW-16", (off.code(), on.code()), (5, 0));
    let address = 0xFFFF_FFFF_8000_0000 | frame;
    let narrow = attempt!("sam31\n lg %r1, 0({a})\n sam64", a = in(reg_addr) address);
    let wide = attempt!("lg %r1, 0({a})", a = in(reg_addr) address);
    shows!("PSW-17", (narrow.code(), wide.code()), (0, 5));
    let mut link = 0_u64;
    let _ = attempt!("sam31\n basr %r1, %r0\n lgr {l}, %r1\n sam64", l = inout(reg) link);
    shows!("PSW-17", link >> 31 & 1, 1);
}

fn run() {
    fields();
    condition_code();
    problem_state();
    dat_and_mode();
}
