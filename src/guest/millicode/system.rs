//! STORE SYSTEM INFORMATION: the machine, the logical partition, the virtual machine.
//!
//! The machine below is a virtual machine (level 3) and says so. The guest is a logical partition
//! (level 2) unless the configuration is at the virtual-machine level. The machine below answers for
//! level 1 and, at the virtual-machine level, for level 3 if it can; this file makes level 2. The manufacturer
//! is IBM, because programs tell models apart by manufacturer and machine type together. The type is
//! that of STORE CPU ID, and model and capacity belong to that type. The other names are those of the
//! machine below.
//!
//! The configuration-topology facility is not installed: facility bit 11 is zero whatever it is below,
//! and function code 15 is not available, with threads or without.

use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::Performed;
use crate::state::configuration::Configuration;
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;
use cpumf::model;
use insn::Operand;

/// Offsets in the system-information blocks.
mod at {
    /// 1.1.1: manufacturer, 16 bytes.
    pub const MANUFACTURER: usize = 32;
    /// 1.1.1: machine type, 4 bytes.
    pub const TYPE: usize = 48;
    /// 1.1.1: model-capacity identification, 16 bytes.
    pub const CAPACITY: usize = 64;
    /// 1.1.1: model identification, 16 bytes.
    pub const MODEL: usize = 100;
    /// 1.1.1, 2.2.1: sequence code and plant of manufacture, 20 bytes.
    pub const SEQUENCE: usize = 80;
    /// 1.2.2, 2.2.2, first entry of 3.2.2: total, configured, standby and reserved CPUs, a halfword
    /// each. If CPUs are threads, their cores are counted.
    pub const CPUS: usize = 36;
    /// 1.2.2: bit 0, multithreading is installed; bits 3-7, maximum thread identification. The next
    /// byte: that of general-purpose cores.
    pub const MACHINE_THREADS: usize = 4;
    /// 2.2.2: the same two bytes, and the maximum thread identification that the program specified.
    pub const THREADS: usize = 64;
    /// 1.2.1, 2.2.1: CPU address, a halfword.
    pub const CPU_ADDRESS: usize = 102;
    /// 2.2.1: logical-CPU identification, a halfword.
    pub const LOGICAL_CPU: usize = 100;
    /// 2.2.2: logical-partition number, a halfword.
    pub const PARTITION: usize = 32;
    /// 2.2.2: logical-CPU characteristics, a byte.
    pub const CHARACTERISTICS: usize = 35;
    /// 3.2.2: bits 4-7, the number of virtual machines, of which the innermost comes first.
    pub const MACHINES: usize = 31;
    /// 2.2.2: logical-partition name, 8 bytes. First entry of 3.2.2: that of the virtual machine.
    pub const NAME: usize = 44;
    /// 2.2.2, first entry of 3.2.2: CPU-capability-adjustment factor, a word.
    pub const ADJUSTMENT: usize = 52;
    /// First entry of 3.2.2: the identifier of the control program of the virtual machine, 16 bytes.
    pub const CONTROL_PROGRAM: usize = 56;
    /// 2.2.2: dedicated CPUs, then shared CPUs, a halfword each.
    pub const DEDICATED: usize = 72;
}

/// `IBM`, padded with blanks, in EBCDIC.
const IBM: [u8; 16] = {
    let mut name = [0x40; 16];
    name[0] = 0xC9;
    name[1] = 0xC2;
    name[2] = 0xD4;
    name
};

/// The name of the logical partition, `GUEST` in EBCDIC.
const PARTITION_NAME: [u8; 8] = [0xC7, 0xE4, 0xC5, 0xE2, 0xE3, 0x40, 0x40, 0x40];

/// Multithreading is installed.
const THREADS_INSTALLED: u8 = 0x80;
/// The number of the logical partition.
const PARTITION_NUMBER: u16 = 1;
/// Logical-CPU characteristics, bit 0: the CPUs are dedicated.
const DEDICATED: u8 = 0x80;
/// Logical-CPU characteristics, bit 1: the CPUs are shared.
const SHARED: u8 = 0x40;
/// The CPU capability is not adjusted.
const UNADJUSTED: u32 = 1000;

