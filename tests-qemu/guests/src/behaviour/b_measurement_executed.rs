//! Measurement instructions as targets of EXECUTE RELATIVE LONG have the same effect as without it.

use guests::attempt;
use guests::insn::measurement::{
    CounterInformation, SamplingInformation, controls, ecctr, epctr, lcctl, lpctl, lsctl, qctri,
    qsi, set,
};
use guests::sampling::{self, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, every instruction as the target of EXECUTE",
    native = false,
    options = "--operator 'AUTH CPU 0 COUNTERS GROUP ON'"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const PARAMETER: u64 = 0x0F0F_1E1E_2D2D_3C3C;

fn run() {
    let wanted = controls(set::BASIC, 0);
    let outcome = attempt!(
        "exrl %r0, 34f\n j 35f\n 34: .insn s,0xb2840000,0({a})\n 35:",
        a = in(reg_addr) &raw const wanted,
    );
    let state = qctri();
    shows!(
        "LCCTL-21",
        (outcome.number(), controls(state.enable, state.activation)),
        (0, wanted)
    );
    let outcome = attempt!(
        "exrl %r0, 34f\n j 35f\n 34: .insn rre,0xb2e00000,{v},{n}\n 35:",
        v = in(reg) PARAMETER,
        n = in(reg) 1_u64,
    );
    shows!("SCCTR-11", (outcome.number(), ecctr(1).1), (0, PARAMETER));
    let mut value = 0_u64;
    let outcome = attempt!(
        "exrl %r0, 34f\n j 35f\n 34: .insn rre,0xb2e40000,{v},{n}\n 35:",
        v = inout(reg) value,
        n = in(reg) 1_u64,
    );
    shows!("ECCTR-13", (outcome.number(), value), (0, PARAMETER));
    let mut list = [0_u64; 6];
    let outcome = attempt!(
        "exrl %r0, 34f\n j 35f\n 34: .insn rsy,0xeb0000000017,{n},1,0({a})\n 35:",
        n = in(reg) 6_u64,
        a = in(reg_addr) list.as_mut_ptr(),
    );
    // SAFETY: stored by the instruction.
    let second = unsafe { list.as_ptr().add(1).read_volatile() };
    shows!("STCCTM-28", (outcome.number(), second), (0, PARAMETER));
    let mut counters = CounterInformation::default();
    let _ = attempt!(
        "exrl %r0, 34f\n j 35f\n 34: .insn s,0xb28e0000,0({a})\n 35:",
        a = in(reg_addr) &raw mut counters,
    );
    // SAFETY: stored by the instruction.
    let counters = unsafe { core::ptr::read_volatile(&raw const counters) };
    shows!("QCTRI-17", counters, qctri());
    let request = sampling::prepare(4, INTERVAL);
    let outcome = attempt!(
        "exrl %r0, 34f\n j 35f\n 34: .insn s,0xb2870000,0({a})\n 35:",
        a = in(reg_addr) &raw const request,
    );
    shows!(
        "LSCTL-26",
        (outcome.number(), qsi().state & 0x303),
        (0, 0x202)
    );
    let parameter = PARAMETER;
    let _ = attempt!(
        "exrl %r0, 34f\n j 35f\n 34: .insn s,0xb2800000,0({a})\n 35:",
        a = in(reg_addr) &raw const parameter,
    );
    busy(4 * INTERVAL);
    let mut sampled = SamplingInformation::default();
    let _ = attempt!(
        "exrl %r0, 34f\n j 35f\n 34: .insn s,0xb2860000,0({a})\n 35:",
        a = in(reg_addr) &raw mut sampled,
    );
    // SAFETY: stored by the instruction.
    let sampled = unsafe { core::ptr::read_volatile(&raw const sampled) };
    shows!(
        "QSI-18",
        (sampled.state, sampled.tear),
        (qsi().state, request.tear)
    );
    coprocessor_groups();
    sampling::stop();
    shows!("LPP-16", sampling::entry(0, 2).guest_parameter, PARAMETER);
    lsctl(&Default::default());
    lcctl(0);
}

/// The instructions on coprocessor groups.
fn coprocessor_groups() {
    let inactive = 2_u64;
    let outcome = attempt!(
        "exrl %r0, 34f\n j 35f\n 34: .insn s,0xb2850000,0({a})\n 35:",
        a = in(reg_addr) &raw const inactive,
    );
    shows!("LPCTL-13", (outcome.number(), qctri().enable >> 15), (0, 1));
    let outcome = attempt!(
        "exrl %r0, 34f\n j 35f\n 34: .insn rre,0xb2e10000,{v},{n}\n 35:",
        v = in(reg) PARAMETER,
        n = in(reg) 7_u64,
    );
    shows!(
        "SPCTR-12",
        (outcome.number(), epctr(7, 0)),
        (0, (0, PARAMETER))
    );
    let mut value = 0_u64;
    let outcome = attempt!(
        "exrl %r0, 34f\n j 35f\n 34: .insn rre,0xb2e50000,{v},{n}\n 35:",
        v = inout(reg) value,
        n = in(reg) 7_u64,
    );
    shows!("EPCTR-12", (outcome.number(), value), (0, PARAMETER));
    let outcome = attempt!(
        "exrl %r0, 34f\n j 35f\n 34: .insn rre,0xb2ed0000,{v},{n}\n 35:",
        v = inout(reg) value,
        n = in(reg) 0_u64,
    );
    shows!(
        "ECPGA-9",
        (outcome.number(), value),
        (0, PARAMETER & !0xFFFF_FFFF)
    );
    lpctl(0);
}
