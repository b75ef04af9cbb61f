//! Program-event recording: the storage-alteration-space control, by which stores are events only in designated spaces.

use guests::dat::{self, WINDOW};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::Page;
use guests::psw::{DAT, PROBLEM};
use guests::recording::{
    self, DESIGNATED_SPACES, EVENT_SPACE, Event, FETCH, Run, STORE, STORE_REAL, text,
};
use guests::shows;

guests::clause!(
    "Principles of Operation (SA22-7832), Program-Event Recording, Control-Register Allocation; Storage Alteration",
    native = false
);
guests::case!(run);

/// The page of the range.
const PAGE: u64 = WINDOW;
/// The range in it.
const RANGE: [u64; 2] = [PAGE + 0x800, PAGE + 0x80F];
/// As far behind it as a range ends that is not protected page by page.
const FAR: u64 = 0x20_0000;

/// The control registers of the primary, the secondary and the home space.
const PRIMARY: usize = 1;
const SECONDARY: usize = 7;
const HOME: usize = 13;

static mut FRAME: Page = Page([0; 4096]);

fn frame() -> u64 {
    (&raw const FRAME) as u64
}

/// Executes a text with these spaces designated. Register 1 designates the page of the range.
fn execute(spaces: &[usize], run: Run, text: &[u8]) -> &'static [Event] {
    let saved = stctg_all();
    let mut registers = saved;
    for &space in spaces {
        registers[space] |= EVENT_SPACE;
    }
    lctlg_all(&registers);
    let (events, _) = run.execute(text);
    lctlg_all(&saved);
    events
}

/// Stores into the range are recorded in designated spaces.
fn run_of(events: u64) -> Run {
    let mut run = Run::of(events | DESIGNATED_SPACES)
        .in_mode(DAT)
        .with(1, PAGE);
    run.range = RANGE;
    run
}

fn expect(name: &str, spaces: &[usize], run: Run, text: &[u8], expected: &[&str]) -> bool {
    recording::expect(name, execute(spaces, run, text), expected)
}

fn run() {
    dat::prepare();
    for page in 0..3 {
        dat::set_window(page, frame());
    }
    one_space();
    by_millicode();
    dat::with_home_space(several_spaces);
    designated_meanwhile();
}

/// The primary space, designated or not.
fn one_space() {
    // MVI 800(1),5; STG 2,0(1).
    let stores = [0x92, 5, 0x18, 0, 0xE3, 0x20, 0x10, 0, 0, 0x24];
    let event = ["0080 4 20 0000 0004 cc0", "0001 2 - 000c cc0"];
    let none = ["0001 2 - 000c cc0"];
    for mode in [0, PROBLEM] {
        let run = run_of(STORE).in_mode(mode);
        expect("in another space", &[], run, &stores, &none);
        expect("in a designated space", &[PRIMARY], run, &stores, &event);
        expect(
            "others do not count",
            &[SECONDARY, HOME],
            run,
            &stores,
            &none,
        );
    }
    let mut any = run_of(STORE);
    any.events &= !DESIGNATED_SPACES;
    let shown = expect("without the control", &[], any, &stores, &event);
    shows!("PERSPACE-1", shown);
    let mut large = run_of(STORE);
    large.range[1] += FAR;
    expect("a large range", &[], large, &stores, &none);
    expect("and designated", &[PRIMARY], large, &stores, &event);
    let mut both = run_of(STORE | FETCH);
    both.range = [text(), RANGE[1]];
    let fetched = [
        "0080 4 40 0000 0004 cc0",
        "0080 6 40 0004 000a cc0",
        "0081 2 40 000a 000c cc0",
    ];
    let shown = expect("fetches count in each", &[], both, &stores, &fetched);
    shows!("PERSPACE-5", shown);
    let fetched_and_stored = [
        "0080 4 60 0000 0004 cc0",
        "0080 6 60 0004 000a cc0",
        "0081 2 40 000a 000c cc0",
    ];
    expect("both", &[PRIMARY], both, &stores, &fetched_and_stored);
    // With DAT off there is no space.
    let mut real = Run::of(STORE | DESIGNATED_SPACES).with(1, frame());
    real.range = RANGE.map(|at| at - PAGE + frame());
    let shown = expect("with DAT off", &[], real, &stores, &event);
    shows!("PERSPACE-3", shown);
}

