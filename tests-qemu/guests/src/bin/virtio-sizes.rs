//! A program that sets up queues with sizes and numbers that are not those of the device, in both forms of the command.
//!
//! A device that refuses a size has taken the address over by then, and in the older form it places the parts of its rings
//! by the size that it has itself. So a program that is believed has the device find a ring of used buffers where its
//! descriptors are. Each attack here ends with a device that works.
#![no_std]
#![no_main]

use guests::check::{fact, holds};
use guests::insn::clock::{MICROSECOND, stckf};
use guests::misdirected::end;
use guests::println;
use guests::virtio::channel::{
    ANY_LENGTH, Command, DONE, READ_CONFIGURATION, READ_QUEUE, RESET, SET_QUEUE, SET_REVISION,
    Subchannel, WRITE_FEATURES, WRITE_STATUS,
};
use guests::virtio::queue::{Announces, Descriptor, Device, NEXT, TABLES, WRITE};
use guests::virtio::{load, store};

guests::clause!(
    "VIRTIO 1.2, 4.3.2.2 and 4.3.3.2: a queue has a size and a number of its device",
    native = false
);
guests::guest!(run);

/// The virtio device types.
const NETWORK: u8 = 1;
const DISK: u8 = 2;
const NAMES: [&str; 5] = ["", "network", "disk", "console", "entropy"];
/// The answer to a notification of what is not there.
const REFUSED: u64 = -22_i64 as u64;
/// The feature of a network card by which a program sets its address.
const ADDRESS_IS_SET: [u8; 5] = [0, 0, 0x82, 0, 0];

fn pause(microseconds: u64) {
    let end = stckf() + microseconds * MICROSECOND;
    while stckf() < end {}
}

/// The program has not chosen a revision any more, so the older one counts.
fn forget_revision(device: &Device) {
    device.subchannel.disable();
    let _ = device.subchannel.enable(0);
}

fn set_queue(device: &Device, data: &[u8]) -> u16 {
    (device.subchannel).program(&[Command(SET_QUEUE, 0, data)])
}

/// Turns a queue on in the older form, on the device's storage.
fn older(device: &Device, number: u16, size: u16) -> u16 {
    let mut data = Device::queue_data(number, size, device.queues[0].parts);
    data[8..12].copy_from_slice(&4096_u32.to_be_bytes());
    set_queue(device, &data[..16])
}

/// The device's own size of a queue.
fn own_size(device: &Device, number: u16) -> u16 {
    let [left, right] = number.to_be_bytes();
    let command = Command(READ_QUEUE, 0, &[left, right, 0, 0]);
    let _ = device.subchannel.program(&[command]);
    load::<u16>(device.subchannel.data() + 2)
}

/// Each size in both forms, for the first queues and those that are not there.
fn sizes(name: &str, device: &Device) {
    let subchannel = device.subchannel;
    let mut wrong = 0;
    for is_newer in [false, true] {
        forget_revision(device);
        if is_newer {
            let _ = subchannel.program(&[Command(SET_REVISION, 0, &[0, 1, 0, 0])]);
        }
        for number in [0, 1, 2, 70, 1023] {
            let own = own_size(device, number);
            for size in [
                1,
                8,
                own / 2,
                own.saturating_sub(1),
                own,
                own + 1,
                2 * own,
                1024,
                0xFFFF,
            ] {
                let _ = subchannel.program(&[Command(RESET, 0, &[])]);
                let (done, is_accepted) = if is_newer {
                    let data = Device::queue_data(number, size, device.queues[0].parts);
                    (set_queue(device, &data), size != 0 && size <= own)
                } else {
                    (older(device, number, size), size >= own)
                };
                // Without entries nothing is turned on, whatever the answer is.
                if size != 0 && (done == DONE) != is_accepted {
                    println!(
                        "queue {number}, newer form {is_newer}: {size} of {own} gives {done:x}"
                    );
                    wrong += 1;
                }
                // Whatever it has, it looks at it.
                store(device.queues[0].parts.offered + 2, 0x0101_u16);
                let _ = subchannel.program(&[Command(WRITE_STATUS, 0, &[15])]);
                let _ = subchannel.notify(number.into());
                store(device.queues[0].parts.offered + 2, 0_u16);
            }
        }
        let _ = subchannel.program(&[Command(RESET, 0, &[])]);
    }
    println!("{name}: {} entries", own_size(device, 0));
    holds("the device decides on sizes", wrong == 0);
}

