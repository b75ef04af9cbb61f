use super::*;
use crate::{
    CounterValues,
    cnt::{CounterFile, CpuCounters, Parser, SampleLoss, SetNames},
};
use proptest::prelude::*;

const START: u64 = 0xDF00_0000_0000_0000;

/// A file of as many CPUs; the first of two has the set of their core. The z/OS set is in it only if it is wanted.
fn file(cpus: u16, with_zos: bool) -> String {
    let basic = ["A", "B", "C", "D", "E", "F"];
    let (problem, cores) = (["G", "H"], ["I", "J", "K"]);
    let names = |set, names| SetNames { set, names };
    let sets = [
        names(SetType::BASIC, &basic[..]),
        names(SetType::PROBLEM_STATE, &problem),
        names(SetType::MT_DIAGNOSTIC, &cores),
        names(SetType::ZOS, &[]),
    ];
    let values = [
        CounterValues::new(SetType::BASIC, &[1, 2, 3, 4, 5, 6]),
        CounterValues::new(SetType::PROBLEM_STATE, &[7, 8]),
        CounterValues::new(SetType::ZOS, &[9; 8]),
        CounterValues::new(SetType::MT_DIAGNOSTIC, &[10, 11, 12]),
    ];
    let cpu = |cpu| CpuCounters {
        cpu,
        speed: 1000,
        start: START,
        end: Some(START + 1),
        sets: &values[..4 - usize::from(cpu > 0)],
    };
    let cpus: Vec<CpuCounters<'_>> = (0..cpus).map(cpu).collect();
    let mut text = String::new();
    let file = CounterFile {
        file_name: "SYSHIS20261121.100000.000.CNT",
        command: "MODIFY HIS,B",
        sample_loss: Some(SampleLoss {
            alert: false,
            overflow: 0,
        }),
        counter_loss: false,
        state_change: false,
        model: "8561-T01",
        sequence_code: "0000000000035DC7",
        versions: [3, 6],
        local: 0,
        sets: &sets[..3 + usize::from(with_zos)],
        cpus: &cpus,
    };
    file.write(&mut text).unwrap();
    text
}

/// Offset and field of everything that is wrong in a file; a line that cannot be read is the last.
fn wrong(text: &str) -> Vec<(usize, &'static str)> {
    let (mut parser, mut rules, mut at) = (Parser::new(), Rules::new(), 0);
    let mut wrong = Vec::new();
    let mut found = |malformed: Malformed| wrong.push((malformed.offset, malformed.field));
    for line in text.split_inclusive('\n') {
        match parser.line(line.trim_end_matches('\n').as_bytes()) {
            Ok(line) => rules.line(at, &line, &mut found),
            Err(malformed) => {
                found(Malformed {
                    offset: at + malformed.offset,
                    ..malformed
                });
                return wrong;
            }
        }
        at += line.len();
    }
    rules.end(at, &mut found);
    wrong
}

/// A file without its line `number`.
fn without(text: &str, number: usize) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    lines
        .filter(|(place, _)| *place != number)
        .map(|(_, line)| line)
        .collect()
}

/// Where the line with these words begins.
fn place(text: &str, words: &str) -> (usize, usize) {
    let at = text.find(words).unwrap();
    let at = text[..at].rfind('\n').map_or(0, |end| end + 1);
    (at, text[..at].lines().count())
}

#[test]
fn a_file_that_was_written_breaks_no_rule() {
    for (cpus, with_zos) in [(1, false), (1, true), (2, true), (4, true)] {
        assert_eq!(wrong(&file(cpus, with_zos)), []);
    }
    // Version 3 has no line for the loss of counter data.
    let old = file(1, true).replace("VERSION 4", "VERSION 3");
    let (_, loss) = place(&old, "LOSS OF COUNTER");
    assert_eq!(wrong(&without(&old, loss)), []);
    // A run without samples has no line for their loss.
    let (_, loss) = place(&old, "LOSS OF SAMPLE");
    assert_eq!(wrong(&without(&old, loss)), []);
}

