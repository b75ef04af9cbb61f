//! A program that drives a disk and a network card by itself: first as a driver does, then with rings, tables and
//! commands by which a device would reach the hardware system area.
//!
//! After each attack the device is reset and works. What is on the disk afterwards the harness examines: each
//! doubleword says whether the harness or this program wrote it, so nothing else was written. The machine compares the
//! area itself with what it was when the guest ends.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use guests::check::{check, fact, fail, holds};
use guests::insn::clock::{MICROSECOND, stckf};
use guests::insn::control::{lctlg_0, stctg_0, wait};
use guests::insn::yield_cpu;
use guests::interruption::{self, Class, Registers, old_psw, set_old_psw};
use guests::misdirected::{MACHINE_END, end};
use guests::psw::{self, Psw};
use guests::virtio::channel::{
    ANY_LENGTH, Command, DONE, READ_QUEUE, RESET, SET_ADAPTER_INDICATORS,
    SET_CONFIGURATION_INDICATORS, SET_INDICATORS, SET_QUEUE, SUSPEND, Subchannel, WRITE_FEATURES,
    WRITE_STATUS, tpi,
};
use guests::virtio::disk::{GUEST_MARK, READ, WRITES};
use guests::virtio::queue::{Announces, Descriptor, Device, INDIRECT, NEXT, Parts, TABLES, WRITE};
use guests::virtio::{load, store};
use guests::{lowcore, println, smp};

guests::clause!(
    "VIRTIO 1.2, 2.7 and 4.3: a device reaches what its program may reach",
    native = false
);
guests::guest!(run);

/// The virtio device types.
const NETWORK: u8 = 1;
const DISK: u8 = 2;
/// The bit of the system mask for I/O.
const IO: u64 = psw::IO;

/// Interruptions, and the identification word of the last one.
static INTERRUPTIONS: AtomicU32 = AtomicU32::new(0);
static IDENTIFICATION: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_io(_: &mut Registers) {
    INTERRUPTIONS.fetch_add(1, Ordering::Relaxed);
    IDENTIFICATION.store(lowcore::read::<u32>(0xC0).into(), Ordering::Relaxed);
    let old = old_psw(Class::InputOutput);
    set_old_psw(
        Class::InputOutput,
        Psw::new(old.mask & !psw::WAIT & !psw::IO, old.address),
    );
}

/// Opens all interruption subclasses of control register 6.
fn open_subclasses() {
    let masks = 0xFF00_0000_u64;
    // SAFETY: the program has handlers for them.
    unsafe { core::arch::asm!("lctlg 6,6,0({a})", a = in(reg_addr) &raw const masks) }
}

/// What a driver does.
fn good(disk: &mut Device) {
    holds("disk: set up", disk.set_up(TABLES, 1, Announces::Nothing));
    holds("disk: reads", disk.reads(3) && disk.reads(700));
    holds("disk: writes", disk.writes(1024));
    let data = disk.perform(READ, 5, true);
    holds("disk: a table", data && disk.holds(0x4D4D, 5));
    taken_statuses(disk);
    // A program that only looks at its ring, without indicators, with classic ones whose status it never takes, and
    // with an adapter's, with interruptions closed.
    for announces in [Announces::Nothing, Announces::Classic, Announces::Adapter] {
        let is_set_up = disk.set_up(0, 1, announces);
        let is_read = (8..16).all(|sector| disk.reads(sector));
        holds("disk: polling", is_set_up && is_read);
        let _ = disk.subchannel.take_status();
        while tpi().is_some() {}
    }
    interruption::replace(Class::InputOutput, on_io);
    open_subclasses();
    each_status(disk);
    for announces in [Announces::Classic, Announces::Adapter] {
        let is_set_up = disk.set_up(0, 1, announces);
        let _ = disk.subchannel.take_status();
        while tpi().is_some() {}
        let mut is_read = is_set_up;
        for sector in 20..30 {
            let before = INTERRUPTIONS.load(Ordering::Relaxed);
            disk.fill(0xDEAD, sector);
            let descriptors = disk.request(READ, sector);
            disk.put_request(&descriptors, false);
            store(disk.indicators() + 256, 0_u8);
            disk.offer(0, 0);
            disk.notify(0);
            if sector % 2 == 0 {
                wait(IO);
                is_read &= INTERRUPTIONS.load(Ordering::Relaxed) == before + 1;
            } else {
                // By instruction.
                while tpi().is_none() {}
            }
            let _ = disk.subchannel.take_status();
            is_read &= disk.take(0).is_some() && disk.holds(0x4D4D, sector);
        }
        holds("disk: interruptions", is_read);
        let is_adapter = IDENTIFICATION.load(Ordering::Relaxed) >> 31 == 1;
        holds(
            "disk: of its kind",
            is_adapter == (announces == Announces::Adapter),
        );
    }
}

