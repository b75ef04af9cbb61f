//! General register 0 of the message-security assist: the function code and its modifiers.

/// Bits 32-63 of general register 0 as the instructions of the message-security assist read them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control(pub u64);

impl Control {
    const MODIFIER: u64 = 1 << (63 - 56);
    const LAST_TEXT: u64 = 1 << (63 - 55);
    const LAST_ADDITIONAL_DATA: u64 = 1 << (63 - 54);
    const HASH_SUBKEY: u64 = 1 << (63 - 53);

    /// Bits 57-63: the function code.
    #[must_use]
    pub const fn function_code(self) -> u8 {
        self.0 as u8 & 0x7F
    }

    /// Bit 56, the modifier. KM, KMC, KMF, KMO, KMCTR and KMA: decipher. PRNO: seed. KDSA that
    /// signs with ECDSA: the random number of the parameter block is the nonce itself.
    #[must_use]
    pub const fn modifier(self) -> bool {
        self.0 & Self::MODIFIER != 0
    }

    /// KMF, bits 32-39: the length of the cipher feedback in bytes.
    #[must_use]
    pub const fn cipher_feedback(self) -> usize {
        (self.0 >> 24) as usize & 0xFF
    }

    /// KMA, bit 53: the hash subkey is in the parameter block already (HS).
    #[must_use]
    pub const fn hash_subkey_supplied(self) -> bool {
        self.0 & Self::HASH_SUBKEY != 0
    }

    /// The same general register 0 with bit 53 one, as KMA leaves it after storing the hash subkey.
    #[must_use]
    pub const fn with_hash_subkey(self) -> Self {
        Self(self.0 | Self::HASH_SUBKEY)
    }

    /// KMA, bit 54: the third operand ends the additional authenticated data (LAAD).
    #[must_use]
    pub const fn last_additional_data(self) -> bool {
        self.0 & Self::LAST_ADDITIONAL_DATA != 0
    }

    /// KMA, bit 55: the second operand ends the plaintext or ciphertext (LPC).
    #[must_use]
    pub const fn last_text(self) -> bool {
        self.0 & Self::LAST_TEXT != 0
    }

    /// KLMD with a SHAKE function, bit 55: the message is padded and absorbed already (PS).
    #[must_use]
    pub const fn padded(self) -> bool {
        self.0 & Self::LAST_TEXT != 0
    }

    /// The same general register 0 with bit 55 one, as KLMD leaves it when it stops while a SHAKE function
    /// fills the first operand.
    #[must_use]
    pub const fn with_padded(self) -> Self {
        Self(self.0 | Self::LAST_TEXT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_register_0_holds_the_function_code_right_of_the_modifier() {
        let control = Control(0xFFFF_FFFF_0800_0792);
        assert_eq!(control.function_code(), 18);
        assert!(control.modifier());
        assert_eq!(control.cipher_feedback(), 8);
        assert!(control.hash_subkey_supplied());
        assert!(control.last_additional_data() && control.last_text() && control.padded());
        assert_eq!(Control(18).with_hash_subkey(), Control(0x412));
        assert_eq!(Control(36).with_padded(), Control(0x124));
    }
}
