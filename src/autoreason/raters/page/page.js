"use strict";

// The page keeps no truth of its own: every click goes to the server, which answers once it is on the disk.

const main = document.getElementById("main");
const saved = document.getElementById("saved");
const who = document.getElementById("who");
const leave = document.getElementById("leave");
const progress = document.getElementById("progress");

const PAUSE = 1000;
const POLL = 3000;
const TYPING = 400;
const ORDINALS = ["1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th", "10th"];

let state = null;
let sheet = null;
let waiting = null;
const unsaved = [];
let sending = false;

// ---- the server ----

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
    headers["X-Token"] = state.token;
  }
  const method = body === undefined ? "GET" : "POST";
  const text = body === undefined ? undefined : JSON.stringify(body);
  const response = await fetch(path, { method, headers, body: text });
  const answer = await response.json();
  return { status: response.status, answer };
}

async function learn() {
  state = (await call("/api/state")).answer;
  sheet = state.sheet;
}

// A call that knows the token of a server started again.
async function ask(path, body) {
  const first = await call(path, body);
  if (first.status !== 403) return first;
  state.token = (await call("/api/state")).answer.token;
  return call(path, body);
}

function click(what) {
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
    show(answer.error);
  } else if (status === 400) {
    unsaved.shift();
    say(answer.error, true);
  } else {
    throw new Error(answer.error);
  }
}

// After a restart nobody sits at the desk; whoever was there goes on.
async function sendOrSitAgain(what) {
  const first = await call("/api/click", what);
  if (first.status !== 403) return first;
  const fresh = (await call("/api/state")).answer;
  state.token = fresh.token;
  if (!fresh.desk) await call("/api/sit", { rater: sheet.rater });
  return call("/api/click", what);
}

function say(text, trouble = false) {
  saved.textContent = text;
  saved.classList.toggle("trouble", trouble);
}

window.addEventListener("beforeunload", (event) => {
  if (unsaved.length) event.preventDefault();
});

// ---- building blocks ----

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

// The server escapes every character of a text; what it sends are our own few elements.
function prose(html, attributes = {}) {
  const element = make("div", { class: "prose", ...attributes });
  element.innerHTML = html;
  return element;
}

function button(label, act, attributes = {}) {
  return make("button", { type: "button", onclick: act, ...attributes }, label);
}

function code(name) {
  return make("span", { class: "code" }, name);
}

function comment(task, about, label) {
  const name = about ?? String(task);
  const box = make("textarea", { id: "comment", maxlength: state.longest_comment, rows: 2 });
  box.value = sheet.comments[name] ?? "";
  let timer = null;
  const keep = () => {
    clearTimeout(timer);
    if (box.value === (sheet.comments[name] ?? "")) return;
    sheet.comments[name] = box.value;
    click({ type: "commented", task, code: about, text: box.value });
  };
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(keep, TYPING);
  });
  box.addEventListener("change", keep);
  return make("div", {}, make("label", { class: "field", for: "comment" }, label), box);
}

function fill(narrow, ...children) {
  main.className = narrow ? "narrow" : "";
  main.replaceChildren(...children.filter((child) => child !== null));
  main.removeAttribute("aria-busy");
  window.scrollTo(0, 0);
  main.querySelector("h1")?.focus();
}

function heading(...children) {
  return make("h1", { tabindex: -1 }, ...children);
}

// ---- which page to show ----

function show(note = "") {
  clearTimeout(waiting);
  who.textContent = sheet ? sheet.rater : "";
  leave.hidden = !sheet;
  progress.hidden = !sheet;
  if (!sheet && state.desk) showTaken(note);
  else if (!sheet) showWelcome(note);
  else if (sheet.finished) showThanks();
  else showStep(sheet.step);
}

function noteOf(text) {
  return text ? make("p", { class: "note", role: "alert" }, text) : null;
}

