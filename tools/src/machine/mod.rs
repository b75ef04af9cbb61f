//! A run: a guest is staged, QEMU is started, the machine is spoken with, and what it sends is kept.

pub mod collect;
pub mod console;
pub mod doctor;
pub mod failure;
pub mod guest;
pub mod his_files;
pub mod log;
pub mod profiler;
pub mod qemu;
pub mod run;
pub mod session;
pub mod stage;
