//! The instructions of the two facilities: one routine each, in a file of its own.
//!
//! A routine takes the operand that the caller has fetched. [`authorize`] makes the tests that precede
//! any operand access.

mod authority;
mod extract_coprocessor_group_address;
mod extract_cpu_counter;
mod extract_peripheral_counter;
mod load_cpu_counter_set_controls;
mod load_peripheral_counter_set_controls;
mod load_program_parameter;
mod load_sampling_controls;
mod query_counter_information;
mod query_sampling_information;
mod set_cpu_counter;
mod set_peripheral_counter;
mod store_cpu_counter_multiple;

pub use authority::{Instruction, authorize};
pub use extract_coprocessor_group_address::extract_coprocessor_group_address;
pub use extract_cpu_counter::extract_cpu_counter;
pub use extract_peripheral_counter::extract_peripheral_counter;
pub use load_cpu_counter_set_controls::load_cpu_counter_set_controls;
pub use load_peripheral_counter_set_controls::load_peripheral_counter_set_controls;
pub use load_program_parameter::load_program_parameter;
pub use load_sampling_controls::load_sampling_controls;
pub use query_counter_information::{CounterInformation, query_counter_information};
pub use query_sampling_information::{SamplingInformation, query_sampling_information};
pub use set_cpu_counter::set_cpu_counter;
pub use set_peripheral_counter::set_peripheral_counter;
pub use store_cpu_counter_multiple::{CounterMultiple, store_cpu_counter_multiple};
