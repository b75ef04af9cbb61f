//! Program-event recording: a CPU takes a pending interruption before it stops.

use core::sync::atomic::{AtomicU64, Ordering};

use guests::check::holds;
use guests::insn::cpu::Order;
use guests::insn::yield_cpu;
use guests::interruption::{Class, Registers};
use guests::psw::Psw;
use guests::recording::{self, FETCH, Run, text};
use guests::{lowcore, shows_per, smp};

guests::clause!(
    "System/370 Principles of Operation, Program-Event Recording, Priority of Indication",
    native = false,
    cpus = 2,
    options = "; --per-format s370"
);
guests::case!(run);

/// LR 2,6; LR 3,7; LR 4,8; LR 5,7; at 8 MVCL 2,4; at 10 AGHI 10,1; at 14 BRC 15,*-14.
const LOOP: [u8; 18] = [
    0x18, 0x26, 0x18, 0x37, 0x18, 0x48, 0x18, 0x57, 0x0E, 0x24, 0xA7, 0xAB, 0, 1, 0xA7, 0xF4, 0xFF,
    0xF9,
];
const MVCL: u64 = 8;

/// Events of the other CPU.
static EVENTS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: &mut Registers) {
    EVENTS.fetch_add(1, Ordering::Relaxed);
}

/// Moves 256 bytes at a time, forever.
extern "C" fn mover() -> ! {
    let at = text() + recording::OPERANDS;
    let run = Run::of(FETCH)
        .within(MVCL as i64, MVCL as i64)
        .with(6, at)
        .with(7, 256)
        .with(8, at + 1024);
    let _ = run.execute_with(&LOOP, count);
    loop {
        yield_cpu();
    }
}

/// Reads the prefix area of the other CPU, which includes its stored status.
fn stored<T: Copy>(offset: usize) -> T {
    let at = smp::prefix_area(1) + offset;
    // SAFETY: in the prefix area of CPU 1, which is stopped.
    unsafe { core::ptr::read_volatile(core::ptr::with_exposed_provenance(at)) }
}

/// Reads a field of a CPU's status, which is stored at absolute locations.
fn status<T: Copy>(at: usize) -> T {
    // SAFETY: in the save area; the prefix of this CPU is zero.
    unsafe { core::ptr::read_volatile(core::ptr::with_exposed_provenance(at)) }
}

/// Where a status has the general registers and the PSW.
const REGISTERS: usize = 0x1280;
const PSW: usize = 0x1300;

/// A PSW is never all zeros, so the status is stored when this field is not zero.
fn clear_status() {
    // SAFETY: inside the save area. Nobody stores there before CPU 1 is told to.
    unsafe {
        core::ptr::write_volatile(core::ptr::with_exposed_provenance_mut(PSW), Psw::new(0, 0))
    };
}

fn run() {
    smp::start(1, mover);
    while EVENTS.load(Ordering::Relaxed) < 4 {
        yield_cpu();
    }
    let mut stops = 0;
    for delay in 0..12_u64 {
        guests::sampling::busy(1 + 100 * delay);
        smp::stop(1);
        clear_status();
        smp::signal(1, Order::StopAndStoreStatus, 0);
        while status::<Psw>(PSW).mask == 0 {
            yield_cpu();
        }
        let registers: Registers = status(REGISTERS);
        let psw: Psw = status(PSW);
        let new: Psw = stored(Class::Program.new());
        let events = EVENTS.load(Ordering::Relaxed);
        let offset = psw.address.wrapping_sub(text());
        if psw.address == new.address {
            // The interruption was taken, and the CPU stopped before its first instruction.
            stops += 1;
            let old: Psw = stored(Class::Program.old());
            let code: u16 = stored(lowcore::PROGRAM_CODE);
            shows_per!([48], code == 0x80 && old.address == text() + MVCL + 2);
            shows_per!([48], events == registers[10]);
        } else if offset < LOOP.len() as u64 {
            stops += 1;
            // Behind the MVCL its event has been counted.
            let moved = registers[10] + u64::from(offset == MVCL + 2);
            shows_per!([48], events == moved);
        }
        smp::signal(1, Order::Start, 0);
    }
    smp::stop(1);
    holds("the CPU was stopped where it is to be seen", stops != 0);
}
