//! A virtual CPU: what the Principles of Operation says a CPU holds.
//!
//! Floating-point, vector and access registers are not here. They stay in the hardware, and the firmware never uses
//! them, because it is soft-float. A reset clears them in the hardware.

use crate::state::access::{Access, Space};
use crate::state::account::{Account, Mode};
use crate::state::extended::{self, Counted, Fills};
use crate::state::kept::{KeptPage, KeptPages, STEPPED_PAGES};
use crate::state::looping::Looping;
use crate::state::pending_work::PendingWork;
use crate::state::recording::Recording;
use crate::state::reference::CpuCaches;
use crate::state::schedule::Schedule;
use crate::state::shadow::Shadow;
use crate::state::software::SoftwareCounters;
use crate::state::text::Text;
use crate::state::threads::Thread;
use crate::state::tried::Tried;
use crate::storage::checked::{Checked, PlacedFrame};
use arch::address::{Absolute, Real, Virtual, apply_prefix};
use arch::condition::ConditionCode;
use arch::control::{CR0_INITIAL, CR8_ENHANCED_MONITOR, CR8_MONITOR, CR14_INITIAL};
use arch::interruption::ProgramInterruption;
use arch::interruption::{Ending, ending, is_access};
use arch::psw::{self, ADDRESSING_64, Psw, SECONDARY_SPACE};
use cpumf::{CounterSets, Facility, Reset};
use insn::branch::Branch;

/// Whether a CPU fetches instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum CpuState {
    /// Stopped: only SIGNAL PROCESSOR brings it back.
    #[default]
    Stopped,
    /// Operating; the wait state is a bit of the PSW.
    Operating,
    /// Check-stop: for example after a program interruption whose new PSW can never be loaded.
    CheckStop,
}

/// External-interruption conditions that are kept pending in the CPU.
///
/// Signals of other CPUs are in the mailbox ([`crate::state::mailbox::Mailbox`]), and measurement alerts are in
/// the guest's own [`Facility`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Pending {
    /// The TOD clock has passed the guest's clock comparator. This is a level, not an edge: it is computed again
    /// whenever either of them changes.
    pub clock_comparator: bool,
    /// The CPU timer is negative.
    pub cpu_timer: bool,
    /// The operator has pressed the interrupt key.
    pub interrupt_key: bool,
    /// Never: so all of them are a word.
    never: bool,
}

impl Pending {
    /// All of them; zero if none is pending.
    #[must_use]
    #[inline(always)]
    pub const fn word(self) -> u32 {
        let Self {
            clock_comparator,
            cpu_timer,
            interrupt_key,
            never,
        } = self;
        u32::from_be_bytes([
            clock_comparator as u8,
            cpu_timer as u8,
            interrupt_key as u8,
            never as u8,
        ])
    }
}

/// What the hardware stored when it entered the firmware.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Interruption {
    /// The real old PSW.
    pub old: Psw,
    /// The real PSW with which the guest goes on, if it is another one, while the machine places it where the exit loads it.
    pub next: Psw,
    /// The identification of a program or supervisor-call interruption: instruction length in bits
    /// 8-15, code in bits 16-31.
    pub cause: u32,
    /// Exception access identification.
    pub access: u8,
    /// External-interruption parameter, I/O interruption parameter, or monitor class.
    pub parameter: u32,
    /// Translation-exception identification, data-exception code, or monitor code; for I/O the subsystem-identification
    /// word in the left half and the interruption-identification word in the right half.
    pub identification: u64,
}

impl Interruption {
    /// The interruption code.
    #[must_use]
    #[inline(always)]
    pub const fn code(&self) -> u16 {
        self.cause as u16
    }

    /// The instruction length in bytes, 0 if not applicable.
    #[must_use]
    #[inline(always)]
    pub const fn length(&self) -> u8 {
        (self.cause >> 16) as u8
    }

    /// Whether it is the data exception of COMPARE AND TRAP, which completes.
    #[must_use]
    #[inline]
    pub const fn is_of_compare_and_trap(&self) -> bool {
        const CODE: u64 = 0xFF;
        self.code() == ProgramInterruption::Data.code() && self.identification == CODE
    }
}

