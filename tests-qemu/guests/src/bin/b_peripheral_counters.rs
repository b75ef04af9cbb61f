//! The coprocessor-group counters: LPCTL, SPCTR, EPCTR and ECPGA on a CPU that is authorized for them and
//! on one that is not, and what QCTRI shows of the controls that all CPUs share.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering};

use guests::attempt::suppressed;
use guests::check::check;
use guests::insn::measurement::{ecpga, epctr, lpctl, qctri, set, spctr};
use guests::insn::yield_cpu;
use guests::{attempt, attempt_in_problem_state, shows, smp};

guests::clause!(
    "SA23-2260, LOAD PERIPHERAL-COUNTER-SET CONTROLS; SET and EXTRACT PERIPHERAL COUNTER; EXTRACT COPROCESSOR-GROUP ADDRESS",
    native = false,
    cpus = 2,
    options = "--operator 'AUTH CPU 0 COUNTERS GROUP ON'"
);
guests::guest!(run);

const UNCHANGED: u64 = 0x5A5A_5A5A_A5A5_A5A5;
const SPECIFICATION: u16 = 6;
const PRIVILEGED: u16 = 2;
const ADDRESSING: u16 = 5;
const VALUE: u64 = 0x1234_5678_9ABC_DEF0;

static DONE: AtomicU32 = AtomicU32::new(0);

/// Enable and activation of the groups.
fn state() -> (bool, bool) {
    let information = qctri();
    (
        information.enable & set::COPROCESSOR_GROUP != 0,
        information.activation & set::COPROCESSOR_GROUP != 0,
    )
}

fn run() {
    let information = qctri();
    check(
        "authorized, neither enabled nor active",
        information.authorization & set::COPROCESSOR_GROUP,
        set::COPROCESSOR_GROUP,
    );
    check("two CPUs", information.maximum_cpu_address, 1);
    check("one group", information.maximum_group_address, 0);
    check("the addresses have not changed", information.change, 0);
    controls();
    counters();
    addresses();
    problem_state();
    // The other CPU is not authorized.
    lpctl(3);
    check("SPCTR", spctr(0, VALUE), 0);
    smp::start(1, unauthorized);
    while DONE.load(Ordering::Acquire) == 0 {
        yield_cpu();
    }
    shows!("EPCTR-1", epctr(0, UNCHANGED), (0, VALUE));
    lpctl(0);
}

fn controls() {
    for (operand, expected) in [
        (2, (true, false)),
        (3, (true, true)),
        (3, (true, true)),
        (2, (true, false)),
        (0, (false, false)),
        (3, (true, true)),
        (0, (false, false)),
    ] {
        shows!(["LPCTL-4", "LPCTL-7"], lpctl(operand), 0);
        shows!(["LPCTL-1", "TRANSITION-22"], state(), expected);
    }
    for before in [0, 2, 3] {
        lpctl(before);
        let found = state();
        shows!(["LPCTL-3", "LPCTL-5"], lpctl(1), 3);
        shows!("LPCTL-3", state(), found);
    }
    for bit in 0..62 {
        let operand = 1_u64 << (63 - bit);
        let outcome = attempt!(".insn s,0xb2850000,0({a})", a = in(reg_addr) &raw const operand);
        shows!("LPCTL-2", outcome.number(), suppressed(SPECIFICATION, 4));
    }
    shows!("LPCTL-2", state(), (true, true));
    let far = 0x7000_0000_u64;
    let beyond = attempt!(".insn s,0xb2850000,0({a})", a = in(reg_addr) far);
    shows!("LPCTL-10", beyond.code(), ADDRESSING);
    let mut odd = [0_u8; 16];
    odd[3 + 7] = 2;
    let outcome = attempt!(".insn s,0xb2850000,3({a})", a = in(reg_addr) odd.as_ptr());
    shows!("LPCTL-12", outcome.number(), 0);
    shows!("LPCTL-12", state(), (true, false));
}

