//! What HIS may use of the machine's level, as the operator authorizes it (AUTH MACHINE), and losses for
//! tests of profilers (ALERT MACHINE). At first everything that has a source is authorized.

use super::level::Level;
use crate::command::Change;
use crate::his::His;
use crate::his::event::{CounterLoss, Events, SampleTypes};
use crate::machine::io::console;
use crate::machine::state::his::{Profiler, Service};

/// Makes a change. What is authorized again is used from the next SERVICE,REFRESH on.
pub(super) fn make(
    service: &Service,
    his: &mut His<Profiler>,
    level: &mut Level<'_>,
    change: Change,
) {
    let taken = &service.taken;
    match change {
        Change::Counters(sets, on) => {
            let events = Events::of_counter_sets(sets);
            if events.is_empty() {
                console::say(format_args!(
                    "HIS has no counters of coprocessor groups to authorize\n"
                ));
                return;
            }
            taken.set_events(events, on);
        }
        Change::BasicSampling(on) => taken.set_types(SampleTypes::BASIC, on),
        Change::DiagnosticSampling(on) => taken.set_types(SampleTypes::DIAGNOSTIC, on),
        // Their number is not known.
        Change::LoseSampleData => return his.sample_data_lost(level, 0),
        Change::LoseCounterData(set) => {
            return his.counter_data_lost(level, CounterLoss::of(set));
        }
        // The operator's commands have no key of the machine.
        Change::InterruptKey | Change::Traces => return,
    }
    his.authorization_changed(level);
}
