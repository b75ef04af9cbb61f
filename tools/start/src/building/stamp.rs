//! Whether a product is still what its sources would give.
//!
//! Cargo decides that, but with the search for a toolchain it takes longer than many a run. So a stamp stays beside each
//! product: the names, lengths and dates of all sources, and the length and date of the product. If nothing of it has
//! changed, there is nothing for Cargo to decide.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use sha2::{Digest, Sha256};

use crate::{
    building::repository::{root, target_directory},
    numbers::hexadecimal,
};

/// Everything that the products for the bare machine and for Linux are made of.
const SOURCES: [&str; 9] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "boot",
    "linker.ld",
    "src",
    "tests-qemu/guests",
    "tests-qemu/programs",
    "tools/start/src/building",
];

/// The state of all sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources(String);

impl Sources {
    /// As they were when this process first asked; `None` if one of them could not be read. A build that follows has these
    /// or newer ones: then it is not up to date, and the next process builds again.
    pub fn of_this_process() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Sources>> = OnceLock::new();
        FOUND
            .get_or_init(|| Self::now(SOURCES.map(|name| root().join(name))))
            .as_ref()
    }

    /// The state of these files and directories now; `None` if one of them cannot be read.
    pub fn now(places: impl IntoIterator<Item = PathBuf>) -> Option<Self> {
        let mut digest = Sha256::new();
        for place in places {
            add(&mut digest, &place).ok()?;
        }
        Some(Self(hexadecimal(&digest.finalize())))
    }

    /// Whether this product was built from these sources and has not changed since.
    pub fn gave(&self, product: &Path) -> bool {
        self.gave_by(&place(product), product)
    }

    /// The same with the stamp in this file.
    pub fn gave_by(&self, stamp: &Path, product: &Path) -> bool {
        let known = fs::read_to_string(stamp);
        known.is_ok_and(|known| Some(known) == self.stamp(product))
    }

    /// Notes that this product was built from these sources.
    pub fn note(&self, product: &Path) {
        self.note_by(&place(product), product);
    }

    /// The same with the stamp in this file.
    pub fn note_by(&self, stamp: &Path, product: &Path) {
        if let (Some(text), Some(directory)) = (self.stamp(product), stamp.parent()) {
            // Without a stamp Cargo decides the next time, too.
            let _ = fs::create_dir_all(directory).and_then(|()| fs::write(stamp, text));
        }
    }

    fn stamp(&self, product: &Path) -> Option<String> {
        let data = product.metadata().ok()?;
        let (length, seconds, rest) = (data.size(), data.mtime(), data.mtime_nsec());
        Some(format!("{} {length} {seconds} {rest}\n", self.0))
    }
}

/// The names, lengths and dates of all files in this place, as a digest.
pub fn of_tree(tree: &Path) -> io::Result<Vec<u8>> {
    let mut digest = Sha256::new();
    add(&mut digest, tree)?;
    Ok(digest.finalize().to_vec())
}

/// Where the stamp of a product is.
fn place(product: &Path) -> PathBuf {
    let name = product.file_name().unwrap_or_default();
    target_directory().join("stamps").join(name)
}

/// Adds the names, lengths and dates of the files in this place, in the order of their names.
fn add(digest: &mut Sha256, path: &Path) -> io::Result<()> {
    let data = path.symlink_metadata()?;
    digest.update(path.as_os_str().as_encoded_bytes());
    if data.is_dir() {
        let entries = fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path()));
        let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
        entries.sort_unstable();
        return entries.iter().try_for_each(|entry| add(digest, entry));
    }
    for number in [data.size() as i64, data.mtime(), data.mtime_nsec()] {
        digest.update(number.to_be_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_product_or_source_is_no_longer_what_was_built() {
        let product = tempfile::NamedTempFile::new().unwrap();
        fs::write(product.path(), "first").unwrap();
        let sources = Sources::of_this_process().unwrap();
        assert!(!sources.gave(product.path()));
        sources.note(product.path());
        assert!(sources.gave(product.path()));
        assert!(!Sources("other".to_owned()).gave(product.path()));
        fs::write(product.path(), "longer").unwrap();
        assert!(!sources.gave(product.path()));
        fs::remove_file(place(product.path())).unwrap();
    }

    #[test]
    fn names_lengths_and_dates_of_all_files_count() {
        let digest = |path: &Path| of_tree(path).unwrap();
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir(tree.path().join("a")).unwrap();
        let file = tree.path().join("a/b");
        fs::write(&file, "text").unwrap();
        let first = digest(tree.path());
        assert_eq!(first, digest(tree.path()));
        let date = file.metadata().unwrap().modified().unwrap();
        let later = date + std::time::Duration::from_secs(1);
        fs::File::open(&file).unwrap().set_modified(later).unwrap();
        let second = digest(tree.path());
        assert_ne!(first, second);
        fs::rename(&file, tree.path().join("a/c")).unwrap();
        assert_ne!(second, digest(tree.path()));
    }
}
