use super::*;

fn answer(line: &str) -> String {
    parse(line).unwrap_err().to_string()
}

#[test]
fn a_line_becomes_its_command() {
    let table = [
        (
            "AUTH CPU 0 COUNTERS BASIC OFF",
            Cpus::One(0),
            Change::Counters(CounterSets::BASIC, false),
        ),
        (
            "auth cpu all counters problem on",
            Cpus::All,
            Change::Counters(CounterSets::PROBLEM_STATE, true),
        ),
        (
            " Auth  CPU 3 Counters\tGroup ON ",
            Cpus::One(3),
            Change::Counters(CounterSets::COPROCESSOR_GROUP, true),
        ),
        (
            "AUTH CPU 1 COUNTERS MT ON",
            Cpus::One(1),
            Change::Counters(CounterSets::MT_DIAGNOSTIC, true),
        ),
        (
            "AUTH CPU 1 SAMPLING BASIC OFF",
            Cpus::One(1),
            Change::BasicSampling(false),
        ),
        (
            "AUTH CPU ALL SAMPLING DIAGNOSTIC ON",
            Cpus::All,
            Change::DiagnosticSampling(true),
        ),
        ("ALERT CPU 2 SAMPLES", Cpus::One(2), Change::LoseSampleData),
        (
            "ALERT CPU ALL COUNTERS CRYPTO",
            Cpus::All,
            Change::LoseCounterData(CounterSet::CryptoActivity),
        ),
        ("INTERRUPT CPU 0", Cpus::One(0), Change::InterruptKey),
    ];
    for (line, cpus, change) in table {
        assert_eq!(parse(line), Ok(Command::Change(cpus, change)), "{line}");
    }
    assert_eq!(
        parse("AUTH MACHINE COUNTERS BASIC OFF"),
        Ok(Command::ChangeBelow(Change::Counters(
            CounterSets::BASIC,
            false
        )))
    );
    assert_eq!(
        parse("alert machine samples"),
        Ok(Command::ChangeBelow(Change::LoseSampleData))
    );
    assert_eq!(parse("  "), Ok(Command::Nothing));
    assert_eq!(parse("status"), Ok(Command::Status));
    assert_eq!(parse("end"), Ok(Command::End));
    assert_eq!(parse("CLASSES 0,15,3"), Ok(Command::Classes(0x9001)));
    assert_eq!(parse("classes all"), Ok(Command::Classes(0xFFFF)));
    assert_eq!(parse("SUBTYPES 1"), Ok(Command::Subtypes(Some(1))));
    assert_eq!(parse("subtypes all"), Ok(Command::Subtypes(None)));
}

#[test]
fn the_answer_to_an_unknown_word_has_the_known_ones() {
    assert_eq!(
        answer("FROB"),
        "FROB is not understood here; these are: HELP, STATUS, CLOCK, END, AUTH, ALERT, INTERRUPT, CLASSES, SUBTYPES, PER, GO, SHOW, HOLD, COUNT"
    );
    assert_eq!(
        answer("AUTH CPU 0 COUNTERS CACHE ON"),
        "CACHE is not understood here; these are: BASIC, PROBLEM, CRYPTO, EXTENDED, MT, GROUP"
    );
    assert_eq!(
        answer("AUTH CPU 0 SAMPLING BASIC"),
        "a word is missing; these are: ON, OFF"
    );
    assert_eq!(
        answer("AUTH CPU -1 SAMPLING BASIC ON"),
        "-1 is not understood here; these are: the address of a CPU, ALL"
    );
    assert_eq!(
        answer("ALERT CPU 0 COUNTERS GROUP"),
        "GROUP is not understood here; these are: BASIC, PROBLEM, CRYPTO, EXTENDED, MT"
    );
    assert_eq!(
        answer("INTERRUPT MACHINE"),
        "MACHINE is not understood here; these are: CPU"
    );
    for number in ["65536", "99999999999999999999", "0x1", "1.0"] {
        assert_eq!(
            answer(&format!("INTERRUPT CPU {number}")),
            format!("{number} is not understood here; these are: the address of a CPU, ALL")
        );
    }
    for classes in ["16", "1,", "1,,2", "-1", "5-7"] {
        let allowed = "classes 0 to 15 with commas between them, ALL";
        assert_eq!(
            answer(&format!("CLASSES {classes}")),
            format!("{classes} is not understood here; these are: {allowed}")
        );
    }
    assert_eq!(
        answer("SUBTYPES 3"),
        "3 is not understood here; these are: 1, 2, ALL"
    );
    assert_eq!(
        answer("CLOCK now"),
        "now is not understood here; the command ends before it"
    );
}

#[test]
fn an_answer_has_no_control_characters_from_the_line() {
    assert_eq!(
        answer("AUTH CPU \u{1B}[2J\0\u{9B}"),
        "?[2J?? is not understood here; these are: the address of a CPU, ALL"
    );
}

#[test]
fn help_names_every_command() {
    let understood = parse("?").unwrap_err().understood;
    for word in understood {
        assert!(HELP.lines().any(|line| line.starts_with(word)), "{word}");
    }
}

proptest::proptest! {
    #[test]
    fn every_line_is_a_command_or_is_refused(line in "\\PC{0,40}") {
        if let Err(refused) = parse(&line) {
            proptest::prop_assert!(!refused.to_string().is_empty());
        }
    }
}
