//! The service-call logical processor of the machine below: information about the machine, and its console.

use crate::arch::condition::ConditionCode;
use crate::arch::cpu::MAXIMUM_CPUS;
use crate::arch::ebcdic;
use crate::link::lines;
use crate::machine::hardware::instruction;
use crate::machine::hardware::wait;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use spin::{Mutex, MutexGuard};
use volatile::VolatilePtr;

/// READ SCP INFO.
pub const READ_SCP_INFO: u32 = 0x0002_0001;
/// READ SCP INFO, forced.
pub const READ_SCP_INFO_FORCED: u32 = 0x0012_0001;
const WRITE_EVENT_MASK: u32 = 0x0078_0005;
const WRITE_EVENT_DATA: u32 = 0x0076_0005;
const READ_EVENT_DATA: u32 = 0x0077_0005;

/// Event type: operator command (line-mode input).
const EVENT_OPERATOR_COMMAND: u8 = 0x01;
/// Event type: message (line-mode output).
const EVENT_MESSAGE: u8 = 0x02;
/// Event type: ASCII console, both ways.
const EVENT_ASCII: u8 = 0x1A;

/// A service-call control block: 4 KiB on their boundary, below 2 GiB because the image is there.
#[repr(C, align(4096))]
pub struct Sccb(pub [u8; 4096]);

/// The one block that this machine uses for all calls, and an indication from the signals that it absorbed.
pub struct Calls {
    block: Mutex<Sccb>,
    /// Whether an absorbed service signal said that events wait to be read.
    events: AtomicBool,
    /// Who looks at events that wait then: a [`Listener`].
    listener: AtomicU8,
}

/// The CPU that looks at input whose service signal has been absorbed, although no wait follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// None: input is for the next wait.
    Nobody,
    /// The CPU that has absorbed the signal.
    Same,
    /// CPU 0.
    First,
}

/// The service calls of this machine.
pub static SCCB: Calls = Calls {
    block: Mutex::new(Sccb([0; 4096])),
    events: AtomicBool::new(false),
    listener: AtomicU8::new(Listener::Nobody as u8),
};

impl Calls {
    /// The block, for one call.
    pub fn lock(&self) -> MutexGuard<'_, Sccb> {
        self.block.lock()
    }

    /// Whether a CPU has the block at the moment.
    pub fn is_held(&self) -> bool {
        self.block.is_locked()
    }

    /// Takes the block away from whoever held it.
    ///
    /// # Safety
    /// No other CPU runs, and the caller never returns to what held the block.
    pub unsafe fn force_unlock(&self) {
        // SAFETY: by contract.
        unsafe { self.block.force_unlock() };
    }

    /// From now on this CPU looks at input whose signal has been absorbed.
    pub fn set_listener(&self, listener: Listener) {
        self.listener.store(listener as u8, Ordering::Relaxed);
    }

    /// Absorbs a pending service signal, if there is one. If it said that events wait to be read, the listener is
    /// interrupted instead before its guest continues.
    fn absorb_signal(&self) {
        if !wait::absorb_service_signal() {
            return;
        }
        self.events.store(true, Ordering::SeqCst);
        let listener = self.listener.load(Ordering::Relaxed);
        if listener == Listener::Same as u8 {
            instruction::signal_emergency(instruction::stap());
        } else if listener == Listener::First as u8 {
            instruction::signal_emergency(0);
        }
    }
}

/// Whether input waits to be read although its signal has been absorbed. The answer is given once.
pub fn take_events() -> bool {
    SCCB.events.load(Ordering::Relaxed) && SCCB.events.swap(false, Ordering::SeqCst)
}

impl Sccb {
    /// Clears the block and gives it a length.
    pub fn prepare(&mut self, length: u16) {
        self.0.fill(0);
        self.0[..2].copy_from_slice(&length.to_be_bytes());
    }

    /// The response code; zero while the call is in progress.
    fn response(&mut self) -> u16 {
        let at = core::ptr::NonNull::from(&mut self.0).cast::<u16>();
        // SAFETY: bytes 6-7 of the block, on a halfword boundary. The access is volatile because the service-call
        // logical processor stores them.
        unsafe { VolatilePtr::new(at.add(3)).read() }
    }

