//! QEMU's own monitor: asked when the machine no longer answers, and to keep and to continue a started system.
//!
//! It is a socket in the directory of the staged files, which no other user can enter. QEMU does nothing for it during a
//! run, so a run with a monitor is the same as one without.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

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
            "chardev=m0,mode=control".to_owned(),
        ]
    }

    /// Stops QEMU's CPUs and returns the state of its devices. Storage is a file that QEMU shares, so it is not in there.
    pub fn save(&self) -> Result<Vec<u8>> {
        let mut monitor = Monitor::connect(&self.0)?;
        monitor.execute("stop", &json!({}))?;
        monitor.execute("migrate-set-capabilities", &storage_is_shared())?;
        let path = self.0.with_file_name("state");
        let listener = UnixListener::bind(&path).context("cannot take QEMU's state")?;
        let taken = thread::spawn(move || {
            let (mut stream, _) = listener.accept()?;
            stream.set_read_timeout(Some(PATIENCE))?;
            let mut state = Vec::new();
            stream.read_to_end(&mut state).map(|_| state)
        });
        monitor.execute("migrate", &json!({ "uri": unix(&path)? }))?;
        monitor.until("query-migrate", |status| match status {
            "completed" => Ok(true),
            "failed" | "cancelled" => bail!("QEMU could not save its state"),
            _ => Ok(false),
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
        monitor.execute("migrate-set-capabilities", &storage_is_shared())?;
        let path = self.0.with_file_name("state");
        monitor.execute("migrate-incoming", &json!({ "uri": unix(&path)? }))?;
        let mut stream = UnixStream::connect(&path).context("QEMU takes no state")?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream
            .write_all(state)
            .context("QEMU does not take its state")?;
        drop(stream);
        monitor.until("query-status", |status| Ok(status != "inmigrate"))?;
        monitor.execute("cont", &json!({}))
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

/// The name of a socket, as QEMU takes it.
fn unix(path: &Path) -> Result<String> {
    let path = path
        .to_str()
        .context("the name of the temporary directory is not UTF-8")?;
    Ok(format!("unix:{path}"))
}

/// The capability of a QEMU whose storage is a file of its own.
fn storage_is_shared() -> Value {
    json!({ "capabilities": [{ "capability": "x-ignore-shared", "state": true }] })
}

/// A connection to the monitor, in the QEMU machine protocol.
struct Monitor {
    stream: BufReader<UnixStream>,
    until: Instant,
}

impl Monitor {
    fn connect(path: &Path) -> Result<Self> {
        Self::greeted(UnixStream::connect(path).context("QEMU has no monitor")?)
    }

    /// A connection that has been accepted.
    fn greeted(stream: UnixStream) -> Result<Self> {
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

    /// Performs a command.
    fn execute(&mut self, command: &str, arguments: &Value) -> Result<()> {
        self.ask(command, arguments).map(drop)
    }

    /// Asks again and again for a status, until it is as it should be.
    fn until(&mut self, command: &str, is_it: impl Fn(&str) -> Result<bool>) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let answer = self.ask(command, &json!({}))?;
            let status = answer.get("status").and_then(Value::as_str);
            if is_it(status.unwrap_or_default())? {
                return Ok(());
            }
            ensure!(Instant::now() < until, "QEMU does not finish {command}");
            thread::sleep(PACE);
        }
    }

    /// Performs a command and returns its answer, past all events that are reported meanwhile.
    fn ask(&mut self, command: &str, arguments: &Value) -> Result<Value> {
        self.until = Instant::now() + PATIENCE;
        let request = json!({"execute": command, "arguments": arguments});
        writeln!(self.stream.get_mut(), "{request}")?;
        loop {
            let answer = self.message()?;
            if let Some(error) = answer.get("error") {
                let why = error.get("desc").and_then(Value::as_str);
                bail!("QEMU refuses {command}: {}", why.unwrap_or("no reason"));
            }
            if let Some(answer) = answer.get("return") {
                return Ok(answer.clone());
            }
        }
    }
}
