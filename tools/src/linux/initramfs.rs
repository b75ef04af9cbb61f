//! The guest's first file system: an archive that the kernel unpacks into storage.
//!
//! It has two parts. The kernel first unpacks the programs, or an archive of the user's own, and then the command with
//! the script that runs it. The same files give the same bytes: names in order, one owner, no
//! times. It is not compressed, because the guest would have to undo that.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    ops::Range,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use cpio::newc::{Builder, ModeFileType, trailer};
use memchr::memmem;

/// The first process of the guest.
pub const INIT: &str = "/millimeter/init";

/// An archive's next part begins on such a boundary.
const ALIGNMENT: usize = 4;

/// An entry of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Directory,
    Program(Vec<u8>),
    File(Vec<u8>),
    Link(&'static str),
}

/// Where the guest's first process finds an archive of the command and its files.
const ORDER: &str = "millimeter/order";

/// How large the file of that archive can be. It has room to spare, because the guest is the same for every command that fits.
const ORDER_LENGTHS: [usize; 4] = [64 << 10, 2 << 20, 16 << 20, 64 << 20];

/// A file that the command needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestFile {
    /// An empty directory.
    Directory,
    /// A file with these bytes, and whether it can be performed.
    File(Vec<u8>, bool),
}

/// The work of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The input of `/bin/sh`.
    pub command: String,
    /// Whether a person types in a shell. The shell performs the command first.
    pub is_shell: bool,
    /// A script, which becomes `/millimeter/script`.
    pub script: Option<Vec<u8>>,
    /// Files that the command needs, by their names from the root on.
    pub files: BTreeMap<String, GuestFile>,
    /// The time of day that the guest is set to before the command, in seconds from 1970; none if its clock is right.
    pub date: Option<u64>,
    /// Whether the kernel goes on to write on the console.
    pub verbose: bool,
    /// Whether there is a network card.
    pub network: bool,
    /// Modules of the kernel, in the order of their names.
    pub modules: BTreeMap<String, Vec<u8>>,
    /// With what the first process signs what it says to the host.
    pub nonce: String,
    /// Whether the guest writes the names of processes and modules for a profile from below.
    pub profile: bool,
    /// The program that notes what processes map, if call stacks go on in them.
    pub mappings: Option<Vec<u8>>,
    /// Whether the command comes in an archive that the first process unpacks when the system has started: a guest that has
    /// not read it yet can be kept for other commands.
    pub is_order: bool,
}

impl Work {
    /// Work from the words of a command line. A single word is a line for the shell, several are a program and its
    /// arguments, unchanged. With a script they are its arguments.
    pub fn new(words: &[String], script: Option<Vec<u8>>, verbose: bool) -> Self {
        let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
        let mut command = match (&script, words) {
            (Some(_), _) => format!("exec /bin/sh /millimeter/script {}", quoted.join(" ")),
            (None, [line]) => line.clone(),
            (None, _) => quoted.join(" "),
        };
        command.push('\n');
        Self {
            command,
            is_shell: false,
            script,
            files: BTreeMap::new(),
            date: None,
            verbose,
            network: false,
            modules: BTreeMap::new(),
            nonce: String::new(),
            profile: false,
            mappings: None,
            is_order: false,
        }
    }

    /// A shell to type in, on a terminal of this many rows and columns.
    pub fn shell(size: Option<(u16, u16)>, verbose: bool) -> Self {
        let command = match size {
            Some((rows, columns)) => format!("stty rows {rows} cols {columns}\n"),
            None => String::new(),
        };
        Self {
            command,
            is_shell: true,
            script: None,
            files: BTreeMap::new(),
            date: None,
            verbose,
            network: false,
            modules: BTreeMap::new(),
            nonce: String::new(),
            profile: false,
            mappings: None,
            is_order: false,
        }
    }
}

/// A word quoted for the shell.
pub fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

impl Work {
    /// The command and its files, as entries of an archive.
    fn command_nodes(&self) -> BTreeMap<String, Node> {
        let command = Node::File(self.command.clone().into_bytes());
        let mut nodes = BTreeMap::from([("millimeter/command".to_owned(), command)]);
        if let Some(script) = &self.script {
            nodes.insert("millimeter/script".to_owned(), Node::File(script.clone()));
        }
        if let Some(date) = self.date {
            let date = Node::File(format!("{date}\n").into_bytes());
            nodes.insert("millimeter/date".to_owned(), date);
        }
        for (name, file) in &self.files {
            let name = name.trim_start_matches('/');
            // The directories above it come first in the order of their names.
            for (end, _) in name.match_indices('/') {
                nodes
                    .entry(name[..end].to_owned())
                    .or_insert(Node::Directory);
            }
            let node = match file {
                GuestFile::Directory => Node::Directory,
                GuestFile::File(bytes, true) => Node::Program(bytes.clone()),
                GuestFile::File(bytes, false) => Node::File(bytes.clone()),
            };
            nodes.insert(name.to_owned(), node);
        }
        nodes
    }

    /// The work without what only one command needs.
    #[must_use]
    pub fn of_all_commands(&self) -> Self {
        Self {
            command: String::new(),
            script: None,
            files: BTreeMap::new(),
            date: None,
            nonce: String::new(),
            ..self.clone()
        }
    }

