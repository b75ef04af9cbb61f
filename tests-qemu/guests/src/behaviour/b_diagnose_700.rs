//! DIAGNOSE 700: a program registers as a profiler, queries counters of the level below, and stops. The machine
//! refuses wrong requests.

use guests::attempt::suppressed;
use guests::attempt_on_registers;
use guests::check::{check, holds};
use guests::insn::service::{BASIC, EVENT, EVENT_DATA, PROFILERS, Request, SAMPLE};
use guests::sampling::busy;

guests::clause!(
    "Millimeter, DIAGNOSE 700: HISSERV for a program in the guest",
    native = false,
    cpus = 2
);
guests::case!(run);

const SPECIFICATION: u16 = 6;
const ADDRESSING: u16 = 5;

fn made(name: &str, request: &mut Request, expected: (u8, u32)) {
    let (code, reason) = request.make();
    check(name, code, expected.0);
    check("  reason", reason, expected.1);
    check("  reason in the request", request.reason, expected.1);
}

/// Attempts a DIAGNOSE 700 with this request, which the machine does not perform.
fn tried(at: u64) -> u64 {
    let mut registers = [0, at, 0, 0, 0];
    attempt_on_registers!(".insn rs,0x83000000,%r0,%r0,0x700(%r0)", &mut registers).number()
}

fn run() {
    let mut area = [0_u64; 512];
    let mut start = Request::start(b"GUEST   ", BASIC);
    made("START", &mut start, (0, 0));
    let token = start.token;

    made(
        "QUERY EVENTDATA",
        &mut Request::query(EVENT_DATA, token, &mut area),
        (0, 0),
    );
    // Head: kind and version, offset of the entries, bytes needed and stored, number of entries.
    check("  head", area[0] >> 32, 0x0401_0010);
    check("  CPUs", area[1] >> 16 & 0xFFFF, 2);
    let stored = area[1] >> 32;
    check("  needed and stored", area[0] & 0xFFFF_FFFF, stored);
    // The CPU's entry: its head of 24 bytes, the set's head of 8, counters 0 and 1.
    let mut behind = [0_u64; 512];
    let mut first = Request::query(EVENT_DATA, token, &mut area);
    let mut second = Request::query(EVENT_DATA, token, &mut behind);
    let first = first.make();
    busy(100_000);
    let second = second.make();
    check("two queries", first.0 | second.0, 0);
    let (cycles, instructions) = (behind[6] - area[6], behind[7] - area[7]);
    holds(
        "  instructions between them are counted",
        (100_000..100_100).contains(&instructions),
    );
    holds("  and cycles", cycles >= instructions);

    let mut one = Request {
        cpus: 1 << 62,
        ..Request::query(EVENT_DATA, token, &mut area)
    };
    made("QUERY of CPU 1", &mut one, (0, 0));
    check("  CPU, and one set", area[2] >> 32, 0x0001_0001);
    one.cpus = 1;
    made("QUERY of a CPU that is not there", &mut one, (2, 0x0806));
    let mut short = Request {
        length: 100,
        ..Request::query(EVENT_DATA, token, &mut area)
    };
    made("QUERY into an area for one CPU", &mut short, (1, 0x0401));
    short.length = 15;
    made(
        "QUERY into an area without room for the head",
        &mut short,
        (2, 0x0805),
    );
    for (name, kind) in [
        ("EVENT", EVENT),
        ("SAMPLE", SAMPLE),
        ("PROFILERS", PROFILERS),
    ] {
        made(name, &mut Request::query(kind, 0, &mut area), (0, 0));
    }
    // Head of 16 bytes, then the profiler's name.
    check("  name", area[2], u64::from_be_bytes(*b"GUEST   "));
    made(
        "a query that there is not",
        &mut Request::query(5, token, &mut area),
        (2, 0x0807),
    );

    let mut samples = Request::start(b"GUEST2  ", 0);
    samples.flags = 0x8000_0000;
    made("START with samples", &mut samples, (2, 0x0808));
    made(
        "START without a name",
        &mut Request::start(b"        ", 0),
        (2, 0x0802),
    );
    made(
        "START with an event type that there is not",
        &mut Request::start(b"GUEST2  ", 1),
        (2, 0x0803),
    );
    made(
        "STOP of what is not there",
        &mut Request::stop(99),
        (2, 0x0801),
    );
    made(
        "a function that there is not",
        &mut Request::default(),
        (2, 0x0807),
    );
    made(
        "DONE, which is the host's",
        &mut Request {
            function: 4,
            token,
            ..Request::default()
        },
        (2, 0x0807),
    );

    let at = &raw const start as u64;
    check(
        "not on a 64-byte boundary",
        tried(at + 8),
        suppressed(SPECIFICATION, 4),
    );
    check("beyond storage", tried(1 << 60), suppressed(ADDRESSING, 4));
    let beyond = Request {
        area: 1 << 60,
        ..Request::query(EVENT, 0, &mut area)
    };
    check(
        "an area beyond storage",
        tried(&raw const beyond as u64),
        suppressed(ADDRESSING, 4),
    );

    made("STOP", &mut Request::stop(token), (0, 0));
    made("STOP again", &mut Request::stop(token), (2, 0x0801));
    made(
        "QUERY after STOP",
        &mut Request::query(EVENT_DATA, token, &mut area),
        (2, 0x0801),
    );
}
