//! A machine-check interruption saves the CPU timer as it is. (QEMU saves an earlier value, hence not native.)

use guests::attempt_on_registers;
use guests::insn::clock::{spt, stpt};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::interruption::{self, Class, Registers};
use guests::psw::{self, bit};
use guests::shows;
use guests::status::Status;

guests::clause!(
    "SA22-7832, Chapter 11, Machine-Check Interruption (CPU timer)",
    native = false,
    options = "--qemu-arg '-device virtio-rng-ccw'"
);
guests::case!(run);

extern "C" fn on_machine_check(_: &mut Registers) {}

fn run() {
    interruption::replace(Class::MachineCheck, on_machine_check);
    let mut registers = stctg_all();
    registers[14] |= bit(35);
    lctlg_all(&registers);
    let _ = attempt_on_registers!("lghi %r1, 0\n rchp", &mut [0; 5]);
    spt(i64::MAX);
    let before = stpt();
    psw::load_psw(psw::INITIAL | psw::MACHINE_CHECK);
    psw::load_psw(psw::INITIAL);
    let (saved, after) = (Status::assigned().cpu_timer() as i64, stpt());
    shows!("MACHINECHECK-13", before >= saved && saved >= after);
}
