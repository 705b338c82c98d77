// The server: its last answer, and clicks on their way to it. It answers once they are on the disk.

const PAUSE = 1000;
const saved = document.getElementById("saved");

// The page keeps no truth of its own: this is the server's last answer.
export const seen = { state: null, sheet: null };

const unsaved = [];
let sending = false;
/** @type {(note: string) => void} */
let moved = () => {};

// What to do when another person has the desk, or no one.
export function whenMoved(act) {
  moved = act;
}

function browser() {
  let name = localStorage.getItem("browser");
  if (!name) {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    name = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    localStorage.setItem("browser", name);
  }
  return name;
}

async function call(path, body) {
  const headers = { "X-Browser": browser() };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    headers["X-Token"] = seen.state.token;
  }
  const method = body === undefined ? "GET" : "POST";
  const text = body === undefined ? undefined : JSON.stringify(body);
  const response = await fetch(path, { method, headers, body: text });
  const answer = await response.json();
  return { status: response.status, answer };
}

export async function learn() {
  seen.state = (await call("/api/state")).answer;
  seen.sheet = seen.state.sheet;
}

// A call that knows the token of a server started again.
export async function ask(path, body) {
  const first = await call(path, body);
  if (first.status !== 403) return first;
  seen.state.token = (await call("/api/state")).answer.token;
  return call(path, body);
}

export function click(what) {
  unsaved.push(what);
  send();
}

async function send() {
  if (sending) return;
  sending = true;
  while (unsaved.length) {
    say("Saving…");
    try {
      await sendFirst();
    } catch {
      say("Not saved yet: no answer. Trying again.", true);
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }
  sending = false;
}

async function sendFirst() {
  const { status, answer } = await sendOrSitAgain(unsaved[0]);
  if (status === 200) {
    unsaved.shift();
    say("Saved");
  } else if (status === 409) {
    unsaved.length = 0;
    await learn();
    moved(answer.error);
  } else if (status === 400) {
    unsaved.shift();
    say(answer.error, true);
  } else {
    throw new Error(answer.error);
  }
}

// After a restart no one is at the desk; the person who was there goes on.
async function sendOrSitAgain(what) {
  const first = await call("/api/click", what);
  if (first.status !== 403) return first;
  const fresh = (await call("/api/state")).answer;
  seen.state.token = fresh.token;
  if (!fresh.desk) await call("/api/sit", { rater: seen.sheet.rater });
  return call("/api/click", what);
}

export function say(text, trouble = false) {
  saved.textContent = text;
  saved.classList.toggle("trouble", trouble);
}

window.addEventListener("beforeunload", (event) => {
  if (unsaved.length) event.preventDefault();
});

export async function leave() {
  /** @type {HTMLElement | null} */ (document.activeElement)?.blur();
  while (unsaved.length) await new Promise((resolve) => setTimeout(resolve, 50));
  try {
    seen.state = (await ask("/api/leave", {})).answer;
  } catch {
    say("No answer; try again.", true);
    return;
  }
  seen.sheet = null;
  moved("");
}
