//! Key-controlled protection of the operands of the instructions that a machine performs for a control program. Bare
//! QEMU tests no storage keys; what QEMU performs is as it is there.

use guests::attempt::{Outcome, suppressed};
use guests::check::{check, digits, fact, holds};
use guests::insn::control::{lctlg_0, lctlg_all, stctg_all};
use guests::insn::cpu::Page;
use guests::insn::storage::{sske, tprot, with_psw_key};
use guests::misdirected::{load, store};
use guests::psw::bit;
use guests::{attempt, attempt_in_problem_state, attempt_on_registers, dat, shows};

guests::clause!(
    "SA22-7832, Chapter 3, Key-Controlled Protection; TEST PROTECTION; MOVE WITH OPTIONAL SPECIFICATIONS; MOVE PAGE",
    native = false
);
guests::case!(run);

/// The PSW key while an instruction is attempted, unless told.
const KEY: u64 = 5;
/// Another key in a storage key, with fetch protection.
const OTHER: u8 = 0x38;
/// The same without.
const UNFETCHED: u8 = 0x30;

static mut BLOCKS: [Page; 2] = [const { Page([0; 4096]) }; 2];

fn blocks() -> (u64, u64) {
    let first = &raw const BLOCKS as u64;
    (first, first + 4096)
}

/// The code of an instruction with its operand in a block with key 3: with PSW keys 5, 3 and 0.
macro_rules! by_key {
    ($a:expr; $($text:literal),* $(,)?) => {
        $({
            let codes = [KEY, 3, 0].map(|key| {
                with_psw_key(key, || attempt!($text, a = in(reg_addr) $a)).code()
            });
            check($text, digits(&codes), 0x4_0000);
        })*
    };
}

/// The code of an instruction that would change too much if it had access: with PSW key 5.
macro_rules! refused {
    ($a:expr; $($text:literal),* $(,)?) => {
        $({
            let outcome = with_psw_key(KEY, || attempt!($text, a = in(reg_addr) $a));
            check($text, outcome.code(), 4);
        })*
    };
}

/// The outcome of a fetch of eight bytes, or of a store of eight, with a PSW key.
fn fetches(key: u64, at: u64) -> Outcome {
    with_psw_key(
        key,
        || attempt!("lctlg %c2,%c2,0({a})", a = in(reg_addr) at),
    )
}

fn stores(key: u64, at: u64) -> Outcome {
    with_psw_key(
        key,
        || attempt!("stctg %c2,%c2,0({a})", a = in(reg_addr) at),
    )
}

/// Which accesses a storage key permits: fetches and stores.
fn permitted(storage: u8, key: u64, at: u64) -> (bool, bool) {
    sske(storage, at);
    (fetches(key, at).code() == 0, stores(key, at).code() == 0)
}

/// What the access key and the storage key permit.
fn rules(at: u64) {
    store(at, 0);
    shows!("PROTECTION-1", permitted(OTHER, 0, at), (true, true));
    shows!("PROTECTION-2", permitted(OTHER, 3, at), (true, true));
    shows!("PROTECTION-2", permitted(UNFETCHED, 3, at), (true, true));
    shows!("PROTECTION-3", permitted(UNFETCHED, KEY, at), (true, false));
    shows!("PROTECTION-4", permitted(OTHER, KEY, at), (false, false));
    shows!("PROTECTION-5", permitted(0x00, KEY, at), (true, false));
    shows!("PROTECTION-5", permitted(0x08, KEY, at), (false, false));
    // The reference and change bits do not matter.
    shows!(
        "PROTECTION-6",
        permitted(UNFETCHED | 6, KEY, at),
        (true, false)
    );
    sske(OTHER, at);
    store(at, 0x1234);
    let refused = stores(KEY, at);
    shows!(
        "PROTECTION-7",
        (refused.number(), load(at)),
        (suppressed(4, 6), 0x1234)
    );
    let kept = stctg_all()[2];
    let refused = fetches(KEY, at);
    shows!(
        "PROTECTION-7",
        (refused.number(), stctg_all()[2]),
        (suppressed(4, 6), kept)
    );
    for (kind, outcome) in [(0x408, stores(KEY, at + 8)), (0x808, fetches(KEY, at + 8))] {
        if let Outcome::Program(program) = outcome {
            shows!("TEID-10", program.teid, at | kind);
        }
    }
}

