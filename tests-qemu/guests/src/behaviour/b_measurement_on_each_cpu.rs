//! Every CPU has the facilities, and each has counters, controls, sampling functions and measurement
//! alerts of its own.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use guests::externals;
use guests::insn::control::{stnsm, stosm};
use guests::insn::cpu::facility;
use guests::insn::measurement::{
    SamplingRequest, controls, ecctr, lcctl, lsctl, qctri, qsi, scctr, set,
};
use guests::insn::yield_cpu;
use guests::lowcore::EXTERNAL_PARAMETER;
use guests::misdirected::load;
use guests::sampling::{self, ALERT, ENTRIES, busy};
use guests::shows;
use guests::smp;

guests::clause!(
    "SA23-2260, Introduction; Local Counter-Set-State Control Register; Measurement Alert",
    native = false,
    cpus = 2
);
guests::case!(run);

const INTERVAL: u64 = 10_000;

static STAGE: AtomicU32 = AtomicU32::new(0);
static FACILITIES: AtomicU32 = AtomicU32::new(0);
static CONTROLS: AtomicU64 = AtomicU64::new(0);
static SAMPLING: AtomicU32 = AtomicU32::new(0);
static COUNTER: AtomicU64 = AtomicU64::new(0);
static CODES: AtomicU64 = AtomicU64::new(0);
/// The controls of CPU 1 after its alert.
static AFTER: AtomicU32 = AtomicU32::new(0);

fn facilities() -> u32 {
    [40, 67, 68, 142]
        .iter()
        .fold(0, |all, &bit| all << 1 | u32::from(facility(bit)))
}

fn state() -> u64 {
    let information = qctri();
    controls(information.enable, information.activation)
}

fn until(stage: u32) {
    while STAGE.load(Ordering::SeqCst) < stage {
        yield_cpu();
    }
}

fn open() -> u64 {
    externals::record();
    stosm::<0x01>();
    busy(1000);
    stnsm::<0xFE>();
    externals::take_codes()
}

extern "C" fn other() -> ! {
    FACILITIES.store(facilities(), Ordering::SeqCst);
    CONTROLS.store(state(), Ordering::SeqCst);
    SAMPLING.store(qsi().state & 0x303, Ordering::SeqCst);
    lcctl(controls(set::PROBLEM_STATE, 0));
    scctr(33, 1);
    COUNTER.store(ecctr(33).1, Ordering::SeqCst);
    // The CPU's own program-request alert, which it leaves pending for now.
    let request = sampling::prepare(3, INTERVAL);
    sampling::set_trailer(0, 0, ALERT);
    lsctl(&request);
    busy(INTERVAL * (ENTRIES as u64 + 10));
    STAGE.store(1, Ordering::SeqCst);
    until(2);
    CODES.store(open(), Ordering::SeqCst);
    sampling::stop();
    STAGE.store(3, Ordering::SeqCst);
    until(4);
    // An alert that makes sampling inactive.
    lsctl(&SamplingRequest {
        dear: 0x1000,
        ..request
    });
    busy(2 * INTERVAL);
    AFTER.store(qsi().state & 0x303, Ordering::SeqCst);
    STAGE.store(5, Ordering::SeqCst);
    loop {
        yield_cpu();
    }
}

fn run() {
    lcctl(controls(set::BASIC | set::PROBLEM_STATE, set::BASIC));
    scctr(33, 7777);
    let mine = state();
    shows!("QCTRI-6", qctri().maximum_cpu_address, smp::count() - 1);
    smp::start(1, other);
    until(1);
    let theirs = FACILITIES.load(Ordering::SeqCst);
    shows!("FACILITY-1", (theirs >> 3, facilities() >> 3), (1, 1));
    shows!(["FACILITY-3", "FACILITY-6"], theirs, facilities());
    shows!("FACILITY-3", theirs, 0xF);
    shows!("LOCAL-1", CONTROLS.load(Ordering::SeqCst), 0);
    shows!("LOCAL-1", state(), mine);
    shows!(
        ["COUNTER-3", "SETS-1"],
        (COUNTER.load(Ordering::SeqCst), ecctr(33).1),
        (1, 7777)
    );
    shows!(
        "SAMPLING-9",
        (SAMPLING.load(Ordering::SeqCst), qsi().state & 0x303),
        (0, 0)
    );
    shows!("ALERT-25", open(), 0);
    STAGE.store(2, Ordering::SeqCst);
    until(3);
    shows!("ALERT-25", CODES.load(Ordering::SeqCst), 0x1407);
    // CPU 1 has a prefix area of its own.
    let parameter = |area: usize| load((area + EXTERNAL_PARAMETER) as u64) >> 32;
    shows!(
        "EXTERNAL-9",
        (parameter(smp::prefix_area(1)), parameter(0) == 0x2000_0000),
        (0x2000_0000, false)
    );
    // The alert of one CPU leaves the sampling of the other one alone.
    lsctl(&sampling::prepare(2, 1 << 30));
    let registers = qsi();
    STAGE.store(4, Ordering::SeqCst);
    until(5);
    shows!("ALERT-53", AFTER.load(Ordering::SeqCst), 0x200);
    shows!("ALERT-53", (qsi(), open()), (registers, 0));
    shows!("ALERT-53", qsi().state & 0x303, 0x202);
    sampling::stop();
    lcctl(0);
}
