//! SIGNAL PROCESSOR, store status and store additional status: the area has all registers of the stopped CPU when the
//! instruction ends. What is not stored there stays unchanged.

use guests::insn::clock::{MICROSECOND, stckf};
use guests::insn::cpu::{Order, facility};
use guests::insn::yield_cpu;
use guests::shows;
use guests::smp::{self, INCORRECT_STATE, INVALID_PARAMETER};
use guests::status::{self, Status, known};

guests::clause!(
    "SA22-7832, Chapter 4, Store Status; Signal-Processor Orders (stop and store status, store status at address, store \
     additional status at address)",
    native = true,
    cpus = 2,
    options = "; --real-time"
);
guests::case!(run);

/// What was there before.
const BEFORE: u64 = 0x5A5A_5A5A_5A5A_5A5A;

/// Checks a status of the other CPU.
fn has_status(status: Status) {
    shows!("STATUS-3", known::has_floating_point(status));
    shows!("STATUS-4", known::has_general(status));
    shows!("STATUS-2", status.prefix(), smp::prefix_area(1) as u32);
    shows!(
        "STATUS-5",
        status.floating_point_control(),
        known::registers().control
    );
    shows!("STATUS-6", status.tod_programmable(), 0);
    shows!("STATUS-7", known::has_access(status));
    shows!("STATUS-8", known::has_control(status));
    shows!(
        "STATUS-9",
        status.clock_comparator(),
        known::COMPARATOR >> 8
    );
}

fn order(order: Order, parameter: u32) -> u64 {
    let (cc, status) = smp::signal(1, order, parameter);
    u64::from(cc) << 32 | u64::from(status)
}

fn run() {
    let at = status::area();
    let stored = Status::in_area();
    known::start(1);
    let refused = |status: u32| 1 << 32 | u64::from(status);
    let additional = Order::StoreAdditionalStatusAtAddress;
    shows!("SIGP-28", order(additional, at), refused(INCORRECT_STATE));
    smp::stop(1);
    status::fill_area(BEFORE);
    shows!("SIGP-15", order(Order::StoreStatusAtAddress, at), 0);
    // The area is looked at at once.
    has_status(stored);
    shows!("STATUS-10", stored.doubleword(512), BEFORE);
    let timer = stored.cpu_timer();
    let end = stckf() + 1000 * MICROSECOND;
    while stckf() < end {}
    shows!("SIGP-15", order(Order::StoreStatusAtAddress, at), 0);
    shows!("STATUS-11", stored.cpu_timer(), timer);
    shows!("SIGP-29", facility(129));
    for parameter in [at + 512, at + 10] {
        shows!(
            "SIGP-28",
            order(additional, parameter),
            refused(INVALID_PARAMETER)
        );
    }
    status::fill_area(BEFORE);
    shows!("SIGP-29", order(additional, at), 0);
    let expected = known::registers();
    shows!(
        "SIGP-29",
        (0..32).all(
            |n| [stored.doubleword(16 * n), stored.doubleword(16 * n + 8)] == expected.vectors[n]
        )
    );
    shows!(
        "SIGP-30",
        (64..128).all(|n| stored.doubleword(8 * n) == BEFORE)
    );
    shows!("SIGP-31", order(Order::StopAndStoreStatus, 0), 0);
    while order(Order::Sense, 0) != refused(smp::STOPPED) {
        yield_cpu();
    }
    has_status(Status::assigned());
    // SAFETY: an assigned location.
    let mode = unsafe { core::ptr::with_exposed_provenance::<u8>(0xA3).read_volatile() };
    shows!("STATUS-12", mode, 1);
}
