//! The values of keywords.

use super::operands::Parts;
use crate::event::{Event, Events, SampleTypes};
use crate::sampling::{BUFFER_DIGITS, FREQUENCY_DIGITS, Setting};
use heapless::{String, Vec};

/// The most entries of a list: the project's own bound.
pub const MOST_LISTED: usize = 8;

/// The name of a DD statement, a job or a profiler: 1 to 8 characters.
pub type Name = String<8>;

/// CNTINTVAL: when a run records its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Each time this many minutes have passed since the start of the run.
    Minutes(u8),
    /// SYNC: at the end of each global recording interval. The machine has no SMF that would define it; here
    /// it is each quarter of an hour of the TOD clock, like the default of 15 minutes.
    Synchronous,
}

/// What to do when data is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataLoss {
    /// Continue.
    #[default]
    Ignore,
    /// End the run.
    Stop,
}

/// What to do when the state of the system changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStateChange {
    /// Save the data, and continue with the next set of files.
    #[default]
    Save,
    /// End the run.
    Stop,
    /// Continue without a change.
    Ignore,
}

/// CTRSET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterChoice {
    /// The event types.
    pub events: Events,
    /// Whether the command names each one, so that all must be usable; of a group the run takes the usable
    /// ones.
    pub named: bool,
}

/// A decimal number in a range, without sign.
pub fn number(value: &str, least: u32, most: u32) -> Option<u32> {
    if !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = value.parse().ok()?;
    (least..=most).contains(&number).then_some(number)
}

/// One of these words, in upper or lower case.
pub fn word<T: Copy>(value: &str, known: &[(&str, T)]) -> Option<T> {
    known
        .iter()
        .find(|(word, _)| word.eq_ignore_ascii_case(value))
        .map(|&(_, meant)| meant)
}

/// YES or NO.
pub fn yes(value: &str) -> Option<bool> {
    word(value, &[("YES", true), ("NO", false)])
}

/// PERSIST, or a value.
pub fn setting<T>(value: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<Setting<T>> {
    if value.eq_ignore_ascii_case("PERSIST") {
        return Some(Setting::Persist);
    }
    read(value).map(Setting::Value)
}

/// SAMPFREQ. The machine has its own range, and decides later whether the number is in it.
pub fn frequency(value: &str) -> Option<u32> {
    digits(value, FREQUENCY_DIGITS)
}

/// BUFCNT. The range is the machine's, too.
pub fn buffers(value: &str) -> Option<u16> {
    digits(value, BUFFER_DIGITS)?.try_into().ok()
}

/// A decimal number of at most so many digits.
fn digits(value: &str, most: usize) -> Option<u32> {
    number(value, 0, u32::MAX).filter(|_| value.len() <= most)
}

/// SAMPTYPE. NONE collects nothing; DIAG selects basic samples as well.
pub fn sample_types(value: &str) -> Option<SampleTypes> {
    if value.eq_ignore_ascii_case("NONE") {
        return Some(SampleTypes::NONE);
    }
    let kinds = [
        ("BASIC", SampleTypes::BASIC),
        ("DIAG", SampleTypes::COMBINED),
    ];
    list(value).try_fold(SampleTypes::NONE, |types, entry| {
        Some(types.union(word(entry?, &kinds)?))
    })
}

/// CNTINTVAL.
pub fn interval(value: &str) -> Option<Interval> {
    if value.eq_ignore_ascii_case("SYNC") {
        return Some(Interval::Synchronous);
    }
    let minutes = number(value, 1, 60)?;
    minutes.try_into().ok().map(Interval::Minutes)
}

/// CTRSET: a group, or a list of counter sets.
///
/// ALL is HARDWARE, so that a command from before software counters existed costs no more than then.
pub fn counter_sets(value: &str) -> Option<CounterChoice> {
    let groups = [
        ("ALL", Events::HARDWARE),
        ("HARDWARE", Events::HARDWARE),
        ("HDWR", Events::HARDWARE),
        ("SOFTWARE", Events::SOFTWARE),
        ("COMPLETE", Events::COMPLETE),
    ];
    if let Some(events) = word(value, &groups) {
        let named = false;
        return Some(CounterChoice { events, named });
    }
    let sets = [
        ("BASIC", Event::Basic),
        ("PROBLEM", Event::ProblemState),
        ("PROBLEM-STATE", Event::ProblemState),
        ("CRYPTO", Event::Crypto),
        ("EXTENDED", Event::Extended),
        ("ZOS", Event::Zos),
        ("MTDIAG", Event::MtDiagnostic),
        ("MT-DIAGNOSTIC", Event::MtDiagnostic),
    ];
    let events = list(value).try_fold(Events::NONE, |events, entry| {
        Some(events.union(word(entry?, &sets)?.bit()))
    })?;
    let named = true;
    Some(CounterChoice { events, named })
}

/// A name of 1 to 8 letters, digits and national characters, in upper case.
pub fn name(value: &str, may_begin_with_digit: bool) -> Option<Name> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"@#$".contains(&byte);
    let first = *value.as_bytes().first()?;
    if !value.bytes().all(known) || (first.is_ascii_digit() && !may_begin_with_digit) {
        return None;
    }
    let mut name = Name::try_from(value).ok()?;
    name.make_ascii_uppercase();
    Some(name)
}

