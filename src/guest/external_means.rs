//! The external means: what an operator changes at a CPU of the guest.
//!
//! SA23-2260 leaves it to an external means to authorize counter sets and sampling functions; here
//! that is the operator. A change is left in the CPU's mailbox. The CPU makes it itself, between two
//! instructions, before it takes any order of another CPU. So no CPU ever touches the registers of
//! another, and in exact mode the moment depends on the program alone.
//!
//! The losses are for testing programs that must handle them; the machine reports real losses by
//! itself.

use crate::hardware::Hardware;
use crate::measuring::assist;
use crate::recording::per::traced;
use crate::state::configuration::Configuration;
use crate::state::mailbox::{Mailbox, order};
use crate::state::pending_work::PendingWork;
use crate::state::vcpu::Vcpu;
use arch::cpu::MAXIMUM_CPUS;
use command::Change;
use core::sync::atomic::Ordering;
use cpumf::CounterSets;

/// The CPU has as many changes waiting as it can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// Asks a CPU of the configuration for a change. The caller wakes it.
///
/// # Errors
/// [`TooMany`]: the CPU has not made the earlier changes yet.
pub fn ask(configuration: &Configuration, cpu: u16, change: Change) -> Result<(), TooMany> {
    let mailbox = mailbox(configuration, cpu);
    mailbox
        .changes
        .lock()
        .push_back(change)
        .map_err(|_| TooMany)?;
    mailbox.orders.fetch_or(order::CHANGE, Ordering::AcqRel);
    Ok(())
}

fn mailbox(configuration: &Configuration, cpu: u16) -> &Mailbox {
    const { assert!(MAXIMUM_CPUS.is_power_of_two()) };
    &configuration.mailboxes[usize::from(cpu) & (MAXIMUM_CPUS - 1)]
}

/// Makes the changes requested of this CPU, in order.
#[cold]
pub fn make_changes<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    let mailbox = mailbox(configuration, cpu.address);
    loop {
        let next = mailbox.changes.lock().pop_front();
        let Some(change) = next else { break };
        make(cpu, configuration, hardware, change);
    }
    cpu.pending_work |= PendingWork::SAMPLING | PendingWork::ATTENTION;
    assist::counting_changed(cpu, configuration, hardware);
}

