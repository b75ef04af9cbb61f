//! The program-status word.

use super::bits::bit64;
use super::condition::ConditionCode;
use bitfield::bitfield;

/// PSW bit 1: PER mask.
pub const PER: u64 = bit64(1);
/// PSW bit 5: DAT mode.
pub const DAT: u64 = bit64(5);
/// PSW bit 6: I/O mask.
pub const IO: u64 = bit64(6);
/// PSW bit 7: external mask.
pub const EXTERNAL: u64 = bit64(7);
/// PSW bits 8-11: the access key.
pub const KEY: u64 = 0x00F0_0000_0000_0000;
/// PSW bit 12: must be zero in z/Architecture.
pub const BIT_12: u64 = bit64(12);
/// PSW bit 13: machine-check mask.
pub const MACHINE_CHECK: u64 = bit64(13);
/// PSW bit 14: wait state.
pub const WAIT: u64 = bit64(14);
/// PSW bit 15: problem state.
pub const PROBLEM: u64 = bit64(15);
/// PSW bits 16-17: address-space control.
pub const ADDRESS_SPACE: u64 = bit64(16) | bit64(17);
/// The address-space control of the home-space mode.
pub const HOME_SPACE: u64 = ADDRESS_SPACE;
/// The address-space control of the secondary-space mode.
pub const SECONDARY_SPACE: u64 = bit64(16);
/// PSW bits 18-19: condition code.
pub const CONDITION_CODE: u64 = bit64(18) | bit64(19);
/// PSW bits 20-23: program mask.
pub const PROGRAM_MASK: u64 = 0x0000_0F00_0000_0000;
/// PSW bit 31: extended addressing mode.
pub const EXTENDED_ADDRESSING: u64 = bit64(31);
/// PSW bit 32: basic addressing mode.
pub const BASIC_ADDRESSING: u64 = bit64(32);
/// PSW bits 31-32 both one: 64-bit addressing.
pub const ADDRESSING_64: u64 = EXTENDED_ADDRESSING | BASIC_ADDRESSING;

/// Bits that must be zero: 0, 2-4, 24-30 and 33-63 (bit 12 is tested on its own).
const RESERVED: u64 = bit64(0) | bit64(2) | bit64(3) | bit64(4) | 0x0000_00FE_7FFF_FFFF;

bitfield! {
    /// The left half of the PSW, field by field.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct Mask(u64);
    impl Debug;
    /// PER mask (bit 1).
    pub per, set_per: 62;
    /// DAT mode (bit 5).
    pub dat, set_dat: 58;
    /// I/O mask (bit 6).
    pub io, set_io: 57;
    /// External mask (bit 7).
    pub external, set_external: 56;
    /// PSW key (bits 8-11).
    pub u8, key, set_key: 55, 52;
    /// Machine-check mask (bit 13).
    pub machine_check, set_machine_check: 50;
    /// Wait state (bit 14).
    pub wait, set_wait: 49;
    /// Problem state (bit 15).
    pub problem, set_problem: 48;
    /// Address-space control (bits 16-17): 0 primary, 1 access register, 2 secondary, 3 home.
    pub u8, address_space, set_address_space: 47, 46;
    /// Condition code (bits 18-19).
    pub u8, condition_code, set_condition_code: 45, 44;
    /// Program mask (bits 20-23).
    pub u8, program_mask, set_program_mask: 43, 40;
    /// Addressing mode (bits 31-32): 0 24-bit, 1 31-bit, 3 64-bit.
    pub u8, addressing, set_addressing: 32, 31;
}

/// The address-space control of a PSW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AddressSpace {
    /// Primary-space mode.
    Primary = 0,
    /// Access-register mode.
    AccessRegister = 1,
    /// Secondary-space mode.
    Secondary = 2,
    /// Home-space mode.
    Home = 3,
}

/// A program-status word: 64 bits of masks and modes, and the instruction address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Psw {
    /// Bits 0-63.
    pub mask: u64,
    /// Bits 64-127: the instruction address.
    pub address: u64,
}

impl Psw {
    /// The left half as named fields.
    #[must_use]
    #[inline]
    pub const fn fields(&self) -> Mask {
        Mask(self.mask)
    }

    /// Whether the CPU is in the problem state.
    #[must_use]
    #[inline]
    pub const fn problem_state(&self) -> bool {
        self.mask & PROBLEM != 0
    }

    /// Whether the CPU is in the wait state.
    #[must_use]
    #[inline]
    pub const fn wait(&self) -> bool {
        self.mask & WAIT != 0
    }

