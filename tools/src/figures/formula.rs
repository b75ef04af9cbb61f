//! A formula as data: it shows itself, and [`super::counts::Counts`] calculates it.

use std::fmt;

/// A factor × the sum of some counters ÷ the sum of others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quotient {
    /// The factor.
    pub times: f64,
    /// Numbers of the counters above.
    pub above: &'static [u16],
    /// Numbers of the counters below.
    pub below: &'static [u16],
}

/// A formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Formula {
    /// One quotient.
    Quotient(Quotient),
    /// One × the other.
    Product([Quotient; 2]),
    /// One − the other.
    Difference([Quotient; 2]),
    /// Instructions ÷ CPU time. The CPU time of a record is its cycles ÷ the CPU speed.
    Rate,
    /// CPU time ÷ time, both summed over all records.
    Busy,
    /// Weights × the shares of the nest.
    Nest,
    /// By L1MP and RNI.
    Hint,
}

/// A quotient.
pub(super) const fn ratio(above: &'static [u16], below: &'static [u16]) -> Quotient {
    Quotient {
        times: 1.0,
        above,
        below,
    }
}

/// A quotient in percent.
pub(super) const fn percent(above: &'static [u16], below: &'static [u16]) -> Quotient {
    Quotient {
        times: 100.0,
        above,
        below,
    }
}

impl Quotient {
    /// Its counters.
    fn counters(&self) -> impl Iterator<Item = u16> + use<> {
        self.above.iter().chain(self.below).copied()
    }
}

impl Formula {
    /// The counters that it needs. Those of other figures are not among them.
    pub fn counters(&self) -> Vec<u16> {
        match self {
            Self::Quotient(quotient) => quotient.counters().collect(),
            Self::Product(both) | Self::Difference(both) => {
                both.iter().flat_map(Quotient::counters).collect()
            }
            Self::Rate => vec![0, 1],
            Self::Busy => vec![0],
            Self::Nest | Self::Hint => Vec::new(),
        }
    }
}

struct Sum(&'static [u16]);

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, others @ ..] = self.0 else {
            return f.write_str("0");
        };
        if others.is_empty() {
            return write!(f, "{first}");
        }
        write!(f, "({first}")?;
        others
            .iter()
            .try_for_each(|other| write!(f, " + {other}"))?;
        f.write_str(")")
    }
}

impl fmt::Display for Quotient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.times != 1.0 {
            write!(f, "{} × ", self.times)?;
        }
        write!(f, "{} ÷ {}", Sum(self.above), Sum(self.below))
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quotient(quotient) => quotient.fmt(f),
            Self::Product([one, other]) => write!(f, "({one}) × ({other})"),
            Self::Difference([one, other]) => write!(f, "{one} − {other}"),
            Self::Rate => f.write_str("1 ÷ (0 ÷ CPU speed)"),
            Self::Busy => f.write_str("100 × (0 ÷ CPU speed) ÷ time"),
            Self::Nest => f.write_str("weights × the shares of the nest"),
            Self::Hint => f.write_str("by L1MP and RNI"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_shows_its_counters_by_number() {
        let shown = |formula: Formula| formula.to_string();
        assert_eq!(shown(Formula::Quotient(ratio(&[0], &[1]))), "0 ÷ 1");
        let misses = percent(&[133, 136], &[2, 4]);
        assert_eq!(
            shown(Formula::Quotient(misses)),
            "100 × (133 + 136) ÷ (2 + 4)"
        );
        let both = [ratio(&[0], &[1]), ratio(&[143], &[1])];
        assert_eq!(shown(Formula::Difference(both)), "0 ÷ 1 − 143 ÷ 1");
        assert_eq!(shown(Formula::Product(both)), "(0 ÷ 1) × (143 ÷ 1)");
    }
}
