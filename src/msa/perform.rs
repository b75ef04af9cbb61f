//! The operations: one method for each class of instruction. The caller passes whole data blocks.
//!
//! Nothing here panics: a call with less than the whole parameter block, of another instruction's
//! method or with a control that [`Function::accepts`] refuses does nothing, and an incomplete data
//! block is ignored.

use super::algorithm::Algorithm;
use super::cipher::Cipher;
use super::function::EDDSA_SIGN;
use super::{Control, Function, Instruction, Signature};
use super::{ghash, keccak, km, kma, kmac, kmc, kmctr, kmf, kmo, prno, sha, xts};
use arch::condition::ConditionCode;
use curves::ecdsa::Curve;
use curves::{eddsa, edwards};

impl Function {
    /// KM, KMC, KMF, KMO, and the text of KMA: transforms `input` into `output` of the same length
    /// and leaves the chaining value in the parameter block. The modifier bit of `control` selects
    /// deciphering.
    ///
    /// The length is a multiple of [`Function::data_block`], except that the last piece of KMA's text may
    /// be shorter. KMA needs its hash subkey before ([`Function::supply_hash_subkey`]).
    pub fn process(self, control: Control, parameter: &mut [u8], input: &[u8], output: &mut [u8]) {
        let Some(cipher) = self.cipher(parameter).filter(|_| self.accepts(control)) else {
            return;
        };
        let length = input.len().min(output.len());
        let whole = match self.instruction {
            Instruction::Kma => length,
            _ => self.whole(control, length),
        };
        let input = input.split_at(whole.min(length)).0;
        let output = output.split_at_mut(whole.min(length)).0;
        let decipher = control.modifier();
        if self.instruction == Instruction::Kma {
            return kma::process(&cipher, decipher, parameter, input, output);
        }
        let Some(chaining) = parameter.get_mut(self.updated()) else {
            return;
        };
        match (self.instruction, self.algorithm) {
            (Instruction::Km, Algorithm::XtsAes128 | Algorithm::XtsAes256) => {
                if let Some(xts_parameter) = chaining.first_chunk_mut() {
                    xts::process(&cipher, decipher, xts_parameter, input, output);
                }
            }
            (Instruction::Km, _) => km::process(&cipher, decipher, input, output),
            (Instruction::Kmc, _) => {
                kmc::process(&cipher, decipher, chaining, input, output);
            }
            (Instruction::Kmf, _) => {
                let feedback = control.cipher_feedback();
                kmf::process(&cipher, decipher, feedback, chaining, input, output);
            }
            (Instruction::Kmo, _) => kmo::process(&cipher, chaining, input, output),
            _ => (),
        }
    }

    /// KMCTR: exclusive-ors `input` with the enciphered `counters` into `output`, all three of one
    /// length, a multiple of the data block. The parameter block does not change.
    pub fn process_counters(
        self,
        parameter: &[u8],
        counters: &[u8],
        input: &[u8],
        output: &mut [u8],
    ) {
        if let (Instruction::Kmctr, Some(cipher)) = (self.instruction, self.cipher(parameter)) {
            let length = input.len().min(counters.len()).min(output.len());
            let whole = self.whole(Control::default(), length).min(length);
            let [counters, input] = [counters, input].map(|bytes| bytes.split_at(whole).0);
            kmctr::process(&cipher, counters, input, output.split_at_mut(whole).0);
        }
    }

    /// KMA with HS zero: computes the hash subkey into the parameter block. Afterwards general
    /// register 0 is [`Control::with_hash_subkey`].
    pub fn supply_hash_subkey(self, parameter: &mut [u8]) {
        if let (Instruction::Kma, Some(cipher)) = (self.instruction, self.cipher(parameter)) {
            kma::supply_hash_subkey(&cipher, parameter);
        }
    }

    /// KMA: takes a piece of the additional authenticated data into the tag. A multiple of 16
    /// bytes, except that the last piece (LAAD one) may be shorter.
    pub fn authenticate(self, parameter: &mut [u8], data: &[u8]) {
        if self.instruction == Instruction::Kma && self.holds(parameter) {
            kma::authenticate(parameter, data);
        }
    }

    /// KMA with LPC one, once all the text is processed: completes the tag from the total lengths.
    pub fn authentication_tag(self, parameter: &mut [u8]) {
        if let (Instruction::Kma, Some(cipher)) = (self.instruction, self.cipher(parameter)) {
            kma::tag(&cipher, parameter);
        }
    }

