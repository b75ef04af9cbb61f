//! The .MAP file of a collection run: the programs of the guest, and their routines.

use std::collections::BTreeMap;

use {
    arch::tod::Tod,
    record::{
        Moment,
        map::{Kind, Record},
    },
};

use crate::symbols::SymbolTable;

/// The content of a guest's map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The name of its system.
    pub system: &'static str,
    /// The names of its address spaces by their numbers.
    pub spaces: BTreeMap<u16, String>,
    /// Its routines, where they lay in storage. A routine with the name of its module stands for the whole module.
    pub symbols: SymbolTable,
}

impl From<SymbolTable> for Contents {
    /// A guest that is one program.
    fn from(symbols: SymbolTable) -> Self {
        Self {
            system: "MMTR",
            spaces: BTreeMap::new(),
            symbols,
        }
    }
}

/// The map of a guest, in a run that began then. The guest's routines all count as the nucleus.
pub fn text(contents: &Contents, began: Tod) -> String {
    let moment = Moment::from_tod(began.0);
    let (hour, minute, second) = moment.time();
    let date = format!("{:02}{:03}", moment.year % 100, moment.day);
    let time = format!(
        "{hour:02}{minute:02}{second:02}{:02}",
        moment.hundredths % 100
    );
    let mut text = String::new();
    let mut add = |record: &Record<'_>| {
        // Writing to a string does not fail.
        let _ = record.write(&mut text);
    };
    add(&Record::information("SYS", contents.system));
    add(&Record::information("DATE", &date));
    add(&Record::information("TIME", &time));
    for (space, name) in &contents.spaces {
        add(&Record {
            kind: Kind::AddressSpace,
            asid_or_type: &format!("{space:04X}"),
            ..Record::information("", name)
        });
    }
    let symbols = contents.symbols.symbols();
    for module in symbols.chunk_by(|one, next| one.module == next.module) {
        let [first, ..] = module else { continue };
        let mut add = |kind, name, start, end| {
            add(&Record {
                kind,
                area: 'N',
                asid_or_type: "",
                name,
                start: Some(start),
                end: Some(end - 1),
                further: "",
            });
        };
        let end = module.last().map_or(first.end, |last| last.end);
        add(Kind::Module, &first.module, first.start, end);
        for symbol in module.iter().filter(|symbol| symbol.name != symbol.module) {
            add(Kind::Section, &symbol.name, symbol.start, symbol.end);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_routine_is_a_section_of_its_module_with_its_whole_name() {
        let symbols = SymbolTable::from_text(
            "0000000000200000\t0000000000200010\tg\tstart\n0000000000200020\t0000000000200040\tg\ta long name\n\
             0000000000300000\t0000000000300010\text4\text4\n",
        )
        .unwrap();
        let text = text(&symbols.into(), Tod(0));
        let records: Vec<Record<'_>> = text
            .lines()
            .map(|line| Record::parse(line.as_bytes()).unwrap())
            .collect();
        assert_eq!((records[1].name, records[2].name), ("00001", "00000000"));
        let found: Vec<_> = records[3..]
            .iter()
            .map(|record| {
                (
                    record.kind,
                    record.start,
                    record.end,
                    record.name,
                    record.further,
                )
            })
            .collect();
        let found_is =
            |kind, start, end, name, further| (kind, Some(start), Some(end), name, further);
        assert_eq!(
            found,
            [
                found_is(Kind::Module, 0x20_0000, 0x20_003F, "g", ""),
                found_is(Kind::Section, 0x20_0000, 0x20_000F, "start", ""),
                found_is(
                    Kind::Section,
                    0x20_0020,
                    0x20_003F,
                    "a long n",
                    "a long name"
                ),
                found_is(Kind::Module, 0x30_0000, 0x30_000F, "ext4", ""),
            ]
        );
    }
}
