//! SMF records, with and without block-descriptor words around them.

use std::io::Read;

use anyhow::Result;
use record::{Malformed, Problem, smf};

use super::{
    findings::Findings,
    parts::Parts,
    print::{Printer, Value},
};
use crate::formats::{smf::Reader, wrong};

/// Prints the records.
pub fn print(
    file: &mut dyn Read,
    blocks: bool,
    printer: &mut Printer<'_>,
    findings: &mut Findings,
) -> Result<()> {
    let mut reader = Reader::new(file, blocks);
    let mut bytes = Vec::new();
    while !printer.is_stuck() && reader.next(&mut bytes)? {
        let base = reader.at - bytes.len() as u64;
        if bytes.get(5) == Some(&smf::TYPE) {
            let subtype = bytes
                .get(22..24)
                .map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
            printer.record(base, &format!("SMF type 113 subtype {subtype}"));
            let mut parts = Parts::new(printer, findings, base, 0);
            // The next record can be found even then.
            if let Err(malformed) = smf::decode_with(&bytes, &mut |part| parts.show(part)) {
                findings.add(base, malformed);
            }
        } else {
            other(&bytes, base, printer)?;
        }
    }
    Ok(())
}

/// A record of another type: the fields that every SMF record has.
fn other(bytes: &[u8], base: u64, printer: &mut Printer<'_>) -> Result<()> {
    // A segment may be shorter than a header.
    if let Some(segment @ 1..) = bytes.get(2).copied() {
        let malformed = Malformed {
            offset: 2,
            field: "RDW",
            problem: Problem::Value {
                found: segment.into(),
                expected: "0: a record that is not spanned",
            },
        };
        return Err(wrong(base, malformed));
    }
    let [length, next, _, _, flags, record_type, ..] = *bytes else {
        let malformed = Malformed {
            offset: 0,
            field: "RDW",
            problem: Problem::Missing,
        };
        return Err(wrong(base, malformed));
    };
    printer.record(base, &format!("SMF type {record_type}, not described here"));
    let fields = [
        (
            "LEN",
            0,
            Value::Number(u16::from_be_bytes([length, next]).into()),
            "",
        ),
        ("FLG", 4, Value::Hexadecimal(flags.into(), 2), ""),
        ("RTY", 5, Value::Number(record_type.into()), ""),
    ];
    printer.fields(base, fields);
    Ok(())
}
