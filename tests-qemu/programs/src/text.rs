//! Text on the standard output.

use core::fmt;

use crate::call;

/// The standard output.
#[derive(Debug)]
pub struct Output;

impl fmt::Write for Output {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match call::write(1, text.as_bytes()) {
            Ok(_) => Ok(()),
            Err(_) => Err(fmt::Error),
        }
    }
}

/// Writes text. Ignores errors.
#[macro_export]
macro_rules! say {
    ($($part:tt)*) => {{
        use core::fmt::Write as _;
        let _ = write!($crate::text::Output, $($part)*);
    }};
}
