//! Makes a Debian package with `dpkg-deb`.
//!
//! What is in it says the section `package.metadata.deb` of `tools/Cargo.toml`, in the form of `cargo deb`; this reads the
//! part of that form that the section uses. The same files give the same package: no date of this computer is in it.

use std::{
    env, fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use flate2::{Compression, GzBuilder};
use serde::Deserialize;

use super::not_written;
use crate::{
    building::{install, repository::root, version},
    computer::{progress::Progress, temporary::Temporary, whole_file},
};

/// The date of all files in a package, if `SOURCE_DATE_EPOCH` does not say another: the beginning of 2026.
const DATE: &str = "1767225600";
const DATE_VARIABLE: &str = "SOURCE_DATE_EPOCH";

/// Where assets are whose files a release lays out, as the section writes it.
const LAID_OUT: &str = "../target/package/";

/// Where manual pages are, which Debian keeps packed.
const MANUAL: &str = "usr/share/man/";

#[derive(Deserialize)]
struct Manifest {
    package: Package,
}

#[derive(Deserialize)]
struct Package {
    description: String,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    deb: Section,
}

/// The section, as far as it is used.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Section {
    name: String,
    maintainer: String,
    depends: String,
    section: String,
    priority: String,
    extended_description: String,
    /// The file that becomes Debian's `copyright`, and how many of its lines are left out.
    license_file: [String; 2],
    /// A file or `*.ENDING`, the place in the package, and the mode.
    assets: Vec<[String; 3]>,
}

/// Makes the package of the files that are laid out in this directory, puts it beside them and returns it.
pub fn make(laid_out: &Path, progress: &Progress) -> Result<PathBuf> {
    if install::in_path("dpkg-deb").is_none() {
        bail!(
            "dpkg-deb, which makes Debian packages, is not in the PATH; install the package dpkg, or leave --deb out"
        );
    }
    let tools = root().join("tools");
    let file = tools.join("Cargo.toml");
    let text = fs::read_to_string(&file).with_context(|| {
        format!(
            "cannot read {}; a package needs the sources",
            file.display()
        )
    })?;
    let package = read(&text).with_context(|| format!("cannot understand {}", file.display()))?;
    let temporary = Temporary::new()?;
    let tree = temporary.path().join("tree");
    fs::create_dir(&tree)?;
    for asset in &package.metadata.deb.assets {
        place(asset, &tools, laid_out, &tree)?;
    }
    let section = &package.metadata.deb;
    let copyright = [
        section.license_file[0].clone(),
        format!("usr/share/doc/{}/copyright", section.name),
        "644".to_owned(),
    ];
    place(&copyright, &tools, laid_out, &tree)?;
    let control = tree.join("DEBIAN");
    fs::create_dir(&control)?;
    set_mode(&tree, 0o755)?;
    set_mode(&control, 0o755)?;
    let text = package.control(installed_kibibytes(&tree)?);
    fs::write(control.join("control"), text)?;
    set_mode(&control.join("control"), 0o644)?;
    let name = format!(
        "{}_{}_{}.deb",
        section.name,
        version::RELEASE,
        architecture()
    );
    let to = laid_out.join(name);
    let step = progress.step("making the Debian package");
    let made = temporary.path().join("made.deb");
    let date = env::var_os(DATE_VARIABLE).unwrap_or_else(|| DATE.into());
    let output = Command::new("dpkg-deb")
        .args(["--root-owner-group", "-Zxz", "--build"])
        .args([&tree, &made])
        .env(DATE_VARIABLE, date)
        .stdin(Stdio::null())
        .output()
        .context("cannot start dpkg-deb")?;
    if !output.status.success() {
        bail!(
            "dpkg-deb could not make {}:\n{}",
            to.display(),
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    // dpkg-deb writes into the file that it makes, so it does not get the last one.
    let package = fs::read(&made).with_context(|| format!("cannot read {}", made.display()))?;
    whole_file::put(&to, package).with_context(|| not_written(&to))?;
    step.done("made the Debian package");
    Ok(to)
}

fn read(manifest: &str) -> Result<Package> {
    Ok(toml::from_str::<Manifest>(manifest)?.package)
}

/// Debian's name of this computer's architecture.
fn architecture() -> &'static str {
    match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64el",
        other => other,
    }
}

