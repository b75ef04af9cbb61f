//! What HIS may use of the machine's level, as the operator has it (AUTH MACHINE), and losses for tests of
//! profilers (ALERT MACHINE). Everything that has a source is authorized to begin with.

use super::level::Level;
use crate::command::Change;
use crate::his::His;
use crate::his::event::{Events, SampleTypes};
use crate::machine::io::console;
use crate::machine::state::his::{Profiler, Service};

/// Makes a change. What is given back is used from the next SERVICE,REFRESH on.
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
        // How many they were, nobody says.
        Change::LoseSampleData => return his.sample_data_lost(level, 0),
        Change::LoseCounterData(_) => return his.counter_data_lost(level),
        // The operator's words name no key of the machine.
        Change::InterruptKey | Change::Traces => return,
    }
    his.authorization_changed(level);
}