fn counters() {
    lpctl(3);
    for number in 0..8 {
        shows!(
            ["SPCTR-1", "SPCTR-2", "SPCTR-4"],
            spctr(number, VALUE + number),
            0
        );
    }
    for number in 0..8 {
        let found = epctr(number, UNCHANGED);
        shows!(
            ["EPCTR-1", "EPCTR-2", "EPCTR-4"],
            found,
            (0, VALUE + number)
        );
    }
    for place in [8, 0x3F, 0xFF] {
        shows!("EPCTR-6", epctr(place, UNCHANGED), (3, UNCHANGED));
        shows!("SPCTR-6", spctr(place, 1), 3);
    }
    for place in [0x0100, 0xFF_FF00] {
        shows!("EPCTR-5", epctr(place, UNCHANGED), (3, UNCHANGED));
        shows!("SPCTR-5", spctr(place, 1), 3);
    }
    for bit in 0..40 {
        let place = 1_u64 << (63 - bit);
        let mut value = UNCHANGED;
        let outcome =
            attempt!(".insn rre,0xb2e50000,{v},{p}", v = inout(reg) value, p = in(reg) place);
        shows!("EPCTR-3", outcome.number(), suppressed(SPECIFICATION, 4));
        shows!("EPCTR-3", value, UNCHANGED);
        let outcome =
            attempt!(".insn rre,0xb2e10000,{v},{p}", v = in(reg) value, p = in(reg) place);
        shows!("SPCTR-3", outcome.number(), suppressed(SPECIFICATION, 4));
    }
    lpctl(2);
    check(
        "inactive counters keep their values",
        epctr(1, 0).1,
        VALUE + 1,
    );
    lpctl(0);
    shows!("EPCTR-7", epctr(0, UNCHANGED), (3, UNCHANGED));
    shows!("SPCTR-7", spctr(0, 1), 3);
    lpctl(2);
    check("disabling clears", epctr(1, UNCHANGED).1, 0);
    lpctl(0);
}

fn addresses() {
    for cpu in 0..2 {
        let found = ecpga(cpu, UNCHANGED);
        let expected = UNCHANGED & 0xFFFF_FFFF_0000_0000;
        shows!(
            [
                "ECPGA-1", "ECPGA-2", "ECPGA-3", "ECPGA-4", "ECPGA-6", "GROUP-1"
            ],
            found,
            (0, expected)
        );
    }
    for cpu in [2, 0xFFFF] {
        shows!("ECPGA-7", ecpga(cpu, UNCHANGED), (3, UNCHANGED));
    }
    for bit in 0..48 {
        let cpu = 1_u64 << (63 - bit);
        let outcome = attempt!(".insn rre,0xb2ed0000,{v},{c}", v = in(reg) 0_u64, c = in(reg) cpu);
        shows!("ECPGA-5", outcome.number(), suppressed(SPECIFICATION, 4));
    }
}

fn problem_state() {
    // Neither the operand nor the registers are looked at.
    let bad = u64::MAX;
    let refused = suppressed(PRIVILEGED, 4);
    let outcome = attempt_in_problem_state!(".insn s,0xb2850000,0({a})", a = in(reg_addr) bad);
    shows!("LPCTL-11", outcome.number(), refused);
    let outcome = attempt_in_problem_state!(".insn rre,0xb2e10000,{b},{b}", b = in(reg) bad);
    shows!("SPCTR-9", outcome.number(), refused);
    let outcome = attempt_in_problem_state!(".insn rre,0xb2e50000,{b},{b}", b = in(reg) bad);
    shows!("EPCTR-9", outcome.number(), refused);
    let outcome = attempt_in_problem_state!(".insn rre,0xb2ed0000,{b},{b}", b = in(reg) bad);
    shows!("ECPGA-8", outcome.number(), refused);
}

extern "C" fn unauthorized() -> ! {
    let information = qctri();
    check(
        "an unauthorized CPU sees neither control",
        (information.authorization | information.enable | information.activation)
            & set::COPROCESSOR_GROUP,
        0,
    );
    shows!("LPCTL-8", lpctl(0), 0);
    for operand in 1..4 {
        shows!("LPCTL-9", lpctl(operand), 3);
    }
    shows!("EPCTR-8", epctr(0, UNCHANGED), (3, UNCHANGED));
    shows!("SPCTR-8", spctr(0, 1), 3);
    check("its group", ecpga(1, 0).1, 0);
    DONE.store(1, Ordering::Release);
    loop {
        yield_cpu();
    }
}
