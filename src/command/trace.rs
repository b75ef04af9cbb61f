//! The operator's commands about program events, and about a guest that a trace has stopped.

use super::{Command, Misunderstood, Shown, Words};
use arch::bits::bit16;
use per::Range;
use per::trace::{Action, Pattern, Trace, What};

/// The most bytes of storage that SHOW shows at once.
const MOST_SHOWN: u64 = 4096;

/// Reads the words after PER.
pub(super) fn events<'a>(words: &mut Words<'a>) -> Result<Command, Misunderstood<'a>> {
    if words.0.peek().is_none() {
        return Ok(Command::Traces);
    }
    let what = match words.one_of(&["BRANCH", "FETCH", "STORE", "REG", "OFF"])? {
        0 => What::Branch,
        1 => What::Fetch,
        2 => What::Store(words.pattern()?),
        3 => What::Registers(words.registers()?),
        _ => return words.ended().map(Command::EndTraces),
    };
    let range = if words.follows("RANGE") {
        words.range()?
    } else {
        Range::ALL
    };
    let action = match words.0.peek() {
        None => Action::Trace,
        Some(_) => match words.one_of(&["COUNT", "TRACE", "STOP"])? {
            0 => Action::Count,
            1 => Action::Trace,
            _ => Action::Stop,
        },
    };
    Ok(Command::Trace(Trace {
        what,
        range,
        action,
    }))
}

/// Reads the words after SHOW.
pub(super) fn shown<'a>(words: &mut Words<'a>) -> Result<Shown, Misunderstood<'a>> {
    let storage = match words.one_of(&["PSW", "REGISTERS", "CONTROLS", "STORAGE"])? {
        0 => return Ok(Shown::Psw),
        1 => return Ok(Shown::Registers),
        2 => return Ok(Shown::Controls),
        _ => words.0.next(),
    };
    storage
        .and_then(addresses)
        .and_then(|Range { start, end }| {
            // One address means the doubleword there.
            let end = if start == end {
                start.saturating_add(7)
            } else {
                end
            };
            let fits = end >= start && end - start < MOST_SHOWN;
            fits.then_some(Shown::Storage(start, end))
        })
        .ok_or(Misunderstood {
            found: storage,
            understood: &["a hexadecimal address a, or at most 4096 bytes as a-b or a.n"],
        })
}

impl<'a> Words<'a> {
    /// Takes the next word if it is this one; returns whether it was.
    fn follows(&mut self, word: &str) -> bool {
        self.0
            .next_if(|next| next.eq_ignore_ascii_case(word))
            .is_some()
    }

    /// DATA and the bytes, if it is the next word.
    fn pattern(&mut self) -> Result<Option<Pattern>, Misunderstood<'a>> {
        if !self.follows("DATA") {
            return Ok(None);
        }
        let found = self.0.next();
        found
            .and_then(Pattern::from_digits)
            .map(Some)
            .ok_or(Misunderstood {
                found,
                understood: &["1 to 8 bytes as hexadecimal digits, two for each"],
            })
    }

    /// The next word, as general registers.
    fn registers(&mut self) -> Result<u16, Misunderstood<'a>> {
        let found = self.0.next();
        let register = |word: &str| {
            let number = word.parse().ok().filter(|&number| number < 16)?;
            Some(bit16(number))
        };
        found
            .and_then(|word| {
                if word.eq_ignore_ascii_case("ALL") {
                    return Some(u16::MAX);
                }
                word.split(',')
                    .try_fold(0, |mask, word| Some(mask | register(word)?))
            })
            .ok_or(Misunderstood {
                found,
                understood: &["registers 0 to 15 with commas between them", "ALL"],
            })
    }

    /// The next word, as a range.
    fn range(&mut self) -> Result<Range, Misunderstood<'a>> {
        let found = self.0.next();
        found.and_then(addresses).ok_or(Misunderstood {
            found,
            understood: &[
                "hexadecimal addresses: a-b, both included, a.n for n bytes from a on, or a alone",
            ],
        })
    }

    /// The next word, as the number of a trace, or ALL.
    fn ended(&mut self) -> Result<Option<u8>, Misunderstood<'a>> {
        let found = self.0.next();
        match found {
            Some(word) if word.eq_ignore_ascii_case("ALL") => Ok(None),
            _ => found
                .and_then(|word| word.parse().ok())
                .map(Some)
                .ok_or(Misunderstood {
                    found,
                    understood: &["the number of a trace", "ALL"],
                }),
        }
    }
}

