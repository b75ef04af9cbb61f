//! The four counter sets that LOAD CPU-COUNTER-SET CONTROLS governs are independent: each takes each state by itself,
//! and what clears the counters of one clears all of them, and none of another.

use guests::externals::wait_for_the_operator;
use guests::insn::measurement::{controls, ecctr, lcctl, qctri, scctr, set, stcctm};
use guests::sampling::busy;
use guests::shows;

guests::clause!(
    "SA23-2260, CPU Counter Sets; State Transition, Figure 2-2; SET CPU COUNTER; STORE CPU COUNTER MULTIPLE",
    native = false,
    options = "--operator 'AUTH CPU 0 COUNTERS CRYPTO ON' --operator 'AUTH CPU 0 COUNTERS EXTENDED ON';\
        --model z10 --operator 'AUTH CPU 0 COUNTERS CRYPTO ON' --operator 'AUTH CPU 0 COUNTERS EXTENDED ON'",
    when_waiting = "AUTH CPU 0 COUNTERS BASIC OFF; INTERRUPT CPU 0; AUTH CPU 0 COUNTERS BASIC ON; INTERRUPT CPU 0;\
        AUTH CPU 0 COUNTERS PROBLEM OFF; INTERRUPT CPU 0; AUTH CPU 0 COUNTERS PROBLEM ON; INTERRUPT CPU 0;\
        AUTH CPU 0 COUNTERS CRYPTO OFF; INTERRUPT CPU 0; AUTH CPU 0 COUNTERS CRYPTO ON; INTERRUPT CPU 0;\
        AUTH CPU 0 COUNTERS EXTENDED OFF; INTERRUPT CPU 0; AUTH CPU 0 COUNTERS EXTENDED ON; INTERRUPT CPU 0"
);
guests::case!(run);

const SETS: [u16; 4] = [set::BASIC, set::PROBLEM_STATE, set::CRYPTO, set::EXTENDED];
/// The first number of each set, and of the next one.
const NUMBERS: [(u64, u64); 4] = [(0, 32), (32, 64), (64, 128), (128, 448)];
const ALL: u16 = set::BASIC | set::PROBLEM_STATE | set::CRYPTO | set::EXTENDED;

fn state() -> u64 {
    let information = qctri();
    controls(information.enable, information.activation)
}

/// The numbers of the available counters of a set.
fn available(set: usize) -> impl Iterator<Item = u64> {
    let (first, next) = NUMBERS[set];
    (first..next).take_while(|&number| ecctr(number).0 == 0)
}

/// A value for each counter, which has ones in both halves.
const fn value(number: u64) -> u64 {
    0xFEDC_BA98_7654_0000 + number
}

fn set_all() {
    for set in 0..4 {
        for number in available(set) {
            shows!("SCCTR-12", scctr(number, value(number)), 0);
        }
    }
}

/// Whether every counter of a set has the value that was set.
fn keeps(set: usize) -> bool {
    available(set).all(|number| ecctr(number).1 == value(number))
}

/// Whether every one is zero.
fn is_cleared(set: usize) -> bool {
    available(set).all(|number| ecctr(number).1 == 0)
}

/// Every combination of three states of four sets, from each state of all of them.
fn states() {
    for before in [0, controls(ALL, 0), controls(ALL, ALL)] {
        for combination in 0..81_u64 {
            let (mut rest, mut enable, mut activate) = (combination, 0, 0);
            for set in SETS {
                match rest % 3 {
                    0 => {}
                    1 => enable |= set,
                    _ => {
                        enable |= set;
                        activate |= set;
                    }
                }
                rest /= 3;
            }
            let wanted = controls(enable, activate);
            lcctl(before);
            shows!("CPUSET-6", (lcctl(wanted), state()), (0, wanted));
        }
    }
    lcctl(0);
}

/// What is stored for a set are its counters, from the first to the last.
fn stored() {
    let mut list = [0_u64; 320];
    macro_rules! same {
        ($code:literal, $set:literal) => {
            let count = available($set).count();
            shows!(
                "STCCTM-29",
                (stcctm::<$code>(count as u64, &mut list), count > 1),
                (0, true)
            );
            shows!(
                "STCCTM-29",
                available($set)
                    .zip(&list)
                    .all(|(number, &stored)| stored == value(number))
            );
        };
    }
    same!(1, 0);
    same!(2, 1);
    same!(3, 2);
    same!(0, 3);
}

/// One set is disabled; then the external means takes the authorization of one away.
fn clearing() {
    for set in 0..4 {
        lcctl(controls(ALL, 0));
        set_all();
        lcctl(controls(ALL & !SETS[set], 0));
        lcctl(controls(ALL, 0));
        shows!("CPUSET-7", is_cleared(set));
        shows!("CPUSET-8", (0..4).filter(|&other| other != set).all(keeps));
    }
    for set in 0..4 {
        lcctl(controls(ALL, 0));
        set_all();
        wait_for_the_operator();
        shows!("CPUSET-9", available(set).count(), 0);
        shows!("CPUSET-10", (0..4).filter(|&other| other != set).all(keeps));
        wait_for_the_operator();
        lcctl(controls(ALL, 0));
        shows!("CPUSET-9", is_cleared(set));
    }
}

/// Activation and deactivation clear nothing: a counter goes on from its value.
fn going_on() {
    lcctl(controls(ALL, 0));
    set_all();
    for _ in 0..2 {
        let before = ecctr(1).1;
        lcctl(controls(ALL, ALL));
        busy(1000);
        lcctl(controls(ALL, 0));
        let after = ecctr(1).1;
        shows!("STATE-19", (before + 1000..before + 1100).contains(&after));
        busy(1000);
        shows!("STATE-19", ecctr(1).1, after);
    }
    // What counts nothing here has its value still.
    shows!(
        "STATE-19",
        (2..6).all(|number| ecctr(number).1 == value(number))
    );
    shows!("STATE-19", keeps(2));
}

fn run() {
    lcctl(controls(ALL, 0));
    shows!(
        ["BASIC-1", "SCCTR-12"],
        available(0).count() == 6 && available(3).count() >= 32
    );
    states();
    lcctl(controls(ALL, 0));
    set_all();
    stored();
    clearing();
    going_on();
    lcctl(0);
}
