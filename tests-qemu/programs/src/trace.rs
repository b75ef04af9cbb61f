//! One process traces another, as a debugger does.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::call::{Refused, call};

const FORK: u64 = 2;
const GETPID: u64 = 20;
const PTRACE: u64 = 26;
const KILL: u64 = 37;
const WAIT4: u64 = 114;

/// Requests of the call `ptrace`.
const TRACE_ME: u64 = 0;
const PEEK_USER: u64 = 3;
const POKE_USER: u64 = 6;

/// The signal that stops a process.
pub const SIGSTOP: u32 = 19;
/// The signal that a traced process stops with.
pub const SIGTRAP: u32 = 5;

/// The address of the PSW in the area of a process that [`peek`] and [`poke`] reach.
pub const PSW_ADDRESS: u64 = 8;
/// Control register 9 while the process runs: the events to record.
pub const EVENTS: u64 = 352;
/// Control register 10 while the process runs: the first address of the range.
pub const RANGE_START: u64 = 384;
/// Control register 11 while the process runs: the last address of the range.
pub const RANGE_END: u64 = 392;

/// How a stopped process resumes.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub enum Resume {
    /// Until a signal, or until an event that it was told to record.
    Freely = 7,
    /// For one instruction.
    Step = 9,
    /// Until the next branch that is taken.
    Block = 12,
}

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Stopped by this signal.
    Stopped(u32),
    /// Ended with this code.
    Ended(u32),
    /// Ended otherwise.
    Killed(u32),
}

static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// How often this process has issued the call `ptrace`.
pub fn requests() -> u64 {
    REQUESTS.load(Ordering::Relaxed)
}

/// The call `ptrace`.
///
/// # Safety
///
/// The data designates storage that this request may use.
unsafe fn ptrace(request: u64, process: u64, at: u64, data: u64) -> Result<(), Refused> {
    REQUESTS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the caller's promise.
    unsafe { call(PTRACE, [request, process, at, data]) }.map(drop)
}

/// Starts a second process that goes on from here; for the new process the result is `None`.
pub fn fork() -> Result<Option<u64>, Refused> {
    // SAFETY: designates no storage; each process has its own.
    let process = unsafe { call(FORK, [0, 0]) }?;
    Ok((process != 0).then_some(process))
}

/// The process asks its parent to trace it.
pub fn trace_me() -> Result<(), Refused> {
    // SAFETY: designates nothing.
    unsafe { ptrace(TRACE_ME, 0, 0, 0) }
}

/// The process stops itself until it is resumed.
pub fn stop() -> Result<(), Refused> {
    // SAFETY: designates nothing.
    let process = unsafe { call(GETPID, [0]) }?;
    // SAFETY: designates nothing.
    unsafe { call(KILL, [process, SIGSTOP.into()]) }.map(drop)
}

/// Waits for a process to stop or to end.
pub fn wait(process: u64) -> Result<State, Refused> {
    let mut status = 0_u32;
    // SAFETY: stores into a local.
    unsafe { call(WAIT4, [process, &raw mut status as u64, 0, 0])? };
    Ok(match status & 0xFF {
        0x7F => State::Stopped(status >> 8),
        0 => State::Ended(status >> 8),
        signal => State::Killed(signal),
    })
}

/// Resumes a stopped process, without the signal that stopped it, and waits until it stops again.
pub fn resume(process: u64, how: Resume) -> Result<State, Refused> {
    // SAFETY: designates nothing.
    unsafe { ptrace(how as u64, process, 0, 0)? };
    wait(process)
}

/// Reads a doubleword of the kernel's data for a stopped process.
pub fn peek(process: u64, at: u64) -> Result<u64, Refused> {
    let mut value = 0_u64;
    // SAFETY: stores into a local. The system call gives the value there, unlike the function of a C library.
    unsafe { ptrace(PEEK_USER, process, at, &raw mut value as u64)? };
    Ok(value)
}

/// Changes a doubleword of the kernel's data for a stopped process.
pub fn poke(process: u64, at: u64, value: u64) -> Result<(), Refused> {
    // SAFETY: the storage is the other process's.
    unsafe { ptrace(POKE_USER, process, at, value) }
}
