//! The modifier bit of general register 0 must be zero for an instruction of the message-security assist that has no
//! modified function, also with function code 0. The other instructions ignore it with function code 0.

use guests::attempt::{Outcome, suppressed};
use guests::attempt_with_registers;
use guests::check::check;
use guests::insn::assist::Registers;

guests::clause!(
    "Principles of Operation, COMPUTE MESSAGE DIGEST, COMPUTE MESSAGE AUTHENTICATION CODE, PERFORM CRYPTOGRAPHIC \
     COMPUTATION, PERFORM CRYPTOGRAPHIC KEY MANAGEMENT OPERATION, CIPHER MESSAGE and its like",
    native = true,
    options = "; --cryptography"
);
guests::case!(run);

/// Function code 0 with the modifier.
const QUERY: u64 = 0x80;

fn run() {
    let attempts: [(&str, bool, fn(&mut Registers) -> Outcome); 11] = [
        ("KMAC", true, |r| {
            attempt_with_registers!(".long 0xb91e0024", r)
        }),
        ("KIMD", true, |r| {
            attempt_with_registers!(".long 0xb93e0024", r)
        }),
        ("KLMD", true, |r| {
            attempt_with_registers!(".long 0xb93f0024", r)
        }),
        ("PCC", true, |r| {
            attempt_with_registers!(".long 0xb92c0000", r)
        }),
        ("PCKMO", true, |r| {
            attempt_with_registers!(".long 0xb9280000", r)
        }),
        ("KM", false, |r| {
            attempt_with_registers!(".long 0xb92e0024", r)
        }),
        ("KMC", false, |r| {
            attempt_with_registers!(".long 0xb92f0024", r)
        }),
        ("KMF", false, |r| {
            attempt_with_registers!(".long 0xb92a0024", r)
        }),
        ("KMO", false, |r| {
            attempt_with_registers!(".long 0xb92b0024", r)
        }),
        ("KMCTR", false, |r| {
            attempt_with_registers!(".long 0xb92d6024", r)
        }),
        ("PRNO", false, |r| {
            attempt_with_registers!(".long 0xb93c0024", r)
        }),
    ];
    for (name, is_refused, attempt) in attempts {
        let mut block = [0; 16];
        let mut registers = Registers::new(QUERY, &mut block);
        let expected = if is_refused { suppressed(6, 4) } else { 0 };
        check(name, attempt(&mut registers).number(), expected);
        let mut registers = Registers::new(0, &mut block);
        check(
            "  without the modifier",
            attempt(&mut registers).number(),
            0,
        );
    }
}
