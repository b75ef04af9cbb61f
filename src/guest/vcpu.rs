//! A virtual CPU: what the Principles of Operation says a CPU holds.
//!
//! Floating-point, vector and access registers are not here: they stay in the hardware, which the
//! firmware never touches (it is soft-float).

use crate::arch::address::{Absolute, Real, apply_prefix};
use crate::arch::condition::ConditionCode;
use crate::arch::control::{CR0_INITIAL, CR14_INITIAL};
use crate::arch::psw::Psw;
use crate::cpumf::{Facility, Reset};
use crate::guest::account::Account;
use crate::guest::schedule::Schedule;
use crate::guest::shadow::Shadow;
use core::cell::Cell;

/// Whether a CPU fetches instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum CpuState {
    /// Stopped: only SIGNAL PROCESSOR brings it back.
    #[default]
    Stopped,
    /// Operating; the wait state is a bit of the PSW.
    Operating,
    /// Check-stop: a program interruption whose new PSW can never be loaded, for example.
    CheckStop,
}

/// External-interruption conditions that are kept pending in the CPU.
///
/// What another CPU signals is in its mailbox ([`crate::guest::configuration::Mailbox`]), and
/// measurement alerts are in the guest's own [`Facility`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// The TOD clock has passed the guest's clock comparator. A level, not an edge: it is computed
    /// anew whenever either of them changes.
    pub clock_comparator: bool,
    /// The CPU timer is negative.
    pub cpu_timer: bool,
}

/// What the hardware stored when it entered the firmware.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Interruption {
    /// The real old PSW.
    pub old: Psw,
    /// The interruption code.
    pub code: u16,
    /// The instruction length in bytes, 0 if not applicable.
    pub length: u8,
    /// Exception access identification.
    pub access: u8,
    /// Data-exception code, external-interruption parameter, or I/O interruption parameter.
    pub parameter: u32,
    /// Translation-exception identification; for I/O the subsystem-identification word in the left
    /// half and the interruption-identification word in the right half.
    pub identification: u64,
}

/// The text of an instruction that is being performed, and where it stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text {
    /// Up to six bytes of the instruction itself (the target, if it was executed).
    pub bytes: [u8; 6],
    /// The length by which the instruction address advances: that of the EXECUTE, if there was one.
    pub length: u8,
    /// Whether the instruction is the target of an EXECUTE.
    pub executed: bool,
}

/// A one-entry translation cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct CachedPage {
    /// The virtual page.
    pub page: u64,
    /// The DAT and address-space bits of the PSW that it was translated under.
    pub mode: u64,
    /// The absolute page.
    pub absolute: Absolute,
    /// Whether the entry may be used.
    pub valid: bool,
}

/// A virtual CPU.
#[repr(C)]
pub struct Vcpu {
    /// General registers. First, because the trap entry stores them at the start of the CPU.
    pub general: [u64; 16],
    /// The guest's PSW while the firmware has control. Its masks, P and wait bits are virtual.
    pub psw: Psw,
    /// Control registers as the guest loaded them.
    pub control: [u64; 16],
    /// The prefix, a multiple of 8192.
    pub prefix: u64,
    /// CPU address.
    pub address: u16,
    /// Stopped, operating or check-stop.
    pub state: CpuState,
    /// Pending external conditions of this CPU.
    pub pending: Pending,
    /// The clock comparator.
    pub clock_comparator: u64,
    /// The TOD programmable register.
    pub tod_programmable: u32,
    /// How the current trap came about.
    pub interruption: Interruption,
    /// The instruction that is being performed.
    pub text: Text,
    /// What the guest has done so far: the honest source of the counters and of the sampling
    /// interval.
    pub account: Account,
    /// The guest's own facility (logical-partition level).
    pub own: Facility,
    /// The machine's facility, one level below.
    pub machine: Facility,
    /// The shadow tables of this CPU.
    pub shadow: Shadow,
    /// When the next samples are due, at both levels.
    pub sampling: Schedule,
    /// Pages of instruction text as last translated, by the rightmost two bits of the page number:
    /// a program and its interruption handlers are rarely in one page.
    pub text_pages: [CachedPage; 4],
    /// The pages of the operand that was last fetched, and last stored.
    pub operand_pages: [Cell<CachedPage>; 2],
    /// A control register changed that is mirrored in hardware or selects an address space.
    pub controls_changed: bool,
    /// Something may have become deliverable: look at pending interruptions on the way out.
    pub attention: bool,
}

impl Vcpu {
    /// A stopped CPU after power-on reset.
    #[must_use]
    pub fn new(address: u16, own: Facility, machine: Facility) -> Self {
        let mut cpu = Self {
            general: [0; 16],
            psw: Psw::default(),
            control: [0; 16],
            prefix: 0,
            address,
            state: CpuState::Stopped,
            pending: Pending::default(),
            clock_comparator: 0,
            tod_programmable: 0,
            interruption: Interruption::default(),
            text: Text::default(),
            account: Account::default(),
            own,
            machine,
            shadow: Shadow::default(),
            sampling: Schedule::default(),
            text_pages: Default::default(),
            operand_pages: Default::default(),
            controls_changed: true,
            attention: true,
        };
        cpu.reset_controls();
        cpu
    }

    fn reset_controls(&mut self) {
        self.control = [0; 16];
        self.control[0] = CR0_INITIAL;
        self.control[14] = CR14_INITIAL;
        self.controls_changed = true;
    }

    /// CPU reset: pending external conditions and activation controls go, registers stay.
    pub fn cpu_reset(&mut self) {
        self.pending = Pending::default();
        self.own.reset(Reset::Cpu, &self.account.activity());
        self.sampling.changed = true;
        self.state = CpuState::Stopped;
        self.attention = true;
    }

    /// Initial CPU reset: CPU reset, and PSW, prefix, control registers, timers and the
    /// program parameter take their initial values.
    pub fn initial_cpu_reset(&mut self) {
        self.cpu_reset();
        self.psw = Psw::default();
        self.prefix = 0;
        self.clock_comparator = 0;
        self.tod_programmable = 0;
        self.own.reset(Reset::Initial, &self.account.activity());
        self.reset_controls();
    }

    /// The place in [`Self::text_pages`] of the page that holds an address.
    #[must_use]
    #[inline(always)]
    pub const fn text_place(address: u64) -> usize {
        (address >> 12) as usize & 3
    }

    /// Forgets translations that were kept: controls changed, or tables may have.
    pub fn forget_translations(&mut self) {
        self.text_pages = Default::default();
        self.operand_pages = Default::default();
    }

    /// The absolute address of a real one of this CPU.
    #[must_use]
    #[inline]
    pub const fn absolute(&self, real: Real) -> Absolute {
        apply_prefix(real, self.prefix)
    }

    /// Sets the condition code of the guest's PSW.
    #[inline]
    pub const fn set_cc(&mut self, code: ConditionCode) {
        self.psw.set_condition_code(code);
    }

    /// The address in general registers and displacement of a B,D operand, in the current mode.
    #[must_use]
    #[inline]
    pub fn operand_address(&self, base: u8, displacement: i32) -> u64 {
        self.operand_address_indexed(0, base, displacement)
    }

    /// The same with an index register.
    #[must_use]
    #[inline]
    pub fn operand_address_indexed(&self, index: u8, base: u8, displacement: i32) -> u64 {
        let register = |n: u8| {
            if n == 0 {
                0
            } else {
                self.general[(n & 15) as usize]
            }
        };
        register(base)
            .wrapping_add(register(index))
            .wrapping_add(i64::from(displacement) as u64)
            & self.psw.address_mask()
    }
}
