//! A kernel as a guest: what a loader puts into storage before Linux starts.
//!
//! The image is loaded at 0 and started behind its own loader for IPL devices. Its parameter area tells it where the
//! initrd lies, and holds the command line.

use std::{ops::Range, path::Path};

use anyhow::{Context, Result, bail};

use crate::{
    computer::input_file,
    linux::initramfs::Initrd,
    machine::{
        guest::{ELF_PSW_MASK, Guest, Piece},
        parameter_area::{self, ENTRY},
    },
    numbers::quantities::{LOAD_LIMIT, Storage},
    symbols::{SymbolTable, places::PlaceNames},
};

/// What stands at [`MAGIC_AT`] in a kernel for s390x.
const MAGIC: &[u8] = b"S390EP";
const MAGIC_AT: usize = 0x1_0008;

/// In the parameter area: address and length of the initrd.
const INITRD_ADDRESS: usize = 0x1_0408;
const INITRD_LENGTH: usize = 0x1_0410;

/// The initrd lies here, above the storage that the kernel takes while it unpacks itself.
const INITRD_AT: u64 = 64 << 20;

/// What Linux and the machine below it need beside the initrd.
const LEAST_REST: u64 = 64 << 20;

/// What is booted.
#[derive(Clone, Copy, Debug)]
pub struct Boot<'a> {
    /// The kernel's file.
    pub kernel: &'a Path,
    /// Its first file system.
    pub initrd: &'a Initrd,
    /// Its command line.
    pub command_line: &'a str,
    /// Storage of the machine.
    pub storage: Storage,
}

