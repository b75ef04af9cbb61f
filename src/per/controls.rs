//! The controls of program-event recording, and the events of an instruction under them.

use super::range::Range;

/// The events as bits of the event masks (bits 32-39 of control register 9) and of the PER code.
pub mod event {
    /// Successful branching.
    pub const BRANCH: u8 = 0x80;
    /// Instruction fetching.
    pub const FETCH: u8 = 0x40;
    /// Storage alteration.
    pub const STORE: u8 = 0x20;
    /// General-register alteration.
    pub const REGISTERS: u8 = 0x10;
    /// Store using real address.
    pub const STORE_REAL: u8 = 0x08;
    /// The instruction-fetching event nullifies: it is recognized before the instruction begins.
    pub const NULLIFICATION: u8 = 0x01;
    /// The events of System/370.
    pub const S370: u8 = BRANCH | FETCH | STORE | REGISTERS;
    /// All events.
    pub const ALL: u8 = S370 | STORE_REAL | NULLIFICATION;
}

/// Bit 40 of control register 9: a branch is an event only if its target is in the range.
const BRANCH_ADDRESS: u64 = 1 << 23;
/// Bit 42 of control register 9: a store is an event only in a designated space.
const STORE_SPACE: u64 = 1 << 21;
/// Addresses of System/370.
const ADDRESS_24: u64 = 0xFF_FFFF;

/// The architecture that defines the form of the controls and of the identification of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// z/Architecture: 64-bit addresses. The mask of general-register alteration is bit 35 of control register
    /// 9, and the masks of the registers are bits 48-63, as in the 32-bit registers of System/370.
    #[default]
    Z,
    /// System/370 in the extended-control mode: 24-bit addresses, locations 150-155.
    S370,
}

/// The events to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controls {
    /// The form.
    pub format: Format,
    /// The events with a mask of one ([`event`]).
    pub events: u8,
    /// Whether branches are events only with a target in the range (the branch-address control).
    pub branch_address: bool,
    /// Whether stores are events only in spaces that their address-space-control elements designate (the
    /// storage-alteration-space control). With DAT off it makes no difference.
    pub designated_spaces: bool,
    /// The general registers whose alteration is an event: the leftmost bit stands for register 0.
    pub registers: u16,
    /// The range for instruction fetching, storage alteration, and the targets of branches.
    pub range: Range,
}

impl Controls {
    /// Nothing is recorded.
    pub const NONE: Self = Self {
        format: Format::Z,
        events: 0,
        branch_address: false,
        designated_spaces: false,
        registers: 0,
        range: Range::ALL,
    };

    /// The contents of control registers 9, 10 and 11.
    #[must_use]
    pub const fn of(format: Format, [nine, ten, eleven]: [u64; 3]) -> Self {
        let masks = (nine >> 24) as u8;
        let (installed, address) = match format {
            Format::Z => (event::ALL, u64::MAX),
            Format::S370 => (event::S370, ADDRESS_24),
        };
        let mut events = masks & installed;
        let registers = nine as u16;
        // Drop events that cannot occur.
        if registers == 0 {
            events &= !event::REGISTERS;
        }
        if events & event::FETCH == 0 {
            events &= !event::NULLIFICATION;
        }
        Self {
            format,
            events,
            branch_address: matches!(format, Format::Z) && nine & BRANCH_ADDRESS != 0,
            designated_spaces: matches!(format, Format::Z) && nine & STORE_SPACE != 0,
            registers,
            range: Range {
                start: ten & address,
                end: eleven & address,
            },
        }
    }

    /// Whether any of these events is recorded.
    #[must_use]
    #[inline]
    pub const fn ask_for(&self, events: u8) -> bool {
        self.events & events != 0
    }

    /// The range in which an instruction fetch is an event.
    #[must_use]
    #[inline]
    pub const fn fetches(&self) -> Option<Range> {
        if self.ask_for(event::FETCH) {
            Some(self.range)
        } else {
            None
        }
    }

    /// The range in which a store is an event.
    #[must_use]
    #[inline]
    pub const fn stores(&self) -> Option<Range> {
        if self.ask_for(event::STORE) {
            Some(self.range)
        } else {
            None
        }
    }

    /// Whether the fetch of an instruction at this address nullifies it.
    #[must_use]
    #[inline]
    pub const fn nullify(&self, at: u64) -> bool {
        self.ask_for(event::NULLIFICATION) && self.range.contains(at)
    }

    /// Whether an event other than an instruction fetch in the range can occur at any address.
    #[must_use]
    #[inline]
    pub const fn everywhere(&self) -> bool {
        self.ask_for(event::ALL & !event::FETCH & !event::NULLIFICATION)
    }

    /// The events of an instruction with these results.
    #[must_use]
    pub fn events(&self, done: &Done) -> u8 {
        let mut events = 0;
        let mut add = |event, happened: bool| {
            if happened {
                events |= event;
            }
        };
        let branched = done
            .branched_to
            .is_some_and(|target| !self.branch_address || self.range.contains(target));
        add(event::BRANCH, branched);
        let executed = done.executes.is_some_and(|at| self.range.contains(at));
        add(event::FETCH, executed || self.range.contains(done.at));
        add(event::STORE, done.stored);
        add(event::REGISTERS, done.altered & self.registers != 0);
        add(event::STORE_REAL, done.stored_real);
        events & self.events & !event::NULLIFICATION
    }
}