/// A program takes a status without an interruption, as soon as it is there. No interruption follows.
fn taken_statuses(disk: &Device) {
    let mut late = 0_u32;
    for _ in 0..400 {
        let done = disk.subchannel.program(&[Command(READ_QUEUE, 0, &[0; 4])]);
        late += u32::from(done != DONE);
        let end = stckf() + 50 * MICROSECOND;
        while stckf() < end {
            late += u32::from(tpi().is_some());
        }
    }
    holds(
        "disk: a status that was taken does not interrupt",
        late == 0,
    );
}

/// A storm of interruptions: each status interrupts once, whether the program is waiting by then or not.
fn each_status(disk: &Device) {
    const ROUNDS: u32 = 2000;
    // What an adapter has announced before.
    while tpi().is_some() {}
    let before = INTERRUPTIONS.load(Ordering::Relaxed);
    let mut taken = 0;
    for round in 0..ROUNDS {
        // Disabled for a moment.
        let code = disk.subchannel.start(&[Command(READ_QUEUE, 0, &[0; 4])]);
        let end = stckf() + u64::from(round % 8) * MICROSECOND;
        while stckf() < end {}
        wait(IO);
        taken += u32::from(code == 0 && disk.subchannel.take_status() == Some(DONE));
    }
    let interruptions = INTERRUPTIONS.load(Ordering::Relaxed) - before;
    check("disk: statuses taken", taken, ROUNDS);
    check("disk: interruptions", interruptions, ROUNDS);
    holds("disk: none follows", tpi().is_none());
}

/// An ARP request to the gateway of QEMU's user network, behind twelve bytes of header.
fn arp_request(at: u64) {
    let own = [0x52, 0x54, 0, 0x12, 0x34, 0x56];
    let parts: [&[u8]; 9] = [
        &[0; 12],
        &[0xFF; 6],
        &own,
        &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1],
        &own,
        &[10, 0, 2, 15],
        &[0; 6],
        &[10, 0, 2, 2],
        &[0; 18],
    ];
    let bytes = parts.iter().flat_map(|part| part.iter());
    for (at, &byte) in (at..).zip(bytes) {
        store(at, byte);
    }
}

/// A request and its reply.
fn exchange(card: &mut Device) -> bool {
    let (received, sent) = (card.buffers(), card.buffers() + 0x1000);
    for at in (received..received + 0x800).step_by(8) {
        store(at, 0_u64);
    }
    card.descriptor(0, 0, Descriptor(received, 0x800, WRITE, 0));
    card.offer(0, 0);
    card.notify(0);
    arp_request(sent);
    card.descriptor(1, 0, Descriptor(sent, 72, 0, 0));
    card.offer(1, 0);
    card.notify(1);
    let is_sent = card.wait(1, 5_000_000).is_some();
    let Some((_, length)) = card.wait(0, 5_000_000) else {
        return false;
    };
    // An ARP reply whose sender is the gateway.
    let reply = received + 12;
    is_sent
        && length >= 54
        && load::<u16>(reply + 20) == 2
        && load::<u32>(reply + 28) == 0x0A00_0202
}

fn network(card: &mut Device) {
    for announces in [Announces::Nothing, Announces::Classic, Announces::Adapter] {
        let is_set_up = card.set_up(0, 2, announces);
        holds("network: set up", is_set_up);
        holds("network: a request and its reply", exchange(card));
    }
}

/// Addresses that are not storage of the program.
fn others() -> [u64; 9] {
    let end = end();
    [
        end,
        end + 0x1000,
        end + 0x20_0000,
        (end + (MACHINE_END - end) / 2) & !0xFFF,
        MACHINE_END - 0x1000,
        MACHINE_END,
        0x7FFF_F000,
        1 << 40,
        4096_u64.wrapping_neg(),
    ]
}

