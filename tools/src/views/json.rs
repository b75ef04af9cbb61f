//! The report as one JSON object.
//!
//! Nothing in it depends on the host, the moment or the directory: two exact runs of the same
//! guest from the same date give the same bytes.

use std::{collections::BTreeMap, path::Path};

use anyhow::Result;
use link::data::Level;
use serde::Serialize;

use crate::{
    computer::whole_file,
    costs::paths::Paths,
    folder::record::TracingRecord,
    formats::counters::set_name,
    profile::callers::Calls,
    report::{ExactCounts, Report},
};

#[derive(Serialize)]
struct Object<'a> {
    guest: &'a str,
    mode: &'a str,
    cpus: u32,
    /// The model that cache counters come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact_caches: Option<&'a str>,
    /// Sums over all CPUs by set and counter number, of the machine's own measurement. The sets of each coprocessor
    /// group have their own sums.
    counters: BTreeMap<String, BTreeMap<u16, u64>>,
    samples: Samples,
    /// Traces of program events.
    #[serde(skip_serializing_if = "TracingRecord::is_empty")]
    tracing: &'a TracingRecord,
    hot: Vec<Hot<'a>>,
    /// The paths of a guest that is a machine.
    #[serde(skip_serializing_if = "Paths::is_empty")]
    paths: Paths,
    /// Call stacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    stacks: Option<StacksObject<'a>>,
    /// Exact counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact_counts: Option<&'a ExactCounts>,
    /// Samples of z/OS by its program parameter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    work_units: Vec<Unit>,
    /// Of all blocks, CPU after CPU.
    sdb_sha256: &'a str,
}

#[derive(Serialize)]
struct Samples {
    taken: u64,
    lost: u64,
    blocks: u64,
}

#[derive(Serialize)]
struct Unit {
    home_asn: u16,
    unit: String,
    samples: u64,
}

#[derive(Serialize)]
struct Hot<'a> {
    symbol: &'a str,
    /// The program that it is part of: two programs may have routines of the same name.
    module: &'a str,
    samples: u64,
    percent: f64,
}

#[derive(Serialize)]
struct StacksObject<'a> {
    /// By why they ended.
    ends: BTreeMap<&'static str, u64>,
    /// Samples without one.
    missing: u64,
    routines: Vec<Inclusive<'a>>,
    calls: Vec<Call<'a>>,
}

#[derive(Serialize)]
struct Inclusive<'a> {
    symbol: &'a str,
    module: &'a str,
    inclusive: u64,
    exclusive: u64,
}

#[derive(Serialize)]
struct Call<'a> {
    caller: &'a str,
    caller_module: &'a str,
    callee: &'a str,
    callee_module: &'a str,
    samples: u64,
}

impl<'a> StacksObject<'a> {
    fn new(calls: &'a Calls) -> Self {
        let ends = calls.found.ends.iter();
        Self {
            ends: ends.map(|(end, stacks)| (end.words(), *stacks)).collect(),
            missing: calls.found.missing,
            routines: calls
                .by_inclusive()
                .into_iter()
                .map(|(routine, shares)| Inclusive {
                    symbol: &routine.symbol,
                    module: &routine.module,
                    inclusive: shares.inclusive,
                    exclusive: shares.exclusive,
                })
                .collect(),
            calls: calls
                .pairs
                .iter()
                .map(|((caller, callee), samples)| Call {
                    caller: &caller.symbol,
                    caller_module: &caller.module,
                    callee: &callee.symbol,
                    callee_module: &callee.module,
                    samples: *samples,
                })
                .collect(),
        }
    }
}

/// The object as text.
pub fn text(report: &Report) -> Result<String> {
    let mut counters: BTreeMap<String, BTreeMap<u16, u64>> = BTreeMap::new();
    for set in report
        .counters
        .iter()
        .filter(|set| set.level == Level::Machine && set.authorized)
    {
        let name = set_name(set.set);
        let name = match set.is_of_group() {
            true => format!("{name}-{}", set.cpu),
            false => name,
        };
        if !set.is_in_sum() {
            continue;
        }
        let sums = counters.entry(name).or_default();
        for (number, value) in (set.first..=u16::MAX).zip(&set.values) {
            let sum = sums.entry(number).or_default();
            *sum = sum.wrapping_add(*value);
        }
    }
    let object = Object {
        guest: &report.record.guest,
        mode: report.record.mode_found(),
        cpus: report.record.cpus,
        exact_caches: report.record.exact_caches.as_deref(),
        counters,
        samples: Samples {
            taken: report.taken(),
            lost: report.lost(),
            blocks: report.blocks(),
        },
        tracing: &report.record.tracing,
        stacks: report.calls.as_ref().map(StacksObject::new),
        exact_counts: report.exact.as_ref(),
        work_units: report
            .units
            .iter()
            .map(|(parameter, samples)| Unit {
                home_asn: parameter.home_asn,
                unit: parameter.to_string(),
                samples: *samples,
            })
            .collect(),
        hot: report
            .hot
            .iter()
            .map(|hot| Hot {
                symbol: &hot.symbol,
                module: &hot.module,
                samples: hot.samples,
                percent: (report.percent(hot.samples) * 100.0).round() / 100.0,
            })
            .collect(),
        paths: Paths::new(&report.record.paths),
        sdb_sha256: &report.sdb_sha256,
    };
    Ok(serde_json::to_string_pretty(&object)? + "\n")
}

