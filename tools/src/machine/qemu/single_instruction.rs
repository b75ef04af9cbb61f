//! QEMU, told to translate one instruction at a time, so that its log has each.
//!
//! Since version 8.1 this is a property of the accelerator. Earlier versions have an option instead, which later ones
//! do not know.

/// A version of QEMU.
pub type Version = (u32, u32, u32);

/// The first version with the property.
const PROPERTY_SINCE: Version = (8, 1, 0);

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
