//! What a run must and must not find on the guest's console to count as a success.
//!
//! A program can say that it failed and then end as one that succeeded, so its end alone does not decide.

use anyhow::{Result, bail};
use clap::{Args, builder::NonEmptyStringValueParser};
use regex::{Regex, RegexBuilder};

/// Options that judge the console.
#[derive(Clone, Debug, Default, Args)]
pub struct Judgement {
    /// Count the run as failed (exit code 3) unless the guest's console has this text; may be given several times
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new(), allow_hyphen_values = true)]
    pub expect: Vec<String>,
    /// Count the run as failed (exit code 3) if this regular expression matches in the guest's console, as '^FAIL';
    /// ^ and $ match at lines. May be given several times
    #[arg(long, value_name = "REGEX", value_parser = pattern, allow_hyphen_values = true)]
    pub fail_on: Vec<Regex>,
}

/// A regular expression about the lines of a console, which may end with CR LF.
fn pattern(text: &str) -> Result<Regex, String> {
    let pattern = RegexBuilder::new(text).multi_line(true).crlf(true).build();
    pattern.map_err(|error| error.to_string())
}

impl Judgement {
    /// Whether the console does not matter.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.expect.is_empty() && self.fail_on.is_empty()
    }

    /// Refuses a run whose console says that it failed. `lost` bytes of the console were not kept.
    pub fn pass(&self, console: &str, lost: u64) -> Result<()> {
        for pattern in &self.fail_on {
            if let Some(found) = pattern.find(console) {
                bail!(
                    "line {} of its console matches --fail-on {pattern}: {}",
                    console[..found.start()].matches('\n').count() + 1,
                    line_of(console, found.start())
                );
            }
        }
        if let Some(text) = self.expect.iter().find(|text| !console.contains(&text[..])) {
            bail!("its console does not have the text of --expect: {text}");
        }
        if lost != 0 && !self.fail_on.is_empty() {
            bail!(
                "{lost} bytes of its console were not kept, and --fail-on may match there; choose more with --console-limit"
            );
        }
        Ok(())
    }
}

/// The line that the byte at `at` is in.
fn line_of(console: &str, at: usize) -> &str {
    let begin = console[..at].rfind('\n').map_or(0, |end| end + 1);
    console[begin..].lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(expect: &[&str], fail_on: &[&str]) -> Judgement {
        Judgement {
            expect: expect.iter().map(|text| (*text).to_owned()).collect(),
            fail_on: fail_on.iter().map(|text| pattern(text).unwrap()).collect(),
        }
    }

    fn refusal(expect: &[&str], fail_on: &[&str], console: &str) -> String {
        let passed = judgement(expect, fail_on).pass(console, 0);
        passed.unwrap_err().to_string()
    }

    #[test]
    fn a_console_passes_if_it_has_every_text_and_no_pattern_matches() {
        let console = "PASS: a\r\nSUMMARY: 1 test\r\n";
        judgement(&[], &[]).pass("", 0).unwrap();
        judgement(&["PASS", "1 test"], &["^FAIL", "0 tests"])
            .pass(console, 0)
            .unwrap();
        let refusal = refusal(&["PASS", "2 tests"], &[], console);
        assert!(refusal.ends_with("--expect: 2 tests"), "{refusal}");
    }

    #[test]
    fn a_pattern_matches_at_lines_and_the_refusal_shows_the_line() {
        let console = "no FAIL here\r\nFAIL: b is 2\r\nend\r\n";
        let refusal = refusal(&["end"], &["^FAIL.*$"], console);
        assert!(refusal.contains("line 2 ") && refusal.ends_with(": FAIL: b is 2"));
        assert!(judgement(&[], &["^FAIL$"]).pass(console, 0).is_ok());
        assert!(judgement(&[], &["^end$"]).pass(console, 0).is_err());
    }

    #[test]
    fn a_pattern_is_not_trusted_on_a_console_that_was_cut() {
        assert!(judgement(&["a"], &[]).pass("a", 1).is_ok());
        let cut = judgement(&["a"], &["^FAIL"]).pass("a", 1).unwrap_err();
        assert!(cut.to_string().contains("--console-limit"));
    }

    #[test]
    fn a_pattern_that_is_none_is_refused() {
        assert!(pattern("(").unwrap_err().contains("unclosed group"));
    }
}
