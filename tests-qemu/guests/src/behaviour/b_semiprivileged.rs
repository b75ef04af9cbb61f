//! Semiprivileged instructions: what the problem state may do is in control registers 0 and 3, and a special-operation
//! exception comes first. (QEMU has not all of them, and makes some privileged, hence not native.)

use core::arch::asm;

use guests::attempt::{Outcome, nullified, suppressed};
use guests::dat::{self, INVALID, WINDOW};
use guests::insn::control::{epsw, lctlg_all, stctg_all};
use guests::insn::cpu::Page;
use guests::insn::storage::{sske, with_psw_key};
use guests::psw::bit;
use guests::{
    attempt, attempt_in_problem_state, attempt_on_registers, attempt_on_registers_in_problem_state,
    shows,
};

guests::clause!(
    "SA22-7832, Authorization Mechanisms (PSW-key mask, extraction authority); semiprivileged instructions",
    native = false
);
guests::case!(run);

/// Extraction authority and secondary-space control, in control register 0.
const EXTRACTION: u64 = bit(36);
const SECONDARY_SPACE: u64 = bit(37);
/// What a register holds before.
const BEFORE: u64 = 0x5A5A_5A5A_5A5A_5A5A;
const PAGE: u64 = 4096;

static mut FRAME: Page = Page([0; 4096]);

/// Control registers 3 and 4: the PSW-key mask of keys 0 and 7, and the address-space numbers.
const CONTROL_3: u64 = 0x8100_5678;
const CONTROL_4: u64 = 0xFFFF_1234;

/// Runs a test with these bits of control register 0.
fn with(bits: u64, run: impl FnOnce()) {
    let saved = stctg_all();
    let mut control = saved;
    control[0] |= bits;
    control[3] = CONTROL_3;
    control[4] = CONTROL_4;
    lctlg_all(&control);
    run();
    lctlg_all(&saved);
}

/// What an instruction leaves in a register, in the supervisor and in the problem state.
macro_rules! extract {
    ($attempt:ident, $text:literal) => {{
        let mut register = BEFORE;
        let outcome = $attempt!($text, r = inout(reg) register);
        (outcome.code(), register)
    }};
}

fn run() {
    let frame = &raw const FRAME as u64;
    dat::prepare();
    dat::set_window(0, frame);
    dat::set_window(1, INVALID);
    sske(0x3E, frame);
    without_dat();
    with_dat();
    keys();
    spaces();
    // Key 7, which the PSW-key mask of the moves has.
    sske(0x70, frame);
    moves();
    sske(0, frame);
}

/// DAT off: special operation, in both states and with and without authority.
fn without_dat() {
    for bits in [0, EXTRACTION] {
        with(bits, || {
            let refused = [suppressed(0x13, 4); 2];
            macro_rules! both {
                ($text:literal) => {
                    [
                        attempt!($text).number(),
                        attempt_in_problem_state!($text).number(),
                    ]
                };
            }
            shows!(["EPAR-4", "EPAR-5"], both!("epar %r1"), refused);
            shows!(["ESAR-4", "ESAR-5"], both!("esar %r1"), refused);
            shows!(["IAC-7", "IAC-8"], both!("iac %r1"), refused);
            shows!(["IVSK-6", "IVSK-7"], both!("ivsk %r1, %r1"), refused);
            shows!(["SAC-7", "SAC-12"], both!("sac 0x300(%r0)"), refused);
            shows!(["SAC-7", "SAC-12"], both!("sac 0x400(%r0)"), refused);
            shows!("SAC-7", both!("sac 0"), refused);
        });
    }
}

/// DAT on, in each state, with and without authority.
fn with_dat() {
    for (bits, authorized) in [(0, false), (EXTRACTION, true)] {
        with(bits, || {
            dat::on();
            supervisor();
            problem(authorized);
            dat::off();
        });
    }
}

