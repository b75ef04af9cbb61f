//! A whole Debian with systemd, which boots from a disk above the machine.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use measure::{
    computer::progress::Progress,
    linux::{cache::Cache, packages},
    options::disk::Disk,
};
use tempfile::TempDir;

use tests_qemu::suite::test;

use crate::guest::{NO_CIPHER_TESTS, boot, initrd_of_disk, put, section};

/// Bytes of the disk. The file has holes.
const DISK: u64 = 1 << 30;

/// The first process: it loads the drivers of the disk, and becomes the first process of the system there.
const INIT: &str = r"#!/bin/busybox sh
/bin/busybox mkdir -p /dev /mnt
/bin/busybox mount -t devtmpfs devtmpfs /dev
for module in /modules/*; do /bin/busybox insmod $module; done
/bin/busybox mount -t ext4 /dev/vda /mnt
exec /bin/busybox switch_root /mnt /sbin/init
";

/// What the system does: it says what its state is once all units have started, and has perf count a program.
const MEASURED: &str = r"#!/bin/bash
exec >/dev/console 2>&1
echo @state
systemctl is-system-running --wait
systemctl list-units --failed --plain --no-legend
echo @counted
perf stat -x, -e cycles:u,instructions:u -- /bin/true
echo @written
echo the guest wrote this >/written
sync
echo @end
systemctl poweroff
";

/// The unit that does it. systemd does not wait for its end, so that it can wait for systemd.
const UNIT: &str = "[Unit]
Description=What is measured
[Service]
Type=simple
ExecStart=/usr/local/sbin/measured
[Install]
WantedBy=multi-user.target
";

/// What the packages' scripts would have configured, as far as a boot needs it.
fn configure(tree: &Path) {
    for name in ["passwd", "group"] {
        let master = tree.join(format!("usr/share/base-passwd/{name}.master"));
        let text = fs::read_to_string(master).unwrap();
        let more = match name {
            "passwd" => "messagebus:x:100:100::/nonexistent:/usr/sbin/nologin\n",
            _ => "messagebus:x:100:\n",
        };
        fs::write(tree.join("etc").join(name), text + more).unwrap();
    }
    for (name, text) in [
        ("fstab", "/dev/vda / ext4 defaults 0 0\n"),
        ("hostname", "guest\n"),
        // Empty: systemd gives one at the first boot.
        ("machine-id", ""),
    ] {
        fs::write(tree.join("etc").join(name), text).unwrap();
    }
    put(tree, "usr/local/sbin/measured", MEASURED.as_bytes());
    let units = tree.join("etc/systemd/system");
    fs::write(units.join("measured.service"), UNIT).unwrap();
    let wanted = units.join("multi-user.target.wants");
    fs::create_dir_all(&wanted).unwrap();
    symlink("../measured.service", wanted.join("measured.service")).unwrap();
    symlink(
        "/lib/systemd/system/multi-user.target",
        units.join("default.target"),
    )
    .unwrap();
    let _ = symlink("bash", tree.join("bin/sh"));
}

/// Performs a command of this computer's. Users need not have those of its administrator in their path.
fn perform(command: &mut Command) {
    let path = std::env::var("PATH").unwrap_or_default();
    let output = command
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// A disk with the system.
fn make_disk(directory: &Path) -> Disk {
    let system = packages::system(&Cache::of_user().unwrap(), &Progress::Plain).unwrap();
    let tree = directory.join("tree");
    // What the cache keeps is not changed.
    perform(Command::new("cp").arg("--archive").args([&system, &tree]));
    configure(&tree);
    let file = directory.join("disk");
    fs::File::create(&file).unwrap().set_len(DISK).unwrap();
    perform(
        Command::new("mke2fs")
            .args(["-q", "-F", "-t", "ext4", "-d"])
            .args([&tree, &file]),
    );
    Disk {
        file,
        read_only: false,
    }
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_whole_debian_with_systemd_boots_from_a_disk_and_its_perf_counts() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let disk = make_disk(here);
    fs::write(here.join("initrd"), initrd_of_disk(INIT, &disk)).unwrap();
    let file = disk.file.display().to_string();
    let arguments = ["--initrd", "initrd", "--disk", &file, "--storage", "1G"];
    // On the console only the unit writes what the test reads.
    let parameters = format!("{NO_CIPHER_TESTS} quiet systemd.show_status=false");
    let more = ["--append", &parameters];
    let finished = boot(here, &[&arguments[..], &more].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let output = finished.output.replace('\r', "");
    // No unit has failed.
    assert_eq!(section(&output, "state").trim(), "running", "{output}");
    let counts: Vec<u64> = section(&output, "counted")
        .lines()
        .filter_map(|line| line.split(',').next()?.parse().ok())
        .collect();
    // In exact mode a cycle is an instruction.
    assert_eq!(counts.len(), 2, "{output}");
    assert_eq!(counts[0], counts[1], "{output}");
    assert!(counts[0] > 100_000, "{output}");
    let written = here.join("written");
    perform(
        Command::new("debugfs")
            .args(["-R", &format!("dump /written {}", written.display())])
            .arg(&disk.file),
    );
    let written = fs::read_to_string(written).unwrap();
    assert_eq!(written, "the guest wrote this\n");
}
