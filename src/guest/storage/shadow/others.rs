//! Waiting for the other CPUs, where CPUs execute at the same time.
//!
//! In exact mode one CPU executes at a time, and every other one looks at the requests before its guest continues. In
//! real-time mode the others may be in the guest. A CPU that has taken something away must know when nobody uses it
//! any more: before its own guest continues ([`settle`]), because what it did was an instruction like INVALIDATE PAGE
//! TABLE ENTRY, or a store into instructions; and before it uses a code copy for another page, or scans a page that
//! others could store into ([`wait_for_others`]). It signals those that have not passed the request yet, and waits.
//!
//! A CPU that waits is aside, so two CPUs may wait for each other. It must therefore not hold a lock that another CPU
//! waits for, nor an address of the guest that it has checked and has yet to use.

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::pending_work::PendingWork;
use crate::state::vcpu::Vcpu;

/// The guest of this CPU does not continue before every CPU has passed the requests that have been posted so far.
pub fn await_others<H: Hardware>(configuration: &Configuration, hardware: &H) {
    if configuration.is_concurrent() {
        let shadow = &configuration.shadow;
        let before = shadow.posted();
        shadow.passed.await_others(hardware.number(), before);
    }
}

/// On the way out: tells the other CPUs how far this one has come, and waits for them if it must.
#[cold]
pub fn settle<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    cpu.pending_work.clear(PendingWork::PASSED);
    if !configuration.is_concurrent() {
        return;
    }
    let passed = &configuration.shadow.passed;
    passed.passes(cpu.address, cpu.shadow.seen);
    if let Some(before) = passed.take_awaited(cpu.address) {
        wait_for_others(configuration, hardware, before);
    }
}

/// Waits until every other CPU has passed all requests before this one.
#[cold]
pub fn wait_for_others<H: Hardware>(configuration: &Configuration, hardware: &mut H, before: u64) {
    let passed = &configuration.shadow.passed;
    let me = hardware.number();
    let then = passed.steps_aside(me);
    let others = || (0..configuration.cpus).filter(|&other| other != me);
    for other in others().filter(|&other| !passed.has_passed(other, before)) {
        hardware.wake(other);
    }
    for other in others() {
        while !passed.has_passed(other, before) {
            hardware.pause();
        }
    }
    passed.comes_back(me, then);
}

/// This CPU stops using what it found in the guest's tables, for a long time perhaps: it waits, or is stopped.
pub fn step_aside(cpu: &Vcpu, configuration: &Configuration) {
    if configuration.is_concurrent() {
        configuration.shadow.passed.steps_aside(cpu.address);
    }
}

/// The CPU works for its guest again.
pub fn come_back(cpu: &mut Vcpu, configuration: &Configuration) {
    if configuration.is_concurrent() {
        let passed = &configuration.shadow.passed;
        passed.comes_back(cpu.address, cpu.shadow.seen);
        cpu.pending_work |= PendingWork::PASSED;
    }
}