    /// The archive of the command and its files.
    pub fn order(&self) -> Result<Vec<u8>> {
        archive(&self.command_nodes())
    }

    /// The length of the file for such an archive.
    pub fn order_length(order: &[u8]) -> Result<usize> {
        let length = ORDER_LENGTHS.iter().find(|&&most| order.len() <= most);
        length.copied().with_context(|| {
            let [.., most] = ORDER_LENGTHS;
            format!(
                "the command has files of {} MiB, and {} MiB is the most; put them into an initrd (--initrd)",
                order.len().div_ceil(1 << 20),
                most >> 20
            )
        })
    }
}

/// What lies below the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// The programs of this directory, which does not change.
    Programs(PathBuf),
    /// An archive of the user's own.
    Own(Vec<u8>),
}

impl Base {
    /// Its archive.
    pub fn archive(&self) -> Result<Vec<u8>> {
        match self {
            Self::Programs(tree) => of_tree(tree),
            Self::Own(archive) => Ok(archive.clone()),
        }
    }
}

/// A first file system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Initrd {
    /// The archive.
    pub bytes: Vec<u8>,
    /// Where in it the archive of the command is.
    pub order: Option<Range<usize>>,
}

impl Initrd {
    /// One in which nothing is for the host to change.
    pub fn whole(bytes: Vec<u8>) -> Self {
        Self { bytes, order: None }
    }
}

/// The first file system of a guest: `base`, and the work on top of it. `order` replaces the archive of the command.
pub fn with_work(base: Vec<u8>, work: &Work, order: Option<Vec<u8>>) -> Result<Initrd> {
    let mut placed = None;
    let mut nodes = BTreeMap::from([
        ("millimeter".to_owned(), Node::Directory),
        (
            INIT.trim_start_matches('/').to_owned(),
            Node::Program(include_bytes!("init.sh").to_vec()),
        ),
        (
            "millimeter/disks.sh".to_owned(),
            Node::File(include_bytes!("disks.sh").to_vec()),
        ),
    ]);
    if work.is_order {
        let mut order = match order {
            Some(order) => order,
            None => work.order()?,
        };
        order.resize(Work::order_length(&order)?, 0);
        placed = Some(order.clone());
        nodes.insert(ORDER.to_owned(), Node::File(order));
    } else {
        nodes.append(&mut work.command_nodes());
    }
    let nonce = format!("{}\n", work.nonce).into_bytes();
    nodes.insert("millimeter/nonce".to_owned(), Node::File(nonce));
    for (name, is_there) in [
        ("shell", work.is_shell),
        ("verbose", work.verbose),
        ("network", work.network),
    ] {
        if is_there {
            nodes.insert(format!("millimeter/{name}"), Node::File(Vec::new()));
        }
    }
    if !work.modules.is_empty() {
        nodes.insert("millimeter/modules".to_owned(), Node::Directory);
    }
    for (name, data) in &work.modules {
        nodes.insert(
            format!("millimeter/modules/{name}"),
            Node::File(data.clone()),
        );
    }
    if work.profile {
        let script = include_bytes!("profile.sh").to_vec();
        nodes.insert("millimeter/profile.sh".to_owned(), Node::File(script));
    }
    if let Some(program) = &work.mappings {
        let program = Node::Program(program.clone());
        nodes.insert("millimeter/mappings".to_owned(), program);
    }
    let bytes = followed(base, &archive(&nodes)?);
    let order = placed.and_then(|order| {
        let begin = memmem::rfind(&bytes, &order)?;
        Some(begin..begin + order.len())
    });
    Ok(Initrd { bytes, order })
}

/// An archive with another one on top of it. The other one's files replace those with the same name.
#[must_use]
pub fn followed(mut base: Vec<u8>, by: &[u8]) -> Vec<u8> {
    base.resize(base.len().next_multiple_of(ALIGNMENT), 0);
    base.extend_from_slice(by);
    base
}

/// An archive of a tree of programs and libraries, with a shell.
pub fn of_tree(tree: &Path) -> Result<Vec<u8>> {
    let mut nodes = BTreeMap::from([("bin/sh".to_owned(), Node::Link("busybox"))]);
    for name in [
        "sbin", "usr/sbin", "etc", "proc", "sys", "dev", "tmp", "root",
    ] {
        nodes.insert(name.to_owned(), Node::Directory);
    }
    let mut directories = vec![tree.to_owned()];
    while let Some(directory) = directories.pop() {
        let entries = fs::read_dir(&directory)
            .with_context(|| format!("cannot read {}", directory.display()))?;
        for entry in entries {
            let path = entry?.path();
            let inside = path.strip_prefix(tree)?;
            let name = inside
                .to_str()
                .with_context(|| format!("the name {} is not UTF-8", inside.display()))?;
            let node = if path.is_dir() {
                directories.push(path.clone());
                Node::Directory
            } else {
                let data =
                    fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
                Node::Program(data)
            };
            nodes.insert(name.to_owned(), node);
        }
    }
    archive(&nodes)
}

