//! The links of the documents: README.md and the book.
//!
//! Refused are
//!
//! - a relative link to a file that does not exist, or to a heading that the file does not have;
//! - a link by reference (`[text][label]`) without its definition;
//! - a page of the book that `SUMMARY.md` does not list;
//! - a path of the repository in backticks (`src/…`, `tools/…`, `tests-qemu/…`) that does not exist;
//! - the name of a test in backticks (a sentence of four words or more) that no function has.
//!
//! Addresses of the network are not checked.

use anyhow::{Context, Result};
use pulldown_cmark::{
    BrokenLink, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd,
};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Component, Path, PathBuf},
};

/// The pages of the book, relative to the repository.
const BOOK: &str = "tools/book/src";

/// Folders and files whose paths are recognised in backticks.
const TOP: [&str; 6] = ["src", "tools", "tests-qemu", "boot", ".ci", ".cargo"];

/// A broken link.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Broken {
    /// The document.
    pub file: String,
    /// The line of the link.
    pub line: usize,
    /// The link as written, and what is wrong with it.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// The result of the check.
#[derive(Debug, Default)]
pub struct Links {
    /// Documents that were read.
    pub documents: usize,
    /// Links and paths that were followed.
    pub followed: usize,
    /// The broken ones.
    pub broken: Vec<Broken>,
}

/// A document.
#[derive(Debug, Default)]
struct Document {
    /// The identifiers of its headings.
    anchors: BTreeSet<String>,
    /// Its links, with their lines.
    links: Vec<(usize, String)>,
    /// Text in backticks, with its lines.
    code: Vec<(usize, String)>,
    /// References without a definition, with their lines.
    undefined: Vec<(usize, String)>,
}

/// Checks README.md and the book.
pub fn check(root: &Path) -> Result<Links> {
    let mut files = vec![PathBuf::from("README.md")];
    with_ending(root, Path::new(BOOK), "md", &mut files)?;
    let mut documents = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(root.join(&file))
            .with_context(|| format!("cannot read {}", file.display()))?;
        documents.insert(file, parse(&text));
    }
    let functions = functions(root)?;
    let mut found = Links {
        documents: documents.len(),
        ..Links::default()
    };
    for (file, document) in &documents {
        let mut refuse = |line: usize, what: String| {
            found.broken.push(Broken {
                file: file.display().to_string(),
                line,
                what,
            });
        };
        for (line, link) in &document.links {
            found.followed += 1;
            if let Some(wrong) = follow(root, &documents, file, link) {
                refuse(*line, format!("`{link}` {wrong}"));
            }
        }
        for (line, code) in document.code.iter().filter(|(_, code)| is_path(code)) {
            found.followed += 1;
            if !root.join(code).exists() {
                refuse(*line, format!("`{code}` does not exist"));
            } else if code.ends_with('/') && !root.join(code).is_dir() {
                refuse(*line, format!("`{code}` is not a folder"));
            }
        }
        for (line, code) in document.code.iter().filter(|(_, code)| is_test(code)) {
            found.followed += 1;
            if !functions.contains(code) {
                refuse(*line, format!("`{code}` is no test"));
            }
        }
        for (line, label) in &document.undefined {
            refuse(*line, format!("`[{label}]` has no definition"));
        }
    }
    unlisted(&documents, &mut found.broken);
    found.broken.sort();
    Ok(found)
}

/// The names of all functions of the sources that could be tests.
fn functions(root: &Path) -> Result<BTreeSet<String>> {
    let mut files = Vec::new();
    for top in ["src", "tools", "tests-qemu"] {
        if root.join(top).exists() {
            with_ending(root, Path::new(top), "rs", &mut files)?;
        }
    }
    let mut names = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(root.join(&file))
            .with_context(|| format!("cannot read {}", file.display()))?;
        let after = text.split("fn ").skip(1);
        let name = |text: &str| text.split('(').next().unwrap_or_default().to_owned();
        names.extend(after.map(name).filter(|name| is_test(name)));
    }
    Ok(names)
}

