//! What a virtual CPU has done: its guest time, divided into supervisor and problem state.
//!
//! The counters, the sampling interval and the end of a turn all depend on this account. Guest time runs from
//! leaving to the guest until the next trap; it includes neither wait time nor the firmware's own time. In
//! exact mode the clock advances 2^N ns with each instruction. Guest time less the constant overhead of each
//! trap is therefore the number of instructions.
//!
//! A machine below that has the CPU-measurement counter facility itself can count instead ([`Account::counted`]). The
//! guest always runs in the problem state of the hardware, and the firmware never does; so the problem-state counters of
//! the machine below are those of the guest, whatever the clock says.

use arch::interruption::Class;
use arch::tod::{Scale, UNITS_PER_MICROSECOND, units};
use cpumf::counters::Activity;

/// How time becomes instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Under an instruction-counting clock: an instruction is 2^shift ns.
    Exact {
        /// The shift N.
        shift: u32,
    },
    /// Real time: cycles are guest time × CPU speed, and instructions cannot be known, unless the machine below counts both.
    RealTime,
}

impl Mode {
    /// The shift N; 0 in real time, which has no window.
    #[must_use]
    pub const fn shift(self) -> u32 {
        match self {
            Self::Exact { shift } => shift,
            Self::RealTime => 0,
        }
    }

    /// Cycles per microsecond, unless the machine below counts them at a speed of its own.
    #[must_use]
    pub const fn cpu_speed(self) -> u32 {
        match self {
            Self::Exact { shift } => 1000 >> shift,
            Self::RealTime => 1000,
        }
    }
}

/// The CPU speed, if so many cycles take so many clock units: whole cycles per microsecond, rounded. `None` if it is none,
/// or no number of 32 bits.
#[must_use]
pub fn measured_speed(cycles: u64, units: u64) -> Option<u32> {
    let scaled = u128::from(cycles) * u128::from(UNITS_PER_MICROSECOND);
    let speed = (scaled + u128::from(units / 2)).checked_div(units.into())?;
    u32::try_from(speed).ok().filter(|&speed| speed != 0)
}

/// How many ticks a trap takes, and which traps charge the instruction that caused them.
///
/// The machine measures them at IPL by timing known sequences, for each class and program-interruption code,
/// because what an instruction-counting clock charges depends on the machine below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charges {
    /// By [`Class`]: ticks from the stamp on leaving to the guest's first instruction, plus those from its
    /// last instruction to the stamp on entry.
    pub overhead: [u64; 6],
    /// The part of each overhead that lies before the guest's first instruction.
    pub exit: u64,
    /// By the rightmost six bits of the program-interruption code (zeros for a monitor event alone): 1 if the
    /// clock charged the instruction that did not complete, else 0.
    pub program: [u8; 64],
    /// The charge for a supervisor call: it completes, so it should be 1.
    pub supervisor_call: u8,
    /// The charge for a COMPARE AND TRAP, which completes, although its data exception may be charged otherwise when it is
    /// that of another instruction.
    pub compare_and_trap: u8,
    /// What an EXECUTE adds when its target traps.
    pub execute: u8,
    /// The charge for an EXECUTE whose target cannot be fetched.
    pub target_fetch: u8,
    /// The charge for an EXECUTE whose target cannot access an operand.
    pub target_operand: u8,
}

impl Default for Charges {
    fn default() -> Self {
        Self {
            overhead: [0; 6],
            exit: 0,
            program: [0; 64],
            supervisor_call: 0,
            compare_and_trap: 0,
            execute: 0,
            target_fetch: 0,
            target_operand: 0,
        }
    }
}

impl Charges {
    /// Sets the charge of a program interruption.
    pub const fn set(&mut self, code: u16, charged: u8) {
        self.program[(code & 0x3F) as usize] = charged;
    }

    /// Counts the instruction that a program interruption does not complete as charged, and as one less of overhead: the
    /// sums are the same. So a refused instruction that is performed has nothing to be corrected, also where the clock charges
    /// none, as that of a machine does to the machine above it.
    pub fn charge_refused(&mut self) {
        let overhead = &mut self.overhead[Class::Program as usize];
        if self.program[1] != 0 || *overhead == 0 {
            return;
        }
        *overhead -= 1;
        for charged in self.program.iter_mut().chain([&mut self.compare_and_trap]) {
            *charged = charged.saturating_add(1);
        }
    }

