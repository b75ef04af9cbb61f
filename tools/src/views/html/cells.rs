//! Samples by time, CPU, program and call stack, as many as a page has room for.
//!
//! A selection in the page must give the same figures everywhere, so the page has one set of cells from which its script
//! counts everything. Their number has a bound: of many programs, routines and call stacks only those with the most
//! samples are told apart, and if there are still too many cells, neighbouring columns of time become one.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    hash::Hash,
};

use super::page::{Cell, Lane, Stack};
use crate::computer::visible::visible;

/// Most cells of a page: samples by stack, by instruction and by state.
const MOST_CELLS: usize = 240_000;

/// Most different call stacks that are counted.
const MOST_COUNTED: usize = 1 << 18;

/// Most call stacks that are told apart in the page.
const MOST_STACKS: usize = 3000;

/// Most routines that are told apart in the page.
const MOST_ROUTINES: usize = 1000;

/// Most programs that are told apart in the page.
const MOST_PROGRAMS: usize = 32;

/// The program of all programs without a place of their own.
const OTHER_PROGRAMS: &str = "(all other programs)";

/// The routine of all routines without a place of their own.
pub const OTHERS: &str = "(all other symbols)";

/// The frame between a program and the routines of its rare call stacks.
const RARER: &str = "(rarer call stacks)";

/// A symbol and its module.
pub type Routine = (String, String);

/// A row of the time line: whether it is of the run before, and which CPU.
pub type LaneKey = (bool, Option<u16>);

/// The kinds of states, in the order of [`super::page::Share`].
pub const STATES: usize = 4;

/// Things with numbers in the order in which they were first seen.
#[derive(Debug)]
pub struct Numbered<T> {
    numbers: HashMap<T, usize>,
    all: Vec<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self {
            numbers: HashMap::new(),
            all: Vec::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    /// The number of a thing.
    pub fn number(&mut self, thing: T) -> usize {
        if let Some(number) = self.numbers.get(&thing) {
            return *number;
        }
        let number = self.all.len();
        self.all.push(thing.clone());
        self.numbers.insert(thing, number);
        number
    }
}

/// A program, and routines from the outermost to the one that was executed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Path {
    program: usize,
    routines: Vec<usize>,
}

/// Counts of things by lane and column.
type Counts = HashMap<(usize, usize, usize), u32>;

/// Samples on their way into cells.
#[derive(Debug, Default)]
pub struct Gathering {
    programs: Numbered<String>,
    routines: Numbered<Routine>,
    paths: Numbered<Path>,
    lanes: Numbered<LaneKey>,
    stacks: Counts,
    states: Counts,
    /// By the address of an instruction in place of a number.
    instructions: HashMap<(usize, u64, usize), u32>,
}

/// The cells of a page.
#[derive(Debug, Default, PartialEq)]
pub struct Cells {
    /// Programs, those with the most samples first.
    pub programs: Vec<String>,
    /// Routines.
    pub routines: Vec<Routine>,
    /// Call stacks: one for each program, and behind them the others.
    pub stacks: Vec<Stack>,
    /// The rows of the time line.
    pub lanes: Vec<Lane>,
    /// How many columns became one.
    pub merged: usize,
    /// Samples whose call stack is shortened.
    pub shortened: u64,
}

impl Gathering {
    /// The number of a lane.
    pub fn lane(&mut self, key: LaneKey) -> usize {
        self.lanes.number(key)
    }

    /// The number of a program.
    pub fn program(&mut self, name: &str) -> usize {
        // A name that would be one too many has no number of its own.
        let is_full = self.programs.all.len() >= MOST_COUNTED;
        let name = if is_full { OTHER_PROGRAMS } else { name };
        self.programs.number(name.to_owned())
    }

    /// The number of a routine.
    pub fn routine(&mut self, symbol: &str, module: &str) -> usize {
        let is_full = self.routines.all.len() >= MOST_COUNTED;
        let (symbol, module) = if is_full {
            (OTHERS, "")
        } else {
            (symbol, module)
        };
        self.routines.number((symbol.to_owned(), module.to_owned()))
    }

