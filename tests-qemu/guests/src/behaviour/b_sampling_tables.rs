//! Sample-data-block tables of every valid shape: where they begin and end, how they are linked, which bits of an
//! entry are ignored, and what happens to a sample when the next block is full.

use guests::externals::alerts;
use guests::insn::control::{lctlg_0, stctg_0};
use guests::insn::measurement::{SamplingRequest, lsctl, qsi};
use guests::psw::bit;
use guests::sampling::{self, ENTRIES, FULL, TRAILER, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Sample-Data-Block Table; Process Steps",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;

/// The place in a block with room for three more entries.
fn nearly_full(n: usize) -> u64 {
    sampling::block(n) + TRAILER as u64 - 3 * 32
}

/// Samples about ten times, three of them into the first block's last places.
fn sample(request: SamplingRequest) {
    lsctl(&SamplingRequest {
        dear: nearly_full(0),
        ..request
    });
    busy(10 * INTERVAL + INTERVAL / 2);
}

fn links() {
    let request = sampling::prepare(4, INTERVAL);
    // The ignored bits of the entries are ones; the table begins at its third pair of entries.
    sampling::set_table_entry(6, sampling::block(0) | 0xFFE);
    sampling::set_table_entry(7, sampling::block(1) | 0xFFE);
    sampling::set_table_entry(8, sampling::table() + 6 * 8 | 0xE | 1);
    sample(SamplingRequest {
        tear: sampling::table() + 6 * 8,
        ..request
    });
    let registers = qsi();
    shows!(
        ["SDBT-1", "SDBT-2", "STEP-7", "SREG-6"],
        registers.tear - sampling::table(),
        7 * 8
    );
    shows!(
        [
            "SDBT-5", "SDBT-6", "BUFFER-1", "STEP-12", "STEP-15", "SREG-7"
        ],
        registers.dear - sampling::block(1),
        7 * 32
    );
    shows!(
        ["STEP-4", "TRAILER-1"],
        (
            sampling::trailer(0, 0) & FULL,
            sampling::trailer(1, 0) & FULL
        ),
        (FULL, 0)
    );
    shows!("STEP-5", sampling::trailer(0, 2) != 0);
    // On to the link and back to the table's origin, whose block is still full.
    busy(ENTRIES as u64 * INTERVAL);
    let registers = qsi();
    shows!(
        [
            "SDBT-3", "SDBT-4", "SDBT-9", "SDBT-10", "BUFFER-2", "STEP-9", "STEP-11", "STEP-13"
        ],
        registers.tear - sampling::table(),
        6 * 8
    );
    let lost = sampling::trailer(0, 1);
    shows!("STEP-14", (3..=10).contains(&lost));
    shows!("STEP-2", sampling::trailer(1, 1), 0);
    busy(5 * INTERVAL);
    shows!(["STEP-2", "TRAILER-9"], sampling::trailer(0, 1) - lost, 5);
    shows!("STEP-2", qsi().dear, registers.dear);
    sampling::stop();
}

fn chain() {
    // Three tables: the first two of one block, the third of two, one of them the first one again.
    let request = sampling::prepare(1, INTERVAL);
    let (second, third) = (sampling::second_table(), sampling::second_table() + 64);
    sampling::set_table_entry(1, second | 1);
    sampling::set_table_entry(512, sampling::block(1));
    sampling::set_table_entry(513, third | 1);
    sampling::set_table_entry(520, sampling::block(2));
    sampling::set_table_entry(521, sampling::block(0));
    sampling::set_table_entry(522, sampling::table() | 1);
    sample(request);
    shows!("BUFFER-4", qsi().tear, second);
    busy(ENTRIES as u64 * INTERVAL);
    shows!("BUFFER-4", qsi().tear, third);
    busy(ENTRIES as u64 * INTERVAL);
    shows!("BUFFER-5", qsi().tear, third + 8);
    shows!("BUFFER-5", sampling::trailer(0, 1) > 0);
    sampling::stop();
}

fn last_entries() {
    // The last entry of the page is a block-link entry, although another table follows at once.
    let request = sampling::prepare(1, INTERVAL);
    sampling::set_table_entry(510, sampling::block(0));
    sampling::set_table_entry(511, sampling::block(1));
    sample(SamplingRequest {
        tear: sampling::table() + 510 * 8,
        ..request
    });
    shows!(
        [
            "STEP-8",
            "UPDATE-12",
            "UPDATE-14",
            "BUFFER-3",
            "STRANSITION-15",
            "ALERT-34"
        ],
        qsi().state & 0x303,
        0x200
    );
    shows!(["STEP-8", "ALERT-7", "ALERT-8"], alerts(), (1, 0x4000_0000));
    shows!("STEP-8", sampling::stored(1), 0);
    sampling::stop();
    // The last entry of the page is a table-link entry.
    let request = sampling::prepare(1, INTERVAL);
    sampling::set_table_entry(510, sampling::block(0));
    sampling::set_table_entry(511, sampling::second_table() | 1);
    sampling::set_table_entry(512, sampling::block(2));
    sampling::set_table_entry(513, sampling::table() | 1);
    sample(SamplingRequest {
        tear: sampling::table() + 510 * 8,
        ..request
    });
    shows!(["STEP-9", "BUFFER-3"], qsi().tear, sampling::second_table());
    shows!("STEP-11", sampling::stored(2), 7);
    sampling::stop();
    // It designates a table that begins with a table-link entry.
    let request = sampling::prepare(1, INTERVAL);
    sampling::set_table_entry(1, sampling::second_table() | 1);
    sampling::set_table_entry(512, sampling::table() | 1);
    sample(request);
    shows!(
        [
            "STEP-10",
            "UPDATE-12",
            "UPDATE-13",
            "STRANSITION-15",
            "ALERT-34"
        ],
        qsi().state & 0x303,
        0x200
    );
    shows!(
        ["STEP-10", "ALERT-6", "ALERT-8"],
        alerts(),
        (1, 0x4000_0000)
    );
    sampling::stop();
}

fn carries() {
    // An overflow count of all ones goes on from zero.
    let request = sampling::prepare(1, INTERVAL);
    sampling::set_trailer(0, 0, FULL);
    sampling::set_trailer(0, 1, u64::MAX - 1);
    sample(request);
    shows!("UPDATE-4", sampling::trailer(0, 1), 8);
    sampling::stop();
    // The table entry behind the last doubleword of the address space is at zero, where no entry may be.
    let request = sampling::prepare(1, INTERVAL);
    sample(SamplingRequest {
        tear: u64::MAX - 7,
        ..request
    });
    shows!("UPDATE-3", qsi().tear, 0);
    shows!("UPDATE-3", alerts(), (1, 0x8000_0000));
    sampling::stop();
}

fn protection() {
    let cr0 = stctg_0();
    // Low-address protection is on, and a block lies where it would apply: an alert, no exception.
    lctlg_0(cr0 | bit(35));
    let request = sampling::prepare(1, INTERVAL);
    lsctl(&SamplingRequest {
        dear: 0x1000,
        ..request
    });
    busy(2 * INTERVAL);
    // The handler stores where the protection would apply to it.
    lctlg_0(cr0);
    shows!("UPDATE-6", alerts(), (1, 0x8000_0000));
    sampling::stop();
    // A storage key that does not match the PSW key.
    let request = sampling::prepare(1, INTERVAL);
    // SAFETY: a guest owns its storage keys.
    unsafe {
        core::arch::asm!("sske {k}, {a}", k = in(reg) 0x38_u64, a = in(reg) sampling::block(0));
        core::arch::asm!("spka 0x50(%r0)");
    }
    sample(request);
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("spka 0(%r0)");
        core::arch::asm!("sske {k}, {a}", k = in(reg) 0_u64, a = in(reg) sampling::block(0));
    }
    shows!("UPDATE-5", sampling::trailer(0, 0) & FULL, FULL);
    sampling::stop();
}

fn run() {
    links();
    chain();
    last_entries();
    carries();
    protection();
}
