//! The text of a function with the samples at each instruction.
//!
//! The first two bits of an instruction give its length, so an instruction that the disassembler does not know spoils
//! only one line. Of a long function only the instructions around samples are shown.

use std::collections::HashMap;

use anyhow::{Context, Result, anyhow};
use capstone::{Capstone, arch::BuildsCapstone};

use super::{
    code::Code,
    page::{Instruction, Listing, ListingLine},
};
use crate::{
    computer::visible::visible,
    symbols::{Symbol, SymbolTable},
};

/// Most instructions of a listing.
const MOST_INSTRUCTIONS: usize = 400;

/// Instructions that are shown before and behind one with samples.
const AROUND: usize = 5;

/// Source lines of the summary.
const MOST_SOURCES: usize = 8;

/// A longer text is not disassembled: no compiler makes a function of that length.
const LONGEST_TEXT: u64 = 4 << 20;

/// Disassembles functions.
pub struct Disassembler<'c, 'd> {
    code: &'c Code<'d>,
    symbols: &'c SymbolTable,
    capstone: Capstone,
}

impl<'c, 'd> Disassembler<'c, 'd> {
    /// For functions of this guest.
    pub fn new(code: &'c Code<'d>, symbols: &'c SymbolTable) -> Result<Self> {
        let capstone = Capstone::new()
            .sysz()
            .mode(capstone::arch::sysz::ArchMode::Default)
            .build()
            .map_err(|error| anyhow!("{error}"))
            .context("the disassembler does not start")?;
        Ok(Self {
            code,
            symbols,
            capstone,
        })
    }

    /// The text of a function, with its samples by address.
    pub fn listing(&self, function: &Symbol, samples: &HashMap<u64, u64>) -> Listing {
        let end = function
            .end
            .min(function.start.saturating_add(LONGEST_TEXT));
        let text = self.code.bytes(function.start, end);
        let boundaries = boundaries(text);
        let counts: Vec<u64> = boundaries
            .iter()
            .map(|(from, _)| {
                samples
                    .get(&(function.start + *from as u64))
                    .copied()
                    .unwrap_or(0)
            })
            .collect();
        let shown = shown(&counts);
        let mut lines = Vec::new();
        let mut before: Option<String> = None;
        let mut gap = (0, 0);
        let mut listed = 0;
        for ((&(from, to), &count), is_shown) in boundaries.iter().zip(&counts).zip(shown) {
            if !is_shown {
                gap = (gap.0 + 1, gap.1 + count);
                continue;
            }
            close(&mut gap, &mut lines);
            let address = function.start + from as u64;
            let source = self.code.source(address);
            if source.is_some() && source != before {
                lines.extend(source.clone().map(|place| ListingLine::Source {
                    place,
                    text: self.code.source_text(address),
                }));
                before = source;
            }
            listed += count;
            lines.push(ListingLine::Instruction(self.instruction(
                function,
                address,
                &text[from..to],
                count,
            )));
        }
        close(&mut gap, &mut lines);
        let all: u64 = samples.values().sum();
        let sources = self.sources(samples);
        let source_of = samples.keys().filter_map(|address| {
            let source = self.code.source(*address)?;
            let place = sources.iter().position(|(known, _)| *known == source)?;
            Some((*address, place))
        });
        Listing {
            source_of: source_of.collect(),
            symbol: visible(&function.name),
            module: visible(&function.module),
            samples: all,
            start: function.start,
            length: function.end - function.start,
            sources,
            lines,
            elsewhere: all - listed,
        }
    }

    fn instruction(
        &self,
        function: &Symbol,
        address: u64,
        bytes: &[u8],
        samples: u64,
    ) -> Instruction {
        let found = self.capstone.disasm_count(bytes, address, 1).ok();
        let known = found.as_ref().and_then(|found| {
            let one = found.iter().next()?;
            let (mnemonic, operands) = (one.mnemonic()?, one.op_str().unwrap_or(""));
            Some((mnemonic.to_owned(), operands.to_owned()))
        });
        let hexadecimal = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let (text, target) = match known {
            Some((mnemonic, operands)) => {
                let target = relative(&mnemonic, &operands).and_then(|to| self.place(function, to));
                (
                    format!("{mnemonic:<7} {operands}").trim_end().to_owned(),
                    target,
                )
            }
            None => ("(unknown)".to_owned(), None),
        };
        Instruction {
            address,
            bytes: hexadecimal,
            text,
            target,
            samples,
        }
    }

    /// A readable form of this address, as seen from a function.
    fn place(&self, function: &Symbol, address: u64) -> Option<String> {
        let symbol = self.symbols.find(address)?;
        let offset = address - symbol.start;
        Some(match (symbol.start == function.start, offset) {
            (true, offset) => format!("+{offset:x}"),
            (false, 0) => visible(&symbol.name),
            (false, offset) => format!("{}+{offset:x}", visible(&symbol.name)),
        })
    }

