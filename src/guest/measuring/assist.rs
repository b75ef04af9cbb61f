//! The message-security assist of a configuration: whether its instructions are caught, and for how
//! long a coprocessor is busy.
//!
//! The cryptographic instructions are not privileged: they run below without the firmware. The scanner catches them in
//! two cases only, and [`Assist::caught`](crate::state::assist::Assist::caught) is the one switch:
//!
//! - the machine **supplies** functions that the hardware below lacks. This is fixed at IPL, because a program asks
//!   only once which facilities and functions there are;
//! - they are **counted**: the crypto-activity counter set of some CPU, at either level, or the coprocessor-group
//!   counter sets are enabled. [`counting_changed`] is called for every change; if the switch changes, all pages are
//!   scanned again.
//!
//! In exact mode every two CPUs share a group of coprocessors. A function occupies its coprocessor for a time that
//! depends only on the function and its bytes. The CPU that issued it gives up its turn until then, and a CPU that
//! issues a function meanwhile is blocked for the rest of that time.
//!
//! A clock of CPU cycles that all CPUs share measures this time. It runs with the guest time of the CPU that has the
//! turn, and while all CPUs are idle. The firmware's own time does not count: however long it takes to perform a
//! function or to pass the turn, it blocks no CPU. A wait for a coprocessor is not guest time, so the basic counter set
//! does not count its cycles. Without an instruction-counting clock nothing is counted, and no CPU waits.

use crate::hardware::Hardware;
use crate::state::account::Mode;
use crate::state::assist::GROUPS;
use crate::state::configuration::Configuration;
use crate::state::vcpu::Vcpu;
use crate::storage::scanner;
use core::sync::atomic::Ordering;
use cpumf::CounterSets;

/// The functions that `cpu` or the coprocessor groups count may have changed: scans all pages again if the switch has
/// changed.
pub fn counting_changed<H: Hardware>(cpu: &Vcpu, configuration: &Configuration, hardware: &mut H) {
    let assist = &configuration.assist;
    let before = assist.caught();
    let set = |bit: u32, counts: bool| {
        if counts {
            assist.counting.fetch_or(bit, Ordering::Relaxed);
        } else {
            assist.counting.fetch_and(!bit, Ordering::Relaxed);
        }
    };
    let counts = [&cpu.own, &cpu.machine].iter().any(|facility| {
        let enabled = facility.counters().enabled();
        !enabled
            .intersection(CounterSets::CRYPTO_ACTIVITY)
            .is_empty()
    });
    set(1 << (cpu.address & 15), counts);
    set(GROUPS, configuration.groups().counting());
    if before != assist.caught() {
        scanner::forget_all(configuration, hardware);
    }
}

