//! QEMU's own monitor: asked when the machine no longer answers, and to keep and to continue a started system.
//!
//! It is a socket in the directory of the staged files, which no other user can enter. QEMU does nothing for it during a
//! run, so a run with a monitor is the same as one without.
//!
//! It is the monitor for people. For the one with the machine protocol QEMU has a thread of its own, which it wakes whenever a
//! timer of the guest changes: that doubled the host's part of a sample.

use std::{
    io::{Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

/// The longest name that a socket can have.
const LONGEST_NAME: usize = 107;

/// How long QEMU may take for an answer. A QEMU that works on an instruction without an end never answers.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is asked whether it has finished something.
const PACE: Duration = Duration::from_millis(2);

/// A monitor that QEMU will open.
#[derive(Clone, Debug)]
pub struct Socket(PathBuf);

impl Socket {
    /// A monitor in this directory; none if its name would be too long for a socket.
    pub fn within(directory: &Path) -> Option<Self> {
        let path = directory.join("monitor");
        (path.as_os_str().len() <= LONGEST_NAME).then_some(Self(path))
    }

    /// The monitor, for what cannot be done without one.
    pub fn required(monitor: Option<&Self>) -> Result<&Self> {
        monitor.context(
            "the name of the temporary directory is too long for QEMU's monitor; set TMPDIR to a shorter one",
        )
    }

    /// QEMU's options that open it.
    pub fn arguments(&self) -> [String; 4] {
        let path = self.0.to_string_lossy().replace(',', ",,");
        [
            "-chardev".to_owned(),
            format!("socket,id=m0,path={path},server=on,wait=off"),
            "-mon".to_owned(),
            "chardev=m0,mode=readline".to_owned(),
        ]
    }

    /// Stops QEMU's CPUs and returns the state of its devices. Storage is a file that QEMU shares, so it is not in there.
    pub fn save(&self) -> Result<Vec<u8>> {
        let mut monitor = Monitor::connect(&self.0)?;
        monitor.execute("stop")?;
        monitor.execute(STORAGE_IS_SHARED)?;
        let path = self.0.with_file_name("state");
        let listener = UnixListener::bind(&path).context("cannot take QEMU's state")?;
        let taken = thread::spawn(move || {
            let (mut stream, _) = listener.accept()?;
            stream.set_read_timeout(Some(PATIENCE))?;
            let mut state = Vec::new();
            stream.read_to_end(&mut state).map(|_| state)
        });
        monitor.execute(&format!("migrate -d {}", unix(&path)?))?;
        monitor.until("info migrate", |status| {
            match status.split_whitespace().next() {
                Some("completed") => Ok(true),
                Some("failed" | "cancelled") => bail!("QEMU could not save its state"),
                _ => Ok(false),
            }
        })?;
        match taken.join() {
            Ok(state) => state.context("cannot take QEMU's state"),
            Err(_) => bail!("cannot take QEMU's state"),
        }
    }

    /// Gives this state to a QEMU that waits for one, and lets its CPUs go on.
    pub fn resume(&self, state: &[u8]) -> Result<()> {
        // It has only just been started.
        let until = Instant::now() + PATIENCE;
        let stream = loop {
            match UnixStream::connect(&self.0) {
                Err(_) if Instant::now() < until => thread::sleep(PACE),
                connected => break connected.context("QEMU has no monitor")?,
            }
        };
        let mut monitor = Monitor::greeted(stream)?;
        monitor.execute(STORAGE_IS_SHARED)?;
        let path = self.0.with_file_name("state");
        monitor.execute(&format!("migrate_incoming {}", unix(&path)?))?;
        let mut stream = UnixStream::connect(&path).context("QEMU takes no state")?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream
            .write_all(state)
            .context("QEMU does not take its state")?;
        drop(stream);
        monitor.until("info status", |status| Ok(!status.contains("inmigrate")))?;
        monitor.execute("cont")
    }

    /// Stops QEMU's CPUs, writes a core file of their registers and of these bytes of storage, and ends QEMU. If a script
    /// runs it, the end of the script would leave it behind.
    pub fn dump(&self, file: &Path, begin: u64, length: u64) -> Result<()> {
        let file = file
            .to_str()
            .context("the name of the run's directory is not UTF-8")?;
        let file = quoted(file)?;
        let mut monitor = Monitor::connect(&self.0)?;
        monitor.execute("stop")?;
        let dumped = monitor.execute(&format!("dump-guest-memory {file} {begin:#x} {length:#x}"));
        // It may be gone before it answers.
        let _ = monitor.execute("quit");
        dumped
    }
}

/// The name of a socket, as QEMU takes it.
fn unix(path: &Path) -> Result<String> {
    let path = path
        .to_str()
        .context("the name of the temporary directory is not UTF-8")?;
    quoted(&format!("unix:{path}"))
}

/// A text as the monitor takes it. It is typed, so it can have no key that edits.
fn quoted(text: &str) -> Result<String> {
    ensure!(
        !text.contains(char::is_control),
        "the name {text:?} has a control character, which QEMU's monitor does not take; set TMPDIR or --out to another one"
    );
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    Ok(format!("\"{text}\""))
}

/// Makes use of that QEMU's storage is a file of its own.
const STORAGE_IS_SHARED: &str = "migrate_set_capability x-ignore-shared on";

/// What the monitor writes when it waits for a command.
const PROMPT: &[u8] = b"(qemu) ";

/// The most that an answer has.
const LONGEST_ANSWER: usize = 1 << 16;

/// A connection to the monitor.
struct Monitor {
    stream: UnixStream,
}

impl Monitor {
    fn connect(path: &Path) -> Result<Self> {
        Self::greeted(UnixStream::connect(path).context("QEMU has no monitor")?)
    }

    /// A connection that has been accepted.
    fn greeted(stream: UnixStream) -> Result<Self> {
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut monitor = Self { stream };
        monitor.answer()?;
        Ok(monitor)
    }

    /// What QEMU writes until it waits for a command.
    fn answer(&mut self) -> Result<String> {
        let until = Instant::now() + PATIENCE;
        let mut answer = Vec::new();
        while !answer.ends_with(PROMPT) {
            let left = until.saturating_duration_since(Instant::now());
            ensure!(!left.is_zero(), "QEMU's monitor has not answered");
            self.stream.set_read_timeout(Some(left))?;
            let mut part = [0; 4096];
            let read = self.stream.read(&mut part);
            let length = read.context("QEMU's monitor does not answer")?;
            ensure!(length != 0, "QEMU has closed its monitor");
            answer.extend_from_slice(&part[..length]);
            ensure!(
                answer.len() <= LONGEST_ANSWER,
                "QEMU's monitor does not end its answer"
            );
        }
        answer.truncate(answer.len() - PROMPT.len());
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Performs a command. One that has been performed says nothing.
    fn execute(&mut self, command: &str) -> Result<()> {
        let answer = self.ask(command)?;
        match answer.lines().find_map(refusal) {
            Some(why) => bail!("QEMU refuses {command}: {why}"),
            None => Ok(()),
        }
    }

    /// Asks again and again for a status, until it is as it should be.
    fn until(&mut self, command: &str, is_it: impl Fn(&str) -> Result<bool>) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let answer = self.ask(command)?;
            if is_it(status(&answer))? {
                return Ok(());
            }
            ensure!(Instant::now() < until, "QEMU does not finish {command}");
            thread::sleep(PACE);
        }
    }

    /// Performs a command and returns its answer. The first line is the command as it was typed.
    fn ask(&mut self, command: &str) -> Result<String> {
        writeln!(self.stream, "{command}")?;
        let answer = self.answer()?;
        Ok(answer
            .split_once('\n')
            .map_or_else(String::new, |(_, rest)| rest.to_owned()))
    }
}

/// Why a command was refused, if this line of its answer says so.
fn refusal(line: &str) -> Option<&str> {
    let line = line.trim();
    let error = line.strip_prefix("Error: ");
    let is_remark = ["warning:", "info:"].iter().any(|word| line.contains(word));
    error.or((!line.is_empty() && !is_remark).then_some(line))
}

/// The status in an answer: what is behind the colon of its line. The word before it has changed in its history.
fn status(answer: &str) -> &str {
    let of_line = |line: &'_ str| line.find("tatus:").map(|at| at + "tatus:".len());
    answer
        .lines()
        .find_map(|line| of_line(line).map(|at| line[at..].trim()))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_found_among_what_both_qemus_write_beside_it() {
        let migration = "globals:\r\nstore-global-state: on\r\nMigration status: completed\r\ntotal time: 4 ms\r\n";
        assert_eq!(status(migration), "completed");
        assert_eq!(status("Status: \tfailed (no room)\r\n"), "failed (no room)");
        assert_eq!(
            status("VM status: paused (inmigrate)\r\n"),
            "paused (inmigrate)"
        );
        assert_eq!(status("no answer"), "");
    }

    #[test]
    fn a_refusal_is_any_line_but_a_remark() {
        assert_eq!(refusal("Error: no such file\r"), Some("no such file"));
        assert_eq!(refusal("Error: no info: x"), Some("no info: x"));
        assert_eq!(
            refusal("unknown command: 'x'"),
            Some("unknown command: 'x'")
        );
        for line in ["", "\r", "warning: slow", "qemu: warning: slow"] {
            assert_eq!(refusal(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_name_is_quoted_and_one_with_a_key_that_edits_is_refused() {
        assert_eq!(quoted(r#"/a b/"c"\d"#).unwrap(), r#""/a b/\"c\"\\d""#);
        assert!(quoted("/a\tb").is_err());
    }

    #[test]
    fn a_command_is_answered_by_what_is_between_its_echo_and_the_prompt() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let qemu = thread::spawn(move || {
            theirs.write_all(b"QEMU monitor\r\n(qemu) ").unwrap();
            let mut command = [0; 5];
            theirs.read_exact(&mut command).unwrap();
            theirs.write_all(b"c\x1b[Kco\x1b[D").unwrap();
            theirs.write_all(b"nt\r\nError: it is gone\r\n(qe").unwrap();
            theirs.write_all(b"mu) ").unwrap();
            command
        });
        let mut monitor = Monitor::greeted(ours).unwrap();
        let refused = monitor.execute("cont").unwrap_err().to_string();
        assert_eq!(refused, "QEMU refuses cont: it is gone");
        assert_eq!(&qemu.join().unwrap(), b"cont\n");
        let closed = monitor.execute("cont").unwrap_err().to_string();
        assert!(
            closed.contains("monitor") || closed.contains("pipe"),
            "{closed}"
        );
    }
}
