//! Other people's readers read the exported files, or these tests check them rule by rule against the published
//! form. The counts of every routine are those of the report.
//!
//! inferno reads folded stacks and makes a flame graph of them. `pprof` is decoded by messages that another project
//! keeps for the published `profile.proto`. No crate reads the two JSON forms, so the rules of their descriptions are
//! written down here.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::{folder::SYMBOLS, report::Report};

/// Samples by program and routine.
type Counts = BTreeMap<(String, String), u64>;

/// A run with awkward names: with the signs that separate, quote and escape in these forms.
fn awkward() -> tempfile::TempDir {
    let directory = report::tests::directory();
    let symbols = "0000000000200000\t0000000000200010\tg & \"co\"\t<a as b<&'c str>>::d; e\n\
                   0000000000200020\t0000000000200040\tg & \"co\"\tπ\\n 12\n";
    fs::write(directory.path().join(SYMBOLS), symbols).unwrap();
    directory
}

fn reported(directory: &Path) -> Counts {
    let report = Report::read(directory).unwrap();
    assert_eq!(report.doubts, Vec::<String>::new());
    let hot = report.hot.into_iter();
    let counts: Counts = hot
        .map(|hot| ((hot.module, hot.symbol), hot.samples))
        .collect();
    assert_eq!((counts.len(), counts.values().sum()), (4, 7_u64));
    counts
}

#[test]
fn inferno_draws_every_frame_of_the_folded_stacks_with_the_counts_of_the_report() {
    let directory = awkward();
    let folded = text(directory.path(), To::Folded);
    let mut graph = Vec::new();
    let mut options = inferno::flamegraph::Options::default();
    inferno::flamegraph::from_lines(&mut options, folded.lines(), &mut graph).unwrap();
    let graph = String::from_utf8(graph).unwrap();
    // A frame is titled `name (3 samples, 42.86%)`.
    let mut drawn = BTreeMap::new();
    for title in graph.split("<title>").skip(1) {
        let title = title.split("</title>").next().unwrap();
        let (name, rest) = title.rsplit_once(" (").unwrap();
        let samples = rest.split(" samples").next().unwrap();
        let mut name = name.to_owned();
        for (escape, sign) in [
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&quot;", "\""),
            ("&apos;", "'"),
            ("&amp;", "&"),
        ] {
            name = name.replace(escape, sign);
        }
        let known = drawn.insert(name, samples.replace(',', "").parse().unwrap());
        assert_eq!(known, None);
    }
    let mut expected = BTreeMap::from([("all".to_owned(), 7)]);
    for ((module, symbol), samples) in reported(directory.path()) {
        if !module.is_empty() {
            *expected.entry(module).or_default() += samples;
        }
        // A semicolon ends a frame, and a separate number at the end would be another count.
        let name = symbol.replace(';', ":").replace(" 12", "_12");
        *expected.entry(name).or_default() += samples;
    }
    assert_eq!(drawn, expected);
}

/// Checks that these are numbers from 1 on, each once.
fn unique(ids: impl Iterator<Item = u64>) -> BTreeSet<u64> {
    let mut known = BTreeSet::new();
    for id in ids {
        assert!(id != 0 && known.insert(id), "{id}");
    }
    known
}