/// MAPASID. An empty list stands for ALL.
pub fn address_spaces(value: &str) -> Option<Vec<u16, MOST_LISTED>> {
    if value.eq_ignore_ascii_case("ALL") {
        return Some(Vec::new());
    }
    let hexadecimal = |entry: &str| {
        let digits = entry.bytes().all(|byte| byte.is_ascii_hexdigit());
        u16::from_str_radix(entry, 16).ok().filter(|_| digits)
    };
    collect(value, hexadecimal)
}

/// MAPJOB.
pub fn jobs(value: &str) -> Option<Vec<Name, MOST_LISTED>> {
    collect(value, |entry| name(entry, false))
}

fn collect<T>(value: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T, MOST_LISTED>> {
    let mut entries = Vec::new();
    for entry in list(value) {
        entries.push(read(entry?)?).ok()?;
    }
    Some(entries)
}

/// The entries of a list in parentheses, or one entry without them; `None` for an entry that cannot be
/// read.
fn list(value: &str) -> impl Iterator<Item = Option<&str>> {
    let inner = value
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    let one = inner.is_none().then_some(Some(value));
    // An empty list gives one entry, which is `None`.
    let empty = inner
        .is_some_and(|inner| inner.trim().is_empty())
        .then_some(None);
    let parts = Parts::of(inner.unwrap_or(""));
    one.into_iter()
        .chain(empty)
        .chain(parts.map(|part| part.ok().filter(|part| !part.is_empty())))
}

/// The text between apostrophes, in which two apostrophes are one.
pub fn quoted<const N: usize>(value: &str) -> Option<String<N>> {
    let inner = value.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut text = String::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character == '\'' && characters.next() != Some('\'') {
            return None;
        }
        if character.is_control() {
            return None;
        }
        text.push(character).ok()?;
    }
    (!text.is_empty()).then_some(text)
}

/// PATH: text in apostrophes, or a period for the directory of the run.
pub fn path<const N: usize>(value: &str) -> Option<String<N>> {
    if value == "." {
        return String::try_from(value).ok();
    }
    quoted(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_only_digits_and_is_in_its_range() {
        assert_eq!(number("60", 1, 60), Some(60));
        for wrong in ["0", "61", "", "+5", "-1", "1.0", "5 ", "99999999999"] {
            assert_eq!(number(wrong, 1, 60), None, "{wrong}");
        }
    }

    #[test]
    fn the_machine_and_not_the_command_has_a_range_of_frequencies_and_buffers() {
        assert_eq!(
            [0, 999_999_999].map(|n| frequency(&n.to_string())),
            [Some(0), Some(999_999_999)]
        );
        assert_eq!(["0", "9999"].map(buffers), [Some(0), Some(9_999)]);
        assert_eq!((frequency("1000000000"), buffers("10000")), (None, None));
        assert_eq!((frequency(""), buffers("-1")), (None, None));
    }

    #[test]
    fn all_is_hardware_and_leaves_the_software_counters_out() {
        for group in ["ALL", "HARDWARE", "all"] {
            assert_eq!(counter_sets(group).unwrap().events, Events::HARDWARE);
        }
        assert_eq!(counter_sets("SOFTWARE").unwrap().events, Events::SOFTWARE);
        assert_eq!(counter_sets("COMPLETE").unwrap().events, Events::COMPLETE);
    }

    #[test]
    fn a_list_has_sets_and_not_groups() {
        let choice = counter_sets("(BASIC, Problem,ZOS)").unwrap();
        assert_eq!(choice.events, Events(0xC800_0000));
        assert!(choice.named);
        assert_eq!(counter_sets("ZOS").unwrap().events, Events::SOFTWARE);
        for wrong in ["()", "(BASIC,)", "(BASIC,ALL)", "((BASIC))", "", "(BASIC"] {
            assert_eq!(counter_sets(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn diagnostic_samples_select_basic_ones_as_well() {
        for both in ["DIAG", "(DIAG)", "(BASIC,DIAG)", "(diag,basic)"] {
            assert_eq!(sample_types(both), Some(SampleTypes::COMBINED), "{both}");
        }
        assert_eq!(sample_types("BASIC"), Some(SampleTypes::BASIC));
        assert_eq!(sample_types("NONE"), Some(SampleTypes::NONE));
        assert_eq!(sample_types("(NONE,DIAG)"), None);
    }

    #[test]
    fn text_is_in_apostrophes_and_two_of_them_are_one() {
        assert_eq!(quoted::<16>("'it''s'").unwrap(), "it's");
        for wrong in [
            "it",
            "'it",
            "''",
            "'",
            "'a'b'",
            "'a\u{7}'",
            "'12345678901234567'",
        ] {
            assert_eq!(quoted::<16>(wrong), None, "{wrong}");
        }
        assert_eq!(path::<16>(".").unwrap(), ".");
        assert_eq!(path::<16>("/his"), None);
    }

    #[test]
    fn lists_of_address_spaces_and_jobs_are_bounded() {
        assert_eq!(address_spaces("(1,00fF)").unwrap(), [1, 0xFF]);
        assert_eq!(address_spaces("2A").unwrap(), [0x2A]);
        assert!(address_spaces("ALL").unwrap().is_empty());
        for wrong in ["(1,2,3,4,5,6,7,8,9)", "12345", "+1", "()", "G"] {
            assert_eq!(address_spaces(wrong), None, "{wrong}");
        }
        assert_eq!(jobs("(init,A$1)").unwrap(), ["INIT", "A$1"]);
        for wrong in ["1JOB", "ABCDEFGHI", "A-B"] {
            assert_eq!(jobs(wrong), None, "{wrong}");
        }
    }
}