fn supervisor() {
    shows!(
        ["EPAR-1", "EPAR-2", "EPAR-8"],
        extract!(attempt, "epar {r}"),
        (0, 0x5A5A_5A5A_0000_1234)
    );
    shows!(
        ["ESAR-1", "ESAR-2", "ESAR-8"],
        extract!(attempt, "esar {r}"),
        (0, 0x5A5A_5A5A_0000_5678)
    );
    shows!(
        ["IAC-1", "IAC-2", "IAC-11"],
        extract!(attempt, "iac {r}"),
        (0, 0x5A5A_5A5A_5A5A_005A)
    );
    let mut registers = [0, BEFORE, 0, WINDOW + 0xABC, 0];
    let inserted = attempt_on_registers!("ivsk %r2, %r4", &mut registers);
    shows!(
        ["IVSK-1", "IVSK-2", "IVSK-3", "IVSK-10"],
        (inserted.code(), registers[1]),
        (0, 0x5A5A_5A5A_5A5A_5A38)
    );
    let mut registers = [0, BEFORE, 0, WINDOW + 0xABC, 0];
    let inserted = with_psw_key(5, || attempt_on_registers!("ivsk %r2, %r4", &mut registers));
    shows!("IVSK-4", (inserted.code(), registers[1] as u8), (0, 0x38));
    let mut registers = [0, BEFORE, 0, WINDOW + PAGE, 0];
    let invalid = attempt_on_registers!("ivsk %r2, %r4", &mut registers);
    shows!(
        "IVSK-11",
        (invalid.number(), registers[1]),
        (nullified(0x11, 4), BEFORE)
    );
    let mut registers = [0, BEFORE, 0, 0, 0];
    let key = with_psw_key(6, || attempt_on_registers!("ipk", &mut registers));
    shows!(
        ["IPK-1", "IPK-2", "IPK-6"],
        (key.code(), registers[1]),
        (0, 0x5A5A_5A5A_5A5A_5A60)
    );
    for code in 0..4_u8 {
        macro_rules! kept {
            ($([$($statement:literal),+] $text:literal),*) => {$(
                let mut registers = [0, u64::from(code) << 28, 0, WINDOW, 0];
                let outcome = attempt_on_registers!(concat!("spm %r2\n", $text), &mut registers);
                shows!([$($statement),+], outcome.condition_code(), code);
            )*};
        }
        kept!(["EPAR-3"] "epar %r2", ["ESAR-3"] "esar %r2", ["IVSK-5"] "ivsk %r2, %r4");
    }
}

fn problem(authorized: bool) {
    macro_rules! extracted {
        ($refused:literal, $performed:literal, $found:expr, $left:literal) => {
            if authorized {
                shows!($performed, $found, (0, $left));
            } else {
                shows!($refused, $found, (2, BEFORE));
            }
        };
    }
    let found = extract!(attempt_in_problem_state, "epar {r}");
    extracted!("EPAR-6", "EPAR-7", found, 0x5A5A_5A5A_0000_1234);
    let found = extract!(attempt_in_problem_state, "esar {r}");
    extracted!("ESAR-6", "ESAR-7", found, 0x5A5A_5A5A_0000_5678);
    let found = extract!(attempt_in_problem_state, "iac {r}");
    extracted!("IAC-9", "IAC-10", found, 0x5A5A_5A5A_5A5A_005A);
    let (mut valid, mut invalid) = (BEFORE, BEFORE);
    let first =
        attempt_in_problem_state!("ivsk {r}, {a}", r = inout(reg) valid, a = in(reg) WINDOW);
    let second = attempt_in_problem_state!("ivsk {r}, {a}", r = inout(reg) invalid, a = in(reg) WINDOW + PAGE);
    extracted!(
        "IVSK-8",
        "IVSK-9",
        (first.code(), valid),
        0x5A5A_5A5A_5A5A_5A38
    );
    shows!(
        ["IVSK-8", "IVSK-11"],
        (second.code(), invalid),
        (if authorized { 0x11 } else { 2 }, BEFORE)
    );
    let mut registers = [0, BEFORE, 0, 0, 0];
    let key = attempt_on_registers_in_problem_state!("ipk", &mut registers);
    extracted!(
        "IPK-4",
        "IPK-5",
        (key.code(), registers[1]),
        0x5A5A_5A5A_5A5A_5A00
    );
}

