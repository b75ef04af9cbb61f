//! TEST SUBCHANNEL takes the status of a subchannel, and its interruption is no longer pending then. (The interruption
//! of bare QEMU stays pending, hence not native.)

use core::sync::atomic::{AtomicU64, Ordering};

use guests::insn::control::{lctlg_all, stctg_all, stnsm, stosm};
use guests::interruption::{self, Class, Registers};
use guests::shows;
use guests::virtio::channel::{ANY_LENGTH, Command, Subchannel, tpi};

guests::clause!(
    "SA22-7832, Chapter 16, I/O Interruptions (clearing)",
    native = false,
    options = "--qemu-arg '-device virtio-rng-ccw'"
);
guests::case!(run);

const NO_OPERATION: u8 = 0x03;
static COUNT: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_io(_: &mut Registers) {
    COUNT.fetch_add(1, Ordering::Relaxed);
}

fn run() {
    interruption::replace(Class::InputOutput, on_io);
    let mut all = (0..16).map(|number| Subchannel { number });
    let Some(device) = all.find(|subchannel| subchannel.enable(3) != 0) else {
        shows!("IO-12", false);
        return;
    };
    let kept = stctg_all();
    let mut registers = kept;
    registers[6] = 0xFF00_0000;
    lctlg_all(&registers);
    let started = device.start(&[Command(NO_OPERATION, ANY_LENGTH, &[0])]);
    let status = device.take_status();
    stosm::<0x02>();
    stnsm::<0xFD>();
    let interruptions = COUNT.load(Ordering::Relaxed);
    shows!(
        "IO-12",
        (started, status, interruptions),
        (0, Some(0x0C00), 0)
    );
    shows!("IO-12", tpi().is_none());
    device.disable();
    lctlg_all(&kept);
}
