// Questions with p-values: lists of words, change between slices of a table, groups of its documents.
import { ask } from "./api.js";
import { bars } from "./bars.js";
import { busy, h } from "./dom.js";
import { plane, ranges } from "./plots.js";

const shownP = (p) => (p === null ? "p unknown" : p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`);
const soft = (texts) => texts.map((text) => h("p", { class: "soft" }, text));

/** A form of labeled fields, {name: element}; `submit` receives their values. */
function asking(fields, button, submit) {
  const values = () => Object.fromEntries(Object.entries(fields).map(([name, [, field]]) => [name, field.value.trim()]));
  return h("form", { class: "asking", onSubmit: (event) => { event.preventDefault(); submit(values()); } },
    Object.entries(fields).map(([name, [label, field]]) => {
      field.id = `ask-${name}`;
      return h("div", { class: "labeled" }, h("label", { for: field.id }, label), field);
    }),
    h("button", { type: "submit" }, button));
}

const text = (value, placeholder) => h("input", { value: value ?? "", placeholder, autocomplete: "off", spellcheck: "false", maxlength: 200 });
const choice = (value, options) => h("select", {}, options.map(([one, name]) => h("option", { value: one, selected: one === (value ?? "") }, name)));
const columns = (tools, none) => [...(none ? [["", none]] : []), ...tools.columns.map((name) => [name, name])];

/** Shows the progress of a slow question below the form. */
async function slowly(name, parameters, parts, tools) {
  const status = busy("Reading …");
  tools.show([...parts, status]);
  return ask(name, parameters, { ...tools, onProgress: (job) => {
    status.textContent = `${job.stage}${job.share === null ? "" : ` ${Math.round(100 * job.share)} %`} …`;
  } });
}

export async function lists(state, tools) {
  const fields = {
    targets: ["Words", text(state.targets, "engineer, nurse, teacher")],
    others: ["Compared with (optional)", text(state.others, "poet, painter, singer")],
    axis: ["Poles", text(state.axis, "he,him,man:she,her,woman")],
    published: ["Or a published test", choice(state.published, ["", ...tools.published].map((one) => [one, one || "none"]))],
  };
  const parts = [h("h2", {}, "Which words go with which?"), asking(fields, "Test", tools.change)];
  if (!state.published && !(state.targets && state.axis)) return parts;
  tools.show(parts);
  const given = state.published ? { published: state.published } : { targets: state.targets, others: state.others, axis: state.axis };
  const found = await ask("lists", { ...given, model: tools.model() }, tools);
  const words = found.words.map((one) => ({ ...one, score: one.projection })).sort((a, b) => b.score - a.score);
  const owners = [...new Set(found.words.map((one) => one.list))];
  tools.mark(found.words.map((one) => one.word));
  return [...parts,
    h("p", { class: "figure" }, h("strong", {}, found.effect_size.toFixed(2)),
      ` ${found.measure}, 95 % interval ${found.ci95[0].toFixed(2)} to ${found.ci95[1].toFixed(2)}, ${shownP(found.p)}`),
    found.posterior ? soft([`Posterior: ${found.posterior.effect_size.toFixed(2)}, ${found.posterior.ci95.map((end) => end.toFixed(2)).join(" to ")}.`]) : null,
    owners.flatMap((owner) => [h("h3", {}, owner), ranges(words.filter((one) => one.list === owner), { onWord: tools.go, all: words })]),
    soft([`Projections on the axis of ${found.title.split(" by ").at(-1)}; bars to the right are nearer to the first.`, ...found.notes]),
    tools.takeout("lists", found.words),
  ].flat();
}

export async function change(state, tools) {
  const by = tools.columns.includes(state.by) ? state.by : tools.columns.includes("year") ? "year" : tools.columns[0];
  const fields = {
    by: ["Slices by", choice(by, columns(tools))],
    cuts: ["Cut at (numbers)", text(state.cuts, "1860,1880,1900")],
    unit: ["Permute", choice(state.unit, columns(tools, "documents"))],
  };
  const parts = [h("h2", {}, state.word ? `Did “${state.word}” change?` : "What changed?"), asking(fields, "Ask", tools.change)];
  if (!state.word || !state.by) return [...parts, ...soft([state.word ? "Choose the slices." : "Choose the slices, and type a word above."])];
  const found = await slowly("change", { word: state.word, by, cuts: state.cuts, unit: state.unit, model: tools.model() }, parts, tools);
  tools.mark([found.word, ...new Set(found.slices.flatMap((one) => one.neighbors))]);
  const open = (context) => (tools.hasCorpus ? tools.change({ tab: "examples", near: context }) : tools.go(context));
  const driving = (title, kept) => {
    const rows = found.contexts.filter(kept).slice(0, 10).map((one) => ({ ...one, score: one.share }));
    return rows.length ? [h("h3", {}, title), bars(rows, {
      onWord: open, most: Math.max(...rows.map((one) => one.score)), digits: 3,
      note: (one) => `${(100 * one.before).toFixed(2)} → ${(100 * one.after).toFixed(2)} %`,
    })] : [];
  };
  return [...parts,
    h("p", { class: "figure" }, h("strong", {}, shownP(found.p)), ` squared distance ${found.distance.toFixed(3)}, debiased ${found.distance_debiased.toFixed(3)}`),
    plane(found.path, found.near, `The path of ${found.word} from ${found.path[0][0]} to ${found.path.at(-1)[0]}, among its neighbors`),
    found.slices.flatMap((one) => [
      h("h3", {}, one.name), h("p", { class: "soft" }, `${one.occurrences.toLocaleString("en")} occurrences in ${one.units.toLocaleString("en")} units`),
      h("p", { class: "cloud" }, one.neighbors.flatMap((near) => [h("button", { type: "button", class: "word", onClick: () => tools.go(near) }, near), " "]))]),
    driving("Contexts that came", (one) => one.after > one.before),
    driving("Contexts that went", (one) => one.after < one.before),
    soft(found.notes),
    tools.takeout(`change-${found.word}`, found.contexts),
  ].flat();
}

export async function groups(state, tools) {
  const fields = {
    formula: ["By columns", text(state.formula, tools.columns.slice(0, 2).join(" + "))],
    unit: ["Permute", choice(state.unit, columns(tools, "documents"))],
  };
  const parts = [h("h2", {}, state.word ? `Who uses “${state.word}” differently?` : "Who uses a word differently?"), asking(fields, "Ask", tools.change)];
  if (!state.word || !state.formula) {
    return [...parts, ...soft([`The columns are ${tools.columns.join(", ")}; for example ${tools.columns.slice(0, 2).join(" + ")}.`])];
  }
  const found = await slowly("regress", { word: state.word, formula: state.formula, unit: state.unit, model: tools.model() }, parts, tools);
  const rows = Object.entries(found.coefficients).map(([name, one]) => ({ coefficient: name, ...one, low: one.ci95[0], high: one.ci95[1] }));
  const words = (near) => h("p", { class: "cloud" }, near.flatMap((one) => [h("button", { type: "button", class: "word", onClick: () => tools.go(one.word) }, one.word), " "]));
  return [...parts,
    h("p", { class: "soft" }, `${found.n.toLocaleString("en")} occurrences in ${found.documents.toLocaleString("en")} documents. Squared norms, debiased, with 95 % intervals:`),
    ranges(rows.map((one) => ({ word: `${one.coefficient} (${shownP(one.p)})`, score: one.norm2_debiased, low: one.low, high: one.high }))),
    rows.flatMap((one) => [h("h3", {}, `Toward ${one.coefficient}`), words(one.nearest)]),
    Object.entries(found.cells).flatMap(([name, cell]) => [
      h("h3", {}, `${name}, ${cell.n.toLocaleString("en")} occurrences`), words(cell.nearest),
      h("ol", { class: "examples" }, cell.sentences.map((one) => h("li", {}, one.text, " ", h("span", { class: "soft" }, one.where))))]),
    soft(found.notes),
    tools.takeout(`groups-${state.word}`, rows.map(({ nearest, ci95, ...one }) => ({ ...one, nearest: nearest.map((near) => near.word).join(" ") }))),
  ].flat();
}