/// Pages that the summary does not list.
fn unlisted(documents: &BTreeMap<PathBuf, Document>, broken: &mut Vec<Broken>) {
    let summary = Path::new(BOOK).join("SUMMARY.md");
    let listed: BTreeSet<PathBuf> = documents
        .get(&summary)
        .into_iter()
        .flat_map(|summary| &summary.links)
        .map(|(_, link)| normal(&Path::new(BOOK).join(link)))
        .collect();
    for file in documents.keys() {
        if file.starts_with(BOOK) && *file != summary && !listed.contains(file) {
            broken.push(Broken {
                file: file.display().to_string(),
                line: 1,
                what: format!("{} does not list this page", summary.display()),
            });
        }
    }
}

/// The files in a folder and its folders whose names end like this.
fn with_ending(root: &Path, folder: &Path, ending: &str, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(root.join(folder))
        .with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            with_ending(root, &path, ending, files)?;
        } else if path.extension().is_some_and(|found| found == ending) {
            files.push(path);
        }
    }
    Ok(())
}

/// What is wrong with a link, if anything.
fn follow(
    root: &Path,
    documents: &BTreeMap<PathBuf, Document>,
    file: &Path,
    link: &str,
) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match path {
        "" => file.to_owned(),
        path => normal(&file.parent().unwrap_or(Path::new("")).join(path)),
    };
    if target.starts_with("..") {
        return Some("leads out of the repository".to_owned());
    }
    if !root.join(&target).exists() {
        return Some(format!(
            "leads to {}, which does not exist",
            target.display()
        ));
    }
    if anchor.is_empty() {
        return None;
    }
    let text;
    let document = match documents.get(&target) {
        Some(document) => document,
        None => {
            text = parse(&fs::read_to_string(root.join(&target)).unwrap_or_default());
            &text
        }
    };
    (!document.anchors.contains(anchor))
        .then(|| format!("names a heading that {} does not have", target.display()))
}

/// A path without `.` and `..`, as far as these can be removed.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if normal.file_name().is_some() => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// Whether text in backticks looks like a path of the repository. A path with a placeholder does not, as
/// `src/NAME.rs` or `src/…`.
fn is_path(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let Some((top, rest)) = text.split_once('/') else {
        return false;
    };
    TOP.contains(&top) && !rest.contains("NAME") && text.chars().all(plain)
}

/// Whether text in backticks looks like the name of a test.
fn is_test(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.matches('_').count() >= 3 && text.chars().all(plain) && !text.starts_with("b_")
}

fn parse(text: &str) -> Document {
    let undefined = RefCell::new(Vec::new());
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let callback = |broken: BrokenLink<'_>| -> Option<(CowStr<'_>, CowStr<'_>)> {
        // A single pair of brackets is usually text.
        if matches!(broken.link_type, LinkType::Reference | LinkType::Collapsed) {
            let entry = (line(broken.span.start), broken.reference.to_string());
            undefined.borrow_mut().push(entry);
        }
        None
    };
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_HEADING_ATTRIBUTES | Options::ENABLE_FOOTNOTES;
    let parser = Parser::new_with_broken_link_callback(text, options, Some(callback));
    let mut document = Document::default();
    let mut heading: Option<String> = None;
    for (event, range) in parser.into_offset_iter() {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                document
                    .links
                    .push((line(range.start), dest_url.to_string()));
            }
            Event::Start(Tag::Heading { level, id, .. }) => {
                debug_assert!(level >= HeadingLevel::H1);
                if let Some(id) = id {
                    document.anchors.insert(id.to_string());
                }
                heading = Some(String::new());
            }
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                let mut numbered = anchor.clone();
                for number in 1.. {
                    if document.anchors.insert(numbered.clone()) {
                        break;
                    }
                    numbered = format!("{anchor}-{number}");
                }
            }
            Event::Code(code) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&code);
                }
                document.code.push((line(range.start), code.to_string()));
            }
            Event::Text(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }
    document.undefined = undefined.into_inner();
    document
}

