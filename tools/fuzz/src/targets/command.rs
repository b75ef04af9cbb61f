//! What a person types: operator commands with their parameter files, and the command line with the guest's
//! configuration.

use clap::Parser;
use measure::args::{Arguments, Command as Line};
use millimeter::his::command::{is_command, parse, parse_with_file};

use super::shape;
use crate::Target;

const FOR_EACH_BYTE: usize = 64;
const AT_LEAST: usize = 1 << 20;

pub const ALL: &[Target] = &[
    Target {
        name: "operator-command",
        what: "MODIFY HIS and DISPLAY HIS",
        good: || {
            COMMANDS
                .iter()
                .map(|line| line.as_bytes().to_vec())
                .collect()
        },
        read: |input| {
            let line = String::from_utf8_lossy(input);
            match parse(&line) {
                Ok(command) => {
                    assert!(is_command(&line));
                    shape(&format!("{command:?}"))
                }
                Err(refused) => one_line(&refused.to_string()),
            }
        },
        for_each_byte: FOR_EACH_BYTE,
        at_least: AT_LEAST,
    },
    Target {
        name: "parameter-file",
        what: "an operator command (the first line) and its parameter file (the others)",
        good: || {
            let text = [
                "F HIS,B,DDNAME=PARMS\nSAMPFREQ=2000\n* a comment\nCTRSET=(BASIC,EXTENDED),\nTITLE='A RUN'\n",
                "F HIS,SERVICE,DDNAME=PARMS\nSAMPTYPE=(B,D)\nBUFCNT=8\n",
            ];
            text.map(|text| text.as_bytes().to_vec()).to_vec()
        },
        read: |input| {
            let text = String::from_utf8_lossy(input);
            let (line, file) = text.split_once('\n').unwrap_or((&text, ""));
            match parse_with_file(line, file) {
                Ok(command) => shape(&format!("{command:?}")),
                Err(refused) => one_line(&refused.to_string()),
            }
        },
        for_each_byte: FOR_EACH_BYTE,
        at_least: AT_LEAST,
    },
    Target {
        name: "configuration",
        what: "the command line: what the guest is to find",
        good: || {
            let lines = [
                "run hash --cpus 2 --model z14 --threads 2 --level vm --host-parameter 0xC0FFEE --dedicated",
                "run --secure=full --storage 1G --interval 10000 --rtc 2026-01-01T00:00:00 --counters basic,mt",
                "run count --secure --freq 1000 --operator AUTH --when-waiting X --silence 5 --real-time",
                "bench --pairs 3",
            ];
            lines.map(|line| line.as_bytes().to_vec()).to_vec()
        },
        read: |input| {
            let text = String::from_utf8_lossy(input);
            let words = std::iter::once("measure").chain(text.split_whitespace().take(40));
            match Arguments::try_parse_from(words).map(|arguments| arguments.command) {
                Ok(Some(Line::Run(run))) => {
                    let options = run.options();
                    let words = options.configuration.words().join(" ");
                    match options.configuration.check(options.cpus) {
                        Ok(()) => shape(&words),
                        Err(error) => shape(&error.to_string()),
                    }
                }
                Ok(_) => "another".to_owned(),
                Err(error) => error.kind().to_string(),
            }
        },
        // The parser of command lines builds its tables anew each time.
        for_each_byte: 256,
        at_least: 8 << 20,
    },
];

/// An answer goes to a person's screen: a line of text.
fn one_line(answer: &str) -> String {
    assert!(!answer.chars().any(char::is_control), "{answer:?}");
    shape(answer).chars().take(24).collect()
}

const COMMANDS: [&str; 9] = [
    "F HIS,B,CTRONLY,CTR=ALL",
    "MODIFY HIS,BEGIN,TITLE='SOME RUN',PATH='/tmp/x',CTRSET=(BASIC,PROBLEM,EXTENDED),CNTINTVAL=(1,SYNC)",
    "F HIS,B,SAMPTYPE=(B,D),SAMPFREQ=60000,BUFCNT=16,DURATION=5,DATALOSS=STOP,STATECHANGE=SAVE",
    "F HIS,B,MAP=YES,MAPASID=(1,2,ALL),MAPJOB=(A,B),CNT=NO,SMP=YES,CNTFILE=NO",
    "F HIS,END",
    "F HIS,SERVICE,SAMPFREQ=1000,BUFCNT=4",
    "F HIS,SERVICE,REFRESH",
    "D HIS",
    "DISPLAY HIS,L=A",
];