/// An attack: offers something by queue 0 of the disk, whose data are the program's.
struct Attacks<'a> {
    disk: &'a mut Device,
    number: u64,
    failed: u64,
}

impl Attacks<'_> {
    /// Performs an attack, gives the device a moment, and sees that it works after a reset.
    fn attack(&mut self, name: &str, attack: impl FnOnce(&mut Device)) {
        self.number += 1;
        let disk = &mut *self.disk;
        let is_set_up = disk.set_up(TABLES, 1, Announces::Nothing);
        disk.fill(GUEST_MARK, 1100 + self.number);
        attack(disk);
        let _ = disk.wait(0, 300);
        disk.is_legacy = false;
        disk.queues = Device::new(disk.subchannel).queues;
        let works = disk.set_up(TABLES, 1, Announces::Nothing)
            && disk.reads(32 + self.number % 64)
            && (self.number % 8 != 0 || disk.writes(1100 + self.number));
        if !is_set_up || !works {
            self.failed += 1;
            fail();
            println!("FAILED {name}: set up before {is_set_up}, works afterwards {works}");
        }
    }

    /// Offers a request with these descriptors.
    fn request(
        &mut self,
        name: &str,
        kind: u32,
        change: impl Fn(&mut [Descriptor; 3]),
        is_table: bool,
    ) {
        let sector = 1100 + self.number + 1;
        self.attack(name, |disk| {
            let mut descriptors = disk.request(kind, sector);
            change(&mut descriptors);
            disk.put_request(&descriptors, is_table);
            disk.offer(0, 0);
            disk.notify(0);
        });
    }
}

/// Descriptors that lead astray, in the queue and in a table.
fn descriptors(attacks: &mut Attacks<'_>) {
    for is_table in [false, true] {
        for kind in [READ, WRITES] {
            for at in others() {
                attacks.request("an address", kind, |d| d[1].0 = at, is_table);
            }
            let end = end();
            attacks.request("a header", kind, |d| d[0].0 = end, is_table);
            attacks.request("a status", kind, |d| d[2].0 = end, is_table);
            attacks.request("across the end", kind, |d| d[1].0 = end - 256, is_table);
            attacks.request(
                "one byte",
                kind,
                |d| (d[1].0, d[1].1) = (end - 511, 512),
                is_table,
            );
            attacks.request("a long one", kind, |d| d[1].1 = u32::MAX, is_table);
            attacks.request(
                "all",
                kind,
                |d| (d[1].0, d[1].1) = (0, (end + 4096) as u32),
                is_table,
            );
            attacks.request("wraps", kind, |d| d[1].0 = 255_u64.wrapping_neg(), is_table);
            attacks.request("nothing", kind, |d| d[1].1 = 0, is_table);
            attacks.request(
                "a circle",
                kind,
                |d| d[2] = Descriptor(d[2].0, 1, WRITE | NEXT, 0),
                is_table,
            );
            attacks.request("itself", kind, |d| d[1].3 = 1, is_table);
            attacks.request("beyond the queue", kind, |d| d[1].3 = 16, is_table);
            attacks.request("far beyond", kind, |d| d[1].3 = 0xFFFF, is_table);
            attacks.request("unknown flags", kind, |d| d[1].2 |= 0xFFF8, is_table);
            attacks.request("a table within", kind, |d| d[1].2 |= INDIRECT, is_table);
        }
    }
}

/// Tables that are not storage of the program, or no tables.
fn tables(attacks: &mut Attacks<'_>) {
    let table = |attacks: &mut Attacks<'_>, name, descriptor: Descriptor| {
        attacks.attack(name, |disk| {
            let request = disk.request(WRITES, 1100);
            disk.put_request(&request, true);
            disk.descriptor(0, 0, descriptor);
            disk.offer(0, 0);
            disk.notify(0);
        });
    };
    for at in others() {
        table(
            attacks,
            "a table elsewhere",
            Descriptor(at, 48, INDIRECT, 0),
        );
    }
    let own = attacks.disk.table();
    table(
        attacks,
        "across the end",
        Descriptor(end() - 32, 48, INDIRECT, 0),
    );
    for length in [0, 1, 15, 47, 49, 0xFFFF_FFF0, 0x10_0000] {
        table(attacks, "a length", Descriptor(own, length, INDIRECT, 0));
    }
    table(
        attacks,
        "and another",
        Descriptor(own, 48, INDIRECT | NEXT, 1),
    );
    attacks.attack("a table behind", |disk| {
        let request = disk.request(WRITES, 1100);
        disk.put_request(&request, true);
        disk.descriptor(0, 0, request[0]);
        disk.descriptor(0, 1, Descriptor(disk.table(), 48, INDIRECT, 0));
        disk.offer(0, 0);
        disk.notify(0);
    });
}

