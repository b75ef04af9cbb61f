//! The parts of a binary record, field by field, with the names of counters.

use std::fmt::Write as _;

use {
    cpumf::model::{MODELS, Model},
    record::{
        Counters, Moment, SetType, ebcdic,
        layout::{Field, Form, Part},
    },
};

use super::{
    findings::Findings,
    print::{Printer, Shown, Value},
};
use crate::formats::counters::counter_name;

/// Prints parts as a decoder finds them.
pub struct Parts<'p, 'w> {
    printer: &'p mut Printer<'w>,
    findings: &'p mut Findings,
    /// Where the record begins in the file.
    base: u64,
    /// Counter first and second version number, once the decoder has found them.
    versions: [Option<u64>; 2],
    /// The sets, in order, of a record that does not tell their counters apart.
    sets: Vec<SetType>,
    /// Number of their counters in the records before.
    before: usize,
}

/// Fields that hold a counter version number, and which of the two it is.
const VERSIONS: [(&str, usize); 6] = [
    ("SMF113_1_CtrVersion1", 0),
    ("SMF113_1_CtrVersion2", 1),
    ("SMF113_2_CTRVN1", 0),
    ("SMF113_2_CTRVN2", 1),
    ("PRCMFC_CFVN", 0),
    ("PRCMFC_CSVN", 1),
];

impl<'p, 'w> Parts<'p, 'w> {
    /// For a record that begins at `base`. `before` counters of its sets came in records before.
    pub fn new(
        printer: &'p mut Printer<'w>,
        findings: &'p mut Findings,
        base: u64,
        before: usize,
    ) -> Self {
        Self {
            printer,
            findings,
            base,
            versions: [None; 2],
            sets: Vec::new(),
            before,
        }
    }

    /// Prints a part.
    pub fn show(&mut self, part: Part<'_>) {
        part.check(&mut |malformed| self.findings.add(self.base, malformed));
        match part {
            Part::Section {
                title,
                at,
                bytes,
                fields,
            } => {
                self.printer.section(title);
                for field in fields {
                    // A shorter section has no more fields.
                    let Some(bytes) = bytes.get(field.offset..field.offset + field.length) else {
                        break;
                    };
                    self.field(field, at + field.offset, bytes);
                }
            }
            Part::Counters {
                name,
                at,
                set,
                counters,
            } => self.counters(name, at, set.map(SetType), counters),
            Part::Wrong(_) => {}
        }
    }

    fn field(&mut self, field: &Field, at: usize, bytes: &[u8]) {
        let (value, meaning) = form(field, bytes);
        let is_nothing =
            matches!(field.form, Form::Reserved) && bytes.iter().all(|byte| *byte == 0);
        if is_nothing {
            return;
        }
        if let Some((_, which)) = VERSIONS.iter().find(|(name, _)| *name == field.name) {
            self.versions[*which] = number(bytes);
        }
        if field.name == "PRCMFC_CCFCMFAC" {
            let order = [
                (SetType::BASIC, 2),
                (SetType::PROBLEM_STATE, 4),
                (SetType::CRYPTO_ACTIVITY, 8),
                (SetType::EXTENDED, 1),
            ];
            let active = number(bytes).unwrap_or(0);
            let sets = order.into_iter().filter(|(_, bit)| active & bit != 0);
            self.sets = sets.map(|(set, _)| set).collect();
        }
        self.printer.field(&Shown {
            offset: self.base + at as u64,
            name: field.name,
            value,
            meaning: &meaning,
        });
    }

    /// The model that has these counters: the first version number decides the problem-state set, the second the other
    /// sets.
    fn model(&self) -> Option<Model> {
        let [Some(cfvn), Some(csvn)] = self.versions else {
            return None;
        };
        let found = MODELS.iter().find(|model| u64::from(model.csvn) == csvn)?;
        let cfvn = u16::try_from(cfvn).ok()?;
        Some(Model { cfvn, ..*found })
    }

    fn counters(
        &mut self,
        name: &'static str,
        at: usize,
        set: Option<SetType>,
        counters: Counters<'_>,
    ) {
        self.printer.section("counters");
        let model = self.model();
        let digits = if counters.is_long() { 16 } else { 8 };
        for (index, value) in counters.iter().enumerate() {
            let meaning = match set {
                Some(set) => meaning(model.as_ref(), set, index),
                None => self.anonymous(model.as_ref(), self.before + index),
            };
            self.printer.field(&Shown {
                offset: self.base + (at + index * counters.stride()) as u64,
                name,
                value: Value::Hexadecimal(value, digits),
                meaning: &meaning,
            });
        }
    }

    /// The meaning of counter `index` of several consecutive sets.
    fn anonymous(&self, model: Option<&Model>, index: usize) -> String {
        let mut index = index;
        if let Some(model) = model {
            for set in &self.sets {
                let first = set.first_counter().unwrap_or(0);
                let ranges = cpumf::CounterSet::ALL.map(|set| model.range(set));
                let range = ranges.iter().find(|range| range.first == first);
                let count = range.map_or(0, |range| usize::from(range.count));
                if index < count {
                    return meaning(Some(model), *set, index);
                }
                index -= count;
            }
        }
        format!("counter {index} of the active sets")
    }
}

