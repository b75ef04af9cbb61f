//! Two CPUs that use one coprocessor block each other. The blocked CPU and the group count the blocked functions and
//! cycles. Two CPUs of different groups do not block each other.

use core::sync::atomic::{AtomicU32, Ordering};

use guests::check::{check, holds};
use guests::coprocessor::{Counted, KINDS, Kind, Operands, group_counter};
use guests::insn::measurement::{controls, ecpga, epctr, lcctl, lpctl, set};
use guests::insn::yield_cpu;
use guests::{shows, smp};

guests::clause!(
    "SA23-2260, Crypto-Activity Counter Set; Coprocessor-Group Counter Set: blocked functions",
    native = false,
    cpus = 4,
    options = "--cryptography"
);
guests::case!(run);

/// Functions that each CPU issues.
const FUNCTIONS: u64 = 4;

static TURN: AtomicU32 = AtomicU32::new(0);
static KIND: AtomicU32 = AtomicU32::new(0);
static mut COUNTED: [Counted; 4] = [Counted::NOTHING; 4];

/// Issues functions on this CPU, and stores its counters.
fn hammer(cpu: usize, kind: Kind) {
    let mut operands = Operands::of(kind);
    lcctl(0);
    lcctl(controls(set::CRYPTO, set::CRYPTO));
    for _ in 0..FUNCTIONS {
        operands.issue(kind);
    }
    let counted = Counted::now();
    // SAFETY: each CPU has a row of its own, which is read when the CPU is done.
    unsafe { (&raw mut COUNTED).cast::<Counted>().add(cpu).write(counted) };
}

/// Waits for the start signal, and issues functions.
fn serve(cpu: u32) -> ! {
    loop {
        while TURN.load(Ordering::Acquire) & 1 << cpu == 0 {
            yield_cpu();
        }
        hammer(cpu as usize, KINDS[KIND.load(Ordering::Relaxed) as usize]);
        TURN.fetch_and(!(1 << cpu), Ordering::AcqRel);
    }
}

extern "C" fn first() -> ! {
    serve(1)
}

extern "C" fn second() -> ! {
    serve(2)
}

/// CPU 0 and another CPU issue functions of a kind at the same time. Returns the counters of both.
fn together(other: u32, kind: Kind) -> [[u64; 4]; 2] {
    KIND.store(kind as u32, Ordering::Relaxed);
    TURN.fetch_or(1 << other, Ordering::AcqRel);
    hammer(0, kind);
    while TURN.load(Ordering::Acquire) & 1 << other != 0 {
        yield_cpu();
    }
    [0, other as usize].map(|cpu| {
        // SAFETY: that CPU is done.
        let counted = unsafe { (&raw const COUNTED).cast::<Counted>().add(cpu).read() };
        holds("no other kind of function is counted", counted.only(kind));
        counted.of(kind)
    })
}

/// The four counters of a group for a kind of function; zeros if it has none.
fn of_group(group: u64, kind: Kind) -> [u64; 4] {
    let Some(first) = group_counter(kind) else {
        return [0; 4];
    };
    core::array::from_fn(|n| epctr(group << 8 | first + n as u64, 0).1)
}

/// CPUs of different groups: each has a coprocessor to itself, and its own group counts the functions.
fn apart(kind: Kind) {
    lpctl(0);
    lpctl(3);
    let [mine, theirs] = together(2, kind);
    check("different groups: functions", mine[0], FUNCTIONS);
    check("  cycles of both", mine[1], theirs[1]);
    let blocked = [mine, theirs].map(|counted| [counted[2], counted[3]]);
    match kind {
        Kind::Prng => shows!(["CRYPTO-5", "CRYPTO-6"], blocked, [[0; 2]; 2]),
        Kind::Sha => shows!(["CRYPTO-9", "CRYPTO-10"], blocked, [[0; 2]; 2]),
        Kind::Dea => shows!(["CRYPTO-13", "CRYPTO-14"], blocked, [[0; 2]; 2]),
        Kind::Aes => shows!(["CRYPTO-17", "CRYPTO-18"], blocked, [[0; 2]; 2]),
        Kind::Ecc => shows!(["CRYPTO-21", "CRYPTO-22"], blocked, [[0; 2]; 2]),
    }
    if group_counter(kind).is_some() {
        // Seeding a generator of pseudorandom numbers also counts as a function.
        let groups = [0, 1].map(|group| of_group(group, kind)[2..] == [0; 2]);
        shows!(
            ["GROUP-12", "GROUP-13", "GROUP-16", "GROUP-17"],
            groups,
            [true; 2]
        );
    }
}