/// Both overrides of control register 0.
fn overrides(at: u64) {
    let cr0 = stctg_all()[0];
    shows!("PROTECTION-8", permitted(0x98, KEY, at), (false, false));
    lctlg_0(cr0 | bit(39));
    let nine = permitted(0x98, KEY, at);
    let three = permitted(OTHER, KEY, at);
    lctlg_0(cr0);
    shows!("PROTECTION-8", nine, (true, true));
    shows!("PROTECTION-9", three, (false, false));
    // The first block of storage; nothing that the runtime needs has a key other than zero.
    sske(OTHER, 0);
    lctlg_0(cr0 | bit(38));
    let found = [
        fetches(KEY, 0x600).code(),
        fetches(KEY, 0x7F8).code(),
        fetches(KEY, 0x800).code(),
        fetches(KEY, 0xFF8).code(),
        stores(KEY, 0x600).code(),
    ];
    let elsewhere = permitted(OTHER, KEY, at);
    lctlg_0(cr0);
    let off = fetches(KEY, 0x600).code();
    sske(0, 0);
    shows!("PROTECTION-10", (found[0], found[1], off), (0, 0, 4));
    shows!(
        "PROTECTION-11",
        (found[2], found[3], elsewhere),
        (4, 4, (false, false))
    );
    shows!("PROTECTION-12", found[4], 4);
}

/// Fetch-protection override in a space, and in a private one.
fn overrides_in_spaces() {
    let kept = stctg_all();
    dat::prepare();
    let mut registers = stctg_all();
    registers[0] |= bit(38);
    lctlg_all(&registers);
    sske(OTHER, 0);
    dat::on();
    let space = fetches(KEY, 0x600).code();
    registers[1] |= bit(55);
    lctlg_all(&registers);
    let private = fetches(KEY, 0x600).code();
    dat::off();
    sske(0, 0);
    lctlg_all(&kept);
    shows!("PROTECTION-13", (space, private), (0, 4));
}

fn run() {
    let (first, second) = blocks();
    let cr0 = stctg_all()[0];
    rules(first);
    overrides(first);
    overrides_in_spaces();
    sske(OTHER, first);
    by_key!(
        first;
        "stctl %c2,%c2,0({a})", "stctg %c2,%c3,0({a})", "lctlg %c2,%c2,0({a})", "stpx 0({a})", "stap 0({a})",
        "stidp 0({a})", "stckc 0({a})", "stpt 0({a})", "stnsm 0({a}),0xff", "stosm 0({a}),0",
        ".insn s,0xb2390000,0({a})", ".insn s,0xb23a0000,0({a})",
        ".insn sse,0xe50200000000,0({a}),0",
    );
    by_key_at_real_address(first);
    refused!(
        first;
        "ssm 0({a})", "lpsw 0({a})", "lpswe 0({a})", "lctl %c2,%c2,0({a})", "spx 0({a})", "sck 0({a})", "sckc 0({a})",
        "spt 0({a})", "stsch 0({a})", "msch 0({a})", "ssch 0({a})", "tsch 0({a})", "tpi 0({a})",
        ".insn rre,0xb25f0000,{a},%r0",
    );
    on_registers(first);
    sske(UNFETCHED, first);
    by_key!(first; "stap 0({a})");
    let fetched = with_psw_key(
        KEY,
        || attempt!("lctlg %c2,%c2,0({a})", a = in(reg_addr) first),
    );
    check("not fetch-protected", fetched.code(), 0);
    // Two blocks: the second is refused.
    sske(0x58, first);
    sske(OTHER, second);
    let outcome = with_psw_key(
        KEY,
        || attempt!("stctg %c0,%c15,0({a})", a = in(reg_addr) second - 64),
    );
    if let Outcome::Program(program) = outcome {
        shows!("TEID-10", program.teid, second | 0x408);
    }
    shows!("PROTECTION-14", load(second - 64), 0);
    sske(OTHER, first);
    shows!(
        "PROTECTION-16",
        with_psw_key(KEY, || problem_state(first))[0],
        4
    );
    let in_problem_state = [3, KEY].map(|key| with_psw_key(key, || problem_state(first)));
    check(
        "problem state: STFLE, STAP",
        digits(in_problem_state.as_flattened()),
        0x0002_0402,
    );
    test_protection(first);
    moves(first, second);
    without_key(first, cr0);
    sske(0, first);
    sske(0, second);
}

