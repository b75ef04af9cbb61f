//! How long an instruction that the machine performs takes, beside the same on a machine that performs it itself.
//!
//! The clock must be a real one, so the run is one in real time. Each line is `time <name> <picoseconds>`: what one instance
//! takes, the loop's own instructions included, or `time <name> absent`. DAT is on, and the program is in the supervisor state unless it says otherwise.
#![no_std]
#![no_main]

use guests::dat::{self, WINDOW};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::{Page, facility, stpx};
use guests::insn::measurement::{controls, lcctl, set};
use guests::interruption::{Class, returning};
use guests::psw::{self, Psw};
use guests::{lowcore, println};

guests::clause!("measure: times of single instructions", native = true);
guests::guest!(run);

/// Instances of a loop.
const N: u64 = 1000;
/// How often each loop runs; the shortest time counts.
const RUNS: u32 = 12;
/// Where the loops store their clock stamps (real and virtual).
const STAMPS: usize = 0xB00;
/// Bit 37 of control register 0.
const SECONDARY_SPACE_CONTROL: u64 = 1 << 26;
/// Storage that nothing else uses.
static mut PAGES: [Page; 4] = [const { Page([0; 4096]) }; 4];

/// Prints the time of one instance of a text, or that there is none because a program interruption ended it. Register 5 has
/// the address of storage, and the text may change registers 0 to 4 and 6 to 9.
macro_rules! time {
    ($name:literal, $text:literal) => {{
        let mut shortest = u64::MAX;
        // The first run makes the text known to the machine, and others are disturbed.
        for _ in 0..core::hint::black_box(RUNS) {
            // SAFETY: the texts change nothing that is not named. A program interruption continues at label 50.
            unsafe {
                core::arch::asm!(
                    "mvghi 0x708(%r0), 0",
                    "larl %r1, 50f",
                    "stg %r1, 0x700(%r0)",
                    "stckf 0xB00(%r0)",
                    "40:",
                    $text,
                    "brctg {turns}, 40b",
                    "stckf 0xB08(%r0)",
                    "50:",
                    turns = inout(reg) N => _,
                    in("r5") &raw mut PAGES,
                    out("r0") _, out("r1") _, out("r2") _, out("r3") _, out("r4") _,
                    out("r6") _, out("r7") _, out("r8") _, out("r9") _,
                );
            }
            lowcore::write(lowcore::RESUME, 0_u64);
            if lowcore::read::<u64>(lowcore::ENDED_BY) != 0 {
                break;
            }
            let units = lowcore::read::<u64>(STAMPS + 8) - lowcore::read::<u64>(STAMPS);
            shortest = shortest.min(units);
        }
        match shortest {
            u64::MAX => println!("time {} absent", $name),
            _ => println!("time {} {}", $name, shortest * 1_000_000 / 4096 / N),
        }
    }};
}

fn run() {
    dat::prepare();
    let mut registers = stctg_all();
    registers[0] |= SECONDARY_SPACE_CONTROL;
    lctlg_all(&registers);
    dat::set_window(0, 0x80_0000);
    dat::on();
    prepare();
    time!("nothing", "");
    states();
    controls_and_clocks();
    keys_and_translations();
    copies();
    others();
    interruptions();
    dat::off();
}

/// Puts into storage what the texts load: a PSW, control registers and the prefix.
fn prepare() {
    let block = (&raw mut PAGES).cast::<u8>();
    let registers = stctg_all();
    // SAFETY: storage that nothing else uses.
    unsafe {
        let next = Psw::new(psw::INITIAL | psw::DAT, 0);
        block.add(0x800).cast::<Psw>().write_volatile(next);
        block
            .add(0x900)
            .cast::<[u64; 16]>()
            .write_volatile(registers);
        let short = registers.map(|register| register as u32);
        block.add(0xA00).cast::<[u32; 16]>().write_volatile(short);
        block.add(0xA40).cast::<u32>().write_volatile(stpx());
        let entry = [dat::window_origin(), WINDOW];
        block.add(0xB00).cast::<[u64; 2]>().write_volatile(entry);
    }
}

/// The PSW and what is known of the machine.
#[inline(never)]
fn states() {
    time!("EPSW", "epsw %r1, %r2");
    time!("SSM", "mvi 0(%r5), 4\n ssm 0(%r5)");
    time!("STNSM", "stnsm 0(%r5), 0xFC");
    time!("STOSM", "stosm 0(%r5), 4");
    time!(
        "LPSWE",
        "larl %r2, 41f\n stg %r2, 0x808(%r5)\n lpswe 0x800(%r5)\n 41:"
    );
    time!("SPKA", "spka 0(%r0)");
    time!("IPK", "ipk");
    time!("SAC", "sac 0(%r0)");
    time!("SACF", "sacf 0(%r0)");
    time!("IAC", "iac %r1");
    time!("EPAR", "epar %r1");
    time!("ESAR", "esar %r1");
    time!("STAP", "stap 0(%r5)");
    time!("STIDP", "stidp 0(%r5)");
    time!("STFL", "stfl 0(%r0)");
    time!("STFLE", "lghi %r0, 2\n stfle 0(%r5)");
    time!(
        "STSI 1.1.1",
        "llilh %r0, 0x1000\n oill %r0, 1\n lghi %r1, 1\n lay %r2, 4096(%r5)\n stsi 0(%r2)"
    );
    time!(
        "STSI 3.2.2",
        "llilh %r0, 0x3000\n oill %r0, 2\n lghi %r1, 2\n lay %r2, 4096(%r5)\n stsi 0(%r2)"
    );
}