/// Rings that say what is not so.
fn rings(attacks: &mut Attacks<'_>) {
    for ahead in [17, 0x100, 0x8000, 0xFFFF_u16] {
        attacks.attack("far ahead", |disk| {
            let request = disk.request(WRITES, 1100);
            disk.put_request(&request, false);
            let ring = disk.queues[0].parts.offered;
            store(ring + 2, disk.u16(ahead));
            disk.notify(0);
        });
    }
    for number in [16, 0x7FFF, 0xFFFF] {
        attacks.attack("no such descriptor", |disk| {
            disk.offer(0, number);
            disk.notify(0);
        });
    }
    attacks.attack("the same twice", |disk| {
        let request = disk.request(WRITES, 1500);
        disk.fill(GUEST_MARK, 1500);
        disk.put_request(&request, false);
        disk.offer(0, 0);
        disk.offer(0, 0);
        disk.notify(0);
    });
    // Parts over each other, over the buffers, and over the program's own text.
    let text = text_page();
    for which in 0..6 {
        attacks.attack("parts over others", |disk| {
            let _ = disk.subchannel.program(&[Command(RESET, 0, &[])]);
            let own = disk.queues[0].parts;
            let parts = match which {
                0 => Parts {
                    offered: own.descriptors,
                    ..own
                },
                1 => Parts {
                    used: own.descriptors,
                    ..own
                },
                2 => Parts {
                    used: own.offered,
                    ..own
                },
                3 => Parts {
                    used: disk.data(),
                    ..own
                },
                4 => Parts {
                    offered: disk.data(),
                    ..own
                },
                _ => Parts { used: text, ..own },
            };
            disk.queues[0].parts = parts;
            let _ = disk.set_up(TABLES, 1, Announces::Nothing);
            disk.fill(GUEST_MARK, 1501);
            let request = disk.request(READ, 1);
            disk.put_request(&request, false);
            disk.offer(0, 0);
            disk.notify(0);
            let _ = disk.wait(0, 20_000);
        });
    }
    holds("text under a ring is executed as it is", call(text) == 2);
    attacks.attack("indicators over descriptors", |disk| {
        let at = disk.queues[0].parts.descriptors;
        let _ = disk.subchannel.program(&[Command(RESET, 0, &[])]);
        let _ = disk.set_up(0, 1, Announces::Nothing);
        let _ = disk
            .subchannel
            .program(&[Command(SET_INDICATORS, 0, &at.to_be_bytes())]);
        for _ in 0..4 {
            let request = disk.request(READ, 2);
            disk.put_request(&request, false);
            disk.offer(0, 0);
            disk.notify(0);
            let _ = disk.wait(0, 20_000);
        }
    });
}

/// A page with a routine that returns 2: what lies behind it is a ring of used buffers in one of the attacks.
fn text_page() -> u64 {
    const TEXT: u64 = 0x600_0000;
    // LGHI 2,2; BR 14, behind the ring.
    store(TEXT + 0x800, 0xA729_0002_07FE_0000_u64);
    assert!(call(TEXT) == 2);
    TEXT
}

fn call(page: u64) -> u64 {
    let value: u64;
    // SAFETY: the routine of `text_page`.
    unsafe {
        core::arch::asm!("basr %r14, {a}", a = in(reg_addr) page + 0x800, out("r2") value, out("r14") _);
    }
    value
}

