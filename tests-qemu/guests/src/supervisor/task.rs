//! The resources of a task in problem state: a stack with its heap at the base, and four supervisor calls.

use core::alloc::{GlobalAlloc, Layout};
use core::arch::asm;
use core::fmt::{self, Write};
use core::ptr::NonNull;

use linked_list_allocator::Heap;

use super::{MOST_TASKS, Work};
use crate::console::Text;
use crate::interruption::Registers;
use crate::psw::{self, Psw};

/// Supervisor call: the task is done; register 2 is its result.
pub const EXIT: u16 = 0;
/// Supervisor call: the task's turn may end here.
pub const YIELD: u16 = 1;
/// Supervisor call: print the bytes at register 2, as many as register 3 says.
pub const PRINT: u16 = 2;
/// Supervisor call: as many bytes of storage as register 2 says; its address in register 2, or 0.
pub const STORAGE: u16 = 3;

const STACK: usize = 1 << 20;
const ARENA: usize = 24 << 20;

/// A task's stack. It lies on a boundary of its size, so the stack pointer tells a task where the base is. The heap
/// is there, so a task allocates without a lock, on any CPU.
#[repr(C, align(0x10_0000))]
struct Stack {
    heap: Heap,
    rest: [u8; STACK - size_of::<Heap>()],
}

static mut STACKS: [Stack; MOST_TASKS] = [const {
    Stack {
        heap: Heap::empty(),
        rest: [0; STACK - size_of::<Heap>()],
    }
}; MOST_TASKS];

/// The registers and the PSW that task `n` starts with.
pub(super) fn start_state(n: usize, work: Work) -> (Registers, Psw) {
    let mut registers = [0; 16];
    // SAFETY: the address only.
    registers[15] = unsafe { &raw const STACKS[n] as u64 } + STACK as u64 - 160;
    registers[2] = work as usize as u64;
    let mask = psw::INITIAL | psw::PROBLEM | psw::EXTERNAL;
    (
        registers,
        Psw::new(mask, begin as fn(Work) -> ! as usize as u64),
    )
}

fn begin(work: Work) -> ! {
    let storage = supervisor_call::<STORAGE>(ARENA as u64, 0);
    if storage == 0 {
        supervisor_call::<EXIT>(1, 0);
    }
    // SAFETY: the supervisor gave ARENA bytes to this task alone.
    unsafe {
        heap().init(
            core::ptr::with_exposed_provenance_mut(storage as usize),
            ARENA,
        )
    };
    let result = work();
    loop {
        supervisor_call::<EXIT>(result, 0);
    }
}

/// The storage that [`with_heap`] gives.
const OWN_ARENA: usize = 1 << 20;
static mut OWN: [u8; OWN_ARENA] = [0; OWN_ARENA];

/// Calls `work` on the first task's stack without a supervisor, so that it can allocate. To be called once.
pub fn with_heap(work: extern "C" fn()) {
    // SAFETY: no task runs beside this one; the call keeps registers 6 to 15.
    unsafe {
        let stack = &raw mut STACKS[0];
        (*stack).heap.init((&raw mut OWN).cast(), OWN_ARENA);
        asm!(
            "lgr %r9, %r15",
            "lgr %r15, {stack}",
            "basr %r14, {work}",
            "lgr %r15, %r9",
            stack = in(reg_addr) stack as usize + STACK - 160,
            work = in(reg_addr) work as *const () as usize,
            out("r9") _,
            out("r0") _,
            out("r1") _,
            out("r2") _,
            out("r3") _,
            out("r4") _,
            out("r5") _,
            out("r14") _,
        );
    }
}

fn supervisor_call<const CODE: u16>(first: u64, second: u64) -> u64 {
    let result;
    // SAFETY: the supervisor keeps every other register.
    unsafe { asm!("svc {code}", code = const CODE, inout("r2") first => result, in("r3") second) };
    result
}

/// The heap of the task whose stack this runs on.
fn heap() -> &'static mut Heap {
    let stack: usize;
    // SAFETY: every task's stack begins with its heap, and a task has one thread of control.
    unsafe {
        asm!("lgr {s},%r15", s = out(reg) stack);
        &mut (*core::ptr::with_exposed_provenance_mut::<Stack>(stack & !(STACK - 1))).heap
    }
}

/// Gives the turn away.
pub fn yield_turn() {
    supervisor_call::<YIELD>(0, 0);
}

/// Prints a line in one supervisor call.
pub fn print(arguments: fmt::Arguments) {
    let mut text = Text::new();
    let _ = text.write_fmt(arguments);
    let bytes = text.bytes();
    supervisor_call::<PRINT>(bytes.as_ptr() as u64, bytes.len() as u64);
}

struct Allocator;

// SAFETY: the heap is the task's own and Heap keeps the contract.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        heap()
            .allocate_first_fit(layout)
            .map_or(core::ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, storage: *mut u8, layout: Layout) {
        if let Some(storage) = NonNull::new(storage) {
            // SAFETY: GlobalAlloc's caller says it came from `alloc`.
            unsafe { heap().deallocate(storage, layout) }
        }
    }
}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;
