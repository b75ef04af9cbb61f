//! A Linux that its own `zipl` has installed on a disk: above the machine, and by the boot loader of a bare QEMU.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use measure::{
    computer::progress::Progress,
    linux::{Release, cache::Cache, initramfs, packages},
    machine::qemu::{Heard, Running},
    options::disk::Disk,
};
use tempfile::TempDir;
use tests_qemu::{command::Finished, ipl, suite::test};

use crate::guest::{boot, initrd, initrd_of_disk, put};

/// Bytes of the disk.
const DISK: u64 = 96 << 20;

/// The first process of the installed system: it loads the drivers, and goes on from the disk.
const INIT: &str = r"#!/bin/busybox sh
/bin/busybox mkdir -p /dev /mnt
/bin/busybox mount -t devtmpfs devtmpfs /dev
for module in /modules/*; do /bin/busybox insmod $module; done
/bin/busybox mount -t ext4 -o ro /dev/vda /mnt
exec /bin/busybox switch_root /mnt /sbin/init
";

/// What it goes on with there.
const ROOT: &str = r"#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
echo @parameters
/bin/busybox cat /proc/cmdline
echo @root
/bin/busybox sed -n 's/ext. ro.*//p' /proc/mounts
/bin/busybox cat /installed
echo @facilities
/bin/busybox sed -n 's/^facilities *: //p' /proc/cpuinfo
echo @end
/bin/busybox poweroff -f
";

/// How the guest installs it. The second program differs in its parameters.
const INSTALL: &str = r#"
mke2fs /dev/vda >/dev/null 2>&1 && mount -t ext4 /dev/vda /mnt || exit 1
cd /mnt && mkdir boot bin sbin dev proc && echo it is the disk >installed
cp /system/vmlinuz /system/initrd boot && cp /bin/busybox bin && cp /system/root sbin/init
cat >/zipl.conf <<END
[defaultboot]
defaultmenu = menu
:menu
target = /mnt/boot
targetbase = /dev/vda
targettype = SCSI
targetblocksize = 512
targetoffset = 0
1 = first
2 = second
default = 1
prompt = 0
timeout = 0
[first]
target = /mnt/boot
image = /mnt/boot/vmlinuz
ramdisk = /mnt/boot/initrd
parameters = "console=ttysclp0 quiet system=first"
[second]
target = /mnt/boot
image = /mnt/boot/vmlinuz
ramdisk = /mnt/boot/initrd
parameters = "console=ttysclp0 quiet system=second"
END
sync
zipl -V -c /zipl.conf; code=$?
cd / && umount /mnt
exit $code
"#;

/// What the guest has to install.
fn to_install(disk: &Disk) -> Vec<u8> {
    let cache = Cache::of_user().unwrap();
    let progress = Progress::Plain;
    let kernel = packages::kernel(&cache, Release::V6_1, &progress).unwrap();
    let zipl = packages::zipl(&cache, &progress).unwrap();
    let system = TempDir::new().unwrap();
    let first = initrd_of_disk(INIT, disk);
    put(system.path(), "system/initrd", &first);
    put(system.path(), "system/root", ROOT.as_bytes());
    let kernel = fs::read(kernel.image).unwrap();
    put(system.path(), "system/vmlinuz", &kernel);
    let trees = [&zipl, system.path()].map(|tree| initramfs::of_tree(tree).unwrap());
    let with_zipl = initramfs::followed(initrd(), &trees[0]);
    initramfs::followed(with_zipl, &trees[1])
}

/// Makes a disk, and has the guest install itself there.
fn install(directory: &Path) -> Finished {
    let file = directory.join("disk");
    fs::File::create(&file).unwrap().set_len(DISK).unwrap();
    let disk = Disk {
        file,
        read_only: false,
    };
    fs::write(directory.join("initrd"), to_install(&disk)).unwrap();
    fs::write(directory.join("install"), INSTALL).unwrap();
    let disk = disk.file.display().to_string();
    let arguments = ["--initrd", "initrd", "--script", "install", "--disk", &disk];
    let finished = boot(directory, &arguments);
    fs::rename(directory.join("run"), directory.join("installation")).unwrap();
    finished
}

/// What QEMU's own boot loader starts from the disk, on a bare QEMU.
fn natively(directory: &Path) -> String {
    let qemus = ipl::qemus(&Progress::Silent).unwrap();
    let disk = directory.join("disk").display().to_string();
    let line = format!(
        "-nodefaults -nographic -cpu max -m 512M -drive if=none,id=d,format=raw,file={disk} -device virtio-blk-ccw,drive=d,bootindex=0 -chardev stdio,id=c -device sclpconsole,chardev=c"
    );
    let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let machine = Running::start(&qemus[0].path, &arguments).unwrap();
    let began = Instant::now();
    let mut heard = Vec::new();
    loop {
        match machine.hear(Duration::from_millis(20)) {
            Heard::Bytes(bytes) => heard.extend(bytes),
            Heard::Silence => {}
            Heard::End => break,
        }
        assert!(
            began.elapsed() < ipl::LIMIT,
            "{}",
            String::from_utf8_lossy(&heard)
        );
    }
    String::from_utf8_lossy(&heard).into_owned()
}

/// The lines of a section: what follows a line `@NAME`.
fn of(output: &str, name: &str) -> Vec<String> {
    let lines = output.lines().map(|line| line.trim_end_matches('\r'));
    let mut lines = lines.skip_while(|line| *line != format!("@{name}"));
    assert!(
        lines.next().is_some(),
        "there is no section {name}:\n{output}"
    );
    let lines = lines.take_while(|line| !line.starts_with('@'));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_linux_that_zipl_has_installed_boots_from_its_disk_as_on_a_bare_machine() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let installed = install(here);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    let native = natively(here);
    let mut roots = vec![of(&native, "root")];
    assert_eq!(
        of(&native, "parameters"),
        ["console=ttysclp0 quiet system=first"]
    );
    let facilities = |output: &str| of(output, "facilities").join(" ");
    let has_counters = |output: &str| facilities(output).split(' ').any(|bit| bit == "67");
    assert!(!has_counters(&native), "{native}");
    for (more, system) in [(&[][..], "first"), (&["--loadparm", "2"], "second")] {
        let _ = fs::remove_dir_all(here.join("run"));
        let finished = boot(here, &[&["--ipl-disk", "disk"], more].concat());
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let expected = format!("console=ttysclp0 quiet system={system}");
        assert_eq!(of(&finished.output, "parameters"), [expected]);
        assert!(has_counters(&finished.output), "{finished:?}");
        roots.push(of(&finished.output, "root"));
    }
    assert_eq!(roots[0].len(), 2, "{roots:?}");
    assert_eq!(roots[0][1], "it is the disk");
    assert!(roots.iter().all(|root| *root == roots[0]), "{roots:?}");

    let finished = boot(here, &["--ipl-disk", "disk", "--loadparm", "9"]);
    finished.assert_fails(
        2,
        &["disk cannot be IPLed", "no program 9", "choose one of 0"],
    );
}
