//! IBM numbers bits from the left: bit 0 of a 64-bit field is its sign bit.

/// The mask of bit `n` (0 is leftmost) of a 64-bit field.
#[must_use]
pub const fn bit64(n: u32) -> u64 {
    1 << (63 - n)
}

/// The mask of bit `n` (0 is leftmost) of a 32-bit field.
#[must_use]
pub const fn bit32(n: u32) -> u32 {
    1 << (31 - n)
}

/// The mask of bit `n` (0 is leftmost) of a 16-bit field.
#[must_use]
pub const fn bit16(n: u32) -> u16 {
    1 << (15 - n)
}

/// The mask of bit `n` (0 is leftmost) of a byte.
#[must_use]
pub const fn bit8(n: u32) -> u8 {
    1 << (7 - n)
}

/// Bits `first` to `last` (both included, 0 is leftmost) of a 64-bit field, right-aligned.
#[must_use]
#[inline]
pub const fn field64(value: u64, first: u32, last: u32) -> u64 {
    (value >> (63 - last)) & (u64::MAX >> (63 - (last - first)))
}

/// Gives a mask type the operations of a set. With the type of its elements, each with its own `bit()`, the set also
/// has a membership test.
#[macro_export]
macro_rules! set_operations {
    ($set:ident of $element:ty) => {
        $crate::set_operations!($set);

        impl $set {
            /// Whether the set has this element.
            #[must_use]
            #[inline]
            pub const fn has(self, element: $element) -> bool {
                self.0 & element.bit().0 != 0
            }
        }
    };
    ($set:ident) => {
        impl $set {
            /// The empty set.
            pub const NONE: Self = Self(0);

            /// The elements of either set.
            #[must_use]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// The elements of both sets.
            #[must_use]
            pub const fn intersection(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }

            /// The elements of this set that are not in `other`.
            #[must_use]
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// Whether the set is empty.
            #[must_use]
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_zero_is_the_leftmost_bit() {
        assert_eq!(bit64(0), 0x8000_0000_0000_0000);
        assert_eq!(bit64(63), 1);
        assert_eq!(bit32(0), 0x8000_0000);
        assert_eq!(bit16(15), 1);
        assert_eq!(bit8(0), 0x80);
        assert_eq!(field64(0x0123_4567_89AB_CDEF, 8, 15), 0x23);
        assert_eq!(field64(u64::MAX, 0, 63), u64::MAX);
    }
}
