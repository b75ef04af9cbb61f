//! One test in a process of its own, and what it took.

use std::{
    env, fs,
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
    process::{self, ExitStatus, Stdio},
    time::Instant,
};

use anyhow::{Context, Result};
use measure::computer::program;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::{
    command,
    prices::{Price, Step},
};

/// Names the test that this process is to perform.
const ASKED: &str = "MILLIMETER_TEST_ALONE";

/// Names the file for what a test says to its suite.
const SAID: &str = "MILLIMETER_TEST_SAYS";

/// A line of it ends so; a text may have several lines.
const END: char = '\u{1E}';

/// Ticks of the kernel's accounts in a second, on every architecture of a host.
const TICKS: f64 = 100.0;

/// How a test ended.
pub struct Ended {
    pub status: ExitStatus,
    /// What it wrote, in the order in which it was written.
    pub output: String,
    /// What it said to its suite.
    pub said: Vec<String>,
    pub price: Price,
}

/// The test that this process is to perform, if it is one of a suite's.
pub fn asked() -> Option<String> {
    env::var(ASKED).ok()
}

/// Says something to the suite, for what must hold of a whole run.
pub fn say(text: &str) -> Result<()> {
    // Performed by hand, without a suite, nobody listens.
    let Some(file) = env::var_os(SAID) else {
        return Ok(());
    };
    let mut file = fs::File::options().append(true).open(file)?;
    Ok(write!(file, "{text}{END}")?)
}

/// How a part of a test begins in what the test says.
const STEP: &str = "step ";

/// Performs a part of a test, and says what it took.
pub fn step<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let (began, before) = (Instant::now(), own_seconds());
    let made = work();
    let (cpu, wall) = (own_seconds() - before, began.elapsed().as_secs_f64());
    let name = name.replace(char::is_whitespace, "-");
    // Nothing depends on it.
    let _ = say(&format!("{STEP}{cpu:.2} {wall:.2} {name}"));
    made
}

/// The part of a test that it said so.
pub fn said_step(test: &str, said: &str) -> Option<Step> {
    let mut words = said.strip_prefix(STEP)?.split(' ');
    let mut number = || words.next()?.parse().ok();
    let price = Price {
        cpu: number()?,
        wall: number()?,
    };
    Some(Step {
        test: test.to_owned(),
        name: words.next()?.to_owned(),
        price,
    })
}

/// Seconds of processors that this process has had, with all that it started and waited for.
pub fn own_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat");
    stat.ok().and_then(|stat| seconds(&stat)).unwrap_or(0.0)
}

/// Performs the test of this name, for which this host command was built.
pub fn perform(name: &str, built: &Path) -> Result<Ended> {
    let mut output = tempfile::tempfile()?;
    let said = tempfile::NamedTempFile::new()?;
    // This program, also when another build has taken its place meanwhile.
    let program = PathBuf::from(format!("/proc/{}/exe", process::id()));
    let began = Instant::now();
    let mut child = program::that_ends_with_this(&program)
        .env(ASKED, name)
        .env(command::BUILT, built)
        .env(SAID, said.path())
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let id = child.id();
    if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        waitid(
            WaitId::Pid(id),
            WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
        )?;
    }
    // The accounts are there until somebody has waited for the process.
    let cpu = fs::read_to_string(format!("/proc/{id}/stat")).map(|stat| seconds(&stat));
    let status = child.wait()?;
    let wall = began.elapsed().as_secs_f64();
    output.rewind()?;
    let mut bytes = Vec::new();
    output.read_to_end(&mut bytes)?;
    let said = fs::read_to_string(said.path())?;
    Ok(Ended {
        status,
        output: String::from_utf8_lossy(&bytes).into_owned(),
        said: said.split_terminator(END).map(str::to_owned).collect(),
        price: Price {
            cpu: cpu.ok().flatten().unwrap_or(0.0),
            wall,
        },
    })
}

/// Seconds of processors that a process has had, with all its children that it waited for: the fields utime, stime, cutime
/// and cstime of proc_pid_stat(5).
fn seconds(stat: &str) -> Option<f64> {
    // The name of the program, which may have blanks, is in parentheses.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: Vec<u64> = fields
        .split_whitespace()
        .skip(11)
        .take(4)
        .map_while(|field| field.parse().ok())
        .collect();
    (ticks.len() == 4).then(|| ticks.iter().sum::<u64>() as f64 / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seconds_of_a_process_are_its_own_and_its_childrens_whatever_its_name() {
        let stat = "7 (a ) b) Z 1 7 7 0 -1 4 1 2 3 4 100 20 3000 400 20 0 1 0 5 0 0";
        assert_eq!(seconds(stat), Some(35.2));
        assert_eq!(seconds("7 (a) Z 1"), None);
    }

    #[test]
    fn a_part_of_a_test_is_known_by_what_the_test_said_of_it() {
        let step = said_step("a::b", "step 1.50 2.00 boot-6.1").unwrap();
        assert_eq!((&step.test[..], &step.name[..]), ("a::b", "boot-6.1"));
        assert_eq!((step.price.cpu, step.price.wall), (1.5, 2.0));
        assert_eq!(said_step("a::b", "{}"), None);
    }

    #[test]
    fn what_this_process_took_is_found_as_that_of_any_other() {
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        assert!(seconds(&stat).is_some(), "{stat}");
        let before = own_seconds();
        while own_seconds() == before {}
    }
}
