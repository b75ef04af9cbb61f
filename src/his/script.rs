//! Collection runs from BEGIN to END, as an operator controls them.

use super::bench::{Bench, Called, NEW_YEAR, shown};
use super::event::{CounterLoss, Event, Events, SampleTypes};
use super::exit::Handling::{self, Done, Pending};
use super::exit::{Call, Step};
use super::operator::His;
use super::query::Query;
use super::registry::{Registration, Token, WINDOW};
use super::run::{Cause, Completion};
use arch::tod::Tod;
use std::rc::Rc;

const MINUTE: u64 = 60_000_000;

struct Operator {
    bench: Bench,
    his: His<Called>,
}

impl Operator {
    fn new() -> Self {
        let mut bench = Bench::new();
        let mut his = His::new();
        his.service.enable(&mut bench);
        Self { bench, his }
    }

    /// Enters a line; returns the answer.
    fn enter(&mut self, line: &str) -> String {
        let heard = Rc::clone(&self.bench.heard);
        self.his.command(&mut self.bench, line, |_| {
            Called::new(move |call, _| {
                heard.borrow_mut().push(format!("H {}", shown(call)));
                Done
            })
        });
        core::mem::take(&mut self.bench.messages).join("\n")
    }

    fn profiler(&mut self, name: &'static str, events: Events, handling: Handling) -> Token {
        let registration = Registration::new(name, events, true).unwrap();
        let exit = Called::listening(name, &self.bench, handling);
        let service = &mut self.his.service;
        let started = service.start(&mut self.bench, &registration, exit);
        started.unwrap().token
    }

    fn passes(&self, microseconds: u64) {
        let clock = &self.bench.clock;
        clock.set(clock.get() + microseconds);
    }

    fn completion(&self) -> Completion {
        self.his.run().unwrap().completion
    }
}

#[test]
fn a_run_continues_through_a_state_change_and_a_new_frequency_until_end() {
    let mut operator = Operator::new();
    let answer = operator.enter("F HIS,B,TT='First run',CTR=COMPLETE,SAMPFREQ=60000");
    assert_eq!(
        answer,
        "MMH110I a collection run has begun, its files are SYSHIS20260101.000000.*"
    );
    assert_eq!(
        operator.bench.happened(),
        [
            "enable BASIC,PROBLEM-STATE",
            "sample BASIC 1000000 4",
            "H Begin"
        ]
    );
    operator.bench.full.extend([(0, 126), (1, 126)]);
    operator.his.blocks_ready(&mut operator.bench);
    operator.bench.filling = [10, 0];
    operator.bench.limits.cpu_speed = 2_000;
    operator.his.speed_changed(&mut operator.bench);
    assert_eq!(
        operator.bench.happened(),
        [
            "H cpu0 126",
            "H cpu1 126",
            "sample no more",
            "H cpu0 10",
            "H UpdateStart 08000000",
            "sample BASIC 2000000 4",
            "H UpdateDone 00000000",
            "H NextFiles(1)"
        ]
    );
    let answer = operator.enter("F HIS,SERVICE,SAMPFREQ=120000,BUFCNT=8");
    assert_eq!(
        answer,
        "MMH113I the state has changed, the files are now SYSHIS20260101.000000.001.*\n\
         MMH114I SAMPTYPE=BASIC SAMPFREQ=120000 BUFCNT=8\n\
         MMH113I the state has changed, the files are now SYSHIS20260101.000000.002.*"
    );
    assert_eq!(
        operator.bench.happened(),
        [
            "sample no more",
            "H UpdateStart 04000000",
            "sample BASIC 1000000 8",
            "H UpdateDone 00000000",
            "H NextFiles(2)"
        ]
    );
    operator.bench.filling = [0, 3];
    operator.passes(MINUTE);
    assert_eq!(
        operator.enter("F HIS,END"),
        "MMH111I the collection run has ended, 0 samples were lost"
    );
    assert_eq!(
        operator.bench.happened(),
        ["sample no more", "H cpu1 3", "H End", "enable NONE"]
    );
    assert_eq!(operator.completion(), Completion::Ended);
    assert_eq!(operator.his.service.registry().profilers().count(), 0);
}

