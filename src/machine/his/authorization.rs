//! What HIS may use of the machine's level, as the operator has it (AUTH MACHINE), and losses for tests of
//! profilers (ALERT MACHINE). Everything that has a source is authorized to begin with.

use super::level::Level;
use super::profilers::Profiler;
use crate::command::Change;
use crate::his::His;
use crate::his::event::{Events, SampleTypes};
use crate::machine::io::console;
use core::sync::atomic::{AtomicU32, Ordering};

/// The event types that were taken away: [`Events`].
static EVENTS: AtomicU32 = AtomicU32::new(0);

/// The sample types that were taken away: [`SampleTypes`].
static TYPES: AtomicU32 = AtomicU32::new(0);

/// The event types that were taken away.
pub(super) fn events_taken() -> Events {
    Events(EVENTS.load(Ordering::Relaxed))
}

/// The sample types that were taken away.
pub(super) fn types_taken() -> SampleTypes {
    SampleTypes(TYPES.load(Ordering::Relaxed))
}

/// Makes a change. What is given back is used from the next SERVICE,REFRESH on.
pub(super) fn make(his: &mut His<Profiler>, level: &mut Level<'_>, change: Change) {
    match change {
        Change::Counters(sets, on) => {
            let events = Events::of_counter_sets(sets);
            if events.is_empty() {
                console::say(format_args!(
                    "HIS has no counters of coprocessor groups to authorize\n"
                ));
                return;
            }
            take(&EVENTS, events.0, on);
        }
        Change::BasicSampling(on) => take(&TYPES, SampleTypes::BASIC.0, on),
        Change::DiagnosticSampling(on) => take(&TYPES, SampleTypes::DIAGNOSTIC.0, on),
        // How many they were, nobody says.
        Change::LoseSampleData => return his.sample_data_lost(level, 0),
        Change::LoseCounterData(_) => return his.counter_data_lost(level),
        // The operator's words name no key of the machine.
        Change::InterruptKey | Change::Traces => return,
    }
    his.authorization_changed(level);
}

fn take(taken: &AtomicU32, bits: u32, on: bool) {
    if on {
        taken.fetch_and(!bits, Ordering::Relaxed);
    } else {
        taken.fetch_or(bits, Ordering::Relaxed);
    }
}
