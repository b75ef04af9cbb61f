//! The messages of an image's log, as defmt writes them.
//!
//! A message is a symbol in the section `.defmt`. The symbol's name is a JSON object with level and text, its address is the
//! number of the message. A frame has this number, then the operands of the time and of the text, all with the least
//! significant byte first (wire format 4 of defmt). The image uses few kinds of operands, so only these are known: an image
//! with another one is refused when it is read, not when the message comes.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Context, Result, bail, ensure};
use object::{Object, ObjectSection, ObjectSymbol};
use serde_json::Value;

/// The wire format that is read here.
const VERSION: &str = "4";

/// How the frames are encoded.
const ENCODING: &str = "rzcobs";

/// The section of the messages.
const SECTION: &str = ".defmt";

/// How the names of levels begin in the symbols.
const TAG: &str = "defmt_";

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Operand(Kind, Form),
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An unsigned number of so many bytes.
    Number(usize),
    Text,
    Bytes,
}

/// How an operand is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    /// In hexadecimal digits, at least so many.
    Hexadecimal(usize),
    /// As seconds, if it is a number of microseconds.
    Seconds,
}

/// A message of the image.
#[derive(Clone, Debug)]
struct Entry {
    level: String,
    parts: Vec<Part>,
}

/// The messages of an image.
#[derive(Clone, Debug, Default)]
pub struct Table {
    time: Vec<Part>,
    entries: BTreeMap<u64, Entry>,
}

/// A message as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// When: what stands before the level.
    pub time: String,
    /// The level: `info`, `warn`, `error` and so on.
    pub level: String,
    /// The text.
    pub text: String,
}

impl Table {
    /// The messages of an ELF file; `None` if it has none.
    pub fn parse(elf: &[u8]) -> Result<Option<Self>> {
        let elf = object::File::parse(elf)?;
        let Some(section) = elf.section_by_name(SECTION) else {
            return Ok(None);
        };
        let mut table = Self::default();
        let (mut version, mut encoding) = (None, None);
        for symbol in elf.symbols() {
            let name = symbol.name().unwrap_or_default();
            let plain = name.trim_matches('"');
            if let Some(found) = plain.strip_prefix("_defmt_version_ = ") {
                version = Some(found.to_owned());
            } else if let Some(found) = plain.strip_prefix("_defmt_encoding_ = ") {
                encoding = Some(found.to_owned());
            } else if symbol.section_index() == Some(section.index()) && name.starts_with('{') {
                table.add(symbol.address(), name)?;
            }
        }
        let known = (version.as_deref(), encoding.as_deref());
        ensure!(
            known == (Some(VERSION), Some(ENCODING)),
            "the log is not of defmt's format {VERSION} in {ENCODING}, but {known:?}"
        );
        Ok(Some(table))
    }

    fn add(&mut self, number: u64, symbol: &str) -> Result<()> {
        let symbol: Value = serde_json::from_str(symbol).context("a message has no JSON")?;
        let field = |name: &str| symbol[name].as_str().unwrap_or_default();
        let text = field("data");
        match field("tag").strip_prefix(TAG) {
            Some("timestamp") => self.time = parts(text)?,
            Some(level @ ("trace" | "debug" | "info" | "warn" | "error")) => {
                let entry = Entry {
                    level: level.to_owned(),
                    parts: parts(text)?,
                };
                self.entries.insert(number, entry);
            }
            // Texts of types that the image does not show.
            _ => {}
        }
        Ok(())
    }

    /// The message of a frame with its encoding; `None` if it is not one.
    pub fn decode(&self, frame: &[u8]) -> Option<Frame> {
        let frame = decoded(frame)?;
        let mut operands = &frame[..];
        let number = number(&mut operands, 2)?;
        let time = shown(&self.time, &mut operands)?;
        let Entry { level, parts } = self.entries.get(&number)?;
        Some(Frame {
            time,
            level: level.clone(),
            text: shown(parts, &mut operands)?,
        })
    }
}

/// Takes a text apart.
fn parts(text: &str) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            plain.push_str(brace);
            rest = after;
            continue;
        }
        let (operand, after) = rest
            .split_once('}')
            .filter(|_| brace == "{")
            .with_context(|| format!("a brace of `{text}` has no other"))?;
        rest = after;
        parts.push(Part::Text(std::mem::take(&mut plain)));
        parts.push(self::operand(operand).with_context(|| format!("in `{text}`"))?);
    }
    plain.push_str(rest);
    parts.push(Part::Text(plain));
    Ok(parts)
}

/// What is between the braces of an operand.
fn operand(text: &str) -> Result<Part> {
    let (kind, form) = text.split_once(':').unwrap_or((text, ""));
    let kind = match kind {
        "=u8" => Kind::Number(1),
        "=u16" => Kind::Number(2),
        "=u32" => Kind::Number(4),
        "=u64" => Kind::Number(8),
        "=str" => Kind::Text,
        "=[u8]" => Kind::Bytes,
        _ => bail!("the log's reader does not know operands of the kind `{kind}`"),
    };
    let form = match (form, form.strip_suffix('x'), kind) {
        ("", ..) => Form::Plain,
        ("us", _, Kind::Number(_)) => Form::Seconds,
        (_, Some(""), Kind::Number(_) | Kind::Bytes) => Form::Hexadecimal(0),
        (_, Some(digits), Kind::Number(_) | Kind::Bytes) if digits.starts_with('0') => {
            Form::Hexadecimal(digits.parse()?)
        }
        _ => bail!("the log's reader does not know the form `{form}` of `{kind:?}`"),
    };
    Ok(Part::Operand(kind, form))
}

