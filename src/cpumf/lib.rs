//! The two facilities of SA23-2260: load-program-parameter and CPU-measurement.
//!
//! This crate performs the twelve instructions of the two facilities, keeps the registers and counters
//! that they control, and writes sample-data blocks. It does so for a machine that someone else
//! simulates or emulates: storage, the clock and the activity of the CPU come in as arguments, and a
//! register, a condition code, a program interruption or a pending measurement alert goes out. The
//! crate has no state of its own, no `unsafe` code and no allocator, and needs no operating system.
//!
//! # The main types
//!
//! * A [`Facility`] holds the facilities of one CPU at one [`ConfigurationLevel`]. A CPU can have one
//!   for each level: one for the guest, which sets its controls and takes its alerts, and one for the
//!   machine below the guest. Neither disturbs the registers of the other.
//! * A [`Model`] says what a machine installs: version numbers, counter numbers and entry sizes.
//!   [`model::MODELS`] has the models from z10 to z16.
//! * An [`Activity`] says how many cycles and instructions the CPU has performed so far. Counters do
//!   not run: reading one adds the activity since its activation.
//! * A [`CoprocessorGroups`](counters::CoprocessorGroups) holds the coprocessor-group counters, which
//!   all CPUs of a machine share.
//! * A [`SampleStorage`] gives the update process the storage in which the program keeps its
//!   sample-data-block tables and blocks. A [`Snapshot`] is the CPU at the sampling point.
//! * [`sampling::block`] describes blocks, entries and trailers for those who write and those who
//!   read them.
//! * [`PendingAlerts`] are the measurement alerts that external interruption 1407 reports.
//!
//! # The instructions
//!
//! [`instruction`] has one function for each instruction. Its documentation gives the operands with
//! their widths, the condition codes, the program exceptions in priority order, and the source.
//! [`authorize`] tests for operation and privileged-operation exceptions. Functions whose operands are
//! registers call it themselves; before an instruction with an operand in storage, the caller does,
//! then fetches the operand, then calls the function.
//!
//! # Counting
//!
//! LOAD CPU-COUNTER-SET CONTROLS activates the basic counter set; SET CPU COUNTER and EXTRACT CPU
//! COUNTER write and read counter 1, the instruction count.
//!
//! ```
//! use arch::condition::ConditionCode;
//! use cpumf::instruction::{
//!     extract_cpu_counter, load_cpu_counter_set_controls, query_counter_information, set_cpu_counter,
//! };
//! use cpumf::{
//!     Activity, ConfigurationLevel, CounterSets, Facility, Installation, Instruction, SamplingLimits,
//!     authorize, counters::GlobalCounterControls, model,
//! };
//!
//! let limits = SamplingLimits { minimum: 1_000, maximum: 1 << 32, cpu_speed: 1_000 };
//! let level = ConfigurationLevel::LogicalPartition;
//! let mut facility = Facility::new(level, &model::Z15, Installation::ALL, limits);
//! // The external means (on a real machine: the support element) authorizes the basic set.
//! facility.authorize_counters(CounterSets::BASIC, &Activity::NONE);
//!
//! // The supervisor may issue LCCTL. Bits 42-47 of its operand enable sets, bits 58-63 activate them.
//! authorize(&facility, Instruction::LoadCpuCounterSetControls, false, 0)?;
//! let basic = u64::from(CounterSets::BASIC.0);
//! let controls = basic << 16 | basic;
//! let set = load_cpu_counter_set_controls(&mut facility, &Activity::NONE, controls)?;
//! assert_eq!(set, ConditionCode::Zero);
//!
//! // SCCTR sets counter 1 to 5000 when the CPU has executed 40 instructions.
//! let at = |instructions| Activity { instructions, ..Activity::NONE };
//! let set = set_cpu_counter(&mut facility, &at(40), false, 5_000, 1)?;
//! assert_eq!(set, ConditionCode::Zero);
//! // 60 instructions later, ECCTR finds 5060.
//! let extracted = extract_cpu_counter(&facility, &at(100), false, 0, 1)?;
//! assert_eq!(extracted, (Some(5_060), ConditionCode::Zero));
//! // Counter 32 is of the problem-state set, which is not authorized.
//! let extracted = extract_cpu_counter(&facility, &at(100), false, 0, 32)?;
//! assert_eq!(extracted, (None, ConditionCode::Three));
//!
//! // QCTRI stores 64 bytes: CFVN 3, then the authorization, enable and activation controls.
//! let information = query_counter_information(&facility, &GlobalCounterControls::default());
//! assert_eq!(information[..8], [0, 3, 0, 2, 0, 2, 0, 2]);
//! # Ok::<(), arch::interruption::ProgramInterruption>(())
//! ```
//!
//! # Sampling
//!
//! LOAD SAMPLING CONTROLS activates the basic-sampling function and locates table and block.
//! [`Facility::sample`] then takes one sample, and [`sampling::SampleDataBlock`] reads it.
//!
//! ```
//! use arch::{address::Absolute, psw::{PROBLEM, Psw}, tod::TodExtended};
//! use cpumf::instruction::{load_program_parameter, load_sampling_controls};
//! use cpumf::sampling::{SampleDataBlock, request::SamplingRequest};
//! use cpumf::{
//!     ConfigurationLevel, Diagnosis, Facility, Installation, SampleStorage, Sampled, SamplingLimits,
//!     Snapshot, model,
//! };
//! use zerocopy::{FromBytes, IntoBytes};
//!
//! /// 64 KiB of storage. One CPU uses it, so a plain comparison and a store are COMPARE DOUBLE AND SWAP.
//! struct Storage(Vec<u8>);
//!
//! impl SampleStorage for Storage {
//!     type Place = usize;
//!
//!     fn available(&self, at: Absolute, length: u64) -> Option<usize> {
//!         let end = at.0.checked_add(length)?;
//!         (end <= self.0.len() as u64).then_some(at.0 as usize)
//!     }
//!     fn load_u64(&self, place: usize, offset: u64) -> u64 {
//!         let at = place + offset as usize;
//!         u64::from_be_bytes(self.0[at..at + 8].try_into().unwrap())
//!     }
//!     fn store(&mut self, place: usize, offset: u64, bytes: &[u8]) {
//!         let at = place + offset as usize;
//!         self.0[at..at + bytes.len()].copy_from_slice(bytes);
//!     }
//!     fn compare_and_swap(&mut self, place: usize, expected: u128, new: u128) -> Result<(), u128> {
//!         let place = place..place + 16;
//!         let found = u128::from_be_bytes(self.0[place.clone()].try_into().unwrap());
//!         if found != expected {
//!             return Err(found);
//!         }
//!         self.0[place].copy_from_slice(&new.to_be_bytes());
//!         Ok(())
//!     }
//!     fn time_of_day(&self) -> TodExtended {
//!         TodExtended::default()
//!     }
//! }
//!
//! let limits = SamplingLimits { minimum: 1_000, maximum: 1 << 32, cpu_speed: 1_000 };
//! let level = ConfigurationLevel::LogicalPartition;
//! let mut facility = Facility::new(level, &model::Z15, Installation::ALL, limits);
//! facility.authorize_basic_sampling(true);
//!
//! // A table at 4000 hex, whose first entry designates the block at 8000 hex.
//! let mut storage = Storage(vec![0; 0x1_0000]);
//! storage.store(0x4000, 0, &0x8000_u64.to_be_bytes());
//!
//! // LSCTL enables and activates basic sampling at an interval of 1000 cycles. LPP names the task.
//! let request = SamplingRequest::basic(true, true, 1_000, 0x4000, 0x8000);
//! load_sampling_controls(&mut facility, request.as_bytes().try_into().unwrap())?;
//! load_program_parameter(&mut facility, 1234, false);
//!
//! // An interval has passed: the CPU is in the problem state, at 1FF0 hex.
//! let snapshot = Snapshot {
//!     psw: Psw { mask: PROBLEM, address: 0x1FF0 },
//!     cr4: 0,
//!     program_parameter: facility.program_parameter(),
//!     host_program_parameter: 0,
//!     level,
//!     limited: false,
//! };
//! assert_eq!(facility.sample(&snapshot, Diagnosis::default, &mut storage), Sampled::Stored);
//! assert_eq!(facility.sampling().dear(), 0x8020);
//!
//! let block = SampleDataBlock::ref_from_bytes(&storage.0[0x8000..0x9000]).unwrap();
//! let sample = block.samples().next().unwrap();
//! assert!(sample.problem_state());
//! assert_eq!(sample.instruction_address.get(), 0x1FF0);
//! assert_eq!(sample.guest_program_parameter.get(), 1234);
//! assert!(!block.trailer.full());
//! # Ok::<(), arch::interruption::ProgramInterruption>(())
//! ```
//!
//! # Sources
//!
//! * SA23-2260-07, *The Load-Program-Parameter and the CPU-Measurement Facilities*: the instructions,
//!   the counter sets, the sampling functions and the alerts. Where it leaves a choice, the
//!   documentation of the function or module names the choice that is made here.
//! * SA23-2261, *The CPU-Measurement Facility Extended Counters Definition*: what the extended counters
//!   of each model count ([`counters::extended`]).
//! * *z/Architecture Principles of Operation*: the priority of program-interruption conditions.
//!
//! The crate `millimeter-arch` (`arch` above) has the types of the Principles of Operation that are
//! used here: addresses, PSW, condition codes, program interruptions, the TOD clock.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod alert;
mod configuration_level;
pub mod counters;
mod facility;
pub mod instruction;
pub mod model;
pub mod sampling;
mod state;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod model_alert;
#[cfg(test)]
mod second_opinion;

pub use alert::{Alert, PendingAlerts};
pub use configuration_level::ConfigurationLevel;
pub use counters::{Activity, CounterSet, CounterSets};
pub use facility::{Facility, Installation, Reset};
pub use instruction::{Instruction, authorize, load_program_parameter};
pub use model::Model;
pub use sampling::{Diagnosis, SampleStorage, Sampled, SamplingLimits, Snapshot};
pub use state::{ControlState, InvalidTransition};
