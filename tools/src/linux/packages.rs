//! Debian's packages for s390x, by this computer's apt in a private root of its own.
//!
//! apt has its state, its lists and its archives in directories of the cache. So it neither reads nor changes the
//! computer's own packages, and needs no root. The archives and their keys are those that the computer uses; apt checks
//! signatures and checksums as always. Packages are only unpacked: no script of a package runs.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    building::install::{self, AptGet, Work},
    computer::progress::{Progress, Step},
    linux::{
        Release,
        cache::Cache,
        modules, programs,
        sources::{self, Origin},
    },
};

/// Programs for the guest, and the packages that have them.
struct Programs {
    /// The entry of the cache.
    entry: &'static str,
    packages: &'static [&'static str],
    /// Where the packages have the programs.
    paths: &'static [&'static str],
}

/// What every guest has.
const TOOLS: Programs = Programs {
    entry: "programs",
    packages: &["busybox-static", "linux-perf", "s390-tools"],
    paths: &["bin/busybox", "usr/bin/perf", "usr/bin/lscpumf"],
};

/// A debugger without Python, for the tests.
const DEBUGGER: Programs = Programs {
    entry: "debugger",
    packages: &["gdb-minimal"],
    paths: &["usr/bin/gdb"],
};

/// What makes a disk one that can be IPLed, for the tests. The second file is what it writes there.
const BOOT_LOADER: Programs = Programs {
    entry: "zipl",
    packages: &["s390-tools"],
    paths: &["sbin/zipl", "lib/s390-tools/stage3.bin"],
};

/// A Debian with systemd that boots from a disk, for the tests. perf is what measures there.
const SYSTEM: [&str; 10] = [
    "base-files",
    "base-passwd",
    "bash",
    "coreutils",
    "dash",
    "dbus",
    "linux-perf",
    "systemd-sysv",
    "udev",
    "util-linux",
];

/// The file that lists the packages of an entry of the cache, one a line.
const CONTENTS: &str = "packages.txt";

/// A kernel of Debian's.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its image.
    pub image: PathBuf,
    /// The directory of its modules for devices and for cryptographic functions.
    pub modules: PathBuf,
}

/// Debian's kernel of this release.
pub fn kernel(cache: &Cache, release: Release, progress: &Progress) -> Result<Kernel> {
    let name = format!("kernel-{release}-with-drivers");
    let entry = cache.entry(&name, progress, |new| {
        let mut step = progress.step(&format!("getting Debian's kernel {release} for s390x"));
        let apt = Apt::new(new, release.origin(), &mut step)?;
        let names = apt.search(&format!("^linux-({})-", PARTS.join("|")))?;
        let version = newest(&names, release).with_context(|| {
            format!("Debian's archive has no kernel {release} for s390x; try another --release")
        })?;
        let packages = parts(&names, version);
        let debs = apt.download(&packages, &mut step)?;
        let tree = apt.unpack(&debs, &mut step)?;
        let file = only_kernel(&tree)?;
        fs::copy(&file, new.join("vmlinuz"))
            .with_context(|| format!("cannot keep {}", file.display()))?;
        modules::collect(&tree, &new.join("modules"))?;
        apt.finish(&debs)?;
        step.done(&format!("got {}", packages.join(", ")));
        Ok(())
    })?;
    Ok(Kernel {
        image: entry.join("vmlinuz"),
        modules: entry.join("modules"),
    })
}

/// The tree of the guest's programs, and of the libraries that they need.
pub fn programs(cache: &Cache, progress: &Progress) -> Result<PathBuf> {
    tree(cache, &TOOLS, progress)
}

/// The tree of gdb, and of the libraries that it needs.
pub fn debugger(cache: &Cache, progress: &Progress) -> Result<PathBuf> {
    tree(cache, &DEBUGGER, progress)
}

/// The tree of zipl, and of the libraries that it needs.
pub fn zipl(cache: &Cache, progress: &Progress) -> Result<PathBuf> {
    tree(cache, &BOOT_LOADER, progress)
}

