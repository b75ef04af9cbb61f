//! `run.json`: everything about a run but its measured data.
//!
//! It is written when the run begins, when the machine says what it is or how far the guest has come, and when the run
//! has ended. So a directory always says what it holds, however the run ended.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use link::state::{
    COUNTER_FACILITY, GuestEnded, Looping, Mode, Progress, Reason, SUCCESS_ADDRESS, Started,
    Totals, Traps,
};
use serde::{Deserialize, Serialize, Serializer};

use crate::folder::{self, RECORD, append::Directory};

/// Everything that `run.json` holds. By default it is that of a run of which nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Version of the tool that wrote it.
    pub version: String,
    /// The build of the machine's image, if the tool knew it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// The guest's name.
    pub guest: String,
    /// The guest's file.
    #[serde(serialize_with = "as_text")]
    pub guest_file: PathBuf,
    /// Whether it is Linux: a report then tells the programs in it apart.
    #[serde(default)]
    pub is_linux: bool,
    /// Name of the [`Mode`] that the options chose.
    pub mode: String,
    /// CPUs.
    pub cpus: u32,
    /// Storage of the machine in bytes.
    pub storage: u64,
    /// Sampling interval in cycles; 0 for no sampling.
    pub interval: u64,
    /// How the guest's configuration differs from the default, in words.
    #[serde(default)]
    pub configuration: Vec<String>,
    /// The geometry of each CPU's modelled caches, as `--exact-caches` writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact_caches: Option<String>,
    /// Whether every execution of every instruction was to be counted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub count_executions: bool,
    /// Which of them, in words; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_part: Option<String>,
    /// The addresses to which counts are limited, the first and the last; none for no limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted_ranges: Vec<[u64; 2]>,
    /// When the clock started, or `now`.
    pub rtc: String,
    /// The QEMU that ran.
    pub qemu: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What the person asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// The identities of what decides an exact run beside the options.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, String>,
    /// With what the guest's first process signs. The run is over when anybody reads this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// When the guest began: TOD clock, bits 0-63, if the run chose it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub begin: u64,
    /// When the guest ended, by the same clock.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ended: u64,
    /// The part of another run that this one shows more closely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowRecord>,
    /// What the machine said when it was up.
    pub started: Option<StartedRecord>,
    /// How far the guest had come when the machine last said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressRecord>,
    /// How the run ended.
    pub end: End,
    /// How often the guest was loaded.
    #[serde(default = "once")]
    pub loads: u32,
    /// What each CPU did.
    pub totals: Vec<TotalsRecord>,
    /// Its traps by cause, if they were counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traps: Vec<TrapsRecord>,
    /// The paths of its guest's control program by cause, if they were counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<TrapsRecord>,
    /// Its executed instructions, if they were counted one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<CountsRecord>,
    /// The names of the files of HIS's collection runs, up to the number of the set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collections: Vec<String>,
    /// CPUs that took interruptions without end, as they were reported; at most [`MOST_LOOPS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<LoopRecord>,
    /// How many more were reported.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_loops: u64,
    /// Traces of program events.
    #[serde(default, skip_serializing_if = "TracingRecord::is_empty")]
    pub tracing: TracingRecord,
    /// What went over the link.
    pub link: LinkRecord,
}

/// A name of a file as text: JSON has no other, and a run is worth keeping whatever its guest's file is called.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// The most strings of interruptions without end that a record has. A guest can break one off and begin the next, as often
/// as it likes.
pub const MOST_LOOPS: usize = 32;

/// The words of the command line that began a run, and where it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The command and its options.
    pub words: Vec<String>,
    /// The directory to which the names of files refer.
    #[serde(serialize_with = "as_text")]
    pub directory: PathBuf,
}

/// A part of a run that was looked at again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowRecord {
    /// The folder of the first run.
    #[serde(serialize_with = "as_text")]
    pub of: PathBuf,
    /// When its guest began: TOD clock, bits 0-63.
    pub begin: u64,
    /// When the window begins: TOD clock, bits 0-63.
    pub from: u64,
    /// When it ends.
    pub to: u64,
    /// The sampling interval of the first run.
    pub first_interval: u64,
    /// Samples of the first run that were found again.
    pub checked_samples: u64,
    /// Samples that were due and not taken, because the next one was due, too.
    pub missed: u64,
}

