//! The external means: an operator takes authorization away and gives it back, and causes loss of data. An enabled
//! set or function becomes unauthorized with an alert; one that lost data becomes inactive with an alert. Masked
//! alerts become one interruption.

use guests::check::check;
use guests::externals::{self, MEASUREMENT_ALERT};
use guests::insn::control::{lctlg_0, stctg_0, wait};
use guests::insn::measurement::{
    ACTIVATE_BASIC, ENABLE_BASIC, controls, ecctr, lcctl, lsctl, qctri, qsi, set,
};
use guests::{psw, sampling};

guests::clause!(
    "SA23-2260, Authorization Controls; Measurement-Alert Subclass",
    native = false,
    when_waiting = "AUTH CPU 0 COUNTERS BASIC OFF; AUTH CPU 0 COUNTERS BASIC ON; INTERRUPT CPU 0; AUTH CPU 0 SAMPLING BASIC OFF; AUTH CPU ALL SAMPLING BASIC ON; INTERRUPT CPU 0; ALERT CPU 0 SAMPLES; ALERT CPU 0 COUNTERS PROBLEM; ALERT CPU 0 SAMPLES; AUTH CPU 0 COUNTERS BASIC OFF; ALERT CPU 0 COUNTERS PROBLEM; INTERRUPT CPU 0"
);
guests::case!(run);

/// External mask of the PSW.
const EXTERNAL: u64 = psw::bit(7);
/// Both sets enabled and active.
const BOTH: u64 = controls(
    set::BASIC | set::PROBLEM_STATE,
    set::BASIC | set::PROBLEM_STATE,
);

/// Waits for an external interruption. Returns its code and parameter; only alerts have a parameter.
fn next(taken: &mut usize) -> (u16, u32) {
    wait(EXTERNAL);
    let external = externals::get(*taken);
    *taken += 1;
    check("  no other interruption", externals::recorded(), *taken);
    (external.code, external.parameter)
}

fn alert(name: &str, taken: &mut usize, parameter: u32) {
    let (code, found) = next(taken);
    check(name, code, 0x1407);
    check("  parameter", found, parameter);
}

fn key(name: &str, taken: &mut usize) {
    check(name, next(taken).0, 0x0040);
}

fn run() {
    externals::record();
    let taken = &mut 0;
    // Neither timer may end a wait: the operator's commands run only when nothing else can happen.
    lctlg_0(psw::bit(57) | MEASUREMENT_ALERT | stctg_0() & !0xFFFF);

    check("both sets active", lcctl(BOTH), 0);
    alert("basic set unauthorized", taken, 0x0000_0080);
    let information = qctri();
    check(
        "  authorization",
        information.authorization,
        set::PROBLEM_STATE,
    );
    check("  enable", information.enable, set::PROBLEM_STATE);
    check("  activation", information.activation, set::PROBLEM_STATE);
    check("  its counters are not available", ecctr(1).0, 3);
    check("  the others are", ecctr(33).0, 0);
    check("  LCCTL that enables it", lcctl(BOTH), 3);
    key("basic set authorized again", taken);
    check(
        "  authorized",
        qctri().authorization,
        set::BASIC | set::PROBLEM_STATE,
    );
    check("  disabled", qctri().enable, set::PROBLEM_STATE);
    check("  LCCTL that enables it", lcctl(controls(set::BASIC, 0)), 0);
    check("  its counters were cleared", ecctr(1).1, 0);

    let request = sampling::prepare(4, 10_000);
    check("sampling active", lsctl(&request), 0);
    alert("basic sampling unauthorized", taken, 0x0080_0000);
    check("  state", qsi().state, 0);
    check("  TEAR and DEAR", qsi().tear | qsi().dear, 0);
    check("  LSCTL that enables it", lsctl(&request), 3);
    key("basic sampling authorized again", taken);
    check("  state", qsi().state, 0x0002_0000);

    check("sampling active", lsctl(&request), 0);
    check("counters active", lcctl(BOTH), 0);
    sampling::busy(25_000);
    alert("loss of sample data", taken, 0x0040_0000);
    check("  inactive", qsi().state, 0x0002_0200);
    check("  TEAR stays", qsi().tear, sampling::table());
    check("  DEAR stays", qsi().dear, sampling::block(0) + 2 * 32);
    alert("loss of counter data", taken, 0x0000_0040);
    check("  the set is inactive", qctri().activation, set::BASIC);
    check(
        "  and enabled",
        qctri().enable,
        set::BASIC | set::PROBLEM_STATE,
    );

    // With the subclass closed, four conditions become one interruption.
    lctlg_0(psw::bit(57) | stctg_0() & !0xFFFF);
    check("sampling active", lsctl(&request), 0);
    check("counters active", lcctl(BOTH), 0);
    key("alerts are kept pending", taken);
    lctlg_0(psw::bit(57) | MEASUREMENT_ALERT | stctg_0() & !0xFFFF);
    // The wait has left external interruptions open, so the interruption has occurred.
    check(
        "one interruption for all",
        externals::recorded(),
        *taken + 1,
    );
    check("  code", externals::get(*taken).code, 0x1407);
    check("  parameter", externals::get(*taken).parameter, 0x0040_00C0);
    check("  sampling is inactive", qsi().state, 0x0002_0200);
    check("  basic sampling resumes", lsctl(&request), 0);
    check("  active", request.state, ENABLE_BASIC | ACTIVATE_BASIC);
    sampling::stop();
    lcctl(0);
}
