//! QEMU, told to translate one instruction at a time.
//!
//! Since version 8.1 this is a property of the accelerator. Earlier versions have an option instead, which later ones
//! do not know.

/// A version of QEMU.
pub type Version = (u32, u32, u32);

/// The first version with the property.
const PROPERTY_SINCE: Version = (8, 1, 0);

/// The first version whose PER interruptions store the state after the last instruction even when it translates
/// several at a time. Earlier ones store a condition code that is out of date.
const EVENTS_SINCE: Version = (10, 0, 0);

/// Whether a version needs this for program-event recording. Any version that counts instructions does: at an event
/// it charges all instructions that it translated together.
pub fn for_events(version: Version, counts: bool) -> bool {
    counts || version < EVENTS_SINCE
}

/// The property, to follow the accelerator's others.
pub fn property(version: Version) -> &'static str {
    if version >= PROPERTY_SINCE {
        ",one-insn-per-tb=on"
    } else {
        ""
    }
}

/// The option of a version without the property.
pub fn option(version: Version) -> Option<&'static str> {
    (version < PROPERTY_SINCE).then_some("-singlestep")
}
