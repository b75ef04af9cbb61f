//! What a conditional emergency signal depends on: the PSW and the address spaces of the addressed CPU.
//!
//! No CPU can look at the registers of another. A CPU that enters the stopped state publishes what the order depends on;
//! that of a CPU in the operating state cannot be determined, and the signal to it is not conditional.

use crate::state::mailbox::Mailbox;
use crate::state::vcpu::{CpuState, Vcpu};
use arch::psw::{EXTERNAL, IO, WAIT};
use core::sync::atomic::Ordering;

/// The CPU is enabled for both I/O and external interruptions.
const ENABLED: u64 = 1 << 63;
/// It is in the wait state.
const WAITS: u64 = 1 << 62;
/// The instruction address is zero.
const AT_ZERO: u64 = 1 << 61;
/// Bits of an address-space number.
const ASN: u64 = 0xFFFF;

/// Publishes what the order depends on, for a CPU in the stopped state. The state itself comes afterwards.
pub(super) fn publish(cpu: &Vcpu, mailbox: &Mailbox) {
    if cpu.state != CpuState::Stopped {
        return;
    }
    const BOTH: u64 = IO | EXTERNAL;
    let when = |condition: bool, bit: u64| if condition { bit } else { 0 };
    let psw = cpu.psw;
    let found = when(psw.mask & BOTH == BOTH, ENABLED)
        | when(psw.mask & WAIT != 0, WAITS)
        | when(psw.address == 0, AT_ZERO)
        | (cpu.control[3] & ASN) << 16
        | cpu.control[4] & ASN;
    mailbox.signal_condition.store(found, Ordering::Relaxed);
}

/// Whether a CPU in the stopped state accepts the signal. `asn` is the address-space number in the parameter.
///
/// It does if it is disabled for I/O or external interruptions; if it waits, and not at address zero; and if it does not wait,
/// and the number is that of its primary or of its secondary space.
pub(super) fn is_met(mailbox: &Mailbox, asn: u16) -> bool {
    let found = mailbox.signal_condition.load(Ordering::Relaxed);
    let spaces = [found as u16, (found >> 16) as u16];
    if found & ENABLED == 0 {
        true
    } else if found & WAITS != 0 {
        found & AT_ZERO == 0
    } else {
        spaces.contains(&asn)
    }
}
