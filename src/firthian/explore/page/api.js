// Requests to the server. Paths are relative, so that the page also works behind a proxy's path.

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
    throw new ApiError("The server does not respond.", "Is firth explore still running?");
  }
  const body = await answer.json().catch((error) => {
    // An aborted request must not return an empty result.
    if (error.name === "AbortError") throw error;
    return {};
  });
  if (!answer.ok) throw new ApiError(body.error ?? `the server returned status ${answer.status}`, body.hint ?? "");
  return { status: answer.status, body };
}

/** Sends a request, and polls while its job runs; `onProgress` receives the job's progress. */
export async function ask(name, parameters = {}, { signal, onProgress } = {}) {
  for (let pause = 300; ; pause = Math.min(2000, pause * 1.4)) {
    const { status, body } = await once(name, parameters, signal);
    if (status !== 202) return body;
    onProgress?.(body);
    await new Promise((resolve) => setTimeout(resolve, pause));
    if (signal?.aborted) throw new DOMException("aborted", "AbortError");
  }
}