/// The rules that the comments of the published `profile.proto` state.
fn check_pprof(whole: &published::Profile) {
    let strings = &whole.string_table;
    assert_eq!(strings[0], "");
    let is_text = |place: &i64| usize::try_from(*place).is_ok_and(|place| place < strings.len());
    let types = || whole.sample_types.iter().chain(whole.period_type.iter());
    assert!(types().all(|kind| is_text(&kind.r#type) && is_text(&kind.unit)));
    let others = [
        whole.drop_frames,
        whole.keep_frames,
        whole.default_sample_type,
    ];
    assert!(whole.comment.iter().chain(&others).all(is_text));
    let mappings = unique(whole.mappings.iter().map(|mapping| mapping.id));
    let functions = unique(whole.functions.iter().map(|function| function.id));
    let locations = unique(whole.locations.iter().map(|location| location.id));
    for mapping in &whole.mappings {
        assert!(is_text(&mapping.filename) && is_text(&mapping.build_id));
        assert!(mapping.memory_start < mapping.memory_limit);
    }
    for function in &whole.functions {
        let texts = [function.name, function.system_name, function.filename];
        assert!(texts.iter().all(is_text));
    }
    for location in &whole.locations {
        if location.mapping_id != 0 {
            assert!(mappings.contains(&location.mapping_id));
            let is_it = |known: &&published::Mapping| known.id == location.mapping_id;
            let mapping = whole.mappings.iter().find(is_it).unwrap();
            assert!(
                (mapping.memory_start..mapping.memory_limit).contains(&location.address),
                "{:X}",
                location.address
            );
        }
        let mut lines = location.lines.iter();
        assert!(lines.all(|line| functions.contains(&line.function_id)));
    }
    for sample in &whole.samples {
        assert_eq!(sample.values.len(), whole.sample_types.len());
        assert!(!sample.location_ids.is_empty());
        assert!(sample.location_ids.iter().all(|id| locations.contains(id)));
        for label in &sample.labels {
            assert!(label.key != 0 && is_text(&label.key));
            assert!(is_text(&label.str) && is_text(&label.num_unit));
            assert!(label.str == 0 || label.num == 0);
        }
    }
}

fn pprof_of(directory: &Path) -> (published::Profile, Counts) {
    let profile = Profile::open(directory).unwrap();
    let mut out = Vec::new();
    write(&profile, To::Pprof, &mut out, &mut Ticker::silent()).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(&out[..]).read_to_end(&mut bytes).unwrap();
    let whole = published::Profile::decode(&bytes[..]).unwrap();
    // A field that the schema does not know would be dropped.
    assert!(whole.encode_to_vec() == bytes, "a field is not published");
    check_pprof(&whole);
    let string = |place: i64| whole.string_table[usize::try_from(place).unwrap()].clone();
    let mut counts = Counts::new();
    for sample in &whole.samples {
        let [id] = sample.location_ids[..] else {
            panic!("{sample:?}");
        };
        let mut locations = whole.locations.iter();
        let location = locations.find(|location| location.id == id).unwrap();
        let mut mappings = whole.mappings.iter();
        let mapping = mappings.find(|mapping| mapping.id == location.mapping_id);
        let id = location.lines[0].function_id;
        let mut functions = whole.functions.iter();
        let function = functions.find(|function| function.id == id).unwrap();
        let program = mapping.map_or(String::new(), |mapping| string(mapping.filename));
        *counts.entry((program, string(function.name))).or_default() +=
            u64::try_from(sample.values[0]).unwrap();
    }
    (whole, counts)
}

#[test]
fn pprof_keeps_the_rules_of_its_published_schema_and_counts_as_the_report() {
    let directory = awkward();
    let (_, counts) = pprof_of(directory.path());
    assert_eq!(counts, reported(directory.path()));
    let directory = collection();
    let (whole, counts) = pprof_of(directory.path());
    assert_eq!(counts.values().sum::<u64>(), 4);
    // If the clock is known, a sample is worth an interval.
    let [_, cpu] = &whole.sample_types[..] else {
        panic!("{:?}", whole.sample_types);
    };
    assert_eq!(whole.period_type.as_ref(), Some(cpu));
    let worth = |sample: &published::Sample| sample.values[0] * whole.period;
    let mut samples = whole.samples.iter();
    assert!(samples.all(|sample| sample.values[1] == worth(sample)));
}

/// The elements of an array.
fn items(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value}"))
}

/// What this index designates in an array.
fn at<'v>(array: &'v Value, index: &Value) -> &'v Value {
    let index = usize::try_from(index.as_u64().unwrap()).unwrap();
    let array = items(array);
    array
        .get(index)
        .unwrap_or_else(|| panic!("{index} of {}", array.len()))
}

