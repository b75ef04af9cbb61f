//! The text files: the counters of a run, and the map of storage.

use std::{collections::BTreeMap, io::BufRead};

use anyhow::Result;
use record::{
    cnt::{Line, Parser, Rules},
    map,
};

use super::{
    findings::Findings,
    print::{Printer, Value},
};
use crate::formats::{lines::Lines, recognise::Encoding, wrong};

/// Longest name of a counter that is kept.
const LONGEST_NAME: usize = 80;

/// Prints a .CNT file.
pub fn print_counters(
    file: &mut dyn BufRead,
    encoding: Encoding,
    printer: &mut Printer<'_>,
    findings: &mut Findings,
) -> Result<()> {
    let mut lines = Lines::new(file, encoding);
    let (mut parser, mut rules) = (Parser::new(), Rules::new());
    let mut names = BTreeMap::new();
    let mut software = false;
    let mut at = 0;
    while !printer.is_stuck()
        && let Some(line) = lines.next()?
    {
        let blanks = line.iter().take_while(|byte| **byte == b' ').count();
        let line = parser
            .line(line)
            .map_err(|malformed| wrong(at, malformed))?;
        // The rules give offsets in the file.
        let mut found = |malformed| findings.add(0, malformed);
        rules.line(at as usize + blanks, &line, &mut found);
        match line {
            Line::Identifier(number, name) => {
                let name = name.chars().take(LONGEST_NAME).collect::<String>();
                names.insert(number, name);
            }
            Line::Cpu { software: of, .. } => software = of,
            _ => {}
        }
        let names = if software { None } else { Some(&names) };
        print_line(at, &line, names, printer);
        at = lines.next;
    }
    if !printer.is_stuck() {
        rules.end(at as usize, &mut |malformed| findings.add(0, malformed));
    }
    Ok(())
}