/// The PSW key in bits 8-11 of the left half of the PSW.
fn psw_key() -> u32 {
    epsw().0 >> 20 & 0xF
}

/// SET PSW KEY FROM ADDRESS: the problem state may set keys 0 and 7.
fn keys() {
    with(0, || {
        let mut found = [0; 16];
        for (key, found) in (0..16_u64).zip(&mut found) {
            // SAFETY: every key can fetch from storage with key zero, and key zero follows.
            unsafe { asm!("spka 0({k})", k = in(reg_addr) key << 4 | 0xFFFF_FFFF_FFFF_FF0F) };
            *found = psw_key();
            // SAFETY: as above.
            unsafe { asm!("spka 0") };
        }
        let expected = core::array::from_fn(|key| key as u32);
        shows!(["SPKA-1", "SPKA-2", "SPKA-6"], found, expected);
        for key in 0..16_u64 {
            let outcome = attempt_in_problem_state!("spka 0({k})", k = in(reg_addr) key << 4);
            if CONTROL_3 << (32 + key) >> 63 == 1 {
                shows!("SPKA-5", set_key(outcome), Some(key));
            } else {
                shows!(
                    "SPKA-4",
                    (outcome.number(), old_key(outcome)),
                    (suppressed(2, 4), Some(0))
                );
            }
        }
    });
}

/// The PSW key in the old PSW of a program interruption.
fn old_key(outcome: Outcome) -> Option<u64> {
    match outcome {
        Outcome::Program(program) => Some(program.old.mask >> 52 & 0xF),
        _ => None,
    }
}

/// The PSW key with which an instruction ended that the supervisor call of an attempt follows.
fn set_key(outcome: Outcome) -> Option<u64> {
    use guests::interruption::{Class, old_psw};
    match outcome {
        Outcome::Completed(_) => Some(old_psw(Class::SupervisorCall).mask >> 52 & 0xF),
        _ => None,
    }
}

/// The address-space control in the left half of the PSW.
fn space() -> u32 {
    epsw().0 >> 14 & 3
}

/// SET ADDRESS SPACE CONTROL, and INSERT ADDRESS SPACE CONTROL in the modes that it sets.
fn spaces() {
    with(0, || {
        dat::on();
        let found = [
            attempt!("sac 0").number(),
            attempt_in_problem_state!("sac 0x300(%r0)").number(),
            attempt!("sac 0x400(%r0)").number(),
        ];
        dat::off();
        shows!(["SAC-8", "SAC-12"], found, [suppressed(0x13, 4); 3]);
    });
    with(SECONDARY_SPACE, || {
        dat::on();
        /// Sets a mode and goes back to the primary-space mode: the address-space control, the condition code of
        /// INSERT ADDRESS SPACE CONTROL, and its register.
        macro_rules! set {
            ($address:literal) => {{
                let (code, register): (u64, u64);
                let set;
                // SAFETY: all spaces have the same tables.
                unsafe {
                    asm!(concat!("lay {t}, ", $address, "(%r0)"), "sac 0({t})", t = out(reg_addr) _);
                    set = space();
                    asm!("iac {r}", "ipm {c}", "sac 0", r = inout(reg) 0xFF00_u64 => register, c = out(reg) code);
                }
                (set, (code >> 28) as u8 & 3, register)
            }};
        }
        let found = [set!("0"), set!("0x100"), set!("0x300"), set!("0x7F1FF")];
        let mut kept = [0; 4];
        for (code, kept) in (0..4_u8).zip(&mut kept) {
            let mut registers = [0, u64::from(code) << 28, 0, 0, 0];
            *kept = attempt_on_registers!("spm %r2\n sac 0x100\n sac 0", &mut registers)
                .condition_code();
        }
        let codes = [4_u64, 5, 8, 15].map(|code| {
            [
                attempt!("sac 0({a})", a = in(reg_addr) code << 8).number(),
                attempt_in_problem_state!("sac 0({a})", a = in(reg_addr) code << 8).number(),
            ]
        });
        let home = attempt_in_problem_state!("sac 0x300(%r0)");
        let others = [
            attempt_in_problem_state!("sac 0(%r0)").code(),
            attempt_in_problem_state!("sac 0x100(%r0)").code(),
        ];
        dat::off();
        shows!(["SAC-1", "IAC-1", "IAC-3"], found[0], (0, 0, 0));
        shows!(["SAC-2", "IAC-1", "IAC-4"], found[1], (2, 1, 0x100));
        shows!(["SAC-4", "IAC-1", "IAC-6"], found[2], (3, 3, 0x300));
        shows!("SAC-5", found[3], (2, 1, 0x100));
        shows!("SAC-6", kept, [0, 1, 2, 3]);
        shows!("SAC-9", codes, [[suppressed(6, 4); 2]; 4]);
        shows!(
            "SAC-10",
            (home.number(), old_space(home)),
            (suppressed(2, 4), Some(0))
        );
        shows!("SAC-11", others, [0, 0]);
    });
}