function showWelcome(note) {
  say("");
  const name = make("input", {
    id: "name", type: "text", required: true, maxlength: state.longest_name, autocomplete: "name",
  });
  name.value = state.rater ?? "";
  name.readOnly = state.rater !== null;
  const begin = async (event) => {
    event.preventDefault();
    const { status, answer } = await ask("/api/sit", { rater: name.value });
    if (status === 200) {
      state = answer;
      sheet = state.sheet;
      show();
    } else {
      await learn();
      show(answer.error);
    }
  };
  const texts = `${state.texts} texts` + (state.tasks > 1 ? ` for ${state.tasks} tasks` : " for one task");
  const form = make("form", { class: "begin", onsubmit: begin },
    make("label", { class: "field", for: "name" }, "Your name"),
    make("div", { class: "row" }, name, make("button", { class: "main" }, "Begin")),
    make("p", { class: "faint" }, "If you have begun before, the same name brings you back to where you were."));
  fill(true, noteOf(note), make("p", { class: "above" }, texts), prose(state.instructions), form);
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
  const { rater, last } = state.desk;
  const clock = new Date(last).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const clear = async () => {
    state = (await ask("/api/clear", {})).answer;
    sheet = state.sheet;
    show();
  };
  fill(true, noteOf(note),
    heading(`${rater} is rating now`),
    make("p", {}, `One person rates at a time. This page goes on by itself when ${rater} is done or hands over.`),
    make("p", { class: "faint" }, `Last click at ${clock}.`),
    button(`${rater} has left: free the desk`, clear));
  watch();
}

function watch() {
  waiting = setTimeout(async () => {
    const before = state.desk?.last;
    try {
      await learn();
    } catch {
      watch();
      return;
    }
    if (state.desk && state.desk.last === before) watch();
    else show();
  }, POLL);
}

// ---- steps ----

function complete(step) {
  if (step.kind === "ranking") return sheet.rankings[step.task].length === step.codes.length;
  return open(step.codes[0]).length === 0;
}

function open(text) {
  return state.rubric.map((line) => line.name).filter((name) => !sheet.scores[text]?.[name]);
}

function go(number) {
  document.activeElement?.blur();
  sheet.step = number;
  click({ type: "went", step: number });
  showStep(number);
}

function showStep(number) {
  const steps = sheet.plan;
  progress.max = steps.length;
  progress.value = steps.filter(complete).length;
  if (number >= steps.length) showEnd();
  else if (steps[number].kind === "ranking") showRanking(steps[number], number);
  else showText(steps[number], number);
}

function above(step, number) {
  const task = state.tasks > 1 ? ` · task ${order().indexOf(step.task) + 1} of ${state.tasks}` : "";
  return make("p", { class: "above" }, `${number + 1} of ${sheet.plan.length}${task}`);
}

function order() {
  return sheet.plan.filter((step) => step.kind === "ranking").map((step) => step.task);
}

function brief(step, number) {
  const first = number === 0 || sheet.plan[number - 1].task !== step.task;
  return make("details", { class: "task", open: first && step.kind === "text" },
    make("summary", {}, "The task"), prose(sheet.briefs[step.task]));
}

function steering(number, step, remind) {
  let reminded = false;
  const next = button("Next", () => {
    if (!complete(step) && !reminded) {
      reminded = true;
      remind();
    } else {
      go(number + 1);
    }
  }, { class: "main", id: "next" });
  const back = button("Back", () => go(number - 1), { disabled: number === 0 });
  return make("nav", { "aria-label": "Steps" }, back, next);
}

