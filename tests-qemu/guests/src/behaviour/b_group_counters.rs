//! The coprocessor-group counter sets: LOAD PERIPHERAL-COUNTER-SET CONTROLS, EXTRACT and SET PERIPHERAL COUNTER, and
//! EXTRACT COPROCESSOR-GROUP ADDRESS, on authorized CPUs of two groups and on a CPU without authorization.

use core::sync::atomic::{AtomicU64, Ordering};

use guests::attempt;
use guests::attempt::suppressed;
use guests::dat;
use guests::externals::{alerts, wait_for_the_operator};
use guests::insn::cpu::Page;
use guests::insn::measurement::{ecpga, epctr, lpctl, qctri, set, spctr};
use guests::insn::yield_cpu;
use guests::shows;
use guests::smp;

guests::clause!(
    "SA23-2260, Peripheral Counter Sets; LPCTL; EPCTR; SPCTR; ECPGA",
    native = false,
    cpus = 4,
    options =
        "--operator 'AUTH CPU ALL COUNTERS GROUP ON' --operator 'AUTH CPU 3 COUNTERS GROUP OFF'",
    when_waiting = "AUTH CPU 0 COUNTERS GROUP OFF; INTERRUPT CPU 0; AUTH CPU 0 COUNTERS GROUP ON; INTERRUPT CPU 0;\
        AUTH CPU 0 COUNTERS GROUP OFF; INTERRUPT CPU 0; AUTH CPU 0 COUNTERS GROUP ON; INTERRUPT CPU 0;\
        AUTH CPU 0 COUNTERS GROUP OFF; INTERRUPT CPU 0; AUTH CPU 0 COUNTERS GROUP ON; INTERRUPT CPU 0"
);
guests::case!(run);

const DISABLED: u64 = 0;
const INACTIVE: u64 = 2;
const ACTIVE: u64 = 3;
/// The parameter of a counter-authorization-change alert.
const COUNTER_AUTHORIZATION: u32 = 0x80;
const UNCHANGED: u64 = 0x5A5A_5A5A_A5A5_A5A5;

static mut FRAME: Page = Page([0; 4096]);
static OTHER: [AtomicU64; 5] = [const { AtomicU64::new(u64::MAX) }; 5];

/// Enable and activation control as this CPU sees them.
fn state() -> u64 {
    let information = qctri();
    u64::from(information.enable >> 15) << 1 | u64::from(information.activation >> 15)
}

/// A counter of a group, as EPCTR and SPCTR designate it.
fn place(group: u64, number: u64) -> u64 {
    group << 8 | number
}

fn transition(from: u64, to: u64) -> (u8, u64) {
    lpctl(from);
    (lpctl(to), state())
}

/// On another CPU: its state, a counter that it extracts, a counter that it sets, and the condition codes of LPCTL
/// for each operand.
extern "C" fn other() -> ! {
    OTHER[0].store(state(), Ordering::SeqCst);
    let (cc, value) = epctr(place(0, 0), UNCHANGED);
    OTHER[1].store(cc.into(), Ordering::SeqCst);
    OTHER[2].store(value, Ordering::SeqCst);
    OTHER[3].store(spctr(place(1, 3), 33).into(), Ordering::SeqCst);
    let answers = [1, INACTIVE, ACTIVE, DISABLED].map(lpctl);
    OTHER[4].store(u32::from_be_bytes(answers).into(), Ordering::SeqCst);
    loop {
        yield_cpu();
    }
}

fn on(cpu: u16) -> [u64; 5] {
    OTHER[4].store(u64::MAX, Ordering::SeqCst);
    smp::start(cpu, other);
    while OTHER[4].load(Ordering::SeqCst) == u64::MAX {
        yield_cpu();
    }
    smp::stop(cpu);
    core::array::from_fn(|n| OTHER[n].load(Ordering::SeqCst))
}

