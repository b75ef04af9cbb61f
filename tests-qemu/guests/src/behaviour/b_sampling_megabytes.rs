//! Sampling into blocks of 1M bytes: their size, their place, and tables that go beyond 4K bytes.

use guests::externals::alerts;
use guests::insn::measurement::{ACTIVATE_BASIC, ENABLE_BASIC, SamplingRequest, lsctl, qsi};
use guests::sampling::{self, FULL, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Maximum-Buffer-Size Indicator; Sampling Buffer Structure",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const MEGABYTE: u64 = 1 << 20;
/// S, bit 0 of the request block.
const S: u64 = 1 << 63;
/// Storage that nothing else uses: a table on a boundary of 4K bytes, and two blocks.
const TABLE: u64 = 0x800_0000 + 4096;
const BLOCK: u64 = 0x810_0000;

fn read(at: u64) -> u64 {
    // SAFETY: storage that nothing else uses.
    unsafe { (at as *const u64).read_volatile() }
}

fn write(at: u64, value: u64) {
    // SAFETY: storage that nothing else uses.
    unsafe { (at as *mut u64).write_volatile(value) }
}

/// The trailer of a block.
fn trailer(block: u64) -> u64 {
    block + MEGABYTE - 64
}

fn run() {
    for block in [BLOCK, BLOCK + MEGABYTE] {
        for doubleword in 0..8 {
            write(trailer(block) + 8 * doubleword, 0);
        }
    }
    // Entries 511 and 512 lie on both sides of a boundary of 4K bytes; their ignored bits are ones.
    write(TABLE + 511 * 8, BLOCK | 0xF_FFFE);
    write(TABLE + 512 * 8, BLOCK + MEGABYTE | 0xF_FFFE);
    write(TABLE + 513 * 8, TABLE + 511 * 8 | 1);
    // The table-link entry designates a boundary of 16 bytes.
    write(TABLE + 513 * 8, TABLE + 512 * 8 | 1);
    let request = SamplingRequest {
        state: S | ENABLE_BASIC | ACTIVATE_BASIC,
        interval: INTERVAL,
        tear: TABLE + 511 * 8,
        dear: trailer(BLOCK) - 3 * 32,
        ..Default::default()
    };
    shows!("LSCTL-2", lsctl(&request), 0);
    busy(10 * INTERVAL + INTERVAL / 2);
    let registers = qsi();
    shows!(
        ["SREG-9", "SDB-1", "LSCTL-2"],
        read(trailer(BLOCK)) & FULL,
        FULL
    );
    shows!(
        ["SREG-9", "STEP-7"],
        (registers.state & 0x303, registers.tear),
        (0x202, TABLE + 512 * 8)
    );
    shows!(
        ["SDBT-7", "SDBT-8"],
        registers.dear,
        BLOCK + MEGABYTE + 7 * 32
    );
    // The last entry before the trailer is one.
    shows!("SDB-1", read(trailer(BLOCK) - 32) >> 48, 1);
    shows!("SREG-9", read(BLOCK + MEGABYTE) >> 48, 1);
    // On to the table-link entry, whose ignored bits are ones, and back to the origin that it designates.
    write(TABLE + 513 * 8, TABLE + 512 * 8 | 0xF);
    write(trailer(BLOCK + MEGABYTE), 0);
    lsctl(&SamplingRequest {
        tear: TABLE + 512 * 8,
        dear: trailer(BLOCK + MEGABYTE),
        ..request
    });
    busy(INTERVAL + INTERVAL / 2);
    shows!("SDBT-11", qsi().tear, TABLE + 512 * 8);
    sampling::stop();
    last_entry();
}

/// The last entry in front of a boundary of 1M bytes: as a block-link entry it is incorrect, as a table-link entry it
/// is followed. One in front of a boundary of 4K bytes is not the last.
fn last_entry() {
    write(TABLE + 510 * 8, BLOCK + MEGABYTE);
    write(trailer(BLOCK), 0);
    write(trailer(BLOCK + MEGABYTE), 0);
    let request = SamplingRequest {
        state: S | ENABLE_BASIC | ACTIVATE_BASIC,
        interval: INTERVAL,
        tear: TABLE + 510 * 8,
        dear: trailer(BLOCK + MEGABYTE),
        ..Default::default()
    };
    lsctl(&request);
    busy(INTERVAL + INTERVAL / 2);
    let found = (alerts(), qsi().tear, qsi().dear);
    shows!("BUFFER-6", found, ((0, 0), TABLE + 511 * 8, BLOCK + 32));
    let boundary = BLOCK;
    for (entry, is_link) in [(BLOCK + MEGABYTE, false), (TABLE | 1, true)] {
        write(TABLE, BLOCK + MEGABYTE);
        write(boundary - 8, entry);
        write(trailer(BLOCK), 0);
        write(trailer(BLOCK + MEGABYTE), 0);
        lsctl(&SamplingRequest {
            tear: boundary - 16,
            dear: trailer(BLOCK),
            ..request
        });
        busy(INTERVAL + INTERVAL / 2);
        let registers = qsi();
        let found = (
            alerts(),
            registers.state & 0x303,
            registers.tear,
            registers.dear,
        );
        if is_link {
            let first = BLOCK + MEGABYTE + 32;
            shows!("BUFFER-6", found, ((0, 0), 0x202, TABLE, first));
        } else {
            let (tear, dear) = (boundary - 8, trailer(BLOCK));
            shows!(
                ["BUFFER-6", "STEP-19"],
                found,
                ((1, 0x4000_0000), 0x200, tear, dear)
            );
        }
        sampling::stop();
    }
}
