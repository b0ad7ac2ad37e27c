// The views of the panel, one function per tab: each gets the state and tools, and returns elements.
import { ask } from "./api.js";
import { bars } from "./bars.js";
import { wordField } from "./complete.js";
import { busy, h } from "./dom.js";

/** Words of the open model to begin with. */
const firstWords = (tools) => tools.models.find((one) => one.name === tools.model())?.examples ?? [];

function welcome(tools) {
  return h("div", { class: "welcome" },
    h("p", { class: "lead" }, "You shall know a word by the company it keeps."),
    h("p", {}, "Type a word above, or click one on the map. Try ",
      firstWords(tools).map((word, i) => [i ? ", " : "", h("button", { type: "button", class: "word", onClick: () => tools.go(word) }, word)]).flat(),
      "."),
    h("p", { class: "soft" }, "Keys: / to search, arrows and Enter to choose, and on the map arrows, +, − and 0."),
  );
}

export async function neighbors(state, tools) {
  if (!state.word) return welcome(tools);
  const found = await ask("neighbors", { word: state.word, topn: 30, model: tools.model() }, tools);
  tools.mark([found.word, ...found.neighbors.map((item) => item.word)]);
  const facts = found.count ? `seen ${found.count.toLocaleString("en")} times, ` : "";
  return [
    h("h2", {}, found.word),
    h("p", { class: "soft" }, found.composed || `${facts}frequency rank ${found.rank.toLocaleString("en")}`),
    found.word === state.word ? null : h("p", { class: "soft" }, `Looked up as “${found.word}”, as the corpus was tokenized.`),
    tools.takeout(`neighbors-${found.word}`, found.neighbors),
    found.neighbors.length ? bars(found.neighbors, { onWord: tools.go }) : h("p", {}, "Its vector is zero, so it has no neighbors."),
  ];
}

export async function analogy(state, tools) {
  const fields = ["a", "b", "c"].map((name) => wordField(name, state[name], tools.model, () => solve(name)));
  const solve = (last) => {
    const [a, b, c] = fields.map((field) => field.input.value.trim());
    if (a && b && c) tools.change({ a, b, c });
    else fields[Math.min(2, "abc".indexOf(last) + 1)].input.focus();
  };
  const form = h("form", { class: "analogy", onSubmit: (event) => { event.preventDefault(); solve("c"); } },
    fields[0].element, h("span", {}, "is to"), fields[1].element, h("span", {}, "as"), fields[2].element,
    h("span", {}, "is to"), h("button", { type: "submit" }, "what?"));
  const parts = [h("h2", {}, "Analogy"), form];
  if (!(state.a && state.b && state.c)) {
    if (!firstWords(tools).includes("king")) return parts;
    const example = { a: "man", b: "king", c: "woman" };
    const button = h("button", { type: "button", class: "word", onClick: () => tools.change(example) }, "man is to king as woman is to …");
    return [...parts, h("p", { class: "soft" }, "For example: ", button)];
  }
  tools.show(parts);
  const found = await ask("analogy", { a: state.a, b: state.b, c: state.c, topn: 12, model: tools.model() }, tools);
  tools.mark([...new Set([found.answers[0]?.word, state.a, state.b, state.c])].filter(Boolean));
  return [...parts, tools.takeout(`analogy-${state.a}-${state.b}-${state.c}`, found.answers), bars(found.answers, { onWord: tools.go })];
}

