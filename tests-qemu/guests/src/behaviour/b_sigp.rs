//! Orders of SIGNAL PROCESSOR to a CPU that is stopped, running, or not there: condition codes and
//! status bits.

use core::sync::atomic::{AtomicU32, Ordering};

use guests::check::{check, holds};
use guests::insn::cpu::Order;
use guests::insn::yield_cpu;
use guests::smp;

guests::clause!(
    "Principles of Operation, SIGNAL PROCESSOR; Signal-Processor Orders",
    native = true,
    cpus = 2
);
guests::case!(run);

static COUNT: AtomicU32 = AtomicU32::new(0);

#[repr(C, align(512))]
struct Status([u64; 64]);
static mut STATUS: Status = Status([0; 64]);

extern "C" fn count() -> ! {
    loop {
        COUNT.fetch_add(1, Ordering::Relaxed);
        yield_cpu();
    }
}

/// Condition code and status as one number.
fn order(cpu: u16, order: Order, parameter: u32) -> u64 {
    let (cc, status) = smp::signal(cpu, order, parameter);
    u64::from(cc) << 32 | u64::from(status)
}

const STATUS_STORED: u64 = 1 << 32;
const NOT_OPERATIONAL: u64 = 3 << 32;

fn run() {
    check(
        "sense a stopped CPU",
        order(1, Order::Sense, 0),
        STATUS_STORED | 0x40,
    );
    check(
        "sense a CPU that is not there",
        order(9, Order::Sense, 0),
        NOT_OPERATIONAL,
    );
    check(
        "start a CPU that is not there",
        order(9, Order::Start, 0),
        NOT_OPERATIONAL,
    );
    check("sense itself", order(0, Order::Sense, 0), 0);
    check(
        "an unassigned order",
        order(1, Order::Unassigned, 0),
        STATUS_STORED | 0x2,
    );
    check(
        "set prefix beyond storage",
        order(1, Order::SetPrefix, 0x7FFF_E000),
        STATUS_STORED | 0x100,
    );
    check(
        "sense running status of a stopped CPU",
        order(1, Order::SenseRunningStatus, 0),
        STATUS_STORED | 0x400,
    );
    smp::start(1, count);
    while COUNT.load(Ordering::Relaxed) < 3 {
        yield_cpu();
    }
    check("sense an operating CPU", order(1, Order::Sense, 0), 0);
    let area = smp::prefix_area(1) as u32;
    check(
        "set prefix of an operating CPU",
        order(1, Order::SetPrefix, area),
        STATUS_STORED | 0x200,
    );
    // SAFETY: the address only.
    let status = unsafe { &raw mut STATUS.0 as *mut u64 };
    check(
        "store status of an operating CPU",
        order(1, Order::StoreStatusAtAddress, status as u32),
        STATUS_STORED | 0x200,
    );
    check("stop", order(1, Order::Stop, 0), 0);
    while order(1, Order::Sense, 0) != STATUS_STORED | 0x40 {
        yield_cpu();
    }
    let stopped = COUNT.load(Ordering::Relaxed);
    for _ in 0..10 {
        yield_cpu();
    }
    check(
        "a stopped CPU does nothing",
        COUNT.load(Ordering::Relaxed) - stopped,
        0,
    );
    check(
        "store status of a stopped CPU",
        order(1, Order::StoreStatusAtAddress, status as u32),
        0,
    );
    // SAFETY: the other CPU is stopped and the status is stored.
    let (mask, address, prefix) = unsafe {
        let doubleword = |n: usize| status.add(n).read_volatile();
        (
            doubleword(32),
            doubleword(33),
            (doubleword(35) >> 32) as u32,
        )
    };
    check(
        "stored PSW, mask without the condition code",
        mask & !(3 << 44),
        0x0000_0001_8000_0000,
    );
    holds(
        "stored PSW, address in the image",
        (0x20_0000..0x40_0000).contains(&address),
    );
    holds("stored prefix (bytes 280-283 of the area)", prefix == area);
    check("initial CPU reset", order(1, Order::InitialCpuReset, 0), 0);
    check(
        "stopped after the reset",
        order(1, Order::Sense, 0),
        STATUS_STORED | 0x40,
    );
}
