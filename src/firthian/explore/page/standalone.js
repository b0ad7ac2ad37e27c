// The page that `firth map` writes: one map, a field to find a word, and what was circled.
import { WordMap } from "./map.js";

const data = JSON.parse(document.getElementById("data").textContent);
const find = document.getElementById("find");
const said = document.getElementById("said");
const map = new WordMap(document.getElementById("map"), {
  onPick: (word) => {
    find.value = word;
    seek();
  },
  onLasso: (words) => {
    said.textContent = words.length ? `${words.length} words: ${words.slice(0, 40).join(", ")}` : "";
  },
});
map.setData(data);

/** Marks the words that begin with what was typed; an exact one comes first, and before it one with the same capitals. */
function seek() {
  const typed = find.value.trim();
  const wanted = typed.toLowerCase();
  const rank = (word) => (word === typed) + (word.toLowerCase() === wanted);
  const begun = wanted ? data.words.filter((word) => word.toLowerCase().startsWith(wanted)) : [];
  const found = begun.sort((a, b) => rank(b) - rank(a)).slice(0, 30);
  map.mark(found, true);
  const i = found.length ? data.words.indexOf(found[0]) : -1;
  said.textContent = wanted && !found.length ? "no such word here" : i < 0 ? "" : `among: ${data.names[data.groups[i]]}`;
}

find.addEventListener("input", seek);
