//! A virtual CPU: what the Principles of Operation says a CPU holds.
//!
//! Floating-point, vector and access registers are not here: they stay in the hardware, and the
//! firmware, which is soft-float, never uses them. A reset that concerns them clears them there.

use crate::arch::address::{Absolute, Real, Virtual, apply_prefix};
use crate::arch::condition::ConditionCode;
use crate::arch::control::{CR0_INITIAL, CR14_INITIAL};
use crate::arch::psw::{Psw, SECONDARY_SPACE};
use crate::cpumf::{CounterSets, Facility, Reset};
use crate::guest::account::{Account, Mode};
use crate::guest::caches::CpuCaches;
use crate::guest::due::Due;
use crate::guest::extended::{self, Fills};
use crate::guest::machine_level::Counted;
use crate::guest::per::Recording;
use crate::guest::schedule::Schedule;
use crate::guest::shadow::Shadow;
use crate::guest::software::SoftwareCounters;
use crate::guest::threads::Thread;
use crate::insn;
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
    /// The operator has pressed the interrupt key.
    pub interrupt_key: bool,
}

/// What the hardware stored when it entered the firmware.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Interruption {
    /// The real old PSW.
    pub old: Psw,
    /// The identification of a program or supervisor-call interruption: instruction length in bits
    /// 8-15, code in bits 16-31.
    pub cause: u32,
    /// Exception access identification.
    pub access: u8,
    /// Data-exception code, external-interruption parameter, or I/O interruption parameter.
    pub parameter: u32,
    /// Translation-exception identification; for I/O the subsystem-identification word in the left
    /// half and the interruption-identification word in the right half.
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

impl Text {
    /// An instruction that is not the target of an EXECUTE.
    #[must_use]
    #[inline(always)]
    pub const fn of(bytes: [u8; 6]) -> Self {
        Self {
            bytes,
            length: insn::length(bytes[0]) as u8,
            executed: false,
        }
    }
}

/// A page whose translation is kept.
#[derive(Clone, Copy, Debug)]
pub struct KeptPage {
    /// What it was translated under: [`KeptPage::key`], or ones for none.
    key: u64,
    /// The absolute page.
    page: Absolute,
}

impl KeptPage {
    /// No page.
    pub const NONE: Self = Self {
        key: u64::MAX,
        page: Absolute(0),
    };

    /// The page of a logical address, which is at `place`, as translated under the left half of a
    /// PSW.
    #[must_use]
    pub const fn new(mask: u64, at: Virtual, place: Absolute) -> Self {
        Self {
            key: Self::key(mask, at),
            page: place.page(),
        }
    }

    /// Page address, address-space control and DAT mode in one doubleword.
    #[must_use]
    #[inline(always)]
    const fn key(mask: u64, at: Virtual) -> u64 {
        at.page().0 | (mask >> 45) & 6 | (mask >> 58) & 1
    }

    /// Whether it was translated with DAT on, in another space than the home space.
    const fn is_of_program(&self) -> bool {
        self.key & 1 != 0 && self.key & 6 != 6
    }

    /// The page, and bits 5, 16 and 17 of a PSW that it was translated under: DAT mode and
    /// address-space control.
    #[must_use]
    pub const fn translated(&self) -> Option<(Virtual, u64)> {
        if self.key == u64::MAX {
            return None;
        }
        let mask = (self.key & 6) << 45 | (self.key & 1) << 58;
        Some((Virtual(self.key).page(), mask))
    }

    /// The absolute page.
    #[must_use]
    pub const fn place(&self) -> Absolute {
        self.page
    }

    /// The absolute address of a logical one, if this is its page under this PSW.
    #[must_use]
    #[inline(always)]
    pub fn find(&self, mask: u64, at: Virtual) -> Option<Absolute> {
        (self.key == Self::key(mask, at)).then(|| self.page.offset(at.byte_index()))
    }
}

/// Pages of instruction text that are kept; a power of two.
const TEXT_PAGES: usize = 8;

/// Those that are while instructions are executed one at a time; a power of two.
const STEPPED_PAGES: usize = 4;

/// Pages whose translations are kept.
#[derive(Debug)]
pub struct KeptPages {
    /// What all of them were translated under besides the PSW: control registers 0 and 13, and the prefix.
    under: [u64; 3],
    /// What those of the primary and the secondary space were: control registers 1 and 7.
    programs: [u64; 2],
    /// Pages of instruction text as last translated, by the rightmost bits of the page number:
    /// a control program masks interruptions in many places.
    pub text: [KeptPage; TEXT_PAGES],
    /// The same while instructions are executed one at a time: none of the above is kept then.
    pub stepped: [KeptPage; STEPPED_PAGES],
    /// The pages of the operand that was last fetched, and last stored, and of the one that was last stored
    /// into the first two pages.
    pub operands: [Cell<KeptPage>; 3],
    /// Pages of the enhanced-monitor counter array, even and odd ones.
    pub counters: [Cell<KeptPage>; 2],
    /// The two pages whose real addresses were loaded last, with these in place of absolute ones.
    pub real: [KeptPage; 2],
}

