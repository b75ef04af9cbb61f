//! Four CPUs signal each other, set their timers into the past and call their supervisors without a pause. No accepted
//! call and no timer is lost, and nothing comes that nobody has sent. (Timers of bare QEMU do not interrupt at once.)

use core::sync::atomic::{AtomicU32, Ordering};

use guests::check::check;
use guests::externals::{CLOCK_COMPARATOR, CPU_TIMER, EMERGENCY_SIGNAL, EXTERNAL_CALL};
use guests::insn::clock::{sckc, spt};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::insn::cpu::{Order, sigp, stap};
use guests::insn::yield_cpu;
use guests::interruption::{self, Class, Registers};
use guests::{lowcore, smp};

guests::clause!(
    "Principles of Operation, External Interruption; SIGNAL PROCESSOR (external call, emergency signal)",
    native = false,
    cpus = 4
);
guests::case!(run);

const CPUS: usize = 4;
/// Rounds of each CPU.
const ROUNDS: u32 = 200;

/// What each CPU has sent to the next one, and what it was interrupted by.
struct Counts {
    calls_accepted: AtomicU32,
    signals_accepted: AtomicU32,
    calls: AtomicU32,
    signals: AtomicU32,
    comparator: AtomicU32,
    timer: AtomicU32,
    others: AtomicU32,
    /// Senders that are not the CPU before this one.
    strangers: AtomicU32,
    supervisor_calls: AtomicU32,
}

static COUNTS: [Counts; CPUS] = [const {
    Counts {
        calls_accepted: AtomicU32::new(0),
        signals_accepted: AtomicU32::new(0),
        calls: AtomicU32::new(0),
        signals: AtomicU32::new(0),
        comparator: AtomicU32::new(0),
        timer: AtomicU32::new(0),
        others: AtomicU32::new(0),
        strangers: AtomicU32::new(0),
        supervisor_calls: AtomicU32::new(0),
    }
}; CPUS];

/// How many CPUs have finished their rounds, and how many have no interruption pending any more.
static FINISHED: AtomicU32 = AtomicU32::new(0);
static QUIET: AtomicU32 = AtomicU32::new(0);

fn add(counter: &AtomicU32) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn mine() -> &'static Counts {
    &COUNTS[usize::from(stap()) % CPUS]
}

extern "C" fn handler(_: &mut Registers) {
    let counts = mine();
    let code: u16 = lowcore::read(lowcore::EXTERNAL_CODE);
    match code {
        0x1004 => {
            sckc(u64::MAX);
            add(&counts.comparator);
        }
        0x1005 => {
            spt(i64::MAX);
            add(&counts.timer);
        }
        0x1201 => add(&counts.signals),
        0x1202 => add(&counts.calls),
        _ => add(&counts.others),
    }
    let sender: u16 = lowcore::read(lowcore::EXTERNAL_CPU_ADDRESS);
    let before = (usize::from(stap()) + CPUS - 1) % CPUS;
    if code & 0x200 != 0 && usize::from(sender) != before {
        add(&counts.strangers);
    }
}

extern "C" fn supervisor(_: &mut Registers) {
    add(&mine().supervisor_calls);
}

fn storm() {
    let counts = mine();
    let next = (stap() + 1) % CPUS as u16;
    interruption::replace(Class::External, handler);
    interruption::replace(Class::SupervisorCall, supervisor);
    sckc(u64::MAX);
    spt(i64::MAX);
    let open = EMERGENCY_SIGNAL | EXTERNAL_CALL | CLOCK_COMPARATOR | CPU_TIMER;
    lctlg_0(stctg_0() | open);
    for _ in 0..ROUNDS {
        stosm::<1>();
        if sigp(next, Order::EmergencySignal, 0).0 == 0 {
            add(&counts.signals_accepted);
        }
        if sigp(next, Order::ExternalCall, 0).0 == 0 {
            add(&counts.calls_accepted);
        }
        sckc(0);
        spt(-1);
        // SAFETY: the handler counts and returns.
        unsafe { core::arch::asm!("svc 7") };
        stnsm::<0xFE>();
    }
    FINISHED.fetch_add(1, Ordering::AcqRel);
    // What was sent last still has to come.
    while FINISHED.load(Ordering::Acquire) < CPUS as u32 {
        stosm::<1>();
        yield_cpu();
        stnsm::<0xFE>();
    }
    stosm::<1>();
    yield_cpu();
    stnsm::<0xFE>();
    QUIET.fetch_add(1, Ordering::AcqRel);
}

extern "C" fn other() -> ! {
    storm();
    loop {
        yield_cpu();
    }
}

fn run() {
    check("CPUs", u16::from(smp::count() >= CPUS as u16), 1);
    for cpu in 1..CPUS as u16 {
        smp::start(cpu, other);
    }
    storm();
    while QUIET.load(Ordering::Acquire) < CPUS as u32 {
        yield_cpu();
    }
    for (number, counts) in COUNTS.iter().enumerate() {
        let before = &COUNTS[(number + CPUS - 1) % CPUS];
        let of = |counter: &AtomicU32| counter.load(Ordering::Acquire);
        check("clock comparator", of(&counts.comparator), ROUNDS);
        check("CPU timer", of(&counts.timer), ROUNDS);
        check("supervisor calls", of(&counts.supervisor_calls), ROUNDS);
        let calls = of(&before.calls_accepted);
        check("external calls lost", calls - of(&counts.calls), 0);
        check("external calls came", u16::from(calls > 0), 1);
        let signals = of(&counts.signals);
        let sent = of(&before.signals_accepted);
        let is_plausible = signals > 0 && signals <= sent;
        check("emergency signals", u16::from(is_plausible), 1);
        check("from another CPU", of(&counts.strangers), 0);
        check("other interruptions", of(&counts.others), 0);
    }
}
