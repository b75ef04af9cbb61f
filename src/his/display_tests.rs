//! The lines of HIS015I.

use super::bench::{Bench, Called};
use super::event::Event;
use super::exit::Handling::{self, Done, Pending};
use super::operator::His;
use super::query::Query;
use super::registry::WINDOW;
use super::registry::{Registration, Token};
use super::run::Cause;

const MINUTE: u64 = 60_000_000;

fn his(bench: &mut Bench) -> His<Called> {
    let mut his = His::new();
    his.service.enable(bench);
    his
}

fn enter(his: &mut His<Called>, bench: &mut Bench, line: &str) -> Vec<String> {
    bench.messages.clear();
    his.command(bench, line, |_| Called::new(|_, _| Done));
    core::mem::take(&mut bench.messages)
}

fn profiler(
    his: &mut His<Called>,
    bench: &mut Bench,
    name: &'static str,
    handling: Handling,
) -> Token {
    let registration = Registration::new(name, Event::ProblemState.bit(), true).unwrap();
    let exit = Called::listening(name, bench, handling);
    his.service.start(bench, &registration, exit).unwrap().token
}

#[test]
fn without_a_run_only_the_service_is_shown() {
    let mut bench = Bench::new();
    let mut his = his(&mut bench);
    let service = [
        "HIS015I 00.00.00 DISPLAY HIS",
        "HIS 0000 IDLE",
        "HISSERV STATUS: ACTIVE",
        " EVENT",
        "  AUTHORIZED= BASIC,PROBLEM-STATE",
        "  ENABLED= NONE",
        " SAMPLE",
        "  AUTHORIZED= BASIC",
        "  ENABLED= NONE",
        "  BUFCNT= 4 (PAGES/PROCESSOR)",
        "  SAMPFREQ= 800000 (SAMPLES/MINUTE)",
        " PROFILER",
        "  NAME      START                QUERY             SAMPLE   S F",
    ];
    assert_eq!(enter(&mut his, &mut bench, "D HIS"), service);
    enter(&mut his, &mut bench, "P HIS");
    let shown = enter(&mut his, &mut bench, "DISPLAY HIS,L=A");
    assert_eq!(shown[1..], ["HIS 0000 IDLE", "HISSERV STATUS: INACTIVE"]);
}

#[test]
fn a_run_is_shown_with_its_command_and_the_values_that_it_uses() {
    let mut bench = Bench::new();
    let mut his = his(&mut bench);
    let line = "f HIS,B,TT='It''s one',PATH='/his',CTR=ALL,SI=SYNC,SAMPFREQ=60000,BUFCNT=PERSIST,\
                DURATION=10,DATALOSS=STOP,MAPASID=(1,2A),MAPJOB=(A,b)";
    enter(&mut his, &mut bench, line);
    bench.clock.set(bench.clock.get() + MINUTE);
    assert_eq!(
        enter(&mut his, &mut bench, "D HIS")[..15],
        [
            "HIS015I 00.01.00 DISPLAY HIS",
            "HIS 0000 ACTIVE",
            "COMMAND: MODIFY HIS,B,TT='It''s one',PATH='/his',CTR=ALL,SI=SYNC,SAMPFREQ=60000,\
             BUFCNT=PERSIST,DURATION=10,DATALOSS=STOP,MAPASID=(1,2A),MAPJOB=(A,b)",
            "START TIME: 2026/01/01 00:00:00   END TIME:",
            "COMPLETION STATUS: IN PROGRESS",
            "FILE PREFIX: SYSHIS20260101.000000.",
            "LOST SAMPLES: 0",
            "COUNTER VERSION NUMBER 1: 3   COUNTER VERSION NUMBER 2: 6",
            "COMMAND PARAMETER VALUES USED:",
            " TITLE= It's one  PATH= /his  DDNAME= ",
            " DURATION= 10 (MINUTES)  DATALOSS= STOP  STATECHANGE= SAVE",
            " SMP=YES  BUFCNT= PERSIST  SAMPTYPE= DEFAULT  SAMPFREQ= 60000 (SAMPLES/MINUTE)",
            " CNT=YES  COUNTER SET= BASIC,PROBLEM-STATE  CNTINTVAL= SYNC  CNTFILE=YES",
            " MAP=YES  MAPASID= 0001,002A  MAPJOB= A,B",
            "HISSERV STATUS: ACTIVE",
        ]
    );
    his.sample_data_lost(&mut bench, 40);
    let shown = enter(&mut his, &mut bench, "D HIS");
    assert_eq!(shown[1], "HIS 0000 IDLE");
    assert_eq!(
        shown[3..7],
        [
            "START TIME: 2026/01/01 00:00:00   END TIME: 2026/01/01 00:01:00",
            "COMPLETION STATUS: SAMPLING BUFFER OVERFLOW OCCURRED",
            "FILE PREFIX: SYSHIS20260101.000000.",
            "LOST SAMPLES: 40",
        ]
    );
}

