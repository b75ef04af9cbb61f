//! What is built for the bare machine and for Linux on it, and with which flags.

use std::path::PathBuf;

use crate::building::{repository::target_directory, toolchain::TARGET};

/// A package that is built for the bare machine.
pub struct Product {
    /// Its name.
    pub package: &'static str,
    /// Where it is built, below the directory of all that is built for the bare machine. Cargo lets one build at a time into a
    /// directory, and the image shares nothing with the rest, not even `core`, which has other flags.
    pub directory: &'static str,
    /// The feature with which it is built for the bare machine.
    pub feature: &'static str,
    /// Flags for the program and what it is made of.
    pub flags: &'static [&'static str],
    /// Flags for the program itself, not for what it is made of. Paths in them start in the repository, where the linker
    /// runs: a flag with the repository's own path would give other symbols in another directory.
    pub program_flags: &'static [&'static str],
    /// Whether its bytes depend only on its sources and the toolchain: it names no directory of this computer.
    pub is_reproducible: bool,
}

impl Product {
    /// The target directory of its build.
    pub fn target_directory(&self) -> PathBuf {
        target_directory().join(self.directory)
    }

    /// The directory of the finished programs.
    pub fn release(&self) -> PathBuf {
        self.target_directory().join(TARGET).join("release")
    }
}

/// Flags for everything in the image. It moves itself, so all code is position-independent.
const IMAGE_FLAGS: [&str; 2] = ["-Crelocation-model=pic", "-Cforce-unwind-tables=no"];

/// Flags for everything in a program that the machine measures. It stores the back chain, so that the machine can follow
/// its stack.
const MEASURED_FLAGS: [&str; 3] = [
    IMAGE_FLAGS[0],
    IMAGE_FLAGS[1],
    "-Ctarget-feature=+backchain",
];

/// The image.
pub const IMAGE: Product = Product {
    package: "millimeter",
    directory: "image",
    feature: "image",
    flags: &IMAGE_FLAGS,
    program_flags: &[
        // It carries its relocations, and applies them itself.
        "-Clink-arg=-pie",
        "-Clink-arg=--no-dynamic-linker",
        "-Clink-arg=-Tlinker.ld",
        "-Clink-arg=-Tdefmt.x",
    ],
    is_reproducible: true,
};

/// The bundled guests that are programs of their own.
pub const GUESTS: Product = Product {
    package: "guests",
    directory: "",
    feature: "guest",
    flags: &MEASURED_FLAGS,
    program_flags: &[
        "-Crelocation-model=static",
        "-Clink-arg=-Ttests-qemu/guests/guest.ld",
    ],
    // A report shows the lines of their sources, and finds them where they were built.
    is_reproducible: false,
};

/// The behaviour guests. Nobody measures these, and all of them are one large program: it is built in less than half the time.
pub const CASES: Product = Product {
    program_flags: &[
        GUESTS.program_flags[0],
        GUESTS.program_flags[1],
        "-Copt-level=1",
    ],
    ..GUESTS
};

/// The programs for Linux.
pub const PROGRAMS: Product = Product {
    package: "programs",
    directory: "",
    feature: "linux",
    flags: &MEASURED_FLAGS,
    program_flags: &["-Crelocation-model=static"],
    is_reproducible: false,
};
