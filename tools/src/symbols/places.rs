//! The names that a person may write where the machine expects an address.
//!
//! All names are kept. [`SymbolTable`] has one for each address, but a person need not
//! know which name of a place the report shows.

use std::fmt;

use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use thiserror::Error;

use crate::{
    nearest,
    symbols::{Symbol, SymbolTable, kallsyms},
};

/// How many places with the same name an error lists.
const LISTED: usize = 8;

/// The place that a name stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Address of its first byte.
    pub start: u64,
    /// Address of its last byte.
    pub last: u64,
    /// Whether it is data, not instructions.
    pub is_data: bool,
    /// The name, demangled.
    pub name: String,
}

/// What a name must stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Instructions.
    Routine,
    /// Instructions or data.
    Any,
}

/// Every name of a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceNames(Vec<Place>);

/// The meaning of a text in the place of one or two addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// Only numbers, as the machine reads them.
    Numbers(String),
    /// The addresses from the first one to the last one. At least one came from a name.
    Named(u64, u64),
}

/// A name that does not stand for one place.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NameError {
    /// Nothing has this name.
    #[error("{name} is neither a hexadecimal number nor a symbol of the guest{}", mentioned(.nearest))]
    Unknown {
        /// What was written.
        name: String,
        /// Similar names.
        nearest: Vec<String>,
    },
    /// It is not a routine.
    #[error("{0} is data, and only STORE and SHOW STORAGE take data; name a routine")]
    Data(String),
    /// Several places have this name.
    #[error("{name} is the name of {} symbols; take the whole name of one, or its addresses:{}", .places.len(), listed(.places))]
    Ambiguous {
        /// What was written.
        name: String,
        /// All these places.
        places: Vec<Place>,
    },
}

fn mentioned(names: &[String]) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    nearest::mentioned(&names)
}

fn listed(places: &[Place]) -> String {
    let mut text: String = places
        .iter()
        .take(LISTED)
        .map(|at| format!("\n  {at}"))
        .collect();
    if let Some(more) = places.len().checked_sub(LISTED).filter(|more| *more > 0) {
        text.push_str(&format!("\n  and {more} more"));
    }
    text
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}-{:X} {}", self.start, self.last, self.name)
    }
}

impl PlaceNames {
    /// No names.
    pub const NONE: Self = Self(Vec::new());

    /// The names in an ELF file. A symbol without a size ends where the next one of its section begins.
    pub fn from_elf(elf: &object::File<'_>) -> Self {
        let mut found = Vec::new();
        for symbol in elf.symbols() {
            let section = symbol
                .section_index()
                .and_then(|index| elf.section_by_index(index).ok());
            let (Some(section), Ok(name)) = (section, symbol.name()) else {
                continue;
            };
            let is_data = match section.kind() {
                SectionKind::Text => false,
                SectionKind::Data
                | SectionKind::ReadOnlyData
                | SectionKind::ReadOnlyDataWithRel
                | SectionKind::ReadOnlyString
                | SectionKind::UninitializedData => true,
                _ => continue,
            };
            let is_place = matches!(
                symbol.kind(),
                SymbolKind::Text | SymbolKind::Data | SymbolKind::Label | SymbolKind::Unknown
            );
            if !is_place || name.is_empty() || name.starts_with(".L") {
                continue;
            }
            let section_end = section.address().saturating_add(section.size());
            found.push((symbol.address(), symbol.size(), section_end, is_data, name));
        }
        let mut starts: Vec<u64> = found.iter().map(|symbol| symbol.0).collect();
        starts.sort_unstable();
        let places = found
            .into_iter()
            .filter_map(|(start, size, section_end, is_data, name)| {
                let next = starts[starts.partition_point(|other| *other <= start)..].first();
                let end = match size {
                    0 => next.map_or(section_end, |next| section_end.min(*next)),
                    size => start.saturating_add(size).min(section_end),
                };
                let last = end.checked_sub(1).filter(|last| *last >= start)?;
                Some(Place {
                    start,
                    last,
                    is_data,
                    name: format!("{:#}", rustc_demangle::demangle(name)),
                })
            });
        Self::of(places.collect())
    }

    /// The names of a kernel, in the order of their addresses; each ends where the next one begins.
    pub fn of_kernel(names: &[kallsyms::Name]) -> Self {
        let mut places = Vec::new();
        for (number, name) in names.iter().enumerate() {
            let is_data = match name.kind {
                b'T' | b't' | b'W' | b'w' => false,
                b'D' | b'd' | b'B' | b'b' | b'R' | b'r' | b'V' | b'v' => true,
                _ => continue,
            };
            let mut behind = names[number..].iter();
            if let Some(next) = behind.find(|next| next.address > name.address) {
                places.push(Place {
                    start: name.address,
                    last: next.address - 1,
                    is_data,
                    name: name.name.clone(),
                });
            }
        }
        Self::of(places)
    }

    /// The routines of a table.
    pub fn of_routines(table: &SymbolTable) -> Self {
        Self::NONE.with(table.symbols())
    }

    /// These names, and those of these routines.
    #[must_use]
    pub fn with(self, routines: &[Symbol]) -> Self {
        let places = routines.iter().filter_map(|symbol| {
            let last = symbol.end.checked_sub(1)?;
            Some(Place {
                start: symbol.start,
                last,
                is_data: false,
                name: symbol.name.clone(),
            })
        });
        Self::of(self.0.into_iter().chain(places).collect())
    }

