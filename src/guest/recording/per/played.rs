//! The hardware of a guest whose instructions are executed in slots, played by a test.

use crate::dispatch::{self, Next};
use crate::state::account::{Account, Mode};
use crate::state::shadow::slots::Manner;
use crate::storage::shadow;
use crate::test_machine::Bench;
use arch::interruption::Class;
use arch::psw::Psw;
use arch::tod::units;

/// The operation exception of two bytes that are no instruction.
pub const BEHIND: u32 = 0x0002_0001;

/// Makes a machine of which the guest can record events, and whose clock counts instructions.
pub fn prepare(bench: &mut Bench) {
    bench.configuration.per.records = true;
    shadow::build_identity(&bench.configuration, &mut bench.hardware);
    bench.configuration.charges.set(1, 1);
    bench.cpu.account = Account::new(Mode::Exact { shift: 0 }, 1000);
    bench.hardware.tod = 1;
}

/// The hardware has executed so many instructions, and is interrupted at an address, which is one of the slot space if the
/// guest was left with a slot.
pub fn trap(bench: &mut Bench, class: Class, cause: u32, at: u64, instructions: u64) -> Next {
    let (cpu, configuration) = (&mut bench.cpu, &bench.configuration);
    cpu.interruption.old = Psw {
        mask: cpu.psw.mask,
        address: at,
    };
    cpu.interruption.cause = cause;
    cpu.account.left = 0;
    cpu.account.entered = units(instructions);
    dispatch::take_over(cpu);
    dispatch::enter(cpu, configuration, &mut bench.hardware, class);
    if class != Class::Program {
        return Next::Run;
    }
    if matches!(cpu.interruption.code(), 1 | 2) {
        cpu.text.length = 0;
        dispatch::refused(cpu, configuration, &mut bench.hardware)
    } else {
        dispatch::program(cpu, configuration, &mut bench.hardware)
    }
}

/// The address of the instruction that is executed in a slot, if one is.
pub fn stepped(bench: &Bench) -> Option<u64> {
    let recording = &bench.cpu.per;
    let slot = recording.slot?;
    assert!(recording.in_slots && recording.watching);
    assert_eq!(bench.cpu.psw.address, slot.at);
    Some(recording.watched.at)
}

/// The hardware has come to what is behind the instruction in its slot, or has refused it there.
pub fn complete(bench: &mut Bench) -> Next {
    let slot = bench.cpu.per.slot.expect("the guest is left with a slot");
    let behind = slot.at + u64::from(slot.length);
    if slot.manner == Manner::InSlot {
        trap(bench, Class::Program, BEHIND, behind + 2, 2)
    } else {
        let cause = u32::from(slot.length) << 16 | 1;
        trap(bench, Class::Program, cause, behind, 1)
    }
}
