//! External conditions that are pending together interrupt in the architecture's order: emergency
//! signal, external call, clock comparator, CPU timer, service signal.

use guests::externals::{
    self, CLOCK_COMPARATOR, CPU_TIMER, EMERGENCY_SIGNAL, EXTERNAL_CALL, SERVICE_SIGNAL,
};
use guests::insn::clock::{MICROSECOND, sckc, spt, stckf};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::insn::cpu::{Order, sigp};
use guests::shows;

guests::clause!(
    "SA23-2260, External Interruption; SA22-7832, Chapter 6, External Interruption (priorities)",
    native = true
);
guests::case!(run);

/// Long enough for the timers of a busy host to interrupt.
fn delay() {
    let end = stckf() + 10_000 * MICROSECOND;
    while stckf() < end {}
}

fn arm() {
    spt(50 * MICROSECOND as i64);
    sckc(stckf() + 50 * MICROSECOND);
    let codes = [
        sigp(0, Order::ExternalCall, 0).0,
        sigp(0, Order::EmergencySignal, 0).0,
    ];
    shows!("SIGP-1", codes, [0, 0]);
    delay();
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
    let all = externals::take_codes();
    arm();
    lctlg_0(cr0 | CPU_TIMER | EXTERNAL_CALL);
    stosm::<0x01>();
    stnsm::<0xFE>();
    let two = externals::take_codes();
    lctlg_0(cr0 | timers | signals);
    stosm::<0x01>();
    stnsm::<0xFE>();
    let later = externals::take_codes();
    shows!(
        ["EXTERNALORDER-1", "EXTERNALORDER-2", "EXTERNALORDER-3"],
        all,
        0x1201_1202_1004_1005
    );
    shows!("EXTERNALORDER-4", [two, later], [0x1202_1005, 0x1201_1004]);
    // Printing has left a service signal pending.
    spt(50 * MICROSECOND as i64);
    delay();
    lctlg_0(cr0 | CPU_TIMER | SERVICE_SIGNAL);
    stosm::<0x01>();
    stnsm::<0xFE>();
    shows!("EXTERNALORDER-5", externals::take_codes(), 0x1005_2401);
    lctlg_0(cr0);
}