impl Package {
    /// The file that tells dpkg about the package.
    fn control(&self, kibibytes: u64) -> String {
        let section = &self.metadata.deb;
        let mut text = String::new();
        for (field, value) in [
            ("Package", section.name.as_str()),
            ("Version", version::RELEASE),
            ("Architecture", architecture()),
            ("Maintainer", &section.maintainer),
            ("Installed-Size", &kibibytes.to_string()),
            ("Depends", &section.depends),
            ("Section", &section.section),
            ("Priority", &section.priority),
            ("Description", &self.description),
        ] {
            text.push_str(&format!("{field}: {value}\n"));
        }
        // A line of the description begins with a blank, and one without words has a full stop.
        for line in section.extended_description.trim().lines() {
            let line = if line.trim().is_empty() { "." } else { line };
            text.push_str(&format!(" {line}\n"));
        }
        text
    }
}

/// Puts the files of an asset into the tree of the package.
fn place(asset: &[String; 3], tools: &Path, laid_out: &Path, tree: &Path) -> Result<()> {
    let [source, place, mode] = asset;
    let mode = u32::from_str_radix(mode, 8).with_context(|| format!("{mode} is not a mode"))?;
    let pattern = match source.strip_prefix(LAID_OUT) {
        Some(rest) => laid_out.join(rest),
        None => tools.join(source),
    };
    let files = matching(&pattern)?;
    if files.is_empty() {
        bail!("there is no file {} for the package", pattern.display());
    }
    for file in files {
        let mut to = tree.join(place);
        if place.ends_with('/') {
            to.push(file.file_name().unwrap_or_default());
        }
        if let Some(directory) = to.parent() {
            make_directories(directory, tree)?;
        }
        let mut copy = || -> Result<()> {
            let mut bytes = fs::read(&file)?;
            if place.starts_with(MANUAL) {
                to.as_mut_os_string().push(".gz");
                let mut packed = GzBuilder::new().write(Vec::new(), Compression::best());
                packed.write_all(&bytes)?;
                bytes = packed.finish()?;
            }
            fs::write(&to, bytes)?;
            set_mode(&to, mode)
        };
        copy().with_context(|| format!("cannot copy {} into the package", file.display()))?;
    }
    Ok(())
}

