//! The machine, its guests and the host command together, except for Linux and the behaviour guests. This is one
//! program, so that tests of all files run side by side and are linked once.

mod again;
mod bad_input;
mod book;
mod budgets;
mod caches;
mod chances;
mod configuration;
mod counting;
mod counts;
mod ends;
mod faults;
mod held;
mod hercules;
mod his;
mod installed;
mod ipl_forms;
mod licences;
mod loops;
mod machine_counters;
mod models;
mod monitor;
mod moved;
mod nested;
mod page;
mod panics;
mod profilers;
mod random;
mod real_time;
mod recording;
mod released;
mod repeatable;
mod reproducible;
mod services;
mod stacks;
mod still_clock;
mod tracing;
mod translations;
mod virtio;
mod work_units;

use std::process::ExitCode;

use tests_qemu::{
    ipl,
    suite::{self, Suite},
};

fn main() -> ExitCode {
    Suite {
        name: "machine",
        entries: suite::functions(),
        prepare: || ipl::image().map(drop),
        whole: None,
    }
    .run()
}