/// Replaces the bytes at an offset of a block.
fn put(block: &mut [u8; 4096], offset: usize, bytes: &[u8]) {
    if let Some(place) = block.get_mut(offset..offset + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// Digits and capital letters in EBCDIC, padded with blanks to 16 bytes.
fn padded(text: &[u8]) -> [u8; 16] {
    let mut field = [0x40; 16];
    for (to, &from) in field.iter_mut().zip(text) {
        *to = match from {
            b'0'..=b'9' => 0xF0 + (from - b'0'),
            b'A'..=b'I' => 0xC1 + (from - b'A'),
            b'J'..=b'R' => 0xD1 + (from - b'J'),
            b'S'..=b'Z' => 0xE2 + (from - b'S'),
            _ => 0x40,
        };
    }
    field
}

/// A hexadecimal digit in EBCDIC.
const fn digit(value: u16) -> u8 {
    match value as u8 & 15 {
        value @ 0..=9 => 0xF0 + value,
        value => 0xC1 + (value - 10),
    }
}

/// STORE SYSTEM INFORMATION: bits 32-35 of general register 0 are the function code, bits 56-63 the
/// first selector; bits 48-63 of general register 1 are the second selector. The block goes to the
/// second-operand location, 4096 bytes. Function code 0 stores nothing: the current configuration
/// level goes to bits 32-35 of general register 0, zeros to bits 36-63.
///
/// Condition codes: 0, the information is provided; 3, it is not available.
///
/// Program exceptions: privileged operation; specification, for an assigned function code, when
/// bits 36-55 of general register 0 or bits 32-47 of general register 1 are not zeros, and then,
/// unless the function code is 0, when the operand is not on a 4 KiB boundary; access (store,
/// operand 2), when there is something to store.
///
/// Source: Principles of Operation, "STORE SYSTEM INFORMATION".
#[inline(never)]
pub(super) fn stsi<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    run.supervisor()?;
    let (zero, one) = (run.register(0) as u32, run.register(1) as u32);
    let function = (zero >> 28) as u8;
    if function > 3 {
        return run.done(ConditionCode::Three);
    }
    if zero & 0x0FFF_FF00 != 0 || one >> 16 != 0 {
        return fault(ProgramInterruption::Specification);
    }
    let level: u8 = if run.configuration.virtual_machine {
        3
    } else {
        2
    };
    if function == 0 {
        run.set_word(0, u32::from(level) << 28);
        return run.done(ConditionCode::Zero);
    }
    let at = run.address(second);
    run.boundary(at, 4096)?;
    let mut block = [0; 4096];
    let selectors = (zero as u8, one as u16);
    let available = function <= level
        && match (function, selectors) {
            (1, _) => machine(run, selectors, &mut block),
            (2, (2, 1)) => logical_cpu(run, &mut block),
            (2, (2, 2)) => {
                partition(run.configuration, &mut block);
                true
            }
            (3, _) => virtual_machine(run, selectors, &mut block),
            _ => false,
        };
    if !available {
        return run.done(ConditionCode::Three);
    }
    run.put(at, &block)?;
    run.done(ConditionCode::Zero)
}

/// 1.1.1, 1.2.1 and 1.2.2: as the machine below has them, except for names and numbers of CPUs.
fn machine<H: Hardware>(
    run: &mut Execution<'_, H>,
    selectors: (u8, u16),
    block: &mut [u8; 4096],
) -> bool {
    let (first, second) = selectors;
    if !matches!(selectors, (1 | 2, 1) | (2, 2))
        || run
            .hardware
            .system_information(1, u16::from(first), second, block)
            .is_none()
    {
        return false;
    }
    match selectors {
        (1, _) => {
            let machine_type = (run.configuration.cpu_id >> 16) as u16;
            if let Some(model) = model::of_type(machine_type) {
                let cores = run.configuration.threads.cores(run.configuration.cpus);
                let capacity = model::capacity_identifier(cores);
                put(block, at::MODEL, &padded(model.hardware.as_bytes()));
                put(block, at::CAPACITY, &padded(&capacity));
            }
            put(block, at::MANUFACTURER, &IBM);
            put(
                block,
                at::TYPE,
                &[12, 8, 4, 0].map(|shift| digit(machine_type >> shift)),
            );
        }
        (_, 1) => {
            put(block, at::CPU_ADDRESS, &run.cpu.known_as.to_be_bytes());
        }
        _ => {
            cpus(run.configuration, block);
            let threads = &run.configuration.threads;
            if threads.installed() {
                let maximum = threads.maximum();
                put(
                    block,
                    at::MACHINE_THREADS,
                    &[THREADS_INSTALLED | maximum, maximum],
                );
            }
        }
    }
    true
}

/// The numbers of CPUs: all are configured, none is standby or reserved.
fn cpus(configuration: &Configuration, block: &mut [u8; 4096]) {
    let count = configuration
        .threads
        .cores(configuration.cpus)
        .to_be_bytes();
    put(block, at::CPUS, &count);
    put(block, at::CPUS + 2, &count);
    put(block, at::CPUS + 4, &[0; 4]);
}

/// 2.2.1: this logical CPU, with the sequence code of the machine.
fn logical_cpu<H: Hardware>(run: &mut Execution<'_, H>, block: &mut [u8; 4096]) -> bool {
    // The sequence code and the plant are at the same offset in the block of the machine.
    if run.hardware.system_information(1, 1, 1, block).is_none() {
        return false;
    }
    let sequence = at::SEQUENCE..at::SEQUENCE + 20;
    block
        .iter_mut()
        .enumerate()
        .filter(|(n, _)| !sequence.contains(n))
        .for_each(|(_, b)| *b = 0);
    let address = run.cpu.known_as.to_be_bytes();
    put(block, at::LOGICAL_CPU, &address);
    put(block, at::CPU_ADDRESS, &address);
    true
}

/// 3.2.2: the virtual machines in which the guest runs, as the machine below has them, except for the
/// numbers of CPUs of the innermost one, which is the guest's. If the machine below is none, the guest's is the only one.
fn virtual_machine<H: Hardware>(
    run: &mut Execution<'_, H>,
    selectors: (u8, u16),
    block: &mut [u8; 4096],
) -> bool {
    let (first, second) = selectors;
    let found = run
        .hardware
        .system_information(3, u16::from(first), second, block);
    if selectors != (2, 2) {
        return found.is_some();
    }
    if found.is_none() {
        put(block, at::MACHINES, &[1]);
        put(block, at::NAME, &PARTITION_NAME);
        put(block, at::ADJUSTMENT, &UNADJUSTED.to_be_bytes());
        put(block, at::CONTROL_PROGRAM, &padded(b"MILLIMETER"));
    }
    cpus(run.configuration, block);
    true
}

/// 2.2.2: the logical partition, and whether its CPUs are dedicated to it.
fn partition(configuration: &Configuration, block: &mut [u8; 4096]) {
    put(block, at::PARTITION, &PARTITION_NUMBER.to_be_bytes());
    let (characteristics, kind) = if configuration.dedicated {
        (DEDICATED, at::DEDICATED)
    } else {
        (SHARED, at::DEDICATED + 2)
    };
    put(block, at::CHARACTERISTICS, &[characteristics]);
    cpus(configuration, block);
    put(block, at::NAME, &PARTITION_NAME);
    put(block, at::ADJUSTMENT, &UNADJUSTED.to_be_bytes());
    let threads = &configuration.threads;
    let count = threads.cores(configuration.cpus);
    put(block, kind, &count.to_be_bytes());
    if threads.installed() {
        let maximum = threads.maximum();
        let specified = if threads.enabled() {
            threads.specified()
        } else {
            0
        };
        put(
            block,
            at::THREADS,
            &[THREADS_INSTALLED | maximum, maximum, specified],
        );
    }
}
