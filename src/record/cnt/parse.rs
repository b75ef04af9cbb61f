//! Reading a .CNT file, line by line.
//!
//! The caller gives a [`Parser`] one line after the other, so a file of any length needs a buffer of one
//! line. The parser remembers what came before, because values mean nothing without their CPU.

use super::{SampleLoss, VALUES};
use crate::{Malformed, SetType, moment::days_of_month, text::Scan};

/// A line of the file. Texts have no blanks around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// The message's heading: its version.
    Heading(u32),
    /// The file's own name.
    FileName(&'a str),
    /// The command that began the run.
    Command(&'a str),
    /// The samples that were lost.
    SampleLoss(SampleLoss),
    /// Whether counter data were lost.
    CounterLoss(bool),
    /// Whether a state change ended the file.
    StateChange(bool),
    /// Machine type and model, and the sequence code if there is one.
    Model(&'a str, Option<&'a str>),
    /// Counter first and second version number.
    Versions([u16; 2]),
    /// A counter set.
    Set(SetType),
    /// The names of its counters follow.
    Identifiers,
    /// The counters of the set have no names.
    NoIdentifiers,
    /// Number and name of a counter.
    Identifier(u16, &'a str),
    /// Beginning of the run: date and time, and the TOD clock.
    Start(&'a str, u64),
    /// End of the run, if it is known.
    End(Option<(&'a str, u64)>),
    /// The counters of a CPU follow.
    Cpu {
        /// CPU address.
        cpu: u16,
        /// Cycles per microsecond.
        speed: u32,
        /// They belong to the z/OS set.
        software: bool,
    },
    /// Counters.
    Values {
        /// Number of the first.
        first: u16,
        /// How many there are.
        count: usize,
        /// The values, then zeros.
        values: [u64; VALUES],
    },
    /// A line of blanks.
    Blank,
}

/// Reads the lines of a file.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    begun: bool,
    /// A line has named a set.
    sets: bool,
    /// A line has given the beginning of the run.
    started: bool,
    /// The counters of the CPU are those of z/OS.
    software: bool,
    /// The lowest counter number that may come next, while the counters of a CPU follow.
    next: Option<u32>,
}

impl Parser {
    /// A parser for a new file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next line.
    ///
    /// # Errors
    /// What is wrong, with its offset in the line.
    pub fn line<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let mut scan = Scan::new(line)?;
        if !self.begun {
            scan.expect("HIS019I")?;
            scan.expect("EVENT COUNTERS INFORMATION VERSION")?;
            scan.take(":");
            let version = scan.number("VERSION", 10, u64::from(u32::MAX))? as u32;
            scan.end("VERSION")?;
            self.begun = true;
            return Ok(Line::Heading(version));
        }
        if scan.rest().trim().is_empty() {
            return Ok(Line::Blank);
        }
        if let Some(line) = self.heading(&mut scan)? {
            return Ok(line);
        }
        if let Some(line) = self.body(&mut scan)? {
            return Ok(line);
        }
        scan.blanks();
        Err(scan.wrong("line", "one of those of HIS019I"))
    }

    /// The lines before the counters.
    fn heading<'a>(&mut self, scan: &mut Scan<'a>) -> Result<Option<Line<'a>>, Malformed> {
        Ok(Some(if scan.take("FILE NAME:") {
            Line::FileName(scan.until("")?)
        } else if scan.take("COMMAND:") {
            Line::Command(scan.until("")?)
        } else if scan.take("LOSS OF SAMPLE DATA ALERT:") {
            let alert = answer(scan, "LOSS OF SAMPLE DATA ALERT")?;
            scan.expect("SAMPLE BUFFER OVERFLOW COUNT")?;
            scan.take(":");
            let overflow = scan.number("SAMPLE BUFFER OVERFLOW COUNT", 10, u64::MAX)?;
            scan.end("SAMPLE BUFFER OVERFLOW COUNT")?;
            Line::SampleLoss(SampleLoss { alert, overflow })
        } else if scan.take("LOSS OF COUNTER DATA ALERT:") {
            Line::CounterLoss(last_answer(scan, "LOSS OF COUNTER DATA ALERT")?)
        } else if scan.take("STATE CHANGE:") {
            Line::StateChange(last_answer(scan, "STATE CHANGE")?)
        } else if scan.take("MODEL:") {
            if scan.rest().contains("SEQCODE:") {
                let model = scan.until("SEQCODE:")?;
                scan.take("SEQCODE:");
                Line::Model(model, Some(scan.until("")?))
            } else {
                Line::Model(scan.until("")?, None)
            }
        } else if scan.take("COUNTER VERSION NUMBER 1:") {
            let first = scan.number("COUNTER VERSION NUMBER 1", 10, 0xFFFF)? as u16;
            scan.expect("COUNTER VERSION NUMBER 2:")?;
            let second = scan.number("COUNTER VERSION NUMBER 2", 10, 0xFFFF)? as u16;
            scan.end("COUNTER VERSION NUMBER 2")?;
            Line::Versions([first, second])
        } else if scan.take("COUNTER SET=") {
            scan.blanks();
            let here = *scan;
            let name = scan.until("")?;
            let set = SetType::from_name(name)
                .or_else(|| name.parse().ok().map(SetType))
                .ok_or(here.wrong("COUNTER SET", "the name of a counter set"))?;
            self.sets = true;
            self.next = None;
            Line::Set(set)
        } else if scan.take("COUNTER IDENTIFIERS:") {
            scan.end("COUNTER IDENTIFIERS")?;
            Line::Identifiers
        } else if scan.take("SOFTWARE COUNTER INFORMATION NOT AVAILABLE") {
            Line::NoIdentifiers
        } else {
            return Ok(None);
        }))
    }

    /// The names of counters, and their values.
    fn body<'a>(&mut self, scan: &mut Scan<'a>) -> Result<Option<Line<'a>>, Malformed> {
        Ok(Some(if scan.take("START TIME:") {
            let time = time(scan, "START TIME")?;
            scan.expect("START TOD:")?;
            let tod = scan.doubleword("START TOD")?;
            scan.end("START TOD")?;
            (self.started, self.next) = (true, None);
            Line::Start(time, tod)
        } else if scan.take("END TIME:") {
            if !scan.rest().contains("END TOD:") {
                return Ok(Some(Line::End(None)));
            }
            let time = time(scan, "END TIME")?;
            scan.expect("END TOD:")?;
            let tod = scan.doubleword("END TOD")?;
            scan.end("END TOD")?;
            Line::End(Some((time, tod)))
        } else if scan.take("COUNTER VALUES") {
            self.cpu(scan, false)?
        } else if scan.take("EVENT COUNTERS") {
            self.cpu(scan, true)?
        } else if scan
            .rest()
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit())
        {
            scan.blanks();
            let here = *scan;
            let first = scan.number("counter", 10, 0xFFFF)? as u16;
            if scan.take(":") && self.next.is_none() {
                if !self.sets {
                    return Err(here.wrong("counter", "behind COUNTER SET="));
                }
                Line::Identifier(first, scan.until("")?)
            } else {
                self.values(scan, here, first)?
            }
        } else {
            return Ok(None);
        }))
    }

    fn cpu<'a>(&mut self, scan: &mut Scan<'a>, software: bool) -> Result<Line<'a>, Malformed> {
        if !self.started {
            return Err(scan.wrong("COUNTER VALUES", "behind START TIME"));
        }
        scan.expect("(HEXADECIMAL)")?;
        scan.expect("FOR")?;
        // The counters of a core carry the address of one of its CPUs.
        if !scan.take("CPU") && !scan.take("CORE") {
            return Err(scan.wrong("FOR", "CPU or CORE"));
        }
        let cpu = scan.number("CPU", 16, 0xFFFF)? as u16;
        scan.expect("(CPU SPEED =")?;
        let speed = scan.number("CPU SPEED", 10, u64::from(u32::MAX))? as u32;
        scan.expect("CYCLES/MIC)")?;
        scan.take(":");
        scan.end("CPU SPEED")?;
        (self.next, self.software) = (Some(0), software);
        Ok(Line::Cpu {
            cpu,
            speed,
            software,
        })
    }

    /// A line of values, whose first number has been read.
    fn values<'a>(
        &mut self,
        scan: &mut Scan<'a>,
        here: Scan<'a>,
        first: u16,
    ) -> Result<Line<'a>, Malformed> {
        let Some(next) = self.next else {
            return Err(here.wrong("counter", "behind COUNTER VALUES"));
        };
        if u32::from(first) < next {
            return Err(here.wrong("counter", "a higher number than those before"));
        }
        scan.expect("-")?;
        scan.blanks();
        let there = *scan;
        let last = scan.number("counter", 10, 0xFFFF)? as u16;
        if last < first || usize::from(last - first) >= VALUES {
            return Err(there.wrong("counter", "at most three more than the number before"));
        }
        scan.take(":");
        let mut values = [0; VALUES];
        let most = usize::from(last - first) + 1;
        let mut count = 0;
        // A line has fewer values than its numbers say if a set ends in it. The set of z/OS ends with its last counter.
        while count < most && !scan.rest().trim().is_empty() {
            values[count] = scan.doubleword("value")?;
            count += 1;
        }
        if count == 0 || self.software && count < most {
            return Err(scan.wrong("value", "there"));
        }
        scan.end("value")?;
        self.next = Some(u32::from(last) + 1);
        Ok(Line::Values {
            first,
            count,
            values,
        })
    }
}

