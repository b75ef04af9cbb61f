//! What the virtual CPUs of a configuration share: storage, mailboxes, and the machine's parameters.
//!
//! Real CPUs share it by reference, so everything that changes is atomic or behind a lock that is
//! held for a few instructions only.

use crate::state::account::{Charges, Mode};
use crate::state::assist::Assist;
use crate::state::awaited::AwaitedWords;
use crate::state::channels::Channels;
use crate::state::exit_code::ExitCode;
use crate::state::loaded_program::LoadedProgram;
use crate::state::mailbox::Mailbox;
use crate::state::page_frames::PageFrames;
use crate::state::recording::Support;
use crate::state::shadow::SharedShadow;
use crate::state::threads::Threads;
use crate::state::tracing::Tracing;
use crate::state::watchdog::Watchdog;
use arch::address::Absolute;
use arch::cpu::MAXIMUM_CPUS;
use arch::extent::Extent;
use arch::facility::FacilityList;
use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64};
use cpumf::counters::CoprocessorGroups;
use insn::sensitive::Caught;
use spin::{Mutex, MutexGuard};

/// The configuration.
#[derive(Debug)]
pub struct Configuration {
    /// Where the guest's storage is: what lies in a hole of it, or behind it, is the HSA.
    pub storage: Extent,
    /// The end of the machine's storage, the HSA included.
    pub machine_end: u64,
    /// The storage increment, in bytes, that READ SCP INFO shows.
    pub increment: u64,
    /// The number of CPUs.
    pub cpus: u16,
    /// Facility bits shown by STORE FACILITY LIST EXTENDED.
    pub facilities: FacilityList,
    /// The CPU identification that STORE CPU ID stores, without the CPU address.
    pub cpu_id: u64,
    /// How time becomes instructions.
    pub mode: Mode,
    /// Cycles per microsecond.
    pub cpu_speed: u32,
    /// In real time: whether the counter facility of the machine below counts.
    pub native: bool,
    /// What traps take and charge.
    pub charges: Charges,
    /// Whether the configuration is at the virtual-machine level (STSI 3) or a logical partition (2).
    pub virtual_machine: bool,
    /// Whether the guest is a secure one with limited samples: bit 49 of its plaintext control flags
    /// is zero.
    pub limited: bool,
    /// Whether the CPUs are dedicated to the guest: sampling goes on while one of them waits.
    pub dedicated: bool,
    /// The cores, if the CPUs are threads.
    pub threads: Threads,
    /// What is known of the instructions in each page frame.
    pub page_frames: PageFrames,
    /// Where the shared shadow tables are.
    pub shadow: SharedShadow,
    /// By how many clock units SET CLOCK has set the TOD clock forward, in all.
    pub epoch: AtomicU64,
    /// The message-security assist.
    pub assist: Assist,
    /// Whether no EXECUTE is trusted.
    pub strict: bool,
    /// What it performs in the place of the machine below.
    pub quirks: Quirks,
    /// Whether the machine below can forbid the execution of a page, as QEMU can. Without that no program has a single
    /// table for instructions and operands, and the machine below finds relative-long operands in the table of the
    /// instructions, as the architecture has it.
    pub execution_protection: bool,
    /// Program-event recording.
    pub per: Support,
    /// The operator's traces.
    pub tracing: Tracing,
    /// The words on its console at which the guest stops.
    pub awaited_words: AwaitedWords,
    /// The program that the guest was loaded with.
    pub loaded_program: LoadedProgram,
    /// How often the configuration was reset.
    pub resets: AtomicU32,
    /// The exit code of the guest. Once it has one, its CPUs stop.
    pub exit_code: ExitCode,
    /// The watchdog.
    pub watchdog: Watchdog,
    /// Whether a storage key was ever set; until then all keys are zeros.
    pub keys_were_set: AtomicBool,
    /// The CPU in whose favour a turn was last given up: its number plus one, or zero.
    pub favoured: AtomicU16,
    /// One mailbox per CPU.
    pub mailboxes: [Mailbox; MAXIMUM_CPUS],
    /// The channel subsystem.
    pub channels: Channels,
    /// A pending service signal: SCCB address and event indication, or zero.
    pub service_signal: AtomicU32,
    /// The receive mask: the SERVC events that the control program takes.
    pub event_mask: AtomicU32,
    /// The coprocessor groups and the controls of their counter sets.
    groups: Mutex<CoprocessorGroups>,
}

