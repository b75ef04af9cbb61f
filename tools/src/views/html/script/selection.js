// The selection: a span of time, CPUs and programs. Everything made of samples follows it.

const whole = () => ({ from: 0, to: time.columns, cpus: new Set(), programs: new Set() });
let selection = time && whole();

// The samples of the selection, each for the run before and for this one.
let counted = null;

const isSpan = () => selection.from > 0 || selection.to < time.columns;
const isWhole = () => !isSpan() && !selection.cpus.size && !selection.programs.size;
const hasCpu = (cpu) => !selection.cpus.size || selection.cpus.has(cpu);
const hasProgram = (program) => !selection.programs.size || selection.programs.has(program);

// Calls this for each cell of a kind in lanes that are selected; `inSpan` leaves out what is beside the span of time.
const eachCell = (kind, programOf, inSpan, call) => {
  for (const lane of time.lanes) {
    if (!hasCpu(lane.cpu)) continue;
    const cells = lane[kind];
    for (let cell = 0; cell < cells.what.length; cell += 1) {
      const column = cells.column[cell];
      if (inSpan && (column < selection.from || column >= selection.to)) continue;
      if (!hasProgram(programOf(cells.what[cell]))) continue;
      call(lane, cells.what[cell], column, cells.samples[cell]);
    }
  }
};

const programOfStack = (stack) => stacks.program[stack];

const count = () => {
  const pair = (length) => [new Float64Array(length), new Float64Array(length)];
  const sums = {
    all: [0, 0],
    own: pair(stacks.caller.length),
    total: pair(stacks.caller.length),
    exclusive: pair(time.routines.length),
    inclusive: pair(time.routines.length),
  };
  eachCell("stacks", programOfStack, true, (lane, stack, column, samples) => {
    const side = lane.before ? 0 : 1;
    sums.all[side] += samples;
    sums.own[side][stack] += samples;
  });
  for (const side of [0, 1]) {
    const total = sums.total[side];
    total.set(sums.own[side]);
    // Callers are before what they call.
    for (let stack = total.length - 1; stack >= time.programs.length; stack -= 1) {
      const routine = stacks.routine[stack];
      total[stacks.caller[stack]] += total[stack];
      sums.exclusive[side][routine] += sums.own[side][stack];
      if (stacks.isOutermost[stack]) sums.inclusive[side][routine] += total[stack];
    }
  }
  counted = sums;
};

const followers = [];
// Calls this now and whenever the selection changes.
const follow = (follower) => {
  followers.push(follower);
  follower();
};
const select = (change) => {
  selection = { ...selection, ...change };
  count();
  followers.forEach((follower) => follower());
};
if (time) count();

