//! Subsystem reset, which DIAGNOSE 308 performs before it goes on: what is pending in the channel subsystem and for the
//! configuration is cleared, and subchannels are disabled. Storage and the TOD clock stay.

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

use guests::externals::{self, EXTERNAL_CALL, SERVICE_SIGNAL};
use guests::insn::clock::{MICROSECOND, stckf};
use guests::insn::control::{lctlg_0, lctlg_all, stctg_0, stctg_all, stnsm, stosm};
use guests::insn::cpu::{Order, Page, sigp};
use guests::interruption::{self, Class, Registers};
use guests::virtio::channel::{ANY_LENGTH, Command, Subchannel, tpi};
use guests::virtio::load;
use guests::{attempt_on_registers, lowcore, sccb, shows};

guests::clause!(
    "SA22-7832, Chapter 4, Resets (subsystem reset); DIAGNOSE 308",
    native = false,
    options = "--qemu-arg '-device virtio-rng-ccw'"
);
guests::case!(run);

const NO_OPERATION: u8 = 0x03;
/// A doubleword that nothing uses, and its contents.
const PLACE: u64 = 0x10_0000;
const MARK: u64 = 0x1122_3344_5566_7788;

static mut BLOCK: Page = Page([0; 4096]);
static COUNT: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_io(_: &mut Registers) {
    COUNT.fetch_add(1, Ordering::Relaxed);
}

/// DIAGNOSE 308, subcode 1: load normal reset. Goes on behind it, with the control registers as before.
fn reset() {
    let control = stctg_all();
    let before: u64 = lowcore::read(0);
    // SAFETY: the registers are kept in storage that nothing else uses; the PSW at 0 leads back here.
    unsafe {
        asm!(
            "larl %r1, 32f",
            "iihf %r1, 0x00080000",
            "oilh %r1, 0x8000",
            "stg %r1, 0(%r0)",
            "stmg %r0, %r15, 0xA00(%r0)",
            "lghi %r1, 1",
            "diag %r2, %r1, 0x308",
            "32: sam64",
            "lmg %r0, %r15, 0xA00(%r0)",
            out("r1") _,
        );
    }
    lowcore::write(0, before);
    lctlg_all(&control);
}

/// Takes a channel report: whether there was one.
fn stcrw() -> bool {
    let mut word = 0_u32;
    let cc: u64;
    // SAFETY: stores a word into a local.
    unsafe { asm!("stcrw 0({a})", "ipm {c}", a = in(reg_addr) &raw mut word, c = out(reg) cc) };
    cc >> 28 & 3 == 0
}

/// Whether the subchannel is enabled. Its information is where the device's data are.
fn is_enabled(device: Subchannel) -> bool {
    let at = device.data() + 0x200;
    device.stsch(at) == 0 && load::<u32>(at + 4) & 0x0080_0000 != 0
}

/// Leaves something pending of every kind.
fn leave_pending(device: Subchannel) {
    let _ = device.start(&[Command(NO_OPERATION, ANY_LENGTH, &[0])]);
    let _ = attempt_on_registers!("lghi %r1, 0\n rchp", &mut [0; 5]);
    let _ = sigp(0, Order::ExternalCall, 0);
    // SAFETY: the only reference. A command that is not assigned, in a block of 8 bytes.
    let block = unsafe { &mut *(&raw mut BLOCK) };
    block.0[1] = 8;
    while sccb::servc(0x00AA_0001, &raw const block.0 as usize) == 2 {}
}

/// Opens every mask for a moment: external codes, and how many I/O interruptions there were.
fn open() -> (u64, u64) {
    let before = COUNT.load(Ordering::Relaxed);
    let cr0 = stctg_0();
    lctlg_0(cr0 | SERVICE_SIGNAL | EXTERNAL_CALL);
    stosm::<0x03>();
    stnsm::<0xFC>();
    lctlg_0(cr0);
    (
        externals::take_codes(),
        COUNT.load(Ordering::Relaxed) - before,
    )
}

fn run() {
    interruption::replace(Class::InputOutput, on_io);
    externals::record();
    let mut registers = stctg_all();
    registers[6] = 0xFF00_0000;
    lctlg_all(&registers);
    let mut all = (0..16).map(|number| Subchannel { number });
    let Some(device) = all.find(|subchannel| subchannel.enable(3) != 0) else {
        shows!("RESET-29", false);
        return;
    };
    while tpi().is_some() {}
    open();
    // All of it interrupts without a reset.
    leave_pending(device);
    let without = (open(), stcrw(), device.take_status());
    while stcrw() {}
    guests::misdirected::store(PLACE, MARK);
    leave_pending(device);
    let clock = stckf();
    reset();
    let now = stckf();
    let (externals, interruptions) = open();
    shows!("RESET-29", (without.0.1, interruptions), (1, 0));
    shows!(
        "RESET-29",
        (without.2, device.take_status()),
        (Some(0x0C00), None)
    );
    shows!("RESET-30", (without.0.0, externals), (0x1202_2401, 0));
    shows!("RESET-31", (without.1, stcrw()), (true, false));
    shows!("RESET-32", !is_enabled(device));
    shows!("RESET-33", guests::misdirected::load(PLACE), MARK);
    shows!(
        "RESET-34",
        now > clock && now - clock < 100_000_000 * MICROSECOND
    );
}
