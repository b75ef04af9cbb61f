//! A file that a person named: the whole new one, or the earlier one as it was.
//!
//! The bytes go into a hidden file beside it, which takes its place when the disk has all of them. A command that is
//! killed before, or that finds no room, leaves the earlier file, or none. An error removes the hidden file; only a
//! command that is killed leaves it (`.measure-` and six characters).
//!
//! A link stays, and the file that it names is replaced. An existing file keeps its mode, its owner and its group, but it
//! is a new file: other hard links keep the earlier bytes, and extended attributes are lost.
//!
//! What nothing can take the place of is written as it is: a pipe, a device, `/dev/stdout` and the like, what a dangling
//! link names, and a file in a directory where this process can create none.

use std::{
    fs::{self, File, Metadata, Permissions},
    io::{self, ErrorKind, Seek, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use rustix::fs::{PROC_SUPER_MAGIC, statfs};
use tempfile::{Builder, NamedTempFile, PersistError};

use super::standard_output;

/// How the name of the hidden file begins.
const HIDDEN: &str = ".measure-";

/// What everybody may do with a new file, but for the creator's mask.
const MODE: u32 = 0o666;

/// The kernel follows no more links.
const MOST_LINKS: usize = 40;

/// A file that is being written.
pub struct WholeFile(Written);

enum Written {
    /// Beside the file whose place it takes, with the mode of an earlier one.
    Beside(NamedTempFile, PathBuf, Option<Permissions>),
    /// As it is.
    Direct(File),
}

/// Writes a file that an option named; `-` is standard output.
pub fn write(file: &Path, bytes: impl AsRef<[u8]>, option: &str) -> Result<()> {
    if standard_output::is_named(file) {
        return standard_output::put(bytes.as_ref()).context("cannot write to standard output");
    }
    put(file, bytes).with_context(|| {
        format!(
            "cannot write {}; make room there, or choose another file with {option}",
            file.display()
        )
    })
}

/// Refuses a file that [`write()`] could not write, before the work that it is for. Nothing is changed.
pub fn check(file: &Path, option: &str) -> Result<()> {
    can_be_written(file).with_context(|| {
        format!(
            "cannot write {}; choose another file with {option}",
            file.display()
        )
    })
}

fn can_be_written(name: &Path) -> io::Result<()> {
    if standard_output::is_named(name) {
        return Ok(());
    }
    let Some((file, earlier)) = replaceable(name) else {
        // Opening what is written as it is could wait for a reader, or make a file.
        return match fs::metadata(name) {
            Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    };
    // The hidden file is removed at once.
    if beside(file.clone(), earlier.as_ref())?.is_some() || earlier.is_some() {
        return Ok(());
    }
    drop(File::create_new(&file)?);
    fs::remove_file(&file)
}

/// Creates a directory that is not there, and refuses one into which no file can be written, before the work that it is for.
pub fn check_directory(directory: &Path, option: &str) -> Result<()> {
    let made = fs::create_dir_all(directory);
    // The file has no name, and is gone when it is closed.
    let written = made.and_then(|()| tempfile::tempfile_in(directory));
    written.map(drop).with_context(|| {
        format!(
            "cannot write into {}; choose another directory with {option}",
            directory.display()
        )
    })
}

/// Writes a file.
pub fn put(file: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut whole = WholeFile::create(file)?;
    whole.write_all(bytes.as_ref())?;
    whole.finish()
}

impl WholeFile {
    /// Begins the file with this name. Unless it is finished, the earlier one stays.
    pub fn create(name: &Path) -> io::Result<Self> {
        let written = match replaceable(name) {
            Some((file, earlier)) => beside(file, earlier.as_ref())?,
            None => None,
        };
        Ok(Self(match written {
            Some(written) => written,
            None => Written::Direct(File::create(name)?),
        }))
    }

    /// The file to write to.
    pub fn file(&mut self) -> &mut File {
        match &mut self.0 {
            Written::Beside(new, ..) => new.as_file_mut(),
            Written::Direct(file) => file,
        }
    }

    /// Gives the file other permissions than those of an earlier one.
    pub fn set_permissions(&mut self, permissions: Permissions) -> io::Result<()> {
        match &mut self.0 {
            Written::Beside(.., kept) => *kept = Some(permissions),
            Written::Direct(file) => file.set_permissions(permissions)?,
        }
        Ok(())
    }

    /// Puts the file in its place.
    pub fn finish(self) -> io::Result<()> {
        let Written::Beside(new, file, permissions) = self.0 else {
            return Ok(());
        };
        if let Some(permissions) = permissions {
            new.as_file().set_permissions(permissions)?;
        }
        new.as_file().sync_all()?;
        match new.persist(&file) {
            Ok(_) => Ok(()),
            // A place that is mounted, or another's file in a directory with the sticky bit, takes only new bytes.
            Err(PersistError { file: mut new, .. }) => {
                new.rewind()?;
                io::copy(&mut new, &mut File::create(&file)?)?;
                Ok(())
            }
        }
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

/// The file that a name stands for, and what is there, if another file can take its place.
fn replaceable(name: &Path) -> Option<(PathBuf, Option<Metadata>)> {
    let mut file = name.to_owned();
    for links in 0..=MOST_LINKS {
        match fs::symlink_metadata(&file) {
            Ok(found) if found.is_symlink() => {
                let directory = directory(&file);
                // In `/proc` a link stands for an open file, whose other holders would not see another one.
                if statfs(directory).is_ok_and(|about| about.f_type == PROC_SUPER_MAGIC) {
                    return None;
                }
                file = directory.join(fs::read_link(&file).ok()?);
            }
            Ok(found) => return found.is_file().then_some((file, Some(found))),
            Err(error) if error.kind() == ErrorKind::NotFound && links == 0 => {
                return Some((file, None));
            }
            Err(_) => return None,
        }
    }
    None
}

/// A hidden file beside this one; `None` if there can be none, or none with the owner and the group of the earlier one.
fn beside(file: PathBuf, earlier: Option<&Metadata>) -> io::Result<Option<Written>> {
    if earlier.is_some() {
        match File::options().write(true).open(&file) {
            // Its bytes cannot be changed while it executes, but another file can take its place.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {}
            // One that may not be written stays, though the directory would allow another one.
            opened => drop(opened?),
        }
    }
    let new = Builder::new()
        .prefix(HIDDEN)
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(directory(&file));
    let new = match new {
        Ok(new) => new,
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded
            ) =>
        {
            return Err(error);
        }
        // If the directory is the reason, the file itself may still be written; else it has the better error.
        Err(_) => return Ok(None),
    };
    if let Some(earlier) = earlier {
        let made = new.as_file().metadata()?;
        let owner = |of: &Metadata| (of.uid(), of.gid());
        let is_same = owner(&made) == owner(earlier);
        if !is_same && fchown(new.as_file(), Some(earlier.uid()), Some(earlier.gid())).is_err() {
            return Ok(None);
        }
    }
    let permissions = earlier.map(Metadata::permissions);
    Ok(Some(Written::Beside(new, file, permissions)))
}

/// The directory of a file.
fn directory(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        os::{fd::AsRawFd, unix::fs::symlink},
    };

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_that_was_not_finished_leaves_the_earlier_one() {
        let directory = tempfile::tempdir().unwrap();
        let [file, other] = ["f", "f.new"].map(|name| directory.path().join(name));
        put(&file, "earlier").unwrap();
        put(&other, "another's").unwrap();
        let mut whole = WholeFile::create(&file).unwrap();
        whole.write_all(b"ha").unwrap();
        assert_eq!(
            fs::read(&file).unwrap(),
            b"earlier",
            "if it were killed here"
        );
        drop(whole);
        assert_eq!(fs::read(&file).unwrap(), b"earlier");
        put(&file, "whole").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"whole");
        assert_eq!(fs::read(&other).unwrap(), b"another's");
        assert_eq!(names(directory.path()), ["f", "f.new"]);
    }

    #[test]
    fn a_link_stays_and_the_file_that_it_names_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name| directory.path().join(name);
        fs::create_dir(path("sub")).unwrap();
        fs::write(path("sub/f"), "earlier").unwrap();
        symlink("f", path("sub/second")).unwrap();
        symlink("sub/second", path("first")).unwrap();
        let mut earlier = File::open(path("sub/f")).unwrap();
        put(&path("first"), "new").unwrap();
        assert_eq!(
            fs::read_link(path("first")).unwrap(),
            Path::new("sub/second")
        );
        assert_eq!(fs::read(path("sub/f")).unwrap(), b"new");
        let mut text = String::new();
        earlier.read_to_string(&mut text).unwrap();
        assert_eq!(text, "earlier");
        assert_eq!(names(&path("sub")), ["f", "second"]);
    }

    #[test]
    fn a_dangling_link_makes_the_file_that_it_names() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name| directory.path().join(name);
        symlink("f", path("link")).unwrap();
        put(&path("link"), "new").unwrap();
        assert_eq!(names(directory.path()), ["f", "link"]);
        assert_eq!(fs::read(path("f")).unwrap(), b"new");
        assert_eq!(fs::read_link(path("link")).unwrap(), Path::new("f"));
    }

    #[test]
    fn links_in_a_circle_are_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f");
        symlink("f", &file).unwrap();
        assert!(put(&file, "new").is_err());
    }

    #[test]
    fn an_open_file_and_a_pipe_are_written_as_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::create(directory.path().join("f")).unwrap();
        let open = |number: i32| PathBuf::from(format!("/dev/fd/{number}"));
        put(&open(file.as_raw_fd()), "through the number").unwrap();
        let number = |of: io::Result<Metadata>| of.unwrap().ino();
        let named = fs::metadata(directory.path().join("f"));
        assert_eq!(number(named), number(file.metadata()));
        assert_eq!(
            fs::read(directory.path().join("f")).unwrap(),
            b"through the number"
        );
        let (mut reader, writer) = io::pipe().unwrap();
        put(&open(writer.as_raw_fd()), "through the pipe").unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through the pipe");
    }

    #[test]
    fn a_new_file_has_the_mode_of_any_and_an_existing_one_keeps_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name| directory.path().join(name);
        let mode = |name| fs::metadata(path(name)).unwrap().mode();
        File::create(path("any")).unwrap();
        put(&path("new"), "").unwrap();
        assert_eq!(mode("new"), mode("any"));
        let other = Permissions::from_mode(0o751);
        fs::set_permissions(path("new"), other).unwrap();
        put(&path("new"), "again").unwrap();
        assert_eq!(mode("new") & 0o7777, 0o751);
    }

    #[test]
    fn a_file_where_none_can_be_created_is_written_as_it_is() {
        // The name of this thread is a file, and the kernel takes no other one beside it.
        let name = Path::new("/proc/thread-self/comm");
        put(name, "sentence").unwrap();
        assert_eq!(fs::read(name).unwrap(), b"sentence\n");
    }

    #[test]
    fn an_error_names_the_file_and_the_option() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("none/f");
        let error = format!("{:#}", write(&file, "", "--json").unwrap_err());
        assert!(
            error.contains(
                "none/f; make room there, or choose another file with --json: No such file"
            ),
            "{error}"
        );
        assert!(!error.contains(HIDDEN), "{error}");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_refused_before_the_work_and_nothing_is_changed() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("f"), "earlier").unwrap();
        fs::create_dir(path("d")).unwrap();
        let before = names(directory.path());
        for good in [path("f"), path("new"), "/dev/null".into(), "-".into()] {
            check(&good, "--json").unwrap();
        }
        for bad in [path("d"), path("none/f"), path("f/f"), "/proc/none".into()] {
            let refused = format!("{:#}", check(&bad, "--json").unwrap_err());
            assert!(refused.contains(bad.to_str().unwrap()), "{refused}");
            assert!(refused.contains("--json"), "{refused}");
        }
        assert_eq!(names(directory.path()), before);
        assert_eq!(fs::read(path("f")).unwrap(), b"earlier");
    }
}
