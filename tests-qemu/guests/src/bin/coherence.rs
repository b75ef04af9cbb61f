//! What one CPU changes, every other CPU finds, while all of them execute at once and none meets an interruption.
//!
//! In the first of four parts every CPU calls a function on each of more pages than the machine has code copies; a
//! function returns the number of its page. In the second, CPU 0 changes an instruction, and then tells the others by a
//! number in storage, which they watch without an interruption. In the third it changes the target of many EXECUTEs, which
//! all CPUs then come to for the first time. In the fourth it changes the frame of a page, with INVALIDATE PAGE TABLE ENTRY
//! in between.
#![no_std]
#![no_main]

use core::arch::asm;
use core::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use guests::check::check;
use guests::dat::{self, WINDOW};
use guests::insn::clock::{MICROSECOND, stck};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::{Page, stap};
use guests::{println, smp};

guests::clause!(
    "Principles of Operation, Conceptual Sequence; INVALIDATE PAGE TABLE ENTRY",
    native = false,
    cpus = 2
);
guests::guest!(run);

/// What the test puts behind the mark.
#[repr(C)]
struct Parameters {
    mark: [u8; 24],
    /// How many milliseconds each part lasts.
    milliseconds: u64,
}

#[used]
static mut PARAMETERS: Parameters = Parameters {
    mark: *b"milliseconds of a part: ",
    milliseconds: 500,
};

/// More pages than the machine has code copies.
const PAGES: usize = 160;

static mut FUNCTIONS: [Page; PAGES] = [const { Page([0; 4096]) }; PAGES];
static mut CHANGED: Page = Page([0; 4096]);
/// What is executed, and the functions that execute it.
static mut EXECUTES: [Page; 2] = [const { Page([0; 4096]) }; 2];
static mut FRAMES: [Page; 2] = [const { Page([0; 4096]) }; 2];

/// Control register 1 of CPU 0.
static SPACE: AtomicU64 = AtomicU64::new(0);
/// The part that the CPUs perform.
static PART: AtomicUsize = AtomicUsize::new(0);
/// The number of the present change.
static CHANGE: AtomicU64 = AtomicU64::new(0);
/// How many CPUs have found it.
static FOUND: AtomicU64 = AtomicU64::new(0);
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// How many other CPUs have ended the part.
static ENDED: AtomicU64 = AtomicU64::new(0);
static ROUNDS: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicU64 = AtomicU64::new(0);

/// Makes `page` a function that returns `value`. An EXTRACT PSW behind its end is replaced in a copy of the page.
fn put_function(page: *mut Page, value: u16) {
    // SAFETY: a page of this program, changed by CPU 0 only.
    unsafe { Page::put(page, 0x200, &[0xA729, value, 0x07FE, 0xB98D, 0x0045]) };
}

/// Calls the function in a page.
fn call(page: u64) -> u64 {
    call_at(page + 0x200)
}

/// Calls a function that is put at an address.
fn call_at(address: u64) -> u64 {
    let result: u64;
    // SAFETY: what is there returns by BR 14 and changes general register 2.
    unsafe {
        asm!(
            "basr %r14, {c}",
            c = in(reg_addr) address,
            in("r3") 0,
            out("r2") result,
            out("r14") _,
        );
    }
    result
}

/// So many functions with an EXECUTE, the bytes from one to the next, and how many instructions precede the EXECUTE.
const WITH_EXECUTE: usize = 4;
const DISTANCE: usize = 0x380;
const BEFORE_EXECUTE: usize = 400;

/// Makes functions that return `value`: each is an EXECUTE RELATIVE LONG of the LGHI in the page before. A machine below that
/// translates takes some time for what precedes it; meanwhile a CPU that begins at the EXECUTE can be the first there.
fn put_executes(value: u16) {
    // SAFETY: the address only.
    let [target, page] = unsafe { [&raw mut EXECUTES[0], &raw mut EXECUTES[1]] };
    // SAFETY: a page of this program, changed by CPU 0 only.
    unsafe { Page::put(target, 0, &[0xA729, value]) };
    for function in (0..WITH_EXECUTE).map(|n| 16 + n * DISTANCE) {
        let execute = function + 2 * BEFORE_EXECUTE;
        let distance = (((4096 + execute) / 2) as u16).wrapping_neg();
        // SAFETY: as above.
        unsafe {
            Page::put(page, function, &[0x1800; BEFORE_EXECUTE]);
            Page::put(page, execute, &[0xC630, 0xFFFF, distance, 0x07FE]);
        }
    }
}

/// What the functions with an EXECUTE return, all ones if they do not agree. Every second CPU begins them at the EXECUTE.
fn call_executes() -> u64 {
    // SAFETY: the address only.
    let page = unsafe { &raw const EXECUTES[1] as u64 };
    let entry = page + 16 + 2 * BEFORE_EXECUTE as u64 * u64::from(stap() & 1);
    let mut results = (0..WITH_EXECUTE).map(|n| call_at(entry + (n * DISTANCE) as u64));
    let first = results.next().unwrap_or(u64::MAX);
    if results.all(|result| result == first) {
        first
    } else {
        u64::MAX
    }
}

fn function(page: usize) -> u64 {
    // SAFETY: the address only.
    unsafe { (&raw const FUNCTIONS[page % PAGES]) as u64 }
}

