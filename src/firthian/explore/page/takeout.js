// Taking results out: copied to the clipboard, or downloaded as CSV or JSON.
import { h } from "./dom.js";

/** CSV of a list of objects; texts that a spreadsheet would take for formulas begin with an apostrophe. */
export function csv(rows) {
  const names = Object.keys(rows[0] ?? {});
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${[names, ...rows.map((row) => names.map((name) => row[name]))].map((line) => line.map(cell).join(",")).join("\n")}\n`;
}

/** Saves text or a blob as a file. */
export function download(name, content, type = "text/plain") {
  const blob = content instanceof Blob ? content : new Blob([content], { type: `${type};charset=utf-8` });
  const link = h("a", { href: URL.createObjectURL(blob), download: name.replace(/[^\p{L}\p{N}._-]+/gu, "_") });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Buttons that copy or save rows; nothing if there are none. */
export function takeout(name, rows) {
  if (!rows.length) return null;
  const said = h("span", { role: "status", class: "soft" });
  const button = (text, title, action) => h("button", { type: "button", class: "small", title, onClick: action }, text);
  return h("p", { class: "takeout" },
    button("Copy", "Copy as a table for a spreadsheet", async () => {
      const lines = [Object.keys(rows[0]), ...rows.map((row) => Object.values(row))];
      await navigator.clipboard.writeText(lines.map((line) => line.map((value) => value ?? "").join("\t")).join("\n"));
      said.textContent = "copied";
    }),
    button("CSV", "Download as CSV", () => download(`${name}.csv`, csv(rows), "text/csv")),
    button("JSON", "Download as JSON", () => download(`${name}.json`, `${JSON.stringify(rows, null, 1)}\n`, "application/json")),
    said);
}
