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

/// The most entries of a queue in any device.
const MOST_ENTRIES: u64 = 1024;
/// The most queues of a device, and so the most indicators.
const MOST_QUEUES: u64 = 1024;

/// The bytes of the three rings of a queue: the descriptors, the available ring, and the used ring.
const fn rings(entries: u64) -> [u64; 3] {
    [16 * entries, 6 + 2 * entries, 6 + 8 * entries]
}

/// Whether the storage that the data of a command designate is in the guest's storage, which `holds` tests. What was
/// not tested becomes zeros. Data that are too short for the command are left for the device to refuse.
#[must_use]
pub fn check(command: u8, data: &mut [u8], holds: impl Fn(u64, u64) -> bool) -> bool {
    let number = |at: usize| {
        let bytes = data.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map(|bytes| u64::from_be_bytes(*bytes))
    };
    let form = number(8).unwrap_or_default();
    let entries = form & 0xFFFF;
    // The bytes that were tested, and whether they hold.
    let (tested, hold) = match (command, number(0), number(8), number(16), number(24)) {
        // A queue at zero is turned off.
        (SET_QUEUE, Some(0), Some(_), _, _) => (16, true),
        (SET_QUEUE, Some(at), Some(_), Some(second), Some(third)) => {
            let [table, offered, used] = rings(entries);
            // A device does not take over a size of zero: it keeps the one it has.
            let hold =
                entries != 0 && holds(at, table) && holds(second, offered) && holds(third, used);
            (32, hold)
        }
        // The older form: one piece, of which the third part begins on a boundary of its own. A device that keeps
        // another size refuses the command, but has noted the place by then.
        (SET_QUEUE, Some(at), Some(_), _, _) => {
            let [table, offered, used] = rings(entries.max(MOST_ENTRIES));
            let boundary = (form >> 32).max(1);
            let length = (table + offered).next_multiple_of(boundary) + used;
            (16, holds(at, length))
        }
        (SET_INDICATORS | SET_CONFIGURATION_INDICATORS, Some(at), _, _, _) => (8, holds(at, 8)),
        // The device sets the bit whose number is the sum of this one and the queue's.
        (SET_ADAPTER_INDICATORS, Some(summary), Some(device), Some(bit), _) => {
            let last = bit.checked_add(MOST_QUEUES - 1);
            let hold = last.is_some_and(|last| holds(device, last / 8 + 1));
            (25, hold && holds(summary, 1))
        }
        _ => (0, true),
    };
    let tested = tested.min(data.len());
    data.split_at_mut(tested).1.fill(0);
    if (command, tested) == (SET_QUEUE, 32) {
        // A device that still uses the older form, and is told not to mind the length, takes this word for the boundary
        // and would find the rings elsewhere. It refuses zero; in the newer form the word is reserved.
        data.split_at_mut(8).1.split_at_mut(4).0.fill(0);
    }
    hold
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: u64 = 0x10_0000;

    fn hold(command: u8, doublewords: &[u64]) -> bool {
        let data = doublewords
            .iter()
            .flat_map(|one| one.to_be_bytes())
            .collect();
        checked(command, data).0
    }

    fn checked(command: u8, mut data: Vec<u8>) -> (bool, Vec<u8>) {
        let hold = check(command, &mut data, |at, length| {
            at < END && length <= END - at
        });
        (hold, data)
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
        let (_, kept) = checked(SET_QUEUE, [&[0; 16][..], &[0xFF; 16]].concat());
        assert_eq!(kept, [0; 32]);
    }

    #[test]
    fn a_queue_in_one_piece_must_lie_in_storage() {
        // Every size up to the largest one is checked for that.
        let length = 20480 + 8198;
        for entries in [0, 1, 256, 1024] {
            let form = 4096 << 32 | entries;
            assert!(hold(SET_QUEUE, &[END - length, form]), "{entries}");
            assert!(!hold(SET_QUEUE, &[END - length + 1, form]), "{entries}");
        }
        assert!(!hold(SET_QUEUE, &[END - length, 4096 << 32 | 1025]));
        assert!(!hold(SET_QUEUE, &[END - length, 0xFFFF_FFFF << 32 | 1024]));
    }

    #[test]
    fn a_queue_without_entries_keeps_its_old_size_so_it_is_refused() {
        assert!(!hold(SET_QUEUE, &[0x1000, 0, 0x2000, 0x3000]));
    }

    #[test]
    fn a_device_gets_only_what_was_checked() {
        let kept = |command, bytes: usize| {
            // Addresses and sizes that hold, and no byte is zero at the end of a doubleword.
            let data = [0x1001_u64; 8].iter().flat_map(|one| one.to_be_bytes());
            let (hold, kept) = checked(command, data.take(bytes).collect());
            assert!(hold && kept.len() == bytes);
            let last = kept.iter().rposition(|&byte| byte != 0);
            last.map_or(0, |last| last + 1)
        };
        assert_eq!(kept(SET_INDICATORS, 64), 8);
        assert_eq!(kept(SET_INDICATORS, 7), 0);
        assert_eq!(kept(SET_QUEUE, 31), 16);
        assert_eq!(kept(SET_QUEUE, 64), 32);
        assert_eq!(kept(SET_QUEUE, 15), 0);
        assert_eq!(kept(SET_ADAPTER_INDICATORS, 64), 24);
        // The newer form has no boundary, and a device that reads one refuses zero.
        let newer = [0x1000, 0x1000_0000_0008, 0x2000, 0x3000];
        let newer: Vec<u8> = newer
            .iter()
            .flat_map(|one: &u64| one.to_be_bytes())
            .collect();
        let (hold, kept) = checked(SET_QUEUE, newer.clone());
        assert!(hold && kept[8..12] == [0; 4]);
        assert!(kept[..8] == newer[..8] && kept[12..] == newer[12..]);
    }

    #[test]
    fn indicators_must_lie_in_storage() {
        for command in [SET_INDICATORS, SET_CONFIGURATION_INDICATORS] {
            assert!(hold(command, &[END - 8]) && !hold(command, &[END - 7]));
        }
        // The last bit that the device may set is 1,023 behind the first one.
        let hold = |data: [u64; 3]| {
            let isc = [3_u8];
            let data = data.iter().flat_map(|one| one.to_be_bytes()).chain(isc);
            checked(SET_ADAPTER_INDICATORS, data.collect()).0
        };
        assert!(hold([END - 1, END - 128, 0]));
        assert!(!hold([END - 1, END - 128, 1]));
        assert!(hold([END - 1, END - 131, 24]));
        assert!(!hold([END, 0, 0]));
        assert!(!hold([0, 0, u64::MAX]));
        assert!(!hold([0, 0, u64::MAX - 1022]));
    }
}
