//! The counters of a coprocessor group count, by coprocessor, the functions of all CPUs that are attached to it,
//! while the sets are active and whatever the CPUs themselves count.

use core::sync::atomic::{AtomicU32, Ordering};

use guests::coprocessor::{Kind, Operands};
use guests::insn::assist::{Instruction, Registers, kimd, klmd, km, kma, kmac, kmc, kmctr, pcc};
use guests::insn::measurement::{epctr, lpctl};
use guests::insn::yield_cpu;
use guests::{shows, smp};

guests::clause!(
    "SA23-2260, Coprocessor-Group Counter Set: what the function counts count",
    native = false,
    cpus = 4,
    options = "--cryptography"
);
guests::case!(run);

/// Set when the other CPU's functions are done.
static DONE: AtomicU32 = AtomicU32::new(0);

/// All counters of a group.
fn counters(group: u64) -> [u64; 8] {
    core::array::from_fn(|number| epctr(group << 8 | number as u64, 0).1)
}

/// Issues a function with 64 bytes of each operand, and a parameter block of zeros.
fn issue(instruction: Instruction, control: u64) {
    let (input, mut parameter, mut output) = ([3; 64], [0; 400], [0; 64]);
    let registers = Registers::new(control, &mut parameter).first(&mut output);
    instruction(&mut registers.second(&input).third(&input));
}

/// The counters of group 0 for one function: the functions of each coprocessor, and whether cycles of another
/// coprocessor were counted.
fn counted(instruction: Instruction, control: u64) -> ([u64; 2], bool) {
    lpctl(0);
    lpctl(3);
    issue(instruction, control);
    let [
        sha,
        sha_cycles,
        ..,
        aes,
        aes_cycles,
        blocked,
        blocked_cycles,
    ] = counters(0);
    let alone = (sha == 0) == (sha_cycles == 0) && (aes == 0) == (aes_cycles == 0);
    ([sha, aes], alone && blocked + blocked_cycles == 0)
}

fn by_coprocessor() {
    for (instruction, control) in [
        (kimd as Instruction, 1),
        (kimd, 2),
        (klmd, 3),
        (klmd, 33),
        (klmd, 36),
    ] {
        shows!("GROUP-10", counted(instruction, control), ([1, 0], true));
        shows!("GROUP-11", counters(0)[1] > 0);
    }
    for (instruction, control) in [
        (km as Instruction, 1),
        (km, 18),
        (km, 50),
        (kmc, 3),
        (kmctr, 20),
        (kmac, 2),
        (kmac, 19),
        (pcc, 18),
    ] {
        shows!("GROUP-14", counted(instruction, control), ([0, 1], true));
        shows!("GROUP-15", counters(0)[5] > 0);
    }
    for (instruction, control) in [(kimd as Instruction, 65), (kma, 18 | 0x300)] {
        shows!("GROUP-19", counted(instruction, control), ([0, 1], true));
        shows!("GROUP-19", counters(0)[5] > 0);
    }
    let mut operands = Operands::of(Kind::Ecc);
    lpctl(3);
    let before = counters(0);
    operands.issue(Kind::Ecc);
    shows!(["GROUP-10", "GROUP-14"], counters(0), before);
}

/// The same functions on each CPU: one of SHA, two of AES.
fn three() {
    issue(kimd, 2);
    issue(km, 18);
    issue(km, 18);
}

extern "C" fn other() -> ! {
    three();
    DONE.store(1, Ordering::Release);
    loop {
        yield_cpu();
    }
}

/// A group counts the functions of the CPUs attached to it, and no others.
fn by_group() {
    lpctl(0);
    lpctl(3);
    three();
    for (cpu, functions) in [(1, [2, 4, 0, 0]), (2, [2, 4, 1, 2]), (3, [2, 4, 2, 4])] {
        DONE.store(0, Ordering::Release);
        smp::start(cpu, other);
        while DONE.load(Ordering::Acquire) == 0 {
            yield_cpu();
        }
        smp::stop(cpu);
        let [first, second] = [counters(0), counters(1)];
        shows!(
            ["GROUP-10", "GROUP-14"],
            [first[0], first[4], second[0], second[4]],
            functions
        );
    }
}

/// Functions that are issued while the sets are inactive do not count, and the counts stay.
fn while_active() {
    lpctl(0);
    lpctl(2);
    three();
    shows!("GROUP-3", counters(0), [0; 8]);
    lpctl(3);
    three();
    let active = counters(0);
    shows!("GROUP-3", [active[0], active[4]], [1, 2]);
    lpctl(2);
    three();
    shows!("GROUP-3", counters(0), active);
    lpctl(0);
    lpctl(2);
    shows!("GROUP-6", counters(0), [0; 8]);
}

fn run() {
    by_coprocessor();
    by_group();
    while_active();
    lpctl(0);
}
