//! A command that carries image, guests and programs with it.
//!
//! They are behind the program's own bytes, which no loader looks at: an archive of cpio, packed with gzip, and a trailer
//! that says where the archive begins. So one file needs neither these sources nor a compiler, and any build of the command
//! becomes such a file.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use cpio::{NewcBuilder, NewcReader};
use flate2::{Compression, GzBuilder, read::GzDecoder};
use sha2::{Digest, Sha256};

use crate::{computer::whole_file::WholeFile, numbers::hexadecimal};

/// The last bytes of such a command.
const MARK: &[u8; 16] = b"MillimeterBundle";

/// Bytes of the digest of the archive.
const DIGEST: usize = 32;

/// Bytes of the trailer: the length of the archive, its digest and the mark.
const TRAILER: usize = 8 + DIGEST + MARK.len();

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// The archive of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    command: PathBuf,
    start: u64,
    length: u64,
    digest: [u8; DIGEST],
}

impl Bundle {
    /// The archive that this command carries; `None` if it carries none.
    pub fn of(command: &Path) -> Option<Self> {
        let mut file = File::open(command).ok()?;
        let end = file.seek(SeekFrom::End(0)).ok()?;
        let trailer_at = end.checked_sub(TRAILER as u64)?;
        file.seek(SeekFrom::Start(trailer_at)).ok()?;
        let mut trailer = [0; TRAILER];
        file.read_exact(&mut trailer).ok()?;
        let (length, rest) = trailer.split_first_chunk::<8>()?;
        let (digest, mark) = rest.split_first_chunk::<DIGEST>()?;
        if mark != MARK {
            return None;
        }
        let length = u64::from_be_bytes(*length);
        Some(Self {
            command: command.to_owned(),
            start: trailer_at.checked_sub(length)?,
            length,
            digest: *digest,
        })
    }

    /// A name for what it holds.
    pub fn name(&self) -> String {
        hexadecimal(&self.digest[..16])
    }

    /// One of its files; `None` if it does not have it.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let mut found = None;
        self.visit(|carried| {
            let is_it = carried.name == name;
            if is_it {
                found = Some(carried.bytes);
            }
            Ok(!is_it)
        })?;
        Ok(found)
    }

    /// Writes all its files into this directory.
    pub fn unpack(&self, directory: &Path) -> Result<()> {
        self.check()?;
        self.visit(|carried| {
            let name = Path::new(&carried.name).file_name();
            let file = directory.join(name.context("a file in it has no name")?);
            fs::write(&file, &carried.bytes)
                .with_context(|| format!("cannot write {}; make room there", file.display()))?;
            Ok(true)
        })
    }

    /// The bytes of the archive.
    fn open(&self) -> Result<impl Read + use<>> {
        let mut file = File::open(&self.command)?;
        file.seek(SeekFrom::Start(self.start))?;
        Ok(file.take(self.length))
    }

    fn check(&self) -> Result<()> {
        let mut digest = Sha256::new();
        let mut bytes = Vec::new();
        self.open()?.read_to_end(&mut bytes)?;
        digest.update(&bytes);
        if digest.finalize()[..] != self.digest {
            bail!(
                "what {} carries is damaged; install the command again",
                self.command.display()
            );
        }
        Ok(())
    }

    /// Goes through the files while `wants_more` says so.
    fn visit(&self, mut wants_more: impl FnMut(Carried) -> Result<bool>) -> Result<()> {
        let cannot_read = || format!("cannot read what {} carries", self.command.display());
        let mut archive = GzDecoder::new(self.open().with_context(cannot_read)?);
        loop {
            let mut reader = NewcReader::new(archive).with_context(cannot_read)?;
            if reader.entry().is_trailer() {
                return Ok(());
            }
            let name = reader.entry().name().to_owned();
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).with_context(cannot_read)?;
            if !wants_more(Carried { name, bytes })? {
                return Ok(());
            }
            archive = reader.finish().with_context(cannot_read)?;
        }
    }
}

