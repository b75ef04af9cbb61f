//! The CPU-measurement counter facility of the machine below, where it has one.
//!
//! The guest always runs in the problem state of the hardware, whatever its own state, and the firmware always in the
//! supervisor state. So the problem-state counter set counts the guest alone. It stands still in the firmware: one reading
//! at a trap is enough, and its two counters belong together although they are read one after the other.

use crate::arch::condition::ConditionCode;
use crate::arch::facility::{self, FacilityList};
use crate::link::loader::sets;
use crate::machine::hardware::instruction;

/// The problem-state CPU-cycle count.
const CYCLES: u64 = 32;

/// The problem-state instruction count.
const INSTRUCTIONS: u64 = 33;

/// The controls that enable and activate the problem-state counter set, and no other.
const CONTROLS: u64 = {
    let set = sets::PROBLEM_STATE as u64;
    set << 16 | set
};

/// What QUERY COUNTER INFORMATION says of the facility of the machine below, if it has one.
#[must_use]
pub fn find(facilities: &FacilityList) -> Option<[u8; 64]> {
    let found = facilities.has(facility::MEASUREMENT_COUNTER);
    found.then(instruction::qctri)
}

/// Whether the problem-state counter set of this CPU counts from now on.
#[must_use]
pub fn begin() -> bool {
    instruction::lcctl(CONTROLS) == ConditionCode::Zero
}

/// The cycles and instructions that it has counted.
#[must_use]
#[inline]
pub fn read() -> [u64; 2] {
    [CYCLES, INSTRUCTIONS].map(instruction::ecctr)
}
