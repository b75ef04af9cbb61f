//! Linux above a machine that is a guest of the machine.

use std::fs;

use tempfile::TempDir;

use tests_qemu::suite::test;

use crate::{
    guest::{NO_CIPHER_TESTS, boot, initrd, section},
    stat::{LOOP, counted},
};

const QUESTIONS: &str = "echo @user; perf stat -x, -e cycles:u,instructions:u loop 2>&1; exit 7\n";

#[test]
#[ignore = "long: cargo soak runs it"]
fn perf_above_two_machines_counts_what_it_counts_above_one() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("questions"), QUESTIONS).unwrap();
    fs::write(directory.path().join("initrd"), initrd()).unwrap();
    let arguments = ["--initrd", "initrd", "--script", "questions"];
    let counts = [&["--nested"][..], &[]].map(|levels| {
        let more = ["--append", NO_CIPHER_TESTS];
        let finished = boot(directory.path(), &[&arguments[..], &more, levels].concat());
        assert_eq!(finished.code, Some(7), "{finished:?}");
        fs::remove_dir_all(directory.path().join("run")).unwrap();
        let user = section(&finished.output, "user");
        ["cycles:u", "instructions:u"].map(|event| counted(user, event))
    });
    assert_eq!(counts, [[LOOP; 2]; 2]);
}
