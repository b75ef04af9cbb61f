//! Counter sets by the device `/dev/hwctr`: START, READ before and after loops of known length, STOP.
//!
//! Prints the result of each READ as a line `cpu N set S: counters…` for each set, and the errors of requests that
//! must be refused. The requests and their structures are those of the kernel's `asm/hwctrset.h`.
#![no_std]
#![no_main]

use core::{ffi::CStr, hint::black_box};

use programs::{
    call::{self, Refused, ioctl},
    say,
    steps::steps,
};

const DEVICE: &CStr = c"/dev/hwctr";

const START: u32 = 0xC028_4301;
const STOP: u32 = 0x4302;
const READ: u32 = 0xC008_4303;

/// The sets that are authorized, and one that is not.
const BASIC_AND_PROBLEM: u64 = 0x02 | 0x04;
const CRYPTO: u64 = 0x08;

/// The longer loops have this many instructions more, and twice as many.
const LENGTH: u32 = 1_000_000;

/// What START is given.
#[repr(C)]
struct Start {
    version: u64,
    /// The kernel stores here how many bytes a READ gives.
    bytes: u64,
    mask_length: u64,
    mask: *const u64,
    sets: u64,
}

/// What READ gives for 16 CPUs with two sets each, in doublewords.
type Data = [u64; 512];

programs::program!(run);

fn start(device: u64, sets: u64) -> Result<u64, Refused> {
    // The first 16 CPUs; bit 0 is the rightmost.
    let mask = 0xFFFF_u64;
    let mut start = Start {
        version: 1,
        bytes: 0,
        mask_length: 8,
        mask: &raw const mask,
        sets,
    };
    // SAFETY: the structure of this request, and the mask it designates.
    unsafe { ioctl(device, START, &raw mut start as u64) }?;
    Ok(start.bytes)
}

fn read(device: u64, data: &mut Data) -> Result<u64, Refused> {
    // SAFETY: START has reported that there is room.
    unsafe { ioctl(device, READ, data.as_mut_ptr() as u64) }
}

fn stop(device: u64) -> Result<u64, Refused> {
    // SAFETY: takes no argument.
    unsafe { ioctl(device, STOP, 0) }
}

/// One line per CPU and set.
fn show(data: &Data) {
    let mut rest = data.iter().copied();
    let mut next = || rest.next().unwrap_or_default();
    let halves = |word: u64| (word >> 32, word & 0xFFFF_FFFF);
    for _ in 0..next() {
        let (cpu, sets) = halves(next());
        for _ in 0..sets {
            let (set, counters) = halves(next());
            say!("cpu {cpu} set {set}:");
            for _ in 0..counters {
                say!(" {}", next());
            }
            say!("\n");
        }
    }
}

fn measure(device: u64) -> Result<(), Refused> {
    let bytes = start(device, BASIC_AND_PROBLEM)?;
    let mut data: [Data; 4] = [[0; _]; 4];
    if bytes > size_of::<Data>() as u64 {
        say!("READ brings {bytes} bytes\n");
        return Ok(());
    }
    say!("second START: {:?}\n", start(device, BASIC_AND_PROBLEM));
    // The turns must differ only in the length of the loop, so the compiler must not know it.
    let lengths = black_box([0, 0, LENGTH, 2 * LENGTH]);
    let mut turn = 0;
    while turn < black_box(lengths.len()) {
        steps(1 + lengths[turn]);
        read(device, &mut data[turn])?;
        turn += 1;
    }
    stop(device)?;
    data.iter().for_each(show);
    say!("READ after STOP: {:?}\n", read(device, &mut data[0]));
    say!("unauthorized START: {:?}\n", start(device, CRYPTO));
    Ok(())
}

fn run() -> u8 {
    match call::open(DEVICE).and_then(measure) {
        Ok(()) => 0,
        Err(refused) => {
            say!("{refused:?}\n");
            1
        }
    }
}