/// A text with its operands, which are taken from the front.
fn shown(parts: &[Part], operands: &mut &[u8]) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Text(plain) => text.push_str(plain),
            Part::Operand(Kind::Number(length), form) => {
                show(number(operands, *length)?, *form, &mut text);
            }
            Part::Operand(Kind::Text, _) => {
                text.push_str(&String::from_utf8_lossy(bytes(operands)?));
            }
            Part::Operand(Kind::Bytes, form) => {
                text.push('[');
                for (place, byte) in bytes(operands)?.iter().enumerate() {
                    text.push_str(if place == 0 { "" } else { ", " });
                    show(u64::from(*byte), *form, &mut text);
                }
                text.push(']');
            }
        }
    }
    Some(text)
}

fn show(number: u64, form: Form, text: &mut String) {
    // A string takes everything.
    let _ = match form {
        Form::Plain => write!(text, "{number}"),
        Form::Hexadecimal(digits) => write!(text, "{number:0digits$x}"),
        Form::Seconds => write!(text, "{}.{:06}", number / 1_000_000, number % 1_000_000),
    };
}

fn number(operands: &mut &[u8], length: usize) -> Option<u64> {
    let (bytes, rest) = operands.split_at_checked(length)?;
    *operands = rest;
    let number = bytes.iter().rev();
    Some(number.fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn bytes<'b>(operands: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = usize::try_from(number(operands, 4)?).ok()?;
    let (bytes, rest) = operands.split_at_checked(length)?;
    *operands = rest;
    Some(bytes)
}

/// The bytes of a frame, whose encoding (reverse zero-compressing COBS) has no zeros. It is read from its end.
fn decoded(frame: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    let mut bytes = frame.iter().rev().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            0 => return None,
            // Which of the next seven bytes are zero.
            0x01..=0x7F => {
                for place in (0..7).rev() {
                    let is_zero = byte & 1 << place != 0;
                    decoded.push(if is_zero { 0 } else { bytes.next()? });
                }
            }
            // A zero, and how many bytes that are none.
            0x80..=0xFE => {
                decoded.push(0);
                for _ in 0..(byte & 0x7F) + 7 {
                    decoded.push(bytes.next()?);
                }
            }
            0xFF => {
                for _ in 0..134 {
                    decoded.push(bytes.next()?);
                }
            }
        }
    }
    decoded.reverse();
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operands with the texts of this message.
    fn frame(operands: &[u8]) -> Vec<u8> {
        // Seven bytes at a time, each as it is or as a bit.
        let mut padded = operands.to_vec();
        padded.resize(operands.len().next_multiple_of(7), 0);
        let mut frame = Vec::new();
        for group in padded.chunks(7) {
            let others = group.iter().filter(|byte| **byte != 0);
            frame.extend(others);
            let places = group.iter().enumerate();
            frame.push(places.fold(0, |bits, (place, byte)| {
                bits | u8::from(*byte == 0) << place
            }));
        }
        frame
    }

    fn table(text: &str) -> Table {
        let mut table = Table::default();
        let symbol =
            |tag: &str, data: &str| format!(r#"{{"package":"m","tag":"{tag}","data":"{data}"}}"#);
        table
            .add(9, &symbol("defmt_timestamp", "{=u64:us}"))
            .unwrap();
        table.add(0x102, &symbol("defmt_warn", text)).unwrap();
        table.add(3, &symbol("defmt_prim", "{=?}")).unwrap();
        table
    }

    #[test]
    fn a_frame_has_its_number_its_time_and_its_operands() {
        let table = table("at {=u64:016x}: {=[u8]:02x} ({=str}), {=u16} of {{}}");
        let mut operands = vec![2, 1];
        operands.extend(1_000_042_u64.to_le_bytes());
        operands.extend(0x1_0000_u64.to_le_bytes());
        operands.extend([2, 0, 0, 0, 0xB2, 0x00]);
        operands.extend([3, 0, 0, 0, b'S', b'S', b'K', 0x39, 0x30]);
        let expected = Frame {
            time: "1.000042".to_owned(),
            level: "warn".to_owned(),
            text: "at 0000000000010000: [b2, 00] (SSK), 12345 of {}".to_owned(),
        };
        assert_eq!(table.decode(&frame(&operands)), Some(expected));
        for length in 0..operands.len() - 7 {
            assert_eq!(table.decode(&frame(&operands[..length])), None, "{length}");
        }
    }

    #[test]
    fn a_frame_that_is_damaged_or_of_another_image_is_no_message() {
        let table = table("nothing");
        assert!(
            table
                .decode(&frame(&[2, 1, 0, 0, 0, 0, 0, 0, 0, 0]))
                .is_some()
        );
        assert_eq!(table.decode(&frame(&[4, 1, 0, 0, 0, 0, 0, 0, 0, 0])), None);
        for bytes in [&b""[..], &[0x01], &[0xFF, 0xFF], &[3, 0, 7]] {
            assert_eq!(table.decode(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn long_runs_without_zeros_are_decoded() {
        let run: Vec<u8> = (1..=134).collect();
        assert_eq!(decoded(&[&run[..], &[0xFF]].concat()), Some(run.clone()));
        let with_zero = decoded(&[&run[..8], &[0x81]].concat()).unwrap();
        assert_eq!(with_zero, [&run[..8], &[0]].concat());
    }

    #[test]
    fn operands_that_the_reader_does_not_know_are_refused_at_once() {
        for text in [
            "{}",
            "{=i8}",
            "{=u64:b}",
            "{=str:x}",
            "{=u64:tus}",
            "{=u64",
            "}",
        ] {
            assert!(parts(text).is_err(), "{text}");
        }
    }
}
