//! The difference as one JSON object.
//!
//! ```json
//! {"a": {"directory", "guest", "samples", "doubts"}, "b": …, "warnings": […],
//!  "symbols": [{"symbol", "module", "a": {"samples", "percent"}, "b": …, "difference"}],
//!  "counters": [{"set", "number", "name", "a", "b", "ratio"}]}
//! ```
//!
//! Percentages have two decimals, a ratio has six. A counter that one of the two does not have is `null` there.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Counter, Difference, Line, Side};

/// The object as text.
pub fn text(difference: &Difference) -> Result<String> {
    let [first, second] = &difference.sides;
    let value = json!({
        "a": side(first),
        "b": side(second),
        "warnings": difference.warnings,
        "symbols": difference.lines.iter().map(line).collect::<Vec<_>>(),
        "counters": difference.counters.iter().map(counter).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}

fn rounded(number: f64, unit: f64) -> f64 {
    (number * unit).round() / unit
}

fn side(side: &Side) -> Value {
    json!({
        "directory": side.name,
        "guest": side.title,
        "samples": side.found.samples,
        "doubts": side.doubts,
    })
}

fn line(line: &Line) -> Value {
    let side = |place: usize| {
        json!({
            "samples": line.samples[place],
            "percent": rounded(line.percent[place], 100.0),
        })
    };
    json!({
        "symbol": line.symbol,
        "module": line.module,
        "a": side(0),
        "b": side(1),
        "difference": rounded(line.difference(), 100.0),
    })
}

fn counter(counter: &Counter) -> Value {
    json!({
        "set": counter.set,
        "number": counter.number,
        "name": counter.name,
        "a": counter.values[0],
        "b": counter.values[1],
        "ratio": counter.ratio().map(|ratio| rounded(ratio, 1e6)),
    })
}
