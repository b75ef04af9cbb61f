//! Started systems that are kept: a run in exact mode begins with a system that has started already.
//!
//! The first run of a system boots it, up to the point at which its first process would read the command. There it is kept
//! ([`crate::machine::snapshot`]), and every later run with the same image, kernel, archive, QEMU and options goes on from
//! there. It has the same counters, samples and console as a run that boots by itself.
//!
//! Without a date a run shows the time of today. The clock of a kept system stands still while it is kept, and a kernel
//! that saw it jump by days would miscount its time. So only the kernel's time of day is set, before the command; a run
//! whose records have the stamps of the clock itself boots.

use std::{
    io::{
        self,
        ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull},
    },
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, ensure};
use link::state::Mode;

use crate::{
    building::build,
    computer::progress::Progress,
    linux::{
        LinuxOptions, Prepared,
        cache::Cache,
        identity::Identity,
        initramfs::{self, Work},
    },
    machine::{
        guest::Guest,
        qemu::Qemu,
        run,
        slot::Slot,
        snapshot::{Continued, Snapshot},
    },
    numbers::quantities::{Rtc, Storage},
    options::count::Counted,
    symbols::signed::Nonce,
};

/// How many started systems are kept. Each takes about 150 MB.
const MOST_KEPT: usize = 8;

/// The free space that a system may take while it starts, beside a part of its storage for the kernel's own tables.
const ROOM: u64 = 192 << 20;
const ROOM_PART: u64 = 16;

/// Words of the operator before the text at which the machine holds the guest.
const HOLD: &str = "HOLD AT ";

/// Whether such a run can be held, and so be kept or go on from what was kept: nothing but the machine decides what
/// happens, nobody else waits for the guest to be held, and the host can talk to its machine.
pub fn can_be_held(options: &LinuxOptions) -> bool {
    let run = &options.run;
    run.mode == Mode::Exact
        && run.devices.is_empty()
        && run.when_waiting.is_empty()
        && run.script.is_empty()
        && run.execution_log.is_none()
        && run.nested == 0
        && options.initrd.is_none()
        && !options.wants_shell()
}

/// Whether the run may begin with a kept system: with a date, or if no record of it has the time of today from the clock
/// itself.
pub fn is_wanted(options: &LinuxOptions) -> bool {
    let run = &options.run;
    let has_stamps = run.takes_samples() || run.traces();
    let counts_the_boot = run.count.as_ref().is_some_and(Counted::has_the_boot);
    !options.fresh
        && can_be_held(options)
        && !counts_the_boot
        && (run.rtc != Rtc::Now || !has_stamps)
}

/// The time of day for a guest whose clock stood still.
fn date(rtc: Rtc) -> Result<Option<u64>> {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH);
    Ok(match rtc {
        Rtc::At(_) => None,
        Rtc::Now => Some(now().context("this computer's clock is wrong")?.as_secs()),
    })
}

/// The operator's command by which the machine holds the guest where its first process, which signs with this nonce, has
/// started the system.
pub fn hold(nonce: &Nonce) -> String {
    format!("{HOLD}millimeter: {} command", nonce.text())
}

/// The started system for these options, about to go on with the command, and with what its first process signs. It is
/// started first if it is not kept. `guest` has no first file system yet.
pub fn system(
    prepared: &Prepared,
    guest: &Guest,
    options: &LinuxOptions,
    qemu: &Qemu,
    progress: &Progress,
) -> Result<(Continued, Nonce)> {
    let work = prepared
        .work
        .as_ref()
        .context("a system without a command is not kept")?;
    let order = Work {
        date: date(options.run.rtc)?,
        ..work.clone()
    };
    let order = order.order()?;
    let length = Work::order_length(&order)?;
    let cache = Cache::of_started_systems()?;
    let image = build::build_image(progress)?;
    let told = (qemu, &options.run);
    let key = Identity::new(&image, prepared, guest, work, length, told)?.name()?;
    let make = |directory: &Path| {
        check_room(cache.directory(), options.run.storage)?;
        let nonce = Nonce::new()?;
        let slot = Slot::new(nonce.text(), length);
        let work = Work {
            nonce: nonce.text().to_owned(),
            ..work.clone()
        };
        let initrd = initramfs::with_work(prepared.base.archive()?, &work, Some(slot.blank()))?;
        let guest = prepared.with(&initrd, guest, options.run.storage)?;
        let mut run = options.run.clone();
        run.operator.push(hold(&nonce));
        let slot = (&slot, nonce.text());
        run::keep_started(qemu, &guest, &run, slot, directory, progress)
    };
    let begin = |entry: &Path| {
        let snapshot = Snapshot::open(entry)?;
        let nonce = Nonce::known(snapshot.sign())?;
        Ok::<_, anyhow::Error>((snapshot.begin(&order)?, nonce))
    };
    let begun = match begin(&cache.entry(&key, progress, make)?) {
        Ok(begun) => begun,
        // The kept system is as it should be; this computer has no room for a copy.
        Err(error) if lacks_room(&error) => return Err(error),
        Err(error) => {
            progress.note(&format!(
                "the kept system cannot be used, so it is started anew: {error:#}"
            ));
            // Somebody else may have removed it.
            let _ = cache.remove(&key);
            begin(&cache.entry(&key, progress, make)?)?
        }
    };
    // Neither decides anything for this run.
    let _ = cache
        .use_now(&key)
        .and_then(|()| cache.keep_last(MOST_KEPT));
    Ok(begun)
}

