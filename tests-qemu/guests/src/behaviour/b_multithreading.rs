//! SIGNAL PROCESSOR, set multithreading: the CPUs that the program sees before and after it, and the MT-diagnostic
//! counters.

use core::sync::atomic::{AtomicU64, Ordering};

use guests::check::{check, holds};
use guests::externals::{self, EMERGENCY_SIGNAL, EXTERNAL_CALL};
use guests::insn::control::{lctlg_0, lctlg_all, stctg_0, stctg_all, stnsm, stosm};
use guests::insn::cpu::{Order, Page, sigp, stap, stsi};
use guests::insn::measurement::{controls, ecctr, lcctl, qctri, scctr, set, stcctm};
use guests::sampling::busy;
use guests::sccb::{READ_SCP_INFO, with_block};
use guests::smp::{self, INCORRECT_STATE, INVALID_ORDER, INVALID_PARAMETER};
use guests::{attempt_in_problem_state, insn, lowcore, shows};

guests::clause!(
    "SA23-2260, MT-diagnostic Counter Set; Principles of Operation, SIGNAL PROCESSOR, Set Multithreading",
    native = false,
    cpus = 4,
    options = "--threads 2; --threads 2 --model z13; --threads 2 --model z16 --level vm"
);
guests::case!(run);

/// The order for another thread, and the order that it has done.
static WISH: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicU64 = AtomicU64::new(0);
/// The data that another thread read: its address, counters 448 and 449 one after the other, and its own cycles.
static READ: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

const WORK: u64 = 1;
const LOOK: u64 = 2;
const SIGNAL: u64 = 3;

static mut BLOCK: Page = Page([0; 4096]);

/// Another thread: performs orders, over and over, or gives its turn away.
extern "C" fn other() -> ! {
    lcctl(controls(set::BASIC, set::BASIC));
    loop {
        let wish = WISH.load(Ordering::Acquire);
        match wish {
            WORK => {
                busy(10_000);
                continue;
            }
            LOOK => {
                READ[0].store(u64::from(stap()), Ordering::Relaxed);
                READ[1].store(ecctr(448).1, Ordering::Relaxed);
                READ[2].store(ecctr(449).1, Ordering::Relaxed);
                READ[3].store(ecctr(0).1, Ordering::Relaxed);
            }
            SIGNAL => {
                smp::signal(0, Order::EmergencySignal, 0);
                smp::signal(0, Order::ExternalCall, 0);
            }
            _ => {}
        }
        if wish != 0 {
            WISH.store(0, Ordering::Relaxed);
            DONE.fetch_add(1, Ordering::Release);
        }
        insn::yield_cpu();
    }
}

/// Has the other thread perform an order once.
fn ask(wish: u64) {
    let done = DONE.load(Ordering::Acquire);
    WISH.store(wish, Ordering::Release);
    while DONE.load(Ordering::Acquire) == done {
        insn::yield_cpu();
    }
}

/// READ SCP INFO: CPUs, highest CPU address, and the three bytes about threads.
fn scp_info() -> (u16, u16, [u8; 3]) {
    with_block(
        READ_SCP_INFO,
        |block| block[0..2].copy_from_slice(&4096_u16.to_be_bytes()),
        |block| {
            let halfword = |at: usize| u16::from_be_bytes([block[at], block[at + 1]]);
            (
                halfword(16),
                halfword(120),
                [block[42], block[43], block[66]],
            )
        },
    )
}

fn bits(halfword: u16) -> bool {
    halfword & set::MT_DIAGNOSTIC != 0
}

fn set_multithreading(parameter: u32) -> (u8, u32) {
    // The CPU address is ignored.
    sigp(77, Order::SetMultithreading, parameter)
}

fn run() {
    before();
    order();
    shown();
    counting();
    resets();
    disabled();
}

