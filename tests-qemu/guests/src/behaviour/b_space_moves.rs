//! MOVE TO PRIMARY, MOVE TO SECONDARY and MOVE WITH OPTIONAL SPECIFICATIONS between two spaces that have other frames at
//! the same address.

use guests::attempt::{Outcome, nullified, suppressed};
use guests::dat::{self, INVALID, PageTable, WINDOW, WINDOW_SEGMENT};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::psw::bit;
use guests::{attempt_on_registers, shows};

guests::clause!(
    "SA22-7832, MOVE TO PRIMARY; MOVE TO SECONDARY; MOVE WITH OPTIONAL SPECIFICATIONS",
    native = true
);
guests::case!(run);

const PAGE: u64 = 4096;
/// The page of the window that is invalid in both spaces.
const NOWHERE: u64 = WINDOW + 8 * PAGE;

/// Two frames for each space: primary, then secondary.
#[repr(C, align(4096))]
struct Frames([[u8; 2 * PAGE as usize]; 2]);
static mut FRAMES: Frames = Frames([[0; 2 * PAGE as usize]; 2]);

/// The segment table of the secondary space, and its page table for the window.
#[repr(C, align(16384))]
struct SegmentTable([u64; 2048]);
static mut SEGMENTS: SegmentTable = SegmentTable([0; 2048]);
static mut PAGES: PageTable = PageTable([INVALID; 256]);

/// What the frames of the primary and of the secondary space hold before.
const PRIMARY: u8 = 0x11;
const SECONDARY: u8 = 0x22;

/// Fills the frames as they are before.
fn fill() {
    // SAFETY: nothing refers to the frames meanwhile.
    let frames = unsafe { &mut *(&raw mut FRAMES.0) };
    frames[0].fill(PRIMARY);
    frames[1].fill(SECONDARY);
}

/// The bytes that have moved into a space, which are its first ones; none if others have changed, too.
fn moved(space: usize) -> Option<usize> {
    // SAFETY: as `fill`.
    let frames = unsafe { &*(&raw const FRAMES.0) };
    let (own, other) = if space == 0 {
        (PRIMARY, SECONDARY)
    } else {
        (SECONDARY, PRIMARY)
    };
    let count = frames[space]
        .iter()
        .take_while(|&&byte| byte == other)
        .count();
    let rest = frames[space][count..].iter().all(|&byte| byte == own);
    let stays = frames[1 - space].iter().all(|&byte| byte == other);
    (rest && stays).then_some(count)
}

/// Makes the two spaces. The secondary-space control is one.
fn prepare() {
    dat::prepare();
    let mut control = stctg_all();
    let frames = &raw const FRAMES as u64;
    // SAFETY: the tables are the program's own, and DAT is off.
    unsafe {
        let (segments, pages) = (&mut *(&raw mut SEGMENTS), &mut *(&raw mut PAGES));
        let primary =
            core::ptr::with_exposed_provenance::<[u64; 2048]>((control[1] & !0xFFF) as usize);
        segments.0 = *primary;
        segments.0[WINDOW_SEGMENT] = &raw const *pages as u64;
        pages.0[0] = frames + 2 * PAGE;
        pages.0[1] = frames + 3 * PAGE;
    }
    dat::set_window(0, frames);
    dat::set_window(1, frames + PAGE);
    control[0] |= bit(37);
    control[7] = &raw const SEGMENTS as u64 | 3;
    lctlg_all(&control);
}

/// Performs an instruction with DAT on, after the frames are filled. Registers: controls, first operand, length, second
/// operand, key.
fn with_dat(operation: fn(&mut [u64; 5]) -> Outcome, mut registers: [u64; 5]) -> Outcome {
    fill();
    dat::on();
    let outcome = operation(&mut registers);
    dat::off();
    outcome
}

fn to_primary(registers: &mut [u64; 5]) -> Outcome {
    attempt_on_registers!("mvcp 0(%r3,%r2), 0(%r4), %r5", registers)
}

fn to_secondary(registers: &mut [u64; 5]) -> Outcome {
    attempt_on_registers!("mvcs 0(%r3,%r2), 0(%r4), %r5", registers)
}

