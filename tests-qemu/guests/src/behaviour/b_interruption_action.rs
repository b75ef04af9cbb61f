//! What every interruption does: it stores the current PSW as the old one of its class, and the whole new PSW of the
//! class becomes current. No register changes, and what is masked stays pending.

use core::arch::asm;

use guests::insn::control::{lctlg_0, stctg_0, stctg_all};
use guests::insn::cpu::{Order, sigp};
use guests::interruption::{Class, old_psw};
use guests::psw::{self, Psw, bit};
use guests::{externals, lowcore, shows};

guests::clause!(
    "SA22-7832, Chapter 6, Interruption Action; Enabling and Disabling",
    native = true
);
guests::case!(run);

/// The PSW while a program is interrupted, and on arrival at the new PSW, and the old PSW.
struct Arrived {
    /// Bits 0-63 of the current PSW.
    now: u64,
    old: Psw,
    /// The distance of the old address from the beginning of the interrupted text.
    length: u64,
    /// Whether general registers 2 to 13 and the control registers are as they were.
    registers: bool,
}

/// Loads a PSW with `before` as its left half, performs a text, and arrives by the new PSW of a class, whose left half is
/// `new`.
macro_rules! arrive {
    ($class:expr, $before:expr, $new:expr, $text:literal) => {{
        let at = $class.new();
        let kept: Psw = lowcore::read(at);
        let control = stctg_all();
        let mut psws = [Psw::new($before, 0), Psw::new($new, 0)];
        let mut found = [0_u64; 4];
        let mut saved = [[0_u64; 12]; 2];
        // SAFETY: the new PSW leads to the text behind; a PSW with the initial left half follows.
        unsafe {
            asm!(
                "larl %r1, 36f",
                "stg %r1, 8(%r2)",
                "stg %r1, 16(%r4)",
                "larl %r1, 37f",
                "stg %r1, 24(%r2)",
                "mvc 0(16,%r3), 16(%r2)",
                "stmg %r2, %r13, 0(%r5)",
                "lpswe 0(%r2)",
                "36:",
                $text,
                "j .",
                "37:",
                "stmg %r2, %r13, 96(%r5)",
                "epsw %r0, %r1",
                "stg %r0, 0(%r4)",
                "stg %r1, 8(%r4)",
                in("r2") psws.as_mut_ptr(),
                in("r3") at,
                in("r4") found.as_mut_ptr(),
                in("r5") saved.as_mut_ptr(),
                out("r0") _,
                out("r1") _,
            );
        }
        psw::load_psw(psw::INITIAL);
        lowcore::write(at, kept);
        let old = old_psw($class);
        Arrived {
            now: found[0] << 32 | found[1] & 0xFFFF_FFFF,
            old,
            length: old.address.wrapping_sub(found[2]),
            registers: saved[0] == saved[1] && stctg_all() == control,
        }
    }};
}

/// Every field of the PSW that a program may set while DAT is off: key, space, condition code, program mask.
const FIELDS: u64 = 0x3 << 52 | 0x8000 << 32 | 0x2000 << 32 | 0x0500 << 32 | psw::INITIAL;
/// Another such PSW.
const OTHER: u64 = 0x9 << 52 | 0xC000 << 32 | 0x1000 << 32 | 0x0200 << 32 | psw::INITIAL;

fn old_and_new() {
    let svc = arrive!(Class::SupervisorCall, FIELDS, OTHER, "svc 3");
    shows!("INTERRUPTION-1", (svc.old.mask, svc.length), (FIELDS, 2));
    shows!("INTERRUPTION-2", svc.now, OTHER);
    shows!("INTERRUPTION-3", svc.registers);
    let program = arrive!(Class::Program, FIELDS, OTHER, ".short 0");
    shows!(
        "INTERRUPTION-4",
        (program.old.mask, program.length),
        (FIELDS, 2)
    );
    shows!("INTERRUPTION-2", program.now, OTHER);
    shows!("INTERRUPTION-3", program.registers);
    let problem = arrive!(
        Class::Program,
        FIELDS | psw::PROBLEM,
        psw::INITIAL,
        ".short 0"
    );
    shows!("INTERRUPTION-4", problem.old.mask, FIELDS | psw::PROBLEM);
    // To the problem state, in which EXTRACT PSW is allowed, and back by a supervisor call.
    let external = {
        let cr0 = stctg_0();
        lctlg_0(cr0 | externals::EXTERNAL_CALL);
        let _ = sigp(0, Order::ExternalCall, 0);
        let found = arrive!(Class::External, FIELDS | psw::EXTERNAL, OTHER, "nopr");
        lctlg_0(cr0);
        found
    };
    shows!(
        "INTERRUPTION-5",
        (external.old.mask, external.length),
        (FIELDS | psw::EXTERNAL, 0)
    );
    shows!("INTERRUPTION-2", external.now, OTHER);
    shows!("INTERRUPTION-3", external.registers);
}

/// An interruption whose new PSW is enabled for another one that is pending: the second one interrupts the first
/// instruction of the first.
fn one_after_the_other() {
    let cr0 = stctg_0();
    lctlg_0(cr0 | externals::EXTERNAL_CALL);
    let _ = sigp(0, Order::ExternalCall, 0);
    let handler: Psw = lowcore::read(Class::SupervisorCall.new());
    lowcore::write(
        Class::SupervisorCall.new(),
        Psw::new(handler.mask | psw::EXTERNAL, handler.address),
    );
    let found = arrive!(Class::External, psw::INITIAL, psw::INITIAL, "svc 9");
    lowcore::write(Class::SupervisorCall.new(), handler);
    lctlg_0(cr0);
    let code: u16 = lowcore::read(lowcore::SVC_CODE);
    shows!(
        "PRIORITY-1",
        (code, found.old.address),
        (9, handler.address)
    );
    shows!("PRIORITY-1", found.old.mask, handler.mask | psw::EXTERNAL);
}

fn masked() {
    externals::record();
    let cr0 = stctg_0();
    lctlg_0(cr0 | externals::EXTERNAL_CALL);
    let _ = sigp(0, Order::ExternalCall, 0);
    psw::load_psw(psw::INITIAL);
    let none = externals::take_codes();
    psw::load_psw(psw::INITIAL | psw::EXTERNAL);
    psw::load_psw(psw::INITIAL);
    let one = externals::take_codes();
    psw::load_psw(psw::INITIAL | psw::EXTERNAL);
    psw::load_psw(psw::INITIAL);
    let no_more = externals::take_codes();
    lctlg_0(cr0);
    shows!("INTERRUPTION-6", none, 0);
    shows!("INTERRUPTION-7", one, 0x1202);
    shows!("INTERRUPTION-8", no_more, 0);
    // No mask disables the other two.
    let svc = arrive!(Class::SupervisorCall, psw::INITIAL, psw::INITIAL, "svc 255");
    shows!("INTERRUPTION-9", svc.length, 2);
    let program = arrive!(
        Class::Program,
        psw::INITIAL,
        psw::INITIAL,
        ".long 0xB9F30000"
    );
    shows!("INTERRUPTION-9", program.length, 4);
    // The addressing mode is part of the PSW.
    let narrow = arrive!(Class::Program, bit(32), psw::INITIAL, ".short 0");
    shows!(
        "INTERRUPTION-4",
        (narrow.old.mask, narrow.length),
        (bit(32), 2)
    );
}

fn run() {
    // What was printed has left a service signal pending, for which the program is not enabled.
    let cr0 = stctg_0();
    lctlg_0(cr0 & !externals::SERVICE_SIGNAL);
    old_and_new();
    one_after_the_other();
    masked();
}
