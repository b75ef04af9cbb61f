//! STORE FACILITY LIST stores the first word of STORE FACILITY LIST EXTENDED at real location 200.

use guests::check::{check, fact, holds};
use guests::insn::cpu::{stfl, stfle};
use guests::lowcore;

guests::clause!(
    "Principles of Operation, STORE FACILITY LIST; STORE FACILITY LIST EXTENDED",
    native = true
);
guests::case!(run);

fn run() {
    lowcore::write(lowcore::FACILITY_LIST, 0_u64);
    let word = stfl();
    let mut list = [0; 4];
    let (cc, count) = stfle(&mut list);
    check("condition code with room enough", cc, 0);
    fact("facility bits 0-31", word);
    check("the same word by STFLE", (list[0] >> 32) as u32, word);
    check(
        "location 204 is not stored",
        lowcore::read::<u32>(lowcore::FACILITY_LIST + 4),
        0,
    );
    let mut one = [0; 1];
    let (cc, needed) = stfle(&mut one);
    check("condition code with one doubleword", cc, 3);
    check("general register 0 says how many there are", needed, count);
    // The word has facility bits that the machine adds.
    holds("the one doubleword is the first of them", one[0] == list[0]);
    holds("N3 and z/Architecture (bits 0 and 2)", word >> 29 & 5 == 5);
}
