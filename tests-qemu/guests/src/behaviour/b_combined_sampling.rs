//! Diagnostic and combined sampling into 4 KiB blocks: entries of both formats one behind the other, the
//! data-entry-address register behind the last of them, and a block change when one more does not fit.

use core::ptr::read_volatile;

use guests::check::{check, holds};
use guests::insn::measurement::{
    ACTIVATE_BASIC, ACTIVATE_DIAGNOSTIC, ENABLE_BASIC, ENABLE_DIAGNOSTIC, lsctl, qctri, qsi,
};
use guests::sampling::{self, FULL, busy};

guests::clause!(
    "SA23-2260, Diagnostic-Sampling Data Entry; Combined-Sampling Data Entry",
    native = false,
    options = "--operator 'AUTH CPU 0 SAMPLING DIAGNOSTIC ON'"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const BASIC: u64 = ENABLE_BASIC | ACTIVATE_BASIC;
const DIAGNOSTIC: u64 = ENABLE_DIAGNOSTIC | ACTIVATE_DIAGNOSTIC;

fn halfword(at: u64) -> u16 {
    // SAFETY: inside a block.
    unsafe { read_volatile(at as *const u16) }
}

/// Fetches a doubleword that need not be on its boundary.
fn doubleword(at: u64) -> u64 {
    // SAFETY: inside a block.
    unsafe { core::ptr::read_unaligned(at as *const u64) }
}

/// Samples with these functions, and checks every entry of the first block.
fn sample(name: &str, controls: u64, diagnostic_format: u16) {
    let size = qsi().diagnostic_entry_size;
    let diagnostic = controls & ACTIVATE_DIAGNOSTIC != 0;
    let basic = if controls & ACTIVATE_BASIC != 0 {
        32
    } else {
        0
    };
    let length = basic + if diagnostic { u64::from(size) } else { 0 };
    let room = (4096 - 64) / length;
    let mut request = sampling::prepare(4, INTERVAL);
    request.state = controls;
    check(name, lsctl(&request), 0);
    let range = busy((room + 3) * INTERVAL);
    let dear = qsi().dear;
    let tear = qsi().tear;
    check("  disable", sampling::stop(), 0);
    check(
        "  TEAR designates the second entry",
        tear,
        sampling::table() + 8,
    );
    let second = sampling::block(1);
    holds(
        "  DEAR designates the next entry of the second block",
        dear > second && (dear - second) % length == 0 && (dear - second) / length <= 4,
    );
    check(
        "  the first block is full",
        sampling::trailer(0, 0) & FULL,
        FULL,
    );
    check(
        "  entry sizes in its trailer",
        sampling::trailer(0, 0) & 0xFFFF_FFFF,
        32 << 16 | u64::from(size),
    );
    let mut inside = 0;
    for n in 0..room {
        let mut at = sampling::block(0) + n * length;
        if basic != 0 {
            if halfword(at) != 1 {
                check("  format of a basic entry", halfword(at), 1);
            }
            inside += u64::from(range.contains(&doubleword(at + 8)));
            at += basic;
        }
        if diagnostic {
            if halfword(at) != diagnostic_format {
                check(
                    "  format of a diagnostic entry",
                    halfword(at),
                    diagnostic_format,
                );
            }
            if halfword(at + 2) != 0 {
                check("  its indications", halfword(at + 2), 0);
            }
            // Bits 31 and 32: 64-bit addressing; the program is in the supervisor state without DAT.
            let mask = doubleword(at + 8) & !0x0000_3F00_0000_0000;
            if mask != 0x1_8000_0000 {
                check("  PSW mask of a diagnostic entry", mask, 0x1_8000_0000);
            }
        }
    }
    if basic != 0 {
        holds("  nearly all entries are of the loop", inside + 2 >= room);
    }
    check(
        "  no entry reaches the trailer",
        doubleword(sampling::block(0) + room * length),
        if room * length == 4096 - 64 {
            sampling::trailer(0, 0)
        } else {
            0
        },
    );
}

fn run() {
    let information = qsi();
    // Bits 14-15: both functions are authorized.
    check("both authorized", information.state, 0x0003_0000);
    let format = 0x8000 | qctri().second_version;
    sample("basic", BASIC, format);
    sample("diagnostic", DIAGNOSTIC, format);
    sample("combined", BASIC | DIAGNOSTIC, format);
    // One function active, the other only enabled.
    sample(
        "basic, diagnostic inactive",
        BASIC | DIAGNOSTIC & !ACTIVATE_DIAGNOSTIC,
        format,
    );
}
