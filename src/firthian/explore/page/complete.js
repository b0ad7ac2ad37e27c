// An input that completes words: the ARIA combobox pattern, with arrows, Enter and Escape.
import { ask } from "./api.js";
import { h } from "./dom.js";

let fields = 0;

/** Adds completion to an input; `model()` names the model, `onChoose(word)` receives the choice. */
export function completing(input, model, onChoose) {
  const list = h("ul", { class: "options", role: "listbox", id: `options-${++fields}`, "aria-label": "Words", hidden: true });
  for (const [name, value] of Object.entries({
    role: "combobox", autocomplete: "off", autocapitalize: "none", spellcheck: "false", maxlength: "200",
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id,
  })) input.setAttribute(name, value);
  input.after(list);
  let chosen = -1;
  let asking = null;

  const close = () => {
    list.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (word) => {
    asking?.abort();
    input.value = word;
    close();
    if (word) onChoose(word);
  };
  const point = (next) => {
    const options = [...list.children];
    if (!options.length) return;
    chosen = (next + options.length) % options.length;
    options.forEach((option, i) => option.setAttribute("aria-selected", String(i === chosen)));
    input.setAttribute("aria-activedescendant", options[chosen].id);
    options[chosen].scrollIntoView({ block: "nearest" });
  };
  const show = (words) => {
    list.replaceChildren(
      ...words.map((word, i) =>
        h("li", {
          role: "option", id: `${list.id}-${i}`, "aria-selected": "false",
          onPointerdown: (event) => {
            event.preventDefault();
            choose(word);
          },
        }, word),
      ),
    );
    chosen = -1;
    list.hidden = !words.length;
    input.setAttribute("aria-expanded", String(words.length > 0));
  };
  input.addEventListener("input", async () => {
    asking?.abort();
    const prefix = input.value.trim();
    if (!prefix) return close();
    asking = new AbortController();
    try {
      const found = await ask("words", { prefix, model: model() }, { signal: asking.signal });
      if (input.value.trim() === prefix && document.activeElement === input) show(found.words);
    } catch {
      close();
    }
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (list.hidden) return;
      event.preventDefault();
      point(event.key === "ArrowDown" ? chosen + 1 : chosen < 0 ? -1 : chosen - 1);
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(chosen >= 0 ? list.children[chosen].textContent : input.value.trim());
    } else if (event.key === "Escape") {
      close();
    }
  });
  input.addEventListener("blur", close);
  return input;
}

/** A labeled input with completion, for a form in a panel. */
export function wordField(label, value, model, onChoose) {
  const input = h("input", { value: value ?? "", id: `field-${fields + 1}` });
  const field = h("div", { class: "field" }, input);
  completing(input, model, onChoose);
  return { input, element: h("div", { class: "labeled" }, h("label", { for: input.id }, label), field) };
}