/// A virtual CPU.
#[derive(Debug)]
#[repr(C)]
pub struct Vcpu {
    /// General registers. First, because the trap entry stores them at the start of the CPU.
    pub general: [u64; 16],
    /// The guest's PSW while the firmware has control. Its masks, P and wait bits are virtual.
    pub psw: Psw,
    /// What the CPU has to do before it leaves to the guest.
    pub pending_work: PendingWork,
    /// Control registers as the guest loaded them.
    pub control: [u64; 16],
    /// The prefix, a multiple of 8192.
    pub prefix: u64,
    /// The CPU's number. It is also the CPU's address unless the CPU is a thread of a core
    /// ([`crate::measuring::threads`]).
    pub address: u16,
    /// The address of the CPU at present, as the program sees it.
    pub known_as: u16,
    /// Stopped, operating or check-stop.
    pub state: CpuState,
    /// Pending external conditions of this CPU.
    pub pending: Pending,
    /// The clock comparator.
    pub clock_comparator: u64,
    /// The CPU timer while the CPU is not operating, when it stands still. Otherwise it is in the hardware.
    pub standing_timer: Option<u64>,
    /// The TOD programmable register.
    pub tod_programmable: u32,
    /// The current trap, as the hardware stored it.
    pub interruption: Interruption,
    /// The instruction that is being performed.
    pub text: Text,
    /// The guest's time: the source of the counters and of the sampling interval.
    pub account: Account,
    /// The guest's own facility (logical-partition level).
    pub own: Facility,
    /// The machine's facility, one level below.
    pub machine: Facility,
    /// The shadow tables of this CPU.
    pub shadow: Shadow,
    /// When the next samples are due, at both levels.
    pub sampling: Schedule,
    /// Consecutive program interruptions by the first instruction of their own handler.
    pub in_a_row: u32,
    /// Interruptions since the last instruction, of any class.
    pub looping: Looping,
    /// Bits of the PSW under which the hardware runs the guest: the address-space control, whether program events are
    /// recorded, and whether devices interrupt.
    pub real_space: u64,
    /// Places that had been uncovered when this CPU last looked.
    pub uncovered: u64,
    /// The instruction that it has tried once more because it may have trapped by what was covered before.
    pub tried: Tried,
    /// What the shadow has done so far.
    pub fills: Fills,
    /// The part of it that the extended counters include.
    pub counted: Fills,
    /// The part of the totals that the machine's own counters include.
    pub machine_counted: Counted,
    /// The counter sets that the machine's own level counts from IPL on.
    pub machine_sets: CounterSets,
    /// The state of its core, as the CPU knows it.
    pub thread: Thread,
    /// The time until which the coprocessor is busy with this CPU's last function, by the clock of
    /// [`crate::measuring::assist`].
    pub occupied_until: u64,
    /// The software counters of the machine's own level.
    pub software: SoftwareCounters,
    /// The model of its caches, if the run has one.
    pub caches: Option<CpuCaches>,
    /// Program-event recording.
    pub per: Recording,
    /// Why the operator holds the guest on this CPU.
    pub held_by: Option<HeldBy>,
    /// The translations that are kept for millicode: long, so behind all that the trap entry must reach.
    pub kept: KeptPages,
}

/// Why the operator holds the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldBy {
    /// The trace with this number.
    Trace(u8),
    /// Words on its console.
    Words,
}

/// PSW bits that the guest's program changes without the firmware, so that the hardware's are valid.
pub const LIVE: u64 = psw::CONDITION_CODE | psw::PROGRAM_MASK | psw::ADDRESSING_64;

impl Vcpu {
    /// The guest's PSW if the hardware was interrupted with this one; this CPU's state is that of the last trap.
    #[must_use]
    pub const fn interrupted_psw(&self, old: Psw) -> Psw {
        let mut psw = Psw {
            mask: (self.psw.mask & !LIVE) | (old.mask & LIVE),
            address: old.address,
        };
        psw.address &= psw.address_mask();
        psw
    }

    /// A stopped CPU after power-on reset.
    #[must_use]
    pub fn new(address: u16, own: Facility, machine: Facility) -> Self {
        let mut cpu = Self {
            general: [0; 16],
            psw: Psw::default(),
            pending_work: PendingWork::ATTENTION
                | PendingWork::CONTROLS
                | PendingWork::CLOCK
                | PendingWork::SAMPLING,
            kept: KeptPages::none(),
            control: [0; 16],
            prefix: 0,
            address,
            known_as: address,
            state: CpuState::Stopped,
            pending: Pending::default(),
            clock_comparator: 0,
            standing_timer: None,
            tod_programmable: 0,
            interruption: Interruption::default(),
            text: Text::default(),
            account: Account::new(Mode::RealTime, 1000),
            own,
            machine,
            shadow: Shadow::default(),
            sampling: Schedule::default(),
            in_a_row: 0,
            looping: Looping::default(),
            real_space: SECONDARY_SPACE,
            uncovered: 0,
            tried: Tried::default(),
            fills: Fills::NONE,
            counted: Fills::NONE,
            machine_counted: Counted::default(),
            machine_sets: CounterSets::NONE,
            thread: Thread::default(),
            occupied_until: 0,
            software: SoftwareCounters::NONE,
            caches: None,
            per: Recording::default(),
            held_by: None,
        };
        cpu.reset_controls();
        cpu
    }

