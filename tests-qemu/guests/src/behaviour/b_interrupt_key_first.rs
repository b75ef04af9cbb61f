//! The interrupt key: its code, its subclass mask, and its place before all other external conditions.

use guests::externals::{self, EMERGENCY_SIGNAL, INTERRUPT_KEY};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::insn::cpu::{Order, sigp};
use guests::shows;

guests::clause!(
    "SA22-7832, Chapter 6, Interrupt Key; External Interruption (priorities)",
    native = false,
    options = "--operator 'INTERRUPT CPU 0'"
);
guests::case!(run);

/// Opens the masks for a moment; returns the codes, and the CPU address that the first one has stored.
fn open(subclasses: u64) -> (u64, u16) {
    let cr0 = stctg_0();
    lctlg_0(cr0 & !INTERRUPT_KEY | subclasses);
    stosm::<0x01>();
    stnsm::<0xFE>();
    lctlg_0(cr0);
    let cpu = externals::get(0).cpu;
    (externals::take_codes(), cpu)
}

fn run() {
    externals::record();
    let closed = open(0).0;
    let _ = sigp(0, Order::EmergencySignal, 0);
    let both = open(INTERRUPT_KEY | EMERGENCY_SIGNAL);
    let again = open(INTERRUPT_KEY).0;
    shows!("EXTERNALINTERRUPTION-20", [closed, again], [0, 0]);
    shows!(
        ["EXTERNALINTERRUPTION-21", "EXTERNALORDER-6"],
        both,
        (0x0040_1201, 0)
    );
}