fn print_line(
    at: u64,
    line: &Line<'_>,
    names: Option<&BTreeMap<u16, String>>,
    printer: &mut Printer<'_>,
) {
    let text = |text: &str| Value::Text(text.to_owned());
    let answer = |yes: bool| text(if yes { "YES" } else { "NO" });
    let mut show = |kind: &str, fields: &[(&str, Value, &str)]| {
        printer.record(at, kind);
        let fields = fields.iter();
        printer.fields(
            at,
            fields.map(|(name, value, meaning)| (*name, 0, value.clone(), *meaning)),
        );
    };
    let heading = "HIS019I heading";
    match line {
        Line::Heading(version) => {
            show(
                heading,
                &[("VERSION", Value::Number((*version).into()), "")],
            );
        }
        Line::FileName(name) => show(heading, &[("FILE NAME", text(name), "")]),
        Line::Command(command) => show(heading, &[("COMMAND", text(command), "")]),
        Line::SampleLoss(loss) => {
            let overflow = Value::Number(loss.overflow);
            let fields = [
                ("LOSS OF SAMPLE DATA ALERT", answer(loss.alert), ""),
                ("SAMPLE BUFFER OVERFLOW COUNT", overflow, ""),
            ];
            show(heading, &fields);
        }
        Line::CounterLoss(lost) => {
            show(
                heading,
                &[("LOSS OF COUNTER DATA ALERT", answer(*lost), "")],
            );
        }
        Line::StateChange(change) => show(heading, &[("STATE CHANGE", answer(*change), "")]),
        Line::Model(model, code) => {
            let fields = [
                ("MODEL", text(model), ""),
                ("SEQCODE", text(code.unwrap_or_default()), ""),
            ];
            show(heading, &fields[..1 + usize::from(code.is_some())]);
        }
        Line::Versions([first, second]) => {
            let fields = [
                (
                    "COUNTER VERSION NUMBER 1",
                    Value::Number((*first).into()),
                    "",
                ),
                (
                    "COUNTER VERSION NUMBER 2",
                    Value::Number((*second).into()),
                    "",
                ),
            ];
            show(heading, &fields);
        }
        Line::Set(set) => {
            let name = set.name().map_or(set.0.to_string(), str::to_owned);
            show("counter set", &[("COUNTER SET", text(&name), "")]);
        }
        Line::Identifiers | Line::Blank => {}
        Line::NoIdentifiers => {
            let none = "SOFTWARE COUNTER INFORMATION NOT AVAILABLE";
            show("counter set", &[("COUNTER IDENTIFIERS", text(none), "")]);
        }
        Line::Identifier(number, name) => {
            let number = Value::Number((*number).into());
            show(
                "counter identifier",
                &[("COUNTER IDENTIFIER", number, name)],
            );
        }
        Line::Start(time, tod) => {
            let tod = Value::Hexadecimal(*tod, 16);
            show(
                "interval",
                &[("START TIME", text(time), ""), ("START TOD", tod, "")],
            );
        }
        Line::End(None) => show("interval", &[("END TIME", text("NOT AVAILABLE"), "")]),
        Line::End(Some((time, tod))) => {
            let tod = Value::Hexadecimal(*tod, 16);
            show(
                "interval",
                &[("END TIME", text(time), ""), ("END TOD", tod, "")],
            );
        }
        Line::Cpu {
            cpu,
            speed,
            software,
        } => {
            let kind = match software {
                true => "EVENT COUNTERS",
                false => "COUNTER VALUES",
            };
            let fields = [
                ("CPU", Value::Hexadecimal((*cpu).into(), 2), ""),
                (
                    "CPU SPEED",
                    Value::Number((*speed).into()),
                    "cycles per microsecond",
                ),
            ];
            show(kind, &fields);
        }
        Line::Values {
            first,
            count,
            values,
        } => {
            let numbered = (*first..=u16::MAX).zip(values).take(*count);
            let fields: Vec<(String, Value, &str)> = numbered
                .map(|(number, value)| {
                    let name = names.and_then(|names| names.get(&number));
                    let meaning = name.map_or("", String::as_str);
                    let value = Value::Hexadecimal(*value, 16);
                    (format!("counter {number}"), value, meaning)
                })
                .collect();
            let fields: Vec<(&str, Value, &str)> = fields
                .iter()
                .map(|(name, value, meaning)| (&name[..], value.clone(), *meaning))
                .collect();
            show("counters", &fields);
        }
    }
}

/// Prints a .MAP file.
pub fn print_map(
    file: &mut dyn BufRead,
    encoding: Encoding,
    printer: &mut Printer<'_>,
) -> Result<()> {
    let mut lines = Lines::new(file, encoding);
    let mut at = 0;
    while !printer.is_stuck()
        && let Some(line) = lines.next()?
    {
        let record = map::Record::parse(line).map_err(|malformed| wrong(at, malformed))?;
        printer.record(at, "map record");
        let [kind, area, asid, name, start, end, further] = map::FIELDS;
        let letter = char::from(record.kind.letter()).to_string();
        let text = |text: &str| (!text.trim().is_empty()).then(|| Value::Text(text.to_owned()));
        let address = |address: Option<u64>| address.map(|address| Value::Hexadecimal(address, 16));
        let fields = [
            (kind, 0, Some(Value::Text(letter)), record.kind.name()),
            (area, 1, text(&record.area.to_string()), ""),
            (asid, 2, text(record.asid_or_type), ""),
            (name, 6, text(record.name), ""),
            (start, 14, address(record.start), ""),
            (end, 30, address(record.end), ""),
            (further, 46, text(record.further), ""),
        ];
        // Fields that a record does not have are not shown.
        let there = fields
            .into_iter()
            .filter_map(|(name, column, value, meaning)| {
                value.map(|value| (name, column, value, meaning))
            });
        printer.fields(at, there);
        at = lines.next;
    }
    Ok(())
}
