//! Programs of this computer: where one is, and how one is started that must not stay behind.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

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

/// The call of a program that does not outlive this process, however this process ends. Where there is no `setpriv`, it may.
pub fn that_ends_with_this(program: &Path) -> Command {
    let Some(setpriv) = in_path("setpriv") else {
        return Command::new(program);
    };
    let mut command = Command::new(setpriv);
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}
