// The bar: what is selected in words, and buttons for CPUs and programs.

if (time) {
  const bar = document.getElementById("selection");
  const clear = document.getElementById("clear");
  bar.hidden = false;
  clear.addEventListener("click", () => {
    select(whole());
    document.getElementById("find").focus();
  });

  // Buttons of which any number may be pressed; none means all.
  const chips = (place, kind, title, all) => {
    if (!place) return;
    place.append(element("span", { class: "quiet" }, title));
    for (const [value, text, hue] of all) {
      const chip = element("button", { type: "button", "aria-pressed": "false" });
      if (hue) chip.append(element("i", { class: `program p${hue - 1}` }));
      chip.append(named(text));
      chip.addEventListener("click", () => {
        const chosen = new Set(selection[kind]);
        if (!chosen.delete(value)) chosen.add(value);
        select({ [kind]: chosen.size === all.length ? new Set() : chosen });
      });
      place.append(chip);
      follow(() => chip.setAttribute("aria-pressed", String(selection[kind].has(value))));
    }
  };
  const cpus = new Map(time.lanes.map((lane) => [lane.cpu, lane.name]));
  if (cpus.size > 1) {
    const all = [...cpus].map(([cpu, name]) => [cpu, name]);
    chips(document.getElementById("cpus"), "cpus", "CPUs", all);
  }
  const programs = time.programs.map((name, program) => [program, programName(program), hueOf(program) + 1]);
  if (programs.length > 1) chips(document.getElementById("programs"), "programs", "Programs", programs);

  follow(() => {
    const parts = [];
    if (isSpan()) parts.push(`${stamp(at(selection.from))} to ${stamp(at(selection.to))}`);
    if (selection.cpus.size) parts.push([...selection.cpus].map((cpu) => cpus.get(cpu)).join(", "));
    if (selection.programs.size) parts.push([...selection.programs].map(programName).join(", "));
    const all = time.samples[1];
    const [before, now] = counted.all;
    const share = isWhole() ? "" : ` of ${number.format(all)} samples (${percent(now, all).toFixed(1)} %)`;
    const was = time.compared ? `, ${number.format(before)} before` : "";
    const samples = isWhole() ? `${number.format(now)} samples` : number.format(now) + share;
    const output = document.getElementById("selected");
    output.textContent = `Selection: ${parts.join("; ") || "everything"}: ${samples}${was}`;
    clear.hidden = isWhole();
    document.body.classList.toggle("selected", !isWhole());
  });
}

