//! The first instructions of a trap, of which each CPU has its own copy.
//!
//! They need a general register, and have none yet, nor a base: the only storage that they could reach, other than by a
//! relative address, is the prefix area. But while the guest has low-address protection, QEMU looks up the translation of
//! a prefix area anew for each store into it, which takes as long as a few dozen instructions. So the copy of each CPU
//! stores into that CPU's state by relative address.

use crate::arch::interruption::Class;
use crate::guest::state::vcpu::Vcpu;
use crate::machine::hardware::lowcore::{Area, Lowcore};
use core::mem::offset_of;
use core::ptr;

/// Bytes for the copy of each class.
const ROOM: u64 = 64;

/// Bytes of a copy.
const LENGTH: usize = 4 + 6 + 4 * 6;

const _: () = assert!(LENGTH as u64 <= ROOM);

// Where the first instruction of the trap entry goes for an interruption of the firmware itself.
unsafe extern "C" {
    fn firmware_program_interruption();
}

/// A copy that is being written.
struct Copy {
    begin: u64,
    text: heapless::Vec<u8, LENGTH>,
}

impl Copy {
    fn add(&mut self, instruction: &[u8]) {
        // There is room for all of them.
        let _ = self.text.extend_from_slice(instruction);
    }

    /// An instruction of six bytes whose operand is at a relative address.
    fn add_relative(&mut self, opcode: u16, operand: u64) {
        let here = self.begin + self.text.len() as u64;
        let halfwords = (operand.wrapping_sub(here) as i64 / 2) as i32;
        self.add(&opcode.to_be_bytes());
        self.add(&halfwords.to_be_bytes());
    }
}

/// Makes interruptions of a class, on the CPU with this prefix area, store the general registers, and go on at `routine` with
/// the address of the CPU's state in register 15. A program interruption of the firmware itself goes to
/// where these are handled, before anything is stored.
pub fn set(area: Area, class: Class, routine: unsafe extern "C" fn()) {
    let cpu = area.cpu();
    let mut copy = Copy {
        begin: area.entries() + class as u64 * ROOM,
        text: heapless::Vec::new(),
    };
    if class == Class::Program {
        // TEST UNDER MASK of the problem-state bit, and BRANCH RELATIVE ON CONDITION LONG if it is zero.
        let state = offset_of!(Lowcore, program_old) as u16 + 1;
        let [high, low] = state.to_be_bytes();
        copy.add(&[0x91, 0x01, high, low]);
        copy.add_relative(0xC084, firmware_program_interruption as usize as u64);
    }
    // STORE RELATIVE LONG of register 15, LOAD ADDRESS RELATIVE LONG into it, and STORE MULTIPLE of the others.
    copy.add_relative(0xC4FB, cpu + 15 * 8);
    copy.add_relative(0xC0F0, cpu);
    copy.add(&[0xEB, 0x0E, 0xF0, 0, 0, 0x24]);
    // BRANCH RELATIVE ON CONDITION LONG.
    copy.add_relative(0xC0F4, routine as usize as u64);
    for (at, byte) in (copy.begin..).zip(&copy.text) {
        // SAFETY: the page is the CPU's own for its copies, and no reference covers it.
        unsafe { ptr::write_volatile(ptr::with_exposed_provenance_mut(at as usize), *byte) };
    }
    area.set_new_address(class, copy.begin);
}

const _: () = assert!(offset_of!(Vcpu, general) == 0);
