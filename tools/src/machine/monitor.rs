//! QEMU's own monitor, which is asked only when the machine no longer answers.
//!
//! It is a socket in the directory of the staged files, which no other user can enter. QEMU does nothing for it during a
//! run, so a run with a monitor is the same as one without.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

/// The longest name that a socket can have.
const LONGEST_NAME: usize = 107;

/// How long QEMU may take for an answer. A QEMU that works on an instruction without an end never answers.
const PATIENCE: Duration = Duration::from_secs(10);

/// A monitor that QEMU will open.
#[derive(Clone, Debug)]
pub struct Socket(PathBuf);

impl Socket {
    /// A monitor in this directory; none if its name would be too long for a socket.
    pub fn within(directory: &Path) -> Option<Self> {
        let path = directory.join("monitor");
        (path.as_os_str().len() <= LONGEST_NAME).then_some(Self(path))
    }

    /// QEMU's options that open it.
    pub fn arguments(&self) -> [String; 4] {
        let path = self.0.to_string_lossy().replace(',', ",,");
        [
            "-chardev".to_owned(),
            format!("socket,id=m0,path={path},server=on,wait=off"),
            "-mon".to_owned(),
            "chardev=m0,mode=control".to_owned(),
        ]
    }

    /// Stops QEMU's CPUs, writes a core file of their registers and of these bytes of storage, and ends QEMU. If a script
    /// runs it, the end of the script would leave it behind.
    pub fn dump(&self, file: &Path, begin: u64, length: u64) -> Result<()> {
        let file = file
            .to_str()
            .context("the name of the run's directory is not UTF-8")?;
        let mut monitor = Monitor::connect(&self.0)?;
        monitor.execute("stop", &json!({}))?;
        let dumped = monitor.execute(
            "dump-guest-memory",
            &json!({
                "paging": false,
                "protocol": format!("file:{file}"),
                "begin": begin,
                "length": length,
            }),
        );
        // It may be gone before it answers.
        let _ = monitor.execute("quit", &json!({}));
        dumped
    }
}

/// A connection to the monitor, in the QEMU machine protocol.
struct Monitor {
    stream: BufReader<UnixStream>,
    until: Instant,
}

impl Monitor {
    fn connect(path: &Path) -> Result<Self> {
        let stream = UnixStream::connect(path).context("QEMU has no monitor")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut monitor = Self {
            stream: BufReader::new(stream),
            until: Instant::now() + PATIENCE,
        };
        // An event may come before the greeting.
        while monitor.message()?.get("QMP").is_none() {}
        monitor.execute("qmp_capabilities", &json!({}))?;
        Ok(monitor)
    }

    /// The next message. A QEMU that only reports events does not keep the host for longer than its patience.
    fn message(&mut self) -> Result<Value> {
        ensure!(
            Instant::now() < self.until,
            "QEMU's monitor has not answered"
        );
        let mut line = String::new();
        let read = self.stream.read_line(&mut line);
        let length = read.context("QEMU's monitor does not answer")?;
        ensure!(length != 0, "QEMU has closed its monitor");
        serde_json::from_str(&line).context("QEMU's monitor does not speak its protocol")
    }

    /// Performs a command, past all events that are reported meanwhile.
    fn execute(&mut self, command: &str, arguments: &Value) -> Result<()> {
        self.until = Instant::now() + PATIENCE;
        let request = json!({"execute": command, "arguments": arguments});
        writeln!(self.stream.get_mut(), "{request}")?;
        loop {
            let answer = self.message()?;
            if let Some(error) = answer.get("error") {
                let why = error.get("desc").and_then(Value::as_str);
                bail!("QEMU refuses {command}: {}", why.unwrap_or("no reason"));
            }
            if answer.get("return").is_some() {
                return Ok(());
            }
        }
    }
}
