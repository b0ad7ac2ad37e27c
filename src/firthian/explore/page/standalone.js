// The page that `firth map` writes: a map, a search field, and the words selected by lasso.
import { WordMap } from "./map.js";

const data = JSON.parse(document.getElementById("data").textContent);
const find = document.getElementById("find");
const status = document.getElementById("status");
const map = new WordMap(document.getElementById("map"), {
  onPick: (word) => {
    find.value = word;
    seek();
  },
  onLasso: (words) => {
    status.textContent = words.length ? `${words.length} words: ${words.slice(0, 40).join(", ")}` : "";
  },
});
map.setData(data);

/** Marks the words that start with the typed text; exact matches come first, those of the same case before others. */
function seek() {
  const typed = find.value.trim();
  const wanted = typed.toLowerCase();
  const rank = (word) => (word === typed) + (word.toLowerCase() === wanted);
  const begun = wanted ? data.words.filter((word) => word.toLowerCase().startsWith(wanted)) : [];
  const found = begun.sort((a, b) => rank(b) - rank(a)).slice(0, 30);
  map.mark(found, true);
  const i = found.length ? data.words.indexOf(found[0]) : -1;
  status.textContent = wanted && !found.length ? "no such word on this map" : i < 0 ? "" : `cluster: ${data.names[data.groups[i]]}`;
}

find.addEventListener("input", seek);
