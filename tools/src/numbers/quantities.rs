//! Sizes, intervals and dates as people write them, and their ranges.

use std::{fmt, str::FromStr};

use link::{
    copies::{DEFAULT_COPY, LONGEST_COPY},
    loader::{DEFAULT_INTERVAL, HSA_END, LONGEST_INTERVAL, SHORTEST_INTERVAL},
    stack::{DEFAULT_FRAMES, MOST_FRAMES},
};

use super::date::Date;

/// Cycles per second that the machine counts when one instruction is one nanosecond.
pub const CYCLES_PER_SECOND: u64 = 1_000_000_000;

/// The least storage of a run: guest, staged segments and HSA have room.
pub const LEAST_STORAGE: u64 = 64 << 20;

/// The most storage of a run.
pub const MOST_STORAGE: u64 = 1 << 40;

/// End of the storage that a guest and the HSA can use.
pub const GUEST_STORAGE_LIMIT: u64 = 16 << 30;

/// End of the storage that a guest can be loaded into: the HSA lies there if there is more.
pub const LOAD_LIMIT: u64 = HSA_END;

/// Storage of a run by default.
pub const DEFAULT_STORAGE: u64 = 512 << 20;

/// A number of bytes as a person writes it, like `512M`: a decimal number and one of `K`, `M`, `G` (or `KiB`,
/// `MiB`, `GiB`), all powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Storage(pub u64);

/// A size with its unit: a number, and by how many bits to shift it.
fn size(text: &str) -> Result<(u64, u32), String> {
    let example = "write it as 512M or 1G";
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number
        .parse()
        .map_err(|_| format!("{text} is not a size; {example}"))?;
    let shift = match unit.to_ascii_uppercase().as_str() {
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "" => return Err(format!("{text} has no unit; {example}")),
        _ => return Err(format!("{unit} is not a unit of storage; {example}")),
    };
    Ok((number, shift))
}

/// How call stacks are followed: a depth, or `dwarf` or `dwarf:KIB` for copies of the stacks of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackChoice {
    /// The most return addresses.
    pub depth: u32,
    /// The most bytes that are copied; 0 for no copies.
    pub copy: u32,
}

impl FromStr for StackChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const DWARF: &str = "dwarf";
        if let Some(rest) = text.strip_prefix(DWARF) {
            let most = LONGEST_COPY >> 10;
            let copy = match rest.strip_prefix(':').map(str::parse) {
                None if rest.is_empty() => DEFAULT_COPY,
                Some(Ok(kib)) if (1..=most).contains(&kib) => kib << 10,
                _ => {
                    return Err(format!(
                        "{text} does not say how much of a stack is copied; write {DWARF}, or {DWARF}:KIB with 1 to {most} KiB"
                    ));
                }
            };
            return Ok(Self {
                depth: DEFAULT_FRAMES,
                copy,
            });
        }
        match text.parse() {
            Ok(depth) if (1..=MOST_FRAMES as u32).contains(&depth) => Ok(Self { depth, copy: 0 }),
            _ => Err(format!(
                "{text} is no depth; choose 1 to {MOST_FRAMES} return addresses, or {DWARF}"
            )),
        }
    }
}

/// How many bytes of a kind of data a run keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept(pub u64);

impl FromStr for Kept {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, shift) = size(text)?;
        let bytes = number.checked_mul(1 << shift);
        bytes
            .map(Self)
            .ok_or_else(|| format!("{text} is more than any disk has; write it as 256M or 16G"))
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "G"), (20, "M"), (10, "K")];
        let unit = units
            .iter()
            .find(|(shift, _)| self.0 != 0 && self.0.is_multiple_of(1 << shift));
        match unit {
            Some((shift, unit)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

impl FromStr for Storage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, shift) = size(text)?;
        let bytes = number
            .checked_mul(1 << shift)
            .filter(|bytes| *bytes <= MOST_STORAGE);
        let bytes =
            bytes.ok_or_else(|| format!("{text} is more than {}", Storage(MOST_STORAGE)))?;
        if bytes < LEAST_STORAGE {
            return Err(format!(
                "{text} is too little: the guest and the machine below it need {} at least",
                Storage(LEAST_STORAGE)
            ));
        }
        if !bytes.is_multiple_of(1 << 20) {
            return Err(format!("{text} is not a whole number of MiB"));
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_multiple_of(1 << 30) {
            write!(f, "{}G", self.0 >> 30)
        } else {
            write!(f, "{}M", self.0 >> 20)
        }
    }
}

/// How often the machine takes a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Never.
    Off,
    /// Once in this many cycles.
    Every(u64),
}

impl Default for Sampling {
    fn default() -> Self {
        Self::Every(DEFAULT_INTERVAL)
    }
}

impl FromStr for Sampling {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let range = format!("from {SHORTEST_INTERVAL} to {LONGEST_INTERVAL} cycles, or off");
        match text.replace('_', "").parse() {
            Ok(cycles) if (SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(&cycles) => {
                Ok(Self::Every(cycles))
            }
            Ok(_) => Err(format!(
                "{text} is out of range; choose an interval {range}"
            )),
            Err(_) => Err(format!(
                "{text} is not a number of cycles; choose an interval {range}"
            )),
        }
    }
}

