//! A disk of the guest: the blocks of a file of the host.

use std::{
    fmt,
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context, Result, bail};

/// Bytes of a disk's block.
const BLOCK: u64 = 512;

/// A file that the guest has as a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Its blocks, one after another (raw).
    pub file: PathBuf,
    /// Whether the guest cannot write.
    pub read_only: bool,
}

impl FromStr for Disk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (file, read_only) = match text.strip_suffix(",ro") {
            Some(file) => (file, true),
            None => (text, false),
        };
        if file.is_empty() {
            return Err("a disk is a file; write --disk FILE, or --disk FILE,ro".to_owned());
        }
        Ok(Self {
            file: file.into(),
            read_only,
        })
    }
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.read_only { ", read only" } else { "" };
        write!(f, "{}{what}", self.file.display())
    }
}

impl Disk {
    /// The name of a file in a list of properties. QEMU takes what precedes a colon in a relative name for a protocol.
    pub fn name_for_qemu(file: &Path) -> String {
        let here = if file.is_relative() { "./" } else { "" };
        // A comma within a value is written twice.
        format!("{here}{}", file.to_string_lossy().replace(',', ",,"))
    }

    /// Checks that it can be a disk.
    pub fn check(&self) -> Result<()> {
        let file = self.file.display();
        // A FIFO would wait for a writer.
        if fs::metadata(&self.file).is_ok_and(|about| !about.is_file()) {
            bail!("the disk {file} is not a file");
        }
        let opened = OpenOptions::new()
            .read(true)
            .write(!self.read_only)
            .open(&self.file);
        let opened = opened.with_context(|| {
            if !self.file.exists() {
                format!("there is no disk {file}; make one with `truncate -s 1G {file}`")
            } else if self.read_only {
                format!("the disk {file} cannot be read")
            } else {
                format!("the disk {file} cannot be written; give it as {file},ro if it need not be")
            }
        })?;
        let about = opened
            .metadata()
            .with_context(|| format!("cannot find out the length of the disk {file}"))?;
        if about.len() == 0 {
            bail!("the disk {file} is empty; give it a size with `truncate -s 1G {file}`");
        }
        if !about.len().is_multiple_of(BLOCK) {
            bail!(
                "the disk {file} has {} bytes, which is not a whole number of blocks of {BLOCK}; round it up with `truncate -s %{BLOCK} {file}`",
                about.len()
            );
        }
        Ok(())
    }
}