    /// Whether the clock charges one for an instruction that the hardware refuses, as operation or privileged operation: then
    /// one that is performed instead has nothing to be corrected.
    #[must_use]
    #[inline(always)]
    pub const fn refused_is_one(&self) -> bool {
        let [_, operation, privileged, ..] = self.program;
        u16::from_be_bytes([operation, privileged]) == 0x0101
    }

    /// The charge of a program interruption.
    #[must_use]
    #[inline]
    pub const fn of(&self, code: u16) -> i64 {
        self.program[(code & 0x3F) as usize] as i64
    }
}

/// An account that the counter facility of the machine below keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// At the last trap: the problem-state CPU cycles and instructions that the machine below has counted.
    pub last: [u64; 2],
    /// By how many the instructions in guest supervisor and problem state exceed the cycles, modulo 2^64. What corrects the
    /// cycles for an instruction corrects the instructions, too.
    excess: [u64; 2],
}

/// The clock at which a CPU began that has not begun.
const NOT_STARTED: u64 = u64::MAX;

/// The account of one virtual CPU.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// How time becomes instructions.
    pub mode: Mode,
    /// Cycles per microsecond.
    pub cpu_speed: u32,
    /// The same, ready for conversion.
    scale: Scale,
    /// The clock when the firmware last left to the guest.
    pub left: u64,
    /// Cycles in guest supervisor and problem state.
    pub cycles: [u64; 2],
    /// Traps so far.
    pub traps: u64,
    /// The clock when this CPU began to work for the guest, or [`NOT_STARTED`].
    started: u64,
    /// Ticks in which this CPU waited, was stopped or had no turn.
    pub idle: u64,
    /// The clock when such an idle time last began or ended.
    pub rested: u64,
    /// The clock when the firmware was last entered.
    pub entered: u64,
    /// By how much the clock had been set forward in all when these stamps were taken.
    pub epoch: u64,
    /// Ticks of the firmware's own time by which it has set the clock back.
    pub hidden: u64,
    /// In real time: what the machine below counts, if it does.
    pub counted: Option<Counted>,
}

impl Account {
    /// An empty account; `cpu_speed` is in cycles per microsecond.
    #[must_use]
    pub const fn new(mode: Mode, cpu_speed: u32) -> Self {
        let scale = match mode {
            Mode::Exact { shift } => Scale::to_steps(shift),
            Mode::RealTime => Scale::to_cycles(cpu_speed),
        };
        Self {
            mode,
            cpu_speed,
            scale,
            left: 0,
            cycles: [0; 2],
            traps: 0,
            started: NOT_STARTED,
            idle: 0,
            rested: 0,
            entered: 0,
            epoch: 0,
            hidden: 0,
            counted: None,
        }
    }

    /// Whether the account knows instructions.
    #[must_use]
    pub const fn counts_instructions(&self) -> bool {
        matches!(self.mode, Mode::Exact { .. }) || self.counted.is_some()
    }

    /// Ticks between two clock values: instructions in exact mode, cycles otherwise.
    #[must_use]
    #[inline]
    pub fn ticks(&self, from: u64, to: u64) -> u64 {
        self.scale.ticks(to.wrapping_sub(from))
    }

    /// The clock units in which so many ticks pass: the inverse of [`Self::ticks`].
    #[must_use]
    #[inline(always)]
    pub fn units(&self, ticks: u64) -> u64 {
        match self.mode {
            Mode::Exact { shift } => units(ticks << shift),
            Mode::RealTime => units(ticks.wrapping_mul(1000) / u64::from(self.cpu_speed.max(1))),
        }
    }

    /// Adds the guest time up to a trap, which is entered at `entered`, less the overhead of a trap of its
    /// class.
    #[inline]
    pub fn enter(&mut self, charges: &Charges, class: Class, problem: bool) {
        let overhead = charges.overhead[class as usize];
        let span = self.ticks(self.left, self.entered);
        self.traps += 1;
        // Every span includes this overhead, so it is never shorter.
        let guest = span.wrapping_sub(overhead);
        self.cycles[usize::from(problem)] = self.cycles[usize::from(problem)].wrapping_add(guest);
    }