export async function pair(state, tools) {
  const first = wordField("One word", state.word, tools.model, () => compare());
  const second = wordField("Another word", state.with, tools.model, () => compare());
  const compare = () => {
    const [word, other] = [first.input.value.trim(), second.input.value.trim()];
    if (word && other) tools.change({ word, with: other });
    else (word ? second : first).input.focus();
  };
  const form = h("form", { class: "pair", onSubmit: (event) => { event.preventDefault(); compare(); } },
    first.element, second.element, h("button", { type: "submit" }, "Compare"));
  const parts = [h("h2", {}, "Two words"), form];
  if (!(state.word && state.with)) return [...parts, h("p", { class: "soft" }, "How similar are two words, and which neighbors do they share?")];
  tools.show(parts);
  const model = tools.model();
  const [alike, one, other] = await Promise.all([
    ask("similarity", { a: state.word, b: state.with, model }, tools),
    ask("neighbors", { word: state.word, topn: 100, model }, tools),
    ask("neighbors", { word: state.with, topn: 100, model }, tools),
  ]);
  tools.mark([state.word, state.with]);
  const scores = new Map(other.neighbors.map((item) => [item.word, item.score]));
  const shared = one.neighbors.filter((item) => scores.has(item.word))
    .map((item) => ({ word: item.word, score: Math.min(item.score, scores.get(item.word)) }))
    .sort((a, b) => b.score - a.score).slice(0, 20);
  const kind = alike.low === undefined ? "cosine" : "posterior median of the cosine";
  const range = alike.low === undefined ? "" : `, 90 % interval ${alike.low.toFixed(2)} to ${alike.high.toFixed(2)}`;
  return [...parts,
    h("p", { class: "figure" }, h("strong", {}, alike.similarity.toFixed(3)), ` ${kind} of ${state.word} and ${state.with}${range}`),
    h("h3", {}, shared.length ? "Shared neighbors" : "They share no near neighbors."),
    tools.takeout(`shared-${state.word}-${state.with}`, shared),
    bars(shared, { onWord: tools.go }),
  ];
}

export async function models(state, tools) {
  const others = tools.models.filter((one) => one.name !== tools.model());
  if (!others.length) return h("p", {}, "Only one model is open. Start with several: ", h("code", {}, "firth explore FIRST SECOND"));
  const second = others.some((one) => one.name === state.other) ? state.other : others[0].name;
  const choice = h("select", { id: "other", onChange: (event) => tools.change({ other: event.target.value }) },
    others.map((one) => h("option", { selected: one.name === second, value: one.name }, one.name)));
  const parts = [h("h2", {}, state.word ? `“${state.word}” in two models` : "Two models"), h("label", { class: "choice" }, "Compare with ", choice)];
  if (!state.word) return [...parts, h("p", { class: "soft" }, "Type a word above.")];
  const found = await ask("compare", { word: state.word, first: tools.model(), second, topn: 20 }, tools);
  tools.mark([state.word, ...found.sides[0].map((item) => item.word)]);
  const column = (side) => h("div", {}, h("h3", {}, found.models[side]),
    h("ol", { class: "side" }, found.sides[side].map((item) =>
      h("li", { class: item.shared ? "shared" : undefined },
        h("button", { type: "button", class: "word", onClick: () => tools.go(item.word) }, item.word),
        h("span", { class: "moved" }, moved(item, found.beyond))))));
  return [...parts,
    h("p", { class: "figure" }, h("strong", {}, `${found.shared} of ${found.sides[0].length}`), " neighbors are the same"),
    tools.takeout(`models-${state.word}`, found.sides.flatMap((side, i) => side.map((item) => ({ model: found.models[i], ...item })))),
    h("div", { class: "sides" }, column(0), column(1)),
    h("p", { class: "soft" }, "The number is the word's rank in the other model."),
  ];
}

function moved(item, beyond) {
  if (!item.known) return "not in vocabulary";
  if (item.other_rank === null) return `> ${beyond}`;
  if (item.other_rank === item.rank) return "same";
  return `${item.other_rank > item.rank ? "↓" : "↑"} ${item.other_rank}`;
}

const ORDERS = { pmi: "PMI", llr: "log-likelihood ratio", log_odds: "log-odds", count: "frequency" };

