//! Program-event recording: the information that an interruption stores to identify its cause.

use guests::recording::{
    self, BRANCH, Event, FETCH, Form, REGISTERS, Run, STORE, STORE_REAL, form, text,
};
use guests::{lowcore, shows_per};

guests::clause!(
    "System/370 Principles of Operation, Program-Event Recording, Identification of Cause",
    native = false,
    options = "; --per-format s370"
);
guests::case!(run);

/// The fields beside locations 150-159. They belong to other interruptions.
const BESIDE: [usize; 6] = [0x90, 0x94, 0xA2, 0xA8, 0xB0, 0xB8];
const PATTERN: u16 = 0x5AA5;

/// The only event of a text.
fn only(run: &Run, words: &[u8]) -> Event {
    for at in BESIDE {
        lowcore::write(at, PATTERN);
    }
    let (events, _) = run.execute(words);
    shows_per!([1], events.len() == 2);
    let event = events[0];
    guests::println!("{event}");
    shows_per!([1, 35], event.code == 0x80);
    let is_left = BESIDE.iter().all(|&at| lowcore::read::<u16>(at) == PATTERN);
    shows_per!([36], is_left);
    event
}

/// Whether the bits beside the PER code are zeros where they must be, and the address is that of the text.
fn has_form(event: &Event) -> bool {
    let [code, mode, address @ ..] = event.stored;
    let [a, b, c, d, rest @ ..] = address;
    let at = text();
    match form() {
        Form::Z => code & 7 == 0 && mode == 0xE0 && u64::from_be_bytes(address) == at,
        Form::S370 => {
            let word = u32::from_be_bytes([a, b, c, d]);
            code & 0xF == 0 && mode == 0 && a == 0 && word == at as u32 && rest == [0xEE; 4]
        }
    }
}

fn run() {
    // BRC 15,*+4; NOPR; MVI 0(1),5; LGHI 2,5; STURG 2,1.
    let texts: [(u64, &[u8]); 5] = [
        (BRANCH, &[0xA7, 0xF4, 0, 2]),
        (FETCH, &[0x07, 0]),
        (STORE, &[0x92, 5, 0x10, 0]),
        (REGISTERS, &[0xA7, 0x29, 0, 5]),
        (STORE_REAL, &[0xB9, 0x25, 0, 0x21]),
    ];
    let count = if form() == Form::Z { 5 } else { 4 };
    for (mask, words) in &texts[..count] {
        let at = if *mask == STORE { 4096 } else { 0 };
        let event = only(&Run::of(*mask | 0xFFFF).within(at, at), words);
        // The event masks are bits 32 and following of control register 9.
        shows_per!([38, 39], u64::from(event.stored[0]) == *mask >> 24);
        shows_per!([36, 41, 44, 45], has_form(&event));
        let next = text() + words.len() as u64;
        shows_per!([43], event.old.address == next);
        // With all events enabled, only those that occurred are indicated.
        let (events, _) = Run::of(BRANCH | STORE | REGISTERS | STORE_REAL | 0xFFFF)
            .within(at, at)
            .execute(words);
        if *mask != FETCH {
            shows_per!([38], u64::from(events[0].stored[0]) == *mask >> 24);
        }
    }
    several();
}

/// Several events of one instruction.
fn several() {
    // BRCT 2,*+4: a branch, a register and the fetch.
    let run = Run::of(BRANCH | FETCH | STORE | REGISTERS | 0xFFFF)
        .within(0, 3)
        .with(2, 5);
    let event = only(&run, &[0xA7, 0x26, 0, 2]);
    shows_per!([40, 44], event.stored[0] == 0xD0 && has_form(&event));
    // LAA 2,3,0(1), which stores and alters a register.
    recording::put(0, &7_u32.to_be_bytes());
    let run = Run::of(BRANCH | FETCH | STORE | REGISTERS | 0xFFFF).within(0, 4096);
    let event = only(&run, &[0xEB, 0x23, 0x10, 0, 0, 0xF8]);
    shows_per!([40, 44], event.stored[0] == 0x70 && has_form(&event));
    // Without the mask of one event the others are still indicated.
    let run = Run::of(FETCH | REGISTERS | 0xFFFF).within(0, 4096);
    recording::put(0, &8_u32.to_be_bytes());
    let event = only(&run, &[0xEB, 0x23, 0x10, 0, 0, 0xF8]);
    shows_per!([8, 40], event.stored[0] == 0x50 && has_form(&event));
    // DR 3,2, whose first register is odd; MC 1,0 with its mask; an operation that is not assigned.
    let both = |words: &[u8], code: u16| {
        let event = Run::of(FETCH).within(0, 0).execute(words).0[0];
        guests::println!("{event}");
        event.code == 0x80 | code && event.stored[0] == 0x40 && has_form(&event)
    };
    shows_per!([35, 37], both(&[0x1D, 0x32], 6));
    shows_per!([35, 37], both(&[0, 0, 0, 0], 1));
    let control = guests::insn::control::stctg_all()[8];
    guests::insn::control::lctlg_8(control | 0x4000);
    shows_per!([35, 37], both(&[0xAF, 1, 0, 0], 0x40));
    guests::insn::control::lctlg_8(control);
}
