//! What couples the parts of a facility: authorization, resets, losses, and their alerts.

use super::super::fixtures::{self, active, counting, partition};
use super::super::model;
use super::super::state::ControlState;
use super::*;
use crate::instruction::{
    extract_peripheral_counter, load_cpu_counter_set_controls,
    load_peripheral_counter_set_controls, set_peripheral_counter,
};

const NOW: Activity = Activity {
    cycles: 100,
    ..Activity::NONE
};

#[test]
fn cpu_reset_deactivates_and_keeps_counters_controls_and_authorization() {
    let mut facility = counting();
    facility.reset(Reset::Cpu, &NOW);
    let counters = facility.counters();
    assert_eq!(counters.state(CounterSet::Basic), ControlState::Inactive);
    assert_eq!(counters.read(0, &Activity::NONE), Some(100));

    let mut facility = active(0x1_0000, 0x2_0000);
    facility.reset(Reset::Cpu, &NOW);
    assert_eq!(facility.sampling().basic(), ControlState::Inactive);
    assert_eq!(facility.sampling().tear(), 0x1_0000);
}

#[test]
fn initial_cpu_reset_disables_clears_and_keeps_authorization() {
    let mut facility = counting();
    facility.set_program_parameter(9);
    facility.reset(Reset::Initial, &NOW);
    assert_eq!(facility.program_parameter(), 0);
    assert_eq!(facility.counters().authorized(), CounterSets::HONEST);
    assert!(facility.counters().enabled().is_empty());
    load_cpu_counter_set_controls(&mut facility, &NOW, 0x0002_0000).unwrap();
    assert_eq!(facility.counters().read(0, &NOW), Some(0));

    let mut facility = active(0x1_0000, 0x2_0000);
    facility.reset(Reset::Initial, &NOW);
    assert_eq!(facility.sampling().basic(), ControlState::Disabled);
    assert_eq!(
        (facility.sampling().tear(), facility.sampling().dear()),
        (0, 0)
    );
}

#[test]
fn unauthorizing_an_enabled_set_alerts_and_clears_its_counters() {
    let mut facility = counting();
    facility.authorize_counters(CounterSets::PROBLEM_STATE, &NOW);
    assert_eq!(facility.take_alerts(), 0x80);
    facility.authorize_counters(CounterSets::HONEST, &NOW);
    assert_eq!(
        facility.counters().state(CounterSet::Basic),
        ControlState::Disabled
    );
    assert!(!facility.alerts().any());
    load_cpu_counter_set_controls(&mut facility, &NOW, 0x0002_0000).unwrap();
    assert_eq!(facility.counters().read(0, &NOW), Some(0));
}

#[test]
fn unauthorizing_a_set_that_is_not_enabled_causes_no_alert() {
    let mut facility = partition();
    facility.authorize_counters(CounterSets::NONE, &NOW);
    assert!(!facility.alerts().any());
}

#[test]
fn the_basic_set_counts_level_1_activity_and_the_problem_state_set_if_it_has_counters_for_it() {
    let level_1 = |model, set: CounterSet| {
        let mut facility = fixtures::of_model(model);
        facility.authorize_counters(CounterSets::HONEST, &NOW);
        load_cpu_counter_set_controls(&mut facility, &NOW, 0x0006_0006).unwrap();
        facility.count_level_1(false, [1, 2, 3, 4]);
        facility.count_level_1(true, [10, 20, 30, 40]);
        let first = u64::from(facility.counters().model().range(set).first) + 2;
        [0, 1, 2, 3].map(|index| facility.counters().read(first + index, &NOW))
    };
    let (in_both, in_problem_state) = ([11, 22, 33, 44], [10, 20, 30, 40]);
    // The first version number is 1 on z10, and 3 on z15.
    for model in [&model::Z10, &model::Z15] {
        let found = level_1(model, CounterSet::Basic);
        assert_eq!(found, in_both.map(Some), "{}", model.name);
    }
    let found = level_1(&model::Z10, CounterSet::ProblemState);
    assert_eq!(found, in_problem_state.map(Some));
    assert_eq!(level_1(&model::Z15, CounterSet::ProblemState), [None; 4]);
}

