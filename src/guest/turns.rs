//! Which CPU has the turn.
//!
//! Under a clock that counts instructions all CPUs share one virtual clock, so just one CPU at a time is out of its
//! enabled wait: the holder of the turn. It passes the turn on at the end of its slice and when its guest waits, and
//! then waits until it is the holder again. In real time there are no turns; a CPU without work simply waits.
//!
//! This file has the rules and touches no hardware: [`Words`] is what the CPUs tell each other, and [`Passing`] is what
//! a CPU does meanwhile. The machine implements both over the real CPU, the tests over every possible order of events.

#[cfg(test)]
mod tests;
#[cfg(test)]
mod waiting;

use crate::state::configuration::Configuration;
use crate::state::mailbox::Mailbox;
use crate::state::schedule::NEVER;
use crate::state::vcpu::CpuState;
use arch::cpu::MAXIMUM_CPUS;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// A word that the CPUs share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// The CPU that has the turn.
    Holder,
    /// CPUs that have work: one bit each, from the right.
    Ready,
    /// CPUs whose guest has ended: one bit each, from the right.
    Ended,
    /// CPUs that are not in [`give`], and one that is there and cares for all: one bit each, from the right.
    Awake,
    /// In real time: whether a CPU has become awake since this was last zero.
    Woken,
    /// The CPU in whose favour the turn is given up: its number plus one, or zero.
    Favoured,
    /// The clock at which a waiting CPU wants to run; all ones for never.
    WakeAt(u16),
    /// Orders that a CPU has to carry out.
    Orders(u16),
}

/// The words that the CPUs share. Each access is atomic.
pub trait Words {
    /// How many CPUs there are.
    fn cpus(&self) -> u16;
    /// Whether the clock counts instructions, so that there are turns.
    fn exact(&self) -> bool;
    /// The value of a word.
    fn load(&self, word: Word) -> u64;
    /// Sets a word.
    fn store(&self, word: Word, value: u64);
    /// Sets bits of a word; returns its value before.
    fn or(&self, word: Word, bits: u64) -> u64;
    /// Keeps these bits of a word; returns its value before.
    fn and(&self, word: Word, bits: u64) -> u64;
    /// Sets a word; returns its value before.
    fn swap(&self, word: Word, value: u64) -> u64;
    /// Sets a word if it is zero; returns whether it was.
    fn claim(&self, word: Word, value: u64) -> bool;
    /// Whether a CPU is in the operating state.
    fn is_operating(&self, cpu: u16) -> bool;
    /// Whether a signal is pending for which a waiting CPU is enabled.
    fn has_signal(&self, cpu: u16) -> bool;
}

/// Why a CPU gives up its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has work, and lets others come first.
    Yield,
    /// It is in an enabled wait.
    Wait,
    /// It is stopped.
    Stopped,
    /// It is in a disabled wait or the check-stop state.
    Ended,
}

/// What a CPU does while it passes turns.
pub trait Passing {
    /// The clock.
    fn clock(&self) -> u64;
    /// When this CPU, which gives up its turn, will run again without a signal.
    fn wake_time(&mut self) -> u64;
    /// Publishes for which interruptions this CPU is enabled while it is in an enabled wait.
    fn open(&mut self);
    /// The turn has been given up: the CPU is idle from now on.
    fn rest_begins(&mut self);
    /// The idle time is over, and this CPU is no longer enabled for interruptions.
    fn rest_ends(&mut self);
    /// Before this CPU looks for another one that is ready.
    fn look_around(&mut self);
    /// Before the first wait for others: silences the timers.
    fn park(&mut self);
    /// Before the turn goes to another CPU.
    fn before_passing(&mut self);
    /// Before this CPU waits for its turn: others may use what it holds.
    fn before_waiting(&mut self);
    /// Ends the enabled wait of CPU `next`, now or when it next begins one, and waits until this CPU is signalled.
    fn hand_over(&mut self, next: u16);
    /// Waits until the CPU is signalled.
    fn wait(&mut self);
    /// No CPU is ready: waits for the first clock, or for the host.
    fn idle(&mut self);
    /// This CPU has the turn again.
    fn has_turn(&mut self);
    /// In real time, before it rests: what it holds that another CPU needs to end the guest is given back when this returns.
    fn before_resting(&mut self);
    /// In real time: every CPU waits, and no clock, no order and no signal ends that. No other CPU finds this meanwhile.
    /// Returns whether this CPU has done something about it, and must not wait.
    fn care_for_all(&mut self) -> bool;
    /// In real time: waits until there is work.
    fn rest(&mut self);
    /// Every CPU is down and none can be started; `ended` are those with a guest that has ended.
    fn guest_is_down(&mut self, ended: u32);
}