fn count(is_right: bool) {
    ROUNDS.fetch_add(1, Ordering::Relaxed);
    WRONG.fetch_add(u64::from(!is_right), Ordering::Relaxed);
}

/// Calls every function, in an order of this CPU.
fn call_functions() {
    let step = [1, 3, 7, 9][usize::from(stap()) & 3];
    while !IS_OVER.load(Ordering::Relaxed) {
        for n in 0..PAGES {
            let page = n * step % PAGES;
            // A page is used for a while, as a program does.
            count((0..200).all(|_| call(function(page)) == page as u64));
        }
    }
}

fn load(address: u64) -> u64 {
    let at = with_exposed_provenance::<u64>(address as usize);
    // SAFETY: a page of the window.
    unsafe { at.read_volatile() }
}

/// Waits for each change, and looks for it.
fn find_changes(find: impl Fn() -> u64) {
    let mut known = 0;
    loop {
        let change = CHANGE.load(Ordering::SeqCst);
        if change != known {
            known = change;
            // SAFETY: serializes only.
            unsafe { asm!("bcr 15,0") };
            count(find() & 0x3FFF == known & 0x3FFF);
            FOUND.fetch_add(1, Ordering::SeqCst);
        } else if IS_OVER.load(Ordering::Relaxed) {
            break;
        }
    }
}

/// What the other CPUs do in a part.
fn perform(part: usize) {
    match part {
        1 => call_functions(),
        // SAFETY: the address only.
        2 => find_changes(|| call(unsafe { &raw const CHANGED as u64 })),
        3 => find_changes(call_executes),
        _ => find_changes(|| load(WINDOW)),
    }
}

/// Makes changes until the time is over.
fn make_changes(others: u64, end: u64, change: impl Fn(u64)) {
    let mut number = 0;
    while stck() < end {
        number += 1;
        change(number);
        FOUND.store(0, Ordering::SeqCst);
        CHANGE.store(number, Ordering::SeqCst);
        while FOUND.load(Ordering::SeqCst) != others {}
    }
}

fn change_instruction(number: u64) {
    // SAFETY: the halfword of LGHI, in a page of this program.
    unsafe { Page::put(&raw mut CHANGED, 0x202, &[number as u16 & 0x3FFF]) };
}

fn change_frame(number: u64) {
    // SAFETY: the address only.
    let frame = unsafe { (&raw mut FRAMES[number as usize & 1]) as u64 };
    let at = with_exposed_provenance_mut::<u64>(frame as usize);
    // SAFETY: a page of this program that is not mapped in the window at present.
    unsafe { at.write_volatile(number) };
    dat::replace_window(0, frame);
}

extern "C" fn other() -> ! {
    let mut registers = stctg_all();
    for register in [1, 7, 13] {
        registers[register] = SPACE.load(Ordering::SeqCst);
    }
    lctlg_all(&registers);
    dat::on();
    for part in 1.. {
        while PART.load(Ordering::SeqCst) != part {}
        perform(part);
        ENDED.fetch_add(1, Ordering::SeqCst);
    }
    unreachable!()
}

fn run() {
    // SAFETY: the test may have changed it before the program was loaded.
    let milliseconds = unsafe { (&raw const PARAMETERS.milliseconds).read_volatile() };
    for page in 0..PAGES {
        put_function(function(page) as *mut Page, page as u16);
    }
    // SAFETY: the address only.
    put_function(&raw mut CHANGED, 0);
    dat::prepare();
    SPACE.store(stctg_all()[1], Ordering::SeqCst);
    let cpus = smp::count();
    (1..cpus).for_each(|cpu| smp::start(cpu, other));
    let others = u64::from(cpus) - 1;
    dat::on();
    let parts = [
        "calls of functions",
        "changed instructions",
        "changed targets",
        "changed frames",
    ];
    let mut results = [(0, 0); 4];
    for (part, result) in (1..).zip(&mut results) {
        let end = stck() + milliseconds * 1000 * MICROSECOND;
        if part != 1 {
            // The first change comes before the CPUs begin.
            CHANGE.store(0, Ordering::SeqCst);
        }
        if part == 4 {
            change_frame(0);
        }
        PART.store(part, Ordering::SeqCst);
        match part {
            1 => {
                while stck() < end {
                    for page in (0..PAGES).rev() {
                        count((0..200).all(|_| call(function(page)) == page as u64));
                    }
                }
            }
            2 => make_changes(others, end, change_instruction),
            3 => make_changes(others, end, |number| put_executes(number as u16 & 0x3FFF)),
            _ => make_changes(others, end, change_frame),
        }
        IS_OVER.store(true, Ordering::SeqCst);
        while ENDED.load(Ordering::SeqCst) != others {}
        ENDED.store(0, Ordering::SeqCst);
        IS_OVER.store(false, Ordering::SeqCst);
        *result = (
            ROUNDS.swap(0, Ordering::SeqCst),
            WRONG.swap(0, Ordering::SeqCst),
        );
    }
    dat::off();
    for (what, (rounds, wrong)) in parts.into_iter().zip(results) {
        println!("{what}: {rounds} rounds, {wrong} wrong");
        check(what, wrong, 0);
    }
}