    /// Adds what the machine below has counted up to a trap. Its problem-state counters stand still in the firmware, so a
    /// trap has no overhead. Returns whether the account is of that kind.
    pub const fn enter_counted(&mut self, now: [u64; 2], problem: bool) -> bool {
        let Some(counted) = &mut self.counted else {
            return false;
        };
        self.traps += 1;
        let cycles = now[0].wrapping_sub(counted.last[0]);
        let instructions = now[1].wrapping_sub(counted.last[1]);
        counted.last = now;
        let problem = problem as usize;
        self.cycles[problem] = self.cycles[problem].wrapping_add(cycles);
        counted.excess[problem] = counted.excess[problem]
            .wrapping_add(instructions)
            .wrapping_sub(cycles);
        true
    }

    /// Corrects the account for the instruction that trapped: it should count `should` instructions, and the
    /// clock charged `charged`.
    #[inline]
    pub fn correct(&mut self, should: i64, charged: i64, problem: bool) {
        if should != charged {
            let cycles = &mut self.cycles[usize::from(problem)];
            *cycles = cycles.saturating_add_signed(should - charged);
        }
    }

    /// Adds an instruction that was performed in the same trap as the one before it: the clock has charged
    /// nothing for it.
    #[inline(always)]
    pub fn complete_another(&mut self, problem: bool) {
        let cycles = &mut self.cycles[usize::from(problem)];
        *cycles = cycles.wrapping_add(1);
    }

    /// Guest cycles in both states.
    #[must_use]
    #[inline]
    pub fn total(&self) -> u64 {
        self.cycles[0] + self.cycles[1]
    }

    /// The firmware begins to work for the guest on this CPU.
    pub fn start(&mut self, now: u64) {
        (self.started, self.entered, self.rested) = (now, now, now);
        (self.idle, self.hidden) = (0, 0);
    }

    /// Adds an idle time between two clock values: the CPU waited, was stopped or had no turn.
    pub fn rest(&mut self, from: u64, to: u64) {
        self.idle += self.ticks(from, to);
        self.rested = to;
    }

    /// The guest was held between two clock values, whatever the machine did meanwhile: it had no turn. `before` is the account
    /// when that began. The clock has not been set back for any of it.
    pub fn held(&mut self, before: &Self, from: u64, to: u64) {
        (self.idle, self.hidden) = (before.idle, before.hidden);
        self.rest(from, to);
    }

    /// The clock was set forward by this much: the stamps move with it.
    pub fn shift(&mut self, forward: u64) {
        for stamp in [&mut self.left, &mut self.rested, &mut self.entered] {
            *stamp = stamp.wrapping_add(forward);
        }
        if self.started != NOT_STARTED {
            self.started = self.started.wrapping_add(forward);
        }
    }

    /// Ticks that the firmware took up to the last trap or the end of the last idle time, whichever was
    /// later: all time that was neither guest time nor idle. A CPU that has not begun has taken none.
    #[must_use]
    pub fn firmware(&self) -> u64 {
        if self.started == NOT_STARTED {
            return 0;
        }
        self.ticks(self.started, self.entered)
            .max(self.ticks(self.started, self.rested))
            .saturating_add(self.hidden)
            .saturating_sub(self.total() + self.idle)
    }

    /// The activity that counters are computed from.
    #[must_use]
    #[inline]
    pub fn activity(&self) -> Activity {
        if let (Mode::RealTime, Some(counted)) = (self.mode, &self.counted) {
            return self.activity_counted(counted);
        }
        let exact = matches!(self.mode, Mode::Exact { .. });
        let instructions = if exact { self.total() } else { 0 };
        Activity {
            cycles: self.total(),
            instructions,
            problem_cycles: self.cycles[1],
            problem_instructions: if exact { self.cycles[1] } else { 0 },
        }
    }