/// Changes right after the notification.
fn changes(attacks: &mut Attacks<'_>) {
    let end = end();
    for is_table in [false, true] {
        for kind in [READ, WRITES] {
            let sector = if kind == READ { 6 } else { 1502 };
            attacks.attack("changed at once", |disk| {
                disk.fill(GUEST_MARK, sector);
                let request = disk.request(kind, sector);
                disk.put_request(&request, is_table);
                disk.offer(0, 0);
                disk.notify(0);
                // All that the device could look at again.
                let bad = [
                    Descriptor(end, 0x1000, NEXT, 1),
                    Descriptor(end, 0x1000, NEXT | WRITE, 2),
                ];
                disk.put_request(&bad, true);
                disk.put_request(&bad, false);
                disk.descriptor(0, 0, Descriptor(end, 48, INDIRECT, 0));
                if kind == READ {
                    let is_read = disk.wait(0, 5_000_000).is_some() && disk.holds(0x4D4D, sector);
                    holds("what was offered is read", is_read);
                }
            });
        }
    }
    attacks.attack("reset in flight", |disk| {
        let long = 0x4000;
        let request = disk.request(READ, 64);
        for number in 0..5 {
            let at = 3 * number;
            let data = disk.data() + 0x4000 * number;
            disk.descriptor(0, at, Descriptor(request[0].0, 16, NEXT, at as u16 + 1));
            disk.descriptor(
                0,
                at + 1,
                Descriptor(data, long, NEXT | WRITE, at as u16 + 2),
            );
            disk.descriptor(0, at + 2, request[2]);
            disk.offer(0, at as u16);
        }
        disk.notify(0);
        let _ = disk.subchannel.program(&[Command(WRITE_STATUS, 0, &[0])]);
    });
}

/// Commands that designate what is not the program's, or that one device could misunderstand.
fn commands(attacks: &mut Attacks<'_>) {
    let mut accepted = 0;
    for at in others() {
        attacks.attack("commands", |disk| {
            let own = disk.queues[0].parts;
            let subchannel = disk.subchannel;
            let _ = subchannel.program(&[Command(RESET, 0, &[])]);
            for parts in [
                Parts {
                    descriptors: at,
                    ..own
                },
                Parts { offered: at, ..own },
                Parts { used: at, ..own },
            ] {
                for length in [32, 16] {
                    let data = Device::queue_data(0, 16, parts);
                    let done =
                        subchannel.program(&[Command(SET_QUEUE, ANY_LENGTH, &data[..length])]);
                    accepted += u64::from(done == DONE);
                }
            }
            let address = at.to_be_bytes();
            for command in [SET_INDICATORS, SET_CONFIGURATION_INDICATORS] {
                let done = subchannel.program(&[Command(command, 0, &address)]);
                accepted += u64::from(done == DONE);
            }
            for place in [0, 8, 16] {
                let mut data = [0; 25];
                data[..8].copy_from_slice(&(disk.indicators() + 256).to_be_bytes());
                data[8..16].copy_from_slice(&disk.indicators().to_be_bytes());
                let number = if place == 16 { 8 * at } else { at };
                data[place..place + 8].copy_from_slice(&number.to_be_bytes());
                let done = subchannel.program(&[Command(SET_ADAPTER_INDICATORS, 0, &data)]);
                // The number of a bit, times eight, may lead back into storage.
                accepted += u64::from(done == DONE && place != 16);
            }
        });
    }
    holds("commands with such addresses are refused", accepted == 0);
    for subclass in [8, 200, 255] {
        attacks.attack("a subclass", |disk| {
            let mut data = [0; 25];
            data[..8].copy_from_slice(&(disk.indicators() + 256).to_be_bytes());
            data[8..16].copy_from_slice(&disk.indicators().to_be_bytes());
            data[24] = subclass;
            let _ = disk
                .subchannel
                .program(&[Command(SET_ADAPTER_INDICATORS, 0, &data)]);
            let _ = disk.reads(1);
        });
    }
    for length in [31, 33, 48, 64] {
        attacks.attack("a length of the command", |disk| {
            let _ = disk.subchannel.program(&[Command(RESET, 0, &[])]);
            let mut data = [0xFF; 64];
            data[..32].copy_from_slice(&Device::queue_data(0, 16, disk.queues[0].parts));
            let _ = disk
                .subchannel
                .program(&[Command(SET_QUEUE, ANY_LENGTH, &data[..length])]);
        });
    }
    queues_of_one_device(attacks);
}