/// Writes a copy of the command that carries these files. The same command and files give the same bytes.
pub fn append(command: &Path, files: &[Carried], to: &Path) -> Result<()> {
    let mut program =
        fs::read(command).with_context(|| format!("cannot read {}", command.display()))?;
    if let Some(earlier) = Bundle::of(command) {
        program.truncate(earlier.start as usize);
    }
    let archive = pack(files).context("cannot pack the image and the guests")?;
    let write = || {
        let mut file = WholeFile::create(to)?;
        file.write_all(&program)?;
        file.write_all(&archive)?;
        file.write_all(&(archive.len() as u64).to_be_bytes())?;
        file.write_all(&Sha256::digest(&archive))?;
        file.write_all(MARK)?;
        file.set_permissions(fs::metadata(command)?.permissions())?;
        file.finish()
    };
    write().with_context(|| {
        format!(
            "cannot write {}; make room there, or choose another directory",
            to.display()
        )
    })
}

fn pack(files: &[Carried]) -> std::io::Result<Vec<u8>> {
    // No date and no name in the header: it depends on the files alone.
    let mut archive = GzBuilder::new().write(Vec::new(), Compression::best());
    for (number, Carried { name, bytes }) in files.iter().enumerate() {
        let entry = NewcBuilder::new(name).ino(number as u32).mode(0o100_755);
        let mut writer = entry.write(archive, bytes.len() as u32);
        writer.write_all(bytes)?;
        archive = writer.finish()?;
    }
    cpio::newc::trailer(archive)?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: &[u8]) -> Carried {
        Carried {
            name: name.to_owned(),
            bytes: bytes.to_owned(),
        }
    }

    /// A command, and a copy that carries two files.
    fn carrying(directory: &Path) -> (PathBuf, PathBuf) {
        let (plain, full) = (directory.join("plain"), directory.join("full"));
        fs::write(&plain, "the program").unwrap();
        append(&plain, &[file("a", b"IPL"), file("b", &[7; 10_000])], &full).unwrap();
        (plain, full)
    }

    #[test]
    fn a_command_finds_and_unpacks_what_it_carries() {
        let directory = tempfile::tempdir().unwrap();
        let (plain, full) = carrying(directory.path());
        assert_eq!(Bundle::of(&plain), None);
        let bundle = Bundle::of(&full).unwrap();
        assert!(fs::read(&full).unwrap().starts_with(b"the program"));
        assert_eq!(bundle.read("a").unwrap().unwrap(), b"IPL");
        assert_eq!(bundle.read("c").unwrap(), None);
        let unpacked = directory.path().join("unpacked");
        fs::create_dir(&unpacked).unwrap();
        bundle.unpack(&unpacked).unwrap();
        assert_eq!(fs::read(unpacked.join("b")).unwrap(), [7; 10_000]);
    }

    #[test]
    fn what_a_command_carried_before_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (plain, full) = carrying(directory.path());
        let (again, other) = (
            directory.path().join("again"),
            directory.path().join("other"),
        );
        append(&full, &[file("c", b"other")], &again).unwrap();
        append(&plain, &[file("c", b"other")], &other).unwrap();
        assert_eq!(fs::read(&again).unwrap(), fs::read(&other).unwrap());
        assert_ne!(
            Bundle::of(&again).unwrap().name(),
            Bundle::of(&full).unwrap().name()
        );
    }

    #[test]
    fn a_damaged_archive_is_refused_before_anything_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let (_, full) = carrying(directory.path());
        let mut bytes = fs::read(&full).unwrap();
        bytes[b"the program".len() + 30] ^= 1;
        fs::write(&full, bytes).unwrap();
        let unpacked = directory.path().join("unpacked");
        fs::create_dir(&unpacked).unwrap();
        let error = Bundle::of(&full).unwrap().unpack(&unpacked).unwrap_err();
        assert!(error.to_string().contains("is damaged"), "{error:#}");
        assert_eq!(fs::read_dir(&unpacked).unwrap().count(), 0);
        // A trailer that names more than the file has.
        fs::write(&full, [&[0xFF; 40][..], MARK].concat()).unwrap();
        assert_eq!(Bundle::of(&full), None);
    }
}
