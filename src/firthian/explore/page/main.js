// The page: word, model, tabs and map, all driven by the state in the URL.
import { ask } from "./api.js";
import { completing } from "./complete.js";
import { busy, h, problem } from "./dom.js";
import { WordMap } from "./map.js";
import * as questions from "./questions.js";
import { change, listen, read } from "./state.js";
import { csv, download, takeout } from "./takeout.js";
import * as views from "./views.js";

const byId = (id) => document.getElementById(id);
const panel = byId("panel");
const word = byId("word");
const notice = byId("notice");

const TABS = [
  ["neighbors", "Neighbors", views.neighbors],
  ["analogy", "Analogy", views.analogy],
  ["pair", "Two words", views.pair],
  ["models", "Two models", views.models, (facts) => facts.models.length > 1],
  ["contexts", "Contexts", views.contexts, (facts) => facts.counts],
  ["examples", "Examples", views.examples, (facts) => facts.corpus],
  ["documents", "Documents", views.documents, (facts) => facts.documents],
  ["lists", "Lists", questions.lists],
  ["change", "Change", questions.change, (facts) => facts.columns.length],
  ["groups", "Groups", questions.groups, (facts) => facts.columns.length],
  ["certainty", "Certainty", views.certainty, (facts) => facts.models.some((one) => one.uncertainty)],
  ["evaluation", "Scores", views.evaluation],
];
const ABOUT_A_WORD = ["models", "contexts", "examples", "change", "groups", "certainty"];
const METHODS = { pca: "PCA (fast)", tsne: "t-SNE", umap: "UMAP", axes: "Your own axes" };
const SHADES = { cluster: "cluster", frequency: "frequency", certainty: "uncertainty" };

/** The most words of a selection that the address holds. */
const MOST_SELECTED = 200;
const LIMITS = [1000, 5000, 20000, 50000, 100000, 400000];

let facts = { models: [], counts: false, limits: {} };
let asking = null;
let drawing = null;
let drawn = "";
let asked;

const map = new WordMap(byId("map"), {
  onPick: (picked) => go(picked),
  onLasso: (words) => {
    const selected = words.slice(0, MOST_SELECTED).join(" ");
    change({ selected }, true, true);
    showSelected(words);
    if (facts.inline) tell(words).catch(() => {});
  },
  onView: () => {
    if (byId("map").dataset.ready) change({ at: map.getView() === whole ? "" : map.getView() }, true, true);
  },
});
let whole = "";

/** Tells the notebook which words are selected, in requests that are not too long. */
async function tell(words) {
  for (let at = 0, add = false; at < words.length || !add; add = true) {
    const first = at;
    for (let room = 6000; at < words.length && room > 0; at += 1) room -= encodeURIComponent(words[at]).length + 3;
    await ask("selection", { words: words.slice(first, at).join(" "), add });
  }
}

function showSelected(words) {
  asking?.abort();
  panel.dataset.tab = "selected";
  const rows = words.map((one) => {
    const i = map.places?.get(one);
    return { word: one, count: map.data.counts[i], x: map.data.x[i], y: map.data.y[i], cluster: map.data.names[map.data.groups[i]] };
  });
  const count = `${words.length.toLocaleString("en")} ${words.length === 1 ? "word" : "words"} selected`;
  show([h("h2", {}, words.length ? count : "No words selected"),
    words.length ? takeout("selection", rows) : h("p", { class: "soft" }, "Draw a line around words on the map."), wordList(words.slice(0, 300))]);
}

function wordList(words) {
  return h("p", { class: "cloud" }, words.map((one) => [h("button", { type: "button", class: "word", onClick: () => go(one) }, one), " "]).flat());
}

const modelName = () => {
  const wanted = read().model;
  return facts.models.some((one) => one.name === wanted) ? wanted : facts.models[0]?.name;
};

/** Shows a word, in the open tab if that is about a single word. */
function go(next) {
  const tab = read().tab;
  change({ word: next, tab: ABOUT_A_WORD.includes(tab) ? tab : "" });
}

function show(parts) {
  panel.replaceChildren(...[parts].flat(2).filter(Boolean));
}

