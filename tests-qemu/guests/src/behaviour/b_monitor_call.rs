//! MONITOR CALL: if the monitor mask of its class is one, it causes a monitor event, which stores class and code;
//! otherwise it has no effect. It is allowed in the problem state. A class beyond 15 is a specification exception,
//! whatever the masks.

use guests::attempt::suppressed;
use guests::check::check;
use guests::insn::control::{lctlg_8, spm};
use guests::monitor::enabled;
use guests::{attempt, attempt_in_problem_state, lowcore};

guests::clause!("Principles of Operation, MONITOR CALL", native = true);
guests::case!(run);

const MONITOR_EVENT: u16 = 0x40;
const SPECIFICATION: u16 = 6;

/// The class and the code that the last monitor event has stored.
fn stored() -> (u16, u64) {
    (
        lowcore::read(lowcore::MONITOR_CLASS),
        lowcore::read(lowcore::MONITOR_CODE),
    )
}

fn set_stored() {
    lowcore::write(lowcore::MONITOR_CLASS, 0xEEEE_u16);
    lowcore::write(lowcore::MONITOR_CODE, u64::MAX);
}

/// A monitor call of any class: the target of an EXECUTE RELATIVE LONG, which modifies its immediate field.
fn executed(class: u64) -> u64 {
    attempt!(
        "exrl {c}, 34f\n j 35f\n 34: mc 0x234(%r0), 0\n 35:",
        c = in(reg_addr) class,
    )
    .number()
}

fn run() {
    for class in 0..16 {
        set_stored();
        lctlg_8(enabled(class));
        check(
            "a class that is enabled, executed",
            executed(class.into()),
            suppressed(MONITOR_EVENT, 6),
        );
        let (found, code) = stored();
        check("  monitor class", u32::from(found), class);
        check("  monitor code", code, 0x234);
        set_stored();
        lctlg_8(!enabled(class) & 0xFFFF);
        spm(0x20);
        check(
            "a class that is not, executed",
            executed(class.into()) >> 32,
            0,
        );
        check("  nothing is stored", stored().0, 0xEEEE);
    }
    lctlg_8(enabled(3));
    let code = 0xFEDC_BA98_7654_3000_u64;
    check(
        "a code of 64 bits",
        attempt!("mc 0x210({a}), 3", a = in(reg_addr) code).number(),
        suppressed(MONITOR_EVENT, 4),
    );
    check("  monitor code", stored().1, code + 0x210);
    check(
        "in the problem state",
        attempt_in_problem_state!("mc 0x235(%r0), 3").number(),
        suppressed(MONITOR_EVENT, 4),
    );
    check("  monitor code", stored().1, 0x235);
    check(
        "in the problem state, a class that is not enabled",
        attempt_in_problem_state!("mc 0x235(%r0), 4").code(),
        0,
    );
    for masks in [0, 0xFFFF, u64::MAX] {
        lctlg_8(masks);
        check(
            "class 16",
            attempt!("mc 0(%r0), 16").number(),
            suppressed(SPECIFICATION, 4),
        );
        check(
            "class 255",
            attempt!("mc 0(%r0), 255").number(),
            suppressed(SPECIFICATION, 4),
        );
        check(
            "class 128, executed",
            executed(0x80),
            suppressed(SPECIFICATION, 6),
        );
    }
    lctlg_8(0);
}
