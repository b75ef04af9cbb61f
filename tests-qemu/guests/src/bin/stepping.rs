//! The cost to the machine of executing one instruction on its own, and of making a store beside a range.
//!
//! A register is recorded that no instruction alters, so each instruction is executed on its own and none interrupts.
//! Then stores into a range are recorded, and each instruction stores into its page, beside it. As in `bench`, the machine's instructions show as time of the virtual clock.
#![no_std]
#![no_main]

use guests::check::{check, holds};
use guests::dat::{self, WINDOW};
use guests::insn::cpu::Page;
use guests::psw::DAT;
use guests::recording::{OPERANDS, REGISTERS, Run, STORE, text as place_of_text};

guests::clause!(
    "measure: instructions of a single step, and of a store beside a range",
    native = false,
    options = "--no-sampling"
);
guests::guest!(run);

/// Instructions that are executed.
const STEPS: usize = 100;
/// The most instructions that one of them may cost.
const BUDGET: u64 = 600;
/// The most instructions that a store may cost.
const STORE_BUDGET: u64 = 400;

static mut FRAME: Page = Page([0; 4096]);

fn run() {
    let text = text([0xA7, 0x29, 0, 5]);
    let step = took(&Run::of(REGISTERS | 1), &text);
    guests::println!("path per-step {step}");
    holds("a step is within its budget", step <= BUDGET && step != 0);
    check(
        "without recording nothing is added",
        took(&Run::of(0), &text),
        0,
    );
    let text = self::text([0x50, 0x20, 0x30, 0]);
    dat::prepare();
    let frame = (&raw const FRAME) as u64;
    dat::set_window(0, frame);
    for (mode, at) in [(DAT, WINDOW), (0, frame)] {
        let mut run = Run::of(STORE).in_mode(mode).with(3, at);
        run.range = [at + 0x800, at + 0x807];
        let store = took(&run, &text);
        if mode == DAT {
            guests::println!("path per-store {store}");
        }
        holds(
            "a store beside the range is within its budget",
            store <= STORE_BUDGET && store != 0,
        );
    }
}

/// STCKF 0(1); an instruction many times; STCKF 8(1).
fn text(instruction: [u8; 4]) -> [u8; 8 + 4 * STEPS] {
    let mut text = [0; 8 + 4 * STEPS];
    text[..4].copy_from_slice(&[0xB2, 0x7C, 0x10, 0]);
    for one in text[4..4 + 4 * STEPS].chunks_exact_mut(4) {
        one.copy_from_slice(&instruction);
    }
    text[4 + 4 * STEPS..].copy_from_slice(&[0xB2, 0x7C, 0x10, 8]);
    text
}

/// Nanoseconds, which are instructions, that one of the instructions costs beyond itself.
fn took(run: &Run, text: &[u8]) -> u64 {
    // The first run makes the text known to the machine.
    let _ = run.execute(text);
    let _ = run.execute(text);
    let at = place_of_text() + OPERANDS;
    // SAFETY: two doublewords of the page of operands.
    let [first, last] = unsafe { core::ptr::read_volatile(at as *const [u64; 2]) };
    let nanoseconds = ((last - first) * 1000 + 2048) / 4096;
    (nanoseconds - 1) / STEPS as u64 - 1
}