fn answer(scan: &mut Scan<'_>, field: &'static str) -> Result<bool, Malformed> {
    scan.blanks();
    let here = *scan;
    match scan.word() {
        "YES" => Ok(true),
        "NO" => Ok(false),
        _ => Err(here.wrong(field, "YES or NO")),
    }
}

fn last_answer(scan: &mut Scan<'_>, field: &'static str) -> Result<bool, Malformed> {
    let answer = answer(scan, field)?;
    scan.end(field)?;
    Ok(answer)
}

/// A date and a time of day, yyyy/mm/dd hh:mm:ss.
fn time<'a>(scan: &mut Scan<'a>, field: &'static str) -> Result<&'a str, Malformed> {
    const FORM: &[u8; 19] = b"0000/00/00 00:00:00";
    scan.blanks();
    let rest = scan.rest();
    let expected = "a date and a time as yyyy/mm/dd hh:mm:ss";
    let text = rest.get(..FORM.len()).ok_or(scan.wrong(field, expected))?;
    let fits = |(byte, form): (u8, u8)| match form {
        b'0' => byte.is_ascii_digit(),
        _ => byte == form,
    };
    if !text.bytes().zip(*FORM).all(fits) {
        return Err(scan.wrong(field, expected));
    }
    let number = |at: usize, length: usize| {
        let digits = text.get(at..at + length).unwrap_or_default();
        digits.parse::<u16>().unwrap_or_default()
    };
    let (year, month) = (number(0, 4), number(5, 2));
    for (at, least, most, expected) in [
        (5, 1, 12, "a month, 01 to 12"),
        (8, 1, days_of_month(year, month), "a day of its month"),
        (11, 0, 23, "an hour, 00 to 23"),
        (14, 0, 59, "a minute, 00 to 59"),
        (17, 0, 59, "a second, 00 to 59"),
    ] {
        if !(least..=most).contains(&number(at, 2)) {
            let mut there = *scan;
            there.skip(at);
            return Err(there.wrong(field, expected));
        }
    }
    scan.word();
    scan.word();
    Ok(text)
}
