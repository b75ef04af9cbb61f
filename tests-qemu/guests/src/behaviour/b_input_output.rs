//! I/O interruptions: what they store, the masks that they have, and what makes them no longer pending.

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

use guests::insn::control::{lctlg_all, stctg_all, stnsm, stosm, wait};
use guests::interruption::{self, Class, Registers, old_psw, set_old_psw};
use guests::psw::{self, Psw};
use guests::virtio::channel::{ANY_LENGTH, Command, Subchannel, tpi};
use guests::{lowcore, shows};

guests::clause!(
    "SA22-7832, Chapter 6, Input/Output Interruption; Chapter 16, I/O Interruptions",
    native = true,
    options = "--qemu-arg '-device virtio-rng-ccw' --qemu-arg '-device virtio-rng-ccw'"
);
guests::case!(run);

const NO_OPERATION: u8 = 0x03;
/// The subclasses of the two devices.
const LOW: u8 = 2;
const HIGH: u8 = 5;
/// The parameter that every channel program has.
const PARAMETER: u64 = 0x1234_5678;

static COUNT: AtomicU64 = AtomicU64::new(0);
/// The subsystem-identification words of the last two, the latest one to the right.
static IDENTIFICATIONS: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_io(_: &mut Registers) {
    COUNT.fetch_add(1, Ordering::Relaxed);
    let identification: u32 = lowcore::read(0xB8);
    let before = IDENTIFICATIONS.load(Ordering::Relaxed);
    IDENTIFICATIONS.store(before << 32 | u64::from(identification), Ordering::Relaxed);
    let old = old_psw(Class::InputOutput);
    set_old_psw(
        Class::InputOutput,
        Psw::new(old.mask & !psw::WAIT, old.address),
    );
}

/// Opens these subclasses (bits 32-39 of control register 6), and the mask of the PSW for a moment. Returns how many
/// interruptions there were.
fn open(subclasses: u64) -> u64 {
    let before = COUNT.load(Ordering::Relaxed);
    set_subclasses(subclasses);
    stosm::<0x02>();
    stnsm::<0xFD>();
    COUNT.load(Ordering::Relaxed) - before
}

fn set_subclasses(subclasses: u64) {
    let mut registers = stctg_all();
    registers[6] = subclasses;
    lctlg_all(&registers);
}

/// The bit of a subclass in control register 6.
const fn subclass(number: u8) -> u64 {
    0x8000_0000 >> number
}

/// Makes an interruption of a device pending.
fn start(device: Subchannel) {
    let _ = device.start(&[Command(NO_OPERATION, ANY_LENGTH, &[0])]);
}

/// The two devices, each with its subclass.
fn devices() -> Option<[Subchannel; 2]> {
    let mut all = (0..16).map(|number| Subchannel { number });
    let first = all.find(|subchannel| subchannel.enable(HIGH) != 0)?;
    let second = all.find(|subchannel| subchannel.enable(LOW) != 0)?;
    // Those of the programs that asked what the devices are.
    set_subclasses(0xFF00_0000);
    while tpi().is_some() {}
    Some([first, second])
}

fn one(device: Subchannel) {
    start(device);
    shows!("IO-1", open(0), 0);
    shows!("IO-1", open(!subclass(HIGH) & 0xFF00_0000), 0);
    shows!("IO-2", open(subclass(HIGH)), 1);
    let stored: [u32; 3] = [
        lowcore::read(0xB8),
        lowcore::read(0xBC),
        lowcore::read(0xC0),
    ];
    shows!("IO-3", stored[0], 0x1_0000 | u32::from(device.number));
    shows!("IO-4", u64::from(stored[1]), PARAMETER);
    shows!("IO-5", stored[2], u32::from(HIGH) << 27);
    // The interruption is not pending any more, but the status is.
    shows!("IO-6", open(0xFF00_0000), 0);
    shows!("IO-7", device.take_status(), Some(0x0C00));
    shows!("IO-7", open(0xFF00_0000), 0);
    // The program may take it by instruction.
    start(device);
    let taken = tpi();
    set_subclasses(0xFF00_0000);
    shows!(
        "IO-8",
        (taken, open(0xFF00_0000)),
        (
            Some((0x1_0000 | u64::from(device.number)) << 32 | PARAMETER),
            0
        )
    );
    shows!("IO-9", tpi().is_none());
}

