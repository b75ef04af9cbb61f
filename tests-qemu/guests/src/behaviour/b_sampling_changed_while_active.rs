//! Another CPU changes tables, blocks and trailers while sampling is active. Sampling may end with an alert, and the
//! program starts it again. Nothing is stored into the tables or outside the blocks, whatever an entry contained when
//! it was fetched.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use guests::check::fact;
use guests::externals;
use guests::insn::control::{stnsm, stosm};
use guests::insn::measurement::{ENABLE_BASIC, SamplingInformation, SamplingRequest, lsctl, qsi};
use guests::insn::yield_cpu;
use guests::misdirected::{self, INCORRECT, INTERVAL, INVALID, load, not_available, store};
use guests::sampling::{self, ALERT, BLOCKS, FULL, TRAILER, busy};
use guests::{shows, smp};

guests::clause!(
    "SA23-2260, Sampling Buffer Structure; Sample-Data-Block Update Process",
    native = false,
    cpus = 2
);
guests::case!(run);

/// How often the sampled CPU gives its turn away.
const ROUNDS: u64 = 500;
/// The most rounds: in real time it depends on chance when each kind of alert has occurred.
const MOST_ROUNDS: u64 = 100 * ROUNDS;
/// How often it looks for a sample. In real time one may come late.
const LOOKS: u64 = 40;
/// Entries of both tables that it changes, from the first on.
const CHANGED: u64 = 32;
/// Doublewords of a block before its trailer.
const ENTRIES_DOUBLEWORDS: u64 = TRAILER as u64 / 8;
/// The parameter of a program request alert.
const REQUESTED: u32 = 0x2000_0000;

/// The alerts that make sampling inactive.
const ERROR: u32 = INVALID | INCORRECT;

static ENDS: AtomicBool = AtomicBool::new(false);
static CHANGES: AtomicU64 = AtomicU64::new(0);
/// The entries of both tables, as the changing CPU wrote them.
static WRITTEN: [[AtomicU64; CHANGED as usize]; 2] =
    [const { [const { AtomicU64::new(0) }; CHANGED as usize] }; 2];

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 32) % limit
    }
}

/// Any possible entry: mostly one that leads to a block or table, sometimes one that leads astray.
fn entry(random: &mut Random) -> u64 {
    let ignored = random.next() & 0xFFE;
    match random.below(16) {
        0 => not_available()[random.below(8) as usize] | random.below(2),
        1 => random.below(0x2000),
        2..6 => {
            let table = [sampling::table(), sampling::second_table()][random.below(2) as usize];
            table + 16 * random.below(CHANGED / 2) | ignored & 0xE | 1
        }
        _ => sampling::block(random.below(BLOCKS as u64) as usize) | ignored,
    }
}

fn change(random: &mut Random) {
    let block = sampling::block(random.below(BLOCKS as u64) as usize);
    match random.below(4) {
        0 | 1 => {
            let (table, n) = (random.below(2) as usize, random.below(CHANGED));
            let value = entry(random);
            WRITTEN[table][n as usize].store(value, Ordering::Relaxed);
            store(
                [sampling::table(), sampling::second_table()][table] + 8 * n,
                value,
            );
        }
        2 => store(block + 8 * random.below(ENTRIES_DOUBLEWORDS), random.next()),
        _ => {
            let trailer = block + TRAILER as u64;
            store(
                trailer,
                random.next() & (FULL | ALERT | 0xFFFF_FFFF) & random.next(),
            );
            store(trailer + 8, random.next());
        }
    }
}

extern "C" fn changes() -> ! {
    let mut random = Random(0x0123_4567_89AB_CDEF);
    while !ENDS.load(Ordering::Acquire) {
        for _ in 0..50 {
            change(&mut random);
        }
        CHANGES.fetch_add(50, Ordering::Relaxed);
        yield_cpu();
    }
    ENDS.store(false, Ordering::Release);
    loop {
        yield_cpu();
    }
}

