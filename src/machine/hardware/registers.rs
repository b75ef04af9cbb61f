//! The registers that the firmware itself does not use: floating-point, vector and access registers.
//!
//! They always hold the guest's values and stay in the hardware, on the guest's own CPU. The firmware
//! is soft-float, so the compiler never uses them. Only a reset changes them, or an
//! instruction that QEMU performs wrongly, and only these, a machine check and the status of a CPU show them.

use crate::arch::control::{CR0_AFP, CR0_VECTOR};
use crate::arch::facility::{FacilityList, VECTOR};
use crate::guest::hardware::Saved;
use crate::machine::hardware::{instruction, wait};
use core::arch::asm;

/// Sets the floating-point-control register.
pub fn set_floating_point_control(value: u32) {
    wait::with_cr0(CR0_AFP, || {
        // SAFETY: SET FPC changes a register that no compiled code uses.
        unsafe {
            asm!(".insn rre,0xb3840000,{},%r0", in(reg) u64::from(value), options(nostack, nomem));
        };
    });
}

/// Loads a floating-point register. Only a QEMU that lacks an instruction needs this, and it leaves the rest of a vector register
/// alone.
pub fn load_floating_point(number: u8, value: u64) {
    wait::with_cr0(CR0_AFP, || {
        // SAFETY: LOAD, long, of a local variable into a register that no compiled code uses. EXECUTE RELATIVE LONG puts its
        // number into the R1 field.
        unsafe {
            asm!(
                "exrl {number}, 2f",
                "j 3f",
                "2: .insn rx,0x68000000,%r0,0({at})",
                "3:",
                number = in(reg_addr) u64::from(number & 15) << 4,
                at = in(reg_addr) &raw const value,
                options(nostack, readonly)
            );
        }
    });
}

/// Sets the floating-point registers (or the vector registers that contain them, if the machine has
/// these) and the access registers to zeros.
pub fn clear() {
    let zeros = [0_u32; 16];
    // SAFETY: LOAD ACCESS MULTIPLE fetches 64 bytes of a local variable.
    unsafe { asm!("lam %a0,%a15,0({})", in(reg_addr) &raw const zeros, options(nostack)) };
    if FacilityList(instruction::stfle()).has(VECTOR) {
        wait::with_cr0(CR0_AFP | CR0_VECTOR, clear_vectors);
    } else {
        wait::with_cr0(CR0_AFP, clear_floating_point);
    }
}

/// VECTOR GENERATE BYTE MASK of no byte, 32 times. The leftmost bit of the numbers of the upper 16
/// registers is in another halfword.
fn clear_vectors() {
    // SAFETY: changes registers that no compiled code uses; the vector control is one.
    unsafe {
        asm!(
            ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
            ".short 0xe700+16*\\n,0,0x0044",
            ".short 0xe700+16*\\n,0,0x0844",
            ".endr",
            options(nostack, nomem)
        );
    }
}

/// LOAD ZERO, long, 16 times.
fn clear_floating_point() {
    // SAFETY: changes registers that no compiled code uses; the AFP-register control is one.
    unsafe {
        asm!(
            ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
            ".long 0xb3750000+16*\\n",
            ".endr",
            options(nostack, nomem)
        );
    }
}

/// The floating-point, floating-point-control and access registers.
pub fn save() -> Saved {
    let mut saved = Saved::default();
    wait::with_cr0(CR0_AFP, || {
        let registers = &raw mut saved.floating_point;
        // SAFETY: STORE, long, 16 times, and STORE FPC into fields that are ours.
        unsafe {
            asm!(
                ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                ".insn rx,0x60000000,%r\\n,8*\\n({at})",
                ".endr",
                ".insn s,0xb29c0000,0({control})",
                at = in(reg_addr) registers,
                control = in(reg_addr) &raw mut saved.floating_point_control,
                options(nostack)
            );
        }
    });
    // SAFETY: STORE ACCESS MULTIPLE stores 64 bytes into a field that is ours.
    unsafe { asm!("stam %a0,%a15,0({})", in(reg_addr) &raw mut saved.access, options(nostack)) };
    saved
}

/// The vector registers. The machine must have the vector facility.
pub fn save_vectors() -> [u128; 32] {
    let mut saved = [0; 32];
    wait::with_cr0(CR0_AFP | CR0_VECTOR, || {
        // SAFETY: VECTOR STORE MULTIPLE, twice, into a local variable; the vector control is one. The leftmost bit of
        // the numbers of the upper 16 registers is in another halfword.
        unsafe {
            asm!(
                ".short 0xe70f,0x1000,0x003e",
                ".short 0xe70f,0x1100,0x0c3e",
                in("r1") &raw mut saved,
                options(nostack)
            );
        }
    });
    saved
}
