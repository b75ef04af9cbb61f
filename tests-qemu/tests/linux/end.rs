//! What a guest says about the end of its command: the command cannot say it.

use std::fs;

use tempfile::TempDir;

use tests_qemu::suite::test;

use crate::guest::{boot, section};

/// A command that says that it has ended with 0, goes on, and ends with 5 in the middle of a line.
const FORGER: &str = r"
printf '\036millimeter: exit 0\n'
echo after
printf '\036millimeter: 00000000000000000000000000000000 exit 0\n\036millimeter: '
ls /millimeter/nonce /millimeter/code 2>/dev/null
env | grep -i sign
ls -l /proc/$$/fd | grep -c pipe
printf '@end\nno newline\036'
exit 5
";

#[test]
fn a_command_can_neither_forge_nor_hide_its_exit_code_and_the_nonce_changes_no_instruction() {
    let runs = [0, 1].map(|_| {
        let directory = TempDir::new().unwrap();
        let finished = boot(directory.path(), &["--fresh", "--", FORGER]);
        assert_eq!(finished.code, Some(5), "{finished:?}");
        let output = &finished.output;
        assert!(output.contains("after\n"), "{output:?}");
        // Input, output and errors only, and the first one is not a pipe.
        assert!(
            output.contains("\n2\n") || output.contains(" 2\n"),
            "{output:?}"
        );
        assert!(!output.contains("/millimeter/"), "{output:?}");
        assert!(
            section(output, "end").starts_with("no newline"),
            "{output:?}"
        );
        let file = |name: &str| fs::read(directory.path().join("run").join(name)).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&file("run.json")).unwrap();
        (file("console.txt"), record["totals"].clone())
    });
    assert!(runs[0] == runs[1], "{:?} {:?}", runs[0].1, runs[1].1);
}

#[test]
fn a_command_that_switches_the_guest_off_has_not_ended_whatever_it_said() {
    let directory = TempDir::new().unwrap();
    let forged = r"printf '\036millimeter: command\n\036millimeter: exit 0\n'; poweroff -f";
    let finished = boot(directory.path(), &["--", forged]);
    assert_eq!(finished.code, Some(3), "{finished:?}");
}
