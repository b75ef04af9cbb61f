//! Building: the image and the guests, the toolchain that builds them, and what must be installed.
//!
//! Most of it is in the package `start`, which works before the host command is built. The forms of the image, the list
//! of guests and what a release carries are here.

pub mod carried;
pub mod forms;
pub mod guests;

pub use start::building::{
    build, bundle, case, emulators, install, installed, lacks, product, repository, stamp,
    toolchain, version,
};
