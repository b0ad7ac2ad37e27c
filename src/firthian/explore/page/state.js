// The state of the page, kept in the URL fragment, so that a link restores it.

const listeners = new Set();

export function read() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** Changes parts of the state; `quiet` adds no entry to the browser's history, `silent` tells nobody. */
export function change(changes, quiet = false, silent = false) {
  const next = { ...read(), ...changes };
  for (const key of Object.keys(next)) if (next[key] === "" || next[key] === undefined) delete next[key];
  const hash = `#${new URLSearchParams(next)}`;
  if (hash === location.hash || (hash === "#" && !location.hash)) return;
  history[quiet ? "replaceState" : "pushState"](null, "", hash);
  if (!silent) notify();
}

export function listen(listener) {
  listeners.add(listener);
}

function notify() {
  for (const listener of listeners) listener(read());
}

addEventListener("popstate", notify);
addEventListener("hashchange", notify);