const fn bit(cpu: u16) -> u64 {
    1 << cpu
}

/// CPU `cpu` begins to work for its guest.
pub fn begin(words: &impl Words, cpu: u16) {
    words.or(Word::Awake, bit(cpu));
}

/// Gives up the turn, and returns when this CPU has it again.
pub fn give(words: &impl Words, me: u16, reason: Reason, cpu: &mut impl Passing) {
    if reason == Reason::Ended {
        words.or(Word::Ended, bit(me));
    }
    if reason == Reason::Yield {
        words.or(Word::Ready, bit(me));
    } else {
        words.and(Word::Ready, !bit(me));
        words.store(Word::WakeAt(me), cpu.wake_time());
        if reason == Reason::Wait {
            cpu.open();
        }
        // An order that came in between keeps the CPU ready.
        if words.load(Word::Orders(me)) != 0 {
            words.or(Word::Ready, bit(me));
        }
    }
    if !words.exact() && reason != Reason::Yield {
        cpu.before_resting();
    }
    let was_last = words.and(Word::Awake, !bit(me)) == bit(me);
    if was_last
        && matches!(reason, Reason::Stopped | Reason::Ended)
        && let Some(ended) = nobody_can_start(words)
    {
        cpu.guest_is_down(ended);
    }
    cpu.rest_begins();
    if words.exact() {
        pass(words, me, cpu);
    } else if reason != Reason::Yield {
        rest(words, me, cpu);
    }
    words.store(Word::WakeAt(me), NEVER);
    cpu.rest_ends();
    words.and(Word::Ended, !bit(me));
}

/// CPU `me` comes out of its wait: in real time it does nothing before this.
pub fn awake(words: &impl Words, me: u16) {
    if !words.exact() {
        words.or(Word::Awake, bit(me));
        words.store(Word::Woken, 1);
    }
}

/// In real time: waits, unless there is work by now.
fn rest(words: &impl Words, me: u16, cpu: &mut impl Passing) {
    if words.load(Word::Ready) & bit(me) == 0 && !looks_again(words, me, cpu) {
        cpu.rest();
    }
    // Before it takes back that it is ready and when it wants to run: no other CPU may find meanwhile that all of them
    // wait.
    awake(words, me);
    words.and(Word::Ready, !bit(me));
}

/// In real time: if every CPU waits, this one cares for all of them. Returns whether it has to look again whether it has
/// work, before it waits.
///
/// It is awake meanwhile, and becomes so only if no other CPU is, so one CPU at a time does this. A CPU that comes and
/// waits again during that time takes this one for a CPU with work and leaves all to it. So this one looks again then.
fn looks_again(words: &impl Words, me: u16, cpu: &mut impl Passing) -> bool {
    if !words.claim(Word::Awake, bit(me)) {
        return false;
    }
    words.store(Word::Woken, 0);
    let is_alone = words.load(Word::Awake) == bit(me);
    // A guest that is down does not wait. The CPU that came last may not have found that, because this one is awake.
    let waits = is_alone && nothing_is_due(words) && all_down(words).is_none();
    if waits && words.load(Word::Woken) == 0 && cpu.care_for_all() {
        return true;
    }
    words.and(Word::Awake, !bit(me));
    // The last CPU that was down may have taken this one for a CPU with work, too.
    if let Some(ended) = nobody_can_start(words) {
        cpu.guest_is_down(ended);
    }
    !is_alone || words.load(Word::Woken) != 0
}

/// Whether no clock, no order and no signal ends the wait of a CPU. That holds as long as no CPU becomes awake.
fn nothing_is_due(words: &impl Words) -> bool {
    words.load(Word::Ready) == 0
        && earliest(words) == NEVER
        && (0..words.cpus()).all(|cpu| words.load(Word::Orders(cpu)) == 0 && !words.has_signal(cpu))
}

