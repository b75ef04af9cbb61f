//! z/VM monitor records.

use std::io::Read;

use anyhow::Result;
use record::{
    Counters, Malformed, Problem,
    monitor::{self, Decoded},
};

use super::{parts::Parts, print::Printer};
use crate::formats::{fill, wrong};

/// Bytes of a record's header.
const HEADER: usize = size_of::<monitor::Header>();

/// A record that said that the next one continues it.
struct Partial {
    /// Where it is in the file.
    base: u64,
    /// Its content without counters.
    record: Decoded<'static>,
    /// Counters up to its end.
    counters: usize,
}

impl Partial {
    /// The error that the next record does not continue this one.
    fn alone(&self) -> anyhow::Error {
        let malformed = Malformed {
            offset: 27,
            field: "PRCMFC_P",
            problem: Problem::Form {
                expected: "followed by the record that goes on, if it is one",
            },
        };
        wrong(self.base, malformed)
    }
}

/// Prints the records.
pub fn print(file: &mut dyn Read, printer: &mut Printer<'_>) -> Result<()> {
    let (mut at, mut bytes) = (0, Vec::new());
    let mut partial: Option<Partial> = None;
    while !printer.is_stuck() {
        bytes.clear();
        let head = fill(file, &mut bytes, 4)?;
        if head == 0 {
            return partial.map_or(Ok(()), |partial| Err(partial.alone()));
        }
        let says = match bytes.first_chunk::<2>() {
            Some(length) => usize::from(u16::from_be_bytes(*length)),
            None => 0,
        };
        // If the length is too short, the whole header shows it.
        fill(file, &mut bytes, says.max(HEADER).saturating_sub(head))?;
        let kind = match (bytes.get(4), bytes.get(6..8)) {
            (Some(domain), Some(record)) => {
                let number = u16::from_be_bytes([record[0], record[1]]);
                format!("monitor record, domain {domain} record {number}")
            }
            _ => "monitor record".to_owned(),
        };
        printer.record(at, &kind);
        let before = partial.as_ref().map_or(0, |partial| partial.counters);
        let mut parts = Parts::new(printer, at, before);
        let record = monitor::decode_with(&bytes, &mut |part| parts.show(part))
            .map_err(|malformed| wrong(at, malformed))?;
        if let Some(partial) = &partial
            && !record
                .counters
                .is_some_and(|next| partial.record.goes_on_in(&next))
        {
            return Err(partial.alone());
        }
        partial = record
            .counters
            .filter(|record| record.is_partial)
            .map(|record| Partial {
                base: at,
                record: Decoded {
                    data: record.data,
                    active: record.active,
                    is_partial: true,
                    counters: Counters::new(&[]),
                },
                counters: before + record.counters.len(),
            });
        at += bytes.len() as u64;
    }
    Ok(())
}
