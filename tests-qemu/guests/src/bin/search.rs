//! The search workload alone, as one task under the supervisor.
#![no_std]
#![no_main]

guests::clause!("workload: search", native = true);
guests::guest!(run);

fn run() {
    guests::supervisor::supervise(&[("search", guests::workload::search::work)])
}