/// The parameters of all alerts that are pending, or that arrive while they are taken.
fn alerts() -> u32 {
    stosm::<0x01>();
    busy(100);
    stnsm::<0xFE>();
    let parameters = (0..externals::recorded()).map(|n| externals::get(n).parameter);
    let all = parameters.fold(0, |all, parameter| all | parameter);
    externals::take_codes();
    all
}

const fn is_active(information: &SamplingInformation) -> bool {
    information.state & 0x303 == 0x202
}

fn run() {
    externals::record();
    let before = misdirected::sum_of_the_rest();
    let request = sampling::prepare(4, INTERVAL);
    for n in 0..CHANGED as usize {
        for (table, base) in [sampling::table(), sampling::second_table()]
            .into_iter()
            .enumerate()
        {
            let at = base + 8 * n as u64;
            store(at, sampling::block(n % BLOCKS));
            WRITTEN[table][n].store(load(at), Ordering::Relaxed);
        }
    }
    smp::start(1, changes);
    let mut random = Random(0xFEDC_BA98_7654_3210);
    let (mut seen, mut moved) = (0, 0_u64);
    let mut next = request;
    let mut round = 0;
    while round < ROUNDS || seen != ERROR | REQUESTED && round < MOST_ROUNDS {
        round += 1;
        lsctl(&next);
        let mut looks = 0;
        while looks < LOOKS && (qsi().tear, qsi().dear) == (next.tear, next.dear) {
            busy(5 * INTERVAL);
            looks += 1;
        }
        let earlier = qsi();
        let parameter = alerts();
        let after = qsi();
        let has_moved = (next.tear, next.dear) != (after.tear, after.dear);
        moved += u64::from(has_moved);
        shows!("ALERT-39", parameter & !(ERROR | REQUESTED), 0);
        // Sampling goes on meanwhile: it may end between two readings, but cannot begin.
        if parameter & ERROR != 0 {
            shows!(["ALERT-33", "ALERT-34"], !is_active(&after));
        }
        if !is_active(&earlier) {
            shows!(
                ["UPDATE-7", "UPDATE-8", "UPDATE-12"],
                parameter & ERROR != 0
            );
        }
        // Sampling is inactive, so no further alert can become pending.
        lsctl(&SamplingRequest {
            state: ENABLE_BASIC,
            ..request
        });
        let parameter = parameter | alerts();
        seen |= parameter;
        next = if has_moved && parameter & ERROR == 0 {
            // Unchanged: otherwise sampling would have stopped with an alert.
            let now = qsi();
            SamplingRequest {
                tear: now.tear,
                dear: now.dear,
                ..request
            }
        } else {
            // Sampling ended, or the block was full: the program begins anew, near the end of some block.
            let block = sampling::block(random.below(BLOCKS as u64) as usize);
            SamplingRequest {
                tear: sampling::table() + 8 * random.below(CHANGED - 8),
                dear: block + TRAILER as u64 - 32 * random.below(4),
                ..request
            }
        };
        yield_cpu();
    }
    sampling::stop();
    ENDS.store(true, Ordering::Release);
    while ENDS.load(Ordering::Acquire) {
        yield_cpu();
    }
    shows!(
        ["UPDATE-7", "UPDATE-8", "UPDATE-12", "STEP-6"],
        seen,
        ERROR | REQUESTED
    );
    fact("rounds in which the registers changed", moved);
    fact("changes", CHANGES.load(Ordering::Relaxed));
    // The machine stored nothing into a table or outside the blocks.
    for (table, base) in [sampling::table(), sampling::second_table()]
        .into_iter()
        .enumerate()
    {
        for (n, written) in WRITTEN[table].iter().enumerate() {
            shows!(
                "STEP-12",
                load(base + 8 * n as u64),
                written.load(Ordering::Relaxed)
            );
        }
    }
    shows!(
        ["UPDATE-7", "UPDATE-8"],
        misdirected::sum_of_the_rest(),
        before
    );
}
