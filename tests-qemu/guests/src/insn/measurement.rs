//! The load-program-parameter and the CPU-measurement facilities of SA23-2260.

use core::arch::asm;

/// Bits of the counter-set controls, as in each halfword of QUERY COUNTER INFORMATION and LOAD CPU-COUNTER-SET
/// CONTROLS.
pub mod set {
    /// Extended counter set.
    pub const EXTENDED: u16 = 0x0001;
    /// Basic counter set.
    pub const BASIC: u16 = 0x0002;
    /// Problem-state counter set.
    pub const PROBLEM_STATE: u16 = 0x0004;
    /// Crypto-activity counter set.
    pub const CRYPTO: u16 = 0x0008;
    /// MT-diagnostic counter set.
    pub const MT_DIAGNOSTIC: u16 = 0x0020;
    /// Coprocessor-group counter sets.
    pub const COPROCESSOR_GROUP: u16 = 0x8000;
}

/// LOAD PROGRAM PARAMETER.
pub fn lpp(parameter: u64) {
    // SAFETY: reads eight bytes of a local.
    unsafe { asm!(".insn s,0xb2800000,0({a})", a = in(reg_addr) &raw const parameter) }
}

/// The operand of LOAD CPU-COUNTER-SET CONTROLS.
#[must_use]
pub const fn controls(enable: u16, activate: u16) -> u64 {
    (enable as u64) << 16 | activate as u64
}

/// LOAD CPU-COUNTER-SET CONTROLS: condition code 0 set, 3 not set.
pub fn lcctl(controls: u64) -> u8 {
    let cc: u64;
    // SAFETY: reads eight bytes of a local.
    unsafe {
        asm!(".insn s,0xb2840000,0({a})", "ipm {c}", a = in(reg_addr) &raw const controls, c = out(reg) cc)
    };
    (cc >> 28) as u8 & 3
}

/// EXTRACT CPU COUNTER: condition code 0 and the counter, or 3.
#[must_use]
pub fn ecctr(number: u64) -> (u8, u64) {
    let (cc, value): (u64, u64);
    // SAFETY: reads a counter.
    unsafe {
        asm!(".insn rre,0xb2e40000,{v},{n}", "ipm {c}", v = inout(reg) 0_u64 => value, n = in(reg) number, c = out(reg) cc)
    };
    ((cc >> 28) as u8 & 3, value)
}

/// SET CPU COUNTER: condition code 0 set, 3 counter not available.
pub fn scctr(number: u64, value: u64) -> u8 {
    let cc: u64;
    // SAFETY: sets a counter.
    unsafe {
        asm!(".insn rre,0xb2e00000,{v},{n}", "ipm {c}", v = in(reg) value, n = in(reg) number, c = out(reg) cc)
    };
    (cc >> 28) as u8 & 3
}

/// STORE CPU COUNTER MULTIPLE of the set that `SET` names (0 extended, 1 basic, 2 problem-state,
/// 3 crypto-activity, 5 MT-diagnostic): the condition code. `list` must have room for `count`.
pub fn stcctm<const SET: u8>(count: u64, list: &mut [u64]) -> u8 {
    let cc: u64;
    // SAFETY: at most `count` doublewords are stored.
    unsafe {
        asm!(
            ".insn rsy,0xeb0000000017,{n},{s},0({a})",
            "ipm {c}",
            n = in(reg) count,
            s = const SET,
            a = in(reg_addr) list.as_mut_ptr(),
            c = out(reg) cc,
        );
    }
    (cc >> 28) as u8 & 3
}

/// The 64-byte block of QUERY COUNTER INFORMATION.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct CounterInformation {
    /// Counter first version number.
    pub first_version: u16,
    /// Authorization controls.
    pub authorization: u16,
    /// Enable controls.
    pub enable: u16,
    /// Activation controls.
    pub activation: u16,
    /// Maximum CPU address.
    pub maximum_cpu_address: u16,
    /// Counter second version number.
    pub second_version: u16,
    /// Maximum coprocessor-group address.
    pub maximum_group_address: u16,
    /// Coprocessor-group-address-change indicator in bit 0.
    pub change: u16,
    /// Reserved.
    pub reserved: [u32; 12],
}

/// QUERY COUNTER INFORMATION.
#[must_use]
pub fn qctri() -> CounterInformation {
    let mut block = CounterInformation::default();
    // SAFETY: stores 64 bytes into a local.
    unsafe { asm!(".insn s,0xb28e0000,0({a})", a = in(reg_addr) &raw mut block) };
    block
}

