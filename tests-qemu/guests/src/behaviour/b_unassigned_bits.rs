//! Bits 16-23 of the instructions of format RRE are ignored, and STORE CPU COUNTER MULTIPLE has a signed displacement of
//! 20 bits.

use guests::insn::measurement::{controls, ecctr, epctr, lcctl, lpctl, scctr, set, spctr};
use guests::shows;
use guests::{attempt, attempt_on_registers};

guests::clause!(
    "SA23-2260, Instructions (formats RRE and RSY)",
    native = false,
    options = "--operator 'AUTH CPU 0 COUNTERS GROUP ON'"
);
guests::case!(run);

const VALUE: u64 = 0x1122_3344_5566_7788;

fn run() {
    lcctl(controls(set::BASIC, 0));
    lpctl(2);
    // The first operand is general register 2, the second one general register 3; bits 16-23 are ones.
    macro_rules! perform {
        ($text:literal, $first:expr, $second:expr) => {{
            // General registers 0 and 2 to 5.
            let mut registers = [0, $first, $second, 0, 0];
            let outcome = attempt_on_registers!(concat!(".long ", $text), &mut registers);
            (outcome.number(), registers[1])
        }};
    }
    shows!(
        "SCCTR-14",
        (perform!("0xb2e0ff23", VALUE, 1_u64), ecctr(1)),
        ((0, VALUE), (0, VALUE))
    );
    shows!("ECCTR-14", perform!("0xb2e4ff23", 0, 1_u64), (0, VALUE));
    shows!(
        "SPCTR-13",
        (perform!("0xb2e1ff23", VALUE, 7_u64), epctr(7, 0)),
        ((0, VALUE), (0, VALUE))
    );
    shows!("EPCTR-13", perform!("0xb2e5ff23", 0, 7_u64), (0, VALUE));
    shows!(
        "ECPGA-10",
        perform!("0xb2edff23", VALUE, 0_u64),
        (0, VALUE & !0xFFFF_FFFF)
    );
    scctr(0, !VALUE);
    spctr(7, 0);
    displacements();
    lpctl(0);
    lcctl(0);
}

/// The displacements at both ends, and the smallest negative one.
fn displacements() {
    let mut list = [0_u64; 2];
    let at = list.as_mut_ptr() as u64;
    macro_rules! store {
        ($displacement:literal) => {{
            let base = at.wrapping_sub($displacement as i64 as u64);
            let outcome = attempt!(
                concat!(".insn rsy,0xeb0000000017,{n},1,", $displacement, "({a})"),
                n = in(reg) 2_u64,
                a = in(reg_addr) base,
            );
            // SAFETY: stored by the instruction.
            let stored = unsafe { core::ptr::read_volatile(&raw const list) };
            shows!("STCCTM-31", (outcome.number(), stored), (1, [!VALUE, VALUE]));
            list = [0; 2];
        }};
    }
    store!(524280);
    store!(-524288);
    store!(-8);
    let _ = list;
}