export async function contexts(state, tools) {
  if (!tools.hasCounts) return h("p", {}, "Start with ", h("code", {}, "firth explore VECTORS --counts COUNTS"), " to see the contexts of a word.");
  if (!state.word) return welcome(tools);
  const order = ORDERS[state.order] ? state.order : "pmi";
  const choice = h("select", { id: "order", onChange: (event) => tools.change({ order: event.target.value }) },
    Object.entries(ORDERS).map(([value, name]) => h("option", { value, selected: order === value }, name)));
  const found = await ask("contexts", { word: state.word, topn: 40, order, model: tools.model() }, tools);
  const items = found.contexts.map((one) => ({ ...one, score: one[order] }));
  tools.mark([state.word, ...items.map((item) => item.word)]);
  return [
    h("h2", {}, `Contexts of “${state.word}”`),
    h("p", { class: "soft" }, `Counted in ${found.counts}, for the model ${tools.model()}.`),
    h("label", { class: "choice" }, "Order by ", choice),
    tools.takeout(`contexts-${state.word}`, found.contexts),
    items.length ? bars(items, {
      onWord: tools.go, most: Math.max(...items.map((item) => item.score), 1e-9), digits: order === "count" ? 0 : order === "llr" ? 1 : 2,
      note: (item) => (order === "count" ? `PMI ${item.pmi.toFixed(2)}` : `${Math.round(item.count).toLocaleString("en")} times`),
    }) : h("p", {}, "No context word is frequent enough."),
  ];
}

export async function examples(state, tools) {
  if (!state.word) return welcome(tools);
  const near = wordField("near (optional)", state.near, tools.model, (word) => tools.change({ near: word }));
  const form = h("form", { class: "pair", onSubmit: (event) => { event.preventDefault(); tools.change({ near: near.input.value.trim() }); } },
    near.element, h("button", { type: "submit" }, "Find"));
  const parts = [h("h2", {}, `“${state.word}” in the corpus`), form];
  tools.show(parts);
  const found = await ask("examples", { word: state.word, beside: state.near, topn: 30 }, tools);
  tools.mark([state.word, state.near].filter(Boolean));
  const kind = found.complete ? "All examples." : "The first examples that were found.";
  return [...parts,
    found.lines.length ? h("p", { class: "soft" }, kind) : h("p", {}, found.complete ? "It does not occur in the corpus." : "Not found in the first part of the corpus."),
    tools.takeout(`examples-${state.word}`, found.lines),
    h("ol", { class: "examples" }, found.lines.map((line) => h("li", {}, line.left, h("mark", {}, line.word), line.right))),
  ];
}

const RANKINGS = { hybrid: "meaning and words", vectors: "meaning", words: "words (BM25)" };

export async function documents(state, tools) {
  const query = h("input", { id: "query", value: state.query, "aria-label": "Search documents", autocomplete: "off" });
  const rank = RANKINGS[state.rank] ? state.rank : "hybrid";
  const choice = h("select", { id: "rank", onChange: (event) => tools.change({ rank: event.target.value }) },
    Object.entries(RANKINGS).map(([value, name]) => h("option", { value, selected: rank === value }, name)));
  const form = h("form", { class: "pair one", role: "search", "aria-label": "Documents", onSubmit: (event) => { event.preventDefault(); tools.change({ query: query.value.trim() }); } },
    query, h("button", { type: "submit" }, "Search"));
  const parts = [h("h2", {}, `Search ${tools.documents.toLocaleString("en")} documents`), form, h("label", { class: "choice" }, "Rank by ", choice)];
  if (!state.query) return parts;
  tools.show(parts);
  const found = await ask("search", { query: state.query, method: rank, topn: 20 }, tools);
  return [...parts,
    found.notes.map((note) => h("p", { class: "soft" }, note)),
    found.results.length ? null : h("p", {}, "No document has anything in common with the query."),
    tools.takeout(`documents-${state.query}`, found.results.map((one) => ({ ...one, snippet: one.snippet.join("") }))),
    h("ol", { class: "examples plain" }, found.results.map((one) => h("li", {},
      h("span", { class: "soft" }, `line ${(one.document + 1).toLocaleString("en")}: `),
      one.snippet.map((text, i) => (i % 2 ? h("mark", {}, text) : text))))),
  ].flat();
}

