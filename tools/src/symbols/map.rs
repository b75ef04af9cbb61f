//! Names from the map of storage that a collection leaves.
//!
//! The places in it lie within one another: areas, load modules, their control sections, and entry points, which have
//! no end. An address belongs to the innermost of them. A place in the private area belongs to one address space, so
//! the same address may have another name in each. A sample gives its primary address space.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    io::BufRead,
};

use anyhow::{Context, Result, bail};
use record::map::{Kind, Record};

use crate::{
    formats::{lines::Lines, recognise::Encoding},
    symbols::{Symbol, SymbolTable},
};

/// Columns for a name. A longer one follows the addresses, in full.
const NAME_COLUMNS: usize = 8;

/// More records than any map has.
const MOST_RECORDS: usize = 4_000_000;

/// A map of storage.
#[derive(Clone, Debug, Default)]
pub struct Map {
    shared: SymbolTable,
    /// Tables of private areas by address-space number.
    private: BTreeMap<u16, SymbolTable>,
    /// The names of address spaces by their numbers.
    pub spaces: BTreeMap<u16, String>,
    /// The information records, as `SYS` and the system's name.
    pub information: Vec<(String, String)>,
}

/// A place in storage: something with a name, or an entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    start: u64,
    /// Its last byte; `None` for an entry point.
    last: Option<u64>,
    kind: Kind,
    name: String,
}

impl Map {
    /// Reads a map.
    pub fn read(file: &mut dyn BufRead, encoding: Encoding) -> Result<Self> {
        let mut map = Self::default();
        let mut lines = Lines::new(file, encoding);
        let mut shared = Vec::new();
        let mut private: BTreeMap<u16, Vec<Place>> = BTreeMap::new();
        let (mut number, mut places) = (0_usize, 0_usize);
        while let Some(line) = lines.next()? {
            number += 1;
            let record = Record::parse(line).map_err(|malformed| {
                let (column, field, problem) =
                    (malformed.offset, malformed.field, malformed.problem);
                anyhow::anyhow!("line {number}, column {column}, field {field}: {problem}")
            })?;
            if record.kind == Kind::Information {
                let words = (record.asid_or_type.trim(), record.name);
                map.information.push((words.0.into(), words.1.into()));
            }
            if record.kind == Kind::AddressSpace
                && let Ok(space) = u16::from_str_radix(record.asid_or_type.trim(), 16)
            {
                map.spaces.insert(space, whole_name(&record));
            }
            let Some(start) = record.start else { continue };
            places += 1;
            if places > MOST_RECORDS {
                bail!("line {number}: there are more than {MOST_RECORDS} places in it");
            }
            let place = Place {
                start,
                last: record.end,
                kind: record.kind,
                name: whole_name(&record),
            };
            if record.area == 'X' {
                let space = u16::from_str_radix(record.asid_or_type.trim(), 16);
                let space = space.ok().with_context(|| {
                    format!("line {number}, column 2: the private area has no address space")
                })?;
                private.entry(space).or_default().push(place);
            } else {
                shared.push(place);
            }
        }
        map.shared = table(shared);
        let private = private.into_iter();
        map.private = private
            .map(|(asid, places)| (asid, table(places)))
            .collect();
        Ok(map)
    }

    /// The place at this address in this address space.
    pub fn find(&self, address: u64, asid: u16) -> Option<&Symbol> {
        let private = self.private.get(&asid);
        private
            .and_then(|table| table.find(address))
            .or_else(|| self.shared.find(address))
    }

    /// The tables of names: first the one that all address spaces share, then that of each private area.
    pub fn tables(&self) -> impl Iterator<Item = (Option<u16>, &SymbolTable)> {
        let private = self.private.iter();
        std::iter::once((None, &self.shared))
            .chain(private.map(|(asid, table)| (Some(*asid), table)))
    }
}

/// The full name of a record. A long one stands behind the columns.
fn whole_name(record: &Record<'_>) -> String {
    let is_plain = |character: char| character == ' ' || character.is_ascii_graphic();
    let whole = record.further;
    // A character outside ASCII is a question mark in the columns.
    let columns: String = whole
        .chars()
        .take(NAME_COLUMNS)
        .map(|character| if is_plain(character) { character } else { '?' })
        .collect();
    let is_cut =
        (whole.len() > NAME_COLUMNS || !whole.is_ascii()) && columns.trim_end() == record.name;
    if is_cut { record.further } else { record.name }.to_owned()
}

/// A piece of storage that belongs to one place and to no place inside it.
struct Piece<'p> {
    start: u64,
    /// Behind its last byte.
    end: u64,
    place: &'p Place,
    module: &'p str,
}

/// The pieces of storage, in ascending order.
fn pieces(places: &[Place]) -> Vec<Piece<'_>> {
    let behind = |place: &Place| place.last.map(|last| last.saturating_add(1));
    let with_end = |place: &&Place| place.last.is_some();
    let mut outer_first: Vec<&Place> = places.iter().filter(with_end).collect();
    let rank = |kind: Kind| match kind {
        Kind::Boundary => 0,
        Kind::Module => 1,
        _ => 2,
    };
    outer_first.sort_by_key(|place| (place.start, Reverse(place.last), rank(place.kind)));
    let ends = outer_first.iter().filter_map(|place| behind(place));
    let mut cuts: Vec<u64> = outer_first.iter().map(|place| place.start).collect();
    cuts.extend(ends);
    cuts.sort_unstable();
    cuts.dedup();
    let mut next = outer_first.into_iter().peekable();
    let mut inside: Vec<&Place> = Vec::new();
    let mut pieces = Vec::new();
    for cut in cuts.windows(2) {
        let [start, end] = [cut[0], cut[1]];
        while let Some(place) = next.next_if(|place| place.start <= start) {
            inside.push(place);
        }
        while inside.pop_if(|place| place.last < Some(start)).is_some() {}
        let Some(place) = inside.last().copied() else {
            continue;
        };
        let mut modules = inside.iter().rev();
        let module = modules.find(|place| place.kind == Kind::Module && place.last >= Some(start));
        pieces.push(Piece {
            start,
            end,
            place,
            module: module.map_or("", |module| &module.name),
        });
    }
    pieces
}

