//! A file that is read: one that a person named, or one in a folder that somebody else may have made.
//!
//! A FIFO may have no writer, and a device no end. A command that opened the one would wait where Ctrl-C is only a
//! request, and one that read the other would fill the storage of the host. So what the file is decides before it is
//! opened. A pipe, as the shell's `<(…)` and `/dev/stdin` can be, is read beside the command, which looks at the request
//! meanwhile.

use std::{
    fs::{self, File, FileType, Metadata},
    io::{self, ErrorKind, IsTerminal, Read as _},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use rustix::{
    fs::{Mode, OFlags, major, minor, statfs},
    io::Errno,
};

use super::interrupt;

/// The file system of pipes that have no name.
const PIPEFS: u32 = 0x5049_5045;

/// The device that has nothing.
const NULL: (u32, u32) = (1, 3);

/// How often a waiting command looks for a request to end.
const LOOK: Duration = Duration::from_millis(50);

/// Opens a regular file, and nothing else.
pub fn open(path: &Path) -> io::Result<File> {
    let file = open_at_once(path)?;
    let kind = file.metadata()?.file_type();
    match kind.is_file() {
        true => Ok(file),
        false => Err(refused(kind)),
    }
}

fn open_at_once(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => Ok(file.into()),
        // A socket cannot be opened.
        Err(Errno::NXIO) => Err(refused(fs::metadata(path)?.file_type())),
        Err(error) => Err(error.into()),
    }
}

/// Reads a regular file, and nothing else: one that is read more than once, or somebody else's.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file once: a regular one, a pipe of the shell, or what is typed.
pub fn read_once(path: &Path) -> io::Result<Vec<u8>> {
    read_if(path, |about| is_shells(path, about))
}

/// As [`read_once`], but waits for the writer of a FIFO, too.
pub fn read_awaited(path: &Path) -> io::Result<Vec<u8>> {
    read_if(path, |about| {
        about.file_type().is_fifo() || is_shells(path, about)
    })
}

/// As [`read_awaited`], for text.
pub fn read_text(path: &Path) -> io::Result<String> {
    text(read_awaited(path)?)
}

/// The text in the bytes of a file.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

fn read_if(path: &Path, ends: impl Fn(&Metadata) -> bool) -> io::Result<Vec<u8>> {
    let about = fs::metadata(path)?;
    if about.is_file() {
        return read(path);
    }
    if !ends(&about) {
        return Err(refused(about.file_type()));
    }
    let (to, from) = mpsc::channel();
    let path = path.to_owned();
    // If the command ends before, the process ends with this thread in it.
    thread::spawn(move || to.send(fs::read(path)));
    loop {
        match from.recv_timeout(LOOK) {
            Ok(read) => return read,
            Err(RecvTimeoutError::Timeout) if !interrupt::requested() => {}
            Err(_) => return Err(io::Error::other("interrupted")),
        }
    }
}

/// Whether it is a pipe without a name, a terminal, or nothing.
fn is_shells(path: &Path, about: &Metadata) -> bool {
    let kind = about.file_type();
    if kind.is_fifo() {
        return statfs(path).is_ok_and(|system| system.f_type as u32 == PIPEFS);
    }
    let device = about.rdev();
    kind.is_char_device()
        && ((major(device), minor(device)) == NULL
            || open_at_once(path).is_ok_and(|file| file.is_terminal()))
}

fn refused(kind: FileType) -> io::Error {
    let what = if kind.is_dir() {
        return io::Error::new(
            ErrorKind::IsADirectory,
            "it is a directory, not a regular file; name a file",
        );
    } else if kind.is_fifo() {
        "a pipe (FIFO)"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    let why = format!("it is {what}, not a regular file; copy what it has into one, and name that");
    io::Error::new(ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use std::{os::fd::AsRawFd, os::unix::net::UnixListener, path::PathBuf};

    use rustix::fs::{CWD, FileType as Made, mknodat};

    use super::*;

    fn fifo(directory: &Path) -> PathBuf {
        let path = directory.join("ff");
        mknodat(CWD, &path, Made::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        path
    }

    #[test]
    fn what_may_have_no_end_is_named_and_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("s");
        let _listener = UnixListener::bind(&socket).unwrap();
        for (path, what) in [
            (fifo(directory.path()), "pipe (FIFO)"),
            (socket, "socket"),
            (PathBuf::from("/dev/zero"), "device"),
            (directory.path().to_owned(), "directory"),
        ] {
            for refused in [read(&path), read_once(&path)] {
                let why = refused.unwrap_err().to_string();
                assert!(
                    why.contains(&format!("it is a {what}, not a regular file; ")),
                    "{why}"
                );
            }
        }
        for endless in ["/dev/zero", "/dev/urandom"] {
            read_awaited(Path::new(endless)).unwrap_err();
        }
    }

    #[test]
    fn a_pipe_of_the_shell_and_the_device_that_has_nothing_are_read_once() {
        let (from, mut to) = io::pipe().unwrap();
        let name = PathBuf::from(format!("/proc/self/fd/{}", from.as_raw_fd()));
        let writer = thread::spawn(move || io::Write::write_all(&mut to, &[7; 100_000]));
        assert_eq!(read_once(&name).unwrap(), [7; 100_000]);
        writer.join().unwrap().unwrap();
        // Who reads a file twice would find nothing the second time.
        read(&name).unwrap_err();
        assert!(read_once(Path::new("/dev/null")).unwrap().is_empty());
    }

    #[test]
    fn the_writer_of_a_fifo_is_awaited_where_text_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = fifo(directory.path());
        let other = path.clone();
        let writer = thread::spawn(move || fs::write(other, "text"));
        assert_eq!(read_text(&path).unwrap(), "text");
        writer.join().unwrap().unwrap();
    }
}
