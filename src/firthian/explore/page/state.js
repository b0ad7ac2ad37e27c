// What is shown, kept in the address after the #, so that a link brings it back.

const listeners = new Set();

export function read() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** Changes some of the state; `quiet` does not add a step to the browser's history. */
export function change(changes, quiet = false) {
  const next = { ...read(), ...changes };
  for (const key of Object.keys(next)) if (next[key] === "" || next[key] === undefined) delete next[key];
  const hash = `#${new URLSearchParams(next)}`;
  if (hash === location.hash || (hash === "#" && !location.hash)) return;
  history[quiet ? "replaceState" : "pushState"](null, "", hash);
  tell();
}

export function listen(listener) {
  listeners.add(listener);
}

function tell() {
  for (const listener of listeners) listener(read());
}

addEventListener("popstate", tell);
addEventListener("hashchange", tell);
