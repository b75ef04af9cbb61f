//! A tiny supervisor: tasks in problem state, DAT off, shared by all CPUs.
//!
//! It has no thread of control of its own. A supervisor call, the clock comparator at the end of a time slice and the
//! first interruption of a CPU all end in [`dispatch`], which puts the next ready task's registers and PSW where the
//! interruption's return loads them. A CPU without a ready task waits, enabled, and looks again after a millisecond.
//! CPU 0 is the last to become idle, and ends the guest. Each dispatch passes the task's number to the machine by
//! LOAD PROGRAM PARAMETER, so a profile can distinguish tasks. The events depend only on the program and its clock:
//! under a virtual clock that counts instructions, every run is the same.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::insn::clock::{MICROSECOND, sckc, stckf};
use crate::insn::control::{lctlg_0, stctg_0};
use crate::insn::cpu::{Order, facility, sigp, stap};
use crate::insn::measurement::lpp;
use crate::interruption::{self, Class, Registers, old_psw, set_old_psw};
use crate::psw::{self, Psw};
use crate::smp::{self, Lock};
use crate::{end, lowcore, sccb};

pub mod task;

/// The most tasks.
pub const MOST_TASKS: usize = 8;
/// A task's turn, in TOD-clock units: 10 ms.
const SLICE: u64 = 10_000 * MICROSECOND;
/// An idle CPU's wait, in TOD-clock units: 1 ms.
const IDLE: u64 = 1_000 * MICROSECOND;
/// Clock-comparator subclass mask, control register 0 bit 52.
const CLOCK_COMPARATOR_SUBCLASS: u64 = psw::bit(52);
/// External-interruption code of the clock comparator.
const CLOCK_COMPARATOR: u16 = 0x1004;
/// No task is current.
const NONE: usize = usize::MAX;

/// A task. It returns 0 if its result verified, and a reason otherwise.
pub type Work = fn() -> u64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Absent,
    Ready,
    Running,
    Done(u64),
}

#[derive(Clone, Copy)]
struct Task {
    name: &'static str,
    state: State,
    registers: Registers,
    psw: Psw,
}

struct Tasks(UnsafeCell<[Task; MOST_TASKS]>);
// SAFETY: every access is made under LOCK, by an interruption handler that runs disabled.
unsafe impl Sync for Tasks {}

static LOCK: Lock = Lock::new();
static TASKS: Tasks = Tasks(UnsafeCell::new(
    [Task {
        name: "",
        state: State::Absent,
        registers: [0; 16],
        psw: Psw::new(0, 0),
    }; MOST_TASKS],
));
static NEXT: AtomicUsize = AtomicUsize::new(0);
static NAMES_TASKS: AtomicBool = AtomicBool::new(false);
static FREE: AtomicU64 = AtomicU64::new(0);
static END: AtomicU64 = AtomicU64::new(0);

