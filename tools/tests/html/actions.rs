//! What a person does with the page: find, zoom, select, compare and print, with the pointer and with keys alone.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use measure::{profile::Profile, views::html::bins::Columns};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    browser::Browser,
    page, page_against,
    synthetic::{Folder, HOSTILE},
};

/// A run with call stacks, and the page of it.
fn with_stacks() -> (TempDir, PathBuf) {
    made(&Folder {
        has_stacks: true,
        ..Folder::of(20_000, 2)
    })
}

fn made(folder: &Folder) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    folder.write(directory.path());
    let (file, output) = page(directory.path());
    assert!(output.status.success(), "{output:?}");
    (directory, file)
}

/// Numbers of the page, which have commas.
fn number(text: &str) -> u64 {
    text.replace(',', "").parse().unwrap()
}

/// Exclusive samples by symbol, as the table shows them.
fn table(browser: &mut Browser) -> BTreeMap<String, u64> {
    let rows = browser.ask(
        "[...document.querySelectorAll('#hot tbody tr')].map((row) =>
            [row.querySelector('.symbol').textContent, row.querySelector('.samples').textContent])",
    );
    let rows: Vec<(String, String)> = serde_json::from_value(rows).unwrap();
    let counted = rows
        .into_iter()
        .map(|(symbol, samples)| (symbol, number(&samples)));
    counted.filter(|(_, samples)| *samples > 0).collect()
}

/// The columns that are selected.
fn span(browser: &mut Browser) -> [usize; 2] {
    let span = browser.ask(
        "[...document.querySelectorAll('.handle')].map((one) => Number(one.getAttribute('aria-valuenow')))",
    );
    serde_json::from_value(span).unwrap()
}

/// Samples by symbol in the files of the run: those of these columns and CPUs.
fn in_files(directory: &Path, [from, to]: [usize; 2], cpus: &[u16]) -> BTreeMap<String, u64> {
    let profile = Profile::open(directory).unwrap();
    let samples: Vec<_> = profile.samples().map(Result::unwrap).collect();
    let times = || samples.iter().map(|sample| sample.tod);
    let (begin, end) = (times().min().unwrap(), times().max().unwrap());
    let columns = Columns::of(begin, end, samples.len() as u64);
    let mut counts = BTreeMap::new();
    for sample in &samples {
        if (from..to).contains(&columns.column(sample.tod)) && cpus.contains(&sample.cpu) {
            let symbol = profile.names.line(&sample.entry).symbol;
            *counts
                .entry(symbol.replace('\u{202E}', "\\u{202e}"))
                .or_default() += 1;
        }
    }
    counts
}

fn sum(counts: &BTreeMap<String, u64>) -> u64 {
    counts.values().sum()
}

/// Samples of the frame at the top of the flame graph.
fn top_frame(browser: &mut Browser) -> u64 {
    let label = browser.text("document.querySelector('.frame').getAttribute('aria-label')");
    let samples = label
        .strip_prefix("all: ")
        .and_then(|rest| rest.split(' ').next());
    number(samples.unwrap_or_else(|| panic!("{label}")))
}

