//! The options of a run, their defaults, and whether they go together.

use std::{path::PathBuf, time::Duration};

use anyhow::{Result, bail};
use clap::ValueEnum;
use {
    cache::Geometry,
    link::{
        loader::{MOST_CPUS, sets},
        state::Mode,
    },
};

use crate::{
    building::forms::Form,
    computer::person::Input,
    events::command::begins_trace,
    folder::record::Asked,
    numbers::quantities::{DEFAULT_STORAGE, Kept, Rtc, Sampling, Storage},
};

pub mod again;
pub mod configuration;
pub mod count;
pub mod counter_choice;
pub mod devices;
pub mod disk;
pub mod emulator;
pub mod exact_caches;
pub mod execution_log;
pub mod judgement;
pub mod qemu_arguments;

use again::Again;
use configuration::{Configuration, Secure};
use count::Counted;
use counter_choice::CounterChoice;
use devices::Devices;
use emulator::Emulator;
use execution_log::ExecutionLog;
use judgement::Judgement;

/// The guest by default.
pub use start::building::build::DEFAULT_GUEST;

/// A link that says nothing for this long has failed.
pub const DEFAULT_SILENCE: Duration = Duration::from_secs(60);

/// More console text than a person reads or a boot writes, and little for a disk.
pub const DEFAULT_CONSOLE_LIMIT: Kept = Kept(256 << 20);

/// Samples of some hours at a high rate, which a disk usually has room for.
pub const DEFAULT_DATA_LIMIT: Kept = Kept(16 << 30);

/// Everything that decides a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// A bundled guest's name, or a file.
    pub guest: String,
    /// The guest's arguments, for a program that starts as Linux does; none if empty.
    pub arguments: String,
    /// CPUs of the guest, 1 to 16; as many as it needs by default.
    pub cpus: Option<u32>,
    /// Storage of the whole machine.
    pub storage: Storage,
    /// The machine's own sampling.
    pub sampling: Sampling,
    /// The most return addresses of the call stack of each of its samples, if it follows them.
    pub stacks: Option<u32>,
    /// The most bytes of a program's stack that are copied at a sample, for the host to unwind; 0 for none.
    pub stack_copy: u32,
    /// How time passes.
    pub mode: Mode,
    /// The date at which the machine's clock starts.
    pub rtc: Rtc,
    /// The QEMU to use; by default the one that [`crate::machine::qemu`] finds.
    pub qemu: Option<PathBuf>,
    /// The emulator below the machine.
    pub below: Emulator,
    /// The Hercules to use; by default the one that [`crate::machine::hercules`] finds.
    pub hercules: Option<PathBuf>,
    /// The form of the image that is IPLed; by default the one that the emulator loads fastest.
    pub form: Option<Form>,
    /// QEMU's name for the CPU.
    pub cpu_model: String,
    /// Where the raw files go; a fresh directory otherwise.
    pub out: Option<PathBuf>,
    /// Whether they are there when the command has ended. If not, no message names them.
    pub keeps_files: bool,
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
    /// The most bytes of console text that are kept.
    pub console_limit: Kept,
    /// The most bytes of samples, counters, events, logs and files of HIS that are kept, together.
    pub data_limit: Kept,
    /// A link that says nothing for this long has failed.
    pub silence: Duration,
    /// A run that lasts longer is ended.
    pub limit: Option<Duration>,
    /// Whether the machine supplies the cryptographic functions of the message-security assist, and the
    /// guest may count them.
    pub cryptography: bool,
    /// Whether the machine looks at each EXECUTE that could make a sensitive instruction, however harmless it has been.
    pub strict: bool,
    /// Whether the machine looks now and then whether the hardware system area is whole.
    pub check_hsa: bool,
    /// Program-event recording.
    pub events: Events,
    /// What the operator says before the guest starts.
    pub operator: Vec<String>,
    /// What the operator says when a trace has stopped the guest, or every CPU waits, one of these each time. They are
    /// given in advance, so they come at the same moment of every run, and before the script.
    pub when_waiting: Vec<String>,
    /// What the host says when every CPU waits for it, one of these each time.
    pub script: Vec<Input>,
    /// How long the host waits before each of these.
    pub pause: Duration,
    /// QEMU's log of what it executes, which makes a run many times slower.
    pub execution_log: Option<ExecutionLog>,
    /// Whether the machine counts its traps by what caused them.
    pub count_traps: bool,
    /// Whether the machine counts the paths of its guest's control program. The guest's clock must stand still.
    pub count_paths: bool,
    /// What the machine counts every execution of, if it does.
    pub count: Option<Counted>,
    /// What decides beside the guest's end whether it succeeded.
    pub judgement: Judgement,
    /// What the person asked for, which is recorded so that the run can be repeated.
    pub asked: Option<Asked>,
    /// The run that this one repeats, and the window in it.
    pub again: Option<Again>,
    /// Whether the guest's clock stands still while the machine works, in exact mode.
    pub still_clock: bool,
    /// How many machines are between the outermost one and the guest.
    pub nested: u32,
}

