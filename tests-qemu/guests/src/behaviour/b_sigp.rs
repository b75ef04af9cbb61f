//! Orders of SIGNAL PROCESSOR to a CPU that is stopped, running, or not there: condition codes and
//! status bits.

use core::sync::atomic::{AtomicU32, Ordering};

use guests::insn::cpu::Order;
use guests::insn::yield_cpu;
use guests::status::{self, Status};
use guests::{attempt_in_problem_state, attempt_on_registers, shows, smp};

guests::clause!(
    "SA22-7832, Chapter 4, CPU Signaling and Response; Signal-Processor Orders",
    native = true,
    cpus = 2
);
guests::case!(run);

static COUNT: AtomicU32 = AtomicU32::new(0);

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

/// SIGNAL PROCESSOR with these registers: the condition code, R1 and the parameter afterwards. The order comes from the
/// rightmost byte of the second-operand address, and the CPU address from the rightmost halfword of R3.
fn raw(address: u64, order: u64, r1: u64, parameter: u64) -> (u8, u64, u64) {
    let mut registers = [0, r1, parameter, address, order];
    let outcome = attempt_on_registers!("sigp %r2, %r4, 0(%r5)", &mut registers);
    (outcome.condition_code(), registers[1], registers[2])
}

fn stopped_cpu() {
    shows!(
        ["SIGP-6", "CPUSTATE-1"],
        order(1, Order::Sense, 0),
        STATUS_STORED | 0x40
    );
    shows!("SIGP-7", order(9, Order::Sense, 0), NOT_OPERATIONAL);
    shows!("SIGP-7", order(9, Order::Start, 0), NOT_OPERATIONAL);
    shows!("SIGP-8", order(0, Order::Sense, 0), 0);
    shows!(
        "SIGP-9",
        order(1, Order::Unassigned, 0),
        STATUS_STORED | 0x2
    );
    shows!(
        "SIGP-10",
        order(1, Order::SetPrefix, 0x7FFF_E000),
        STATUS_STORED | 0x100
    );
    shows!(
        "SIGP-11",
        order(1, Order::SenseRunningStatus, 0),
        STATUS_STORED | 0x400
    );
}

fn running_cpu(area: u32, status: u32) {
    shows!("SIGP-8", order(1, Order::Sense, 0), 0);
    shows!(
        "SIGP-12",
        order(1, Order::SetPrefix, area),
        STATUS_STORED | 0x200
    );
    shows!(
        "SIGP-13",
        order(1, Order::StoreStatusAtAddress, status),
        STATUS_STORED | 0x200
    );
}

/// The registers of the instruction.
fn registers() {
    const MARK: u64 = 0x1234_5678_9ABC_DEF0;
    let high = MARK & !0xFFFF_FFFF;
    shows!("SIGP-14", raw(1, 1, MARK, 0), (1, high | 0x40, 0));
    shows!("SIGP-14", raw(0, 1, MARK, 0), (0, MARK, 0));
    shows!("SIGP-14", raw(9, 1, MARK, 7), (3, MARK, 7));
    // Other bits than those of the order code and of the CPU address do not matter.
    shows!(
        "SIGP-16",
        raw(MARK << 16 | 1, 0xFFFF_FF00 | 1, MARK, 0),
        (1, high | 0x40, 0)
    );
    let problem = attempt_in_problem_state!("sigp %r0, %r0, 1");
    shows!("SIGP-17", problem.code(), 2);
}

fn run() {
    stopped_cpu();
    registers();
    smp::start(1, count);
    while COUNT.load(Ordering::Relaxed) < 3 {
        yield_cpu();
    }
    let area = smp::prefix_area(1) as u32;
    let at = status::area();
    running_cpu(area, at);
    shows!("SIGP-18", order(1, Order::Stop, 0), 0);
    while order(1, Order::Sense, 0) != STATUS_STORED | 0x40 {
        yield_cpu();
    }
    let stopped = COUNT.load(Ordering::Relaxed);
    for _ in 0..10 {
        yield_cpu();
    }
    shows!("CPUSTATE-2", COUNT.load(Ordering::Relaxed) - stopped, 0);
    shows!("SIGP-18", order(1, Order::Stop, 0), 0);
    shows!("SIGP-15", order(1, Order::StoreStatusAtAddress, at), 0);
    let status = Status::in_area();
    let psw = status.psw();
    shows!("STATUS-1", psw.mask & !(3 << 44), 0x0000_0001_8000_0000);
    shows!("STATUS-1", (0x20_0000..0x80_0000).contains(&psw.address));
    shows!("STATUS-2", status.prefix(), area);
    // The rightmost bits of a prefix, and of the address of a status, are ignored.
    let set = order(1, Order::SetPrefix, area + 0x2000 + 0x1FFF);
    let stored = order(1, Order::StoreStatusAtAddress, at + 0x1FF);
    let prefix = status.prefix();
    shows!("SIGP-19", (set, prefix), (0, area + 0x2000));
    shows!("SIGP-20", (stored, prefix != area), (0, true));
    shows!(
        "SIGP-21",
        order(1, Order::SetArchitecture, 1),
        STATUS_STORED | 0x100
    );
}