/// The tree of a whole Debian with systemd, unpacked and not configured.
pub fn system(cache: &Cache, progress: &Progress) -> Result<PathBuf> {
    let entry = cache.entry("system", progress, |new| {
        let mut step = progress.step("getting a Debian with systemd for s390x");
        let apt = Apt::new(new, Origin::PROGRAMS, &mut step)?;
        let debs = apt.download_with_dependencies(&SYSTEM, &mut step)?;
        let tree = apt.unpack(&debs, &mut step)?;
        fs::rename(&tree, new.join("tree"))
            .with_context(|| format!("cannot keep {}", tree.display()))?;
        apt.finish(&debs)?;
        step.done(&format!("got {} packages", debs.len()));
        Ok(())
    })?;
    Ok(entry.join("tree"))
}

/// The tree of the libraries of a package, and of all packages that it depends on. Its name is one that Debian allows.
pub fn libraries(cache: &Cache, package: &str, progress: &Progress) -> Result<PathBuf> {
    let is_name = |text: &str| {
        let mut bytes = text.bytes();
        bytes
            .next()
            .is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            && bytes.all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte)
            })
    };
    ensure!(
        is_name(package),
        "{package} is not the name of a package; one has small letters, digits, +, - and ."
    );
    let entry = cache.entry(&format!("libraries-{package}"), progress, |new| {
        let mut step = progress.step(&format!("getting {package} for s390x"));
        let apt = Apt::new(new, Origin::PROGRAMS, &mut step)?;
        let debs = apt.download_with_dependencies(&[package], &mut step)?;
        let tree = apt.unpack(&debs, &mut step)?;
        programs::collect_libraries(&tree, &new.join("tree"))?;
        apt.finish(&debs)?;
        step.done(&format!("got {package}"));
        Ok(())
    })?;
    Ok(entry.join("tree"))
}

/// The newest QEMU that Debian has, with its libraries, beside those of this computer: a script that starts it, for the tests.
pub fn newest_qemu(cache: &Cache, progress: &Progress) -> Result<PathBuf> {
    let entry = cache.entry("newest-qemu", progress, |new| {
        let mut step = progress.step("getting Debian's newest QEMU");
        let apt = Apt::of_architecture(None, new, Origin::NEWEST, &mut step)?;
        let debs = apt.download_with_dependencies(&["qemu-system-s390x"], &mut step)?;
        let tree = apt.unpack(&debs, &mut step)?;
        let kept = new.join("tree");
        fs::rename(&tree, &kept).with_context(|| format!("cannot keep {}", tree.display()))?;
        let libraries = directory_of(&kept.join("usr/lib"), "libc.so.6")
            .context("the packages of QEMU have no C library")?;
        let names = fs::read_dir(kept.join("usr/lib").join(&libraries))?.flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let loader = names.into_iter().find(|name| name.starts_with("ld-"));
        let loader = loader.context("the packages of QEMU have no dynamic linker")?;
        let script = new.join("qemu-system-s390x");
        let text = format!(
            "#!/bin/sh\ntree=${{0%/*}}/tree\nlibraries=$tree/usr/lib/{libraries}\nexec \"$libraries/{loader}\" --library-path \"$libraries\" \"$tree/usr/bin/qemu-system-s390x\" -L \"$tree/usr/share/qemu\" \"$@\"\n"
        );
        fs::write(&script, text).with_context(|| format!("cannot write {}", script.display()))?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        apt.finish(&debs)?;
        step.done("got Debian's newest QEMU");
        Ok(())
    })?;
    Ok(entry.join("qemu-system-s390x"))
}

/// The directory in this one that has the file.
fn directory_of(directory: &Path, file: &str) -> Option<String> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    let mut found = entries.filter(|entry| entry.path().join(file).exists());
    Some(found.next()?.file_name().to_string_lossy().into_owned())
}

