//! A copy of the stack of a program at a sample, for a program that has no back chain.
//!
//! The host unwinds such a program by its rules, and needs the registers and the stack for that. The program is the one
//! that the sample shows, or the one that the sampled kernel had interrupted: then the kernel has its registers
//! ([`super::stack`] has found where). Every address is a claim. The copy ends where the storage does.

use crate::hardware::Hardware;
use crate::state::access::{Access, Manner, Space};
use crate::state::configuration::Configuration;
use crate::state::vcpu::Vcpu;
use crate::storage;
use arch::address::{PAGE, Virtual};
use link::copies::CopyHead;
use zerocopy::byteorder::big_endian::U64;

/// Copies the stack of the program at the sample with this number into `bytes`. `None` if the CPU is not in a program, nor
/// in a kernel that says what it interrupted: it has the program's general registers at `registers`, or that is zero.
#[inline(never)]
pub fn copy<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    registers: u64,
    sample: u64,
    bytes: &mut [u8],
) -> Option<CopyHead> {
    // A kernel that was sampled may have put other values into them.
    let has_floating_point = cpu.psw.problem_state();
    let floating_point = if has_floating_point {
        hardware.saved_registers().floating_point
    } else {
        [0; 16]
    };
    let reader = Reader {
        cpu,
        configuration,
        hardware: &*hardware,
    };
    let (general, address, space): ([U64; 16], _, _);
    if cpu.psw.problem_state() {
        general = cpu.general.map(U64::new);
        address = cpu.psw.address;
        space = Space::current(cpu, Access::Fetch);
    } else if registers != 0 {
        let kernel = Space::current(cpu, Access::Fetch).or(Some(Space::Home));
        let mut kept = [0; 128];
        if reader.read(kernel, registers, &mut kept) != kept.len() {
            return None;
        }
        general = zerocopy::transmute!(kept);
        // The PSW is before the registers.
        let mut psw = [0; 8];
        if reader.read(kernel, registers.wrapping_sub(8), &mut psw) != psw.len() {
            return None;
        }
        address = u64::from_be_bytes(psw);
        space = Some(Space::of_interrupted(cpu));
    } else {
        return None;
    }
    let stack = general[15].get();
    let length = if stack.is_multiple_of(8) {
        reader.read(space, stack, bytes)
    } else {
        0
    };
    Some(CopyHead {
        sample: sample.into(),
        address: address.into(),
        general,
        floating_point: floating_point.map(U64::new),
        length: (length as u32).into(),
        has_floating_point: u32::from(has_floating_point).into(),
    })
}

struct Reader<'a, H> {
    cpu: &'a Vcpu,
    configuration: &'a Configuration,
    hardware: &'a H,
}

impl<H: Hardware> Reader<'_, H> {
    /// Reads bytes, page after page, until one has no storage. Returns how many.
    fn read(&self, space: Option<Space>, from: u64, into: &mut [u8]) -> usize {
        let manner = Manner::without_key(space, Access::Fetch);
        let mut done = 0;
        while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let Some(at) = from.checked_add(done as u64).map(Virtual) else {
                break;
            };
            let length = rest.len().min((PAGE - at.byte_index()) as usize);
            let (cpu, configuration) = (self.cpu, self.configuration);
            let hardware = self.hardware;
            let piece = storage::piece(cpu, configuration, hardware, manner, at, length as u64);
            let (Ok(piece), Some(place)) = (piece, rest.get_mut(..length)) else {
                break;
            };
            hardware.load(piece.start(), place);
            done += length;
        }
        done
    }
}
