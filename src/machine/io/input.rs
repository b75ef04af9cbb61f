//! Input: what the host types for the guest and for the operator.
//!
//! Bytes from the host arrive at arbitrary times, so in exact mode they are read only at points that
//! the program determines: when every CPU waits and no timer is armed. In interactive and real-time
//! mode the service signal may interrupt the guest at any time.

use crate::arch::control::CR0_SERVICE_SIGNAL;
use crate::link::frame::{Channel, Decoder, Received};
use crate::link::lines;
use crate::link::service::{Function, Request};
use crate::link::state::{InputRead, LineRead, TYPED_AHEAD};
use crate::machine::hardware::sclp;
use crate::machine::io::console;
use spin::Mutex;
use zerocopy::FromBytes;

/// The longest line of the operator.
const LONGEST: usize = 256;

/// A line of the operator.
pub type Line = heapless::Vec<u8, LONGEST>;

/// A message from the host.
pub enum HostMessage {
    /// A line for the operator's commands.
    Line(Line),
    /// A message that is too long for a line, or that did not arrive complete. It is answered like a line, because its
    /// sender waits for an answer.
    Unusable,
    /// A request of a profiler.
    Request(Request),
    /// The host cannot write what a run of HIS collects.
    NotWritten,
}

/// The frame decoder, and, without frames, the operator's line so far. The line has room for one byte more than
/// allowed, to detect a line that is too long.
struct Incoming {
    decoder: Decoder<1024>,
    line: heapless::Vec<u8, { LONGEST + 1 }>,
    /// The lines with bytes of the link that were read.
    lines: u32,
}

/// The host's input.
pub struct Input {
    /// Bytes typed for the guest that it has not read yet; more are dropped. The host does not send more, because it
    /// learns what the guest has read.
    typed: Mutex<heapless::Deque<u8, TYPED_AHEAD>>,
    incoming: Mutex<Incoming>,
    /// Whether input may interrupt the guest at any time.
    listening: bool,
}

/// What a byte completes.
enum Accepted {
    /// Nothing yet.
    Nothing,
    /// Bytes that were typed for the guest.
    Typed,
    /// A message whose sender waits for an answer.
    NeedsAnswer(HostMessage),
    /// A message without an answer.
    NeedsNoAnswer(HostMessage),
}

impl Input {
    /// No input so far.
    #[must_use]
    pub const fn new(listening: bool) -> Self {
        Self {
            typed: Mutex::new(heapless::Deque::new()),
            incoming: Mutex::new(Incoming {
                decoder: Decoder::new(),
                line: heapless::Vec::new(),
                lines: 0,
            }),
            listening,
        }
    }

    /// The real CR0 bit by which input interrupts the guest, or none.
    #[must_use]
    pub const fn listening(&self) -> u64 {
        if self.listening {
            CR0_SERVICE_SIGNAL
        } else {
            0
        }
    }

    /// Takes bytes that were typed for the guest, and tells the host so.
    pub fn take(&self, into: &mut [u8]) -> usize {
        let mut typed = self.typed.lock();
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
    pub fn waiting(&self) -> bool {
        !self.typed.lock().is_empty()
    }

    /// Reads the console, keeps what is for the guest, and passes the other messages to `answer`. Returns whether a
    /// message that needs an answer, or bytes for the guest, arrived.
    pub fn read(&self, mut answer: impl FnMut(HostMessage)) -> bool {
        let mut complete = false;
        let mut accept = |byte| match self.accept(byte) {
            Accepted::Nothing => {}
            Accepted::Typed => complete = true,
            Accepted::NeedsAnswer(message) => {
                complete = true;
                answer(message);
            }
            Accepted::NeedsNoAnswer(message) => answer(message),
        };
        let mut bytes = [0; 2048];
        let count = sclp::read(&mut bytes);
        let bytes = bytes.get(..count).unwrap_or_default();
        if !console::carries_lines() {
            bytes.iter().copied().for_each(accept);
        } else if let Some(carried) = lines::decode(bytes) {
            // What a person types there is not of the link.
            self.note_line();
            carried.for_each(&mut accept);
        }
        console::flush();
        complete
    }

    /// Tells the host that it may type the next line.
    fn note_line(&self) {
        let mut incoming = self.incoming.lock();
        incoming.lines = incoming.lines.wrapping_add(1);
        let lines = incoming.lines.into();
        drop(incoming);
        console::state(&LineRead { lines });
    }

    /// Accepts one byte.
    fn accept(&self, byte: u8) -> Accepted {
        let mut incoming = self.incoming.lock();
        let Incoming { decoder, line, .. } = &mut *incoming;
        if console::framed() {
            return match decoder.push(byte) {
                Received::Frame(frame) => self.accept_frame(frame.channel, frame.payload),
                Received::Bad => Accepted::NeedsAnswer(HostMessage::Unusable),
                Received::Nothing | Received::Text(_) => Accepted::Nothing,
            };
        }
        match byte {
            b'\r' | b'\n' => {
                let whole = Line::from_slice(&core::mem::take(line));
                Accepted::NeedsAnswer(whole.map_or(HostMessage::Unusable, HostMessage::Line))
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

    /// Accepts a frame.
    fn accept_frame(&self, channel: Channel, payload: &[u8]) -> Accepted {
        match channel {
            Channel::Console => {
                let mut typed = self.typed.lock();
                for &byte in payload {
                    let _ = typed.push_back(byte);
                }
                Accepted::Typed
            }
            Channel::Files => Accepted::NeedsAnswer(HostMessage::NotWritten),
            Channel::Service => match Request::read_from_bytes(payload) {
                // This has no answer, so the host does not wait for one.
                Ok(request) if request.function.get() == Function::Done as u32 => {
                    Accepted::NeedsNoAnswer(HostMessage::Request(request))
                }
                Ok(request) => Accepted::NeedsAnswer(HostMessage::Request(request)),
                Err(_) => Accepted::NeedsAnswer(HostMessage::Unusable),
            },
            Channel::Operator => {
                let line = Line::from_slice(payload);
                Accepted::NeedsAnswer(line.map_or(HostMessage::Unusable, HostMessage::Line))
            }
            _ => Accepted::NeedsAnswer(HostMessage::Unusable),
        }
    }
}
