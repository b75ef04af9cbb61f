//! The loop of the view, with prepared keys.

use std::collections::VecDeque;

use ratatui::{
    backend::TestBackend,
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
};

use super::*;
use crate::{
    folder::sdb_name,
    formats::samples::tests::block,
    views::top::fixtures::{append, running},
};

/// What happens when the view waits for a key.
enum Step {
    /// A key is struck.
    Key(char),
    /// The run goes on, and no key is struck.
    Grown,
}

/// What is on the screen after these steps and q.
fn watched(directory: &Path, steps: impl IntoIterator<Item = Step>) -> String {
    let mut followed = Followed::open(directory).unwrap();
    let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
    let mut steps: VecDeque<Step> = steps.into_iter().chain([Step::Key('q')]).collect();
    let key = |letter| Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
    watch(&mut terminal, &mut followed, Duration::ZERO, &mut |_| {
        Ok(match steps.pop_front().expect("the view has ended") {
            Step::Key(letter) => Some(key(letter)),
            Step::Grown => {
                append(directory, &sdb_name(0), &block(&[(0x20_0000, 0)], 0));
                None
            }
        })
    })
    .unwrap();
    terminal.backend().to_string()
}

#[test]
fn the_view_shows_what_has_come_since_and_ends_with_q() {
    let directory = running();
    let shown = watched(directory.path(), []);
    assert!(shown.contains("7 samples in 2 blocks"), "{shown}");
    let shown = watched(directory.path(), [Step::Grown, Step::Grown]);
    assert!(shown.contains("9 samples in 4 blocks"), "{shown}");
    let shown = watched(directory.path(), [Step::Key('t'), Step::Key('x')]);
    assert!(shown.contains("t by: total"), "{shown}");
}

#[test]
fn a_view_that_pauses_reads_nothing_until_it_goes_on() {
    let directory = running();
    let pause = || Step::Key('p');
    let shown = watched(directory.path(), [pause(), Step::Grown, Step::Grown]);
    assert!(shown.contains("7 samples in 2 blocks"), "{shown}");
    assert!(
        shown.contains("paused") && shown.contains("p go on"),
        "{shown}"
    );
    let steps = [pause(), Step::Grown, pause(), Step::Grown];
    let shown = watched(directory.path(), steps);
    assert!(shown.contains("11 samples in 6 blocks"), "{shown}");
}

#[test]
fn a_terminal_that_has_gone_away_ends_the_view_with_an_error() {
    let directory = running();
    let mut followed = Followed::open(directory.path()).unwrap();
    let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
    let mut gone = |_| Err(io::Error::other("hung up"));
    let ended = watch(&mut terminal, &mut followed, Duration::ZERO, &mut gone);
    let error = format!("{:#}", ended.unwrap_err());
    assert!(error.contains("cannot read keys") && error.contains("hung up"));
}

#[test]
fn a_look_at_a_folder_reads_all_of_it_and_gives_the_end_of_the_run() {
    let directory = crate::report::tests::directory();
    let (text, end) = top(Some(directory.path()), true, Duration::ZERO).unwrap();
    assert!(text.unwrap().contains("7 samples in 2 blocks"));
    assert!(matches!(end, Some(End::Guest(_))));
    let error = top(Some(Path::new("/no/such/folder")), true, Duration::ZERO);
    let error = format!("{:#}", error.unwrap_err());
    assert!(error.contains("/no/such/folder"), "{error}");
}
