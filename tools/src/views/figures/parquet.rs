//! A table in the form of Apache Parquet, with a row for each group and a column for each figure.
//!
//! The columns are those of [`super::csv`]. A figure that is missing is null.

mod file;

use file::Column;

use super::{Shown, model_name};
use crate::figures::{figure::Figure, group::Group};

/// Seconds from the beginning of the TOD clock, 1900, to 1970.
const TO_1970: i64 = 2_208_988_800;

/// The bytes of the file.
pub fn bytes(shown: &Shown<'_>) -> Vec<u8> {
    file::bytes("figures", &columns(shown))
}

fn columns(shown: &Shown<'_>) -> Vec<(&'static str, Column)> {
    let groups = &shown.collected.groups;
    let text =
        |of: &dyn Fn(&Group) -> Option<String>| Column::Text(groups.iter().map(of).collect());
    let time = |of: &dyn Fn(&Group) -> Option<u64>| {
        let times = groups.iter().map(|group| {
            let seconds = i64::try_from(of(group)?).ok()?;
            Some((seconds - TO_1970) * 1000)
        });
        Column::Time(times.collect())
    };
    let small = |of: &dyn Fn(&Group) -> Option<u32>| {
        let numbers = groups.iter().map(of);
        Column::Small(numbers.map(|number| i32::try_from(number?).ok()).collect())
    };
    let mut columns = vec![
        ("system", text(&|group| group.key.system.clone())),
        ("machine", text(&|group| Some(group.key.machine.clone()))),
        (
            "model",
            text(&|group| Some(model_name(group.counts.generation()).to_owned())),
        ),
        ("start", time(&|group| Some(group.key.interval?.start))),
        ("end", time(&|group| Some(group.key.interval?.end))),
        ("type", text(&|group| Some(group.key.class?.to_string()))),
        ("cpu", small(&|group| group.key.cpu.map(u32::from))),
        ("records", small(&|group| Some(group.counts.records))),
    ];
    columns.extend(Figure::ALL.into_iter().map(|figure| {
        let column = match figure {
            Figure::Hint => text(&|group| shown.hint(group)),
            _ => {
                let numbers = groups.iter().map(|group| shown.number(group, figure));
                Column::Number(numbers.collect())
            }
        };
        (figure.name(), column)
    }));
    columns
}
