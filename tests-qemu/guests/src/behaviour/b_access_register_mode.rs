//! The access-register mode is not offered, because QEMU ends when a program accesses storage in it. A control program
//! learns this at each way into the mode; the access registers hold what is loaded into them all the same.

use core::arch::asm;

use guests::attempt::{Outcome, ProgramInterruption, suppressed};
use guests::check::{check, holds};
use guests::insn::control::{epsw, lctlg_0, stctg_0};
use guests::interruption::Class;
use guests::psw::{self, Psw, bit, load_psw};
use guests::{attempt, attempt_in_problem_state, attempt_on_registers, dat, lowcore, shows};

guests::clause!(
    "SA22-7832, Translation Modes (access-register mode); SET ADDRESS SPACE CONTROL; PURGE ALB; LOAD ACCESS MULTIPLE",
    native = false
);
guests::case!(run);

/// The address-space control of the access-register mode.
const ACCESS_REGISTER: u64 = bit(17);

/// The address-space control in the left half of the PSW.
fn space() -> u32 {
    epsw().0 >> 14 & 3
}

/// The interruption that an attempt met.
fn interruption(outcome: Outcome) -> Option<ProgramInterruption> {
    match outcome {
        Outcome::Program(program) => Some(program),
        _ => None,
    }
}

fn run() {
    let cr0 = stctg_0();
    lctlg_0(cr0 | bit(37));
    registers();
    instructions();
    with_dat_off();
    by_load_psw();
    by_interruption();
    lctlg_0(cr0);
}

/// The access registers are the program's in every mode.
fn registers() {
    let values: [u32; 4] = [0x1111_1111, 0, 1, 0xFFFF_FFFF];
    let mut stored = [0_u32; 4];
    let copied: u32;
    // SAFETY: the program does not use access registers 4 to 7.
    unsafe {
        asm!(
            "lam %a4, %a7, 0({v})",
            "ear {c}, %a7",
            "sar %a6, {c}",
            "stam %a4, %a7, 0({s})",
            v = in(reg_addr) &raw const values,
            s = in(reg_addr) &raw mut stored,
            c = out(reg) copied,
        );
    }
    check("EAR", copied, 0xFFFF_FFFF);
    holds(
        "STAM stores what LAM and SAR loaded",
        stored == [0x1111_1111, 0, 0xFFFF_FFFF, 0xFFFF_FFFF],
    );
}

/// The instructions that name the mode.
fn instructions() {
    dat::prepare();
    dat::on();
    check("SAC", attempt!("sac 0x200(%r0)").code(), 6);
    check("SACF", attempt!("sacf 0x200(%r0)").code(), 6);
    let problem = attempt_in_problem_state!("sacf 0x200(%r0)");
    check("SACF in the problem state", problem.code(), 6);
    check("  the space", space(), 0);
    let at = [0_u64; 2];
    let move_ = |controls| {
        let mut registers = [
            controls,
            &raw const at as u64,
            8,
            &raw const at as u64 + 8,
            0,
        ];
        attempt_on_registers!(".insn ssf,0xc80000000000,0(%r2),0(%r4),%r3", &mut registers).code()
    };
    check("MVCOS: the first operand", move_(0x0041_0000), 0x13);
    check("MVCOS: the second operand", move_(0x0041), 0x13);
    dat::off();
    for code in 0..4_u8 {
        let kept = attempt!("spm {m}\n palb", m = in(reg) u64::from(code) << 28);
        shows!("PALB-2", kept.condition_code(), code);
    }
    let problem = attempt_in_problem_state!("palb");
    shows!("PALB-3", problem.number(), suppressed(2, 4));
}

/// With DAT off the control has no meaning: addresses are real.
fn with_dat_off() {
    let mut prefix = 0xFFFF_FFFF_u32;
    load_psw(psw::INITIAL | ACCESS_REGISTER);
    let found = space();
    // SAFETY: stores into a variable of the program.
    unsafe { asm!("stpx 0({p})", p = in(reg_addr) &raw mut prefix) };
    load_psw(psw::INITIAL);
    check("DAT off: the space", found, 1);
    check("  STPX", prefix, 0);
}

/// LOAD PSW EXTENDED and STORE THEN OR SYSTEM MASK introduce a PSW that the machine refuses.
fn by_load_psw() {
    let psw = Psw::new(psw::INITIAL | psw::DAT | ACCESS_REGISTER, 0x1234);
    let loaded = attempt!("lpswe 0({p})", p = in(reg_addr) &raw const psw);
    if let Some(met) = interruption(loaded) {
        check("LPSWE", met.code, 6);
        check("  length code", met.length, 0);
        holds("  the old PSW is the loaded one", met.old == psw);
    }
    let mut byte = 0xFF_u8;
    load_psw(psw::INITIAL | ACCESS_REGISTER);
    let stored = attempt!("stosm 0({b}),4", b = in(reg_addr) &raw mut byte);
    if let Some(met) = interruption(stored) {
        check("STOSM", met.code, 6);
        check("  the space", met.old.mask >> 46 & 3, 1);
        check("  DAT", met.old.mask & psw::DAT, psw::DAT);
        check("  the byte", byte, 0);
    }
}

/// A new PSW in the mode is refused, too: the program interruption follows the supervisor call.
fn by_interruption() {
    let good: Psw = lowcore::read(Class::SupervisorCall.new());
    let bad = Psw::new(good.mask | psw::DAT | ACCESS_REGISTER, good.address);
    lowcore::write(Class::SupervisorCall.new(), bad);
    let met = attempt!("svc 7");
    lowcore::write(Class::SupervisorCall.new(), good);
    if let Some(met) = interruption(met) {
        check("a new PSW", met.code, 6);
        holds("  the old PSW is the new one", met.old == bad);
    }
}
