//! Events that the kernel counts for a process.

/// What is counted, as the kernel's `perf_event_open` takes it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Attributes {
    kind: u32,
    length: u32,
    event: u64,
    period: u64,
    sample: u64,
    read: u64,
    flags: u64,
    rest: [u64; 2],
}

/// A general event that hardware counts: completed instructions.
const HARDWARE: u32 = 0;
const INSTRUCTIONS: u64 = 1;

/// The kernel's flags, bit 0 leftmost.
const DISABLED: u64 = 1 << 63;
const INHERIT: u64 = 1 << 62;
const EXCLUDE_KERNEL: u64 = 1 << 58;
const ENABLE_ON_EXEC: u64 = 1 << 51;

impl Attributes {
    /// Completed instructions from the moment when a process performs another program, with those of the processes that
    /// it starts.
    pub const fn instructions(without_kernel: bool) -> Self {
        let kernel = if without_kernel { EXCLUDE_KERNEL } else { 0 };
        Self {
            kind: HARDWARE,
            length: size_of::<Self>() as u32,
            event: INSTRUCTIONS,
            period: 0,
            sample: 0,
            read: 0,
            flags: DISABLED | INHERIT | ENABLE_ON_EXEC | kernel,
            rest: [0; 2],
        }
    }
}
