//! STORE FACILITY LIST EXTENDED shows the enhanced-monitor facility (36), the load-program-parameter facility (40),
//! the counter facility (67), the sampling facility (68) and the store-CPU-counter-multiple facility (142), beside
//! the machine's own bits. By EXECUTE and EXECUTE RELATIVE LONG it shows the same.

use core::arch::asm;

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::{check, fact, holds};
use guests::insn::cpu::{facility, stfle};
use guests::shows;

guests::clause!("SA23-2260, Facility Indication", native = false);
guests::case!(run);

fn run() {
    let mut list = [0; 4];
    let (cc, count) = stfle(&mut list);
    check("condition code", cc, 0);
    holds("at least three doublewords", count >= 3);
    for (n, value) in list.iter().enumerate() {
        fact(
            ["bits 0-63", "bits 64-127", "bits 128-191", "bits 192-255"][n],
            *value,
        );
    }
    shows!("FACILITY-2", facility(40));
    shows!("FACILITY-6", facility(67));
    shows!("FACILITY-7", facility(68));
    shows!("FACILITY-8", facility(142));
    shows!("FACILITY-4", facility(40) || !facility(68));
    shows!("FACILITY-9", facility(67) || !facility(142));
    for bit in [0, 1, 2, 7, 21, 36, 40, 67, 68, 142] {
        check(
            "facility bit is one",
            (bit as u64) << 4 | u64::from(facility(bit)),
            (bit as u64) << 4 | 1,
        );
    }
    let mut executed = [0_u64; 4];
    // SAFETY: stores four doublewords at most, twice.
    unsafe {
        asm!(
            "lghi %r0, 3",
            "larl {t}, 34f",
            "ex %r0, 0({t})",
            "j 35f",
            "34: stfle 0({a})",
            "35:",
            a = in(reg_addr) executed.as_mut_ptr(),
            t = out(reg_addr) _,
            out("r0") _,
        );
    }
    check(
        "by EXECUTE, the list is the same",
        u64::from(executed == list),
        1,
    );
    executed = [0; 4];
    // SAFETY: as above. Register 0 holds 3, but EXRL with register 0 modifies nothing.
    unsafe {
        asm!(
            "lghi %r0, 3",
            "exrl %r0, 34f",
            "j 35f",
            "34: stfle 0({a})",
            "35:",
            a = in(reg_addr) executed.as_mut_ptr(),
            out("r0") _,
        );
    }
    check(
        "by EXECUTE RELATIVE LONG, the list is the same",
        u64::from(executed == list),
        1,
    );
    let odd = list.as_mut_ptr() as u64 + 4;
    check(
        "on a word boundary",
        attempt!("stfle 0({a})", a = in(reg_addr) odd).number(),
        suppressed(6, 4),
    );
}