/// Cores only.
fn before() {
    check("CPUs", smp::count(), 2);
    check("address of this CPU", stap(), 0);
    let (cpus, highest, threads) = scp_info();
    check("READ SCP INFO: cores", cpus, 2);
    check("  highest address", highest, 1);
    holds("  one thread more may be had", threads == [0x81, 1, 0]);
    let information = qctri();
    check("maximum CPU address", information.maximum_cpu_address, 1);
    shows!("SETS-2", bits(information.authorization));
    shows!(
        "QCTRI-15",
        !bits(information.enable) && !bits(information.activation)
    );
    check("counter 448 is not there", ecctr(448).0, 3);
    let mut list = [0; 48];
    check("nor is its set", stcctm::<5>(48, &mut list), 3);
    lcctl(controls(set::MT_DIAGNOSTIC, set::MT_DIAGNOSTIC));
    holds("LCCTL does not enable it", !bits(qctri().enable));
}

/// The order, and the reasons to refuse it.
fn order() {
    check("parameter 0: condition code", set_multithreading(0).0, 0);
    check("  it changes nothing", smp::count(), 2);
    for parameter in [2, 0x1F, 0x21, 0x8000_0001] {
        let found = set_multithreading(parameter);
        holds("a parameter is refused", found == (1, INVALID_PARAMETER));
        let information = qctri();
        shows!(
            "TRANSITION-29",
            !bits(information.enable) && !bits(information.activation)
        );
    }
    smp::start(1, other);
    let found = set_multithreading(1);
    holds("another CPU operates", found == (1, INCORRECT_STATE));
    smp::stop(1);
    check(
        "all others are stopped: condition code",
        set_multithreading(1).0,
        0,
    );
    let found = set_multithreading(1);
    holds("it is enabled already", found == (1, INVALID_ORDER));
}

/// Checks the threads, in everything that shows CPUs.
fn shown() {
    check("CPUs", smp::count(), 4);
    check("address of this CPU", stap(), 0);
    let (cpus, highest, threads) = scp_info();
    check("READ SCP INFO: cores", cpus, 2);
    check("  highest address", highest, 1);
    holds("  what was asked for is known", threads == [0x81, 1, 1]);
    let information = qctri();
    check("maximum CPU address", information.maximum_cpu_address, 3);
    shows!(
        ["TRANSITION-20", "QCTRI-15"],
        bits(information.enable) && bits(information.activation)
    );
    // SAFETY: the only reference.
    let block = unsafe { &mut *(&raw mut BLOCK) };
    stsi(2, 2, 2, block);
    let halfword = |at: usize| u16::from_be_bytes([block.0[at], block.0[at + 1]]);
    check("STSI 2.2.2: cores", halfword(36), 2);
    holds("  their threads", block.0[64..67] == [0x81, 1, 1]);
    for address in [1, 3] {
        smp::start(address, other);
        ask(LOOK);
        let found = READ[0].load(Ordering::Relaxed);
        check("address of another thread", found, u64::from(address));
        externals::record();
        let cr0 = stctg_0();
        ask(SIGNAL);
        lctlg_0(cr0 | EMERGENCY_SIGNAL | EXTERNAL_CALL);
        stosm::<0x01>();
        stnsm::<0xFE>();
        lctlg_0(cr0);
        check("emergency signal from", externals::get(0).cpu, address);
        check("external call from", externals::get(1).cpu, address);
        check("  codes", externals::take_codes(), 0x1201_1202);
        smp::stop(address);
    }
}

/// The pair of counters.
fn pair() -> [u64; 2] {
    [448, 449].map(|number| ecctr(number).1)
}

