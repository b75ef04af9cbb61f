//! Multithreading and the MT-diagnostic counter set: SIGNAL PROCESSOR enables it; what the counters count, the loss
//! of their data, and the effect of resets.

use core::sync::atomic::{AtomicU64, Ordering};

use guests::attempt_in_problem_state;
use guests::end;
use guests::externals::{alerts, wait_for_the_operator};
use guests::insn::cpu::Order;
use guests::insn::measurement::{
    SamplingRequest, controls, ecctr, lcctl, lsctl, qctri, scctr, set, stcctm,
};
use guests::insn::yield_cpu;
use guests::misdirected::no_room;
use guests::reset::clear_reset;
use guests::sampling::{self, ALERT, busy};
use guests::shows;
use guests::smp;

guests::clause!(
    "SA23-2260, MT-Diagnostic Counter Set; Loss of MT Counter Data Alert",
    native = false,
    cpus = 4,
    options = "--threads 2",
    when_waiting = "ALERT CPU 0 COUNTERS MT; INTERRUPT CPU 0; ALERT CPU 0 COUNTERS MT; INTERRUPT CPU 0;\
        ALERT CPU 0 COUNTERS MT; INTERRUPT CPU 0; ALERT CPU 0 COUNTERS BASIC; INTERRUPT CPU 0"
);
guests::case!(run);

const MT: u16 = set::MT_DIAGNOSTIC;
const INTERVAL: u64 = 10_000;
static SEEN: [AtomicU64; 5] = [const { AtomicU64::new(0) }; 5];

/// Enable and activation control of the MT-diagnostic set.
fn state() -> (bool, bool) {
    let information = qctri();
    (
        information.enable & MT != 0,
        information.activation & MT != 0,
    )
}

/// Counters 448 and 449.
fn counters() -> [u64; 2] {
    [ecctr(448).1, ecctr(449).1]
}

fn counted(work: impl FnOnce()) -> [u64; 2] {
    let before = counters();
    work();
    let after = counters();
    [after[0] - before[0], after[1] - before[1]]
}

extern "C" fn spin() -> ! {
    loop {
        SEEN[0].fetch_add(1, Ordering::SeqCst);
        busy(100);
    }
}

extern "C" fn look() -> ! {
    SEEN[1].store(ecctr(448).1, Ordering::SeqCst);
    SEEN[2].store(ecctr(449).1, Ordering::SeqCst);
    let (enabled, active) = state();
    let information = qctri();
    let basic = |controls: u16| u64::from(controls & set::BASIC != 0);
    SEEN[4].store(
        basic(information.enable) << 1 | basic(information.activation),
        Ordering::SeqCst,
    );
    SEEN[3].store(
        1 << 2 | u64::from(enabled) << 1 | u64::from(active),
        Ordering::SeqCst,
    );
    loop {
        yield_cpu();
    }
}

/// The other CPU reads both counters, and the controls.
fn on(cpu: u16) -> [u64; 3] {
    SEEN[3].store(0, Ordering::SeqCst);
    smp::start(cpu, look);
    while SEEN[3].load(Ordering::SeqCst) == 0 {
        yield_cpu();
    }
    smp::stop(cpu);
    [1, 2, 3].map(|n| SEEN[n].load(Ordering::SeqCst))
}

fn enabling() {
    shows!(["QCTRI-15", "TRANSITION-21"], state(), (false, false));
    shows!("LCCTL-7", lcctl(controls(MT, MT)), 0);
    shows!(
        ["TRANSITION-21", "LCCTL-7"],
        (state(), ecctr(448).0),
        ((false, false), 3)
    );
    shows!(
        "TRANSITION-20",
        smp::signal(0, Order::SetMultithreading, 1).0,
        0
    );
    shows!(["TRANSITION-20", "QCTRI-15", "MT-5"], state(), (true, true));
    for cpu in 1..4 {
        shows!("MT-5", on(cpu)[2], 7);
    }
    // LCCTL ignores its controls for the set.
    shows!(
        ["TRANSITION-21", "LCCTL-7"],
        (lcctl(0), state()),
        (0, (true, true))
    );
    shows!(
        "CPUSET-4",
        (lcctl(controls(MT, 0)), state()),
        (0, (true, true))
    );
}