// The signature is that of `skip_serializing_if`.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

// The signature is that of `skip_serializing_if`.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// What arrived and was not kept, because there was a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotKept {
    /// Bytes of the guest's console.
    pub console_bytes: u64,
    /// Frames of other data.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum End {
    /// It has not ended, or the tool was ended before it could say more.
    #[default]
    Running,
    /// The guest ended.
    Guest(GuestEnd),
    /// The guest ended with success, but its console says that it failed.
    Console {
        /// What it says.
        text: String,
    },
    /// Every CPU of the guest waits for something that nobody will send.
    Waiting,
    /// The machine itself failed.
    Machine {
        /// Address of the disabled wait that it entered.
        wait_state: u32,
        /// What it said, registers and backtrace included.
        text: String,
    },
    /// Somebody ended the tool.
    Interrupted,
    /// The run lasted longer than it was allowed to.
    TimeLimit,
    /// The tool could not go on.
    Tool {
        /// Why, and what helps.
        text: String,
    },
}

/// A record without the field is of a guest that was loaded once.
fn once() -> u32 {
    1
}

/// How a guest ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestEnd {
    /// The CPU that ended it.
    pub cpu: u16,
    /// Number of a [`Reason`].
    pub reason: u8,
    /// Its PSW, bits 0-63.
    pub psw_mask: u64,
    /// Its PSW, bits 64-127.
    pub psw_address: u64,
    /// The exit code that it named, if that is the reason.
    #[serde(default)]
    pub code: u8,
}

impl GuestEnd {
    /// Whether the guest says that it succeeded.
    pub fn is_success(&self) -> bool {
        match Reason::from_number(self.reason) {
            Some(Reason::DisabledWait) => self.psw_address == SUCCESS_ADDRESS,
            Some(Reason::Stopped) => true,
            Some(Reason::ExitCode) => self.code == 0,
            _ => false,
        }
    }
}

impl From<&GuestEnded> for GuestEnd {
    fn from(ended: &GuestEnded) -> Self {
        Self {
            cpu: ended.cpu.get(),
            reason: ended.reason,
            psw_mask: ended.psw_mask.get(),
            psw_address: ended.psw_address.get(),
            code: ended.code,
        }
    }
}

impl End {
    /// How the run ended, in one sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::Running => "the run did not come to an end".to_owned(),
            Self::Guest(end) => {
                let psw = format!(
                    "PSW {:016X} {:016X} on CPU {}",
                    end.psw_mask, end.psw_address, end.cpu
                );
                match Reason::from_number(end.reason) {
                    Some(Reason::Stopped) => "the guest stopped all its CPUs".to_owned(),
                    _ if end.is_success() => "the guest ended with success".to_owned(),
                    Some(Reason::DisabledWait) => format!("the guest failed: disabled wait, {psw}"),
                    Some(Reason::CheckStop) => {
                        format!("the guest failed: its new PSW cannot be loaded, {psw}")
                    }
                    Some(Reason::ProgramLoop) => format!(
                        "the guest failed: the first instruction of its program-interruption handler is itself interrupted, for ever, {psw}"
                    ),
                    Some(Reason::ExitCode) => format!(
                        "the guest failed: it ended with the exit code {}, {psw}",
                        end.code
                    ),
                    Some(Reason::ExternalLoop) => format!(
                        "the guest failed: its external new PSW is enabled for an interruption that stays pending, for ever, {psw}"
                    ),
                    Some(Reason::Operator) => format!("the operator ended the guest, {psw}"),
                    None => format!(
                        "the guest ended for the unknown reason {}, {psw}",
                        end.reason
                    ),
                }
            }
            Self::Console { text } => format!("the guest failed: {text}"),
            Self::Waiting => {
                "the guest failed: every CPU waits, and neither a timer nor the host will end it"
                    .to_owned()
            }
            Self::Machine { wait_state, .. } => {
                format!(
                    "the machine failed: disabled wait {wait_state:03X} (see the table of wait states)"
                )
            }
            Self::Interrupted => "the run was interrupted".to_owned(),
            Self::TimeLimit => "the run was ended because it lasted too long".to_owned(),
            Self::Tool { text } => text.clone(),
        }
    }

    /// The exit code of a tool whose run ended like this: the guest's own, if it named one.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Guest(end) if Reason::from_number(end.reason) == Some(Reason::ExitCode) => {
                end.code
            }
            Self::Guest(end) if end.is_success() => 0,
            Self::Guest(_) | Self::Console { .. } | Self::Waiting => 3,
            _ => 2,
        }
    }

    /// Whether it was the guest that succeeded or failed, and not the tool or the machine.
    pub const fn is_of_guest(&self) -> bool {
        matches!(self, Self::Guest(_) | Self::Console { .. } | Self::Waiting)
    }
}

