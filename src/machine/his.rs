//! HIS on this machine: its counters, its samples, its files and its profilers.
//!
//! HIS measures at the machine's own level, below the guest. Commands of the operator and requests of profilers on the
//! host wait until a CPU has left its guest and has the turn. That CPU then does the work for all CPUs, because no
//! other one is executing. In real time there are no turns, so HIS works there only for a guest with one CPU.

mod authorization;
mod level;
mod profilers;

use crate::guest::state::account::Mode;
use crate::guest::state::schedule::NEVER;
use crate::his::His;
use crate::his::run::Cause;
use crate::machine::io::console;
use crate::machine::state::his::{Asked, Profiler, Service};
use crate::machine::state::machine::{Cpu, Machine};
use core::sync::atomic::Ordering;
use level::Level;
pub use profilers::serve;

/// The machine-level blocks of a CPU have become full: HIS takes its samples if it is sampling, otherwise the blocks go
/// to the host.
#[cold]
pub fn take_full_blocks(cpu: &mut Cpu) {
    if cpu.machine.his.samples() {
        work(cpu);
    } else {
        cpu.send_full_blocks();
    }
}

/// Does all waiting work. This CPU has the turn.
#[cold]
#[inline(never)]
pub fn work(cpu: &mut Cpu) {
    let machine = cpu.machine;
    let service = machine.his;
    service.attention.store(false, Ordering::Relaxed);
    if !is_possible(machine) {
        profilers::refuse(service);
        while service.operator_requests.lock().pop_front().is_some() {
            console::say(format_args!(
                "HIS does its work for all CPUs while none of them runs, and in real time {} run at the same time; begin the run with one CPU, or without --real-time\n",
                machine.configuration.cpus
            ));
        }
        return;
    }
    act(service, &mut Level::of(cpu));
}

/// Whether no other CPU executes while one does the work of HIS.
const fn is_possible(machine: &Machine) -> bool {
    let configuration = &machine.configuration;
    matches!(configuration.mode, Mode::Exact { .. }) || configuration.cpus == 1
}

/// The guest has ended: writes what a run has collected. No other CPU runs, and the caller no longer uses any reference
/// into a CPU that it has now.
pub fn go_down(machine: &'static Machine) {
    let mut level = Level {
        machine,
        running: None,
    };
    // If HIS never came up, there is nothing to do.
    machine.his.his.lock().guest_ended(&mut level);
}

fn act(service: &'static Service, level: &mut Level<'_>) {
    let mut his = service.his.lock();
    prepare(service, &mut his, level);
    if service.not_written.swap(false, Ordering::Relaxed) {
        his.end_early(level, Cause::NotWritten);
    }
    profilers::perform_for_host(service, &mut his, level);
    loop {
        let next = service.operator_requests.lock().pop_front();
        let line = match next {
            Some(Asked::Command(line)) => line,
            Some(Asked::Change(change)) => {
                authorization::make(service, &mut his, level, change);
                continue;
            }
            Some(Asked::Classes(classes)) => {
                service.software.classes.store(classes, Ordering::Relaxed);
                level.classes_chosen();
                continue;
            }
            Some(Asked::Subtypes(only)) => {
                service.hisprof.lock().subtype = only;
                continue;
            }
            None => break,
        };
        his.wanted(level);
        let system = level.system();
        his.command(level, &line, |run| {
            if !console::framed() {
                // On a text console there is nobody to write files.
                service.not_written();
            }
            let mut hisprof = service.hisprof.lock();
            hisprof.files.begin(run);
            hisprof.begin(run, system);
            Profiler::Hisprof(service.hisprof)
        });
    }
    his.tick(level);
    let due_at = his.due_at().map_or(NEVER, |at| at.0);
    service.due_at.store(due_at, Ordering::Relaxed);
}

/// Completes first what happened before a command or a request.
fn prepare(service: &Service, his: &mut His<Profiler>, level: &mut Level<'_>) {
    his.blocks_ready(level);
    let lost = level.lost();
    let told = service.lost_told.swap(lost, Ordering::Relaxed);
    if lost != told && service.samples() {
        his.sample_data_lost(level, lost - told);
    }
    let resets = level.machine.configuration.resets.load(Ordering::Relaxed);
    if service.resets.swap(resets, Ordering::Relaxed) != resets {
        his.guest_was_reset(level);
    }
}
