//! The cost to the machine of executing one instruction on its own.
//!
//! A register is recorded that no instruction alters, so each instruction is executed on its own and none interrupts.
//! As in `bench`, the machine's instructions show as time of the virtual clock.
#![no_std]
#![no_main]

use guests::check::{check, holds};
use guests::recording::{REGISTERS, Run};

guests::clause!(
    "measure: instructions of a single step",
    native = false,
    options = "--per --no-sampling"
);
guests::guest!(run);

/// Instructions that are executed.
const STEPS: usize = 100;
/// The most instructions that one of them may cost.
const BUDGET: u64 = 600;

fn run() {
    // STCKF 0(1); LGHI 2,5 many times; STCKF 8(1).
    let mut text = [0; 8 + 4 * STEPS];
    text[..4].copy_from_slice(&[0xB2, 0x7C, 0x10, 0]);
    for load in text[4..4 + 4 * STEPS].chunks_exact_mut(4) {
        load.copy_from_slice(&[0xA7, 0x29, 0, 5]);
    }
    text[4 + 4 * STEPS..].copy_from_slice(&[0xB2, 0x7C, 0x10, 8]);
    let recorded = Run::of(REGISTERS | 1);
    // The first run makes the text known to the machine.
    let _ = recorded.execute(&text);
    let step = took(&recorded, &text);
    guests::println!("path per-step {step}");
    holds("a step is within its budget", step <= BUDGET && step != 0);
    check(
        "without recording nothing is added",
        took(&Run::of(0), &text),
        0,
    );
}

/// Nanoseconds, which are instructions, that one of the loads costs beyond itself.
fn took(run: &Run, text: &[u8]) -> u64 {
    let _ = run.execute(text);
    let at = run.registers[1];
    // SAFETY: two doublewords of the page of operands.
    let [first, last] = unsafe { core::ptr::read_volatile(at as *const [u64; 2]) };
    let nanoseconds = ((last - first) * 1000 + 2048) / 4096;
    (nanoseconds - 1) / STEPS as u64 - 1
}
