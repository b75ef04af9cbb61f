// The data of the page: cells of samples by lane, column of time, and what was sampled.

const page = JSON.parse(document.getElementById("data").textContent);
// Nothing without samples.
const time = page.time;
const number = new Intl.NumberFormat("en-US");
const percent = (part, whole) => (whole ? part * 100 / whole : 0);

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const VALUES = new Map([...DIGITS].map((digit, value) => [digit, value]));

// A list of numbers that `packed.rs` wrote.
const unpack = (text) => {
  const numbers = [];
  let value = 0;
  let weight = 1;
  for (const character of text) {
    const digit = VALUES.get(character);
    value += (digit % 32) * weight;
    if (digit < 32) {
      numbers.push(value);
      value = 0;
      weight = 1;
    } else {
      weight *= 32;
    }
  }
  return numbers;
};

// Cells that `data.rs` wrote, as three lists.
const cellsOf = (text) => {
  const numbers = unpack(text);
  const cells = { what: [], column: [], samples: [] };
  let at = 0;
  let what = 0;
  while (at < numbers.length) {
    what += numbers[at];
    let left = numbers[at + 1];
    let column = 0;
    for (at += 2; left > 0; left -= 1, at += 2) {
      column += numbers[at];
      cells.what.push(what);
      cells.column.push(column);
      cells.samples.push(numbers[at + 1]);
    }
  }
  return cells;
};

// Of each call stack its caller (-1 for a program, which has none), its routine, its program, and whether no routine
// above it is the same, so that a routine that calls itself counts once.
const stacks = { caller: [], routine: [], program: [], isOutermost: [], children: [] };
if (time) {
  for (const [program] of time.programs.entries()) {
    stacks.caller.push(-1);
    stacks.routine.push(-1);
    stacks.program.push(program);
    stacks.isOutermost.push(false);
    stacks.children.push([]);
  }
  const numbers = unpack(time.stacks);
  for (let at = 0; at < numbers.length; at += 2) {
    const stack = stacks.caller.length;
    const caller = stack - numbers[at];
    const routine = numbers[at + 1];
    let above = caller;
    while (above >= 0 && stacks.routine[above] !== routine) above = stacks.caller[above];
    stacks.caller.push(caller);
    stacks.routine.push(routine);
    stacks.program.push(stacks.program[caller]);
    stacks.isOutermost.push(above < 0);
    stacks.children.push([]);
    stacks.children[caller].push(stack);
  }
  for (const lane of time.lanes) {
    lane.stacks = cellsOf(lane.stacks);
    lane.instructions = cellsOf(lane.instructions);
    lane.states = cellsOf(lane.states);
    lane.name = lane.cpu === null ? "other CPUs" : `CPU ${lane.cpu}`;
  }
}

const symbolOf = (routine) => time.routines[routine][0];
const moduleOf = (routine) => time.modules[time.routines[routine][1]];
// A program may have an empty name.
const programName = (program) => time.programs[program] || "(no program)";

// All samples of the run before and of this one.
if (time) {
  time.samples = [0, 0];
  for (const lane of time.lanes) {
    const sum = lane.stacks.samples.reduce((one, other) => one + other, 0);
    time.samples[lane.before ? 0 : 1] += sum;
  }
}

// Time at the beginning of a column, with its unit.
const at = (column) => time.begin + (time.end - time.begin) * column / time.columns;
const stamp = (value) => `${value.toFixed(time.digits)} ${time.unit}`;

// Programs with the same number share a colour; there are eight.
const hueOf = (program) => program % 8;

