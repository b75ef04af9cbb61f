//! What a run needs and this computer lacks.

use std::path::Path;

use super::{build, emulators, install::Lack, toolchain};

/// What a run in QEMU lacks. `chosen` is the QEMU of the command line.
pub fn in_qemu(chosen: Option<&Path>) -> Vec<Lack> {
    let of_the_build = of_the_build().into_iter();
    of_the_build.chain(emulators::qemu_lack(chosen)).collect()
}

/// What a run in Hercules lacks. `chosen` is the Hercules of the command line.
pub fn in_hercules(chosen: Option<&Path>) -> Vec<Lack> {
    let of_the_build = of_the_build().into_iter();
    of_the_build
        .chain(emulators::hercules_lack(chosen))
        .collect()
}

/// The toolchain, if it is missing. What is built needs none. A guest that is not looks for one by itself.
pub fn of_the_build() -> Option<Lack> {
    let toolchain = (!build::is_current()).then(|| toolchain::decide(&toolchain::look()).err());
    toolchain.flatten()
}
