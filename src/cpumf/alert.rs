//! Measurement alerts: what is pending at a CPU, and what clears it.
//!
//! One external-interruption subclass (code 1407, masked by bit 58 of control register 0) carries
//! eight events. An event that is recognized again before the interruption is still one request, so
//! the pending requests are exactly the bits of the interruption parameter.

use arch::bits::bit32;

/// A measurement-alert event; its value is its bit in the external-interruption parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Alert {
    /// Bit 0: the address of a data entry or of a table entry is invalid.
    InvalidEntryAddress = bit32(0),
    /// Bit 1: a table-link entry designates another, or a table's last entry is a block link.
    IncorrectTableEntry = bit32(1),
    /// Bit 2: a block became full, and its trailer requests an alert.
    ProgramRequest = bit32(2),
    /// Bit 8: an enabled sampling function was unauthorized.
    SamplingAuthorizationChange = bit32(8),
    /// Bit 9: the machine lost sample data.
    LossOfSampleData = bit32(9),
    /// Bit 16: the machine lost data of an MT-diagnostic counter.
    LossOfMtCounterData = bit32(16),
    /// Bit 24: an enabled counter set was unauthorized.
    CounterAuthorizationChange = bit32(24),
    /// Bit 25: the machine lost data of a CPU counter.
    LossOfCounterData = bit32(25),
}

/// The requests that are cleared when no sampling function is enabled any more.
const SAMPLING_ALERTS: u32 = Alert::InvalidEntryAddress as u32
    | Alert::IncorrectTableEntry as u32
    | Alert::ProgramRequest as u32
    | Alert::LossOfSampleData as u32;

/// The measurement alerts that are pending at a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingAlerts(u32);

impl PendingAlerts {
    /// No alert is pending.
    pub const NONE: Self = Self(0);

    /// Makes an alert pending; one that is pending already stays one request.
    #[inline]
    pub const fn recognize(&mut self, alert: Alert) {
        self.0 |= alert as u32;
    }

    /// Whether this alert is pending.
    #[must_use]
    #[inline]
    pub const fn has(self, alert: Alert) -> bool {
        self.0 & alert as u32 != 0
    }

    /// Whether an interruption is requested.
    #[must_use]
    #[inline]
    pub const fn any(self) -> bool {
        self.0 != 0
    }

    /// The pending requests as an interruption would store them.
    #[must_use]
    pub const fn parameter(self) -> u32 {
        self.0
    }

    /// Takes the interruption: returns its parameter, for real locations 128-131, and clears all requests.
    #[must_use]
    #[inline]
    pub const fn take(&mut self) -> u32 {
        core::mem::replace(&mut self.0, 0)
    }

    /// CPU reset clears every request.
    pub const fn reset(&mut self) {
        self.0 = 0;
    }

    /// STORE CPU COUNTER MULTIPLE with code 9 makes this one no longer pending.
    pub(super) const fn clear_loss_of_mt_counter_data(&mut self) {
        self.0 &= !(Alert::LossOfMtCounterData as u32);
    }

    /// Clears the sampling requests when no sampling function is enabled, and loss of counter data when
    /// no counter set except MT-diagnostic is. The two authorization changes stay pending: they report
    /// exactly that.
    pub(super) const fn settle(&mut self, sampling_enabled: bool, counters_enabled: bool) {
        if !sampling_enabled {
            self.0 &= !SAMPLING_ALERTS;
        }
        if !counters_enabled {
            self.0 &= !(Alert::LossOfCounterData as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interruption_parameter_has_the_bits_of_the_manual() {
        let table = [
            (Alert::InvalidEntryAddress, 0x8000_0000),
            (Alert::IncorrectTableEntry, 0x4000_0000),
            (Alert::ProgramRequest, 0x2000_0000),
            (Alert::SamplingAuthorizationChange, 0x0080_0000),
            (Alert::LossOfSampleData, 0x0040_0000),
            (Alert::LossOfMtCounterData, 0x0000_8000),
            (Alert::CounterAuthorizationChange, 0x0000_0080),
            (Alert::LossOfCounterData, 0x0000_0040),
        ];
        for (alert, parameter) in table {
            let mut pending = PendingAlerts::NONE;
            pending.recognize(alert);
            assert_eq!(pending.parameter(), parameter, "{alert:?}");
        }
    }

    #[test]
    fn an_interruption_is_requested_while_an_alert_is_pending() {
        let mut pending = PendingAlerts::NONE;
        assert!(!pending.any());
        pending.recognize(Alert::LossOfCounterData);
        assert!(pending.any());
        pending.reset();
        assert!(!pending.any());
    }

    #[test]
    fn an_alert_recognized_twice_interrupts_once() {
        let mut pending = PendingAlerts::NONE;
        pending.recognize(Alert::ProgramRequest);
        pending.recognize(Alert::ProgramRequest);
        assert_eq!(pending.take(), 0x2000_0000);
        assert!(!pending.any());
    }

    #[test]
    fn one_interruption_reports_every_pending_alert() {
        let mut pending = PendingAlerts::NONE;
        pending.recognize(Alert::ProgramRequest);
        pending.recognize(Alert::InvalidEntryAddress);
        assert_eq!(pending.take(), 0xA000_0000);
    }
}