#[test]
fn the_search_marks_what_it_finds_and_says_its_share_of_the_selection() {
    let (directory, file) = with_stacks();
    let mut browser = Browser::start();
    browser.open(&file, 1280);
    browser.click("#find");
    browser.write("routine_22");
    let marked = browser.ask("document.querySelectorAll('.frame.match').length");
    assert!(marked.as_u64().unwrap() > 0, "{marked}");
    let wrong = browser.ask(
        "[...document.querySelectorAll('.frame.match')].filter((frame) =>
            !frame.getAttribute('aria-label').includes('routine_22')).length",
    );
    assert_eq!(wrong, 0);
    // Any of the three routines of a stack may be meant; the wait state has no stack.
    let profile = Profile::open(directory.path()).unwrap();
    let mut callers = profile.callers().unwrap();
    let mut samples = 0;
    for sample in profile.samples() {
        let sample = sample.unwrap();
        let stack = profile
            .names
            .stack(&sample.entry, &callers.of(&sample).unwrap());
        assert_eq!(stack.len(), if sample.entry.wait() { 1 } else { 3 });
        samples += u64::from(stack.iter().any(|line| line.symbol.contains("routine_22")));
    }
    let found = browser.content("#found");
    let share = format!(" frames, {:.1} % of the selection", samples as f64 / 200.0);
    assert!(found.ends_with(&share), "{found}, not {share}");
    let rows = table(&mut browser);
    assert!(!rows.is_empty() && rows.keys().all(|symbol| symbol.contains("routine_22")));
    browser.press("Escape");
    assert_eq!(browser.content("#found"), "");
    assert_eq!(
        browser.ask("document.querySelectorAll('.frame.match').length"),
        0
    );
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_frame_that_is_clicked_takes_the_whole_width_and_the_way_back_leads_to_all() {
    let (_directory, file) = with_stacks();
    let mut browser = Browser::start();
    browser.open(&file, 1280);
    let widths = "[...document.querySelectorAll('.frame')].map((frame) => frame.style.width)";
    let before = browser.ask(widths);
    let frame = "#flamegraph .frame[aria-level='4']";
    let name = browser.content(frame);
    let stack = browser.text(&format!("document.querySelector({frame:?}).dataset.stack"));
    browser.click(frame);
    let frame = format!(".frame[data-stack='{stack}']");
    let width = browser.ask(&format!("document.querySelector({frame:?}).style.width"));
    assert_eq!(width, "100%");
    assert_eq!(
        browser.ask("document.querySelectorAll('.frame.above').length"),
        3
    );
    assert!(browser.content("#frame").contains(&name));
    browser.click("#reset");
    assert_eq!(browser.ask(widths), before);
    browser.click(&frame);
    browser.press("Escape");
    assert_eq!(browser.ask(widths), before);
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_selection_shows_everywhere_what_the_files_of_the_run_have_in_it() {
    let (directory, file) = with_stacks();
    let mut browser = Browser::start();
    browser.open(&file, 1280);
    let whole = in_files(directory.path(), [0, usize::MAX], &[0, 1]);
    assert_eq!(table(&mut browser).values().max(), whole.values().max());

    browser.drag(".plot", 0.25, 0.5);
    let [from, to] = span(&mut browser);
    assert!(
        (90..=110).contains(&from) && (190..=210).contains(&to),
        "{from}, {to}"
    );
    let expected = in_files(directory.path(), [from, to], &[0, 1]);
    assert!(expected.len() <= 200, "all have a row");
    assert_eq!(table(&mut browser), expected);
    assert_eq!(top_frame(&mut browser), sum(&expected));
    assert!(browser.content("#selected").contains(&format!(
        "of 20,000 samples ({:.1} %)",
        sum(&expected) as f64 / 200.0
    )));

    // One CPU of the span.
    browser.click("#cpus button:last-of-type");
    let expected = in_files(directory.path(), [from, to], &[1]);
    assert_eq!(table(&mut browser), expected);
    assert_eq!(top_frame(&mut browser), sum(&expected));
    let states = browser.content("table.states tr[data-cpu=all] td.n");
    assert_eq!(number(&states), sum(&expected));
    assert_eq!(
        browser.ask("document.querySelector('tr[data-cpu=\"0\"]').hidden"),
        true
    );
    // The text of a function has as many samples as its row.
    let symbol = browser.content("#code-0 summary bdi");
    let of_function = expected.get(&symbol).copied().unwrap_or(0);
    let totals = browser.content("#code-0 .totals");
    assert_eq!(number(totals.split(' ').next().unwrap()), of_function);
    let lines = browser.ask(
        "[...document.querySelectorAll('#code-0 .text [data-i] td:first-child')]
            .map((cell) => Number(cell.textContent.replace(/,/g, ''))).reduce((a, b) => a + b, 0)",
    );
    assert_eq!(lines, of_function);

    browser.click("#clear");
    assert_eq!(top_frame(&mut browser), 20_000);
    assert!(
        browser
            .content("#selected")
            .contains("everything: 20,000 samples")
    );
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_program_that_is_chosen_is_the_only_one_that_counts() {
    let (directory, file) = made(&Folder {
        programs: 3,
        ..Folder::of(9_000, 2)
    });
    let mut browser = Browser::start();
    browser.open(&file, 1280);
    let name = browser.content("#programs button");
    browser.click("#programs button");
    let profile = Profile::open(directory.path()).unwrap();
    let of_program = profile.samples().filter(|sample| {
        let line = profile.names.line(&sample.as_ref().unwrap().entry);
        line.module == name
    });
    let expected = of_program.count() as u64;
    assert!(expected > 0 && expected < 9_000);
    assert_eq!(top_frame(&mut browser), expected);
    assert_eq!(sum(&table(&mut browser)), expected);
    let states = browser.content("table.states tr[data-cpu=all] td.n");
    assert_eq!(number(&states), expected);
    let modules = browser.ask(
        "[...new Set([...document.querySelectorAll('#hot td.module')].map((cell) => cell.textContent))]",
    );
    assert_eq!(modules, json!([name]));
    // Chosen once more it is not chosen.
    browser.click("#programs button");
    assert_eq!(top_frame(&mut browser), 9_000);
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn keys_alone_find_select_zoom_and_take_back() {
    let (directory, file) = with_stacks();
    let mut browser = Browser::start();
    browser.open(&file, 1280);
    browser.press("/");
    browser.write("routine_1");
    assert!(browser.content("#found").contains("% of the selection"));
    browser.press("Escape");
    assert_eq!(browser.content("#found"), "");

    browser.tab_to(".handle");
    for key in ["ArrowRight", "Shift+ArrowRight", "ArrowRight", "ArrowLeft"] {
        browser.press(key);
    }
    assert_eq!(span(&mut browser)[0], 11);
    browser.tab_to(".handle");
    browser.press("Shift+ArrowLeft");
    let [from, to] = span(&mut browser);
    let expected = in_files(directory.path(), [from, to], &[0, 1]);
    assert_eq!((from, top_frame(&mut browser)), (11, sum(&expected)));

    browser.tab_to(".frame");
    let label = "document.activeElement.getAttribute('aria-label')";
    let all = browser.text(label);
    for _ in 0..3 {
        browser.press("ArrowDown");
    }
    let deep = browser.text(label);
    assert_ne!(all, deep);
    assert!(
        browser
            .content("#frame")
            .contains(deep.split(": ").next().unwrap())
    );
    // What has the focus shows it.
    let outline = browser.text("getComputedStyle(document.activeElement).outlineStyle");
    assert_eq!(outline, "solid");
    browser.press("Enter");
    assert_eq!(browser.text(label), deep);
    assert_eq!(browser.text("document.activeElement.style.width"), "100%");
    browser.press("Escape");
    assert_eq!(browser.text(label), all);
    // Nothing is zoomed or sought for any more, so the selection is next.
    browser.press("Escape");
    assert_eq!(top_frame(&mut browser), 20_000);

    // The table's order, and a listing.
    browser.tab_to("th button");
    browser.press("Tab");
    browser.press("Enter");
    let first = browser.content("#hot tbody .symbol");
    let last = browser.content("#hot tbody tr:last-child .symbol");
    assert!(first < last, "{first}, {last}");
    browser.tab_to("summary");
    let is_open = browser.ask("document.activeElement.parentElement.open");
    browser.press("Enter");
    assert_ne!(
        browser.ask("document.activeElement.parentElement.open"),
        is_open
    );
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

/// The words of names that a line breaks, of elements that are seen.
const BROKEN: &str = r"[...document.querySelectorAll('bdi')].flatMap((name) => {
    const words = [];
    const walker = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode;
        for (const word of node.data.matchAll(/[\p{L}\p{N}_]+/gu)) {
            const range = document.createRange();
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
            if (lines.size > 1) words.push(word[0]);
        }
    }
    return words;
})";

#[test]
fn no_page_is_wider_than_its_window_and_no_name_is_broken_within_a_word() {
    let (before, _) = made(&Folder::of(5_000, 1));
    let (directory, one) = with_stacks();
    let two = page_against(directory.path(), before.path()).0;
    let mut browser = Browser::start();
    for file in [&one, &two] {
        for width in [60, 320, 1280, 4000] {
            browser.open(file, width);
            browser.ask(
                "document.querySelectorAll('details').forEach((part) => { part.open = true; })",
            );
            let wide = browser.ask("document.documentElement.scrollWidth");
            assert!(
                wide.as_u64().unwrap() <= u64::from(width),
                "{wide} in {width}"
            );
            assert_eq!(browser.ask(BROKEN), json!([]), "{width}");
            // The window is used: the flame graph is nearly as wide.
            let graph = browser.place("#flamegraph")[2];
            assert!(graph > f64::from(width) * 0.55, "{graph} in {width}");
        }
    }
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

/// The contrast of the text of an element with the page, as WCAG calculates it.
const CONTRAST: &str = r"((selector) => {
    const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const light = (colour) => {
        pen.fillStyle = colour;
        pen.fillRect(0, 0, 1, 1);
        const [red, green, blue] = [...pen.getImageData(0, 0, 1, 1).data].map((value) => {
            const part = value / 255;
            return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const found = document.querySelector(selector);
    let behind = found;
    while (getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
    const both = [light(getComputedStyle(found).color), light(getComputedStyle(behind).backgroundColor)];
    return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
})";

#[test]
fn light_and_dark_follow_the_system_or_the_switch_and_are_legible() {
    let (_directory, file) = with_stacks();
    let mut browser = Browser::start();
    let back = "getComputedStyle(document.body).backgroundColor";
    let (light, dark) = ("rgb(255, 255, 255)", "rgb(18, 22, 27)");
    browser.emulate("screen", "dark");
    browser.open(&file, 1280);
    assert_eq!(browser.ask(back), dark);
    for expected in [light, dark, dark] {
        browser.click("#theme");
        assert_eq!(browser.ask(back), expected, "{}", browser.content("#theme"));
    }
    for scheme in ["light", "dark"] {
        browser.emulate("screen", scheme);
        let texts = [
            "body",
            ".quiet",
            "nav a",
            ".end",
            ".warnings li",
            ".frame[aria-level='1']",
            ".frame[aria-level='4']",
            "#cpus button",
            ".legend",
            "td.symbol a",
        ];
        for selector in texts {
            let contrast = browser.ask(&format!("{CONTRAST}({selector:?})"));
            let contrast = contrast.as_f64().unwrap();
            assert!(contrast >= 4.5, "{selector} in {scheme}: {contrast:.2}");
        }
    }
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn paper_has_the_selection_and_all_listings_and_nothing_to_press() {
    let (_directory, file) = with_stacks();
    let mut browser = Browser::start();
    browser.emulate("print", "dark");
    browser.open(&file, 700);
    assert_eq!(
        browser.ask("getComputedStyle(document.body).backgroundColor"),
        "rgb(255, 255, 255)"
    );
    for hidden in ["nav", "#find", "#theme", ".handle", "#selection"] {
        let shown = format!("document.querySelector({hidden:?}).getClientRects().length");
        assert_eq!(browser.ask(&shown), 0, "{hidden}");
    }
    browser.emulate("screen", "light");
    browser.drag(".plot", 0.2, 0.6);
    browser.emulate("print", "light");
    let shown = browser.ask("document.querySelector('#selected').getClientRects().length");
    assert_ne!(shown, 0, "paper says what is selected");
    browser.ask(
        "addEventListener('beforeprint', () => setTimeout(() => {}, 0)),
        addEventListener('beforeprint', () => { document.title = String(document.querySelectorAll('details:not([open])').length); })",
    );
    let closed = "document.querySelectorAll('details:not([open])').length";
    let before = browser.ask(closed);
    assert_ne!(before, 0);
    let printed = browser.print();
    // The beginning of a PDF, in base64.
    assert!(printed.starts_with("JVBERi0"), "{}", &printed[..20]);
    assert_eq!(
        browser.ask("document.title"),
        "0",
        "all listings are open on paper"
    );
    assert_eq!(browser.ask(closed), before);
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn two_runs_are_compared_symbol_by_symbol_and_frame_by_frame() {
    let (before, _) = made(&Folder {
        has_stacks: true,
        ..Folder::of(10_000, 1)
    });
    let (directory, _) = with_stacks();
    let (file, output) = page_against(directory.path(), before.path());
    assert!(output.status.success(), "{output:?}");
    let mut browser = Browser::start();
    browser.open(&file, 1280);
    assert!(browser.content("#compared").contains("10,000 samples"));
    let row = "document.querySelector('#hot tbody tr')";
    let cell = |name: &str| format!("{row}.querySelector('.{name}').textContent");
    let cells = |browser: &mut Browser| {
        let symbol = browser.text(&cell("symbol"));
        let numbers = ["samples", "before"].map(|name| number(&browser.text(&cell(name))));
        (symbol, numbers, browser.text(&cell("change")))
    };
    let expected = |symbol: &str, after: &BTreeMap<String, u64>, before: &BTreeMap<String, u64>| {
        let of = |counts: &BTreeMap<String, u64>| {
            let samples = counts.get(symbol).copied().unwrap_or(0);
            (samples, samples as f64 * 100.0 / sum(counts) as f64)
        };
        let (after, before) = (of(after), of(before));
        let change = format!("{:+.2}", after.1 - before.1).replace('-', "−");
        ([after.0, before.0], change)
    };
    let all = [0, usize::MAX];
    let after_all = in_files(directory.path(), all, &[0, 1]);
    let before_all = in_files(before.path(), all, &[0]);
    let (symbol, numbers, change) = cells(&mut browser);
    assert_eq!(
        (numbers, change),
        expected(&symbol, &after_all, &before_all)
    );

    // The largest change first.
    browser.click("#hot th:nth-last-child(1) button, #hot th:nth-last-child(2) button");
    let head = browser.ask(
        "[...document.querySelectorAll('#hot th')].findIndex((head) => head.textContent === 'change') + 1",
    );
    browser.click(&format!("#hot th:nth-child({head}) button"));
    let changes = browser.ask(
        "[...document.querySelectorAll('#hot .change')].map((cell) => Number(cell.dataset.v))",
    );
    let changes: Vec<f64> = serde_json::from_value(changes).unwrap();
    assert!(
        changes.is_sorted_by(|one, other| one >= other),
        "{changes:?}"
    );
    let (symbol, numbers, change) = cells(&mut browser);
    assert_eq!(
        (numbers, change),
        expected(&symbol, &after_all, &before_all)
    );

    // Frames say both shares, and have the widths of either run.
    let label = browser
        .text("document.querySelector('.frame[aria-level=\"4\"]').getAttribute('aria-label')");
    assert!(
        label.contains("; before ") && label.contains("change "),
        "{label}"
    );
    assert_eq!(top_frame(&mut browser), 20_000);
    browser.click("#widths");
    assert_eq!(top_frame(&mut browser), 10_000);
    browser.click("#widths");
    // One CPU: the run before has only that one.
    browser.click("#cpus button");
    let after = in_files(directory.path(), all, &[0]);
    assert_eq!(top_frame(&mut browser), sum(&after));
    let (symbol, numbers, change) = cells(&mut browser);
    assert_eq!((numbers, change), expected(&symbol, &after, &before_all));
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn names_are_text_in_whatever_the_script_makes() {
    let (_directory, file) = with_stacks();
    let mut browser = Browser::start();
    browser.open(&file, 1280);
    browser.click("#find");
    browser.write("onerror");
    let name = HOSTILE.replace('\u{202E}', "\\u{202e}");
    assert!(table(&mut browser).contains_key(&name));
    let labels = browser.text("document.querySelector('.frame.match').getAttribute('aria-label')");
    assert!(labels.starts_with(&name), "{labels}");
    assert_eq!(browser.ask("document.images.length"), 0);
    assert_eq!(browser.ask("document.title"), "synthetic – Millimeter");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_run_without_call_stacks_has_a_flame_graph_of_two_steps() {
    let (_directory, file) = made(&Folder::of(3_000, 1));
    let mut browser = Browser::start();
    browser.open(&file, 1280);
    assert!(
        browser
            .content("#flame")
            .contains("did not follow call stacks")
    );
    let levels = browser.ask(
        "Math.max(...[...document.querySelectorAll('.frame')].map((frame) => frame.ariaLevel))",
    );
    assert_eq!(levels, Value::from(3));
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}