/// Numbers that are too wide for a queue, and those of queues without rings.
fn numbers(device: &mut Device) {
    forget_revision(device);
    let is_set_up = device.set_up(TABLES, 1, Announces::Nothing);
    holds("set up", is_set_up);
    let wide = [1024, 0x1_0000, 0x1_0002, 1 << 32, 1 << 63, u64::MAX];
    let refused = wide
        .iter()
        .all(|&number| device.subchannel.notify(number) == REFUSED);
    holds("a number that no queue has is refused", refused);
    let answer = device.subchannel.notify(3);
    holds("a queue without rings is not looked at", answer == 0);
}

/// Resets a device and accepts these features and version 1. Then the program has not chosen a revision any more.
fn accept(device: &Device, features: &[u8; 5]) {
    forget_revision(device);
    for command in [
        Command(SET_REVISION, 0, &[0, 1, 0, 0]),
        Command(RESET, 0, &[]),
        Command(WRITE_STATUS, 0, &[3]),
        Command(WRITE_FEATURES, 0, features),
        Command(WRITE_FEATURES, 0, &[1, 0, 0, 0, 1]),
        Command(WRITE_STATUS, 0, &[11]),
    ] {
        let _ = device.subchannel.program(&[command]);
    }
    forget_revision(device);
    for at in (0..0x1_0000).step_by(8) {
        store(device.base + at, 0_u64);
    }
}

/// A larger size in the older form: the device's used buffers would lie over descriptors.
fn larger(disk: &mut Device, length: u64, table: u64) {
    const SIZE: u64 = 1024;
    let subchannel = disk.subchannel;
    accept(disk, &[0; 5]);
    holds(
        "a larger size is accepted",
        older(disk, 0, SIZE as u16) == DONE,
    );
    let _ = subchannel.program(&[Command(WRITE_STATUS, 0, &[15])]);
    let put = |number: u64, descriptor| disk.put(disk.base + 16 * number, descriptor);
    let header = disk.buffers();
    store(header, disk.u32(8));
    store(header + 4, 0_u32);
    store(header + 8, 0_u64);
    for (head, data, status) in [(0, 1, 2), (4, 6, 7), (5, 8, 9)] {
        let own = disk.buffers() + 0x800 + head;
        put(head, Descriptor(header, 16, NEXT, data as u16));
        put(
            data,
            Descriptor(0x700_0000, length as u32, NEXT | WRITE, status as u16),
        );
        put(status, Descriptor(own, 1, WRITE, 0));
    }
    disk.put(table, Descriptor(0, 0x1000_0000, NEXT | WRITE, 0));
    put(513, Descriptor(0x5_0000, 16, 0, 0));
    put(256, Descriptor(0x4_0000, 0x4_0005, 0, 0));
    for ring in [disk.base + 16 * SIZE, disk.base + 16 * 256] {
        for (place, head) in (0..).zip([0_u16, 4, 5, 513, 256]) {
            store(ring + 4 + 2 * place, disk.u16(head));
        }
        store(ring + 2, disk.u16(5));
    }
    let _ = subchannel.notify(0);
    pause(100_000);
    let done = subchannel.program(&[Command(RESET, 0, &[])]);
    holds("the device is reset", done == DONE);
}

fn address(card: &Device) -> u64 {
    let command = Command(READ_CONFIGURATION, ANY_LENGTH, &[0; 8]);
    let _ = card.subchannel.program(&[command]);
    load::<u64>(card.subchannel.data()) >> 16
}

