//! When every CPU waits, in real time.

use super::{InStorage, Passing, Reason, Turns, Word, Words, awake, bit, give, looks_again};
use crate::state::configuration::Configuration;
use crate::state::mailbox::Mailbox;
use crate::state::schedule::NEVER;
use crate::state::vcpu::CpuState;
use crate::test_machine::Bench;
use arch::control::{CR0_EMERGENCY_SIGNAL, CR0_EXTERNAL_CALL, CR0_SERVICE_SIGNAL};
use core::sync::atomic::Ordering;
use std::cell::Cell;

/// Two CPUs that wait.
fn waiting() -> (Bench, Turns) {
    let mut bench = Bench::new();
    bench.configuration.cpus = 2;
    let turns = Turns::new(false, 1);
    let words = words(&turns, &bench.configuration);
    words.store(Word::Awake, 0);
    for cpu in 0..2 {
        words.store(Word::WakeAt(cpu), NEVER);
        let mailbox = &bench.configuration.mailboxes[usize::from(cpu)];
        let operating = CpuState::Operating as u8;
        mailbox.state.store(operating, Ordering::SeqCst);
    }
    (bench, turns)
}

const fn words<'a>(turns: &'a Turns, configuration: &'a Configuration) -> InStorage<'a> {
    InStorage {
        turns,
        configuration,
    }
}

/// CPU 1 is about to wait: whether it finds that every CPU waits.
fn all_wait(words: &impl Words) -> bool {
    let mut cpu = Waiting {
        answer: true,
        ..Waiting::default()
    };
    let again = looks_again(words, 1, &mut cpu);
    assert_eq!(again, cpu.has_cared, "it waits if it has nothing to do");
    if again {
        words.and(Word::Awake, !bit(1));
    }
    again
}

#[test]
fn every_cpu_waits_if_none_is_awake_ready_ordered_or_has_a_clock() {
    let (bench, turns) = waiting();
    let words = words(&turns, &bench.configuration);
    assert!(all_wait(&words));
    let reasons = [
        (Word::Awake, 2),
        (Word::Ready, 1),
        (Word::Orders(1), 1),
        (Word::WakeAt(1), 5),
    ];
    for (word, value) in reasons {
        let before = words.swap(word, value);
        assert!(!all_wait(&words), "{word:?}");
        words.store(word, before);
        assert!(all_wait(&words), "{word:?}");
    }
}

#[test]
fn a_cpu_with_a_signal_for_which_it_is_enabled_does_not_wait() {
    let (bench, turns) = waiting();
    let configuration = &bench.configuration;
    let words = words(&turns, configuration);
    let set = |subclass: u64, value: u32| {
        let Mailbox {
            emergency,
            external_call,
            ..
        } = &configuration.mailboxes[1];
        match subclass {
            CR0_EMERGENCY_SIGNAL => emergency,
            CR0_EXTERNAL_CALL => external_call,
            _ => &configuration.service_signal,
        }
        .store(value, Ordering::SeqCst);
    };
    let open = &configuration.mailboxes[1].open_external;
    for subclass in [CR0_EMERGENCY_SIGNAL, CR0_EXTERNAL_CALL, CR0_SERVICE_SIGNAL] {
        let all = CR0_EMERGENCY_SIGNAL | CR0_EXTERNAL_CALL | CR0_SERVICE_SIGNAL;
        open.store(subclass as u32, Ordering::SeqCst);
        assert!(all_wait(&words), "{subclass:x}");
        set(subclass, 1);
        assert!(!all_wait(&words), "{subclass:x}");
        // A signal that the CPU does not take ends no wait.
        open.store((all & !subclass) as u32, Ordering::SeqCst);
        assert!(all_wait(&words), "{subclass:x}");
        set(subclass, 0);
    }
}

/// Words of which another CPU reads all after every operation of CPU 0.
struct Watched<'a> {
    words: InStorage<'a>,
    /// How often all of them waited.
    found: &'a Cell<u32>,
}

impl Watched<'_> {
    fn look(&self, answer: u64) -> u64 {
        self.found
            .set(self.found.get() + u32::from(all_wait(&self.words)));
        answer
    }
}

impl Words for Watched<'_> {
    fn cpus(&self) -> u16 {
        self.words.cpus()
    }
    fn exact(&self) -> bool {
        self.words.exact()
    }
    fn load(&self, word: Word) -> u64 {
        self.look(self.words.load(word))
    }
    fn store(&self, word: Word, value: u64) {
        self.words.store(word, value);
        self.look(0);
    }
    fn or(&self, word: Word, bits: u64) -> u64 {
        self.look(self.words.or(word, bits))
    }
    fn and(&self, word: Word, bits: u64) -> u64 {
        self.look(self.words.and(word, bits))
    }
    fn swap(&self, word: Word, value: u64) -> u64 {
        self.look(self.words.swap(word, value))
    }
    fn claim(&self, word: Word, value: u64) -> bool {
        let is_claimed = self.words.claim(word, value);
        self.look(0);
        is_claimed
    }
    fn is_operating(&self, cpu: u16) -> bool {
        self.words.is_operating(cpu)
    }
    fn has_signal(&self, cpu: u16) -> bool {
        self.words.has_signal(cpu)
    }
}

