//! Which file imports which. Every path is resolved to the file that defines the thing it names.

use crate::modules::{Module, Modules};
use std::collections::BTreeMap;

/// An import: one file names something in another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The file that names it.
    pub from: String,
    /// The file that defines it.
    pub to: String,
    /// The name.
    pub name: String,
    /// The line in `from`.
    pub line: usize,
    /// Whether one of the two files holds a parent module of the other.
    pub family: bool,
}

/// The imports between all files.
#[derive(Debug, Default)]
pub struct Graph {
    /// The files, with the paths of their modules.
    pub files: BTreeMap<String, Vec<String>>,
    /// The first mention of each name.
    pub edges: Vec<Edge>,
}

impl Graph {
    /// The graph of these modules.
    pub fn new(modules: &Modules) -> Self {
        let resolver = Resolver { modules };
        let mut first: BTreeMap<(String, String, String), (usize, bool)> = BTreeMap::new();
        for (path, module) in modules {
            let imports = module.imports.iter().filter(|import| !import.is_reexport);
            let imports = imports.map(|i| (&i.path, i.line));
            let mentions = module.mentions.iter().map(|m| (&m.path, m.line));
            for (named, line) in imports.chain(mentions) {
                let Some(to) = resolver.resolve(path, named, 0) else {
                    continue;
                };
                let target = &modules[&to.module];
                if target.file == module.file {
                    continue;
                }
                let family = above(path, &to.module) || above(&to.module, path);
                let key = (module.file.clone(), target.file.clone(), to.name);
                let known = first.entry(key).or_insert((line, family));
                known.0 = line.min(known.0);
            }
        }
        let edges = first
            .into_iter()
            .map(|((from, to, name), (line, family))| Edge {
                from,
                to,
                name,
                line,
                family,
            })
            .collect();
        // Modules are sorted by path, so the first one of a file is the module of the whole file.
        let mut files = BTreeMap::new();
        for (path, module) in modules {
            files
                .entry(module.file.clone())
                .or_insert_with(|| path.clone());
        }
        Self { files, edges }
    }
}

/// Whether a module is above the other: its parent, or a parent of that.
pub fn above(one: &[String], other: &[String]) -> bool {
    one.len() < other.len() && other.starts_with(one)
}

/// The thing that a path names.
#[derive(Debug)]
struct Found {
    /// The module that defines it, or the module itself.
    module: Vec<String>,
    /// The name.
    name: String,
}

struct Resolver<'a> {
    modules: &'a Modules,
}

/// How many imports may lead from one to the next.
const DEPTH: usize = 16;

impl Resolver<'_> {
    /// Finds the thing that a path in a module names, if it is in one of the packages.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<Found> {
        if depth > DEPTH {
            return None;
        }
        let (first, rest) = path.split_first()?;
        let (mut module, mut rest) = match first.as_str() {
            "crate" => (from[..1].to_vec(), rest),
            "self" => (from.to_vec(), rest),
            "super" => (from[..from.len().checked_sub(1)?].to_vec(), rest),
            name => {
                if let Some(found) = self.name_in(from, name, depth) {
                    return self.descend(found, rest, depth);
                }
                let package = vec![name.to_owned()];
                (
                    self.modules.contains_key(&package).then_some(package)?,
                    rest,
                )
            }
        };
        while let Some((first, after)) = rest.split_first()
            && first == "super"
        {
            module.pop()?;
            rest = after;
        }
        let name = module.last()?.clone();
        self.descend(Found { module, name }, rest, depth)
    }

    /// Follows the rest of a path from the thing that its beginning names.
    fn descend(&self, found: Found, rest: &[String], depth: usize) -> Option<Found> {
        let is_module = found.module.last() == Some(&found.name);
        let Some((first, after)) = rest.split_first() else {
            return Some(found);
        };
        if !is_module {
            return Some(found);
        }
        match self.name_in(&found.module, first, depth) {
            Some(next) => self.descend(next, after, depth),
            None => Some(Found {
                module: found.module,
                name: first.clone(),
            }),
        }
    }

    /// Finds the thing that a name means in a module.
    fn name_in(&self, path: &[String], name: &str, depth: usize) -> Option<Found> {
        let module: &Module = self.modules.get(path)?;
        let mut child = path.to_vec();
        child.push(name.to_owned());
        if self.modules.contains_key(&child) {
            return Some(Found {
                module: child,
                name: name.to_owned(),
            });
        }
        if module.definitions.contains_key(name) {
            return Some(Found {
                module: path.to_vec(),
                name: name.to_owned(),
            });
        }
        for import in &module.imports {
            if import.alias == name {
                // `use package;` names the package itself.
                let package = import.path.len() == 1 && self.modules.contains_key(&import.path);
                let found = || Found {
                    module: import.path.clone(),
                    name: import.path[0].clone(),
                };
                return match package {
                    true => Some(found()),
                    false => self.resolve(path, &import.path, depth + 1),
                };
            }
        }
        for import in &module.imports {
            if import.alias == "*"
                && let Some(all) = self.resolve(path, &import.path, depth + 1)
                && let Some(found) = self.name_in(&all.module, name, depth + 1)
            {
                return Some(found);
            }
        }
        None
    }
}
