//! The program parameter of z/OS: its dispatcher loads one at each dispatch, to identify the work in samples.
//!
//! A parameter under a TCB and one under an SRB differ in S, bit 32, which is zero under a TCB. The figures of the source
//! are lost; it gives the fields in their order and with their lengths. The WEB address has 32 bits, so S is bit 32 in both.
//! The address of a TCB has 24 bits; here it is right-aligned in the word behind W, bits 8-31, as storage has 24-bit
//! addresses elsewhere.
//!
//! Nothing in a sample says that its program is z/OS. So only a person who knows it can have these fields.

use core::fmt;

/// The work that a parameter identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkUnit {
    /// A task.
    Task {
        /// The address of its TCB, 24 bits.
        tcb: u32,
        /// The task-ID token, which tells tasks of an address space apart.
        token: u16,
    },
    /// A service request.
    Service {
        /// The address of its WEB.
        web: u32,
        /// The partial WEB address, which tells service requests of an address space apart.
        partial: u16,
    },
}

/// A program parameter of z/OS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProgramParameter {
    /// The address-space number of the home address space, 15 bits.
    pub home_asn: u16,
    /// W: a wait is dispatched. An SRB has no such bit.
    pub wait: bool,
    /// What is dispatched.
    pub unit: WorkUnit,
}

/// W, bit 0.
const WAIT: u64 = 1 << 63;
/// S, bit 32.
const SERVICE: u64 = 1 << 31;

impl ProgramParameter {
    /// The fields of a parameter.
    #[must_use]
    pub const fn of(parameter: u64) -> Self {
        let (left, token) = ((parameter >> 32) as u32, parameter as u16);
        let is_service = parameter & SERVICE != 0;
        Self {
            home_asn: (parameter >> 16) as u16 & 0x7FFF,
            wait: !is_service && parameter & WAIT != 0,
            unit: match is_service {
                true => WorkUnit::Service {
                    web: left,
                    partial: token,
                },
                false => WorkUnit::Task {
                    tcb: left & 0xFF_FFFF,
                    token,
                },
            },
        }
    }

    /// Whether the work is a service request: S.
    #[must_use]
    pub const fn is_service(&self) -> bool {
        matches!(self.unit, WorkUnit::Service { .. })
    }
}

/// The work in one line.
impl fmt::Display for ProgramParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            WorkUnit::Task { tcb, token } => {
                let kind = if self.wait { "wait, TCB" } else { "TCB" };
                write!(f, "{kind} {tcb:06X} task {token:04X}")
            }
            WorkUnit::Service { web, partial } => {
                write!(f, "SRB WEB {web:08X} partial {partial:04X}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn s_tells_a_task_from_a_service_request() {
        // W 0, TCB 8F1234, S 0, home ASN 23, token 7.
        let task = ProgramParameter::of(0x008F_1234_0023_0007);
        let unit = WorkUnit::Task {
            tcb: 0x8F_1234,
            token: 7,
        };
        assert_eq!((task.home_asn, task.wait, task.unit), (0x23, false, unit));
        assert_eq!(task.to_string(), "TCB 8F1234 task 0007");
        let waiting = ProgramParameter::of(0x8000_0000_0001_0000);
        assert!(waiting.wait && !waiting.is_service());
        // WEB 82345678, S 1, home ASN 7FFF, partial WEB address ABCD: the leftmost bit is the address's.
        let service = ProgramParameter::of(0x8234_5678_FFFF_ABCD);
        let unit = WorkUnit::Service {
            web: 0x8234_5678,
            partial: 0xABCD,
        };
        assert_eq!(service.unit, unit);
        assert_eq!((service.home_asn, service.wait), (0x7FFF, false));
        assert_eq!(service.to_string(), "SRB WEB 82345678 partial ABCD");
    }

    proptest! {
        #[test]
        fn fields_are_put_together_as_the_source_has_them(
            wait in any::<bool>(), address in any::<u32>(), asn in 0..0x8000_u16, token in any::<u16>(),
        ) {
            let right = u64::from(asn) << 16 | u64::from(token);
            let tcb = address >> 8;
            let task = ProgramParameter::of(u64::from(wait) << 63 | u64::from(tcb) << 32 | right);
            prop_assert_eq!(task, ProgramParameter { home_asn: asn, wait, unit: WorkUnit::Task { tcb, token } });
            let service = ProgramParameter::of(u64::from(address) << 32 | 1 << 31 | right);
            let unit = WorkUnit::Service { web: address, partial: token };
            prop_assert_eq!(service, ProgramParameter { home_asn: asn, wait: false, unit });
        }
    }
}
