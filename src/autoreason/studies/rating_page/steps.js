// The steps: texts to rate, texts to put in order, and the end.

import { click, leave, seen } from "./desk.js";
import { button, code, fill, heading, make, prose } from "./parts.js";

const TYPING = 400;
const ORDINALS = ["1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th", "10th"];
const main = document.getElementById("main");
const progress = /** @type {HTMLProgressElement} */ (document.getElementById("progress"));

function comment(task, about, label) {
  const name = about ?? String(task);
  const box = make("textarea", {
    id: "comment",
    maxlength: seen.state.max_comment_length,
    rows: 2,
  });
  box.value = seen.sheet.comments[name] ?? "";
  let timer = null;
  const keep = () => {
    clearTimeout(timer);
    if (box.value === (seen.sheet.comments[name] ?? "")) return;
    seen.sheet.comments[name] = box.value;
    click({ type: "commented", task, code: about, text: box.value });
  };
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(keep, TYPING);
  });
  box.addEventListener("change", keep);
  return make("div", {}, make("label", { class: "field", for: "comment" }, label), box);
}

function complete(step) {
  if (step.kind === "ranking") return seen.sheet.rankings[step.task].length === step.codes.length;
  return open(step.codes[0]).length === 0;
}

function open(text) {
  return seen.state.rubric
    .map((line) => line.name)
    .filter((name) => !seen.sheet.scores[text]?.[name]);
}

function go(number) {
  /** @type {HTMLElement | null} */ (document.activeElement)?.blur();
  seen.sheet.step = number;
  click({ type: "went", step: number });
  showStep(number);
}

export function showStep(number) {
  const steps = seen.sheet.plan;
  progress.max = steps.length;
  progress.value = steps.filter(complete).length;
  if (number >= steps.length) showEnd();
  else if (steps[number].kind === "ranking") showRanking(steps[number], number);
  else showText(steps[number], number);
}

function above(step, number) {
  const task =
    seen.state.tasks > 1 ? ` · task ${order().indexOf(step.task) + 1} of ${seen.state.tasks}` : "";
  return make("p", { class: "above" }, `${number + 1} of ${seen.sheet.plan.length}${task}`);
}

function order() {
  return seen.sheet.plan.filter((step) => step.kind === "ranking").map((step) => step.task);
}

function brief(step, number) {
  const first = number === 0 || seen.sheet.plan[number - 1].task !== step.task;
  return make(
    "details",
    { class: "task", open: first && step.kind === "text" },
    make("summary", {}, "The task"),
    prose(seen.sheet.briefs[step.task]),
  );
}

function steering(number, step, remind) {
  let reminded = false;
  const next = button(
    "Next",
    () => {
      if (!complete(step) && !reminded) {
        reminded = true;
        remind();
      } else {
        go(number + 1);
      }
    },
    { class: "main", id: "next" },
  );
  const back = button("Back", () => go(number - 1), { disabled: number === 0 });
  return make("nav", { "aria-label": "Steps" }, back, next);
}

function showText(step, number) {
  const [text] = step.codes;
  const lines = seen.state.rubric.map((line) => scale(text, line));
  const missing = make("p", { class: "note", role: "alert", hidden: true });
  const remind = () => {
    const names = open(text);
    lines.forEach((line) => line.classList.toggle("open", names.includes(line.dataset.line)));
    missing.textContent = `Not rated yet: ${names.join(", ")}. Next once more leaves that open.`;
    missing.hidden = false;
  };
  const panel = make(
    "form",
    { class: "panel", onsubmit: (event) => event.preventDefault() },
    ...lines,
    comment(step.task, text, "Comment, if you like"),
    missing,
    steering(number, step, remind),
    make(
      "p",
      { class: "keys" },
      make("kbd", {}, "1"),
      " to ",
      make("kbd", {}, "5"),
      " rate the marked line, ",
      make("kbd", {}, "Enter"),
      " goes on",
    ),
  );
  fill(
    false,
    make(
      "div",
      { class: "step" },
      make(
        "div",
        { class: "head" },
        above(step, number),
        heading("Text ", code(text)),
        brief(step, number),
      ),
      make(
        "article",
        { class: "paper", "aria-label": `Text ${text}` },
        prose(seen.sheet.texts[text]),
      ),
      panel,
    ),
  );
  mark(text);
}

function scale(text, line) {
  const radios = Object.entries(seen.state.scores).map(([score, label]) => {
    const radio = make("input", {
      type: "radio",
      name: line.name,
      value: score,
      "aria-label": `${score}, ${label}`,
    });
    radio.checked = seen.sheet.scores[text]?.[line.name] === Number(score);
    radio.addEventListener("change", () => rate(text, line.name, Number(score)));
    return make(
      "label",
      {},
      radio,
      make("b", { "aria-hidden": "true" }, score),
      make("small", { "aria-hidden": "true" }, label),
    );
  });
  return make(
    "fieldset",
    { "data-line": line.name, onfocusin: () => markLine(line.name) },
    make("legend", {}, line.name),
    make("p", {}, line.question),
    make("div", { class: "scale" }, ...radios),
  );
}

function rate(text, line, score) {
  (seen.sheet.scores[text] ??= {})[line] = score;
  click({ type: "scored", code: text, line, score });
  progress.value = seen.sheet.plan.filter(complete).length;
  main.querySelector(`fieldset[data-line="${line}"]`).classList.remove("open");
  mark(text);
}