impl Boot<'_> {
    /// The guest.
    pub fn guest(&self) -> Result<Guest> {
        let file = self.kernel.display();
        let image = input_file::read(self.kernel)
            .with_context(|| format!("cannot read the kernel {file}"))?;
        let piece = |destination: u64, bytes: Vec<u8>| Piece {
            destination,
            length: bytes.len() as u64,
            bytes,
        };
        let patched = self.patch(image).and_then(|image| {
            let mut kernel = [piece(0, image)];
            parameter_area::put_command_line(&mut kernel, self.command_line)?;
            Ok(kernel)
        });
        let [kernel] = patched.with_context(|| format!("{file} cannot be booted"))?;
        let length = self.initrd.bytes.len() as u64;
        // It is staged, kept for a reboot, and copied to its place.
        let needed = INITRD_AT + 3 * length + LEAST_REST;
        let storage = self.storage.0.min(LOAD_LIMIT);
        if needed > storage {
            bail!(
                "the initrd of {} MiB is too large for {} of storage: {} MiB are needed; choose more with --storage (a guest is loaded below 2G)",
                length.div_ceil(1 << 20),
                self.storage,
                needed.div_ceil(1 << 20)
            );
        }
        let bytes = &self.initrd.bytes;
        let mut pieces = vec![kernel];
        let mut open_piece = None;
        let mut add = |part: Range<usize>| {
            if !part.is_empty() {
                pieces.push(piece(INITRD_AT + part.start as u64, bytes[part].to_vec()));
            }
            pieces.len() - 1
        };
        match self.initrd.order.clone() {
            Some(order) => {
                add(0..order.start);
                open_piece = Some(add(order.clone()));
                add(order.end..bytes.len());
            }
            None => drop(add(0..bytes.len())),
        }
        Ok(Guest {
            nonce: None,
            open_piece,
            archives: Vec::new(),
            name: "linux".to_owned(),
            file: self.kernel.to_owned(),
            psw_mask: ELF_PSW_MASK,
            psw_address: ENTRY,
            pieces,
            symbols: SymbolTable::default(),
            names: PlaceNames::default(),
            is_linux: true,
            cpus: 1,
        })
    }

    /// The image, which knows where its initrd is.
    fn patch(&self, mut image: Vec<u8>) -> Result<Vec<u8>> {
        if image.get(MAGIC_AT..MAGIC_AT + MAGIC.len()) != Some(MAGIC) {
            let remedy =
                "give the file that a kernel for s390x installs as /boot/vmlinuz (bzImage)";
            if image.starts_with(b"\x7FELF") {
                bail!("it is an ELF file, not a kernel's image for IPL; {remedy}");
            }
            bail!("it is not a kernel for s390x; {remedy}");
        }
        if image.len() as u64 > INITRD_AT {
            bail!(
                "it has {} bytes and would reach into its initrd at 64 MiB; give a smaller kernel",
                image.len()
            );
        }
        let mut put = |at: usize, bytes: &[u8]| {
            let place = image.get_mut(at..at + bytes.len());
            place
                .context("it is too short for its own parameters")?
                .copy_from_slice(bytes);
            anyhow::Ok(())
        };
        put(INITRD_ADDRESS, &INITRD_AT.to_be_bytes())?;
        put(
            INITRD_LENGTH,
            &(self.initrd.bytes.len() as u64).to_be_bytes(),
        )?;
        Ok(image)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const COMMAND_LINE_LIMIT: usize = 0x1_0430;
    const COMMAND_LINE: usize = 0x1_0480;

    fn number(image: &[u8], at: usize) -> u64 {
        u64::from_be_bytes(image[at..at + 8].try_into().unwrap())
    }

    fn image() -> Vec<u8> {
        let mut image = vec![0xEE; 0x2_0000];
        image[MAGIC_AT..MAGIC_AT + 6].copy_from_slice(MAGIC);
        image[COMMAND_LINE_LIMIT..][..8].copy_from_slice(&64u64.to_be_bytes());
        image
    }

    fn boot(image: &[u8], command_line: &str, storage: u64) -> Result<Guest> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), image).unwrap();
        let boot = Boot {
            kernel: file.path(),
            initrd: &Initrd::whole(vec![7; 3 << 20]),
            command_line,
            storage: Storage(storage),
        };
        boot.guest()
    }

    fn refusal(image: &[u8], command_line: &str, storage: u64) -> String {
        format!("{:#}", boot(image, command_line, storage).unwrap_err())
    }

    #[test]
    fn a_kernel_finds_its_initrd_and_its_command_line() {
        let guest = boot(&image(), "console=x", 512 << 20).unwrap();
        assert_eq!(
            (guest.psw_mask, guest.psw_address),
            (0x1_8000_0000, 0x1_0000)
        );
        let kernel = &guest.pieces[0].bytes;
        assert_eq!(number(kernel, INITRD_ADDRESS), 64 << 20);
        assert_eq!(number(kernel, INITRD_LENGTH), 3 << 20);
        assert_eq!(kernel[COMMAND_LINE..][..11], *b"console=x\0\xEE");
        assert_eq!(guest.pieces[1].destination, 64 << 20);
    }

    #[test]
    fn a_file_that_is_not_a_kernel_is_refused_with_the_file_to_give() {
        assert!(refusal(b"hello", "", 512 << 20).contains("not a kernel for s390x; give"));
        assert!(refusal(b"\x7FELF", "", 512 << 20).contains("an ELF file"));
        let mut short = image();
        short.truncate(COMMAND_LINE + 2);
        assert!(refusal(&short, "console", 512 << 20).contains("too short"));
    }

    #[test]
    fn a_command_line_that_is_too_long_is_refused_with_the_limit() {
        assert!(boot(&image(), &"x".repeat(63), 512 << 20).is_ok());
        assert!(refusal(&image(), &"x".repeat(64), 512 << 20).contains("room for 63 bytes"));
    }

    #[test]
    fn an_initrd_that_does_not_fit_is_refused_with_what_it_needs() {
        let refusal = refusal(&image(), "", 128 << 20);
        assert!(
            refusal.contains("3 MiB is too large for 128M") && refusal.contains("137 MiB"),
            "{refusal}"
        );
    }
}
