//! Measurement alerts among the external interruptions: emergency signal, external call, clock
//! comparator and CPU timer come first. Several events come in one parameter.

use guests::externals::{
    self, CLOCK_COMPARATOR, CPU_TIMER, EMERGENCY_SIGNAL, EXTERNAL_CALL, MEASUREMENT_ALERT,
};
use guests::insn::clock::{sckc, spt};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::insn::cpu::Order;
use guests::insn::measurement::{lsctl, qsi};
use guests::lowcore;
use guests::sampling::{self, ALERT, ENTRIES, busy};
use guests::shows;
use guests::smp;

guests::clause!(
    "SA23-2260, External Interruption; Measurement Alert",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;

fn open() {
    externals::take_codes();
    stosm::<0x01>();
    busy(10_000);
    stnsm::<0xFE>();
}

fn run() {
    externals::record();
    let cr0 = stctg_0();
    let all = EMERGENCY_SIGNAL | EXTERNAL_CALL | CLOCK_COMPARATOR | CPU_TIMER | MEASUREMENT_ALERT;
    lctlg_0(cr0 | all);
    let request = sampling::prepare(3, INTERVAL);
    sampling::set_trailer(0, 0, ALERT);
    lsctl(&request);
    busy(INTERVAL * (ENTRIES as u64 + 10));
    // The alert is pending. Now make every other condition pending that can be.
    spt(-1);
    sckc(0);
    smp::signal(0, Order::ExternalCall, 0);
    smp::signal(0, Order::EmergencySignal, 0);
    open();
    let codes: [u16; 5] = core::array::from_fn(|n| externals::get(n).code);
    shows!(
        ["EXTERNAL-3", "EXTERNAL-4", "EXTERNAL-5", "EXTERNAL-6"],
        codes,
        [0x1201, 0x1202, 0x1004, 0x1005, 0x1407]
    );
    shows!(["ALERT-26", "ALERT-24"], externals::recorded(), 5);
    shows!("ALERT-41", qsi().state & 0x303, 0x202);
    sampling::stop();
    // A block that asks for an alert becomes full, and its successor cannot be used: two events, one parameter.
    let request = sampling::prepare(3, INTERVAL);
    sampling::set_trailer(0, 0, ALERT);
    sampling::set_table_entry(1, 0x7000_0000);
    lowcore::write(lowcore::EXTERNAL_PARAMETER, u32::MAX);
    lsctl(&request);
    busy(INTERVAL * (ENTRIES as u64 + 10));
    open();
    shows!(
        ["ALERT-40", "ALERT-39", "EXTERNAL-1", "ALERT-5", "ALERT-10"],
        (externals::recorded(), externals::get(0).parameter),
        (1, 0xA000_0000)
    );
    shows!("ALERT-33", qsi().state & 0x303, 0x200);
    sampling::stop();
    lctlg_0(cr0);
}
