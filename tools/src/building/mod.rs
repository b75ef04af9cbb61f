//! Building: the image and the guests, by whatever toolchain there is, and what must be installed for it.

pub mod build;
pub mod case;
pub mod image;
pub mod install;
pub mod repository;
pub mod toolchain;
