//! What a run is to be: the options, their ranges, and the sizes and dates that people write.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use anyhow::{Result, bail};
use clap::ValueEnum;
use jiff::civil::DateTime;
use millimeter::{
    cache::Geometry,
    link::{
        loader::{DEFAULT_INTERVAL, LONGEST_INTERVAL, MOST_CPUS, SHORTEST_INTERVAL, sets},
        state::Mode,
    },
};

use crate::{
    configuration::Configuration,
    counter_choice::{self, CounterChoice},
    devices::Devices,
    exact_caches,
    guest::{DEFAULT_GUEST, Guest},
    qemu::ExecutionLog,
    trace::command::begins_trace,
};

/// Cycles per second that the machine counts when one instruction is one nanosecond.
pub const CYCLES_PER_SECOND: u64 = 1_000_000_000;

/// The least storage of a run: guest, staged segments and HSA have room.
pub const LEAST_STORAGE: u64 = 64 << 20;

/// The most that QEMU is asked for.
pub const MOST_STORAGE: u64 = 1 << 40;

/// End of the storage that a guest and the HSA can use: their addresses have 31 bits.
pub const GUEST_STORAGE_LIMIT: u64 = 2 << 30;

/// Storage of a run that does not choose.
pub const DEFAULT_STORAGE: u64 = 512 << 20;

/// A link that says nothing for this long has failed.
pub const DEFAULT_SILENCE: Duration = Duration::from_secs(60);

/// A number of bytes, written as `512M` or `0x2000_0000` would be by a person: a decimal number
/// and one of `K`, `M`, `G` (or `KiB`, `MiB`, `GiB`), powers of 1024 all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Storage(pub u64);

impl FromStr for Storage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
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

/// The date at which the machine's clock starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rtc {
    /// The real date.
    #[default]
    Now,
    /// This date, in UTC.
    At(DateTime),
}

impl FromStr for Rtc {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "now" {
            return Ok(Self::Now);
        }
        let date: DateTime = text.trim_end_matches('Z').parse().map_err(|_| {
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

impl fmt::Display for Rtc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => write!(f, "now"),
            Self::At(date) => write!(f, "{}", date.strftime("%Y-%m-%dT%H:%M:%S")),
        }
    }
}

/// Something that the host says to the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A command of the operator.
    Operator(String),
    /// Bytes typed at the guest's console.
    Console(Vec<u8>),
}

/// Everything that decides a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// A bundled guest's name, or a file.
    pub guest: String,
    /// CPUs of the guest, 1 to 4; as many as it needs if nothing is said.
    pub cpus: Option<u32>,
    /// Storage of the whole machine.
    pub storage: Storage,
    /// The machine's own sampling.
    pub sampling: Sampling,
    /// How time passes.
    pub mode: Mode,
    /// When it starts.
    pub rtc: Rtc,
    /// The QEMU to use; what is found otherwise.
    pub qemu: Option<PathBuf>,
    /// QEMU's name for the CPU.
    pub cpu_model: String,
    /// Where the raw files go; a fresh directory otherwise.
    pub out: Option<PathBuf>,
    /// What the guest finds.
    pub configuration: Configuration,
    /// The counter sets of the machine's own measurement, when the run chooses them.
    pub counters: Option<CounterChoice>,
    /// The caches that are modelled for each CPU, if any.
    pub exact_caches: Option<Geometry>,
    /// Devices of the host. A run with one is not in exact mode.
    pub devices: Devices,
    /// Counter [`sets`] that the guest is authorized to use.
    pub guest_sets: u32,
    /// Microseconds of one CPU's turn; 0 for the machine's choice.
    pub slice: u64,
    /// A link that says nothing for this long has failed.
    pub silence: Duration,
    /// A run that lasts longer is ended.
    pub limit: Option<Duration>,
    /// Whether the machine supplies the cryptographic functions of the message-security assist, and the
    /// guest may count them.
    pub cryptography: bool,
    /// Program-event recording.
    pub events: Events,
    /// What the operator says before the guest starts.
    pub operator: Vec<String>,
    /// What the operator says when every CPU waits, the next of these each time: given in advance, so
    /// that it comes at the same moment of every run. It precedes the script.
    pub when_waiting: Vec<String>,
    /// What the host says: the next of these each time that every CPU waits for it.
    pub script: Vec<Input>,
    /// How long the host takes before it says the next of these.
    pub pause: Duration,
    /// QEMU's log of what it executes, which makes a run many times slower.
    pub execution_log: Option<ExecutionLog>,
    /// Whether the machine counts its traps by what caused them.
    pub count_traps: bool,
}

