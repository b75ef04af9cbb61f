// The search, and the keys that work everywhere: / finds, Escape takes back one thing after the other.

if (time) {
  const find = document.getElementById("find");
  const look = () => {
    const wanted = find.value.trim().toLowerCase();
    markFrames(wanted);
    findSymbols(wanted);
  };
  find.addEventListener("input", look);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && document.activeElement !== find) {
      event.preventDefault();
      find.focus();
      find.select();
    } else if (event.key === "Escape") {
      hideTip();
      if (find.value) {
        find.value = "";
        look();
      } else if (!zoomOut() && !isWhole()) {
        select(whole());
      }
    }
  });
}
