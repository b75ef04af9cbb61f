//! The registers that this program's own code never uses: all floating-point, vector and access
//! registers at once.

use core::arch::asm;

use super::control::{lctlg_0, stctg_0};
use crate::psw::bit;

/// Control register 0: AFP-register control and vector enablement.
const CONTROLS: u64 = bit(45) | bit(46);

/// Their contents. The first 16 vector registers begin with the floating-point registers.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// Vector registers.
    pub vectors: [[u64; 2]; 32],
    /// Access registers.
    pub access: [u32; 16],
    /// The floating-point-control register.
    pub control: u32,
}

impl Registers {
    /// Zeros.
    pub const CLEAR: Self = Self {
        vectors: [[0; 2]; 32],
        access: [0; 16],
        control: 0,
    };

    /// Loads them all; the machine has the vector facility.
    pub fn load(&self) {
        lctlg_0(stctg_0() | CONTROLS);
        // SAFETY: fetches the structure only, into registers that no compiled code uses. VECTOR LOAD
        // MULTIPLE, twice, LOAD ACCESS MULTIPLE, and SET FPC.
        unsafe {
            asm!(
                ".short 0xe70f,0x1000,0x0036",
                ".short 0xe70f,0x1100,0x0c36",
                "lam %a0,%a15,0x200(%r1)",
                ".insn rre,0xb3840000,{control},%r0",
                control = in(reg) u64::from(self.control),
                in("r1") &raw const *self,
            );
        }
    }

    /// Stores them all.
    #[must_use]
    pub fn store() -> Self {
        let mut found = Self::CLEAR;
        let control: u64;
        lctlg_0(stctg_0() | CONTROLS);
        // SAFETY: stores into the structure only. VECTOR STORE MULTIPLE, twice, STORE ACCESS MULTIPLE,
        // and EXTRACT FPC.
        unsafe {
            asm!(
                ".short 0xe70f,0x1000,0x003e",
                ".short 0xe70f,0x1100,0x0c3e",
                "stam %a0,%a15,0x200(%r1)",
                ".insn rre,0xb38c0000,{control},%r0",
                control = inout(reg) 0_u64 => control,
                in("r1") &raw mut found,
            );
        }
        found.control = control as u32;
        found
    }
}
