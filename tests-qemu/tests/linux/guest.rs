//! The guest: how it is started, and what it said.

use std::path::Path;

use tests_qemu::{
    command::{self, Said},
    ipl,
};

/// What the command says of `linux` with these arguments.
pub fn said(directory: &Path, arguments: &[&str]) -> Said {
    let mut line = vec!["linux"];
    line.extend_from_slice(arguments);
    let mut command = command::measure(&line).unwrap();
    command.current_dir(directory);
    command::said(command).unwrap()
}

/// As [`said`], with all that the guest boots.
pub fn boots(directory: &Path, arguments: &[&str]) -> Said {
    let mut line = vec!["--rtc", ipl::DATE, "--out", "run", "--limit", "1500"];
    line.extend_from_slice(arguments);
    said(directory, &line)
}

/// The section of this name.
pub fn section<'a>(output: &'a str, name: &str) -> &'a str {
    let begin = format!("@{name}\n");
    let (_, rest) = output
        .split_once(&begin)
        .unwrap_or_else(|| panic!("there is no section {name}:\n{output}"));
    rest.split("\n@").next().unwrap_or(rest)
}

/// The value of an event as `perf stat -x,` prints it.
pub fn counted(output: &str, event: &str) -> u64 {
    let line = output
        .lines()
        .find(|line| line.split(',').nth(2) == Some(event));
    let value = line.and_then(|line| line.split(',').next()?.parse().ok());
    value.unwrap_or_else(|| panic!("{event} was not counted:\n{output}"))
}
