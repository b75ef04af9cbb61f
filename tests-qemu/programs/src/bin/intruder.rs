//! A program that tries to leave its address space: by every privileged and semiprivileged instruction, by addresses
//! of the kernel, and by addresses that nobody has.
//!
//! Prints what the kernel let it perform, what was refused in another way than it must be, and how many attempts it
//! made.
#![no_std]
#![no_main]

use programs::attempt;
use programs::attempt::{SIGILL, SIGSEGV};
use programs::call;
use programs::say;

programs::program!(run);

/// A page of the program's own.
#[repr(C, align(4096))]
struct Page([u64; 512]);
static mut PAGE: Page = Page([MARK; 512]);

/// A doubleword that nothing may replace.
const MARK: u64 = 0x5A5A_A5A5_1234_8765;

/// Real storage of the prefix area and of the kernel's image, the middle of storage, its end and beyond; and virtual
/// storage that no program has.
const ADDRESSES: [u64; 10] = [
    0,
    0x1000,
    0x10_0000,
    0x20_0000,
    0x0800_0000,
    0x1EB0_0000,
    0x1F00_0000,
    0x1FFF_F000,
    1 << 53,
    4096_u64.wrapping_neg(),
];

/// How many attempts there were, and how many went wrong.
#[derive(Default)]
struct Tally {
    tried: u32,
    wrong: u32,
}

impl Tally {
    fn note(&mut self, name: &str, got: u64, expected: u64) {
        self.tried += 1;
        if got != expected {
            self.wrong += 1;
            say!("{name}: signal {got}, expected {expected}\n");
        }
    }
}

/// Instructions that a program must not perform, whatever their operands.
macro_rules! refused {
    ($tally:expr, $page:expr, $($text:literal)*) => {
        $($tally.note($text, attempt!($text, $page, $page, [0, 0, 8]), SIGILL);)*
    };
}

fn instructions(tally: &mut Tally, page: u64) {
    refused!(tally, page,
        "ssm 0(%r2)" "stnsm 0(%r2), 255" "stosm 0(%r2), 4" "lpsw 0(%r2)" "lpswe 0(%r2)"
        "lctl 1, 1, 0(%r2)" "stctl 0, 15, 0(%r2)" "lctlg 1, 1, 0(%r2)" "stctg 0, 15, 0(%r2)"
        "spx 0(%r2)" "stpx 0(%r2)" "stap 0(%r2)" "stidp 0(%r2)" "stfl 0" "stsi 0(%r2)"
        "sck 0(%r2)" "sckc 0(%r2)" "stckc 0(%r2)" "spt 0(%r2)" "stpt 0(%r2)" "sckpf"
        "sigp %r2, %r4, 1" ".insn rre, 0xb2200000, %r2, %r3"
        "sske %r2, %r3" "iske %r2, %r3" "rrbe %r2, %r3" "tb %r2, %r3" "ivsk %r2, %r3"
        "ptlb" "palb" "ipte %r2, %r3" "idte %r2, %r4, %r3" "csp %r4, %r2" ".insn rre, 0xb98a0000, %r4, %r2"
        ".insn rrf, 0xb98f0000, %r4, %r2, 4, 0" ".insn rrf, 0xb98b0000, %r4, %r2, 4, 0"
        "lra %r4, 0(%r2)" "lrag %r4, 0(%r2)" "lura %r4, %r2" "lurag %r4, %r2" "stura %r4, %r2" "sturg %r4, %r2"
        "strag 0(%r2), 0(%r3)" "lptea %r4, %r2, %r3, 0"
        // Diagnose: the end of a time slice, a reset, a call of the hypervisor.
        ".insn rs, 0x83000000, %r2, %r4, 0x44(%r0)" ".insn rs, 0x83000000, %r2, %r4, 0x308(%r0)"
        ".insn rs, 0x83000000, %r2, %r4, 0x500(%r0)"
        "stsch 0(%r2)" "msch 0(%r2)" "ssch 0(%r2)" "tsch 0(%r2)" "hsch" "csch" "rsch" "xsch" "rchp" "schm" "sal"
        "stcrw 0(%r2)" "stcps 0(%r2)" "tpi 0(%r2)" ".insn rre, 0xb25f0000, %r2, %r0"
        ".insn rrf, 0xb9a00000, %r2, %r0, 8, 0" ".insn rsy, 0xeb00000000d1, %r2, %r4, 0(%r3)"
        // Address spaces, keys and authority.
        "spka 0" "spka 0x10" "sacf 0x200" "sacf 0x300" "sac 0x300" "ssar %r2" "pt %r2, %r3" "pc 0(%r2)" "pr"
        "bakr %r2, %r3" "bsa %r2, %r3" "bsg %r2, %r3" "msta %r2" "lasp 0(%r2), 0(%r3)" "tar %a2, %r3"
        "mvcp 0(%r4,%r2), 0(%r3), %r5" "mvcs 0(%r4,%r2), 0(%r3), %r5" "mvck 0(%r4,%r2), 0(%r3), %r5"
        "mvcsk 0(%r2), 0(%r3)" "mvcdk 0(%r2), 0(%r3)" "ipk" "iac %r4" "epar %r4" "esar %r4"
        "trace %r2, %r4, 0(%r3)" ".insn s, 0xb2140000, 0(%r2)"
        ".insn rre, 0xb9af0000, %r2, %r3" ".insn rrf, 0xb9ab0000, %r2, %r3, 0, 0" ".insn rre, 0xb2af0000, %r0, %r0"
        ".insn rrf, 0xb9a40000, %r2, %r3, 0, 0" ".insn rre, 0xb9a20000, %r2, %r0" ".insn rre, 0xb2560000, %r2, %r4"
        // The facilities of SA23-2260.
        ".insn s, 0xb2800000, 0(%r2)" ".insn s, 0xb2840000, 0(%r2)" ".insn s, 0xb2850000, 0(%r2)"
        ".insn s, 0xb2860000, 0(%r2)" ".insn s, 0xb2870000, 0(%r2)" ".insn s, 0xb28e0000, 0(%r2)"
        ".insn rre, 0xb2e00000, %r2, %r0" ".insn rre, 0xb2e10000, %r2, %r0" ".insn rre, 0xb2e40000, %r2, %r0"
        ".insn rre, 0xb2e50000, %r2, %r0" ".insn rre, 0xb2ed0000, %r2, %r0"
        ".insn rsy, 0xeb0000000017, %r5, 1, 0(%r2)"
    );
}

