"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const number = new Intl.NumberFormat("en-US");
  const LIGHT = ["#dbe8f5", "#b5d1eb", "#86b3de", "#558fcb", "#306cb0", "#174a8b", "#082a5c"];
  const DARK = ["#18324c", "#1f4a73", "#2a659b", "#3f86c4", "#68a8de", "#a0cbf0", "#e0f1ff"];
  const ROW = 16;
  const ALL = 32;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let printing = false;

  // Tooltips: names reach the page as text only.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const show = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18}px`;
  };
  const hide = () => { tip.hidden = true; };

  // Tables that can be sorted: by the number in data-v, else by their text.
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const isNumber = head.classList.contains("n");
        const before = head.getAttribute("aria-sort");
        const descending = before ? before === "ascending" : isNumber;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        const key = (row) => {
          const cell = row.cells[column];
          return isNumber ? Number(cell.dataset.v ?? -1) : cell.textContent;
        };
        const compare = isNumber ? (a, b) => a - b : (a, b) => a.localeCompare(b);
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [key(row), row]);
        rows.sort((a, b) => (descending ? -1 : 1) * compare(a[0], b[0]));
        body.append(...rows.map((pair) => pair[1]));
      });
    });
  }
  const filter = document.getElementById("filter");
  if (filter) {
    filter.closest(".filter").hidden = false;
    filter.addEventListener("input", () => {
      const wanted = filter.value.toLowerCase();
      for (const row of document.querySelectorAll("#hot tbody tr")) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
      }
    });
  }

  // Heat maps: one scale for all CPUs, so that shades compare.
  const maps = [];
  if (data.time) {
    const time = data.time;
    // The row of all other symbols would make every other one pale, so it does not set the scale.
    const others = time.others ? time.rows.length - 1 : -1;
    const highest = (isOthers) => Math.max(0, ...time.cpus.flatMap((cpu) => cpu.cells
      .filter((_, place) => (cpu.rows[place] === others) === isOthers)
      .map((row) => row.reduce((a, b) => Math.max(a, b), 0))));
    const top = highest(false) || highest(true);
    const isAbove = highest(true) > top;
    const bounds = [];
    for (let step = 1; step <= LIGHT.length; step += 1) {
      const bound = Math.ceil(top * (step / LIGHT.length) ** 2);
      if (bound > (bounds.at(-1) ?? 0)) bounds.push(bound);
    }
    const shade = (count) => {
      const step = bounds.findIndex((bound) => count <= bound);
      return step < 0 ? LIGHT.length - 1 : Math.round((step + 1) * LIGHT.length / bounds.length) - 1;
    };
    const palette = () => (dark.matches && !printing ? DARK : LIGHT);
    const at = (column) => time.begin + (time.end - time.begin) * column / time.columns;
    const stamp = (value) => `${value.toFixed(time.digits)} ${time.unit}`;
    const draw = (map) => {
      const { canvas, cpu } = map;
      const ratio = Math.max(1, devicePixelRatio || 1);
      const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
      const height = Math.round((ALL + cpu.cells.length * ROW) * ratio);
      if (canvas.width !== width) canvas.width = width;
      if (canvas.height !== height) canvas.height = height;
      const pen = canvas.getContext("2d");
      const colours = palette();
      pen.clearRect(0, 0, width, height);
      const left = (column) => Math.round(column * width / time.columns);
      pen.fillStyle = colours[3];
      map.sums.forEach((sum, column) => {
        const tall = map.most ? sum / map.most * (ALL - 4) * ratio : 0;
        pen.fillRect(left(column), ALL * ratio - tall, left(column + 1) - left(column), tall);
      });
      cpu.cells.forEach((row, place) => {
        const y = Math.round((ALL + place * ROW) * ratio);
        const gap = Math.max(1, Math.round(ratio));
        row.forEach((count, column) => {
          if (!count) return;
          pen.fillStyle = colours[shade(count)];
          pen.fillRect(left(column), y + gap, Math.max(1, left(column + 1) - left(column)), ROW * ratio - gap);
        });
      });
      if (map.cursor && !printing) {
        pen.strokeStyle = getComputedStyle(canvas).color;
        pen.lineWidth = ratio;
        const [column, place] = map.cursor;
        const y = place < 0 ? 0 : ALL + place * ROW;
        pen.strokeRect(left(column), y * ratio, Math.max(2, left(column + 1) - left(column)), (place < 0 ? ALL : ROW) * ratio);
      }
    };
    const legend = () => {
      const line = document.getElementById("legend");
      const colours = palette();
      line.replaceChildren("samples in a cell:", ...bounds.map((bound, step) => {
        const item = document.createElement("span");
        const box = document.createElement("i");
        box.style.background = colours[shade(bound)];
        const from = (bounds[step - 1] ?? 0) + 1;
        const isLast = step === bounds.length - 1 && isAbove;
        const to = isLast ? " or more" : from === bound ? "" : `–${number.format(bound)}`;
        item.append(box, `${number.format(from)}${to}`);
        return item;
      }));
    };
    const tell = (map, column, place, x, y) => {
      map.cursor = [column, place];
      draw(map);
      const count = place < 0 ? map.sums[column] : map.cpu.cells[place][column];
      const name = place < 0 ? "all symbols" : time.rows[map.cpu.rows[place]];
      const share = map.sums[column] ? ` (${(count * 100 / map.sums[column]).toFixed(1)} % of this column)` : "";
      show(`${name}\nCPU ${map.cpu.cpu}, ${stamp(at(column))} to ${stamp(at(column + 1))}\n${number.format(count)} samples${place < 0 ? "" : share}`, x, y);
    };
    for (const cpu of time.cpus) {
      const canvas = document.getElementById(`map-${cpu.cpu}`);
      const sums = new Array(time.columns).fill(0);
      cpu.cells.forEach((row) => row.forEach((count, column) => { sums[column] += count; }));
      const map = { canvas, cpu, sums, most: sums.reduce((a, b) => Math.max(a, b), 0), cursor: null };
      maps.push(map);
      canvas.style.height = `${ALL + cpu.cells.length * ROW}px`;
      const leave = () => { map.cursor = null; draw(map); hide(); };
      canvas.addEventListener("pointermove", (event) => {
        const box = canvas.getBoundingClientRect();
        const column = Math.floor((event.clientX - box.left) * time.columns / box.width);
        const place = Math.floor((event.clientY - box.top - ALL) / ROW);
        const within = (value, end) => Math.max(0, Math.min(value, end - 1));
        tell(map, within(column, time.columns), place < 0 ? -1 : within(place, cpu.cells.length), event.clientX, event.clientY);
      });
      canvas.addEventListener("pointerleave", leave);
      canvas.addEventListener("blur", leave);
      canvas.addEventListener("keydown", (event) => {
        const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
        const move = moves[event.key];
        if (!move) return;
        event.preventDefault();
        const [column, place] = map.cursor ?? [0, -1];
        const next = (column + move[0] + time.columns) % time.columns;
        const row = Math.max(-1, Math.min(place + move[1], cpu.cells.length - 1));
        const box = canvas.getBoundingClientRect();
        tell(map, next, row, box.left + box.width * next / time.columns, box.top + ALL + row * ROW);
      });
    }
    const all = () => { legend(); maps.forEach(draw); };
    addEventListener("resize", all);
    dark.addEventListener("change", all);
    addEventListener("beforeprint", () => { printing = true; all(); });
    addEventListener("afterprint", () => { printing = false; all(); });
    all();
  }

  // Charts: the interval under the pointer.
  for (const chart of document.querySelectorAll("svg[data-values]")) {
    const values = chart.dataset.values.split(" ");
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect();
      const place = Math.floor((event.clientX - box.left) * values.length / box.width);
      const interval = Math.max(0, Math.min(place, values.length - 1));
      show(`interval ${interval + 1} of ${values.length}: ${values[interval]}${chart.dataset.unit ?? ""}`, event.clientX, event.clientY);
    });
    chart.addEventListener("pointerleave", hide);
  }

  // A link to a listing opens it, and so does paper.
  const open = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) {
      target.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", open);
  open();
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => { closed.forEach((part) => { part.open = false; }); });
})();