/// Passes the turn to the next CPU that is ready, and returns when this CPU has it again.
pub fn pass(words: &impl Words, me: u16, cpu: &mut impl Passing) {
    cpu.look_around();
    let mut parked = false;
    loop {
        let next = pick(words, me, cpu.clock());
        if next != Some(me) && !parked {
            cpu.park();
            parked = true;
        }
        match next {
            Some(next) if next == me => break,
            Some(next) => {
                cpu.before_passing();
                cpu.before_waiting();
                words.store(Word::Holder, next.into());
                cpu.hand_over(next);
                wait_until_holder(words, me, cpu);
                break;
            }
            None => cpu.idle(),
        }
    }
    words.and(Word::Ready, !bit(me));
    cpu.has_turn();
}

/// CPU `me`, which was just started, waits for its turn.
pub fn join(words: &impl Words, me: u16, cpu: &mut impl Passing) {
    if words.exact() {
        cpu.before_waiting();
        wait_until_holder(words, me, cpu);
    } else {
        awake(words, me);
    }
}

fn wait_until_holder(words: &impl Words, me: u16, cpu: &mut impl Passing) {
    while words.load(Word::Holder) != u64::from(me) {
        cpu.wait();
    }
}

/// The next CPU that is ready or whose time to run has come: first the one in whose favour the turn is given up, last
/// the calling one.
fn pick(words: &impl Words, me: u16, now: u64) -> Option<u16> {
    let ready = words.load(Word::Ready);
    let favoured = words.swap(Word::Favoured, 0);
    let cpus = words.cpus();
    (favoured as u16)
        .checked_sub(1)
        .filter(|&cpu| cpu != me)
        .into_iter()
        .chain((1..=cpus).map(|step| (me + step) % cpus))
        .find(|&cpu| ready & bit(cpu) != 0 || words.load(Word::WakeAt(cpu)) < now)
}

/// If every CPU is down, and none has an order that might start it: the CPUs whose guest has ended.
///
/// A CPU takes its orders while it is awake and publishes its new state after that, so the orders are tested first. A
/// CPU that has ended may leave its wait for nothing, and takes its bit back meanwhile, so the bits are read once.
fn nobody_can_start(words: &impl Words) -> Option<u32> {
    if (0..words.cpus()).any(|cpu| words.load(Word::Orders(cpu)) != 0)
        || words.load(Word::Ready) != 0
        || words.load(Word::Awake) != 0
    {
        return None;
    }
    all_down(words)
}

/// If every CPU is down: those whose guest has ended.
fn all_down(words: &impl Words) -> Option<u32> {
    let ended = words.load(Word::Ended);
    let is_down = |cpu| ended & bit(cpu) != 0 || !words.is_operating(cpu);
    (0..words.cpus()).all(is_down).then_some(ended as u32)
}

/// Whether the time at which another CPU wants to run has passed.
#[inline]
pub fn someone_wakes(words: &impl Words, now: u64) -> bool {
    words.cpus() > 1 && words.exact() && earliest(words) < now
}

/// Whether CPU `other`, which does not have the turn, has work: it gave up its turn with work left, was signalled, or
/// its time to run has come.
pub fn is_busy(words: &impl Words, other: u16, now: impl FnOnce() -> u64) -> bool {
    words.load(Word::Ready) & bit(other) != 0 || words.load(Word::WakeAt(other)) < now()
}

/// The earliest clock at which a waiting CPU wants to run.
pub fn earliest(words: &impl Words) -> u64 {
    (0..words.cpus())
        .map(|cpu| words.load(Word::WakeAt(cpu)))
        .min()
        .unwrap_or(NEVER)
}

/// A sign of life about every tenth of a second, in clock units.
pub const PROGRESS: u64 = 4096 * 100_000;

/// The turns of a run.
#[derive(Debug)]
pub struct Turns {
    exact: bool,
    /// Guest cycles in a slice.
    pub slice: u64,
    holder: AtomicU32,
    ready: AtomicU32,
    ended: AtomicU32,
    awake: AtomicU32,
    woken: AtomicU32,
    /// Whether the host has been told that every CPU waits, and has not sent anything since.
    pub told_waiting: AtomicBool,
    /// The clock at the last sign of life.
    last_progress: AtomicU64,
    /// The instructions that the guest had completed then.
    pub last_instructions: AtomicU64,
}

impl Turns {
    /// CPU 0 has the turn and prepares the guest; the others may reach their first wait meanwhile.
    #[must_use]
    pub const fn new(exact: bool, slice: u64) -> Self {
        Self {
            exact,
            slice,
            holder: AtomicU32::new(0),
            ready: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            awake: AtomicU32::new(1),
            woken: AtomicU32::new(0),
            told_waiting: AtomicBool::new(false),
            last_progress: AtomicU64::new(0),
            last_instructions: AtomicU64::new(0),
        }
    }

