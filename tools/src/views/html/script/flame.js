// The flame graph: callers above what they had called, as wide as their samples.

let zoomOut = () => false;
let markFrames = () => {};

if (time) {
  // Narrower frames would be a line without a name.
  const NARROWEST = 0.06;
  const place = document.getElementById("flames");
  const reset = element("button", { type: "button", id: "reset", hidden: true }, "whole graph");
  const widths = element("button", { type: "button", id: "widths", "aria-pressed": "false" }, "widths of the run before");
  const hint = element("span", { class: "quiet screen" },
    "Click or Enter zooms, Escape goes back; the arrow keys go from frame to frame.");
  const tools = element("p", { class: "tools" }, hint, reset, ...(time.compared ? [widths] : []));
  const detail = element("p", { id: "frame", "aria-live": "polite" });
  const graph = element("div", { id: "flamegraph", role: "tree", "aria-label": "Flame graph" });
  place.append(tools, detail, graph);
  if (time.compared) {
    place.append(element("p", { class: "legend" },
      element("span", {}, element("i", { class: "frame less" }), "smaller share than before"),
      element("span", {}, element("i", { class: "frame same" }), "the same"),
      element("span", {}, element("i", { class: "frame more" }), "larger share than before")));
  }

  // -1 stands for everything.
  let zoom = -1;
  let current = -1;
  let query = "";
  // The run whose samples give the widths.
  let side = 1;
  const frames = new Map();

  const totalOf = (stack, of = side) => (stack < 0 ? counted.all[of] : counted.total[of][stack]);
  const nameOf = (stack) => {
    if (stack < 0) return "all";
    const routine = stacks.routine[stack];
    return routine < 0 ? programName(stack) : symbolOf(routine);
  };
  const roots = time.programs.map((_, program) => program);
  const childrenOf = (stack) => {
    const children = stack < 0 ? roots : stacks.children[stack];
    return children.filter((child) => totalOf(child) > 0).sort((a, b) => {
      const [one, other] = [nameOf(a), nameOf(b)];
      return one < other ? -1 : one > other ? 1 : a - b;
    });
  };
  const callerOf = (stack) => (stack < 0 ? null : stacks.caller[stack]);
  const isMatch = (stack) => {
    if (!query || stack < 0) return false;
    const routine = stacks.routine[stack];
    const text = routine < 0 ? programName(stack) : `${symbolOf(routine)} ${moduleOf(routine)}`;
    return text.toLowerCase().includes(query);
  };
  const shareOf = (stack, of) => percent(totalOf(stack, of), counted.all[of]);

  const describe = (stack) => {
    const own = stack < 0 ? 0 : counted.own[side][stack];
    const samples = totalOf(stack);
    let text = `${nameOf(stack)}: ${number.format(samples)} samples, ${shareOf(stack, side).toFixed(2)} % of the selection`;
    if (own && own !== samples) text += `; ${number.format(own)} in itself`;
    if (time.compared) {
      const change = shareOf(stack, 1) - shareOf(stack, 0);
      text += `; before ${shareOf(stack, 0).toFixed(2)} %, change ${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(2)}`;
    }
    return text;
  };
  const tell = (stack) => {
    const routine = stack < 0 ? -1 : stacks.routine[stack];
    const text = describe(stack);
    const name = nameOf(stack);
    const module = routine < 0 || !moduleOf(routine) ? [] : [" (", named(moduleOf(routine)), ")"];
    detail.replaceChildren(named(name), ...module, text.slice(name.length));
  };

  // Colours of a family of routines, which has one name before the first sign of a path.
  const hue = (name) => {
    const family = name.replace(/^[<&]+/, "").split(/::|[ .<]/)[0];
    let mixed = 7;
    for (const character of family) mixed = (mixed * 31 + character.codePointAt(0)) % 3600;
    return mixed % 360;
  };

  const draw = (stack, level, left, width) => {
    const name = nameOf(stack);
    const frame = element("div", {
      class: "frame", role: "treeitem", tabindex: "-1", "aria-level": String(level + 1), "aria-label": describe(stack),
    }, element("span", {}, shortened(name)));
    frame.style.left = `${left.toFixed(4)}%`;
    frame.style.width = `${width.toFixed(4)}%`;
    frame.style.setProperty("--level", level);
    frame.dataset.stack = stack;
    if (time.compared) {
      const [was, is] = [shareOf(stack, 0), shareOf(stack, 1)];
      // Twice the share, or half of it, has the full colour.
      const change = Math.max(-1, Math.min(1, Math.log2((is + 0.01) / (was + 0.01))));
      frame.classList.add("compared", change < 0 ? "less" : "more");
      frame.style.setProperty("--change", `${Math.round(Math.abs(change) * 100)}%`);
    } else if (stack < 0 || stacks.routine[stack] < 0) {
      frame.classList.add("program");
      if (stack >= 0) frame.classList.add(`p${hueOf(stack)}`);
    } else {
      frame.style.setProperty("--hue", hue(name));
    }
    if (isMatch(stack)) frame.classList.add("match");
    graph.append(frame);
    frames.set(stack, frame);
    return frame;
  };
  const deepen = (stack, level, left, width) => {
    let deepest = level;
    let from = left;
    for (const child of childrenOf(stack)) {
      const part = width * totalOf(child) / totalOf(stack);
      if (part >= NARROWEST) {
        draw(child, level + 1, from, part);
        deepest = Math.max(deepest, deepen(child, level + 1, from, part));
      }
      from += part;
    }
    return deepest;
  };
  const render = () => {
    graph.replaceChildren();
    frames.clear();
    if (totalOf(zoom) === 0) zoom = -1;
    const above = [];
    for (let stack = callerOf(zoom); stack !== null; stack = callerOf(stack)) above.unshift(stack);
    above.forEach((stack, level) => draw(stack, level, 0, 100).classList.add("above"));
    draw(zoom, above.length, 0, 100);
    const deepest = totalOf(zoom) ? deepen(zoom, above.length, 0, 100) : above.length;
    graph.style.setProperty("--levels", deepest + 1);
    reset.hidden = zoom < 0;
    if (!frames.has(current)) current = zoom;
    frames.get(current).tabIndex = 0;
    tell(current);
    markFrames(query);
  };
  const goTo = (stack) => {
    const frame = frames.get(stack);
    if (!frame) return;
    frames.get(current)?.setAttribute("tabindex", "-1");
    current = stack;
    frame.tabIndex = 0;
    frame.focus();
    tell(stack);
  };
  const zoomTo = (stack, withFocus) => {
    zoom = stack;
    current = stack;
    render();
    if (withFocus) goTo(stack);
  };
  zoomOut = () => {
    if (zoom < 0) return false;
    zoomTo(-1, graph.contains(document.activeElement));
    return true;
  };

  // Marks what has this in its name, and says which share of the selection is in it or in what it had called.
  markFrames = (wanted) => {
    query = wanted;
    let samples = 0;
    let found = 0;
    const look = (stack, isWithin) => {
      const is = isMatch(stack);
      found += is;
      if (is && !isWithin) samples += totalOf(stack);
      for (const child of stack < 0 ? roots : stacks.children[stack]) {
        if (totalOf(child) > 0) look(child, isWithin || is);
      }
    };
    if (query) look(-1, false);
    for (const [stack, frame] of frames) frame.classList.toggle("match", isMatch(stack));
    graph.classList.toggle("searched", query !== "");
    const share = percent(samples, counted.all[side]).toFixed(1);
    const output = document.getElementById("found");
    output.textContent = query ? `${number.format(found)} frames, ${share} % of the selection` : "";
  };

  const stackOf = (event) => {
    const frame = event.target.closest(".frame");
    return frame && graph.contains(frame) ? Number(frame.dataset.stack) : null;
  };
  graph.addEventListener("click", (event) => {
    const stack = stackOf(event);
    if (stack !== null) zoomTo(stack, true);
  });
  graph.addEventListener("pointerover", (event) => {
    const stack = stackOf(event);
    if (stack !== null) tell(stack);
  });
  graph.addEventListener("pointerleave", () => tell(current));
  graph.addEventListener("focusin", (event) => {
    const stack = stackOf(event);
    if (stack !== null) tell(stack);
  });
  graph.addEventListener("keydown", (event) => {
    const caller = callerOf(current);
    const shown = (list) => list.filter((stack) => frames.has(stack));
    const beside = caller === null ? [current] : shown(childrenOf(caller));
    const widest = () => shown(childrenOf(current)).sort((a, b) => totalOf(b) - totalOf(a))[0];
    const to = {
      ArrowUp: () => caller ?? current,
      ArrowDown: widest,
      ArrowLeft: () => beside[beside.indexOf(current) - 1],
      ArrowRight: () => beside[beside.indexOf(current) + 1],
      Home: () => -1,
    }[event.key];
    if (to) {
      event.preventDefault();
      goTo(to());
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      zoomTo(current, true);
    }
  });
  reset.addEventListener("click", () => zoomTo(-1, true));
  widths.addEventListener("click", () => {
    side = 1 - side;
    widths.setAttribute("aria-pressed", String(side === 0));
    render();
  });
  follow(render);
}