    /// Source lines by samples, the hottest first.
    pub fn sources(&self, samples: &HashMap<u64, u64>) -> Vec<(String, u64)> {
        sources(self.code, samples)
    }
}

/// Source lines by samples, the hottest first; equal ones in alphabetical order.
pub fn sources(code: &Code<'_>, samples: &HashMap<u64, u64>) -> Vec<(String, u64)> {
    let mut by_line: HashMap<String, u64> = HashMap::new();
    for (address, count) in samples {
        if let Some(source) = code.source(*address) {
            *by_line.entry(source).or_default() += count;
        }
    }
    let mut lines: Vec<_> = by_line.into_iter().collect();
    lines.sort_by(|(one, few), (other, many)| many.cmp(few).then_with(|| one.cmp(other)));
    lines.truncate(MOST_SOURCES);
    lines
}

/// Ends a gap, if there is one.
fn close(gap: &mut (usize, u64), lines: &mut Vec<ListingLine>) {
    if gap.0 > 0 {
        lines.push(ListingLine::Gap {
            instructions: gap.0,
            samples: gap.1,
        });
    }
    *gap = (0, 0);
}

/// Where instructions begin and end. The last one may be cut off by the end of the text.
fn boundaries(text: &[u8]) -> Vec<(usize, usize)> {
    let mut boundaries = Vec::new();
    let mut from = 0;
    while let Some(first) = text.get(from) {
        let length = match first >> 6 {
            0 => 2,
            1 | 2 => 4,
            _ => 6,
        };
        let to = (from + length).min(text.len());
        boundaries.push((from, to));
        from = to;
    }
    boundaries
}

/// Which instructions are shown: all, or if there are too many, those around the ones with the most samples.
fn shown(counts: &[u64]) -> Vec<bool> {
    let mut shown = vec![counts.len() <= MOST_INSTRUCTIONS; counts.len()];
    if counts.len() <= MOST_INSTRUCTIONS {
        return shown;
    }
    let mut hottest: Vec<usize> = (0..counts.len())
        .filter(|place| counts[*place] > 0)
        .collect();
    hottest.sort_by_key(|place| (std::cmp::Reverse(counts[*place]), *place));
    let mut left = MOST_INSTRUCTIONS;
    for place in hottest {
        let around = place.saturating_sub(AROUND)..(place + AROUND + 1).min(counts.len());
        let new = around.clone().filter(|place| !shown[*place]).count();
        if new > left {
            break;
        }
        left -= new;
        shown[around].fill(true);
    }
    shown
}

/// What a relative operand designates: the disassembler gives it as the address itself, last.
fn relative(mnemonic: &str, operands: &str) -> Option<u64> {
    const OTHERS: [&str; 5] = ["larl", "exrl", "pfdrl", "bras", "brasl"];
    let is_relative = mnemonic.starts_with('j')
        || mnemonic.starts_with("br")
        || OTHERS.contains(&mnemonic)
        || (mnemonic.ends_with("rl") && mnemonic.starts_with(['l', 's', 'c']))
        || (mnemonic.starts_with('c') && mnemonic.contains('j'));
    let last = operands.rsplit([',', ' ']).next()?;
    let digits = last.trim().strip_prefix("0x").filter(|_| is_relative)?;
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_bits_of_an_instruction_give_its_length() {
        let text = [
            0x07, 0xFE, 0x41, 0, 0, 0, 0x98, 0, 0, 0, 0xE3, 0, 0, 0, 0, 4, 0xC0,
        ];
        let boundaries = boundaries(&text);
        assert_eq!(boundaries, [(0, 2), (2, 6), (6, 10), (10, 16), (16, 17)]);
    }

    #[test]
    fn a_long_function_shows_only_the_instructions_around_samples() {
        let mut counts = vec![0; 5000];
        counts[1000] = 7;
        counts[1003] = 9;
        counts[4999] = 1;
        let shown = shown(&counts);
        let places: Vec<usize> = (0..5000).filter(|place| shown[*place]).collect();
        assert_eq!((places[0], places.len()), (995, 14 + 6));
        assert_eq!(places.last(), Some(&4999));
        let all = super::shown(&vec![3; 5000]);
        let number = all.iter().filter(|is_shown| **is_shown).count();
        assert!(number <= MOST_INSTRUCTIONS && number > MOST_INSTRUCTIONS / 2);
    }

    #[test]
    fn a_relative_operand_is_the_last_one() {
        assert_eq!(relative("jne", "0x200010"), Some(0x20_0010));
        assert_eq!(relative("brasl", "%r14, 0x200010"), Some(0x20_0010));
        assert_eq!(relative("cgrjh", "%r1, %r2, 0x20"), Some(0x20));
        assert_eq!(relative("lghi", "%r2, 0x10"), None);
        assert_eq!(relative("lg", "%r2, 0x10(%r15)"), None);
    }
}
