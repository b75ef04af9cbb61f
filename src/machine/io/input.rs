//! The way in: what the host types for the guest and for the operator.
//!
//! Bytes from the host arrive at arbitrary times, so in exact mode they are read only at points that
//! the program determines: when every CPU waits and no timer is armed. In interactive and real-time
//! mode the service signal may interrupt the guest at any time.

use crate::arch::control::CR0_SERVICE_SIGNAL;
use crate::link::frame::{Channel, Decoder, Received};
use crate::link::service::{Function, Request};
use crate::link::state::{InputRead, TYPED_AHEAD};
use crate::machine::hardware::sclp;
use crate::machine::io::console;
use crate::machine::{his, operator};
use core::sync::atomic::{AtomicBool, Ordering};
use spin::Mutex;
use zerocopy::FromBytes;

/// Bytes typed for the guest that it has not read yet; more are dropped. The host does not send more,
/// because it is told what the guest has read.
static TYPED: Mutex<heapless::Deque<u8, TYPED_AHEAD>> = Mutex::new(heapless::Deque::new());

/// The longest line of the operator.
const LONGEST: usize = 256;

/// The frame decoder, and the operator's line so far when there are no frames: a byte more than a line
/// may have tells that it is too long.
static INCOMING: Mutex<(Decoder<1024>, heapless::Vec<u8, { LONGEST + 1 }>)> =
    Mutex::new((Decoder::new(), heapless::Vec::new()));

/// Whether input may interrupt the guest at any time.
static LISTENING: AtomicBool = AtomicBool::new(false);

/// From here on input may interrupt the guest.
pub fn listen() {
    LISTENING.store(true, Ordering::Relaxed);
}

/// The real CR0 bit by which input interrupts the guest, or none.
#[must_use]
pub fn listening() -> u64 {
    if LISTENING.load(Ordering::Relaxed) {
        CR0_SERVICE_SIGNAL
    } else {
        0
    }
}

/// Takes bytes that were typed for the guest, and says so to the host.
pub fn take(into: &mut [u8]) -> usize {
    let mut typed = TYPED.lock();
    let mut count = 0;
    for place in into {
        match typed.pop_front() {
            Some(byte) => *place = byte,
            None => break,
        }
        count += 1;
    }
    drop(typed);
    if count != 0 {
        let bytes = (count as u32).into();
        console::state(&InputRead { bytes });
    }
    count
}

/// Whether anything was typed for the guest.
#[must_use]
pub fn waiting() -> bool {
    !TYPED.lock().is_empty()
}

/// Reads the console and gives each byte where it belongs; operator lines are carried out. Whether
/// anything was complete: a line for the operator, or bytes for the guest.
pub fn read() -> bool {
    let mut complete = false;
    let mut bytes = [0; 2048];
    let count = sclp::read(&mut bytes);
    for &byte in &bytes[..count] {
        match accept(byte) {
            Accepted::Nothing => {}
            Accepted::Typed => complete = true,
            Accepted::Line(line) => {
                complete = true;
                operator::command(&line);
            }
            Accepted::Unusable => {
                complete = true;
                operator::refuse_line();
            }
        }
    }
    console::flush();
    complete
}

/// What a byte completes.
enum Accepted {
    /// Nothing yet.
    Nothing,
    /// Bytes that were typed for the guest, or something for HIS.
    Typed,
    /// The operator's line.
    Line(heapless::Vec<u8, LONGEST>),
    /// Something that is too long for a line, or did not arrive whole. It is answered like a line: who
    /// sent it waits for an answer.
    Unusable,
}

/// Takes one byte in.
fn accept(byte: u8) -> Accepted {
    let mut incoming = INCOMING.lock();
    let (decoder, line) = &mut *incoming;
    if console::framed() {
        return match decoder.push(byte) {
            Received::Frame(frame) => match frame.channel {
                Channel::Console => {
                    let mut typed = TYPED.lock();
                    for &byte in frame.payload {
                        let _ = typed.push_back(byte);
                    }
                    Accepted::Typed
                }
                Channel::Files => {
                    his::not_written();
                    Accepted::Typed
                }
                Channel::Service => match Request::read_from_bytes(frame.payload) {
                    // Nothing is said to this, so the host does not wait for anything.
                    Ok(request) if request.function.get() == Function::Done as u32 => {
                        his::ask_for(request);
                        Accepted::Nothing
                    }
                    Ok(request) => {
                        his::ask_for(request);
                        Accepted::Typed
                    }
                    Err(_) => Accepted::Unusable,
                },
                Channel::Operator => heapless::Vec::from_slice(frame.payload)
                    .map_or(Accepted::Unusable, Accepted::Line),
                _ => Accepted::Unusable,
            },
            Received::Bad => Accepted::Unusable,
            Received::Nothing | Received::Text(_) => Accepted::Nothing,
        };
    }
    match byte {
        b'\r' | b'\n' => {
            let whole = heapless::Vec::from_slice(&core::mem::take(line));
            whole.map_or(Accepted::Unusable, Accepted::Line)
        }
        0x08 | 0x7F => {
            line.pop();
            Accepted::Nothing
        }
        _ => {
            let _ = line.push(byte);
            Accepted::Nothing
        }
    }
}