/// What a machine below performs wrongly, and so this machine performs ([`insn::split`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct Quirks {
    /// Whether it may end at a test of rotated bits, as QEMU before 8.0 does.
    pub ends_at_tests: bool,
    /// Whether it has wrong products of short BFP operands, as QEMU before 8.0.4 does.
    pub multiplies_wrongly: bool,
}

impl Configuration {
    /// A configuration of `cpus` CPUs with this storage, in real-time mode, at the
    /// logical-partition level, with an empty facility list. The caller changes what differs.
    #[must_use]
    pub fn new(
        storage: Extent,
        increment: u64,
        cpus: u16,
        page_frames: PageFrames,
        shadow: SharedShadow,
        channels: Channels,
    ) -> Self {
        Self {
            storage,
            machine_end: u64::MAX,
            increment,
            cpus,
            facilities: FacilityList::default(),
            cpu_id: 0,
            mode: Mode::RealTime,
            cpu_speed: Mode::RealTime.cpu_speed(),
            native: false,
            charges: Charges::default(),
            virtual_machine: false,
            limited: false,
            dedicated: false,
            threads: Threads::new(1),
            page_frames,
            shadow,
            epoch: AtomicU64::new(0),
            assist: Assist::default(),
            strict: false,
            quirks: Quirks::default(),
            execution_protection: true,
            per: Support::default(),
            tracing: Tracing::default(),
            awaited_words: AwaitedWords::default(),
            loaded_program: LoadedProgram::default(),
            resets: AtomicU32::new(0),
            exit_code: ExitCode::default(),
            watchdog: Watchdog::default(),
            keys_were_set: AtomicBool::new(false),
            favoured: AtomicU16::new(0),
            mailboxes: Default::default(),
            channels,
            service_signal: AtomicU32::new(0),
            event_mask: AtomicU32::new(0),
            groups: Mutex::new(CoprocessorGroups::none()),
        }
    }

    /// What the scanner catches.
    #[must_use]
    #[inline]
    pub fn caught(&self) -> Caught {
        let mut caught = self.assist.caught();
        if self.quirks.ends_at_tests {
            caught = caught.with_tests();
        }
        if self.quirks.multiplies_wrongly {
            caught = caught.with_products();
        }
        caught
    }

    /// Whether `length` bytes at `at` lie in the guest's storage.
    #[must_use]
    #[inline]
    pub const fn holds(&self, at: Absolute, length: u64) -> bool {
        self.storage.holds(at, length)
    }

    /// Whether instructions are counted.
    #[must_use]
    pub const fn counts_instructions(&self) -> bool {
        self.native || matches!(self.mode, Mode::Exact { .. })
    }

    /// Whether several CPUs execute at the same time.
    #[must_use]
    #[inline]
    pub const fn is_concurrent(&self) -> bool {
        matches!(self.mode, Mode::RealTime) && self.cpus > 1
    }

    /// The number of the CPU with the address `address`, if there is one.
    #[must_use]
    pub fn cpu_at(&self, address: u16) -> Option<u16> {
        let number = self.threads.number_of(address)?;
        (number < self.cpus).then_some(number)
    }

    /// Locks the coprocessor groups; hold the lock for a few instructions only. A configuration
    /// begins with no groups.
    pub fn groups(&self) -> MutexGuard<'_, CoprocessorGroups> {
        self.groups.lock()
    }

    /// The highest CPU address at present.
    #[must_use]
    pub fn highest_address(&self) -> u16 {
        self.threads.address_of(self.cpus.saturating_sub(1))
    }
}
