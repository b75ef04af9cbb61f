//! DIAGNOSE 700: a program profiles the machine that it runs in.

use core::arch::asm;

/// REQUEST=PROFILE,ACTION=START.
pub const START: u32 = 1;
/// REQUEST=PROFILE,ACTION=STOP.
pub const STOP: u32 = 2;
/// REQUEST=QUERY.
pub const QUERY: u32 = 3;

/// TYPE=EVENT.
pub const EVENT: u32 = 1;
/// TYPE=SAMPLE.
pub const SAMPLE: u32 = 2;
/// TYPE=PROFILERS.
pub const PROFILERS: u32 = 3;
/// TYPE=EVENTDATA.
pub const EVENT_DATA: u32 = 4;

/// Event type of the basic counter set.
pub const BASIC: u32 = 0x8000_0000;
/// Event type of the ZOS counter set.
pub const ZOS: u32 = 0x0800_0000;

/// A request.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Request {
    /// The function.
    pub function: u32,
    /// Bit 0: SAMPLE=YES.
    pub flags: u32,
    /// The profiler's name.
    pub name: [u8; 8],
    /// Event types.
    pub events: u32,
    /// The type of a query.
    pub kind: u32,
    /// The profiler's token.
    pub token: u64,
    /// The CPUs that the query is about.
    pub cpus: u64,
    /// The address of the answer area.
    pub area: u64,
    /// Its length.
    pub length: u32,
    /// Reason code.
    pub reason: u32,
    /// Samples that the profiler did not get.
    pub missed: u64,
}

const _: () = assert!(size_of::<Request>() == 64);

impl Request {
    /// START under a name.
    #[must_use]
    pub fn start(name: &[u8; 8], events: u32) -> Self {
        Self {
            function: START,
            name: *name,
            events,
            ..Self::default()
        }
    }

    /// STOP.
    #[must_use]
    pub fn stop(token: u64) -> Self {
        Self {
            function: STOP,
            token,
            ..Self::default()
        }
    }

    /// QUERY of all CPUs, into this area.
    #[must_use]
    pub fn query(kind: u32, token: u64, area: &mut [u64]) -> Self {
        Self {
            function: QUERY,
            kind,
            token,
            cpus: u64::MAX,
            area: area.as_mut_ptr() as u64,
            length: size_of_val(area) as u32,
            ..Self::default()
        }
    }

    /// Makes the request. Returns the condition code and the reason code. The request and the area must lie where real
    /// addresses are absolute ones.
    pub fn make(&mut self) -> (u8, u32) {
        let (ipm, reason): (u64, u64);
        // SAFETY: the request says what is stored where, and the area was borrowed for it.
        unsafe {
            asm!(
                ".insn rs,0x83000000,%r0,%r0,0x700(%r0)",
                "ipm {i}",
                i = out(reg) ipm,
                out("r0") reason,
                in("r2") &raw mut *self,
            );
        }
        ((ipm >> 28 & 3) as u8, reason as u32)
    }
}
