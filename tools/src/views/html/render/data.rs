//! What the script needs, as JSON without a `<`.

use serde_json::{Value, json};

use super::digits;
use crate::views::html::{
    packed::packed,
    page::{Absent, Cell, Lane, Page, Stack, TimeLine},
};

/// The data of the page.
pub fn data(page: &Page) -> String {
    let time = match &page.time_line {
        Absent::Present(time) => time_data(page, time),
        Absent::Because(_) => Value::Null,
    };
    let text = json!({ "time": time }).to_string();
    text.replace('<', "\\u003c")
}

fn time_data(page: &Page, time: &TimeLine) -> Value {
    // A module stands beside each of its routines; most have few.
    let mut modules: Vec<&str> = time
        .routines
        .iter()
        .map(|(_, module)| &module[..])
        .collect();
    modules.sort_unstable();
    modules.dedup();
    let routines = time.routines.iter().map(|(symbol, module)| {
        let module = modules.binary_search(&&module[..]).unwrap_or_default();
        json!([symbol, module])
    });
    json!({
        "columns": time.columns,
        "begin": time.span.0,
        "end": time.span.1,
        "unit": time.unit,
        "digits": digits(time),
        "callers": time.has_callers,
        "compared": page.before.is_some(),
        "programs": time.programs,
        "modules": modules,
        "routines": routines.collect::<Vec<_>>(),
        "stacks": stacks(time.programs.len(), &time.stacks),
        "lanes": time.lanes.iter().map(lane).collect::<Vec<_>>(),
    })
}

/// Behind those of the programs, for each stack: how far before it its caller is, and its routine.
fn stacks(programs: usize, stacks: &[Stack]) -> String {
    let stacks = stacks.iter().enumerate().skip(programs);
    packed(stacks.flat_map(|(number, stack)| [number - stack.caller, stack.routine]))
}

fn lane(lane: &Lane) -> Value {
    json!({
        "before": lane.is_before,
        "cpu": lane.cpu,
        "stacks": cells(&lane.stacks),
        "instructions": cells(&lane.instructions),
        "states": cells(&lane.states),
    })
}

/// For each thing its distance from the one before and how many cells it has; then for each cell its distance in columns
/// and its samples.
fn cells(cells: &[Cell]) -> String {
    let mut numbers = Vec::new();
    let mut before = 0;
    for group in cells.chunk_by(|one, other| one.what == other.what) {
        numbers.extend([group[0].what - before, group.len()]);
        before = group[0].what;
        let mut column = 0;
        for cell in group {
            numbers.extend([cell.column - column, cell.samples as usize]);
            column = cell.column;
        }
    }
    packed(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::html::packed::unpacked;

    #[test]
    fn cells_are_told_by_their_distances() {
        let cell = |what, column, samples| Cell {
            what,
            column,
            samples,
        };
        let text = cells(&[cell(3, 2, 9), cell(3, 5, 1), cell(10, 4, 700)]);
        let expected = vec![3, 2, 2, 9, 3, 1, 7, 1, 4, 700];
        assert_eq!(unpacked(&text), Some(expected));
    }
}