/// [`Started`] in the host's numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedRecord {
    /// Name of the mode that the machine found.
    pub mode: String,
    /// CPUs.
    pub cpus: u16,
    /// Cycles per microsecond.
    pub cpu_speed: u32,
    /// TOD clock.
    pub tod: u64,
    /// First address that is not the guest's.
    pub guest_storage_end: u64,
    /// First address behind the HSA, or behind the part of it that lies below 2 GiB.
    pub hsa_end: u64,
    /// Machine type, as hexadecimal digits: 8561.
    pub machine_type: String,
    /// Counter first version number.
    pub cfvn: u16,
    /// Counter second version number.
    pub csvn: u16,
    /// The counter sets that the machine below authorizes, if it has the CPU-measurement counter facility itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<u8>,
}

impl From<&Started> for StartedRecord {
    fn from(started: &Started) -> Self {
        Self {
            mode: Mode::from_number(started.mode)
                .map_or("unknown", Mode::name)
                .to_owned(),
            cpus: started.cpus.get(),
            cpu_speed: started.cpu_speed.get(),
            tod: started.tod.get(),
            guest_storage_end: started.guest_storage_end.get(),
            hsa_end: started.hsa_end.get(),
            machine_type: format!("{:04X}", started.machine_type.get()),
            cfvn: started.cfvn.get(),
            csvn: started.csvn.get(),
            below: (started.below & COUNTER_FACILITY != 0)
                .then_some(started.below & !COUNTER_FACILITY),
        }
    }
}

/// [`Looping`] in the host's numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopRecord {
    /// CPU address.
    pub cpu: u16,
    /// Its number.
    pub class: u8,
    /// Interruption code.
    pub code: u16,
    /// The PSW after the interruption, bits 0-63.
    pub psw_mask: u64,
    /// The PSW after the interruption, bits 64-127.
    pub psw_address: u64,
}

impl From<&Looping> for LoopRecord {
    fn from(looping: &Looping) -> Self {
        Self {
            cpu: looping.cpu.get(),
            class: looping.class,
            code: looping.code.get(),
            psw_mask: looping.psw_mask.get(),
            psw_address: looping.psw_address.get(),
        }
    }
}

impl LoopRecord {
    /// What the CPU did, in one sentence.
    pub fn sentence(&self) -> String {
        let class = match self.class {
            1 => "external",
            3 => "program",
            _ => "other",
        };
        format!(
            "CPU {} takes {class} interruptions {:04X} without end and executes no instruction, new PSW {:016X} {:016X}",
            self.cpu, self.code, self.psw_mask, self.psw_address
        )
    }
}

/// [`Progress`] in the host's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressRecord {
    /// Instructions that the guest has completed on all its CPUs.
    pub instructions: u64,
    /// TOD clock.
    pub tod: u64,
}

impl From<&Progress> for ProgressRecord {
    fn from(progress: &Progress) -> Self {
        Self {
            instructions: progress.instructions.get(),
            tod: progress.tod.get(),
        }
    }
}

/// [`Totals`] in the host's numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TotalsRecord {
    /// CPU address.
    pub cpu: u16,
    /// Cycles of guest time.
    pub guest_cycles: u64,
    /// Instructions that the guest completed.
    pub guest_instructions: u64,
    /// Instructions that the machine spent for it.
    pub firmware_instructions: u64,
    /// Interruptions that the machine took.
    pub traps: u64,
    /// Samples stored.
    pub samples_taken: u64,
    /// Samples that found no room.
    pub samples_lost: u64,
}

impl From<&Totals> for TotalsRecord {
    fn from(totals: &Totals) -> Self {
        Self {
            cpu: totals.cpu.get(),
            guest_cycles: totals.guest_cycles.get(),
            guest_instructions: totals.guest_instructions.get(),
            firmware_instructions: totals.firmware_instructions.get(),
            traps: totals.traps.get(),
            samples_taken: totals.samples_taken.get(),
            samples_lost: totals.samples_lost.get(),
        }
    }
}

