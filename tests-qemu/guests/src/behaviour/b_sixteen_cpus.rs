//! Sixteen CPUs, the most of a configuration: each is found wherever CPUs are listed, runs, counts for itself, and
//! signals. (QEMU sometimes leaves a started CPU asleep, hence not native.)

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use guests::check::{check, holds};
use guests::externals::{self, EMERGENCY_SIGNAL};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::insn::cpu::{Order, Page, stap, stsi};
use guests::insn::measurement::{controls, ecctr, ecpga, lcctl, qctri, set};
use guests::insn::yield_cpu;
use guests::sampling::busy;
use guests::sccb::{READ_SCP_INFO, with_block};
use guests::{shows, smp};

guests::clause!(
    "SA22-7832, SIGNAL PROCESSOR; STORE CPU ADDRESS; STORE SYSTEM INFORMATION; SA23-2260, ECPGA",
    native = false,
    cpus = 16
);
guests::case!(run);

const CPUS: u16 = 16;
/// CPUs of a coprocessor group.
const SHARED: u64 = 2;
/// The instruction counter.
const INSTRUCTIONS: u64 = 1;
const UNCHANGED: u64 = 0x5A5A_5A5A_A5A5_A5A5;

static mut BLOCK: Page = Page([0; 4096]);
/// What each CPU found out of itself.
static ADDRESS: [AtomicU32; CPUS as usize] = [const { AtomicU32::new(u32::MAX) }; CPUS as usize];
static COUNTED: [AtomicU64; CPUS as usize] = [const { AtomicU64::new(0) }; CPUS as usize];
static READY: AtomicU32 = AtomicU32::new(0);
static SIGNALLED: AtomicU32 = AtomicU32::new(0);
static GO: AtomicU32 = AtomicU32::new(0);

/// Counts as many instructions as its address says.
extern "C" fn other() -> ! {
    let me = stap();
    let place = usize::from(me) % usize::from(CPUS);
    ADDRESS[place].store(me.into(), Ordering::Relaxed);
    lcctl(controls(set::BASIC, set::BASIC));
    let before = ecctr(INSTRUCTIONS).1;
    busy(1000 * u64::from(me));
    COUNTED[place].store(ecctr(INSTRUCTIONS).1 - before, Ordering::Relaxed);
    READY.fetch_or(1 << me, Ordering::AcqRel);
    while GO.load(Ordering::Acquire) == 0 {
        yield_cpu();
    }
    smp::signal(0, Order::EmergencySignal, 0);
    SIGNALLED.fetch_or(1 << me, Ordering::AcqRel);
    loop {
        yield_cpu();
    }
}

fn halfword(block: &[u8; 4096], at: usize) -> u16 {
    u16::from_be_bytes([block[at], block[at + 1]])
}

fn listed() {
    check("CPUs that answer", smp::count(), CPUS);
    holds("there is no CPU behind them", !smp::present(CPUS));
    // SAFETY: the only reference.
    let block = unsafe { &mut *(&raw mut BLOCK) };
    let mut numbers = |level| {
        stsi(level, 2, 2, block);
        [36, 38, 40, 42].map(|at| halfword(&block.0, at))
    };
    shows!("STSI-6", numbers(1), [CPUS, CPUS, 0, 0]);
    shows!("STSI-8", numbers(2), [CPUS, CPUS, 0, 0]);
    // Nothing can be printed while the block is used.
    let information = with_block(
        READ_SCP_INFO,
        |block| block[..2].copy_from_slice(&4096_u16.to_be_bytes()),
        |block| *block,
    );
    check("response", halfword(&information, 6), 0x0010);
    check("CPU entries", halfword(&information, 16), CPUS);
    let entries = information.get(halfword(&information, 18).into()..);
    for (cpu, entry) in (0..CPUS).zip(entries.unwrap_or_default().chunks(16)) {
        check("an entry", entry[0].into(), cpu);
    }
    check("the highest CPU", halfword(&information, 120), CPUS - 1);
    let information = qctri();
    shows!("QCTRI-6", information.maximum_cpu_address, CPUS - 1);
    shows!(
        "QCTRI-8",
        information.maximum_group_address,
        CPUS / SHARED as u16 - 1
    );
    for cpu in 0..CPUS.into() {
        let (cc, value) = ecpga(cpu, UNCHANGED);
        shows!("ECPGA-6", (cc, value >> 8 & 0xFFFF), (0, cpu / SHARED));
    }
    shows!("ECPGA-7", ecpga(CPUS.into(), UNCHANGED), (3, UNCHANGED));
}

fn run() {
    listed();
    for cpu in 1..CPUS {
        smp::start(cpu, other);
    }
    let all = (1 << CPUS) - 2;
    while READY.load(Ordering::Acquire) != all {
        yield_cpu();
    }
    let first = COUNTED[1].load(Ordering::Relaxed);
    let step = COUNTED[2].load(Ordering::Relaxed) - first;
    for cpu in 1..CPUS {
        let place = usize::from(cpu);
        shows!("STAP-1", ADDRESS[place].load(Ordering::Relaxed), cpu.into());
        check(
            "instructions of a CPU",
            COUNTED[place].load(Ordering::Relaxed),
            first + u64::from(cpu - 1) * step,
        );
    }
    check("instructions of a thousand more", step, 1000);
    // One interruption for each CPU that signalled, with its address.
    externals::record();
    GO.store(1, Ordering::Release);
    while SIGNALLED.load(Ordering::Acquire) != all {
        yield_cpu();
    }
    let cr0 = stctg_0();
    lctlg_0(cr0 | EMERGENCY_SIGNAL);
    stosm::<0x01>();
    stnsm::<0xFE>();
    lctlg_0(cr0);
    let number = externals::recorded();
    let signalled = (0..number).fold(0, |all, n| all | 1 << externals::get(n).cpu);
    shows!(
        "EXTERNALINTERRUPTION-26",
        (number, signalled),
        (usize::from(CPUS) - 1, all)
    );
    smp::stop_others();
}
