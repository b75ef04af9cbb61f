// The time line: a row for each CPU with its programs, and a row for each of the hottest symbols. A span is selected by
// dragging, or with the two handles and the arrow keys.

if (time) {
  const ROWS = 16;
  const SHADES = 7;
  const place = document.getElementById("timeline");
  const names = element("ol", { class: "names" });
  const counts = element("ol", { class: "counts" });
  const rows = element("div", { class: "rows" });
  const before = element("div", { class: "beside" });
  const behind = element("div", { class: "beside" });
  const handle = (label) => element("div", {
    class: "handle", role: "slider", tabindex: "0", "aria-label": label, "aria-orientation": "horizontal",
  });
  const handles = [handle("Selection begins"), handle("Selection ends")];
  const plot = element("div", { class: "plot" }, rows, before, behind, ...handles);
  const axis = element("div", { class: "axis", "aria-hidden": "true" });
  const TICKS = 5;
  for (let tick = 0; tick <= TICKS; tick += 1) {
    const value = time.begin + (time.end - time.begin) * tick / TICKS;
    axis.append(element("span", {}, `${value.toFixed(Math.min(time.digits, 3))} ${time.unit}`));
  }
  const hint = element("p", { class: "quiet screen" },
    "Drag over the rows to select a span of time, or move the two handles with the arrow keys.");
  const legend = element("p", { class: "legend", id: "legend" });
  place.append(hint, element("div", { class: "lanes" }, names, plot, counts, axis), legend);

  const picture = (label, height) => shape("svg", {
    role: "img", "aria-label": label, viewBox: `0 0 ${time.columns} ${height}`, preserveAspectRatio: "none",
  });
  const row = (kind, name, label, height) => {
    const count = element("li", { class: kind });
    const drawing = picture(label, height);
    // One line for each: what is too long ends in dots.
    names.append(element("li", { class: kind, title: name }, element("bdi", {}, shortened(name))));
    rows.append(element("div", { class: kind }, drawing));
    counts.append(count);
    return { drawing, count };
  };

  // Programs lie on one another. All CPUs have one scale.
  const HEIGHT = 100;
  const columnsOf = (lane) => {
    const sums = time.programs.map(() => new Float64Array(time.columns));
    const { what, column, samples } = lane.stacks;
    what.forEach((stack, cell) => { sums[stacks.program[stack]][column[cell]] += samples[cell]; });
    return sums;
  };
  const lanes = time.lanes.map((lane) => ({ lane, sums: columnsOf(lane) }));
  const sumOf = (sums, column) => sums.reduce((sum, program) => sum + program[column], 0);
  const top = Math.max(1, ...lanes.flatMap(({ sums }) => [...sums[0].keys()].map((column) => sumOf(sums, column))));
  for (const one of lanes) {
    const { lane, sums } = one;
    const name = time.compared ? `${lane.name} ${lane.before ? "before" : "now"}` : lane.name;
    Object.assign(one, row("lane", name, `Samples of ${name} by time and program`, HEIGHT));
    const floor = new Float64Array(time.columns);
    one.paths = sums.map((program, index) => {
      let path = "";
      program.forEach((samples, column) => {
        if (!samples) return;
        const height = samples * HEIGHT / top;
        path += `M${column} ${(HEIGHT - floor[column] - height).toFixed(2)}h1v${height.toFixed(2)}h-1z`;
        floor[column] += height;
      });
      const drawn = shape("path", { d: path, class: `program p${hueOf(index)}` });
      one.drawing.append(drawn);
      return drawn;
    });
  }

  // The symbols that have a row, with their samples by column.
  let heat = [];
  const firstHeat = lanes.length;
  const drawHeat = () => {
    for (const list of [names, rows, counts]) [...list.children].slice(firstHeat).forEach((old) => old.remove());
    const exclusive = counted.exclusive[1];
    const hottest = [...exclusive.keys()].filter((routine) => exclusive[routine] > 0)
      .sort((a, b) => exclusive[b] - exclusive[a]).slice(0, ROWS);
    const rowOf = new Map(hottest.map((routine, index) => [routine, index]));
    const cells = hottest.map(() => new Float64Array(time.columns));
    eachCell("stacks", programOfStack, false, (lane, stack, column, samples) => {
      const index = lane.before ? undefined : rowOf.get(stacks.routine[stack]);
      if (index !== undefined) cells[index][column] += samples;
    });
    const most = Math.max(1, ...cells.map((row) => row.reduce((a, b) => Math.max(a, b), 0)));
    const bounds = [];
    for (let step = 1; step <= SHADES; step += 1) {
      const bound = Math.ceil(most * (step / SHADES) ** 2);
      if (bound > (bounds.at(-1) ?? 0)) bounds.push(bound);
    }
    const shadeOf = (step) => Math.round((step + 1) * SHADES / bounds.length);
    hottest.forEach((routine, index) => {
      const name = symbolOf(routine);
      const { drawing, count } = row("heat", name, `Samples of ${name} by time`, 1);
      const paths = bounds.map(() => "");
      cells[index].forEach((samples, column) => {
        if (samples) paths[bounds.findIndex((bound) => samples <= bound)] += `M${column} 0h1v1h-1z`;
      });
      paths.forEach((path, step) => {
        if (path) drawing.append(shape("path", { d: path, class: `shade s${shadeOf(step)}` }));
      });
      count.textContent = number.format(exclusive[routine]);
    });
    heat = hottest.map((routine, index) => ({ routine, cells: cells[index] }));
    legend.replaceChildren("samples of a symbol in a column:", ...bounds.map((bound, step) => {
      const from = (bounds[step - 1] ?? 0) + 1;
      const to = from === bound ? "" : `–${number.format(bound)}`;
      return element("span", {}, element("i", { class: `shade s${shadeOf(step)}` }), `${number.format(from)}${to}`);
    }));
  };

  const put = (from, to) => {
    const share = (column) => `${column * 100 / time.columns}%`;
    before.style.width = share(from);
    behind.style.width = share(time.columns - to);
    [from, to].forEach((column, index) => {
      handles[index].style.left = share(column);
      handles[index].setAttribute("aria-valuemin", "0");
      handles[index].setAttribute("aria-valuemax", String(time.columns));
      handles[index].setAttribute("aria-valuenow", String(column));
      handles[index].setAttribute("aria-valuetext", stamp(at(column)));
    });
  };
  handles.forEach((one, index) => {
    one.addEventListener("keydown", (event) => {
      const step = event.shiftKey ? 10 : 1;
      const now = index ? selection.to : selection.from;
      const wanted = {
        ArrowLeft: now - step, ArrowDown: now - step, ArrowRight: now + step, ArrowUp: now + step,
        PageDown: now - 20, PageUp: now + 20, Home: 0, End: time.columns,
      }[event.key];
      if (wanted === undefined) return;
      event.preventDefault();
      const within = (low, high) => Math.max(low, Math.min(wanted, high));
      select(index ? { to: within(selection.from + 1, time.columns) } : { from: within(0, selection.to - 1) });
    });
  });

  // Dragging: from the column where the pointer went down to the one where it is.
  let anchor = null;
  const columnAt = (event) => {
    const box = plot.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) * time.columns / box.width);
    return Math.max(0, Math.min(column, time.columns - 1));
  };
  const spanTo = (column) => [Math.min(anchor.column, column), Math.max(anchor.column, column) + 1];
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const index = handles.indexOf(event.target);
    // A handle moves its own end.
    const column = index < 0 ? columnAt(event) : index ? selection.from : selection.to - 1;
    anchor = { column, x: event.clientX, isMoved: false };
    plot.setPointerCapture(event.pointerId);
    if (index < 0) event.preventDefault();
  });
  plot.addEventListener("pointermove", (event) => {
    const column = columnAt(event);
    if (anchor) {
      anchor.isMoved ||= Math.abs(event.clientX - anchor.x) > 3;
      if (anchor.isMoved) put(...spanTo(column));
    }
    const box = rows.getBoundingClientRect();
    const under = [...rows.children].findIndex((one) => event.clientY < one.getBoundingClientRect().bottom);
    if (under < 0 || event.clientY < box.top) return hideTip();
    const span = `${stamp(at(column))} to ${stamp(at(column + 1))}`;
    if (under >= firstHeat) {
      const { routine, cells } = heat[under - firstHeat];
      return showTip(`${symbolOf(routine)}\n${span}\n${number.format(cells[column])} samples`, event.clientX, event.clientY);
    }
    const { lane, sums } = lanes[under];
    const found = sums.map((program, index) => [index, program[column]]).filter((pair) => pair[1] > 0);
    const lines = found.map(([index, samples]) => `${programName(index)}: ${number.format(samples)}`);
    return showTip(`${lane.name}\n${span}\n${lines.join("\n") || "no samples"}`, event.clientX, event.clientY);
  });
  const release = (event) => {
    if (!anchor) return;
    const { isMoved } = anchor;
    const [from, to] = spanTo(columnAt(event));
    anchor = null;
    if (isMoved) select({ from, to });
    else if (isSpan()) select({ from: 0, to: time.columns });
  };
  plot.addEventListener("pointerup", release);
  plot.addEventListener("pointercancel", () => {
    anchor = null;
    put(selection.from, selection.to);
  });
  plot.addEventListener("pointerleave", hideTip);

  follow(() => {
    put(selection.from, selection.to);
    for (const { lane, sums, count, paths } of lanes) {
      let all = 0;
      sums.forEach((program, index) => {
        const isIn = hasCpu(lane.cpu) && hasProgram(index);
        paths[index].classList.toggle("out", !isIn);
        if (isIn) for (let column = selection.from; column < selection.to; column += 1) all += program[column];
      });
      count.textContent = number.format(all);
    }
    drawHeat();
  });
}