/// The instructions that use a real address: with PSW keys 5, 3 and 0.
fn by_key_at_real_address(first: u64) {
    macro_rules! codes {
        ($text:literal) => {
            [KEY, 3, 0].map(|key| with_psw_key(key, || attempt!($text, a = in(reg) first)).code())
        };
    }
    shows!(
        "LURA-10",
        [codes!("lura %r1,{a}"), codes!("lurag %r1,{a}")],
        [[4, 0, 0]; 2]
    );
    shows!(
        "STURA-11",
        [codes!("stura %r1,{a}"), codes!("sturg %r1,{a}")],
        [[4, 0, 0]; 2]
    );
}

/// Instructions with pairs of registers, or with controls in register 0.
fn on_registers(first: u64) {
    let codes = |operation: fn(&mut [u64; 5]) -> Outcome, controls: u64| {
        [KEY, 3, 0].map(|key| {
            let mut registers = [controls, 0, 0, first, 0];
            with_psw_key(key, || operation(&mut registers)).code()
        })
    };
    let csp = codes(|r| attempt_on_registers!("csp %r2,%r4", r), 0);
    let cspg = codes(
        |r| attempt_on_registers!(".insn rre,0xb98a0000,%r2,%r4", r),
        0,
    );
    let stfle = codes(|r| attempt_on_registers!("stfle 0(%r4)", r), 0);
    check("CSP", digits(&csp), 0x4_0000);
    check("CSPG", digits(&cspg), 0x4_0000);
    check("STFLE", digits(&stfle), 0x4_0000);
}

fn problem_state(at: u64) -> [u16; 2] {
    [
        attempt_in_problem_state!("stfle 0({a})", a = in(reg_addr) at).code(),
        attempt_in_problem_state!("stap 0({a})", a = in(reg_addr) at).code(),
    ]
}

/// TEST PROTECTION has the key in its second operand, whatever the PSW key is.
fn test_protection(first: u64) {
    let tests = |storage: u8| {
        sske(storage, first);
        let codes = [0, 3, 5].map(|key: u64| u16::from(tprot(first, key << 4)));
        digits(&codes)
    };
    let problem = attempt_in_problem_state!("tprot 0({a}), 0", a = in(reg_addr) first);
    shows!("TPROT-12", problem.number(), suppressed(2, 6));
    shows!(
        ["TPROT-1", "TPROT-2", "TPROT-3"],
        tests(UNFETCHED),
        0x00_0001
    );
    shows!(["TPROT-1", "TPROT-4"], tests(OTHER), 0x00_0002);
    shows!(["TPROT-1", "TPROT-3"], tests(0x00), 0x00_0101);
}