async function answer(state) {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  const [tab, , view] = openTab(state);
  if (tab !== panel.dataset.tab) show(busy());
  panel.dataset.tab = tab;
  let kept = [];
  const tools = {
    signal, go, change, model: modelName, models: facts.models, hasCounts: facts.counts, documents: facts.documents,
    columns: facts.columns, published: facts.lists, hasCorpus: facts.corpus,
    show: (parts) => { kept = parts; show(parts); },
    mark: (words) => map.mark(words, true),
    takeout, word: state.word,
  };
  panel.setAttribute("aria-busy", "true");
  try {
    const parts = await view(state, tools);
    if (!signal.aborted) show(parts);
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    show([...[kept].flat(), problem(error, (better) => go(better))]);
    map.mark([]);
  } finally {
    if (!signal.aborted) panel.setAttribute("aria-busy", "false");
  }
}

function openTab(state) {
  const tabs = TABS.filter(([, , , wanted]) => !wanted || wanted(facts));
  return tabs.find(([name]) => name === state.tab) ?? tabs[0];
}

function drawTabs(state) {
  const open = openTab(state)[0];
  const focused = document.activeElement?.getAttribute("role") === "tab";
  byId("tabs").replaceChildren(...TABS.filter(([, , , wanted]) => !wanted || wanted(facts)).map(([name, title]) =>
    h("button", {
      type: "button", role: "tab", id: `tab-${name}`, "aria-selected": String(name === open), "aria-controls": "panel",
      tabindex: name === open ? 0 : -1, onClick: () => change({ tab: name }),
    }, title)));
  panel.setAttribute("aria-labelledby", `tab-${open}`);
  if (focused) byId(`tab-${open}`).focus();
}

byId("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const tabs = [...byId("tabs").children];
  tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length].click();
});

/** Choices for the number of words, given the size of the vocabulary. */
function limits(method) {
  const size = facts.models.find((one) => one.name === modelName())?.words ?? 0;
  const most = Math.min(size, ["pca", "axes"].includes(method) ? facts.limits.points : facts.limits.embedded);
  return [...LIMITS.filter((limit) => limit < most), most];
}

function drawShades(state) {
  const able = Object.keys(SHADES).filter((one) => one !== "certainty" || map.data?.uncertainty?.length);
  const shade = able.includes(state.shade) ? state.shade : "cluster";
  byId("shade").replaceChildren(...able.map((one) => h("option", { value: one, selected: one === shade }, SHADES[one])));
  if (map.data && map.shading !== shade) map.shade(shade);
}

async function drawMap(state) {
  const method = METHODS[state.map] ? state.map : "pca";
  drawShades(state);
  const choices = limits(method);
  const wanted = Number(state.limit) || { pca: 20000, axes: 2000 }[method] || 5000;
  const limit = choices.findLast((one) => one <= wanted) ?? choices[0];
  byId("method").replaceChildren(...[...facts.methods, { name: "axes", missing: "" }].map((one) => h("option",
    { value: one.name, selected: one.name === method, disabled: Boolean(one.missing) },
    one.missing ? `${METHODS[one.name]} (needs ${one.missing})` : METHODS[one.name])));
  byId("axes").hidden = method !== "axes";
  const [x, y] = method === "axes" ? [state.x ?? "", state.y ?? ""] : [];
  if (method === "axes") {
    if (document.activeElement !== byId("axis-x")) byId("axis-x").value = x;
    if (document.activeElement !== byId("axis-y")) byId("axis-y").value = y;
    if (!x || !y) {
      byId("map-status").textContent = "Name two poles for each axis, such as bad:good.";
      return;
    }
  }
  byId("limit").replaceChildren(...choices.map((one) => h("option", { value: one, selected: one === limit }, one.toLocaleString("en"))));
  const model = modelName();
  const generation = facts.models.find((one) => one.name === model)?.generation;
  const key = [model, generation, method, limit, x, y].join("\n");
  if (key === drawn) return;
  drawn = key;
  drawing?.abort();
  drawing = new AbortController();
  const { signal } = drawing;
  const status = byId("map-status");
  status.textContent = "drawing …";
  try {
    const data = await ask("map", { model, method, limit, x, y }, {
      signal,
      onProgress: (job) => { status.textContent = `${job.stage}${job.share === null ? "" : ` ${Math.round(100 * job.share)} %`} …`; },
    });
    if (signal.aborted) return;
    const { at, selected } = read();
    map.setData(data);
    whole = map.getView();
    if (at) map.setView(at);
    drawShades(state);
    const gone = selected ? map.select(selected.split(" ")) : 0;
    if (selected && gone === selected.split(" ").length) change({ selected: "" }, true, true);
    notice.hidden = !gone;
    if (gone) notice.textContent = `${gone} of the selected words ${gone === 1 ? "is" : "are"} not on this map.`;
    status.textContent = `${data.words.length.toLocaleString("en")} of ${data.total.toLocaleString("en")} words`;
    byId("map").dataset.ready = key;
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    // The old map must not stand under the name of the new one.
    drawn = "";
    map.clear();
    status.textContent = `${error.message} ${error.hint ?? ""}`;
  }
}

