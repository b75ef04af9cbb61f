//! Devices of the host: disks and a network card, which the guest finds as virtio devices behind subchannels.
//!
//! They answer when the host lets them, so a run with one is exact in instructions but not repeatable.

use std::path::Path;

use anyhow::{Result, bail};

use crate::options::{disk::Disk, qemu_arguments::QemuArgument};

/// The most devices: the guest sees this many subchannels.
const MOST: usize = arch::channel::SUBCHANNELS;

/// The host's devices that the guest has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Devices {
    /// Disks, in the order in which the guest finds them.
    pub disks: Vec<Disk>,
    /// Whether there is a network card.
    pub network: bool,
    /// More devices, in QEMU's words.
    pub more: Vec<QemuArgument>,
}

impl Devices {
    /// Whether there are no devices.
    pub fn is_empty(&self) -> bool {
        self.disks.is_empty() && !self.network && self.more.is_empty()
    }

    /// Checks that the guest can have them.
    pub fn check(&self) -> Result<()> {
        let more = self.more.iter().filter(|more| more.has_subchannel());
        let number = self.disks.len() + usize::from(self.network) + more.count();
        if number > MOST {
            bail!(
                "{number} disks and network cards are too many; the guest can have {MOST} devices at most"
            );
        }
        let mut disks = self.disks.clone();
        for argument in &self.more {
            disks.extend(argument.disk()?);
        }
        for (number, disk) in disks.iter().enumerate() {
            disk.check()?;
            let same = |other: &&Disk| {
                same_file(&other.file, &disk.file) && !(other.read_only && disk.read_only)
            };
            if disks[..number].iter().find(same).is_some() {
                bail!(
                    "{} is given as two disks, and one of them can be written; give both as FILE,ro, or leave one out",
                    disk.file.display()
                );
            }
        }
        Ok(())
    }

    /// QEMU's arguments.
    pub fn arguments(&self) -> Vec<String> {
        let mut line = Vec::new();
        for (number, disk) in self.disks.iter().enumerate() {
            let file = Disk::name_for_qemu(&disk.file);
            let access = if disk.read_only { ",readonly=on" } else { "" };
            line.push("-drive".to_owned());
            line.push(format!(
                "if=none,id=disk{number},format=raw{access},file={file}"
            ));
            line.push("-device".to_owned());
            line.push(format!(
                "virtio-blk-ccw,drive=disk{number},devno=fe.0.{number:04x}"
            ));
        }
        if self.network {
            line.push("-netdev".to_owned());
            line.push("user,id=net0".to_owned());
            line.push("-device".to_owned());
            line.push("virtio-net-ccw,netdev=net0,devno=fe.0.f000".to_owned());
        }
        line.extend(self.more.iter().flat_map(QemuArgument::words));
        line
    }

    /// The devices, in words.
    pub fn words(&self) -> Vec<String> {
        let disks = self.disks.iter().map(|disk| format!("disk {disk}"));
        let network = self.network.then(|| "a network card".to_owned());
        let more = self.more.iter().map(|more| more.words().join(" "));
        let what = (!self.is_empty()).then(|| "not repeatable".to_owned());
        disks.chain(network).chain(more).chain(what).collect()
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::fs;

    fn refusal(disks: &[&str]) -> String {
        let disks = disks.iter().map(|text| text.parse().unwrap()).collect();
        let devices = Devices {
            disks,
            network: true,
            more: Vec::new(),
        };
        format!("{:#}", devices.check().unwrap_err())
    }

    #[test]
    fn a_file_that_cannot_be_a_disk_is_refused_with_the_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        let (odd, empty, good) = (path("odd"), path("empty"), path("good"));
        fs::write(&odd, [0; 513]).unwrap();
        fs::write(&empty, "").unwrap();
        fs::write(&good, [0; 1024]).unwrap();
        assert!(refusal(&[&path("none")]).contains("make one with `truncate"));
        assert!(refusal(&[&odd]).contains("513 bytes"));
        assert!(refusal(&[&empty]).contains("is empty"));
        assert!(refusal(&[&(path("") + ",ro")]).contains("is not a file"));
        let fifo = path("fifo");
        let mode = Mode::from_raw_mode(0o600);
        mknodat(CWD, &fifo, FileType::Fifo, mode, 0).unwrap();
        assert!(refusal(&[&(fifo + ",ro")]).contains("is not a file"));
        assert!(refusal(&[&good, &format!("{good},ro")]).contains("two disks"));
        let read = format!("{good},ro");
        assert!(refusal(&[&read[..]; 16]).contains("16 devices at most"));
        let twice = [&read, &read].map(|text| text.parse().unwrap());
        let devices = Devices {
            disks: twice.into(),
            network: true,
            more: Vec::new(),
        };
        devices.check().unwrap();
        assert!("".parse::<Disk>().unwrap_err().contains("--disk FILE,ro"));
    }

    #[test]
    fn a_drive_in_qemus_words_is_checked_like_a_disk() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("disk");
        fs::write(&file, [0; 513]).unwrap();
        let drive = format!("-drive if=none,id=d,format=raw,file={}", file.display());
        let mut devices = Devices {
            more: vec![drive.parse().unwrap()],
            ..Devices::default()
        };
        assert!(!devices.is_empty());
        let refusal = format!("{:#}", devices.check().unwrap_err());
        assert!(refusal.contains("513 bytes"), "{refusal}");
        fs::write(&file, [0; 512]).unwrap();
        devices.check().unwrap();
        devices.disks = vec![file.display().to_string().parse().unwrap()];
        let refusal = format!("{:#}", devices.check().unwrap_err());
        assert!(refusal.contains("two disks"), "{refusal}");
        devices.more = vec!["-device virtio-rng-ccw".parse().unwrap(); 16];
        let refusal = format!("{:#}", devices.check().unwrap_err());
        assert!(refusal.contains("16 devices at most"), "{refusal}");
    }

    #[test]
    fn qemu_gets_every_device() {
        let devices = Devices {
            disks: vec!["/a,b".parse().unwrap(), "/c,ro".parse().unwrap()],
            network: true,
            more: Vec::new(),
        };
        let line = devices.arguments().join(" ");
        assert!(
            line.contains("id=disk0,format=raw,file=/a,,b -device virtio-blk-ccw,drive=disk0"),
            "{line}"
        );
        assert!(line.contains("format=raw,readonly=on,file=/c "), "{line}");
        assert!(line.ends_with("virtio-net-ccw,netdev=net0,devno=fe.0.f000"));
        assert_eq!(
            devices.words(),
            [
                "disk /a,b",
                "disk /c, read only",
                "a network card",
                "not repeatable"
            ]
        );
        let here: Disk = "nbd:a".parse().unwrap();
        assert_eq!(Disk::name_for_qemu(&here.file), "./nbd:a", "not a protocol");
        assert!(Devices::default().arguments().is_empty() && Devices::default().words().is_empty());
    }
}
