//! Output: one console that carries frames if the loader block asks for them, and text otherwise. A console of lines
//! carries the frames in lines.
//!
//! Output is collected and written in few service calls. [`flush`] is called before the firmware waits or ends,
//! so that nothing stays unwritten.

use crate::link::data::{Counters, SampleHead};
use crate::link::frame::{self, Channel};
use crate::link::lines;
use crate::link::state::{LineRead, Payload, Progress};
use crate::machine::hardware::sclp::{self, ConsoleKind, LARGEST_WRITE};
use core::fmt;
use spin::Mutex;
use zerocopy::IntoBytes;

/// The collected output, and how it is to be written.
struct Output {
    kind: ConsoleKind,
    framed: bool,
    frames: u32,
    buffer: Buffer,
    encoded: [u8; frame::LARGEST_ENCODED],
}

static OUTPUT: Mutex<Output> = Mutex::new(Output {
    kind: ConsoleKind::None,
    framed: false,
    frames: 0,
    buffer: heapless::Vec::new(),
    encoded: [0; frame::LARGEST_ENCODED],
});

impl Output {
    fn flush(&mut self) {
        write_out(self.kind, self.framed, &mut self.buffer);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        gather(self.kind, self.framed, &mut self.buffer, bytes);
    }

    fn frame(&mut self, channel: Channel, pieces: &[&[u8]]) {
        if let Ok(length) = frame::encode(channel, pieces, &mut self.encoded)
            && let Some(encoded) = self.encoded.get(..length)
        {
            self.frames += 1;
            gather(self.kind, self.framed, &mut self.buffer, encoded);
        }
    }
}

type Buffer = heapless::Vec<u8, LARGEST_WRITE>;

/// Writes the buffer out and empties it.
fn write_out(kind: ConsoleKind, framed: bool, buffer: &mut Buffer) {
    match kind {
        ConsoleKind::Ascii => sclp::write_ascii(buffer),
        ConsoleKind::Line if framed => {
            for bytes in buffer.chunks(lines::LONGEST) {
                sclp::write_line(lines::characters(bytes.len()), lines::encode(bytes));
            }
        }
        ConsoleKind::Line => {
            for line in buffer
                .split(|&byte| byte == b'\n')
                .filter(|line| !line.is_empty())
            {
                let length = line.len().min(sclp::LONGEST_TEXT);
                sclp::write_line(length, line.iter().copied());
            }
        }
        ConsoleKind::None => {}
    }
    buffer.clear();
}

/// Adds bytes to the buffer, and writes it out whenever it is full.
fn gather(kind: ConsoleKind, framed: bool, buffer: &mut Buffer, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        if buffer.is_full() {
            write_out(kind, framed, buffer);
        }
        let room = buffer.capacity() - buffer.len();
        let (now, later) = bytes.split_at(room.min(bytes.len()));
        let _ = buffer.extend_from_slice(now);
        bytes = later;
    }
}

/// Opens the console of the machine below; returns its kind.
pub fn open() -> ConsoleKind {
    let kind = sclp::open_console();
    OUTPUT.lock().kind = kind;
    kind
}

/// From now on all output is in frames; what came before is boot text.
pub fn use_frames() {
    let mut output = OUTPUT.lock();
    // What is text must not become part of a line of frames.
    output.flush();
    output.framed = true;
    output.bytes(&[frame::DELIMITER]);
    drop(output);
    if carries_lines() {
        state(&LineRead::default());
        flush();
    }
}

/// Whether the frames go in lines of text.
#[must_use]
pub fn carries_lines() -> bool {
    let output = OUTPUT.lock();
    output.framed && output.kind == ConsoleKind::Line
}

/// Whether output goes out in frames.
#[must_use]
pub fn framed() -> bool {
    OUTPUT.lock().framed
}

/// Frames sent so far.
#[must_use]
pub fn frames() -> u32 {
    OUTPUT.lock().frames
}

/// Writes the collected output.
pub fn flush() {
    OUTPUT.lock().flush();
}

