//! `--count`: exact counts of the executions of every instruction.
//!
//! The machine keeps them in storage of its own at the end of that which QEMU has. For the run itself the storage is as
//! without the option, and so it stays the same run.

use anyhow::{Result, bail};
use link::{loader::COUNTING_STORAGE, state::Mode};

use crate::{
    numbers::quantities::Storage,
    options::{RunOptions, Unserved, emulator::Emulator},
};

/// Storage for the counts of all CPUs.
const fn for_counts(options: &RunOptions, cpus: u32) -> u64 {
    if options.count_executions {
        COUNTING_STORAGE * cpus as u64
    } else {
        0
    }
}

/// The storage that QEMU is given for a run with so many CPUs: that of the run, and that for its counts.
#[must_use]
pub const fn storage_below(options: &RunOptions, cpus: u32) -> Storage {
    Storage(options.storage.0 + for_counts(options, cpus))
}

/// The storage that a machine of QEMU has if it is given this much: a whole number of increments, of which there are at most
/// 1020.
const fn in_increments(storage: u64) -> u64 {
    const MOST_INCREMENTS: u64 = 1020;
    let mut shift = 20;
    while storage >> shift > MOST_INCREMENTS {
        shift += 1;
    }
    storage >> shift << shift
}

/// Refuses a storage that the run would not have unchanged, because QEMU rounds it.
///
/// # Errors
/// It is such a storage.
pub fn check_storage(options: &RunOptions, cpus: u32) -> Result<()> {
    let (storage, counts) = (options.storage, for_counts(options, cpus));
    if in_increments(storage.0 + counts) == in_increments(storage.0) + counts {
        return Ok(());
    }
    bail!(
        "QEMU rounds storage of {storage} and {} for the counts of {cpus} CPUs, so the run with --count would not be the one \
         without; choose a little less with --storage, or an even number of CPUs",
        Storage(counts)
    );
}

/// Refuses a run that wants exact counts and cannot have them.
///
/// # Errors
/// It is such a run.
pub fn check(options: &RunOptions) -> Result<()> {
    if !options.count_executions {
        return Ok(());
    }
    let unserved = [
        Unserved::new(
            options.below == Emulator::Hercules,
            "below Hercules",
            "leave --below out",
        ),
        Unserved::new(
            options.mode.is_real_time(),
            "in real time, where nothing counts instructions",
            "leave --real-time or --native out",
        ),
        Unserved::new(
            options.mode == Mode::Interactive,
            "of an interactive run or one with devices, which cannot be repeated",
            "give a command, and leave devices, disks and networks out",
        ),
        Unserved::new(
            options.nested != 0,
            "of machines above the machine",
            "leave --nested out",
        ),
        Unserved::new(
            options.exact_caches.is_some(),
            "of a run in which every instruction stops for the model of caches",
            "leave --exact-caches out",
        ),
        Unserved::new(
            options.count_traps || options.count_paths,
            "of a run that counts its traps or paths",
            "count them in another run",
        ),
    ];
    Unserved::refuse(&unserved, |Unserved { what, remedy, .. }| {
        format!("--count has no counts {what}; {remedy}, or leave --count out")
    })
}

/// Refuses a run of Linux that does not boot by itself.
///
/// # Errors
/// It is such a run.
pub fn check_linux(wants_shell: bool, is_from_kept_system: bool) -> Result<()> {
    if wants_shell {
        bail!(
            "--count has no counts of a shell for a person, whose input cannot be repeated; add a command behind --"
        );
    }
    if is_from_kept_system {
        bail!(
            "--count has no counts of a run that goes on from a kept system, which was started without them; add --fresh, so \
             that it boots"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cache::Geometry;

    fn counting(change: impl FnOnce(&mut RunOptions)) -> RunOptions {
        let mut options = RunOptions {
            count_executions: true,
            ..RunOptions::default()
        };
        change(&mut options);
        options
    }

    #[test]
    fn what_has_no_exact_counts_is_refused_with_what_helps() {
        assert!(counting(|_| ()).check().is_ok());
        let refuses = |change: &dyn Fn(&mut RunOptions), word: &str| {
            let mut options = counting(change);
            let refusal = options.check().unwrap_err().to_string();
            assert!(
                refusal.contains("--count") && refusal.contains(word),
                "{refusal}"
            );
            options.count_executions = false;
            assert!(options.check().is_ok(), "{word}");
        };
        refuses(&|options| options.mode = Mode::RealTime, "--real-time");
        refuses(&|options| options.mode = Mode::Native, "--native");
        refuses(&|options| options.mode = Mode::Interactive, "repeated");
        refuses(&|options| options.below = Emulator::Hercules, "--below");
        refuses(&|options| options.nested = 1, "--nested");
        refuses(&|options| options.count_traps = true, "traps");
        let caches = |options: &mut RunOptions| options.exact_caches = Some(Geometry::default());
        refuses(&caches, "--exact-caches");
    }

    #[test]
    fn linux_is_counted_if_it_boots_and_nobody_types() {
        assert!(check_linux(false, false).is_ok());
        let refusal = |shell, kept| check_linux(shell, kept).unwrap_err().to_string();
        assert!(refusal(true, false).contains("a command"));
        assert!(refusal(false, true).contains("--fresh"));
    }

    #[test]
    fn qemu_has_more_storage_for_the_counts_of_each_cpu_and_the_run_has_its_own() {
        let options = counting(|_| ());
        assert_eq!(storage_below(&options, 2), Storage((512 + 32) << 20));
        let without = RunOptions::default();
        assert_eq!(storage_below(&without, 2), without.storage);
        let fits = |storage, cpus| {
            let options = counting(|options| options.storage = Storage(storage));
            check_storage(&options, cpus).map_err(|error| error.to_string())
        };
        for storage in [256 << 20, 2047 << 20, 2 << 30, 8 << 30] {
            for cpus in [1, 2, 3, 16] {
                assert_eq!(fits(storage, cpus), Ok(()), "{storage} {cpus}");
            }
        }
        // Increments of 32 MiB.
        assert_eq!(fits(16 << 30, 2), Ok(()));
        let refusal = fits(16 << 30, 3).unwrap_err();
        assert!(
            refusal.contains("16G") && refusal.contains("48M"),
            "{refusal}"
        );
    }
}