/// The files of a pattern, in the order of their names. Only a last part `*.ENDING` stands for several.
fn matching(pattern: &Path) -> Result<Vec<PathBuf>> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy();
    let Some(ending) = name.strip_prefix('*') else {
        let file = pattern.is_file().then(|| pattern.to_owned());
        return Ok(file.into_iter().collect());
    };
    let directory = pattern.parent().unwrap_or(pattern);
    let mut files = Vec::new();
    for entry in
        fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?
    {
        let path = entry?.path();
        if path.is_file() && path.to_string_lossy().ends_with(ending) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Makes a directory of the tree, whatever the creator's mask is.
fn make_directories(directory: &Path, tree: &Path) -> Result<()> {
    fs::create_dir_all(directory)?;
    for above in directory.ancestors().take_while(|&above| above != tree) {
        set_mode(above, 0o755)?;
    }
    Ok(())
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
}

/// The room that the files take.
fn installed_kibibytes(tree: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(tree)? {
        let path = entry?.path();
        sum += match path.is_dir() {
            true => installed_kibibytes(&path)?,
            false => path.metadata()?.len().div_ceil(1024),
        };
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// What a release lays out, with small files.
    fn laid_out() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "man",
            "completions/bash",
            "completions/zsh",
            "completions/fish",
        ] {
            fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        for name in [
            "measure",
            "licences.txt",
            "man/measure.1",
            "man/measure-run.1",
            "completions/bash/measure",
            "completions/zsh/_measure",
            "completions/fish/measure.fish",
        ] {
            fs::write(directory.path().join(name), name).unwrap();
        }
        directory
    }

    fn dpkg_deb(option: &str, package: &Path) -> String {
        let output = Command::new("dpkg-deb").arg(option).arg(package).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    #[test]
    fn a_package_has_every_asset_in_its_place_and_says_what_it_needs() {
        if install::in_path("dpkg-deb").is_none() {
            // Not a Debian system: there it is not made.
            return;
        }
        let directory = laid_out();
        let package = make(directory.path(), &Progress::Silent).unwrap();
        let contents = dpkg_deb("--contents", &package);
        for (mode, file) in [
            ("-rwxr-xr-x root/root", "./usr/bin/measure"),
            ("-rw-r--r-- root/root", "./usr/share/man/man1/measure.1.gz"),
            (
                "-rw-r--r-- root/root",
                "./usr/share/man/man1/measure-run.1.gz",
            ),
            (
                "-rw-r--r-- root/root",
                "./usr/share/bash-completion/completions/measure",
            ),
            (
                "-rw-r--r-- root/root",
                "./usr/share/zsh/vendor-completions/_measure",
            ),
            (
                "-rw-r--r-- root/root",
                "./usr/share/fish/vendor_completions.d/measure.fish",
            ),
            (
                "-rw-r--r-- root/root",
                "./usr/share/doc/millimeter/copyright",
            ),
            (
                "-rw-r--r-- root/root",
                "./usr/share/doc/millimeter/book/introduction.md",
            ),
        ] {
            let is_there = |line: &str| line.starts_with(mode) && line.ends_with(file);
            assert!(contents.lines().any(is_there), "{mode} {file}:\n{contents}");
        }
        let about = dpkg_deb("--info", &package);
        for words in [
            "Package: millimeter",
            &format!("Version: {}", version::RELEASE),
            "Depends: qemu-system-s390x",
        ] {
            assert!(about.contains(words), "{words}:\n{about}");
        }
        let first = fs::read(&package).unwrap();
        let mut earlier = fs::File::open(&package).unwrap();
        fs::write(&package, "earlier").unwrap();
        assert_eq!(make(directory.path(), &Progress::Silent).unwrap(), package);
        assert!(fs::read(&package).unwrap() == first, "the bytes differ");
        let mut kept = String::new();
        earlier.read_to_string(&mut kept).unwrap();
        assert_eq!(kept, "earlier", "a killed dpkg-deb would have spoilt it");
    }

    #[test]
    fn only_the_maintainer_whom_debian_wants_has_an_address_that_does_not_exist() {
        let reserved = [".", "invalid"].concat();
        let manifests = ["Cargo.toml", "tools/Cargo.toml"];
        let [all, own] = manifests.map(|name| fs::read_to_string(root().join(name)).unwrap());
        assert!(!all.contains(&reserved), "cargo wants no address");
        assert_eq!(own.matches(&reserved).count(), 1);
        let maintainer = read(&own).unwrap().metadata.deb.maintainer;
        let (name, address) = maintainer.split_once(" <").unwrap();
        let (mailbox, domain) = address.strip_suffix('>').unwrap().split_once('@').unwrap();
        let is_word = |word: &str| !word.is_empty() && !word.contains(['<', '>', '@', ' ']);
        assert!(
            !name.is_empty() && is_word(mailbox) && is_word(domain),
            "{maintainer}"
        );
    }

    #[test]
    fn an_asset_without_a_file_is_named() {
        let directory = laid_out();
        fs::remove_file(directory.path().join("measure")).unwrap();
        let tree = tempfile::tempdir().unwrap();
        let asset = [
            LAID_OUT.to_owned() + "measure",
            "usr/bin/".into(),
            "755".into(),
        ];
        let error = place(&asset, directory.path(), directory.path(), tree.path()).unwrap_err();
        assert!(error.to_string().contains("there is no file"), "{error:#}");
    }

    #[test]
    fn an_empty_line_of_the_description_is_a_full_stop() {
        let section = Section {
            name: "n".into(),
            maintainer: "m".into(),
            depends: "d".into(),
            section: "s".into(),
            priority: "p".into(),
            extended_description: "one\n\ntwo\n".into(),
            license_file: ["../LICENSE-MIT".into(), "0".into()],
            assets: Vec::new(),
        };
        let package = Package {
            description: "short".into(),
            metadata: Metadata { deb: section },
        };
        let control = package.control(7);
        assert!(
            control.ends_with("Description: short\n one\n .\n two\n"),
            "{control}"
        );
        assert!(control.contains("Installed-Size: 7\n"), "{control}");
    }
}
