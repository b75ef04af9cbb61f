//! The three forms in which a dump is printed: text, one JSON object a record, and CSV.
//!
//! Fields are written as they are found; only the writer's buffer is in storage, however long the file is.

use std::{fmt::Display, io};

use anyhow::{Context, Result};

use crate::formats::csv::cell;

/// What a field contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number, shown in decimal.
    Number(u64),
    /// A number, shown with this many hexadecimal digits.
    Hexadecimal(u64, usize),
    /// Anything else.
    Text(String),
}

impl Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Hexadecimal(number, digits) => write!(f, "{number:0digits$X}"),
            Self::Text(text) => write!(f, "{text}"),
        }
    }
}

/// A field as it is printed.
#[derive(Clone, Debug)]
pub struct Shown<'a> {
    /// Where it is in the file, in bytes.
    pub offset: u64,
    /// Its name in the manual.
    pub name: &'a str,
    /// What it contains.
    pub value: Value,
    /// Its meaning; may be empty.
    pub meaning: &'a str,
}

/// The form of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// A JSON object for each record, on a line of its own.
    Json,
    /// A line for each field.
    Csv,
}

/// How a file is dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// The form of the dump.
    pub form: Form,
    /// The samples are those of z/OS: their program parameters have fields.
    pub zos: bool,
}

impl From<Form> for Manner {
    fn from(form: Form) -> Self {
        Self { form, zos: false }
    }
}

/// Prints records and their fields.
pub struct Printer<'w> {
    out: &'w mut dyn io::Write,
    form: Form,
    /// Records begun.
    records: u64,
    kind: String,
    section: &'static str,
    /// Whether a record is open, and whether it has a field yet.
    open: bool,
    fields: bool,
    /// The first error of writing.
    failed: Option<io::Error>,
}

impl<'w> Printer<'w> {
    /// Begins to print.
    pub fn new(out: &'w mut dyn io::Write, form: Form) -> Self {
        let mut printer = Self {
            out,
            form,
            records: 0,
            kind: String::new(),
            section: "",
            open: false,
            fields: false,
            failed: None,
        };
        if form == Form::Csv {
            printer.put(format_args!(
                "record,kind,section,offset,name,value,meaning\n"
            ));
        }
        printer
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        if self.failed.is_none() {
            self.failed = self.out.write_fmt(text).err();
        }
    }

    /// Begins a record.
    pub fn record(&mut self, offset: u64, kind: &str) {
        self.close();
        self.records += 1;
        kind.clone_into(&mut self.kind);
        self.section = "";
        self.open = true;
        self.fields = false;
        match self.form {
            Form::Text if self.records > 1 => self.put(format_args!("\n{kind}, offset {offset}\n")),
            Form::Text => self.put(format_args!("{kind}, offset {offset}\n")),
            Form::Json => {
                let kind = quoted(kind);
                self.put(format_args!(
                    "{{\"kind\":{kind},\"offset\":{offset},\"fields\":["
                ));
            }
            Form::Csv => {}
        }
    }

    /// Begins a section of the record.
    pub fn section(&mut self, title: &'static str) {
        self.section = title;
        if self.form == Form::Text {
            self.put(format_args!("  {title}\n"));
        }
    }

    /// Prints a field.
    pub fn field(&mut self, shown: &Shown<'_>) {
        let Shown {
            offset,
            name,
            value,
            meaning,
        } = shown;
        match self.form {
            Form::Text => {
                let gap = if meaning.is_empty() { "" } else { "  " };
                self.put(format_args!("    {name:<24} {value}{gap}{meaning}\n"));
            }
            Form::Json => {
                let comma = if self.fields { "," } else { "" };
                let (section, name) = (quoted(self.section), quoted(name));
                let value = match value {
                    Value::Number(number) => number.to_string(),
                    other => quoted(&other.to_string()),
                };
                let head = format_args!(
                    "{comma}{{\"section\":{section},\"offset\":{offset},\"name\":{name},\"value\":{value}"
                );
                self.put(head);
                if !meaning.is_empty() {
                    let meaning = quoted(meaning);
                    self.put(format_args!(",\"meaning\":{meaning}"));
                }
                self.put(format_args!("}}"));
            }
            Form::Csv => {
                let (record, kind) = (self.records, cell(&self.kind));
                let (section, name) = (cell(self.section), cell(name));
                let (value, meaning) = (cell(&value.to_string()), cell(meaning));
                self.put(format_args!(
                    "{record},{kind},{section},{offset},{name},{value},{meaning}\n"
                ));
            }
        }
        self.fields = true;
    }

    /// Prints fields, each with its name, its offset from `at`, its value and its meaning.
    pub fn fields<'f>(
        &mut self,
        at: u64,
        fields: impl IntoIterator<Item = (&'f str, u64, Value, &'f str)>,
    ) {
        for (name, offset, value, meaning) in fields {
            self.field(&Shown {
                offset: at + offset,
                name,
                value,
                meaning,
            });
        }
    }

    fn close(&mut self) {
        if self.open && self.form == Form::Json {
            self.put(format_args!("]}}\n"));
        }
        self.open = false;
    }

    /// Whether the output can no longer be written.
    pub const fn is_stuck(&self) -> bool {
        self.failed.is_some()
    }

    /// Ends the last record. A reader that has gone away, as `head` does, is not an error.
    pub fn finish(mut self) -> Result<()> {
        self.close();
        if self.failed.is_none() {
            self.failed = self.out.flush().err();
        }
        match self.failed {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(error).context("cannot write the dump")
            }
            _ => Ok(()),
        }
    }
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(form: Form) -> String {
        let mut out = Vec::new();
        let mut printer = Printer::new(&mut out, form);
        for offset in [0, 64] {
            printer.record(offset, "kind, \"one\"");
            printer.section("head");
            printer.field(&Shown {
                offset,
                name: "LEN",
                value: Value::Number(64),
                meaning: "",
            });
            printer.field(&Shown {
                offset: offset + 2,
                name: "FLG",
                value: Value::Hexadecimal(10, 4),
                meaning: "a, b",
            });
        }
        printer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_has_a_line_for_each_field() {
        let text = printed(Form::Text);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "kind, \"one\", offset 0");
        assert_eq!(lines[1..3], ["  head", "    LEN                      64"]);
        assert_eq!(lines[3], "    FLG                      000A  a, b");
        assert_eq!(lines[4..6], ["", "kind, \"one\", offset 64"]);
    }

    #[test]
    fn json_has_an_object_for_each_record() {
        let text = printed(Form::Json);
        let objects: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(
            objects[1],
            serde_json::json!({"kind": "kind, \"one\"", "offset": 64, "fields": [
                {"section": "head", "offset": 64, "name": "LEN", "value": 64},
                {"section": "head", "offset": 66, "name": "FLG", "value": "000A", "meaning": "a, b"},
            ]})
        );
    }

    #[test]
    fn csv_has_a_line_for_each_field_and_quotes_what_needs_it() {
        let text = printed(Form::Csv);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "record,kind,section,offset,name,value,meaning");
        assert_eq!(lines[2], "1,\"kind, \"\"one\"\"\",head,2,FLG,000A,\"a, b\"");
        assert_eq!(lines.len(), 5);
    }
}
