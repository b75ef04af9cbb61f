//! The picture of the rooms.
//!
//! A room stands one floor above the highest room that it imports. An arrow is an import. An arrow from a to c is left
//! out if a imports b and b imports c. The order in a floor and the places of the boxes follow the barycentre method:
//! each box moves to the middle of its neighbours. The same source always gives the same picture.

use crate::{graph::Graph, table::Table};
use anyhow::{Context, Result};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
};

/// The file that holds the picture, relative to the repository.
pub const FILE: &str = "tools/book/src/rooms.svg";

/// The command that renews the file.
pub const RENEW: &str = "cargo house draw > tools/book/src/rooms.svg";

/// What a room holds.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    files: usize,
    lines: usize,
}

/// The rooms and the imports between them, as SVG.
pub fn svg(root: &Path, table: &Table, graph: &Graph) -> Result<String> {
    let mut sizes: BTreeMap<&str, Size> = BTreeMap::new();
    for file in graph.files.keys() {
        let Some(room) = table.room_of(file) else {
            continue;
        };
        let text =
            fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        let size = sizes.entry(room).or_default();
        size.files += 1;
        size.lines += text.lines().count();
    }
    let rooms: Vec<Room> = table
        .rooms
        .iter()
        .map(|room| Room {
            name: &room.name,
            places: &room.places,
            size: sizes.get(room.name.as_str()).copied().unwrap_or_default(),
        })
        .collect();
    let number: BTreeMap<&str, usize> = rooms.iter().map(|r| r.name).zip(0..).collect();
    let imports: BTreeSet<(usize, usize)> = table
        .between(graph)
        .keys()
        // The check refuses all others.
        .filter(|(from, to)| table.allows(from, to))
        .map(|(from, to)| (number[from.as_str()], number[to.as_str()]))
        .collect();
    Ok(draw(&rooms, &imports))
}

/// Whether the file shows these rooms and arrows. The sizes in the boxes do not count, because they change with every
/// line of source. They may be out of date.
pub fn is_current(root: &Path, picture: &str) -> bool {
    fs::read_to_string(root.join(FILE))
        .is_ok_and(|kept| without_sizes(&kept) == without_sizes(picture))
}

fn without_sizes(picture: &str) -> Vec<&str> {
    let lines = picture.lines();
    lines.filter(|line| !line.contains(SIZE)).collect()
}

/// The beginning of the text with the size of a room.
const SIZE: &str = "<text class=\"size\"";

struct Room<'a> {
    name: &'a str,
    places: &'a [String],
    size: Size,
}

/// Leaves out arrows that longer paths imply.
fn reduce(imports: &BTreeSet<(usize, usize)>) -> BTreeSet<(usize, usize)> {
    let implied = |from: usize, to: usize| {
        let next = |at: usize| imports.range((at, 0)..(at + 1, 0)).map(|&(_, to)| to);
        let mut open: Vec<usize> = next(from).filter(|&first| first != to).collect();
        let mut seen = BTreeSet::new();
        while let Some(at) = open.pop() {
            if at == to {
                return true;
            }
            if seen.insert(at) {
                open.extend(next(at));
            }
        }
        false
    };
    let arrows = imports.iter().copied();
    arrows.filter(|&(from, to)| !implied(from, to)).collect()
}

/// The floor of each room: the length of its longest path down.
fn floors(rooms: usize, imports: &BTreeSet<(usize, usize)>) -> Vec<usize> {
    let mut floors = vec![0; rooms];
    // Rooms import only rooms above them in the table, so one pass in its order would be enough. The repetition makes
    // this right for any order.
    for _ in 0..rooms {
        for &(from, to) in imports {
            floors[from] = floors[from].max(floors[to] + 1);
        }
    }
    floors
}

const BOX_HEIGHT: f64 = 44.0;
const FLOOR_HEIGHT: f64 = 92.0;
const GAP: f64 = 22.0;
const MARGIN: f64 = 24.0;
const LEGEND: f64 = 34.0;

/// A box, or the place where a long arrow crosses a floor.
struct Node {
    floor: usize,
    width: f64,
    x: f64,
}

struct Layout {
    /// The rooms first, in their order.
    nodes: Vec<Node>,
    /// Nodes of each floor from left to right.
    floors: Vec<Vec<usize>>,
    /// Each arrow as the nodes that it passes, from the importing room down.
    arrows: Vec<Vec<usize>>,
}

