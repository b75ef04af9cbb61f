//! Storage ends where READ SCP INFO says: the last bytes are available, and from the end on every access is an
//! addressing exception, by fetch, store, execution or any privileged instruction.

use guests::attempt::Outcome;
use guests::check::{check, holds};
use guests::sccb::storage_end;
use guests::{attempt, attempt_in_problem_state};

guests::clause!(
    "Principles of Operation, Addressing Exception; SCLP, READ SCP INFO",
    native = true
);
guests::case!(run);

fn run() {
    let end = storage_end() as u64;
    let last = end - 8;
    let outcome = attempt!("mvghi 0({a}), 0x1234\n lg %r1, 0({a})", a = in(reg_addr) last);
    holds(
        "the last doubleword is there",
        matches!(outcome, Outcome::Completed(_)),
    );
    for beyond in [
        end,
        end + 0x7FF8,
        end + (1 << 20),
        end + (16 << 20) - 8,
        0x7FFF_FFF8,
        0xFFFF_F000,
        1 << 40,
        u64::MAX - 7,
    ] {
        let codes = [
            attempt!("lg %r1, 0({a})", a = in(reg_addr) beyond).code(),
            attempt!("mvghi 0({a}), 1", a = in(reg_addr) beyond).code(),
            attempt!("stck 0({a})", a = in(reg_addr) beyond).code(),
            attempt!("stpt 0({a})", a = in(reg_addr) beyond).code(),
            attempt!("lctlg 5, 5, 0({a})", a = in(reg_addr) beyond).code(),
            attempt!("stctg 0, 15, 0({a})", a = in(reg_addr) beyond & !0xFFF).code(),
            attempt!("lpswe 0({a})", a = in(reg_addr) beyond).code(),
            attempt!("stosm 0({a}), 0", a = in(reg_addr) beyond).code(),
            attempt!("stidp 0({a})", a = in(reg_addr) beyond).code(),
            attempt!("iske %r1, {a}", a = in(reg) beyond).code(),
            attempt!("lurag %r1, {a}", a = in(reg) beyond).code(),
            attempt!("sturg %r1, {a}", a = in(reg) beyond).code(),
            attempt_in_problem_state!("lg %r1, 0({a})", a = in(reg_addr) beyond).code(),
        ];
        check(
            "every access",
            codes
                .iter()
                .fold(0_u64, |all, code| all << 4 | u64::from(*code)),
            0x5_5555_5555_5555,
        );
        let outcome = attempt!("basr %r1, {a}", a = in(reg_addr) beyond & !1);
        check("execution", outcome.code(), 5);
    }
    let across = attempt!("lg %r1, 4({a})", a = in(reg_addr) last);
    check("a doubleword across the end", across.code(), 5);
}
