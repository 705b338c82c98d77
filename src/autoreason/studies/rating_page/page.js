// Which page to show, and what keys do.

import { ask, learn, leave, say, seen, whenMoved } from "./desk.js";
import { button, fill, heading, make, noteOf, prose } from "./parts.js";
import { showStep, showThanks } from "./steps.js";

const PAUSE = 1000;
const POLL = 3000;
const main = document.getElementById("main");
const who = document.getElementById("who");
const progress = document.getElementById("progress");
const handOver = document.getElementById("leave");

let waiting = null;

function show(note = "") {
  clearTimeout(waiting);
  who.textContent = seen.sheet ? seen.sheet.rater : "";
  handOver.hidden = !seen.sheet;
  progress.hidden = !seen.sheet;
  if (!seen.sheet && seen.state.desk) showTaken(note);
  else if (!seen.sheet) showWelcome(note);
  else if (seen.sheet.finished) showThanks();
  else showStep(seen.sheet.step);
}

function showWelcome(note) {
  say("");
  const name = make("input", {
    id: "name",
    type: "text",
    required: true,
    maxlength: seen.state.max_name_length,
    autocomplete: "name",
  });
  name.value = seen.state.rater ?? "";
  name.readOnly = seen.state.rater !== null;
  const begin = async (event) => {
    event.preventDefault();
    const { status, answer } = await ask("/api/sit", { rater: name.value });
    if (status === 200) {
      seen.state = answer;
      seen.sheet = seen.state.sheet;
      show();
    } else {
      await learn();
      show(answer.error);
    }
  };
  const texts =
    `${seen.state.texts} texts` +
    (seen.state.tasks > 1 ? ` for ${seen.state.tasks} tasks` : " for one task");
  const form = make(
    "form",
    { class: "begin", onsubmit: begin },
    make("label", { class: "field", for: "name" }, "Your name"),
    make("div", { class: "row" }, name, make("button", { class: "main" }, "Begin")),
    make(
      "p",
      { class: "faint" },
      "If you have begun before, the same name brings you back to where you were.",
    ),
  );
  fill(
    true,
    noteOf(note),
    make("p", { class: "above" }, texts),
    prose(seen.state.instructions),
    form,
  );
  promote();
}

// The first heading of the instructions is the heading of the page.
function promote() {
  const first = main.querySelector(".prose h3");
  if (first) first.replaceWith(heading(first.textContent));
  main.querySelector("h1")?.focus();
}

function showTaken(note) {
  say("");
  const { rater, last } = seen.state.desk;
  const clock = new Date(last).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const clear = async () => {
    seen.state = (await ask("/api/clear", {})).answer;
    seen.sheet = seen.state.sheet;
    show();
  };
  fill(
    true,
    noteOf(note),
    heading(`${rater} is rating now`),
    make(
      "p",
      {},
      `One person rates at a time. This page goes on by itself when ${rater} is done or hands over.`,
    ),
    make("p", { class: "faint" }, `Last click at ${clock}.`),
    button(`${rater} has left: free the desk`, clear),
  );
  watch();
}

function watch() {
  waiting = setTimeout(async () => {
    const before = seen.state.desk?.last;
    try {
      await learn();
    } catch {
      watch();
      return;
    }
    if (seen.state.desk && seen.state.desk.last === before) watch();
    else show();
  }, POLL);
}

document.addEventListener("keydown", (event) => {
  const target = /** @type {Element} */ (event.target);
  const typing = target.closest("textarea, input[type=text]");
  if (!seen.sheet || typing || event.ctrlKey || event.altKey || event.metaKey) return;
  if (/^[1-5]$/.test(event.key)) {
    const choice = main.querySelector(`fieldset.next input[value="${event.key}"]`);
    /** @type {HTMLElement | null} */ (choice)?.click();
  } else if (event.key === "Enter" && !target.closest("button, summary")) {
    const next = document.getElementById("next");
    if (next) {
      event.preventDefault();
      next.click();
    }
  }
});

async function begin() {
  try {
    await learn();
    show();
  } catch {
    say("No answer. Trying again.", true);
    setTimeout(begin, PAUSE);
  }
}

whenMoved(show);
handOver.addEventListener("click", leave);
begin();