/// Stores that the machine makes, and those by a real address.
fn by_millicode() {
    // STCTG 9,9,800(1).
    let control = [0xEB, 0x99, 0x18, 0, 0, 0x25];
    let run = run_of(STORE);
    expect("STCTG", &[], run, &control, &["0001 2 - 0008 cc0"]);
    let event = ["0080 6 20 0000 0006 cc0", "0001 2 - 0008 cc0"];
    expect("designated", &[PRIMARY], run, &control, &event);
    // STURG 2,4.
    let sturg = [0xB9, 0x25, 0, 0x24];
    let run = run_of(STORE | STORE_REAL).with(4, frame() + 0x800);
    let event = ["0080 4 08 0000 0004 cc0", "0001 2 - 0006 cc0"];
    for spaces in [&[][..], &[PRIMARY]] {
        let shown = expect("a store by a real address", spaces, run, &sturg, &event);
        shows!("PERSPACE-7", shown);
    }
}

/// The primary, the secondary and the home space.
fn several_spaces() {
    // MVI 800(1),5; SAC 300; MVI 800(1),5; SAC 0; MVI 800(1),5.
    let text = [
        0x92, 5, 0x18, 0, 0xB2, 0x19, 0x03, 0, 0x92, 5, 0x18, 0, 0xB2, 0x19, 0, 0, 0x92, 5, 0x18, 0,
    ];
    for (spaces, stores) in [
        (&[][..], &[][..]),
        (&[HOME], &[8]),
        (&[PRIMARY], &[0, 16]),
        (&[PRIMARY, HOME], &[0, 8, 16]),
    ] {
        let shown = at(execute(spaces, run_of(STORE), &text), stores);
        shows!("PERSPACE-2", shown);
    }
    // MVCS 0(2,3),800(1),4 and MVCP 0(2,3),800(1),4, which store at register 3.
    let run = run_of(STORE).with(2, 4).with(3, RANGE[0]);
    let moves = [0xDB, 0x24, 0x30, 0, 0x10, 0, 0xDA, 0x24, 0x30, 0, 0x10, 0];
    for (spaces, stores) in [
        (&[][..], &[][..]),
        (&[SECONDARY], &[0]),
        (&[PRIMARY], &[6]),
        (&[PRIMARY, SECONDARY], &[0, 6]),
    ] {
        let shown = at(execute(spaces, run, &moves), stores);
        shows!("PERSPACE-4", shown);
    }
}

/// The events must be stores of the instructions at these offsets.
fn at(events: &[Event], stores: &[u64]) -> bool {
    let altered = |event: &&Event| event.code == 0x80 && event.stored[0] == 0x20;
    let found = events.iter().filter(altered).map(|event| {
        let [_, _, at @ ..] = event.stored;
        u64::from_be_bytes(at).wrapping_sub(text())
    });
    found.eq(stores.iter().copied()) && events.len() == stores.len() + 1
}

/// The primary space is designated while events are recorded.
fn designated_meanwhile() {
    let element = stctg_all()[PRIMARY];
    let elements = [element | EVENT_SPACE, element];
    recording::put(0, &elements[0].to_be_bytes());
    recording::put(8, &elements[1].to_be_bytes());
    // MVI 800(1),5; LCTLG 1,1,0(3); MVI 800(1),5; LCTLG 1,1,8(3); MVI 800(1),5.
    let text_of_changes = [
        0x92, 5, 0x18, 0, 0xEB, 0x11, 0x30, 0, 0, 0x2F, 0x92, 5, 0x18, 0, 0xEB, 0x11, 0x30, 8, 0,
        0x2F, 0x92, 5, 0x18, 0,
    ];
    let run = run_of(STORE).with(3, text() + recording::OPERANDS);
    let events = ["0080 4 20 000a 000e cc0", "0001 2 - 001a cc0"];
    let shown = expect("designated meanwhile", &[], run, &text_of_changes, &events);
    shows!("PERSPACE-6", shown);
}