    /// Whether a sign of life is due when the clock shows `now`. The answer is given once.
    #[must_use]
    pub fn is_progress_due(&self, now: u64) -> bool {
        let last = &self.last_progress;
        let is_due = now.wrapping_sub(last.load(Ordering::Relaxed)) >= PROGRESS;
        if is_due {
            last.store(now, Ordering::Relaxed);
        }
        is_due
    }

    /// Whether the clock counts instructions, so that there are turns.
    #[must_use]
    pub const fn exact(&self) -> bool {
        self.exact
    }

    /// Marks CPU `cpu` ready; returns whether it must be signalled too.
    #[must_use]
    pub fn wake(&self, cpu: u16) -> bool {
        self.ready.fetch_or(1 << cpu, Ordering::SeqCst);
        !self.exact
    }
}

/// The words of a run: those of its turns, and those in the mailboxes of its CPUs.
#[derive(Clone, Copy, Debug)]
pub struct InStorage<'a> {
    /// The turns.
    pub turns: &'a Turns,
    /// The configuration.
    pub configuration: &'a Configuration,
}

impl InStorage<'_> {
    #[inline(always)]
    fn mailbox(&self, cpu: u16) -> &Mailbox {
        &self.configuration.mailboxes[usize::from(cpu) & (MAXIMUM_CPUS - 1)]
    }
}

/// Uses the atomic that implements a word.
macro_rules! atomic {
    ($words:expr, $word:expr, |$atomic:ident| $work:expr) => {
        match $word {
            Word::Holder => {
                let $atomic = &$words.turns.holder;
                u64::from($work)
            }
            Word::Ready => {
                let $atomic = &$words.turns.ready;
                u64::from($work)
            }
            Word::Ended => {
                let $atomic = &$words.turns.ended;
                u64::from($work)
            }
            Word::Awake => {
                let $atomic = &$words.turns.awake;
                u64::from($work)
            }
            Word::Woken => {
                let $atomic = &$words.turns.woken;
                u64::from($work)
            }
            Word::Favoured => {
                let $atomic = &$words.configuration.favoured;
                u64::from($work)
            }
            Word::WakeAt(cpu) => {
                let $atomic = &$words.mailbox(cpu).wake_at;
                u64::from($work)
            }
            Word::Orders(cpu) => {
                let $atomic = &$words.mailbox(cpu).orders;
                u64::from($work)
            }
        }
    };
}

impl Words for InStorage<'_> {
    #[inline(always)]
    fn cpus(&self) -> u16 {
        self.configuration.cpus
    }

    #[inline(always)]
    fn exact(&self) -> bool {
        self.turns.exact
    }

    #[inline(always)]
    fn load(&self, word: Word) -> u64 {
        atomic!(self, word, |atomic| atomic.load(Ordering::SeqCst))
    }

    #[inline(always)]
    fn store(&self, word: Word, value: u64) {
        atomic!(self, word, |atomic| {
            atomic.store(value as _, Ordering::SeqCst);
            0_u64
        });
    }

    #[inline(always)]
    fn or(&self, word: Word, bits: u64) -> u64 {
        atomic!(self, word, |atomic| atomic
            .fetch_or(bits as _, Ordering::SeqCst))
    }

    #[inline(always)]
    fn and(&self, word: Word, bits: u64) -> u64 {
        atomic!(self, word, |atomic| atomic
            .fetch_and(bits as _, Ordering::SeqCst))
    }

    #[inline(always)]
    fn swap(&self, word: Word, value: u64) -> u64 {
        atomic!(self, word, |atomic| atomic
            .swap(value as _, Ordering::SeqCst))
    }

    fn claim(&self, word: Word, value: u64) -> bool {
        let claimed = atomic!(self, word, |atomic| atomic
            .compare_exchange(0, value as _, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok());
        claimed != 0
    }

    #[inline(always)]
    fn is_operating(&self, cpu: u16) -> bool {
        self.mailbox(cpu).state.load(Ordering::SeqCst) == CpuState::Operating as u8
    }

    fn has_signal(&self, cpu: u16) -> bool {
        let mailbox = self.mailbox(cpu);
        let service = &self.configuration.service_signal;
        mailbox.has_open_signal(service.load(Ordering::SeqCst) != 0)
    }
}
