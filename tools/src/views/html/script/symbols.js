// The table of symbols, and the order of all tables.

// Tables that can be sorted: by the number in data-v, else by their text.
const sort = (table) => {
  const heads = [...table.tHead.rows[0].cells];
  const column = heads.findIndex((head) => head.hasAttribute("aria-sort"));
  if (column < 0) return;
  const isNumber = heads[column].classList.contains("n");
  const sign = heads[column].getAttribute("aria-sort") === "descending" ? -1 : 1;
  const key = (row) => (isNumber ? Number(row.cells[column].dataset.v ?? -1) : row.cells[column].textContent);
  const compare = isNumber ? (a, b) => a - b : (a, b) => a.localeCompare(b);
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [key(row), row]);
  rows.sort((a, b) => sign * compare(a[0], b[0]));
  body.append(...rows.map((pair) => pair[1]));
};
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  for (const head of heads) {
    head.querySelector("button")?.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const isDescending = before ? before === "ascending" : head.classList.contains("n");
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
      sort(table);
    });
  }
}

let findSymbols = () => {};
const hot = document.getElementById("hot");
if (time && hot) {
  const MOST = 200;
  const RARER = "(rarer call stacks)";
  const more = document.getElementById("hot-more");
  const body = hot.tBodies[0];
  const cell = (row, name) => row.querySelector(`.${name}`);
  const keyOf = (symbol, module) => `${symbol}\n${module}`;
  const rows = new Map();
  for (const row of body.rows) {
    rows.set(keyOf(cell(row, "symbol").textContent, cell(row, "module")?.textContent ?? ""), row);
  }
  const pattern = body.rows[0].cloneNode(true);
  const rowOf = (routine) => {
    const [symbol, module] = [symbolOf(routine), moduleOf(routine)];
    const known = rows.get(keyOf(symbol, module));
    if (known) return known;
    const row = pattern.cloneNode(true);
    cell(row, "symbol").replaceChildren(named(symbol));
    cell(row, "module")?.replaceChildren(named(module));
    cell(row, "source")?.replaceChildren();
    rows.set(keyOf(symbol, module), row);
    return row;
  };
  const put = (row, name, value, text) => {
    const found = cell(row, name);
    if (!found) return;
    found.dataset.v = value;
    found.textContent = text;
  };
  const fill = (row, routine) => {
    const [exclusive, inclusive] = [counted.exclusive[1][routine], counted.inclusive[1][routine]];
    const was = counted.exclusive[0][routine];
    const [share, whole] = [percent(exclusive, counted.all[1]), percent(inclusive, counted.all[1])];
    const shareBefore = percent(was, counted.all[0]);
    const change = share - shareBefore;
    put(row, "samples", exclusive, number.format(exclusive));
    put(row, "share", share, share.toFixed(2));
    cell(row, "share").style.setProperty("--p", `${share.toFixed(2)}%`);
    put(row, "inclusive", inclusive, number.format(inclusive));
    put(row, "inclusive-share", whole, whole.toFixed(2));
    put(row, "before", was, number.format(was));
    put(row, "before-share", shareBefore, shareBefore.toFixed(2));
    put(row, "change", Math.abs(change), `${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(2)}`);
    cell(row, "change")?.classList.toggle("more", change > 0);
    cell(row, "change")?.classList.toggle("less", change < 0);
  };
  let query = "";
  const show = () => {
    const weight = (routine) => Math.max(counted.exclusive[1][routine], counted.exclusive[0][routine]);
    const callers = (routine) => counted.inclusive[1][routine];
    const isShown = (routine) => (weight(routine) > 0 || callers(routine) > 0) && symbolOf(routine) !== RARER;
    const all = time.routines.map((_, routine) => routine).filter(isShown);
    all.sort((a, b) => weight(b) - weight(a) || callers(b) - callers(a));
    const found = all.filter((routine) => `${symbolOf(routine)} ${moduleOf(routine)}`.toLowerCase().includes(query));
    const shown = found.slice(0, MOST);
    const place = new Map(all.map((routine, index) => [routine, index + 1]));
    body.replaceChildren(...shown.map((routine) => {
      const row = rowOf(routine);
      fill(row, routine);
      put(row, "place", place.get(routine), place.get(routine));
      return row;
    }));
    const left = found.slice(MOST);
    const samples = left.reduce((sum, routine) => sum + counted.exclusive[1][routine], 0);
    const share = percent(samples, counted.all[1]).toFixed(2);
    more.textContent = left.length
      ? `And ${number.format(left.length)} more with ${number.format(samples)} samples (${share} percent).` : "";
    sort(hot);
  };
  findSymbols = (wanted) => {
    query = wanted;
    show();
  };
  follow(show);
}

