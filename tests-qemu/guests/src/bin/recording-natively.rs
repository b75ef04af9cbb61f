//! The identification of program events, case by case, for a comparison with the machine below.
//!
//! Each line is a case, a colon, and one interruption of it. The program does not know which is right: two machines
//! must print the same (`tests/machine/recording.rs`).
#![no_std]
#![no_main]

use guests::interruption::Class;
use guests::psw::{DAT, INITIAL, Psw};
use guests::recording::{
    self, BRANCH, BRANCH_ADDRESS, FETCH, NULLIFY, OPERANDS, Run, STORE, STORE_REAL, text,
};
use guests::{dat, lowcore};

guests::clause!(
    "System/370 Principles of Operation, Program-Event Recording; z/Architecture Principles of Operation, Program-Event Recording",
    native = true,
);
guests::guest!(run);

/// No case has more interruptions. A case that would go on forever is cut off here.
const MOST: usize = 8;

/// Executes a case and prints its interruptions. Without a range it is the text, without what ends it: with an
/// operation exception QEMU indicates no event.
fn case(name: &str, run: &Run, words: &[u8]) {
    let mut run = *run;
    if run.range == [0, u64::MAX] {
        run = run.within(0, words.len() as i64 - 1);
    }
    for event in run.execute(words).0.iter().take(MOST) {
        guests::println!("{name}: {event}");
    }
}

fn run() {
    fetches();
    controls();
    exceptions();
    branches();
    stores();
}

fn fetches() {
    let everywhere = Run::of(FETCH);
    case("fetch of LGHI", &everywhere, &[0xA7, 0x29, 0, 5]);
    case("fetch of LR", &everywhere, &[0x18, 0x23]);
    case("fetch of LG", &everywhere, &[0xE3, 0x20, 0x10, 0, 0, 4]);
    // LTR 2,2 of zero, of one, and of minus one.
    for (name, value) in [
        ("fetch of LTR of 0", 0),
        ("fetch of LTR of 1", 1),
        ("fetch of LTR of -1", 0xFFFF_FFFF),
    ] {
        case(name, &everywhere.with(2, value), &[0x12, 0x22]);
    }
    // LTR 2,2; BRC 4,*+6 over a halfword.
    let positive = everywhere.with(2, 1);
    case(
        "fetch of a branch behind LTR",
        &positive,
        &[0x12, 0x22, 0xA7, 0x24, 0, 3, 0, 0],
    );
    // LR; LTR; LR; LR with ranges.
    let four = [0x18, 0x33, 0x12, 0x22, 0x18, 0x33, 0x18, 0x33];
    case("fetch in a range", &positive.within(2, 4), &four);
    case("fetch in the middle", &positive.within(3, 3), &four);
    case(
        "fetch over the end of storage",
        &positive.within(6, 1),
        &four,
    );
    case("fetch of BRCT", &positive.with(3, 2), &[0xA7, 0x36, 0, 0]);
    case("fetch of MVC", &everywhere, &[0xD2, 7, 0x10, 0, 0x10, 16]);
    let at = text() + OPERANDS;
    let long = everywhere
        .with(2, at)
        .with(3, 256)
        .with(4, at + 512)
        .with(5, 256);
    case("fetch of MVCL", &long, &[0x0E, 0x24]);
    // EX 0,0(1) of LTR 2,2; EXRL 0,*+6 of a LTR behind a BRC 15,*+6.
    recording::put(0, &[0x12, 0x22]);
    case("fetch of EX", &positive, &[0x44, 0, 0x10, 0]);
    case(
        "fetch of EXRL",
        &positive,
        &[0xC6, 0, 0, 0, 0, 5, 0xA7, 0xF4, 0, 3, 0x12, 0x22],
    );
    case(
        "fetch that nullifies",
        &everywhere.within(0, 0).with(2, 1),
        &[0x12, 0x22],
    );
    let mut nullified = Run::of(FETCH | NULLIFY).within(4, 4).with(2, 1);
    case(
        "nullification of LR",
        &nullified,
        &[0x18, 0x33, 0x18, 0x33, 0x18, 0x33],
    );
    nullified = nullified.within(2, 2);
    case(
        "nullification behind LTR",
        &nullified,
        &[0x12, 0x22, 0x18, 0x33],
    );
}

