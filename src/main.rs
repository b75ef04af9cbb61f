//! The image: the library, entered by `boot/entry.s`.

#![no_std]
#![no_main]

use millimeter as _;
