//! Every behaviour guest: above the machine it ends as it declares, and where bare QEMU has the same
//! behaviour it prints the same there.

use libtest_mimic::{Arguments, Failed, Trial};
use measure::{
    computer::progress::Progress,
    conformance::clause::{Clause, MeantEnd},
    machine::qemu::Qemu,
};
use tests_qemu::ipl;

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::from_args();
    let qemus = ipl::qemus(&Progress::Plain)?;
    let mut trials = Vec::new();
    for guest in ipl::behaviour_guests() {
        for qemu in &qemus {
            let (major, minor, _) = qemu.version;
            let version = if qemus.len() > 1 {
                format!("@qemu-{major}.{minor}")
            } else {
                String::new()
            };
            let (name, qemu) = (guest.clone(), qemu.clone());
            trials.push(Trial::test(format!("{guest}{version}"), move || {
                behaves(&name, &qemu).map_err(|error| Failed::from(format!("{error:#}")))
            }));
        }
    }
    // No early exit between this and the end: nothing runs beside the trials.
    libtest_mimic::run(&arguments, trials).exit();
}

fn behaves(guest: &str, qemu: &Qemu) -> anyhow::Result<()> {
    let clause = Clause::read(&ipl::guest_file(guest)?)?;
    for run in clause.runs(guest)? {
        let mut options = run.options;
        options.rtc = ipl::options(guest).rtc;
        options.limit = Some(ipl::LIMIT);
        options.qemu = Some(qemu.path.clone());
        let outcome = ipl::above(&options)?;
        if !clause.end.is_met(&outcome.end) {
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
            same_as_native(guest, &clause, qemu, &outcome.console)?;
        }
    }
    Ok(())
}

fn same_as_native(guest: &str, clause: &Clause, qemu: &Qemu, above: &str) -> anyhow::Result<()> {
    let native = ipl::natively(guest, clause.cpus, Some(&qemu.path))?;
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
