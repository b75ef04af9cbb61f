//! Conditions of program interruptions, their endings and their priority, where QEMU differs: it knows no
//! SSM-suppression and no secondary-space control, executes what is at an odd address of EXECUTE, and stores parts of an operand before it meets an
//! exception. (Hence not native.)

use guests::attempt::{nullified, suppressed};
use guests::dat::{self, INVALID, WINDOW};
use guests::insn::control::{lctlg_0, lctlg_all, stctg_0, stctg_all};
use guests::insn::cpu::Page;
use guests::misdirected::{load, store};
use guests::psw::bit;
use guests::{attempt, attempt_in_problem_state, attempt_on_registers, shows};

guests::clause!(
    "SA22-7832, Chapter 6, Types of Instruction Ending; Special-Operation Exception; Multiple Program-Interruption Conditions; Chapter 4, Control Registers",
    native = false
);
guests::case!(run);

static mut PAGE: Page = Page([0; 4096]);

const NOT_VALID: u64 = WINDOW + 0x1000;
/// An address beyond every storage.
const FAR: u64 = 0x7000_0000;

fn suppression() {
    let cr0 = stctg_0();
    let byte = 0_u8;
    let at = &raw const byte;
    lctlg_0(cr0 | bit(33));
    let refused = attempt!("ssm 0({a})", a = in(reg_addr) at);
    let before_access = attempt!("ssm 0({a})", a = in(reg_addr) FAR);
    let problem = attempt_in_problem_state!("ssm 0({a})", a = in(reg_addr) at);
    let stosm = attempt!("stosm 0({a}), 0", a = in(reg_addr) at);
    lctlg_0(cr0);
    shows!(
        ["PROGRAM-11", "CONTROL-3"],
        refused.number(),
        suppressed(0x13, 4)
    );
    shows!("CONTROL-3", stosm.code(), 0);
    shows!(
        "CONTROL-3",
        attempt!("ssm 0({a})", a = in(reg_addr) at).code(),
        0
    );
    shows!("PRIORITY-2", before_access.number(), suppressed(0x13, 4));
    shows!("PRIORITY-3", problem.number(), suppressed(2, 4));
    let odd = attempt!("ex %r0, 1({a})", a = in(reg_addr) 0x2000_u64);
    shows!("PROGRAM-7", odd.number(), suppressed(6, 4));
}

/// Nothing has changed after an instruction that did not complete.
fn unchanged() {
    let frame = &raw const PAGE as u64;
    let mark = 0x1234_5678_u64;
    for at in (0..4096).step_by(8) {
        store(frame + at, mark);
    }
    dat::set_window(0, frame);
    dat::set_window(1, INVALID);
    let kept = stctg_all();
    dat::on();
    let at = NOT_VALID;
    let stores = [
        attempt!("stctg 0, 15, 0({a})", a = in(reg_addr) at - 64).number(),
        attempt!("stctl 0, 15, 0({a})", a = in(reg_addr) at - 32).number(),
        attempt!("stidp 0({a})", a = in(reg_addr) at).number(),
    ];
    let loads = attempt!("lctlg 2, 5, 0({a})", a = in(reg_addr) at - 16).number();
    let mut registers = [0, at - 8, 0, 16, 0];
    let moved = attempt_on_registers!("mvcp 0(%r4,%r2), 0(%r2), %r0", &mut registers).code();
    dat::off();
    shows!(
        "ENDING-2",
        (stores, loads),
        (
            [nullified(0x11, 6), nullified(0x11, 4), nullified(0x11, 4)],
            nullified(0x11, 6)
        )
    );
    shows!(
        "ENDING-3",
        (4096 - 64..4096)
            .step_by(8)
            .all(|at| load(frame + at) == mark)
    );
    shows!("ENDING-4", stctg_all() == kept);
    shows!("ENDING-3", (moved != 0, load(frame + 4088)), (true, mark));
}

fn priorities() {
    let at = NOT_VALID;
    dat::on();
    // The boundary of an operand comes before its access.
    let boundary = attempt!("stpt 4({a})", a = in(reg_addr) at);
    let boundary_far = attempt!("lpswe 4({a})", a = in(reg_addr) FAR);
    // Privilege comes before both.
    let privilege = attempt_in_problem_state!("stpt 4({a})", a = in(reg_addr) at);
    // The instruction must be fetched before anything else: the second halfword is on the next page.
    store(&raw const PAGE as u64 + 4088, 0x0700_0700_0700_B20A);
    let fetch = attempt_in_problem_state!("basr %r1, {a}", a = in(reg_addr) at - 2);
    // A store into the low addresses is refused before it is translated.
    let cr0 = stctg_0();
    lctlg_0(cr0 | bit(35));
    dat::set_identity(0x1000, false);
    let low = attempt!("stap 0({a})", a = in(reg_addr) 0x1100_u64);
    dat::set_identity(0x1000, true);
    lctlg_0(cr0);
    let operation = attempt_in_problem_state!(".long 0xB9F30012");
    dat::off();
    shows!("PRIORITY-4", boundary.number(), suppressed(6, 4));
    shows!("PRIORITY-4", boundary_far.number(), suppressed(6, 4));
    shows!("PRIORITY-3", privilege.number(), suppressed(2, 4));
    shows!("PRIORITY-5", fetch.code(), 0x11);
    shows!("PRIORITY-6", low.code(), 4);
    shows!("PRIORITY-7", operation.code(), 1);
    // An odd address of EXECUTE comes before the fetch of the target.
    shows!(
        "PRIORITY-8",
        attempt!("ex %r0, 1({a})", a = in(reg_addr) FAR).number(),
        suppressed(6, 4)
    );
    shows!(
        "PRIORITY-8",
        attempt!("ex %r0, 0({a})", a = in(reg_addr) FAR).number(),
        suppressed(5, 4)
    );
    dat::on();
    let odd = attempt!("ex %r0, 1({a})", a = in(reg_addr) at).number();
    let even = attempt!("ex %r0, 0({a})", a = in(reg_addr) at).number();
    dat::off();
    shows!(
        ["PRIORITY-8", "ILC-11"],
        [odd, even],
        [suppressed(6, 4), nullified(0x11, 4)]
    );
}

/// Controls of programs in control register 0.
fn controls() {
    let cr0 = stctg_0();
    // INSERT PSW KEY changes general register 2, which is kept.
    let insert = || attempt_in_problem_state!("lgr %r1, %r2\n ipk\n lgr %r2, %r1");
    lctlg_0(cr0 & !bit(36));
    let without = insert();
    lctlg_0(cr0 | bit(36));
    let with = insert();
    lctlg_0(cr0);
    shows!("CONTROL-4", (without.code(), with.code()), (2, 0));
    dat::on();
    lctlg_0(cr0 & !bit(37));
    let without = attempt!("sacf 0x100\n sacf 0");
    lctlg_0(cr0 | bit(37));
    let with = attempt!("sacf 0x100\n sacf 0");
    lctlg_0(cr0);
    dat::off();
    shows!("CONTROL-5", (without.code(), with.code()), (0x13, 0));
}

fn run() {
    let kept = stctg_all();
    dat::prepare();
    suppression();
    unchanged();
    priorities();
    controls();
    lctlg_all(&kept);
}
