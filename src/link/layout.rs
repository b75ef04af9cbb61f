//! Blocks of bytes that others read: contiguous big-endian fields, with a length that is stated and checked.

/// Defines such a block, with its length in bytes. A crate that uses it depends on `zerocopy`.
#[macro_export]
macro_rules! layout {
    ($(#[$meta:meta])* $name:ident, $length:literal {
        $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq,
            zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout,
            zerocopy::Unaligned,
        )]
        #[repr(C)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        const _: () = assert!(size_of::<$name>() == $length);
    };
}
