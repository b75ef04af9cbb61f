//! The four states that a counter set and a sampling function have in common.
//!
//! Figures 2-1 and 2-11 of SA23-2260 give both the same three control bits (authorization A,
//! enable E, activation C) and the same four valid combinations, so one type serves both. The type has
//! no value for a state that the figures call invalid.

/// The state of a counter set or of a sampling function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlState {
    /// A, E and C zero: the program cannot use it.
    #[default]
    Unauthorized,
    /// A one: the program may use it, but has not enabled it.
    Disabled,
    /// A and E one: it does not count or sample, and keeps its contents.
    Inactive,
    /// A, E and C one: it counts or samples.
    Active,
}

/// The requested controls designate no state that can be reached from the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTransition;

impl ControlState {
    /// The authorization control.
    #[must_use]
    #[inline]
    pub const fn authorized(self) -> bool {
        !matches!(self, Self::Unauthorized)
    }

    /// The enable control: inactive or active.
    #[must_use]
    #[inline]
    pub const fn enabled(self) -> bool {
        matches!(self, Self::Inactive | Self::Active)
    }

    /// The activation control.
    #[must_use]
    #[inline]
    pub const fn active(self) -> bool {
        matches!(self, Self::Active)
    }

    /// The state that a load instruction's enable and activation controls lead to (Figures 2-2 and
    /// 2-12). A request for the present state succeeds; for an unauthorized set that is zeros.
    ///
    /// # Errors
    /// [`InvalidTransition`] when the set is unauthorized and a control is one, or when the activation
    /// control is one and the enable control zero.
    #[inline]
    pub const fn request(self, enable: bool, activation: bool) -> Result<Self, InvalidTransition> {
        match (self, enable, activation) {
            (Self::Unauthorized, false, false) => Ok(Self::Unauthorized),
            (Self::Unauthorized, _, _) | (_, false, true) => Err(InvalidTransition),
            (_, false, false) => Ok(Self::Disabled),
            (_, true, false) => Ok(Self::Inactive),
            (_, true, true) => Ok(Self::Active),
        }
    }

    /// The state after the external means has set the authorization control to `authorized`.
    #[must_use]
    pub const fn authorize(self, authorized: bool) -> Self {
        match (self, authorized) {
            (_, false) => Self::Unauthorized,
            (Self::Unauthorized, true) => Self::Disabled,
            (same, true) => same,
        }
    }

    /// The state after deactivation by CPU reset or by an error.
    #[must_use]
    #[inline]
    pub const fn deactivated(self) -> Self {
        match self {
            Self::Active => Self::Inactive,
            same => same,
        }
    }

    /// The state after a reset that clears the enable and activation controls.
    #[must_use]
    pub const fn disabled(self) -> Self {
        match self {
            Self::Inactive | Self::Active => Self::Disabled,
            same => same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ControlState::{Active, Disabled, Inactive, Unauthorized};

    #[test]
    fn every_request_of_figure_2_2_ends_as_the_figure_says() {
        // (from, E, C, to)
        let table = [
            (Unauthorized, 0, 0, Some(Unauthorized)),
            (Unauthorized, 1, 0, None),
            (Unauthorized, 1, 1, None),
            (Unauthorized, 0, 1, None),
            (Disabled, 0, 0, Some(Disabled)),
            (Disabled, 1, 0, Some(Inactive)),
            (Disabled, 1, 1, Some(Active)),
            (Disabled, 0, 1, None),
            (Inactive, 0, 0, Some(Disabled)),
            (Inactive, 1, 0, Some(Inactive)),
            (Inactive, 1, 1, Some(Active)),
            (Inactive, 0, 1, None),
            (Active, 0, 0, Some(Disabled)),
            (Active, 1, 0, Some(Inactive)),
            (Active, 1, 1, Some(Active)),
            (Active, 0, 1, None),
        ];
        for (from, enable, activation, to) in table {
            let found = from.request(enable == 1, activation == 1).ok();
            assert_eq!(found, to, "{from:?} by {enable}{activation}");
        }
    }

    #[test]
    fn the_external_means_makes_a_set_unauthorized_or_an_unauthorized_set_disabled() {
        for from in [Unauthorized, Disabled, Inactive, Active] {
            assert_eq!(from.authorize(false), Unauthorized);
        }
        assert_eq!(Unauthorized.authorize(true), Disabled);
        assert_eq!(Active.authorize(true), Active);
    }
}
