//! A run: stages a guest, starts QEMU, talks to the machine and keeps what it sends.

pub mod collect;
pub mod console;
pub mod doctor;
pub mod failure;
pub mod guest;
pub mod hercules;
pub mod his_files;
pub mod listener;
pub mod log;
pub mod monitor;
pub mod nested;
mod newc;
pub mod objects;
pub mod parameter_area;
pub mod profiler;
pub mod qemu;
pub mod remains;
pub mod run;
pub mod session;
pub mod slot;
pub mod snapshot;
pub mod stage;
pub mod typist;