fn counting() {
    const TURNS: u64 = 4_000_000;
    lcctl(controls(set::BASIC, set::BASIC));
    let [one, two] = pair();
    busy(TURNS);
    let [one_later, two_later] = pair();
    shows!(
        ["MT-9", "MT-3"],
        (TURNS..TURNS + 100).contains(&(one_later - one))
    );
    check("alone: none with two threads active", two_later - two, 0);
    let mut turns = TURNS;
    let outcome = attempt_in_problem_state!("40: brctg {n}, 40b", n = inout(reg) turns);
    check("in the problem state", outcome.code(), 0);
    shows!("MT-3", pair()[0] - one_later >= TURNS);

    // The other thread of this core works as well.
    smp::start(1, other);
    ask(LOOK);
    WISH.store(WORK, Ordering::Release);
    let ([one, two], own) = (pair(), ecctr(0).1);
    let theirs = READ[3].load(Ordering::Relaxed);
    busy(TURNS);
    WISH.store(0, Ordering::Release);
    ask(LOOK);
    let read = [1, 2, 3].map(|n| READ[n].load(Ordering::Relaxed));
    let ([one_later, two_later], own_later) = (pair(), ecctr(0).1);
    shows!("MT-10", two_later - two > TURNS);
    shows!(
        ["MT-4", "COUNTER-4"],
        one <= read[0] && read[0] <= one_later && two < read[1] && read[1] <= two_later
    );
    let sum = (one_later - one) + (two_later - two);
    let cycles = (own_later - own) + (read[2] - theirs);
    holds(
        "the two counters add up to the cycles of both threads",
        sum.abs_diff(cycles) < 20_000,
    );
    shows!("MT-5", read[1] > 0);
    smp::stop(1);

    // The other core has counters of its own.
    smp::start(2, other);
    ask(LOOK);
    let strange = READ[1].load(Ordering::Relaxed);
    holds("another core has counted less", strange < one_later / 2);
    smp::stop(2);

    let before = pair();
    let codes = [scctr(448, 0), scctr(449, 0)];
    lcctl(0);
    let after = pair();
    shows!(
        ["MT-8", "MT-11"],
        codes == [3, 3] && after[0] >= before[0] && after[1] >= before[1]
    );
    let mut list = [u64::MAX; 49];
    let cc = stcctm::<5>(48, &mut list);
    shows!(
        "STCCTM-9",
        cc == 0 && list[0] >= after[0] && list[1] >= after[1]
    );
    shows!(
        "MT-2",
        list[2..48].iter().all(|&value| value == 0)
            && list[48] == u64::MAX
            && (448..496).all(|number| ecctr(number).0 == 0)
            && (496..512).all(|number| ecctr(number).0 == 3)
    );
    let cc = stcctm::<9>(2, &mut list);
    check("STCCTM, with clearing of the alert", cc, 1);
}

/// Resetting one CPU does not reset the configuration.
fn resets() {
    for (order, initial) in [(Order::CpuReset, false), (Order::InitialCpuReset, true)] {
        smp::signal(1, order, 0);
        check("CPUs after a reset of one", smp::count(), 4);
        DONE.store(0, Ordering::Relaxed);
        smp::start(1, other);
        ask(LOOK);
        smp::stop(1);
        let there = READ[1].load(Ordering::Relaxed) > 0;
        if initial {
            shows!("LOCAL-10", there);
        } else {
            shows!("LOCAL-9", there);
        }
    }
}

/// DIAGNOSE 308: a load normal, or a clear reset, after which the program goes on by the PSW at absolute 0.
fn reset_configuration(subcode: u64) {
    let control = stctg_all();
    let before: u64 = lowcore::read(0);
    // SAFETY: the registers are kept in storage that nothing else uses; the PSW at 0 leads back here.
    unsafe {
        core::arch::asm!(
            "larl %r2, 32f",
            "iihf %r2, 0x00080000",
            "oilh %r2, 0x8000",
            "stg %r2, 0(%r0)",
            "stmg %r0, %r15, 0xA00(%r0)",
            "lgr %r1, {s}",
            "lghi %r2, 0",
            "diag %r2, %r1, 0x308",
            "32: sam64",
            "lmg %r0, %r15, 0xA00(%r0)",
            s = in(reg) subcode,
            out("r1") _,
            out("r2") _,
        );
    }
    lowcore::write(0, before);
    lctlg_all(&control);
}

/// Resetting the configuration disables multithreading. It can be enabled again.
fn disabled() {
    for subcode in [1, 0] {
        reset_configuration(subcode);
        check("CPUs after a reset of the configuration", smp::count(), 2);
        check("address of this CPU", stap(), 0);
        let information = qctri();
        shows!(
            ["MT-6", "LOCAL-11", "TRANSITION-21"],
            !bits(information.enable) && !bits(information.activation) && ecctr(448).0 == 3
        );
        check("maximum CPU address", information.maximum_cpu_address, 1);
        let (_, _, threads) = scp_info();
        holds("what was asked for is still known", threads == [0x81, 1, 1]);
        check("enabled again", set_multithreading(1).0, 0);
        check("CPUs", smp::count(), 4);
        let [one, two] = pair();
        shows!("MT-6", one < 2_000_000 && two == 0);
    }
}
