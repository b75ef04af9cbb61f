//! A channel report is a machine-check condition: its masks, the code, and the registers that the interruption saves.
//! RESET CHANNEL PATH makes one pending.

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

use guests::insn::clock::sckc;
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::registers::Registers as OtherRegisters;
use guests::interruption::{self, Class, Registers, old_psw};
use guests::psw::{self, bit};
use guests::status::Status;
use guests::{attempt_on_registers, lowcore, shows};

guests::clause!(
    "SA22-7832, Chapter 11, Machine-Check Interruption; Chapter 6, Machine-Check Interruption",
    native = true,
    options = "--qemu-arg '-device virtio-rng-ccw'"
);
guests::case!(run);

/// The channel-report-pending subclass mask of control register 14.
const CHANNEL_REPORT: u64 = bit(35);
/// The machine-check-interruption code.
const CODE: usize = 0xE8;
/// Its channel-report-pending bit.
const CHANNEL_REPORT_PENDING: u64 = bit(9);
/// Validity bits of what the interruption saves: PSW, failing storage, floating-point registers, general registers, control
/// registers, logout, delayed, and CPU timer and clock comparator.
const PSW_VALID: u64 = bit(20) | bit(21) | bit(22) | bit(23);
const FLOATING_POINT_VALID: u64 = bit(27);
const GENERAL_VALID: u64 = bit(28);
const CONTROL_VALID: u64 = bit(29);
const ACCESS_VALID: u64 = bit(33);
const TIMER_VALID: u64 = bit(46);
const COMPARATOR_VALID: u64 = bit(47);

static COUNT: AtomicU64 = AtomicU64::new(0);
static GENERAL_3: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_machine_check(registers: &mut Registers) {
    COUNT.fetch_add(1, Ordering::Relaxed);
    GENERAL_3.store(registers[3], Ordering::Relaxed);
}

/// RESET CHANNEL PATH of path 0.
fn reset_channel_path() -> u8 {
    let mut registers = [0, 0, 0, 0, 0];
    attempt_on_registers!("lghi %r1, 0\n rchp", &mut registers).condition_code()
}

/// Takes the channel report: whether there was one.
fn stcrw() -> bool {
    let mut word = 0_u32;
    let cc: u64;
    // SAFETY: stores a word into a local.
    unsafe { asm!("stcrw 0({a})", "ipm {c}", a = in(reg_addr) &raw mut word, c = out(reg) cc) };
    cc >> 28 & 3 == 0
}

fn set_mask(on: bool) {
    let mut registers = stctg_all();
    registers[14] = registers[14] & !CHANNEL_REPORT | if on { CHANNEL_REPORT } else { 0 };
    lctlg_all(&registers);
}

/// Opens the mask of the PSW for a moment; returns how many interruptions there were.
fn open() -> u64 {
    let before = COUNT.load(Ordering::Relaxed);
    psw::load_psw(psw::INITIAL | psw::MACHINE_CHECK);
    psw::load_psw(psw::INITIAL);
    COUNT.load(Ordering::Relaxed) - before
}

fn run() {
    interruption::replace(Class::MachineCheck, on_machine_check);
    while stcrw() {}
    let kept = stctg_all();
    set_mask(true);
    let accepted = reset_channel_path();
    shows!(
        "MACHINECHECK-1",
        (accepted, COUNT.load(Ordering::Relaxed)),
        (0, 0)
    );
    set_mask(false);
    shows!("MACHINECHECK-2", open(), 0);
    let values = OtherRegisters {
        vectors: core::array::from_fn(|n| [0x1111_0000 + n as u64, 0]),
        access: core::array::from_fn(|n| 0xACCE_0000 + n as u32),
        control: 0,
    };
    values.load();
    sckc(0xFEDC_BA98_7654_3200);
    set_mask(true);
    let control = stctg_all();
    let number = open();
    let code: u64 = lowcore::read(CODE);
    shows!("MACHINECHECK-3", (number, open()), (1, 0));
    shows!(
        "MACHINECHECK-4",
        code & CHANNEL_REPORT_PENDING,
        CHANNEL_REPORT_PENDING
    );
    // None of the other conditions: damage, recovery, degradation, warning.
    shows!("MACHINECHECK-4", code >> 48 & !(1 << 6) & 0xFFDF, 0);
    let old = old_psw(Class::MachineCheck);
    shows!(
        "MACHINECHECK-5",
        old.mask & !(3 << 44),
        psw::INITIAL | psw::MACHINE_CHECK
    );
    let valid = PSW_VALID
        | FLOATING_POINT_VALID
        | GENERAL_VALID
        | CONTROL_VALID
        | ACCESS_VALID
        | TIMER_VALID
        | COMPARATOR_VALID;
    shows!("MACHINECHECK-6", code & valid, valid);
    let saved = Status::assigned();
    shows!(
        "MACHINECHECK-7",
        (0..16).all(|n| saved.floating_point(n) == 0x1111_0000 + n as u64)
    );
    shows!(
        "MACHINECHECK-8",
        saved.general(3),
        GENERAL_3.load(Ordering::Relaxed)
    );
    shows!(
        "MACHINECHECK-9",
        (0..16).all(|n| saved.access(n) == 0xACCE_0000 + n as u32)
    );
    shows!(
        "MACHINECHECK-10",
        (0..16).all(|n| saved.control(n) == control[n])
    );
    shows!(
        "MACHINECHECK-11",
        saved.clock_comparator(),
        0x00FE_DCBA_9876_5432
    );
    shows!("MACHINECHECK-12", stcrw());
    while stcrw() {}
    lctlg_all(&kept);
}