#[test]
fn three_profilers_run_at_once_and_only_the_slow_one_misses_samples() {
    let mut operator = Operator::new();
    operator.enter("F HIS,B,CTR=(BASIC)");
    let host = operator.profiler("HOST", Event::ProblemState.bit(), Pending);
    let guest = operator.profiler("GUEST", Event::Basic.bit(), Done);
    assert_eq!(operator.bench.enabled, Events(0xC000_0000));
    operator.bench.happened();
    operator.bench.full.extend([(0, 126); WINDOW + 3]);
    operator.his.blocks_ready(&mut operator.bench);
    let happened = operator.bench.happened();
    let heard = |name| {
        happened
            .iter()
            .filter(|line| line.starts_with(name))
            .count()
    };
    assert_eq!(
        (heard("H cpu0"), heard("GUEST cpu0"), heard("HOST cpu0")),
        (WINDOW + 3, WINDOW + 3, WINDOW)
    );
    operator.his.done(&mut operator.bench, host);
    assert_eq!(operator.bench.happened(), ["HOST None 10000000"]);
    let service = &operator.his.service;
    let missed = |token| service.profiler(token).unwrap().missed;
    assert_eq!((missed(host), missed(guest)), (3 * 126, 0));
    operator.enter("F HIS,END");
    assert_eq!(operator.his.run().unwrap().lost_samples, 0);
    // The run has ended, and the others continue with what they requested.
    assert_eq!(operator.bench.enabled, Events(0xC000_0000));
    assert!(operator.bench.order.is_some());
}

#[test]
fn begin_twice_and_end_without_begin_are_refused() {
    let mut operator = Operator::new();
    assert_eq!(
        operator.enter("F HIS,END"),
        "MMH102E no collection run is active; allowed: BEGIN, SERVICE"
    );
    operator.enter("F HIS,B,CTRONLY");
    operator.bench.happened();
    assert_eq!(
        operator.enter("F HIS,B"),
        "MMH101E a collection run has been active since 2026/01/01 00:00:00; allowed: END, SERVICE"
    );
    assert_eq!(operator.bench.happened(), [""; 0]);
    operator.enter("F HIS,END");
    assert!(operator.enter("F HIS,END").starts_with("MMH102E"));
}

#[test]
fn two_runs_of_one_second_would_have_the_same_files() {
    let mut operator = Operator::new();
    operator.enter("F HIS,B");
    operator.enter("F HIS,END");
    operator.passes(999_999);
    assert_eq!(
        operator.enter("F HIS,B"),
        "MMH109E a collection run began in this second, and its files are SYSHIS20260101.000000.*; allowed: BEGIN in the next second"
    );
    operator.passes(1);
    assert!(operator.enter("F HIS,B").starts_with("MMH110I"));
}

#[test]
fn a_parameter_that_the_machine_does_not_have_is_refused_before_anything_is_done() {
    let mut operator = Operator::new();
    for (line, answer) in [
        (
            "F HIS,B,CTR=(BASIC,CRYPTO)",
            "MMH104E CTRSET=CRYPTO is not authorized; allowed: BASIC,PROBLEM-STATE",
        ),
        (
            "F HIS,B,CTRONLY,CTR=SOFTWARE",
            "MMH104E CTRSET=ZOS is not authorized; allowed: BASIC,PROBLEM-STATE",
        ),
        (
            "F HIS,B,SAMPTYPE=(BASIC,DIAG)",
            "MMH105E SAMPTYPE=DIAG is not authorized; allowed: BASIC",
        ),
        (
            "F HIS,SERVICE,SAMPFREQ=60000001",
            "MMH106E SAMPFREQ=60000001 is not possible on this machine; \
             allowed: 14 to 60000000 samples a minute",
        ),
        (
            "F HIS,SERVICE,SAMPFREQ=0",
            "MMH106E SAMPFREQ=0 is not possible on this machine; \
             allowed: 14 to 60000000 samples a minute",
        ),
        (
            "F HIS,SERVICE,BUFCNT=65",
            "MMH107E BUFCNT=65 is not possible on this machine; \
             allowed: 1 to 64 pages for each processor",
        ),
        (
            "F HIS,SERVICE,BUFCNT=0",
            "MMH107E BUFCNT=0 is not possible on this machine; \
             allowed: 1 to 64 pages for each processor",
        ),
        (
            "F HIS,SERVICE,DDNAME=GONE",
            "MMH103E DDNAME=GONE cannot be read; allowed: a parameter file of at most 1024 bytes",
        ),
    ] {
        assert_eq!(operator.enter(line), answer);
        assert_eq!(operator.bench.happened(), [""; 0], "{line}");
    }
    operator.bench.file = Some("SAMPFREQ=X");
    let answer = operator.enter("F HIS,SERVICE,DDNAME=SAMP");
    assert!(answer.starts_with("MMH003E SAMPFREQ=X is not allowed;"));
    assert!(answer.ends_with("(with the parameters of DDNAME=SAMP)"));
    operator.enter("F HIS,SERVICE,SAMPTYPE=NONE");
    assert_eq!(
        operator.enter("F HIS,B,SAMPTYPE=PERSIST"),
        "MMH105E SAMPTYPE=NONE, which persists, gives no samples; allowed: BASIC, SMP=NO"
    );
}

