//! The meaning of commands, and the answers to wrong ones.

use super::*;
use crate::event::{Events, SampleTypes};
use crate::sampling::{SamplingControls, Setting};

fn begin(line: &str) -> Begin {
    match parse(line) {
        Ok(Command::Begin(begin)) => begin,
        other => panic!("{line}: {other:?}"),
    }
}

fn answer(line: &str) -> String {
    parse(line).unwrap_err().to_string()
}

#[test]
fn begin_without_operands_has_every_default() {
    for line in ["F HIS,B", "modify his,begin", " F  HIS , BEGIN "] {
        assert_eq!(begin(line), Begin::default(), "{line}");
    }
    let begin = Begin::default();
    assert_eq!(begin.sampling, SamplingParameters::default());
    assert!(begin.samples && begin.counters && begin.counter_file && begin.map);
    assert_eq!(begin.interval, Interval::Minutes(15));
    assert_eq!(begin.path, ".");
}

#[test]
fn the_book_has_the_defaults_of_begin() {
    let page = include_str!("../../../tools/book/src/his.md");
    let (_, table) = page.split_once("| keyword of BEGIN | default |").unwrap();
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut found = 0;
    for row in rows {
        let cells: std::vec::Vec<&str> = row.split('|').map(|cell| cell.trim()).collect();
        let keyword = cells[1].trim_matches('`');
        found += 1;
        if cells[2] == "none" {
            assert_eq!((keyword, Begin::default().duration), ("DURATION", None));
            continue;
        }
        let default = cells[2].trim_matches('`');
        let mut begin = begin(&format!("F HIS,B,{keyword}={default}"));
        let defaults = SamplingControls::DEFAULT;
        let others = SamplingControls {
            types: SampleTypes::COMBINED,
            frequency: defaults.frequency + 1,
            buffers: defaults.buffers + 1,
        };
        let parameters = std::mem::take(&mut begin.sampling);
        if parameters != SamplingParameters::default() {
            let same = parameters.over(&others) == SamplingParameters::default().over(&others);
            assert!(same, "{row}");
        }
        assert_eq!(begin, Begin::default(), "{row}");
    }
    assert_eq!(found, 12);
}

#[test]
fn begin_takes_every_keyword() {
    let begin = begin(
        "F HIS,B,TT='It''s, a run',PATH='/his/',CTR=COMPLETE,CNT=YES,SI=SYNC,CNTFILE=NO,SMP=YES,\
         SAMPTYPE=(BASIC,DIAG),SAMPFREQ=PERSIST,BUFCNT=64,DURATION=10,DATALOSS=STOP,\
         STATECHANGE=STOP,MAP=YES,MAPASID=(1,2A),MAPJOB=(init)",
    );
    assert_eq!(begin.title, "It's, a run");
    assert_eq!(begin.path, "/his/");
    assert_eq!(begin.counter_sets.events, Events::COMPLETE);
    assert_eq!(begin.interval, Interval::Synchronous);
    assert!(!begin.counter_file);
    assert_eq!(begin.sampling.types, Setting::Value(SampleTypes::COMBINED));
    assert_eq!(begin.sampling.frequency, Setting::Persist);
    assert_eq!(begin.sampling.buffers, Setting::Value(64));
    assert_eq!(begin.duration, Some(10));
    assert_eq!(begin.data_loss, DataLoss::Stop);
    assert_eq!(begin.state_change, OnStateChange::Stop);
    assert_eq!(begin.map_address_spaces, [1, 0x2A]);
    assert_eq!(begin.map_jobs, ["INIT"]);
}

#[test]
fn ctronly_means_neither_samples_nor_a_map_and_excludes_their_operands() {
    let begin = begin("F HIS,B,CTRONLY,CTR=ALL,SAMPFREQ=PERSIST");
    assert!(begin.counters && !begin.samples && !begin.map);
    for (other, named) in [
        ("SMP=YES", "SMP=YES"),
        ("MAP=YES", "MAP=YES"),
        ("CNT=NO", "CNT=NO"),
        ("MAPASID=ALL", "MAPASID"),
        ("MAPJOB=A", "MAPJOB"),
    ] {
        assert_eq!(
            answer(&format!("F HIS,B,CTRONLY,{other}")),
            format!("MMH005E {named} is not allowed with CTRONLY; allowed: one of them")
        );
    }
    assert!(parse("F HIS,B,CTRONLY,SMP=NO,MAP=NO,CNT=YES").is_ok());
}

