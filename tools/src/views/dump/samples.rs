//! Sample-data blocks, as .SMP files and the raw files of a run have them.

use std::io::Read;

use anyhow::{Context, Result};
use {
    arch::tod::UNITS_PER_MICROSECOND,
    cpumf::sampling::block::{BasicEntry, Trailer},
    record::{
        Malformed, Problem,
        smp::{Entry, Rules, Sizes},
        zos::{ProgramParameter, WorkUnit},
    },
};

use super::{
    findings::Findings,
    parts::{hexadecimal, moment},
    print::{Printer, Value},
};
use crate::formats::samples::Blocks;

/// Prints blocks of `length` bytes, of z/OS or of any program.
pub fn print(
    file: &mut dyn Read,
    (length, zos): (usize, bool),
    printer: &mut Printer<'_>,
    findings: &mut Findings,
) -> Result<()> {
    let mut blocks = Blocks::new(file, length);
    let (mut sizes, mut rules) = (Sizes::default(), Rules::default());
    while !printer.is_stuck()
        && let Some((base, bytes)) = blocks.next_block().context("cannot read on")?
    {
        let done = if bytes.len() == length {
            rules.begin(base as usize, length);
            print_block(
                (base, bytes, zos),
                (&mut sizes, &mut rules),
                printer,
                findings,
            )
        } else {
            let (says, there) = (length as u64, bytes.len() as u64);
            Err(Malformed {
                offset: 0,
                field: "sample-data block",
                problem: Problem::Truncated { says, there },
            })
        };
        // The next block can be found even then.
        if let Err(malformed) = done {
            findings.add(base, malformed);
        }
    }
    Ok(())
}

fn print_block(
    (base, bytes, zos): (u64, &[u8], bool),
    (sizes, rules): (&mut Sizes, &mut Rules),
    printer: &mut Printer<'_>,
    findings: &mut Findings,
) -> Result<(), Malformed> {
    let block = sizes.block(bytes)?;
    // The rules give offsets in the file.
    let mut found = |malformed| findings.add(0, malformed);
    for entry in block.entries() {
        let (at, entry) = entry?;
        rules.entry(at, &entry, &mut found);
        let offset = base + at as u64;
        match entry {
            Entry::Basic(entry) => {
                basic(offset, entry, printer);
                if zos && !entry.invalid() && !entry.limited() {
                    program_parameter(offset + 16, entry, printer);
                }
            }
            Entry::Diagnostic { format, bytes } => diagnostic(offset, format, bytes, printer),
        }
    }
    rules.unused(bytes, &mut found);
    rules.trailer(block.trailer_at(), block.trailer, &mut found);
    print_trailer(base + block.trailer_at() as u64, block.trailer, printer);
    Ok(())
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
    printer.fields(at, fields);
}

/// The fields of the guest program parameter, which is at `at`, as z/OS fills it.
fn program_parameter(at: u64, entry: &BasicEntry, printer: &mut Printer<'_>) {
    let parameter = ProgramParameter::of(entry.guest_program_parameter.get());
    printer.section("program parameter of z/OS");
    let flag = |bit: bool| Value::Number(bit.into());
    let short = |value: u16| Value::Hexadecimal(value.into(), 4);
    let common = [
        ("S", 4, flag(parameter.is_service()), "SRB mode"),
        ("home ASN", 4, short(parameter.home_asn), ""),
    ];
    match parameter.unit {
        WorkUnit::Task { tcb, token } => {
            let wait = flag(parameter.wait);
            let tcb = Value::Hexadecimal(tcb.into(), 6);
            let own = [
                ("W", 0, wait, "wait dispatched"),
                ("TCB address", 1, tcb, ""),
            ];
            printer.fields(at, own.into_iter().chain(common));
            printer.fields(at, [("task-ID token", 6, short(token), "")]);
        }
        WorkUnit::Service { web, partial } => {
            let web = Value::Hexadecimal(web.into(), 8);
            let own = [("WEB address", 0, web, "")];
            printer.fields(at, own.into_iter().chain(common));
            printer.fields(at, [("partial WEB address", 6, short(partial), "")]);
        }
    }
}

/// A diagnostic-sampling data entry: its content depends on the model.
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
    printer.fields(at, fields);
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
    printer.fields(at, fields);
}

/// The timestamp's digits, and its date and time.
fn timestamp(trailer: &Trailer) -> (String, String) {
    let bytes = &trailer.timestamp;
    let whole = u128::from_be_bytes(*bytes);
    // In STORE CLOCK EXTENDED format the first byte counts epochs.
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