/// Makes one change: at the guest's own level, or to what the machine traces.
fn make<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    change: Change,
) {
    cpu.count_translations();
    let activity = cpu.account.activity();
    let own = &mut cpu.own;
    match change {
        Change::Counters(sets, authorized) => {
            let before = own.counters().authorized();
            let after = if authorized {
                before.union(sets)
            } else {
                before.without(sets)
            };
            if sets.intersection(CounterSets::COPROCESSOR_GROUP) != CounterSets::NONE {
                own.authorize_coprocessor_groups(authorized, &configuration.groups());
            }
            own.authorize_counters(after, &activity);
        }
        Change::BasicSampling(authorized) => own.authorize_basic_sampling(authorized),
        Change::DiagnosticSampling(authorized) => own.authorize_diagnostic_sampling(authorized),
        Change::LoseSampleData => own.lose_sample_data(),
        Change::LoseCounterData(set) => own.lose_counter_data(set, &activity),
        Change::InterruptKey => cpu.pending.interrupt_key = true,
        Change::Traces => traced::take_over(cpu, configuration, hardware),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::{self, Next};
    use crate::state::mailbox::MOST_CHANGES;
    use crate::state::page_frames::PageState;
    use crate::state::schedule::NEVER;
    use crate::storage::scanner::{Entry, make_executable};
    use crate::test_machine::Bench;
    use arch::address::Absolute;
    use cpumf::instruction::load_sampling_controls;
    use cpumf::sampling::request::SamplingRequest;
    use cpumf::{ControlState, instruction::load_cpu_counter_set_controls};

    fn change(bench: &mut Bench, change: Change) {
        ask(&bench.configuration, 0, change).unwrap();
        bench.cpu.pending_work |= PendingWork::ATTENTION;
        let next = dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        assert_eq!(next, Next::Run);
    }

    #[test]
    fn the_external_means_authorizes_one_set_and_leaves_the_others_alone() {
        let mut bench = Bench::new();
        change(&mut bench, Change::Counters(CounterSets::EXTENDED, true));
        let authorized = bench.cpu.own.counters().authorized();
        assert_eq!(authorized, CounterSets::HONEST.union(CounterSets::EXTENDED));
        change(&mut bench, Change::Counters(CounterSets::BASIC, false));
        let authorized = bench.cpu.own.counters().authorized();
        let expected = CounterSets::PROBLEM_STATE.union(CounterSets::EXTENDED);
        assert_eq!(authorized, expected);
        assert!(!bench.cpu.own.alerts().any(), "no set was enabled");
    }

    #[test]
    fn unauthorizing_what_is_enabled_is_an_alert_and_the_machines_level_does_not_notice() {
        let mut bench = Bench::new();
        let activity = bench.cpu.account.activity();
        for facility in [&mut bench.cpu.own, &mut bench.cpu.machine] {
            load_cpu_counter_set_controls(facility, &activity, 0x0002_0002).unwrap();
        }
        change(&mut bench, Change::Counters(CounterSets::BASIC, false));
        assert_eq!(bench.cpu.own.alerts().parameter(), 0x80);
        let machine = &bench.cpu.machine;
        assert_eq!(machine.counters().active(), CounterSets::BASIC);
        assert!(!machine.alerts().any());
    }

    #[test]
    fn the_assist_runs_below_again_when_its_counters_are_no_longer_authorized() {
        let mut bench = Bench::new();
        // KM, followed by a branch.
        bench.set(0x2000, &[0xB9, 0x2E, 0x00, 0x24, 0x07, 0xFE]);
        let at = Absolute(0x2000);
        change(
            &mut bench,
            Change::Counters(CounterSets::CRYPTO_ACTIVITY, true),
        );
        let activity = bench.cpu.account.activity();
        load_cpu_counter_set_controls(&mut bench.cpu.own, &activity, 0x0008_0000).unwrap();
        assist::counting_changed(&bench.cpu, &bench.configuration, &mut bench.hardware);
        let execute = |bench: &mut Bench| {
            let hardware = &mut bench.hardware;
            make_executable(&bench.configuration, hardware, at, Entry::At(0))
        };
        assert!(matches!(execute(&mut bench), PageState::Copied(_)));
        change(
            &mut bench,
            Change::Counters(CounterSets::CRYPTO_ACTIVITY, false),
        );
        assert_eq!(bench.configuration.page_frames.state(at), PageState::Data);
        assert_eq!(execute(&mut bench), PageState::Text);
    }

    #[test]
    fn a_sampling_function_that_is_unauthorized_or_loses_data_takes_no_more_samples() {
        for lost in [Change::BasicSampling(false), Change::LoseSampleData] {
            let mut bench = Bench::new();
            let request = SamplingRequest::basic(true, true, 5000, 0x1_0000, 0x2_0000);
            load_sampling_controls(&mut bench.cpu.own, &zerocopy::transmute!(request)).unwrap();
            bench.cpu.pending_work |= PendingWork::SAMPLING;
            dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
            assert_eq!(bench.cpu.sampling.own, 5000);
            change(&mut bench, lost);
            assert_eq!(bench.cpu.sampling.own, NEVER, "{lost:?}");
            assert!(bench.cpu.own.alerts().any());
        }
    }

    #[test]
    fn a_change_of_one_function_does_not_move_the_next_sample_of_the_other() {
        let mut bench = Bench::new();
        let request = SamplingRequest::basic(true, true, 5000, 0x1_0000, 0x2_0000);
        load_sampling_controls(&mut bench.cpu.own, &zerocopy::transmute!(request)).unwrap();
        bench.cpu.pending_work |= PendingWork::SAMPLING;
        dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        bench.cpu.account.cycles[0] += 3000;
        change(&mut bench, Change::DiagnosticSampling(true));
        assert_eq!(bench.cpu.sampling.own, 5000);
        assert_eq!(
            bench.cpu.own.sampling().diagnostic(),
            ControlState::Disabled
        );
    }

    #[test]
    fn changes_are_made_in_order_and_one_too_many_is_refused() {
        let mut bench = Bench::new();
        for n in 0..MOST_CHANGES {
            let set = Change::Counters(CounterSets::EXTENDED, n % 2 == 0);
            ask(&bench.configuration, 0, set).unwrap();
        }
        let more = ask(&bench.configuration, 0, Change::InterruptKey);
        assert_eq!(more, Err(TooMany));
        make_changes(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        let authorized = bench.cpu.own.counters().authorized();
        assert_eq!(authorized, CounterSets::HONEST);
    }

    #[test]
    fn the_interrupt_key_is_an_external_interruption_that_bit_57_of_control_register_0_opens() {
        let mut bench = Bench::new();
        bench.cpu.psw.mask |= arch::psw::EXTERNAL;
        bench.set_doublewords(0x1B0, &[0x1_8000_0000, 0x7000]);
        bench.cpu.control[0] = 0;
        change(&mut bench, Change::InterruptKey);
        assert_eq!(bench.cpu.psw.address, 0);
        bench.cpu.control[0] = arch::control::CR0_INTERRUPT_KEY;
        bench.cpu.pending_work |= PendingWork::ATTENTION;
        dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        assert_eq!(bench.cpu.psw.address, 0x7000);
        assert_eq!(bench.word(0x84), 0x40);
        assert!(!bench.cpu.pending.interrupt_key);
    }
}