function update(state) {
  // Keep what the user is typing until another word is shown.
  if (state.word !== asked || document.activeElement !== word) word.value = state.word ?? "";
  asked = state.word;
  document.title = state.word ? `${state.word} – Firthian` : "Firthian explorer";
  document.documentElement.dataset.theme = state.theme ?? localStorage.getItem("theme") ?? "";
  const model = modelName();
  byId("model").replaceChildren(...facts.models.map((one) =>
    h("option", { value: one.name, selected: one.name === model }, `${one.name} (${one.words.toLocaleString("en")} × ${one.dimensions})`)));
  drawTabs(state);
  answer(state);
  drawMap(state);
}

/** Polls for vectors that changed on disk. */
async function watch() {
  try {
    const fresh = await ask("models");
    const changed = fresh.models.filter((one, i) => one.generation !== facts.models[i]?.generation).map((one) => one.name);
    const trouble = fresh.models.find((one) => one.trouble);
    facts = fresh;
    if (changed.length) update(read());
    notice.hidden = !changed.length && !trouble;
    if (trouble) notice.textContent = `${trouble.name} ${trouble.trouble}`;
    else if (changed.length) notice.textContent = `${changed.join(", ")} changed on disk and was reloaded.`;
  } catch (error) {
    notice.hidden = false;
    notice.textContent = `${error.message} ${error.hint ?? ""}`;
  }
}

completing(word, modelName, go);
byId("ask").addEventListener("submit", (event) => event.preventDefault());
byId("model").addEventListener("change", (event) => change({ model: event.target.value }));
byId("method").addEventListener("change", (event) => change({ map: event.target.value }));
byId("limit").addEventListener("change", (event) => change({ limit: event.target.value }));
byId("shade").addEventListener("change", (event) => change({ shade: event.target.value === "cluster" ? "" : event.target.value }));
byId("axes").addEventListener("submit", (event) => {
  event.preventDefault();
  change({ x: byId("axis-x").value.trim(), y: byId("axis-y").value.trim() });
});
byId("map-png").addEventListener("click", async () => { if (map.data) download("map.png", await map.toPng()); });
byId("map-svg").addEventListener("click", () => { if (map.data) download("map.svg", map.toSvg(byId("map-status").textContent), "image/svg+xml"); });
byId("map-csv").addEventListener("click", () => {
  if (!map.data) return;
  const { words, counts, x, y, groups, names } = map.data;
  download("map.csv", csv(words.map((one, i) => ({ word: one, count: counts[i], x: x[i], y: y[i], cluster: names[groups[i]] }))), "text/csv");
});
byId("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).getPropertyValue("color-scheme") === "dark" ||
    (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const next = dark ? "light" : "dark";
  localStorage.setItem("theme", next);
  document.documentElement.dataset.theme = next;
  map.redraw();
});
addEventListener("keydown", (event) => {
  if (event.key !== "/" || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName)) return;
  event.preventDefault();
  word.focus();
  word.select();
});

try {
  facts = await ask("models");
  listen(update);
  update(read());
  setInterval(() => { if (!document.hidden) watch(); }, 5000);
} catch (error) {
  show(problem(error));
}