/// CPUs of one group: each blocks the other, for no longer than its functions take.
fn one_after_the_other(kind: Kind) {
    lpctl(0);
    let [mine, theirs] = together(1, kind);
    lpctl(3);
    let [mine_too, theirs_too] = together(1, kind);
    shows!(
        "CRYPTO-25",
        [mine[0], theirs[0], mine_too[0], theirs_too[0]],
        [FUNCTIONS; 4]
    );
    let takes = mine[1] / FUNCTIONS;
    for counted in [mine, theirs, mine_too, theirs_too] {
        let [_, _, functions, cycles] = counted;
        let some = (1..=FUNCTIONS).contains(&functions);
        let long = functions <= cycles && cycles <= functions * takes;
        match kind {
            Kind::Prng => {
                shows!("CRYPTO-5", some);
                shows!("CRYPTO-6", long);
            }
            Kind::Sha => {
                shows!("CRYPTO-9", some);
                shows!("CRYPTO-10", long);
            }
            Kind::Dea => {
                shows!("CRYPTO-13", some);
                shows!("CRYPTO-14", long);
            }
            Kind::Aes => {
                shows!("CRYPTO-17", some);
                shows!("CRYPTO-18", long);
            }
            Kind::Ecc => {
                shows!("CRYPTO-21", some);
                shows!("CRYPTO-22", long);
            }
        }
        if !(some && long) {
            guests::println!("{kind:?}: {counted:?}");
        }
    }
    let both: [u64; 4] = core::array::from_fn(|n| mine_too[n] + theirs_too[n]);
    let group = of_group(0, kind);
    match kind {
        Kind::Sha => {
            shows!("GROUP-12", group[2], both[2]);
            shows!("GROUP-13", group[3], both[3]);
        }
        Kind::Dea | Kind::Aes => {
            shows!("GROUP-16", group[2], both[2]);
            shows!("GROUP-17", group[3], both[3]);
        }
        // The group counts the seeding before the CPU starts to count. It does not count curves.
        Kind::Prng | Kind::Ecc => {}
    }
    holds("the other group stands still", of_group(1, kind) == [0; 4]);
}

/// A group's counters by coprocessor: functions of different coprocessors do not block each other.
fn beside_each_other() {
    lpctl(0);
    lpctl(3);
    TURN.fetch_or(1 << 1, Ordering::AcqRel);
    KIND.store(Kind::Sha as u32, Ordering::Relaxed);
    hammer(0, Kind::Aes);
    while TURN.load(Ordering::Acquire) & 1 << 1 != 0 {
        yield_cpu();
    }
    for kind in [Kind::Sha, Kind::Aes] {
        let [functions, _, blocked, cycles] = of_group(0, kind);
        check("two coprocessors: functions", functions, FUNCTIONS);
        shows!(["GROUP-12", "GROUP-16"], (blocked, cycles), (0, 0));
    }
}

fn run() {
    for (cpu, group) in [(0, 0), (1, 0), (2, 1)] {
        check("coprocessor group", ecpga(cpu, 0).1, group << 8);
    }
    smp::start(1, first);
    smp::start(2, second);
    for kind in KINDS {
        guests::println!("{kind:?}");
        apart(kind);
        one_after_the_other(kind);
    }
    beside_each_other();
    smp::stop_others();
}
