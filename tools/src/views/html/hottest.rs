//! The hottest symbols with their source lines, and the hottest functions instruction by instruction.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use super::{
    code::Code,
    listing::{self, Disassembler},
    names::Place,
    page::{Absent, Hot, HotLine, Listing},
};
use crate::{
    computer::visible::visible,
    profile::Profile,
    symbols::{SymbolTable, UNKNOWN, guest_file, names::Names},
};

/// Lines of the table of symbols.
pub(super) const HOTTEST: usize = 200;

/// Functions that are shown instruction by instruction.
const LISTINGS: usize = 10;

/// A symbol behind this many in the ranking has no listing.
pub(super) const LISTED: usize = 2 * LISTINGS;

/// Addresses of one symbol whose source lines are looked up.
const MOST_SOURCES: usize = 2000;

/// Samples of one symbol by address.
pub(super) type Addresses = HashMap<u64, u64>;

/// A line of the ranking: which it is, and its samples.
pub(super) type Ranked = (Place, String, String, u64);

/// The bytes of the guest's file, the guest's name in the table of routines, and that table; or why the file cannot be
/// used.
pub(super) fn guest_file(profile: &Profile) -> Result<(Vec<u8>, &str, &SymbolTable), String> {
    let Some(record) = &profile.record else {
        return Err("a collection does not name a file with the program's text".to_owned());
    };
    let Names::Routines(table) = &profile.names else {
        return Err("the guest is Linux, whose image has no text that could be shown".to_owned());
    };
    match guest_file::read(&record.guest_file) {
        Ok(data) => Ok((data, &record.guest, table)),
        Err(error) => Err(format!("{error:#}")),
    }
}

/// The table of the hottest symbols, and the text of the hottest functions. `addresses` are those of the first
/// lines of the ranking.
pub(super) fn symbols(
    ranked: &[Ranked],
    addresses: &[Addresses],
    profile: &Profile,
    code: &Result<Code<'_>, String>,
) -> (Hot, Absent<Vec<Listing>>) {
    let mut hot = Hot {
        more: ranked.len().saturating_sub(HOTTEST),
        more_samples: ranked.iter().skip(HOTTEST).map(|line| line.3).sum(),
        without_source: match code {
            Ok(code) => code.without_source.clone(),
            Err(because) => Some(because.clone()),
        },
        ..Hot::default()
    };
    hot.without_source = hot.without_source.map(|because| visible(&because));
    let mut listings = Vec::new();
    let text = match (code, &profile.names) {
        (Ok(code), Names::Routines(table)) => Some((code, table)),
        _ => None,
    };
    let disassembler = text.map(|(code, table)| Disassembler::new(code, table));
    for (rank, (_, symbol, module, samples)) in ranked.iter().take(HOTTEST).enumerate() {
        let mut line = HotLine {
            symbol: visible(symbol),
            module: visible(module),
            samples: *samples,
            ..HotLine::default()
        };
        if let (Some((code, table)), false) = (text, module.is_empty() || symbol == UNKNOWN) {
            let own = hottest_function(&addresses[rank], table);
            line.source = listing::sources(code, &most(&own.1, MOST_SOURCES))
                .into_iter()
                .next();
            if rank < LISTED
                && listings.len() < LISTINGS
                && let Some(Ok(disassembler)) = &disassembler
                && let Some(function) = own.0.and_then(|start| table.find(start))
            {
                line.listing = Some(listings.len());
                listings.push(disassembler.listing(function, &own.1));
            }
        }
        hot.lines.push(line);
    }
    let listings = match (code, &disassembler) {
        (Err(because), _) => Absent::Because(visible(&sentence("No text", because))),
        (_, Some(Err(error))) => Absent::Because(sentence("No text", &format!("{error:#}"))),
        _ => Absent::Present(listings),
    };
    (hot, listings)
}

fn sentence(what: &str, because: &str) -> String {
    format!("{what}: {because}.")
}

/// The function with the most samples and its samples by address. Several functions of a program may have one name.
fn hottest_function(addresses: &Addresses, table: &SymbolTable) -> (Option<u64>, Addresses) {
    let mut functions: BTreeMap<u64, (u64, Addresses)> = BTreeMap::new();
    for (address, count) in addresses {
        if let Some(symbol) = table.find(*address) {
            let function = functions.entry(symbol.start).or_default();
            function.0 += count;
            function.1.insert(*address, *count);
        }
    }
    let hottest = functions
        .into_iter()
        .max_by_key(|(start, (count, _))| (*count, Reverse(*start)));
    match hottest {
        Some((start, (_, addresses))) => (Some(start), addresses),
        None => (None, Addresses::new()),
    }
}

/// The addresses with the most samples.
fn most(addresses: &Addresses, number: usize) -> Addresses {
    let mut ranked: Vec<(u64, u64)> = addresses
        .iter()
        .map(|(address, count)| (*address, *count))
        .collect();
    ranked.sort_by_key(|(address, count)| (Reverse(*count), *address));
    ranked.into_iter().take(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn among_functions_with_one_name_the_one_with_the_most_samples_has_the_listing() {
        let table = SymbolTable::from_text("10\t20\tg\tsame\n20\t30\tg\tsame\n").unwrap();
        let addresses = Addresses::from([(0x10, 3), (0x22, 2), (0x24, 2), (0x99, 50)]);
        let (start, own) = hottest_function(&addresses, &table);
        assert_eq!(
            (start, own),
            (Some(0x20), Addresses::from([(0x22, 2), (0x24, 2)]))
        );
    }
}
