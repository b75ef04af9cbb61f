//! Whether the HSA is whole, at the end of a run and, in a run that asks for it, every second of guest time.
//!
//! What must not change has a sum ([`integrity`]). What changes is compared with what it must be: the shadow tables lead
//! where they may, a code copy differs from its page only by what is replaced, what nothing uses in the rooms of devices is
//! zeros, and the marks of the heap are there.

use crate::arch::address::Real;
use crate::arch::tod::UNITS_PER_MICROSECOND;
use crate::guest::channel::virtio::room::changed_in_rooms;
use crate::guest::hardware::Hardware;
use crate::guest::state::account::Mode;
use crate::guest::storage::scanner::changed_copy;
use crate::guest::storage::shadow::whole::{astray_in_own_tables, astray_in_shared_tables};
use crate::machine::io::failure::{self, WaitState};
use crate::machine::native::Native;
use crate::machine::state::machine::{Cpu, Machine};
use crate::machine::state::{heap, integrity};
use core::fmt;
use core::sync::atomic::Ordering;

/// A second of guest time, in clock units.
const SECOND: u64 = UNITS_PER_MICROSECOND * 1_000_000;

/// What has changed, and where, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct Changed {
    what: &'static str,
    /// Where, and what is there.
    at: Option<(Real, u64)>,
}

impl fmt::Display for Changed {
    fn fmt(&self, into: &mut fmt::Formatter<'_>) -> fmt::Result {
        into.write_str("the HSA has changed: ")?;
        into.write_str(self.what)?;
        self.at.map_or(Ok(()), |(at, value)| {
            write!(into, ", {value:016X} at {:X}", at.0)
        })
    }
}

/// The first of several things that has changed.
fn first<const N: usize>(
    native: &Native,
    things: [(&'static str, &dyn Fn() -> Option<Real>); N],
) -> Result<(), Changed> {
    let mut things = things.into_iter();
    let found = things.find_map(|(what, changed)| {
        changed().map(|at| {
            let at = Some((at, native.hsa_load(at)));
            Changed { what, at }
        })
    });
    found.map_or(Ok(()), Err)
}

/// Compares what the CPUs share.
pub fn check_shared(machine: &Machine, native: &Native) -> Result<(), Changed> {
    let configuration = &machine.configuration;
    integrity::check(&machine.plan, machine.open, &machine.sums)
        .map_err(|what| Changed { what, at: None })?;
    first(
        native,
        [
            ("the heap", &heap::changed),
            ("shared shadow tables", &|| {
                astray_in_shared_tables(configuration, native)
            }),
            ("a code copy", &|| changed_copy(configuration, native)),
            ("the room of a device", &|| {
                changed_in_rooms(configuration, native)
            }),
        ],
    )
}

/// Compares what belongs to a CPU.
pub fn check_own(cpu: &Cpu) -> Result<(), Changed> {
    first(
        &cpu.native,
        [("shadow tables of a CPU", &|| {
            astray_in_own_tables(&cpu.vcpu, &cpu.machine.configuration, &cpu.native)
        })],
    )
}

/// Whether what belongs to other CPUs can be compared: where CPUs execute at the same time, one may have been stopped in
/// the middle of a change.
pub fn others_are_settled(machine: &Machine) -> bool {
    machine.configuration.mode != Mode::RealTime
}

/// Compares now and then, in a run that asks for it.
pub fn look(cpu: &Cpu, now: u64) {
    let Some(last) = &cpu.machine.looked else {
        return;
    };
    if now.wrapping_sub(last.load(Ordering::Relaxed)) < SECOND {
        return;
    }
    last.store(now, Ordering::Relaxed);
    let found = check_shared(cpu.machine, &cpu.native).and_then(|()| check_own(cpu));
    if let Err(changed) = found {
        failure::fail(
            WaitState::Integrity,
            cpu.vcpu.psw,
            &cpu.vcpu.general,
            format_args!("{changed}"),
        );
    }
}
