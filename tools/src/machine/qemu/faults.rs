//! Instructions that a QEMU performs wrongly and the machine does not see, by the version that is right. At IPL the machine
//! tries each of them, and its log names those of the QEMU below (`ipl/quirks.rs`).

use super::{Qemu, Version};

/// What is wrong, and the first version in which it is not.
pub struct Fault {
    /// The instructions, and what is wrong with them.
    pub what: &'static str,
    /// The first version that is right.
    pub right: Version,
}

/// The known faults.
pub const FAULTS: [Fault; 3] = [
    Fault {
        what: "LRL, LGRL and those like them accept an operand off its boundary",
        right: (8, 0, 0),
    },
    Fault {
        what: "LARL and those like it take a distance of −4 GiB for zero",
        right: (8, 0, 4),
    },
    Fault {
        what: "VCKSM has wrong sums",
        // 7.2 has them, and 10.0 is the oldest one that was tried and has not.
        right: (10, 0, 0),
    },
];

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
            ((7, 2, 22), 3),
            ((8, 0, 3), 2),
            ((8, 0, 4), 1),
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
