//! The bundled workload: compression, hashing and searching as tasks in problem state, on all CPUs.
#![no_std]
#![no_main]

use guests::workload::{compress, hash, search};

guests::clause!("workload: three tasks under the supervisor", native = true);
guests::guest!(run);

fn run() {
    guests::supervisor::supervise(&[
        ("compress", compress::work),
        ("hash", hash::work),
        ("search", search::work),
    ])
}