/// The 64-byte block of QUERY SAMPLING INFORMATION.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct SamplingInformation {
    /// State controls: A bits 14-15, E bits 22-23, C bits 30-31 (basic, diagnostic).
    pub state: u32,
    /// Basic-sampling-data-entry size.
    pub basic_entry_size: u16,
    /// Diagnostic-sampling-data-entry size.
    pub diagnostic_entry_size: u16,
    /// Minimum sampling interval in cycles.
    pub minimum_interval: u64,
    /// Maximum sampling interval in cycles.
    pub maximum_interval: u64,
    /// Table-entry-address register.
    pub tear: u64,
    /// Data-entry-address register.
    pub dear: u64,
    /// Bytes 40-43: the last one reserved for IBM use.
    pub reserved_for_ibm: u32,
    /// CPU speed in cycles per microsecond.
    pub cpu_speed: u32,
    /// Reserved.
    pub reserved: [u64; 2],
}

/// QUERY SAMPLING INFORMATION.
#[must_use]
pub fn qsi() -> SamplingInformation {
    let mut block = SamplingInformation::default();
    // SAFETY: stores 64 bytes into a local.
    unsafe { asm!(".insn s,0xb2860000,0({a})", a = in(reg_addr) &raw mut block) };
    block
}

/// The 64-byte request block of LOAD SAMPLING CONTROLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct SamplingRequest {
    /// S bit 0, H bit 1, enable bits 54-55, activation bits 62-63 (basic, diagnostic).
    pub state: u64,
    /// Sampling interval in cycles.
    pub interval: u64,
    /// Table-entry-address register.
    pub tear: u64,
    /// Data-entry-address register.
    pub dear: u64,
    /// Ignored.
    pub ignored: [u64; 4],
}

/// Maximum-buffer-size indicator, bit 0 of a request: blocks and tables of 1 MiB.
pub const LARGE_BLOCKS: u64 = 1 << 63;
/// Diagnostic-sampling enable control, bit 55 of a request.
pub const ENABLE_DIAGNOSTIC: u64 = 1 << (63 - 55);
/// Diagnostic-sampling activation control, bit 63 of a request.
pub const ACTIVATE_DIAGNOSTIC: u64 = 1;
/// Basic-sampling enable control, bit 54 of a request.
pub const ENABLE_BASIC: u64 = 1 << (63 - 54);
/// Basic-sampling activation control, bit 62 of a request.
pub const ACTIVATE_BASIC: u64 = 1 << (63 - 62);

/// LOAD SAMPLING CONTROLS: condition code 0 set, 3 not set.
pub fn lsctl(request: &SamplingRequest) -> u8 {
    let cc: u64;
    // SAFETY: reads 64 bytes. The caller chooses where samples go.
    unsafe {
        asm!(".insn s,0xb2870000,0({a})", "ipm {c}", a = in(reg_addr) &raw const *request, c = out(reg) cc)
    };
    (cc >> 28) as u8 & 3
}

/// LOAD PERIPHERAL-COUNTER-SET CONTROLS: condition code 0 set, 3 not set.
pub fn lpctl(controls: u64) -> u8 {
    let cc: u64;
    // SAFETY: reads eight bytes of a local.
    unsafe {
        asm!(".insn s,0xb2850000,0({a})", "ipm {c}", a = in(reg_addr) &raw const controls, c = out(reg) cc)
    };
    (cc >> 28) as u8 & 3
}

/// EXTRACT PERIPHERAL COUNTER: condition code 0 and the counter, or 3 and `before`.
#[must_use]
pub fn epctr(place: u64, before: u64) -> (u8, u64) {
    let (cc, value): (u64, u64);
    // SAFETY: reads a counter.
    unsafe {
        asm!(".insn rre,0xb2e50000,{v},{n}", "ipm {c}", v = inout(reg) before => value, n = in(reg) place, c = out(reg) cc)
    };
    ((cc >> 28) as u8 & 3, value)
}

/// SET PERIPHERAL COUNTER: condition code 0 set, 3 counter not available.
pub fn spctr(place: u64, value: u64) -> u8 {
    let cc: u64;
    // SAFETY: sets a counter.
    unsafe {
        asm!(".insn rre,0xb2e10000,{v},{n}", "ipm {c}", v = in(reg) value, n = in(reg) place, c = out(reg) cc)
    };
    (cc >> 28) as u8 & 3
}

/// EXTRACT COPROCESSOR-GROUP ADDRESS: condition code 0 and the register, or 3 and `before`.
#[must_use]
pub fn ecpga(cpu: u64, before: u64) -> (u8, u64) {
    let (cc, value): (u64, u64);
    // SAFETY: reads an address.
    unsafe {
        asm!(".insn rre,0xb2ed0000,{v},{n}", "ipm {c}", v = inout(reg) before => value, n = in(reg) cpu, c = out(reg) cc)
    };
    ((cc >> 28) as u8 & 3, value)
}
