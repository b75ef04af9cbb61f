//! The words and blocks of the channel subsystem that the machine between program and channel uses.

/// The number of subchannels that a guest sees: those from number 0 on in the first subchannel set.
pub const SUBCHANNELS: usize = 16;
/// A channel-command word, of either format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ccw {
    /// Command code.
    pub command: u8,
    /// Flags.
    pub flags: u8,
    /// Count, in bytes.
    pub count: u16,
    /// Data address, or the address of a list of data addresses.
    pub address: u32,
}

/// CCW flag (chain data): the next CCW's storage area continues this one's.
pub const CHAIN_DATA: u8 = 0x80;
/// CCW flag: the next CCW's command follows.
pub const CHAIN_COMMAND: u8 = 0x40;
/// CCW flag: the address designates a list of indirect-data-address words.
pub const INDIRECT: u8 = 0x04;
/// CCW flag: the channel program is suspended before this command.
pub const SUSPEND: u8 = 0x02;
/// CCW flag: the address designates a list of modified indirect-data-address words.
pub const MODIFIED_INDIRECT: u8 = 0x01;

/// The command of a transfer in channel, in the rightmost four bits of the command code.
pub const TRANSFER_IN_CHANNEL: u8 = 0x08;

impl Ccw {
    /// An invalid CCW: a program check both as a command and as the next storage area of a command.
    pub const INVALID: Self = Self {
        command: 0,
        flags: 0,
        count: 0,
        address: 0,
    };

    /// From format 0: command, 24 bits of address, flags, eight bits that are ignored, count.
    #[must_use]
    pub const fn from_format_0(word: u64) -> Self {
        Self {
            command: (word >> 56) as u8,
            flags: (word >> 24) as u8,
            count: word as u16,
            address: (word >> 32) as u32 & 0xFF_FFFF,
        }
    }

    /// From format 1: command, flags, count, address, whose leftmost bit must be zero.
    #[must_use]
    pub const fn from_format_1(word: u64) -> Self {
        Self {
            command: (word >> 56) as u8,
            flags: (word >> 48) as u8,
            count: (word >> 32) as u16,
            address: word as u32,
        }
    }

    /// To format 1.
    #[must_use]
    pub const fn format_1(self) -> u64 {
        (self.command as u64) << 56
            | (self.flags as u64) << 48
            | (self.count as u64) << 32
            | self.address as u64
    }

    /// Whether it is a transfer in channel.
    #[must_use]
    pub const fn transfers(self) -> bool {
        self.command & 0x0F == TRANSFER_IN_CHANNEL
    }
}

/// The operation-request block: the words that START SUBCHANNEL always fetches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orb {
    /// Interruption parameter.
    pub parameter: u32,
    /// Key, controls and logical-path mask.
    pub controls: u32,
    /// Channel-program address.
    pub program: u32,
}

/// ORB controls: the program may be suspended.
pub const ORB_SUSPEND: u32 = 1 << 27;
/// ORB controls, and the same bit of the subchannel-status word: CCWs have format 1.
pub const ORB_FORMAT: u32 = 1 << 23;
/// ORB controls: the block designates a transport-command word, not channel-command words.
pub const ORB_TRANSPORT: u32 = 1 << 18;
/// ORB controls: indirect-data-address words have 64 bits.
pub const ORB_LONG_INDIRECT: u32 = 1 << 17;
/// ORB controls: each 64-bit indirect-data-address word designates at most 2 KiB, not 4 KiB.
pub const ORB_SHORT_BLOCKS: u32 = 1 << 16;
/// ORB controls: every path may be used.
pub const ORB_ALL_PATHS: u32 = 0xFF00;
/// ORB controls: modified indirect-data-address words may occur.
pub const ORB_MODIFIED_INDIRECT: u32 = 1 << 6;

/// The length of a subchannel-information block in bytes.
pub const SCHIB_LENGTH: usize = 52;
/// The length of an interruption-response block without extended measurements, in bytes.
pub const IRB_LENGTH: usize = 64;
/// The offset of the subchannel-status word in a subchannel-information block.
pub const SCHIB_STATUS: usize = 28;
/// Path-management-control word, word 1: the measurement block is updated.
pub const PMCW_BLOCK_UPDATE: u32 = 0x10 << 16;
/// Path-management-control word, word 6: the measurement block has format 1, and an address of its own.
pub const PMCW_BLOCK_FORMAT_1: u32 = 4;
/// Path-management-control word, word 1: the subchannel is enabled.
pub const PMCW_ENABLED: u32 = 0x80 << 16;
/// Path-management-control word, word 1: the interruption subclass, where an interruption-identification word has it.
pub const PMCW_SUBCLASS: u32 = 7 << 27;
/// Path-management-control word, word 1: there is a device.
pub const PMCW_DEVICE_VALID: u32 = 1 << 16;
/// Subchannel-status word, word 0: a status is pending.
pub const SCSW_PENDING: u32 = 1;
/// Subchannel-status word, word 0: the status is of the start function.
pub const SCSW_START: u32 = 0x4000;
/// Subchannel-status word, word 0: the channel program is suspended.
pub const SCSW_SUSPENDED: u32 = 0x20;
/// Subchannel-status word, word 0: a function, an activity, or a pending status.
pub const SCSW_OCCUPIED: u32 = 0x7FE1;
/// Subchannel-status word, word 0: the channel program is running, or will be.
pub const SCSW_RUNNING: u32 = 0x0CC0;
/// Subchannel-status word, word 2: the device has refused a command (unit check).
pub const SCSW_DEVICE_REFUSED: u32 = 0x0200_0000;
/// Subchannel-status word, word 2: the subchannel has refused a command (any check except an incorrect length).
pub const SCSW_SUBCHANNEL_REFUSED: u32 = 0x003F_0000;

/// Interruption-identification word: the interruption is of an adapter, not of a subchannel.
pub const ADAPTER_INTERRUPTION: u32 = 1 << 31;

/// The interruption information that an I/O interruption stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoInterruption {
    /// Subsystem-identification word.
    pub subsystem: u32,
    /// Interruption parameter.
    pub parameter: u32,
    /// Interruption-identification word.
    pub identification: u32,
}

impl IoInterruption {
    /// The bit of control register 6, bits 32-39 as a byte, that is the mask of its subclass.
    #[must_use]
    pub const fn mask(self) -> u8 {
        0x80 >> (self.identification >> 27 & 7)
    }

    /// Whether it is of an adapter, not of a subchannel.
    #[must_use]
    pub const fn is_of_adapter(self) -> bool {
        self.identification & ADAPTER_INTERRUPTION != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_of_a_command_word_have_the_same_meaning() {
        let ccw = Ccw {
            command: 0xE4,
            flags: CHAIN_COMMAND | 0x20,
            count: 0x0107,
            address: 0x12_3456,
        };
        assert_eq!(Ccw::from_format_0(0xE412_3456_60FF_0107), ccw);
        assert_eq!(Ccw::from_format_1(0xE460_0107_0012_3456), ccw);
        assert_eq!(ccw.format_1(), 0xE460_0107_0012_3456);
    }

    #[test]
    fn the_subclass_of_an_interruption_selects_its_mask() {
        let mask = |identification| {
            IoInterruption {
                identification,
                ..IoInterruption::default()
            }
            .mask()
        };
        assert_eq!(
            (mask(0), mask(0x1800_0000), mask(0xB800_0000)),
            (0x80, 0x10, 1)
        );
    }
}
