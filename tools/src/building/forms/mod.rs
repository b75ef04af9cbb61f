//! The forms in which machines can IPL the image, alone or with a guest.
//!
//! A form brings the same bytes into storage in each machine: the image, and if there is a guest, the loader block and what
//! is staged. It is entered at the image's entry, whatever the machine does before.

mod bios;
mod card;
mod channel;
mod dasd;
mod elf;
mod flat;
mod hercules;
mod ins;
mod scsi;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::computer::whole_file;

pub use hercules::{CONFIGURATION as HERCULES_CONFIGURATION, SCRIPT as HERCULES_SCRIPT};

/// A form of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// QEMU: an ELF for -kernel
    Elf,
    /// QEMU: firmware for -bios
    Bios,
    /// Hercules, or a partition: a list of files
    Ins,
    /// Hercules, or z/VM: cards for a reader
    Card,
    /// Hercules: a DASD of fixed blocks
    Dasd,
    /// QEMU: a disk that QEMU's own boot loader starts
    Scsi,
}

impl Form {
    /// All forms.
    pub const ALL: [Self; 6] = [
        Self::Elf,
        Self::Bios,
        Self::Ins,
        Self::Card,
        Self::Dasd,
        Self::Scsi,
    ];

    /// Whether QEMU starts it; Hercules starts the others.
    pub fn is_for_qemu(self) -> bool {
        matches!(self, Self::Elf | Self::Bios | Self::Scsi)
    }

    /// What the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Elf => "elf",
            Self::Bios => "bios",
            Self::Ins => "ins",
            Self::Card => "card",
            Self::Dasd => "dasd",
            Self::Scsi => "scsi",
        }
    }

    /// QEMU's options that IPL this file of the form; none for a form that is not QEMU's.
    pub fn qemu_options(self, file: &Path) -> Vec<String> {
        let path = file.to_string_lossy();
        match self {
            Self::Elf => vec!["-kernel".to_owned(), path.into_owned()],
            Self::Bios => vec!["-bios".to_owned(), path.into_owned()],
            Self::Scsi => {
                // QEMU reads a doubled comma as a comma of the name.
                let path = path.replace(',', ",,");
                [
                    "-drive",
                    &format!("file={path},if=none,id=ipl,format=raw,readonly=on"),
                    "-device",
                    "virtio-blk-ccw,drive=ipl,bootindex=1",
                ]
                .map(str::to_owned)
                .into()
            }
            Self::Ins | Self::Card | Self::Dasd => Vec::new(),
        }
    }

    /// The one command that starts this file of the form, for a shell.
    pub fn start(self, file: &Path, carried: &Carried) -> String {
        if self.is_for_qemu() {
            return format!(
                "qemu-system-s390x -nodefaults -nographic -serial mon:stdio -cpu max -m {}M -smp {} -icount shift=0,sleep=off {}",
                carried.storage >> 20,
                carried.cpus,
                self.qemu_options(file)
                    .iter()
                    .map(|word| for_shell(word))
                    .collect::<Vec<_>>()
                    .join(" ")
            );
        }
        let directory = match file.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        format!(
            "cd {} && HERCULES_RC={} hercules -f {}",
            for_shell(&directory.to_string_lossy()),
            hercules::SCRIPT,
            hercules::CONFIGURATION
        )
    }
}

/// A word as a shell takes it.
fn for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/.,:=_-".contains(c);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Bytes and the absolute address where they are loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The address.
    pub address: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Part {
    /// The first address behind it.
    pub fn end(&self) -> u64 {
        self.address + self.bytes.len() as u64
    }
}

/// What a form carries besides the image, and the machine that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The name of the guest.
    pub guest: String,
    /// The storage of the machine.
    pub storage: u64,
    /// Its CPUs.
    pub cpus: u32,
    /// The loader block and what is staged; nothing for an image without a guest.
    pub parts: Vec<Part>,
}

impl Carried {
    /// An image without a guest, for a machine with so much storage.
    pub fn nothing(storage: u64) -> Self {
        Self {
            guest: "no guest".to_owned(),
            storage,
            cpus: 1,
            parts: Vec::new(),
        }
    }

    /// Says that the guest is too large for a form: it needs this of what the form has.
    fn too_large(&self, form: Form, needs: &str, remedy: &str) -> anyhow::Error {
        anyhow::anyhow!(
            "the guest {} does not fit into the form {}: {needs}; {remedy}",
            self.guest,
            form.name()
        )
    }
}

/// A file of a form.
#[derive(Debug)]
struct File {
    name: &'static str,
    bytes: Vec<u8>,
}

/// Writes a form into a directory, and returns the file to give to a machine.
pub fn write(form: Form, image: &Path, carried: &Carried, directory: &Path) -> Result<PathBuf> {
    let elf =
        fs::read(image).with_context(|| format!("cannot read the image {}", image.display()))?;
    let (main, more) = match form {
        Form::Elf => (elf::file(&elf, carried)?, Vec::new()),
        Form::Bios => (bios::file(&elf, carried)?, Vec::new()),
        Form::Scsi => (scsi::file(&elf, carried)?, Vec::new()),
        Form::Ins => ins::files(&elf, carried)?,
        Form::Card => card::files(&elf, carried)?,
        Form::Dasd => dasd::files(&elf, carried)?,
    };
    fs::create_dir_all(directory).with_context(|| {
        format!(
            "cannot create {}; choose another directory with --out",
            directory.display()
        )
    })?;
    for file in more.iter().chain([&main]) {
        let path = directory.join(file.name);
        whole_file::put(&path, &file.bytes).with_context(|| {
            format!(
                "cannot write {}; choose another directory with --out",
                path.display()
            )
        })?;
    }
    Ok(directory.join(main.name))
}

/// A form of several files: the one to give to a machine, and the others.
type Files = (File, Vec<File>);

#[cfg(test)]
mod test_image;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_the_command_as_it_is_printed() {
        let carried = Carried::nothing(64 << 20);
        let kernel = Form::Elf.start(Path::new("it's here/m.elf"), &carried);
        assert!(
            kernel.ends_with(r"-kernel 'it'\''s here/m.elf'"),
            "{kernel}"
        );
        let deck = Form::Card.start(Path::new("a b/m.deck"), &carried);
        assert!(deck.starts_with("cd 'a b' && HERCULES_RC="), "{deck}");
        let here = Form::Card.start(Path::new("m.deck"), &carried);
        assert!(here.starts_with("cd . && "), "{here}");
    }
}
