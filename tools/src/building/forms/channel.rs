//! IPL from a device by channel programs: what cards and a DASD have in common.
//!
//! By the Principles of Operation, an IPL reads 24 bytes to absolute 0: a PSW and two CCWs of the format 0, where the channel
//! program goes on. When it has ended, the PSW is loaded. CCWs of the format 0 have addresses of 24 bits, so the
//! IPL reads a second channel program, of the format 1, and a small program that starts it (`boot/channel.s`, a part
//! of the image that runs wherever it is read to).

use anyhow::{Context, Result};

use super::flat::{self, Flat};

/// IPL PSW of 64 bits: disabled, 31-bit addressing (bits 12 and 32 one), at this address.
pub const fn ipl_psw(address: u64) -> u64 {
    0x0008_0000_8000_0000 | address
}

/// Commands of channel programs.
pub mod command {
    /// Read; on a DASD of fixed blocks, read IPL.
    pub const READ: u8 = 0x02;
    /// Transfer in channel.
    pub const TRANSFER: u8 = 0x08;
}

/// Flags of a CCW.
pub mod flag {
    /// Chain commands.
    pub const CHAIN: u8 = 0x40;
    /// Suppress the indication of an incorrect length.
    pub const ANY_LENGTH: u8 = 0x20;
}

/// A channel-command word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ccw {
    /// The command.
    pub command: u8,
    /// Bits of [`flag`].
    pub flags: u8,
    /// The number of bytes.
    pub count: u16,
    /// Where they are: below 16 MiB in the format 0, below 2 GiB in the format 1.
    pub address: u32,
}

impl Ccw {
    /// A transfer in channel.
    pub const fn transfer(address: u32) -> Self {
        Self {
            command: command::TRANSFER,
            flags: 0,
            count: 0,
            address,
        }
    }

    /// The word in the format 0.
    pub fn format_0(self) -> [u8; 8] {
        let [_, high, middle, low] = self.address.to_be_bytes();
        let [count_high, count_low] = self.count.to_be_bytes();
        [
            self.command,
            high,
            middle,
            low,
            self.flags,
            0,
            count_high,
            count_low,
        ]
    }

    /// The word in the format 1.
    pub fn format_1(self) -> [u8; 8] {
        let [count_high, count_low] = self.count.to_be_bytes();
        let [a, b, c, d] = self.address.to_be_bytes();
        [self.command, self.flags, count_high, count_low, a, b, c, d]
    }
}

/// The 24 bytes that an IPL reads: the PSW of a program at this address, and two CCWs.
pub fn ipl_record(program: u32, ccws: [Ccw; 2]) -> Vec<u8> {
    let mut record = ipl_psw(program.into()).to_be_bytes().to_vec();
    record.extend(ccws.into_iter().flat_map(Ccw::format_0));
    record
}

/// A channel program of the format 1 in storage.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Where it is.
    pub address: u32,
    /// The storage from there that is to be cleared before the image is entered.
    pub length: u32,
    /// Whether it reads its successor to the same place, until one begins with the command zero.
    pub has_successors: bool,
}

/// The program that starts this channel program, and then enters the image.
pub fn loader(elf: &[u8], image: &Flat, program: Program) -> Result<Vec<u8>> {
    let at = |name| {
        let address = flat::symbol(elf, name)?;
        usize::try_from(address - image.address).context("the image is damaged; build it again")
    };
    let (start, parameters, end) = (
        at("channel_loader")?,
        at("channel_loader_parameters")?,
        at("channel_loader_end")?,
    );
    let words = [
        program.address,
        program.address,
        program.length,
        image.entry as u32,
        program.has_successors.into(),
    ];
    let mut loader = image
        .bytes
        .get(start..end)
        .context("the image has no loader for channel programs; build it again")?
        .to_vec();
    let bytes = words.iter().flat_map(|word| word.to_be_bytes());
    for (place, byte) in loader.iter_mut().skip(parameters - start).zip(bytes) {
        *place = byte;
    }
    Ok(loader)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_formats_of_a_ccw_have_their_fields_in_place() {
        let ccw = Ccw {
            command: command::READ,
            flags: flag::CHAIN,
            count: 0x1234,
            address: 0x56_789A,
        };
        assert_eq!(ccw.format_0(), [2, 0x56, 0x78, 0x9A, 0x40, 0, 0x12, 0x34]);
        assert_eq!(ccw.format_1(), [2, 0x40, 0x12, 0x34, 0, 0x56, 0x78, 0x9A]);
    }
}