    /// KMAC, KIMD and KLMD: takes whole data blocks into the chaining value.
    pub fn digest(self, parameter: &mut [u8], input: &[u8]) {
        if !self.holds(parameter) {
            return;
        }
        let whole = self.whole(Control::default(), input.len());
        let input = input.split_at(whole.min(input.len())).0;
        match (self.instruction, self.algorithm) {
            (Instruction::Kmac, _) => {
                if let Some(cipher) = self.cipher(parameter)
                    && let Some(chaining) = parameter.get_mut(self.updated())
                {
                    kmac::process(&cipher, chaining, input);
                }
            }
            (Instruction::Kimd, Algorithm::Ghash) => {
                if let ([hash, subkey], _) = parameter.as_chunks_mut() {
                    ghash::process(hash, *subkey, input);
                }
            }
            (
                Instruction::Kimd | Instruction::Klmd,
                Algorithm::Sha3 { rate } | Algorithm::Shake { rate },
            ) => keccak::process(rate.into(), parameter, input),
            (Instruction::Kimd | Instruction::Klmd, algorithm) => {
                sha::process(algorithm, parameter, input);
            }
            _ => (),
        }
    }

    /// KLMD: pads the rest of the message, which is shorter than a data block and may be empty, takes it
    /// into the digest and leaves the digest at the left of the parameter block.
    ///
    /// With a SHAKE function (where [`Function::extends`] is true) the parameter block holds the
    /// state from which [`Function::extend`] fills the first operand. Do not call this when
    /// [`Control::padded`] is true.
    pub fn digest_last(self, parameter: &mut [u8], rest: &[u8]) {
        let block = self.data_block(Control::default());
        if self.instruction != Instruction::Klmd || !self.holds(parameter) || rest.len() >= block {
            return;
        }
        match self.algorithm {
            Algorithm::Sha3 { rate } => {
                keccak::last(rate.into(), keccak::SHA3_PADDING, parameter, rest);
            }
            Algorithm::Shake { rate } => {
                keccak::last(rate.into(), keccak::SHAKE_PADDING, parameter, rest);
            }
            algorithm => sha::last(algorithm, self.updated().end, block, parameter, rest),
        }
    }

    /// KLMD with a SHAKE function: fills a piece of the first operand. Every piece except the last is
    /// a multiple of the data block. `continued` is false for the piece right after
    /// [`Function::digest_last`] and true for all later ones, also when the instruction finds
    /// [`Control::padded`]; so the instruction may stop (with [`Control::with_padded`]) only after
    /// a data block is out.
    pub fn extend(self, parameter: &mut [u8], continued: bool, output: &mut [u8]) {
        if let (Instruction::Klmd, Algorithm::Shake { rate }, true) =
            (self.instruction, self.algorithm, self.holds(parameter))
        {
            keccak::extend(rate.into(), continued, parameter, output);
        }
    }

    /// PRNO, SHA-512-DRNG generate: whether the parameter block was ever seeded. If not, the instruction
    /// causes a specification exception.
    #[must_use]
    pub fn is_seeded(self, parameter: &[u8]) -> bool {
        self.algorithm == Algorithm::Sha512Drng
            && parameter.first_chunk().is_some_and(prno::is_seeded)
    }

    /// PRNO, SHA-512-DRNG seed: instantiates the generator if it was never seeded, otherwise seeds it
    /// again. `entropy` is the whole second operand, at most 512 bytes.
    pub fn seed(self, parameter: &mut [u8], entropy: &[u8]) {
        if self.algorithm == Algorithm::Sha512Drng
            && let Some(parameter) = parameter.first_chunk_mut()
        {
            prno::seed(parameter, entropy);
        }
    }

    /// PRNO, SHA-512-DRNG generate: fills the piece of the request at `offset`, a multiple of 64. The pieces
    /// come from the end of the request to its beginning; the piece at `offset` zero completes the request
    /// and advances the generator.
    pub fn generate(self, parameter: &mut [u8], offset: u64, output: &mut [u8]) {
        if self.algorithm == Algorithm::Sha512Drng
            && let Some(parameter) = parameter.first_chunk_mut()
        {
            prno::generate(parameter, offset / 64, output);
            if offset == 0 {
                prno::complete(parameter);
            }
        }
    }

