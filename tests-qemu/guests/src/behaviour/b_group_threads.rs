//! Multithreading and the coprocessor groups: EXTRACT COPROCESSOR-GROUP ADDRESS goes by the addresses that the program
//! sees, and the change indicator tells that these have changed.

use core::sync::atomic::{AtomicU32, Ordering};

use guests::coprocessor::{Kind, Operands};
use guests::end;
use guests::insn::cpu::Order;
use guests::insn::measurement::{ecpga, epctr, lpctl, qctri, spctr};
use guests::insn::yield_cpu;
use guests::reset::clear_reset;
use guests::{shows, smp};

guests::clause!(
    "SA23-2260, EXTRACT COPROCESSOR-GROUP ADDRESS; Global Counter-Set-State Control Register",
    native = false,
    cpus = 4,
    options = "--threads 2 --cryptography"
);
guests::case!(run);

const DISABLED: u64 = 0;
const INACTIVE: u64 = 2;
const ACTIVE: u64 = 3;
/// Counter 0 of group 1, and a value for it.
const GROUP_1_SHA: u64 = 1 << 8;
const KEPT: u64 = 0x1234_5678;
const UNCHANGED: u64 = 0x5A5A_5A5A_A5A5_A5A5;

/// Set when the other CPU's function is done.
static DONE: AtomicU32 = AtomicU32::new(0);

/// The address of the group of the CPU at an address, if there is one.
fn group(cpu: u64) -> Option<u64> {
    match ecpga(cpu, UNCHANGED) {
        (0, address) => Some(address >> 8 & 0xFFFF),
        answer => {
            shows!("ECPGA-7", answer, (3, UNCHANGED));
            None
        }
    }
}

fn change_indicated() -> bool {
    qctri().change >> 15 != 0
}

extern "C" fn hash() -> ! {
    Operands::of(Kind::Sha).issue(Kind::Sha);
    DONE.store(1, Ordering::Release);
    loop {
        yield_cpu();
    }
}

/// Whether the group that ECPGA names for the CPU at an address, and no other, counts what that CPU does.
fn counts(cpu: u16) -> bool {
    lpctl(DISABLED);
    lpctl(ACTIVE);
    DONE.store(0, Ordering::Release);
    smp::start(cpu, hash);
    while DONE.load(Ordering::Acquire) == 0 {
        yield_cpu();
    }
    smp::stop(cpu);
    let functions = [0, 1].map(|group: u64| epctr(group << 8, 0).1);
    lpctl(DISABLED);
    match group(cpu.into()) {
        Some(0) => functions == [1, 0],
        Some(1) => functions == [0, 1],
        _ => false,
    }
}

/// Two addresses, which are those of the cores.
fn cores() {
    shows!(["GROUP-2", "QCTRI-6"], qctri().maximum_cpu_address, 1);
    shows!(
        ["ECPGA-4", "GROUP-1", "ECPGA-7"],
        [0, 1, 2, 3].map(group),
        [Some(0), Some(1), None, None]
    );
    shows!(["ECPGA-1", "GROUP-1"], counts(1));
}

/// Four addresses, which are those of the threads.
fn threads() {
    shows!(["GROUP-2", "QCTRI-6"], qctri().maximum_cpu_address, 3);
    shows!(
        ["ECPGA-4", "GROUP-1", "ECPGA-7"],
        [0, 1, 2, 3, 4].map(group),
        [Some(0), Some(0), Some(1), Some(1), None]
    );
    for cpu in 1..4 {
        shows!(["ECPGA-1", "GROUP-1"], counts(cpu));
    }
}

fn set_multithreading(parameter: u32) {
    shows!(
        "TRANSITION-20",
        smp::signal(0, Order::SetMultithreading, parameter).0,
        0
    );
}

fn run() {
    cores();
    lpctl(INACTIVE);
    set_multithreading(0);
    shows!("QCTRI-9", !change_indicated());
    set_multithreading(1);
    shows!(["GLOBAL-3", "QCTRI-9"], change_indicated());
    for controls in [ACTIVE, INACTIVE] {
        lpctl(controls);
        shows!(["GLOBAL-3", "GLOBAL-6"], change_indicated());
    }
    lpctl(DISABLED);
    shows!("GLOBAL-4", !change_indicated());
    lpctl(INACTIVE);
    shows!("GLOBAL-4", !change_indicated());
    lpctl(DISABLED);
    threads();
    lpctl(ACTIVE);
    shows!("GLOBAL-7", !change_indicated());
    spctr(GROUP_1_SHA, KEPT);
    clear_reset(after_reset)
}

/// A clear reset makes cores of the threads; the groups keep their controls.
extern "C" fn after_reset() -> ! {
    shows!(["GLOBAL-3", "GLOBAL-7", "QCTRI-9"], change_indicated());
    let information = qctri();
    shows!(
        "GROUP-21",
        (
            information.enable >> 15,
            information.activation >> 15,
            epctr(GROUP_1_SHA, 0)
        ),
        (1, 1, (0, KEPT))
    );
    lpctl(DISABLED);
    cores();
    set_multithreading(1);
    shows!("GLOBAL-5", !change_indicated());
    end::end_success()
}
