//! The ZOS counter set: while a profiler wants it, the machine's own level counts the program's monitor calls by
//! their codes, whatever the program does with its own controls. The program sees no difference.

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::{check, holds};
use guests::insn::control::{lctlg_8, stctg_all};
use guests::insn::measurement::{controls, ecctr, lcctl, set};
use guests::insn::service::{EVENT_DATA, Request, ZOS};
use guests::monitor::{counted, designate, enabled, exceptions, mc};

guests::clause!(
    "Millimeter, DIAGNOSE 700: the ZOS counter set",
    native = false,
    cpus = 2
);
guests::case!(run);

/// Counters of the set.
const COUNTERS: usize = 1500;
/// Doublewords in front of them: the head of the answer, the CPU's and the set's.
const HEADS: usize = 2 + 3 + 1;

static mut AREA: [u64; HEADS + COUNTERS] = [0; HEADS + COUNTERS];

/// Makes a request that must complete.
fn made(name: &str, request: &mut Request) {
    let (code, reason) = request.make();
    check(name, u32::from(code) << 16 | reason, 0);
}

/// The counters of a CPU.
fn counters(token: u64, cpu: u32) -> &'static [u64] {
    // SAFETY: CPU 0 alone uses it, and nobody keeps a reference to the former contents.
    let area = unsafe { &mut *(&raw mut AREA) };
    area.fill(u64::MAX);
    let mut query = Request {
        cpus: 1 << (63 - cpu),
        ..Request::query(EVENT_DATA, token, area)
    };
    made("QUERY EVENTDATA", &mut query);
    check(
        "  CPU, and one set",
        area[2] >> 32,
        u64::from(cpu) << 16 | 1,
    );
    check(
        "  its event type, first counter and how many",
        area[5],
        u64::from(ZOS) << 32 | COUNTERS as u64,
    );
    &area[HEADS..]
}

/// Issues five monitor calls of two classes. Returns the number of instructions.
fn calls() -> u64 {
    let before = ecctr(1).1;
    mc::<0>(0);
    mc::<0>(7);
    mc::<15>(7);
    mc::<15>(1499);
    // No counter of the set has this number.
    mc::<15>(1500);
    ecctr(1).1 - before
}

fn run() {
    lcctl(controls(set::BASIC, set::BASIC));
    let (mut halfwords, words) = ([0_u16; 8], [0_u32; 8]);
    designate(halfwords.as_mut_ptr() as u64, 0);
    lctlg_8(0);
    let without = calls();
    let mut start = Request::start(b"GUEST   ", ZOS);
    made("START", &mut start);
    let token = start.token;
    check(
        "  before any call",
        counters(token, 0).iter().sum::<u64>(),
        0,
    );

    check("the same instructions", calls(), without);
    let found = counters(token, 0);
    check("  counter 0", found[0], 1);
    check("  counter 7", found[7], 2);
    check("  counter 1499", found[1499], 1);
    check("  all others", found.iter().sum::<u64>(), 4);
    check("no exception of the program's", exceptions(), 0);
    check(
        "CPU 1 has counters of its own",
        counters(token, 1).iter().sum::<u64>(),
        0,
    );
    check("control register 8 is the program's", stctg_all()[8], 0);

    lctlg_8(enabled(15));
    check(
        "an event is one",
        attempt!("mc 9(%r0), 15").number(),
        suppressed(0x40, 4),
    );
    check("  and counted", counters(token, 0)[9], 1);
    check(
        "class 16",
        attempt!("mc 9(%r0), 16").number(),
        suppressed(6, 4),
    );
    designate(halfwords.as_mut_ptr() as u64, 4);
    lctlg_8(counted(15));
    mc::<15>(1);
    mc::<0>(1);
    mc::<15>(5);
    lctlg_8(0);
    // SAFETY: what was counted there.
    let own = unsafe { core::ptr::read_volatile(&raw const halfwords) };
    check("the program's own counter 1", own[1], 1);
    check("  and its exception", exceptions(), 1);
    holds(
        "  and no more",
        own.iter().sum::<u16>() == 1 && words == [0; 8],
    );
    check("the machine's counter 1", counters(token, 0)[1], 2);
    check("the machine's counter 5", counters(token, 0)[5], 1);

    made("STOP", &mut Request::stop(token));
    calls();
    let mut start = Request::start(b"GUEST   ", ZOS);
    made("START again", &mut start);
    mc::<3>(11);
    let found = counters(start.token, 0);
    check("  counts from zero on", found.iter().sum::<u64>(), 1);
    check("  and what is called now", found[11], 1);
    made("STOP", &mut Request::stop(start.token));
    lcctl(0);
}
