//! STORE CPU COUNTER MULTIPLE: condition codes 0 to 3 for the number of counters, the rest of the second operand
//! unchanged, and specification exceptions for a number beyond 16 bits, a reserved code and a second operand that is
//! not on a doubleword boundary.

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::check;
use guests::insn::measurement::{controls, lcctl, qctri, scctr, set, stcctm};
use guests::shows;

guests::clause!("SA23-2260, STORE CPU COUNTER MULTIPLE", native = false);
guests::case!(run);

const UNCHANGED: u64 = 0x5A5A_5A5A_A5A5_A5A5;

/// How many doublewords of the list have changed.
fn changed(list: &[u64]) -> usize {
    list.iter().filter(|&&value| value != UNCHANGED).count()
}

fn run() {
    let mut list = [UNCHANGED; 16];
    shows!("STCCTM-17", stcctm::<1>(6, &mut list), 3);
    shows!("STCCTM-17", changed(&list), 0);
    check(
        "LCCTL",
        lcctl(controls(set::BASIC | set::PROBLEM_STATE, 0)),
        0,
    );
    for number in 0..6 {
        scctr(number, 100 + number);
    }
    for (count, cc, stored) in [
        (6, 0, 6),
        (3, 1, 3),
        (1, 1, 1),
        (10, 2, 6),
        (0xFFFF, 2, 6),
        (0, 3, 0),
    ] {
        list = [UNCHANGED; 16];
        let outcome = (u64::from(stcctm::<1>(count, &mut list)), changed(&list));
        match cc {
            0 => shows!(["STCCTM-12", "STCCTM-2"], outcome, (0, stored)),
            1 => shows!(["STCCTM-13", "STCCTM-2"], outcome, (1, stored)),
            2 => shows!(["STCCTM-14", "STCCTM-11"], outcome, (2, stored)),
            _ => shows!("STCCTM-15", outcome, (3, stored)),
        }
        for (n, value) in list.iter().take(stored).enumerate() {
            shows!(["STCCTM-1", "STCCTM-6"], *value, 100 + n as u64);
        }
    }
    let problem = if qctri().first_version == 1 { 6 } else { 2 };
    list = [UNCHANGED; 16];
    shows!("STCCTM-7", stcctm::<2>(problem, &mut list), 0);
    check("  doublewords stored", changed(&list), problem as usize);
    list = [UNCHANGED; 16];
    let authorized = qctri().authorization;
    if authorized & set::EXTENDED == 0 {
        shows!("STCCTM-18", stcctm::<0>(4, &mut list), 3);
    }
    if authorized & set::CRYPTO == 0 {
        shows!("STCCTM-18", stcctm::<3>(4, &mut list), 3);
    }
    shows!("STCCTM-17", stcctm::<5>(4, &mut list), 3);
    shows!(["STCCTM-17", "STCCTM-10"], stcctm::<9>(4, &mut list), 3);
    shows!(["STCCTM-17", "STCCTM-18"], changed(&list), 0);
    let a = list.as_mut_ptr() as u64;
    macro_rules! reserved {
        ($($code:literal),*) => {
            $(let outcome = attempt!(
                concat!(".insn rsy,0xeb0000000017,{n},", $code, ",0({a})"), n = in(reg) 6_u64, a = in(reg_addr) a);
            shows!("STCCTM-4", $code << 40 | outcome.number(), $code << 40 | suppressed(6, 6));)*
        };
    }
    reserved!(4, 6, 7, 8, 10, 11, 12, 13, 14, 15);
    let outcome =
        attempt!(".insn rsy,0xeb0000000017,{n},1,4({a})", n = in(reg) 6_u64, a = in(reg_addr) a);
    shows!("STCCTM-20", outcome.number(), suppressed(6, 6));
    let outcome = attempt!(".insn rsy,0xeb0000000017,{n},1,0({a})", n = in(reg) 0x1_0000_u64, a = in(reg_addr) a);
    shows!("STCCTM-3", outcome.number(), suppressed(6, 6),);
    let far = 0x7000_0000_u64;
    let outcome =
        attempt!(".insn rsy,0xeb0000000017,{n},1,0({a})", n = in(reg) 6_u64, a = in(reg_addr) far);
    shows!("STCCTM-26", outcome.code(), 5);
    lcctl(0);
}
