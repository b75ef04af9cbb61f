//! The workload hint: which workload of LSPR is most like what ran.
//!
//! LSPR states the capacity of machines for three workloads, which differ in how much they use the nest. IBM's table
//! chooses one of them by L1MP and RNI. The limits below are as they are commonly quoted: only the text before the rows of
//! the table was at hand, so they still have to be compared with it.

use std::fmt;

/// A workload of LSPR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Light use of the memory hierarchy.
    Low,
    /// Average use.
    Average,
    /// Heavy use.
    High,
}

impl Hint {
    /// The workload for these figures.
    #[must_use]
    pub fn of(l1mp: f64, rni: f64) -> Self {
        if l1mp < 3.0 {
            return if rni >= 0.75 {
                Self::Average
            } else {
                Self::Low
            };
        }
        if l1mp > 6.0 {
            return if rni >= 0.75 {
                Self::High
            } else {
                Self::Average
            };
        }
        match rni {
            rni if rni > 1.0 => Self::High,
            rni if rni < 0.6 => Self::Low,
            _ => Self::Average,
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "LOW",
            Self::Average => "AVERAGE",
            Self::High => "HIGH",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_follows_from_level_1_misses_and_nest_intensity() {
        let table = [
            (2.9, 0.75, Hint::Average),
            (2.9, 0.74, Hint::Low),
            (3.0, 1.01, Hint::High),
            (4.5, 1.0, Hint::Average),
            (4.5, 0.6, Hint::Average),
            (6.0, 0.59, Hint::Low),
            (6.1, 0.75, Hint::High),
            (6.1, 0.74, Hint::Average),
        ];
        for (l1mp, rni, hint) in table {
            assert_eq!(Hint::of(l1mp, rni), hint, "{l1mp} {rni}");
        }
    }
}
