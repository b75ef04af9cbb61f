//! Every order of events, for 2 to 4 CPUs.
//!
//! The tests run the real rules, [`give`], [`pass`] and [`join`], over [`Words`] and [`Passing`] that stop at
//! every access. A CPU's state is the last place of its guest, and the answers to its accesses since then. To take a
//! step the CPU runs again from that place up to the next access. In this way every reachable state is visited once.
//! Many states of all CPUs have the same state of one CPU: what it does next is found once ([`Cpus`]).
//!
//! The guests do their worst: as long as its CPUs have actions left, each of them gives up its turn, waits, stops,
//! ends, signals another CPU or starts one at any time.

use super::{Passing, Reason, Word, Words, begin, bit, give, join};
use crate::state::schedule::NEVER;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::vec::Vec;

const MOST: usize = 4;

/// Waits that end without a signal.
const DISTURBANCES: u8 = 1;

/// Where a CPU is between two actions of its guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// Waits for its first turn.
    Joins,
    /// Runs its guest.
    Runs,
    /// In an enabled wait; true if it waits for its clock too.
    Waits(bool),
    /// Stopped.
    Stopped,
    /// In a disabled wait.
    Ended,
    /// The guest is down.
    Down,
}

/// What a CPU is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Access {
    Load(Word),
    Store(Word, u64),
    Or(Word, u64),
    And(Word, u64),
    Swap(Word, u64),
    Claim(Word, u64),
    IsOperating(u16),
    HasSignal(u16),
    SetOperating(bool),
    TakeSent,
    SendTo(u16),
    Clock,
    Signal(u16),
    Wait,
    Rest,
    Care,
    Cared,
    Idle,
    Down(u32),
    Choose,
    Arrive(Place),
}

/// One CPU, as the rules have it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Cpu {
    me: u16,
    place: Place,
    answers: Vec<u64>,
}

/// A state of one CPU, by its number in [`Cpus`], and where the CPU is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Local {
    number: u32,
    place: Place,
}

/// Every state of one CPU that a search has met.
#[derive(Default)]
struct Cpus {
    numbers: HashMap<Cpu, u32>,
    /// Each state, with what the CPU is about to do.
    all: Vec<(Cpu, Access)>,
    /// The state that follows when the access has this answer.
    after: HashMap<(u32, u64), Local>,
}

/// The state of all CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    cpus: [Option<Local>; MOST],
    holder: u64,
    ready: u64,
    ended: u64,
    awake: u64,
    woken: u64,
    favoured: u64,
    wake_at: [u64; MOST],
    orders: [u64; MOST],
    operating: [bool; MOST],
    sent: [bool; MOST],
    signalled: [bool; MOST],
    /// The CPUs that are out of the enabled wait in exact mode.
    has_turn: [bool; MOST],
    /// Actions that are left, for each CPU.
    left: [u8; MOST],
    /// Waits that may still end without a signal, as an interruption for another reason ends one.
    disturbances: u8,
    /// Commands that are given for when every CPU waits.
    commands: u8,
    /// Whether a CPU cares for all.
    cares: bool,
    clock: u64,
}

impl State {
    fn local(&self, cpu: usize) -> Local {
        self.cpus[cpu].expect("the configuration has this CPU")
    }

    fn place(&self, cpu: usize) -> Place {
        self.local(cpu).place
    }

    /// The places of all CPUs.
    fn places(&self) -> impl Iterator<Item = Place> {
        self.cpus.iter().flatten().map(|local| local.place)
    }

    fn has_signal(&self, cpu: u16) -> bool {
        let cpu = usize::from(cpu);
        self.sent[cpu] && matches!(self.place(cpu), Place::Waits(_))
    }
}

/// A CPU that the rules run on.
struct Replay<'a> {
    me: u16,
    cpus: u16,
    exact: bool,
    place: Place,
    answers: &'a [u64],
    at: Cell<usize>,
    next: RefCell<Option<Access>>,
}

/// Unwinds a CPU that has reached its next access.
struct Stop;

