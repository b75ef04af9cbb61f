//! What is missing on this machine, and the command that mends it.

use crate::{
    install,
    qemu::{DEBIAN_PACKAGE, Qemu},
    toolchain::{self, Decision},
};

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is for.
    pub what: &'static str,
    /// What was found, or what is missing and how to mend it.
    pub text: String,
    /// Whether nothing needs to be done.
    pub is_fine: bool,
    /// Whether `cargo measure` works without it.
    pub is_optional: bool,
}

/// Looks at everything.
pub fn examine() -> Vec<Finding> {
    vec![toolchain(), qemu(), setpriv(), hercules()]
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
    let (text, is_fine) = match toolchain::decide(&toolchain::look()) {
        Decision::Use(toolchain) => (toolchain.to_string(), true),
        Decision::Install(packages) => (
            format!(
                "the next build installs what is missing, or now: {}",
                install::command(&packages)
            ),
            false,
        ),
        Decision::Missing(text) => (text, false),
    };
    Finding {
        what: "Rust for the bare machine",
        text,
        is_fine,
        is_optional: false,
    }
}

fn qemu() -> Finding {
    let (text, is_fine) = match Qemu::locate(None) {
        Ok(qemu) => (qemu.to_string(), true),
        Err(error) => (format!("{error:#}"), false),
    };
    Finding {
        what: "QEMU for s390x",
        text,
        is_fine,
        is_optional: false,
    }
}

fn setpriv() -> Finding {
    let (text, is_fine) = match install::in_path("setpriv") {
        Some(path) => (path.display().to_string(), true),
        None => (
            format!(
                "without it QEMU stays behind if the tool is killed outright; {}",
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
    let (text, is_fine) = match install::in_path("hercules") {
        Some(path) => (path.display().to_string(), true),
        None => (
            format!(
                "only the test of the ins form needs it; {}",
                install::command(&["hercules"])
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

/// Debian's packages of everything that `cargo measure` needs, for messages.
pub fn debian_packages() -> Vec<&'static str> {
    toolchain::DEBIAN_PACKAGES
        .into_iter()
        .chain([DEBIAN_PACKAGE])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_optional_does_not_make_a_machine_ill() {
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
