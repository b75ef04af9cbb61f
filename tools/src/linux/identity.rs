//! What a started system is made of: two runs with the same identity start in the same way, bit for bit.
//!
//! What a run only does on the host is not in it: where its files go, how much of them is kept, how long a person waits.

use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::Path,
};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::{
    building::stamp,
    computer::input_file,
    linux::{
        Prepared,
        initramfs::{self, Base, Work},
    },
    machine::{
        guest::Guest,
        qemu::Qemu,
        run::{self, Deciding},
    },
    numbers::hexadecimal,
    options::RunOptions,
};

/// Bytes of the digest that name an identity.
const NAME: usize = 16;

/// Everything that decides how a system starts.
pub struct Identity<'a> {
    /// The image.
    image: &'a Path,
    /// The kernel, and its parameters.
    kernel: &'a Path,
    command_line: &'a str,
    /// The programs below the work, and the work without what only one command needs.
    base: &'a Base,
    work: Work,
    /// The length of the place for a command.
    order_length: usize,
    /// The program QEMU.
    qemu: &'a Qemu,
    /// What the machine and QEMU are told.
    deciding: Deciding,
}

impl<'a> Identity<'a> {
    /// The identity of the system that starts with these options for all commands of one length.
    pub fn new(
        image: &'a Path,
        prepared: &'a Prepared,
        guest: &Guest,
        work: &Work,
        order_length: usize,
        (qemu, options): (&'a Qemu, &RunOptions),
    ) -> Result<Self> {
        Ok(Self {
            image,
            kernel: &prepared.kernel,
            command_line: &prepared.command_line,
            base: &prepared.base,
            work: work.of_all_commands(),
            order_length,
            qemu,
            deciding: run::deciding(qemu, guest, options)?,
        })
    }

    /// Its name: a digest of all of it. Image and kernel count by their bytes. QEMU, and programs that the tool itself has
    /// put into its cache, count by length and date.
    pub fn name(&self) -> Result<String> {
        let mut digest = Sha256::new();
        let mut add = |part: &[u8]| {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        };
        add(env!("CARGO_PKG_VERSION").as_bytes());
        for file in [self.image, self.kernel] {
            add(&input_file::read(file).with_context(|| cannot_read(file))?);
        }
        add(self.command_line.as_bytes());
        match self.base {
            Base::Programs(tree) => add(&stamp::of_tree(tree).with_context(|| cannot_read(tree))?),
            Base::Own(archive) => add(archive),
        }
        // The smallest place for a command stands for all.
        add(&initramfs::with_work(Vec::new(), &self.work, Some(Vec::new()))?.bytes);
        add(&self.order_length.to_be_bytes());
        let program = &self.qemu.path;
        let data = fs::metadata(program).with_context(|| cannot_read(program))?;
        add(format!("{} {:?}", self.qemu, state(&data)).as_bytes());
        add(zerocopy::IntoBytes::as_bytes(&self.deciding.block));
        for argument in &self.deciding.arguments {
            add(argument.as_bytes());
        }
        Ok(hexadecimal(&digest.finalize()[..NAME]))
    }
}

/// What changes with a file.
fn state(data: &Metadata) -> (u64, i64, i64) {
    (data.size(), data.mtime(), data.mtime_nsec())
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        numbers::quantities::{Kept, Sampling},
        options::EventForm,
        symbols::{SymbolTable, places::PlaceNames},
    };
    use std::time::Duration;

    fn guest() -> Guest {
        Guest {
            nonce: None,
            open_piece: None,
            archives: Vec::new(),
            name: "linux".to_owned(),
            file: "/k".into(),
            psw_mask: 0x1_8000_0000,
            psw_address: 0x1_0000,
            pieces: Vec::new(),
            symbols: SymbolTable::default(),
            names: PlaceNames::default(),
            is_linux: true,
            cpus: 1,
        }
    }

