//! EXTRACT PSW shows the program's own PSW: its state, masks and condition code, whatever PSW the machine below runs
//! it with.

use guests::check::check;
use guests::insn::control::{epsw, lpswe_mask, spm, ssm};
use guests::psw::{EXTERNAL, INITIAL, IO, MACHINE_CHECK, bit};

guests::clause!("Principles of Operation, EXTRACT PSW", native = true);
guests::case!(run);

/// The condition code depends on the compiler, so it is not compared.
const WITHOUT_CC: u32 = !0x0000_3000;

fn run() {
    check(
        "at start, bits 0-31 without the condition code",
        epsw().0 & WITHOUT_CC,
        0x0000_0001,
    );
    check("at start, bits 32-63", epsw().1, 0x8000_0000);
    lpswe_mask(INITIAL | EXTERNAL | IO);
    check(
        "external and I/O enabled",
        epsw().0 & WITHOUT_CC,
        0x0300_0001,
    );
    lpswe_mask(INITIAL | MACHINE_CHECK | 5 << 52);
    check(
        "machine checks enabled, key 5",
        epsw().0 & WITHOUT_CC,
        0x0054_0001,
    );
    lpswe_mask(INITIAL | bit(16));
    check(
        "secondary-space mode bits with DAT off",
        epsw().0 & WITHOUT_CC,
        0x0000_8001,
    );
    lpswe_mask(INITIAL);
    spm(0x0A);
    check("program mask A", epsw().0 & WITHOUT_CC, 0x0000_0A01);
    spm(0);
    ssm(0);
}