fn name(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).into()
}

/// Counts a stack, the outermost name first.
fn count(counts: &mut Counts, stack: &[String]) {
    let name = match stack {
        [symbol] => (String::new(), symbol.clone()),
        [module, symbol] => (module.clone(), symbol.clone()),
        _ => panic!("{stack:?}"),
    };
    *counts.entry(name).or_default() += 1;
}

/// The rules of speedscope's file-format-schema.json for a sampled profile, and one that its importer adds: there are
/// as many weights as samples.
fn speedscope(directory: &Path) -> Counts {
    let file: Value = serde_json::from_str(&text(directory, To::Speedscope)).unwrap();
    let schema = "https://www.speedscope.app/file-format-schema.json";
    assert_eq!(file["$schema"], schema);
    assert!(file["name"].is_string() && file["exporter"].is_string());
    let frames = &file["shared"]["frames"];
    for frame in items(frames) {
        let fields = frame.as_object().unwrap();
        assert!(fields["name"].is_string());
        assert!(fields.get("file").is_none_or(Value::is_string));
        assert!(
            ["line", "col"]
                .iter()
                .all(|place| !fields.contains_key(*place))
        );
    }
    let mut counts = Counts::new();
    for profile in items(&file["profiles"]) {
        assert_eq!(profile["type"], "sampled");
        assert!(profile["name"].is_string());
        let units = [
            "none",
            "nanoseconds",
            "microseconds",
            "milliseconds",
            "seconds",
            "bytes",
        ];
        assert!(units.contains(&&name(&profile["unit"])[..]));
        let (samples, weights) = (items(&profile["samples"]), items(&profile["weights"]));
        assert_eq!(samples.len(), weights.len());
        let sum: f64 = weights.iter().map(|weight| weight.as_f64().unwrap()).sum();
        let value = |name: &str| profile[name].as_f64().unwrap();
        assert!((value("endValue") - value("startValue") - sum).abs() < 1e-9);
        for stack in samples {
            let places = items(stack).iter();
            let stack: Vec<String> = places
                .map(|place| name(&at(frames, place)["name"]))
                .collect();
            count(&mut counts, &stack);
        }
    }
    counts
}

#[test]
fn speedscope_files_keep_their_schema_and_count_as_the_report() {
    let directory = awkward();
    assert_eq!(speedscope(directory.path()), reported(directory.path()));
    assert_eq!(speedscope(collection().path()).values().sum::<u64>(), 4);
}

/// Checks that the columns of a table of a processed profile are all as long as it says.
fn check_table(thread: &Value, table: &str, columns: &[&str]) {
    let table = &thread[table];
    let length = table["length"].as_u64().unwrap();
    for column in columns {
        assert!(table[*column].is_array(), "{column}");
    }
    let mut arrays = table
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_array);
    assert!(
        arrays.all(|column| column.len() as u64 == length),
        "{table}"
    );
}

/// The colours that a category may have.
const COLOURS: [&str; 13] = [
    "transparent",
    "purple",
    "green",
    "orange",
    "yellow",
    "lightblue",
    "blue",
    "brown",
    "magenta",
    "red",
    "lightred",
    "darkgrey",
    "grey",
];