/// The TOD clock until which the CPU waits for a coprocessor; `None` when it no longer waits.
#[must_use]
pub fn waits_until(cpu: &Vcpu, configuration: &Configuration, clock: u64) -> Option<u64> {
    if cpu.account.mode == Mode::RealTime {
        return None;
    }
    let now = configuration.assist.now(cpu);
    let rest = cpu.occupied_until.checked_sub(now)?;
    (rest > 0).then(|| clock.saturating_add(cpu.account.units(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::account::Account;
    use crate::state::assist::{Assist, Queries};
    use crate::state::page_frames::PageState;
    use crate::storage::scanner::{Entry, make_executable};
    use crate::test_machine::Bench;
    use arch::address::Absolute;
    use arch::bits::bit64;
    use arch::facility::FacilityList;
    use arch::tod::units;
    use cpumf::counters::CoprocessorGroups;
    use cpumf::instruction::{
        load_cpu_counter_set_controls as lcctl, load_peripheral_counter_set_controls as lpctl,
    };
    use msa::Instruction;

    const NONE: Queries = [0; Instruction::ALL.len()];

    /// KM at 2000, followed by a branch.
    const AT: Absolute = Absolute(0x2000);

    fn bench() -> Bench {
        let mut bench = Bench::new();
        bench.set(AT.0, &[0xB9, 0x2E, 0x00, 0x24, 0x07, 0xFE]);
        bench
    }

    fn execute(bench: &mut Bench) -> PageState {
        make_executable(&bench.configuration, &mut bench.hardware, AT, Entry::At(0))
    }

    fn changed(bench: &mut Bench) {
        counting_changed(&bench.cpu, &bench.configuration, &mut bench.hardware);
    }

    #[test]
    fn the_instructions_run_below_unless_they_are_counted_or_supplied() {
        let mut bench = bench();
        assert_eq!(execute(&mut bench), PageState::Text);
        let mut bench = self::bench();
        bench.configuration.assist = Assist::new(true, NONE);
        assert!(matches!(execute(&mut bench), PageState::Copied(_)));
    }

    #[test]
    fn a_function_is_offered_that_is_supplied_or_that_the_machine_below_has() {
        let code = |code: u32| 1_u128 << (127 - code);
        let mut below = NONE;
        below[Instruction::Kimd as usize] = code(0) | code(3) | code(127);
        let counted = Assist::new(false, below);
        assert_eq!(counted.offered(Instruction::Kimd), code(0) | code(3));
        assert_eq!(counted.offered(Instruction::Km), code(0));
        let supplied = Assist::new(true, below);
        let all = u128::from_be_bytes(msa::query(Instruction::Kimd));
        assert_eq!(supplied.offered(Instruction::Kimd), all);
        // True random numbers come from the hardware only.
        assert_eq!(supplied.offered(Instruction::Prno) & code(114), 0);
        below[Instruction::Prno as usize] = code(0) | code(114);
        let supplied = Assist::new(true, below);
        assert_ne!(supplied.offered(Instruction::Prno) & code(114), 0);
    }

    #[test]
    fn the_facilities_of_the_assist_are_shown_when_its_functions_are_supplied() {
        let below = FacilityList::default().with(17);
        assert_eq!(Assist::default().facilities(below), below);
        let supplied = Assist::new(true, NONE);
        let shown = supplied.facilities(below);
        // Extension 3 has PCKMO and wrapped keys, which the machine does not supply.
        let expected = [57, 77, 146, 155];
        assert_eq!(shown, expected.into_iter().fold(below, FacilityList::with));
    }

    #[test]
    fn pages_are_scanned_again_when_the_first_crypto_activity_set_is_enabled_and_when_the_last_is_disabled()
     {
        let mut bench = bench();
        execute(&mut bench);
        let now = bench.cpu.account.activity();
        let facility = &mut bench.cpu.own;
        facility.authorize_counters(CounterSets::CRYPTO_ACTIVITY, &now);
        changed(&mut bench);
        assert_eq!(bench.configuration.page_frames.state(AT), PageState::Text);
        lcctl(&mut bench.cpu.own, &now, bit64(44)).unwrap();
        changed(&mut bench);
        assert_eq!(bench.configuration.page_frames.state(AT), PageState::Data);
        assert!(matches!(execute(&mut bench), PageState::Copied(_)));
        // Activation changes nothing.
        lcctl(&mut bench.cpu.own, &now, bit64(44) | bit64(60)).unwrap();
        changed(&mut bench);
        assert!(matches!(
            bench.configuration.page_frames.state(AT),
            PageState::Copied(_)
        ));
        lcctl(&mut bench.cpu.own, &now, 0).unwrap();
        changed(&mut bench);
        assert_eq!(execute(&mut bench), PageState::Text);
    }

    #[test]
    fn pages_are_scanned_again_when_the_coprocessor_group_sets_are_enabled() {
        let mut bench = bench();
        *bench.configuration.groups() = CoprocessorGroups::new(1, 2);
        execute(&mut bench);
        {
            let mut groups = bench.configuration.groups();
            bench.cpu.own.authorize_coprocessor_groups(true, &groups);
            lpctl(&bench.cpu.own, &mut groups, 2).unwrap();
        }
        changed(&mut bench);
        assert!(matches!(execute(&mut bench), PageState::Copied(_)));
    }

    #[test]
    fn the_clock_of_the_coprocessors_runs_with_the_cpu_that_has_the_turn_and_while_all_are_idle() {
        let mut bench = bench();
        bench.cpu.account = Account::new(Mode::Exact { shift: 0 }, 1000);
        bench.cpu.occupied_until = 500;
        let clock = units(1_000_000);
        let until = |bench: &Bench| waits_until(&bench.cpu, &bench.configuration, clock);
        assert_eq!(until(&bench), Some(clock + units(500)));
        bench.cpu.account.cycles = [100, 50];
        assert_eq!(until(&bench), Some(clock + units(350)));
        bench.configuration.assist.gives_up(&bench.cpu);
        bench.configuration.assist.rested(200);
        // Another CPU has the turn.
        bench.cpu.address = 1;
        bench.cpu.account.cycles = [0, 149];
        assert_eq!(until(&bench), Some(clock + units(1)));
        bench.cpu.account.cycles = [0, 150];
        assert_eq!(until(&bench), None);
    }
}
