//! Sample-data blocks, as .SMP files and the raw files of a run have them.

use std::io::Read;

use anyhow::Result;
use millimeter::{
    arch::tod::UNITS_PER_MICROSECOND,
    cpumf::{
        model::MODELS,
        sampling::block::{BASIC_FORMAT, BasicEntry, Trailer},
    },
    record::{Malformed, Problem},
};
use zerocopy::FromBytes;

use super::{
    fill,
    parts::{hexadecimal, moment},
    print::{Printer, Shown, Value},
    wrong,
};

/// What is wrong in a block, with its offset there.
const fn malformed(offset: usize, field: &'static str, problem: Problem) -> Malformed {
    Malformed {
        offset,
        field,
        problem,
    }
}

/// Prints blocks of `length` bytes.
pub fn print(file: &mut dyn Read, length: usize, printer: &mut Printer<'_>) -> Result<()> {
    let (mut base, mut block) = (0, Vec::new());
    // Only a block that became full says how large its entries are.
    let mut diagnostic_size = None;
    while !printer.is_stuck() {
        block.clear();
        let read = fill(file, &mut block, length)?;
        if read == 0 {
            break;
        }
        if read < length {
            let (says, there) = (length as u64, read as u64);
            let problem = Problem::Truncated { says, there };
            return Err(wrong(base, malformed(0, "sample-data block", problem)));
        }
        let (entries, trailer) = block.split_at(length - size_of::<Trailer>());
        if let Ok(trailer) = Trailer::read_from_bytes(trailer) {
            print_block(base, entries, &trailer, &mut diagnostic_size, printer)
                .map_err(|malformed| wrong(base, malformed))?;
        }
        base += length as u64;
    }
    Ok(())
}

fn print_block(
    base: u64,
    entries: &[u8],
    trailer: &Trailer,
    diagnostic_size: &mut Option<usize>,
    printer: &mut Printer<'_>,
) -> Result<(), Malformed> {
    let (basic_size, size) = (trailer.bsdes.get(), usize::from(trailer.dsdes.get()));
    if trailer.full() && usize::from(basic_size) != size_of::<BasicEntry>() {
        let (found, expected) = (
            basic_size.into(),
            "32, the size of a basic-sampling data entry",
        );
        let problem = Problem::Value { found, expected };
        return Err(malformed(entries.len() + 4, "BSDES", problem));
    }
    if size >= 4 {
        *diagnostic_size = Some(size);
    }
    let mut at = 0;
    while let Some(rest) = entries.get(at..)
        && let Some(format) = rest.first_chunk().copied().map(u16::from_be_bytes)
    {
        let size = match format {
            // Not yet used; nor is anything behind it.
            0 => break,
            BASIC_FORMAT => size_of::<BasicEntry>(),
            0x8001..=0x80FF => diagnostic_size.unwrap_or_else(|| size_of_model(format)),
            other => {
                let found = other.into();
                let expected = "0, 1, or that of a diagnostic-sampling data entry";
                let problem = Problem::Value { found, expected };
                return Err(malformed(at, "data-entry-format code", problem));
            }
        };
        // What is left of a block that an entry does not divide is not used.
        let Some(entry) = rest.get(..size) else {
            break;
        };
        let offset = base + at as u64;
        match BasicEntry::ref_from_bytes(entry) {
            Ok(entry) if format == BASIC_FORMAT => basic(offset, entry, printer),
            _ => diagnostic(offset, format, entry, printer),
        }
        at += size;
    }
    print_trailer(base + entries.len() as u64, trailer, printer);
    Ok(())
}

/// The size of the diagnostic-sampling data entries of the model whose code this is. With a code that no
/// model has there is no telling, and the entry is taken for the rest of the block.
fn size_of_model(format: u16) -> usize {
    let is_it = MODELS
        .iter()
        .find(|model| model.diagnostic_format() == format);
    is_it.map_or(usize::MAX, |model| model.dsdes.into())
}

