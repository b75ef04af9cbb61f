//! z/VM monitor records.

use std::io::Read;

use anyhow::Result;
use record::{
    Counters, Malformed, Problem,
    monitor::{self, Decoded},
};

use super::{findings::Findings, parts::Parts, print::Printer};
use crate::formats::{fill, wrong};

/// Bytes of a record's header.
const HEADER: usize = size_of::<monitor::Header>();

/// A record that said that the next one continues it.
struct Partial {
    /// Where it is in the file.
    base: u64,
    /// Its content without counters.
    record: Decoded<'static>,
}

impl Partial {
    /// The error that the next record does not continue this one.
    fn alone(&self, findings: &mut Findings) {
        let malformed = Malformed {
            offset: 27,
            field: "PRCMFC_P",
            problem: Problem::Form {
                expected: "followed by the record that goes on, if it is one",
            },
        };
        findings.add(self.base, malformed);
    }
}

/// Prints the records.
pub fn print(
    file: &mut dyn Read,
    printer: &mut Printer<'_>,
    findings: &mut Findings,
) -> Result<()> {
    let (mut at, mut bytes) = (0, Vec::new());
    let mut partial: Option<Partial> = None;
    // Counters of the CPU in the records before; `None` if some of them are missing.
    let mut before = Some(0);
    while !printer.is_stuck() {
        bytes.clear();
        let head = fill(file, &mut bytes, 4)?;
        if head == 0 {
            if let Some(partial) = partial {
                partial.alone(findings);
            }
            return Ok(());
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
        let mut parts = Parts::new(printer, findings, at, before.unwrap_or(0));
        let counters = match monitor::decode_with(&bytes, &mut |part| parts.show(part)) {
            Ok(record) => record.counters,
            // Its length is wrong.
            Err(malformed) if malformed.offset == 0 => return Err(wrong(at, malformed)),
            Err(malformed) => {
                findings.add(at, malformed);
                (partial, before) = (None, None);
                at += bytes.len() as u64;
                continue;
            }
        };
        if let Some(partial) = &partial
            && !counters.is_some_and(|next| partial.record.goes_on_in(&next))
        {
            partial.alone(findings);
            // The record may go on with another that is missing.
            before = None;
        } else if let Some(last) = counters.filter(|record| !record.is_partial)
            && let Some(before) = before
        {
            check_number(&last, before, at, findings);
        }
        let continued = counters.filter(|record| record.is_partial);
        before = match &continued {
            Some(record) => before.map(|before| before + record.counters.len()),
            None => Some(0),
        };
        partial = continued.map(|record| Partial {
            base: at,
            record: Decoded {
                data: record.data,
                active: record.active,
                is_partial: true,
                counters: Counters::new(&[]),
            },
        });
        at += bytes.len() as u64;
    }
    Ok(())
}

/// Compares the number of counters in all records of a CPU with its active sets. `before` of them came in the records
/// before the last, which is at `base`.
fn check_number(last: &Decoded<'_>, before: usize, base: u64, findings: &mut Findings) {
    let number = before + last.counters.len();
    if last.active_counters().is_none_or(|active| active == number) {
        return;
    }
    // Nothing tells which of them is wrong.
    let fields = [
        (
            24,
            "PRCMFC_CCFCMFAC",
            last.active.into(),
            "the sets whose counters PRCMFC_HWCLEN covers, in all records of the CPU",
        ),
        (
            58,
            "PRCMFC_HWCLEN",
            8 * last.counters.len() as u64,
            "8 for each counter of the sets in PRCMFC_CCFCMFAC, in all records of the CPU",
        ),
    ];
    for (offset, field, found, expected) in fields {
        let problem = Problem::Value { found, expected };
        findings.add(
            base,
            Malformed {
                offset,
                field,
                problem,
            },
        );
    }
}
