//! Installs what a command of the tool needs and this computer lacks, or says how.
//!
//! As root on a Debian system the tool installs what is missing. It first says what that is and how large, and on a
//! terminal it asks ([`consent`]). Any other user gets the exact command. Only what the tool's command needs is installed,
//! and all of it at once, so the user installs something only once.

mod size;

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use anyhow::{Context, Result, bail};

use self::size::Size;
pub use crate::computer::program::{in_path, is_program};
use crate::{
    building::repository,
    computer::{
        consent,
        progress::{Progress, Step},
    },
};

/// One thing that this computer lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// What it is.
    pub what: String,
    /// Debian's packages that contain it.
    pub packages: Vec<&'static str>,
    /// Another remedy, without Debian's packages.
    pub otherwise: String,
}

/// How this computer installs packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packages {
    /// By apt-get, and this process may call it.
    Ours,
    /// By apt-get, which this user can call only as root: through sudo, if the computer has it.
    Theirs {
        /// Whether the computer has sudo.
        has_sudo: bool,
    },
    /// Not by apt-get.
    Unknown,
}

impl Packages {
    /// Finds out how this computer installs packages.
    pub fn look() -> Self {
        if in_path("apt-get").is_none() {
            Self::Unknown
        } else if is_root() {
            Self::Ours
        } else {
            let has_sudo = in_path("sudo").is_some();
            Self::Theirs { has_sudo }
        }
    }

    /// The command that installs these packages. The lists come first: on a fresh computer there
    /// are none, and old ones name files that are no longer there.
    pub fn command(self, packages: &[&str]) -> String {
        let packages = packages.join(" ");
        let update = "apt-get update";
        let install = format!("apt-get install --no-install-recommends {packages}");
        match self {
            Self::Ours => format!("{update} && {install}"),
            // The system is not Debian. Its user knows the names of its packages.
            Self::Theirs { has_sudo: true } | Self::Unknown => {
                format!("sudo {update} && sudo {install}")
            }
            Self::Theirs { has_sudo: false } => format!("su - -c '{update} && {install}'"),
        }
    }

    /// What is missing, and the remedies.
    pub fn advice(self, lacks: &[Lack]) -> String {
        let mut text = lacking(lacks);
        let on_debian = match self {
            Self::Unknown => "On Debian 12 this installs it:",
            Self::Ours | Self::Theirs { .. } => "This installs it:",
        };
        let command = self.command(&all_packages(lacks));
        text.push_str(&format!("\n{on_debian}\n  {command}\nInstead of that:"));
        for lack in lacks {
            text.push_str(&format!("\n  {}", lack.otherwise));
        }
        text
    }
}

/// What is missing, a line each.
fn lacking(lacks: &[Lack]) -> String {
    let mut text = String::from("this computer lacks");
    for lack in lacks {
        text.push_str(&format!("\n  {}", lack.what));
    }
    text
}

/// What is missing, and what will be installed.
fn announcement(lacks: &[Lack], size: Option<&Size>) -> String {
    let size = match size {
        Some(size) => size.to_string(),
        None => "apt-get does not say how large it is".to_owned(),
    };
    let packages = all_packages(lacks).join(", ");
    format!("{}\nInstalling {packages}: {size}", lacking(lacks))
}

/// The packages of all of them, each once.
fn all_packages(lacks: &[Lack]) -> Vec<&'static str> {
    let mut packages: Vec<&str> = Vec::new();
    for package in lacks.iter().flat_map(|lack| &lack.packages) {
        if !packages.contains(package) {
            packages.push(package);
        }
    }
    packages
}

/// The command that installs these packages on this computer, for messages.
pub fn command(packages: &[&str]) -> String {
    Packages::look().command(packages)
}

/// Whether this process may install packages.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    // The owner of our own entry is our effective user.
    Path::new("/proc/self")
        .metadata()
        .is_ok_and(|data| data.uid() == 0)
}

/// Installs what is missing, if this process may. `look` finds what is missing, and is called again afterwards.
pub fn provide(look: impl Fn() -> Vec<Lack>, progress: &Progress) -> Result<()> {
    provide_by(Packages::look(), look, progress)
}

/// Whether this process may install packages.
pub fn is_possible() -> bool {
    Packages::look() == Packages::Ours
}

/// Says what is missing and asks whether to install it. `None` if nothing is missing.
///
/// # Errors
/// This process may not install it, or the person does not agree.
pub fn agree(look: &dyn Fn() -> Vec<Lack>, progress: &Progress) -> Result<Option<Agreed>> {
    agree_by(Packages::look(), look, progress)
}

/// What will be installed.
pub struct Agreed {
    here: Packages,
    packages: Vec<&'static str>,
    /// The lists, if they were fetched already.
    update: Option<AptGet>,
    lacks: Vec<Lack>,
    _alone: File,
}

fn provide_by(here: Packages, look: impl Fn() -> Vec<Lack>, progress: &Progress) -> Result<()> {
    match agree_by(here, &look, progress)? {
        Some(agreed) => agreed.install(&look, progress),
        None => Ok(()),
    }
}

fn agree_by(
    here: Packages,
    look: &dyn Fn() -> Vec<Lack>,
    progress: &Progress,
) -> Result<Option<Agreed>> {
    let lacks = look();
    if lacks.is_empty() {
        return Ok(None);
    }
    if here != Packages::Ours {
        bail!(here.advice(&lacks));
    }
    // Tests run at the same time, also in several processes. One that waited here may find everything installed.
    // apt-get itself waits for only one of its three locks.
    let alone = repository::lock("install.lock", "another installation", progress)?;
    let lacks = look();
    if lacks.is_empty() {
        return Ok(None);
    }
    let packages = all_packages(&lacks);
    let mut update = None;
    let mut size = Size::of(&packages)?;
    if size.is_none() {
        // On a fresh computer there are no lists.
        update = Some(fetch_lists(progress)?);
        size = Size::of(&packages)?;
    }
    progress.announce(&announcement(&lacks, size.as_ref()));
    if !consent::ask("Install it?", progress).context("cannot ask")? {
        bail!("nothing was installed; {}", here.advice(&lacks));
    }
    Ok(Some(Agreed {
        here,
        packages,
        update,
        lacks,
        _alone: alone,
    }))
}

