//! Whether the person agrees that the tool changes this computer.
//!
//! On a terminal the tool asks, unless `--yes` has answered already. Where nobody can answer, as on a build machine and in
//! tests, it goes on: it has said before what it will do.

use std::{
    io::{self, BufRead, IsTerminal, Write, stderr, stdin},
    sync::atomic::{AtomicBool, Ordering},
};

use super::progress::Progress;

/// Whether the person has agreed in advance.
static GIVEN: AtomicBool = AtomicBool::new(false);

/// The person agrees in advance: `--yes`.
pub fn give() {
    GIVEN.store(true, Ordering::Relaxed);
}

/// Asks, if there is somebody to ask.
///
/// # Errors
/// The terminal cannot be read or written.
pub fn ask(question: &str, progress: &Progress) -> io::Result<bool> {
    if !is_asked(*progress) {
        return Ok(true);
    }
    ask_at(question, &mut stdin().lock(), &mut stderr())
}

/// Whether [`ask`] asks.
pub fn is_asked(progress: Progress) -> bool {
    !GIVEN.load(Ordering::Relaxed) && progress == Progress::Terminal && stdin().is_terminal()
}

/// Asks until the answer is one. The end of the input is a no.
fn ask_at(question: &str, input: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<bool> {
    loop {
        write!(out, "{question} [Y/n] ")?;
        out.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            writeln!(out)?;
            return Ok(false);
        }
        match &line.trim().to_lowercase()[..] {
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => writeln!(out, "Answer y or n.")?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(input: &str) -> (bool, String) {
        let mut out = Vec::new();
        let answer = ask_at("Go on?", &mut input.as_bytes(), &mut out).unwrap();
        (answer, String::from_utf8(out).unwrap())
    }

    #[test]
    fn yes_and_an_empty_line_agree_and_the_end_of_the_input_does_not() {
        for agrees in ["\n", "y\n", "YES\n", " y \n"] {
            assert_eq!(answered(agrees), (true, "Go on? [Y/n] ".to_owned()));
        }
        for refuses in ["n\n", "No\n", ""] {
            assert!(!answered(refuses).0, "{refuses:?}");
        }
        let (agrees, asked) = answered("what\nn\n");
        assert!(!agrees);
        assert_eq!(asked.matches("Go on?").count(), 2);
    }

    #[test]
    fn where_nobody_can_answer_nobody_is_asked() {
        for progress in [Progress::Plain, Progress::Silent] {
            assert!(ask("Go on?", &progress).unwrap());
        }
    }
}
