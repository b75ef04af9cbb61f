//! HIS on this machine: its counters, its samples, its files and its profilers.
//!
//! HIS measures at the machine's own level, below the guest. What the operator says and what profilers on the host ask for is
//! kept until a CPU has come out of its guest and has the turn; it then does what is to be done on all CPUs, for
//! none of the others executes anything. So HIS needs turns, and with them a clock that counts instructions.

mod authorization;
mod files;
mod level;
mod profilers;
mod software;

use crate::command::Change;
use crate::guest::state::account::Mode;
use crate::guest::state::schedule::NEVER;
use crate::his::His;
use crate::his::hisprof::ROOM;
use crate::his::parameters::ParameterFiles;
use crate::his::run::Cause;
use crate::machine::io::console;
use crate::machine::ipl::Machine;
use crate::machine::state::cpu::Cpu;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use files::HISPROF;
use level::Level;
use profilers::Profiler;
pub use profilers::{ask_for, serve};
use spin::Mutex;
extern crate alloc;

/// The longest command, in bytes: a line of the operator.
const LONGEST: usize = 256;

/// Commands that are kept until a CPU looks.
const MOST_KEPT: usize = 8;

/// HIS.
static HIS: Mutex<His<Profiler>> = Mutex::new(His::new());

/// What the operator has asked for.
// There is nothing to box it with, and there are few.
#[allow(clippy::large_enum_variant)]
enum Asked {
    /// A command to HIS.
    Command(heapless::String<LONGEST>),
    /// A change at the machine's level.
    Change(Change),
    /// Monitor classes that are to be counted.
    Classes(u16),
}

/// What the operator has asked for and nobody has done.
static SAID: Mutex<heapless::Deque<Asked, MOST_KEPT>> = Mutex::new(heapless::Deque::new());

/// The parameter files.
static PARAMETERS: Mutex<ParameterFiles> = Mutex::new(ParameterFiles::new());

/// Whether there is anything to do: a command, a request, or the host cannot write.
static ATTENTION: AtomicBool = AtomicBool::new(false);

/// Whether the host cannot write.
static NOT_WRITTEN: AtomicBool = AtomicBool::new(false);

/// Whether HIS has the machine's sampling function.
static SAMPLES: AtomicBool = AtomicBool::new(false);

/// Samples that were lost, as far as HIS has been told.
static LOST_TOLD: AtomicU64 = AtomicU64::new(0);

/// When time itself is something to do: TOD clock, bits 0-63.
static DUE: AtomicU64 = AtomicU64::new(NEVER);

/// How often the guest had been reset when HIS last looked.
static RESETS: AtomicU32 = AtomicU32::new(0);

/// Keeps a command until a CPU looks.
pub fn ask(line: &str) {
    // No line is longer.
    keep(heapless::String::try_from(line).map(Asked::Command).ok());
}

/// Keeps a choice of monitor classes until a CPU looks.
pub fn count_classes(classes: u16) {
    keep(Some(Asked::Classes(classes)));
}

/// Lends HISPROF the room for its readings. At IPL, when there is a heap.
pub fn prepare_room() {
    HISPROF.lock().lend(alloc::vec![0; ROOM].leak());
}

/// Keeps a change at the machine's level until a CPU looks.
pub fn change(change: Change) {
    keep(Some(Asked::Change(change)));
}

fn keep(asked: Option<Asked>) {
    if !asked.is_some_and(|asked| SAID.lock().push_back(asked).is_ok()) {
        console::say(format_args!(
            "HIS has not done what it was asked for before; say it again later\n"
        ));
    }
    ATTENTION.store(true, Ordering::Relaxed);
}

/// Takes a line of the operator that is about a parameter file.
pub fn define(line: &str) {
    if let Err(wrong) = PARAMETERS.lock().define(line) {
        console::say(format_args!("{wrong}\n"));
    }
}

/// The host cannot write what a run collects.
pub fn not_written() {
    NOT_WRITTEN.store(true, Ordering::Relaxed);
    ATTENTION.store(true, Ordering::Relaxed);
}

/// Whether the machine's sample-data blocks are HIS's.
#[must_use]
pub fn samples() -> bool {
    SAMPLES.load(Ordering::Relaxed)
}

/// When HIS wants to be called though nothing happens.
#[must_use]
pub fn due() -> u64 {
    DUE.load(Ordering::Relaxed)
}

/// Whether HIS has something to do.
#[must_use]
#[inline]
pub fn wants(now: u64) -> bool {
    ATTENTION.load(Ordering::Relaxed) || now >= DUE.load(Ordering::Relaxed)
}

/// Does what there is to do. This CPU has the turn.
#[cold]
#[inline(never)]
pub fn work(cpu: &mut Cpu) {
    ATTENTION.store(false, Ordering::Relaxed);
    let machine = cpu.machine;
    if machine.configuration.mode == Mode::RealTime {
        profilers::refuse();
        while SAID.lock().pop_front().is_some() {
            console::say(format_args!(
                "HIS measures by a clock that counts instructions, and in real time there is none; begin the run without --real-time\n"
            ));
        }
        return;
    }
    act(&mut Level::of(cpu));
}

/// The guest has ended: what a run has collected is written. No other CPU runs, and the caller uses no reference
/// into a CPU again that it has now.
pub fn go_down(machine: &'static Machine) {
    let mut level = Level {
        machine,
        running: None,
    };
    // Where HIS never came up nothing is to be done.
    HIS.lock().disable(&mut level);
}

fn act(level: &mut Level<'_>) {
    let mut his = HIS.lock();
    prepare(&mut his, level);
    if NOT_WRITTEN.swap(false, Ordering::Relaxed) {
        his.end_early(level, Cause::NotWritten);
    }
    profilers::perform_for_host(&mut his, level);
    loop {
        let next = SAID.lock().pop_front();
        let line = match next {
            Some(Asked::Command(line)) => line,
            Some(Asked::Change(change)) => {
                authorization::make(&mut his, level, change);
                continue;
            }
            Some(Asked::Classes(classes)) => {
                software::choose(classes);
                level.classes_chosen();
                continue;
            }
            None => break,
        };
        his.service.enable(level);
        let system = level.system();
        his.command(level, &line, |run| {
            let mut hisprof = HISPROF.lock();
            hisprof.files.begin(run);
            hisprof.begin(run, system);
            Profiler::Hisprof
        });
    }
    his.tick(level);
    DUE.store(his.due().map_or(NEVER, |due| due.0), Ordering::Relaxed);
}

/// What has happened before a command or a request is its predecessor's.
fn prepare(his: &mut His<Profiler>, level: &mut Level<'_>) {
    his.blocks_ready(level);
    let lost = level.lost();
    let told = LOST_TOLD.swap(lost, Ordering::Relaxed);
    if lost != told && samples() {
        his.sample_data_lost(level, lost - told);
    }
    let resets = level.machine.configuration.resets.load(Ordering::Relaxed);
    if RESETS.swap(resets, Ordering::Relaxed) != resets {
        his.guest_was_reset(level);
    }
}