#[test]
fn a_run_of_the_zos_set_tells_at_its_end_how_many_monitor_calls_had_no_counter() {
    for (sets, told) in [("ZOS", true), ("BASIC", false)] {
        let mut operator = Operator::new();
        operator.bench.authorized = Event::Basic.bit().union(Events::SOFTWARE);
        operator.enter("F HIS,SERVICE,REFRESH");
        operator.bench.dropped = 7;
        operator.enter(&format!("F HIS,B,CTRONLY,CTR={sets}"));
        operator.bench.dropped = 10;
        let answer = operator.enter("F HIS,END");
        let message = "MMH120I 3 monitor calls were dropped, their codes are not below 1500";
        assert_eq!(answer.ends_with(message), told, "{answer}");
    }
}

#[test]
fn stop_ends_the_run_and_makes_his_inactive_until_start() {
    let mut operator = Operator::new();
    operator.enter("F HIS,B");
    operator.profiler("OTHER", Event::Basic.bit(), Done);
    assert_eq!(
        operator.enter("P HIS"),
        "MMH112I the collection run ends early: the operator has stopped HIS\n\
         MMH111I the collection run has ended, 0 samples were lost\n\
         MMH117I HIS has stopped"
    );
    let early = Completion::Early(Cause::Stopped);
    assert_eq!(operator.completion(), early);
    assert_eq!(operator.bench.enabled, Events::NONE);
    assert_eq!(operator.his.service.registry().profilers().count(), 0);
    // A request does not start it again, as one does that comes before the first command.
    operator.his.wanted(&mut operator.bench);
    for line in [
        "F HIS,B",
        "F HIS,END",
        "F HIS,SERVICE",
        "F HIS,SERVICE,REFRESH",
        "P HIS",
    ] {
        let answer = "MMH119E HIS is inactive; allowed: START HIS, DISPLAY HIS";
        assert_eq!(operator.enter(line), answer, "{line}");
    }
    assert!(
        operator
            .enter("D HIS")
            .ends_with("HISSERV STATUS: INACTIVE")
    );
    assert_eq!(operator.enter("S HIS"), "MMH116I HIS has started");
    assert!(operator.enter("D HIS").contains("HISSERV STATUS: ACTIVE"));
    assert_eq!(
        operator.enter("S HIS"),
        "MMH118E HIS is active; allowed: MODIFY HIS, DISPLAY HIS, STOP HIS"
    );
    operator.passes(1_000_000);
    assert!(operator.enter("F HIS,B").starts_with("MMH110I"));
}

#[test]
fn a_run_that_the_end_of_the_guest_ends_is_a_successful_one() {
    let mut operator = Operator::new();
    operator.enter("F HIS,B");
    operator.his.guest_ended(&mut operator.bench);
    assert_eq!(
        operator.bench.messages,
        ["MMH111I the collection run has ended with the guest, 0 samples were lost"]
    );
    assert_eq!(operator.completion(), Completion::GuestEnded);
    assert!(!operator.his.service.registry().enabled());
}

#[test]
fn a_parameter_that_persists_is_that_of_the_previous_run() {
    let mut operator = Operator::new();
    operator.bench.file = Some("SAMPFREQ=60000,BUFCNT=16");
    operator.enter("F HIS,B,DDNAME=SAMP");
    operator.enter("F HIS,END");
    operator.passes(1_000_000);
    operator.enter("F HIS,B,SAMPFREQ=PERSIST");
    let controls = operator.his.service.registry().controls();
    assert_eq!((controls.frequency, controls.buffers), (60_000, 4));
    operator.enter("F HIS,END");
    operator.passes(1_000_000);
    operator.enter("F HIS,B,CTRONLY");
    let controls = operator.his.service.registry().controls();
    assert_eq!(controls.frequency, 800_000, "it was not given");
}