    /// The number of a program with routines, from the outermost to the one that was executed.
    pub fn stack(&mut self, program: usize, routines: Vec<usize>) -> usize {
        let mut path = Path { program, routines };
        if self.paths.all.len() >= MOST_COUNTED && !self.paths.numbers.contains_key(&path) {
            path = Path {
                program: 0,
                routines: vec![self.routine(OTHERS, "")],
            };
        }
        self.paths.number(path)
    }

    /// Counts a sample in a stack.
    pub fn count(&mut self, lane: usize, stack: usize, state: usize, column: usize) {
        *self.stacks.entry((lane, stack, column)).or_default() += 1;
        let program = self.paths.all[stack].program;
        let state = program * STATES + state;
        *self.states.entry((lane, state, column)).or_default() += 1;
    }

    /// Counts a sample at an instruction that may be shown.
    pub fn count_instruction(&mut self, lane: usize, address: u64, column: usize) {
        *self
            .instructions
            .entry((lane, address, column))
            .or_default() += 1;
    }

    /// The cells. `lines` gives the numbers of an address in the listings, if it has any.
    pub fn cells(self, lines: impl Fn(u64) -> Vec<usize>) -> Cells {
        let totals = totals(&self.stacks, self.paths.all.len());
        let mut by_program = vec![0; self.programs.all.len()];
        let mut by_routine = vec![0; self.routines.all.len()];
        for (path, total) in self.paths.all.iter().zip(&totals) {
            by_program[path.program] += total;
            if let Some(routine) = path.routines.last() {
                by_routine[*routine] += total;
            }
        }
        let programs = most(&by_program, MOST_PROGRAMS);
        let kept_routines = most(&by_routine, MOST_ROUTINES);
        let kept_paths = most(&totals, MOST_STACKS);

        let mut tree = Tree::default();
        let mut names: Vec<String> = Vec::new();
        let mut program_of = vec![usize::MAX; self.programs.all.len()];
        for program in &programs {
            program_of[*program] = names.len();
            names.push(visible(&self.programs.all[*program]));
        }
        if programs.len() < self.programs.all.len() {
            for program in &mut program_of {
                if *program == usize::MAX {
                    *program = names.len();
                }
            }
            names.push(OTHER_PROGRAMS.to_owned());
        }
        tree.stacks = names.iter().map(|_| Stack::default()).collect();
        let mut is_kept = vec![false; self.paths.all.len()];
        kept_paths.iter().for_each(|path| is_kept[*path] = true);
        let mut has_place = vec![false; self.routines.all.len()];
        kept_routines
            .iter()
            .for_each(|routine| has_place[*routine] = true);
        let mut shortened = 0;
        let mut stack_of = vec![0; self.paths.all.len()];
        // The paths with the most samples come first, so that the numbers are the same for the same samples.
        for number in most(&totals, usize::MAX) {
            let path = &self.paths.all[number];
            let mut at = program_of[path.program];
            if is_kept[number] {
                for routine in &path.routines {
                    at = tree.below(at, self.routines.all[*routine].clone());
                }
            } else {
                if path.routines.len() > 1 {
                    shortened += totals[number];
                    at = tree.below(at, (RARER.to_owned(), String::new()));
                }
                let routine = path.routines.last().filter(|routine| has_place[**routine]);
                let routine = routine.map(|routine| self.routines.all[*routine].clone());
                at = tree.below(at, routine.unwrap_or((OTHERS.to_owned(), String::new())));
            }
            stack_of[number] = at;
        }

        let mut order: Vec<usize> = (0..self.lanes.all.len()).collect();
        order.sort_by_key(|lane| {
            let (is_before, cpu) = self.lanes.all[*lane];
            (!is_before, cpu.is_none(), cpu)
        });
        let mut lane_of = vec![0; order.len()];
        for (place, lane) in order.iter().enumerate() {
            lane_of[*lane] = place;
        }
        let mut kinds = [Sums::new(), Sums::new(), Sums::new()];
        let add = |sums: &mut Sums, lane: usize, what, column, count| {
            let sum = sums.entry((lane_of[lane], what, column)).or_default();
            *sum = sum.saturating_add(count);
        };
        for ((lane, path, column), count) in self.stacks {
            add(&mut kinds[0], lane, stack_of[path], column, count);
        }
        for ((lane, address, column), count) in self.instructions {
            for line in lines(address) {
                add(&mut kinds[1], lane, line, column, count);
            }
        }
        for ((lane, state, column), count) in self.states {
            let state = program_of[state / STATES] * STATES + state % STATES;
            add(&mut kinds[2], lane, state, column, count);
        }
        let mut merged = 1;
        while kinds.iter().map(Sums::len).sum::<usize>() > MOST_CELLS {
            let before: usize = kinds.iter().map(Sums::len).sum();
            kinds = kinds.map(halved);
            merged *= 2;
            let is_one = kinds.iter().all(|sums| sums.keys().all(|key| key.2 == 0));
            if is_one && kinds.iter().map(Sums::len).sum::<usize>() == before {
                break;
            }
        }
        let [stacks, instructions, states] = kinds;
        let mut lanes: Vec<Lane> = order
            .iter()
            .map(|lane| {
                let (is_before, cpu) = self.lanes.all[*lane];
                Lane {
                    is_before,
                    cpu,
                    ..Lane::default()
                }
            })
            .collect();
        let cell = |what, column, samples| Cell {
            what,
            column,
            samples,
        };
        for ((lane, what, column), count) in stacks {
            lanes[lane].stacks.push(cell(what, column, count));
        }
        for ((lane, what, column), count) in instructions {
            lanes[lane].instructions.push(cell(what, column, count));
        }
        for ((lane, what, column), count) in states {
            lanes[lane].states.push(cell(what, column, count));
        }
        let routines = tree.routines.all.into_iter();
        Cells {
            programs: names,
            routines: routines
                .map(|(symbol, module)| (visible(&symbol), visible(&module)))
                .collect(),
            stacks: tree.stacks,
            lanes,
            merged,
            shortened,
        }
    }
}