// The line that a digit rates: the first that is open, or the one that Tab or a click leads to.
function mark(text) {
  markLine(open(text)[0]);
}

function markLine(name) {
  for (const line of main.querySelectorAll("fieldset"))
    line.classList.toggle("next", line.dataset.line === name);
}

function showRanking(step, number) {
  const missing = make("p", { class: "note", role: "alert", hidden: true });
  const remind = () => {
    missing.textContent = "Not every text is placed yet. Next once more leaves that open.";
    missing.hidden = false;
  };
  const lists = make("div", {});
  const draw = (focus) => {
    const placed = seen.sheet.rankings[step.task];
    const left = step.codes.filter((each) => !placed.includes(each));
    lists.replaceChildren(
      make(
        "ol",
        { class: "ranked", "aria-label": "Placed, best first" },
        ...placed.map((each, place) => ranked(each, place, placed, change)),
      ),
      make(
        "ul",
        { class: "unplaced", "aria-label": "Not placed yet" },
        ...left.map((each) => unplaced(each, placed, change)),
      ),
    );
    lists.querySelector(focus ?? "none")?.focus();
    progress.value = seen.sheet.plan.filter(complete).length;
    if (!left.length) missing.hidden = true;
  };
  const change = (codes, focus) => {
    seen.sheet.rankings[step.task] = codes;
    click({ type: "ranked", task: step.task, codes });
    draw(focus);
  };
  draw();
  fill(
    true,
    above(step, number),
    heading("Put the texts in order"),
    make("p", {}, "Best first, and no ties: if two are close, choose the one you would hand over."),
    brief(step, number),
    make("h2", {}, "Your order"),
    lists,
    make(
      "div",
      { class: "stack" },
      comment(step.task, null, "Why this order? If you like"),
      missing,
      steering(number, step, remind),
    ),
  );
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
  const tools = make(
    "span",
    { class: "tools", onkeydown },
    button("↑", () => swap(place - 1, "up"), {
      "data-up": text,
      "aria-label": `${text} up`,
      disabled: place === 0,
    }),
    button("↓", () => swap(place + 1, "down"), {
      "data-down": text,
      "aria-label": `${text} down`,
      disabled: place === placed.length - 1,
    }),
    button(
      "✕",
      () =>
        change(
          placed.filter((each) => each !== text),
          `[data-place="${text}"]`,
        ),
      { "aria-label": `Take ${text} out of the order` },
    ),
  );
  return again(text, make("span", { class: "place" }, String(place + 1)), tools);
}

function unplaced(text, placed, change) {
  const place = () => {
    change([...placed, text], ".unplaced [data-place]");
  };
  const label = `Place ${ORDINALS[placed.length]}`;
  const tools = make(
    "span",
    { class: "tools" },
    button(label, place, { "data-place": text, "aria-label": `${label}: ${text}` }),
  );
  return again(text, null, tools);
}

// A text in a list, with its ratings and a way to read it again.
function again(text, before, tools) {
  const overall = seen.sheet.scores[text]?.overall;
  const words = overall ? `overall ${overall}` : "no overall score";
  const item = make("li", {});
  const read = button(
    "Read",
    () => {
      const shown = item.querySelector(".prose");
      if (shown) shown.remove();
      else
        item.append(prose(seen.sheet.texts[text], { tabindex: 0, "aria-label": `Text ${text}` }));
      read.setAttribute("aria-expanded", String(!shown));
    },
    { "aria-expanded": "false", "aria-label": `Read ${text} again` },
  );
  tools.prepend(read);
  const name = make("span", { class: "name" }, code(text), make("span", { class: "faint" }, words));
  item.append(make("div", { class: "row" }, before, name, tools));
  return item;
}

function showEnd() {
  const open = seen.sheet.plan
    .map((step, number) => [step, number])
    .filter(([step]) => !complete(step));
  const finish = () => {
    seen.sheet.finished = true;
    click({ type: "finished" });
    showThanks();
  };
  const todo = open.map(([step, number]) => {
    const what = step.kind === "ranking" ? "the order of the texts" : `text ${step.codes[0]}`;
    return make(
      "li",
      {},
      button(`${number + 1}: ${what}`, () => go(number), { class: "link" }),
    );
  });
  fill(
    true,
    heading(open.length ? "Almost done" : "Everything is rated"),
    make(
      "p",
      {},
      open.length
        ? "Some things are still open. What you leave open is left out of the count, and the rest counts."
        : "You can go back and change anything, or say that you are done.",
    ),
    open.length ? make("ul", { class: "todo" }, ...todo) : null,
    make(
      "nav",
      { "aria-label": "Steps" },
      button("Back", () => go(seen.sheet.plan.length - 1)),
      button("I am done", finish, { class: "main" }),
    ),
  );
}

export function showThanks() {
  progress.hidden = true;
  const done = seen.sheet.plan.filter(complete).length;
  const count =
    done === seen.sheet.plan.length
      ? "Everything you answered"
      : `${done} of ${seen.sheet.plan.length} steps are complete; all of it`;
  fill(
    true,
    heading(`Thank you, ${seen.sheet.rater}`),
    make("p", {}, `${count} is saved. You can close this page.`),
    make("p", {}, "Which text is which stays sealed until the study is over."),
    make(
      "nav",
      {},
      button("Look at my answers again", () => {
        seen.sheet.finished = false;
        progress.hidden = false;
        go(0);
      }),
      button("Next person", leave, { class: "main" }),
    ),
  );
}