    /// PCC: computes in the parameter block. Condition code 0, or 2 when the source point of a scalar
    /// multiplication is not on the curve or the result is the point at infinity. A length of CMAC's
    /// message above the block of the cipher counts as the whole block.
    ///
    /// | CMAC | XTS parameter | scalar multiplication |
    /// |---|---|---|
    /// | length of the message in bits (1 byte) | key | coordinates of the result |
    /// | reserved (7 bytes) | tweak (16 bytes) | coordinates of the source |
    /// | message (a block) | block sequential number (16 bytes) | scalar |
    /// | chaining value, and then the code (a block) | intermediate bit index (16 bytes) | |
    /// | key | XTS parameter (16 bytes) | |
    pub fn compute(self, parameter: &mut [u8]) -> ConditionCode {
        if self.instruction != Instruction::Pcc || !self.holds(parameter) {
            return ConditionCode::Zero;
        }
        match self.algorithm {
            Algorithm::P256 => return Curve::P256.multiply(parameter),
            Algorithm::P384 => return Curve::P384.multiply(parameter),
            Algorithm::P521 => return Curve::P521.multiply(parameter),
            Algorithm::Ed25519 => {
                let Some((parameter, _)) = parameter.split_at_mut_checked(160) else {
                    return ConditionCode::Two;
                };
                return edwards::multiply(parameter);
            }
            Algorithm::X25519 => return eddsa::multiply(parameter),
            _ => (),
        }
        let Some(cipher) = self.cipher(parameter) else {
            return ConditionCode::Zero;
        };
        let updated = self.updated();
        if let Algorithm::XtsAes128 | Algorithm::XtsAes256 = self.algorithm {
            if let Some((before, behind)) = parameter.split_at_mut_checked(updated.start)
                && let [.., tweak, block, _bit] = before.as_rchunks().1
                && let Some(xts_parameter) = behind.first_chunk_mut()
            {
                let block = u128::from_be_bytes(*block);
                *xts_parameter = xts::parameter(&cipher, *tweak, block);
            }
        } else {
            let length = parameter.first().copied().unwrap_or_default();
            let bits = usize::from(length).min(8 * updated.len());
            let used = parameter.get_mut(..updated.end);
            if let Some((before, chaining)) =
                used.and_then(|used| used.split_at_mut_checked(updated.start))
                && let Some(message) = before.get(8..)
            {
                kmac::last_block(&cipher, chaining, message, bits);
            }
        }
        ConditionCode::Zero
    }

    /// KDSA with an ECDSA function: signs, or verifies a signature, in the parameter block.
    ///
    /// Condition code 0 when the signature is made or valid; 1 when the private key is out of range, so
    /// that no other random number helps; 2 when the signature is not valid, the public key is not a point
    /// of the curve, or the random number cannot be the nonce (see [`Control::modifier`]).
    pub fn sign_or_verify(self, control: Control, parameter: &mut [u8]) -> ConditionCode {
        if self.instruction != Instruction::Kdsa || !self.holds(parameter) {
            return ConditionCode::Two;
        }
        match self.code {
            1 => Curve::P256.verify(parameter),
            2 => Curve::P384.verify(parameter),
            3 => Curve::P521.verify(parameter),
            9 => Curve::P256.sign(control.modifier(), parameter),
            10 => Curve::P384.sign(control.modifier(), parameter),
            11 => Curve::P521.sign(control.modifier(), parameter),
            _ => ConditionCode::Two,
        }
    }

    /// KDSA with an EdDSA function: begins to sign or to verify the second operand, or resumes from the
    /// state that an earlier piece left. `None` if it is not a state of this function, or the function is
    /// not an EdDSA function.
    #[must_use]
    pub fn signature(
        self,
        parameter: &[u8],
        state: Option<&[u8; Signature::STATE]>,
    ) -> Option<Signature> {
        if self.continuation().is_none() || !self.holds(parameter) {
            return None;
        }
        match state {
            None => Some(Signature::begin(self.code == EDDSA_SIGN, parameter)),
            Some(state) => Signature::resume(self.code == EDDSA_SIGN, state),
        }
    }

    /// All of the message has been taken. `None` if it must be taken once more from its beginning (signing
    /// takes two passes), otherwise the condition code: 0, the signature is made or valid; 2, it is not valid
    /// or the public key is not a point of the curve.
    pub fn end_pass(
        self,
        signature: &mut Signature,
        parameter: &mut [u8],
    ) -> Option<ConditionCode> {
        if self.holds(parameter) {
            signature.end_pass(parameter)
        } else {
            Some(ConditionCode::Two)
        }
    }

    /// Whether `parameter` is as long as the parameter block.
    fn holds(self, parameter: &[u8]) -> bool {
        parameter.len() >= self.parameter_length()
    }

    /// The part of `length` that is whole data blocks.
    fn whole(self, control: Control, length: usize) -> usize {
        length
            - length
                .checked_rem(self.data_block(control))
                .unwrap_or(length)
    }

    /// The block cipher with the key of the parameter block, if the function has one and `parameter` is
    /// the whole block.
    fn cipher(self, parameter: &[u8]) -> Option<Cipher> {
        if !self.holds(parameter) {
            return None;
        }
        Cipher::new(self.algorithm, parameter.get(self.key())?)
    }
}
