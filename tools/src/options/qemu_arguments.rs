//! Devices in QEMU's own words: `--qemu-arg`.
//!
//! An argument reaches QEMU only if it is in the table of this file, and so is each of its properties. The devices are those
//! that the machine stands between: virtio devices that access storage by their rings only. What is behind a device is a
//! file that must already be there, the user network, or nothing. Nothing here starts a program, opens a port, or looks
//! at the contents of a file to find its format.

use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

use crate::options::disk::Disk;

/// An argument of QEMU: its option, what its value begins with, and the properties that it may have.
struct Known {
    option: &'static str,
    /// The first property: its name, unless QEMU implies it, and its value.
    first: &'static str,
    properties: &'static [&'static str],
}

/// The arguments that QEMU may get.
const KNOWN: [Known; 10] = [
    Known {
        option: "-device",
        first: "virtio-blk-ccw",
        properties: &["drive", "serial", "id", "devno"],
    },
    Known {
        option: "-device",
        first: "virtio-net-ccw",
        properties: &["netdev", "mac", "id", "devno"],
    },
    Known {
        option: "-device",
        first: "virtio-rng-ccw",
        properties: &["rng", "id", "devno"],
    },
    Known {
        option: "-device",
        first: "virtio-serial-ccw",
        properties: &["id", "devno"],
    },
    Known {
        option: "-device",
        first: "virtconsole",
        properties: &["chardev", "id"],
    },
    Known {
        option: "-device",
        first: "diag288",
        properties: &["id"],
    },
    Known {
        option: "-drive",
        first: "if=none",
        properties: &["id", "format", "file", "readonly"],
    },
    Known {
        option: "-netdev",
        first: "user",
        properties: &["id", "restrict", "net", "host", "hostname"],
    },
    Known {
        option: "-object",
        first: "rng-builtin",
        properties: &["id"],
    },
    Known {
        option: "-chardev",
        first: "null",
        properties: &["id"],
    },
];

/// An argument of QEMU that has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QemuArgument {
    option: &'static str,
    first: &'static str,
    properties: Vec<(&'static str, String)>,
}

impl FromStr for QemuArgument {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let words = text.trim().split_once(char::is_whitespace);
        let (option, value) = words.with_context(|| {
            format!("{text} has no value; write it as --qemu-arg='-device virtio-rng-ccw'")
        })?;
        Self::new(option, value.trim_start())
    }
}

impl QemuArgument {
    fn new(option: &str, value: &str) -> Result<Self> {
        let parts = split(value);
        let (first, rest) = parts.split_first().context("it is empty")?;
        let known = KNOWN
            .iter()
            .find(|known| known.option == option && known.first == first);
        let Some(known) = known else {
            let names: Vec<String> = KNOWN
                .iter()
                .map(|known| format!("{} {}", known.option, known.first))
                .collect();
            bail!(
                "{option} {value} is not a device that the machine knows; possible are {}",
                names.join(", ")
            );
        };
        let mut argument = Self {
            option: known.option,
            first: known.first,
            properties: Vec::new(),
        };
        for part in rest {
            let named = part.split_once('=').and_then(|(name, value)| {
                let name = known.properties.iter().find(|known| **known == name)?;
                Some((*name, value.to_owned()))
            });
            let Some((name, value)) = named else {
                bail!(
                    "{part} is not possible in {option} {first}; possible are {} with a value each",
                    known.properties.join(", ")
                );
            };
            ensure!(
                argument.property(name).is_none(),
                "{name} is given twice in {option} {first}"
            );
            argument.properties.push((name, value));
        }
        Ok(argument)
    }

    fn property(&self, name: &str) -> Option<&str> {
        let named = self.properties.iter().find(|known| known.0 == name);
        named.map(|(_, value)| &value[..])
    }

    /// The disk that it makes of a file. QEMU may not guess the format: a guest could write another one into the file,
    /// with the names of more files in it.
    pub fn disk(&self) -> Result<Option<Disk>> {
        if self.option != "-drive" {
            return Ok(None);
        }
        ensure!(
            self.property("format") == Some("raw"),
            "-drive needs format=raw"
        );
        let file = self.property("file").unwrap_or_default();
        ensure!(!file.is_empty(), "-drive needs a file");
        let read_only = match self.property("readonly") {
            None | Some("off") => false,
            Some("on") => true,
            Some(other) => bail!("readonly={other} is neither on nor off in -drive"),
        };
        Ok(Some(Disk {
            file: file.into(),
            read_only,
        }))
    }

