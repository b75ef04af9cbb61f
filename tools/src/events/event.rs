//! A traced event as a line: for a person, for `grep`, or as JSON.

use std::{fmt, path::Path};

use anyhow::Result;
use serde::Serialize;
use {
    link::trace::{EXECUTED, Event},
    per::event,
};

use crate::{
    folder::{CONSOLE, SYMBOLS, optional, record::RunRecord},
    symbols::{SymbolTable, linux::LinuxNames, places::PlaceNames},
};

/// The problem state, in bits 0-63 of a PSW.
const PROBLEM: u64 = 1 << (63 - 15);

/// The number of bits behind the condition code in bits 0-63 of a PSW.
const BEHIND_CONDITION_CODE: u32 = 63 - 19;

/// The names of the events in a line.
const EVENTS: [(u8, &str); 5] = [
    (event::BRANCH, "BRANCH"),
    (event::FETCH, "FETCH"),
    (event::STORE, "STORE"),
    (event::REGISTERS, "REG"),
    (event::STORE_REAL, "STURA"),
];

/// From an address to the routine that it is in.
#[derive(Clone, Debug, Default)]
pub struct Routines {
    table: SymbolTable,
    /// Whether the routines are those of Linux's kernel. Then an address in problem state is in none of them.
    is_linux: bool,
}

impl Routines {
    /// The routines of a guest.
    pub fn new(table: SymbolTable, is_linux: bool) -> Self {
        Self { table, is_linux }
    }

    /// The routines of a run, where they lay in it.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn of_run(directory: &Path, record: &RunRecord) -> Result<Self> {
        let text = optional(&directory.join(SYMBOLS))?.unwrap_or_default();
        let symbols = SymbolTable::from_text(&String::from_utf8_lossy(&text)).unwrap_or_default();
        if !record.is_linux {
            return Ok(Self::new(symbols, false));
        }
        let console = optional(&directory.join(CONSOLE))?.unwrap_or_default();
        let programs = LinuxNames::new(&symbols, &String::from_utf8_lossy(&console));
        Ok(Self::new(SymbolTable::of(programs.placed()), true))
    }

    /// Their names, for a person who writes them.
    pub fn names(&self) -> PlaceNames {
        PlaceNames::of_routines(&self.table)
    }

    /// The routine of an address and the distance from its beginning, under a PSW with these bits 0-63.
    fn name(&self, address: u64, mask: u64) -> Option<String> {
        if self.is_linux && mask & PROBLEM != 0 {
            return None;
        }
        let symbol = self.table.find(address)?;
        Some(format!("{}+{:X}", symbol.name, address - symbol.start))
    }
}

/// A register and what it contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Altered {
    /// Its number.
    pub register: u8,
    /// Its contents after the instruction.
    pub contents: String,
}

/// The storage that an instruction stored into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stored {
    /// The virtual address.
    pub address: String,
    /// Its length in bytes.
    pub length: u16,
}

/// Where a branch led.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Target {
    /// The address.
    pub address: String,
    /// The routine and the distance from its beginning, if it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
}

/// An event. Addresses and contents are hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// CPU address.
    pub cpu: u16,
    /// Its number among the CPU's events, from 0 on. Lost events have numbers, too.
    pub number: u64,
    /// Address of the instruction, or of the EXECUTE whose target it is.
    pub address: String,
    /// The instruction.
    pub text: String,
    /// The events.
    pub events: Vec<&'static str>,
    /// The traces that it belongs to.
    pub traces: Vec<u8>,
    /// The routine and the distance from its beginning, if it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// Whether it is the target of an EXECUTE at the address.
    pub executed: bool,
    /// Registers that it altered.
    pub altered: Vec<Altered>,
    /// The condition code that it set, if that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition_code: Option<u8>,
    /// The storage that it stored into, in the range of a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<Stored>,
    /// Where it branched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// The program interruption that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interruption: Option<String>,
}

impl Line {
    /// The line of an event.
    pub fn new(cpu: u16, number: u64, event: &Event<'_>, routines: &Routines) -> Self {
        let head = &event.head;
        let (at, next) = (head.at.get(), head.next.get());
        let (before, after) = (head.mask.get(), head.mask_after.get());
        let code = |mask: u64| (mask >> BEHIND_CONDITION_CODE & 3) as u8;
        let digits = |address: u64| format!("{address:016X}");
        let events = EVENTS.into_iter().filter(|(bit, _)| head.events & bit != 0);
        Self {
            cpu,
            number,
            address: digits(at),
            text: event
                .text()
                .iter()
                .map(|byte| format!("{byte:02X}"))
                .collect(),
            events: events.map(|(_, name)| name).collect(),
            traces: (0..8)
                .filter(|trace| head.traces << trace & 0x80 != 0)
                .collect(),
            symbol: routines.name(at, before),
            executed: head.state & EXECUTED != 0,
            altered: event
                .altered()
                .map(|(register, contents)| Altered {
                    register,
                    contents: digits(contents),
                })
                .collect(),
            condition_code: (code(before) != code(after)).then(|| code(after)),
            stored: (head.stored_length.get() != 0).then(|| Stored {
                address: digits(head.stored_at.get()),
                length: head.stored_length.get(),
            }),
            target: (head.events & event::BRANCH != 0).then(|| Target {
                address: digits(next),
                symbol: routines.name(next, after),
            }),
            interruption: (head.code.get() != 0).then(|| format!("{:04X}", head.code.get())),
        }
    }

