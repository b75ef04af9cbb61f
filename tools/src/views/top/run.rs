//! `top run`: measures a run and shows it at once.
//!
//! The run goes on in a thread of its own and writes into its folder as ever; the view follows the folder. What
//! the guest writes on its console is in the folder only. Who ends the view ends the run.

use std::{
    io::{IsTerminal, stdout},
    panic, thread,
    time::Duration,
};

use anyhow::{Result, bail};

use super::{Followed, live};
use crate::{
    building::build,
    computer::{interrupt, progress::Progress},
    folder::{self, RECORD},
    machine::{
        guest::Guest,
        run::{self, RunOutcome},
    },
    options::RunOptions,
};

/// How often it is looked whether the run has begun.
const PACE: Duration = Duration::from_millis(50);

/// Measures a guest while the view shows how.
pub fn measure(options: &RunOptions, delay: Duration, progress: &Progress) -> Result<RunOutcome> {
    if !stdout().is_terminal() {
        bail!(
            "`top run` shows a run on a terminal, and standard output is none; take `cargo measure run`, and `cargo measure top --once` beside it"
        );
    }
    // Whatever takes long or says something comes before the screen is taken.
    let qemu = run::ready(options, progress)?;
    let guest = Guest::find(&options.guest, progress)?;
    build::build_image(progress)?;
    let directory = folder::directory(options.out.as_deref(), &guest.name)?;
    let options = RunOptions {
        out: Some(directory.clone()),
        ..options.clone()
    };
    thread::scope(|scope| {
        let work = || run::run_guest(&qemu, &guest, &options, &Progress::Silent, None, []);
        let run = scope.spawn(work);
        while !directory.join(RECORD).exists() && !run.is_finished() && !interrupt::wished() {
            thread::sleep(PACE);
        }
        let seen = match directory.join(RECORD).exists() {
            true => Followed::open(&directory).and_then(|mut followed| live(&mut followed, delay)),
            false => Ok(()),
        };
        if !run.is_finished() {
            interrupt::wish();
        }
        let outcome = match run.join() {
            Ok(outcome) => outcome?,
            Err(panicked) => panic::resume_unwind(panicked),
        };
        seen.map(|()| outcome)
    })
}