    /// Whether it is a device with a subchannel.
    pub fn has_subchannel(&self) -> bool {
        self.first.ends_with("-ccw")
    }

    /// QEMU's words.
    pub fn words(&self) -> [String; 2] {
        let mut value = self.first.to_owned();
        for (name, text) in &self.properties {
            let text = match *name {
                "file" => Disk::name_for_qemu(text.as_ref()),
                _ => text.replace(',', ",,"),
            };
            value.push_str(&format!(",{name}={text}"));
        }
        [self.option.to_owned(), value]
    }
}

/// The parts between commas. Two commas are one comma of a part.
fn split(value: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = value.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == ',' && letters.next_if_eq(&',').is_none() {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> QemuArgument {
        text.parse().unwrap()
    }

    fn refusal(text: &str) -> String {
        text.parse::<QemuArgument>().unwrap_err().to_string()
    }

    #[test]
    fn devices_that_the_machine_knows_reach_qemu_in_its_words() {
        for (text, has_subchannel) in [
            ("-object rng-builtin,id=r", false),
            ("-device diag288", false),
            ("-device virtio-rng-ccw,rng=r,devno=fe.0.0100", true),
            (
                "-drive if=none,id=d,format=raw,file=/a,,b,readonly=on",
                false,
            ),
        ] {
            let read = read(text);
            assert_eq!(read.words().join(" "), text);
            assert_eq!(read.has_subchannel(), has_subchannel);
        }
        let disk = read("-drive if=none,id=d,format=raw,file=/a,,b c,readonly=on").disk();
        let disk = disk.unwrap().unwrap();
        assert_eq!((disk.file.to_str(), disk.read_only), (Some("/a,b c"), true));
    }

    #[test]
    fn whatever_reaches_beyond_a_device_is_refused_with_what_is_possible() {
        for text in [
            "-device virtio-gpu-ccw",
            "-device vfio-ccw,sysfsdev=/sys/bus/mdev/devices/a",
            "-device loader,file=/etc/passwd,addr=0",
            "-device {\"driver\":\"virtio-rng-ccw\"}",
            "-object rng-random,filename=/dev/mem,id=r",
            "-object rng-egd,chardev=c,id=r",
            "-chardev socket,id=c,path=/s",
            "-chardev pipe,id=c,path=/s",
            "-netdev tap,id=n,script=/s",
            "-drive id=d,format=raw,file=/a",
            "-blockdev file,node-name=d,filename=/a",
            "-sandbox off",
            "-monitor stdio",
            "-icount shift=1",
        ] {
            let refusal = refusal(text);
            assert!(
                refusal.contains("possible are -device virtio-blk-ccw,"),
                "{refusal}"
            );
        }
        for text in [
            "-netdev user,id=n,hostfwd=tcp::22-:22",
            "-netdev user,id=n,guestfwd=tcp:10.0.2.9:1-cmd:sh",
            "-netdev user,id=n,smb=/",
            "-netdev user,id=n,tftp=/",
            "-device virtio-blk-ccw,packed=on",
            "-device virtio-rng-ccw,help",
            "-drive if=none,id=d,format=raw,file=/a,snapshot=on",
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains("is not possible in -"), "{refusal}");
        }
        assert!(refusal("-netdev user,id=a,id=b").contains("id is given twice"));
        assert!(refusal("-device").contains("has no value"));
    }

    #[test]
    fn a_drive_names_one_raw_file() {
        let disk = |value: &str| {
            let argument = read(&format!("-drive {value}"));
            argument.disk().unwrap_err().to_string()
        };
        assert!(disk("if=none,id=d,file=/a").contains("format=raw"));
        assert!(disk("if=none,id=d,file=/a,format=qcow2").contains("format=raw"));
        assert!(disk("if=none,id=d,format=raw").contains("needs a file"));
        let odd = disk("if=none,id=d,format=raw,file=/a,readonly=auto");
        assert!(odd.contains("neither on nor off"), "{odd}");
    }
}
