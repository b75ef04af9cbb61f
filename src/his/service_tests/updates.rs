//! Controls, authorizations and the speed change while profilers are active, and each is notified.

use super::*;
use crate::event::{CounterLoss, SampleTypes};
use crate::exit::Handling::Done;
use crate::sampling::SamplingControls;

#[test]
fn new_sampling_controls_are_an_update_that_notifies_every_profiler_at_its_beginning_and_end() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    start(&mut service, &mut bench, "A", BASIC, false, Done);
    start(&mut service, &mut bench, "B", Events::NONE, true, Done);
    bench.filling = [3, 0];
    bench.happened();
    let controls = SamplingControls {
        frequency: 60_000,
        ..SamplingControls::DEFAULT
    };
    service.set_controls(&mut bench, controls);
    assert_eq!(
        bench.happened(),
        [
            "sample no more",
            "B cpu0 3",
            "A UpdateStart 04000000",
            "B UpdateStart 04000000",
            "sample BASIC 1000000 4",
            "A UpdateDone 00000000",
            "B UpdateDone 00000000",
        ]
    );
    service.set_controls(&mut bench, controls);
    assert_eq!(bench.happened(), [""; 0], "nothing has changed");
}

#[test]
fn a_deauthorized_set_is_no_longer_used_and_the_reason_says_so() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    start(&mut service, &mut bench, "A", BASIC, true, Done);
    bench.happened();
    bench.authorized = BASIC;
    service.authorization_changed(&mut bench);
    assert_eq!(
        bench.happened(),
        [""; 0],
        "the problem-state set was not enabled"
    );
    bench.authorized = Events::NONE;
    bench.types = SampleTypes::NONE;
    service.authorization_changed(&mut bench);
    assert_eq!(
        bench.happened(),
        [
            "sample no more",
            "A UpdateStart C0000000",
            "enable NONE",
            "A UpdateDone 00000000"
        ]
    );
    bench.authorized = BASIC;
    bench.types = SampleTypes::BASIC;
    service.refresh(&mut bench);
    assert_eq!(
        bench.happened(),
        [
            "A UpdateStart 04000000",
            "enable BASIC",
            "sample BASIC 75000 4",
            "A UpdateDone 00000000"
        ]
    );
}

#[test]
fn lost_data_cause_no_update_and_a_new_speed_changes_the_interval() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    let a = start(&mut service, &mut bench, "A", BASIC, true, Done);
    bench.happened();
    service.counter_data_lost(&mut bench, CounterLoss::Cpu);
    service.counter_data_lost(&mut bench, CounterLoss::Mt);
    service.sample_data_lost(&mut bench);
    assert_eq!(
        bench.happened(),
        ["A None 20000000", "A None 22000000", "A None 10000000"]
    );
    bench.limits.cpu_speed = 500;
    service.speed_changed(&mut bench);
    assert_eq!(
        bench.happened(),
        [
            "sample no more",
            "A UpdateStart 08000000",
            "sample BASIC 37500 4",
            "A UpdateDone 00000000"
        ]
    );
    service.stop(&mut bench, a).unwrap();
    start(&mut service, &mut bench, "B", BASIC, false, Done);
    bench.happened();
    service.speed_changed(&mut bench);
    assert_eq!(bench.happened(), ["B None 08000000"]);
}
