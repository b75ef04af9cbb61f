//! The sampling controls: one set of them for all profilers.
//!
//! The operator, not the profiler, chooses the sampling frequency, the sample types and the number of
//! buffers: a profiler can only request the samples that are collected. A command gives each control a
//! value, or PERSIST, which keeps the one in effect; a control that it omits returns to its default.

use super::event::SampleTypes;
use cpumf::SamplingLimits;

/// The digits of a sampling frequency in DISPLAY HIS, and so the most that a command can give.
pub const FREQUENCY_DIGITS: usize = 9;

/// The largest sampling frequency of these digits, samples a minute.
const MOST_SAMPLES_A_MINUTE: u32 = 999_999_999;

/// The digits of a number of buffers in DISPLAY HIS.
pub const BUFFER_DIGITS: usize = 4;

/// The controls that are in effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplingControls {
    /// SAMPTYPE: the sample types to collect.
    pub types: SampleTypes,
    /// SAMPFREQ: samples a minute on each CPU, from 1.
    pub frequency: u32,
    /// BUFCNT: sample-data blocks of 4 KiB for each CPU, from 1.
    pub buffers: u16,
}

impl SamplingControls {
    /// The controls that no command has set.
    ///
    /// The published text names no values: these are the project's own.
    pub const DEFAULT: Self = Self {
        types: SampleTypes::BASIC,
        frequency: 800_000,
        buffers: 4,
    };

    /// The sampling interval for this frequency, rounded to the nearest cycle, if the frequency is one of
    /// [`frequencies`].
    #[must_use]
    pub fn interval(&self, limits: &SamplingLimits) -> Option<u64> {
        let (least, most) = frequencies(limits);
        let possible = (least..=most).contains(&self.frequency);
        possible.then(|| self.nearest_interval(limits))
    }

    /// The sampling interval of the machine, in cycles, that is nearest to this frequency.
    #[must_use]
    pub fn nearest_interval(&self, limits: &SamplingLimits) -> u64 {
        interval(self.frequency, limits.cpu_speed)
            .min(limits.maximum)
            .max(limits.minimum)
    }
}

impl Default for SamplingControls {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Cycles in a minute.
const fn minute(cpu_speed: u32) -> u64 {
    cpu_speed as u64 * 60_000_000
}

const fn interval(frequency: u32, cpu_speed: u32) -> u64 {
    let frequency = if frequency == 0 { 1 } else { frequency as u64 };
    (minute(cpu_speed) + frequency / 2) / frequency
}

/// The smallest and the largest sampling frequency of the machine, in samples a minute.
#[must_use]
pub fn frequencies(limits: &SamplingLimits) -> (u32, u32) {
    let whole = minute(limits.cpu_speed);
    let most = u64::from(MOST_SAMPLES_A_MINUTE);
    let clamp = |frequency: u64| u32::try_from(frequency.clamp(1, most)).unwrap_or(u32::MAX);
    let least = whole.div_ceil(limits.maximum.max(1));
    (clamp(least), clamp(whole / limits.minimum.max(1)))
}

/// What a command specifies for one control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Setting<T> {
    /// Nothing: the default.
    #[default]
    Default,
    /// PERSIST: the value in effect stays.
    Persist,
    /// This value.
    Value(T),
}

impl<T> Setting<T> {
    fn over(self, current: T, default: T) -> T {
        match self {
            Self::Default => default,
            Self::Persist => current,
            Self::Value(value) => value,
        }
    }
}

/// What a command specifies for the sampling controls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamplingParameters {
    /// SAMPTYPE.
    pub types: Setting<SampleTypes>,
    /// SAMPFREQ, samples a minute.
    pub frequency: Setting<u32>,
    /// BUFCNT, blocks of 4 KiB for each CPU.
    pub buffers: Setting<u16>,
}

impl SamplingParameters {
    /// The controls after the command, given those before it.
    #[must_use]
    pub fn over(&self, current: &SamplingControls) -> SamplingControls {
        let default = SamplingControls::DEFAULT;
        SamplingControls {
            types: self.types.over(current.types, default.types),
            frequency: self.frequency.over(current.frequency, default.frequency),
            buffers: self.buffers.over(current.buffers, default.buffers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SamplingLimits = SamplingLimits {
        minimum: 1_000,
        maximum: 1 << 32,
        cpu_speed: 1_000,
    };

    #[test]
    fn an_omitted_control_returns_to_its_default_and_persist_keeps_it() {
        let current = SamplingControls {
            types: SampleTypes::DIAGNOSTIC,
            frequency: 60_000,
            buffers: 16,
        };
        let nothing = SamplingParameters::default();
        assert_eq!(nothing.over(&current), SamplingControls::DEFAULT);
        let parameters = SamplingParameters {
            types: Setting::Persist,
            frequency: Setting::Value(120_000),
            buffers: Setting::Default,
        };
        let expected = SamplingControls {
            types: SampleTypes::DIAGNOSTIC,
            frequency: 120_000,
            buffers: 4,
        };
        assert_eq!(parameters.over(&current), expected);
    }

    #[test]
    fn the_interval_is_the_cycles_of_a_minute_over_the_frequency() {
        let controls = |frequency| SamplingControls {
            frequency,
            ..SamplingControls::DEFAULT
        };
        assert_eq!(controls(800_000).interval(&LIMITS), Some(75_000));
        assert_eq!(controls(60_000_000).interval(&LIMITS), Some(1_000));
        assert_eq!(controls(70_000_000).interval(&LIMITS), None);
        assert_eq!(controls(1).interval(&LIMITS), None);
        assert_eq!(frequencies(&LIMITS), (14, 60_000_000));
        for frequency in [14, 60_000_000] {
            assert!(controls(frequency).interval(&LIMITS).is_some());
        }
    }
}
