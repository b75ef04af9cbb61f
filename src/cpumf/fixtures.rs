//! Facilities in the initial states of tests.

use super::configuration_level::ConfigurationLevel;
use super::counters::{Activity, CoprocessorGroups, CounterSets};
use super::facility::{Facility, Installation};
use super::instruction::load_cpu_counter_set_controls;
use super::instruction::load_sampling_controls;
use super::model::{Model, Z15};
use super::sampling::SamplingLimits;
use super::sampling::request::SamplingRequest;
use zerocopy::IntoBytes;

/// The limits of sampling in tests.
pub const LIMITS: SamplingLimits = SamplingLimits {
    minimum: 1000,
    maximum: 1 << 32,
    cpu_speed: 1000,
};

/// A z15 at the logical-partition level with nothing authorized.
pub fn unauthorized_facility(installation: Installation) -> Facility {
    Facility::new(
        ConfigurationLevel::LogicalPartition,
        &Z15,
        installation,
        LIMITS,
    )
}

/// A partition of a given model with nothing authorized.
pub fn of_model(model: &'static Model) -> Facility {
    let level = ConfigurationLevel::LogicalPartition;
    Facility::new(level, model, Installation::ALL, LIMITS)
}

/// A z15 partition, authorized for basic sampling and for the basic and problem-state sets.
pub fn partition() -> Facility {
    let mut facility = unauthorized_facility(Installation::ALL);
    facility.authorize_counters(CounterSets::HONEST, &Activity::NONE);
    facility.authorize_basic_sampling(true);
    facility
}

/// The same, also authorized for the coprocessor-group counter sets, and the groups of four CPUs, two
/// to a group.
pub fn grouped() -> (Facility, CoprocessorGroups) {
    let (mut facility, groups) = (partition(), CoprocessorGroups::new(4, 2));
    facility.authorize_coprocessor_groups(true, &groups);
    (facility, groups)
}

/// The same as [`partition`] with both counter sets active since [`Activity::NONE`].
pub fn counting() -> Facility {
    let mut facility = partition();
    load_cpu_counter_set_controls(&mut facility, &Activity::NONE, 0x0006_0006).unwrap();
    facility
}

/// The same as [`partition`] with basic sampling active at an interval of 1000 cycles.
pub fn active(tear: u64, dear: u64) -> Facility {
    let mut facility = partition();
    let request = SamplingRequest::basic(true, true, 1000, tear, dear);
    load_sampling_controls(&mut facility, request.as_bytes().try_into().unwrap()).unwrap();
    facility
}

/// A partition of a model, authorized for both sampling functions, with the functions and indicators
/// of `controls` ([`super::sampling::request`]) in effect at an interval of 1000 cycles.
pub fn sampling(model: &'static Model, controls: u64, tear: u64, dear: u64) -> Facility {
    let mut facility = of_model(model);
    facility.authorize_basic_sampling(true);
    facility.authorize_diagnostic_sampling(true);
    let request = SamplingRequest::new(controls, 1000, tear, dear);
    load_sampling_controls(&mut facility, request.as_bytes().try_into().unwrap()).unwrap();
    facility
}
