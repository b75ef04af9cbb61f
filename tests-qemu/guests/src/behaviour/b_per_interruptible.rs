//! Program-event recording: MOVE LONG, which can be interrupted, by a translation exception and by an external
//! interruption.

use core::sync::atomic::{AtomicU64, Ordering};

use guests::externals::CPU_TIMER;
use guests::insn::clock::spt;
use guests::insn::control::{lctlg_0, stctg_0};
use guests::interruption::{self, Class, Registers, old_psw};
use guests::psw::{DAT, EXTERNAL, INITIAL, Psw};
use guests::recording::{self, FETCH, REGISTERS, Run, STORE, expect, form, text};
use guests::{dat, lowcore, shows_per};

guests::clause!(
    "System/370 Principles of Operation, Program-Event Recording, Priority of Indication",
    native = false,
    options = "--no-sampling; --per-format s370 --no-sampling"
);
guests::case!(run);

const PAGE: u64 = 4096;
/// Pages of an operand.
const COUNT: u64 = 4;

#[repr(C, align(4096))]
struct Operand([u8; (COUNT * PAGE) as usize]);

static mut FROM: Operand = Operand([0x5A; (COUNT * PAGE) as usize]);
static mut TO: Operand = Operand([0; (COUNT * PAGE) as usize]);

/// MVCL 2,4.
const MVCL: [u8; 2] = [0x0E, 0x24];

/// MVCL of all pages with these events recorded.
fn moving(events: u64) -> Run {
    // SAFETY: the addresses only.
    let [to, from] = [(&raw const TO) as u64, (&raw const FROM) as u64];
    let length = COUNT * PAGE;
    Run::of(events)
        .with(2, to)
        .with(3, length)
        .with(4, from)
        .with(5, length)
}

fn run() {
    dat::prepare();
    let to = moving(0).registers[2];
    let everything = FETCH | STORE | REGISTERS | 0xFFFF;
    let right = expect(
        "no event interrupts an instruction before its end",
        moving(everything).execute(&MVCL).0,
        &["0080 2 70 0000 0002 cc0", "0081 2 40 0002 0004 cc0"],
    );
    shows_per!([20, 40, 50], right);
    // The third page cannot be translated: two pages have been moved, and the PSW designates the MVCL, which resumes
    // there.
    dat::set_identity(to + 2 * PAGE, false);
    let translated = |events: u64| {
        let run = moving(events).under(form().psw() | DAT);
        let (events, registers) = run.execute(&MVCL);
        let moved = [registers[2] - to, registers[3]];
        (events, moved == [2 * PAGE, 2 * PAGE])
    };
    let (events, moved) = translated(everything);
    let right = expect(
        "events of what has been moved are indicated with the translation exception",
        events,
        &["0091 2 70 0000 0000 cc0", "0081 2 40 0002 0004 cc0"],
    );
    shows_per!([37, 40, 49], right && moved);
    let (events, moved) = translated(STORE);
    let right = expect(
        "storage alteration alone",
        events,
        &["0091 2 20 0000 0000 cc0", "0001 2 - 0004 cc0"],
    );
    shows_per!([37, 49], right && moved);
    let run = moving(STORE).within(0, 0).under(form().psw() | DAT);
    let right = expect(
        "an exception without an event",
        run.execute(&MVCL).0,
        &["0011 2 - 0000 cc0", "0001 2 - 0004 cc0"],
    );
    shows_per!([49], right);
    dat::set_identity(to + 2 * PAGE, true);
    external();
}

/// The old PSW of the external interruption, and the code of the program interruption before it.
static EXTERNAL_AT: AtomicU64 = AtomicU64::new(0);
static CODE_BEFORE: AtomicU64 = AtomicU64::new(0);

extern "C" fn timer(_: &mut Registers) {
    spt(i64::MAX);
    EXTERNAL_AT.store(old_psw(Class::External).address, Ordering::Relaxed);
    let code: u16 = lowcore::read(lowcore::PROGRAM_CODE);
    CODE_BEFORE.store(code.into(), Ordering::Relaxed);
}

/// Executes a MOVE LONG while the CPU timer becomes negative this many nanoseconds after it was set. Returns whether
/// the event is right, where the external interruption occurred, and whether the PER interruption came first.
fn timed(nanoseconds: u64) -> (bool, u64, bool) {
    // SPT 0(1); MVCL 2,4; NOPR.
    let words = [0xB2, 0x08, 0x10, 0, MVCL[0], MVCL[1], 0x07, 0];
    recording::put(0, &((nanoseconds << 12) / 1000).to_be_bytes());
    EXTERNAL_AT.store(0, Ordering::Relaxed);
    lowcore::write(lowcore::PROGRAM_CODE, 0_u16);
    let run = moving(FETCH | STORE)
        .within(4, 4)
        .under(form().psw() | EXTERNAL);
    let events = run.execute(&words).0;
    // The event of the MVCL, and then the end.
    let is_right = events.len() == 2
        && events[0].code == 0x80
        && events[0].per_address() == (text() + 4, true)
        && events[0].old.address == text() + 6;
    (
        is_right,
        EXTERNAL_AT.load(Ordering::Relaxed),
        CODE_BEFORE.load(Ordering::Relaxed) == 0x80,
    )
}

/// The CPU timer becomes negative before a MOVE LONG begins, during it, or later.
fn external() {
    const TIMES: core::ops::Range<u64> = 0..6000;
    const STEP: usize = 100;
    interruption::replace(Class::External, timer);
    let cr0 = stctg_0();
    lctlg_0(cr0 | CPU_TIMER);
    let usual: Psw = lowcore::read(Class::Program.new());
    // The program new PSW is enabled for the external interruption, which follows at once.
    lowcore::write(
        Class::Program.new(),
        Psw::new(INITIAL | EXTERNAL, usual.address),
    );
    let mut together = 0;
    for time in TIMES.step_by(STEP) {
        let (is_right, at, recorded) = timed(time);
        shows_per!([46], is_right);
        // The interruption never comes between the end of the MVCL and its event.
        shows_per!([46], at != text() + 6 || recorded);
        together += u64::from(at == usual.address && recorded);
    }
    shows_per!([46, 47], together != 0);
    lowcore::write(Class::Program.new(), usual);
    // The new PSW is not enabled, so the interruption waits until the old PSW is loaded again.
    let mut later = 0;
    for time in TIMES.step_by(STEP) {
        let (is_right, at, recorded) = timed(time);
        shows_per!([47], is_right && at != usual.address);
        shows_per!([46], at != text() + 6 || recorded);
        later += u64::from(at == text() + 6);
    }
    shows_per!([47], later != 0);
    guests::println!("with the event {together}, behind it {later}");
    lctlg_0(cr0);
}
