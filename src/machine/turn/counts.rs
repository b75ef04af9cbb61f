//! Each CPU has counters of its own in the facility of the machine below.

use crate::machine::hardware::counting;
use crate::machine::io::failure::{WaitState, refuse};
use crate::machine::state::machine::Cpu;

/// The machine below counts for this CPU from now on, in a run that wants it.
pub fn begin(cpu: &mut Cpu) {
    let Some(counted) = &mut cpu.vcpu.account.counted else {
        return;
    };
    if !counting::begin() {
        refuse(
            WaitState::Facilities,
            format_args!(
                "the machine below does not let CPU {} count with --native; leave --native out",
                cpu.vcpu.address
            ),
        );
    }
    counted.last = counting::read();
}
