//! `top run`: measures a run and shows it at once.
//!
//! The run has a thread of its own and writes into its folder as always; the view follows the folder. The guest's
//! console goes to the folder only. Leaving the view ends the run.

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
    folder::RECORD,
    machine::{
        guest::Guest,
        run::{self, RunOutcome},
    },
    options::RunOptions,
};

/// How often the view checks whether the run has begun.
const PACE: Duration = Duration::from_millis(50);

/// Measures a guest while the view shows how.
pub fn measure(options: &RunOptions, delay: Duration, progress: &Progress) -> Result<RunOutcome> {
    if !stdout().is_terminal() {
        bail!(
            "`top run` needs a terminal, and standard output is not one; use `cargo measure run`, and `cargo measure top --once` beside it"
        );
    }
    // Everything that takes long or prints comes before the screen is taken.
    Guest::check(&options.guest)?;
    options.check_is_plain()?;
    let qemu = run::ready(options, progress)?;
    let guest = run::guest(options, progress)?;
    build::build_image(progress)?;
    // The run has it until it ends: between two claims another run could take it.
    let claimed = run::claim(options, &guest)?;
    let directory = claimed.path.clone();
    thread::scope(|scope| {
        let work = || {
            let claimed = Some(claimed);
            run::run_claimed(&qemu, &guest, options, &Progress::Silent, None, [], claimed)
        };
        let run = scope.spawn(work);
        while !directory.join(RECORD).exists() && !run.is_finished() && !interrupt::requested() {
            thread::sleep(PACE);
        }
        let seen = match directory.join(RECORD).exists() {
            true => Followed::open(&directory).and_then(|mut followed| live(&mut followed, delay)),
            false => Ok(()),
        };
        if !run.is_finished() {
            interrupt::request();
        }
        let outcome = match run.join() {
            Ok(outcome) => outcome?,
            Err(panicked) => panic::resume_unwind(panicked),
        };
        seen.map(|()| outcome)
    })
}