fn optional(registers: &mut [u64; 5]) -> Outcome {
    attempt_on_registers!(".insn ssf,0xc80000000000,0(%r2),0(%r4),%r3", registers)
}

/// The same in the 31-bit addressing mode.
fn to_primary_31(registers: &mut [u64; 5]) -> Outcome {
    attempt_on_registers!("sam31\n mvcp 0(%r3,%r2), 0(%r4), %r5\n sam64", registers)
}

fn to_secondary_31(registers: &mut [u64; 5]) -> Outcome {
    attempt_on_registers!("sam31\n mvcs 0(%r3,%r2), 0(%r4), %r5\n sam64", registers)
}

fn optional_31(registers: &mut [u64; 5]) -> Outcome {
    attempt_on_registers!(
        "sam31\n .insn ssf,0xc80000000000,0(%r2),0(%r4),%r3\n sam64",
        registers
    )
}

/// In the home-space mode, whose tables are those of the primary space.
fn to_primary_at_home(registers: &mut [u64; 5]) -> Outcome {
    attempt_on_registers!(
        "sacf 0x300\n mvcp 0(%r3,%r2), 0(%r4), %r5\n sacf 0",
        registers
    )
}

fn to_secondary_at_home(registers: &mut [u64; 5]) -> Outcome {
    attempt_on_registers!(
        "sacf 0x300\n mvcs 0(%r3,%r2), 0(%r4), %r5\n sacf 0",
        registers
    )
}

/// Registers that move so many bytes between the same addresses of two spaces.
const fn length(length: u64) -> [u64; 5] {
    [0, WINDOW, length, WINDOW, 0]
}

fn run() {
    prepare();
    primary();
    secondary();
    specifications();
}

fn primary() {
    for count in [1, 255, 256] {
        let outcome = with_dat(to_primary, length(count));
        let found = (outcome.condition_code(), moved(0));
        shows!(["MVCP-1", "MVCP-2"], found, (0, Some(count as usize)));
    }
    let outcome = with_dat(to_primary, length(257));
    shows!(
        "MVCP-3",
        (outcome.condition_code(), moved(0)),
        (3, Some(256))
    );
    let outcome = with_dat(to_primary, length(0));
    shows!("MVCP-4", (outcome.condition_code(), moved(0)), (0, Some(0)));
    let outcome = with_dat(to_primary_31, length(1 << 32 | 5));
    shows!("MVCP-5", (outcome.condition_code(), moved(0)), (0, Some(5)));
    fill();
    shows!(
        "MVCP-7",
        to_primary(&mut length(5)).number(),
        suppressed(0x13, 6)
    );
    shows!(
        "MVCP-8",
        without_control(to_primary).number(),
        suppressed(0x13, 6)
    );
    shows!(
        "MVCP-9",
        with_dat(to_primary_at_home, length(5)).code(),
        0x13
    );
    for registers in [[0, NOWHERE, 5, WINDOW, 0], [0, WINDOW, 5, NOWHERE, 0]] {
        let outcome = with_dat(to_primary, registers);
        shows!(
            "MVCP-13",
            (outcome.number(), moved(0)),
            (nullified(0x11, 6), Some(0))
        );
    }
}

fn secondary() {
    for count in [1, 255, 256] {
        let outcome = with_dat(to_secondary, length(count));
        let found = (outcome.condition_code(), moved(1));
        shows!(["MVCS-1", "MVCS-2"], found, (0, Some(count as usize)));
    }
    let outcome = with_dat(to_secondary, length(257));
    shows!(
        "MVCS-3",
        (outcome.condition_code(), moved(1)),
        (3, Some(256))
    );
    let outcome = with_dat(to_secondary, length(0));
    shows!("MVCS-4", (outcome.condition_code(), moved(1)), (0, Some(0)));
    let outcome = with_dat(to_secondary_31, length(1 << 32 | 5));
    shows!("MVCS-5", (outcome.condition_code(), moved(1)), (0, Some(5)));
    fill();
    shows!(
        "MVCS-7",
        to_secondary(&mut length(5)).number(),
        suppressed(0x13, 6)
    );
    shows!(
        "MVCS-8",
        without_control(to_secondary).number(),
        suppressed(0x13, 6)
    );
    shows!(
        "MVCS-9",
        with_dat(to_secondary_at_home, length(5)).code(),
        0x13
    );
    for registers in [[0, NOWHERE, 5, WINDOW, 0], [0, WINDOW, 5, NOWHERE, 0]] {
        let outcome = with_dat(to_secondary, registers);
        shows!(
            "MVCS-13",
            (outcome.number(), moved(1)),
            (nullified(0x11, 6), Some(0))
        );
    }
}

