//! A file that never ends in the middle of a piece, even when writing fails.

use std::{
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{self, AtFlags, FileType, Mode, OFlags},
    io::Errno,
};

/// A directory that files are created in. It stays the same one when its name comes to mean another.
#[derive(Debug)]
pub struct Directory {
    opened: OwnedFd,
    path: PathBuf,
}

/// What a directory is, whatever its name: the numbers of its device and of its inode.
pub type Identity = (u64, u64);

impl Directory {
    /// The directory that has this name now.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            opened: fs::open(path, flags, Mode::empty())?,
            path: path.to_owned(),
        })
    }

    /// The path by which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Tells it from every other directory.
    pub fn identity(&self) -> io::Result<Identity> {
        let status = fs::fstat(&self.opened)?;
        Ok((status.st_dev, status.st_ino))
    }

    /// An empty file of this name.
    ///
    /// A regular file that was there before loses this name, so another name of it keeps what was in it. Anything else
    /// (a symbolic link, a FIFO, a device) is an error: nobody's file is written through a link, and no FIFO without
    /// a reader holds the host.
    pub fn create(&self, name: &str) -> io::Result<AppendedFile> {
        #[cfg(test)]
        if tests::is_full(name) {
            let file = File::options().write(true).open("/dev/full")?;
            return Ok(AppendedFile { file, end: 0 });
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let create = || fs::openat(&self.opened, name, flags, Mode::from_raw_mode(0o666));
        let opened = match create() {
            Err(Errno::EXIST) => {
                self.give_up(name)?;
                create()?
            }
            done => done?,
        };
        Ok(AppendedFile {
            file: opened.into(),
            end: 0,
        })
    }

    /// Removes a regular file of this name.
    fn give_up(&self, name: &str) -> io::Result<()> {
        let status = fs::statat(&self.opened, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let what = match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => {
                return Ok(fs::unlinkat(&self.opened, name, AtFlags::empty())?);
            }
            FileType::Symlink => "a symbolic link",
            FileType::Directory => "a directory",
            FileType::Fifo => "a FIFO",
            FileType::Socket => "a socket",
            _ => "a device",
        };
        let why = format!("{what} has this name; only a regular file is replaced");
        Err(io::Error::new(io::ErrorKind::AlreadyExists, why))
    }
}

/// A file to which blocks, records or lines are appended.
///
/// A disk that becomes full takes only the first part of a piece. That part is removed again, so a reader finds
/// whole pieces only.
#[derive(Debug)]
pub struct AppendedFile {
    file: File,
    /// Length of the whole pieces.
    end: u64,
}

impl AppendedFile {
    /// Appends a piece, all of it or nothing.
    pub fn append(&mut self, piece: &[u8]) -> io::Result<()> {
        let done = self.file.write_all(piece);
        if done.is_ok() {
            self.end += piece.len() as u64;
        } else {
            // A device cannot be shortened and keeps what it took. The first error is the one that matters.
            let _ = self.file.set_len(self.end);
            let _ = self.file.seek(SeekFrom::Start(self.end));
        }
        done
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::RefCell;

    use super::*;

    thread_local! {
        static FULL: RefCell<Option<String>> = const { RefCell::new(None) };
    }

    /// From now on a file of this name is on a full disk, in this thread.
    pub(crate) fn fill(name: &str) {
        FULL.set(Some(name.to_owned()));
    }

    pub(super) fn is_full(name: &str) -> bool {
        FULL.with_borrow(|full| full.as_deref() == Some(name))
    }

    #[test]
    fn only_a_regular_file_is_replaced_and_what_is_there_is_named() {
        let outer = tempfile::tempdir().unwrap();
        let directory = Directory::open(outer.path()).unwrap();
        let path = |name: &str| outer.path().join(name);
        std::fs::create_dir(path("d")).unwrap();
        std::os::unix::fs::symlink("d", path("l")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("s")).unwrap();
        for (name, what) in [("d", "directory"), ("l", "symbolic link"), ("s", "socket")] {
            let error = directory.create(name).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        std::fs::write(path("f"), "before").unwrap();
        directory.create("f").unwrap().append(b"new").unwrap();
        assert_eq!(std::fs::read(path("f")).unwrap(), b"new");
        Directory::open(&path("f")).expect_err("it is no directory");
    }
}
