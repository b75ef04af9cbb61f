//! Every model has the counters that belong to its two version numbers, and ignores or refuses the controls of sets
//! that it does not have.

use guests::attempt;
use guests::attempt::suppressed;
use guests::insn::measurement::{controls, ecctr, lcctl, qctri, qsi, set, stcctm};
use guests::shows;

guests::clause!(
    "SA23-2260, counter version numbers",
    native = false,
    options = "--model z10 --operator 'AUTH CPU 0 COUNTERS CRYPTO ON' --operator 'AUTH CPU 0 COUNTERS EXTENDED ON';\
        --model z196 --operator 'AUTH CPU 0 COUNTERS CRYPTO ON' --operator 'AUTH CPU 0 COUNTERS EXTENDED ON';\
        --model zec12 --operator 'AUTH CPU 0 COUNTERS CRYPTO ON' --operator 'AUTH CPU 0 COUNTERS EXTENDED ON';\
        --model z13 --operator 'AUTH CPU 0 COUNTERS CRYPTO ON' --operator 'AUTH CPU 0 COUNTERS EXTENDED ON';\
        --model z14 --operator 'AUTH CPU 0 COUNTERS CRYPTO ON' --operator 'AUTH CPU 0 COUNTERS EXTENDED ON';\
        --model z15 --operator 'AUTH CPU 0 COUNTERS CRYPTO ON' --operator 'AUTH CPU 0 COUNTERS EXTENDED ON';\
        --model z16 --operator 'AUTH CPU 0 COUNTERS CRYPTO ON' --operator 'AUTH CPU 0 COUNTERS EXTENDED ON'"
);
guests::case!(run);

const ALL: u16 = set::BASIC | set::PROBLEM_STATE | set::CRYPTO | set::EXTENDED;

/// Whether exactly these counter numbers can be extracted.
fn are(numbers: core::ops::Range<u64>, installed: core::ops::Range<u64>) -> bool {
    numbers
        .into_iter()
        .all(|number| (ecctr(number).0 == 0) == installed.contains(&number))
}

/// How LCCTL with this one bit ends.
fn one(bit: u32) -> u64 {
    let operand = 1_u64 << (63 - bit);
    attempt!(".insn s,0xb2840000,0({a})", a = in(reg_addr) &raw const operand).number()
}

fn run() {
    let information = qctri();
    let (first, second) = (information.first_version, information.second_version);
    shows!("QCTRI-3", information.authorization & ALL, ALL);
    for (bits, set) in [(44, set::CRYPTO), (47, set::EXTENDED)] {
        let operand = 1_u64 << (63 - bits) | 1 << (63 - bits - 16);
        let cc = lcctl(operand);
        let now = qctri();
        let found = (cc, now.enable, now.activation);
        if set == set::CRYPTO {
            shows!("LCCTL-2", found, (0, set, set));
        } else {
            shows!("LCCTL-5", found, (0, set, set));
        }
    }
    lcctl(controls(ALL, 0));
    shows!(["BASIC-1", "SETS-5"], are(0..32, 0..6));
    if first == 1 {
        shows!(["PROBLEM-2", "SETS-5"], are(32..64, 32..38));
        shows!("PROBLEM-6", (34..38).all(|number| ecctr(number) == (0, 0)));
    } else {
        shows!(["PROBLEM-1", "SETS-5"], are(32..64, 32..34));
    }
    if second < 6 {
        shows!(["CRYPTO-1", "SETS-6"], are(64..128, 64..80));
    } else {
        shows!(["CRYPTO-2", "SETS-6"], are(64..128, 64..84));
    }
    let mut list = [0x5A5A_u64; 256];
    let extended = match second {
        1 => 32,
        2 => 48,
        3..=5 => 128,
        _ => 160,
    };
    let right = are(128..448, 128..128 + extended) && stcctm::<0>(extended, &mut list) == 0;
    shows!(["EXTENDED-5", "SETS-6"], right);
    shows!(
        "EXTENDED-6",
        (128 + extended..448).all(|number| ecctr(number).0 == 3)
    );
    match second {
        1 => shows!("EXTENDED-1", right),
        2 => shows!("EXTENDED-2", right),
        3..=5 => shows!("EXTENDED-3", right),
        _ => shows!("EXTENDED-4", right),
    }
    shows!("STCCTM-5", stcctm::<0>(extended - 1, &mut list), 1);
    let crypto = if second < 6 { 16 } else { 20 };
    shows!("STCCTM-8", stcctm::<3>(crypto, &mut list), 0);
    shows!("STCCTM-8", stcctm::<3>(crypto + 1, &mut list), 2);
    // The MT-diagnostic set: not installed, or installed but never enabled here.
    let refused = suppressed(6, 4);
    if second <= 3 {
        list = [0x5A5A; 256];
        let none = stcctm::<5>(48, &mut list) == 3 && list.iter().all(|&value| value == 0x5A5A);
        shows!(["MT-1", "STCCTM-16"], none && are(448..512, 0..0));
        for bit in [42, 43, 58, 59] {
            shows!("LCCTL-8", one(bit), refused);
        }
    } else {
        shows!("SETS-2", (one(42), one(58)), (0, 0));
        shows!("LCCTL-7", (one(42), one(58)), (0, 0));
        if second == 4 {
            shows!("LCCTL-9", (one(43), one(59)), (0, 0));
        } else {
            shows!("LCCTL-10", (one(43), one(59)), (refused, refused));
        }
    }
    // The model determines the size of a diagnostic-sampling data entry.
    shows!("QSI-7", qsi().diagnostic_entry_size >= 4);
    lcctl(0);
}
