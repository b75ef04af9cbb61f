// Elements and names: whatever comes from a file reaches the page as text only.

const element = (kind, attributes = {}, ...content) => {
  const made = document.createElement(kind);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false && value !== undefined) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...content);
  return made;
};

const shape = (kind, attributes = {}, ...content) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
};

// A line breaks behind the signs of a path, and never within a word: as `name.rs` does it.
const named = (text) => {
  const words = text.split(/(?<=::|[/<>,])(?=[\p{L}_<&{])/u);
  const parts = words.flatMap((word, place) => (place ? [element("wbr"), word] : [word]));
  return element("bdi", {}, ...parts);
};

// The end of a long path says most.
const shortened = (name) => {
  if (/[<> ]/.test(name)) return name;
  return name.split("::").slice(-2).join("::");
};

