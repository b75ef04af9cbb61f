//! A comparison as text for a person, as Markdown for a merge request, and as JUnit's XML for a CI system.

use std::fmt::Write as _;

use comfy_table::Cell;

use super::comparison::{About, Change, Comparison, Verdict};
use crate::{
    computer::visible,
    numbers::grouped,
    views::table::{number, plain_table, shortened, trimmed},
};

/// Lines of the table of symbols, beside the regressions.
const MOST: usize = 20;

/// The headings of the tables.
const HEADINGS: [&str; 6] = ["what", "baseline", "now", "change", "percent", "verdict"];

/// What it is about, for a person.
fn what(about: &About) -> String {
    match about {
        About::Total(state) => format!("{} instructions", state.name()),
        About::Counter(name) => name.clone(),
        About::Symbol(state, name) => format!("{}: {name}", state.name()),
    }
}

fn cells(change: &Change) -> [String; 5] {
    let difference = change.difference();
    let size = u64::try_from(difference.unsigned_abs()).unwrap_or(u64::MAX);
    let sign = if difference < 0 { "-" } else { "+" };
    let percent = change.percent();
    [
        grouped(change.before),
        grouped(change.now),
        match difference {
            0 => "0".to_owned(),
            _ => format!("{sign}{}", grouped(size)),
        },
        percent.map_or("-".to_owned(), |percent| format!("{percent:+.2}")),
        change.verdict.word().to_owned(),
    ]
}

/// The changes that are shown: all totals, all regressions, and the largest other changes that are not chance.
fn shown(comparison: &Comparison) -> Vec<&Change> {
    let mut shown: Vec<&Change> = comparison.totals.iter().collect();
    let mut others = 0;
    for change in &comparison.symbols {
        let is_other = change.verdict != Verdict::Regression;
        if change.verdict == Verdict::Chance || (is_other && others == MOST) {
            continue;
        }
        others += usize::from(is_other);
        shown.push(change);
    }
    shown
}

/// How many changes of symbols are not shown, in a sentence; empty if all are.
fn rest(comparison: &Comparison, shown: &[&Change]) -> String {
    match comparison.symbols.len() + comparison.totals.len() - shown.len() {
        0 => String::new(),
        number => format!("and {number} symbols whose change is small or may be chance"),
    }
}

/// One regression in a sentence, with its cause.
fn sentence(comparison: &Comparison, change: &Change) -> String {
    let [before, now, difference, percent, _] = cells(change);
    let mut text = format!(
        "{} grew by {difference} ({percent} percent), from {before} to {now}",
        what(&change.about)
    );
    if let Some(limit) = change.limit {
        let _ = write!(text, "; {} more are tolerated", grouped(limit));
    }
    let causes = comparison.causes(change);
    let causes: Vec<String> = causes
        .iter()
        .map(|cause| {
            let [_, _, difference, ..] = cells(cause);
            format!("{} ({difference})", what(&cause.about))
        })
        .collect();
    if !causes.is_empty() {
        let _ = write!(text, "; most of it in {}", causes.join(", "));
    }
    text
}

/// The end of every form for people.
fn conclusion(comparison: &Comparison) -> String {
    match comparison.regressions().count() {
        0 if comparison.is_improved() => {
            "no regression, and an improvement: --update makes it the baseline".to_owned()
        }
        0 => "no regression".to_owned(),
        1 => "1 regression".to_owned(),
        number => format!("{number} regressions"),
    }
}

/// As text.
pub fn text(comparison: &Comparison) -> String {
    let mut table = plain_table(&HEADINGS);
    let shown = shown(comparison);
    for change in &shown {
        let [before, now, difference, percent, verdict] = cells(change);
        table.add_row(vec![
            Cell::new(shortened(&what(&change.about))),
            number(before),
            number(now),
            number(difference),
            number(percent),
            Cell::new(verdict),
        ]);
    }
    let mut text = format!("{}\n\n{}\n", comparison.command, trimmed(&table));
    let rest = rest(comparison, &shown);
    // Writing to a string does not fail.
    if !rest.is_empty() {
        let _ = writeln!(text, " {rest}");
    }
    for change in comparison.regressions() {
        let _ = writeln!(text, "\nregression: {}", sentence(comparison, change));
    }
    let _ = writeln!(text, "\n{}", conclusion(comparison));
    text
}