/// MOVE WITH OPTIONAL SPECIFICATIONS to and from every address space. The program has no key for any.
fn moves(tally: &mut Tally, page: u64) {
    let spaces = [0, 0x01, 0x41, 0x81, 0xC1, 0x1002, 0xF002];
    for at in ADDRESSES {
        for controls in spaces {
            for controls in [controls, controls << 16] {
                const TEXT: &str = "MVCOS";
                let to = attempt!(
                    ".insn ssf, 0xc80000000000, 0(%r2), 0(%r3), %r5",
                    at,
                    page,
                    [controls, 0, 8]
                );
                tally.note(TEXT, to, SIGILL);
                let from = attempt!(
                    ".insn ssf, 0xc80000000000, 0(%r3), 0(%r2), %r5",
                    at,
                    page,
                    [controls, 0, 8]
                );
                tally.note(TEXT, from, SIGILL);
            }
        }
    }
}

/// Accesses to addresses that are not the program's.
macro_rules! out_of_reach {
    ($tally:expr, $at:expr, $page:expr, $($text:literal)*) => {
        $($tally.note($text, attempt!($text, $at, $page, [0, 0, 8]), SIGSEGV);)*
    };
}

fn addresses(tally: &mut Tally, page: u64) {
    for at in ADDRESSES {
        out_of_reach!(tally, at, page,
            "lg %r4, 0(%r2)" "stg %r4, 0(%r2)" "mvc 0(8,%r3), 0(%r2)" "mvc 0(8,%r2), 0(%r3)"
            "cs %r4, %r5, 0(%r2)" "ex %r0, 0(%r2)" "br %r2" "lmg %r4, %r5, 0(%r2)" "stckf 0(%r2)" "stfle 0(%r2)"
            ".insn rre, 0xb2540000, %r2, %r3" ".insn rre, 0xb2540000, %r3, %r2"
            "sacf 0x100\n lg %r4, 0(%r2)" "sacf 0x100\n stg %r4, 0(%r2)"
        );
        // The kernel does not fetch from there on behalf of a program, either.
        // SAFETY: designates only storage that must stay out of reach.
        let written = call::write(1, unsafe {
            core::slice::from_raw_parts(at as *const u8, 8)
        });
        const EFAULT: u64 = 14;
        if at != 0 {
            tally.note(
                "a call of the kernel",
                written.map_or_else(|refused| refused.0, |_| 0),
                EFAULT,
            );
        }
    }
}

fn run() -> u8 {
    let mut tally = Tally::default();
    if attempt::prepare().is_err() {
        return 2;
    }
    let page = &raw mut PAGE as u64;
    instructions(&mut tally, page);
    moves(&mut tally, page);
    addresses(&mut tally, page);
    // SAFETY: the page, which only the instructions above could have changed.
    let is_changed = unsafe { (*(&raw const PAGE)).0.iter().any(|&found| found != MARK) };
    if is_changed {
        say!("the program's page has changed\n");
    }
    say!("tried {}, wrong {}\n", tally.tried, tally.wrong);
    0
}