export async function evaluation(state, tools) {
  const status = busy("Evaluating …");
  tools.show([h("h2", {}, "Scores"), status]);
  const found = await ask("evaluation", { model: tools.model() }, { ...tools, onProgress: (job) => { status.textContent = `${job.stage} …`; } });
  const head = ["set", "measure", "value", "95 % interval", "covered"];
  return [
    h("h2", {}, `Scores of ${found.model}`),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Scores" }, h("table", {},
      h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, found.rows.map((row) => h("tr", {},
        h("th", { scope: "row" }, row.set.replaceAll("_", " ")), h("td", {}, row.measure), h("td", {}, row.value === null ? "–" : row.value.toFixed(3)),
        h("td", {}, row.low === null ? "" : `${row.low.toFixed(2)} – ${row.high.toFixed(2)}`),
        h("td", { title: row.covered === null ? undefined : `${row.covered} of ${row.items}` },
          row.covered === null || !row.items ? "" : `${Math.round((100 * row.covered) / row.items)} %`)))))),
    tools.takeout(`scores-${found.model}`, found.rows),
  ];
}

export async function certainty(state, tools) {
  if (!tools.models.find((one) => one.name === tools.model())?.uncertainty) {
    return h("p", {}, "This model has no uncertainty; train one with ", h("code", {}, "firth train -m bayes"), ".");
  }
  const known = state.word ? await ask("similarity", { a: state.word, b: state.word, model: tools.model() }, tools).then(() => true, () => false) : false;
  const found = await ask("uncertain", { topn: 30, model: tools.model(), word: known ? state.word : "" }, tools);
  const own = found.chosen;
  // Excess is the log ratio of the variance to that of equally frequent words.
  const items = found.words.map((one) => ({ word: one.word, score: Math.exp(one.excess ?? 0), count: one.count }));
  tools.mark([...(own.word ? [own.word] : []), ...found.words.map((one) => one.word)]);
  const facts = own.word ? [
    h("h2", {}, `How certain is “${own.word}”?`),
    h("p", { class: "figure" }, h("strong", {}, `± ${Math.round(100 * own.relative)} %`), " relative error of its vector"),
    h("p", { class: "soft" }, `Seen ${own.count.toLocaleString("en")} times; its uncertainty spreads over ${own.effective_dimensions.toFixed(1)} dimensions.`),
    h("h3", {}, "Least certain words"),
  ] : [h("h2", {}, "Least certain words")];
  return [
    ...facts,
    h("p", { class: "soft" }, "Variance relative to equally frequent words."),
    tools.takeout("least-certain", found.words),
    bars(items, {
      onWord: tools.go, most: Math.max(...items.map((item) => item.score), 1e-9), digits: 2,
      note: (item) => `seen ${item.count.toLocaleString("en")} times`,
    }),
    found.log_precisions.length ? [h("h3", {}, "Relevance of the dimensions"),
      h("p", { class: "soft" }, "One square per dimension, the most relevant first; the smallest are practically switched off."), hinton(found.log_precisions)] : null,
  ].flat();
}

/** A Hinton diagram: one square per dimension, its area the prior variance on a log scale. */
function hinton(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const spread = high - low || 1;
  const text = `${values.length} dimensions, log precision ${low.toFixed(1)} to ${high.toFixed(1)}`;
  return h("div", { class: "hinton", role: "img", "aria-label": text, title: text }, values.map((value) => {
    const square = h("span", {}, h("span", {}));
    square.firstChild.style.transform = `scale(${Math.sqrt(0.04 + 0.96 * (1 - (value - low) / spread)).toFixed(3)})`;
    return square;
  }));
}