impl Replay<'_> {
    /// The answer to an access, or the end of the known answers.
    fn access(&self, access: Access) -> u64 {
        let at = self.at.get();
        if let Some(&answer) = self.answers.get(at) {
            self.at.set(at + 1);
            return answer;
        }
        *self.next.borrow_mut() = Some(access);
        resume_unwind(Box::new(Stop))
    }

    fn arrive(&self, place: Place) -> ! {
        self.access(Access::Arrive(place));
        unreachable!("a CPU begins anew where it arrives");
    }

    /// What the machine and the guest do from `place` to the next one.
    fn run(&self) -> ! {
        let mut passing = self;
        let reason = match self.place {
            Place::Down => {
                self.access(Access::Idle);
                unreachable!("the guest is down");
            }
            Place::Joins => {
                join(self, self.me, &mut passing);
                None
            }
            Place::Runs => self.act(),
            Place::Waits(_) => Some(Reason::Wait),
            Place::Stopped => Some(Reason::Stopped),
            Place::Ended => Some(Reason::Ended),
        };
        if let Some(reason) = reason {
            give(self, self.me, reason, &mut passing);
        }
        if reason.is_some() || self.place == Place::Joins {
            begin(self, self.me);
        }
        self.leave()
    }

    /// What the guest does.
    fn act(&self) -> Option<Reason> {
        let others = usize::from(self.cpus) - 1;
        let other = |n: usize| ((usize::from(self.me) + 1 + n) % usize::from(self.cpus)) as u16;
        match self.access(Access::Choose) as usize {
            0 => Some(Reason::Yield),
            // A pending signal ends a wait before it begins.
            n @ 1..=2 if self.access(Access::TakeSent) == 0 => self.arrive(Place::Waits(n == 2)),
            1..=2 => None,
            3 => {
                self.access(Access::SetOperating(false));
                self.arrive(Place::Stopped)
            }
            4 => self.arrive(Place::Ended),
            n if n < 5 + others => {
                let to = other(n - 5);
                self.access(Access::SendTo(to));
                self.wake(to);
                None
            }
            n => {
                let to = other(n - 5 - others);
                self.or(Word::Orders(to), 1);
                self.wake(to);
                None
            }
        }
    }

    /// As [`super::Turns::wake`] and what signals after it.
    fn wake(&self, cpu: u16) {
        self.or(Word::Ready, bit(cpu));
        if !self.exact {
            self.access(Access::Signal(cpu));
        }
    }

    /// Takes pending signals and orders, and goes where they lead.
    fn leave(&self) -> ! {
        if self.load(Word::Orders(self.me)) != 0 {
            self.swap(Word::Orders(self.me), 0);
            self.access(Access::SetOperating(true));
            self.arrive(Place::Runs);
        }
        if let Place::Waits(clock) = self.place {
            let goes_on = self.access(Access::TakeSent) != 0 || clock;
            self.arrive(if goes_on { Place::Runs } else { self.place });
        }
        self.arrive(match self.place {
            Place::Stopped | Place::Ended => self.place,
            // A CPU that no CPU has started is stopped.
            Place::Joins => Place::Stopped,
            _ => Place::Runs,
        })
    }
}

impl Words for Replay<'_> {
    fn cpus(&self) -> u16 {
        self.cpus
    }
    fn exact(&self) -> bool {
        self.exact
    }
    fn load(&self, word: Word) -> u64 {
        self.access(Access::Load(word))
    }
    fn store(&self, word: Word, value: u64) {
        self.access(Access::Store(word, value));
    }
    fn or(&self, word: Word, bits: u64) -> u64 {
        self.access(Access::Or(word, bits))
    }
    fn and(&self, word: Word, bits: u64) -> u64 {
        self.access(Access::And(word, bits))
    }
    fn swap(&self, word: Word, value: u64) -> u64 {
        self.access(Access::Swap(word, value))
    }
    fn claim(&self, word: Word, value: u64) -> bool {
        self.access(Access::Claim(word, value)) != 0
    }
    fn is_operating(&self, cpu: u16) -> bool {
        self.access(Access::IsOperating(cpu)) != 0
    }
    fn has_signal(&self, cpu: u16) -> bool {
        self.access(Access::HasSignal(cpu)) != 0
    }
}

impl Passing for &Replay<'_> {
    fn clock(&self) -> u64 {
        self.access(Access::Clock)
    }
    fn wake_time(&mut self) -> u64 {
        match self.place {
            Place::Waits(true) => self.access(Access::Clock),
            _ => NEVER,
        }
    }
    fn open(&mut self) {}
    fn rest_begins(&mut self) {}
    fn rest_ends(&mut self) {}
    fn look_around(&mut self) {}
    fn park(&mut self) {}
    fn before_passing(&mut self) {}
    fn before_waiting(&mut self) {}
    fn hand_over(&mut self, next: u16) {
        self.access(Access::Signal(next));
        self.access(Access::Wait);
    }
    fn wait(&mut self) {
        self.access(Access::Wait);
    }
    fn idle(&mut self) {
        self.access(Access::Idle);
    }
    fn has_turn(&mut self) {}
    fn before_resting(&mut self) {}
    fn care_for_all(&mut self) -> bool {
        let has_command = self.access(Access::Care) != 0;
        if has_command {
            // It wakes a CPU for nothing.
            self.wake((self.me + 1) % self.cpus);
        }
        self.access(Access::Cared);
        has_command
    }
    fn rest(&mut self) {
        self.access(Access::Rest);
    }
    fn guest_is_down(&mut self, ended: u32) {
        self.access(Access::Down(ended));
        self.arrive(Place::Down);
    }
}