impl KeptPages {
    /// No pages.
    const fn none() -> Self {
        Self {
            under: [0; 3],
            programs: [0; 2],
            text: [KeptPage::NONE; TEXT_PAGES],
            stepped: [KeptPage::NONE; STEPPED_PAGES],
            operands: [const { Cell::new(KeptPage::NONE) }; 3],
            counters: [const { Cell::new(KeptPage::NONE) }; 2],
            real: [KeptPage::NONE; 2],
        }
    }

    /// Where the page of a counter at an address is kept.
    #[inline(always)]
    pub const fn counter(&self, at: Virtual) -> &Cell<KeptPage> {
        &self.counters[(at.0 >> 12) as usize % 2]
    }

    /// Forgets the pages of the counter array.
    pub fn forget_counters(&mut self) {
        self.counters = Self::none().counters;
    }

    /// Where the page of instruction text at an address is kept.
    #[inline(always)]
    pub const fn text_mut(&mut self, at: Virtual) -> &mut KeptPage {
        &mut self.text[(at.0 >> 12) as usize % TEXT_PAGES]
    }

    /// The real address of a page that is kept.
    #[inline(always)]
    pub fn find_real(&self, mask: u64, at: Virtual) -> Option<Absolute> {
        let [last, before] = &self.real;
        last.find(mask, at).or_else(|| before.find(mask, at))
    }

    /// Keeps a page whose real address was loaded.
    pub const fn keep_real(&mut self, page: KeptPage) {
        self.real = [page, self.real[0]];
    }

    /// Forgets all pages of instruction text, and gives the one that was kept for an address.
    pub fn take_text(&mut self, at: Virtual) -> KeptPage {
        let kept = *self.text_mut(at);
        self.text = Self::none().text;
        kept
    }

    /// Forgets the pages of the primary and the secondary space.
    fn forget_programs(&mut self) {
        let operands = self.operands.iter_mut().map(Cell::get_mut);
        let text = self.text.iter_mut().chain(&mut self.stepped);
        for page in text.chain(&mut self.real).chain(operands) {
            if page.is_of_program() {
                page.key = u64::MAX;
            }
        }
    }

    fn forget(&mut self) {
        self.text = Self::none().text;
        self.stepped = Self::none().stepped;
        self.operands = Self::none().operands;
        self.forget_counters();
        self.real = Self::none().real;
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
    /// What is to be done before the firmware is left.
    pub due: Due,
    /// The translations that are kept for millicode.
    pub kept: KeptPages,
    /// Control registers as the guest loaded them.
    pub control: [u64; 16],
    /// The prefix, a multiple of 8192.
    pub prefix: u64,
    /// The CPU's number, which is its address while it is not a thread of a core
    /// ([`crate::guest::threads`]).
    pub address: u16,
    /// The address by which the program knows the CPU at present.
    pub known_as: u16,
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
    /// Program interruptions by the first instruction of their own handler, one after the other.
    pub in_a_row: u32,
    /// The address-space control that the hardware runs it with.
    pub real_space: u64,
    /// Places that had been uncovered when it last asked.
    pub uncovered: u64,
    /// What the shadow has done so far.
    pub fills: Fills,
    /// The same as far as the extended counters have counted it.
    pub counted: Fills,
    /// What the machine's own counters have counted of all that is totalled elsewhere.
    pub machine_counted: Counted,
    /// The counter sets that the machine's own level counts from IPL on.
    pub machine_sets: CounterSets,
    /// What it knows of its core.
    pub thread: Thread,
    /// Until when the coprocessor is busy with this CPU's last function, by the clock of
    /// [`crate::guest::assist`].
    pub occupied_until: u64,
    /// The software counters of the machine's own level.
    pub software: SoftwareCounters,
    /// The model of its caches, in a run that has one.
    pub caches: Option<CpuCaches>,
    /// Program-event recording.
    pub per: Recording,
}

impl Vcpu {
    /// A stopped CPU after power-on reset.
    #[must_use]
    pub fn new(address: u16, own: Facility, machine: Facility) -> Self {
        let mut cpu = Self {
            general: [0; 16],
            psw: Psw::default(),
            due: Due::ATTENTION | Due::CONTROLS | Due::CLOCK | Due::SAMPLING,
            kept: KeptPages::none(),
            control: [0; 16],
            prefix: 0,
            address,
            known_as: address,
            state: CpuState::Stopped,
            pending: Pending::default(),
            clock_comparator: 0,
            tod_programmable: 0,
            interruption: Interruption::default(),
            text: Text::default(),
            account: Account::new(Mode::RealTime, 1000),
            own,
            machine,
            shadow: Shadow::default(),
            sampling: Schedule::default(),
            in_a_row: 0,
            real_space: SECONDARY_SPACE,
            uncovered: 0,
            fills: Fills::NONE,
            counted: Fills::NONE,
            machine_counted: Counted::default(),
            machine_sets: CounterSets::NONE,
            thread: Thread::default(),
            occupied_until: 0,
            software: SoftwareCounters::NONE,
            caches: None,
            per: Recording::default(),
        };
        cpu.reset_controls();
        cpu
    }

