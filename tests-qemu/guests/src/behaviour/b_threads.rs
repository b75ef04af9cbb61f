//! Multithreading and the MT-diagnostic counter set: SIGNAL PROCESSOR enables it; what the counters count, the loss
//! of their data, and the effect of resets.

use core::sync::atomic::{AtomicU64, Ordering};

use guests::attempt_in_problem_state;
use guests::end;
use guests::externals::{alerts, wait_for_the_operator};
use guests::insn::cpu::Order;
use guests::insn::measurement::{controls, ecctr, lcctl, qctri, scctr, set, stcctm};
use guests::insn::yield_cpu;
use guests::reset::clear_reset;
use guests::sampling::busy;
use guests::shows;
use guests::smp;

guests::clause!(
    "SA23-2260, MT-Diagnostic Counter Set; Loss of MT Counter Data Alert",
    native = false,
    cpus = 4,
    options = "--threads 2",
    when_waiting =
        "ALERT CPU 0 COUNTERS MT; INTERRUPT CPU 0; ALERT CPU 0 COUNTERS MT; INTERRUPT CPU 0"
);
guests::case!(run);

const MT: u16 = set::MT_DIAGNOSTIC;
static SEEN: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

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
        ["MT-4", "COUNTER-4", "MT-7"],
        (before[0]..=after[0]).contains(&one) && (before[1]..=after[1]).contains(&two)
    );
    shows!("MT-4", on(2)[1] < before[1]);
    shows!(["MT-8", "SCCTR-9"], (scctr(448, 0), scctr(449, 0)), (3, 3));
    let (now, list) = (counters(), &mut [0x5A5A_u64; 50]);
    shows!("MT-7", now[0] >= after[0] && now[1] >= after[1]);
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
}

fn resets() {
    smp::signal(1, Order::CpuReset, 0);
    shows!("LOCAL-9", on(1)[2], 7);
    smp::signal(1, Order::InitialCpuReset, 0);
    shows!("LOCAL-10", on(1)[2], 7);
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