/// Counts in the order of their cells.
type Sums = BTreeMap<(usize, usize, usize), u32>;

/// The same with half the columns.
fn halved(sums: Sums) -> Sums {
    let mut halved = Sums::new();
    for ((lane, what, column), count) in sums {
        let sum: &mut u32 = halved.entry((lane, what, column / 2)).or_default();
        *sum = sum.saturating_add(count);
    }
    halved
}

fn totals(counts: &Counts, number: usize) -> Vec<u64> {
    let mut totals = vec![0; number];
    for ((_, what, _), count) in counts {
        totals[*what] += u64::from(*count);
    }
    totals
}

/// The places with the largest totals, the largest first.
fn most(totals: &[u64], number: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..totals.len()).collect();
    places.sort_by_key(|place| Reverse(totals[*place]));
    places.truncate(number);
    places
}

/// Call stacks on their way into the page: each has its caller before it.
#[derive(Debug, Default)]
struct Tree {
    stacks: Vec<Stack>,
    routines: Numbered<Routine>,
    known: HashMap<(usize, usize), usize>,
}

impl Tree {
    /// The stack of a routine that this one had called.
    fn below(&mut self, caller: usize, routine: Routine) -> usize {
        let routine = self.routines.number(routine);
        let next = self.stacks.len();
        let stack = *self.known.entry((caller, routine)).or_insert(next);
        if stack == next {
            self.stacks.push(Stack { caller, routine });
        }
        stack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Routines from the outermost on, and samples in the innermost of this stack.
    fn samples_by_path(cells: &Cells) -> Vec<(String, u64)> {
        let path = |mut stack: usize| {
            let mut names = Vec::new();
            while stack >= cells.programs.len() {
                names.push(cells.routines[cells.stacks[stack].routine].0.clone());
                stack = cells.stacks[stack].caller;
            }
            names.push(cells.programs[stack].clone());
            names.reverse();
            names.join(";")
        };
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for cell in cells.lanes.iter().flat_map(|lane| &lane.stacks) {
            *sums.entry(path(cell.what)).or_default() += u64::from(cell.samples);
        }
        sums.into_iter().collect()
    }

    fn gathered(stacks: usize, columns: usize) -> Gathering {
        let mut gathering = Gathering::default();
        let lane = gathering.lane((false, Some(0)));
        let program = gathering.program("program");
        let main = gathering.routine("main", "program");
        for number in 0..stacks {
            let routine = gathering.routine(&format!("routine {number:05}"), "program");
            let stack = gathering.stack(program, vec![main, routine]);
            for column in 0..columns {
                gathering.count(lane, stack, 1, column);
            }
        }
        gathering
    }

    #[test]
    fn callers_are_above_what_they_had_called() {
        let mut gathering = gathered(2, 3);
        let lane = gathering.lane((false, Some(0)));
        gathering.count_instruction(lane, 0x1000, 2);
        gathering.count_instruction(lane, 0x2000, 2);
        let cells = gathering.cells(|address| {
            if address == 0x1000 {
                vec![7]
            } else {
                Vec::new()
            }
        });
        let expected = ["program;main;routine 00000", "program;main;routine 00001"];
        assert_eq!(
            samples_by_path(&cells),
            expected.map(|path| (path.to_owned(), 3))
        );
        assert_eq!((cells.merged, cells.shortened), (1, 0));
        let [lane] = &cells.lanes[..] else { panic!() };
        let instruction = Cell {
            what: 7,
            column: 2,
            samples: 1,
        };
        assert_eq!(lane.instructions, [instruction]);
        let states: Vec<_> = lane
            .states
            .iter()
            .map(|cell| (cell.what, cell.samples))
            .collect();
        assert_eq!(states, [(1, 2); 3]);
    }

    #[test]
    fn rare_call_stacks_lose_their_callers_and_no_sample_is_lost() {
        let cells = gathered(MOST_STACKS + 10, 1).cells(|_| Vec::new());
        let all = samples_by_path(&cells);
        assert_eq!(all.iter().map(|(_, samples)| samples).sum::<u64>(), 3010);
        assert_eq!(cells.shortened, 10);
        assert!(cells.stacks.len() <= MOST_STACKS + 20);
        let rare = format!("program;{RARER};{OTHERS}");
        assert!(all.contains(&(rare, 10)), "{:?}", all.last());
    }

    #[test]
    fn too_many_cells_share_columns() {
        let cells = gathered(2000, 400).cells(|_| Vec::new());
        assert_eq!(cells.merged, 4);
        let stacks = &cells.lanes[0].stacks;
        assert!(stacks.len() <= MOST_CELLS);
        assert_eq!(
            stacks
                .iter()
                .map(|cell| u64::from(cell.samples))
                .sum::<u64>(),
            800_000
        );
        assert!(stacks.iter().all(|cell| cell.column < 100));
    }

    #[test]
    fn too_many_programs_share_the_last_one() {
        let mut gathering = Gathering::default();
        let lane = gathering.lane((false, None));
        for number in 0..100 {
            let program = gathering.program(&format!("p{number}"));
            let routine = gathering.routine("main", "");
            let stack = gathering.stack(program, vec![routine]);
            gathering.count(lane, stack, 0, 0);
        }
        let cells = gathering.cells(|_| Vec::new());
        assert_eq!(cells.programs.len(), MOST_PROGRAMS + 1);
        assert_eq!(cells.programs.last().unwrap(), OTHER_PROGRAMS);
        assert!(samples_by_path(&cells).contains(&("(all other programs);main".to_owned(), 68)));
    }

    #[test]
    fn the_run_before_comes_first_and_cpus_in_their_order() {
        let mut gathering = Gathering::default();
        for key in [
            (false, None),
            (false, Some(3)),
            (true, Some(1)),
            (false, Some(0)),
        ] {
            gathering.lane(key);
        }
        let lanes = gathering.cells(|_| Vec::new()).lanes;
        let keys: Vec<_> = lanes
            .iter()
            .map(|lane| (lane.is_before, lane.cpu))
            .collect();
        assert_eq!(
            keys,
            [
                (true, Some(1)),
                (false, Some(0)),
                (false, Some(3)),
                (false, None)
            ]
        );
    }
}
