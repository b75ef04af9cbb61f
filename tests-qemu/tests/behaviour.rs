//! Every behaviour guest: above the machine it ends as it declares, and where bare QEMU has the same behaviour it
//! prints the same there. Together their runs show every statement of the books that applies: an assertion of a
//! guest names it.

use std::{
    env,
    sync::{Arc, Condvar, Mutex},
    thread,
};

use libtest_mimic::{Arguments, Failed, Trial};
use measure::{
    computer::progress::Progress,
    conformance::{
        self, Status,
        clause::{Clause, MeantEnd},
        evidence::Evidence,
        statements::Statements,
    },
    machine::{
        qemu::Qemu,
        run::{NativeOptions, run_native},
    },
};
use tests_qemu::ipl;

/// What all runs in one QEMU have shown.
#[derive(Default)]
struct Shown {
    /// The evidence, and how many guests have ended.
    ended: Mutex<(Evidence, usize)>,
    one_more: Condvar,
}

/// What one guest shows. It counts as ended when this is dropped, also by a panic.
struct Showing {
    evidence: Evidence,
    all: Arc<Shown>,
}

impl Drop for Showing {
    fn drop(&mut self) {
        let mut ended = self.all.ended.lock().unwrap();
        ended.0.extend(std::mem::take(&mut self.evidence));
        ended.1 += 1;
        self.all.one_more.notify_all();
    }
}

impl Shown {
    /// Waits for this number of guests, and names every statement that none of them has shown.
    fn judge(&self, guests: usize) -> anyhow::Result<()> {
        let ended = self.ended.lock().unwrap();
        let mut ended = (self.one_more)
            .wait_while(ended, |ended| ended.1 < guests)
            .unwrap();
        let statements = Statements::read(&conformance::directory())?;
        let mut missing = String::new();
        for judged in std::mem::take(&mut ended.0).judge(&statements)? {
            if let Status::NotShown(why) = judged.status {
                missing += &format!("{}: {why}\n", judged.statement.id);
            }
        }
        anyhow::ensure!(missing.is_empty(), "not shown:\n{missing}");
        Ok(())
    }
}

/// Guests that wait for many seconds of the host's clock. They begin first, and the others run meanwhile.
const WAITING: [&str; 2] = ["b_watchdog_of_two", "b_watchdog"];

/// How many guests run side by side, if the environment does not say it as for the harness of the other tests: one more than
/// there are CPUs, because a guest often waits.
fn threads() -> Option<usize> {
    let said = env::var("RUST_TEST_THREADS").ok();
    match said.and_then(|threads| threads.parse().ok().filter(|threads| *threads > 0)) {
        Some(threads) => Some(threads),
        None => Some(thread::available_parallelism().ok()?.get() + 1),
    }
}

fn main() -> anyhow::Result<()> {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or_else(threads);
    let qemus = ipl::qemus(&Progress::Plain)?;
    let mut guests = ipl::behaviour_guests();
    guests.sort_by_key(|guest| !WAITING.contains(&guest.as_str()));
    // The statements need every guest.
    let is_whole = arguments.filter.is_none() && arguments.skip.is_empty();
    let (mut trials, mut last) = (Vec::new(), Vec::new());
    for qemu in &qemus {
        let (major, minor, _) = qemu.version;
        let version = if qemus.len() > 1 {
            format!("@qemu-{major}.{minor}")
        } else {
            String::new()
        };
        let shown = Arc::new(Shown::default());
        for guest in &guests {
            let (name, qemu, all) = (guest.clone(), qemu.clone(), shown.clone());
            trials.push(Trial::test(format!("{guest}{version}"), move || {
                let evidence = Evidence::default();
                let mut showing = Showing { evidence, all };
                let result = behaves(&name, &qemu, &mut showing.evidence);
                result.map_err(|error| Failed::from(format!("{error:#}")))
            }));
        }
        if is_whole {
            let (number, name) = (guests.len(), "every_statement_that_applies_is_shown");
            last.push(Trial::test(format!("{name}{version}"), move || {
                let result = shown.judge(number);
                result.map_err(|error| Failed::from(format!("{error:#}")))
            }));
        }
    }
    // These wait for the others, which have begun by then.
    trials.extend(last);
    // No early exit between this and the end: nothing runs beside the trials.
    libtest_mimic::run(&arguments, trials).exit();
}

/// Runs a guest in each of its configurations, and adds what it shows.
fn behaves(guest: &str, qemu: &Qemu, evidence: &mut Evidence) -> anyhow::Result<()> {
    let clause = Clause::read(&ipl::guest_file(guest)?)?;
    for run in clause.runs(guest)? {
        let mut options = run.options;
        options.rtc = ipl::options(guest).rtc;
        options.limit = Some(ipl::LIMIT);
        options.qemu = Some(qemu.path.clone());
        let outcome = ipl::above(&options)?;
        let (name, console) = (&run.name, &outcome.console);
        if clause.end.is_met(&outcome.end) {
            evidence.extend(Evidence::heard(name, console));
        } else {
            let how = outcome.end.sentence();
            evidence.extend(Evidence::ended_badly(
                name,
                console,
                &how,
                &clause.statements,
            ));
            anyhow::bail!(
                "{}: {}\nchecks: {}",
                run.name,
                ipl::story(&outcome),
                clause.text
            );
        }
        if !outcome.report.doubts.is_empty() {
            anyhow::bail!(
                "{}: the report has doubts: {}",
                run.name,
                outcome.report.doubts.join("; ")
            );
        }
        if clause.native {
            let devices = options.devices.arguments();
            same_as_native(guest, &clause, qemu, devices, &outcome.console)?;
        }
    }
    Ok(())
}

fn same_as_native(
    guest: &str,
    clause: &Clause,
    qemu: &Qemu,
    devices: Vec<String>,
    above: &str,
) -> anyhow::Result<()> {
    let native = run_native(
        &NativeOptions {
            cpus: clause.cpus,
            devices,
            qemu: Some(qemu.path.clone()),
            limit: ipl::LIMIT,
            ..NativeOptions::new(guest)
        },
        &Progress::Silent,
    )?;
    let meant = match clause.end {
        MeantEnd::Success => Some(0),
        MeantEnd::Failure => Some(1),
    };
    if native.exit_code != meant {
        anyhow::bail!(
            "on bare QEMU the guest ends with {:?}, not {meant:?}: {}\n{}",
            native.exit_code,
            native.complaints,
            native.console
        );
    }
    let (mut ours, mut theirs) = (above.lines(), native.console.lines());
    for number in 1.. {
        match (ours.next(), theirs.next()) {
            (None, None) => break,
            (ours, theirs) if ours != theirs => anyhow::bail!(
                "line {number} differs\n  above the machine: {}\n  on bare QEMU:      {}",
                ours.unwrap_or("(no such line)"),
                theirs.unwrap_or("(no such line)")
            ),
            _ => {}
        }
    }
    Ok(())
}
