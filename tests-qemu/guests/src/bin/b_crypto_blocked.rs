//! Two CPUs that use one coprocessor block each other, and the blocked functions and cycles are
//! counted; two CPUs of different groups do not.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering};

use guests::check::{check, holds};
use guests::insn::assist::{Registers, km, query};
use guests::insn::measurement::{controls, ecctr, ecpga, epctr, lcctl, lpctl, qctri, set, stcctm};
use guests::insn::yield_cpu;
use guests::smp;

guests::clause!(
    "SA23-2260, Crypto-Activity Counter Set; Coprocessor-Group Counter Set; EXTRACT COPROCESSOR-GROUP ADDRESS",
    native = false,
    cpus = 4,
    options = "--cryptography"
);
guests::guest!(run);

/// Functions that each CPU issues.
const FUNCTIONS: u64 = 40;
/// Bytes of each.
const BYTES: usize = 4096;

static TURN: AtomicU32 = AtomicU32::new(0);
static DONE: AtomicU32 = AtomicU32::new(0);
static mut COUNTED: [[u64; 20]; 4] = [[0; 20]; 4];

/// Counts this CPU's functions, and the counters of its set.
fn hammer(cpu: usize) {
    let active = controls(set::CRYPTO, set::CRYPTO);
    lcctl(0);
    let enabled = lcctl(active);
    let (mut key, text, mut output) = ([cpu as u8; 16], [7; BYTES], [0; BYTES]);
    for _ in 0..FUNCTIONS {
        km(&mut Registers::new(18, &mut key)
            .first(&mut output)
            .second(&text));
    }
    let mut counters = [0; 20];
    let stored = stcctm::<3>(20, &mut counters);
    lcctl(0);
    counters[19] = counters[19].wrapping_add(u64::from(enabled | stored) << 32);
    // SAFETY: each CPU has a row of its own, read when it is done.
    unsafe {
        (&raw mut COUNTED)
            .cast::<[u64; 20]>()
            .add(cpu)
            .write(counters)
    };
}

/// Waits to be called, and hammers.
fn serve(cpu: u32) -> ! {
    loop {
        while TURN.load(Ordering::Acquire) & 1 << cpu == 0 {
            yield_cpu();
        }
        hammer(cpu as usize);
        TURN.fetch_and(!(1 << cpu), Ordering::AcqRel);
        DONE.fetch_or(1 << cpu, Ordering::AcqRel);
    }
}

extern "C" fn first() -> ! {
    serve(1)
}

extern "C" fn second() -> ! {
    serve(2)
}

/// CPU 0 and another one hammer at the same time; the AES counters of both.
fn together(other: u32) -> [[u64; 4]; 2] {
    DONE.store(0, Ordering::Release);
    TURN.fetch_or(1 << other, Ordering::AcqRel);
    hammer(0);
    while DONE.load(Ordering::Acquire) & 1 << other == 0 {
        yield_cpu();
    }
    [0, other as usize].map(|cpu| {
        // SAFETY: that CPU is done.
        let row = unsafe { (&raw const COUNTED).cast::<[u64; 20]>().add(cpu).read() };
        check("counting began and ended well", row[19], 0);
        holds(
            "no other kind of function is counted",
            row[..12]
                .iter()
                .chain(&row[16..19])
                .all(|&count| count == 0),
        );
        [row[12], row[13], row[14], row[15]]
    })
}

/// Condition code and register as one number.
fn pair((cc, value): (u8, u64)) -> u64 {
    u64::from(cc) << 60 | value
}

fn run() {
    holds("KM has AES-128", query(km) >> (127 - 18) & 1 == 1);
    for (cpu, group) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
        check(
            "coprocessor group",
            pair(ecpga(cpu, 0)),
            pair((0, group << 8)),
        );
    }
    let information = qctri();
    check(
        "greatest group address",
        information.maximum_group_address,
        1,
    );
    check("authorized", information.authorization & 0x8008, 0x8008);
    check("LPCTL: enable and activate", lpctl(3), 0);
    smp::start(1, first);
    smp::start(2, second);
    let busy = FUNCTIONS * BYTES as u64;
    let peripheral = |group: u64, number: u64| epctr(group << 8 | number, 0).1;

    let [mine, theirs] = together(2);
    check("different groups: functions", mine[0], FUNCTIONS);
    check("  of the other", theirs[0], FUNCTIONS);
    check("  cycles", mine[1], busy);
    check("  blocked functions", mine[2], 0);
    check("  blocked cycles", mine[3], 0);
    check("  blocked functions of the other", theirs[2], 0);
    check("  blocked cycles of the other", theirs[3], 0);
    for group in 0..2 {
        check(
            "group: DEA/AES/MAC functions",
            peripheral(group, 4),
            FUNCTIONS,
        );
        check("  cycles", peripheral(group, 5), busy);
        check("  blocked functions", peripheral(group, 6), 0);
        check("  blocked cycles", peripheral(group, 7), 0);
        check("  SHA functions", peripheral(group, 0), 0);
    }

    let [mine, theirs] = together(1);
    check("one group: functions", mine[0], FUNCTIONS);
    check("  cycles", mine[1], busy);
    check("  of the other", theirs[0], FUNCTIONS);
    check("  cycles of the other", theirs[1], busy);
    holds("  functions were blocked", mine[2] + theirs[2] > 0);
    holds("  for some cycles", mine[3] + theirs[3] > 0);
    holds(
        "  and none for longer than a function takes",
        mine[3] <= mine[2] * BYTES as u64 && theirs[3] <= theirs[2] * BYTES as u64,
    );
    check("group: functions of both", peripheral(0, 4), 3 * FUNCTIONS);
    check(
        "  blocked functions of both",
        peripheral(0, 6),
        mine[2] + theirs[2],
    );
    check(
        "  blocked cycles of both",
        peripheral(0, 7),
        mine[3] + theirs[3],
    );
    check("the other group: functions", peripheral(1, 4), FUNCTIONS);

    check("LPCTL: inactive", lpctl(2), 0);
    check("LCCTL", lcctl(controls(set::CRYPTO, set::CRYPTO)), 0);
    let (mut key, text, mut output) = ([1; 16], [7; 32], [0; 32]);
    km(&mut Registers::new(18, &mut key)
        .first(&mut output)
        .second(&text));
    check(
        "an inactive group counts nothing",
        peripheral(0, 4),
        3 * FUNCTIONS,
    );
    check("while the CPU counts", ecctr(76).1, 1);
    check("  cycles", ecctr(77).1, 32);
    check("LPCTL: disable", lpctl(0), 0);
    check(
        "a disabled counter is not available",
        pair(epctr(4, 9)),
        pair((3, 9)),
    );
    smp::stop_others();
}
