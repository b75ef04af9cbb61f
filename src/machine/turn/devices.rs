//! Interruptions of devices while CPUs wait: the firmware takes and holds them for the guest.

use crate::arch::control::CR14_CHANNEL_REPORT;
use crate::arch::cpu::MAXIMUM_CPUS;
use crate::arch::psw;
use crate::guest::state::configuration::Configuration;
use crate::guest::state::mailbox::Mailbox;
use crate::guest::state::vcpu::Vcpu;
use crate::machine::hardware::wait::{Open, Taken};
use crate::machine::hardware::{instruction, wait};
use crate::machine::state::machine::Cpu;
use core::sync::atomic::Ordering;

/// Publishes for which interruptions of the channel subsystem a waiting CPU is enabled.
pub(super) fn publish(cpu: &Vcpu, mailbox: &Mailbox) {
    let subclasses = if cpu.psw.mask & psw::IO == 0 {
        0
    } else {
        (cpu.control[6] >> 24) as u8
    };
    let reports =
        cpu.psw.mask & psw::MACHINE_CHECK != 0 && cpu.control[14] & CR14_CHANNEL_REPORT != 0;
    mailbox.open_subclasses.store(subclasses, Ordering::SeqCst);
    mailbox.open_reports.store(reports, Ordering::SeqCst);
}

/// What these waiting CPUs are enabled for, if there is a device that may interrupt and room to hold its interruption.
pub(super) fn waited_for(configuration: &Configuration, mailboxes: &[Mailbox]) -> Open {
    let channels = &configuration.channels;
    if !channels.present() || !channels.held.has_room() {
        return Open::NOTHING;
    }
    mailboxes.iter().fold(Open::NOTHING, |open, mailbox| Open {
        subclasses: open.subclasses | mailbox.open_subclasses.load(Ordering::SeqCst),
        reports: open.reports | mailbox.open_reports.load(Ordering::SeqCst),
    })
}

/// Holds the interruption of a device, and wakes the first CPU that is enabled for it.
#[cold]
pub(super) fn hold(cpu: &Cpu, taken: Taken) {
    let configuration = &cpu.machine.configuration;
    let held = &configuration.channels.held;
    let mask = match taken {
        Taken::External(_) => return,
        Taken::Io(interruption) => {
            held.hold_io(interruption);
            interruption.mask()
        }
        Taken::MachineCheck(code) => {
            held.hold_machine_check(code);
            0
        }
    };
    let me = usize::from(cpu.vcpu.address);
    let is_open = |number: usize| {
        let mailbox = &configuration.mailboxes[number & (MAXIMUM_CPUS - 1)];
        match mask {
            0 => mailbox.open_reports.load(Ordering::SeqCst),
            mask => mailbox.open_subclasses.load(Ordering::SeqCst) & mask != 0,
        }
    };
    let cpus = usize::from(configuration.cpus);
    if let Some(first) = (me..cpus).chain(0..me).find(|&number| is_open(number)) {
        if cpu.machine.shared.turns.wake(first as u16) && first != me {
            instruction::signal_emergency(first as u16);
        }
    }
}

/// Tests whether a device interrupts a waiting CPU, before another CPU continues.
pub(super) fn look(cpu: &Cpu) {
    let configuration = &cpu.machine.configuration;
    let open = waited_for(configuration, &configuration.mailboxes);
    if open.subclasses != 0
        && let Some(interruption) = wait::take_io(open.subclasses)
    {
        hold(cpu, Taken::Io(interruption));
    }
}