fn tree(cache: &Cache, wanted: &Programs, progress: &Progress) -> Result<PathBuf> {
    let entry = cache.entry(wanted.entry, progress, |new| {
        let names = wanted.packages.join(", ");
        let mut step = progress.step(&format!("getting {names} for s390x"));
        let apt = Apt::new(new, Origin::PROGRAMS, &mut step)?;
        let debs = apt.download_with_dependencies(wanted.packages, &mut step)?;
        let tree = apt.unpack(&debs, &mut step)?;
        programs::collect(&tree, wanted.paths, &new.join("tree"))?;
        apt.finish(&debs)?;
        step.done(&format!("got {names}"));
        Ok(())
    })?;
    Ok(entry.join("tree"))
}

/// A private apt, in a directory that is removed in the end.
struct Apt {
    entry: PathBuf,
    root: PathBuf,
    options: Vec<String>,
}

impl Apt {
    /// An apt for the guest below the directory of a new entry, with fresh lists.
    fn new(entry: &Path, origin: Origin, step: &mut Step) -> Result<Self> {
        Self::of_architecture(Some("s390x"), entry, origin, step)
    }

    /// The same for an architecture, or for that of this computer.
    fn of_architecture(
        architecture: Option<&str>,
        entry: &Path,
        origin: Origin,
        step: &mut Step,
    ) -> Result<Self> {
        for program in ["apt-get", "apt-cache", "dpkg-deb"] {
            if install::in_path(program).is_none() {
                bail!(
                    "the kernels and the tools are Debian's packages, and this computer has no {program} to get them; give a kernel and an initrd of your own with --kernel and --initrd"
                );
            }
        }
        let sources = sources::of_this_computer(origin)?;
        let root = entry.join("apt");
        for directory in [
            "state",
            "lists/partial",
            "archives/partial",
            "etc/sources",
            "tree",
        ] {
            let path = root.join(directory);
            fs::create_dir_all(&path)
                .with_context(|| format!("cannot create {}", path.display()))?;
        }
        for (name, text) in [("status", ""), ("etc/sources/debian.sources", &sources)] {
            let path = root.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        let here = root
            .to_str()
            .context("the path of the cache is not UTF-8; set XDG_CACHE_HOME")?;
        let options = [
            ("Dir::State", here.to_owned() + "/state"),
            ("Dir::State::status", here.to_owned() + "/status"),
            ("Dir::State::lists", here.to_owned() + "/lists"),
            ("Dir::Cache", here.to_owned()),
            ("Dir::Cache::archives", here.to_owned() + "/archives"),
            (
                "Dir::Etc::sourcelist",
                here.to_owned() + "/etc/sources.list",
            ),
            ("Dir::Etc::sourceparts", here.to_owned() + "/etc/sources"),
            (
                "Dir::Etc::preferences",
                here.to_owned() + "/etc/preferences",
            ),
            (
                "Dir::Etc::preferencesparts",
                here.to_owned() + "/etc/preferences.d",
            ),
            ("APT::Get::AllowUnauthenticated", "false".to_owned()),
            ("APT::Install-Recommends", "false".to_owned()),
            // As root, apt would change to another user, who cannot see the user's own directory.
            ("APT::Sandbox::User", "root".to_owned()),
            // A list that cannot be fetched is an error, not a warning.
            ("APT::Update::Error-Mode", "any".to_owned()),
            ("Acquire::Retries", "2".to_owned()),
            ("Acquire::Languages", "none".to_owned()),
        ];
        let of_another = architecture.into_iter().flat_map(|architecture| {
            ["APT::Architecture", "APT::Architectures::"]
                .map(|name| (name, architecture.to_owned()))
        });
        let options = options.into_iter().chain(of_another);
        let options = options.map(|(name, value)| format!("-o{name}={value}"));
        let apt = Self {
            entry: entry.to_owned(),
            options: options.collect(),
            root,
        };
        apt.get(&["update"], "the lists of Debian's packages", step)?;
        Ok(apt)
    }

    fn get(&self, arguments: &[&str], what: &str, step: &mut Step) -> Result<()> {
        let options = self.options.iter().map(String::as_str);
        let arguments: Vec<&str> = options.chain(arguments.iter().copied()).collect();
        let archives = self.root.join("archives");
        let done = AptGet::watched(Work::Fetching, &arguments, &archives, step)?;
        if !done.succeeded {
            bail!(
                "apt-get could not get {what}:\n{}\nWhat helps: make apt's archives reachable (`apt-get update` checks them), or give a kernel and an initrd of your own with --kernel and --initrd. Packages that were fetched once are kept and need no network.",
                done.complaints.trim_end()
            );
        }
        Ok(())
    }

    /// Names of packages.
    fn search(&self, pattern: &str) -> Result<Vec<String>> {
        let output = Command::new("apt-cache")
            .args(&self.options)
            .args(["search", "--names-only", pattern])
            .stdin(Stdio::null())
            .output()
            .context("cannot start apt-cache")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names = text
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        Ok(names.map(str::to_owned).collect())
    }

    /// The files of these packages.
    fn download(&self, packages: &[&str], step: &mut Step) -> Result<Vec<PathBuf>> {
        let arguments = [&["download"], packages].concat();
        self.get(&arguments, &packages.join(", "), step)?;
        self.debs()
    }

    /// The files of these packages and of all that they depend on.
    fn download_with_dependencies(
        &self,
        packages: &[&str],
        step: &mut Step,
    ) -> Result<Vec<PathBuf>> {
        let mut arguments = vec!["install", "--download-only", "--yes"];
        arguments.extend_from_slice(packages);
        self.get(&arguments, &packages.join(", "), step)?;
        self.debs()
    }

    fn debs(&self) -> Result<Vec<PathBuf>> {
        let archives = self.root.join("archives");
        let entries = fs::read_dir(&archives)
            .with_context(|| format!("cannot read {}", archives.display()))?;
        let mut debs: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|kind| kind == "deb"))
            .collect();
        debs.sort();
        Ok(debs)
    }

    /// Unpacks packages into one tree, which is removed with this apt.
    fn unpack(&self, debs: &[PathBuf], step: &mut Step) -> Result<PathBuf> {
        let tree = self.root.join("tree");
        for (place, deb) in debs.iter().enumerate() {
            let unpacking = format!(
                "unpacking {} ({} of {})",
                file_name(deb),
                place + 1,
                debs.len()
            );
            step.update(&unpacking);
            let output = Command::new("dpkg-deb")
                .arg("--extract")
                .args([deb, &tree])
                .stdin(Stdio::null())
                .output()
                .context("cannot start dpkg-deb")?;
            if !output.status.success() {
                bail!(
                    "dpkg-deb could not unpack {}: {}",
                    file_name(deb),
                    String::from_utf8_lossy(&output.stderr).trim_end()
                );
            }
        }
        Ok(tree)
    }

    /// Writes the list of the entry's packages, and removes the directory of this apt.
    fn finish(self, debs: &[PathBuf]) -> Result<()> {
        let mut text = String::new();
        for deb in debs {
            text.push_str(&file_name(deb));
            text.push('\n');
        }
        let contents = self.entry.join(CONTENTS);
        fs::write(&contents, text)
            .with_context(|| format!("cannot write {}", contents.display()))?;
        fs::remove_dir_all(&self.root)
            .with_context(|| format!("cannot remove {}", self.root.display()))
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// What a kernel's package is called before its version. Newer kernels have their image and their modules in packages of their
/// own, on which the first one depends.
const PARTS: [&str; 3] = ["image", "binary", "modules"];

/// The kernel in the tree of its packages: in `/boot`, or beside its modules.
fn only_kernel(tree: &Path) -> Result<PathBuf> {
    let of = |directory: &str| {
        let entries = fs::read_dir(tree.join(directory)).into_iter().flatten();
        entries.flatten().map(|entry| entry.path())
    };
    let in_boot = of("boot").filter(|path| file_name(path).starts_with("vmlinuz-"));
    let beside_modules = of("usr/lib/modules").map(|version| version.join("vmlinuz"));
    let mut kernels = in_boot.chain(beside_modules.filter(|file| file.is_file()));
    kernels.next().context(
        "the packages of the kernel hold no kernel, neither in /boot nor in /usr/lib/modules; try another --release",
    )
}

/// The version of the newest kernel of a release, as in `linux-image-VERSION`, by the numbers in it.
fn newest(names: &[String], release: Release) -> Option<&str> {
    let begin = match release {
        Release::V6_1 | Release::V6_12 => format!("{release}."),
        Release::Newest => String::new(),
    };
    let numbers = |version: &&str| -> Vec<u64> {
        let digits = version.split(|c: char| !c.is_ascii_digit());
        digits.filter_map(|number| number.parse().ok()).collect()
    };
    let is_kernel = |version: &&str| {
        version.starts_with(&begin)
            && version.starts_with(|c: char| c.is_ascii_digit())
            && version.ends_with("-s390x")
            && !version.contains("-rt")
    };
    let versions = names
        .iter()
        .filter_map(|name| name.strip_prefix("linux-image-"));
    versions.filter(is_kernel).max_by_key(numbers)
}

/// The packages of a kernel among these.
fn parts<'a>(names: &'a [String], version: &str) -> Vec<&'a str> {
    let is_part = |name: &&str| {
        PARTS
            .iter()
            .any(|part| **name == format!("linux-{part}-{version}"))
    };
    names.iter().map(String::as_str).filter(is_part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 12] = [
        "linux-image-6.1.0-9-s390x",
        "linux-image-6.1.0-50-s390x",
        "linux-image-6.1.0-51-s390x-dbg",
        "linux-image-6.12.95+deb12-s390x",
        "linux-image-6.12.9+deb12-s390x",
        "linux-image-7.2.11+deb13-s390x",
        "linux-image-7.2.11+deb13-s390x-dbg",
        "linux-image-7.2.9+deb13-s390x",
        "linux-binary-7.2.11+deb13-s390x",
        "linux-binary-7.2.9+deb13-s390x",
        "linux-modules-7.2.11+deb13-s390x",
        "linux-image-s390x",
    ];

    #[test]
    fn the_newest_kernel_of_a_release_is_taken() {
        let names = NAMES.map(str::to_owned);
        let newest = |release| newest(&names, release);
        assert_eq!(newest(Release::V6_1), Some("6.1.0-50-s390x"));
        assert_eq!(newest(Release::V6_12), Some("6.12.95+deb12-s390x"));
        assert_eq!(newest(Release::Newest), Some("7.2.11+deb13-s390x"));
        assert_eq!(super::newest(&names[..1], Release::V6_12), None);
        assert_eq!(super::newest(&names[11..], Release::Newest), None);
    }

    #[test]
    fn a_kernel_in_several_packages_is_taken_whole() {
        let names = NAMES.map(str::to_owned);
        let version = "7.2.11+deb13-s390x";
        let expected = ["image", "binary", "modules"].map(|part| format!("linux-{part}-{version}"));
        assert_eq!(parts(&names, version), expected);
        assert_eq!(
            parts(&names, "6.1.0-50-s390x"),
            ["linux-image-6.1.0-50-s390x"]
        );
    }

    #[test]
    fn a_kernel_is_found_in_boot_or_beside_its_modules() {
        for place in ["boot/vmlinuz-6", "usr/lib/modules/7/vmlinuz"] {
            let tree = tempfile::tempdir().unwrap();
            let file = tree.path().join(place);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::create_dir_all(tree.path().join("usr/lib/modules/6/kernel")).unwrap();
            assert!(only_kernel(tree.path()).is_err());
            fs::write(&file, "").unwrap();
            assert_eq!(only_kernel(tree.path()).unwrap(), file);
        }
    }
}