/// Instructions that change which events are recorded.
fn controls() {
    let everywhere = Run::of(FETCH);
    let behind = [0x18, 0x33];
    let with = |first: &[u8]| {
        let mut words = [0; 8];
        words[..first.len()].copy_from_slice(first);
        words[first.len()..][..2].copy_from_slice(&behind);
        (words, first.len() + 2)
    };
    let changed = |name: &str, run: &Run, first: &[u8]| {
        let (words, length) = with(first);
        case(name, run, &words[..length]);
    };
    recording::put(0, &[0; 16]);
    changed("SSM off", &everywhere, &[0x80, 0, 0x10, 0]);
    changed("STNSM off", &everywhere, &[0xAC, 0xBF, 0x10, 32]);
    case(
        "STOSM on",
        &everywhere,
        &[0xAC, 0xBF, 0x10, 32, 0xAD, 0x40, 0x10, 32, 0x18, 0x33],
    );
    changed("LCTL off", &everywhere, &[0xB7, 0x99, 0x10, 0]);
    changed("LCTLG off", &everywhere, &[0xEB, 0x99, 0x10, 0, 0, 0x2F]);
    recording::put(0, &INITIAL.to_be_bytes());
    recording::put(8, &(text() + 4).to_be_bytes());
    changed("LPSWE off", &everywhere, &[0xB2, 0xB2, 0x10, 0]);
    let usual: Psw = lowcore::read(Class::SupervisorCall.new());
    lowcore::write(Class::SupervisorCall.new(), Psw::new(INITIAL, text() + 4));
    case("SVC", &everywhere, &[0x0A, 1, 0, 0, 0x18, 0x33]);
    lowcore::write(Class::SupervisorCall.new(), usual);
}

/// Events beside other program interruptions.
fn exceptions() {
    let everywhere = Run::of(FETCH);
    case("DR of an odd register", &everywhere, &[0x1D, 0x32]);
    case("an operation that is not assigned", &everywhere, &[0, 0]);
    // DR 2,4 by zero.
    case("DR by zero", &everywhere.with(3, 1), &[0x1D, 0x24]);
    case(
        "L from beyond storage",
        &everywhere.with(3, 0x1000_0000_0000),
        &[0x58, 0x20, 0x30, 0],
    );
    dat::prepare();
    dat::set_identity(text() + OPERANDS, false);
    let translated = everywhere.under(INITIAL | DAT);
    case(
        "L from an invalid page",
        &translated,
        &[0x58, 0x20, 0x10, 0],
    );
    dat::set_identity(text() + OPERANDS, true);
    case("L with DAT", &translated, &[0x58, 0x20, 0x10, 0]);
    let control = guests::insn::control::stctg_all()[8];
    guests::insn::control::lctlg_8(control | 0x4000);
    case("MC", &everywhere, &[0xAF, 1, 0, 0]);
    guests::insn::control::lctlg_8(control);
    case("MC of another class", &everywhere, &[0xAF, 2, 0, 0]);
}