/// Hashes a state in fewer steps than the hash of the standard library, which takes a third of a search. States with the
/// same hash are still compared.
#[derive(Default)]
struct Quick(u64);

impl Quick {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        // The table looks at the low bits, and a product is best in the high ones.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.mix(u64::from_ne_bytes(word));
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.mix(byte.into());
    }

    fn write_u16(&mut self, value: u16) {
        self.mix(value.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    fn write_isize(&mut self, word: isize) {
        self.mix(word as u64);
    }

    fn write_usize(&mut self, word: usize) {
        self.mix(word as u64);
    }
}

/// A search through all states.
struct Search {
    exact: bool,
    cpus: u16,
    /// Commands that are given for when every CPU waits. Without them no CPU cares for all: another always seems to.
    commands: Option<u8>,
    known: RefCell<Cpus>,
}

/// What a search has seen.
#[derive(Debug, Default)]
struct Seen {
    states: usize,
    /// States in which nothing more happens because every CPU waits.
    at_rest: usize,
    /// States in which the guest was found down.
    down: usize,
}

impl Search {
    fn first(&self, actions: &[u8]) -> State {
        let count = usize::from(self.cpus);
        let cpu = |me: u16| {
            let place = if me == 0 { Place::Runs } else { Place::Joins };
            let answers = Vec::new();
            (me < self.cpus).then(|| self.advance(Cpu { me, place, answers }))
        };
        let mut state = State {
            cpus: [cpu(0), cpu(1), cpu(2), cpu(3)],
            holder: 0,
            ready: 0,
            ended: 0,
            awake: 1,
            woken: 0,
            favoured: 0,
            wake_at: [NEVER; MOST],
            orders: [0; MOST],
            operating: [true, false, false, false],
            sent: [false; MOST],
            signalled: [false; MOST],
            has_turn: [true, false, false, false],
            left: [0; MOST],
            disturbances: DISTURBANCES,
            commands: self.commands.unwrap_or(0),
            cares: false,
            clock: 1,
        };
        state.left[..count].copy_from_slice(&actions[..count]);
        state
    }

    /// Runs a CPU up to its next access.
    fn advance(&self, mut cpu: Cpu) -> Local {
        loop {
            if let Some(&number) = self.known.borrow().numbers.get(&cpu) {
                let place = cpu.place;
                return Local { number, place };
            }
            let replay = Replay {
                me: cpu.me,
                cpus: self.cpus,
                exact: self.exact,
                place: cpu.place,
                answers: &cpu.answers,
                at: Cell::new(0),
                next: RefCell::new(None),
            };
            let Err(stopped) = catch_unwind(AssertUnwindSafe(|| replay.run()));
            if !stopped.is::<Stop>() {
                resume_unwind(stopped);
            }
            let next = replay.next.take().expect("a CPU stops at an access");
            if let Access::Arrive(place) = next {
                cpu.place = place;
                cpu.answers.clear();
                continue;
            }
            let mut known = self.known.borrow_mut();
            let (number, place) = (known.all.len() as u32, cpu.place);
            known.numbers.insert(cpu.clone(), number);
            known.all.push((cpu, next));
            return Local { number, place };
        }
    }

    /// What a CPU is about to do.
    fn next(&self, local: Local) -> Access {
        self.known.borrow().all[local.number as usize].1
    }

    /// The state of a CPU when its access has this answer.
    fn answered(&self, local: Local, answer: u64) -> Local {
        let key = (local.number, answer);
        if let Some(&after) = self.known.borrow().after.get(&key) {
            return after;
        }
        let mut cpu = self.known.borrow().all[local.number as usize].0.clone();
        cpu.answers.push(answer);
        let after = self.advance(cpu);
        self.known.borrow_mut().after.insert(key, after);
        after
    }

    /// The states that follow when CPU `number` does what it is about to do: none if it cannot.
    fn step(&self, state: &State, number: usize) -> Vec<State> {
        let access = self.next(state.local(number));
        let me = number as u16;
        if self.exact
            && !matches!(
                access,
                Access::Load(Word::Holder) | Access::Wait | Access::Signal(_)
            )
        {
            assert!(
                state.has_turn[number],
                "CPU {me} does {access:?} without the turn: {state:#?}"
            );
        }
        if access == Access::Choose {
            let choices = if state.left[number] == 0 {
                // A guest without further actions waits for the others.
                1..2
            } else {
                0..5 + 2 * (self.cpus as u64 - 1)
            };
            return choices
                .map(|choice| {
                    let mut after = state.clone();
                    after.left[number] = after.left[number].saturating_sub(1);
                    self.answer(after, number, choice)
                })
                .collect();
        }
        let mut after = state.clone();
        let answer = match access {
            Access::Load(word) => {
                let value = *place(&mut after, word);
                if word == Word::Holder && value == u64::from(me) {
                    after.has_turn[number] = true;
                    let holders = after.has_turn.iter().filter(|&&has| has).count();
                    assert!(!self.exact || holders == 1, "two have the turn: {after:#?}");
                }
                value
            }
            Access::Store(word, value) => {
                if word == Word::Holder {
                    after.has_turn[number] = false;
                }
                core::mem::replace(place(&mut after, word), value)
            }
            Access::Swap(word, value) => core::mem::replace(place(&mut after, word), value),
            Access::Or(word, bits) => {
                let word = place(&mut after, word);
                core::mem::replace(word, *word | bits)
            }
            Access::And(word, bits) => {
                let word = place(&mut after, word);
                core::mem::replace(word, *word & bits)
            }
            Access::Claim(word, value) => {
                let word = place(&mut after, word);
                let is_free = self.commands.is_some() && *word == 0;
                if is_free {
                    *word = value;
                }
                is_free.into()
            }
            Access::Care | Access::Cared => {
                Self::check_all_wait(state);
                after.cares = access == Access::Care;
                assert_ne!(after.cares, state.cares, "two care for all: {state:#?}");
                let has_command = after.cares && after.commands != 0;
                after.commands -= u8::from(has_command);
                has_command.into()
            }
            Access::IsOperating(cpu) => after.operating[usize::from(cpu)].into(),
            Access::HasSignal(cpu) => after.has_signal(cpu).into(),
            Access::SetOperating(on) => {
                after.operating[number] = on;
                0
            }
            Access::SendTo(cpu) => {
                after.sent[usize::from(cpu)] = true;
                0
            }
            Access::TakeSent => core::mem::take(&mut after.sent[number]).into(),
            Access::Clock => after.clock,
            Access::Signal(cpu) => {
                after.signalled[usize::from(cpu)] = true;
                0
            }
            Access::Wait => {
                if !core::mem::take(&mut after.signalled[number]) {
                    let Some(rest) = after.disturbances.checked_sub(1) else {
                        return Vec::new();
                    };
                    after.disturbances = rest;
                }
                0
            }
            Access::Rest => {
                let clock = after.wake_at[number] != NEVER;
                if !core::mem::take(&mut after.signalled[number]) && !clock {
                    return Vec::new();
                }
                0
            }
            Access::Idle => {
                let replay_earliest = after.wake_at[..usize::from(self.cpus)].iter().min();
                let first = *replay_earliest.expect("there are CPUs");
                if after.place(number) == Place::Down || first == NEVER {
                    return Vec::new();
                }
                after.clock = first + 1;
                0
            }
            Access::Down(ended) => {
                self.check_down(state, ended);
                0
            }
            Access::Choose | Access::Arrive(_) => unreachable!(),
        };
        vec![self.answer(after, number, answer)]
    }

    fn answer(&self, mut state: State, number: usize, answer: u64) -> State {
        state.cpus[number] = Some(self.answered(state.local(number), answer));
        state
    }

    /// Every CPU was found waiting: none may have anything to do, and the guest may not be down.
    fn check_all_wait(state: &State) {
        assert!(
            state.places().any(|place| matches!(place, Place::Waits(_))),
            "the guest is down: {state:#?}"
        );
        for (number, place) in state.places().enumerate() {
            let waits = match place {
                Place::Waits(clock) => !clock && !state.sent[number],
                // Another CPU may have found the guest down at the same time.
                Place::Joins | Place::Stopped | Place::Ended | Place::Down => true,
                Place::Runs => false,
            };
            assert!(
                waits && state.orders[number] == 0,
                "CPU {number} has work: {state:#?}"
            );
        }
    }

    /// The guest is found down: nothing may be able to start a CPU.
    fn check_down(&self, state: &State, ended: u32) {
        for cpu in 0..usize::from(self.cpus) {
            let is_ended = u64::from(ended) & bit(cpu as u16) != 0;
            assert!(
                is_ended || !state.operating[cpu],
                "CPU {cpu} operates: {state:#?}"
            );
            assert_eq!(state.orders[cpu], 0, "CPU {cpu} has an order: {state:#?}");
            // In real time two CPUs may find this at the same time.
            let is_down = matches!(
                state.place(cpu),
                Place::Stopped | Place::Ended | Place::Joins | Place::Down
            );
            assert!(is_down, "CPU {cpu} does something: {state:#?}");
        }
    }

    /// Nothing more happens: then no CPU may have work.
    fn check_rest(&self, state: &State, seen: &mut Seen) {
        let cpus = usize::from(self.cpus);
        if state.places().any(|place| place == Place::Down) {
            seen.down += 1;
            return;
        }
        seen.at_rest += 1;
        for cpu in 0..cpus {
            assert_eq!(
                state.orders[cpu], 0,
                "an order to CPU {cpu} is lost: {state:#?}"
            );
            let waits = matches!(state.place(cpu), Place::Waits(_));
            assert!(
                !(waits && state.sent[cpu]),
                "a wake-up of CPU {cpu} is lost: {state:#?}"
            );
        }
        assert_eq!(state.commands, 0, "a command is left: {state:#?}");
        assert!(
            !self.exact || state.ready == 0,
            "a CPU is ready and has no turn: {state:#?}"
        );
        let is_down = |place| matches!(place, Place::Stopped | Place::Ended | Place::Joins);
        assert!(
            !state.places().all(is_down),
            "the end is not recognized: {state:#?}"
        );
    }

    /// Visits every state.
    fn all(&self, actions: &[u8]) -> Seen {
        let mut seen = Seen::default();
        let first = self.first(actions);
        let mut known: HashSet<State, BuildHasherDefault<Quick>> = HashSet::default();
        let mut open = vec![first.clone()];
        known.insert(first);
        while let Some(state) = open.pop() {
            seen.states += 1;
            let mut moves = false;
            for number in 0..usize::from(self.cpus) {
                for after in self.step(&state, number) {
                    moves = true;
                    if !known.contains(&after) {
                        known.insert(after.clone());
                        open.push(after);
                    }
                }
            }
            if !moves {
                self.check_rest(&state, &mut seen);
            }
        }
        seen
    }
}

/// Where a word is.
fn place(state: &mut State, word: Word) -> &mut u64 {
    match word {
        Word::Holder => &mut state.holder,
        Word::Ready => &mut state.ready,
        Word::Ended => &mut state.ended,
        Word::Awake => &mut state.awake,
        Word::Woken => &mut state.woken,
        Word::Favoured => &mut state.favoured,
        Word::WakeAt(cpu) => &mut state.wake_at[usize::from(cpu)],
        Word::Orders(cpu) => &mut state.orders[usize::from(cpu)],
    }
}

fn search(exact: bool, cpus: u16, actions: &[u8]) -> Seen {
    let search = Search {
        exact,
        cpus,
        commands: None,
        known: RefCell::default(),
    };
    let seen = search.all(actions);
    std::eprintln!("{cpus} CPUs, exact {exact}, {actions:?}: {seen:?}");
    assert!(seen.at_rest != 0 && seen.down != 0);
    seen
}

#[test]
fn just_one_of_two_cpus_has_the_turn_and_no_wake_up_is_lost() {
    search(true, 2, &[2, 2]);
}

#[test]
fn just_one_of_three_cpus_has_the_turn_and_no_wake_up_is_lost() {
    search(true, 3, &[1, 1, 1]);
}

#[test]
fn just_one_of_four_cpus_has_the_turn_and_no_wake_up_is_lost() {
    search(true, 4, &[1, 0, 0, 0]);
}

#[test]
fn two_cpus_in_real_time_lose_no_wake_up_and_end_when_nobody_can_start() {
    search(false, 2, &[2, 1]);
}

#[test]
fn three_cpus_in_real_time_lose_no_wake_up_and_end_when_nobody_can_start() {
    search(false, 3, &[1, 0, 0]);
}

#[test]
fn in_real_time_a_cpu_finds_that_all_wait_only_if_none_has_work_and_no_other_finds_it_too() {
    let search = Search {
        exact: false,
        cpus: 2,
        commands: Some(0),
        known: RefCell::default(),
    };
    let seen = search.all(&[1, 0]);
    assert!(seen.at_rest != 0 && seen.down != 0);
}