    /// Holds the guest before its next instruction on this CPU.
    pub fn hold(&mut self, reason: HeldBy) {
        self.held_by = Some(reason);
        self.pending_work |= PendingWork::HELD;
    }

    /// Why the guest is held, which ends with this.
    pub fn take_hold(&mut self) -> Option<HeldBy> {
        self.pending_work.clear(PendingWork::HELD);
        self.held_by.take()
    }

    fn reset_controls(&mut self) {
        self.control = [0; 16];
        self.control[0] = CR0_INITIAL;
        self.control[14] = CR14_INITIAL;
        self.pending_work |= PendingWork::CONTROLS;
    }

    /// CPU reset: clears pending external conditions and activation controls, and keeps the registers.
    pub fn cpu_reset(&mut self) {
        self.count_translations();
        self.forget_translations();
        self.pending = Pending::default();
        self.per.reset();
        self.in_a_row = 0;
        self.looping = Looping::default();
        if let Some(caches) = &mut self.caches {
            caches.purge();
        }
        self.own.reset(Reset::Cpu, &self.account.activity());
        self.state = CpuState::Stopped;
        self.pending_work |= PendingWork::SAMPLING | PendingWork::ATTENTION;
    }

    /// Initial CPU reset, except of what stays in the hardware (the CPU timer, the TOD programmable field and the
    /// floating-point-control register): a CPU reset; PSW, prefix, control registers, clock comparator and program
    /// parameter take their initial values.
    pub fn initial_cpu_reset(&mut self) {
        self.cpu_reset();
        self.psw = Psw::default();
        self.prefix = 0;
        self.clock_comparator = 0;
        self.tod_programmable = 0;
        self.own.reset(Reset::Initial, &self.account.activity());
        self.reset_controls();
    }

    /// Clear reset of the CPU, except of what stays in the hardware (also the floating-point, vector and access
    /// registers): an initial CPU reset, and zeros in the general registers. It does not clear storage.
    pub fn clear_reset(&mut self) {
        self.initial_cpu_reset();
        self.general = [0; 16];
    }

    /// The page frame of the instruction text at an address, if its page is kept.
    #[must_use]
    #[inline(always)]
    pub fn kept_text(&self, at: Virtual) -> Option<PlacedFrame> {
        self.kept.find_text(self.psw.mask, at)
    }

    /// The same while instructions are executed one at a time.
    #[must_use]
    #[inline]
    pub fn stepped_text(&self, at: Virtual) -> Option<Checked> {
        self.kept.stepped[(at.0 >> 12) as usize % STEPPED_PAGES].find(self.psw.mask, at)
    }

    /// Keeps a page of instruction text while instructions are executed one at a time.
    pub fn keep_stepped_text(&mut self, at: Virtual, place: Checked) {
        let page = KeptPage::new(self.psw.mask, at, place);
        self.kept.keep_stepped_text(at, page);
    }

    /// Keeps a page of instruction text.
    pub fn keep_text(&mut self, at: Virtual, frame: PlacedFrame) {
        let page = KeptPage::placed(self.psw.mask, at, frame);
        self.kept.keep_text(at, page);
    }

    /// Forgets all translations that were kept: tables may have changed.
    pub fn forget_translations(&mut self) {
        self.kept.forget();
    }

    /// Controls may have changed: forgets what was translated under other ones. Control programs that execute in the
    /// home space switch between the spaces of programs at each call.
    pub fn change_translations(&mut self) {
        let control = &self.control;
        let [zero, home, prefix] = self.kept.under;
        if (zero ^ control[0]) | (home ^ control[13]) | (prefix ^ self.prefix) != 0 {
            self.kept.forget();
            self.kept.under = [control[0], control[13], self.prefix];
        }
        self.change_programs();
    }

