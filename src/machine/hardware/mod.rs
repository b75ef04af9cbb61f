//! The hardware: instructions, prefix area, waits, service calls, and the layout of the HSA.

pub mod counting;
pub mod entry;
pub mod guarded;
pub mod hsa;
pub mod instruction;
pub mod lowcore;
pub mod passing;
pub mod registers;
pub mod sclp;
pub mod set_back;
mod settle;
pub mod shared_storage;
pub mod wait;
