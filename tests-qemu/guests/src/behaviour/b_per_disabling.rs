//! Program-event recording: instructions that cause an event and disable the CPU for it.

use guests::interruption::Class;
use guests::psw::Psw;
use guests::recording::{self, Event, FETCH, PER, Run, STORE, expect, form, text};
use guests::{lowcore, shows_per};

guests::clause!(
    "System/370 Principles of Operation, Program-Event Recording, Operation and Programming Notes",
    native = false,
    options = "; --per-format s370"
);
guests::case!(run);

/// LGHI 2,1, which is no longer recorded.
const LATER: [u8; 4] = [0xA7, 0x29, 0, 1];

/// The interruptions of an instruction of four bytes or less, and those of the next one.
fn ended_by(events: u64, instruction: &[u8]) -> &'static [Event] {
    let mut words = [0; 8];
    let length = instruction.len();
    words[..length].copy_from_slice(instruction);
    words[length..][..4].copy_from_slice(&LATER);
    Run::of(events).execute(&words[..length + 4]).0
}

/// Whether the program old PSW of an event has a PER mask of zero.
fn shows_disablement(events: &[Event]) -> bool {
    events
        .first()
        .is_some_and(|event| event.code == 0x80 && event.old.mask & PER == 0)
}

fn run() {
    // LPSW 0(1): a PSW of 64 bits without the PER mask, with condition code 1, at 4.
    recording::put(0, &0x0008_1000_u32.to_be_bytes());
    recording::put(4, &(text() as u32 + 4).to_be_bytes());
    let events = ended_by(FETCH, &[0x82, 0, 0x10, 0]);
    let fetched = ["0080 4 40 0000 0004 cc1", "0001 2 - 000a cc1"];
    shows_per!(
        [30, 52, 53],
        expect("LPSW of a PSW without the PER mask", events, &fetched)
    );
    shows_per!([58], shows_disablement(events));
    recording::put(0, &[0]);
    let fetched = ["0080 4 40 0000 0004 cc0", "0001 2 - 000a cc0"];
    let events = ended_by(FETCH, &[0x80, 0, 0x10, 0]);
    shows_per!(
        [30, 52, 54],
        expect("SSM of a mask without PER", events, &fetched)
    );
    shows_per!([58], shows_disablement(events));
    let events = ended_by(FETCH, &[0xAC, 0xBF, 0x10, 0]);
    shows_per!([30, 52, 55], expect("STNSM of BF", events, &fetched));
    shows_per!([58], shows_disablement(events));
    let both = ["0080 4 60 0000 0004 cc0", "0001 2 - 000a cc0"];
    let events = ended_by(FETCH | STORE, &[0xAC, 0xBF, 0x10, 0]);
    shows_per!(
        [40, 57],
        expect("STNSM of BF alters storage", events, &both)
    );
    let events = ended_by(STORE, &[0xAC, 0xBF, 0x10, 0]);
    let stored = ["0080 4 20 0000 0004 cc0", "0001 2 - 000a cc0"];
    shows_per!([57], expect("and only that", events, &stored));
    shows_per!([58], shows_disablement(events));
    supervisor_call();
    load_control();
}

/// SVC 42 with two supervisor-call new PSWs: without the PER mask, and with it.
fn supervisor_call() {
    let usual: Psw = lowcore::read(Class::SupervisorCall.new());
    // NOPR; NOPR; and, at the supervisor-call new PSW's address, NOPR.
    let words = [0x0A, 42, 0x07, 0, 0x07, 0, 0x07, 0];
    let called = |mask| {
        lowcore::write(Class::SupervisorCall.new(), Psw::new(mask, text() + 6));
        Run::of(FETCH).within(0, 6).execute(&words).0
    };
    let events = called(form().psw());
    let right = expect(
        "SVC whose new PSW has no PER mask: the program old PSW is that one",
        events,
        &["0080 2 40 0000 0006 cc0", "0001 2 - 000a cc0"],
    );
    shows_per!([30, 51, 52, 56], right);
    shows_per!([58], shows_disablement(events));
    let old: Psw = lowcore::read(Class::SupervisorCall.old());
    let was_first = old.address == text() + 2
        && old.mask & PER != 0
        && lowcore::read::<u16>(lowcore::SVC_CODE) == 42;
    shows_per!([51], was_first);
    let right = expect(
        "SVC whose new PSW has the PER mask: the next instruction has its own event",
        called(form().psw() | PER),
        &[
            "0080 2 40 0000 0006 cc0",
            "0080 2 40 0006 0008 cc0",
            "0001 2 - 000a cc0",
        ],
    );
    shows_per!([51], right);
    // EX 0,0(1) of SVC 42; NOPR.
    recording::put(0, &[0x0A, 42]);
    lowcore::write(
        Class::SupervisorCall.new(),
        Psw::new(form().psw(), text() + 4),
    );
    let events = Run::of(FETCH)
        .within(0, 3)
        .execute(&[0x44, 0, 0x10, 0, 0x07, 0])
        .0;
    let right = expect(
        "EX of SVC",
        events,
        &["0080 4 40 0000 0004 cc0", "0001 2 - 0008 cc0"],
    );
    shows_per!([42, 51], right);
    lowcore::write(Class::SupervisorCall.new(), usual);
}

/// LCTL of each of the three registers. Their former contents decide about the event.
fn load_control() {
    let fetched = ["0080 4 40 0000 0004 cc0", "0001 2 - 000a cc0"];
    let loaded = |registers: u8, values: [u32; 2], end| {
        recording::put(0, &values[0].to_be_bytes());
        recording::put(4, &values[1].to_be_bytes());
        let mut words = [0xB7, registers, 0x10, 0, 0, 0, 0, 0];
        words[4..].copy_from_slice(&LATER);
        Run::of(FETCH).within(0, end).execute(&words).0
    };
    let right = expect(
        "LCTL of control register 9 without the mask",
        loaded(0x99, [0, 0], 8),
        &fetched,
    );
    shows_per!([30, 52, 59], right);
    let behind = text() as u32 + 0x100;
    let right = expect(
        "LCTL of control register 10, which begins the range behind",
        loaded(0xAA, [behind, 0], 0x200),
        &fetched,
    );
    shows_per!([30, 52, 60], right);
    let right = expect(
        "LCTL of control registers 10 and 11, whose range is elsewhere",
        loaded(0xAB, [behind, behind], 8),
        &fetched,
    );
    shows_per!([30, 52, 60], right);
    let right = expect(
        "LCTL of control register 11, which ends the range at the LCTL",
        loaded(0xBB, [text() as u32 + 3, 0], 8),
        &fetched,
    );
    shows_per!([30, 52, 60], right);
}