/// Control registers, clocks and timers.
#[inline(never)]
fn controls_and_clocks() {
    time!("STCTG", "stctg %c0, %c15, 0(%r5)");
    time!("LCTLG of all", "lctlg %c0, %c15, 0x900(%r5)");
    time!("LCTLG of one", "lctlg %c1, %c1, 0x908(%r5)");
    time!("STCTL", "stctl %c0, %c15, 0(%r5)");
    time!("LCTL of one", "lctl %c2, %c2, 0xA08(%r5)");
    time!("STPX", "stpx 0(%r5)");
    time!("SPX", "spx 0xA40(%r5)");
    time!("STPT", "stpt 0(%r5)");
    time!("SPT", "mvghi 0(%r5), 0x7FFF\n oi 0(%r5), 0x7F\n spt 0(%r5)");
    time!("STCKC", "stckc 0(%r5)");
    time!("SCKC", "mvghi 0(%r5), -1\n sckc 0(%r5)");
    time!("SCKPF", "lghi %r0, 0\n sckpf");
    time!("SIGP, sense", "lghi %r2, 0\n sigp %r4, %r2, 1");
    time!("SIGP, no CPU", "lghi %r2, 31\n sigp %r4, %r2, 1");
    time!("DIAGNOSE 44", "diag %r0, %r0, 0x44");
}

/// Storage keys and translations.
#[inline(never)]
fn keys_and_translations() {
    time!("SSKE", "lghi %r1, 0\n sske %r1, %r5");
    time!("ISKE", "iske %r1, %r5");
    time!("RRBE", "rrbe %r1, %r5");
    time!("LRA", "lra %r1, 0(%r5)");
    time!("LRAG", "lrag %r1, 0(%r5)");
    time!("LURA", "lura %r1, %r5");
    time!("LURAG", ".insn rre, 0xb9050000, %r1, %r5");
    time!("STURA", "lghi %r1, 0\n stura %r1, %r5");
    time!("TPROT", "tprot 0(%r5), 0(%r0)");
    time!("PTLB", "ptlb");
    time!(
        "CSP",
        "lghi %r2, 0\n lghi %r3, 1\n lgr %r1, %r5\n csp %r2, %r1"
    );
    if facility(8) {
        time!(
            "PFMF",
            "lghi %r1, 0\n lgr %r2, %r5\n .insn rre, 0xb9af0000, %r1, %r2"
        );
    }
    time!(
        "IPTE",
        "lg %r1, 0xB00(%r5)\n lg %r2, 0xB08(%r5)\n ipte %r1, %r2"
    );
    dat::set_window(0, 0x80_0000);
}

/// Copies between spaces.
#[inline(never)]
fn copies() {
    time!(
        "MVCP",
        "lghi %r1, 8\n lghi %r3, 0\n mvcp 0(%r1, %r5), 64(%r5), %r3"
    );
    time!(
        "MVCS",
        "lghi %r1, 8\n lghi %r3, 0\n mvcs 0(%r1, %r5), 64(%r5), %r3"
    );
    time!(
        "MVCK",
        "lghi %r1, 8\n lghi %r3, 0\n mvck 0(%r1, %r5), 64(%r5), %r3"
    );
    time!("MVCSK", "lghi %r0, 7\n lghi %r1, 0\n mvcsk 0(%r5), 64(%r5)");
    time!("MVCDK", "lghi %r0, 7\n lghi %r1, 0\n mvcdk 0(%r5), 64(%r5)");
    time!(
        "MVPG",
        "lghi %r0, 0\n lay %r1, 4096(%r5)\n lay %r2, 8192(%r5)\n mvpg %r1, %r2"
    );
}

/// Facilities, the service element and channels.
#[inline(never)]
fn others() {
    time!(
        "SERVC, busy",
        "llilh %r1, 0x78\n oill %r1, 5\n lghi %r2, 0\n .insn rre, 0xb2200000, %r1, %r2"
    );
    time!(
        "STSCH, none",
        "llilh %r1, 1\n oill %r1, 0xFFFF\n stsch 0(%r5)"
    );
    time!("TPI, nothing", "tpi 0(%r5)");
    time!("STCRW, nothing", "stcrw 0(%r5)");
    if facility(40) {
        time!("LPP", ".insn s, 0xb2800000, 0(%r5)");
    }
    if facility(67) && lcctl(controls(set::BASIC, set::BASIC)) == 0 {
        time!("ECCTR", "lghi %r1, 1\n .insn rre, 0xb2e40000, %r2, %r1");
        time!("QCTRI", ".insn s, 0xb28e0000, 0(%r5)");
        lcctl(0);
    }
    if facility(68) {
        time!("QSI", ".insn s, 0xb2860000, 0(%r5)");
    }
}

/// Interruptions of the program.
#[inline(never)]
fn interruptions() {
    returning(Class::SupervisorCall, || time!("SVC", "svc 1"));
    returning(Class::Program, || {
        time!("an operation exception", ".insn rre, 0xb9f30000, %r0, %r0");
        time!("a specification exception of STAP", "stap 1(%r5)");
        time!("a specification exception", ".short 0x1c30");
        time!("an addressing exception", "lghi %r1, -8\n lura %r2, %r1");
    });
}
