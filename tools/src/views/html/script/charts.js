// Charts of counters: the interval under the pointer.

for (const chart of document.querySelectorAll("svg[data-values]")) {
  const values = chart.dataset.values.split(" ");
  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect();
    const place = Math.floor((event.clientX - box.left) * values.length / box.width);
    const interval = Math.max(0, Math.min(place, values.length - 1));
    showTip(`interval ${interval + 1} of ${values.length}: ${values[interval]}${chart.dataset.unit ?? ""}`, event.clientX, event.clientY);
  });
  chart.addEventListener("pointerleave", hideTip);
}