    /// Calls, and waits for the answer. If `signal`, absorbs the service signal that announces it, if it is there.
    pub fn call(&mut self, command: u32, signal: bool) -> Result<u16, ConditionCode> {
        loop {
            // SAFETY: no one else uses the block until the answer is there.
            let code = unsafe { instruction::servc(command, self.0.as_mut_ptr()) };
            match code {
                ConditionCode::Zero => break,
                // Busy: an earlier call's service signal is still pending.
                ConditionCode::Two if signal => SCCB.absorb_signal(),
                other => return Err(other),
            }
        }
        // The answer is awaited in storage: its service signal is pending for the whole configuration, and another CPU
        // may have taken it.
        let response = loop {
            let response = self.response();
            if response != 0 {
                break response;
            }
        };
        if signal {
            SCCB.absorb_signal();
        }
        Ok(response)
    }

    /// The halfword at `at`.
    #[must_use]
    pub fn u16(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }

    /// The word at `at`.
    #[must_use]
    pub fn u32(&self, at: usize) -> u32 {
        u32::from(self.u16(at)) << 16 | u32::from(self.u16(at + 2))
    }
}

/// Storage in bytes and storage increment in bytes, or `None` if the machine does not say. Called once, before the
/// image has its prefix area. Service signals cannot be absorbed at that time, so the next call would find the machine
/// busy.
pub fn storage() -> Option<(u64, u64)> {
    let mut sccb = SCCB.lock();
    for command in [READ_SCP_INFO, READ_SCP_INFO_FORCED] {
        sccb.prepare(2048);
        sccb.0[2] = 0x80;
        if let Ok(0x0010) = sccb.call(command, false) {
            let count = match sccb.u16(8) {
                0 => u64::from(sccb.u32(104)) << 32 | u64::from(sccb.u32(108)),
                count => u64::from(count),
            };
            let size = match sccb.0[10] {
                0 => u64::from(sccb.u32(100)),
                size => u64::from(size),
            };
            return Some((count * (size << 20), size << 20));
        }
    }
    None
}

/// CPUs in the configuration: the addresses of as many as a guest can have.
pub fn cpus() -> heapless::Vec<u16, MAXIMUM_CPUS> {
    let mut sccb = SCCB.lock();
    let mut found = heapless::Vec::new();
    sccb.prepare(2048);
    sccb.0[2] = 0x80;
    if let Ok(0x0010) = sccb.call(READ_SCP_INFO, true) {
        let (count, offset) = (usize::from(sccb.u16(16)), usize::from(sccb.u16(18)));
        for index in 0..count {
            let at = offset + index * 16;
            if at + 16 <= 4096 {
                let _ = found.push(u16::from(sccb.0[at]));
            }
        }
    }
    if found.is_empty() {
        let _ = found.push(instruction::stap());
    }
    found
}

/// The console of the machine below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleKind {
    /// None: there is no output.
    None,
    /// The ASCII console: bytes, in both directions.
    Ascii,
    /// The line-mode console: EBCDIC lines.
    Line,
}

/// Enables the console's events, and returns the kind of console.
pub fn open_console() -> ConsoleKind {
    let mut sccb = SCCB.lock();
    let bit = |event: u8| 1u32 << (32 - u32::from(event));
    sccb.prepare(28);
    sccb.0[10..12].copy_from_slice(&4u16.to_be_bytes());
    let receive = bit(EVENT_ASCII) | bit(EVENT_OPERATOR_COMMAND);
    let send = bit(EVENT_ASCII) | bit(EVENT_MESSAGE);
    sccb.0[12..16].copy_from_slice(&receive.to_be_bytes());
    sccb.0[16..20].copy_from_slice(&send.to_be_bytes());
    match sccb.call(WRITE_EVENT_MASK, true) {
        Ok(0x0020) => {
            // What the machine below accepts from us.
            let accepts = sccb.u32(20) | sccb.u32(24);
            if accepts & bit(EVENT_ASCII) != 0 {
                ConsoleKind::Ascii
            } else if accepts & bit(EVENT_MESSAGE) != 0 {
                ConsoleKind::Line
            } else {
                ConsoleKind::None
            }
        }
        _ => ConsoleKind::None,
    }
}

/// The most bytes that one write to the ASCII console takes.
pub const LARGEST_WRITE: usize = 4096 - 14;