/// The program-event recording of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Whether the operator may trace them. The guest need not have program-event recording.
    pub traced: bool,
    /// In which form the guest has them.
    pub form: EventForm,
}

/// The architecture that gives the guest's program-event recording the form of its controls and interruptions.
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
            arguments: String::new(),
            cpus: None,
            storage: Storage(DEFAULT_STORAGE),
            sampling: Sampling::default(),
            stacks: None,
            stack_copy: 0,
            mode: Mode::Exact,
            rtc: Rtc::Now,
            qemu: None,
            below: Emulator::Qemu,
            hercules: None,
            form: None,
            cpu_model: "max".to_owned(),
            out: None,
            keeps_files: true,
            configuration: Configuration::default(),
            counters: None,
            exact_caches: None,
            devices: Devices::default(),
            guest_sets: sets::DEFAULT,
            slice: 0,
            console_limit: DEFAULT_CONSOLE_LIMIT,
            data_limit: DEFAULT_DATA_LIMIT,
            silence: DEFAULT_SILENCE,
            limit: None,
            cryptography: false,
            strict: false,
            check_hsa: false,
            events: Events::default(),
            operator: Vec::new(),
            when_waiting: Vec::new(),
            script: Vec::new(),
            pause: Duration::ZERO,
            execution_log: None,
            count_traps: false,
            count_paths: false,
            count: None,
            judgement: Judgement::default(),
            asked: None,
            again: None,
            still_clock: false,
            nested: 0,
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

    /// The counter sets of the machine's own measurement: those that the run names, else all that have a source
    /// and cost nothing. Cryptographic functions cost nothing where the machine performs them anyway.
    pub fn counter_sets(&self) -> u32 {
        let optional = |set, is_there| if is_there { set } else { 0 };
        match (self.mode, self.counters) {
            (Mode::RealTime, _) => 0,
            (_, Some(CounterChoice(named))) => named,
            (_, None) => {
                let functions = sets::CRYPTO | sets::COPROCESSOR_GROUPS;
                sets::BASIC
                    | sets::PROBLEM_STATE
                    | sets::EXTENDED
                    | optional(functions, self.cryptography)
                    | optional(sets::MT_DIAGNOSTIC, self.configuration.threads > 1)
            }
        }
    }

    /// Whether the machine takes samples: for the report, or for HIS if a command given in advance says so.
    pub fn takes_samples(&self) -> bool {
        self.sampling != Sampling::Off || self.asks_his()
    }

    /// Whether a command given in advance is for HIS.
    pub fn asks_his(&self) -> bool {
        let mut commands = self.operator.iter().chain(&self.when_waiting);
        commands.any(|line| his::command::is_command(line))
    }

    /// Whether the operator may trace program events: the option says so, or a command given in advance begins a
    /// trace.
    pub fn traces(&self) -> bool {
        let script = self.script.iter().filter_map(|input| match input {
            Input::Operator(line) => Some(line),
            Input::Console(_) => None,
        });
        let commands = self.operator.iter().chain(&self.when_waiting).chain(script);
        self.events.traced || commands.into_iter().any(|line| begins_trace(line))
    }

    /// Whether the run has addresses that want names: of samples, traced events or counted instructions.
    pub fn has_addresses(&self) -> bool {
        self.takes_samples() || self.traces() || self.count.is_some()
    }

    /// Whether it is a run that is performed again, with traces in its window.
    pub fn traces_a_window(&self) -> bool {
        let again = self.again.as_ref();
        again.is_some_and(|again| !again.traces.is_empty())
    }

    /// Refuses what only `run` can do, for the commands that look into a run while it goes on, or compare it.
    pub fn check_is_plain(&self) -> Result<()> {
        let unserved = if self.nested != 0 {
            "--nested"
        } else if self.below == emulator::Emulator::Hercules {
            "--below hercules"
        } else {
            return Ok(());
        };
        bail!("only `run` has {unserved}; leave it out, or use `run`");
    }

    /// Refuses options that are impossible or do not go together.
    pub fn check(&self) -> Result<()> {
        match self.cpus {
            Some(cpus) if !(1..=MOST_CPUS).contains(&cpus) => {
                bail!("{cpus} CPUs are not possible; choose from 1 to {MOST_CPUS}")
            }
            _ => self.configuration.check(self.cpus)?,
        }
        if self.mode == Mode::Native && (self.configuration.threads > 1 || self.cryptography) {
            bail!(
                "--native takes cycles and instructions from the machine below, which counts neither the threads of a guest nor its cryptographic functions; leave --threads and --cryptography out"
            );
        }
        self.check_commands()?;
        self.check_stacks()?;
        self.check_form()?;
        self.devices.check()?;
        exact_caches::check(self.exact_caches, self.mode)?;
        count::check(self)?;
        counter_choice::check(self.counters, self.mode, self.configuration.threads)
    }

    /// The emulator IPLs the form.
    fn check_form(&self) -> Result<()> {
        let Some(form) = self.form else {
            return Ok(());
        };
        let (name, is_qemu) = (form.name(), self.below == Emulator::Qemu);
        match (form.is_for_qemu(), is_qemu) {
            (false, true) => bail!(
                "QEMU does not IPL the form {name}; add --below hercules, or choose --ipl elf, bios or scsi"
            ),
            (true, false) => bail!(
                "Hercules does not IPL the form {name}; leave --below out, or choose --ipl ins, card or dasd"
            ),
            _ => Ok(()),
        }
    }

    /// What the operator says in advance is lines. Whether they have room shows when their names are addresses.
    fn check_commands(&self) -> Result<()> {
        for (option, commands) in [
            ("--operator", &self.operator),
            ("--when-waiting", &self.when_waiting),
        ] {
            if let Some(command) = commands.iter().find(|line| line.contains(['\n', '\0'])) {
                bail!(
                    "the operator's command {command:?} is not one line; give {option} once for each line"
                );
            }
        }
        Ok(())
    }

    /// Call stacks are those of the run's own samples, and of samples that show something.
    fn check_stacks(&self) -> Result<()> {
        if self.stacks.is_none() {
            return Ok(());
        }
        if self.sampling == Sampling::Off {
            bail!(
                "--stacks follows the stacks of the run's own samples, and this run takes none; choose an interval, or leave --stacks out"
            );
        }
        if self.configuration.secure == Some(Secure::Limited) {
            bail!(
                "samples of a secure guest show nothing of it, and so no stacks; choose --secure=full, or leave --stacks out"
            );
        }
        Ok(())
    }

    /// The number of CPUs for this guest. With fewer than `needed` it would wait for ever for the others.
    pub fn cpus_for(&self, guest: &str, needed: u32) -> Result<u32> {
        match self.cpus {
            Some(cpus) if cpus < needed => bail!(
                "the guest {guest} needs {needed} CPUs and would wait for ever with {cpus}; choose --cpus {needed} or more, or leave --cpus out"
            ),
            Some(cpus) => Ok(cpus),
            // Whole cores.
            None => Ok(needed.next_multiple_of(self.configuration.threads)),
        }
    }
}

