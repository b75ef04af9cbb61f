//! Started systems that are kept: a run in exact mode begins with a system that has started already.
//!
//! The first run of a system boots it, up to the point at which its first process would read the command. There it is kept
//! ([`crate::machine::snapshot`]), and every later run with the same image, kernel, archive, QEMU and options goes on from
//! there. It has the same counters, samples and console as a run that boots by itself.

use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt, path::Path};

use anyhow::{Context, Result};
use link::state::Mode;
use sha2::{Digest, Sha256};

use crate::{
    building::build,
    computer::progress::Progress,
    linux::{
        LinuxOptions, Prepared,
        cache::Cache,
        initramfs::{self, Work},
    },
    machine::{
        qemu::Qemu,
        run,
        slot::Slot,
        snapshot::{Continued, Snapshot},
    },
    numbers::quantities::Rtc,
    options::{DEFAULT_CONSOLE_LIMIT, DEFAULT_DATA_LIMIT, DEFAULT_SILENCE, RunOptions},
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
/// started first if it is not kept.
pub fn system(
    prepared: &Prepared,
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
    let key = key(prepared, work, length, options, qemu, progress)?;
    let make = |directory: &Path| {
        let nonce = Nonce::new()?;
        let slot = Slot::new(nonce.text(), length);
        let work = Work {
            nonce: nonce.text().to_owned(),
            ..work.clone()
        };
        let initrd = initramfs::with_work(prepared.base.clone(), &work, Some(slot.blank()))?;
        let guest = prepared.guest(&initrd, options.run.storage)?;
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

/// Everything that decides how the system starts, as the name of an entry.
fn key(
    prepared: &Prepared,
    work: &Work,
    length: usize,
    options: &LinuxOptions,
    qemu: &Qemu,
    progress: &Progress,
) -> Result<String> {
    let mut key = Sha256::new();
    let mut add = |part: &[u8]| {
        key.update((part.len() as u64).to_be_bytes());
        key.update(part);
    };
    let read =
        |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    add(env!("CARGO_PKG_VERSION").as_bytes());
    add(&read(&build::build_image(progress)?)?);
    add(&read(&prepared.kernel)?);
    add(prepared.command_line.as_bytes());
    let all_commands = Work {
        command: String::new(),
        script: None,
        files: BTreeMap::new(),
        nonce: String::new(),
        ..work.clone()
    };
    let blank = Some(vec![0; length]);
    add(&initramfs::with_work(prepared.base.clone(), &all_commands, blank)?.bytes);
    // Neither where the run is kept nor how long a person waits for it decides anything.
    let run = RunOptions {
        qemu: None,
        out: None,
        console_limit: DEFAULT_CONSOLE_LIMIT,
        data_limit: DEFAULT_DATA_LIMIT,
        silence: DEFAULT_SILENCE,
        limit: None,
        ..options.run.clone()
    };
    add(format!("{run:?}").as_bytes());
    let program =
        fs::metadata(&qemu.path).with_context(|| format!("cannot read {}", qemu.path.display()))?;
    let date = (program.mtime(), program.mtime_nsec());
    add(format!("{qemu} {} {date:?}", program.size()).as_bytes());
    let digest = key.finalize();
    let digits = digest.iter().take(16).map(|byte| format!("{byte:02x}"));
    Ok(digits.collect())
}