/// Sends bytes on a channel. Without frames, text of the guest and the operator is written as it is, and the
/// binary channels are omitted.
pub fn send(channel: Channel, pieces: &[&[u8]]) {
    let mut output = OUTPUT.lock();
    if output.framed {
        output.frame(channel, pieces);
    } else if matches!(channel, Channel::Console | Channel::Operator) {
        for piece in pieces {
            output.bytes(piece);
        }
    }
}

/// Sends bytes on a channel at once. To the path of a trap the collected output is as it was: its bytes are written now, and
/// delimiters, which mean nothing, take their place and are written when the bytes would have been.
pub fn send_aside(channel: Channel, pieces: &[&[u8]]) {
    let mut output = OUTPUT.lock();
    if !output.framed {
        return;
    }
    let waiting = output.buffer.len();
    output.flush();
    output.frame(channel, pieces);
    output.flush();
    let _ = output.buffer.resize(waiting, frame::DELIMITER);
}

/// Sends bytes on a channel unless another CPU has the console; returns whether they were sent.
pub fn try_send(channel: Channel, pieces: &[&[u8]]) -> bool {
    let Some(mut output) = OUTPUT.try_lock() else {
        return false;
    };
    output.frame(channel, pieces);
    true
}

/// Sends a run state.
pub fn state<P: Payload>(payload: &P) {
    send(Channel::RunState, &payload.pieces());
}

/// Sends a sign of life: the guest has completed so many instructions.
pub fn progress(instructions: u64, now: u64) {
    state(&Progress {
        instructions: instructions.into(),
        tod: now.into(),
    });
    flush();
}

/// Sends a sample-data block.
pub fn sample_data(head: &SampleHead, block: &[u8]) {
    send(Channel::SampleData, &[head.as_bytes(), block]);
}

/// Sends counters.
pub fn counters(counters: &Counters<'_>) {
    send(Channel::Counters, &counters.pieces());
}

/// The operator's text, as a formatter writes it: collected line by line into frames.
pub struct Operator(heapless::Vec<u8, 512>);

impl Operator {
    /// An empty text.
    #[must_use]
    pub const fn new() -> Self {
        Self(heapless::Vec::new())
    }

    /// Sends the complete lines of the collected text, so that no line is split; all of it if no line is
    /// complete.
    fn send_lines(&mut self) {
        let lines = self.0.iter().rposition(|&byte| byte == b'\n');
        let count = lines.map_or(self.0.len(), |end| end + 1);
        let (now, later) = self.0.split_at_checked(count).unwrap_or((&self.0, &[]));
        send(Channel::Operator, &[now]);
        self.0 = heapless::Vec::from_slice(later).unwrap_or_default();
    }

    /// Sends the collected text.
    pub fn send(&mut self) {
        if !self.0.is_empty() {
            send(Channel::Operator, &[&self.0]);
            self.0.clear();
        }
    }
}

impl fmt::Write for Operator {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if self.0.is_full() {
                self.send_lines();
            }
            let _ = self.0.push(byte);
        }
        Ok(())
    }
}

/// Writes a text for the operator.
pub fn say(text: fmt::Arguments<'_>) {
    use fmt::Write;
    let mut operator = Operator::new();
    let _ = operator.write_fmt(text);
    operator.send();
}

/// Whether a CPU has the console at the moment.
#[must_use]
pub fn is_held() -> bool {
    OUTPUT.is_locked() || sclp::SCCB.is_held()
}

/// For a failing machine: takes the console from the CPU that held it.
///
/// # Safety
/// No other CPU runs, and the caller never returns to what held the lock.
pub unsafe fn seize() {
    // SAFETY: by contract.
    unsafe {
        OUTPUT.force_unlock();
        sclp::SCCB.force_unlock();
    }
}

/// Writes the collected output if it is large enough to be worth a service call.
pub fn flush_if_large() {
    let mut output = OUTPUT.lock();
    if output.buffer.len() > LARGEST_WRITE / 2 {
        output.flush();
    }
}
