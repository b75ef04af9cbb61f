//! The compress workload alone, as one task under the supervisor.
#![no_std]
#![no_main]

guests::clause!("workload: compress", native = true);
guests::guest!(run);

fn run() {
    guests::supervisor::supervise(&[("compress", guests::workload::compress::work)])
}
