//! After a purge no translation from before it is used, and a TLB forms new ones only from tables that are attached: DAT is
//! on, and a control register in use leads to them. A program changes all other tables without a further purge.
//!
//! Each purge is tried in each state of the CPU that has the translations, with few and many of them, on the CPU that purges
//! and on another one.

use core::sync::atomic::{AtomicU64, Ordering};

use guests::dat::{self, SEGMENT_INVALID, WINDOW, WINDOW_SEGMENT};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::storage::ptlb;
use guests::insn::yield_cpu;
use guests::misdirected::{load, store};
use guests::{attempt, attempt_on_registers, shows, smp};

guests::clause!(
    "SA22-7832, Chapter 3, Translation-Lookaside Buffer; Chapter 10, COMPARE AND SWAP AND PURGE; INVALIDATE DAT TABLE ENTRY; INVALIDATE PAGE TABLE ENTRY; PURGE TLB",
    native = true,
    cpus = 2
);
guests::case!(run);

/// Page frames that each hold their number. Nothing else is there.
const FRAMES: u64 = 0xC0_0000;
const FRAME_COUNT: u64 = 64;
/// The first of the pages that are used beside the one that changes.
const OTHERS: u64 = 10;

/// Bit 37 of control register 0.
const SECONDARY_SPACE_CONTROL: u64 = 1 << 26;

/// The segments of a space that has the program, but not the window.
#[repr(C, align(16384))]
struct Segments([u64; 2048]);
static mut APART: Segments = Segments([SEGMENT_INVALID; 2048]);

/// The state in which a CPU has the window's translations and does not use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
enum State {
    /// DAT is off.
    Off,
    /// In a space with other tables.
    Apart,
    /// The same, and control register 7 leads to the window, which the secondary-space control and the mode forbid to use.
    Secondary,
    /// In the window's space.
    Inside,
}

const STATES: [State; 4] = [State::Off, State::Apart, State::Secondary, State::Inside];

/// The instructions that purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purge {
    Ptlb,
    Csp,
    Cspg,
    /// IDTE of a segment that is not the window's.
    Idte,
    /// IDTE that clears by the ASCE of the window's space.
    IdteClearing,
    /// IPTE of the page that changes.
    Ipte,
    IpteLocal,
}

const PURGES: [Purge; 7] = [
    Purge::Ptlb,
    Purge::Csp,
    Purge::Cspg,
    Purge::Idte,
    Purge::IdteClearing,
    Purge::Ipte,
    Purge::IpteLocal,
];

impl Purge {
    /// Whether it concerns other CPUs.
    const fn reaches_others(self) -> bool {
        !matches!(self, Self::Ptlb | Self::IpteLocal)
    }

    /// Whether the entry is to be changed after it, because it becomes invalid.
    const fn invalidates(self) -> bool {
        matches!(self, Self::Ipte | Self::IpteLocal)
    }

    fn issue(self, page: u64) {
        let mut zero = 0_u64;
        let operand = &raw mut zero as u64 | 1;
        let segments = space() & !0xFFF;
        let (table, at) = (dat::window_origin(), WINDOW + 0x1000 * page);
        let code = match self {
            Self::Ptlb => {
                ptlb();
                0
            }
            Self::Csp => {
                let mut registers = [0, 0, 0, operand, 0];
                attempt_on_registers!("csp %r2, %r4", &mut registers).code()
            }
            Self::Cspg => {
                let mut registers = [0, 0, 0, operand, 0];
                attempt_on_registers!("cspg %r2, %r4", &mut registers).code()
            }
            Self::Idte => idte(segments, (WINDOW_SEGMENT as u64 + 1) << 20, 0),
            Self::IdteClearing => idte(0, 0x800, space()),
            Self::Ipte => attempt!(
                ".insn rrf,0xb2210000,{t},{i},0,0", t = in(reg) table, i = in(reg) at
            )
            .code(),
            Self::IpteLocal => attempt!(
                ".insn rrf,0xb2210000,{t},{i},0,1", t = in(reg) table, i = in(reg) at
            )
            .code(),
        };
        assert!(code == 0, "{self:?}");
    }
}

fn idte(table: u64, selection: u64, space: u64) -> u16 {
    let mut registers = [0, table, selection, space, 0];
    attempt_on_registers!(".insn rrf,0xb98e0000,%r2,%r3,%r4,0", &mut registers).code()
}

/// The address-space-control element of the window's space.
fn space() -> u64 {
    dat::segment_entry(0) | 3
}

/// A CPU, and the state that it is in.
struct Cpu(State);

impl Cpu {
    /// Puts it into a state, if it is in another.
    fn enter(&mut self, state: State) {
        if self.0 == state {
            return;
        }
        self.0 = state;
        dat::off();
        let apart = &raw const APART as u64 | 3;
        let [primary, secondary] = match state {
            State::Off | State::Inside => [space(); 2],
            State::Apart => [apart; 2],
            State::Secondary => [apart, space()],
        };
        let mut registers = stctg_all();
        registers[0] &= !SECONDARY_SPACE_CONTROL;
        registers[1] = primary;
        registers[7] = secondary;
        registers[13] = primary;
        lctlg_all(&registers);
        if state != State::Off {
            dat::on();
        }
    }