/// [`Traps`] in the host's numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrapsRecord {
    /// CPU address.
    pub cpu: u16,
    /// Number of a [`Cause`](link::tally::Cause).
    pub cause: u8,
    /// Which of its kind: an operation code, or a code of the interruption.
    pub number: u16,
    /// How many there were.
    pub traps: u64,
    /// Instructions in all of them.
    pub instructions: u64,
    /// Instructions in the shortest of them.
    #[serde(default)]
    pub least: u64,
    /// Instructions in the longest of them.
    #[serde(default)]
    pub most: u64,
}

impl From<&Traps> for TrapsRecord {
    fn from(traps: &Traps) -> Self {
        Self {
            cpu: traps.cpu.get(),
            cause: traps.cause,
            number: traps.number.get(),
            traps: traps.traps.get(),
            instructions: traps.instructions.get(),
            least: traps.least.get(),
            most: traps.most.get(),
        }
    }
}

/// The exact counts of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountsRecord {
    /// CPU address.
    pub cpu: u16,
    /// Instructions that were counted.
    pub counted: u64,
    /// Instructions that were executed and could not be counted, because it is not known where they were.
    pub unmatched: u64,
    /// Instructions that were executed where nothing was to be counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// Payloads with counts that did not arrive.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing: u64,
}

/// The operator's traces of program events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracingRecord {
    /// The traces at the end of the guest, by number.
    pub traces: Vec<TracedRecord>,
    /// Events that arrived.
    pub streamed: u64,
    /// Events that found no room in the machine.
    pub lost_in_machine: u64,
    /// Events that the machine sent and that did not arrive.
    pub lost_on_link: u64,
    /// In a window: instructions that the machine performed together with others, so that no trace saw them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unseen: u64,
}

impl TracingRecord {
    /// Whether nothing was traced.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One of the operator's traces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedRecord {
    /// Its number.
    pub trace: u16,
    /// What it records, in the machine's words; empty if it did not say.
    pub what: String,
    /// Events on all CPUs.
    pub events: u64,
}

/// What went over the link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Frames that checked.
    pub frames: u64,
    /// Frames that did not check.
    pub bad_frames: u64,
    /// Frames with a correct check sequence whose payload makes no sense.
    pub bad_payloads: u64,
    /// Sample-data blocks that are missing, by their numbers.
    pub blocks_missing: u64,
    /// Sample-data blocks that arrived again, as those of a machine that was set back to an earlier state.
    #[serde(default)]
    pub blocks_repeated: u64,
    /// What was not kept.
    #[serde(default)]
    pub not_kept: NotKept,
    /// Frames that the machine says it sent.
    pub frames_sent: Option<u32>,
}

impl RunRecord {
    /// Notes what the newest payload of a CPU's counts says. Its numbers are those of the run so far; what is missing is only
    /// what did not arrive right before it.
    pub fn note_counts(&mut self, newest: CountsRecord) {
        match self.counts.iter_mut().find(|known| known.cpu == newest.cpu) {
            Some(known) => {
                // A payload that comes again has lower numbers.
                known.counted = known.counted.max(newest.counted);
                known.unmatched = known.unmatched.max(newest.unmatched);
                known.skipped = known.skipped.max(newest.skipped);
                known.missing = known.missing.saturating_add(newest.missing);
            }
            None => {
                self.counts.push(newest);
                self.counts.sort_by_key(|counts| counts.cpu);
            }
        }
    }

    /// Whether there are addresses that want names: of samples or of counted instructions.
    pub fn has_addresses(&self) -> bool {
        self.has_samples() || self.count_executions
    }

    /// Whether samples were taken from below: for the report, or by HIS.
    pub fn has_samples(&self) -> bool {
        self.interval != 0 || !self.collections.is_empty()
    }

    /// The mode of the run: what the machine found its clock to be, once it has said so.
    pub fn mode_found(&self) -> &str {
        self.started
            .as_ref()
            .map_or(&self.mode, |started| &started.mode)
    }

    /// Notes that a CPU takes interruptions without end.
    pub fn note_loop(&mut self, found: LoopRecord) {
        if self.loops.len() < MOST_LOOPS {
            self.loops.push(found);
        } else {
            self.more_loops = self.more_loops.saturating_add(1);
        }
    }

