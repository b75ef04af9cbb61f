//! A program counts its cryptographic functions and leaves the counter sets active. The level below must have counted
//! the same.

use guests::check::{check, holds};
use guests::insn::assist::{Registers, kimd, km, query};
use guests::insn::measurement::{controls, epctr, lcctl, lpctl, set, stcctm};
use guests::println;

guests::clause!(
    "SA23-2260, Crypto-Activity Counter Set; Coprocessor-Group Counter Set",
    native = false,
    options = "--cryptography"
);
guests::case!(run);

fn run() {
    holds("KM has AES-128", query(km) >> (127 - 18) & 1 == 1);
    let active = controls(set::CRYPTO, set::CRYPTO);
    check("LCCTL: enable and activate", lcctl(active), 0);
    check("LPCTL: enable and activate", lpctl(3), 0);
    let (mut key, mut chaining) = ([3; 16], [5; 20]);
    let (text, mut output) = ([7; 1024], [0; 1024]);
    for _ in 0..5 {
        km(&mut Registers::new(18, &mut key)
            .first(&mut output)
            .second(&text));
    }
    for _ in 0..3 {
        kimd(&mut Registers::new(1, &mut chaining).second(&text));
    }
    let mut counters = [0; 20];
    check("STCCTM", stcctm::<3>(20, &mut counters), 0);
    check("SHA functions", counters[4], 3);
    check("AES functions", counters[12], 5);
    for (number, counter) in (64..).zip(counters) {
        println!("crypto-activity {number} {counter}");
    }
    for number in 0..8 {
        let (_, counter) = epctr(number, 0);
        println!("coprocessor-group-0 {number} {counter}");
    }
}
