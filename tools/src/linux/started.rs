//! Started systems that are kept: a run in exact mode begins with a system that has started already.
//!
//! The first run of a system boots it, up to the point at which its first process would read the command. There it is kept
//! ([`crate::machine::snapshot`]), and every later run with the same image, kernel, archive, QEMU and options goes on from
//! there. It has the same counters, samples and console as a run that boots by itself.

use std::path::Path;

use anyhow::{Context, Result};
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
    numbers::quantities::Rtc,
    symbols::signed::Nonce,
};

/// How many started systems are kept. Each takes about 150 MB.
const MOST_KEPT: usize = 8;

/// Words of the operator before the text at which the machine holds the guest.
const HOLD: &str = "HOLD AT ";

/// Whether such a run can be held, and so be kept or go on from what was kept: nothing but the machine decides what
/// happens, and nobody else waits for the guest to be held.
pub fn can_be_held(options: &LinuxOptions) -> bool {
    let run = &options.run;
    run.mode == Mode::Exact
        && run.devices.is_empty()
        && run.when_waiting.is_empty()
        && run.script.is_empty()
        && run.execution_log.is_none()
        && options.initrd.is_none()
        && !options.wants_shell()
}

/// Whether the run may begin with a kept system: its clock need not show the time of today.
pub fn is_wanted(options: &LinuxOptions) -> bool {
    !options.fresh && options.run.rtc != Rtc::Now && can_be_held(options)
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
    let order = work.order()?;
    let length = Work::order_length(&order)?;
    let cache = Cache::of_started_systems()?;
    let image = build::build_image(progress)?;
    let told = (qemu, &options.run);
    let key = Identity::new(&image, prepared, guest, work, length, told)?.name()?;
    let make = |directory: &Path| {
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
        Err(error) => {
            progress.note(&format!(
                "the kept system cannot be used, so it is started anew: {error:#}"
            ));
            // Somebody else may have removed it.
            let _ = cache.remove(&key);
            begin(&cache.entry(&key, progress, make)?)?
        }
    };
    cache.use_now(&key)?;
    cache.keep_last(MOST_KEPT)?;
    Ok(begun)
}
