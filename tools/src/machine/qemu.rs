//! QEMU: finding it, its command line, and a child process that never outlives the tool.
//!
//! The command line decides whether a run is repeatable, so it is made in one place. The child is
//! killed when its owner is dropped, when the operator interrupts, and (through `setpriv`, where
//! there is one) when this process dies without a chance to clean up. A QEMU that has been asked before is not asked again
//! (`known`).

use std::{
    fmt,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use link::state::Mode;

use crate::{
    building::{
        emulators::{OLDEST_QEMU, QEMU},
        forms::Form,
        install,
    },
    computer::program,
    machine::{
        listener::Listener,
        typist::{Mismatch, Typist},
    },
    numbers::quantities::{Rtc, Storage},
    options::execution_log::ExecutionLog,
};

pub mod faults;
mod known;
mod single_instruction;

use known::Said;
use single_instruction::Version;

/// The program.
const PROGRAM: &str = QEMU.name;

/// How many bytes of QEMU's standard error are kept.
const KEPT_STDERR: usize = 64 << 10;

/// A QEMU on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qemu {
    /// Where it is.
    pub path: PathBuf,
    /// Its version.
    pub version: Version,
    /// Whether it can run in its sandbox here.
    pub has_sandbox: bool,
}

/// QEMU's own sandbox: it starts no programs, changes neither its rights nor those of its resources, and makes no
/// obsolete system calls. A guest that takes QEMU over can do less to the host.
const SANDBOX: [&str; 2] = [
    "-sandbox",
    "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
];

impl fmt::Display for Qemu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.version;
        write!(f, "QEMU {major}.{minor}.{patch} ({})", self.path.display())
    }
}

impl Qemu {
    /// Whether what the tool puts at the end of storage is there when the image is IPLed. From version 11 on, QEMU puts its own
    /// IPL program there, although it does not execute it.
    pub fn leaves_the_end_of_storage_alone(&self) -> bool {
        self.version < (11, 0, 0)
    }

    /// The QEMU of this path, else of the environment, else of the `PATH`.
    pub fn locate(chosen: Option<&Path>) -> Result<Self> {
        let path = match QEMU.named(chosen) {
            Some(path) if install::is_program(&path) => path,
            Some(path) => bail!(
                "{} is not a program; give --qemu the path of {PROGRAM}, or leave it out",
                path.display()
            ),
            None => install::in_path(PROGRAM)
                .with_context(|| format!("{PROGRAM} is not in the PATH"))?,
        };
        let Said { version, sandbox } = known::said(&path, || ask(&path))?;
        if (version.0, version.1) < OLDEST_QEMU {
            bail!(
                "{} is QEMU {}.{}, older than {}.{}; install a newer one or name it with --qemu PATH",
                path.display(),
                version.0,
                version.1,
                OLDEST_QEMU.0,
                OLDEST_QEMU.1
            );
        }
        Ok(Self {
            path,
            version,
            has_sandbox: sandbox,
        })
    }
}

/// Asks a program for what must be known of a QEMU.
fn ask(path: &Path) -> Result<Said> {
    let output = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(version) = version(&text) else {
        bail!(
            "{} does not say that it is QEMU; give --qemu the path of {PROGRAM}",
            path.display()
        );
    };
    Ok(Said {
        version,
        sandbox: has_sandbox(path),
    })
}

/// Whether this QEMU can run in its sandbox here: it may have been built without one, and a container may not allow it.
fn has_sandbox(path: &Path) -> bool {
    let started = Command::new(path)
        .args(["-machine", "none", "-nodefaults", "-display", "none"])
        .args(SANDBOX)
        .args(["-monitor", "stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.is_ok_and(|mut child| {
        // A program that has ended by now says so by its status.
        if let Some(mut monitor) = child.stdin.take() {
            let _ = monitor.write_all(b"quit\n");
        }
        child.wait().is_ok_and(|status| status.success())
    })
}

/// `QEMU emulator version 7.2.22 (Debian …)` to (7, 2, 22).
fn version(text: &str) -> Option<(u32, u32, u32)> {
    let number = text
        .split("QEMU emulator version ")
        .nth(1)?
        .split_whitespace()
        .next()?;
    let mut parts = number.split('.').map(|part| {
        let digits = part
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(part.len());
        part[..digits].parse().ok()
    });
    Some((
        parts.next()??,
        parts.next()??,
        parts.next().flatten().unwrap_or(0),
    ))
}

/// What decides a command line.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// How time passes.
    pub mode: Mode,
    /// CPUs.
    pub cpus: u32,
    /// Storage of the machine.
    pub storage: Storage,
    /// When its clock starts.
    pub rtc: Rtc,
    /// QEMU's name of the CPU.
    pub cpu_model: &'a str,
    /// What is IPLed.
    pub form: Form,
    /// Its file.
    pub file: &'a Path,
    /// Devices that stage the loader block and the guest.
    pub staging: Vec<String>,
    /// The host's devices.
    pub devices: Vec<String>,
    /// The version of the QEMU.
    pub version: Version,
    /// Whether the QEMU runs in a sandbox.
    pub sandbox: bool,
    /// The log that QEMU writes.
    pub log: Option<&'a ExecutionLog>,
    /// Whether storage is a file.
    pub kept: Option<KeptStorage<'a>>,
}