/// A range as a command has it: one address, two addresses separated by a hyphen, or an address and a length separated by a period.
#[must_use]
pub fn addresses(word: &str) -> Option<Range> {
    let number = |digits: &str| {
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u64::from_str_radix(digits, 16).ok().filter(|_| plain)
    };
    if let Some((start, end)) = word.split_once('-') {
        let (start, end) = (number(start)?, number(end)?);
        return Some(Range { start, end });
    }
    if let Some((start, length)) = word.split_once('.') {
        let (start, length) = (number(start)?, number(length)?);
        let end = start.wrapping_add(length.checked_sub(1)?);
        return Some(Range { start, end });
    }
    let start = number(word)?;
    Some(Range { start, end: start })
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn answer(line: &str) -> String {
        parse(line).unwrap_err().to_string()
    }

    fn range(start: u64, end: u64) -> Range {
        Range { start, end }
    }

    #[test]
    fn a_trace_is_an_event_a_range_and_an_action() {
        let data = Pattern::from_digits("C1C2");
        let table = [
            ("per fetch", What::Fetch, Range::ALL, Action::Trace),
            (
                "PER BRANCH RANGE 10000-10FFF COUNT",
                What::Branch,
                range(0x1_0000, 0x1_0FFF),
                Action::Count,
            ),
            (
                "PER STORE RANGE ffff.2 STOP",
                What::Store(None),
                range(0xFFFF, 0x1_0000),
                Action::Stop,
            ),
            (
                "PER STORE DATA c1C2 RANGE 5000 trace",
                What::Store(data),
                range(0x5000, 0x5000),
                Action::Trace,
            ),
            (
                "PER REG 0,15 COUNT",
                What::Registers(0x8001),
                Range::ALL,
                Action::Count,
            ),
            (
                "PER REG ALL",
                What::Registers(0xFFFF),
                Range::ALL,
                Action::Trace,
            ),
            (
                "PER FETCH RANGE FFFFFFFFFFFFFF00-FF",
                What::Fetch,
                range(0u64.wrapping_sub(0x100), 0xFF),
                Action::Trace,
            ),
        ];
        for (line, what, range, action) in table {
            let trace = Trace {
                what,
                range,
                action,
            };
            assert_eq!(parse(line), Ok(Command::Trace(trace)), "{line}");
            let said = format!("PER {trace}");
            assert_eq!(parse(&said), Ok(Command::Trace(trace)), "{said}");
        }
        assert_eq!(parse("PER"), Ok(Command::Traces));
        assert_eq!(parse("per off all"), Ok(Command::EndTraces(None)));
        assert_eq!(parse("PER OFF 3"), Ok(Command::EndTraces(Some(3))));
        assert_eq!(parse("go"), Ok(Command::Go));
    }

    #[test]
    fn storage_is_shown_by_its_addresses() {
        let table = [
            ("1000", 0x1000, 0x1007),
            ("1000-100F", 0x1000, 0x100F),
            ("1000.20", 0x1000, 0x101F),
            ("FFFFFFFFFFFFFFFF", u64::MAX, u64::MAX),
        ];
        for (word, start, end) in table {
            let line = format!("SHOW STORAGE {word}");
            let shown = Command::Show(Shown::Storage(start, end));
            assert_eq!(parse(&line), Ok(shown), "{word}");
        }
        let registers = Command::Show(Shown::Registers);
        assert_eq!(parse("SHOW REGISTERS"), Ok(registers));
        for word in ["2000-1000", "0-1000", "x", "0.0", "1000.FFFFFFFF", "-"] {
            let refused = answer(&format!("SHOW STORAGE {word}"));
            assert!(refused.contains("at most 4096 bytes"), "{refused}");
        }
    }

    #[test]
    fn a_range_or_a_mask_in_another_form_is_refused() {
        let table = [
            (
                "PER FETCH RANGE",
                "a word is missing; these are: hexadecimal addresses",
            ),
            (
                "PER FETCH RANGE main",
                "main is not understood here; these are: hexadecimal addresses",
            ),
            ("PER FETCH RANGE +1-2", "+1-2 is not understood here"),
            ("PER FETCH RANGE 1-2-3", "1-2-3 is not understood here"),
            ("PER FETCH RANGE 1.0", "1.0 is not understood here"),
            (
                "PER FETCH RANGE 10000000000000000",
                "10000000000000000 is not understood here",
            ),
            (
                "PER REG 16",
                "16 is not understood here; these are: registers 0 to 15",
            ),
            ("PER REG 1,,2", "1,,2 is not understood here"),
            ("PER REG", "a word is missing; these are: registers 0 to 15"),
            (
                "PER STORE DATA 1",
                "1 is not understood here; these are: 1 to 8 bytes",
            ),
            (
                "PER STORE DATA",
                "a word is missing; these are: 1 to 8 bytes",
            ),
            (
                "PER FETCH DATA 00",
                "DATA is not understood here; these are: COUNT, TRACE, STOP",
            ),
            (
                "PER FETCH COUNT RANGE 1-2",
                "RANGE is not understood here; the command ends before it",
            ),
            (
                "PER EXECUTE",
                "EXECUTE is not understood here; these are: BRANCH, FETCH, STORE, REG, OFF",
            ),
            (
                "PER OFF",
                "a word is missing; these are: the number of a trace, ALL",
            ),
            ("PER OFF 256", "256 is not understood here"),
            (
                "SHOW",
                "a word is missing; these are: PSW, REGISTERS, CONTROLS, STORAGE",
            ),
        ];
        for (line, expected) in table {
            let refused = answer(line);
            assert!(refused.starts_with(expected), "{line}: {refused}");
        }
    }
}
