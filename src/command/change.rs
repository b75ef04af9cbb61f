//! The operator's changes at a CPU: the external means of SA23-2260, and the interrupt key.

use cpumf::{CounterSet, CounterSets};

/// A change at one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Gives these counter sets, which may include the coprocessor-group sets, this authorization control.
    /// Other sets keep theirs.
    Counters(CounterSets, bool),
    /// The authorization control of the basic-sampling function.
    BasicSampling(bool),
    /// The authorization control of the diagnostic-sampling function.
    DiagnosticSampling(bool),
    /// Sample data is lost.
    LoseSampleData,
    /// Counter data of a set is lost.
    LoseCounterData(CounterSet),
    /// The interrupt key is pressed.
    InterruptKey,
    /// The operator's traces have changed.
    Traces,
}