    /// The same where the machine below counts.
    #[cold]
    fn activity_counted(&self, counted: &Counted) -> Activity {
        let [supervisor, problem] =
            [0, 1].map(|state| self.cycles[state].wrapping_add(counted.excess[state]));
        Activity {
            cycles: self.total(),
            instructions: supervisor.wrapping_add(problem),
            problem_cycles: self.cycles[1],
            problem_instructions: problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arch::tod::units;

    #[test]
    fn an_instruction_is_two_to_the_shift_nanoseconds_whatever_the_phase_of_the_clock() {
        for shift in [0, 3] {
            let account = Account::new(Mode::Exact { shift }, 1000);
            let at = |instructions: u64| 512 * 77 + units((1_000_003 + instructions) << shift);
            for n in 0..5000 {
                assert_eq!(account.ticks(at(0), at(n)), n);
                assert_eq!(account.ticks(at(17), at(17 + n * 1001)), n * 1001);
            }
        }
    }

    #[test]
    fn in_real_time_a_span_has_as_many_cycles_as_the_cpu_speed_says() {
        for cpu_speed in [1, 1000, 5200] {
            let account = Account::new(Mode::RealTime, cpu_speed);
            for microseconds in [0, 1, 7, 1 << 32] {
                let cycles = microseconds * u64::from(cpu_speed);
                assert_eq!(account.ticks(77, 77 + microseconds * 4096), cycles);
            }
        }
    }

    #[test]
    fn a_measured_speed_is_in_whole_cycles_per_microsecond() {
        for (cycles, units, speed) in [
            (50_000, 50 * 4096, Some(1000)),
            // A unit of the clock more or less changes nothing.
            (50_000, 50 * 4096 - 1, Some(1000)),
            (50_000, 50 * 4096 + 1, Some(1000)),
            (5_200_000, 1000 * 4096, Some(5200)),
            (5_200_499, 1000 * 4096, Some(5200)),
            (5_200_500, 1000 * 4096, Some(5201)),
            (15, 4096, Some(15)),
            (1 << 52, 1 << 52, Some(4096)),
            (1, 4096 * 3, None),
            (0, 4096, None),
            (77, 0, None),
            (u64::MAX, 1, None),
        ] {
            assert_eq!(measured_speed(cycles, units), speed, "{cycles} in {units}");
        }
    }

    #[test]
    fn ticks_and_clock_units_convert_into_each_other() {
        let accounts = [
            Account::new(Mode::Exact { shift: 0 }, 1000),
            Account::new(Mode::Exact { shift: 6 }, 15),
            Account::new(Mode::RealTime, 1000),
            Account::new(Mode::RealTime, 5200),
        ];
        for account in accounts {
            for ticks in [0, 1, 1000, 1 << 44] {
                let back = account.ticks(0, account.units(ticks));
                // A cycle of a fast CPU is shorter than a nanosecond, the unit of the computation.
                let error = u64::from(account.cpu_speed) / 1000 + 1;
                assert!(
                    back <= ticks && ticks - back <= error,
                    "{ticks} {account:?}"
                );
            }
        }
    }

    #[test]
    fn a_cpu_without_a_turn_costs_no_firmware_instruction() {
        let mut account = Account::new(Mode::Exact { shift: 0 }, 1000);
        let at = |instructions: u64| units(77_000_001 + instructions);
        // It waits for its first turn, and the clock is set meanwhile.
        account.rest(at(0), at(100));
        account.shift(7);
        assert_eq!(account.firmware(), 0);
        account.start(at(0));
        assert_eq!((account.firmware(), account.idle), (0, 0));
        // It runs, is entered, and is idle twice in the same trap.
        account.rested = at(40);
        assert_eq!(account.firmware(), 40);
        account.rest(at(40), at(1_000_040));
        assert_eq!(account.firmware(), 40);
        account.left = at(1_000_050);
        account.entered = at(1_000_150);
        account.enter(&Charges::default(), Class::External, false);
        assert_eq!((account.firmware(), account.total()), (50, 100));
        account.rest(at(1_000_200), at(2_000_200));
        account.rest(at(2_000_230), at(3_000_230));
        assert_eq!(account.firmware(), 50 + 50 + 30);
    }

    #[test]
    fn what_the_clock_was_set_back_by_is_time_of_the_firmware() {
        let mut account = Account::new(Mode::Exact { shift: 0 }, 1000);
        account.start(0);
        account.entered = units(100);
        account.enter(&Charges::default(), Class::Program, false);
        // The firmware takes 300 instructions, and sets the clock back by them.
        account.hidden += 300;
        account.left = units(100);
        account.entered = units(150);
        account.enter(&Charges::default(), Class::Program, false);
        assert_eq!((account.total(), account.firmware()), (150, 300));
    }

    #[test]
    fn a_hold_is_idle_whatever_the_machine_hides_meanwhile() {
        let mut account = Account::new(Mode::Exact { shift: 0 }, 1000);
        account.start(0);
        account.hidden = 300;
        account.entered = units(100);
        account.enter(&Charges::default(), Class::Program, false);
        account.rest(units(110), units(130));
        let before = account;
        // The machine works between the waits of the hold, and sets the clock back by that.
        for at in [150, 180] {
            account.hidden += 20;
            account.rest(units(at), units(at + 10));
        }
        account.held(&before, units(140), units(200));
        assert_eq!((account.idle, account.hidden), (20 + 60, 300));
        assert_eq!(account.firmware(), 300 + 20);
    }

    #[test]
    fn a_monitor_event_has_a_charge_of_its_own_with_or_without_a_per_event() {
        let mut charges = Charges::default();
        for code in 1..0x40 {
            charges.set(code, 9);
        }
        assert_eq!(charges.of(0x40), 0);
        charges.set(0x40, 1);
        assert_eq!((charges.of(0xC0), charges.of(0x3F)), (1, 9));
    }

    #[test]
    fn what_the_machine_below_counts_is_the_account_whatever_the_clock_says() {
        let mut account = Account::new(Mode::RealTime, 1000);
        assert!(!account.counts_instructions() && !account.enter_counted([9, 9], false));
        assert_eq!((account.traps, account.activity()), (0, Activity::NONE));
        // The counters began long ago, and pass their end.
        account.counted = Some(Counted {
            last: [u64::MAX - 9, 1000],
            ..Counted::default()
        });
        assert!(account.counts_instructions());
        assert!(account.enter_counted([20, 1010], false));
        // Millicode has performed an instruction that the machine below has not counted.
        account.correct(1, 0, false);
        account.entered = units(1_000_000);
        assert!(account.enter_counted([120, 1017], true));
        let expected = Activity {
            cycles: 131,
            instructions: 18,
            problem_cycles: 100,
            problem_instructions: 7,
        };
        assert_eq!((account.traps, account.activity()), (2, expected));
    }

    #[test]
    fn what_counts_as_charged_changes_no_sum() {
        let mut charges = Charges {
            overhead: [10; 6],
            ..Charges::default()
        };
        charges.set(0x06, 1);
        let total = |charges: &Charges, code, should| {
            let mut account = Account::new(Mode::Exact { shift: 0 }, 1000);
            account.left = 0;
            account.entered = units(30);
            account.enter(charges, Class::Program, true);
            account.correct(should, charges.of(code), true);
            account.total()
        };
        let all = |charges: &Charges| {
            [(1, 1), (1, 0), (6, 0), (0x11, 0)].map(|(c, s)| total(charges, c, s))
        };
        let before = all(&charges);
        assert_eq!(before, [21, 20, 19, 20]);
        charges.charge_refused();
        assert_eq!(
            (all(&charges), charges.of(1), charges.of(6)),
            (before, 1, 2)
        );
        // A clock that charges it needs no change.
        let charged = charges;
        charges.charge_refused();
        assert_eq!(charges, charged);
    }

    #[test]
    fn a_suppressed_instruction_counts_none_and_a_performed_one_counts_one() {
        let mut account = Account::new(Mode::Exact { shift: 0 }, 1000);
        account.left = 0;
        let charges = Charges {
            overhead: [10; 6],
            ..Charges::default()
        };
        account.entered = units(30);
        account.enter(&charges, Class::Program, true);
        account.correct(0, 1, true);
        assert_eq!((account.total(), account.cycles[1]), (19, 19));
        account.correct(1, 0, false);
        assert_eq!(account.total(), 20);
    }
}