/// Programs by which the rings of two queues would be in one place. The second queue's are such that the first finds a
/// descriptor in them that nobody has checked.
fn queues_of_one_device(attacks: &mut Attacks<'_>) {
    let twice = |attacks: &mut Attacks<'_>, name, begin: &dyn Fn(&Device, &[u8], &[u8])| {
        attacks.attack(name, |disk| {
            let subchannel = disk.subchannel;
            let _ = subchannel.program(&[Command(RESET, 0, &[])]);
            let own = disk.queues[0].parts;
            let large = Device::queue_data(0, 256, own);
            let small = Device::queue_data(0, 8, own);
            begin(disk, &large, &small);
            let other = disk.queues[1].parts;
            let data = Device::queue_data(1, 8, other);
            let _ = subchannel.program(&[Command(SET_QUEUE, 0, &data)]);
            let _ = subchannel.program(&[Command(WRITE_STATUS, 0, &[15])]);
            for turn in 0..8 {
                store(other.offered + 2, disk.u16(turn));
                let _ = subchannel.notify(1);
                let _ = subchannel.notify(0);
            }
        });
    };
    twice(
        attacks,
        "two sizes in one program",
        &|disk, large, small| {
            let commands = [Command(SET_QUEUE, 0, small), Command(SET_QUEUE, 0, large)];
            let _ = disk.subchannel.program(&commands);
        },
    );
    twice(attacks, "two sizes", &|disk, large, small| {
        let _ = disk.subchannel.program(&[Command(SET_QUEUE, 0, large)]);
        let _ = disk.subchannel.program(&[Command(SET_QUEUE, 0, small)]);
    });
    twice(attacks, "too large", &|disk, large, _| {
        let mut data = [0; 32];
        data.copy_from_slice(large);
        data[14..16].copy_from_slice(&1024_u16.to_be_bytes());
        let _ = disk.subchannel.program(&[Command(SET_QUEUE, 0, &data)]);
    });
    twice(attacks, "halted before a reset", &|disk, large, _| {
        let _ = disk.subchannel.program(&[Command(SET_QUEUE, 0, large)]);
        let _ = disk.subchannel.start(&[Command(RESET, SUSPEND, &[])]);
        let _ = disk.subchannel.hsch();
        let _ = disk.subchannel.take_status();
    });
    twice(attacks, "cleared before a reset", &|disk, large, _| {
        let _ = disk.subchannel.program(&[Command(SET_QUEUE, 0, large)]);
        let _ = disk.subchannel.start(&[Command(RESET, SUSPEND, &[])]);
        let _ = disk.subchannel.csch();
        let _ = disk.subchannel.take_status();
    });
}

/// The older revision: one piece, and the leftmost byte first.
fn legacy(attacks: &mut Attacks<'_>) {
    let subchannel = attacks.disk.subchannel;
    let size = {
        let _ = subchannel.program(&[Command(RESET, 0, &[])]);
        let _ = subchannel.program(&[Command(READ_QUEUE, 0, &[0; 4])]);
        load::<u16>(subchannel.data() + 2)
    };
    fact("entries of the disk's queue", size);
    let old = |disk: &mut Device| {
        disk.subchannel.disable();
        let _ = disk.subchannel.enable(0);
        disk.is_legacy = true;
        disk.queues[0].size = size;
        disk.set_up(TABLES, 1, Announces::Nothing)
    };
    let end = end();
    for turn in 0..8 {
        attacks.attack("the older form", |disk| {
            let is_set_up = old(disk);
            if turn == 0 {
                holds("disk, older form: set up", is_set_up);
                holds("disk, older form: reads", disk.reads(7));
                holds("disk, older form: writes", disk.writes(1503));
                let data = disk.perform(READ, 9, true) && disk.holds(0x4D4D, 9);
                holds("disk, older form: a table", data);
            }
            let kind = if turn & 1 == 0 { READ } else { WRITES };
            disk.fill(GUEST_MARK, 1504);
            let mut request = disk.request(kind, 1504);
            request[1].0 = [end, end - 256, MACHINE_END - 0x1000, end.swap_bytes()][turn / 2];
            disk.put_request(&request, turn & 2 == 0);
            disk.offer(0, 0);
            disk.notify(0);
            let _ = disk.wait(0, 300);
            // Features that count for the newer form only.
            let _ = disk
                .subchannel
                .program(&[Command(WRITE_FEATURES, 0, &[1, 0, 0, 0, 1])]);
            disk.is_legacy = turn & 1 == 0;
            let mut request = disk.request(kind, 1504);
            request[1].0 = end.swap_bytes();
            disk.put_request(&request, false);
            disk.offer(0, 0);
            disk.notify(0);
            let _ = disk.wait(0, 300);
            disk.subchannel.disable();
            let _ = disk.subchannel.enable(0);
        });
    }
}