#[test]
fn a_line_that_is_missing_is_named_at_the_line_that_needs_it() {
    let text = file(2, true);
    // (words of the line that is taken away, words of the line behind that needs it, field)
    for (gone, needs, field) in [
        ("FILE NAME", "COMMAND", "FILE NAME"),
        ("COMMAND", "LOSS OF SAMPLE", "COMMAND"),
        ("LOSS OF COUNTER", "STATE", "LOSS OF COUNTER DATA ALERT"),
        ("STATE CHANGE", "MODEL", "STATE CHANGE"),
        ("MODEL", "COUNTER VERSION", "MODEL"),
        (
            "COUNTER VERSION",
            "COUNTER SET= BASIC",
            "COUNTER VERSION NUMBER 1",
        ),
        ("COUNTER IDENTIFIERS", "  0: A", "COUNTER IDENTIFIERS"),
        ("  0: A", "  1: B", "COUNTER IDENTIFIER"),
        ("  2: C", "  3: D", "COUNTER IDENTIFIER"),
        (
            "COUNTER SET= PROBLEM",
            "COUNTER IDENTIFIERS:\n 32",
            "COUNTER SET",
        ),
        ("START TIME", "END TIME", "START TIME"),
        ("END TIME", "COUNTER VALUES", "END TIME"),
        ("  0-  3", "  4-  5", "counter"),
        ("  4-  5", "  0-  3", "counter"),
        (" 32- 33", "448-450", "COUNTER VALUES"),
        ("0000-0003", "0004-0007", "counter"),
    ] {
        let (_, number) = place(&text, gone);
        let text = without(&text, number);
        let expected = (place(&text, needs).0, field);
        assert!(
            wrong(&text).contains(&expected),
            "{gone}: {:?}",
            wrong(&text)
        );
    }
}

#[test]
fn labels_with_a_gap_are_named() {
    let text = file(1, true);
    for (label, other, field) in [
        ("  4-  5", "  5-  6", "counter"),
        (" 32- 33", " 33- 34", "counter"),
        ("448-450", "449-451", "counter"),
        ("0004-0007", "0008-0011", "counter"),
        ("0000-0003", "0001-0004", "counter"),
        ("  3: D", "  4: D", "COUNTER IDENTIFIER"),
        (" 33: H", " 34: H", "COUNTER IDENTIFIER"),
    ] {
        let (at, _) = place(&text, label);
        let text = text.replacen(label, other, 1);
        assert!(
            wrong(&text).contains(&(at, field)),
            "{other}: {:?}",
            wrong(&text)
        );
    }
}

#[test]
fn a_clock_that_goes_back_is_named_at_both_times() {
    let text = file(1, false);
    let text = text.replace("END TOD:   DF", "END TOD:   DE");
    let both = [
        (place(&text, "START TIME").0, "START TOD"),
        (place(&text, "END TIME").0, "END TOD"),
    ];
    assert_eq!(wrong(&text), both);
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_noticed() {
    let text = file(1, false);
    let whole = text.trim_end().len();
    for end in 0..whole {
        assert_ne!(
            wrong(&text[..end]),
            [],
            "{end}: {:?}",
            &text[..end].lines().last()
        );
    }
    assert_eq!(wrong(&text[..whole]), []);
    // What is missing is the next line of the message.
    let (at, _) = place(&text, "END TIME");
    assert_eq!(wrong(&text[..at]), [(at, "END TIME")]);
}

proptest! {
    #[test]
    fn a_line_that_comes_twice_or_not_at_all_is_noticed(number in any::<prop::sample::Index>(), twice in any::<bool>()) {
        let text = file(1, false);
        let number = number.index(text.lines().count());
        let line = text.split_inclusive('\n').nth(number).unwrap();
        let is_optional = line.starts_with("LOSS OF SAMPLE");
        let text = match twice {
            true => {
                let at: usize = text.split_inclusive('\n').take(number).map(str::len).sum();
                [&text[..at], line, &text[at..]].concat()
            }
            false => without(&text, number),
        };
        prop_assert!(is_optional && !twice || !wrong(&text).is_empty(), "{line}");
    }
}
