//! A rest of a guest whose clock stands still while the machine works.

/// A rest by the real clock.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    /// When it began.
    pub from: u64,
    /// When it ended.
    pub to: u64,
    /// The clock comparator, if that has ended it.
    pub comparator: Option<u64>,
}

/// What the guest's clock shows after a wait in which it went on from `began`.
#[must_use]
pub fn after(began: u64, rest: &Rest) -> u64 {
    match rest.comparator {
        // The guest sees its comparator passed when the clock is beyond it.
        Some(comparator) => began.max(comparator.saturating_add(1)),
        None => began.wrapping_add(rest.to.wrapping_sub(rest.from)),
    }
}

/// When a rest began and ended by the guest's clock, which showed `stood` when it began, or zero if it did not stand still.
///
/// A rest that ends by the turn of another CPU is `handed` what the clock showed there, or zero if it does not stand still.
#[must_use]
pub fn span(stood: u64, rest: &Rest, handed: Option<u64>) -> (u64, u64) {
    let ended = match handed {
        None => after(stood, rest),
        Some(0) => rest.to,
        Some(clock) => clock,
    };
    // A CPU's first rest begins before its clock stands still.
    let began = if stood == 0 { ended } else { stood };
    (began, ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: Rest = Rest {
        from: 1000,
        to: 1300,
        comparator: None,
    };

    #[test]
    fn the_clock_goes_on_as_long_as_the_wait_takes() {
        assert_eq!(after(600, &REST), 900);
        assert_eq!(span(600, &REST, None), (600, 900));
    }

    #[test]
    fn a_clock_that_was_set_backward_goes_back_by_that() {
        let back = Rest { to: 950, ..REST };
        assert_eq!(span(600, &back, None), (600, 550));
    }

    #[test]
    fn a_wait_that_the_comparator_ends_ends_right_behind_it() {
        let passed = |comparator| Rest {
            comparator: Some(comparator),
            ..REST
        };
        assert_eq!(span(600, &passed(700), None), (600, 701));
        // It had been passed before.
        assert_eq!(span(600, &passed(600), None), (600, 601));
        assert_eq!(span(600, &passed(500), None), (600, 600));
        assert_eq!(after(600, &passed(u64::MAX)), u64::MAX);
    }

    #[test]
    fn a_turn_hands_over_what_the_clock_shows() {
        assert_eq!(span(600, &REST, Some(800)), (600, 800));
        assert_eq!(span(600, &REST, Some(0)), (600, 1300));
        assert_eq!(span(0, &REST, Some(800)), (800, 800));
        // The comparator of the CPU that waited for its turn does not count.
        let passed = Rest {
            comparator: Some(5000),
            ..REST
        };
        assert_eq!(span(600, &passed, Some(800)), (600, 800));
    }
}