/// What the other CPU changes all the time: descriptors, a table, and the ring.
static BASE: AtomicU64 = AtomicU64::new(0);
static TURNS: AtomicU64 = AtomicU64::new(0);

extern "C" fn change_all_the_time() -> ! {
    let end = end();
    loop {
        let disk = BASE.load(Ordering::Acquire);
        if disk != 0 {
            for (queue, number) in [(disk, 1_u64), (disk + 0x2_0000, 1)] {
                let at = queue + 16 * number;
                let good = load::<u64>(at);
                for bad in [end, MACHINE_END - 0x1000, end - 256] {
                    store(at, bad.swap_bytes());
                    store(at, good);
                }
                let length = load::<u32>(at + 8);
                store(at + 8, u32::MAX);
                store(at + 8, length);
                let flags = load::<u32>(at + 12);
                store(at + 12, flags ^ 0x0700_0100);
                store(at + 12, flags);
            }
            // The table's place, and its length.
            let first = load::<u64>(disk);
            store(disk, end.swap_bytes());
            store(disk, first);
            let length = load::<u32>(disk + 8);
            store(disk + 8, 0x1_0000_u32);
            store(disk + 8, length);
            let index = load::<u16>(disk + 0x4002);
            store(disk + 0x4002, index ^ 0x0300);
            store(disk + 0x4002, index);
        }
        TURNS.fetch_add(1, Ordering::Relaxed);
        if TURNS.load(Ordering::Relaxed) % 64 == 0 {
            yield_cpu();
        }
    }
}

fn races(attacks: &mut Attacks<'_>) {
    smp::start(1, change_all_the_time);
    let base = attacks.disk.base;
    for turn in 0..200_u64 {
        attacks.attack("a race", |disk| {
            for _ in 0..8 {
                let kind = if turn % 2 == 0 { READ } else { WRITES };
                disk.fill(GUEST_MARK, 1600);
                let request = disk.request(kind, 1600);
                disk.put_request(&request, turn % 4 < 2);
                BASE.store(base, Ordering::Release);
                if TURNS.load(Ordering::Relaxed) == 0 {
                    yield_cpu();
                }
                disk.offer(0, 0);
                disk.notify(0);
                let _ = disk.wait(0, 2000);
                BASE.store(0, Ordering::Release);
            }
            let seen = TURNS.load(Ordering::Relaxed);
            while TURNS.load(Ordering::Relaxed) < seen + 2 {
                yield_cpu();
            }
        });
    }
    smp::stop(1);
}

fn run() {
    lctlg_0(stctg_0());
    let (mut disk, mut card) = (None, None);
    for number in 0..16 {
        let subchannel = Subchannel { number };
        match subchannel.enable(0) {
            DISK => disk = Some(Device::new(subchannel)),
            NETWORK => card = Some(Device::new(subchannel)),
            _ => {}
        }
    }
    let (Some(mut disk), Some(mut card)) = (disk, card) else {
        holds("there are a disk and a network card", false);
        return;
    };
    good(&mut disk);
    network(&mut card);
    let mut attacks = Attacks {
        disk: &mut disk,
        number: 0,
        failed: 0,
    };
    let all: [(&str, fn(&mut Attacks<'_>)); 6] = [
        ("descriptors", descriptors),
        ("tables", tables),
        ("rings", rings),
        ("changes", changes),
        ("commands", commands),
        ("the older form", legacy),
    ];
    for (name, attack) in all {
        attack(&mut attacks);
        println!("{name}: {} attacks so far", attacks.number);
    }
    if smp::count() > 1 {
        races(&mut attacks);
        println!("races: {} attacks so far", attacks.number);
    }
    holds("the device works after each attack", attacks.failed == 0);
    network(&mut card);
}