#[test]
fn an_operand_of_what_is_not_collected_is_refused() {
    for (line, one, other) in [
        ("CNT=NO,CTR=ALL", "CTRSET", "CNT=NO"),
        ("CNT=NO,SI=5", "CNTINTVAL", "CNT=NO"),
        ("CNT=NO,CNTFILE=YES", "CNTFILE=YES", "CNT=NO"),
        ("MAP=NO,MAPJOB=A", "MAPJOB", "MAP=NO"),
    ] {
        let refused = parse(&format!("F HIS,B,{line}")).map_err(|refused| refused.to_string());
        let expected = Refused::Excluded(one, other).to_string();
        assert_eq!(refused, Err(expected), "{line}");
    }
    assert!(!begin("F HIS,B,CNT=NO").counter_file);
    assert!(answer("F HIS,B,CNT=NO,SMP=NO,MAP=NO").starts_with("MMH006E"));
}

#[test]
fn a_run_without_sample_types_writes_no_samples() {
    assert!(!begin("F HIS,B,SAMPTYPE=NONE").samples);
    assert_eq!(
        answer("F HIS,B,SAMPTYPE=NONE,SMP=YES"),
        "MMH005E SAMPTYPE=NONE is not allowed with SMP=YES; allowed: one of them"
    );
    assert!(answer("F HIS,B,SAMPTYPE=NONE,CNT=NO,MAP=NO").starts_with("MMH006E"));
}

#[test]
fn service_sets_sampling_controls_or_refreshes_but_not_both() {
    let service = parse("F HIS,SERVICE,SAMPFREQ=60000,SAMPTYPE=PERSIST");
    let sampling = SamplingParameters {
        types: Setting::Persist,
        frequency: Setting::Value(60_000),
        buffers: Setting::Default,
    };
    let dd_name = None;
    assert_eq!(service, Ok(Command::Service { sampling, dd_name }));
    assert_eq!(parse("F HIS,SERVICE,REFRESH"), Ok(Command::Refresh));
    for other in ["SAMPTYPE=BASIC", "SAMPFREQ=1", "BUFCNT=PERSIST", "DDNAME=X"] {
        let refused = answer(&format!("F HIS,SERVICE,REFRESH,{other}"));
        let keyword = other.split('=').next().unwrap();
        assert!(refused.contains(&format!("{keyword} is not allowed with REFRESH")));
    }
    assert_eq!(
        answer("F HIS,SERVICE,CTRSET=ALL"),
        "MMH002E CTRSET is not a keyword of this command; allowed: SAMPTYPE, SAMPFREQ, BUFCNT, DDNAME, REFRESH"
    );
}

#[test]
fn the_answer_to_a_wrong_value_has_the_keyword_the_value_and_the_allowed_values() {
    for (operand, expected) in [
        (
            "SAMPFREQ=1K",
            "MMH003E SAMPFREQ=1K is not allowed; allowed: a number of samples a minute of up to 9 digits, PERSIST",
        ),
        (
            "BUFCNT=10000",
            "MMH003E BUFCNT=10000 is not allowed; allowed: a number of pages for each processor of up to 4 digits, PERSIST",
        ),
        (
            "SI=61",
            "MMH003E CNTINTVAL=61 is not allowed; allowed: 1 to 60 minutes, SYNC",
        ),
        (
            "CTRSET=(ALL,ZOS)",
            "MMH003E CTRSET=(ALL,ZOS) is not allowed; allowed: ALL, HARDWARE, HDWR, SOFTWARE, COMPLETE, or \
             a list of BASIC, PROBLEM, CRYPTO, EXTENDED, ZOS, MTDIAG in parentheses",
        ),
        (
            "CTRSET=PERSIST",
            "MMH003E CTRSET=PERSIST is not allowed; allowed: ALL, HARDWARE, HDWR, SOFTWARE, COMPLETE, or \
             a list of BASIC, PROBLEM, CRYPTO, EXTENDED, ZOS, MTDIAG in parentheses",
        ),
        (
            "DURATION",
            "MMH003E DURATION has no value; allowed: 1 to 1440 minutes",
        ),
        (
            "CTRONLY=YES",
            "MMH003E CTRONLY=YES is not allowed; allowed: CTRONLY without a value",
        ),
        (
            "TT=run",
            "MMH003E TITLE=run is not allowed; allowed: 1 to 64 characters in apostrophes",
        ),
        (
            "SI=5,CNTINTVAL=5",
            "MMH004E CNTINTVAL is given twice; allowed: once",
        ),
        (
            "DDNAME=",
            "MMH003E DDNAME has no value; allowed: a name of 1 to 8 letters, digits and @#$ that begins with no digit",
        ),
        ("PATH='/his", "MMH007E a ' is missing"),
        ("CTR=(BASIC", "MMH007E a ) is missing"),
    ] {
        assert_eq!(answer(&format!("F HIS,B,{operand}")), expected);
    }
}