    fn of(mut places: Vec<Place>) -> Self {
        places.sort();
        places.dedup();
        Self(places)
    }

    /// Whether there are no names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The meaning of a text in the place of an address. It may be a name; `a-b`, from the first byte of a to the last
    /// byte of b; `a.n`, the first n bytes of a, with n in hexadecimal digits; or numbers as the machine reads them,
    /// also with `0x`.
    ///
    /// A name of the guest takes precedence over a number with the same letters; a leading digit 0 makes it a number.
    ///
    /// # Errors
    /// [`NameError`].
    pub fn meant(&self, text: &str, wanted: Wanted) -> Result<Meant, NameError> {
        if let Some(place) = self.exactly(text, wanted)? {
            return Ok(Meant::Named(place.start, place.last));
        }
        let sides = || {
            let places = text
                .match_indices('-')
                .map(|(at, _)| (&text[..at], &text[at + 1..]));
            places.filter(|(first, last)| !first.is_empty() && !last.is_empty())
        };
        for (first, last) in sides() {
            match (self.side(first, wanted), self.side(last, wanted)) {
                (Ok(Side::Number(first)), Ok(Side::Number(last))) => {
                    return Ok(Meant::Numbers(format!("{first}-{last}")));
                }
                (Ok(first), Ok(last)) => return Ok(Meant::Named(first.start(), last.end())),
                _ => {}
            }
        }
        if let Some((start, length)) = text.rsplit_once('.')
            && let Some(length) = digits(length)
        {
            match self.side(start, wanted) {
                Ok(Side::Number(start)) => return Ok(Meant::Numbers(format!("{start}.{length}"))),
                // The point may also be part of the name.
                Ok(Side::Place(place))
                    if number(length) != 0 && self.side(text, wanted).is_err() =>
                {
                    let last = place.start.saturating_add(number(length) - 1);
                    return Ok(Meant::Named(place.start, last));
                }
                Ok(Side::Place(_)) | Err(NameError::Unknown { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        match (self.side(text, wanted), sides().next()) {
            (Ok(Side::Number(digits)), _) => Ok(Meant::Numbers(digits.to_owned())),
            (Ok(Side::Place(place)), _) => Ok(Meant::Named(place.start, place.last)),
            // The text is not one name, so it is two, and at least one of them is wrong.
            (Err(NameError::Unknown { .. }), Some((first, last))) => {
                let first = self.side(first, wanted).map(drop);
                Err(first
                    .and_then(|()| self.side(last, wanted).map(drop))
                    .err()
                    .unwrap_or_else(|| self.unknown(text)))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// One address or name.
    fn side<'a>(&'a self, text: &'a str, wanted: Wanted) -> Result<Side<'a>, NameError> {
        if let Some(place) = self.exactly(text, wanted)? {
            return Ok(Side::Place(place));
        }
        if let Some(digits) = digits(text) {
            return Ok(Side::Number(digits));
        }
        // The last part of a path is enough.
        let ends = |name: &str| {
            name.strip_suffix(text)
                .is_some_and(|path| path.ends_with("::"))
        };
        self.one(text, wanted, ends)?
            .map(Side::Place)
            .ok_or_else(|| self.unknown(text))
    }

    fn exactly(&self, text: &str, wanted: Wanted) -> Result<Option<&Place>, NameError> {
        self.one(text, wanted, |name| name == text)
    }

    /// The only place whose name fulfils `is_it`.
    fn one(
        &self,
        text: &str,
        wanted: Wanted,
        is_it: impl Fn(&str) -> bool,
    ) -> Result<Option<&Place>, NameError> {
        let (routines, data): (Vec<&Place>, Vec<&Place>) = self
            .0
            .iter()
            .filter(|place| is_it(&place.name))
            .partition(|place| !place.is_data);
        let found = match wanted {
            Wanted::Any => [routines, data].concat(),
            Wanted::Routine if routines.is_empty() && !data.is_empty() => {
                return Err(NameError::Data(text.to_owned()));
            }
            Wanted::Routine => routines,
        };
        match found[..] {
            [] => Ok(None),
            [place] => Ok(Some(place)),
            _ => Err(NameError::Ambiguous {
                name: text.to_owned(),
                places: found.into_iter().cloned().collect(),
            }),
        }
    }

    fn unknown(&self, text: &str) -> NameError {
        let names = self.0.iter().map(|place| &place.name[..]);
        let nearest = nearest::nearest(text, names);
        NameError::Unknown {
            name: text.to_owned(),
            nearest: nearest.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// One end of a range.
enum Side<'a> {
    Number(&'a str),
    Place(&'a Place),
}

impl Side<'_> {
    fn start(&self) -> u64 {
        match self {
            Self::Number(digits) => number(digits),
            Self::Place(place) => place.start,
        }
    }

    fn end(&self) -> u64 {
        match self {
            Self::Number(digits) => number(digits),
            Self::Place(place) => place.last,
        }
    }
}

/// The digits of an address.
fn digits(text: &str) -> Option<&str> {
    let digits = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))
        .unwrap_or(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    (plain && u64::from_str_radix(digits, 16).is_ok()).then_some(digits)
}

/// The number that these digits, accepted by [`digits`], stand for.
fn number(digits: &str) -> u64 {
    u64::from_str_radix(digits, 16).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