fn addresses() {
    let information = qctri();
    shows!(["GROUP-2", "QCTRI-8"], information.maximum_group_address, 1);
    shows!(["GROUP-2", "ECPGA-4"], information.maximum_cpu_address, 3);
    for cpu in 0..4_u64 {
        let (cc, value) = ecpga(cpu, UNCHANGED);
        shows!("ECPGA-6", cc, 0);
        shows!(
            ["ECPGA-1", "ECPGA-4", "GROUP-1"],
            value >> 8 & 0xFFFF,
            cpu / 2
        );
        shows!("ECPGA-2", value & 0xFF00_00FF, 0);
        shows!("ECPGA-3", value >> 32, UNCHANGED >> 32);
    }
    for cpu in [4, 9, 0xFFFF] {
        shows!("ECPGA-7", ecpga(cpu, UNCHANGED), (3, UNCHANGED));
    }
    let mut value = UNCHANGED;
    for bit in 0..48 {
        let wrong = 1_u64 << (63 - bit);
        let outcome =
            attempt!(".insn rre,0xb2ed0000,{v},{n}", v = inout(reg) value, n = in(reg) wrong);
        shows!(
            "ECPGA-5",
            (outcome.number(), value),
            (suppressed(6, 4), UNCHANGED)
        );
    }
}

fn controls() {
    shows!(["SETS-7", "LPCTL-4"], lpctl(DISABLED), 0);
    shows!(
        ["TRANSITION-22", "LPCTL-1"],
        transition(DISABLED, INACTIVE),
        (0, INACTIVE)
    );
    shows!(
        ["TRANSITION-22", "LPCTL-1"],
        transition(DISABLED, ACTIVE),
        (0, ACTIVE)
    );
    shows!(
        ["TRANSITION-22", "GROUP-8"],
        transition(INACTIVE, DISABLED),
        (0, DISABLED)
    );
    shows!("TRANSITION-22", transition(INACTIVE, ACTIVE), (0, ACTIVE));
    shows!(
        ["TRANSITION-22", "GROUP-8"],
        transition(ACTIVE, DISABLED),
        (0, DISABLED)
    );
    shows!("TRANSITION-22", transition(ACTIVE, INACTIVE), (0, INACTIVE));
    for same in [DISABLED, INACTIVE, ACTIVE] {
        shows!(["LPCTL-7", "STATE-15"], transition(same, same), (0, same));
    }
    for before in [DISABLED, INACTIVE, ACTIVE] {
        lpctl(before);
        shows!(["LPCTL-3", "LPCTL-5"], (lpctl(1), state()), (3, before));
        for bit in 0..62 {
            let operand = 1_u64 << (63 - bit);
            let outcome =
                attempt!(".insn s,0xb2850000,0({a})", a = in(reg_addr) &raw const operand);
            shows!(
                "LPCTL-2",
                (outcome.number(), state()),
                (suppressed(6, 4), before)
            );
        }
    }
    let bytes = [0_u8, 0, 0, 0, 0, 0, 0, 0, 2];
    let odd = bytes.as_ptr() as u64 + 1;
    let outcome = attempt!(".insn s,0xb2850000,0({a})", a = in(reg_addr) odd);
    shows!("LPCTL-12", (outcome.number(), state()), (0, INACTIVE));
    dat::prepare();
    dat::set_window(8, &raw const FRAME as u64);
    dat::on();
    for inside in 0..8_u64 {
        let a = dat::WINDOW + 9 * 4096 - inside;
        let outcome = attempt!(".insn s,0xb2850000,0({a})", a = in(reg_addr) a);
        shows!("LPCTL-10", (outcome.code(), state()), (0x11, INACTIVE));
    }
    dat::off();
    let beyond = attempt!(".insn s,0xb2850000,0({a})", a = in(reg_addr) 0x7000_0000_u64);
    shows!("LPCTL-10", (beyond.code(), state()), (5, INACTIVE));
}

fn counters() {
    lpctl(DISABLED);
    for number in 0..8 {
        shows!(
            "EPCTR-7",
            epctr(place(0, number), UNCHANGED),
            (3, UNCHANGED)
        );
        shows!("SPCTR-7", spctr(place(0, number), 1), 3);
    }
    lpctl(INACTIVE);
    for group in 0..2 {
        for number in 0..8 {
            let value = group << 60 | number << 32 | 5;
            shows!(
                ["SPCTR-4", "SPCTR-2", "SETS-4"],
                spctr(place(group, number), value),
                0
            );
            shows!(
                [
                    "EPCTR-1", "EPCTR-2", "EPCTR-4", "SPCTR-1", "SETS-3", "SETS-4", "GROUP-3"
                ],
                epctr(place(group, number), UNCHANGED),
                (0, value)
            );
        }
        for number in [8, 9, 63, 64, 255] {
            shows!(
                ["EPCTR-6", "GROUP-18"],
                epctr(place(group, number), UNCHANGED),
                (3, UNCHANGED)
            );
            shows!(["SPCTR-6", "GROUP-18"], spctr(place(group, number), 1), 3);
        }
    }
    for group in [2, 0xFFFF] {
        shows!("EPCTR-5", epctr(place(group, 0), UNCHANGED), (3, UNCHANGED));
        shows!("SPCTR-5", spctr(place(group, 0), 1), 3);
    }
    let mut value = UNCHANGED;
    for bit in 0..40 {
        let wrong = 1_u64 << (63 - bit);
        let outcome =
            attempt!(".insn rre,0xb2e50000,{v},{n}", v = inout(reg) value, n = in(reg) wrong);
        shows!(
            "EPCTR-3",
            (outcome.number(), value),
            (suppressed(6, 4), UNCHANGED)
        );
        let outcome =
            attempt!(".insn rre,0xb2e10000,{v},{n}", v = in(reg) value, n = in(reg) wrong);
        shows!("SPCTR-3", outcome.number(), suppressed(6, 4));
    }
}

