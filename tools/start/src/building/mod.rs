//! Building: the image and the guests, the toolchain that builds them, and what must be installed.

pub mod build;
pub mod bundle;
pub mod case;
pub mod emulators;
pub mod install;
pub mod installed;
pub mod lacks;
mod paths;
pub mod product;
pub mod repository;
pub mod stamp;
pub mod toolchain;
pub mod version;