fn two(devices: [Subchannel; 2]) {
    let [high, low] = devices;
    start(high);
    start(low);
    let number = open(0xFF00_0000);
    let order = u64::from(low.number) << 32 | u64::from(high.number) | 0x1_0000_0001_0000;
    shows!(
        "IO-10",
        (number, IDENTIFICATIONS.load(Ordering::Relaxed)),
        (2, order)
    );
    let _ = (high.take_status(), low.take_status());
    while tpi().is_some() {}
}

/// A wait ends by it, and the old PSW is the one that waited.
fn waiting(device: Subchannel) {
    start(device);
    set_subclasses(0xFF00_0000);
    let before = COUNT.load(Ordering::Relaxed);
    wait(psw::IO);
    stnsm::<0xFD>();
    shows!("IO-11", COUNT.load(Ordering::Relaxed) - before, 1);
    let _ = device.take_status();
}

/// The class has its own PSWs. General registers stay.
fn exchanged(device: Subchannel) {
    start(device);
    let at = Class::InputOutput.new();
    let kept: Psw = lowcore::read(at);
    let mut new = Psw::new(psw::INITIAL | 0x2000 << 32, 0);
    let (high, begin): (u64, u64);
    // SAFETY: the new PSW leads to the text behind, and a PSW with the initial left half follows.
    unsafe {
        asm!(
            "larl {b}, 37f",
            "stg {b}, 8({p})",
            "mvc 0(16,{n}), 0({p})",
            "larl {b}, 36f",
            "stosm 0(%r15), 2",
            "36: j .",
            "37: epsw {h}, %r0",
            p = in(reg_addr) &raw mut new,
            n = in(reg_addr) at,
            b = out(reg_addr) begin,
            h = out(reg) high,
        );
    }
    psw::load_psw(psw::INITIAL);
    lowcore::write(at, kept);
    let old = old_psw(Class::InputOutput);
    shows!(
        "INTERRUPTION-10",
        (old.address, old.mask & !(3 << 44)),
        (begin, psw::INITIAL | psw::IO)
    );
    shows!("INTERRUPTION-10", high & 0xFFFF_FFFF, 0x2001);
    let _ = device.take_status();
}

/// An external interruption comes before one of I/O that is pending with it.
fn after_external(device: Subchannel) {
    use guests::externals::{self, EXTERNAL_CALL};
    use guests::insn::control::{lctlg_0, stctg_0};
    use guests::insn::cpu::{Order, sigp};
    externals::record();
    let cr0 = stctg_0();
    lctlg_0(cr0 | EXTERNAL_CALL);
    let _ = sigp(0, Order::ExternalCall, 0);
    start(device);
    set_subclasses(0xFF00_0000);
    let handler: Psw = lowcore::read(Class::External.new());
    let open = Psw::new(handler.mask | psw::IO, handler.address);
    lowcore::write(Class::External.new(), open);
    let before = COUNT.load(Ordering::Relaxed);
    stosm::<0x03>();
    stnsm::<0xFC>();
    lowcore::write(Class::External.new(), handler);
    lctlg_0(cr0);
    // The new PSW of the external interruption was enabled for I/O: its first instruction was interrupted.
    shows!(
        "PRIORITY-9",
        (
            old_psw(Class::InputOutput).address,
            COUNT.load(Ordering::Relaxed) - before
        ),
        (handler.address, 1)
    );
    externals::take_codes();
    let _ = device.take_status();
}

fn run() {
    interruption::replace(Class::InputOutput, on_io);
    let kept = stctg_all();
    let Some(devices) = devices() else {
        shows!("IO-1", false);
        return;
    };
    one(devices[0]);
    two(devices);
    waiting(devices[0]);
    exchanged(devices[0]);
    after_external(devices[1]);
    for device in devices {
        device.disable();
    }
    lctlg_all(&kept);
}
