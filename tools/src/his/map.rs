//! The .MAP file of a collection run: the routines of the guest.

use millimeter::{
    arch::tod::Tod,
    record::{
        Moment,
        map::{Kind, Record},
    },
};

use crate::symbols::SymbolTable;

/// The map of these routines, in a run that began then. The guest's routines all count as the nucleus.
pub fn text(symbols: &SymbolTable, began: Tod) -> String {
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
    add(&Record::information("SYS", "MMTR"));
    add(&Record::information("DATE", &date));
    add(&Record::information("TIME", &time));
    for symbol in symbols.symbols() {
        add(&Record {
            kind: Kind::Section,
            area: 'N',
            asid_or_type: "",
            name: &symbol.name,
            start: Some(symbol.start),
            end: Some(symbol.end - 1),
            further: "",
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_routine_is_a_section_with_its_whole_name() {
        let symbols = SymbolTable::from_text(
            "0000000000200000\t0000000000200010\tg\tstart\n0000000000200020\t0000000000200040\tg\ta long name\n",
        )
        .unwrap();
        let text = text(&symbols, Tod(0));
        let records: Vec<Record<'_>> = text
            .lines()
            .map(|line| Record::parse(line.as_bytes()).unwrap())
            .collect();
        assert_eq!((records[1].name, records[2].name), ("00001", "00000000"));
        let found: Vec<_> = records[3..]
            .iter()
            .map(|record| (record.start, record.end, record.name, record.further))
            .collect();
        assert_eq!(
            found,
            [
                (Some(0x20_0000), Some(0x20_000F), "start", ""),
                (Some(0x20_0020), Some(0x20_003F), "a long n", "a long name"),
            ]
        );
    }
}