/// The identifier that mdbook and GitHub give a heading.
fn anchor(heading: &str) -> String {
    let letters = heading.trim().chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_lowercase().to_string()),
        c if c.is_whitespace() => Some("-".to_owned()),
        _ => None,
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository in a folder of its own with these files.
    fn repository(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("house-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for (file, text) in files {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        root
    }

    fn broken(name: &str, files: &[(&str, &str)]) -> Vec<String> {
        let root = repository(name, files);
        let found = check(&root).unwrap();
        fs::remove_dir_all(root).unwrap();
        found.broken.iter().map(Broken::to_string).collect()
    }

    const SUMMARY: (&str, &str) = ("tools/book/src/SUMMARY.md", "- [a](a.md)\n");

    #[test]
    fn links_that_lead_somewhere_are_accepted() {
        let files = [
            SUMMARY,
            (
                "README.md",
                "[b](tools/book/src/a.md#the-second-one) <https://x.y/z>\n",
            ),
            (
                "tools/book/src/a.md",
                "# A\n[r](../../../README.md) [s](#a) `src/x.rs` `src/NAME.rs` `src/…`\n## The *second*, one\n",
            ),
            ("src/x.rs", ""),
        ];
        assert_eq!(broken("fine", &files), [""; 0]);
    }

    #[test]
    fn a_link_to_a_missing_file_is_named_with_its_file_and_line() {
        let files = [
            SUMMARY,
            ("README.md", "x\n\n[b](tools/nothing.md)\n"),
            ("tools/book/src/a.md", "![p](p.svg)\n"),
        ];
        let expected = [
            "README.md:3: `tools/nothing.md` leads to tools/nothing.md, which does not exist",
            "tools/book/src/a.md:1: `p.svg` leads to tools/book/src/p.svg, which does not exist",
        ];
        assert_eq!(broken("missing", &files), expected);
    }

    #[test]
    fn a_link_to_a_missing_heading_is_refused() {
        let files = [
            SUMMARY,
            ("README.md", "[b](tools/book/src/a.md#b)\n"),
            (
                "tools/book/src/a.md",
                "# A\n## C\n## C\n[c](#c-1) [d](#c-2)\n",
            ),
        ];
        let expected = [
            "README.md:1: `tools/book/src/a.md#b` names a heading that tools/book/src/a.md does not have",
            "tools/book/src/a.md:4: `#c-2` names a heading that tools/book/src/a.md does not have",
        ];
        assert_eq!(broken("heading", &files), expected);
    }

    #[test]
    fn a_page_that_the_summary_does_not_list_is_refused() {
        let files = [
            SUMMARY,
            ("README.md", ""),
            ("tools/book/src/a.md", ""),
            ("tools/book/src/b/c.md", ""),
        ];
        let expected =
            ["tools/book/src/b/c.md:1: tools/book/src/SUMMARY.md does not list this page"];
        assert_eq!(broken("summary", &files), expected);
    }

    #[test]
    fn a_path_in_backticks_must_exist() {
        let files = [
            SUMMARY,
            ("README.md", ""),
            (
                "tools/book/src/a.md",
                "`src/y.rs`\n`x/y.rs` `cargo run`\n\n    src/z\n`tools/book/src/a.md/`\n",
            ),
        ];
        let expected = [
            "tools/book/src/a.md:1: `src/y.rs` does not exist",
            "tools/book/src/a.md:5: `tools/book/src/a.md/` does not exist",
        ];
        assert_eq!(broken("path", &files), expected);
    }

    #[test]
    fn a_test_in_backticks_must_exist() {
        let files = [
            (
                "README.md",
                "`what_is_shown_is_true`, `what_is_hidden_is_not` and `short_name`",
            ),
            ("tools/book/src/SUMMARY.md", ""),
            ("src/a/b.rs", "fn what_is_shown_is_true() {}"),
        ];
        assert_eq!(
            broken("tests", &files),
            ["README.md:1: `what_is_hidden_is_not` is no test"]
        );
    }

    #[test]
    fn a_reference_without_a_definition_is_refused() {
        let files = [
            SUMMARY,
            ("README.md", "[a][b] and [text]\n"),
            ("tools/book/src/a.md", ""),
        ];
        assert_eq!(
            broken("reference", &files),
            ["README.md:1: `[b]` has no definition"]
        );
    }
}
