//! The machine's counters of a guest, beside the counters that the guest sets up itself.

use measure::{
    options::{RunOptions, configuration::Configuration, counter_choice::CounterChoice},
    views::json,
};
use tests_qemu::{command, ipl, suite::test};

/// The machine's counters, by names of sets and by numbers.
fn machine_counters(options: &RunOptions) -> (serde_json::Value, String) {
    let outcome = ipl::above_with_success(options).unwrap();
    assert_eq!(outcome.report.doubts, Vec::<String>::new());
    let text = json::text(&outcome.report).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    (value["counters"].take(), outcome.console)
}

fn with_cryptography(guest: &str) -> RunOptions {
    RunOptions {
        cryptography: true,
        ..ipl::options(guest)
    }
}

#[test]
fn the_machine_counts_the_functions_that_the_guest_counts_and_both_count_the_same() {
    let (counters, console) = machine_counters(&with_cryptography("b_crypto_counted"));
    let mut lines = 0;
    for line in console.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [
            set @ ("crypto-activity" | "coprocessor-group-0"),
            number,
            counter,
        ] = words[..]
        else {
            continue;
        };
        let counter: u64 = counter.parse().unwrap();
        assert_eq!(counters[set][number], counter, "{line}");
        lines += 1;
    }
    assert_eq!(lines, 20 + 8, "{console}");
    assert_eq!(counters["crypto-activity"]["76"], 5);
    assert_eq!(counters["coprocessor-group-0"]["0"], 3);
}

#[test]
fn a_guest_that_disables_its_counters_leaves_those_of_the_machine_enabled() {
    // Each CPU of this guest disables its set, which clears it, before it issues functions.
    let (counters, _) = machine_counters(&with_cryptography("b_crypto_blocked"));
    let counter = |set: &str, number: u64| counters[set][number.to_string()].as_u64().unwrap();
    // (the first counters of two kinds of function on the CPUs; the first counter of their coprocessor in the groups)
    let table = [([64, 68], 0), ([72, 76], 4)];
    for (kinds, coprocessor) in table {
        // Functions, cycles, blocked functions, blocked cycles.
        for index in 0..4 {
            let cpus: u64 = kinds
                .iter()
                .map(|first| counter("crypto-activity", first + index))
                .sum();
            let groups: u64 = (0..2)
                .map(|group| {
                    let set = format!("coprocessor-group-{group}");
                    counter(&set, coprocessor + index)
                })
                .sum();
            assert_eq!(cpus, groups, "{kinds:?}, counter {index}");
            assert!(cpus > 0, "{kinds:?}, counter {index}");
        }
    }
}

#[test]
fn a_run_counts_translations_unless_it_chooses_otherwise() {
    let mut options = ipl::options("b_dat");
    let (counters, _) = machine_counters(&options);
    let names: Vec<&String> = counters.as_object().unwrap().keys().collect();
    assert_eq!(names, ["basic", "extended", "problem-state"]);
    let extended = |number: &str| counters["extended"][number].as_u64().unwrap();
    assert!(extended("129") > 0 && extended("134") > 0);
    assert_eq!(extended("137"), extended("129") + extended("134"));
    options.counters = Some(CounterChoice(2));
    let (chosen, _) = machine_counters(&options);
    assert_eq!(chosen.as_object().unwrap().len(), 1);
    assert_eq!(chosen["basic"], counters["basic"], "counting costs nothing");
}

#[test]
fn threads_are_counted_by_the_core_while_the_guest_has_them_enabled() {
    let options = RunOptions {
        configuration: Configuration {
            threads: 2,
            ..Configuration::default()
        },
        ..ipl::options("b_multithreading")
    };
    let (counters, _) = machine_counters(&options);
    let cycles = |number: &str| counters["mt-diagnostic"][number].as_u64().unwrap();
    assert!(cycles("448") > 0 && cycles("449") > 0);
    let all = counters["basic"]["0"].as_u64().unwrap();
    assert!(cycles("448") + cycles("449") <= all);
}

#[test]
fn a_set_without_a_source_is_refused() {
    // (options, words of the refusal)
    let table: [(&[&str], &str); 3] = [
        (&["--counters", "mt"], "add --threads 2"),
        (&["--counters", "basic", "--real-time"], "leave --real-time"),
        (
            &["--counters", "all"],
            "basic, problem, crypto, extended, mt, group",
        ),
    ];
    for (options, words) in table {
        let mut arguments = vec!["run", "hash"];
        arguments.extend(options);
        let finished = command::finish(command::measure(&arguments).unwrap()).unwrap();
        assert_eq!(finished.code, Some(2), "{options:?}: {finished:?}");
        assert!(
            finished.error.contains(words),
            "{options:?}: {}",
            finished.error
        );
    }
}
