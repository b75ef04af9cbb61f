//! A failure of the machine itself, as a person can read it: PSW, registers, and the path there by
//! the names of the image's routines.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use link::state::Failure;
use object::{Object, ObjectSegment};

use crate::symbols::SymbolTable;

/// The image's routines, and what its own addresses are relative to.
#[derive(Clone, Debug, Default)]
pub struct ImageSymbols {
    symbols: SymbolTable,
    base: u64,
}

impl ImageSymbols {
    /// The routines of the image's ELF.
    pub fn new(elf: &[u8]) -> Result<Self> {
        let file =
            object::File::parse(elf).context("the image is not an ELF file; build it again")?;
        let Some(base) = file.segments().map(|segment| segment.address()).min() else {
            bail!("the image has no segments; build it again");
        };
        Ok(Self {
            symbols: SymbolTable::from_elf(&file, "millimeter"),
            base,
        })
    }

    /// The routines.
    pub fn symbols(&self) -> &SymbolTable {
        &self.symbols
    }

    /// The address at which the image is linked: that of its first byte.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// An address relative to the start of the image, with its routine.
    pub fn name(&self, relative: u64) -> String {
        let address = self.base.wrapping_add(relative);
        match self.symbols.find(address) {
            Some(symbol) => format!(
                "{relative:8X}  {} + {:X}",
                symbol.name,
                address - symbol.start
            ),
            None => format!("{relative:8X}  (no routine of the image)"),
        }
    }

    /// The failure in full.
    pub fn describe(&self, failure: &Failure<'_>) -> String {
        let head = failure.head;
        let mut text = String::from_utf8_lossy(failure.text).trim_end().to_owned();
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\nPSW {:016X} {:016X}",
            head.psw_mask.get(),
            head.psw_address.get()
        );
        for (number, register) in head.registers.iter().enumerate() {
            let gap = if number % 4 == 0 { "\n" } else { "  " };
            let _ = write!(text, "{gap}R{number:<2} {:016X}", register.get());
        }
        for address in failure.backtrace {
            let _ = write!(text, "\n{}", self.name(address.get()));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::state::FailureHead;

    #[test]
    fn a_failure_names_the_routines_on_the_way_to_it() {
        let symbols =
            SymbolTable::from_text("0000000000020100\t0000000000020200\tm\ttrap::enter\n").unwrap();
        let image = ImageSymbols {
            symbols,
            base: 0x2_0000,
        };
        let head = FailureHead {
            backtrace: 2.into(),
            ..FailureHead::default()
        };
        let failure = Failure {
            head: &head,
            backtrace: &[0x110.into(), 0x900.into()],
            text: b"panicked: no room\n",
        };
        let text = image.describe(&failure);
        assert!(
            text.starts_with("panicked: no room\nPSW 0000000000000000 "),
            "{text}"
        );
        assert!(text.contains("110  trap::enter + 10\n"), "{text}");
        assert!(text.contains("900  (no routine of the image)"), "{text}");
    }
}
