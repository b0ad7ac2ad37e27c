// The page: word, model, tabs and map, all driven by the state in the URL.
import { ask } from "./api.js";
import { completing } from "./complete.js";
import { busy, h, problem } from "./dom.js";
import { WordMap } from "./map.js";
import { change, listen, read } from "./state.js";
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
  ["certainty", "Certainty", views.certainty, (facts) => facts.models.some((one) => one.uncertainty)],
  ["evaluation", "Scores", views.evaluation],
];
const METHODS = { pca: "PCA (fast)", tsne: "t-SNE", umap: "UMAP" };
const LIMITS = [1000, 5000, 20000, 50000, 100000, 400000];

let facts = { models: [], counts: false, limits: {} };
let asking = null;
let drawing = null;
let drawn = "";
let asked;

const map = new WordMap(byId("map"), {
  onPick: (picked) => go(picked),
  onLasso: (words) => {
    asking?.abort();
    show([h("h2", {}, `${words.length.toLocaleString("en")} words selected`), wordList(words.slice(0, 300))]);
  },
});

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
  change({ word: next, tab: ["models", "contexts"].includes(tab) ? tab : "" });
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
    signal, go, change, model: modelName, models: facts.models, hasCounts: facts.counts,
    show: (parts) => { kept = parts; show(parts); },
    mark: (words) => map.mark(words, true),
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
  const most = Math.min(size, method === "pca" ? facts.limits.points : facts.limits.embedded);
  return [...LIMITS.filter((limit) => limit < most), most];
}

async function drawMap(state) {
  const method = METHODS[state.map] ? state.map : "pca";
  const choices = limits(method);
  const wanted = Number(state.limit) || (method === "pca" ? 20000 : 5000);
  const limit = choices.findLast((one) => one <= wanted) ?? choices[0];
  byId("method").replaceChildren(...facts.methods.map((one) => h("option", { value: one, selected: one === method }, METHODS[one])));
  byId("limit").replaceChildren(...choices.map((one) => h("option", { value: one, selected: one === limit }, one.toLocaleString("en"))));
  const model = modelName();
  const generation = facts.models.find((one) => one.name === model)?.generation;
  const key = [model, generation, method, limit].join("\n");
  if (key === drawn) return;
  drawn = key;
  drawing?.abort();
  drawing = new AbortController();
  const { signal } = drawing;
  const status = byId("map-status");
  status.textContent = "drawing …";
  try {
    const data = await ask("map", { model, method, limit }, {
      signal,
      onProgress: (job) => { status.textContent = `${job.stage}${job.share === null ? "" : ` ${Math.round(100 * job.share)} %`} …`; },
    });
    if (signal.aborted) return;
    map.setData(data);
    status.textContent = `${data.words.length.toLocaleString("en")} of ${data.total.toLocaleString("en")} words`;
    byId("map").dataset.ready = key;
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    drawn = "";
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
