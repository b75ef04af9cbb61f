//! Circles of files, and the imports that close them.
//!
//! A file and the files of its own folder may import each other, because together they are one thing. So a circle does
//! not count if one of its files is the parent of all others, unless the others alone form a circle.

use crate::graph::{Edge, Graph, above};
use std::collections::{BTreeMap, BTreeSet};

/// Files that all reach each other by imports.
#[derive(Debug)]
pub struct Circle<'a> {
    /// The files.
    pub files: Vec<&'a str>,
    /// A few imports to cut so that no circle is left, the thinnest first.
    pub closing: Vec<&'a Edge>,
}

type Imports<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a Edge>>>;

/// Finds all circles.
pub fn find(graph: &Graph) -> Vec<Circle<'_>> {
    let mut found = Vec::new();
    let mut open = vec![imports(graph)];
    while let Some(imports) = open.pop() {
        for files in components(&imports) {
            match parent(graph, &files) {
                Some(parent) => {
                    let children = files.iter().copied().filter(|file| *file != parent);
                    open.push(within(&imports, &children.collect()));
                }
                None => found.push(circle(&imports, &files)),
            }
        }
    }
    found
}

fn circle<'a>(imports: &Imports<'a>, files: &BTreeSet<&'a str>) -> Circle<'a> {
    Circle {
        files: files.iter().copied().collect(),
        closing: closing(within(imports, files)),
    }
}

fn imports(graph: &Graph) -> Imports<'_> {
    let mut imports: Imports = graph
        .files
        .keys()
        .map(|file| (file.as_str(), BTreeMap::new()))
        .collect();
    for edge in &graph.edges {
        imports
            .entry(&edge.from)
            .or_default()
            .entry(&edge.to)
            .or_default()
            .push(edge);
    }
    imports
}

/// The imports between these files.
fn within<'a>(imports: &Imports<'a>, files: &BTreeSet<&'a str>) -> Imports<'a> {
    let inside = |file: &&'a str| {
        let imports = imports[file].iter();
        let imports = imports.filter(|(to, _)| files.contains(**to));
        (
            *file,
            imports.map(|(&to, edges)| (to, edges.clone())).collect(),
        )
    };
    files.iter().map(inside).collect()
}

/// The file among these that is the parent of all others.
fn parent<'a>(graph: &Graph, files: &BTreeSet<&'a str>) -> Option<&'a str> {
    let is_parent = |one: &&str| {
        let mut others = files.iter().filter(|other| *other != one);
        others.all(|other| above(&graph.files[*one], &graph.files[*other]))
    };
    files.iter().copied().find(|file| is_parent(file))
}

/// The sets of files that all reach each other.
fn components<'a>(imports: &Imports<'a>) -> Vec<BTreeSet<&'a str>> {
    let reaches: BTreeMap<&str, BTreeSet<&str>> = imports
        .keys()
        .map(|&file| (file, reach(imports, file)))
        .collect();
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for (&file, reached) in &reaches {
        if known.contains(file) || !reached.contains(file) {
            continue;
        }
        let circle: BTreeSet<&str> = reached
            .iter()
            .copied()
            .filter(|other| reaches[other].contains(file))
            .collect();
        known.extend(circle.iter().copied());
        found.push(circle);
    }
    found
}

fn reach<'a>(imports: &Imports<'a>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(file) = open.pop() {
        for &next in imports.get(file).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

/// Cuts the thinnest import of a shortest circle again and again until no circle is left.
fn closing<'a>(mut left: Imports<'a>) -> Vec<&'a Edge> {
    let mut cut = Vec::new();
    while let Some(circle) = shortest(&left) {
        let steps = circle.iter().zip(circle.iter().cycle().skip(1));
        // A parent and its child stay together as long as there is anything else to cut.
        let thinnest = steps.min_by_key(|(from, to)| {
            let edges = &left[*from][*to];
            (edges.iter().all(|edge| edge.family), edges.len())
        });
        let Some((from, to)) = thinnest else { break };
        let edges = left.get_mut(from).and_then(|imports| imports.remove(to));
        cut.extend(edges.into_iter().flatten().filter(|edge| !edge.family));
    }
    cut
}