/// MOVE PAGE and the moves between spaces, each operand with its own key.
fn moves(first: u64, second: u64) {
    sske(OTHER, first);
    sske(0x78, second);
    // To the first block from the second one.
    let mvpg = |psw, controls| {
        let mut registers = [controls, first, 0, second, 0];
        with_psw_key(psw, || {
            attempt_on_registers!("mvpg %r2,%r4", &mut registers)
        })
        .code()
    };
    let codes = [
        mvpg(7, 0x830),
        mvpg(7, 0x870),
        mvpg(3, 0x470),
        mvpg(3, 0x430),
        mvpg(3, 0),
        mvpg(0, 0),
    ];
    shows!("MVPG-9", [codes[0], codes[1]], [0, 4]);
    shows!("MVPG-10", [codes[2], codes[3]], [0, 4]);
    shows!("MVPG-11", [codes[4], codes[5]], [4, 0]);
    dat::prepare();
    let mut registers = stctg_all();
    registers[0] |= bit(37);
    lctlg_all(&registers);
    dat::on();
    let mvcos = |psw, controls| {
        let mut registers = [controls, first, 16, second, 0];
        let move_ =
            || attempt_on_registers!(".insn ssf,0xc80000000000,0(%r2),0(%r4),%r3", &mut registers);
        with_psw_key(psw, move_).code()
    };
    let codes = [
        mvcos(0, 0x3002_7002),
        mvcos(0, 0x4002_7002),
        mvcos(0, 0x3002_6002),
        mvcos(3, 0x7002),
        mvcos(3, 0),
    ];
    let mvcp = |psw, key| {
        let mut registers = [0, first, 16, second, key];
        with_psw_key(psw, || {
            attempt_on_registers!("mvcp 0(%r3,%r2),0(%r4),%r5", &mut registers)
        })
        .code()
    };
    let to_primary = [mvcp(3, 0x70), mvcp(3, 0x30), mvcp(7, 0x70)];
    let mvcs = |psw, key| {
        let mut registers = [0, first, 16, second, key];
        with_psw_key(psw, || {
            attempt_on_registers!("mvcs 0(%r3,%r2),0(%r4),%r5", &mut registers)
        })
        .code()
    };
    let to_secondary = [mvcs(7, 0x30), mvcs(7, 0x70), mvcs(3, 0x30)];
    dat::off();
    // In turns: both keys match, that of the first operand does not, that of the second one does not.
    shows!(["MVCOS-8", "MVCOS-9"], codes[0], 0);
    shows!("MVCOS-8", codes[1], 4);
    shows!("MVCOS-9", codes[2], 4);
    // The first operand by the PSW key, then both.
    shows!("MVCOS-1", [codes[3], codes[4]], [0, 4]);
    shows!("MVCP-6", to_primary, [0, 4, 4]);
    shows!("MVCS-6", to_secondary, [0, 4, 4]);
}

/// What has no key: assigned storage locations of an interruption and of STORE FACILITY LIST, and what QEMU performs.
fn without_key(first: u64, cr0: u64) {
    sske(OTHER, 0);
    let stored = with_psw_key(KEY, || attempt!("stfl 0({a})", a = in(reg_addr) first));
    let interrupted = with_psw_key(KEY, || attempt!("svc 7")).number();
    let block = with_psw_key(KEY, || attempt!("tb %r0,{a}", a = in(reg) first));
    sske(0, 0);
    shows!(["PROTECTION-15", "STFL-5"], stored.code(), 0);
    shows!("PROTECTION-15", interrupted, 0x2_0007_0000);
    check("TEST BLOCK", block.code(), 0);
    sske(OTHER, first);
    // QEMU tests no keys; another machine below does, for both.
    let codes = with_psw_key(KEY, || {
        [
            attempt!("mvghi 0({a}), 0x1234", a = in(reg_addr) first).code(),
            attempt!("lg %r1, 0({a})", a = in(reg_addr) first).code(),
        ]
    });
    fact("what the hardware performs: exceptions", codes[0]);
    check("the same for both", codes[1], codes[0]);
    holds(
        "control register 0 is as before",
        stctg_all()[0] & !bit(37) == cr0,
    );
}