#[test]
fn what_is_authorized_is_used_and_shown_from_the_next_refresh_on_and_a_refusal_names_it() {
    let mut operator = Operator::new();
    operator.bench.authorized = Events::HARDWARE;
    operator.bench.types = SampleTypes::COMBINED;
    operator.his.authorization_changed(&mut operator.bench);
    let authorized = "  AUTHORIZED= BASIC,PROBLEM-STATE\n";
    assert!(operator.enter("D HIS").contains(authorized));
    let refresh = "after MODIFY HIS,SERVICE,REFRESH also";
    assert_eq!(
        operator.enter("F HIS,B,CTR=(BASIC,CRYPTO)"),
        format!(
            "MMH104E CTRSET=CRYPTO is not authorized; allowed: BASIC,PROBLEM-STATE; \
             {refresh} CRYPTO,EXTENDED,MT-DIAGNOSTIC"
        )
    );
    assert_eq!(
        operator.enter("F HIS,B,SAMPTYPE=DIAG"),
        format!("MMH105E SAMPTYPE=DIAG is not authorized; allowed: BASIC; {refresh} DIAG")
    );
    operator.enter("F HIS,SERVICE,REFRESH");
    let shown = operator.enter("D HIS");
    let all = [
        "  AUTHORIZED= BASIC,PROBLEM-STATE,CRYPTO,EXTENDED,MT-DIAGNOSTIC\n",
        "  AUTHORIZED= BASIC,DIAG\n",
    ];
    assert!(all.iter().all(|line| shown.contains(line)), "{shown}");
    assert!(
        operator
            .enter("F HIS,B,CTR=(BASIC,CRYPTO),SAMPTYPE=DIAG")
            .starts_with("MMH110I")
    );
}

#[test]
fn diagnostic_samples_are_collected_together_with_basic_ones_or_not_at_all() {
    let mut operator = Operator::new();
    operator.bench.types = SampleTypes::COMBINED;
    operator.enter("F HIS,SERVICE,REFRESH");
    operator.bench.happened();
    operator.enter("F HIS,B,CNT=NO,SAMPTYPE=DIAG");
    assert_eq!(
        operator.bench.happened(),
        ["sample BASIC,DIAG 75000 4", "H Begin"]
    );
    operator.enter("F HIS,END");
    operator.profiler("OTHER", Events::NONE, Done);
    assert_eq!(
        operator.bench.order.unwrap().types,
        SampleTypes::COMBINED,
        "the controls are those of all profilers"
    );
    operator.bench.types = SampleTypes::DIAGNOSTIC;
    operator.his.authorization_changed(&mut operator.bench);
    assert_eq!(operator.bench.order, None);
    assert_eq!(
        operator.enter("F HIS,SERVICE,SAMPTYPE=DIAG"),
        "MMH105E SAMPTYPE=BASIC,DIAG is not authorized; allowed: NONE"
    );
}

#[test]
fn a_run_that_may_not_lose_data_ends_when_it_does() {
    for (line, ends) in [
        ("F HIS,B,DATALOSS=STOP", true),
        ("F HIS,B,DATALOSS=IGNORE", false),
        ("F HIS,B,CTRONLY,DATALOSS=STOP", false),
    ] {
        let mut operator = Operator::new();
        operator.enter(line);
        operator.his.sample_data_lost(&mut operator.bench, 40);
        let ended = operator.completion() == Completion::Early(Cause::SampleDataLost);
        assert_eq!(ended, ends, "{line}");
        assert_eq!(
            operator.bench.messages.iter().any(|line| line
                == "HIS025I DATA COLLECTION IS PREMATURELY ENDING. SAMPLING BUFFER OVERFLOW OCCURRED"),
            ends
        );
    }
    let mut operator = Operator::new();
    operator.enter("F HIS,B,CTRONLY,DATALOSS=STOP");
    operator
        .his
        .counter_data_lost(&mut operator.bench, CounterLoss::Cpu);
    let early = Completion::Early(Cause::CounterDataLost);
    assert_eq!(operator.completion(), early);
    // A run goes on if it collects no set whose data were lost.
    for (set, of_cpu, of_mt) in [("BASIC", true, false), ("MTDIAG", false, true)] {
        for (loss, ends) in [(CounterLoss::Cpu, of_cpu), (CounterLoss::Mt, of_mt)] {
            let mut operator = Operator::new();
            operator.bench.authorized = Events::HARDWARE;
            operator.enter("F HIS,SERVICE,REFRESH");
            operator.enter(&format!("F HIS,B,CTRONLY,CTR={set},DATALOSS=STOP"));
            operator.his.counter_data_lost(&mut operator.bench, loss);
            assert_eq!(operator.completion() == early, ends, "{set} {loss:?}");
        }
    }
}

