//! Control register 0 bit 15 decides whether EXTRACT CPU COUNTER and STORE CPU COUNTER MULTIPLE are performed in
//! problem state, where code 9 of the latter is a special-operation exception. In supervisor state the bit has no
//! effect.

use guests::attempt::suppressed;
use guests::check::check;
use guests::insn::control::{lctlg_0, stctg_0};
use guests::insn::measurement::{controls, ecctr, lcctl, set};
use guests::psw::bit;
use guests::shows;
use guests::{attempt, attempt_in_problem_state};

guests::clause!(
    "SA23-2260, measurement-counter-extraction-authorization control",
    native = false
);
guests::case!(run);

fn run() {
    let cr0 = stctg_0();
    shows!("CR0-2", cr0 >> 48 & 1, 0);
    check("LCCTL", lcctl(controls(set::BASIC, set::BASIC)), 0);
    let mut list = [0_u64; 8];
    let a = list.as_mut_ptr() as u64;
    #[allow(unused_assignments)]
    let mut scratch = 0_u64;
    for allowed in [false, true] {
        lctlg_0(if allowed {
            cr0 | bit(15)
        } else {
            cr0 & !bit(15)
        });
        shows!("ECCTR-12", ecctr(1).0, 0);
        let outcome = attempt_in_problem_state!(".insn rre,0xb2e40000,{v},{n}", v = inout(reg) scratch, n = in(reg) 1_u64);
        check(
            "ECCTR in problem state",
            outcome.number(),
            if allowed { 0 } else { suppressed(2, 4) },
        );
        let outcome = attempt!(".insn rsy,0xeb0000000017,{n},1,0({a})", n = in(reg) 6_u64, a = in(reg_addr) a);
        shows!("STCCTM-23", outcome.number(), 0);
        let outcome = attempt_in_problem_state!(".insn rre,0xb2e40000,{v},{n}", v = inout(reg) scratch, n = in(reg) 0x1_0000_u64);
        check(
            "ECCTR of a number beyond 16 bits",
            outcome.number(),
            suppressed(if allowed { 6 } else { 2 }, 4),
        );
        // The authority check comes before the specification exception.
        let number = outcome.number();
        if allowed {
            shows!(["ECCTR-10", "CR0-1"], number, suppressed(6, 4));
        } else {
            shows!(["ECCTR-11", "CR0-1"], number, suppressed(2, 4));
        }
        let outcome = attempt_in_problem_state!(".insn rre,0xb2e40000,{v},{n}", v = inout(reg) scratch, n = in(reg) 63_u64);
        check(
            "ECCTR of a reserved counter",
            outcome.number(),
            if allowed { 3 } else { suppressed(2, 4) },
        );
        let outcome = attempt_in_problem_state!(".insn rsy,0xeb0000000017,{n},1,0({a})", n = in(reg) 6_u64, a = in(reg_addr) a);
        check(
            "STCCTM in problem state",
            outcome.number(),
            if allowed { 0 } else { suppressed(2, 6) },
        );
        if allowed {
            shows!(["STCCTM-22", "CR0-1"], outcome.number(), 0);
        } else {
            shows!(["STCCTM-21", "CR0-1"], outcome.number(), suppressed(2, 6));
        }
        let outcome = attempt_in_problem_state!(".insn rsy,0xeb0000000017,{n},9,0({a})", n = in(reg) 6_u64, a = in(reg_addr) a);
        shows!(
            ["STCCTM-24", "STCCTM-21"],
            outcome.number(),
            suppressed(if allowed { 0x13 } else { 2 }, 6),
        );
        let outcome = attempt!(".insn rsy,0xeb0000000017,{n},9,0({a})", n = in(reg) 6_u64, a = in(reg_addr) a);
        check("STCCTM of code 9 in supervisor state", outcome.number(), 3);
        let outcome = attempt_in_problem_state!(".insn rre,0xb2e00000,{n},{n}", n = in(reg) 1_u64);
        shows!("SCCTR-10", outcome.number(), suppressed(2, 4));
        let outcome = attempt_in_problem_state!(
            "exrl %r0, 34f\n j 35f\n 34: .insn rre,0xb2e40000,{v},{n}\n 35:",
            v = inout(reg) scratch,
            n = in(reg) 1_u64,
        );
        check(
            "EXRL of ECCTR in problem state",
            outcome.number(),
            if allowed { 0 } else { suppressed(2, 6) },
        );
    }
    lctlg_0(cr0);
    lcctl(0);
}