/// Performs an instruction with the secondary-space control zero.
fn without_control(operation: fn(&mut [u64; 5]) -> Outcome) -> Outcome {
    let saved = stctg_all();
    let mut control = saved;
    control[0] &= !bit(37);
    lctlg_all(&control);
    let outcome = with_dat(operation, [0x0081, WINDOW, 5, WINDOW, 0]);
    lctlg_all(&saved);
    outcome
}

fn specifications() {
    /// The address-space control of an operand: secondary, and primary.
    const IN_SECONDARY: u64 = 0x81;
    const IN_PRIMARY: u64 = 0x01;
    let between = |controls, count| [controls, WINDOW, count, WINDOW, 0];
    // Within the primary space: eight bytes become what the secondary space has.
    fill();
    // SAFETY: as `fill`.
    unsafe { (&mut *(&raw mut FRAMES.0))[0][PAGE as usize..][..8].fill(SECONDARY) };
    dat::on();
    let outcome = optional(&mut [0, WINDOW, 8, WINDOW + PAGE, 0]);
    dat::off();
    // SAFETY: as `fill`.
    unsafe { (&mut *(&raw mut FRAMES.0))[0][PAGE as usize..][..8].fill(PRIMARY) };
    shows!(
        "MVCOS-1",
        (outcome.condition_code(), moved(0)),
        (0, Some(8))
    );
    for count in [1, 256, 4095, 4096] {
        let outcome = with_dat(optional, between(IN_SECONDARY, count));
        let found = (outcome.condition_code(), moved(0));
        shows!(["MVCOS-2", "MVCOS-7"], found, (0, Some(count as usize)));
    }
    let outcome = with_dat(optional, between(IN_SECONDARY, 4097));
    shows!(
        "MVCOS-3",
        (outcome.condition_code(), moved(0)),
        (3, Some(4096))
    );
    let outcome = with_dat(optional, between(IN_SECONDARY, 0));
    shows!(
        "MVCOS-4",
        (outcome.condition_code(), moved(0)),
        (0, Some(0))
    );
    let outcome = with_dat(optional_31, between(IN_SECONDARY, 1 << 32 | 5));
    shows!(
        "MVCOS-5",
        (outcome.condition_code(), moved(0)),
        (0, Some(5))
    );
    let outcome = with_dat(optional, between(IN_SECONDARY << 16, 7));
    shows!(
        "MVCOS-6",
        (outcome.condition_code(), moved(1)),
        (0, Some(7))
    );
    let outcome = with_dat(optional, between(IN_SECONDARY << 16 | IN_PRIMARY, 9));
    shows!(
        ["MVCOS-6", "MVCOS-7"],
        (outcome.condition_code(), moved(1)),
        (0, Some(9))
    );
    fill();
    let real = optional(&mut between(IN_SECONDARY, 5));
    shows!("MVCOS-10", real.number(), suppressed(0x13, 6));
    shows!(
        "MVCOS-11",
        without_control(optional).number(),
        suppressed(0x13, 6)
    );
    for [first, second] in [[NOWHERE, WINDOW], [WINDOW, NOWHERE]] {
        let outcome = with_dat(optional, [IN_SECONDARY, first, 5, second, 0]);
        shows!(
            "MVCOS-16",
            (outcome.number(), moved(0)),
            (nullified(0x11, 6), Some(0))
        );
    }
}
