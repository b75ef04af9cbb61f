//! Virtual, real and absolute addresses are different things; mixing them does not compile.

/// The size of a page and of a page frame: 4 KiB.
pub const PAGE: u64 = 4096;

/// The size of a prefix area: two page frames.
pub const PREFIX_AREA: u64 = 8192;

macro_rules! address {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl $name {
            /// The address `offset` bytes on; a carry out of bit 0 is ignored.
            #[must_use]
            #[inline]
            pub const fn offset(self, offset: u64) -> Self {
                Self(self.0.wrapping_add(offset))
            }

            /// The origin of the page frame that holds this address.
            #[must_use]
            #[inline]
            pub const fn page(self) -> Self {
                Self(self.0 & !(PAGE - 1))
            }

            /// The offset within the page frame.
            #[must_use]
            #[inline]
            pub const fn byte_index(self) -> u64 {
                self.0 & (PAGE - 1)
            }
        }
    };
}

address!(
    /// An address that dynamic address translation, when on, turns into a real one.
    Virtual
);
address!(
    /// An address to which prefixing has yet to be applied.
    Real
);
address!(
    /// An address after translation and prefixing: a place in the configuration's storage.
    Absolute
);

/// Applies prefixing: real 0-1FFF and the prefix area change places.
#[must_use]
#[inline]
pub const fn apply_prefix(real: Real, prefix: u64) -> Absolute {
    if real.0 < PREFIX_AREA {
        Absolute(real.0 + prefix)
    } else if real.0.wrapping_sub(prefix) < PREFIX_AREA {
        Absolute(real.0 - prefix)
    } else {
        Absolute(real.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixing_exchanges_low_storage_and_the_prefix_area() {
        assert_eq!(apply_prefix(Real(0x10), 0x4000), Absolute(0x4010));
        assert_eq!(apply_prefix(Real(0x5FFF), 0x4000), Absolute(0x1FFF));
        assert_eq!(apply_prefix(Real(0x6000), 0x4000), Absolute(0x6000));
        assert_eq!(apply_prefix(Real(0x10), 0), Absolute(0x10));
    }
}
