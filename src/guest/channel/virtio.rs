//! Commands whose data are addresses: those of a virtio device's rings and indicators.
//!
//! Every device is treated as a virtio device, because the machine below has no other. The addresses in
//! the rings cannot be checked: the device may read them, and the guest may write them, at any time.
//!
//! Source: Virtual I/O Device (VIRTIO) 1.2, section 4.3 "Virtio Over Channel I/O".

/// The rings of a queue.
const SET_QUEUE: u8 = 0x13;
/// The indicators of the queues.
const SET_INDICATORS: u8 = 0x43;
/// The indicator of the device's configuration.
const SET_CONFIGURATION_INDICATORS: u8 = 0x53;
/// The indicators of adapter interruptions.
const SET_ADAPTER_INDICATORS: u8 = 0x73;
/// Resets the device: it forgets all of these.
pub const RESET: u8 = 0x33;

/// The longest data of any of these commands; longer data are not accepted.
pub const LONGEST: usize = 64;

/// Whether the data of a command are addresses.
#[must_use]
pub const fn has_addresses(command: u8) -> bool {
    matches!(
        command,
        SET_QUEUE | SET_INDICATORS | SET_CONFIGURATION_INDICATORS | SET_ADAPTER_INDICATORS
    )
}

/// Whether the storage that the data of a command designate is in the guest's storage, which `holds`
/// tests. Data that are too short for the command are left for the device to refuse.
#[must_use]
pub fn addresses_hold(command: u8, data: &[u8], holds: impl Fn(u64, u64) -> bool) -> bool {
    let number = |at: usize| {
        let bytes = data.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map(|bytes| u64::from_be_bytes(*bytes))
    };
    let half = |at: usize| {
        let bytes = data.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u64::from(u16::from_be_bytes(*bytes)))
    };
    let entries = half(14);
    // The descriptors, the available ring, and the used ring.
    let (table, offered, used) = (16 * entries, 6 + 2 * entries, 6 + 8 * entries);
    match (command, number(0), number(8), number(16), number(24)) {
        // A queue at zero is turned off.
        (SET_QUEUE, Some(0), _, _, _) => true,
        (SET_QUEUE, Some(at), Some(_), Some(second), Some(third)) => {
            holds(at, table) && holds(second, offered) && holds(third, used)
        }
        // One piece: the third part begins on a boundary of its own.
        (SET_QUEUE, Some(at), Some(second), _, _) => {
            let boundary = (second >> 32).max(1);
            holds(at, (table + offered).next_multiple_of(boundary) + used)
        }
        (SET_INDICATORS | SET_CONFIGURATION_INDICATORS, Some(at), _, _, _) => holds(at, 8),
        (SET_ADAPTER_INDICATORS, Some(summary), Some(device), Some(bit), _) => {
            holds(summary, 1) && holds(device, bit / 8 + 1)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: u64 = 0x10_0000;

    fn hold(command: u8, doublewords: &[u64]) -> bool {
        let data: Vec<u8> = doublewords
            .iter()
            .flat_map(|one| one.to_be_bytes())
            .collect();
        addresses_hold(command, &data, |at, length| at < END && length <= END - at)
    }

    #[test]
    fn each_of_three_rings_must_lie_in_storage() {
        let size = 256;
        assert!(hold(SET_QUEUE, &[END - 4096, size, 0, 0x1000]));
        assert!(!hold(SET_QUEUE, &[END - 4095, size, 0, 0x1000]));
        assert!(hold(SET_QUEUE, &[0x1000, size, END - 518, END - 2054]));
        assert!(!hold(SET_QUEUE, &[0x1000, size, END - 517, 0]));
        assert!(!hold(SET_QUEUE, &[0x1000, size, 0, END - 2053]));
        assert!(!hold(SET_QUEUE, &[u64::MAX, size, 0, 0]));
        assert!(hold(SET_QUEUE, &[0, size, u64::MAX, u64::MAX]));
    }

    #[test]
    fn a_queue_in_one_piece_must_lie_in_storage() {
        let form = 4096 << 32 | 256;
        let length = 8192 + 2054;
        assert!(hold(SET_QUEUE, &[END - length, form]));
        assert!(!hold(SET_QUEUE, &[END - length + 1, form]));
    }

    #[test]
    fn indicators_must_lie_in_storage() {
        for command in [SET_INDICATORS, SET_CONFIGURATION_INDICATORS] {
            assert!(hold(command, &[END - 8]) && !hold(command, &[END - 7]));
        }
        assert!(hold(SET_ADAPTER_INDICATORS, &[END - 1, END - 3, 23, 0]));
        assert!(!hold(SET_ADAPTER_INDICATORS, &[END - 1, END - 3, 24, 0]));
        assert!(!hold(SET_ADAPTER_INDICATORS, &[END, 0, 0, 0]));
        assert!(!hold(SET_ADAPTER_INDICATORS, &[0, 0, u64::MAX, 0]));
    }
}