/// Refuses to start a system where the file of its storage could not grow: QEMU would end without a word.
fn check_room(directory: &Path, storage: Storage) -> Result<()> {
    let room = rustix::fs::statvfs(directory)
        .with_context(|| format!("cannot examine {}", directory.display()))?;
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    let needed = ROOM + storage.0 / ROOM_PART;
    ensure!(
        free >= needed,
        "{} has {} MiB of free space, and {} MiB are needed; free some, or set XDG_CACHE_HOME to a directory that has them",
        directory.display(),
        free >> 20,
        needed >> 20
    );
    Ok(())
}

/// Whether something failed because a disk is full, or this process may not write more.
fn lacks_room(error: &anyhow::Error) -> bool {
    let mut causes = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| {
        let kind = cause.kind();
        [StorageFull, QuotaExceeded, FileTooLarge].contains(&kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{numbers::quantities::Sampling, options::RunOptions};

    #[test]
    fn a_run_whose_records_have_the_stamps_of_the_clock_is_kept_only_with_a_date() {
        let wanted = |rtc: &str, sampling, operator: &[&str], fresh| {
            is_wanted(&LinuxOptions {
                command: vec!["ls".to_owned()],
                fresh,
                run: RunOptions {
                    rtc: rtc.parse().unwrap(),
                    sampling,
                    operator: operator.iter().map(|&line| line.to_owned()).collect(),
                    ..RunOptions::new("linux")
                },
                ..LinuxOptions::default()
            })
        };
        let (date, often) = ("2026-01-01T00:00:00", Sampling::Every(100_000));
        assert!(wanted("now", Sampling::Off, &[], false));
        assert!(!wanted("now", often, &[], false));
        assert!(!wanted("now", Sampling::Off, &["F HIS,B"], false));
        assert!(!wanted("now", Sampling::Off, &["PER FETCH RANGE 0"], false));
        assert!(wanted(date, often, &["F HIS,B"], false));
        assert!(!wanted(date, Sampling::Off, &[], true));
    }

    #[test]
    fn only_a_run_without_a_date_sets_the_time_of_day() {
        assert_eq!(date("2026-01-01T00:00:00".parse().unwrap()).unwrap(), None);
        let year_2020 = 1_577_836_800;
        assert!(date(Rtc::Now).unwrap().unwrap() > year_2020);
    }

    #[test]
    fn a_full_disk_does_not_spoil_what_is_kept() {
        let full = |kind| anyhow::Error::from(io::Error::from(kind)).context("cannot copy");
        assert!(lacks_room(&full(StorageFull)) && lacks_room(&full(FileTooLarge)));
        assert!(!lacks_room(&full(io::ErrorKind::NotFound)));
        assert!(!lacks_room(&anyhow::anyhow!("it has changed")));
    }

    #[test]
    fn a_disk_without_room_is_named_with_what_is_needed() {
        let directory = tempfile::tempdir().unwrap();
        let error = check_room(directory.path(), Storage(1 << 62))
            .unwrap_err()
            .to_string();
        assert!(error.contains("XDG_CACHE_HOME"), "{error}");
        assert!(check_room(Path::new("/no/such"), Storage(0)).is_err());
    }
}
