//! `measure counters`: every counter of a model, and where its value comes from.

use comfy_table::{Cell, Table, presets};
use cpumf::{
    Model,
    counters::provenance::{Provenance, provenance},
};

use crate::formats::counters::{counter_name, set_name};

/// The table of a model.
#[must_use]
pub fn text(model: &Model) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["no.", "set", "counter", "value"].map(Cell::new));
    for number in 0..=u16::MAX {
        let Some((row, value)) = row(model, number) else {
            continue;
        };
        let [number, set, name] = row;
        table.add_row([number, set, name, value]);
    }
    let [first, second] = model.types;
    format!(
        "{} (machine types {first:04X} and {second:04X}): counter first version number {}, second version number {}\n\n{}",
        model.name,
        model.cfvn,
        model.csvn,
        table.trim_fmt()
    )
}

/// Number, set and name, and where the value comes from.
fn row(model: &Model, number: u16) -> Option<([String; 3], String)> {
    let (set, _) = model.locate(number)?;
    let value = match provenance(model, number, false)? {
        Provenance::Counted(what) => what.to_owned(),
        Provenance::Zero(why) => format!("zero by definition: {why}"),
        Provenance::Reserved => "zero: reserved".to_owned(),
    };
    let set = set_name(u16::from(set.code()));
    Some((
        [number.to_string(), set, counter_name(model, number)],
        value,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpumf::{
        CounterSet,
        model::{MODELS, Z10, Z15},
    };

    #[test]
    fn every_counter_of_every_model_has_a_line() {
        for model in &MODELS {
            let counters: u16 = CounterSet::ALL
                .map(|set| model.range(set).count)
                .iter()
                .sum();
            let lines = text(model).lines().count();
            // A heading, an empty line and the head of the table.
            assert_eq!(lines, usize::from(counters) + 3, "{}", model.name);
        }
    }

    #[test]
    fn a_line_says_number_set_name_and_source() {
        let line = |model, number: &str| {
            let table = text(model);
            let found = table.lines().find(|line| line.trim().starts_with(number));
            found.unwrap_or_default().to_owned()
        };
        let instructions = line(&Z15, "1 ");
        assert!(instructions.contains("basic") && instructions.contains("Instruction count"));
        assert!(line(&Z10, "34 ").contains("zero by definition: no cache"));
        assert!(line(&Z15, "450 ").contains("reserved"));
        assert!(line(&Z15, "84 ").is_empty());
        assert!(line(&Z15, "137 ").contains("TLB2_PTE_WRITES"));
        assert!(line(&Z15, "128 ").contains("zero by definition"));
    }
}
