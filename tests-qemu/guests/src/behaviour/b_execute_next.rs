//! An EXECUTE of the instruction that stands after it: that is executed twice.

use guests::attempt_on_registers;
use guests::check::check;

guests::clause!("SA22-7832, EXECUTE; EXECUTE RELATIVE LONG", native = true);
guests::case!(run);

fn run() {
    let mut registers = [0; 5];
    let _ = attempt_on_registers!("exrl %r0, 34f\n 34: aghi %r2, 1", &mut registers);
    check("EXRL of the next instruction", registers[1], 2);
    let _ = attempt_on_registers!(
        "larl %r4, 34f\n ex %r0, 0(%r4)\n 34: aghi %r2, 1",
        &mut registers
    );
    check("EX of the next instruction", registers[1], 4);
}
