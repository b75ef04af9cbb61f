//! Instructions that a QEMU performs wrongly, by the version that is right. The machine cannot stand in for these: it does
//! not see them.

use super::{Qemu, Version};

/// What is wrong, and the first version in which it is not.
pub struct Fault {
    /// The instructions, and what is wrong with them.
    pub what: &'static str,
    /// The first version that is right.
    pub right: Version,
}

/// The known faults.
pub const FAULTS: [Fault; 1] = [Fault {
    what: "MDEB and MDEBR have wrong products",
    right: (8, 0, 4),
}];

impl Qemu {
    /// The faults that it has.
    pub fn faults(&self) -> impl Iterator<Item = &'static Fault> {
        FAULTS.iter().filter(|fault| self.version < fault.right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qemu(version: Version) -> Qemu {
        Qemu {
            path: "qemu".into(),
            version,
            has_sandbox: true,
        }
    }

    #[test]
    fn a_qemu_has_the_faults_that_are_mended_after_its_version() {
        for (version, count) in [
            ((7, 2, 22), 1),
            ((8, 0, 3), 1),
            ((8, 0, 4), 0),
            ((10, 0, 2), 0),
        ] {
            assert_eq!(qemu(version).faults().count(), count, "{version:?}");
        }
    }

    #[test]
    fn the_book_names_each_fault_with_the_version_that_is_right() {
        let page = include_str!("../../../book/src/limits.md");
        for Fault { what, right } in FAULTS {
            let (major, minor, patch) = right;
            let version = match patch {
                0 => format!("{major}.{minor}"),
                _ => format!("{major}.{minor}.{patch}"),
            };
            let row = format!("| {what} | {version} |");
            assert!(page.contains(&row), "{row}");
        }
    }
}
