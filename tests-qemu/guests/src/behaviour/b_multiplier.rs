//! Functions of the Galois-field multiplier count as AES functions in every respect: cycles, and blocked functions and
//! cycles, of the CPU and of its group.

use core::sync::atomic::{AtomicU32, Ordering};

use guests::coprocessor::{Counted, Kind, Operands};
use guests::insn::assist::{Registers, kimd};
use guests::insn::measurement::{controls, epctr, lcctl, lpctl, set};
use guests::insn::yield_cpu;
use guests::{shows, smp};

guests::clause!(
    "SA23-2260, Crypto-Activity Counter Set; Coprocessor-Group Counter Set (programming notes: multiplier)",
    native = false,
    cpus = 2,
    options = "--cryptography"
);
guests::case!(run);

/// The multiplier's function of KIMD.
const GHASH: u64 = 65;
/// Functions that each CPU issues.
const FUNCTIONS: u64 = 10;

/// One when the other CPU is to issue functions, two when it has done so.
static TURN: AtomicU32 = AtomicU32::new(0);

/// Issues functions of the multiplier. Returns this CPU's counters of AES.
fn multiply() -> [u64; 4] {
    let (mut parameter, text) = ([1; 32], [3; 1024]);
    lcctl(0);
    lcctl(controls(set::CRYPTO, set::CRYPTO));
    for _ in 0..FUNCTIONS {
        kimd(&mut Registers::new(GHASH, &mut parameter).second(&text));
    }
    let counted = Counted::now();
    shows!("CRYPTO-23", counted.only(Kind::Aes));
    counted.of(Kind::Aes)
}

extern "C" fn other() -> ! {
    let mut operands = Operands::of(Kind::Aes);
    loop {
        while TURN.load(Ordering::Acquire) != 1 {
            yield_cpu();
        }
        for _ in 0..FUNCTIONS {
            operands.issue(Kind::Aes);
        }
        TURN.store(2, Ordering::Release);
    }
}

/// Counters 4 to 7 of group 0.
fn of_group() -> [u64; 4] {
    [4, 5, 6, 7].map(|number| epctr(number, 0).1)
}

fn run() {
    lpctl(3);
    let alone = multiply();
    let takes = alone[1] / FUNCTIONS;
    shows!("CRYPTO-28", alone[0] == FUNCTIONS && alone[1] > FUNCTIONS);
    shows!("CRYPTO-29", [alone[2], alone[3]], [0, 0]);
    shows!(["GROUP-19", "GROUP-22"], of_group(), alone);
    // The other CPU of the group uses the same coprocessor.
    lpctl(0);
    lpctl(3);
    smp::start(1, other);
    TURN.store(1, Ordering::Release);
    let [functions, cycles, blocked, blocked_cycles] = multiply();
    while TURN.load(Ordering::Acquire) != 2 {
        yield_cpu();
    }
    smp::stop(1);
    shows!(
        "CRYPTO-28",
        (functions, cycles),
        (FUNCTIONS, FUNCTIONS * takes)
    );
    shows!(
        "CRYPTO-29",
        (1..=FUNCTIONS).contains(&blocked) && blocked_cycles >= blocked
    );
    let group = of_group();
    shows!("GROUP-19", group[0], 2 * FUNCTIONS);
    shows!(
        "GROUP-22",
        group[1] > cycles && group[2] >= blocked && group[3] >= blocked_cycles
    );
    lpctl(0);
    lcctl(0);
}