impl Sampling {
    /// The interval that gives this many samples per second of guest time.
    pub fn at_frequency(hertz: u64) -> Result<Self, String> {
        let interval = CYCLES_PER_SECOND.checked_div(hertz).unwrap_or(0);
        if !(SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(&interval) {
            return Err(format!(
                "{hertz} samples per second are out of range; choose from 1 to {}",
                CYCLES_PER_SECOND / SHORTEST_INTERVAL
            ));
        }
        Ok(Self::Every(interval))
    }

    /// The interval in cycles as the loader block has it.
    pub fn cycles(self) -> u64 {
        match self {
            Self::Off => 0,
            Self::Every(cycles) => cycles,
        }
    }
}

/// The date at which the guest starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rtc {
    /// The real date.
    #[default]
    Now,
    /// This date, in UTC.
    At(Date),
}

impl FromStr for Rtc {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "now" {
            return Ok(Self::Now);
        }
        let date: Date = text.trim_end_matches('Z').parse().map_err(|_| {
            format!("{text} is not a date; write now or a UTC date like 2026-01-01T00:00:00")
        })?;
        // The TOD clock counts from 1900 and wraps in 2042; QEMU's own clock begins in 1970.
        if !(1970..2042).contains(&date.year()) {
            return Err(format!(
                "the machine's clock cannot show {text}; choose a year from 1970 to 2041"
            ));
        }
        Ok(Self::At(date))
    }
}

impl Rtc {
    /// The seconds from 1970 to this date; `None` for the real date.
    pub fn seconds(self) -> Option<u64> {
        let Self::At(date) = self else { return None };
        date.seconds().try_into().ok()
    }

    /// The present second of this computer's clock, or `Now` if the machine's clock cannot show it.
    #[must_use]
    pub fn this_second() -> Self {
        Date::now().to_string().parse().unwrap_or(Self::Now)
    }

    /// The date of QEMU's clock at the machine's IPL, from which the guest can still start at this date. The IPL takes
    /// some time, and QEMU's TOD clock may be behind the date by up to a quarter of a second.
    #[must_use]
    pub fn before_ipl(self) -> Self {
        match (self, self.seconds()) {
            (Self::At(date), Some(1..)) => Self::At(date.before(1)),
            // QEMU has no date before 1970.
            _ => self,
        }
    }
}

impl fmt::Display for Rtc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => write!(f, "now"),
            Self::At(date) => date.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal<T: FromStr<Err = String> + fmt::Debug>(text: &str) -> String {
        text.parse::<T>().unwrap_err()
    }

    #[test]
    fn qemu_begins_a_second_before_the_guest() {
        let rtc: Rtc = "2026-01-01T00:00:00".parse().unwrap();
        assert_eq!(rtc.seconds(), Some(1_767_225_600));
        assert_eq!(rtc.before_ipl().to_string(), "2025-12-31T23:59:59");
        let first: Rtc = "1970-01-01T00:00:00".parse().unwrap();
        assert_eq!((first.before_ipl(), first.seconds()), (first, Some(0)));
        assert_eq!(
            (Rtc::Now.before_ipl(), Rtc::Now.seconds()),
            (Rtc::Now, None)
        );
    }

    #[test]
    fn storage_is_written_with_a_unit_and_has_a_least_amount() {
        assert_eq!("512M".parse(), Ok(Storage(512 << 20)));
        assert_eq!("2g".parse(), Ok(Storage(2 << 30)));
        assert_eq!("65536KiB".parse(), Ok(Storage(64 << 20)));
        assert!(refusal::<Storage>("63M").contains("need 64M at least"));
        assert!(refusal::<Storage>("512").contains("no unit"));
        assert!(refusal::<Storage>("lots").contains("write it as 512M"));
        assert!(refusal::<Storage>("65537K").contains("whole number of MiB"));
        assert!(refusal::<Storage>("99999999999G").contains("more than"));
        assert_eq!(Storage(512 << 20).to_string(), "512M");
        assert_eq!(Storage(3 << 30).to_string(), "3G");
    }

    #[test]
    fn an_interval_has_a_range_at_both_ends() {
        assert_eq!("1000".parse(), Ok(Sampling::Every(1000)));
        assert_eq!("4294967296".parse(), Ok(Sampling::Every(1 << 32)));
        assert_eq!("1_000_000".parse(), Ok(Sampling::Every(1_000_000)));
        assert_eq!("off".parse(), Ok(Sampling::Off));
        for bad in ["999", "4294967297", "0", "-1", "often", ""] {
            assert!(
                refusal::<Sampling>(bad).contains("from 1000 to 4294967296 cycles"),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_frequency_becomes_an_interval_within_the_same_range() {
        assert_eq!(Sampling::at_frequency(1000), Ok(Sampling::Every(1_000_000)));
        assert_eq!(
            Sampling::at_frequency(1),
            Ok(Sampling::Every(CYCLES_PER_SECOND))
        );
        assert_eq!(Sampling::at_frequency(1_000_000), Ok(Sampling::Every(1000)));
        for hertz in [0, 1_000_001, u64::MAX] {
            assert!(
                Sampling::at_frequency(hertz)
                    .unwrap_err()
                    .contains("from 1 to 1000000")
            );
        }
    }

    #[test]
    fn a_date_is_now_or_a_moment_that_the_clock_can_show() {
        assert_eq!("now".parse(), Ok(Rtc::Now));
        let date: Rtc = "2026-01-01T00:00:00".parse().unwrap();
        assert_eq!(date.to_string(), "2026-01-01T00:00:00");
        assert_eq!("2026-01-01T00:00:00Z".parse(), Ok(date));
        assert!(refusal::<Rtc>("yesterday").contains("2026-01-01T00:00:00"));
        assert!(refusal::<Rtc>("2042-01-01T00:00:00").contains("1970 to 2041"));
    }
}
