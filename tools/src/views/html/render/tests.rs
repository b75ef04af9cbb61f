use serde_json::{Value, json};

use super::*;
use crate::views::html::page::*;

/// Begins the script.
const MODULE: &str = "<script type=\"module\">";

/// A name that could break out of a page in three ways if it were not escaped.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>'\"&lt;";

fn hostile() -> Page {
    let line = |listing| HotLine {
        symbol: HOSTILE.to_owned(),
        module: HOSTILE.to_owned(),
        samples: 3,
        source: Some((HOSTILE.to_owned(), 2)),
        listing,
        ..HotLine::default()
    };
    Page {
        guest: HOSTILE.to_owned(),
        directory: HOSTILE.to_owned(),
        end: HOSTILE.to_owned(),
        samples: 3,
        warnings: vec![Warning {
            is_loss: true,
            text: HOSTILE.to_owned(),
        }],
        facts: vec![Fact {
            name: "guest",
            value: HOSTILE.to_owned(),
        }],
        shares: vec![Share {
            supervisor: 2,
            problem: 1,
            ..Share::default()
        }],
        hot: Hot {
            lines: vec![line(Some(0)), line(None)],
            ..Hot::default()
        },
        time_line: Absent::Present(TimeLine {
            columns: 2,
            programs: vec![HOSTILE.to_owned()],
            routines: vec![(HOSTILE.to_owned(), HOSTILE.to_owned())],
            stacks: vec![Stack::default(); 2],
            lanes: vec![Lane {
                cpu: Some(0),
                stacks: vec![Cell {
                    what: 1,
                    column: 1,
                    samples: 3,
                }],
                ..Lane::default()
            }],
            span: (0.0, 1.0),
            unit: "ms".to_owned(),
            notes: vec![HOSTILE.to_owned()],
            ..TimeLine::default()
        }),
        before: Some(Before {
            title: HOSTILE.to_owned(),
            directory: HOSTILE.to_owned(),
            samples: 1,
        }),
        listings: Absent::Present(vec![Listing {
            symbol: HOSTILE.to_owned(),
            module: HOSTILE.to_owned(),
            samples: 3,
            sources: vec![(HOSTILE.to_owned(), 2)],
            lines: vec![
                ListingLine::Source {
                    place: HOSTILE.to_owned(),
                    text: Some(HOSTILE.to_owned()),
                },
                ListingLine::Instruction(Instruction {
                    text: HOSTILE.to_owned(),
                    target: Some(HOSTILE.to_owned()),
                    samples: 3,
                    ..Instruction::default()
                }),
                ListingLine::Gap {
                    instructions: 7,
                    samples: 0,
                },
            ],
            ..Listing::default()
        }]),
        counters: Absent::Present(vec![CounterTable {
            title: HOSTILE.to_owned(),
            owners: vec![HOSTILE.to_owned()],
            intervals: 2,
            rows: vec![CounterRow {
                set: HOSTILE.to_owned(),
                name: HOSTILE.to_owned(),
                values: vec![Some(5)],
                chart: vec![2.0, 3.0],
                ..CounterRow::default()
            }],
            ..CounterTable::default()
        }]),
        ..Page::default()
    }
}

#[test]
fn a_hostile_name_is_text_wherever_it_stands() {
    let text = page(&hostile());
    assert!(!text.contains("<img"), "no element of that name");
    assert_eq!(text.matches("</script>").count(), 2, "the page's own two");
    assert_eq!(text.matches("<script").count(), 2);
    let text = text.replace("<wbr>", "");
    assert!(text.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;'&quot;&amp;lt;"));
    assert!(text.contains(r#"\u003c/script>\u003cimg"#));
    // The script reads the name unchanged.
    let begin = text.find(r#"id="data">"#).unwrap() + 10;
    let end = begin + text[begin..].find("</script>").unwrap();
    let data: Value = serde_json::from_str(&text[begin..end]).unwrap();
    let time = &data["time"];
    assert_eq!(time["programs"][0], HOSTILE);
    assert_eq!(time["modules"][0], HOSTILE);
    assert_eq!(time["routines"], json!([[HOSTILE, 0]]));
    // One step to the next stack, with one cell: one step to its column, three samples.
    assert_eq!(time["lanes"][0]["stacks"], "BBBD");
}

#[test]
fn the_page_names_nothing_outside_of_itself() {
    let text = page(&hostile());
    let data = text.find(r#"id="data">"#).unwrap();
    let behind = data + text[data..].find("</script>").unwrap();
    let text = [&text[..data], &text[behind..]].concat();
    for outside in [
        "http:", "https:", " src=", "url(h", "@import", "<link", "<base",
    ] {
        let text = text
            .replace("<wbr>", "")
            .replace("http://www.w3.org/2000/svg", "");
        let text = text.replace(&maud::html! { (HOSTILE) }.into_string(), "");
        assert!(!text.contains(outside), "{outside}");
    }
    assert!(text.contains("default-src 'none'"));
}

#[test]
fn the_policy_allows_the_script_that_is_in_the_page() {
    let text = page(&Page::default());
    let begin = text.rfind(MODULE).unwrap() + MODULE.len();
    let end = begin + text[begin..].find("</script>").unwrap();
    let hash = BASE64_STANDARD.encode(Sha256::digest(&text[begin..end]));
    assert!(text.contains(&format!("sha256-{hash}")));
}

#[test]
fn the_page_says_what_is_missing_and_that_a_run_lost_nothing() {
    let text = page(&Page {
        counters: Absent::Because("None arrived.".to_owned()),
        without_samples: "No samples were taken.".to_owned(),
        ..Page::default()
    });
    assert!(text.contains("None arrived."));
    assert!(text.contains("Nothing was lost, and nothing is in doubt."));
    assert!(text.contains("No samples were taken."));
}

#[test]
fn a_loss_stands_before_everything_that_was_measured() {
    let text = page(&hostile());
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}"));
    assert!(place("class=\"loss\"") < place("id=\"run\""));
    assert!(place("id=\"run\"") < place("id=\"symbols\""));
}

#[test]
fn numbers_have_as_many_digits_as_say_something() {
    let shown = [0.0, 0.00001, 0.5, 3.24159, 1234.56, 123_456.7, f64::NAN].map(figure);
    assert_eq!(
        shown,
        ["0", "1.00e-5", "0.500", "3.242", "1234.6", "123,457", "–"]
    );
}
