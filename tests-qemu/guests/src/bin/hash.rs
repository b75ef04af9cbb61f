//! The hash workload alone, as one task under the supervisor.
#![no_std]
#![no_main]

guests::clause!("workload: hash", native = true);
guests::guest!(run);

fn run() {
    guests::supervisor::supervise(&[("hash", guests::workload::hash::work)])
}