fn counting() {
    const TURNS: u64 = 100_000;
    let [one, two] = counted(|| {
        busy(TURNS);
    });
    shows!("MT-9", (TURNS..TURNS + 2000).contains(&one));
    shows!("MT-10", two < 1000);
    let [one, _] = counted(|| {
        let mut turns = TURNS;
        let _ = attempt_in_problem_state!("40: brctg {n}, 40b", n = inout(reg) turns);
    });
    shows!("MT-3", (TURNS..TURNS + 2000).contains(&one));
    // The core's other thread is active too.
    smp::start(1, spin);
    let began = SEEN[0].load(Ordering::SeqCst);
    while SEEN[0].load(Ordering::SeqCst) == began {
        yield_cpu();
    }
    let [_, two] = counted(|| {
        let began = SEEN[0].load(Ordering::SeqCst);
        while SEEN[0].load(Ordering::SeqCst) < began + 1000 {
            busy(1000);
            yield_cpu();
        }
    });
    shows!("MT-10", two >= 100_000);
    smp::stop(1);
    // All CPUs of the core see the same, and another core has its own.
    let before = counters();
    let [one, two, _] = on(1);
    let after = counters();
    shows!(
        ["MT-4", "COUNTER-4", "MT-11"],
        (before[0]..=after[0]).contains(&one) && (before[1]..=after[1]).contains(&two)
    );
    shows!("MT-4", on(2)[1] < before[1]);
    shows!(["MT-8", "SCCTR-9"], (scctr(448, 0), scctr(449, 0)), (3, 3));
    let (now, list) = (counters(), &mut [0x5A5A_u64; 50]);
    shows!("MT-11", now[0] >= after[0] && now[1] >= after[1]);
    shows!("MT-8", now[0] > 0);
    shows!("STCCTM-9", stcctm::<5>(2, list), 1);
    shows!(
        "STCCTM-9",
        list[0] >= now[0] && list[1] >= now[1] && list[2] == 0x5A5A
    );
    shows!("STCCTM-10", stcctm::<9>(2, list), 1);
    shows!("STCCTM-10", list[0] > now[0] && list[2] == 0x5A5A);
    // The number of counters that are available.
    let last = (448..512)
        .take_while(|&number| ecctr(number).0 == 0)
        .count();
    shows!(["MT-2", "SETS-2"], (2..=48).contains(&last));
    shows!(
        "MT-2",
        (448 + last as u64..512).all(|number| ecctr(number).0 == 3)
    );
}

fn losses() {
    let mut list = [0_u64; 2];
    wait_for_the_operator();
    shows!("ALERT-37", state(), (true, true));
    shows!(
        ["ECCTR-9", "ALERT-38"],
        (ecctr(448).0, ecctr(449).0),
        (3, 3)
    );
    shows!(["STCCTM-19", "ALERT-38"], stcctm::<5>(2, &mut list), 3);
    shows!(
        "STCCTM-25",
        (stcctm::<9>(2, &mut list), list[0] != 0),
        (1, true)
    );
    shows!(["ALERT-32", "STCCTM-25"], alerts(), (0, 0));
    let before = ecctr(448);
    busy(1000);
    shows!("ALERT-23", before.0 == 0 && ecctr(448).1 > before.1);
    wait_for_the_operator();
    shows!(["ALERT-21", "ALERT-22"], alerts(), (1, 0x8000));
    shows!("ALERT-38", ecctr(448).0, 0);
    one_cpu();
    code_9();
}

/// What the pending request hides, and from whom.
fn one_cpu() {
    lcctl(controls(set::BASIC, set::BASIC));
    wait_for_the_operator();
    shows!("ALERT-62", on(1)[0] > 0);
    let mut list = [0_u64; 6];
    shows!(
        "ALERT-63",
        (ecctr(448).0, ecctr(1).0, stcctm::<1>(6, &mut list)),
        (3, 0, 0)
    );
}

/// Code 9 clears this request although it stores nothing, and no other one.
fn code_9() {
    let request = sampling::prepare(2, INTERVAL);
    sampling::set_trailer(0, 0, ALERT);
    lsctl(&SamplingRequest {
        dear: no_room(),
        ..request
    });
    busy(2 * INTERVAL);
    let mut list = [0_u64; 2];
    shows!("STCCTM-30", (stcctm::<9>(0, &mut list), list), (3, [0; 2]));
    shows!(
        "STCCTM-30",
        (ecctr(448).0, stcctm::<5>(2, &mut list)),
        (0, 1)
    );
    shows!(["ALERT-61", "STCCTM-30"], alerts(), (1, 0x2000_0000));
    sampling::stop();
    // Only the MT-diagnostic set remains enabled.
    wait_for_the_operator();
    lcctl(0);
    shows!("ALERT-60", (alerts(), state()), ((0, 0), (true, true)));
}

/// On another CPU: the basic set is active.
extern "C" fn count() -> ! {
    lcctl(controls(set::BASIC, set::BASIC));
    SEEN[3].store(1, Ordering::SeqCst);
    loop {
        yield_cpu();
    }
}

fn resets() {
    for order in [Order::CpuReset, Order::InitialCpuReset] {
        SEEN[3].store(0, Ordering::SeqCst);
        smp::start(1, count);
        while SEEN[3].load(Ordering::SeqCst) == 0 {
            yield_cpu();
        }
        smp::stop(1);
        let before = counters();
        smp::signal(1, order, 0);
        let [one, two, controls] = on(1);
        let basic = SEEN[4].load(Ordering::SeqCst);
        if order == Order::CpuReset {
            shows!("LOCAL-9", controls, 7);
            shows!("LOCAL-13", basic, 2);
        } else {
            shows!("LOCAL-10", controls, 7);
            shows!("LOCAL-14", basic, 0);
        }
        shows!("MT-13", one >= before[0] && two >= before[1]);
    }
}

fn run() {
    enabling();
    counting();
    losses();
    resets();
    // Clear reset disables multithreading.
    clear_reset(after_reset)
}

extern "C" fn after_reset() -> ! {
    shows!(
        ["LOCAL-11", "MT-6", "TRANSITION-21"],
        state(),
        (false, false)
    );
    shows!("MT-6", ecctr(448).0, 3);
    end::end_success()
}
