//! Debian's kernel above the machine.
//!
//! A boot takes as long as many other tests together, so one boot answers many questions: a script runs in the
//! [`guest`], and the tests examine its output section by section.

mod again;
mod bad_input;
mod below;
mod changes;
mod check;
mod cost;
mod cryptography;
mod debugger;
mod devices;
mod diagnostic;
mod end;
mod facilities;
mod guest;
mod ipl_disk;
mod isolation;
mod messages;
mod native;
mod nested;
mod perf;
mod perfs_own;
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

mod systemd;

use std::process::ExitCode;

use measure::{building::build, computer::progress::Progress};
use tests_qemu::{
    ipl,
    suite::{self, Suite},
};

fn main() -> ExitCode {
    Suite {
        name: "linux",
        entries: suite::functions(),
        prepare: || {
            ipl::image()?;
            build::build_programs(&Progress::Plain).map(drop)
        },
        whole: None,
    }
    .run()
}
