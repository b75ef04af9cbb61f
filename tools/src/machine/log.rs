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

/// Turns bytes into lines.
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

    /// The lines that these bytes complete.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<String> {
        let Some(decoder) = &mut self.decoder else {
            return Vec::new();
        };
        decoder.received(bytes);
        let mut lines = Vec::new();
        loop {
            match decoder.decode() {
                Ok(frame) => lines.push(frame.display(false).to_string()),
                Err(DecodeError::UnexpectedEof) => return lines,
                Err(DecodeError::Malformed) => {
                    lines.push("(a log message that cannot be read)".to_owned());
                    if !self.recovers {
                        self.decoder = None;
                        return lines;
                    }
                }
            }
        }
    }
}