function showText(step, number) {
  const [text] = step.codes;
  const lines = state.rubric.map((line) => scale(text, line));
  const missing = make("p", { class: "note", role: "alert", hidden: true });
  const remind = () => {
    const names = open(text);
    lines.forEach((line) => line.classList.toggle("open", names.includes(line.dataset.line)));
    missing.textContent = `Not rated yet: ${names.join(", ")}. Next once more leaves that open.`;
    missing.hidden = false;
  };
  const panel = make("form", { class: "panel", onsubmit: (event) => event.preventDefault() },
    ...lines, comment(step.task, text, "Comment, if you like"), missing, steering(number, step, remind),
    make("p", { class: "keys" }, make("kbd", {}, "1"), " to ", make("kbd", {}, "5"), " rate the marked line, ",
      make("kbd", {}, "Enter"), " goes on"));
  fill(false, make("div", { class: "step" },
    make("div", { class: "head" }, above(step, number), heading("Text ", code(text)), brief(step, number)),
    make("article", { class: "paper", "aria-label": `Text ${text}` }, prose(sheet.texts[text])), panel));
  mark(text);
}

function scale(text, line) {
  const radios = Object.entries(state.scores).map(([score, label]) => {
    const radio = make("input", { type: "radio", name: line.name, value: score, "aria-label": `${score}, ${label}` });
    radio.checked = sheet.scores[text]?.[line.name] === Number(score);
    radio.addEventListener("change", () => rate(text, line.name, Number(score)));
    return make("label", {}, radio, make("b", { "aria-hidden": "true" }, score),
      make("small", { "aria-hidden": "true" }, label));
  });
  return make("fieldset", { "data-line": line.name, onfocusin: () => markLine(line.name) },
    make("legend", {}, line.name), make("p", {}, line.question), make("div", { class: "scale" }, ...radios));
}

function rate(text, line, score) {
  (sheet.scores[text] ??= {})[line] = score;
  click({ type: "scored", code: text, line, score });
  progress.value = sheet.plan.filter(complete).length;
  main.querySelector(`fieldset[data-line="${line}"]`).classList.remove("open");
  mark(text);
}

// The line that a digit rates: the first that is open, or the one that Tab or a click leads to.
function mark(text) {
  markLine(open(text)[0]);
}

function markLine(name) {
  for (const line of main.querySelectorAll("fieldset")) line.classList.toggle("next", line.dataset.line === name);
}

function showRanking(step, number) {
  const missing = make("p", { class: "note", role: "alert", hidden: true });
  const remind = () => {
    missing.textContent = "Not every text is placed yet. Next once more leaves that open.";
    missing.hidden = false;
  };
  const lists = make("div", {});
  const draw = (focus) => {
    const placed = sheet.rankings[step.task];
    const left = step.codes.filter((each) => !placed.includes(each));
    lists.replaceChildren(
      make("ol", { class: "ranked", "aria-label": "Placed, best first" },
        ...placed.map((each, place) => ranked(each, place, placed, change))),
      make("ul", { class: "unplaced", "aria-label": "Not placed yet" },
        ...left.map((each) => unplaced(each, placed, change))));
    lists.querySelector(focus ?? "none")?.focus();
    progress.value = sheet.plan.filter(complete).length;
    if (!left.length) missing.hidden = true;
  };
  const change = (codes, focus) => {
    sheet.rankings[step.task] = codes;
    click({ type: "ranked", task: step.task, codes });
    draw(focus);
  };
  draw();
  fill(true, above(step, number), heading("Put the texts in order"),
    make("p", {}, "Best first, and no ties: if two are close, choose the one you would hand over."),
    brief(step, number), make("h2", {}, "Your order"), lists,
    make("div", { class: "stack" }, comment(step.task, null, "Why this order? If you like"), missing,
      steering(number, step, remind)));
}

function ranked(text, place, placed, change) {
  const swap = (other, way) => {
    const codes = [...placed];
    [codes[place], codes[other]] = [codes[other], codes[place]];
    const end = other === 0 || other === codes.length - 1;
    const turned = way === "up" ? "down" : "up";
    change(codes, `[data-${end ? turned : way}="${text}"]`);
  };
  const onkeydown = (event) => {
    const other = place + ({ ArrowUp: -1, ArrowDown: 1 }[event.key] ?? 0);
    if (other === place || other < 0 || other >= placed.length) return;
    event.preventDefault();
    swap(other, event.key === "ArrowUp" ? "up" : "down");
  };
  const tools = make("span", { class: "tools", onkeydown },
    button("↑", () => swap(place - 1, "up"), { "data-up": text, "aria-label": `${text} up`, disabled: place === 0 }),
    button("↓", () => swap(place + 1, "down"),
      { "data-down": text, "aria-label": `${text} down`, disabled: place === placed.length - 1 }),
    button("✕", () => change(placed.filter((each) => each !== text), `[data-place="${text}"]`),
      { "aria-label": `Take ${text} out of the order` }));
  return again(text, make("span", { class: "place" }, String(place + 1)), tools);
}

