//! 10,000,003 instructions in problem state, and nothing else: the loop, one before it and two after it.
#![no_std]
#![no_main]

// The library has the panic handler.
use programs as _;

core::arch::global_asm!(
    ".globl _start",
    "_start:",
    "lgfi %r2, 10000000",
    "0: brct %r2, 0b",
    "lhi %r2, 0",
    "svc 1",
);
