//! External conditions that are pending together interrupt in the architecture's order: emergency
//! signal, external call, clock comparator, CPU timer, service signal.

use guests::check::check;
use guests::externals::{
    self, CLOCK_COMPARATOR, CPU_TIMER, EMERGENCY_SIGNAL, EXTERNAL_CALL, SERVICE_SIGNAL,
};
use guests::insn::clock::{MICROSECOND, sckc, spt, stckf};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::insn::cpu::{Order, sigp};

guests::clause!(
    "SA23-2260, External Interruption; Principles of Operation, External Interruption (priorities)",
    native = true
);
guests::case!(run);

fn arm() {
    spt(50 * MICROSECOND as i64);
    sckc(stckf() + 50 * MICROSECOND);
    check(
        "external call to this CPU: condition code",
        sigp(0, Order::ExternalCall, 0).0,
        0,
    );
    check(
        "emergency signal to this CPU: condition code",
        sigp(0, Order::EmergencySignal, 0).0,
        0,
    );
    let end = stckf() + 200 * MICROSECOND;
    while stckf() < end {}
}

fn run() {
    externals::record();
    let cr0 = stctg_0();
    let timers = CLOCK_COMPARATOR | CPU_TIMER;
    let signals = EMERGENCY_SIGNAL | EXTERNAL_CALL;
    arm();
    lctlg_0(cr0 | timers | signals);
    stosm::<0x01>();
    stnsm::<0xFE>();
    check(
        "all open: first to fourth",
        externals::take_codes(),
        0x1201_1202_1004_1005,
    );
    arm();
    lctlg_0(cr0 | CPU_TIMER | EXTERNAL_CALL);
    stosm::<0x01>();
    stnsm::<0xFE>();
    check("two open", externals::take_codes(), 0x1202_1005);
    lctlg_0(cr0 | timers | signals);
    stosm::<0x01>();
    stnsm::<0xFE>();
    check("the other two later", externals::take_codes(), 0x1201_1004);
    // Printing has left a service signal pending.
    spt(50 * MICROSECOND as i64);
    let end = stckf() + 200 * MICROSECOND;
    while stckf() < end {}
    lctlg_0(cr0 | CPU_TIMER | SERVICE_SIGNAL);
    stosm::<0x01>();
    stnsm::<0xFE>();
    check(
        "service signal comes last",
        externals::take_codes(),
        0x1005_2401,
    );
    lctlg_0(cr0);
}
