//! MONITOR CALL: if the monitor mask of its class is one, it causes a monitor event, which stores class and code;
//! otherwise it has no effect. It is allowed in the problem state. A class beyond 15 is a specification exception,
//! whatever the masks.

use guests::attempt::suppressed;
use guests::insn::control::{lctlg_8, spm};
use guests::monitor::enabled;
use guests::{attempt, attempt_in_problem_state, lowcore, shows};

guests::clause!("SA22-7832, MONITOR CALL", native = true);
guests::case!(run);

const MONITOR_EVENT: u16 = 0x40;
const SPECIFICATION: u16 = 6;

/// The class and the code that the last monitor event has stored.
fn stored() -> (u16, u64) {
    (
        lowcore::read(lowcore::MONITOR_CLASS),
        lowcore::read(lowcore::MONITOR_CODE),
    )
}

fn set_stored() {
    lowcore::write(lowcore::MONITOR_CLASS, 0xEEEE_u16);
    lowcore::write(lowcore::MONITOR_CODE, u64::MAX);
}

/// A monitor call of any class: the target of an EXECUTE RELATIVE LONG, which modifies its immediate field.
fn executed(class: u64) -> u64 {
    attempt!(
        "exrl {c}, 34f\n j 35f\n 34: mc 0x234(%r0), 0\n 35:",
        c = in(reg_addr) class,
    )
    .number()
}

fn run() {
    for class in 0..16 {
        set_stored();
        lctlg_8(enabled(class));
        shows!(
            ["MC-1", "MC-3"],
            executed(class.into()),
            suppressed(MONITOR_EVENT, 6)
        );
        shows!(["MC-1", "MC-2"], stored(), (class as u16, 0x234));
        set_stored();
        lctlg_8(!enabled(class) & 0xFFFF);
        spm(0x20);
        shows!("MC-4", executed(class.into()) >> 32, 0);
        shows!("MC-4", stored(), (0xEEEE, u64::MAX));
    }
    lctlg_8(enabled(3));
    let code = 0xFEDC_BA98_7654_3000_u64;
    let event = attempt!("mc 0x210({a}), 3", a = in(reg_addr) code);
    shows!("MC-3", event.number(), suppressed(MONITOR_EVENT, 4));
    shows!("MC-2", stored().1, code + 0x210);
    let problem = attempt_in_problem_state!("mc 0x235(%r0), 3");
    shows!(
        "MC-6",
        (problem.number(), stored().1),
        (suppressed(MONITOR_EVENT, 4), 0x235)
    );
    shows!(
        "MC-6",
        attempt_in_problem_state!("mc 0x235(%r0), 4").code(),
        0
    );
    for code in 0..4_u8 {
        let kept = attempt!("spm {m}\n mc 0(%r0), 4", m = in(reg) u64::from(code) << 28);
        shows!("MC-5", kept.condition_code(), code);
    }
    for masks in [0, 0xFFFF, u64::MAX] {
        lctlg_8(masks);
        let refused = [
            attempt!("mc 0(%r0), 16").number(),
            attempt!("mc 0(%r0), 255").number(),
            executed(0x80),
        ];
        let [plain, modified] = [4, 6].map(|length| suppressed(SPECIFICATION, length));
        shows!("MC-7", refused, [plain, plain, modified]);
    }
    lctlg_8(0);
}
