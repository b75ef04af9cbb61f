//! Both sampling functions at once: each makes every transition by itself, the registers stay while one of them is
//! enabled, and a reset changes both.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use guests::insn::cpu::Order;
use guests::insn::measurement::{
    ACTIVATE_BASIC, ACTIVATE_DIAGNOSTIC, ENABLE_BASIC, ENABLE_DIAGNOSTIC, SamplingRequest, lsctl,
    qsi,
};
use guests::insn::yield_cpu;
use guests::sampling::{self, busy};
use guests::{shows, smp};

guests::clause!(
    "SA23-2260, State Transition (sampling functions), Figure 2-12; Sampling Control Registers",
    native = false,
    cpus = 2,
    options = "--operator 'AUTH CPU ALL SAMPLING DIAGNOSTIC ON'"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const BASIC: [u64; 3] = [0, ENABLE_BASIC, ENABLE_BASIC | ACTIVATE_BASIC];
const DIAGNOSTIC: [u64; 3] = [
    0,
    ENABLE_DIAGNOSTIC,
    ENABLE_DIAGNOSTIC | ACTIVATE_DIAGNOSTIC,
];
const BOTH: u64 = BASIC[2] | DIAGNOSTIC[2];

static DONE: AtomicU32 = AtomicU32::new(0);
/// The controls of the other CPU after a reset.
static STATE: AtomicU32 = AtomicU32::new(0);
static REGISTERS: AtomicU64 = AtomicU64::new(0);

fn state() -> u64 {
    u64::from(qsi().state & 0x303)
}

fn request(state: u64) -> SamplingRequest {
    SamplingRequest {
        state,
        ..sampling::prepare(4, INTERVAL)
    }
}

/// All nine states of both functions, by themselves and from each other.
fn transitions() {
    let states = || {
        BASIC
            .into_iter()
            .flat_map(|basic| DIAGNOSTIC.map(|diagnostic| basic | diagnostic))
    };
    for from in states() {
        for to in states() {
            sampling::stop();
            lsctl(&request(from));
            shows!(["STRANSITION-18", "SREG-10"], state(), from);
            shows!(
                ["STRANSITION-18", "LSCTL-18"],
                (lsctl(&request(to)), state()),
                (0, to)
            );
            let wrong = to & !(ENABLE_BASIC | ENABLE_DIAGNOSTIC);
            if wrong != 0 {
                shows!(
                    ["LSCTL-8", "LSCTL-20"],
                    (lsctl(&request(wrong)), state()),
                    (3, to)
                );
            }
        }
    }
}

/// The registers stay while a function is enabled, and are zeros when none is.
fn registers() {
    let active = request(BOTH);
    for (left, right) in [
        (BASIC[1], DIAGNOSTIC[0]),
        (BASIC[0], DIAGNOSTIC[1]),
        (BASIC[1], DIAGNOSTIC[1]),
    ] {
        lsctl(&active);
        busy(3 * INTERVAL + INTERVAL / 2);
        let before = (qsi().tear, qsi().dear);
        lsctl(&SamplingRequest {
            state: left | right,
            tear: 0x1000,
            dear: 0x2000,
            ..active
        });
        shows!(["SREG-14", "QSI-19"], (qsi().tear, qsi().dear), before);
        shows!("SREG-14", before.1 > active.dear);
        sampling::stop();
        shows!(["SREG-3", "QSI-12"], (qsi().tear, qsi().dear), (0, 0));
    }
}

/// The additional controls are placed if one of the functions becomes or stays active, whatever the other becomes.
fn one_active() {
    for (before, after) in [
        (BOTH, BASIC[2]),
        (BOTH, DIAGNOSTIC[2] | BASIC[1]),
        (BASIC[1], BASIC[1] | DIAGNOSTIC[2]),
        (DIAGNOSTIC[2], BASIC[2] | DIAGNOSTIC[1]),
    ] {
        sampling::stop();
        lsctl(&request(before));
        let other = SamplingRequest {
            tear: sampling::table() + 16,
            dear: sampling::block(2),
            ..request(after)
        };
        lsctl(&other);
        shows!(
            "LSCTL-30",
            (qsi().tear, qsi().dear),
            (other.tear, other.dear)
        );
        busy(3 * INTERVAL + INTERVAL / 2);
        let size = if after & ACTIVATE_BASIC != 0 {
            32
        } else {
            u64::from(qsi().diagnostic_entry_size)
        };
        // An enabled function that is not active adds nothing to an entry.
        shows!("LSCTL-30", qsi().dear, other.dear + 3 * size);
    }
    sampling::stop();
}

fn done() -> ! {
    DONE.store(1, Ordering::Release);
    loop {
        yield_cpu();
    }
}

extern "C" fn activate() -> ! {
    lsctl(&request(BOTH));
    busy(2 * INTERVAL);
    done()
}

extern "C" fn look() -> ! {
    STATE.store(qsi().state & 0x303, Ordering::Relaxed);
    REGISTERS.store(qsi().tear | qsi().dear, Ordering::Relaxed);
    done()
}

fn on_the_other(function: extern "C" fn() -> !) {
    DONE.store(0, Ordering::Release);
    smp::start(1, function);
    while DONE.load(Ordering::Acquire) == 0 {
        yield_cpu();
    }
    smp::stop(1);
}

fn resets() {
    for (order, inactive) in [(Order::CpuReset, true), (Order::InitialCpuReset, false)] {
        on_the_other(activate);
        smp::signal(1, order, 0);
        on_the_other(look);
        let (state, registers) = (
            STATE.load(Ordering::Relaxed),
            REGISTERS.load(Ordering::Relaxed),
        );
        if inactive {
            shows!("STRANSITION-19", (state, registers != 0), (0x300, true));
        } else {
            shows!("STRANSITION-20", (state, registers), (0, 0));
        }
    }
}

fn run() {
    transitions();
    registers();
    one_active();
    resets();
}