/// Writes the object to a file.
pub fn write(report: &Report, file: &Path) -> Result<()> {
    save(&text(report)?, file)
}

/// Writes the text to the file that was named with `--json`.
pub fn save(text: &str, file: &Path) -> Result<()> {
    whole_file::write(file, text, "--json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        costs::paths::tests::counted,
        counts::tests::{add, add_calls, calls},
        report::tests::{directory, with_stacks},
    };

    #[test]
    fn the_object_has_the_documented_shape() {
        let directory = directory();
        let report = Report::read(directory.path()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text(&report).unwrap()).unwrap();
        assert_eq!(value["guest"], "loop");
        assert_eq!(value["mode"], "exact");
        assert_eq!(value["cpus"], 2);
        assert_eq!(value["counters"]["basic"]["0"], 2001);
        assert_eq!(value["counters"]["problem-state"]["33"], 10);
        assert_eq!(value["counters"]["crypto-activity"]["76"], 7);
        assert_eq!(value["counters"]["extended"]["128"], 0);
        assert_eq!(value["counters"]["extended"]["129"], 14);
        // Both CPUs are threads of one core, whose cycles count once.
        assert_eq!(value["counters"]["mt-diagnostic"]["448"], 300);
        assert_eq!(value["counters"]["coprocessor-group-0"]["4"], 40);
        assert_eq!(value["counters"]["coprocessor-group-1"]["4"], 41);
        assert_eq!(
            value["samples"],
            serde_json::json!({"taken": 7, "lost": 2, "blocks": 2})
        );
        assert_eq!(
            value["hot"][0],
            serde_json::json!({"symbol": "inner", "module": "g", "samples": 3, "percent": 42.86})
        );
        assert_eq!(value["sdb_sha256"].as_str().map(str::len), Some(64));
        assert_eq!(value.as_object().unwrap().len(), 7);
    }

    #[test]
    fn a_run_with_call_stacks_has_them_in_the_object() {
        let directory = with_stacks();
        let report = Report::read(directory.path()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text(&report).unwrap()).unwrap();
        let stacks = &value["stacks"];
        assert_eq!(
            stacks["ends"],
            serde_json::json!({
                "complete": 3,
                "a frame that has no storage": 1,
                "a frame that is not above the one before": 1
            })
        );
        assert_eq!(stacks["missing"], 2);
        assert_eq!(
            stacks["routines"][0],
            serde_json::json!({"symbol": "start", "module": "g", "inclusive": 4, "exclusive": 2})
        );
        assert_eq!(
            stacks["calls"],
            serde_json::json!([{
                "caller": "start", "caller_module": "g", "callee": "inner", "callee_module": "g", "samples": 2
            }])
        );
    }

    #[test]
    fn exact_counts_are_in_the_object_by_routine() {
        let directory = directory();
        add(
            directory.path(),
            0,
            &[&[(0x20_0020, 8, 120), (0x99_0000, 1, 4)]],
        );
        add_calls(
            directory.path(),
            0,
            1,
            &[calls(0x20_0006, 0x20_0020, (120, 964))],
        );
        let report = Report::read(directory.path()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text(&report).unwrap()).unwrap();
        let expected = serde_json::json!({
            "counted": 964,
            "unmatched": 0, "skipped": 0,
            "unmatched_calls": {"returns": 0, "abandoned": 0, "not_followed": 0},
            "routines": [
                {"symbol": "inner", "module": "g", "instructions": 960, "entries": 120, "calls": 120, "inclusive": 964},
                {"symbol": "(unknown address)", "module": "", "instructions": 4, "entries": null, "calls": null,
                 "inclusive": null}
            ]
        });
        assert_eq!(value["exact_counts"], expected);
    }

    #[test]
    fn the_paths_of_a_guest_that_is_a_machine_are_in_the_object_beside_their_budgets() {
        let directory = directory();
        let mut report = Report::read(directory.path()).unwrap();
        report.record.paths = counted();
        let value: serde_json::Value = serde_json::from_str(&text(&report).unwrap()).unwrap();
        let paths = value["paths"].as_array().unwrap();
        assert_eq!(paths.len(), 3);
        assert_eq!(
            paths[1],
            serde_json::json!({
                "cause": "STPT", "paths": 11, "instructions": 1820, "shortest": 150, "mean": 165, "longest": 180,
                "budget": {"path": "stpt", "instructions": 160, "within": true}
            })
        );
        assert_eq!(paths[0]["budget"]["within"], false);
        assert_eq!(paths[2].get("budget"), None);
    }

    #[test]
    fn routines_of_one_name_are_told_apart_by_their_programs() {
        let directory = directory();
        let mut report = Report::read(directory.path()).unwrap();
        report.hot.truncate(2);
        for (hot, module) in report.hot.iter_mut().zip(["ls", "sh"]) {
            hot.symbol = "main".to_owned();
            hot.module = module.to_owned();
        }
        let value: serde_json::Value = serde_json::from_str(&text(&report).unwrap()).unwrap();
        let modules = [0, 1].map(|line| value["hot"][line]["module"].as_str());
        assert_eq!(modules, [Some("ls"), Some("sh")]);
    }

    #[test]
    fn the_same_raw_files_give_the_same_bytes_in_another_directory() {
        let (one, other) = (directory(), directory());
        let of = |path: &Path| text(&Report::read(path).unwrap()).unwrap();
        assert_eq!(of(one.path()), of(other.path()));
    }
}