impl Layout {
    fn new(rooms: &[Room<'_>], imports: &BTreeSet<(usize, usize)>) -> Self {
        let floor_of = floors(rooms.len(), imports);
        let mut layout = Self {
            nodes: Vec::new(),
            floors: vec![Vec::new(); floor_of.iter().max().map_or(0, |top| top + 1)],
            arrows: Vec::new(),
        };
        for (room, &floor) in rooms.iter().zip(&floor_of) {
            let letters = room.name.chars().count() as f64;
            layout.add(floor, (letters * 9.0 + 24.0).max(144.0));
        }
        for (from, to) in reduce(imports) {
            let mut path = vec![from];
            for floor in (floor_of[to] + 1..floor_of[from]).rev() {
                path.push(layout.add(floor, 10.0));
            }
            path.push(to);
            layout.arrows.push(path);
        }
        layout.order();
        layout.place();
        layout
    }

    fn add(&mut self, floor: usize, width: f64) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node {
            floor,
            width,
            x: 0.0,
        });
        self.floors[floor].push(node);
        node
    }

    /// The nodes that arrows join with each node, above and below.
    fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut neighbours = vec![Vec::new(); self.nodes.len()];
        for path in &self.arrows {
            for step in path.windows(2) {
                neighbours[step[0]].push(step[1]);
                neighbours[step[1]].push(step[0]);
            }
        }
        neighbours
    }

    /// Orders each floor so that few arrows cross.
    fn order(&mut self) {
        let neighbours = self.neighbours();
        let mut best = (self.crossings(), self.floors.clone());
        for sweep in 0..40 {
            let down = sweep % 2 == 0;
            let count = self.floors.len();
            for step in 1..count {
                let (floor, fixed) = match down {
                    true => (count - 1 - step, count - step),
                    false => (step, step - 1),
                };
                let place: BTreeMap<usize, f64> = self.floors[fixed]
                    .iter()
                    .enumerate()
                    .map(|(at, &node)| (node, at as f64))
                    .collect();
                let mut keyed: Vec<(f64, usize, usize)> = self.floors[floor]
                    .iter()
                    .enumerate()
                    .map(|(at, &node)| {
                        let near: Vec<f64> = neighbours[node]
                            .iter()
                            .filter_map(|other| place.get(other).copied())
                            .collect();
                        (mean(&near).unwrap_or(at as f64), at, node)
                    })
                    .collect();
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                self.floors[floor] = keyed.into_iter().map(|(_, _, node)| node).collect();
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.floors.clone());
            }
        }
        self.floors = best.1;
    }

    fn crossings(&self) -> usize {
        let mut place = vec![0; self.nodes.len()];
        for floor in &self.floors {
            for (at, &node) in floor.iter().enumerate() {
                place[node] = at;
            }
        }
        let mut steps: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.floors.len()];
        for path in &self.arrows {
            for step in path.windows(2) {
                steps[self.nodes[step[0]].floor].push((place[step[0]], place[step[1]]));
            }
        }
        let cross = |steps: &Vec<(usize, usize)>| {
            let pairs = steps.iter().enumerate();
            let crossed = pairs.map(|(at, one)| {
                let others = steps[at + 1..].iter();
                others
                    .filter(|other| (one.0 < other.0) != (one.1 < other.1))
                    .filter(|other| one.0 != other.0 && one.1 != other.1)
                    .count()
            });
            crossed.sum::<usize>()
        };
        steps.iter().map(cross).sum()
    }

    /// Gives each node its place, near the middle of its neighbours and clear of those beside it.
    fn place(&mut self) {
        let neighbours = self.neighbours();
        for floor in &self.floors {
            let mut x = 0.0;
            for &node in floor {
                self.nodes[node].x = x + self.nodes[node].width / 2.0;
                x += self.nodes[node].width + GAP;
            }
        }
        for round in 0..80 {
            for at in 0..self.floors.len() {
                let at = if round % 2 == 0 {
                    at
                } else {
                    self.floors.len() - 1 - at
                };
                let floor = self.floors[at].clone();
                let wanted: Vec<f64> = floor
                    .iter()
                    .map(|&node| {
                        let near: Vec<f64> =
                            neighbours[node].iter().map(|&n| self.nodes[n].x).collect();
                        mean(&near).unwrap_or(self.nodes[node].x)
                    })
                    .collect();
                let widths: Vec<f64> = floor.iter().map(|&n| self.nodes[n].width).collect();
                for (&node, x) in floor.iter().zip(apart(&wanted, &widths)) {
                    self.nodes[node].x = x;
                }
            }
        }
        let left = |node: &Node| node.x - node.width / 2.0;
        let least = self.nodes.iter().map(left).fold(f64::MAX, f64::min);
        for node in &mut self.nodes {
            node.x += MARGIN - least;
        }
    }

    fn right(&self) -> f64 {
        let right = |node: &Node| node.x + node.width / 2.0;
        self.nodes.iter().map(right).fold(400.0, f64::max)
    }

    fn top(&self, node: usize) -> f64 {
        let above = self.floors.len() - 1 - self.nodes[node].floor;
        MARGIN + LEGEND + above as f64 * FLOOR_HEIGHT
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Places for boxes of these widths, in this order, without overlap and as near as possible to the wanted places. Boxes
/// that would overlap form a block, which moves to the mean of its boxes' wishes.
fn apart(wanted: &[f64], widths: &[f64]) -> Vec<f64> {
    let mut offsets = Vec::new();
    let mut offset = 0.0;
    for (at, width) in widths.iter().enumerate() {
        if at > 0 {
            offset += (widths[at - 1] + width) / 2.0 + GAP;
        }
        offsets.push(offset);
    }
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (want, offset) in wanted.iter().zip(&offsets) {
        let mut block = (want - offset, 1);
        while let Some(&(sum, count)) = blocks.last()
            && sum / count as f64 > block.0 / block.1 as f64
        {
            blocks.pop();
            block = (block.0 + sum, block.1 + count);
        }
        blocks.push(block);
    }
    let bases = blocks
        .into_iter()
        .flat_map(|(sum, count)| std::iter::repeat_n(sum / count as f64, count));
    bases
        .zip(offsets)
        .map(|(base, offset)| base + offset)
        .collect()
}

/// The groups of rooms: the beginning of their places, their names and colours.
const GROUPS: [(&str, &str, &str); 5] = [
    ("tests-qemu", "tests", "#eadff5"),
    ("tools", "host command", "#fbe3cc"),
    ("src/machine", "touches hardware", "#f8d3d3"),
    ("src/guest", "virtual CPU", "#d3e6f8"),
    ("", "pure", "#dcefd8"),
];

fn colour(room: &Room<'_>) -> &'static str {
    // The last place of a room is its folder.
    let place = room.places.last().map_or("", String::as_str);
    let group = GROUPS.iter().find(|(prefix, ..)| place.starts_with(prefix));
    group.map_or("#ffffff", |(.., colour)| colour)
}

fn draw(rooms: &[Room<'_>], imports: &BTreeSet<(usize, usize)>) -> String {
    let layout = Layout::new(rooms, imports);
    let width = layout.right() + MARGIN;
    let height = MARGIN * 2.0 + LEGEND + layout.floors.len() as f64 * FLOOR_HEIGHT
        - (FLOOR_HEIGHT - BOX_HEIGHT);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"sans-serif\">\n\
         <title>The rooms of the source: an arrow is an import, and calls go down only</title>\n\
         <defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" \
         markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0.8 L8,4 L0,7.2 z\" fill=\"#667\"/>\
         </marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    legend(&mut svg, rooms);
    arrows(&mut svg, &layout);
    for (at, room) in rooms.iter().enumerate() {
        let (x, y, width) = (layout.nodes[at].x, layout.top(at), layout.nodes[at].width);
        let _ = write!(
            svg,
            "<g><title>{}</title>\n\
             <rect x=\"{:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{BOX_HEIGHT:.0}\" rx=\"5\" \
             fill=\"{}\" stroke=\"#445\"/>\n\
             <text x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\" font-size=\"14\" \
             font-weight=\"bold\" fill=\"#112\">{}</text>\n\
             {SIZE} x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\" font-size=\"11\" \
             fill=\"#445\">{}</text>\n</g>\n",
            escape(&room.places.join(" ")),
            x - width / 2.0,
            colour(room),
            y + 19.0,
            escape(room.name),
            y + 35.0,
            size(room.size),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn legend(svg: &mut String, rooms: &[Room<'_>]) {
    let mut x = MARGIN;
    for (_, name, of_group) in GROUPS {
        if !rooms.iter().any(|room| colour(room) == of_group) {
            continue;
        }
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.0}\" y=\"14\" width=\"14\" height=\"14\" rx=\"2\" fill=\"{of_group}\" \
             stroke=\"#445\"/><text x=\"{:.0}\" y=\"25\" font-size=\"12\" fill=\"#112\">{name}</text>",
            x + 20.0
        );
        x += 40.0 + name.len() as f64 * 7.0;
    }
}

fn arrows(svg: &mut String, layout: &Layout) {
    // Arrows that leave or reach the same box are beside each other on its edge.
    let mut leaving: BTreeMap<usize, Vec<(f64, usize)>> = BTreeMap::new();
    let mut reaching = leaving.clone();
    for (at, path) in layout.arrows.iter().enumerate() {
        let end = path.len() - 1;
        let x = |node: usize| layout.nodes[node].x;
        leaving.entry(path[0]).or_default().push((x(path[1]), at));
        let reached = reaching.entry(path[end]).or_default();
        reached.push((x(path[end - 1]), at));
    }
    let port = |ports: &mut BTreeMap<usize, Vec<(f64, usize)>>, node: usize, arrow: usize| {
        let ports = ports.entry(node).or_default();
        ports.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let at = ports.iter().position(|&(_, a)| a == arrow).unwrap_or(0) as f64;
        let count = ports.len() as f64;
        let step = ((layout.nodes[node].width - 20.0) / count).min(16.0);
        layout.nodes[node].x + (at - (count - 1.0) / 2.0) * step
    };
    for (at, path) in layout.arrows.iter().enumerate() {
        let mut x = port(&mut leaving, path[0], at);
        let mut y = layout.top(path[0]) + BOX_HEIGHT;
        let mut line = format!("M{x:.0},{y:.0}");
        for (step, &node) in path.iter().enumerate().skip(1) {
            let last = step + 1 == path.len();
            let to = match last {
                true => port(&mut reaching, node, at),
                false => layout.nodes[node].x,
            };
            let below = layout.top(node) - if last { 1.0 } else { 0.0 };
            let middle = f64::midpoint(y, below);
            let _ = write!(
                line,
                " C{x:.0},{middle:.0} {to:.0},{middle:.0} {to:.0},{below:.0}"
            );
            (x, y) = (to, below);
            if !last {
                y += BOX_HEIGHT;
                let _ = write!(line, " L{x:.0},{y:.0}");
            }
        }
        let _ = writeln!(
            svg,
            "<path d=\"{line}\" fill=\"none\" stroke=\"#667\" stroke-width=\"1.2\" \
             marker-end=\"url(#head)\"/>"
        );
    }
}

fn size(size: Size) -> String {
    let files = match size.files {
        1 => "1 file".to_owned(),
        files => format!("{files} files"),
    };
    match size.lines {
        lines @ 0..1000 => format!("{files}, {lines} lines"),
        lines => format!("{files}, {},{:03} lines", lines / 1000, lines % 1000),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(names: &[&str], imports: &[(usize, usize)], lines: usize) -> String {
        let size = Size { files: 2, lines };
        let room = |&name| Room {
            name,
            places: &[],
            size,
        };
        let rooms: Vec<Room> = names.iter().map(room).collect();
        draw(&rooms, &imports.iter().copied().collect())
    }

    #[test]
    fn a_room_stands_one_floor_above_the_highest_room_that_it_imports() {
        let imports = BTreeSet::from([(1, 0), (2, 0), (2, 1), (3, 0)]);
        assert_eq!(floors(4, &imports), [0, 1, 2, 1]);
    }

    #[test]
    fn an_arrow_that_others_imply_is_left_out() {
        let imports = BTreeSet::from([(1, 0), (2, 1), (2, 0), (3, 2), (3, 0)]);
        assert_eq!(reduce(&imports), BTreeSet::from([(1, 0), (2, 1), (3, 2)]));
    }

    #[test]
    fn boxes_do_not_overlap_and_are_as_near_as_possible_to_their_wanted_places() {
        assert_eq!(apart(&[0.0, 500.0], &[100.0, 100.0]), [0.0, 500.0]);
        let at = apart(&[50.0, 50.0], &[100.0, 100.0]);
        assert!((at[1] - at[0] - 100.0 - GAP).abs() < 1e-9);
        assert!((at[0] + at[1] - 100.0).abs() < 1e-9);
    }

    #[test]
    fn a_picture_is_the_same_but_for_sizes_if_rooms_and_arrows_are() {
        let one = picture(&["a", "b"], &[(1, 0)], 10);
        let longer = picture(&["a", "b"], &[(1, 0)], 2345);
        assert_ne!(one, longer);
        assert!(longer.contains("2 files, 2,345 lines"));
        assert_eq!(without_sizes(&one), without_sizes(&longer));
        let other = picture(&["a", "b", "c"], &[(1, 0), (2, 0)], 10);
        assert_ne!(without_sizes(&one), without_sizes(&other));
    }
}
