//! One JSON object.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use super::{Shown, model_name, time};
use crate::figures::{counts::Value, figure::Figure, generation::Generation, group::Group};

#[derive(Serialize)]
struct Object<'a> {
    records: u64,
    groups: Vec<Row<'a>>,
    /// The figures of each model: what they are, by what formula, and where it is published.
    models: BTreeMap<&'static str, BTreeMap<&'static str, Described>>,
    doubts: &'a [String],
}

#[derive(Serialize)]
struct Row<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    machine: &'a str,
    model: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<u16>,
    records: u32,
    figures: BTreeMap<&'static str, serde_json::Value>,
    /// Why a figure is missing.
    missing: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct Described {
    name: &'static str,
    meaning: &'static str,
    unit: &'static str,
    formula: String,
    source: String,
}

/// The object as text.
pub fn text(shown: &Shown<'_>) -> Result<String> {
    let models = shown.models().into_iter();
    let object = Object {
        records: shown.collected.records,
        groups: shown
            .collected
            .groups
            .iter()
            .map(|group| row(shown, group))
            .collect(),
        models: models
            .map(|(generation, group)| {
                (model_name(generation), described(shown, generation, group))
            })
            .collect(),
        doubts: &shown.collected.doubts,
    };
    Ok(serde_json::to_string_pretty(&object)? + "\n")
}

fn row<'a>(shown: &Shown<'_>, group: &'a Group) -> Row<'a> {
    let key = &group.key;
    let (mut figures, mut missing) = (BTreeMap::new(), BTreeMap::new());
    for figure in Figure::ALL {
        match group.counts.figure(figure, shown.given) {
            Ok(Value::Number(number)) => {
                figures.insert(figure.name(), number.into());
            }
            Ok(Value::Workload(hint)) => {
                figures.insert(figure.name(), hint.to_string().into());
            }
            Err(lack) => {
                missing.insert(figure.name(), lack.to_string());
            }
        }
    }
    Row {
        system: key.system.as_deref(),
        machine: &key.machine,
        model: model_name(group.counts.generation()),
        start: key.interval.map(|interval| time(interval.start)),
        end: key.interval.map(|interval| time(interval.end)),
        class: key.class.map(|class| class.to_string()),
        cpu: key.cpu,
        records: group.counts.records,
        figures,
        missing,
    }
}

fn described(
    shown: &Shown<'_>,
    generation: Option<Generation>,
    group: &Group,
) -> BTreeMap<&'static str, Described> {
    let all = Figure::ALL.into_iter().filter_map(|figure| {
        let published = group.counts.formula(figure, shown.given).ok()?;
        let formula = group.counts.formula_text(figure, shown.given).ok()?;
        let described = Described {
            name: figure.name_on(generation),
            meaning: figure.meaning(),
            unit: figure.unit(),
            formula,
            source: published.source.text(generation),
        };
        Some((figure.name(), described))
    });
    all.collect()
}