/// A file that is the storage of a machine.
#[derive(Clone, Copy, Debug)]
pub enum KeptStorage<'a> {
    /// The machine starts with it, and what it leaves in storage is in the file.
    New(&'a Path),
    /// It is as another machine has left it, and QEMU waits for the states of CPUs and devices. The file stays as it is.
    Continued(&'a Path),
}

impl KeptStorage<'_> {
    /// QEMU's options for storage of this size.
    fn arguments(self, storage: Storage) -> Vec<String> {
        let (file, share, waits) = match self {
            Self::New(file) => (file, "on", &[][..]),
            Self::Continued(file) => (file, "off", &["-incoming", "defer"][..]),
        };
        let file = file.to_string_lossy().replace(',', ",,");
        let backend =
            format!("memory-backend-file,id=storage,size={storage},mem-path={file},share={share}");
        let options = ["-object", &backend]
            .into_iter()
            .chain(waits.iter().copied());
        options.map(str::to_owned).collect()
    }
}

impl Setup<'_> {
    /// QEMU's arguments.
    pub fn arguments(&self) -> Vec<String> {
        let (cpus, storage, rtc) = (self.cpus, self.storage, self.rtc);
        let model = format!("{},zpci=off,aen=off,ais=off", self.cpu_model);
        let machine = match self.kept {
            Some(_) => "s390-ccw-virtio,memory-backend=storage",
            None => "s390-ccw-virtio",
        };
        let mut line: Vec<String> = ["-nodefaults", "-nographic", "-M", machine, "-cpu"]
            .map(str::to_owned)
            .into();
        let mut add = |parts: &[&str]| line.extend(parts.iter().map(|part| (*part).to_owned()));
        add(&[
            &model,
            "-m",
            &storage.to_string(),
            "-smp",
            &cpus.to_string(),
        ]);
        let (threads, icount) = match self.mode {
            Mode::Exact => ("single", Some("shift=0,sleep=off")),
            Mode::Interactive => ("single", Some("shift=0,sleep=on")),
            Mode::RealTime | Mode::Native => ("multi", None),
        };
        let is_single = self.log.is_some();
        let property = if is_single {
            single_instruction::property(self.version)
        } else {
            ""
        };
        add(&["-accel", &format!("tcg,thread={threads}{property}")]);
        if let Some(icount) = icount {
            add(&["-icount", icount]);
        }
        let base = match rtc {
            Rtc::Now => "utc".to_owned(),
            Rtc::At(_) => rtc.to_string(),
        };
        match self.mode {
            Mode::RealTime | Mode::Native => add(&["-rtc", &format!("base={base}")]),
            Mode::Exact | Mode::Interactive => {
                add(&["-rtc", &format!("base={base},clock=vm"), "-seed", "1"])
            }
        }
        add(&["-action", "panic=exit-failure"]);
        if self.sandbox {
            add(&SANDBOX);
        }
        add(&[
            "-chardev",
            "stdio,id=c0,signal=off",
            "-device",
            "sclpconsole,chardev=c0",
        ]);
        line.extend(self.form.qemu_options(self.file));
        line.extend(self.staging.iter().chain(&self.devices).cloned());
        line.extend(self.kept.iter().flat_map(|kept| kept.arguments(storage)));
        if let Some(log) = self.log {
            line.extend(log.arguments());
        }
        if is_single {
            line.extend(single_instruction::option(self.version).map(str::to_owned));
        }
        line
    }
}

/// What the machine did next.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// It sent these bytes.
    Bytes(Vec<u8>),
    /// It sent nothing in this time.
    Silence,
    /// It has closed its console: it has ended.
    End,
}

/// A QEMU that runs. Dropping it ends it.
pub struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    complaints: Option<JoinHandle<Vec<u8>>>,
    /// The messages of a program that does not end by itself.
    messages: Option<Arc<Mutex<Vec<u8>>>>,
    typist: Typist,
}

impl Running {
    /// Starts a program with these arguments.
    pub fn start(program: &Path, arguments: &[String]) -> Result<Self> {
        Self::start_with(program, arguments, None)
    }

    /// Starts Hercules with these arguments: the machine's bytes are in lines.
    pub fn start_hercules(program: &Path, arguments: &[String]) -> Result<Self> {
        let messages = Arc::default();
        Self::start_with(program, arguments, Some(messages))
    }

