//! A PSW with an odd instruction address is loaded. The instruction fetch then meets a specification exception, and
//! its old PSW holds the odd address. (QEMU performs the instruction there, hence not native.)

use guests::attempt::Outcome;
use guests::psw::{INITIAL, Psw};
use guests::{attempt, shows};

guests::clause!(
    "SA22-7832, Chapter 6, Late Exception Recognition; Instruction-Length Code",
    native = false
);
guests::case!(run);

fn run() {
    let psw = Psw::new(INITIAL, 0x2001);
    if let Outcome::Program(program) = attempt!("lpswe 0({p})", p = in(reg_addr) &raw const psw) {
        let address = program.old.address;
        shows!("LATE-4", (program.code, address & 1), (6, 1));
        shows!("ILC-10", matches!(program.length, 2 | 4 | 6));
        shows!(
            "ILC-10",
            address.wrapping_sub(program.length.into()),
            0x2001
        );
    }
}
