//! Linux below which is another emulator. It takes longer than any other test.

use tempfile::TempDir;

use tests_qemu::suite::test;

use crate::guest::{NO_CIPHER_TESTS, run_linux};

/// Routines of the kernel's start that compute and that no command needs: they test a source of random numbers, give numbers in
/// the formats of its traces' events names, and check the signatures of its certificates. Without them a boot has 590 million
/// instructions instead of 840 million, 400 million of them in the boot stage, which decompresses the kernel.
const COMPUTING: &str = "jent_mod_init,trace_eval_init,load_system_certificate_list";

#[test]
#[ignore = "long: Linux boots for minutes in Hercules"]
fn linux_runs_a_command_below_which_is_hercules() {
    let directory = TempDir::new().unwrap();
    let options = [
        "--below",
        "hercules",
        "--release",
        "6.12",
        "--limit",
        "2000",
    ];
    // What computes much while the kernel boots takes a large part of that time in an emulator that interprets.
    let append = format!("quiet {NO_CIPHER_TESTS} initcall_blacklist={COMPUTING}");
    let command = ["--append", &append, "--", "uname -m; exit 6"];
    let line: Vec<&str> = options.into_iter().chain(command).collect();
    let finished = run_linux(directory.path(), &line);
    assert_eq!(finished.code, Some(6), "{finished:?}");
    assert!(finished.output.contains("s390x"), "{finished:?}");
}
