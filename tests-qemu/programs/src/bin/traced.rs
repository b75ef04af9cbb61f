//! A process that another one executes instruction by instruction, branch by branch, and up to a store, as a debugger
//! does. For this the kernel has the machine record instruction fetches, branches and stores.
//!
//! A table lists the places where the process must stop; every other stop is astray.
#![no_std]
#![no_main]

use core::{
    arch::global_asm,
    iter::repeat_n,
    sync::atomic::{AtomicU64, Ordering},
};

use programs::{
    call::{self, Refused},
    say,
    steps::steps,
    trace::{self, Resume, State},
};

programs::program!(run);

/// How often the process visits all places.
const TURNS: u64 = 40;
/// Instructions that it performs in one go, to be sampled.
const FREE: u32 = 50_000_000;
/// Its exit code.
const CODE: u8 = 7;
/// The event mask of control register 9 for stores.
const STORES: u64 = 0x2000_0000;

/// A place that the process visits in each turn.
#[repr(C)]
struct Place {
    address: u64,
    /// How often it comes there.
    times: u64,
    /// How often it comes there by a branch.
    by_branch: u64,
}

const PLACES: usize = 10;

global_asm!(
    ".globl turns, places, store, behind_store",
    "turns: lgr %r5, %r14",
    "j 20f",
    "20: lghi %r3, 3",
    // A branch to itself.
    "21: brct %r3, 21b",
    // The target of an EXECUTE is not a place of its own.
    "22: exrl %r0, 31f",
    "23: brasl %r14, 30f",
    "24: lghi %r1, 20",
    // The kernel answers with the number of the process.
    "25: svc 0",
    "26: stg %r2, 16(%r15)",
    "27: mvc 24(8,%r15), 16(%r15)",
    "28: brct %r4, 20b",
    "br %r5",
    "30: br %r14",
    "31: agr %r3, %r3",
    "store: stg %r2, 0(%r3)",
    "behind_store: br %r14",
    ".section .rodata",
    ".balign 8",
    "places: .quad 20b, 1, 1, 21b, 3, 2, 22b, 1, 0, 23b, 1, 0, 30b, 1, 1",
    ".quad 24b, 1, 1, 25b, 1, 0, 26b, 1, 0, 27b, 1, 0, 28b, 1, 0",
    ".text",
);

unsafe extern "C" {
    /// Visits all places. General registers 2 and 3 are not used.
    fn turns(_: u64, _: u64, turns: u64);
    /// Stores a value.
    fn store(value: u64, at: *mut u64);
    fn behind_store();
    static places: [Place; PLACES];
}

static WATCHED: AtomicU64 = AtomicU64::new(0);

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn free() {
    steps(FREE);
}

/// The traced process. It stops itself before each of its parts.
fn process() -> Result<(), Refused> {
    trace::trace_me()?;
    for _ in [Resume::Step, Resume::Block] {
        trace::stop()?;
        // SAFETY: changes registers that a function may change, and stores only in its own frame.
        unsafe { turns(0, 0, TURNS) };
    }
    trace::stop()?;
    free();
    trace::stop()?;
    // SAFETY: a variable that lives as long as the program.
    unsafe { store(1, WATCHED.as_ptr()) };
    Ok(())
}

/// Resumes the process in this way through all places, where it must stop at each as often as given; then on to its
/// next part.
fn walk(process: u64, how: Resume, times: impl Fn(&Place) -> u64) -> Result<(), Refused> {
    // SAFETY: nobody changes them.
    let all = unsafe { &places };
    let mut expected = (0..TURNS)
        .flat_map(|_| all)
        .flat_map(|place| repeat_n(place.address, times(place) as usize));
    let first = expected.next();
    while Some(trace::peek(process, trace::PSW_ADDRESS)?) != first {
        if trace::resume(process, how)? != State::Stopped(trace::SIGTRAP) {
            say!("{how:?}: the process does not come to the first place\n");
            return Ok(());
        }
    }
    let (mut stops, mut astray) = (1_u32, 0_u32);
    for place in expected {
        let state = trace::resume(process, how)?;
        let at = trace::peek(process, trace::PSW_ADDRESS)?;
        if state != State::Stopped(trace::SIGTRAP) || at != place {
            if astray == 0 {
                say!("{how:?}: {state:?} at {at:X}, not at {place:X}\n");
            }
            astray += 1;
        }
        stops += 1;
    }
    let state = trace::resume(process, Resume::Freely)?;
    say!("{how:?}: {stops} stops, {astray} astray, then {state:?}\n");
    Ok(())
}

/// Stops the process behind its store.
fn watch(process: u64) -> Result<(), Refused> {
    let at = WATCHED.as_ptr() as u64;
    trace::poke(process, trace::RANGE_START, at)?;
    trace::poke(process, trace::RANGE_END, at + 7)?;
    trace::poke(process, trace::EVENTS, STORES)?;
    let state = trace::resume(process, Resume::Freely)?;
    let at = trace::peek(process, trace::PSW_ADDRESS)?;
    trace::poke(process, trace::EVENTS, 0)?;
    let behind = at == behind_store as *const () as u64;
    say!("Store: {state:?}, behind it: {behind}\n");
    Ok(())
}

fn traces() -> Result<(), Refused> {
    let Some(child) = trace::fork()? else {
        let code = if process().is_ok() { CODE } else { 1 };
        call::exit(code);
    };
    let state = trace::wait(child)?;
    say!("At first: {state:?}\n");
    walk(child, Resume::Step, |place| place.times)?;
    walk(child, Resume::Block, |place| place.by_branch)?;
    let state = trace::resume(child, Resume::Freely)?;
    say!("Freely: {state:?}\n");
    watch(child)?;
    let state = trace::resume(child, Resume::Freely)?;
    // The process has a copy of its own.
    let watched = WATCHED.load(Ordering::Relaxed);
    say!("At last: {state:?}, stored here: {watched}\n");
    // The child's one asked for being traced.
    say!("Requests: {}\n", trace::requests() + 1);
    Ok(())
}

fn run() -> u8 {
    match traces() {
        Ok(()) => 0,
        Err(Refused(number)) => {
            say!("refused: {number}\n");
            1
        }
    }
}
