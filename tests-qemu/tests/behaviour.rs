//! Every behaviour guest: above the machine it ends as it declares, and where bare QEMU has the same behaviour it
//! prints the same there. Together their runs show every statement of the books that applies: an assertion of a
//! guest names it.

use std::{collections::BTreeMap, process::ExitCode};

use measure::{
    computer::progress::Progress,
    conformance::{
        self, Status,
        clause::{Clause, MeantEnd},
        evidence::Evidence,
        statements::Statements,
    },
    linux::{cache::Cache, packages},
    machine::{
        qemu::Qemu,
        run::{NativeOptions, run_native},
    },
};
use serde::{Deserialize, Serialize};
use tests_qemu::{
    ipl,
    suite::{self, Entry, Suite},
};

/// What a guest has shown.
#[derive(Serialize, Deserialize)]
struct Shown {
    /// The QEMU, if there are several.
    version: String,
    evidence: Evidence,
}

/// Names every statement that no guest has shown, on each QEMU.
fn judge(shown: &[String]) -> anyhow::Result<()> {
    let mut all: BTreeMap<String, Evidence> = BTreeMap::new();
    for text in shown {
        let shown: Shown = serde_json::from_str(text)?;
        all.entry(shown.version).or_default().extend(shown.evidence);
    }
    let statements = Statements::read(&conformance::directory())?;
    let mut missing = String::new();
    for (version, evidence) in all {
        for judged in evidence.judge(&statements)? {
            if let Status::NotShown(why) = judged.status {
                missing += &format!("{}{version}: {why}\n", judged.statement.id);
            }
        }
    }
    anyhow::ensure!(missing.is_empty(), "not shown:\n{missing}");
    Ok(())
}

fn main() -> anyhow::Result<ExitCode> {
    let qemus = ipl::qemus(&Progress::Plain)?;
    let mut entries = Vec::new();
    for qemu in &qemus {
        let (major, minor, _) = qemu.version;
        let version = if qemus.len() > 1 {
            format!("@qemu-{major}.{minor}")
        } else {
            String::new()
        };
        for guest in ipl::behaviour_guests() {
            let (qemu, version) = (qemu.clone(), version.clone());
            entries.push(Entry {
                name: format!("{guest}{version}"),
                is_long: false,
                perform: Box::new(move || {
                    let mut evidence = Evidence::default();
                    let result = behaves(&guest, &qemu, &mut evidence);
                    let version = version.clone();
                    let shown = serde_json::to_string(&Shown { version, evidence }).unwrap();
                    suite::say(&shown).unwrap();
                    result.unwrap_or_else(|error| panic!("{error:#}"));
                }),
            });
        }
    }
    entries.push(Entry {
        name: "every_guest_behaves_as_declared_on_the_newest_qemu".to_owned(),
        is_long: true,
        perform: Box::new(|| all_behave_on_the_newest_qemu().unwrap()),
    });
    let suite = Suite {
        name: "behaviour",
        entries,
        prepare: ipl::behaviour,
        whole: Some(("every_statement_that_applies_is_shown", Box::new(judge))),
    };
    Ok(suite.run())
}

/// The guests that find the newest QEMU wrong. The book says why (`limits.md`).
const KNOWN_OF_THE_NEWEST: [&str; 0] = [];

/// Runs every guest on the newest QEMU that Debian has. It changes, so nothing that must always pass depends on it.
fn all_behave_on_the_newest_qemu() -> anyhow::Result<()> {
    let path = packages::newest_qemu(&Cache::of_user()?, &Progress::Plain)?;
    let qemu = Qemu::locate(Some(&path))?;
    println!("{qemu}");
    let mut differ = Vec::new();
    for guest in ipl::behaviour_guests() {
        if let Err(error) = behaves(&guest, &qemu, &mut Evidence::default()) {
            println!("{guest}: {error:#}");
            differ.push(guest);
        }
    }
    anyhow::ensure!(differ == KNOWN_OF_THE_NEWEST, "{qemu}: {differ:?}");
    Ok(())
}

/// Guests whose CPUs wait for each other hundreds of times. On a bare QEMU that counts instructions each of these waits lasts as
/// long as a turn, so there their CPUs run side by side; what they print does not depend on it.
const SIDE_BY_SIDE: [&str; 2] = ["b_purge", "b_purge_attached"];

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
            icount: !SIDE_BY_SIDE.contains(&guest),
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
