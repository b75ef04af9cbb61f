//! A live view of what a run is measuring, in the terminal.
//!
//! It follows the files that a run writes ([`follow`]). They hold everything as it arrives, so the run may belong to
//! another terminal, or may have ended.
//!
//! - [`folder`]: which files these are; [`tail`]: blocks that have come; [`counters`]: counter sets.
//! - [`tally`]: what is hot, now and in all.
//! - [`sections`]: the content, as lines; [`view`]: these lines cut to the size of the terminal.
//! - [`keys`]: what the user has chosen; [`screen`]: the terminal.
//! - [`run`]: `top run`, which measures and shows a run at once.

pub mod counters;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod folder;
pub mod follow;
pub mod keys;
pub mod run;
pub mod screen;
pub mod sections;
pub mod tail;
pub mod tally;
pub mod view;

use std::{
    io::{self, IsTerminal, stdout},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use ratatui::{
    Terminal,
    backend::Backend,
    crossterm::event::{self, Event},
};

use crate::{computer::interrupt, folder::record::End};
use follow::Followed;
use keys::{Choices, Struck};
use screen::Screen;
use tally::Span;

/// About how many bytes of a file are read before the view is drawn again.
const AT_A_TIME: u64 = 4 << 20;

/// How often the view checks for a request to end.
const PACE: Duration = Duration::from_millis(100);

/// Shows the folder of a run until the user quits. Without a terminal, or if `once` is set, returns a single look as
/// text. Also returns how the run ended; `None` for a collection.
pub fn top(
    directory: Option<&Path>,
    is_once: bool,
    delay: Duration,
) -> Result<(Option<String>, Option<End>)> {
    let directory: PathBuf = match directory {
        Some(directory) => directory.to_owned(),
        None => follow::newest(Path::new("."))?,
    };
    let mut followed = Followed::open(&directory)?;
    let text = if is_once || !stdout().is_terminal() {
        Some(look_once(&mut followed)?)
    } else {
        live(&mut followed, delay)?;
        None
    };
    Ok((text, followed.folder.record.map(|record| record.end)))
}

/// All that is there, as text.
fn look_once(followed: &mut Followed) -> Result<String> {
    loop {
        followed.refresh(AT_A_TIME);
        if interrupt::requested() {
            bail!("interrupted");
        }
        if followed.read_so_far().is_none() {
            break;
        }
    }
    let choices = Choices {
        span: Span::Total,
        ..Choices::default()
    };
    Ok(view::text(followed, &choices))
}

/// Takes the screen until the user quits.
fn live(followed: &mut Followed, delay: Duration) -> Result<()> {
    let mut screen = Screen::take()?;
    watch(
        &mut screen.terminal,
        followed,
        delay,
        &mut |most| match event::poll(most)? {
            true => event::read().map(Some),
            false => Ok(None),
        },
    )
}

/// Where keys come from: the next event within this time, if there is one.
type Events<'e> = dyn FnMut(Duration) -> io::Result<Option<Event>> + 'e;

/// Draws, reads what has come, and does what the keys say.
fn watch<B: Backend>(
    terminal: &mut Terminal<B>,
    followed: &mut Followed,
    delay: Duration,
    events: &mut Events<'_>,
) -> Result<()>
where
    B::Error: Send + Sync + 'static,
{
    let mut choices = Choices::default();
    loop {
        if !choices.is_paused {
            followed.refresh(AT_A_TIME);
        }
        let is_behind = !choices.is_paused && followed.read_so_far().is_some();
        let wait = if is_behind { Duration::ZERO } else { delay };
        let began = Instant::now();
        loop {
            terminal
                .draw(|frame| {
                    let area = frame.area();
                    view::draw(followed, &mut choices, area, frame.buffer_mut());
                })
                .context("cannot draw on the terminal")?;
            if !wait_for_key(&mut choices, began, wait, events)? {
                return Ok(());
            }
            if began.elapsed() >= wait {
                break;
            }
        }
    }
}

/// Waits until the view is to be drawn again; false at its end.
fn wait_for_key(
    choices: &mut Choices,
    began: Instant,
    wait: Duration,
    events: &mut Events<'_>,
) -> Result<bool> {
    loop {
        if interrupt::requested() {
            return Ok(false);
        }
        let left = wait.saturating_sub(began.elapsed());
        let event = events(left.min(PACE)).context("cannot read keys from the terminal")?;
        match event {
            Some(Event::Key(key)) => match choices.strike(&key) {
                Struck::Quit => return Ok(false),
                Struck::Changed => return Ok(true),
                Struck::Nothing => {}
            },
            Some(Event::Resize(..)) => return Ok(true),
            Some(_) => {}
            None if left.is_zero() => return Ok(true),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests;
