//! External interruptions one by one: the code, what else is stored, the subclass mask, and how long each condition
//! stays pending.

use guests::externals::{
    self, CLOCK_COMPARATOR, CPU_TIMER, EMERGENCY_SIGNAL, EXTERNAL_CALL, SERVICE_SIGNAL,
};
use guests::insn::clock::{MICROSECOND, sckc, spt, stckf};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm, wait};
use guests::insn::cpu::{Order, Page, sigp};
use guests::{lowcore, psw, sccb, shows};

guests::clause!("SA22-7832, Chapter 6, External Interruption", native = true);
guests::case!(run);

static mut BLOCK: Page = Page([0; 4096]);

const ALL: u64 = CLOCK_COMPARATOR | CPU_TIMER | EMERGENCY_SIGNAL | EXTERNAL_CALL | SERVICE_SIGNAL;
/// What the parameter location holds before.
const BEFORE: u32 = 0x5A5A_5A5A;

/// Long enough for a timer of a busy host to interrupt, in microseconds.
const LATER: u64 = 10_000;

fn delay(microseconds: u64) {
    let end = stckf() + microseconds * MICROSECOND;
    while stckf() < end {}
}

/// Opens these subclasses, and the mask of external interruptions for a moment. Returns the codes.
fn open(subclasses: u64) -> u64 {
    let cr0 = stctg_0();
    lctlg_0(cr0 & !ALL | subclasses);
    stosm::<0x01>();
    stnsm::<0xFE>();
    lctlg_0(cr0);
    externals::take_codes()
}

/// Makes a condition pending; tests that other subclasses do not open it, and that its own does. Returns the codes of
/// both, and of a third opening.
fn each(subclass: u64) -> [u64; 3] {
    if subclass != SERVICE_SIGNAL {
        // What was printed has left one pending.
        open(SERVICE_SIGNAL);
    }
    lowcore::write(lowcore::EXTERNAL_PARAMETER, BEFORE);
    lowcore::write(lowcore::EXTERNAL_CPU_ADDRESS, 0xEEEE_u16);
    [open(ALL & !subclass), open(subclass), open(subclass)]
}

/// The CPU address and the parameter as they stand in storage.
fn stored() -> (u16, u32) {
    (
        lowcore::read(lowcore::EXTERNAL_CPU_ADDRESS),
        lowcore::read(lowcore::EXTERNAL_PARAMETER),
    )
}

fn signals() {
    let _ = sigp(0, Order::EmergencySignal, 0);
    let emergency = each(EMERGENCY_SIGNAL);
    shows!(
        ["EXTERNALINTERRUPTION-1", "EXTERNALINTERRUPTION-2"],
        emergency,
        [0, 0x1201, 0]
    );
    shows!(
        ["EXTERNALINTERRUPTION-3", "EXTERNALINTERRUPTION-4"],
        stored(),
        (0, BEFORE)
    );
    let _ = sigp(0, Order::ExternalCall, 0);
    let call = each(EXTERNAL_CALL);
    shows!(
        ["EXTERNALINTERRUPTION-5", "EXTERNALINTERRUPTION-6"],
        call,
        [0, 0x1202, 0]
    );
    shows!(
        ["EXTERNALINTERRUPTION-3", "EXTERNALINTERRUPTION-4"],
        stored(),
        (0, BEFORE)
    );
    // Two from one CPU are one.
    let _ = sigp(0, Order::EmergencySignal, 0);
    let _ = sigp(0, Order::EmergencySignal, 0);
    let codes = [open(EMERGENCY_SIGNAL), open(EMERGENCY_SIGNAL)];
    shows!("EXTERNALINTERRUPTION-7", codes, [0x1201, 0]);
}

fn timers() {
    sckc(stckf() + 20 * MICROSECOND);
    delay(LATER);
    shows!(
        ["EXTERNALINTERRUPTION-8", "EXTERNALINTERRUPTION-9"],
        each(CLOCK_COMPARATOR),
        [0, 0x1004, 0]
    );
    shows!("EXTERNALINTERRUPTION-10", stored(), (0, BEFORE));
    spt(20 * MICROSECOND as i64);
    delay(LATER);
    shows!(
        ["EXTERNALINTERRUPTION-11", "EXTERNALINTERRUPTION-12"],
        each(CPU_TIMER),
        [0, 0x1005, 0]
    );
    shows!("EXTERNALINTERRUPTION-10", stored(), (0, BEFORE));
}

fn service_signal() {
    // SAFETY: the only reference. A command that is not assigned, in a block of 8 bytes.
    let block = unsafe { &mut *(&raw mut BLOCK) };
    block.0[1] = 8;
    let at = &raw const block.0 as usize;
    while sccb::servc(0x00AA_0001, at) == 2 {}
    let signal = each(SERVICE_SIGNAL);
    shows!(
        ["EXTERNALINTERRUPTION-13", "EXTERNALINTERRUPTION-14"],
        signal,
        [0, 0x2401, 0]
    );
    let (cpu, parameter) = stored();
    shows!(
        ["EXTERNALINTERRUPTION-10", "EXTERNALINTERRUPTION-15"],
        (cpu, parameter & !7),
        (0, at as u32)
    );
}

/// The masks are tested together, at the moment that one of them opens.
fn masks() {
    let cr0 = stctg_0();
    let _ = sigp(0, Order::ExternalCall, 0);
    lctlg_0(cr0 & !ALL);
    stosm::<0x01>();
    let without_subclass = externals::take_codes();
    lctlg_0(cr0 & !ALL | EXTERNAL_CALL);
    let by_control_register = externals::take_codes();
    stnsm::<0xFE>();
    let _ = sigp(0, Order::ExternalCall, 0);
    let without_mask = externals::take_codes();
    stosm::<0x01>();
    let by_psw = externals::take_codes();
    let _ = sigp(0, Order::ExternalCall, 0);
    let at_once = externals::take_codes();
    stnsm::<0xFE>();
    lctlg_0(cr0);
    shows!(
        "EXTERNALINTERRUPTION-16",
        [without_subclass, by_control_register],
        [0, 0x1202]
    );
    shows!(
        "EXTERNALINTERRUPTION-17",
        [without_mask, by_psw],
        [0, 0x1202]
    );
    shows!("EXTERNALINTERRUPTION-18", at_once, 0x1202);
    lctlg_0(cr0 & !ALL | CLOCK_COMPARATOR);
    sckc(stckf() + 50 * MICROSECOND);
    wait(psw::EXTERNAL);
    stnsm::<0xFE>();
    lctlg_0(cr0);
    shows!("EXTERNALINTERRUPTION-19", externals::take_codes(), 0x1004);
}

fn run() {
    externals::record();
    sckc(u64::MAX);
    spt(i64::MAX);
    signals();
    timers();
    open(SERVICE_SIGNAL);
    service_signal();
    masks();
}