/// As Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let escaped = |text: &str| {
        let mut escaped = String::new();
        for character in visible::lines(text).chars() {
            if "\\|<>&*_`[]#".contains(character) {
                escaped.push('\\');
            }
            escaped.push(if character == '\n' { ' ' } else { character });
        }
        escaped
    };
    let mut text = format!(
        "### {}: {}\n\n| {} |\n|---|---:|---:|---:|---:|---|\n",
        escaped(&comparison.command),
        conclusion(comparison),
        HEADINGS.join(" | ")
    );
    let shown = shown(comparison);
    for change in &shown {
        let cells = cells(change);
        let bold = match change.verdict {
            Verdict::Regression => "**",
            _ => "",
        };
        let [numbers @ .., verdict] = &cells;
        let _ = writeln!(
            text,
            "| {} | {} | {bold}{verdict}{bold} |",
            escaped(&what(&change.about)),
            numbers.join(" | ")
        );
    }
    let rest = rest(comparison, &shown);
    if !rest.is_empty() {
        let _ = writeln!(text, "\n{rest}");
    }
    for change in comparison.regressions() {
        let _ = writeln!(text, "\n- {}", escaped(&sentence(comparison, change)));
    }
    text
}

/// As JUnit's XML: a test case for each total, each counter, and each symbol that is a regression.
pub fn junit(comparison: &Comparison) -> String {
    let cases: Vec<&Change> = comparison
        .changes()
        .filter(|change| {
            !matches!(change.about, About::Symbol(..)) || change.verdict == Verdict::Regression
        })
        .collect();
    let suite = escaped_xml(&comparison.command);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuite name=\"{suite}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\">\n",
        cases.len(),
        comparison.regressions().count()
    );
    for change in cases {
        let name = escaped_xml(&what(&change.about));
        let _ = write!(text, "  <testcase classname=\"{suite}\" name=\"{name}\"");
        if change.verdict == Verdict::Regression {
            let message = escaped_xml(&sentence(comparison, change));
            let _ = writeln!(
                text,
                ">\n    <failure message=\"{message}\" type=\"regression\"/>\n  </testcase>"
            );
        } else {
            text.push_str("/>\n");
        }
    }
    text.push_str("</testsuite>\n");
    text
}

/// Text for an attribute. XML has no form for most control characters.
fn escaped_xml(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            character if character.is_control() || "\u{FFFE}\u{FFFF}".contains(character) => {
                escaped.push('\u{FFFD}');
            }
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::baseline::{Baseline, Tolerances, tests::measured};

    fn comparison() -> Comparison {
        let generic = "<sum::Sum<u8> as Add>::add";
        let baseline = Baseline {
            measured: measured(&[(generic, 200_000_000)], &[("vfs_read", 70_000)]),
            tolerances: Tolerances::default(),
        };
        let now = measured(&[(generic, 204_000_000)], &[("vfs_read", 70_000)]);
        Comparison::new(&baseline, &now)
    }

    #[test]
    fn the_text_names_what_changed_and_why() {
        let text = text(&comparison());
        let line = |word: &str| {
            let line = text.lines().find(|line| line.contains(word));
            let line = line.unwrap_or_else(|| panic!("{word} is not in\n{text}"));
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            line("user instructions"),
            "user instructions 200,000,000 204,000,000 +4,000,000 +2.00 regression"
        );
        assert_eq!(
            line("kernel instructions"),
            "kernel instructions 70,000 70,000 0 +0.00 same"
        );
        assert!(text.contains(
            "regression: user instructions grew by +4,000,000 (+2.00 percent), from 200,000,000 to 204,000,000; \
             200,000 more are tolerated; most of it in user: <sum::Sum<u8> as Add>::add (+4,000,000)"
        ), "{text}");
        assert!(text.ends_with("\n2 regressions\n"), "{text}");
    }

    #[test]
    fn markdown_shows_names_as_they_are() {
        let text = markdown(&comparison());
        assert!(
            text.starts_with("### exec sum 1 2: 2 regressions\n\n| what |"),
            "{text}"
        );
        let row = "| user: \\<sum::Sum\\<u8\\> as Add\\>::add | 200,000,000 | 204,000,000 | +4,000,000 | +2.00 | **regression** |\n";
        assert!(text.contains(row), "{text}");
    }

    #[test]
    fn junit_has_a_failure_for_each_regression() {
        let text = junit(&comparison());
        assert!(
            text.contains("name=\"exec sum 1 2\" tests=\"3\" failures=\"2\""),
            "{text}"
        );
        assert!(text.contains("name=\"kernel instructions\"/>"), "{text}");
        assert!(
            text.contains("user: &lt;sum::Sum&lt;u8&gt; as Add&gt;::add"),
            "{text}"
        );
        assert_eq!(text.matches("<failure ").count(), 2);
        assert_eq!(escaped_xml("a\u{1B}\"&\n"), "a\u{FFFD}&quot;&amp;\u{FFFD}");
    }
}
