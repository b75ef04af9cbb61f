//! Regular expressions (regex-automata, dense automata) matched over 1 MiB of text.

use regex_automata::dfa::regex::Regex;
use regex_automata::util::syntax;

use super::text;
use crate::supervisor::task;

pub const SEED: u64 = 3;
pub const SIZE: usize = 1 << 20;
const ROUNDS: usize = 32;
/// Patterns, the number of matches of each, and how many bytes they cover (see known.py).
pub const KNOWN: [(&str, usize, usize); 3] = [
    (r"[a-z]+@(?:storage|channel)\.org", 394, 6080),
    (
        r"(?:sample|counter|code) [a-z]{2,4} (?:block|set|the)",
        267,
        3633,
    ),
    (r"[0-9]{4,5}[,.]", 1562, 9134),
];

/// Returns 0 if every pattern had exactly the known matches in every round.
pub fn work() -> u64 {
    let text = text::generate(SEED, SIZE);
    let mut wrong = 0;
    for (pattern, matches, covered) in KNOWN {
        let Ok(regex) = Regex::builder()
            .syntax(syntax::Config::new().unicode(false).utf8(false))
            .build(pattern)
        else {
            task::print(format_args!("search: {pattern} does not compile\n"));
            return 1;
        };
        let mut found = (0, 0);
        for _ in 0..ROUNDS {
            found = regex
                .find_iter(&text)
                .fold((0, 0), |(n, bytes), m| (n + 1, bytes + m.len()));
            wrong += u64::from(found != (matches, covered));
            task::yield_turn();
        }
        task::print(format_args!(
            "search: {pattern}: {} matches, {} bytes\n",
            found.0, found.1
        ));
    }
    wrong
}