/// The table of places that lie within one another.
fn table(places: Vec<Place>) -> SymbolTable {
    let points = places.iter().filter(|place| place.last.is_none());
    let mut points: Vec<&Place> = points.collect();
    points.sort_by_key(|place| place.start);
    let mut symbols: Vec<Symbol> = Vec::new();
    let mut points = points.into_iter().peekable();
    // The last entry point of each place, for when a place inside it ends.
    let mut left_at: HashMap<*const Place, &Place> = HashMap::new();
    for piece in pieces(&places) {
        while points.next_if(|point| point.start < piece.start).is_some() {}
        let mut at = piece.start;
        let mut add = |from: u64, to: u64, name: &str| {
            if from < to {
                symbols.push(Symbol {
                    start: from,
                    end: to,
                    module: piece.module.to_owned(),
                    name: name.to_owned(),
                });
            }
        };
        let mut name = left_at.get(&std::ptr::from_ref(piece.place)).copied();
        while let Some(point) = points.next_if(|point| point.start < piece.end) {
            add(at, point.start, &name.unwrap_or(piece.place).name);
            (at, name) = (point.start, Some(point));
        }
        add(at, piece.end, &name.unwrap_or(piece.place).name);
        if let Some(name) = name {
            left_at.insert(std::ptr::from_ref(piece.place), name);
        }
    }
    SymbolTable::of(symbols)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Map {
        Map::read(&mut text.as_bytes(), Encoding::Ascii).unwrap()
    }

    fn name(map: &Map, address: u64, asid: u16) -> String {
        map.find(address, asid)
            .map_or("-".to_owned(), |s| format!("{} in {}", s.name, s.module))
    }

    const STORAGE: &str = "I SYS GUEST\n\
        A 0001*MASTER*\n\
        BX0001PRIVATE 00000000000000000000000000001FFF\n\
        BN    NUCLEUS 0000000000200000000000000020FFFF\n\
        MN    workload0000000000200000000000000020007F\n\
        CN    guests::00000000002000200000000000200040guests::hash::work\n\
        EN    start   0000000000200008\n\
        EN    inner   0000000000200030\n\
        MX0002other   00000000000010000000000000001010\n";

    #[test]
    fn an_address_belongs_to_the_innermost_place_around_it() {
        let map = map(STORAGE);
        let name = |address| name(&map, address, 1);
        assert_eq!(name(0x20_0000), "workload in workload");
        assert_eq!(name(0x20_0008), "start in workload");
        assert_eq!(name(0x20_0020), "guests::hash::work in workload");
        assert_eq!(name(0x20_0030), "inner in workload");
        assert_eq!(name(0x20_0040), "inner in workload");
        assert_eq!(name(0x20_0041), "start in workload");
        assert_eq!(name(0x20_0080), "NUCLEUS in ");
        assert_eq!(name(0x21_0000), "-");
    }

    #[test]
    fn each_address_space_has_its_own_private_area() {
        let map = map(STORAGE);
        assert_eq!(name(&map, 0x1004, 1), "PRIVATE in ");
        assert_eq!(name(&map, 0x1004, 2), "other in other");
        assert_eq!(name(&map, 0x1004, 3), "-");
        assert_eq!(name(&map, 0x20_0008, 3), "start in workload");
        assert_eq!(map.information, [("SYS".to_owned(), "GUEST".to_owned())]);
    }

    #[test]
    fn places_may_overlap_and_reach_the_highest_address() {
        let map = map("MN    a       00000000000000100000000000000030\n\
                       MN    b       0000000000000020FFFFFFFFFFFFFFFF\n\
                       EN    beyond  0000000000000000\n");
        assert_eq!(name(&map, 0x1F, 0), "a in a");
        assert_eq!(name(&map, 0x20, 0), "b in b");
        assert_eq!(name(&map, 0x31, 0), "b in b");
        assert_eq!(name(&map, 0, 0), "-");
    }

    #[test]
    fn a_long_name_is_read_in_full_and_other_text_is_not_a_name() {
        let of = |name: &str, further: &str| {
            let line = format!("CN    {name:8}00000000000000100000000000000030{further}\n");
            let map = map(&line);
            map.find(0x10, 0).unwrap().name.clone()
        };
        assert_eq!(of("abcdefg", "abcdefg and more"), "abcdefg and more");
        assert_eq!(of("na?ve", "naïve"), "naïve");
        assert_eq!(of("abcdefgh", "PTF 12345"), "abcdefgh");
        assert_eq!(of("abc", ""), "abc");
    }

    #[test]
    fn a_line_that_is_wrong_is_named() {
        let text = "I SYS GUEST\nMN    a       00000000000000100000000000000\n";
        let error = Map::read(&mut text.as_bytes(), Encoding::Ascii).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("line 2") && error.contains("MapEndAddress"),
            "{error}"
        );
    }
}
