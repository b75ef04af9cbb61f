//! Which statement of the book an assertion shows.
//!
//! [`shows!`](crate::shows) asserts that something holds, and names the statement of the conformance table
//! (`tests-qemu/conformance`) that requires it. While the guest runs it prints
//!
//! ```text
//! shown LPP-11
//! failed LPP-11: got 2, expected 1, at src/bin/b_lpp.rs:70
//! ```
//!
//! Only these lines count: `cargo measure conformance` takes a statement as shown if a run printed such a line, and
//! none said that it failed. An assertion in a loop prints once for each outcome, because otherwise the console would
//! hold little else.
//!
//! A guest that dies prints no line for what it has not reached. So each assertion also writes the module that makes it
//! and its statements into the ELF section `.shows`, which is never loaded: `behaviour::b_lpp::named LPP-6 LPP-7`.

use core::fmt::Debug;
use core::panic::Location;
use core::sync::atomic::{AtomicU8, Ordering};

/// What one assertion in the program's text has printed so far.
pub struct Site(AtomicU8);

const HELD: u8 = 1;
const FAILED: u8 = 2;

impl Site {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU8::new(0))
    }

    fn is_first(&self, outcome: u8) -> bool {
        self.0.fetch_or(outcome, Ordering::Relaxed) & outcome == 0
    }

    /// Asserts that a condition holds.
    #[track_caller]
    pub fn truth(&self, statements: &[&str], truth: bool) {
        if truth {
            self.held(statements);
        } else {
            self.failed(statements, format_args!("does not hold"));
        }
    }

    /// Asserts that a value is the one that the statements require.
    #[track_caller]
    pub fn value<T: Debug + PartialEq>(&self, statements: &[&str], got: T, expected: T) {
        if got == expected {
            self.held(statements);
        } else {
            self.failed(
                statements,
                format_args!("got {got:x?}, expected {expected:x?}"),
            );
        }
    }

    fn held(&self, statements: &[&str]) {
        if self.is_first(HELD) {
            for statement in statements {
                crate::println!("shown {statement}");
            }
        }
    }

    #[track_caller]
    fn failed(&self, statements: &[&str], how: core::fmt::Arguments<'_>) {
        crate::check::fail();
        if self.is_first(FAILED) {
            let at = Location::caller();
            for statement in statements {
                crate::println!("failed {statement}: {how}, at {}:{}", at.file(), at.line());
            }
        }
    }
}

impl Default for Site {
    fn default() -> Self {
        Self::new()
    }
}

/// Asserts a statement: `shows!("LPP-11", truth)` or `shows!("LPP-11", got, expected)`. An assertion that shows
/// several statements has them in brackets: `shows!(["LPP-6", "LPP-7"], …)`.
#[macro_export]
macro_rules! shows {
    ([$($statement:literal),+ $(,)?], $truth:expr $(,)?) => {{
        $crate::names!($($statement),+);
        static SITE: $crate::shows::Site = $crate::shows::Site::new();
        SITE.truth(&[$($statement),+], $truth);
    }};
    ([$($statement:literal),+ $(,)?], $got:expr, $expected:expr $(,)?) => {{
        $crate::names!($($statement),+);
        static SITE: $crate::shows::Site = $crate::shows::Site::new();
        SITE.value(&[$($statement),+], $got, $expected);
    }};
    ($statement:literal, $($rest:tt)+) => {
        $crate::shows!([$statement], $($rest)+)
    };
}

/// Names statements where the harness can read them without running the guest.
#[macro_export]
macro_rules! names {
    ($($statement:expr),+) => {
        mod named {
            core::arch::global_asm!(
                ".pushsection .shows,\"\",@progbits",
                concat!(".asciz \"", module_path!(), $(" ", $statement,)+ "\""),
                ".popsection",
            );
        }
    };
}
