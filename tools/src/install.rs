//! Programs that the tool needs and may have to install.
//!
//! As root on a Debian system the tool installs what is missing and says so; anyone else is told
//! the exact command. Nothing is installed that the work at hand does not need.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::progress::Progress;

/// The program of this name in the `PATH`.
pub fn in_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|file| is_program(file))
}

/// Whether this file can be run.
pub fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Whether packages come from apt-get here.
pub fn has_apt() -> bool {
    in_path("apt-get").is_some()
}

/// Whether this process may install packages.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    // The owner of our own entry is our effective user.
    Path::new("/proc/self")
        .metadata()
        .is_ok_and(|data| data.uid() == 0)
}

/// The command that installs these packages, for messages.
pub fn command(packages: &[&str]) -> String {
    format!(
        "apt-get install --no-install-recommends {}",
        packages.join(" ")
    )
}

/// Installs packages.
pub fn packages(packages: &[&str], progress: &Progress) -> Result<()> {
    let step = progress.step(&format!("installing {}", packages.join(", ")));
    // Lists may be old or missing; when they are fresh this costs a second.
    apt_get(&["update"])?;
    let mut arguments = vec!["install", "--yes", "--no-install-recommends"];
    arguments.extend_from_slice(packages);
    apt_get(&arguments)
        .with_context(|| format!("cannot install what is missing; try: {}", command(packages)))?;
    step.done(&format!("installed {}", packages.join(", ")));
    Ok(())
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let output = Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .context("cannot start apt-get")?;
    if !output.status.success() {
        bail!(
            "apt-get {} failed ({}):\n{}",
            arguments.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    Ok(())
}