#[test]
fn deauthorization_of_what_a_run_collects_ends_it_whatever_statechange_is() {
    let mut operator = Operator::new();
    operator.enter("F HIS,B,STATECHANGE=IGNORE");
    operator.bench.types = SampleTypes::NONE;
    operator.his.authorization_changed(&mut operator.bench);
    let early = Completion::Early(Cause::SamplingDeauthorized);
    assert_eq!(operator.completion(), early);
    let mut operator = Operator::new();
    operator.enter("F HIS,B,CTR=BASIC,STATECHANGE=IGNORE");
    operator.bench.authorized = Event::Basic.bit();
    operator.his.authorization_changed(&mut operator.bench);
    assert_eq!(operator.completion(), Completion::Running, "it is not its");
    operator.bench.authorized = Events::NONE;
    operator.his.authorization_changed(&mut operator.bench);
    let early = Completion::Early(Cause::CountersDeauthorized);
    assert_eq!(operator.completion(), early);
}

#[test]
fn a_state_change_begins_new_files_ends_the_run_or_is_ignored() {
    for (action, files, completion) in [
        ("SAVE", 1, Completion::Running),
        ("STOP", 0, Completion::Early(Cause::StateChanged)),
        ("IGNORE", 0, Completion::Running),
    ] {
        let mut operator = Operator::new();
        operator.enter(&format!("F HIS,B,CTRONLY,STATECHANGE={action}"));
        operator.enter("F HIS,SERVICE,SAMPFREQ=60000");
        let run = operator.his.run().unwrap();
        assert_eq!(run.files, 0, "a run without samples does not stand on it");
        operator.his.speed_changed(&mut operator.bench);
        let run = operator.his.run().unwrap();
        assert_eq!((run.files, run.completion), (files, completion), "{action}");
    }
}

#[test]
fn intervals_are_recorded_when_they_are_due_and_the_duration_ends_the_run() {
    let mut operator = Operator::new();
    operator.enter("F HIS,B,CTRONLY,SI=2,DURATION=5");
    operator.bench.happened();
    let due = |operator: &Operator| {
        let Tod(due) = operator.his.due_at()?;
        Some((due / 4096 - NEW_YEAR) / MINUTE)
    };
    assert_eq!(due(&operator), Some(2));
    operator.his.tick(&mut operator.bench);
    assert_eq!(operator.bench.happened(), [""; 0]);
    operator.passes(2 * MINUTE);
    operator.his.tick(&mut operator.bench);
    assert_eq!(operator.bench.happened(), ["H Interval"]);
    operator.passes(2 * MINUTE);
    operator.his.tick(&mut operator.bench);
    assert_eq!(operator.bench.happened(), ["H Interval"]);
    assert_eq!(due(&operator), Some(5));
    operator.passes(MINUTE);
    operator.his.tick(&mut operator.bench);
    assert_eq!(operator.bench.happened(), ["H End", "enable NONE"]);
    assert_eq!(operator.completion(), Completion::Elapsed);
    assert_eq!(due(&operator), None);
    operator.passes(7 * MINUTE);
    operator.enter("F HIS,B,CTRONLY,SI=SYNC");
    assert_eq!(due(&operator), Some(15), "the quarter of the hour");
}

#[test]
fn hisprof_reads_its_counters_within_a_step() {
    let mut operator = Operator::new();
    operator.bench.counted = 5;
    let heard = Rc::clone(&operator.bench.heard);
    operator
        .his
        .command(&mut operator.bench, "F HIS,B,CTRONLY,CTR=BASIC", |_| {
            Called::new(move |call, service| {
                if let Call::Step(Step::Begin | Step::End { .. }) = call {
                    let (token, cpus) = (service.token().unwrap(), None);
                    let mut area = [0; 200];
                    let query = Query::EventData { token, cpus };
                    let answered = service.query(&query, &mut area).unwrap();
                    let cycles = area[16 + 24 + 8 + 7];
                    let note = format!("{}: {} bytes, {cycles}", shown(call), answered.stored);
                    heard.borrow_mut().push(note);
                }
                Done
            })
        });
    operator.bench.happened();
    operator.bench.counted = 9;
    operator.enter("F HIS,END");
    assert_eq!(
        operator.bench.happened(),
        ["End: 176 bytes, 9", "enable NONE"]
    );
}
