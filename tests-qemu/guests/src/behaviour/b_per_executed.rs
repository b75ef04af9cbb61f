//! Program-event recording: instructions that EXECUTE and EXECUTE RELATIVE LONG execute.

use guests::check::check;
use guests::psw::Psw;
use guests::recording::{
    self, BRANCH, Event, FETCH, Form, OPERANDS, REGISTERS, Run, STORE, STORE_REAL, form, text,
};
use guests::shows_per;

guests::clause!(
    "System/370 Principles of Operation, Program-Event Recording, Identification of Cause",
    native = false,
    options = "; --per-format s370"
);
guests::case!(run);

/// Where the target stands in the page of the operands.
const TARGET: u64 = 0x100;

/// NOPR; EX 4,256(1) of a target.
const EX: [u8; 6] = [0x07, 0, 0x44, 0x40, 0x11, 0];

/// NOPR; EXRL 4,* of the same target.
fn exrl() -> [u8; 8] {
    let mut words = [0x07, 0, 0xC6, 0x40, 0, 0, 0, 0];
    let halfwords = (OPERANDS + TARGET - 2) as u32 / 2;
    words[4..].copy_from_slice(&halfwords.to_be_bytes());
    words
}

/// Whether the first interruption indicates `code` with the address of the EXECUTE at 2 and an old PSW at this
/// distance from the text, and the second one is the end.
fn indicates(events: &[Event], code: u8, next: u64) -> bool {
    guests::println!("  {} {}", events[0], events.len());
    let Event {
        code: 0x80,
        stored,
        old: Psw { address, .. },
        ..
    } = events[0]
    else {
        return false;
    };
    events.len() == 2
        && stored[0] == code
        && events[0].per_address() == (text() + 2, true)
        && address == text() + next
}

/// Checks that a target that does not branch has these events, by EX and by EXRL.
fn executed(run: &Run, target: &[u8], code: u8) -> bool {
    recording::put(TARGET, target);
    let ex = indicates(run.execute(&EX).0, code, 6);
    indicates(run.execute(&exrl()).0, code, 8) && ex
}

fn run() {
    let run = Run::of(FETCH).within(2, 2);
    guests::println!("LGHI 2,5 is fetched");
    shows_per!([41, 42, 43], executed(&run, &[0xA7, 0x29, 0, 5], 0x40));
    guests::println!("its target is, at 4096 and 256, and registers are recorded, too");
    let target = (OPERANDS + TARGET) as i64;
    let run = Run::of(FETCH | REGISTERS | 0x2000).within(target, target);
    shows_per!([42, 43], executed(&run, &[0xA7, 0x29, 0, 5], 0x50));
    guests::println!("it alters register 2");
    let run = Run::of(REGISTERS | 0x2000);
    shows_per!([42, 43], executed(&run, &[0xA7, 0x29, 0, 5], 0x10));
    guests::println!("MVC 8(8,1),16(1) of a length that EXECUTE puts in alters storage");
    let run = Run::of(STORE).within(4111, 4111).with(4, 7);
    shows_per!(
        [42, 43],
        executed(&run, &[0xD2, 0, 0x10, 8, 0x10, 16], 0x20)
    );
    guests::println!("both of them: LAA 2,3,8(1)");
    let run = Run::of(STORE | FETCH | REGISTERS | 0x2000)
        .within(2, 4104)
        .with(2, 1);
    recording::put(8, &7_u32.to_be_bytes());
    shows_per!(
        [40, 42, 43],
        executed(&run, &[0xEB, 0x23, 0x10, 8, 0, 0xF8], 0x70)
    );
    guests::println!("STNSM 8(1),FF, which the machine performs");
    let run = Run::of(STORE).within(4104, 4104);
    shows_per!([33, 42, 43], executed(&run, &[0xAC, 0xFF, 0x10, 8], 0x20));
    if form() == Form::Z {
        guests::println!("STURG 4,1 by a real address");
        let run = Run::of(STORE_REAL);
        check(
            "STURG",
            u8::from(executed(&run, &[0xB9, 0x25, 0, 0x41], 0x08)),
            1,
        );
    }
    branches();
}

/// A branch to an address elsewhere: the old PSW has the target of the branch.
fn branches() {
    // BCR 15,3 and BASR 14,3 to where the text ends.
    for (target, code) in [([0x07, 0xF3], 0x80), ([0x0D, 0xE3], 0x90)] {
        recording::put(TARGET, &target);
        let run = Run::of(BRANCH | REGISTERS | 2);
        guests::println!("a branch");
        let ex = indicates(run.with(3, text() + 6).execute(&EX).0, code, 6);
        let ends = run.with(3, text() + 8).execute(&exrl()).0;
        let exrl = indicates(ends, code, 8);
        shows_per!([42, 43], ex && exrl);
    }
}
