// Lists of words with bars, and with intervals if the model has them.
import { h } from "./dom.js";

/** A list of {word, score, low?, high?}; `most` is the score of a full bar, `note(item)` a note after the word. */
export function bars(items, { onWord, most = 1, digits = 3, note } = {}) {
  return h("ol", { class: note ? "bars noted" : "bars" }, items.map((item) => {
    const share = (value) => `${Math.min(100, Math.max(0, (100 * value) / most))}%`;
    const bar = h("span", { class: "bar", "aria-hidden": "true" }, h("span", { class: "full" }));
    bar.firstChild.style.width = share(item.score);
    const known = item.low !== undefined && item.low !== null;
    if (known) {
      const whisker = bar.appendChild(h("span", { class: "whisker" }));
      whisker.style.left = share(item.low);
      whisker.style.right = `calc(100% - ${share(item.high)})`;
    }
    const range = known ? ` (${item.low.toFixed(2)} to ${item.high.toFixed(2)})` : "";
    return h("li", {},
      h("button", { type: "button", class: "word", onClick: () => onWord(item.word) }, item.word),
      bar,
      h("span", { class: "score", title: known ? `90 % interval${range}` : undefined }, item.score.toFixed(digits)),
      note ? h("span", { class: "note" }, note(item)) : null,
    );
  }));
}
