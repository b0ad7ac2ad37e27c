// Builds elements. Data is always inserted as text, never as markup, here and everywhere in this page.

/** Builds an element; properties become attributes, `on…` ones listeners; children are elements or text. */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2).toLowerCase(), value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Builds an error message with its hint; suggested words are clickable. */
export function problem(error, onWord) {
  const parts = [];
  const suggested = /^did you mean (.+)\?$/.exec(error.hint ?? "");
  if (suggested && onWord) {
    parts.push("Did you mean ");
    suggested[1].split(", ").forEach((word, i) => {
      if (i) parts.push(", ");
      parts.push(h("button", { type: "button", class: "word", onClick: () => onWord(word) }, word));
    });
    parts.push("?");
  } else {
    parts.push(error.hint ?? "");
  }
  return h("div", { class: "problem", role: "alert" }, h("strong", {}, error.message), " ", parts);
}

export function busy(text = "…") {
  return h("p", { class: "busy" }, text);
}
