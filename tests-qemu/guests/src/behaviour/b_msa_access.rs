//! Exceptions of the message-security assist on each operand: access to the parameter block and the operands,
//! register numbers, function codes and lengths. They change nothing.

use guests::attempt::{Outcome, nullified, suppressed};
use guests::attempt_with_registers;
use guests::check::{check, holds};
use guests::dat::{self, INVALID, PROTECTED, WINDOW};
use guests::insn::assist::{Registers, kmctr};

guests::clause!(
    "Principles of Operation, CIPHER MESSAGE and its like; COMPUTE MESSAGE DIGEST; Program Interruptions",
    native = false,
    options = "--cryptography"
);
guests::case!(run);

const PAGE: usize = 4096;

#[repr(C, align(4096))]
struct OperandPages([[u8; PAGE]; 8]);
static mut PAGES: OperandPages = OperandPages([[0; PAGE]; 8]);

/// The real address of one of the pages.
fn frame(page: usize) -> u64 {
    // SAFETY: the address only.
    unsafe { (&raw const PAGES.0).cast::<u8>().add(page * PAGE) as u64 }
}

/// Page `page` of the window, with these bits in its entry beside the frame.
fn map(page: usize, bits: u64) {
    dat::replace_window(page, frame(page) | bits);
}

/// A number made of the bytes of all pages. It changes when any of them does.
fn sum() -> u64 {
    let mut sum = 0_u64;
    for at in 0..8 * PAGE {
        // SAFETY: a byte of the pages.
        let byte = unsafe { (frame(0) as *const u8).add(at).read_volatile() };
        sum = sum.rotate_left(7) ^ u64::from(byte);
    }
    sum
}

/// An attempt that must end with an interruption of this number and change nothing.
fn refused(
    name: &str,
    expected: u64,
    registers: Registers,
    attempt: fn(&mut Registers) -> Outcome,
) {
    let (before, storage) = (registers, sum());
    let mut registers = registers;
    let outcome = attempt(&mut registers);
    check(name, outcome.number(), expected);
    holds("  no register is changed", registers == before);
    holds("  no storage is changed", sum() == storage);
}

fn kmc(registers: &mut Registers) -> Outcome {
    attempt_with_registers!(".long 0xb92f0024", registers)
}

fn counter(registers: &mut Registers) -> Outcome {
    attempt_with_registers!(".long 0xb92d6024", registers)
}

fn last_digest(registers: &mut Registers) -> Outcome {
    attempt_with_registers!(".long 0xb93f0024", registers)
}

fn access() {
    // Parameter block, first, second and third operand: two pages of the window each.
    let [parameter, first, second, third] = [0, 2, 4, 6].map(|page| WINDOW + (page * PAGE) as u64);
    let registers = Registers {
        control: 18,
        parameter,
        first: (first, 0),
        second: (second, 64),
        third: (third, 0),
    };
    for page in 0..8 {
        map(page, 0);
    }
    for (name, page) in [
        ("parameter block: invalid", 0),
        ("first operand: invalid", 2),
        ("second operand: invalid", 4),
        ("third operand: invalid", 6),
    ] {
        map(page, INVALID);
        refused(name, nullified(0x11, 4), registers, counter);
        map(page, 0);
    }
    for (name, page) in [
        ("parameter block: protected", 0),
        ("first operand: protected", 2),
    ] {
        map(page, PROTECTED);
        refused(name, suppressed(4, 4), registers, kmc);
        map(page, 0);
    }
    for page in [0, 4, 6] {
        map(page, PROTECTED);
    }
    let mut only_fetched = registers;
    check(
        "what is only fetched may be protected",
        counter(&mut only_fetched).number(),
        0,
    );
    for page in [0, 4, 6] {
        map(page, 0);
    }
    // The last byte of the parameter block, and of a block of each operand, in the second page.
    let last_byte = PAGE as u64 - 31;
    for (name, page, moved) in [
        (
            "parameter block: its last byte",
            1,
            Registers {
                parameter: parameter + last_byte,
                ..registers
            },
        ),
        (
            "first operand: the last byte of the block",
            3,
            Registers {
                first: (first + PAGE as u64 - 15, 0),
                ..registers
            },
        ),
        (
            "second operand: the last byte of the block",
            5,
            Registers {
                second: (second + PAGE as u64 - 15, 64),
                ..registers
            },
        ),
    ] {
        map(page, INVALID);
        refused(name, nullified(0x11, 4), moved, kmc);
        map(page, 0);
    }
    // The first page holds two blocks and a half.
    for (name, page) in [("first", 3), ("second", 5), ("third", 7)] {
        map(page, INVALID);
        let at = |own, address| {
            if own == page {
                address + PAGE as u64 - 40
            } else {
                address
            }
        };
        let start = Registers {
            first: (at(3, first), 0),
            second: (at(5, second), 64),
            third: (at(7, third), 0),
            ..registers
        };
        let mut moved = start;
        check(name, counter(&mut moved).number(), 3);
        check("  processed", start.second.1 - moved.second.1, 32);
        check("  first operand", moved.first.0 - start.first.0, 32);
        check("  third operand", moved.third.0 - start.third.0, 32);
        refused("  then the exception", nullified(0x11, 4), moved, counter);
        map(page, 0);
        check("  then the rest", kmctr(&mut moved), 0);
        check("  length", moved.second.1, 0);
    }
    // A SHAKE function checks access to its first operand before it takes the message.
    map(2, PROTECTED);
    let shake = Registers {
        control: 36,
        first: (first, 8),
        ..registers
    };
    refused(
        "first operand of KLMD",
        suppressed(4, 4),
        shake,
        last_digest,
    );
    map(2, 0);
}

