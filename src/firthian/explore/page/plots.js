// Small plots: ranges on both sides of zero, and the path of a word in a plane.
import { h } from "./dom.js";

/** Rows of {word, score, low?, high?} as bars from zero, with intervals if known, on the scale of `all` rows; `onWord` makes names clickable. */
export function ranges(items, { onWord, digits = 2, all = items } = {}) {
  const ends = all.flatMap((item) => [item.score, item.low ?? 0, item.high ?? 0]);
  const [least, most] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const place = (value) => (100 * (value - least)) / (most - least || 1);
  return h("ol", { class: "bars ranges" }, items.map((item) => {
    const bar = h("span", { class: "bar", "aria-hidden": "true" }, h("span", { class: "full" }));
    bar.firstChild.style.left = `${place(Math.min(0, item.score))}%`;
    bar.firstChild.style.right = `${100 - place(Math.max(0, item.score))}%`;
    if (item.low !== undefined && item.low !== null) {
      const whisker = bar.appendChild(h("span", { class: "whisker" }));
      whisker.style.left = `${place(item.low)}%`;
      whisker.style.right = `${100 - place(item.high)}%`;
    }
    return h("li", {},
      onWord ? h("button", { type: "button", class: "word", onClick: () => onWord(item.word) }, item.word) : h("span", {}, item.word),
      bar, h("span", { class: "score" }, item.score.toFixed(digits)));
  }));
}

function svg(name, properties, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(properties)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

const WIDTH = 480;
const HEIGHT = 300;
const MARGIN = 40;

/** A drawing of [name, x, y] points: `path` is joined by a line, `near` are its neighbors, of which crowded names are left out. */
export function plane(path, near, label) {
  const all = [...path, ...near];
  const scale = (axis, size, flipped) => {
    const values = all.map((point) => point[axis]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return (point) => {
      const share = high > low ? (point[axis] - low) / (high - low) : 0.5;
      return MARGIN + (flipped ? 1 - share : share) * (size - 2 * MARGIN);
    };
  };
  const [x, y] = [scale(1, WIDTH, false), scale(2, HEIGHT, true)];
  const taken = [];
  const name = (point, kind) => {
    const half = 3.6 * point[0].length;
    const box = [x(point) - half, x(point) + half, y(point) - 20, y(point) - 4];
    if (kind === "near" && taken.some((other) => box[0] < other[1] && other[0] < box[1] && box[2] < other[3] && other[2] < box[3])) return [];
    taken.push(box);
    return [svg("text", { x: x(point), y: y(point) - 8, class: kind, "text-anchor": "middle" }, point[0])];
  };
  const dot = (point, kind) => svg("circle", { cx: x(point), cy: y(point), r: kind === "own" ? 5 : 2.5, class: kind });
  const named = [...path.flatMap((point) => name(point, "own")), ...near.flatMap((point) => name(point, "near"))];
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plane", role: "img", "aria-label": label },
    svg("polyline", { points: path.map((point) => `${x(point)},${y(point)}`).join(" ") }),
    ...near.map((point) => dot(point, "near")), ...path.map((point) => dot(point, "own")), ...named);
}