#[test]
fn the_status_of_a_run_that_ended_early_is_the_reason() {
    let mut bench = Bench::new();
    let mut his = his(&mut bench);
    enter(&mut his, &mut bench, "F HIS,B,CTRONLY,CNTFILE=NO");
    enter(&mut his, &mut bench, "F HIS,END");
    let shown = enter(&mut his, &mut bench, "D HIS");
    assert_eq!(shown[4], "COMPLETION STATUS: SUCCESSFUL");
    assert_eq!(
        shown[10..14],
        [
            " DURATION= NOLIMIT  DATALOSS= IGNORE  STATECHANGE= SAVE",
            " SMP=NO  BUFCNT= DEFAULT  SAMPTYPE= DEFAULT  SAMPFREQ= DEFAULT",
            " CNT=YES  COUNTER SET= BASIC,PROBLEM-STATE  CNTINTVAL= 15  CNTFILE=NO",
            " MAP=NO",
        ]
    );
    bench.clock.set(bench.clock.get() + MINUTE);
    enter(&mut his, &mut bench, "F HIS,B,CNT=NO");
    his.end_early(&mut bench, Cause::NotWritten);
    let shown = enter(&mut his, &mut bench, "D HIS");
    assert_eq!(
        shown[4],
        "COMPLETION STATUS: the output could not be written"
    );
    assert_eq!(shown[12], " CNT=NO");
}

#[test]
fn each_profiler_has_its_start_and_its_average_times() {
    let mut bench = Bench::new();
    let mut his = his(&mut bench);
    enter(&mut his, &mut bench, "F HIS,B,CTRONLY,CTR=BASIC");
    bench.clock.set(bench.clock.get() + MINUTE);
    let slow = profiler(&mut his, &mut bench, "SLOW", Pending);
    bench.full.extend([(0, 126); WINDOW + 1]);
    his.blocks_ready(&mut bench);
    bench.clock.set(bench.clock.get() + 1_234);
    his.done(&mut bench, slow);
    for wait in [0, 3_661_000_005] {
        bench.clock.set(bench.clock.get() + wait);
        let (token, cpus) = (slow, None);
        let query = Query::EventData { token, cpus };
        his.service
            .query(&mut bench, &query, &mut [0; 400])
            .unwrap();
    }
    let shown = enter(&mut his, &mut bench, "D HIS");
    let from = shown.iter().position(|line| line == " EVENT").unwrap();
    assert_eq!(
        shown[from..],
        [
            " EVENT",
            "  AUTHORIZED= BASIC,PROBLEM-STATE",
            "  ENABLED= BASIC,PROBLEM-STATE",
            " SAMPLE",
            "  AUTHORIZED= BASIC",
            "  ENABLED= BASIC",
            "  BUFCNT= 4 (PAGES/PROCESSOR)",
            "  SAMPFREQ= 800000 (SAMPLES/MINUTE)",
            " PROFILER",
            "  NAME      START                QUERY             SAMPLE   S F",
            "  HISPROF   2026/01/01 00:00:00  +00:00:00:000000  +000000  N N",
            "  SLOW      2026/01/01 00:01:00  +01:01:01:000005  +001234  Y Y",
        ]
    );
}
