//! The log: defmt frames to text.
//!
//! The machine sends the numbers of its messages and their operands; the messages themselves are in
//! the image's ELF, which is the only one that fits.

use std::path::Path;

use anyhow::{Context, Result};
use defmt_decoder::{DecodeError, StreamDecoder, Table};

/// The messages of an image; `None` if it logs nothing.
pub fn table(image: &Path, elf: &[u8]) -> Result<Option<Table>> {
    let table = Table::parse(elf);
    table.with_context(|| {
        format!(
            "{} holds no readable log messages; build it again",
            image.display()
        )
    })
}

/// The level of an error.
const ERROR: &str = "error";

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its line in the log: time, level and text.
    pub line: String,
    /// Its text, if it is an error: the person at the terminal must know at once.
    pub error: Option<String>,
}

/// Turns bytes into messages.
pub struct LogReader<'t> {
    decoder: Option<Box<dyn StreamDecoder + Send + Sync + 't>>,
    /// Whether the encoding lets a reader find its place again.
    recovers: bool,
}

impl<'t> LogReader<'t> {
    /// A reader for the messages of this table.
    pub fn new(table: Option<&'t Table>) -> Self {
        Self {
            decoder: table.map(Table::new_stream_decoder),
            recovers: table.is_some_and(|table| table.encoding().can_recover()),
        }
    }

    /// The messages that these bytes complete.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Message> {
        let Some(decoder) = &mut self.decoder else {
            return Vec::new();
        };
        decoder.received(bytes);
        let mut messages = Vec::new();
        loop {
            match decoder.decode() {
                Ok(frame) => messages.push(Message {
                    line: frame.display(false).to_string(),
                    error: frame
                        .level()
                        .filter(|level| level.as_str() == ERROR)
                        .map(|_| frame.display_message().to_string()),
                }),
                Err(DecodeError::UnexpectedEof) => return messages,
                Err(DecodeError::Malformed) => {
                    messages.push(Message {
                        line: "(a log message that cannot be read)".to_owned(),
                        error: None,
                    });
                    if !self.recovers {
                        self.decoder = None;
                        return messages;
                    }
                }
            }
        }
    }
}
