//! The table of rooms: which folders are one room, and which rooms a room may import.

use crate::graph::{Edge, Graph};
use anyhow::{Context, Result, bail};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// A package whose modules are read.
#[derive(Debug, Clone)]
pub struct Package {
    /// The name by which other packages import it.
    pub name: String,
    /// Its root file, relative to the repository.
    pub root: String,
}

/// Files that belong together.
#[derive(Debug, Clone)]
pub struct Room {
    /// Its name in the table.
    pub name: String,
    /// Paths of files and folders; the longest path that fits a file decides.
    pub places: Vec<String>,
    /// Rooms that it may import.
    pub imports: BTreeSet<String>,
}

/// The table.
#[derive(Debug, Default)]
pub struct Table {
    /// Packages, in the order of the file.
    pub packages: Vec<Package>,
    /// Rooms, from the lowest to the highest.
    pub rooms: Vec<Room>,
    /// Folders that may hold unsafe code.
    pub hazards: Vec<String>,
}

impl Table {
    /// Reads the table of a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not a table", path.display()))
    }

    /// Reads a table with the lines `package NAME = FILE`, `unsafe = PLACE …` and `ROOM (PLACE …): ROOM …`.
    pub fn parse(text: &str) -> Result<Self> {
        let mut table = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                table
                    .line(line)
                    .with_context(|| format!("line {number}: {line}"))?;
            }
        }
        Ok(table)
    }

    fn line(&mut self, line: &str) -> Result<()> {
        let words = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        if let Some(rest) = line.strip_prefix("package ") {
            let (name, root) = rest.split_once('=').context("expected NAME = FILE")?;
            self.packages.push(Package {
                name: name.trim().to_owned(),
                root: root.trim().to_owned(),
            });
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("unsafe =") {
            self.hazards = words(rest);
            return Ok(());
        }
        let (head, imports) = line
            .split_once(':')
            .context("expected ROOM (PLACE …): ROOM …")?;
        let (name, places) = head.split_once('(').context("expected ROOM (PLACE …)")?;
        let name = name.trim().to_owned();
        let places = words(places.trim().trim_end_matches(')'));
        let imports: BTreeSet<String> = words(imports).into_iter().collect();
        // A room may import only rooms above it in the table, so the table itself has no circle.
        for import in &imports {
            if !self.rooms.iter().any(|room| room.name == *import) {
                bail!("room `{import}` does not stand above `{name}`");
            }
        }
        self.rooms.push(Room {
            name,
            places,
            imports,
        });
        Ok(())
    }

    /// The room of a file.
    pub fn room_of(&self, file: &str) -> Option<&str> {
        let fits = |place: &str| {
            file == place
                || file
                    .strip_prefix(place)
                    .is_some_and(|rest| rest.starts_with('/'))
        };
        self.rooms
            .iter()
            .flat_map(|room| room.places.iter().map(move |place| (place, room)))
            .filter(|(place, _)| fits(place))
            .max_by_key(|(place, _)| place.len())
            .map(|(_, room)| room.name.as_str())
    }

    /// Whether a room may import another one.
    pub fn allows(&self, from: &str, to: &str) -> bool {
        self.rooms
            .iter()
            .any(|room| room.name == from && room.imports.contains(to))
    }

    /// The imports that lead from one room into another.
    pub fn between<'a>(&self, graph: &'a Graph) -> BTreeMap<(String, String), Vec<&'a Edge>> {
        let mut between: BTreeMap<_, Vec<&Edge>> = BTreeMap::new();
        for edge in &graph.edges {
            if let (Some(from), Some(to)) = (self.room_of(&edge.from), self.room_of(&edge.to))
                && from != to
            {
                between
                    .entry((from.to_owned(), to.to_owned()))
                    .or_default()
                    .push(edge);
            }
        }
        between
    }

    /// Files that no room holds.
    pub fn homeless<'a>(&self, graph: &'a Graph) -> Vec<&'a str> {
        let files = graph.files.keys().map(String::as_str);
        files.filter(|file| self.room_of(file).is_none()).collect()
    }

    /// Rooms that hold no file.
    pub fn empty(&self, graph: &Graph) -> Vec<&str> {
        let held: BTreeSet<&str> = graph.files.keys().filter_map(|f| self.room_of(f)).collect();
        let rooms = self.rooms.iter().map(|room| room.name.as_str());
        rooms.filter(|room| !held.contains(room)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_may_import_only_rooms_above_it_in_the_table() {
        assert!(Table::parse("a (src/a):\nb (src/b): a").is_ok());
        let error = Table::parse("a (src/a): b\nb (src/b): a").unwrap_err();
        assert!(format!("{error:#}").contains("`b` does not stand above `a`"));
    }

    #[test]
    fn the_longest_place_decides_the_room_of_a_file() {
        let table = Table::parse("a (src/a):\nb (src/a/b.rs src/c):").unwrap();
        assert_eq!(table.room_of("src/a/x.rs"), Some("a"));
        assert_eq!(table.room_of("src/a/b.rs"), Some("b"));
        assert_eq!(table.room_of("src/c/d/e.rs"), Some("b"));
        assert_eq!(table.room_of("src/ab.rs"), None);
    }
}
