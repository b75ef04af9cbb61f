//! What happens before the host command begins.
//!
//! If it is current, this process becomes it at once. If not, Cargo builds it, and in the same time apt-get installs what
//! its command line needs and this computer lacks, and the image and the guest are built. A person is asked before all of
//! that, and a user who may not install packages is told so before it, too.

use std::{
    env,
    ffi::OsString,
    path::PathBuf,
    process::{Child, ExitStatus},
    sync::{
        OnceLock,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};

use crate::{
    building::{
        build,
        install::{self, Agreed},
    },
    computer::{cache_directory, consent, durations, progress::Progress},
    host_command::HostCommand,
    request::Request,
};

/// The exit code if this computer could not be prepared, as of the host command.
const FAILED: u8 = 2;

/// The exit code of `cargo run` if the build fails.
const NOT_BUILT: u8 = 101;

/// How often the build of the host command is looked at.
const PACE: Duration = Duration::from_millis(50);

/// Prepares this computer and becomes the host command. Returns an exit code if that is not possible.
pub fn run() -> u8 {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    let progress = Progress::detect();
    match prepare_and_become(&words, progress) {
        Ok(code) => code,
        Err(error) => {
            progress.note(&format!("error: {error:#}"));
            FAILED
        }
    }
}

fn prepare_and_become(words: &[OsString], progress: Progress) -> Result<u8> {
    let command = HostCommand::beside_this()?;
    if !command.is_current() {
        let request = Request::of(words, build::is_bundled);
        let status = match request {
            Some(request) => build_beside(&command, &request, progress)?,
            None => command.build()?.wait().context("cannot wait for cargo")?,
        };
        if !status.success() {
            return Ok(status
                .code()
                .and_then(|code| code.try_into().ok())
                .unwrap_or(NOT_BUILT));
        }
        command.note();
    }
    Err(command.become_it(words))
}

/// Builds the host command, and prepares beside it what the command line needs.
fn build_beside(
    command: &HostCommand,
    request: &Request,
    progress: Progress,
) -> Result<ExitStatus> {
    // Without a cache no step has an estimate.
    if let Ok(cache) = cache_directory::of_user() {
        durations::keep_in(cache.join("durations"));
    }
    if request.is_agreed {
        consent::give();
    }
    // Cargo moves a line of its own, and would move it over a question.
    let is_first = consent::is_asked(progress) || !install::is_possible();
    let agreed = match is_first {
        true => Some(install::agree(&|| request.lacks(), &progress)?),
        false => None,
    };
    let mut child = command.build()?;
    thread::scope(|scope| {
        let (done, prepared) = channel();
        scope.spawn(move || {
            // Nobody listens any longer if the build of the host command has failed.
            let _ = done.send(prepare(request, agreed, progress.beside_another()));
        });
        wait_for_both(&mut child, &prepared, progress)
    })
}

/// Installs and builds.
fn prepare(request: &Request, agreed: Option<Option<Agreed>>, progress: Progress) -> Result<()> {
    let look = || request.lacks();
    let agreed = match agreed {
        Some(agreed) => agreed,
        None => install::agree(&look, &progress)?,
    };
    if let Some(agreed) = agreed {
        agreed.install(&look, &progress)?;
    }
    // What fails first ends the other, whose own error says no more than that.
    let failed = OnceLock::new();
    let ended = |built: Result<PathBuf>| {
        if let Err(error) = built {
            let _ = failed.set(error);
            build::stop();
        }
    };
    thread::scope(|scope| {
        if let Some(guest) = &request.guest {
            scope.spawn(|| ended(build::build_guest(guest, &progress)));
        }
        ended(build::build_image(&progress));
    });
    failed.into_inner().map_or(Ok(()), Err)
}

/// Waits until the host command is built and the rest is prepared. What fails first ends the other at once, as far as
/// it can be ended: apt-get is not interrupted.
fn wait_for_both(
    child: &mut Child,
    prepared: &Receiver<Result<()>>,
    progress: Progress,
) -> Result<ExitStatus> {
    let mut is_prepared = false;
    let status = loop {
        if let Some(status) = child.try_wait().context("cannot wait for cargo")? {
            break status;
        }
        match prepared.recv_timeout(PACE) {
            Ok(Ok(())) => {
                is_prepared = true;
                break child.wait().context("cannot wait for cargo")?;
            }
            Ok(Err(error)) => {
                // It may have ended by itself.
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(panicked()),
        }
    };
    if !status.success() {
        build::stop();
        return Ok(status);
    }
    if !is_prepared {
        let step = progress.only_moving("building the image and the guest");
        prepared.recv().map_err(|_| panicked())??;
        drop(step);
    }
    Ok(status)
}

fn panicked() -> anyhow::Error {
    anyhow!("the preparation of this computer has panicked")
}
