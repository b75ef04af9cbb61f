//! Program-event recording: an event comes before an I/O interruption and a machine check that its instruction opens. These
//! depend on the masks of the program new PSW then.

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

use guests::check::holds;
use guests::insn::control::{lctlg_all, stctg_all};
use guests::interruption::{self, Class, Handler, Registers, old_psw};
use guests::psw::{INITIAL, IO, MACHINE_CHECK, Psw};
use guests::recording::{self, FETCH, Run, form, text};
use guests::virtio::channel::{ANY_LENGTH, Command, Subchannel, tpi};
use guests::{attempt_on_registers, lowcore, shows_per};

guests::clause!(
    "System/370 Principles of Operation, Program-Event Recording, Priority of Indication",
    native = false,
    options = "--no-sampling --qemu-arg '-device virtio-rng-ccw'; \
               --per-format s370 --no-sampling --qemu-arg '-device virtio-rng-ccw'"
);
guests::case!(run);

/// LPSWE 0(1).
const LPSWE: [u8; 4] = [0xB2, 0xB2, 0x10, 0];
const NO_OPERATION: u8 = 0x03;
const PER_EVENT: u16 = 0x80;

/// The old PSW of the interruption, how many there were, and the code of the program interruption before.
static AT: AtomicU64 = AtomicU64::new(0);
static COUNT: AtomicU64 = AtomicU64::new(0);
static CODE_BEFORE: AtomicU64 = AtomicU64::new(0);

fn note(class: Class) {
    AT.store(old_psw(class).address, Ordering::Relaxed);
    COUNT.fetch_add(1, Ordering::Relaxed);
    let code: u16 = lowcore::read(lowcore::PROGRAM_CODE);
    CODE_BEFORE.store(code.into(), Ordering::Relaxed);
}

extern "C" fn input_output(_: &mut Registers) {
    note(Class::InputOutput);
}

extern "C" fn machine_check(_: &mut Registers) {
    note(Class::MachineCheck);
    let mut word = 0_u32;
    // SAFETY: takes the channel reports.
    unsafe { asm!("40: stcrw 0({a})", "jz 40b", a = in(reg_addr) &raw mut word) };
}

/// Makes an I/O interruption of a device pending.
fn start() {
    let mut all = (0..16).map(|number| Subchannel { number });
    let Some(device) = all.find(|subchannel| subchannel.enable(3) != 0) else {
        return holds("there is a device", false);
    };
    // That of the program which asked what the device is.
    while tpi().is_some() {}
    let _ = device.start(&[Command(NO_OPERATION, ANY_LENGTH, &[0])]);
}

/// Makes a channel report pending.
fn report() {
    let mut registers = [0; 5];
    let _ = attempt_on_registers!("lghi %r1, 0\n rchp", &mut registers);
}

/// LPSWE opens the mask of what is pending, while its fetch is recorded.
fn opens(name: &str, mask: u64, class: Class, handler: Handler, make_pending: fn()) {
    guests::println!("{name}");
    interruption::replace(class, handler);
    let usual: Psw = lowcore::read(Class::Program.new());
    for opened in [false, true] {
        make_pending();
        let new = Psw::new(form().psw() | mask, text() + LPSWE.len() as u64);
        recording::put(0, &new.mask.to_be_bytes());
        recording::put(8, &new.address.to_be_bytes());
        COUNT.store(0, Ordering::Relaxed);
        lowcore::write(lowcore::PROGRAM_CODE, 0_u16);
        if opened {
            let new = Psw::new(INITIAL | mask, usual.address);
            lowcore::write(Class::Program.new(), new);
        }
        let events = Run::of(FETCH).within(0, 0).execute(&LPSWE).0;
        lowcore::write(Class::Program.new(), usual);
        let event = events[0];
        let is_right = event.code == PER_EVENT
            && event.per_address() == (text(), true)
            && event.old.address == new.address;
        holds("the event is recorded", is_right);
        let found = [&COUNT, &CODE_BEFORE, &AT].map(|found| found.load(Ordering::Relaxed));
        // It interrupts the handler of the event, or waits until the handler has loaded the old PSW.
        let at = if opened { usual.address } else { new.address };
        shows_per!([47], found == [1, PER_EVENT.into(), at]);
    }
}

fn run() {
    let mut registers = stctg_all();
    // All subclasses, and channel reports.
    registers[6] = 0xFF00_0000;
    registers[14] |= 1 << 28;
    lctlg_all(&registers);
    opens("I/O", IO, Class::InputOutput, input_output, start);
    opens(
        "machine check",
        MACHINE_CHECK,
        Class::MachineCheck,
        machine_check,
        report,
    );
}
