// The text of functions: the samples of the selection at each instruction and source line.

if (time) {
  const listings = [...document.querySelectorAll("details.code")].map((listing) => ({
    lines: [...listing.querySelectorAll("[data-i]")],
    totals: listing.querySelector(".totals"),
    module: listing.dataset.module,
  }));
  const programs = new Map(time.programs.map((name, program) => [name, program]));
  const fill = (line, samples, all, isHottest) => {
    if (line.tagName === "SPAN") {
      line.textContent = number.format(samples);
      return;
    }
    const [count, share] = line.querySelectorAll("td.n");
    count.textContent = samples ? number.format(samples) : "";
    if (!share) return;
    const part = percent(samples, all);
    share.textContent = samples ? part.toFixed(2) : "";
    share.style.setProperty("--p", `${part.toFixed(1)}%`);
    line.classList.toggle("hottest", isHottest);
  };
  follow(() => {
    const sums = new Map();
    for (const lane of time.lanes) {
      if (lane.before || !hasCpu(lane.cpu)) continue;
      const { what, column, samples } = lane.instructions;
      what.forEach((line, cell) => {
        if (column[cell] < selection.from || column[cell] >= selection.to) return;
        sums.set(line, (sums.get(line) ?? 0) + samples[cell]);
      });
    }
    for (const { lines, totals, module } of listings) {
      // A function has one module, which is its program.
      const isOut = !hasProgram(programs.get(module) ?? -1);
      const of = (line) => (isOut ? 0 : sums.get(Number(line.dataset.i)) ?? 0);
      const instructions = lines.filter((line) => line.closest("table")?.classList.contains("text"));
      const elsewhere = lines.filter((line) => line.tagName === "SPAN");
      const sum = (some) => some.reduce((all, line) => all + of(line), 0);
      const all = sum(instructions) + sum(elsewhere);
      const most = instructions.reduce((top, line) => Math.max(top, line.classList.contains("gap") ? 0 : of(line)), 0);
      for (const line of lines) {
        const isInstruction = !line.classList.contains("gap") && !line.closest("table")?.classList.contains("sources");
        fill(line, of(line), all, isInstruction && most > 0 && of(line) === most);
      }
      const share = percent(all, counted.all[1]).toFixed(2);
      totals.textContent = `${number.format(all)} samples, ${share} %`;
    }
  });

  // A link to a listing opens it.
  const open = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) {
      target.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", open);
  open();
}

// Paper shows what is folded.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  folded.forEach((part) => { part.open = true; });
});
addEventListener("afterprint", () => { folded.forEach((part) => { part.open = false; }); });