#[test]
fn the_answer_to_a_wrong_word_has_the_allowed_words() {
    let known = "allowed: BEGIN, B, END, SERVICE";
    assert_eq!(
        answer("F HIS,START"),
        format!("MMH001E START is not understood here; {known}")
    );
    assert_eq!(
        answer("F HIS"),
        format!("MMH001E a word is missing; {known}")
    );
    assert_eq!(
        answer("F HIS,,B"),
        format!("MMH001E a word is missing; {known}")
    );
    for line in ["F HIS,SERVICE,", "F HIS,SERVICE,=5"] {
        let keywords = "SAMPTYPE, SAMPFREQ, BUFCNT, DDNAME, REFRESH";
        assert_eq!(
            answer(line),
            format!("MMH002E a keyword is missing; allowed: {keywords}")
        );
    }
    assert_eq!(
        answer("F RMF,B"),
        "MMH001E RMF is not understood here; allowed: HIS"
    );
    assert_eq!(
        answer("V HIS"),
        "MMH001E V is not understood here; allowed: MODIFY, F, DISPLAY, D, START, S, STOP, P"
    );
    assert_eq!(
        answer("F HIS,END,SMP=NO"),
        "MMH002E SMP is not a keyword of this command; allowed: nothing more"
    );
    assert_eq!(
        answer("D HIS,B"),
        "MMH001E B is not understood here; allowed: L=area"
    );
    assert!(answer("F HIS,B,\u{1B}[2J").contains("?[2J"));
}

#[test]
fn start_and_stop_have_no_operands() {
    for (lines, command) in [
        (["S HIS", "start his"], Command::Start),
        (["P HIS", "STOP HIS"], Command::Stop),
    ] {
        for line in lines {
            assert!(is_command(line));
            assert_eq!(parse(line), Ok(command.clone()), "{line}");
        }
    }
    assert!(answer("P HIS,END").ends_with("allowed: nothing more"));
    assert_eq!(
        answer("S RMF"),
        "MMH001E RMF is not understood here; allowed: HIS"
    );
}

#[test]
fn display_and_end_have_no_operands_except_the_display_area() {
    assert_eq!(parse("F HIS,END"), Ok(Command::End));
    for line in ["D HIS", "display his", "D HIS,L=A", "D HIS,L=CON1-A"] {
        assert_eq!(parse(line), Ok(Command::Display), "{line}");
    }
}

#[test]
fn the_command_takes_precedence_over_its_parameter_file() {
    let file = "* sampling for all runs\nSAMPTYPE=DIAG,\n\nSAMPFREQ=60000, BUFCNT=32\n";
    let line = "F HIS,SERVICE,DDNAME=SAMP,SAMPFREQ=PERSIST";
    assert_eq!(parse(line).unwrap().dd_name().unwrap(), "SAMP");
    let Ok(Command::Service { sampling, .. }) = parse_with_file(line, file) else {
        panic!()
    };
    assert_eq!(sampling.types, Setting::Value(SampleTypes::COMBINED));
    assert_eq!(sampling.frequency, Setting::Persist);
    assert_eq!(sampling.buffers, Setting::Value(32));
    let Ok(Command::Begin(begin)) = parse_with_file("F HIS,B,DDNAME=A,CNT=YES", "CNT=NO\nSMP=NO")
    else {
        panic!()
    };
    assert!(begin.counters && !begin.samples);
}

#[test]
fn a_parameter_file_of_service_holds_sampling_parameters_only() {
    for wrong in ["CTRSET=ALL", "REFRESH", "DDNAME=B", "TITLE='x'"] {
        let refused = parse_with_file("F HIS,SERVICE,DDNAME=A", wrong).unwrap_err();
        assert!(matches!(refused, Refused::Keyword { .. }), "{wrong}");
    }
    let refused = parse_with_file("F HIS,B,DDNAME=A", "CTRONLY")
        .and_then(|_| parse_with_file("F HIS,B,DDNAME=A,SMP=YES", "CTRONLY"));
    assert_eq!(refused, Err(Refused::Excluded("SMP=YES", "CTRONLY")));
}

proptest::proptest! {
    #[test]
    fn every_line_and_file_is_a_command_or_is_refused(
        line in "(F|D) HIS,(B|END|SERVICE)?[,A-Z='() 0-9]{0,40}",
        file in "\\PC{0,60}",
    ) {
        for result in [parse(&line), parse_with_file(&line, &file)] {
            if let Err(refused) = result {
                proptest::prop_assert!(refused.to_string().starts_with("MMH0"));
            }
        }
    }
}
