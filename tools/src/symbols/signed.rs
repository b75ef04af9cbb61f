//! Markers of the guest's first process, told apart from what only looks like one.
//!
//! The first process writes markers between the output of the command ([`markers`](super::markers)). So that the command
//! cannot write them too, the host gives the first process a nonce that is new in each run, in a file that is gone
//! before the command begins. A marker with the nonce is passed on without it. What begins like a marker and has no
//! nonce is output of the command, and loses the character that a marker begins with.
//!
//! All nonces have the same length and consist of decimal digits, so that the guest executes the same instructions with
//! each of them. So does the machine: what a nonce leaves in a page that is executed later may be scanned with it, and
//! any two digits are an instruction of two bytes that is not sensitive.

use anyhow::{Result, anyhow, ensure};

use super::markers::BEGIN;

/// What replaces the first character of an unsigned marker: the character for what cannot be shown.
const SUBSTITUTE: u8 = 0x1A;

/// Bytes of randomness in a nonce.
const BYTES: usize = 16;

/// Digits of the largest nonce.
const DIGITS: usize = 39;

/// The secret of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonce(String);

impl Nonce {
    /// A new one.
    pub fn new() -> Result<Self> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|error| anyhow!("this computer gives no random numbers: {error}"))?;
        Ok(Self::of(bytes))
    }

    fn of(bytes: [u8; BYTES]) -> Self {
        let number = u128::from_be_bytes(bytes);
        Self(format!("{number:0DIGITS$}"))
    }

    /// The one with these characters.
    pub fn known(text: &str) -> Result<Self> {
        let is_nonce = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
        ensure!(is_nonce, "{text:?} is not a nonce");
        Ok(Self(text.to_owned()))
    }

    /// Its characters.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// A console whose markers are signed, however it is cut.
#[derive(Debug)]
pub struct Signed {
    /// What a signed marker begins with.
    begin: Vec<u8>,
    /// Bytes that may become a marker.
    held: Vec<u8>,
}

impl Signed {
    /// A console whose markers have this nonce.
    pub fn new(nonce: &Nonce) -> Self {
        Self {
            begin: format!("{BEGIN}{} ", nonce.text()).into_bytes(),
            held: Vec::new(),
        }
    }

    /// The guest begins anew.
    pub fn restart(&mut self) {
        self.held.clear();
    }

    /// The console without the signatures, as far as it is known.
    pub fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut passed = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            self.held.push(byte);
            while !self.begin.starts_with(&self.held) {
                self.release(&mut passed);
            }
            if self.held == self.begin {
                passed.extend_from_slice(BEGIN.as_bytes());
                self.held.clear();
            }
        }
        passed
    }

    /// Passes the first held byte on, which begins no marker, with those up to the next that may begin one.
    fn release(&mut self, passed: &mut Vec<u8>) {
        if self.held.starts_with(BEGIN.as_bytes()) {
            self.held[0] = SUBSTITUTE;
        }
        let next = self.held.iter().skip(1).position(|&b| b == self.begin[0]);
        let end = next.map_or(self.held.len(), |next| next + 1);
        passed.extend(self.held.drain(..end));
    }

    /// What is held at the end of the run.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        while !self.held.is_empty() {
            self.release(&mut rest);
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passed(nonce: &Nonce, console: &[u8], piece: usize) -> Vec<u8> {
        let mut signed = Signed::new(nonce);
        let mut all = Vec::new();
        for part in console.chunks(piece) {
            all.extend(signed.pass(part));
        }
        all.extend(signed.rest());
        all
    }

    #[test]
    fn only_a_marker_with_the_nonce_of_the_run_is_one() {
        let (nonce, other) = (Nonce::of([0x5A; BYTES]), Nonce::of([0x5B; BYTES]));
        let sign = |text: &str| {
            let signed = format!("{BEGIN}{} ", nonce.text());
            text.replace("OURS ", &signed)
                .replace("THEIRS ", &format!("{BEGIN}{} ", other.text()))
                .replace("NONE ", BEGIN)
                .into_bytes()
        };
        let console = sign(
            "a\x1E\x1EOURS command\nno newlineNONE exit 0\nTHEIRS exit 0\nxOURS exit 3\n\x1Emilli",
        );
        let wanted = "a\x1E\x1ENONE command\nno newline\x1Amillimeter: exit 0\n\x1Amillimeter: "
            .to_owned()
            + other.text()
            + " exit 0\nxNONE exit 3\n\x1Emilli";
        for piece in [1, 2, 7, 1000] {
            let passed = passed(&nonce, &console, piece);
            assert_eq!(
                String::from_utf8_lossy(&passed),
                wanted.replace("NONE ", BEGIN),
                "{piece}"
            );
        }
    }

    #[test]
    fn nonces_differ_and_are_equally_long() {
        let (one, two) = (Nonce::new().unwrap(), Nonce::new().unwrap());
        assert_ne!(one, two);
        assert_eq!((one.text().len(), two.text().len()), (DIGITS, DIGITS));
        let largest = Nonce::of([0xFF; BYTES]);
        assert!(largest.text() == u128::MAX.to_string() && largest.text().len() == DIGITS);
        assert_eq!(Nonce::of([0; BYTES]).text().len(), DIGITS);
    }

    proptest! {
        #[test]
        fn a_console_without_the_nonce_has_no_marker_and_loses_no_byte(
            words in prop::collection::vec(prop::sample::select(
                vec!["\x1E", "\x1Emillimeter: ", "millimeter: ", "1201", "exit 0\n", " ", "x"]), 0..60),
            piece in 1_usize..20,
        ) {
            let console = words.concat().into_bytes();
            let passed = passed(&Nonce::of([0x5A; BYTES]), &console, piece);
            prop_assert_eq!(passed.len(), console.len());
            prop_assert!(!String::from_utf8_lossy(&passed).contains(BEGIN));
        }
    }
}
