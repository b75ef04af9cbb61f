//! The log: defmt frames to text.
//!
//! The machine sends the numbers of its messages and their operands; the messages themselves are in
//! the image's ELF, which is the only one that fits.

mod table;

use std::path::Path;

use anyhow::{Context, Result};

use table::Frame;
pub use table::Table;

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
    table: Option<&'t Table>,
    /// The beginning of a frame.
    begun: Vec<u8>,
}

impl<'t> LogReader<'t> {
    /// A reader for the messages of this table.
    pub fn new(table: Option<&'t Table>) -> Self {
        Self {
            table,
            begun: Vec::new(),
        }
    }

    /// The messages that these bytes complete. A zero ends a frame.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Message> {
        let Some(table) = self.table else {
            return Vec::new();
        };
        let mut messages = Vec::new();
        for &byte in bytes {
            if byte != 0 {
                self.begun.push(byte);
                continue;
            }
            let frame = std::mem::take(&mut self.begun);
            if !frame.is_empty() {
                messages.push(message(table, &frame));
            }
        }
        messages
    }
}

fn message(table: &Table, frame: &[u8]) -> Message {
    match table.decode(frame) {
        Some(Frame { time, level, text }) => Message {
            line: format!("{time} {} {text}", level.to_uppercase()),
            error: (level == ERROR).then_some(text),
        },
        None => Message {
            line: "(a log message that cannot be read)".to_owned(),
            error: None,
        },
    }
}