function unplaced(text, placed, change) {
  const place = () => {
    change([...placed, text], ".unplaced [data-place]");
  };
  const label = `Place ${ORDINALS[placed.length]}`;
  const tools = make("span", { class: "tools" },
    button(label, place, { "data-place": text, "aria-label": `${label}: ${text}` }));
  return again(text, null, tools);
}

// A text in a list, with what was said of it and a way to read it again.
function again(text, before, tools) {
  const overall = sheet.scores[text]?.overall;
  const words = overall ? `overall ${overall}` : "no overall score";
  const item = make("li", {});
  const read = button("Read", () => {
    const shown = item.querySelector(".prose");
    if (shown) shown.remove();
    else item.append(prose(sheet.texts[text], { tabindex: 0, "aria-label": `Text ${text}` }));
    read.setAttribute("aria-expanded", String(!shown));
  }, { "aria-expanded": "false", "aria-label": `Read ${text} again` });
  tools.prepend(read);
  const name = make("span", { class: "name" }, code(text), make("span", { class: "faint" }, words));
  item.append(make("div", { class: "row" }, before, name, tools));
  return item;
}

// ---- the end ----

function showEnd() {
  const open = sheet.plan.map((step, number) => [step, number]).filter(([step]) => !complete(step));
  const finish = () => {
    sheet.finished = true;
    click({ type: "finished" });
    showThanks();
  };
  const todo = open.map(([step, number]) => {
    const what = step.kind === "ranking" ? "the order of the texts" : `text ${step.codes[0]}`;
    return make("li", {}, button(`${number + 1}: ${what}`, () => go(number), { class: "link" }));
  });
  fill(true, heading(open.length ? "Almost done" : "Everything is rated"),
    make("p", {}, open.length
      ? "Some things are still open. What you leave open is left out of the count, and the rest counts."
      : "You can go back and change anything, or say that you are done."),
    open.length ? make("ul", { class: "todo" }, ...todo) : null,
    make("nav", { "aria-label": "Steps" }, button("Back", () => go(sheet.plan.length - 1)),
      button("I am done", finish, { class: "main" })));
}

function showThanks() {
  progress.hidden = true;
  const done = sheet.plan.filter(complete).length;
  const count = done === sheet.plan.length ? "Everything you said" : `${done} of ${sheet.plan.length} steps are complete; all of it`;
  fill(true, heading(`Thank you, ${sheet.rater}`),
    make("p", {}, `${count} is saved. You can close this page.`),
    make("p", {}, "Which text is which stays sealed until the study is over."),
    make("nav", {}, button("Look at my answers again", () => {
      sheet.finished = false;
      progress.hidden = false;
      go(0);
    }), button("Next person", goAway, { class: "main" })));
}

async function goAway() {
  document.activeElement?.blur();
  while (unsaved.length) await new Promise((resolve) => setTimeout(resolve, 50));
  try {
    state = (await ask("/api/leave", {})).answer;
  } catch {
    say("No answer; try again.", true);
    return;
  }
  sheet = null;
  show();
}

leave.addEventListener("click", goAway);

// ---- keys ----

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("textarea, input[type=text]");
  if (!sheet || typing || event.ctrlKey || event.altKey || event.metaKey) return;
  if (/^[1-5]$/.test(event.key)) {
    main.querySelector(`fieldset.next input[value="${event.key}"]`)?.click();
  } else if (event.key === "Enter" && !event.target.closest("button, summary")) {
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

begin();
