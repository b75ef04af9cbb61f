//! What other CPUs and the operator leave for a CPU: signals, orders and changes.

use arch::control::{CR0_EMERGENCY_SIGNAL, CR0_EXTERNAL_CALL, CR0_SERVICE_SIGNAL};
use command::Change;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use spin::Mutex;

/// The most changes that wait for one CPU: all that the operator can give in advance, before the CPU executes, fit.
pub const MOST_CHANGES: usize = 64;

/// Orders that a CPU leaves in another's mailbox.
pub mod order {
    /// Start: enter the operating state.
    pub const START: u32 = 1;
    /// Stop: enter the stopped state.
    pub const STOP: u32 = 2;
    /// Restart interruption, and the operating state.
    pub const RESTART: u32 = 4;
    /// Store the status at absolute 1200 (stop and store status).
    pub const STORE_STATUS: u32 = 8;
    /// CPU reset.
    pub const CPU_RESET: u32 = 0x10;
    /// Initial CPU reset.
    pub const INITIAL_CPU_RESET: u32 = 0x20;
    /// Set prefix to the parameter.
    pub const SET_PREFIX: u32 = 0x40;
    /// Store the status at the address in the parameter.
    pub const STORE_STATUS_AT_ADDRESS: u32 = 0x80;
    /// Clear reset of the CPU; it does not clear storage.
    pub const CLEAR_RESET: u32 = 0x100;
    /// The operator's changes wait. This is no order of another CPU, but it makes the CPU busy like one.
    pub const CHANGE: u32 = 0x200;
    /// Store the vector registers at the address in the parameter.
    pub const STORE_ADDITIONAL_STATUS: u32 = 0x400;
}

/// What other CPUs and the machine have sent to a CPU.
#[derive(Debug, Default)]
pub struct Mailbox {
    /// Pending emergency signals: bit n (from the right) stands for the signalling CPU n.
    pub emergency: AtomicU32,
    /// A pending external call: the signalling CPU's address plus one, or zero.
    pub external_call: AtomicU32,
    /// Orders to be carried out by the CPU itself.
    pub orders: AtomicU32,
    /// The parameter of the order that has one.
    pub parameter: AtomicU64,
    /// The changes that the operator asks for, in order; [`order::CHANGE`] says that there are some.
    pub changes: Mutex<heapless::Deque<Change, MOST_CHANGES>>,
    /// What a conditional emergency signal depends on while the CPU is stopped, as `millicode::conditional_signal` writes it.
    pub signal_condition: AtomicU64,
    /// The CPU's state as others may sense it ([`crate::state::vcpu::CpuState`] as u8).
    pub state: AtomicU8,
    /// Whether the CPU executes instructions, as others may sense it. It does not while it waits, or is not operating.
    pub runs: AtomicBool,
    /// The clock at which a waiting CPU wants to run again; all ones for never.
    pub wake_at: AtomicU64,
    /// The I/O-interruption subclasses for which a waiting CPU is enabled: bits 32-39 of control register
    /// 6.
    pub open_subclasses: AtomicU8,
    /// Whether a waiting CPU is enabled for the machine check that announces channel reports.
    pub open_reports: AtomicBool,
    /// The external-interruption subclasses for which a waiting CPU is enabled: bits 32-63 of control register 0.
    pub open_external: AtomicU32,
}

impl Mailbox {
    /// Whether a signal is pending for which the CPU, which waits, is enabled. All CPUs share a service signal, which may
    /// be pending.
    #[must_use]
    pub fn has_open_signal(&self, service_signal: bool) -> bool {
        let open = u64::from(self.open_external.load(Ordering::SeqCst));
        open & CR0_EMERGENCY_SIGNAL != 0 && self.emergency.load(Ordering::SeqCst) != 0
            || open & CR0_EXTERNAL_CALL != 0 && self.external_call.load(Ordering::SeqCst) != 0
            || open & CR0_SERVICE_SIGNAL != 0 && service_signal
    }
}
