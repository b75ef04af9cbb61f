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

/// A counter by its number, with the letter of its set as analysts write it.
struct Counter(u16);

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = match self.0 {
            0..=31 => 'B',
            32..=63 => 'P',
            64..=127 => 'C',
            128..=447 => 'E',
            _ => 'M',
        };
        write!(f, "{set}{}", self.0)
    }
}

/// The counters that follow each other from the beginning of these.
fn run(numbers: &[u16]) -> usize {
    let pairs = numbers.windows(2);
    let consecutive = pairs.take_while(|pair| pair[0].checked_add(1) == Some(pair[1]));
    consecutive.count() + 1
}

struct Sum(&'static [u16]);

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_one = self.0.len() == 1;
        if !is_one {
            f.write_str("(")?;
        }
        let mut rest = self.0;
        while let [first, ..] = rest {
            let length = run(rest);
            let (consecutive, others) = rest.split_at(length);
            write!(f, "{}", Counter(*first))?;
            match consecutive {
                [_, _, .., last] => write!(f, " + … + {}", Counter(*last))?,
                [_, last] => write!(f, " + {}", Counter(*last))?,
                _ => {}
            }
            if !others.is_empty() {
                f.write_str(" + ")?;
            }
            rest = others;
        }
        if !is_one {
            f.write_str(")")?;
        }
        Ok(())
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
            Self::Rate => f.write_str("B1 ÷ (B0 ÷ CPU speed)"),
            Self::Busy => f.write_str("100 × (B0 ÷ CPU speed) ÷ time"),
            Self::Nest => f.write_str("weights × the shares of the nest"),
            Self::Hint => f.write_str("by L1MP and RNI"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_shows_its_counters_by_set_and_number() {
        let shown = |formula: Formula| formula.to_string();
        assert_eq!(shown(Formula::Quotient(ratio(&[0], &[1]))), "B0 ÷ B1");
        let misses = percent(&[133, 136], &[2, 4]);
        assert_eq!(
            shown(Formula::Quotient(misses)),
            "100 × (E133 + E136) ÷ (B2 + B4)"
        );
        let both = [ratio(&[33], &[1]), ratio(&[143, 144], &[65])];
        assert_eq!(
            shown(Formula::Difference(both)),
            "P33 ÷ B1 − (E143 + E144) ÷ C65"
        );
        assert_eq!(
            shown(Formula::Product(both)),
            "(P33 ÷ B1) × ((E143 + E144) ÷ C65)"
        );
    }

    #[test]
    fn counters_that_follow_each_other_are_shown_by_the_first_and_the_last() {
        let many = ratio(&[148, 152, 153, 154, 160, 161, 165, 166, 167, 168], &[1]);
        assert_eq!(
            many.to_string(),
            "(E148 + E152 + … + E154 + E160 + E161 + E165 + … + E168) ÷ B1"
        );
    }
}