    fn start_with(
        program: &Path,
        arguments: &[String],
        messages: Option<Arc<Mutex<Vec<u8>>>>,
    ) -> Result<Self> {
        use std::os::unix::process::CommandExt;
        let mut child = program::that_ends_with_this(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A Ctrl-C at the terminal is ours to answer: QEMU is ended after its last bytes are kept.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let (Some(mut stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take())
        else {
            bail!("{} has no console", program.display());
        };
        let (sender, output) = sync_channel(64);
        let mut listener = messages.clone().map(Listener::new);
        thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(length @ 1..) = stdout.read(&mut buffer) {
                let bytes = match &mut listener {
                    Some(listener) => listener.take(&buffer[..length]),
                    None => buffer[..length].to_vec(),
                };
                if sender.send(bytes).is_err() || listener.as_ref().is_some_and(Listener::has_ended)
                {
                    break;
                }
            }
        });
        let complaints = thread::spawn(move || {
            let mut kept = Vec::new();
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = stderr.read(&mut buffer) {
                let room = KEPT_STDERR.saturating_sub(kept.len()).min(length);
                kept.extend_from_slice(&buffer[..room]);
            }
            kept
        });
        Ok(Self {
            input: child.stdin.take(),
            child,
            output,
            complaints: Some(complaints),
            messages,
            typist: Typist::default(),
        })
    }

    /// Waits for bytes.
    pub fn hear(&self, patience: Duration) -> Heard {
        match self.output.recv_timeout(patience) {
            Ok(bytes) => Heard::Bytes(bytes),
            Err(RecvTimeoutError::Timeout) => Heard::Silence,
            Err(RecvTimeoutError::Disconnected) => Heard::End,
        }
    }

    /// Sends bytes. A closed input is not an error: the end shows on the output.
    pub fn send(&mut self, bytes: &[u8]) {
        if self.is_hercules() {
            self.typist.add(bytes);
            self.type_on();
        } else {
            self.write(bytes);
        }
    }

    /// The machine has read so many lines from a console of lines.
    pub fn line_read(&mut self, lines: u32) {
        self.typist.note_read(lines, Instant::now());
        self.type_on();
    }

    /// Types what the machine may read now, or what shows whether it still reads.
    fn type_on(&mut self) {
        while let Some(line) = self.typist.line(Instant::now()) {
            self.write(&line);
        }
    }

    /// Goes on with what was typed to a console of lines. Returns what was wrong with the lines that the machine has read.
    pub fn go_on_typing(&mut self) -> Option<Mismatch> {
        if !self.is_hercules() {
            return None;
        }
        self.type_on();
        self.typist.mismatch()
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(input) = &mut self.input {
            let sent = input.write_all(bytes).and_then(|()| input.flush());
            if sent.is_err() {
                self.input = None;
            }
        }
    }

    /// Gives the program this long to end by itself, and then ends it.
    pub fn finish(&mut self, patience: Duration) -> Result<ExitStatus> {
        let began = Instant::now();
        self.input = None;
        loop {
            if let Some(status) = self.child.try_wait().context("cannot wait for QEMU")? {
                return Ok(status);
            }
            // Hercules does not end when its CPUs wait.
            if self.messages.is_some() || began.elapsed() >= patience {
                self.kill();
                return self.child.wait().context("cannot wait for QEMU");
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the program at once.
    pub fn kill(&mut self) {
        // It fails only if the program has ended already.
        let _ = self.child.kill();
    }

    /// Whether the program is Hercules.
    pub fn is_hercules(&self) -> bool {
        self.messages.is_some()
    }

    /// The name of the program.
    pub fn name(&self) -> &'static str {
        if self.is_hercules() {
            "Hercules"
        } else {
            "QEMU"
        }
    }

    /// What the program said on standard error, or Hercules in its messages. It must have ended.
    pub fn complaints(&mut self) -> String {
        if let Some(messages) = &self.messages {
            let messages = messages.lock().map(|kept| kept.clone()).unwrap_or_default();
            return String::from_utf8_lossy(&messages).into_owned();
        }
        let kept = self
            .complaints
            .take()
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default();
        let text = String::from_utf8_lossy(&kept);
        let useful = text
            .lines()
            .filter(|line| !line.contains("icount sleep disabled and no active timers"));
        useful.collect::<Vec<_>>().join("\n")
    }

    /// Process identifier, for the tests.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// What to do when QEMU ended too early with these complaints.
pub fn remedy(complaints: &str) -> &'static str {
    if complaints.contains("CPU model")
        || complaints.contains("features requested")
        || complaints.contains("feature")
    {
        "this QEMU does not know that CPU; leave --cpu-model out (the default is max), or choose one that `qemu-system-s390x -cpu help` lists"
    } else if complaints.contains("allocate memory") || complaints.contains("set up guest memory") {
        "this computer has too little free storage for the run; choose less with --storage"
    } else if complaints.contains("nsupported machine type") {
        "this is not a QEMU for s390x; give --qemu the path of qemu-system-s390x"
    } else if complaints.contains("cc_calc_addu") {
        "QEMU 7.2 ends when CLC misses its second operand while a logical addition or subtraction before it still has the \
         condition code, with and without the machine; take a newer QEMU with --qemu PATH, or change the run a little, as with \
         another --interval"
    } else {
        "run `cargo measure doctor`, or try another QEMU with --qemu PATH"
    }
}

#[cfg(test)]
mod tests;