    /// Image, kernel and QEMU in this directory, and a tree of programs.
    struct Computer(tempfile::TempDir);

    impl Computer {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            for name in ["image", "kernel", "qemu", "programs"] {
                match name {
                    "programs" => fs::create_dir(directory.path().join(name)).unwrap(),
                    _ => fs::write(directory.path().join(name), name).unwrap(),
                }
            }
            Self(directory)
        }

        fn name(&self, command_line: &str, work: &Work, options: &RunOptions) -> String {
            let path = |name: &str| self.0.path().join(name);
            let prepared = Prepared {
                kernel: path("kernel"),
                base: Base::Programs(path("programs")),
                command_line: command_line.to_owned(),
                work: None,
                nonce: None,
            };
            let qemu = Qemu {
                path: path("qemu"),
                version: (7, 2, 0),
                has_sandbox: true,
            };
            let image = path("image");
            let length = Work::order_length(&work.order().unwrap()).unwrap();
            let identity =
                Identity::new(&image, &prepared, &guest(), work, length, (&qemu, options));
            identity.unwrap().name().unwrap()
        }

        fn usual(&self) -> String {
            self.name("console=x", &work("ls"), &options())
        }
    }

    fn work(command: &str) -> Work {
        Work {
            is_order: true,
            ..Work::new(&[command.to_owned()], None, false)
        }
    }

    fn options() -> RunOptions {
        RunOptions {
            rtc: "2026-01-01T00:00:00".parse().unwrap(),
            sampling: Sampling::Off,
            ..RunOptions::new("linux")
        }
    }

    #[test]
    fn a_system_is_the_same_for_every_command_and_whatever_the_host_keeps_of_the_run() {
        let computer = Computer::new();
        let usual = computer.usual();
        let other = Work {
            nonce: "12".to_owned(),
            script: Some(b"echo".to_vec()),
            ..work("echo other")
        };
        let host = RunOptions {
            out: Some("/elsewhere".into()),
            console_limit: Kept(1),
            data_limit: Kept(2),
            silence: Duration::from_secs(1),
            limit: Some(Duration::from_secs(2)),
            ..options()
        };
        assert_eq!(computer.name("console=x", &other, &host), usual);
    }

    #[test]
    fn what_machine_kernel_and_first_process_are_told_makes_another_system() {
        let computer = Computer::new();
        let mut names = vec![
            computer.usual(),
            computer.name("x", &work("ls"), &options()),
        ];
        let works = [
            Work {
                profile: true,
                ..work("ls")
            },
            Work {
                verbose: true,
                ..work("ls")
            },
            work(&"x".repeat(100_000)),
        ];
        for work in works {
            names.push(computer.name("console=x", &work, &options()));
        }
        type Change = fn(&mut RunOptions);
        let changes: [Change; 10] = [
            |options| options.cpus = Some(2),
            |options| options.storage.0 *= 2,
            |options| options.sampling = Sampling::Every(1_000_000),
            |options| options.rtc = "2026-01-01T00:00:01".parse().unwrap(),
            |options| options.cpu_model = "z14".to_owned(),
            |options| options.slice = 7,
            |options| options.cryptography = true,
            |options| options.count_traps = true,
            |options| options.operator.push("DISPLAY CPU".to_owned()),
            |options| options.events.form = EventForm::S370,
        ];
        for change in changes {
            let mut options = options();
            change(&mut options);
            names.push(computer.name("console=x", &work("ls"), &options));
        }
        let number = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), number);
    }

    #[test]
    fn another_image_kernel_qemu_or_program_makes_another_system() {
        let computer = Computer::new();
        let mut names = vec![computer.usual()];
        for name in ["image", "kernel", "qemu", "programs/perf"] {
            fs::write(computer.0.path().join(name), "of another length").unwrap();
            names.push(computer.usual());
            assert!(
                !names[..names.len() - 1].contains(&names[names.len() - 1]),
                "{name}"
            );
        }
    }
}
