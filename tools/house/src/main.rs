//! `cargo house`: checks the structure of the source, and draws it.
//!
//! Reads the module tree of every package named in [`rooms.txt`](../rooms.txt), resolves every path
//! to the file that defines what it names, and refuses
//!
//! - a circle of files (except between a file and the files of its own folder);
//! - an import between rooms that the table does not allow;
//! - unsafe code outside the folders that may hold it;
//! - a library that the host command alone is built with other features than the whole workspace;
//! - a link in README.md or the book that leads nowhere, and a picture of the rooms that is out of date.
//!
//! Tests are not part of the structure: `#[cfg(test)]` items and `tests` modules are left out.

mod circle;
mod draw;
mod features;
mod graph;
mod hazards;
mod links;
mod modules;
mod table;

use anyhow::{Result, bail};
use graph::Graph;
use std::{env, path::Path, process::ExitCode};
use table::Table;

const HELP: &str = "\
Checks and draws the structure of the source.

Usage: cargo house [COMMAND]

  check           refuse circles, imports that the table does not allow, unsafe code in the wrong
                  room, libraries that are built twice, broken links, and an outdated picture of
                  the rooms (default)
  circles         list every circle with the edges that close it
  edges [PREFIX]  list the imports of all files, or of those below PREFIX, with their lines
  rooms           list the imports between rooms, as the source has them
  draw            print the picture of the rooms as SVG
  links           check the links and paths in README.md and the book

Exit codes: 0 everything is right, 1 something is refused, 2 the check could not run.";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("house: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<bool> {
    // Cargo does not build again what was copied with its target directory, but names the package that it runs.
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    let tools = Path::new(&package);
    let root = tools
        .ancestors()
        .nth(2)
        .map(Path::to_owned)
        .unwrap_or_default();
    let table = Table::read(&tools.join("rooms.txt"))?;
    let modules = modules::read(&root, &table.packages)?;
    let graph = Graph::new(&modules);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] | ["check"] => check(&root, &table, &modules, &graph),
        ["circles"] => Ok(report_circles(&graph)),
        ["edges"] => Ok(list_edges(&graph, "")),
        ["edges", prefix] => Ok(list_edges(&graph, prefix)),
        ["rooms"] => {
            for ((from, to), edges) in table.between(&graph) {
                println!("{from} -> {to} ({})", edges.len());
            }
            Ok(true)
        }
        ["draw"] => {
            print!("{}", draw::svg(&root, &table, &graph)?);
            Ok(true)
        }
        ["links"] => check_links(&root),
        ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(true)
        }
        _ => bail!("{} is not a command\n\n{HELP}", arguments.join(" ")),
    }
}

fn check(root: &Path, table: &Table, modules: &modules::Modules, graph: &Graph) -> Result<bool> {
    let circles = report_circles(graph);
    let mut wrong = 0;
    for ((from, to), edges) in table.between(graph) {
        if table.allows(&from, &to) {
            continue;
        }
        for edge in edges {
            wrong += 1;
            println!(
                "{}:{}: room `{from}` may not import room `{to}`: {} ({})",
                edge.from, edge.line, edge.name, edge.to
            );
        }
    }
    let homeless = table.homeless(graph);
    for file in &homeless {
        println!("{file}: belongs to no room; add it to a room of tools/house/rooms.txt");
    }
    let empty = table.empty(graph);
    for room in &empty {
        println!("tools/house/rooms.txt: room `{room}` has no file");
    }
    let hazards = hazards::check(root, table, modules)?;
    let features = features::differing(root)?;
    for library in &features {
        println!(
            "tools/Cargo.toml or tools/start/Cargo.toml: this package alone is built with {library}, which a later build \
             of more packages is not; add the features that others ask for"
        );
    }
    let links = check_links(root)?;
    let drawn = draw::is_current(root, &draw::svg(root, table, graph)?);
    if !drawn {
        println!(
            "{}: the picture is out of date; renew it with: {}",
            draw::FILE,
            draw::RENEW
        );
    }
    println!(
        "{} files in {} rooms, {} imports; {} unsafe blocks and functions where they may be, {} elsewhere",
        graph.files.len(),
        table.rooms.len(),
        graph.edges.len(),
        hazards.allowed,
        hazards.elsewhere
    );
    let rooms = wrong == 0 && homeless.is_empty() && empty.is_empty();
    Ok(circles
        && rooms
        && hazards.elsewhere + hazards.bare == 0
        && features.is_empty()
        && links
        && drawn)
}

/// Prints the broken links. Returns whether there are none.
fn check_links(root: &Path) -> Result<bool> {
    let links = links::check(root)?;
    for broken in &links.broken {
        println!("{broken}");
    }
    println!(
        "{} documents, {} links and paths, {} of them broken",
        links.documents,
        links.followed,
        links.broken.len()
    );
    Ok(links.broken.is_empty())
}

/// Prints the circles. Returns whether there are none.
fn report_circles(graph: &Graph) -> bool {
    let circles = circle::find(graph);
    for circle in &circles {
        println!("a circle of {} files", circle.files.len());
        for file in &circle.files {
            println!("  {file}");
        }
        println!("  closed by");
        for edge in &circle.closing {
            println!(
                "    {}:{} -> {} ({})",
                edge.from, edge.line, edge.to, edge.name
            );
        }
    }
    circles.is_empty()
}

fn list_edges(graph: &Graph, prefix: &str) -> bool {
    for edge in &graph.edges {
        if edge.from.starts_with(prefix) {
            println!("{}:{} -> {} ({})", edge.from, edge.line, edge.to, edge.name);
        }
    }
    true
}
