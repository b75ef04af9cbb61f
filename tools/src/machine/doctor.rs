//! What is missing on this computer, and the command that fixes it.

use std::path::Path;

use anyhow::Result;

use crate::{
    building::{
        emulators,
        install::{self, Lack, Packages},
        installed::{self, Products},
        lacks, toolchain,
    },
    computer::progress::Progress,
    machine::{hercules::Hercules, qemu::Qemu},
};

/// Installs everything that is missing in one step, or names all of it in one error.
pub fn provide(chosen: Option<&Path>, progress: &Progress) -> Result<()> {
    install::provide(|| lacks::in_qemu(chosen), progress)
}

/// What was found of one requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is for.
    pub what: &'static str,
    /// What was found, or what is missing and how to fix it.
    pub text: String,
    /// Whether it is fulfilled.
    pub is_fine: bool,
    /// Whether `cargo measure` works without it.
    pub is_optional: bool,
}

/// Looks at everything.
pub fn examine() -> Vec<Finding> {
    vec![toolchain(), qemu(), setpriv(), hercules(), chromium()]
}

/// The findings as text.
pub fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let mark = match (finding.is_fine, finding.is_optional) {
            (true, _) => "fine   ",
            (false, true) => "absent ",
            (false, false) => "MISSING",
        };
        let detail = finding.text.replace('\n', "\n           ");
        text.push_str(&format!("{mark}  {}: {detail}\n", finding.what));
    }
    text
}

/// Whether everything that is needed is there.
pub fn is_healthy(findings: &[Finding]) -> bool {
    findings
        .iter()
        .all(|finding| finding.is_fine || finding.is_optional)
}

fn toolchain() -> Finding {
    let is_carried = installed::products().is_some_and(Products::are_carried);
    let (text, is_fine) = match toolchain::decide(&toolchain::look()) {
        _ if is_carried => (
            "not needed: this command carries image and guests".into(),
            true,
        ),
        Ok(toolchain) => (
            format!("{toolchain}, linked by {}", toolchain.linker.display()),
            true,
        ),
        Err(lack) => (remedy(&lack), false),
    };
    Finding {
        what: "Rust for the bare machine",
        text,
        is_fine,
        is_optional: false,
    }
}

fn remedy(lack: &Lack) -> String {
    let here = Packages::look();
    let itself = match here {
        Packages::Ours => "the next build or run installs it, or now",
        Packages::Theirs { .. } => "install it",
        Packages::Unknown => "on Debian 12",
    };
    format!(
        "{}\n{itself}: {}\nor: {}",
        lack.what,
        here.command(&lack.packages),
        lack.otherwise
    )
}

fn qemu() -> Finding {
    let (text, is_fine) = match (emulators::qemu_lack(None), Qemu::locate(None)) {
        (Some(lack), _) => (remedy(&lack), false),
        (None, Ok(qemu)) => (described(&qemu), true),
        (None, Err(error)) => (format!("{error:#}"), false),
    };
    Finding {
        what: "QEMU for s390x",
        text,
        is_fine,
        is_optional: false,
    }
}

/// A QEMU with its known faults.
fn described(qemu: &Qemu) -> String {
    let faults = qemu.faults().map(|fault| {
        let (major, minor, patch) = fault.right;
        format!("\n{}: take {major}.{minor}.{patch} or newer", fault.what)
    });
    let faults: String = faults.collect();
    format!("{qemu}{faults}")
}

fn setpriv() -> Finding {
    let (text, is_fine) = match install::in_path("setpriv") {
        Some(path) => (path.display().to_string(), true),
        None => (
            format!(
                "without it QEMU goes on if the tool is killed; to install it: {}",
                install::command(&["util-linux"])
            ),
            false,
        ),
    };
    Finding {
        what: "setpriv, which ends QEMU with the tool",
        text,
        is_fine,
        is_optional: true,
    }
}

fn hercules() -> Finding {
    let (text, is_fine) = match Hercules::locate(None) {
        Ok(Hercules { path }) => (path.display().to_string(), true),
        Err(_) => (
            format!(
                "only runs with --below hercules and their tests need it; to install it: {}",
                install::command(&[emulators::HERCULES.package])
            ),
            false,
        ),
    };
    Finding {
        what: "Hercules",
        text,
        is_fine,
        is_optional: true,
    }
}

/// The program of Chromium.
pub const CHROMIUM: &str = "chromium";

/// Chromium. Only the test of the page of a report needs it.
pub fn chromium_lack() -> Option<Lack> {
    install::in_path(CHROMIUM).is_none().then(|| Lack {
        what: "Chromium, for the test of the page of a report".to_owned(),
        packages: vec![CHROMIUM],
        otherwise: "do without Chromium; the test of the page fails".to_owned(),
    })
}

fn chromium() -> Finding {
    let (text, is_fine) = match install::in_path(CHROMIUM) {
        Some(path) => (path.display().to_string(), true),
        None => (
            format!(
                "only the test of the page of a report needs it; to install it: {}",
                install::command(&[CHROMIUM])
            ),
            false,
        ),
    };
    Finding {
        what: "Chromium",
        text,
        is_fine,
        is_optional: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_requirement_does_not_make_a_computer_unhealthy() {
        let finding = |is_fine, is_optional| Finding {
            what: "it",
            text: "a\nb".to_owned(),
            is_fine,
            is_optional,
        };
        assert!(is_healthy(&[finding(true, false), finding(false, true)]));
        assert!(!is_healthy(&[finding(false, false)]));
        assert_eq!(
            text(&[finding(false, false)]),
            "MISSING  it: a\n           b\n"
        );
    }
}