/// A basic-sampling data entry.
fn basic(at: u64, entry: &BasicEntry, printer: &mut Printer<'_>) {
    printer.record(at, "basic-sampling data entry");
    let space = match (entry.dat(), entry.address_space()) {
        (false, _) => "",
        (true, 0) => "primary space",
        (true, 1) => "access registers",
        (true, 2) => "secondary space",
        (true, _) => "home space",
    };
    let level = match entry.configuration_level() {
        1 => "logical partition",
        2 => "virtual machine",
        _ => "",
    };
    let flag = |bit: bool| Value::Number(bit.into());
    let number = |value: u8| Value::Number(value.into());
    let long = |value: u64| Value::Hexadecimal(value, 16);
    let fields = [
        (
            "data-entry-format code",
            0,
            Value::Hexadecimal(entry.format().into(), 4),
            "",
        ),
        (
            "U",
            2,
            number(entry.unique_instructions()),
            "unique instructions",
        ),
        ("T", 3, flag(entry.dat()), "DAT mode"),
        ("W", 3, flag(entry.wait()), "wait state"),
        ("P", 3, flag(entry.problem_state()), "problem state"),
        ("AS", 3, number(entry.address_space()), space),
        ("I", 3, flag(entry.invalid()), "invalid"),
        ("CL", 4, number(entry.configuration_level()), level),
        ("H", 4, flag(entry.host_indicator()), "host indicator"),
        ("LS", 4, flag(entry.limited()), "limited sample"),
        (
            "primary ASN",
            6,
            Value::Hexadecimal(entry.primary_asn().into(), 4),
            "",
        ),
        (
            "instruction address",
            8,
            long(entry.instruction_address.get()),
            "",
        ),
        (
            "guest program parameter",
            16,
            long(entry.guest_program_parameter.get()),
            "",
        ),
        (
            "host program parameter",
            24,
            long(entry.host_program_parameter.get()),
            "",
        ),
    ];
    for (name, offset, value, meaning) in fields {
        printer.field(&Shown {
            offset: at + offset,
            name,
            value,
            meaning,
        });
    }
}

/// A diagnostic-sampling data entry: what it says is each model's own.
fn diagnostic(at: u64, format: u16, entry: &[u8], printer: &mut Printer<'_>) {
    printer.record(at, "diagnostic-sampling data entry");
    let invalid = entry.get(3).is_some_and(|byte| byte & 1 == 1);
    let model = entry.get(4..).unwrap_or_default();
    let fields = [
        (
            "data-entry-format code",
            0,
            Value::Hexadecimal(format.into(), 4),
            "",
        ),
        ("I", 3, Value::Number(invalid.into()), "invalid"),
        ("model-dependent", 4, Value::Text(hexadecimal(model)), ""),
    ];
    for (name, offset, value, meaning) in fields {
        printer.field(&Shown {
            offset: at + offset,
            name,
            value,
            meaning,
        });
    }
}

fn print_trailer(at: u64, trailer: &Trailer, printer: &mut Printer<'_>) {
    printer.record(at, "trailer entry");
    let (tod, meaning) = timestamp(trailer);
    let flag = |bit: bool| Value::Number(bit.into());
    let fields = [
        ("F", 0, flag(trailer.full()), "block full"),
        ("A", 0, flag(trailer.alert_request()), "alert request"),
        (
            "T",
            0,
            flag(trailer.timestamp_extended()),
            "STORE CLOCK EXTENDED format",
        ),
        ("BSDES", 4, Value::Number(trailer.bsdes.get().into()), ""),
        ("DSDES", 6, Value::Number(trailer.dsdes.get().into()), ""),
        (
            "sample overflow count",
            8,
            Value::Number(trailer.overflow_count.get()),
            "",
        ),
        ("timestamp", 16, Value::Text(tod), &meaning[..]),
    ];
    for (name, offset, value, meaning) in fields {
        printer.field(&Shown {
            offset: at + offset,
            name,
            value,
            meaning,
        });
    }
}

/// The timestamp's digits, and the moment that it is.
fn timestamp(trailer: &Trailer) -> (String, String) {
    let bytes = &trailer.timestamp;
    let whole = u128::from_be_bytes(*bytes);
    // In STORE CLOCK EXTENDED format a byte comes first that counts epochs.
    let tod = match trailer.timestamp_extended() {
        true => (whole >> 56) as u64,
        false => (whole >> 64) as u64,
    };
    let is_set = tod >= UNITS_PER_MICROSECOND;
    (
        hexadecimal(bytes),
        if is_set { moment(tod) } else { String::new() },
    )
}