/// Writes bytes to the ASCII console.
pub fn write_ascii(bytes: &[u8]) {
    let mut sccb = SCCB.lock();
    for part in bytes.chunks(LARGEST_WRITE) {
        let event = (part.len() + 6) as u16;
        sccb.0[..14].fill(0);
        sccb.0[..2].copy_from_slice(&(event + 8).to_be_bytes());
        sccb.0[8..10].copy_from_slice(&event.to_be_bytes());
        sccb.0[10] = EVENT_ASCII;
        sccb.0[14..14 + part.len()].copy_from_slice(part);
        let _ = sccb.call(WRITE_EVENT_DATA, true);
    }
}

/// The characters of a line of text that a line-mode console shows.
pub const LONGEST_TEXT: usize = 200;

/// Where the characters of a line begin in the block.
const TEXT: usize = 92;
const _: () = assert!(TEXT + lines::LONGEST_LINE <= size_of::<Sccb>());

/// Writes one line of these characters, without its line end, to the line-mode console. It has at most
/// [`lines::LONGEST_LINE`] of them.
pub fn write_line(characters: usize, line: impl Iterator<Item = u8>) {
    let mut sccb = SCCB.lock();
    let characters = characters.min(lines::LONGEST_LINE);
    // Event header 6, MDB header 12, general object 56, text object header 10.
    let text = 10 + characters;
    let mdb = 12 + 56 + text;
    let event = 6 + mdb;
    sccb.prepare((8 + event) as u16);
    let put = |sccb: &mut Sccb, at: usize, bytes: &[u8]| {
        sccb.0[at..at + bytes.len()].copy_from_slice(bytes);
    };
    put(&mut sccb, 8, &(event as u16).to_be_bytes());
    sccb.0[10] = EVENT_MESSAGE;
    put(&mut sccb, 14, &(mdb as u16).to_be_bytes());
    put(&mut sccb, 16, &1u16.to_be_bytes());
    put(&mut sccb, 18, &[0xD4, 0xC4, 0xC2, 0x40]);
    put(&mut sccb, 22, &1u32.to_be_bytes());
    put(&mut sccb, 26, &56u16.to_be_bytes());
    put(&mut sccb, 28, &1u16.to_be_bytes());
    put(&mut sccb, 82, &(text as u16).to_be_bytes());
    put(&mut sccb, 84, &4u16.to_be_bytes());
    put(&mut sccb, 86, &0x1000u16.to_be_bytes());
    for (to, from) in sccb.0[TEXT..].iter_mut().zip(line.take(characters)) {
        *to = ebcdic::code(from).unwrap_or(0x4B);
    }
    let _ = sccb.call(WRITE_EVENT_DATA, true);
}

/// Reads what was typed; returns the number of bytes. Bytes that do not fit into `into` are dropped.
pub fn read(into: &mut [u8]) -> usize {
    let mut sccb = SCCB.lock();
    sccb.prepare(4096);
    // Unconditional read; a response of variable length.
    sccb.0[5] = 0x80;
    if !matches!(sccb.call(READ_EVENT_DATA, true), Ok(0x0020 | 0x0220)) {
        return 0;
    }
    let length = usize::from(sccb.u16(8)).clamp(6, 4096 - 8);
    let event = &sccb.0[8..8 + length];
    match event[2] {
        // ASCII bytes follow the event header; QEMU puts a type byte before them.
        EVENT_ASCII if length > 7 => {
            let bytes = &event[7..];
            let count = bytes.len().min(into.len());
            into[..count].copy_from_slice(&bytes[..count]);
            count
        }
        EVENT_OPERATOR_COMMAND => read_command(event, into),
        _ => 0,
    }
}

/// The text of a line-mode command: the self-defining text vector (key 30) somewhere in the event.
fn read_command(event: &[u8], into: &mut [u8]) -> usize {
    for at in 6..event.len().saturating_sub(2) {
        let Some(&[length, key]) = event.get(at..).and_then(|rest| rest.first_chunk()) else {
            break;
        };
        let length = usize::from(length);
        if key == 0x30
            && length > 2
            && at + length == event.len()
            && let Some(text) = event.get(at + 2..)
        {
            let mut count = 0;
            for (to, &from) in into.iter_mut().zip(text.iter()) {
                *to = ebcdic::character(from).map_or(b'?', |character| character as u8);
                count += 1;
            }
            if let Some(end) = into.get_mut(count) {
                *end = b'\n';
                count += 1;
            }
            return count;
        }
    }
    0
}