fn run() {
    let mut block = [0; 240];
    let beyond = 0x7000_0000;
    let mut output = [0; 64];
    let text = [0; 64];
    let good = Registers::new(18, &mut block)
        .first(&mut output)
        .second(&text);
    for (name, bad) in [
        (
            "beyond storage: parameter block",
            Registers {
                parameter: beyond,
                ..good
            },
        ),
        (
            "beyond storage: first operand",
            Registers {
                first: (beyond, 64),
                ..good
            },
        ),
        (
            "beyond storage: second operand",
            Registers {
                second: (beyond, 64),
                ..good
            },
        ),
    ] {
        refused(name, suppressed(5, 4), bad, kmc);
    }
    let nothing = Registers {
        control: 18,
        parameter: beyond,
        first: (beyond, 0),
        second: (beyond, 0),
        third: (beyond, 0),
    };
    let mut registers = nothing;
    check(
        "a length of zero: no access",
        kmc(&mut registers).number(),
        0,
    );
    let specification = suppressed(6, 4);
    for (name, control, length) in [
        ("a function that no machine has", 127, 64),
        ("an encrypted key", 26, 64),
        ("a length that is no multiple", 18, 63),
        ("both", 127, 63),
    ] {
        let bad = Registers {
            control,
            second: (beyond, length),
            ..nothing
        };
        refused(name, specification, bad, kmc);
    }
    let odd: [(&str, fn(&mut Registers) -> Outcome); 10] = [
        ("KM, R1 odd", |r| {
            attempt_with_registers!(".long 0xb92e0034", r)
        }),
        ("KM, R2 odd", |r| {
            attempt_with_registers!(".long 0xb92e0025", r)
        }),
        ("KM, R1 zero", |r| {
            attempt_with_registers!(".long 0xb92e0004", r)
        }),
        ("KMC, R2 zero", |r| {
            attempt_with_registers!(".long 0xb92f0020", r)
        }),
        ("KMCTR, R3 odd", |r| {
            attempt_with_registers!(".long 0xb92d7024", r)
        }),
        ("KMA, R3 zero", |r| {
            attempt_with_registers!(".long 0xb9290024", r)
        }),
        ("KMAC, R2 odd", |r| {
            attempt_with_registers!(".long 0xb91e0025", r)
        }),
        ("KIMD, R2 zero", |r| {
            attempt_with_registers!(".long 0xb93e0020", r)
        }),
        ("PRNO, R1 odd", |r| {
            attempt_with_registers!(".long 0xb93c0034", r)
        }),
        ("KDSA, R2 odd", |r| {
            attempt_with_registers!(".long 0xb93a0025", r)
        }),
    ];
    for (name, attempt) in odd {
        let query = Registers { control: 0, ..good };
        refused(name, specification, query, attempt);
    }
    for (name, control, attempt) in [
        (
            "KIMD with a modifier",
            0x82,
            (|r| attempt_with_registers!(".long 0xb93e0024", r)) as fn(&mut Registers) -> Outcome,
        ),
        ("KMF without feedback", 18, |r| {
            attempt_with_registers!(".long 0xb92a0024", r)
        }),
        ("PRNO that was never seeded", 3, |r| {
            attempt_with_registers!(".long 0xb93c0024", r)
        }),
        ("PCKMO with a key", 18, |r| {
            attempt_with_registers!(".long 0xb9280000", r)
        }),
    ] {
        refused(name, specification, Registers { control, ..good }, attempt);
    }
    check(
        "an executed one: the length of EXECUTE",
        executed(good),
        suppressed(6, 6),
    );
    dat::prepare();
    dat::on();
    access();
    dat::off();
}

/// EXRL of a KM whose function code no machine has.
fn executed(good: Registers) -> u64 {
    let mut registers = Registers {
        control: 127,
        ..good
    };
    attempt_with_registers!(
        "exrl %r0, 34f
.pushsection .rodata.executed,\"a\",@progbits
.p2align 1
34: .long 0xb92e0024
.popsection",
        &mut registers
    )
    .number()
}
