//! Coverage in the form of Cobertura (`coverage-04.dtd`), which continuous integration shows.
//!
//! A package is a directory, and a class a source file: the form was made for another language. Branches are not counted.

use std::{collections::BTreeMap, io::Write};

use anyhow::{Context, Result};
use quick_xml::{
    Writer,
    events::{BytesDecl, BytesText, Event},
};

use super::{
    coverage::{File, files},
    exact::Run,
};
use crate::profile::blocks::BlockCounts;

/// Where readers find what the elements mean.
const DOCTYPE: &str = "coverage SYSTEM \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\"";

/// Writes the document.
pub fn write(run: &Run<'_>, out: &mut dyn Write) -> Result<BlockCounts> {
    let files = files(run, "cobertura")?;
    written(&files, out).context("cannot write the exact counts")?;
    Ok(BlockCounts::default())
}

/// Lines that were executed, and all.
#[derive(Clone, Copy, Default)]
struct Lines {
    covered: usize,
    valid: usize,
}

impl Lines {
    fn of<'t>(times: impl Iterator<Item = &'t u64>) -> Self {
        times.fold(Self::default(), |lines, times| Self {
            covered: lines.covered + usize::from(*times > 0),
            valid: lines.valid + 1,
        })
    }

    fn of_files(files: &[(&str, &File<'_>)]) -> Self {
        Self::of(files.iter().flat_map(|(_, file)| file.lines.values()))
    }

    /// The share that was executed; all of none.
    fn rate(self) -> String {
        match self.valid {
            0 => "1".to_owned(),
            valid => format!("{:.4}", self.covered as f64 / valid as f64),
        }
    }
}

type Xml<'w> = Writer<&'w mut dyn Write>;

/// An element with the rates that every one has, and these attributes and elements.
fn element(
    xml: &mut Xml<'_>,
    name: &str,
    attributes: &[(&str, &str)],
    lines: Lines,
    inside: impl FnOnce(&mut Xml<'_>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let rate = lines.rate();
    xml.create_element(name)
        .with_attributes(attributes.iter().copied())
        .with_attribute(("line-rate", &rate[..]))
        .with_attributes([("branch-rate", "0"), ("complexity", "0")])
        .write_inner_content(inside)?;
    Ok(())
}

fn written(files: &BTreeMap<&str, File<'_>>, out: &mut dyn Write) -> std::io::Result<()> {
    let mut xml = Writer::new_with_indent(out, b' ', 1);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.write_event(Event::DocType(BytesText::from_escaped(DOCTYPE)))?;
    let mut packages: BTreeMap<&str, Vec<(&str, &File<'_>)>> = BTreeMap::new();
    for (path, file) in files {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        packages.entry(directory).or_default().push((path, file));
    }
    let all = Lines::of(files.values().flat_map(|file| file.lines.values()));
    let [covered, valid] = [all.covered, all.valid].map(|number| number.to_string());
    let attributes = [
        ("lines-covered", &covered[..]),
        ("lines-valid", &valid),
        ("branches-covered", "0"),
        ("branches-valid", "0"),
        ("version", env!("CARGO_PKG_VERSION")),
        // The same run is the same document.
        ("timestamp", "0"),
    ];
    element(&mut xml, "coverage", &attributes, all, |xml| {
        xml.create_element("sources").write_inner_content(|xml| {
            let source = xml.create_element("source");
            source.write_text_content(BytesText::new("/")).map(drop)
        })?;
        xml.create_element("packages").write_inner_content(|xml| {
            for (directory, files) in &packages {
                let lines = Lines::of_files(files);
                element(xml, "package", &[("name", directory)], lines, |xml| {
                    classes(xml, files)
                })?;
            }
            Ok(())
        })?;
        Ok(())
    })
}

fn classes(xml: &mut Xml<'_>, files: &[(&str, &File<'_>)]) -> std::io::Result<()> {
    xml.create_element("classes").write_inner_content(|xml| {
        for (path, file) in files {
            let name = path.rsplit('/').next().unwrap_or(path);
            let attributes = [("name", name), ("filename", path)];
            let lines = Lines::of(file.lines.values());
            element(xml, "class", &attributes, lines, |xml| class(xml, file))?;
        }
        Ok(())
    })?;
    Ok(())
}

fn class(xml: &mut Xml<'_>, file: &File<'_>) -> std::io::Result<()> {
    xml.create_element("methods").write_inner_content(|xml| {
        for (number, name, times) in file.named() {
            let attributes = [("name", &name[..]), ("signature", "")];
            let lines = Lines::of([times].iter());
            element(xml, "method", &attributes, lines, |xml| {
                let lines = xml.create_element("lines");
                lines
                    .write_inner_content(|xml| line(xml, number, times))
                    .map(drop)
            })?;
        }
        Ok(())
    })?;
    xml.create_element("lines").write_inner_content(|xml| {
        let mut lines = file.lines.iter();
        lines.try_for_each(|(number, times)| line(xml, *number, *times))
    })?;
    Ok(())
}

fn line(xml: &mut Xml<'_>, number: u32, times: u64) -> std::io::Result<()> {
    let (number, times) = (number.to_string(), times.to_string());
    xml.create_element("line")
        .with_attributes([
            ("number", &number[..]),
            ("hits", &times),
            ("branch", "false"),
        ])
        .write_empty()?;
    Ok(())
}