/// A smaller size in the older form, and then another queue: the flags of the device's used buffers would be those of a
/// descriptor, and its address one byte further than the program says.
fn smaller(card: &mut Device) {
    const NEW: u64 = 0xA0A1_A2A3_A4A5;
    let subchannel = card.subchannel;
    let before = address(card);
    accept(card, &ADDRESS_IS_SET);
    holds("a smaller size is refused", older(card, 1, 8) != DONE);
    forget_revision(card);
    let _ = subchannel.program(&[Command(SET_REVISION, 0, &[0, 1, 0, 0])]);
    // The queue for controls, with the parts of queue 0.
    let data = Device::queue_data(2, 16, card.queues[0].parts);
    (card.queues[0].size, card.queues[0].offered) = (16, 0);
    holds(
        "a queue is set up behind it",
        set_queue(card, &data) == DONE,
    );
    let acknowledgement = card.buffers() + 0x100;
    store(acknowledgement, 0xFF_u8);
    // Class 1, command 1; the address is the last six bytes of storage.
    store(card.buffers(), 0x0101_u16);
    let end = end();
    for (at, byte) in (end - 6..end).zip(0xA0_u8..) {
        store(at, byte);
    }
    card.descriptor(0, 1, Descriptor(card.buffers(), 2, NEXT, 0));
    card.descriptor(0, 0, Descriptor(end - 6, 6, NEXT, 2));
    card.descriptor(0, 2, Descriptor(acknowledgement, 1, WRITE, 0));
    card.offer(0, 1);
    for number in [0x1_0002, 1, 2] {
        let _ = subchannel.notify(number);
        pause(10_000);
    }
    let after = address(card);
    let is_one = if load::<u8>(acknowledgement) == 0 {
        after == NEW
    } else {
        after == before
    };
    holds(
        "the card has the address that the program designates",
        is_one,
    );
    let _ = subchannel.program(&[Command(RESET, 0, &[])]);
}

/// A program that names no path of the device is not executed, whatever the device announces afterwards.
fn without_path(disk: &mut Device) {
    let subchannel = disk.subchannel;
    forget_revision(disk);
    let is_set_up = disk.set_up(TABLES, 1, Announces::Classic);
    holds("set up, with indicators", is_set_up);
    let code = subchannel.start_without_path(&[Command(RESET, 0, &[])]);
    let is_refused = code == 3 || subchannel.take_status() == Some(0);
    holds("a program without a path is not executed", is_refused);
    let is_read = disk.reads(5);
    // The status by which the device announces that has the address of an earlier program.
    let _ = subchannel.take_status();
    let works = is_read && disk.reads(6);
    holds("the disk is not reset by it", works);
}

/// A disabled subchannel does not start a program, and the machine asks the device in vain what its size is.
fn disabled(device: &Device) {
    let data = Device::queue_data(0, device.queues[0].size, device.queues[0].parts);
    device.subchannel.disable();
    let code = (device.subchannel).start(&[Command(SET_QUEUE, 0, &data)]);
    holds("a disabled subchannel starts nothing", code == 3);
}

fn run() {
    let (mut disk, mut card) = (None, None);
    for number in 0..16 {
        let subchannel = Subchannel { number };
        let kind = subchannel.enable(0);
        let device = Device::new(subchannel);
        let Some(name) = NAMES.get(usize::from(kind)).filter(|_| kind != 0) else {
            continue;
        };
        sizes(name, &device);
        match kind {
            DISK => disk = Some(device),
            NETWORK => card = Some(device),
            _ => {}
        }
    }
    let (Some(mut disk), Some(mut card)) = (disk, card) else {
        holds("there are a disk and a network card", false);
        return;
    };
    fact("entries of the disk's queue", own_size(&disk, 0));
    numbers(&mut disk);
    without_path(&mut disk);
    let table = disk.table();
    larger(&mut disk, 4095, table);
    larger(&mut disk, 0x600_0000 - 1, 0x600_0000);
    smaller(&mut card);
    forget_revision(&disk);
    disk = Device::new(disk.subchannel);
    let works = disk.set_up(TABLES, 1, Announces::Nothing) && disk.reads(3) && disk.writes(1030);
    holds("the disk works", works);
    // Last, so that nothing else uses what may be left of it when the machine looks at its storage.
    disabled(&disk);
    println!("sizes and numbers: done");
}