/// Whether these bytes can be an archive for a kernel, compressed or not.
pub fn check(file: &Path, data: &[u8]) -> Result<()> {
    const BEGINNINGS: [&[u8]; 9] = [
        b"070701",
        b"070702",
        b"\x1F\x8B",
        b"BZh",
        b"\xFD7zXZ\0",
        b"\x5D\0\0",
        b"\x89LZO",
        b"\x02\x21\x4C\x18",
        b"\x28\xB5\x2F\xFD",
    ];
    if !BEGINNINGS.iter().any(|begin| data.starts_with(begin)) {
        bail!(
            "{} is not an initrd: it is neither a cpio archive (newc) nor one that gzip, bzip2, xz, lzma, lzop, lz4 or zstd compressed",
            file.display()
        );
    }
    Ok(())
}

/// An archive of these entries.
fn archive(nodes: &BTreeMap<String, Node>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for (number, (name, node)) in (1..).zip(nodes) {
        let (kind, mode, data) = match node {
            Node::Directory => (ModeFileType::Directory, 0o755, &[][..]),
            Node::Program(data) => (ModeFileType::Regular, 0o755, &data[..]),
            Node::File(data) => (ModeFileType::Regular, 0o644, &data[..]),
            Node::Link(target) => (ModeFileType::Symlink, 0o777, target.as_bytes()),
        };
        let length = u32::try_from(data.len())
            .with_context(|| format!("{name} is too large for the guest's archive"))?;
        let entry = Builder::new(name)
            .ino(number)
            .mode(mode)
            .set_mode_file_type(kind);
        let mut writer = entry.write(out, length);
        out = writer
            .write_all(data)
            .and_then(|()| writer.finish())
            .with_context(|| format!("cannot archive {name}"))?;
    }
    trailer(out).context("cannot end the archive")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names, modes and contents of an archive.
    fn entries(mut data: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut found = Vec::new();
        loop {
            let mut reader = cpio::newc::Reader::new(data).unwrap();
            let entry = reader.entry().clone();
            if entry.is_trailer() {
                return found;
            }
            assert_eq!((entry.mtime(), entry.uid(), entry.gid()), (0, 0, 0));
            let mut content = Vec::new();
            std::io::Read::read_to_end(&mut reader, &mut content).unwrap();
            found.push((entry.name().to_owned(), entry.mode(), content));
            data = reader.finish().unwrap();
        }
    }

    #[test]
    fn one_word_is_for_the_shell_and_several_are_a_program_with_arguments() {
        let command = |words: &[&str], script: Option<&[u8]>| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            Work::new(&words, script.map(<[u8]>::to_vec), false).command
        };
        assert_eq!(
            command(&["echo $HOME; exit 7"], None),
            "echo $HOME; exit 7\n"
        );
        assert_eq!(
            command(&["echo", "it's", ""], None),
            "'echo' 'it'\\''s' ''\n"
        );
        assert_eq!(
            command(&["a b"], Some(b"echo $1")),
            "exec /bin/sh /millimeter/script 'a b'\n"
        );
    }

    #[test]
    fn the_same_tree_gives_the_same_archive_with_everything_in_order() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir(tree.path().join("bin")).unwrap();
        fs::write(tree.path().join("bin/busybox"), "ELF").unwrap();
        let first = of_tree(tree.path()).unwrap();
        fs::write(tree.path().join("bin/busybox"), "ELF").unwrap();
        assert_eq!(first, of_tree(tree.path()).unwrap());
        let entries = entries(&first);
        assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
        let of = |name: &str| entries.iter().find(|entry| entry.0 == name).unwrap();
        assert_eq!((of("bin").1, of("bin/busybox").1), (0o40755, 0o100_755));
        assert_eq!(of("bin/sh").2, b"busybox");
    }

    #[test]
    fn the_work_lies_on_top_of_any_archive() {
        let words = ["true".to_owned()];
        let work = Work::new(&words, Some(b"echo".to_vec()), true);
        let whole = with_work(b"\x1F\x8Bxyz".to_vec(), &work, None)
            .unwrap()
            .bytes;
        assert_eq!(whole[..8], *b"\x1F\x8Bxyz\0\0\0");
        let entries = entries(&whole[8..]);
        let names: Vec<&str> = entries.iter().map(|entry| &entry.0[..]).collect();
        assert_eq!(
            names,
            [
                "millimeter",
                "millimeter/command",
                "millimeter/disks.sh",
                "millimeter/init",
                "millimeter/nonce",
                "millimeter/script",
                "millimeter/verbose"
            ]
        );
        let modes = [2, 3].map(|number| entries[number].1);
        assert_eq!(modes, [0o100_644, 0o100_755]);
    }

    #[test]
    fn a_file_that_is_not_an_archive_is_refused_by_name() {
        let file = Path::new("/tmp/x");
        assert!(check(file, b"070701000").is_ok());
        assert!(check(file, b"\x28\xB5\x2F\xFDx").is_ok());
        assert!(
            check(file, b"hello")
                .unwrap_err()
                .to_string()
                .contains("/tmp/x is not an initrd")
        );
        assert!(check(file, b"").is_err());
    }
}
