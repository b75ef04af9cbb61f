//! The emulators below the machine: their programs, what names another one, and Debian's packages of them.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::install::{self, Lack};

/// An emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its program.
    pub name: &'static str,
    /// The variable that names another one than that in the `PATH`.
    pub variable: &'static str,
    /// The option that names another one, before the variable.
    pub option: &'static str,
    /// Debian's package.
    pub package: &'static str,
}

/// QEMU.
pub const QEMU: Program = Program {
    name: "qemu-system-s390x",
    variable: "MILLIMETER_QEMU",
    option: "--qemu",
    package: "qemu-system-misc",
};

/// The oldest QEMU that the machine has been measured on.
pub const OLDEST_QEMU: (u32, u32) = (7, 2);

/// Hercules.
pub const HERCULES: Program = Program {
    name: "hercules",
    variable: "MILLIMETER_HERCULES",
    option: "--hercules",
    package: "hercules",
};

impl Program {
    /// The one that the user names: by the option, else by the variable.
    pub fn named(&self, chosen: Option<&Path>) -> Option<PathBuf> {
        chosen
            .map(Path::to_owned)
            .or_else(|| env::var_os(self.variable).map(PathBuf::from))
    }

    fn is_there(&self, chosen: Option<&Path>) -> bool {
        self.named(chosen).is_some() || install::in_path(self.name).is_some()
    }
}

/// What must be installed for a run in QEMU; `None` if the user names one.
pub fn qemu_lack(chosen: Option<&Path>) -> Option<Lack> {
    let (major, minor) = OLDEST_QEMU;
    let Program {
        name,
        variable,
        option,
        package,
    } = QEMU;
    (!QEMU.is_there(chosen)).then(|| Lack {
        what: format!("{name} {major}.{minor} or later"),
        packages: vec![package],
        otherwise: format!("name a {name} with {option} PATH or the variable {variable}"),
    })
}

/// What must be installed for a run in Hercules; `None` if the user names one.
pub fn hercules_lack(chosen: Option<&Path>) -> Option<Lack> {
    (!HERCULES.is_there(chosen)).then(|| Lack {
        what: "Hercules, for runs below which is Hercules".to_owned(),
        packages: vec![HERCULES.package],
        otherwise: format!(
            "name one with {} PATH or the variable {}, or leave --below hercules out; its tests fail",
            HERCULES.option, HERCULES.variable
        ),
    })
}