    /// The line with what the instruction did, without its traces.
    #[must_use]
    pub fn of_instruction(&self) -> String {
        format!(
            "CPU {}  {}  {:<12}  {}{}",
            self.cpu,
            self.address,
            self.text,
            self.name(),
            self.done()
        )
    }

    fn name(&self) -> &str {
        self.symbol.as_deref().unwrap_or("-")
    }

    /// What it did, each behind two blanks.
    fn done(&self) -> String {
        let mut text = String::new();
        let mut add = |what: String| {
            text.push_str("  ");
            text.push_str(&what);
        };
        if self.executed {
            add("executed".to_owned());
        }
        for Altered { register, contents } in &self.altered {
            add(format!("R{register}={contents}"));
        }
        if let Some(code) = self.condition_code {
            add(format!("CC={code}"));
        }
        if let Some(Stored { address, length }) = &self.stored {
            add(format!("stored={address}.{length:X}"));
        }
        if let Some(Target { address, symbol }) = &self.target {
            add(format!("to={address}"));
            if let Some(symbol) = symbol {
                add(symbol.clone());
            }
        }
        if let Some(code) = &self.interruption {
            add(format!("interruption={code}"));
        }
        text
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let traces: Vec<String> = self.traces.iter().map(u8::to_string).collect();
        write!(
            f,
            "CPU {}  {:>8}  {}  {:<12}  {:<6}  {}  {}{}",
            self.cpu,
            self.number,
            self.address,
            self.text,
            self.events.join(","),
            traces.join(","),
            self.name(),
            self.done()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::trace::EventHead;
    use zerocopy::byteorder::big_endian::U64;

    fn routines(is_linux: bool) -> Routines {
        let text = "0000000000001000\t0000000000001100\tg\tmain\n0000000000002000\t0000000000002100\tg\ta::b of c\n";
        Routines::new(SymbolTable::from_text(text).unwrap(), is_linux)
    }

    fn line(head: EventHead, registers: &[U64], is_linux: bool) -> Line {
        Line::new(1, 42, &Event { head, registers }, &routines(is_linux))
    }

    /// BRASL 14 to the other routine.
    fn call() -> EventHead {
        EventHead {
            traces: 0xA0,
            events: event::BRANCH | event::REGISTERS,
            length: 6,
            altered: 0x0002.into(),
            text: [0xC0, 0xE5, 0, 0, 0x07, 0xF8],
            at: 0x1010.into(),
            next: 0x2000.into(),
            ..EventHead::default()
        }
    }

    #[test]
    fn a_line_has_the_place_the_instruction_and_its_results() {
        let line = line(call(), &[0x1016.into()], false);
        assert_eq!(
            line.to_string(),
            "CPU 1        42  0000000000001010  C0E5000007F8  BRANCH,REG  0,2  main+10  R14=0000000000001016  \
             to=0000000000002000  a::b of c+0"
        );
        assert_eq!(
            line.of_instruction(),
            "CPU 1  0000000000001010  C0E5000007F8  main+10  R14=0000000000001016  to=0000000000002000  a::b of c+0"
        );
    }

    #[test]
    fn a_line_shows_a_store_an_execute_and_an_interruption() {
        let head = EventHead {
            traces: 0x80,
            events: event::STORE,
            length: 4,
            state: EXECUTED,
            code: 0x10.into(),
            text: [0xD2, 0x07, 0x10, 0, 0x20, 0],
            stored_length: 16.into(),
            at: 0x9000.into(),
            mask_after: (2 << 44).into(),
            stored_at: 0x3000.into(),
            ..EventHead::default()
        };
        assert_eq!(
            line(head, &[], false).to_string(),
            "CPU 1        42  0000000000009000  D20710002000  STORE   0  -  executed  CC=2  \
             stored=0000000000003000.10  interruption=0010"
        );
    }

    #[test]
    fn an_address_in_a_process_of_linux_is_in_no_routine_of_its_kernel() {
        let head = EventHead {
            mask: PROBLEM.into(),
            ..call()
        };
        let user = line(head, &[1.into()], true);
        assert_eq!(user.symbol, None);
        // A call of the kernel leads into it.
        assert_eq!(user.target.unwrap().symbol.as_deref(), Some("a::b of c+0"));
        assert_eq!(
            line(call(), &[1.into()], true).symbol.as_deref(),
            Some("main+10")
        );
    }

    #[test]
    fn as_json_it_has_only_the_parts_that_the_event_has() {
        let value = serde_json::to_value(line(call(), &[0x1016.into()], false)).unwrap();
        assert_eq!(value["symbol"], "main+10");
        assert_eq!(value["traces"], serde_json::json!([0, 2]));
        assert_eq!(value["altered"][0]["contents"], "0000000000001016");
        assert_eq!(value["target"]["symbol"], "a::b of c+0");
        assert!(value.get("stored").is_none() && value.get("interruption").is_none());
    }
}