    /// The CPUs that took interruptions without end, in sentences.
    pub fn loops(&self) -> impl Iterator<Item = String> {
        let more = (self.more_loops > 0).then(|| {
            format!(
                "CPUs took interruptions without end {} more times, which are not listed",
                self.more_loops
            )
        });
        self.loops.iter().map(LoopRecord::sentence).chain(more)
    }

    /// Reads the record of a directory.
    pub fn read(directory: &Path) -> Result<Self> {
        let path = directory.join(RECORD);
        let bytes = folder::read(&path).with_context(|| {
            format!(
                "{} holds no run: cannot read {}; name a directory that `cargo measure run` wrote",
                directory.display(),
                path.display()
            )
        })?;
        serde_json::from_slice(&bytes).with_context(|| format!("{} is damaged", path.display()))
    }

    /// Writes the record. What was there before is kept if this fails.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        const NEXT: &str = "run.json.new";
        let next = directory.join(NEXT);
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        let mut file = Directory::open(directory)?.create(NEXT)?;
        file.append(&text)
            .and_then(|()| fs::rename(&next, directory.join(RECORD)))
            .inspect_err(|_| {
                let _ = fs::remove_file(&next);
            })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn record() -> RunRecord {
        RunRecord {
            version: "0".to_owned(),
            guest: "loop".to_owned(),
            guest_file: "/g/loop".into(),
            mode: "exact".to_owned(),
            cpus: 1,
            storage: 512 << 20,
            interval: 1_000_000,
            rtc: "now".to_owned(),
            qemu: "QEMU".to_owned(),
            loads: 1,
            ..RunRecord::default()
        }
    }

    #[test]
    fn a_record_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let mut written = record();
        written.end = End::Machine {
            wait_state: 0xE01,
            text: "panicked".to_owned(),
        };
        written.write(directory.path()).unwrap();
        assert_eq!(RunRecord::read(directory.path()).unwrap(), written);
    }

    #[test]
    fn a_record_is_written_whatever_the_names_of_its_files_are() {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
        let directory = tempfile::tempdir().unwrap();
        let name = PathBuf::from(OsStr::from_bytes(b"/g/\xFFloop"));
        let mut written = record();
        written.guest_file.clone_from(&name);
        written.asked = Some(Asked {
            words: Vec::new(),
            directory: name,
        });
        written.write(directory.path()).unwrap();
        let read = RunRecord::read(directory.path()).unwrap();
        let shown = PathBuf::from("/g/\u{FFFD}loop");
        assert_eq!(
            (read.guest_file, read.asked.unwrap().directory),
            (shown.clone(), shown)
        );
    }

    #[test]
    fn a_directory_without_a_run_is_refused_with_its_name() {
        let error = format!(
            "{:#}",
            RunRecord::read(Path::new("/no/such/run")).unwrap_err()
        );
        assert!(
            error.contains("/no/such/run") && error.contains("cargo measure run"),
            "{error}"
        );
    }

    #[test]
    fn a_disabled_wait_at_fff_and_stopped_cpus_are_success() {
        let end = |reason: Reason, psw_address| {
            End::Guest(GuestEnd {
                cpu: 0,
                reason: reason as u8,
                psw_mask: 2 << 48,
                psw_address,
                code: 0,
            })
        };
        assert_eq!(end(Reason::DisabledWait, 0xFFF).exit_code(), 0);
        assert_eq!(end(Reason::DisabledWait, 0xFFE).exit_code(), 3);
        assert_eq!(end(Reason::CheckStop, 0xFFF).exit_code(), 3);
        assert_eq!(end(Reason::ProgramLoop, 0xFFF).exit_code(), 3);
        assert_eq!(end(Reason::ExternalLoop, 0xFFF).exit_code(), 3);
        assert_eq!(end(Reason::Stopped, 0xBAD).exit_code(), 0);
        assert_eq!(End::Waiting.exit_code(), 3);
        assert_eq!(end(Reason::ExitCode, 0xBAD).exit_code(), 0);
        for end in [End::Running, End::Interrupted, End::TimeLimit] {
            assert_eq!(end.exit_code(), 2);
        }
        let sentence = end(Reason::DisabledWait, 0xBAD).sentence();
        assert!(
            sentence.contains("PSW 0002000000000000 0000000000000BAD"),
            "{sentence}"
        );
    }
}
