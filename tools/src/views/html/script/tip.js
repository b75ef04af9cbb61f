// What is under the pointer.

const tip = element("div", { id: "tip", role: "status", hidden: true });
document.body.append(tip);
const showTip = (text, x, y) => {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18}px`;
};
const hideTip = () => { tip.hidden = true; };