    /// Whether dynamic address translation is on.
    #[must_use]
    #[inline]
    pub const fn dat(&self) -> bool {
        self.mask & DAT != 0
    }

    /// The address-space control.
    #[must_use]
    #[inline]
    pub const fn address_space(&self) -> AddressSpace {
        match (self.mask >> 46) & 3 {
            0 => AddressSpace::Primary,
            1 => AddressSpace::AccessRegister,
            2 => AddressSpace::Secondary,
            _ => AddressSpace::Home,
        }
    }

    /// The condition code.
    #[must_use]
    #[inline]
    pub const fn condition_code(&self) -> ConditionCode {
        ConditionCode::from_bits((self.mask >> 44) as u8)
    }

    /// Sets the condition code.
    #[inline]
    pub const fn set_condition_code(&mut self, code: ConditionCode) {
        self.mask = (self.mask & !CONDITION_CODE) | ((code as u64) << 44);
    }

    /// The mask of the bits of an address in the current addressing mode.
    #[must_use]
    #[inline]
    pub const fn address_mask(&self) -> u64 {
        if self.mask & ADDRESSING_64 == ADDRESSING_64 {
            return u64::MAX;
        }
        self.narrow_address_mask()
    }

    /// The same in the 24- and 31-bit modes, out of line so that the 64-bit mode stays fast.
    #[cold]
    const fn narrow_address_mask(&self) -> u64 {
        if self.mask & BASIC_ADDRESSING != 0 {
            0x7FFF_FFFF
        } else {
            0x00FF_FFFF
        }
    }

    /// Whether loading this PSW causes an early specification exception:
    /// a one in an unassigned bit or bit 12, bits 31-32 of 10, or an address wider than the mode.
    #[must_use]
    #[inline]
    pub const fn early_specification(&self) -> bool {
        // In the 64-bit mode, nearly always, no address is too wide.
        if self.mask & (RESERVED | BIT_12 | ADDRESSING_64) == ADDRESSING_64 {
            return false;
        }
        self.refused_or_narrow()
    }

    /// The same for a PSW that has such a bit, or another addressing mode.
    #[cold]
    const fn refused_or_narrow(&self) -> bool {
        self.mask & (RESERVED | BIT_12) != 0
            || self.mask & ADDRESSING_64 == EXTENDED_ADDRESSING
            || self.address & !self.address_mask() != 0
    }

    /// Expands the eight bytes of an ESA/390-format PSW as LOAD PSW does: inverts bit 12 and makes bits
    /// 33-63 the instruction address.
    #[must_use]
    pub const fn from_short(short: u64) -> Self {
        Self {
            mask: (short & !0x7FFF_FFFF) ^ BIT_12,
            address: short & 0x7FFF_FFFF,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_psw_with_a_reserved_bit_a_bad_mode_or_a_wide_address_is_refused_early() {
        let good = Psw {
            mask: 0x0000_0001_8000_0000,
            address: 0x20_0000,
        };
        assert!(!good.early_specification());
        for bit in [0, 2, 3, 4, 12, 24, 30, 33, 63] {
            assert!(
                Psw {
                    mask: good.mask | bit64(bit),
                    ..good
                }
                .early_specification(),
                "bit {bit}"
            );
        }
        assert!(
            Psw {
                mask: EXTENDED_ADDRESSING,
                address: 0
            }
            .early_specification()
        );
        assert!(
            Psw {
                mask: BASIC_ADDRESSING,
                address: 0x8000_0000
            }
            .early_specification()
        );
        assert!(
            Psw {
                mask: 0,
                address: 0x0100_0000
            }
            .early_specification()
        );
        assert!(
            !Psw {
                mask: 0,
                address: 0x00FF_FFFF
            }
            .early_specification()
        );
    }

    #[test]
    fn load_psw_inverts_bit_12_and_moves_the_address() {
        let psw = Psw::from_short(0x000A_0000_8000_0FFF);
        assert_eq!(
            psw,
            Psw {
                mask: 0x0002_0000_8000_0000,
                address: 0xFFF
            }
        );
    }

    #[test]
    fn the_named_fields_are_the_bits_of_the_manual() {
        let psw = Psw {
            mask: 0x0705_C000_8000_0000 | CONDITION_CODE,
            address: 0,
        };
        assert!(psw.dat() && psw.problem_state() && !psw.wait());
        assert_eq!(psw.address_space(), AddressSpace::Home);
        assert_eq!(psw.condition_code(), ConditionCode::Three);
        let fields = psw.fields();
        assert!(fields.io() && fields.external() && fields.machine_check());
        assert_eq!((fields.key(), fields.address_space()), (0, 3));
    }
}
