// Questions to the server. Paths are relative, so that the page also works behind a proxy's path.

export class ApiError extends Error {
  constructor(message, hint) {
    super(message);
    this.hint = hint;
  }
}

async function once(name, parameters, signal) {
  const query = new URLSearchParams(
    Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== ""),
  );
  let answer;
  try {
    answer = await fetch(`api/${name}?${query}`, { signal, headers: { Accept: "application/json" } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer.", "Is firth explore still running?");
  }
  const body = await answer.json().catch((error) => {
    // Who no longer wants the answer must not get an empty one.
    if (error.name === "AbortError") throw error;
    return {};
  });
  if (!answer.ok) throw new ApiError(body.error ?? `the server said ${answer.status}`, body.hint ?? "");
  return { status: answer.status, body };
}

/** Asks, and asks again while the work goes on; `onProgress` hears how far it is. */
export async function ask(name, parameters = {}, { signal, onProgress } = {}) {
  for (let pause = 300; ; pause = Math.min(2000, pause * 1.4)) {
    const { status, body } = await once(name, parameters, signal);
    if (status !== 202) return body;
    onProgress?.(body);
    await new Promise((resolve) => setTimeout(resolve, pause));
    if (signal?.aborted) throw new DOMException("no longer wanted", "AbortError");
  }
}
