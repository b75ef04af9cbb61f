//! The sampling control registers.

use super::super::state::{ControlState, InvalidTransition};

/// The limits that QUERY SAMPLING INFORMATION stores and LOAD SAMPLING CONTROLS enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplingLimits {
    /// The minimum sampling interval in CPU cycles; at least 1, as programs divide by it.
    pub minimum: u64,
    /// The maximum sampling interval in CPU cycles.
    pub maximum: u64,
    /// The CPU speed in cycles per microsecond; nonzero for the same reason.
    pub cpu_speed: u32,
}

/// The sampling functions that are active. They determine the data entry of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActiveFunctions {
    /// Neither.
    None,
    /// Basic sampling only: a basic-sampling data entry.
    Basic,
    /// Diagnostic sampling only: a diagnostic-sampling data entry.
    Diagnostic,
    /// Both: a combined-sampling data entry.
    Both,
}

/// The controls that LOAD SAMPLING CONTROLS places only when it activates a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdditionalControls {
    /// The maximum-buffer-size indicator: blocks of 1 MiB instead of 4 KiB.
    pub maximum_buffer_size: bool,
    /// The host indicator.
    pub host_indicator: bool,
    /// The sampling interval in CPU cycles.
    pub interval: u64,
    /// The table-entry-address register.
    pub tear: u64,
    /// The data-entry-address register.
    pub dear: u64,
}

/// The sampling control registers of one CPU at one level.
#[derive(Clone, Debug)]
pub struct SamplingControls {
    /// The table-entry-address register. Absolute.
    pub(crate) tear: u64,
    /// The data-entry-address register. Absolute.
    pub(crate) dear: u64,
    /// The maximum buffer size, less one: the mask of an offset within a block.
    pub(crate) block_mask: u64,
    basic: ControlState,
    diagnostic: ControlState,
    /// Whether a function is enabled; stored because every LOAD PROGRAM PARAMETER needs it.
    enabled: bool,
    /// Which functions are active; stored because every sample needs it.
    active: ActiveFunctions,
    host_indicator: bool,
    interval: u64,
    limits: SamplingLimits,
}

/// The offset mask of a block while the maximum-buffer-size indicator is zero.
const SMALL: u64 = 0xFFF;
/// The same while it is one.
const LARGE: u64 = 0xF_FFFF;

impl SamplingControls {
    /// The registers after power-on reset, with neither function authorized.
    #[must_use]
    pub const fn new(limits: SamplingLimits) -> Self {
        Self {
            tear: 0,
            dear: 0,
            block_mask: SMALL,
            basic: ControlState::Unauthorized,
            diagnostic: ControlState::Unauthorized,
            enabled: false,
            active: ActiveFunctions::None,
            host_indicator: false,
            interval: 0,
            limits,
        }
    }

    /// The state of the basic-sampling function.
    #[must_use]
    #[inline]
    pub const fn basic(&self) -> ControlState {
        self.basic
    }

    /// The state of the diagnostic-sampling function.
    #[must_use]
    #[inline]
    pub const fn diagnostic(&self) -> ControlState {
        self.diagnostic
    }

    /// Whether a sampling function is enabled.
    #[must_use]
    #[inline]
    pub const fn enabled(&self) -> bool {
        self.enabled
    }

    /// Whether a sampling function is active.
    #[must_use]
    #[inline]
    pub const fn active(&self) -> bool {
        !matches!(self.active, ActiveFunctions::None)
    }

    /// Which sampling functions are active.
    #[must_use]
    #[inline]
    pub const fn active_functions(&self) -> ActiveFunctions {
        self.active
    }

    /// The table-entry-address register: the address of the current sample-data-block-table entry.
    #[must_use]
    pub const fn tear(&self) -> u64 {
        self.tear
    }

    /// The data-entry-address register: the address of the next data entry.
    #[must_use]
    pub const fn dear(&self) -> u64 {
        self.dear
    }

    /// The sampling interval register, in CPU cycles.
    #[must_use]
    #[inline]
    pub const fn interval(&self) -> u64 {
        self.interval
    }

    /// The host indicator; always zero except at the logical-partition level.
    #[must_use]
    #[inline]
    pub const fn host_indicator(&self) -> bool {
        self.host_indicator
    }

    /// The maximum-buffer-size indicator.
    #[must_use]
    pub const fn maximum_buffer_size(&self) -> bool {
        self.block_mask == LARGE
    }

    /// The limits of the machine.
    #[must_use]
    pub const fn limits(&self) -> &SamplingLimits {
        &self.limits
    }

    /// Puts both functions into the states requested, each as (enable, activation), or changes neither.
    /// Places `additional` in the registers if a function is then active; clears the registers if none
    /// is enabled.
    ///
    /// # Errors
    /// [`InvalidTransition`]; nothing has changed then.
    pub(crate) fn load(
        &mut self,
        basic: (bool, bool),
        diagnostic: (bool, bool),
        additional: &AdditionalControls,
    ) -> Result<(), InvalidTransition> {
        let basic = self.basic.request(basic.0, basic.1)?;
        let diagnostic = self.diagnostic.request(diagnostic.0, diagnostic.1)?;
        self.enter(basic, diagnostic);
        if self.active() {
            self.place(additional);
        }
        Ok(())
    }

    /// Puts the functions into these states, and clears the registers if none is enabled any more.
    const fn enter(&mut self, basic: ControlState, diagnostic: ControlState) {
        self.basic = basic;
        self.diagnostic = diagnostic;
        self.enabled = basic.enabled() || diagnostic.enabled();
        self.active = match (basic.active(), diagnostic.active()) {
            (false, false) => ActiveFunctions::None,
            (true, false) => ActiveFunctions::Basic,
            (false, true) => ActiveFunctions::Diagnostic,
            (true, true) => ActiveFunctions::Both,
        };
        if !self.enabled {
            self.clear();
        }
    }

    const fn place(&mut self, additional: &AdditionalControls) {
        self.tear = additional.tear;
        self.dear = additional.dear;
        self.interval = additional.interval;
        self.host_indicator = additional.host_indicator;
        self.block_mask = if additional.maximum_buffer_size {
            LARGE
        } else {
            SMALL
        };
    }

    const fn clear(&mut self) {
        self.tear = 0;
        self.dear = 0;
        self.interval = 0;
        self.host_indicator = false;
        self.block_mask = SMALL;
    }

    /// CPU reset or an error: active functions become inactive.
    pub(crate) const fn deactivate(&mut self) {
        self.enter(self.basic.deactivated(), self.diagnostic.deactivated());
    }

    /// Initial CPU reset, clear reset or power-on reset: both functions disabled, registers zeros.
    pub(crate) const fn disable(&mut self) {
        self.enter(self.basic.disabled(), self.diagnostic.disabled());
    }

    /// The external means, for the basic-sampling function. Returns whether an enabled function lost its
    /// authorization.
    pub(crate) const fn authorize_basic(&mut self, authorized: bool) -> bool {
        let was = self.basic;
        self.enter(was.authorize(authorized), self.diagnostic);
        was.enabled() && !authorized
    }

    /// The same for the diagnostic-sampling function.
    pub(crate) const fn authorize_diagnostic(&mut self, authorized: bool) -> bool {
        let was = self.diagnostic;
        self.enter(self.basic, was.authorize(authorized));
        was.enabled() && !authorized
    }
}