/// Program-event recording, as a run has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Whether the QEMU must be able to record them.
    pub recorded: bool,
    /// Whether the operator may have them traced, whatever the guest has.
    pub traced: bool,
    /// In which form the guest has them.
    pub form: EventForm,
}

/// The architecture whose form the guest's controls and interruptions of program-event recording have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EventForm {
    /// z/Architecture
    #[default]
    Z,
    /// System/370, extended-control mode: 24-bit addresses, locations 150-155
    S370,
}

impl RunOptions {
    /// A run of this guest with nothing chosen.
    pub fn new(guest: impl Into<String>) -> Self {
        Self {
            guest: guest.into(),
            cpus: None,
            storage: Storage(DEFAULT_STORAGE),
            sampling: Sampling::default(),
            mode: Mode::Exact,
            rtc: Rtc::Now,
            qemu: None,
            cpu_model: "max".to_owned(),
            out: None,
            configuration: Configuration::default(),
            counters: None,
            exact_caches: None,
            devices: Devices::default(),
            guest_sets: sets::DEFAULT,
            slice: 0,
            silence: DEFAULT_SILENCE,
            limit: None,
            cryptography: false,
            events: Events::default(),
            operator: Vec::new(),
            when_waiting: Vec::new(),
            script: Vec::new(),
            pause: Duration::ZERO,
            execution_log: None,
            count_traps: false,
        }
    }

    /// The counter sets that the guest can be authorized to use.
    pub fn honest_guest_sets(&self) -> u32 {
        if self.mode == Mode::RealTime {
            return 0;
        }
        let mut authorized = self.guest_sets;
        if self.configuration.threads > 1 {
            authorized |= sets::MT_DIAGNOSTIC;
        }
        if self.cryptography {
            authorized |= sets::CRYPTO | sets::COPROCESSOR_GROUPS;
        }
        authorized
    }

    /// Whether samples are taken from below: for the report, or by HIS as far as the operator was told in advance.
    pub fn takes_samples(&self) -> bool {
        self.sampling != Sampling::Off || self.asks_his()
    }

    /// Whether the operator says anything to HIS in advance.
    pub fn asks_his(&self) -> bool {
        let mut said = self.operator.iter().chain(&self.when_waiting);
        said.any(|line| millimeter::his::command::is_command(line))
    }

    /// Whether the operator may trace program events: as the run says, or because it does so in advance.
    pub fn traces(&self) -> bool {
        let script = self.script.iter().filter_map(|input| match input {
            Input::Operator(line) => Some(line),
            Input::Console(_) => None,
        });
        let said = self.operator.iter().chain(&self.when_waiting).chain(script);
        self.events.traced || said.into_iter().any(|line| begins_trace(line))
    }

    /// Whether the options are possible, and go together.
    pub fn check(&self) -> Result<()> {
        match self.cpus {
            Some(cpus) if !(1..=MOST_CPUS).contains(&cpus) => {
                bail!("{cpus} CPUs are not possible; choose from 1 to {MOST_CPUS}")
            }
            _ => self.configuration.check(self.cpus)?,
        }
        self.devices.check()?;
        exact_caches::check(self)?;
        counter_choice::check(self)
    }

    /// The number of CPUs for this guest, which would wait for ever for one that it needs and has not.
    pub fn cpus_for(&self, guest: &Guest) -> Result<u32> {
        match self.cpus {
            Some(cpus) if cpus < guest.cpus => bail!(
                "the guest {} needs {} CPUs and would wait for ever with {cpus}; choose --cpus {} or more, or leave --cpus out",
                guest.name,
                guest.cpus,
                guest.cpus
            ),
            Some(cpus) => Ok(cpus),
            // Whole cores.
            None => Ok(guest.cpus.next_multiple_of(self.configuration.threads)),
        }
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        Self::new(DEFAULT_GUEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal<T: FromStr<Err = String> + fmt::Debug>(text: &str) -> String {
        text.parse::<T>().unwrap_err()
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

    #[test]
    fn real_time_authorizes_no_counter_set() {
        let mut options = RunOptions::default();
        assert_eq!(options.honest_guest_sets(), sets::DEFAULT);
        options.mode = Mode::RealTime;
        options.configuration.threads = 2;
        assert_eq!(options.honest_guest_sets(), 0);
    }

    #[test]
    fn threads_are_counted_where_there_are_any() {
        let mut options = RunOptions::default();
        assert_eq!(options.honest_guest_sets() & sets::MT_DIAGNOSTIC, 0);
        options.configuration.threads = 2;
        let authorized = options.honest_guest_sets() & sets::MT_DIAGNOSTIC;
        assert_eq!(authorized, sets::MT_DIAGNOSTIC);
    }
}
