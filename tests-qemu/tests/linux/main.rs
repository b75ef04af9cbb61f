//! Debian's kernel above the machine.
//!
//! A boot takes as long as many other tests together, so one boot answers many questions: a script runs in the
//! [`guest`], and the tests examine its output section by section. The harness begins the tests in the order of their names:
//! those that take longest are in [`again`] and [`below`], so that no CPU waits for them at the end.

mod again;
mod bad_input;
mod below;
mod changes;
mod check;
mod cost;
mod cryptography;
mod debugger;
mod devices;
mod end;
mod facilities;
mod guest;
mod ipl_disk;
mod isolation;
mod messages;
mod native;
mod nested;
mod perf;
mod profile;
mod real_time;
mod reboot;
mod record;
mod runner;
mod shell;
mod soak;
mod stacks;
mod started;
mod stat;
mod storage;
mod suite;
mod systemd;