/// The address-space control in the old PSW of a program interruption.
fn old_space(outcome: Outcome) -> Option<u64> {
    match outcome {
        Outcome::Program(program) => Some(program.old.mask >> 46 & 3),
        _ => None,
    }
}

fn to_primary(at: u64, key: u64) -> u64 {
    let mut registers = [0, at, 5, at, key];
    attempt_on_registers_in_problem_state!("mvcp 0(%r3,%r2), 0(%r4), %r5", &mut registers).number()
}

fn to_secondary(at: u64, key: u64) -> u64 {
    let mut registers = [0, at, 5, at, key];
    attempt_on_registers_in_problem_state!("mvcs 0(%r3,%r2), 0(%r4), %r5", &mut registers).number()
}

fn optional(controls: u64) -> u64 {
    let mut registers = [controls, WINDOW, 5, WINDOW, 0];
    attempt_on_registers_in_problem_state!(
        ".insn ssf,0xc80000000000,0(%r2),0(%r4),%r3",
        &mut registers
    )
    .number()
}

fn page(controls: u64) -> u64 {
    let mut registers = [controls, WINDOW, 0, WINDOW, 0];
    attempt_on_registers_in_problem_state!("mvpg %r2, %r4", &mut registers).number()
}

/// The moves between spaces and of pages in the problem state, whose PSW-key mask has keys 0 and 7.
fn moves() {
    with(0, || {
        dat::on();
        let found = [to_primary(WINDOW, 0x50), to_secondary(WINDOW, 0x50)];
        dat::off();
        shows!(["MVCP-12", "MVCS-12"], found, [suppressed(0x13, 6); 2]);
    });
    with(SECONDARY_SPACE, || {
        dat::on();
        let invalid = [
            to_primary(WINDOW + PAGE, 0x50),
            to_secondary(WINDOW + PAGE, 0x50),
        ];
        let performed = [to_primary(WINDOW, 0x70), to_secondary(WINDOW, 0x70)];
        let keys = [optional(0x5002), optional(0x5002 << 16)];
        let both = optional(0x7002 << 16 | 0x7002);
        let home = [optional(0x00C1 << 16), optional(0x00C1 << 16 | 0x5002)];
        let pages = [page(0x850), page(0x450), page(0x870)];
        dat::off();
        shows!(["MVCP-10", "MVCS-10"], invalid, [suppressed(2, 6); 2]);
        shows!(["MVCP-11", "MVCS-11"], performed, [0; 2]);
        shows!("MVCOS-13", keys, [suppressed(2, 6); 2]);
        shows!("MVCOS-14", both, 0);
        shows!(["MVCOS-12", "MVCOS-15"], home, [suppressed(0x13, 6); 2]);
        shows!("MVPG-14", pages, [suppressed(2, 4), suppressed(2, 4), 0]);
    });
}