fn branches() {
    let everywhere = Run::of(BRANCH);
    let to = everywhere.with(3, text() + 4);
    case("BRC", &everywhere, &[0xA7, 0xF4, 0, 2]);
    case("BRC not taken", &everywhere, &[0xA7, 0x04, 0, 2]);
    case("BCR", &to, &[0x07, 0xF3, 0, 0]);
    case("BC", &to, &[0x47, 0xF0, 0x30, 0]);
    case("BASR", &to, &[0x0D, 0xE3, 0, 0]);
    case("BRAS", &everywhere, &[0xA7, 0xE5, 0, 2]);
    case("BRASL", &everywhere, &[0xC0, 0xE5, 0, 0, 0, 3]);
    case("BRCL", &everywhere, &[0xC0, 0xF4, 0, 0, 0, 3]);
    case("BRCT", &everywhere.with(2, 2), &[0xA7, 0x26, 0, 2]);
    case("BCTR", &to.with(2, 2), &[0x06, 0x23, 0, 0]);
    case(
        "BRXH",
        &everywhere.with(2, 2).with(4, 2),
        &[0x84, 0x24, 0, 2],
    );
    case(
        "BRXLE",
        &everywhere.with(4, 2).with(5, 9),
        &[0x85, 0x24, 0, 2],
    );
    case("CRJ", &everywhere, &[0xEC, 0x45, 0, 3, 0x80, 0x76]);
    case("CGIJ", &everywhere, &[0xEC, 0x28, 0, 3, 0, 0x7C]);
    // LTR 2,2 of one; BRC 2,*+4.
    case(
        "BRC behind LTR",
        &everywhere.with(2, 1),
        &[0x12, 0x22, 0xA7, 0x24, 0, 2],
    );
    case(
        "BRC backwards",
        &everywhere.with(2, 2),
        &[0xA7, 0xF4, 0, 4, 0xA7, 0xF4, 0, 4, 0xA7, 0xF4, 0xFF, 0xFE],
    );
    case(
        "BRCT to itself",
        &everywhere.with(2, 3),
        &[0xA7, 0x26, 0, 0],
    );
    // EX 0,0(1) of BCR 15,3.
    recording::put(0, &[0x07, 0xF3]);
    case("EX of BCR", &to, &[0x44, 0, 0x10, 0]);
    let into = Run::of(BRANCH | BRANCH_ADDRESS);
    let two = [0xA7, 0xF4, 0, 2, 0xA7, 0xF4, 0, 2, 0x07, 0];
    case("BRC into the range", &into.within(8, 8), &two);
    case("BRC into no range", &into.within(0, 0), &two);
    let both = Run::of(BRANCH | FETCH);
    case("BRC, fetch and branch", &both, &[0xA7, 0xF4, 0, 2]);
}

fn stores() {
    let first = Run::of(STORE).within(4096, 4096);
    case("MVI", &first, &[0x92, 5, 0x10, 0]);
    case("MVI elsewhere", &first, &[0x92, 5, 0x10, 1]);
    case("ST", &first, &[0x50, 0x20, 0x10, 0]);
    let last = Run::of(STORE).within(4103, 4103);
    case("STG", &last, &[0xE3, 0x20, 0x10, 0, 0, 0x24]);
    case("ST elsewhere", &last, &[0x50, 0x20, 0x10, 0]);
    case("MVC", &last, &[0xD2, 7, 0x10, 0, 0x10, 16]);
    case("MVC elsewhere", &last, &[0xD2, 6, 0x10, 0, 0x10, 16]);
    case("STM", &last, &[0x90, 0x23, 0x10, 0]);
    case("L", &first, &[0x58, 0x20, 0x10, 0]);
    recording::put(0, &[0; 4]);
    case("CS that stores", &first, &[0xBA, 0x23, 0x10, 0]);
    case(
        "CS that does not",
        &first.with(2, 9),
        &[0xBA, 0x23, 0x10, 0],
    );
    case("STNSM", &first, &[0xAC, 0xFF, 0x10, 0]);
    case("STNSM off that stores", &first, &[0xAC, 0xBF, 0x10, 0]);
    case("STCTG", &last, &[0xEB, 0x99, 0x10, 0, 0, 0x25]);
    case(
        "ST behind LTR",
        &first.with(2, 1),
        &[0x12, 0x22, 0x50, 0x20, 0x10, 0],
    );
    let both = Run::of(STORE | FETCH);
    case("ST, fetch and store", &both, &[0x50, 0x20, 0x10, 0]);
    case("STURG", &Run::of(STORE_REAL), &[0xB9, 0x25, 0, 0x21]);
    recording::put(512, &[0x92, 5, 0x10, 0]);
    case("EX of MVI", &first, &[0x44, 0, 0x12, 0]);
}
