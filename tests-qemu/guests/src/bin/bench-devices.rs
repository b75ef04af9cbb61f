//! The machine's paths between a program and a device, in instructions: as in `bench`, by the clock that counts them.
//!
//! - `virtio-notify`: one notification, with one new buffer of one descriptor of one page.
//! - `virtio-give-back`: one interruption of the device, with one used buffer, while the program's interruptions are
//!   closed. The device interrupts when the host lets it, so the program counts its turns until then. Of several
//!   instances the shortest counts: a longer one has a trap of another kind in it.
//!
//! DAT is off. The device is a network card: it keeps buffers for frames that nobody sends.
#![no_std]
#![no_main]

use core::arch::asm;

use guests::insn::clock::stckf;
use guests::virtio::channel::{Subchannel, tpi};
use guests::virtio::queue::{Announces, Descriptor, Device, WRITE};
use guests::virtio::{load, store};
use guests::{check, println};

guests::clause!(
    "measure: path lengths in instructions, with a device",
    native = false
);
guests::guest!(run);

/// The type of a network card.
const NETWORK: u8 = 1;

/// Nanoseconds, which are instructions, of TOD-clock units.
const fn instructions(units: u64) -> u64 {
    (units * 1000 + 2048) / 4096
}

/// The shortest of the instances behind the first few, which make the text known to the machine.
fn shortest(instances: u16, mut instance: impl FnMut(u16) -> u64) -> u64 {
    (0..instances)
        .map(|number| (number, instance(number)))
        .filter(|(number, _)| *number >= 4)
        .map(|(_, units)| units)
        .min()
        .unwrap_or(0)
}

/// Instructions from one stamp to the next, with what a notification has besides the machine's path.
fn notify(card: &mut Device) -> u64 {
    let stamps = |card: &Device, queue: usize| {
        let begin = stckf();
        card.notify(queue);
        stckf() - begin
    };
    let with = shortest(48, |number| {
        card.descriptor(0, number.into(), Descriptor(card.buffers(), 2048, WRITE, 0));
        card.offer(0, number);
        stamps(card, 0)
    });
    let empty = shortest(48, |_| {
        let begin = stckf();
        core::hint::black_box(&*card);
        stckf() - begin
    });
    instructions(with.saturating_sub(empty))
}

/// A frame of a protocol that nobody knows.
fn give_back(card: &mut Device) -> u64 {
    let frame = card.buffers() + 0x2000;
    for at in (frame..frame + 72).step_by(8) {
        store(at, 0_u64);
    }
    store(frame + 24, 0x88B5_u16);
    shortest(200, |number| {
        let place = number % card.queues[1].size;
        card.descriptor(1, place.into(), Descriptor(frame, 72, 0, 0));
        card.offer(1, place);
        let used = card.queues[1].parts.used + 2;
        let before: u16 = load(used);
        let (begin, end, turns): (u64, u64, u64);
        card.notify(1);
        // SAFETY: fetches a halfword until it changes, and stores stamps below the prefix area's own locations.
        unsafe {
            asm!(
                "stckf 0xB00(%r0)",
                "40: aghi {n}, 1",
                "llgh %r2, 0({used})",
                "cgr %r2, {before}",
                "je 40b",
                "stckf 0xB08(%r0)",
                n = inout(reg) 0_u64 => turns,
                used = in(reg_addr) used,
                before = in(reg) u64::from(before),
                out("r2") _,
            );
        }
        (begin, end) = (load(0xB00), load(0xB08));
        card.take(1);
        store(card.indicators() + 256, 0_u8);
        while tpi().is_some() {}
        if turns < 4 {
            // The device was quicker than the first stamp, or as quick.
            return u64::MAX;
        }
        // The loop has four instructions, and one stamp is between the two.
        instructions(end - begin).saturating_sub(4 * turns + 1)
    })
}

fn run() {
    let card = (0..16).map(|number| Subchannel { number });
    let card = card
        .into_iter()
        .find(|subchannel| subchannel.enable(0) == NETWORK);
    let Some(mut card) = card.map(Device::new) else {
        check::holds("there is a network card", false);
        return;
    };
    for queue in &mut card.queues {
        queue.size = 64;
    }
    check::holds("set up", card.set_up(0, 2, Announces::Adapter));
    println!("path virtio-notify {}", notify(&mut card));
    match give_back(&mut card) {
        u64::MAX => println!("path virtio-give-back absent"),
        length => println!("path virtio-give-back {length}"),
    }
}
