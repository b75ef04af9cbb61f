//! Clear reset, by DIAGNOSE 308: its effect on the counter sets, the sampling functions and the program parameter.

use guests::insn::control::{lctlg_0, stctg_0};
use guests::insn::measurement::{controls, ecctr, lcctl, lpp, lsctl, qctri, qsi, scctr, set};
use guests::psw::bit;
use guests::reset::clear_reset;
use guests::sampling::{self, ALERT, ENTRIES, busy};
use guests::shows;
use guests::{end, externals};

guests::clause!("SA23-2260, clear reset", native = false);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const SETS: u16 = set::BASIC | set::PROBLEM_STATE;

fn run() {
    lcctl(controls(SETS, set::BASIC));
    scctr(33, 3333);
    let request = sampling::prepare(3, INTERVAL);
    sampling::set_trailer(0, 0, ALERT);
    lsctl(&request);
    lpp(0x1234_5678);
    busy(INTERVAL * (ENTRIES as u64 + 10));
    shows!("SAMPLING-7", qsi().state & 0x303, 0x202);
    lctlg_0(stctg_0() & !bit(58) | bit(15));
    clear_reset(after_reset)
}

extern "C" fn after_reset() -> ! {
    let (counters, now, cr0) = (qctri(), qsi(), stctg_0());
    shows!("CR0-6", cr0 & (bit(15) | bit(58)), bit(58));
    shows!(
        ["LOCAL-4", "TRANSITION-24", "TRANSITION-25"],
        counters.enable | counters.activation,
        0
    );
    shows!("LOCAL-6", counters.authorization & SETS, SETS);
    shows!(["SAMPLING-7", "STRANSITION-21"], now.state & 0x303, 0);
    shows!(
        "SREG-2",
        (now.tear, now.dear, now.state >> 17 & 1),
        (0, 0, 1)
    );
    lcctl(controls(SETS, 0));
    shows!(
        "TRANSITION-19",
        (ecctr(0), ecctr(1), ecctr(33)),
        ((0, 0), (0, 0), (0, 0))
    );
    shows!("ALERT-27", externals::alerts().0, 0);
    lsctl(&sampling::prepare(2, INTERVAL));
    busy(INTERVAL * 4);
    sampling::stop();
    let entry = sampling::entry(0, 1);
    shows!("LPP-3", (entry.format, entry.guest_parameter), (1, 0));
    end::end_success()
}