    /// Uses a page and `used` others, and enters a state.
    fn use_pages(&mut self, page: u64, used: u64, state: State) {
        self.enter(State::Inside);
        for other in OTHERS..OTHERS + used {
            load(WINDOW + 0x1000 * other);
        }
        load(WINDOW + 0x1000 * page);
        self.enter(state);
    }

    /// The frame at a page.
    fn look(&mut self, page: u64) -> u64 {
        self.enter(State::Inside);
        load(WINDOW + 0x1000 * page)
    }
}

/// What the other CPU does next: uses pages and waits in a state, or looks. Odd and even numbers of requests.
static ASKED: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicU64 = AtomicU64::new(0);
static PAGE: AtomicU64 = AtomicU64::new(0);
static USED: AtomicU64 = AtomicU64::new(0);
static STATE: AtomicU64 = AtomicU64::new(0);
static FOUND: AtomicU64 = AtomicU64::new(0);

extern "C" fn other() -> ! {
    let (mut cpu, mut done) = (Cpu(State::Off), 0);
    loop {
        if ASKED.load(Ordering::Acquire) == done {
            yield_cpu();
            continue;
        }
        let page = PAGE.load(Ordering::Relaxed);
        done += 1;
        if done % 2 == 1 {
            let state = STATES[STATE.load(Ordering::Relaxed) as usize];
            cpu.use_pages(page, USED.load(Ordering::Relaxed), state);
        } else {
            FOUND.store(cpu.look(page), Ordering::Relaxed);
        }
        DONE.store(done, Ordering::Release);
    }
}

/// Lets the other CPU do what is next.
fn ask() {
    let asked = ASKED.load(Ordering::Relaxed) + 1;
    ASKED.store(asked, Ordering::Release);
    while DONE.load(Ordering::Acquire) != asked {
        yield_cpu();
    }
}

/// A purge while a CPU is in a state and has translated so many pages beside the one that changes.
#[derive(Clone, Copy, Debug)]
struct Round {
    purge: Purge,
    state: State,
    used: u64,
    /// Whether the CPU with the translations is another one.
    other: bool,
    /// Whether the entry is changed after the purge.
    purged_before: bool,
}

impl Round {
    fn holds(self, cpu: &mut Cpu, page: u64) {
        let before = load(dat::window_origin() + 8 * page);
        let frame = FRAMES + (before - FRAMES + 0x1_1000) % (FRAME_COUNT << 12);
        if self.other {
            PAGE.store(page, Ordering::Relaxed);
            USED.store(self.used, Ordering::Relaxed);
            STATE.store(self.state as u64, Ordering::Relaxed);
            ask();
        } else {
            cpu.use_pages(page, self.used, self.state);
        }
        let change = || dat::set_window(page as usize, frame);
        if !self.purged_before {
            change();
        }
        self.purge.issue(page);
        if self.purged_before || self.purge.invalidates() {
            change();
        }
        let found = if self.other {
            ask();
            FOUND.load(Ordering::Relaxed)
        } else {
            cpu.look(page)
        };
        let number = (frame - FRAMES) >> 12;
        if self.purged_before {
            shows!("TLB-4", (self, found), (self, number));
        } else {
            shows!("TLB-2", (self, found), (self, number));
        }
    }
}

impl PartialEq for Round {
    /// What is compared is what was found.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

fn rounds(other: bool, numbers: &[u64]) {
    let (mut cpu, mut page) = (Cpu(State::Off), 0);
    let states = STATES.into_iter();
    let cases = states.flat_map(|state| numbers.iter().map(move |&used| (state, used)));
    for (state, used) in cases {
        for purge in PURGES {
            if other && !purge.reaches_others() {
                continue;
            }
            for purged_before in [false, true] {
                if purged_before && state == State::Inside {
                    continue;
                }
                let round = Round {
                    purge,
                    state,
                    used,
                    other,
                    purged_before,
                };
                round.holds(&mut cpu, page);
                page = (page + 1) % OTHERS;
            }
        }
    }
    cpu.enter(State::Off);
}

fn run() {
    dat::prepare();
    for n in 0..FRAME_COUNT {
        store(FRAMES + 0x1000 * n, n);
        dat::set_window(n as usize, FRAMES + 0x1000 * n);
    }
    for n in 0..16 {
        // SAFETY: before any CPU uses the table.
        unsafe { (&raw mut APART.0[n]).write(load(dat::segment_entry(n))) };
    }
    rounds(false, &[0, 1, 5, 8, 40]);
    smp::start(1, other);
    rounds(true, &[1, 40]);
    smp::stop_others();
}