    fn reset_controls(&mut self) {
        self.control = [0; 16];
        self.control[0] = CR0_INITIAL;
        self.control[14] = CR14_INITIAL;
        self.due |= Due::CONTROLS;
    }

    /// CPU reset: pending external conditions and activation controls go, registers stay.
    pub fn cpu_reset(&mut self) {
        extended::settle(self);
        self.forget_translations();
        self.pending = Pending::default();
        self.per.reset();
        self.in_a_row = 0;
        if let Some(caches) = &mut self.caches {
            caches.purge();
        }
        self.own.reset(Reset::Cpu, &self.account.activity());
        self.state = CpuState::Stopped;
        self.due |= Due::SAMPLING | Due::ATTENTION;
    }

    /// Initial CPU reset, but for what stays in the hardware (the CPU timer, the TOD programmable field
    /// and the floating-point-control register): CPU reset, and PSW, prefix, control registers, clock
    /// comparator and the program parameter take their initial values.
    pub fn initial_cpu_reset(&mut self) {
        self.cpu_reset();
        self.psw = Psw::default();
        self.prefix = 0;
        self.clock_comparator = 0;
        self.tod_programmable = 0;
        self.own.reset(Reset::Initial, &self.account.activity());
        self.reset_controls();
    }

    /// Clear reset of the CPU, but for what stays in the hardware (also the floating-point, vector and
    /// access registers): initial CPU reset, and zeros in the general registers.
    pub fn clear_reset(&mut self) {
        self.initial_cpu_reset();
        self.general = [0; 16];
    }

    /// The absolute address of the instruction text at an address, if its page is kept.
    #[must_use]
    #[inline(always)]
    pub fn kept_text(&self, at: Virtual) -> Option<Absolute> {
        self.kept.text[(at.0 >> 12) as usize % TEXT_PAGES].find(self.psw.mask, at)
    }

    /// The same while instructions are executed one at a time.
    #[must_use]
    #[inline]
    pub fn stepped_text(&self, at: Virtual) -> Option<Absolute> {
        self.kept.stepped[(at.0 >> 12) as usize % STEPPED_PAGES].find(self.psw.mask, at)
    }

    /// Keeps a page of instruction text while they are.
    pub fn keep_stepped_text(&mut self, at: Virtual, place: Absolute) {
        let page = KeptPage::new(self.psw.mask, at, place);
        self.kept.stepped[(at.0 >> 12) as usize % STEPPED_PAGES] = page;
    }

    /// Keeps a page of instruction text.
    pub fn keep_text(&mut self, at: Virtual, place: Absolute) {
        *self.kept.text_mut(at) = KeptPage::new(self.psw.mask, at, place);
    }

    /// Forgets all translations that were kept: tables may have changed.
    pub fn forget_translations(&mut self) {
        self.kept.forget();
    }

    /// Controls may have changed: forgets what was translated under others. Control programs that execute in the home
    /// space go to and fro between the spaces of programs, at each of their calls.
    pub fn change_translations(&mut self) {
        let control = &self.control;
        let [zero, home, prefix] = self.kept.under;
        if (zero ^ control[0]) | (home ^ control[13]) | (prefix ^ self.prefix) != 0 {
            self.kept.forget();
            self.kept.under = [control[0], control[13], self.prefix];
        }
        let [primary, secondary] = self.kept.programs;
        if (primary ^ control[1]) | (secondary ^ control[7]) != 0 {
            self.kept.forget_programs();
            self.kept.programs = [control[1], control[7]];
        }
    }

    /// Forgets what was kept of an operand in a page frame whose state has changed: a store must be told to
    /// the scanner again.
    pub fn forget_operands_in(&mut self, frame: Absolute) {
        let kept = &mut self.kept;
        for page in kept.operands.iter_mut().chain(&mut kept.counters) {
            if page.get_mut().place() == frame {
                *page.get_mut() = KeptPage::NONE;
            }
        }
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
}