/// Checks the tables of a thread: their columns, and that every index designates something.
fn check_thread(thread: &Value, categories: &Value) {
    assert!(thread["pid"].is_string() && thread["name"].is_string());
    assert!(thread["isMainThread"].is_boolean());
    check_table(thread, "samples", &["stack"]);
    check_table(thread, "stackTable", &["frame", "prefix"]);
    let columns = ["address", "inlineDepth", "category", "subcategory", "func"];
    check_table(thread, "frameTable", &columns);
    let columns = ["name", "isJS", "relevantForJS", "resource"];
    check_table(thread, "funcTable", &columns);
    check_table(thread, "resourceTable", &["lib", "name", "host", "type"]);
    check_table(thread, "nativeSymbols", &["libIndex", "address", "name"]);
    check_table(
        thread,
        "markers",
        &["data", "name", "startTime", "endTime", "phase", "category"],
    );
    let stacks = &thread["stackTable"];
    for (own, prefix) in items(&stacks["prefix"]).iter().enumerate() {
        // A stack comes after the one that it extends.
        assert!(prefix.is_null() || prefix.as_u64().unwrap() < own as u64);
    }
    for frame in items(&stacks["frame"]) {
        at(&thread["frameTable"]["func"], frame);
    }
    let frames = &thread["frameTable"];
    let kinds = items(&frames["category"])
        .iter()
        .zip(items(&frames["subcategory"]));
    for (category, subcategory) in kinds {
        at(&at(categories, category)["subcategories"], subcategory);
    }
    for function in items(&frames["func"]) {
        at(&thread["funcTable"]["name"], function);
    }
    for text in items(&thread["funcTable"]["name"]) {
        assert!(at(&thread["stringArray"], text).is_string());
    }
    for resource in items(&thread["funcTable"]["resource"]) {
        assert!(resource == -1 || at(&thread["resourceTable"]["name"], resource).is_u64());
    }
    let samples = &thread["samples"];
    assert!(["samples", "tracing-ms", "bytes"].contains(&&name(&samples["weightType"])[..]));
    assert!(samples["weight"].is_null() || samples["weight"].is_array());
    // Times, or the differences of times. Time does not go back.
    let (times, deltas) = (samples["time"].as_array(), samples["timeDeltas"].as_array());
    assert!(times.is_some() != deltas.is_some());
    let number = |value: &Value| value.as_f64().unwrap();
    assert!(times.is_none_or(|times| times.iter().map(number).is_sorted()));
    assert!(deltas.is_none_or(|deltas| deltas.iter().map(number).all(|delta| delta >= 0.0)));
}

/// The rules of the processed profile of the Firefox Profiler, as its types describe them.
fn firefox(directory: &Path) -> Counts {
    let file: Value = serde_json::from_str(&text(directory, To::Firefox)).unwrap();
    let meta = &file["meta"];
    assert!(meta["interval"].as_f64().unwrap() > 0.0 && meta["startTime"].is_number());
    // The version in which each thread has its own strings.
    assert_eq!(meta["preprocessedProfileVersion"], 55);
    let categories = &meta["categories"];
    for category in items(categories) {
        assert!(
            COLOURS.contains(&&name(&category["color"])[..]),
            "{category}"
        );
        assert_eq!(category["subcategories"][0], "Other");
    }
    let mut kinds = items(categories).iter();
    assert!(kinds.any(|category| category["color"] == "grey"));
    assert!(file["libs"].is_array());
    let mut counts = Counts::new();
    for thread in items(&file["threads"]) {
        check_thread(thread, categories);
        for stack in items(&thread["samples"]["stack"]) {
            let mut names = Vec::new();
            let mut next = stack;
            while !next.is_null() {
                let frame = at(&thread["stackTable"]["frame"], next);
                let function = at(&thread["frameTable"]["func"], frame);
                let text = at(&thread["funcTable"]["name"], function);
                names.push(name(at(&thread["stringArray"], text)));
                next = at(&thread["stackTable"]["prefix"], next);
            }
            names.reverse();
            count(&mut counts, &names);
        }
    }
    counts
}

#[test]
fn firefox_profiles_have_whole_tables_and_count_as_the_report() {
    let directory = awkward();
    assert_eq!(firefox(directory.path()), reported(directory.path()));
    assert_eq!(firefox(collection().path()).values().sum::<u64>(), 4);
}
