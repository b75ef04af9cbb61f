//! The instruction-length code of program and supervisor-call interruptions.

use guests::attempt::Outcome;
use guests::insn::control::{lctlg_0, stctg_0};
use guests::interruption::Class;
use guests::psw::{self, Psw, bit};
use guests::{attempt, dat, lowcore, shows};

guests::clause!(
    "SA22-7832, Chapter 6, Instruction-Length Code",
    native = false
);
guests::case!(run);

/// The halfword with the length code, as it stands in storage.
fn halfword() -> u16 {
    lowcore::read(lowcore::PROGRAM_LENGTH)
}

fn operation(outcome: Outcome) -> (u16, u16) {
    (outcome.code(), halfword())
}

fn lengths() {
    shows!("ILC-1", operation(attempt!(".short 0")), (1, 2));
    shows!("ILC-2", operation(attempt!(".long 0xB9F30012")), (1, 4));
    shows!(
        "ILC-3",
        operation(attempt!(".short 0xE3FF, 0, 0x00FF")),
        (1, 6)
    );
    let executed = attempt!("larl %r1, 34f\n ex 0, 0(%r1)\n j 35f\n 34: .short 0\n 35:");
    shows!("ILC-4", operation(executed), (1, 4));
    let executed = attempt!("exrl 0, 34f\n j 35f\n 34: .short 0\n 35:");
    shows!("ILC-4", operation(executed), (1, 6));
    let _ = attempt!("svc 0xA5");
    shows!(
        "SUPERVISOR-1",
        lowcore::read::<u16>(lowcore::SVC_CODE),
        0xA5
    );
    shows!("ILC-5", lowcore::read::<u16>(lowcore::SVC_LENGTH), 2);
    let or = 0x40_u64;
    let _ = attempt!("exrl {r}, 34f\n j 35f\n 34: svc 1\n 35:", r = in(reg_addr) or);
    shows!(
        "SUPERVISOR-2",
        lowcore::read::<u16>(lowcore::SVC_CODE),
        0x41
    );
    shows!("ILC-5", lowcore::read::<u16>(lowcore::SVC_LENGTH), 6);
}

/// Introduces a PSW that is not valid by an instruction; returns the halfword and how far the old address advanced.
fn early(outcome: Outcome) -> (u16, u16, i64) {
    match outcome {
        Outcome::Program(program) => (program.code, halfword(), program.advanced),
        _ => (0, 0, 0),
    }
}

fn introduced() {
    let byte = 0x80_u8;
    let ssm = attempt!("ssm 0({b})", b = in(reg_addr) &raw const byte);
    shows!("ILC-6", early(ssm), (6, 4, 4));
    let mut old = 0_u8;
    let stosm = attempt!("stosm 0({b}), 0x20", b = in(reg_addr) &raw mut old);
    shows!("ILC-6", early(stosm), (6, 4, 4));
    psw::load_psw(psw::INITIAL);
    let bad = Psw::new(psw::INITIAL | bit(0), 0x1000);
    let lpswe = attempt!("lpswe 0({p})", p = in(reg_addr) &raw const bad);
    shows!("ILC-7", (lpswe.code(), halfword()), (6, 0));
    let good: Psw = lowcore::read(Class::SupervisorCall.new());
    lowcore::write(
        Class::SupervisorCall.new(),
        Psw::new(good.mask | bit(0), good.address),
    );
    let svc = attempt!("svc 7");
    lowcore::write(Class::SupervisorCall.new(), good);
    shows!("ILC-7", (svc.code(), halfword()), (6, 0));
}

/// A branch to a place from which no instruction can be fetched: the code, whether the length is one of an instruction,
/// and the address of the old PSW without the length if the exception suppresses.
fn fetched(at: u64) -> (u16, bool, u64) {
    let outcome = attempt!("basr %r1, {a}", a = in(reg_addr) at);
    let Outcome::Program(program) = outcome else {
        return (0, false, 0);
    };
    let length = u64::from(halfword());
    let begin = match program.code {
        0x10 | 0x11 | 0x38..=0x3B => program.old.address,
        _ => program.old.address - length,
    };
    (program.code, matches!(length, 2 | 4 | 6), begin)
}

fn instruction_fetches() {
    shows!("ILC-8", fetched(0x7000_0000), (5, true, 0x7000_0000));
    dat::prepare();
    dat::set_window(0, dat::INVALID);
    let cr0 = stctg_0();
    lctlg_0(cr0 | bit(43));
    dat::set_window(1, bit(55));
    dat::on();
    let invalid = fetched(dat::WINDOW + 0x10);
    let protected = fetched(dat::WINDOW + 0x1010);
    dat::off();
    lctlg_0(cr0);
    shows!("ILC-9", invalid, (0x11, true, dat::WINDOW + 0x10));
    shows!("ILC-8", protected, (4, true, dat::WINDOW + 0x1010));
}

fn run() {
    lengths();
    introduced();
    instruction_fetches();
}