impl Agreed {
    /// Installs it. `look` finds what is still missing.
    pub fn install(self, look: &dyn Fn() -> Vec<Lack>, progress: &Progress) -> Result<()> {
        let Self {
            here,
            packages,
            update,
            lacks,
            _alone,
        } = self;
        if let Err(error) = install(&packages, update, progress) {
            bail!("{error:#}\n{}", here.advice(&lacks));
        }
        let lacks = look();
        if !lacks.is_empty() {
            bail!(
                "{} installed, and still {}\n`cargo measure doctor` shows what was found",
                packages.join(", "),
                here.advice(&lacks)
            );
        }
        Ok(())
    }
}

/// Fetches the lists of packages. If this fails, go on, as apt-get itself does without lists that it could not fetch: old
/// lists may be good enough. If not, the complaints usually explain why the installation fails.
fn fetch_lists(progress: &Progress) -> Result<AptGet> {
    let mut step = progress.step("fetching the lists of packages");
    let update = AptGet::watched(Work::Fetching, &["update"], Path::new("."), &mut step)?;
    step.done("fetched the lists of packages");
    Ok(update)
}

/// Installs packages with apt-get. `update` fetched the lists, if they were fetched already; old ones name files that are
/// no longer there.
fn install(packages: &[&str], update: Option<AptGet>, progress: &Progress) -> Result<()> {
    let update = match update {
        Some(update) => update,
        None => fetch_lists(progress)?,
    };
    let list = packages.join(", ");
    let mut step = progress.step(&format!("installing {list}"));
    let mut arguments = vec!["install", "--yes", "--no-install-recommends"];
    arguments.extend_from_slice(packages);
    let install = AptGet::watched(Work::Installing, &arguments, Path::new("."), &mut step)?;
    if !install.succeeded {
        let mut complaints = update.complaints.trim_end().to_owned();
        if !complaints.is_empty() {
            complaints.push('\n');
        }
        complaints.push_str(install.complaints.trim_end());
        bail!("apt-get could not install {list}:\n{complaints}");
    }
    step.done(&format!("installed {list}"));
    Ok(())
}

/// Lets apt-get say how far it has come, among what it says on standard output.
const STATUS: &str = "-oAPT::Status-Fd=1";

/// What apt-get does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It only fetches.
    Fetching,
    /// It fetches, and then unpacks.
    Installing,
}

/// How far apt-get has come.
#[derive(Debug, PartialEq)]
struct Status<'l> {
    /// Of all that it does, from 0 to 1.
    share: f64,
    words: &'l str,
}

impl<'l> Status<'l> {
    /// A line of apt-get, if it is about that: dlstatus or pmstatus, a package, per cent, and words.
    fn of(line: &'l str, work: Work) -> Option<Self> {
        let (kind, rest) = line.split_once(':')?;
        let (_, rest) = rest.split_once(':')?;
        let (percent, words) = rest.split_once(':')?;
        let percent: f64 = percent.parse().ok()?;
        let done = (percent / 100.0).clamp(0.0, 1.0);
        let share = match (kind, work) {
            ("dlstatus", Work::Fetching) => done,
            ("dlstatus", Work::Installing) => done / 2.0,
            ("pmstatus", _) => 0.5 + done / 2.0,
            _ => return None,
        };
        Some(Self { share, words })
    }
}

/// The outcome of a call of apt-get.
pub struct AptGet {
    /// Whether it succeeded.
    pub succeeded: bool,
    /// What it said on standard error.
    pub complaints: String,
}

impl AptGet {
    /// Calls it in this directory, and shows in the step how far it has come.
    pub fn watched(
        work: Work,
        arguments: &[&str],
        directory: &Path,
        step: &mut Step,
    ) -> Result<Self> {
        let arguments = [&[STATUS], arguments].concat();
        let mut tell = |line: &str| match Status::of(line, work) {
            Some(status) => step.reach(status.share, status.words),
            None => step.update(line),
        };
        Self::run(&arguments, directory, &mut tell)
    }

    /// Calls it in this directory, and passes its messages to `tell` as they come.
    pub fn run(arguments: &[&str], directory: &Path, tell: &mut dyn FnMut(&str)) -> Result<Self> {
        let mut child = Command::new("apt-get")
            // A fresh computer may be updating itself in the background: wait for that.
            .arg("-oDPkg::Lock::Timeout=300")
            .args(arguments)
            .current_dir(directory)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start apt-get")?;
        let errors = child.stderr.take().map(|mut stream| {
            thread::spawn(move || {
                let mut kept = Vec::new();
                // If a stream breaks, the lines before are kept.
                let _ = stream.read_to_end(&mut kept);
                String::from_utf8_lossy(&kept).into_owned()
            })
        });
        for line in child.stdout.take().into_iter().flat_map(lines) {
            tell(&line);
        }
        let status = child.wait().context("cannot wait for apt-get")?;
        let complaints = errors.and_then(|thread| thread.join().ok());
        Ok(Self {
            succeeded: status.success(),
            complaints: complaints.unwrap_or_default(),
        })
    }
}

fn lines(stream: impl Read) -> impl Iterator<Item = String> {
    BufReader::new(stream)
        .lines()
        .map_while(Result::ok)
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests;