#[test]
fn counters_without_a_total_count_events_while_their_set_is_active() {
    let mut facility = fixtures::of_model(&model::Z15);
    facility.authorize_counters(CounterSets(0x29), &NOW);
    let shown = |facility: &Facility| {
        [80, 81, 82, 83, 128, 448, 449, 450].map(|number| facility.counters().read(number, &NOW))
    };
    let happen = |facility: &mut Facility| {
        let occupation = Occupation {
            busy: 40,
            blocked: 3,
        };
        facility.count_crypto(CryptoFunction::Ecc, occupation);
        facility.count_extended(128, 5);
        facility.count_extended(0, 5);
        facility.count_thread_cycles(1, 70);
        facility.count_thread_cycles(2, 6);
        facility.count_thread_cycles(3, 1);
    };
    happen(&mut facility);
    facility.multithreading(true, &NOW);
    load_cpu_counter_set_controls(&mut facility, &NOW, 0x0009_0009).unwrap();
    happen(&mut facility);
    let expected = [1, 40, 1, 3, 5, 70, 6, 0].map(Some);
    assert_eq!(shown(&facility), expected);
    load_cpu_counter_set_controls(&mut facility, &NOW, 0x0009_0000).unwrap();
    happen(&mut facility);
    assert_eq!(shown(&facility), [1, 40, 1, 3, 5, 140, 12, 0].map(Some));
}

#[test]
fn unauthorizing_a_cpu_for_enabled_coprocessor_groups_alerts_it_and_clears_nothing() {
    let (mut facility, mut groups) = fixtures::grouped();
    facility.authorize_coprocessor_groups(false, &groups);
    assert!(!facility.alerts().any());
    facility.authorize_coprocessor_groups(true, &groups);
    load_peripheral_counter_set_controls(&facility, &mut groups, 2).unwrap();
    set_peripheral_counter(&facility, &mut groups, false, 9, 0).unwrap();
    facility.authorize_coprocessor_groups(false, &groups);
    assert_eq!(facility.take_alerts(), 0x80);
    facility.authorize_coprocessor_groups(true, &groups);
    assert!(!facility.alerts().any());
    let kept = extract_peripheral_counter(&facility, &groups, false, 0).unwrap();
    assert_eq!(kept.0, Some(9));
}

#[test]
fn a_set_that_the_model_does_not_have_cannot_be_authorized() {
    let mut facility = fixtures::of_model(&super::super::model::Z10);
    facility.authorize_counters(CounterSets(0xFFFF), &NOW);
    assert_eq!(facility.counters().authorized(), CounterSets(0x000F));
}

#[test]
fn loss_of_counter_data_freezes_the_set_and_leaves_the_others_active() {
    let mut facility = counting();
    facility.lose_counter_data(CounterSet::Basic, &NOW);
    assert!(facility.alerts().has(Alert::LossOfCounterData));
    assert_eq!(facility.counters().active(), CounterSets::PROBLEM_STATE);
    assert_eq!(facility.counters().enabled(), CounterSets::HONEST);
    assert_eq!(facility.counters().read(0, &Activity::NONE), Some(100));
}

#[test]
fn unauthorizing_enabled_sampling_alerts_and_clears_the_other_sampling_alerts() {
    let mut facility = active(0x1_0000, 0x2_0000);
    facility.alerts.recognize(Alert::ProgramRequest);
    facility.authorize_basic_sampling(false);
    assert_eq!(facility.take_alerts(), 0x0080_0000);
    assert_eq!(facility.sampling().basic(), ControlState::Unauthorized);
    assert_eq!(facility.sampling().tear(), 0);
}

#[test]
fn loss_of_sample_data_makes_sampling_inactive() {
    let mut facility = active(0x1_0000, 0x2_0000);
    facility.lose_sample_data();
    assert_eq!(facility.sampling().basic(), ControlState::Inactive);
    assert_eq!(facility.active_interval(), None);
    assert_eq!(facility.take_alerts(), 0x0040_0000);
    facility.lose_sample_data();
    assert!(!facility.alerts().any());
}
