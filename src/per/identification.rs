//! The identification that a PER interruption stores besides the interruption code.

use super::controls::Format;
use arch::psw;

/// The identification of the events of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identification {
    /// The form.
    pub format: Format,
    /// The PER code: the events ([`super::event`]).
    pub events: u8,
    /// The addressing-and-translation-mode identification, which System/370 does not have.
    pub mode: u8,
    /// The PER address: that of the instruction, or of the EXECUTE whose target it was.
    pub address: u64,
    /// The PER access identification: the access register that designated the space of an alteration. Always
    /// zero, since no program of this machine is in the access-register mode.
    pub access: u8,
}

/// The PER address as stored from location 152 (98 hex) on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// Eight bytes.
    Doubleword(u64),
    /// Four bytes; the first is zero.
    Word(u32),
}

impl Identification {
    /// Locations 150 and 151 (96 and 97 hex), and the PER address after them.
    #[must_use]
    pub const fn locations(&self) -> ([u8; 2], Address) {
        match self.format {
            Format::Z => ([self.events, self.mode], Address::Doubleword(self.address)),
            Format::S370 => {
                let address = self.address as u32 & 0xFF_FFFF;
                ([self.events & 0xF0, 0], Address::Word(address))
            }
        }
    }
}

/// The addressing-and-translation-mode identification of an instruction: bits 31, (one), 32, 5, 16 and 17 of the
/// PSW under which it began. The last two bits give the space of the altered storage (0 primary, 2 secondary, 3
/// home) and are zeros for any other event, or with DAT off.
#[must_use]
pub const fn mode_identification(mask: u64, altered_storage: bool) -> u8 {
    const fn bit(mask: u64, bit: u64, value: u8) -> u8 {
        if mask & bit != 0 { value } else { 0 }
    }
    let space = (mask & psw::ADDRESS_SPACE) >> psw::ADDRESS_SPACE.trailing_zeros();
    let altered = if altered_storage && mask & psw::DAT != 0 {
        space as u8
    } else {
        0
    };
    let basic = psw::ADDRESSING_64 & !psw::EXTENDED_ADDRESSING;
    bit(mask, psw::EXTENDED_ADDRESSING, 0x80)
        | 0x40
        | bit(mask, basic, 0x20)
        | bit(mask, psw::DAT, 0x10)
        | (space as u8) << 2
        | altered
}

#[cfg(test)]
mod tests {
    use super::*;
    use arch::psw::{ADDRESSING_64, DAT, HOME_SPACE};

    #[test]
    fn z_architecture_stores_an_address_of_eight_bytes_and_system_370_one_of_three() {
        let z = Identification {
            events: 0xC8,
            mode: 0xE0,
            address: 0x1_2345_6789,
            ..Identification::default()
        };
        assert_eq!(
            z.locations(),
            ([0xC8, 0xE0], Address::Doubleword(0x1_2345_6789))
        );
        let s370 = Identification {
            format: Format::S370,
            ..z
        };
        assert_eq!(s370.locations(), ([0xC0, 0], Address::Word(0x45_6789)));
    }

    #[test]
    fn the_mode_is_that_of_the_psw() {
        assert_eq!(mode_identification(0, false), 0x40);
        assert_eq!(mode_identification(ADDRESSING_64, true), 0xE0);
        let home = ADDRESSING_64 | DAT | HOME_SPACE;
        assert_eq!(mode_identification(home, false), 0xFC);
        assert_eq!(mode_identification(home, true), 0xFF);
        assert_eq!(mode_identification(home & !DAT, true), 0xEC);
    }
}