/// What an option asks for that a kind of run does not have, and its remedy.
#[derive(Clone, Copy, Debug)]
pub struct Unserved {
    /// Whether the options ask for it.
    pub is_asked: bool,
    /// What it is.
    pub what: &'static str,
    /// What to do instead.
    pub remedy: &'static str,
}

impl Unserved {
    /// An entry of a table of them.
    pub const fn new(is_asked: bool, what: &'static str, remedy: &'static str) -> Self {
        Self {
            is_asked,
            what,
            remedy,
        }
    }

    /// Refuses the first one that is asked for, in this sentence.
    pub fn refuse(table: &[Self], sentence: impl Fn(&Self) -> String) -> Result<()> {
        match table.iter().find(|unserved| unserved.is_asked) {
            Some(unserved) => bail!(sentence(unserved)),
            None => Ok(()),
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

    #[test]
    fn stacks_need_samples_that_show_something() {
        let mut options = RunOptions {
            stacks: Some(16),
            ..RunOptions::default()
        };
        assert!(options.check().is_ok());
        options.configuration.secure = Some(Secure::Limited);
        let refusal = options.check().unwrap_err().to_string();
        assert!(refusal.contains("--secure=full"), "{refusal}");
        options.configuration.secure = Some(Secure::Full);
        assert!(options.check().is_ok());
        options.sampling = Sampling::Off;
        let refusal = options.check().unwrap_err().to_string();
        assert!(refusal.contains("--stacks"), "{refusal}");
        options.stacks = None;
        assert!(options.check().is_ok());
    }

    #[test]
    fn a_command_of_the_operator_is_one_line() {
        let lines = || vec!["D MONITOR".to_owned(), "a\nb".to_owned()];
        let said = RunOptions {
            operator: lines(),
            ..RunOptions::default()
        };
        let later = RunOptions {
            when_waiting: lines(),
            ..RunOptions::default()
        };
        for (options, option) in [(said, "--operator"), (later, "--when-waiting")] {
            let refusal = options.check().unwrap_err().to_string();
            for word in ["\"a\\nb\"", option] {
                assert!(refusal.contains(word), "{word}: {refusal}");
            }
        }
    }

    #[test]
    fn counters_that_cost_nothing_are_counted_unless_the_run_chooses() {
        let mut options = RunOptions::default();
        assert_eq!(options.counter_sets(), 0x7);
        options.cryptography = true;
        assert_eq!(options.counter_sets(), 0x800F);
        options.configuration.threads = 2;
        assert_eq!(options.counter_sets(), 0x802F);
        options.counters = Some(CounterChoice(sets::BASIC));
        assert_eq!(options.counter_sets(), sets::BASIC);
        options.mode = Mode::RealTime;
        assert_eq!(options.counter_sets(), 0);
    }
}
