//! Program-event recording: sixteen masks, one for each general register.

use guests::recording::{Event, REGISTERS, Run, expect, text};
use guests::shows_per;

guests::clause!(
    "System/370 Principles of Operation, Program-Event Recording, Control Register Allocation",
    native = false,
    options = "; --per-format s370"
);
guests::case!(run);

/// How far behind the first instruction the one that alters register n stands.
fn place(n: usize) -> u64 {
    4 * n as u64
}

/// Whether the interruptions are those of the registers of a mask, in order, and then the end.
fn are_those_of(events: &[Event], mask: u16) -> bool {
    let mut events = events.iter();
    for register in (0..16).filter(|n| mask & 0x8000 >> n != 0) {
        let is_there = events.next().is_some_and(|event| {
            event.code == 0x80
                && event.stored[0] == 0x10
                && event.per_address() == (text() + place(register), true)
        });
        if !is_there {
            return false;
        }
    }
    events.next().is_some_and(|event| event.code == 1) && events.next().is_none()
}

fn run() {
    // LGHI 0,1 to LGHI 15,1.
    let mut words = [0; 64];
    for (n, word) in words.chunks_exact_mut(4).enumerate() {
        word.copy_from_slice(&[0xA7, (n as u8) << 4 | 9, 0, 1]);
    }
    let altered = |mask: u16| {
        let (events, after) = Run::of(REGISTERS | u64::from(mask))
            .with(1, 0)
            .execute(&words);
        are_those_of(events, mask) && after == [1; 16]
    };
    for n in 0..16 {
        let mask = 0x8000 >> n;
        shows_per!([6, 9, 10, 11], altered(mask));
        shows_per!([10, 12], altered(!mask));
    }
    shows_per!([11], altered(0xFFFF));
    shows_per!([12], altered(0));
    // LM 14,1,0(1): registers 14, 15, 0 and 1; register 1 becomes zero.
    let loaded = |mask| {
        Run::of(REGISTERS | mask)
            .execute(&[0x98, 0xE1, 0x10, 0])
            .0
            .len()
    };
    guests::recording::put(0, &[1; 12]);
    guests::recording::put(12, &[0; 4]);
    shows_per!([10], loaded(0xC003) == 2 && loaded(0x0001) == 2);
    shows_per!([10], loaded(0x8000) == 2 && loaded(0x3FFC) == 1);
    let right = expect(
        "several registers of one instruction are one event",
        Run::of(REGISTERS | 0xFFFF)
            .execute(&[0x98, 0xE1, 0x10, 0])
            .0,
        &["0080 4 10 0000 0004 cc0", "0001 2 - 0006 cc0"],
    );
    shows_per!([6, 11], right);
    placed();
}

/// An instruction alters the registers in which it places values, also those that are there already.
fn placed() {
    let altered = |mask: u16, registers: &[(usize, u64)], words: &[u8]| {
        let run = Run::of(REGISTERS | u64::from(mask));
        let run = registers
            .iter()
            .fold(run, |run, &(n, value)| run.with(n, value));
        let (events, _) = run.execute(words);
        match events {
            [event, last] => event.code == 0x80 && event.stored[0] == 0x10 && last.code == 1,
            _ => false,
        }
    };
    let not = |mask: u16, registers: &[(usize, u64)], words: &[u8]| {
        let run = Run::of(REGISTERS | u64::from(mask));
        let run = registers
            .iter()
            .fold(run, |run, &(n, value)| run.with(n, value));
        run.execute(words).0.len() == 1
    };
    let same: [(&str, u16, &[u8]); 12] = [
        ("LTR 3,3", 0x1000, &[0x12, 0x33]),
        ("LA 3,0(3)", 0x1000, &[0x41, 0x30, 0x30, 0]),
        ("LR 3,3", 0x1000, &[0x18, 0x33]),
        ("NR 3,3", 0x1000, &[0x14, 0x33]),
        ("LTGR 3,3", 0x1000, &[0xB9, 0x02, 0, 0x33]),
        ("AHI 3,0", 0x1000, &[0xA7, 0x3A, 0, 0]),
        ("SLL 3,0", 0x1000, &[0x89, 0x30, 0, 0]),
        ("SLDL 4,0", 0x0400, &[0x8D, 0x40, 0, 0]),
        ("LM 2,4,0(1) of zeros", 0x3800, &[0x98, 0x24, 0x10, 0]),
        ("MVCL 4,4 of no bytes", 0x0C00, &[0x0E, 0x44]),
        ("MVCL 4,6: the second pair", 0x0300, &[0x0E, 0x46]),
        ("ICM 3,1,0(1) of a zero", 0x1000, &[0xBF, 0x31, 0x10, 0]),
    ];
    guests::recording::put(0, &[0; 16]);
    let mut right = true;
    for (name, mask, words) in same {
        let is = altered(mask, &[], words) && not(!mask & !0x4F00, &[], words);
        guests::check::holds(name, is);
        right &= is;
    }
    shows_per!([6, 9], right);
    // CS 2,3,0(1) of what is there, and of something else; the same of CDS 2,4,0(1).
    let swap = |opcode: u8, last: u8| [opcode, 0x20 | last, 0x10, 0];
    let right = not(0x2000, &[], &swap(0xBA, 3))
        && altered(0x2000, &[(2, 5)], &swap(0xBA, 3))
        && not(0x3000, &[], &swap(0xBB, 4))
        && altered(0x1000, &[(2, 5)], &swap(0xBB, 4));
    guests::check::holds(
        "CS and CDS place the second operand if it is another one",
        right,
    );
    let right = not(0xFFFF, &[], &[0x15, 0x33])
        && not(0xFFFF, &[], &[0x19, 0x33])
        && not(0xFFFF, &[], &[0xBF, 0x30, 0x10, 0])
        && not(0xFFFF, &[], &[0xDD, 3, 0x10, 0, 0x10, 8])
        && not(0xFFFF, &[], &[0x91, 1, 0x10, 0]);
    guests::check::holds(
        "CLR, CR, ICM with a mask of zero, TRT without a function byte and TM place nothing",
        right,
    );
    // EXRL 0,*+8 of LTR 3,3 behind a NOPR.
    let executed = [0xC6, 0, 0, 0, 0, 4, 0x07, 0, 0x12, 0x33];
    let events = Run::of(REGISTERS | 0x1000).execute(&executed).0;
    let right = expect(
        "EXRL of LTR 3,3",
        events.get(..1).unwrap_or_default(),
        &["0080 6 10 0000 0006 cc0"],
    );
    shows_per!([6], right);
    // The machine performs EPSW 2,3: its second register gets bits 32-63, which are the same the second time.
    let right = expect(
        "EPSW places the same again",
        Run::of(REGISTERS | 0x1000)
            .execute(&[0xB9, 0x8D, 0, 0x23, 0xB9, 0x8D, 0, 0x23])
            .0,
        &[
            "0080 4 10 0000 0004 cc0",
            "0080 4 10 0004 0008 cc0",
            "0001 2 - 000a cc0",
        ],
    );
    shows_per!([6, 33], right);
}