    /// Whether DAT is on and the CPU is in the home-space mode: it then translates by neither the primary nor the secondary
    /// space.
    #[must_use]
    #[inline(always)]
    pub const fn is_in_home_space(&self) -> bool {
        self.psw.mask & (psw::DAT | psw::ADDRESS_SPACE) == psw::DAT | psw::HOME_SPACE
    }

    /// Whether what is kept of programs was translated under control registers 1 and 7 as they are.
    #[must_use]
    #[inline(always)]
    pub const fn keeps_programs(&self) -> bool {
        let [primary, secondary] = self.kept.programs;
        (primary ^ self.control[1]) | (secondary ^ self.control[7]) == 0
    }

    /// Control registers 1 and 7 may have changed: forgets what was translated under others.
    #[inline]
    pub fn change_programs(&mut self) {
        if !self.keeps_programs() {
            self.kept.programs = [self.control[1], self.control[7]];
            if self.kept.of_programs.get() != 0 {
                self.kept.forget_programs();
            }
        }
    }

    /// The absolute address of a real address of this CPU.
    #[must_use]
    #[inline]
    pub const fn absolute(&self, real: Real) -> Absolute {
        apply_prefix(real, self.prefix)
    }

    /// Brings the extended counters at the program's level up to date with the work of the shadow.
    #[cold]
    #[inline(never)]
    pub fn count_translations(&mut self) {
        let (before, now) = (self.counted, self.fills);
        if before == now {
            return;
        }
        self.counted = now;
        extended::count(&mut self.own, &before, &now);
    }

    /// Real control register 8: the monitor classes that the program or the machine's own level has enabled. The
    /// enhanced-monitor masks of the hardware stay zero, because its array is not the program's.
    #[must_use]
    #[inline]
    pub const fn real_monitor_control(&self) -> u64 {
        self.control[8] & !CR8_ENHANCED_MONITOR | self.software.classes as u64 & CR8_MONITOR
    }

    /// The address of the instruction that met an access exception; `None` for any other interruption.
    ///
    /// Protection and addressing suppress, so the hardware advanced the address. For an instruction fetch it did so by
    /// an arbitrary length, which is the one that it stored.
    #[must_use]
    pub fn access_exception_at(&self) -> Option<u64> {
        let (code, length) = (self.interruption.code(), self.interruption.length());
        if !is_access(code) {
            return None;
        }
        if ending(code) == Ending::Suppression {
            let at = self.psw.address.wrapping_sub(u64::from(length));
            return Some(at & self.psw.address_mask());
        }
        Some(self.psw.address)
    }

    /// Sets the general register and the addressing mode that a branch instruction changes.
    pub fn change_by(&mut self, branch: &Branch) {
        if let Some((register, value)) = branch.changed {
            self.general[usize::from(register & 15)] = value;
        }
        self.psw.mask = self.psw.mask & !ADDRESSING_64 | branch.addressing;
    }

    /// Sets the condition code of the guest's PSW.
    #[inline]
    pub const fn set_cc(&mut self, code: ConditionCode) {
        self.psw.set_condition_code(code);
    }
}

impl Space {
    /// The space of operands (fetch and store) or of instructions (execute) in the current mode.
    ///
    /// Instructions come from the home space in the home-space mode, and from the primary space in any other.
    #[must_use]
    #[inline]
    pub const fn of(cpu: &Vcpu, access: Access) -> Self {
        Self::in_mode(cpu.psw.address_space(), access)
    }

    /// As [`Space::of`]; `None` with DAT off, when an address is a real one.
    #[must_use]
    #[inline(always)]
    pub const fn current(cpu: &Vcpu, access: Access) -> Option<Self> {
        if cpu.psw.dat() {
            Some(Self::of(cpu, access))
        } else {
            None
        }
    }

    /// The space of the program that a Linux kernel has interrupted. The kernel is in its home space. The program's is the
    /// primary one, or the secondary one while the kernel has its own as primary.
    #[must_use]
    #[inline]
    pub const fn of_interrupted(cpu: &Vcpu) -> Self {
        if cpu.control[1] == cpu.control[13] {
            Self::Secondary
        } else {
            Self::Primary
        }
    }

    /// The address-space-control element of this space.
    #[must_use]
    #[inline]
    pub const fn asce(self, cpu: &Vcpu) -> u64 {
        match self {
            Self::Primary => cpu.control[1],
            Self::Secondary => cpu.control[7],
            Self::Home => cpu.control[13],
        }
    }
}
