//! The form in which events are recorded here: that of z/Architecture or that of System/370.

use core::sync::atomic::{AtomicU8, Ordering};

use super::{FETCH, Run, text};
use crate::psw::INITIAL;

/// The form of controls and identification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// 64-bit addresses, locations 150-159.
    Z,
    /// 24-bit addresses, locations 150-155.
    S370,
}

impl Form {
    /// The PSW of a text without its PER mask: disabled, DAT off, in the addressing mode of the form.
    #[must_use]
    pub const fn psw(self) -> u64 {
        match self {
            Self::Z => INITIAL,
            Self::S370 => 0,
        }
    }
}

/// Not yet known, [`Form::Z`], [`Form::S370`].
static FOUND: AtomicU8 = AtomicU8::new(0);

/// The form, as a first event shows it: location 151 is never zero in z/Architecture.
#[must_use]
pub fn form() -> Form {
    if FOUND.load(Ordering::Relaxed) == 0 {
        let run = Run {
            events: FETCH,
            range: [text(); 2],
            registers: [0; 16],
            mask: INITIAL,
        };
        let is_z = run.execute(&[0x07, 0]).0[0].stored[1] != 0;
        FOUND.store(if is_z { 1 } else { 2 }, Ordering::Relaxed);
    }
    match FOUND.load(Ordering::Relaxed) {
        1 => Form::Z,
        _ => Form::S370,
    }
}

/// Like [`shows!`](crate::shows), for statements that each form has: `shows_per!([7, 8], truth)` shows PER-7 and
/// PER-8, or PER370-7 and PER370-8 if the form is System/370's.
#[macro_export]
macro_rules! shows_per {
    ([$($number:literal),+ $(,)?], $truth:expr $(,)?) => {{
        $crate::names!($(concat!("PER-", $number), concat!("PER370-", $number)),+);
        static SITE: $crate::shows::Site = $crate::shows::Site::new();
        let truth = $truth;
        match $crate::recording::form() {
            $crate::recording::Form::Z => SITE.truth(&[$(concat!("PER-", $number)),+], truth),
            $crate::recording::Form::S370 => SITE.truth(&[$(concat!("PER370-", $number)),+], truth),
        }
    }};
}