/// Performs these tasks on all CPUs of the configuration and ends the guest: success when every task
/// returned 0.
pub fn supervise(work: &[(&'static str, Work)]) -> ! {
    unsafe extern "C" {
        // The function's type gives it an even address, as LARL needs.
        static __image_end: u64;
    }
    FREE.store(
        (&raw const __image_end as u64).next_multiple_of(1 << 20),
        Ordering::Relaxed,
    );
    END.store(sccb::storage_end() as u64, Ordering::Relaxed);
    NAMES_TASKS.store(facility(40), Ordering::Relaxed);
    for (n, &(name, function)) in work.iter().enumerate() {
        let (registers, psw) = task::start_state(n, function);
        // SAFETY: the other CPUs are not started yet.
        unsafe {
            (*TASKS.0.get())[n] = Task {
                name,
                state: State::Ready,
                registers,
                psw,
            }
        };
    }
    let cpus = smp::count();
    crate::println!("supervisor: {} tasks on {cpus} CPUs", work.len());
    for cpu in 1..cpus {
        smp::start(cpu, enter);
    }
    enter()
}

/// A CPU joins: handlers, the clock-comparator subclass, and a wait that the comparator ends at once.
extern "C" fn enter() -> ! {
    interruption::replace(Class::SupervisorCall, supervisor_call);
    interruption::replace(Class::External, external);
    interruption::replace(Class::Program, program);
    lowcore::write(lowcore::CURRENT_TASK, NONE);
    lctlg_0(stctg_0() | CLOCK_COMPARATOR_SUBCLASS);
    sckc(stckf() + IDLE);
    loop {
        crate::insn::control::wait(psw::EXTERNAL);
    }
}

extern "C" fn supervisor_call(registers: &mut Registers) {
    match lowcore::read::<u16>(lowcore::SVC_CODE) {
        task::EXIT => {
            let result = registers[2];
            leave(State::Done(result), registers, Class::SupervisorCall);
            dispatch(registers, Class::SupervisorCall);
        }
        task::YIELD => {
            leave(State::Ready, registers, Class::SupervisorCall);
            dispatch(registers, Class::SupervisorCall);
        }
        task::PRINT => {
            // SAFETY: a task of this image passes its own text.
            let text = unsafe {
                core::slice::from_raw_parts(
                    core::ptr::with_exposed_provenance(registers[2] as usize),
                    registers[3] as usize,
                )
            };
            sccb::write_console(text);
        }
        task::STORAGE => {
            let size = registers[2].next_multiple_of(4096);
            let start = FREE.fetch_add(size, Ordering::Relaxed);
            registers[2] = if start + size <= END.load(Ordering::Relaxed) {
                start
            } else {
                0
            };
        }
        code => {
            crate::println!("supervisor call {code} is not assigned");
            end::end_failure(4)
        }
    }
}

extern "C" fn external(registers: &mut Registers) {
    let code: u16 = lowcore::read(lowcore::EXTERNAL_CODE);
    if code != CLOCK_COMPARATOR {
        crate::println!("external interruption {code:04x} was not expected");
        end::end_failure(5)
    }
    leave(State::Ready, registers, Class::External);
    dispatch(registers, Class::External);
}

extern "C" fn program(_: &mut Registers) {
    let old = old_psw(Class::Program);
    let current: usize = lowcore::read(lowcore::CURRENT_TASK);
    crate::println!(
        "task {current}: program interruption {:04x}, PSW {:016x} {:016x}",
        lowcore::read::<u16>(lowcore::PROGRAM_CODE),
        old.mask,
        old.address
    );
    end::end_failure(6)
}

/// Saves the interrupted state in the current task, if there is one, and sets its new state.
fn leave(state: State, registers: &Registers, class: Class) {
    let current: usize = lowcore::read(lowcore::CURRENT_TASK);
    if current == NONE {
        return;
    }
    LOCK.with(|| {
        // SAFETY: under LOCK.
        let task = unsafe { &mut (*TASKS.0.get())[current] };
        task.registers = *registers;
        task.psw = old_psw(class);
        task.state = state;
    });
    lowcore::write(lowcore::CURRENT_TASK, NONE);
}

/// Chooses the next ready task, in turn, and puts its state where the handler's return loads it.
fn dispatch(registers: &mut Registers, class: Class) {
    let mut all_done = true;
    let chosen = LOCK.with(|| {
        // SAFETY: under LOCK.
        let tasks = unsafe { &mut *TASKS.0.get() };
        let first = NEXT.load(Ordering::Relaxed);
        let mut chosen = None;
        for step in 0..MOST_TASKS {
            let n = (first + step) % MOST_TASKS;
            match tasks[n].state {
                State::Ready => {
                    tasks[n].state = State::Running;
                    NEXT.store(n + 1, Ordering::Relaxed);
                    chosen = Some((n, tasks[n].registers, tasks[n].psw));
                    all_done = false;
                    break;
                }
                State::Running => all_done = false,
                State::Absent | State::Done(_) => (),
            }
        }
        chosen
    });
    match chosen {
        Some((n, saved, psw)) => {
            *registers = saved;
            set_old_psw(class, psw);
            lowcore::write(lowcore::CURRENT_TASK, n);
            name_task(n as u64 + 1);
            sckc(stckf() + SLICE);
        }
        None if all_done => finish(),
        None => {
            name_task(0);
            sckc(stckf() + IDLE);
            set_old_psw(class, Psw::new(psw::INITIAL | psw::WAIT | psw::EXTERNAL, 0));
        }
    }
}

/// LOAD PROGRAM PARAMETER of the task's number from 1, or 0 for none.
fn name_task(number: u64) {
    if NAMES_TASKS.load(Ordering::Relaxed) {
        lpp(number);
    }
}

/// CPU 0 reports and ends the guest; any other CPU stops.
fn finish() -> ! {
    let mine = stap();
    while mine != 0 {
        sigp(mine, Order::Stop, 0);
    }
    smp::stop_others();
    let mut failed = 0;
    // SAFETY: every other CPU is stopped.
    for (n, task) in unsafe { &*TASKS.0.get() }.iter().enumerate() {
        if let State::Done(result) = task.state {
            crate::println!(
                "task {} {}: {}",
                n + 1,
                task.name,
                if result == 0 { "verified" } else { "WRONG" }
            );
            failed += u32::from(result != 0);
        }
    }
    if failed != 0 {
        end::end_failure(7)
    }
    end::end_success()
}