/// The meaning of counter `index` of a set.
fn meaning(model: Option<&Model>, set: SetType, index: usize) -> String {
    let Some(name) = set.name() else {
        return format!("set {}, counter {index}", set.0);
    };
    let first = usize::from(set.first_counter().unwrap_or(0));
    let number = u16::try_from(first + index).unwrap_or(u16::MAX);
    match model {
        Some(model) if set != SetType::ZOS => {
            format!("{name} {number}: {}", counter_name(model, number))
        }
        _ => format!("{name} {number}"),
    }
}

/// A field's bytes as a number, if they are few enough.
fn number(bytes: &[u8]) -> Option<u64> {
    let fits = bytes.len() <= 8;
    fits.then(|| {
        bytes
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    })
}

/// Bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

/// A TOD-clock value as a date and a time.
pub fn moment(tod: u64) -> String {
    Moment::from_tod(tod).to_string()
}

/// What a field contains and means.
fn form(field: &Field, bytes: &[u8]) -> (Value, String) {
    if let Form::Mask = field.form {
        let ones: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
        return (Value::Text(hexadecimal(bytes)), format!("{ones} counters"));
    }
    let Some(number) = number(bytes).filter(|_| !matches!(field.form, Form::Text)) else {
        return (Value::Text(ebcdic::Shown(bytes).to_string()), String::new());
    };
    let digits = 2 * bytes.len();
    let bits = 8 * bytes.len() as u32;
    let code = Value::Hexadecimal(number, digits);
    match field.form {
        Form::Number => (Value::Number(number), String::new()),
        Form::Hexadecimal | Form::Mask | Form::Text | Form::Reserved => (code, String::new()),
        Form::Bits(names) => {
            let is_one = |bit: u32| bit < bits && number >> (bits - 1 - bit) & 1 == 1;
            let ones = names.iter().filter(|(bit, _)| is_one(*bit));
            let ones: Vec<&str> = ones.map(|(_, name)| *name).collect();
            (code, ones.join(", "))
        }
        Form::Code(names) => {
            let found = names.iter().find(|(code, _)| *code == number);
            let name = found.map_or("", |(_, name)| *name);
            (Value::Number(number), name.to_owned())
        }
        Form::Tod => (code, moment(number)),
        Form::Hundredths => {
            let (seconds, rest) = (number / 100, number % 100);
            let (hour, minute) = (seconds / 3600, seconds / 60 % 60);
            let text = format!("{hour:02}:{minute:02}:{:02}.{rest:02}", seconds % 60);
            (Value::Number(number), text)
        }
        Form::PackedDate => {
            let date = u32::try_from(number).ok().and_then(Moment::unpack_date);
            let text = date.map_or("no date".to_owned(), |(year, day)| {
                format!("{year}.{day:03}")
            });
            (code, text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_has_its_number_and_name_if_the_model_is_known() {
        let z15 = MODELS.iter().find(|model| model.csvn == 6);
        assert_eq!(
            meaning(z15, SetType::PROBLEM_STATE, 1),
            "PROBLEM-STATE 33: Problem-state instruction count"
        );
        assert_eq!(meaning(None, SetType::EXTENDED, 1), "EXTENDED 129");
        assert_eq!(meaning(z15, SetType::ZOS, 7), "ZOS 7");
        assert_eq!(meaning(z15, SetType(9), 7), "set 9, counter 7");
    }

    #[test]
    fn a_field_is_shown_as_its_form_says() {
        let shown = |form_of, bytes: &[u8]| {
            let field = Field {
                name: "",
                offset: 0,
                length: bytes.len(),
                form: form_of,
            };
            let (value, meaning) = form(&field, bytes);
            (value.to_string(), meaning)
        };
        let pair = |value: &str, meaning: &str| (value.to_owned(), meaning.to_owned());
        assert_eq!(shown(Form::Number, &[1, 0]), pair("256", ""));
        assert_eq!(shown(Form::Text, &[0xC8, 0x40]), pair("H", ""));
        let bits = Form::Bits(&[(0, "first"), (15, "last")]);
        assert_eq!(shown(bits, &[0x80, 0x01]), pair("8001", "first, last"));
        let time = 3_599_950_u32.to_be_bytes();
        assert_eq!(
            shown(Form::Hundredths, &time),
            pair("3599950", "09:59:59.50")
        );
        let date = [0x01, 0x26, 0x32, 0x5F];
        assert_eq!(shown(Form::PackedDate, &date), pair("0126325F", "2026.325"));
        let tod = 0x7D91_048B_CA00_0000_u64.to_be_bytes();
        let epoch = pair("7D91048BCA000000", "1970/01/01 00:00:00");
        assert_eq!(shown(Form::Tod, &tod), epoch);
        assert_eq!(shown(Form::Code(&[(2, "zAAP")]), &[2]), pair("2", "zAAP"));
    }
}
