// The states of the CPUs in the selection.

if (time) {
  const PATTERNS = ["supervisor", "problem", "wait", "limited"];
  const TITLES = ["supervisor state", "problem state", "wait state", "secure guest"];
  const rows = [...document.querySelectorAll("table.states tr[data-cpu]")];
  const lanes = new Set(time.lanes.map((lane) => String(lane.cpu)));
  follow(() => {
    const sums = new Map([["all", [0, 0, 0, 0]]]);
    eachCell("states", (what) => Math.floor(what / PATTERNS.length), true, (lane, what, column, samples) => {
      if (lane.before) return;
      const cpu = String(lane.cpu);
      if (!sums.has(cpu)) sums.set(cpu, [0, 0, 0, 0]);
      sums.get(cpu)[what % PATTERNS.length] += samples;
      sums.get("all")[what % PATTERNS.length] += samples;
    });
    for (const row of rows) {
      const { cpu } = row.dataset;
      // A CPU without a row of its own has no cells of its own.
      row.hidden = !isWhole() && cpu !== "all" && !(lanes.has(cpu) && hasCpu(Number(cpu)));
      if (cpu !== "all" && !lanes.has(cpu)) continue;
      const counts = sums.get(cpu) ?? [0, 0, 0, 0];
      const all = counts.reduce((a, b) => a + b, 0);
      const cells = [...row.querySelectorAll("td.n")];
      cells[0].textContent = number.format(all);
      // The last number is of lost samples, whose time nobody knows.
      cells.slice(1, -1).forEach((cell, state) => {
        cell.textContent = `${percent(counts[state], all).toFixed(2)} %`;
        cell.title = `${number.format(counts[state])} samples`;
      });
      let from = 0;
      row.querySelector("td.bar svg").replaceChildren(...counts.flatMap((samples, state) => {
        const width = percent(samples, all);
        if (!width) return [];
        const title = shape("title", {}, `${TITLES[state]}: ${width.toFixed(2)} %`);
        const part = shape("rect", {
          x: `${from.toFixed(3)}%`, width: `${width.toFixed(3)}%`, height: "100%", fill: `url(#${PATTERNS[state]})`,
        }, title);
        from += width;
        return [part];
      }));
    }
  });
}