/// The results of an instruction that matter to events. One that was suppressed or nullified was only fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Its address, or that of the EXECUTE whose target it is.
    pub at: u64,
    /// Its own address, if it is the target of an EXECUTE.
    pub executes: Option<u64>,
    /// The branch target, if it branched.
    pub branched_to: Option<u64>,
    /// Whether it stored into the range.
    pub stored: bool,
    /// The general registers in which it placed values: the leftmost bit stands for register 0.
    pub altered: u16,
    /// Whether it stored by a real address (STORE USING REAL ADDRESS).
    pub stored_real: bool,
}

/// Which of the registers differ: the leftmost bit stands for register 0.
#[must_use]
#[inline]
pub fn changed(before: &[u64; 16], after: &[u64; 16]) -> u16 {
    // Few instructions alter more than one, and four are compared at once.
    let fours = before
        .as_chunks::<4>()
        .0
        .iter()
        .zip(after.as_chunks::<4>().0);
    fours.fold(0, |mask, (before, after)| {
        let four = if before == after {
            0
        } else {
            let each = before.iter().zip(after);
            each.fold(0, |four, (before, after)| {
                four << 1 | u16::from(before != after)
            })
        };
        mask << 4 | four
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range {
        start: 0x1000,
        end: 0x1FFF,
    };

    fn all() -> Controls {
        Controls {
            events: event::ALL,
            registers: 0xFFFF,
            range: RANGE,
            ..Controls::NONE
        }
    }

    #[test]
    fn event_masks_are_bits_32_to_39_and_register_masks_bits_48_to_63() {
        let controls = Controls::of(Format::Z, [0xF980_8001, 0x1000, 0x1FFF]);
        assert_eq!(controls.events, 0xF9);
        assert!(controls.branch_address);
        assert_eq!((controls.registers, controls.range), (0x8001, RANGE));
    }

    #[test]
    fn system_370_has_four_events_and_addresses_of_24_bits() {
        let controls = Controls::of(Format::S370, [0xFF80_0001, 0xFF00_1000, 0xAB00_1FFF]);
        assert_eq!((controls.events, controls.branch_address), (0xF0, false));
        assert_eq!(controls.range, RANGE);
    }

    #[test]
    fn z_architecture_has_controls_of_branch_addresses_and_of_the_spaces_of_stores() {
        let controls = |format, nine| {
            let controls = Controls::of(format, [nine, 0, 0]);
            (controls.branch_address, controls.designated_spaces)
        };
        assert_eq!(controls(Format::Z, 0xA000_0000), (false, false));
        assert_eq!(controls(Format::Z, 0xA080_0000), (true, false));
        assert_eq!(controls(Format::Z, 0xA020_0000), (false, true));
        assert_eq!(controls(Format::S370, 0xA0A0_0000), (false, false));
    }

    #[test]
    fn the_range_is_that_of_the_recorded_events() {
        let ranges = |events| {
            let controls = Controls { events, ..all() };
            (controls.fetches(), controls.stores())
        };
        assert_eq!(ranges(event::FETCH | event::BRANCH), (Some(RANGE), None));
        assert_eq!(
            ranges(event::STORE | event::STORE_REAL),
            (None, Some(RANGE))
        );
    }

    #[test]
    fn an_event_that_cannot_occur_is_dropped() {
        let controls = Controls::of(Format::Z, [0x1100_0000, 0, 0]);
        assert_eq!(controls.events, 0);
    }

    #[test]
    fn all_events_that_occurred_and_are_recorded_are_indicated_together() {
        let done = Done {
            at: 0x1000,
            executes: None,
            branched_to: Some(0x4000),
            stored: true,
            altered: 0x0001,
            stored_real: true,
        };
        assert_eq!(all().events(&done), 0xF8);
        let fetched = Done {
            at: 0x1FFF,
            ..Done::default()
        };
        assert_eq!(all().events(&fetched), event::FETCH);
        assert_eq!(Controls::NONE.events(&done), 0);
    }

    #[test]
    fn an_execute_is_fetched_at_its_own_address_and_at_that_of_its_target() {
        let events = |at, target| {
            all().events(&Done {
                at,
                executes: Some(target),
                ..Done::default()
            })
        };
        assert_eq!(events(0x1000, 0x4000), event::FETCH);
        assert_eq!(events(0x4000, 0x1000), event::FETCH);
        assert_eq!(events(0x4000, 0x2000), 0);
    }

    #[test]
    fn with_the_branch_address_control_only_targets_in_the_range_count() {
        let controls = Controls {
            branch_address: true,
            ..all()
        };
        let to = |target| Done {
            branched_to: Some(target),
            ..Done::default()
        };
        assert_eq!(controls.events(&to(0x1800)), event::BRANCH);
        assert_eq!(controls.events(&to(0x2000)), 0);
        assert_eq!(all().events(&to(0x2000)), event::BRANCH);
    }

    #[test]
    fn a_register_counts_if_its_mask_is_one_and_it_was_altered() {
        let mut after = [7; 16];
        (after[0], after[15]) = (8, 6);
        let altered = changed(&[7; 16], &after);
        assert_eq!(altered, 0x8001);
        let events = |registers| {
            let controls = Controls { registers, ..all() };
            controls.events(&Done {
                altered,
                ..Done::default()
            })
        };
        assert_eq!((events(0x8000), events(0x0001)), (0x10, 0x10));
        assert_eq!(events(0x7FFE), 0);
    }
}
