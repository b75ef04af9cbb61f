//! STORE CPU COUNTER MULTIPLE: condition codes 0 to 3 by the number of counters asked for, the rest of
//! the second operand unchanged, and specification exceptions for a number beyond 16 bits, a reserved
//! code and a second operand that is not on a doubleword boundary.
#![no_std]
#![no_main]

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::check;
use guests::insn::measurement::{controls, lcctl, qctri, scctr, set, stcctm};

guests::clause!("SA23-2260, STORE CPU COUNTER MULTIPLE", native = false);
guests::guest!(run);

const UNCHANGED: u64 = 0x5A5A_5A5A_A5A5_A5A5;

/// How many doublewords of the list are changed.
fn changed(list: &[u64]) -> usize {
    list.iter().filter(|&&value| value != UNCHANGED).count()
}

fn run() {
    let mut list = [UNCHANGED; 16];
    check("disabled", stcctm::<1>(6, &mut list), 3);
    check("nothing stored", changed(&list), 0);
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
        check(
            "basic: condition code",
            count << 8 | u64::from(stcctm::<1>(count, &mut list)),
            count << 8 | cc,
        );
        check("  doublewords stored", changed(&list), stored);
        for (n, value) in list.iter().take(stored).enumerate() {
            check("  counter", *value, 100 + n as u64);
        }
    }
    let problem = if qctri().first_version == 1 { 6 } else { 2 };
    list = [UNCHANGED; 16];
    check("problem-state set, all", stcctm::<2>(problem, &mut list), 0);
    check("  doublewords stored", changed(&list), problem as usize);
    list = [UNCHANGED; 16];
    check("extended set, not authorized", stcctm::<0>(4, &mut list), 3);
    check(
        "crypto-activity set, not authorized",
        stcctm::<3>(4, &mut list),
        3,
    );
    check("MT-diagnostic set, disabled", stcctm::<5>(4, &mut list), 3);
    check(
        "MT-diagnostic set with clearing",
        stcctm::<9>(4, &mut list),
        3,
    );
    check("nothing stored", changed(&list), 0);
    let a = list.as_mut_ptr() as u64;
    macro_rules! reserved {
        ($($code:literal),*) => {
            $(let outcome = attempt!(
                concat!(".insn rsy,0xeb0000000017,{n},", $code, ",0({a})"), n = in(reg) 6_u64, a = in(reg_addr) a);
            check("a reserved code", $code << 40 | outcome.number(), $code << 40 | suppressed(6, 6));)*
        };
    }
    reserved!(6, 7, 10, 11, 12, 13, 14, 15);
    let outcome =
        attempt!(".insn rsy,0xeb0000000017,{n},1,4({a})", n = in(reg) 6_u64, a = in(reg_addr) a);
    check("on a word boundary", outcome.number(), suppressed(6, 6));
    let outcome = attempt!(".insn rsy,0xeb0000000017,{n},1,0({a})", n = in(reg) 0x1_0000_u64, a = in(reg_addr) a);
    check(
        "a number of counters beyond 16 bits",
        outcome.number(),
        suppressed(6, 6),
    );
    let far = 0x7000_0000_u64;
    let outcome =
        attempt!(".insn rsy,0xeb0000000017,{n},1,0({a})", n = in(reg) 6_u64, a = in(reg_addr) far);
    check("beyond storage", outcome.code(), 5);
    lcctl(0);
}