/// A CPU that waits.
#[derive(Default)]
struct Waiting<'a> {
    /// Another CPU wakes it by these words while it waits or, if `early`, when it is about to. It forgets then how often all
    /// CPUs waited.
    woken_by: Option<(InStorage<'a>, &'a Cell<u32>)>,
    early: bool,
    /// Whether it does something when it finds that all CPUs wait.
    answer: bool,
    has_cared: bool,
}

impl Waiting<'_> {
    fn wake(&self) {
        if let Some((words, found)) = self.woken_by {
            words.or(Word::Ready, bit(0));
            found.set(0);
        }
    }
}

impl Passing for Waiting<'_> {
    fn clock(&self) -> u64 {
        0
    }
    fn wake_time(&mut self) -> u64 {
        NEVER
    }
    fn open(&mut self) {
        if self.early {
            self.wake();
        }
    }
    fn rest_begins(&mut self) {}
    fn rest_ends(&mut self) {}
    fn look_around(&mut self) {}
    fn park(&mut self) {}
    fn before_passing(&mut self) {}
    fn before_waiting(&mut self) {}
    fn hand_over(&mut self, _: u16) {}
    fn wait(&mut self) {}
    fn idle(&mut self) {}
    fn has_turn(&mut self) {}
    fn before_resting(&mut self) {
        if let Some((words, _)) = self.woken_by {
            let is_awake = words.load(Word::Awake) & bit(0) != 0;
            assert!(is_awake, "no other CPU ends the guest meanwhile");
        }
    }
    fn care_for_all(&mut self) -> bool {
        self.has_cared = true;
        self.answer
    }
    fn rest(&mut self) {
        assert!(!self.early, "a CPU that is ready does not wait");
        if let Some((words, _)) = self.woken_by {
            assert!(all_wait(&words));
        }
        self.wake();
    }
    fn guest_is_down(&mut self, _: u32) {}
}

#[test]
fn a_cpu_that_was_woken_is_at_no_time_taken_for_one_that_waits() {
    for early in [false, true] {
        let (bench, turns) = waiting();
        let words = words(&turns, &bench.configuration);
        words.store(Word::Awake, bit(0));
        let found = &Cell::new(0);
        let mut cpu = Waiting {
            woken_by: Some((words, found)),
            early,
            ..Waiting::default()
        };
        give(&Watched { words, found }, 0, Reason::Wait, &mut cpu);
        assert_eq!(cpu.has_cared, !early);
        assert_eq!(found.get(), 0, "early {early}");
        assert!(!all_wait(&words));
        assert_eq!(words.load(Word::Ready) & bit(0), 0);
    }
}

/// CPU 0 while it carries out commands that are given for when every CPU waits. CPU 1 comes and waits again meanwhile.
struct Commanding<'a> {
    words: InStorage<'a>,
    commands: u32,
    /// Whether CPU 1 comes before CPU 0 is finished.
    is_disturbed: bool,
}

impl Passing for Commanding<'_> {
    fn clock(&self) -> u64 {
        0
    }
    fn wake_time(&mut self) -> u64 {
        NEVER
    }
    fn open(&mut self) {}
    fn rest_begins(&mut self) {}
    fn rest_ends(&mut self) {}
    fn look_around(&mut self) {}
    fn park(&mut self) {}
    fn before_passing(&mut self) {}
    fn before_waiting(&mut self) {}
    fn hand_over(&mut self, _: u16) {}
    fn wait(&mut self) {}
    fn idle(&mut self) {}
    fn has_turn(&mut self) {}
    fn before_resting(&mut self) {}
    fn care_for_all(&mut self) -> bool {
        if self.is_disturbed {
            awake(&self.words, 1);
            self.words.and(Word::Awake, !bit(1));
        }
        assert!(!all_wait(&self.words), "CPU 1 leaves this to CPU 0");
        let has_command = self.commands != 0;
        self.commands -= u32::from(has_command);
        has_command
    }
    fn rest(&mut self) {}
    fn guest_is_down(&mut self, _: u32) {}
}

#[test]
fn two_cpus_carry_out_one_command_at_a_time() {
    for is_disturbed in [false, true] {
        let (bench, turns) = waiting();
        let words = words(&turns, &bench.configuration);
        for left in (0..=2).rev() {
            let mut cpu = Commanding {
                words,
                commands: left,
                is_disturbed,
            };
            let again = looks_again(&words, 0, &mut cpu);
            assert_eq!(cpu.commands, left.saturating_sub(1));
            // Without a command it waits, unless the other CPU has left all to it.
            assert_eq!(again, left != 0 || is_disturbed);
            let is_awake = words.load(Word::Awake) == bit(0);
            assert_eq!(is_awake, left != 0, "it is awake until it waits again");
            assert_eq!(all_wait(&words), left == 0);
            words.and(Word::Awake, !bit(0));
        }
    }
}
