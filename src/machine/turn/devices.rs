//! Interruptions of devices: the firmware takes and holds them for the guest.

use crate::arch::control::CR14_CHANNEL_REPORT;
use crate::arch::cpu::MAXIMUM_CPUS;
use crate::arch::psw;
use crate::guest::channel::virtio::attention;
use crate::guest::state::configuration::Configuration;
use crate::guest::state::mailbox::Mailbox;
use crate::guest::state::pending_work::PendingWork;
use crate::guest::state::vcpu::Vcpu;
use crate::machine::hardware::wait::{Open, Taken};
use crate::machine::hardware::{instruction, wait};
use crate::machine::state::machine::Cpu;
use core::sync::atomic::Ordering;

/// Publishes for which interruptions a waiting CPU is enabled.
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
    let external = if cpu.psw.mask & psw::EXTERNAL == 0 {
        0
    } else {
        cpu.control[0] as u32
    };
    mailbox.open_external.store(external, Ordering::SeqCst);
}

/// The CPU does not wait any more.
pub(super) fn withdraw(mailbox: &Mailbox) {
    mailbox.open_subclasses.store(0, Ordering::SeqCst);
    mailbox.open_reports.store(false, Ordering::SeqCst);
    mailbox.open_external.store(0, Ordering::SeqCst);
}

/// What a wait of the machine takes if there is a device that may interrupt: everything, and reports if one of these
/// waiting CPUs is enabled for them.
pub(super) fn waited_for(configuration: &Configuration, mailboxes: &[Mailbox]) -> Open {
    let channels = &configuration.channels;
    if !channels.present() {
        return Open::NOTHING;
    }
    let open_reports = |mailbox: &Mailbox| mailbox.open_reports.load(Ordering::SeqCst);
    Open {
        subclasses: u8::MAX,
        reports: !channels.held.has_machine_check() && mailboxes.iter().any(open_reports),
    }
}

/// Takes the interruption of a device, and wakes the first waiting CPU that is enabled for it.
#[cold]
pub(super) fn take(cpu: &mut Cpu, taken: Taken) {
    let configuration = &cpu.machine.configuration;
    let held = &configuration.channels.held;
    match taken {
        Taken::External(_) => return,
        Taken::Io(interruption) => {
            attention::taken(configuration, &mut cpu.native, interruption);
        }
        Taken::MachineCheck(code) => held.hold_machine_check(code),
    }
    tell(cpu);
}

/// Something may be held: this CPU looks, a waiting CPU that is enabled for it is woken, and without turns every other
/// CPU looks, too.
fn tell(cpu: &mut Cpu) {
    let configuration = &cpu.machine.configuration;
    let held = &configuration.channels.held;
    if !held.any() {
        return;
    }
    cpu.vcpu.pending_work |= PendingWork::ATTENTION;
    let me = usize::from(cpu.vcpu.address);
    let (subclasses, reports) = (held.subclasses(), held.has_machine_check());
    let is_open = |number: usize| {
        let mailbox = &configuration.mailboxes[number & (MAXIMUM_CPUS - 1)];
        reports && mailbox.open_reports.load(Ordering::SeqCst)
            || mailbox.open_subclasses.load(Ordering::SeqCst) & subclasses != 0
    };
    let cpus = usize::from(configuration.cpus);
    let turns = &cpu.machine.shared.turns;
    if let Some(first) = (me..cpus).chain(0..me).find(|&number| is_open(number))
        && turns.wake(first as u16)
        && first != me
    {
        instruction::signal_emergency(first as u16);
    }
    if !turns.exact() {
        for other in (0..cpus).filter(|&number| number != me) {
            instruction::signal_emergency(other as u16);
        }
    }
}

/// Tests whether a device interrupts, before another CPU continues, and looks at the rings of those that cannot.
pub(super) fn look(cpu: &mut Cpu) {
    while let Some(interruption) = wait::take_io(u8::MAX) {
        take(cpu, Taken::Io(interruption));
    }
    poll(cpu);
}

/// Looks at the rings of devices that do not interrupt, if they have buffers.
pub(super) fn poll(cpu: &mut Cpu) {
    let configuration = &cpu.machine.configuration;
    if configuration.channels.polls.load(Ordering::Relaxed) {
        attention::attend(configuration, &mut cpu.native);
        tell(cpu);
    }
}