/// A shortest circle of files.
fn shortest<'a>(imports: &Imports<'a>) -> Option<Vec<&'a str>> {
    let mut best: Option<Vec<&str>> = None;
    for &start in imports.keys() {
        let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
        let mut open = vec![start];
        'search: while !open.is_empty() {
            let mut next = Vec::new();
            for file in open {
                for &to in imports[file].keys() {
                    if to == start {
                        let mut circle = vec![file];
                        while let Some(&before) = came_from.get(circle[circle.len() - 1]) {
                            circle.push(before);
                        }
                        circle.reverse();
                        if best.as_ref().is_none_or(|best| circle.len() < best.len()) {
                            best = Some(circle);
                        }
                        break 'search;
                    }
                    if to != start && !came_from.contains_key(to) {
                        came_from.insert(to, file);
                        next.push(to);
                    }
                }
            }
            open = next;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let module = |file: &str| {
            let path = format!("x/{file}");
            path.split('/').map(str::to_owned).collect::<Vec<_>>()
        };
        let edge = |&(from, to): &(&str, &str)| Edge {
            from: from.to_owned(),
            to: to.to_owned(),
            name: "x".to_owned(),
            line: 1,
            family: above(&module(from), &module(to)) || above(&module(to), &module(from)),
        };
        Graph {
            files: edges
                .iter()
                .flat_map(|(a, b)| [*a, *b])
                .map(|file| (file.to_owned(), module(file)))
                .collect(),
            edges: edges.iter().map(edge).collect(),
        }
    }

    #[test]
    fn imports_that_only_go_down_make_no_circle() {
        assert!(find(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    }

    #[test]
    fn a_circle_is_found_with_an_import_that_closes_it() {
        let graph = graph(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]);
        let circles = find(&graph);
        assert_eq!(circles.len(), 1);
        assert_eq!(circles[0].files, ["a", "b", "c"]);
        assert_eq!(circles[0].closing.len(), 1);
    }

    #[test]
    fn two_circles_are_told_apart() {
        let graph = graph(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "c")]);
        assert_eq!(find(&graph).len(), 2);
    }

    #[test]
    fn a_parent_and_its_children_may_import_each_other() {
        assert!(
            find(&graph(&[
                ("a", "a/b"),
                ("a/b", "a"),
                ("a/c", "a"),
                ("a", "a/c")
            ]))
            .is_empty()
        );
    }

    #[test]
    fn children_may_not_import_each_other_in_a_circle() {
        let graph = graph(&[("a", "a/b"), ("a/b", "a"), ("a/b", "a/c"), ("a/c", "a/b")]);
        let circles = find(&graph);
        assert_eq!(circles.len(), 1);
        assert_eq!(circles[0].files, ["a/b", "a/c"]);
    }

    #[test]
    fn a_circle_through_a_child_and_its_parent_is_one() {
        let graph = graph(&[("a", "a/b"), ("a/b", "c"), ("c", "a")]);
        let circles = find(&graph);
        assert_eq!(circles.len(), 1);
        assert_eq!(circles[0].files, ["a", "a/b", "c"]);
    }

    #[test]
    fn a_circle_of_children_through_the_parent_of_some_is_one() {
        let edges = [
            ("a", "a/b"),
            ("a/b", "a/b/c"),
            ("a/b/c", "a/d"),
            ("a/d", "a/b"),
            ("a/d", "a"),
        ];
        let graph = graph(&edges);
        let circles = find(&graph);
        assert_eq!(circles.len(), 1);
        assert_eq!(circles[0].files, ["a/b", "a/b/c", "a/d"]);
    }
}
