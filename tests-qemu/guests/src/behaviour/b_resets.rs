//! Resets by SIGNAL PROCESSOR, and stop and start: their effect on the counter sets, the sampling functions, the
//! program parameter and a pending measurement alert of the other CPU.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use guests::externals;
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::insn::cpu::Order;
use guests::insn::measurement::{controls, ecctr, lcctl, lpp, lsctl, qctri, qsi, scctr, set};
use guests::insn::yield_cpu;
use guests::psw::bit;
use guests::sampling::{self, ALERT, ENTRIES, busy};
use guests::shows;
use guests::smp;

guests::clause!(
    "SA23-2260, resets; stopped and operating state",
    native = false,
    cpus = 2
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const PARAMETER: u64 = 0x0123_4567_89AB_CDEF;
const SETS: u16 = set::BASIC | set::PROBLEM_STATE;

static DONE: AtomicU32 = AtomicU32::new(0);
/// What the other CPU saw, by the numbers below.
static SEEN: [AtomicU64; 12] = [const { AtomicU64::new(0) }; 12];
const AUTHORIZED: usize = 0;
const COUNTER_CONTROLS: usize = 1;
const SAMPLING_CONTROLS: usize = 2;
const TEAR: usize = 3;
const DEAR: usize = 4;
const PROBLEM_COUNTER: usize = 5;
const ALERTS: usize = 6;
const PROGRAM_PARAMETER: usize = 7;
const CYCLES: usize = 8;
const SAMPLING_AUTHORIZED: usize = 9;
const CONTROL_0: usize = 10;

fn see(what: usize, value: u64) {
    SEEN[what].store(value, Ordering::SeqCst);
}

fn seen(what: usize) -> u64 {
    SEEN[what].load(Ordering::SeqCst)
}

fn done() -> ! {
    DONE.store(1, Ordering::SeqCst);
    loop {
        yield_cpu();
    }
}

/// Starts the other CPU in a function and waits until it is done.
fn on_the_other(function: extern "C" fn() -> !) {
    DONE.store(0, Ordering::SeqCst);
    smp::start(1, function);
    while DONE.load(Ordering::SeqCst) == 0 {
        yield_cpu();
    }
}

/// Basic set active, problem-state set inactive with a value in its counter, basic sampling active, a
/// program parameter, and a program-request alert pending.
extern "C" fn set_up() -> ! {
    lctlg_0(stctg_0() & !bit(58) | bit(15));
    lcctl(controls(SETS, set::BASIC));
    scctr(33, 3333);
    let request = sampling::prepare(3, INTERVAL);
    sampling::set_trailer(0, 0, ALERT);
    lsctl(&request);
    lpp(PARAMETER);
    busy(INTERVAL * (ENTRIES as u64 + 10));
    done()
}

/// Reads everything before changing anything.
extern "C" fn look() -> ! {
    see(CONTROL_0, stctg_0());
    let (counters, sampling) = (qctri(), qsi());
    see(AUTHORIZED, counters.authorization.into());
    see(
        COUNTER_CONTROLS,
        controls(counters.enable, counters.activation),
    );
    see(SAMPLING_CONTROLS, (sampling.state & 0x303).into());
    see(SAMPLING_AUTHORIZED, (sampling.state >> 17 & 1).into());
    see(TEAR, sampling.tear);
    see(DEAR, sampling.dear);
    lcctl(controls(SETS, 0));
    see(CYCLES, ecctr(0).1);
    see(PROBLEM_COUNTER, ecctr(33).1);
    externals::record();
    externals::take_codes();
    stosm::<0x01>();
    busy(100);
    stnsm::<0xFE>();
    see(ALERTS, externals::take_codes());
    lsctl(&sampling::prepare(2, INTERVAL));
    busy(INTERVAL * 4);
    sampling::stop();
    see(PROGRAM_PARAMETER, sampling::entry(0, 1).guest_parameter);
    lcctl(0);
    done()
}

/// Counts and samples, and reports its progress.
extern "C" fn count() -> ! {
    lcctl(controls(SETS, set::BASIC));
    lsctl(&sampling::prepare(8, INTERVAL));
    DONE.store(1, Ordering::SeqCst);
    loop {
        busy(1000);
        see(CYCLES, ecctr(0).1);
        see(DEAR, qsi().dear);
        let counters = qctri();
        see(
            COUNTER_CONTROLS,
            controls(counters.enable, counters.activation),
        );
        see(SAMPLING_CONTROLS, (qsi().state & 0x303).into());
        yield_cpu();
    }
}

fn power_on() {
    let (counters, sampling) = (qctri(), qsi());
    shows!("LOCAL-5", counters.enable | counters.activation, 0);
    lcctl(controls(SETS, 0));
    shows!(
        "TRANSITION-28",
        [0, 1, 2, 3, 4, 5, 32, 33].map(ecctr),
        [(0, 0); 8]
    );
    lcctl(0);
    shows!("SAMPLING-8", sampling.state & 0x303, 0);
    let cr0 = stctg_0();
    shows!("CR0-2", cr0 & bit(15), 0);
    shows!(["CR0-3", "FACILITY-5"], cr0 & bit(58), bit(58));
    lsctl(&sampling::prepare(2, INTERVAL));
    busy(INTERVAL * 4);
    sampling::stop();
    shows!(
        "LPP-4",
        (
            sampling::entry(0, 1).format,
            sampling::entry(0, 1).guest_parameter
        ),
        (1, 0)
    );
}

fn cpu_reset() {
    on_the_other(set_up);
    shows!(
        "ALERT-27",
        smp::signal(1, Order::CpuReset, 0).0 == 0 && sampling::trailer(0, 0) & sampling::FULL != 0
    );
    on_the_other(look);
    shows!(
        ["LOCAL-7", "LOCAL-8", "TRANSITION-15"],
        seen(COUNTER_CONTROLS),
        controls(SETS, 0)
    );
    shows!("LOCAL-6", seen(AUTHORIZED) as u16 & SETS, SETS);
    shows!(["SREG-4", "STRANSITION-13"], seen(SAMPLING_CONTROLS), 0x200);
    shows!(
        "SREG-4",
        seen(TEAR) == sampling::table() + 8 && seen(DEAR) > sampling::block(1)
    );
    shows!("LPP-5", seen(PROGRAM_PARAMETER), PARAMETER);
    // The reset does not determine the values of these counters.
    shows!(
        "TRANSITION-15",
        seen(PROBLEM_COUNTER) == 3333 && seen(CYCLES) > INTERVAL
    );
    shows!("ALERT-27", seen(ALERTS), 0);
}

fn initial_cpu_reset() {
    on_the_other(set_up);
    shows!("ALERT-27", smp::signal(1, Order::InitialCpuReset, 0).0, 0);
    on_the_other(look);
    shows!(
        ["LOCAL-3", "TRANSITION-9", "TRANSITION-13"],
        seen(COUNTER_CONTROLS),
        0
    );
    shows!("LOCAL-6", seen(AUTHORIZED) as u16 & SETS, SETS);
    shows!(["SAMPLING-6", "STRANSITION-11"], seen(SAMPLING_CONTROLS), 0);
    shows!(
        "SREG-1",
        (seen(TEAR), seen(DEAR), seen(SAMPLING_AUTHORIZED)),
        (0, 0, 1)
    );
    shows!("LPP-2", seen(PROGRAM_PARAMETER), 0);
    shows!("CR0-4", seen(CONTROL_0) & bit(15), 0);
    shows!("CR0-5", seen(CONTROL_0) & bit(58), bit(58));
    shows!(
        "TRANSITION-18",
        (seen(PROBLEM_COUNTER), seen(CYCLES)),
        (0, 0)
    );
    shows!("ALERT-27", seen(ALERTS), 0);
}

/// Basic set and basic sampling inactive.
extern "C" fn inactive() -> ! {
    lcctl(controls(SETS, 0));
    let mut request = sampling::prepare(3, INTERVAL);
    request.state = guests::insn::measurement::ENABLE_BASIC;
    lsctl(&request);
    done()
}

fn initial_cpu_reset_of_inactive() {
    on_the_other(inactive);
    smp::signal(1, Order::InitialCpuReset, 0);
    on_the_other(look);
    shows!("TRANSITION-9", seen(COUNTER_CONTROLS), 0);
    shows!("STRANSITION-7", seen(SAMPLING_CONTROLS), 0);
}

fn stop_and_start() {
    on_the_other(count);
    let began = seen(CYCLES);
    while seen(CYCLES) < began + 10 * INTERVAL {
        yield_cpu();
    }
    smp::stop(1);
    let (cycles, dear) = (seen(CYCLES), seen(DEAR));
    busy(50 * INTERVAL);
    shows!(
        ["STATE-11", "SSTATE-8"],
        (seen(CYCLES), seen(DEAR)),
        (cycles, dear)
    );
    smp::signal(1, Order::Start, 0);
    while seen(CYCLES) == cycles {
        yield_cpu();
    }
    // The work between its last report and the stop, and since the start: far less than this CPU did.
    shows!("STATE-11", seen(CYCLES) - cycles < 10 * INTERVAL);
    shows!("SSTATE-8", seen(DEAR) - dear < 10 * 32);
    shows!(
        "STATE-12",
        seen(COUNTER_CONTROLS),
        controls(SETS, set::BASIC)
    );
    let cycles = seen(CYCLES);
    while seen(CYCLES) < cycles + 5 * INTERVAL {
        yield_cpu();
    }
    shows!(
        ["SSTATE-9", "UPDATE-1"],
        seen(SAMPLING_CONTROLS) == 0x202 && seen(DEAR) >= dear + 4 * 32
    );
    smp::stop(1);
}

fn run() {
    power_on();
    cpu_reset();
    initial_cpu_reset();
    initial_cpu_reset_of_inactive();
    smp::signal(1, Order::InitialCpuReset, 0);
    stop_and_start();
}