fn several_cpus() {
    lpctl(INACTIVE);
    spctr(place(0, 0), 4444);
    // An authorized CPU of this group, one of the other group, and a CPU without authorization.
    for cpu in [1, 2] {
        lpctl(INACTIVE);
        spctr(place(0, 0), 4444);
        let [seen, cc, value, set, answers] = on(cpu);
        shows!(
            ["GLOBAL-2", "STATE-15", "GLOBAL-1", "STATE-13"],
            seen,
            INACTIVE
        );
        shows!(
            ["EPCTR-10", "COUNTER-5", "TRANSITION-23", "SETS-4"],
            (cc, value),
            (0, 4444)
        );
        shows!(["SPCTR-10", "TRANSITION-23"], set, 0);
        shows!(
            ["TRANSITION-23", "GLOBAL-2"],
            (answers, state()),
            (0x0300_0000, DISABLED)
        );
    }
    lpctl(INACTIVE);
    spctr(place(0, 0), 4444);
    let [seen, cc, value, set, answers] = on(3);
    shows!(["STATE-14", "QCTRI-16", "LOCAL-2"], seen, DISABLED);
    shows!("EPCTR-8", (cc, value), (3, UNCHANGED));
    shows!("SPCTR-8", set, 3);
    shows!(["LPCTL-9", "LPCTL-8"], answers, 0x0303_0300);
    shows!(
        ["GROUP-9", "LPCTL-9"],
        (state(), epctr(place(0, 0), 0)),
        (INACTIVE, (0, 4444))
    );
    // Disabling clears the counters of all groups.
    spctr(place(1, 7), 5555);
    lpctl(DISABLED);
    shows!(["GLOBAL-4", "GLOBAL-5", "QCTRI-9"], qctri().change >> 15, 0);
    lpctl(INACTIVE);
    shows!(
        "GROUP-6",
        (epctr(place(0, 0), 1), epctr(place(1, 7), 1)),
        ((0, 0), (0, 0))
    );
    lpctl(DISABLED);
}

/// An authorized CPU sees the state of the global controls at once.
fn external_means() {
    for global in [INACTIVE, ACTIVE] {
        lpctl(global);
        wait_for_the_operator();
        shows!(["STATE-14", "GROUP-4"], state(), DISABLED);
        shows!(
            "TRANSITION-26",
            (
                qctri().authorization & set::COPROCESSOR_GROUP,
                epctr(place(0, 0), UNCHANGED)
            ),
            (0, (3, UNCHANGED))
        );
        shows!("ALERT-43", alerts(), (1, COUNTER_AUTHORIZATION));
        wait_for_the_operator();
        shows!(["TRANSITION-3", "STATE-15"], state(), global);
        shows!("ALERT-46", alerts(), (0, 0));
    }
    lpctl(DISABLED);
    wait_for_the_operator();
    shows!(["TRANSITION-26", "ALERT-44"], alerts(), (0, 0));
    shows!(
        "TRANSITION-26",
        (lpctl(INACTIVE), qctri().authorization >> 15),
        (3, 0)
    );
    wait_for_the_operator();
    shows!(
        "TRANSITION-27",
        (state(), qctri().authorization >> 15),
        (DISABLED, 1)
    );
    shows!(
        "TRANSITION-27",
        epctr(place(0, 0), UNCHANGED),
        (3, UNCHANGED)
    );
    lpctl(DISABLED);
}

fn run() {
    shows!(
        ["GROUP-7", "GROUP-4"],
        (qctri().authorization & set::COPROCESSOR_GROUP, state()),
        (0x8000, 0)
    );
    addresses();
    controls();
    counters();
    several_cpus();
    external_means();
}
