//! The kernel's modules for the devices of the host, and its drivers of the cryptographic functions, in the
//! order in which they can be loaded.
//!
//! Debian's kernels have the channel subsystem and its virtio transport built in, and the drivers that use them as
//! modules. A module that a kernel's package does not have is built in.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::options::devices::Devices;

/// For disks: the disk, and a file system.
const DISK: [&str; 6] = [
    "virtio_blk",
    "crc16",
    "crc32c_generic",
    "mbcache",
    "jbd2",
    "ext4",
];
/// For a network card.
const NETWORK: [&str; 3] = ["failover", "net_failover", "virtio_net"];
/// For the cryptographic functions of the CPU. The modules before the drivers handle the keys that the drivers do not.
const CRYPTOGRAPHY: [&str; 12] = [
    "ecb",
    "ctr",
    "xts",
    "libdes",
    "libchacha",
    "sha_common",
    "sha1_s390",
    "sha256_s390",
    "sha512_s390",
    "aes_s390",
    "des_s390",
    "chacha_s390",
];

/// The endings of a module's file: plain, or compressed.
const ENDINGS: [&str; 2] = [".ko", ".ko.xz"];

/// Copies the modules from the tree of an unpacked kernel.
pub fn collect(tree: &Path, into: &Path) -> Result<()> {
    fs::create_dir_all(into).with_context(|| format!("cannot create {}", into.display()))?;
    let mut directories = vec![tree.join("lib/modules"), tree.join("usr/lib/modules")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push(path);
                continue;
            }
            let name = entry.file_name();
            let mut wanted = DISK.iter().chain(&NETWORK).chain(&CRYPTOGRAPHY);
            let is_wanted = wanted.any(|module| {
                let rest = name.to_str().and_then(|name| name.strip_prefix(module));
                rest.is_some_and(|ending| ENDINGS.contains(&ending))
            });
            if is_wanted {
                fs::copy(&path, into.join(&name))
                    .with_context(|| format!("cannot copy {}", path.display()))?;
            }
        }
    }
    Ok(())
}

/// The modules for these devices: a name that puts each in the order of loading, and its file.
pub fn of(directory: &Path, devices: &Devices) -> Vec<(String, PathBuf)> {
    let disk = DISK.iter().filter(|_| !devices.disks.is_empty());
    let network = NETWORK.iter().filter(|_| devices.network);
    numbered(directory, disk.chain(network))
}

/// The drivers of the cryptographic functions, which the kernel tests when they are loaded: as [`of`].
pub fn of_cryptography(directory: &Path) -> Vec<(String, PathBuf)> {
    numbered(directory, CRYPTOGRAPHY.iter())
}

/// The modules that exist as files.
fn numbered<'a>(
    directory: &Path,
    modules: impl Iterator<Item = &'a &'a str>,
) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for (number, module) in modules.enumerate() {
        for ending in ENDINGS {
            let file = directory.join(format!("{module}{ending}"));
            if file.is_file() {
                found.push((format!("{number:02}-{module}{ending}"), file));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_anywhere_and_named_by_their_order() {
        let tree = tempfile::tempdir().unwrap();
        let kernel = tree.path().join("lib/modules/6/kernel");
        fs::create_dir_all(kernel.join("fs/ext4")).unwrap();
        for name in [
            "virtio_blk.ko",
            "virtio_blk_x.ko",
            "fs/ext4/ext4.ko.xz",
            "xts.ko",
        ] {
            fs::write(kernel.join(name), name).unwrap();
        }
        let into = tree.path().join("modules");
        collect(tree.path(), &into).unwrap();
        let devices = Devices {
            disks: vec!["/d".parse().unwrap()],
            network: true,
            ..Devices::default()
        };
        let names: Vec<String> = of(&into, &devices).into_iter().map(|one| one.0).collect();
        assert_eq!(names, ["00-virtio_blk.ko", "05-ext4.ko.xz"]);
        assert!(of(&into, &Devices::default()).is_empty());
        assert_eq!(of_cryptography(&into)[0].0, "02-xts.ko");
    }
}
