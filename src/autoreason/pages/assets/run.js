// The page of a run: which part is seen. What is seen was made with the page, and packed.

/** @type {(id: string) => HTMLElement | null} */
const byId = (id) => document.getElementById(id);

/** Every block of HTML, and of each part how far its blocks are from each other. @type {[string[], string[]]} */
let [blocks, parts] = [[], []];

const unpack = async () => {
  const packed = Uint8Array.from(atob(byId("packed")?.textContent ?? ""), (sign) =>
    sign.charCodeAt(0),
  );
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  [blocks, parts] = await new Response(stream).json();
};

/** @type {(tag: string, ...inside: Node[]) => HTMLElement} */
const make = (tag, ...inside) => {
  const made = document.createElement(tag);
  made.append(...inside);
  return made;
};

/** @param {HTMLElement} place @param {string | undefined} part */
const show = (place, part) => {
  let at = 0;
  for (const [, how, step] of parts[Number(part)].matchAll(/([di]?)(-?\d+)/g)) {
    at += Number(step);
    const made = document.createElement("template");
    made.innerHTML = blocks[at];
    const element = /** @type {HTMLElement} */ (made.content.firstElementChild);
    if (how) element.append(make(how === "d" ? "del" : "ins", ...element.childNodes));
    const list = place.lastElementChild;
    if (element.tagName !== "LI" || place.matches("ol, ul")) place.append(element);
    else if (list?.tagName === "UL") list.append(element);
    else place.append(make("ul", element));
  }
};

/** Put a part into every place that names one. @param {HTMLElement[]} places */
const fill = (places) => {
  for (const place of places) {
    show(place, place.dataset.fill);
    place.removeAttribute("data-fill");
  }
};

document.addEventListener("chosen", (event) => {
  const tab = /** @type {HTMLElement} */ (event.target);
  const panel = byId(tab.getAttribute("aria-controls") ?? "");
  if (panel) fill(all("[data-fill]", panel));
  if (panel === vote && !ballot.round) startVote();
  if (panel === whatIf) showRecount();
  // A click on a button focuses it in most browsers, not in all.
  tab.focus({ preventScroll: true });
});

const copy = byId("copy");
const source = byId("source");
if (copy && navigator.clipboard && source instanceof HTMLTemplateElement) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(source.content.textContent ?? "");
    copy.textContent = "Copied";
  });
}

// ---- film ------------------------------------------------------------------------------------

const slider = /** @type {HTMLInputElement | null} */ (byId("moment"));
let timer = 0;

const showMoment = () => {
  if (!slider) return;
  const at = Number(slider.value);
  const moments = all("#log li");
  const now = moments[at];
  // The moment from which on this is to be seen.
  const seen = moments.findLast((each, number) => number <= at && each.dataset.show);
  const place = now.parentElement?.dataset.place;
  moments.forEach((each, number) => {
    const together = place ? each.parentElement === now.parentElement : number === at;
    each.hidden = number > at || !together;
    each.classList.toggle("now", number === at);
  });
  slider.setAttribute("aria-valuetext", now.textContent ?? "");
  /** @type {HTMLElement} */ (byId("position")).textContent = `${at + 1} of ${moments.length}`;
  const [mark, words] = all("#film-caption > *");
  mark.className = `glyph ${seen?.classList[0]}`;
  [mark.textContent, words.textContent] = (seen?.dataset.caption ?? "").split(/ (.*)/s);
  const shown = /** @type {HTMLElement} */ (byId("film-text"));
  shown.replaceChildren();
  show(shown, seen?.dataset.show);
  const cast = all(".cast:not([hidden])", byId("log") ?? document).length;
  showVotes(/** @type {HTMLElement} */ (byId("film-votes")), place, cast);
};

/** The rankings of a round or a review, as many as were in by then.
 * @param {HTMLElement} place @param {string | undefined} from @param {number} number */
const showVotes = (place, from, number) => {
  place.replaceChildren();
  const grid = from && number ? document.querySelector(`#${from} .bal`) : null;
  if (!grid) return;
  const copied = /** @type {HTMLElement} */ (grid.cloneNode(true));
  const label = (copied.getAttribute("aria-label") ?? "").split("; ").slice(0, number);
  copied.setAttribute("aria-label", label.join("; "));
  [...copied.children].slice(number + 1).forEach((each) => each.remove());
  place.append(copied);
};

const pause = () => {
  clearInterval(timer);
  timer = 0;
  const play = byId("play");
  if (play) play.textContent = "▶ Play";
};

if (slider) {
  slider.addEventListener("input", () => {
    pause();
    showMoment();
  });
  const play = /** @type {HTMLElement} */ (byId("play"));
  play.addEventListener("click", () => {
    if (timer) return pause();
    if (slider.value === slider.max) slider.value = "0";
    play.textContent = "❚❚ Pause";
    timer = setInterval(() => {
      if (slider.value === slider.max) return pause();
      slider.value = String(Number(slider.value) + 1);
      showMoment();
    }, 900);
  });
}

// ---- vote before you look --------------------------------------------------------------------

/** @type {{round: string, votes: Record<string, string[]>}} */
const ballot = { round: "", votes: {} };
const PLACES = ["best", "second", "third", "fourth", "fifth"];

const startVote = () => {
  const choice = /** @type {HTMLSelectElement} */ (byId("vote-round"));
  ballot.round = choice.value;
  ballot.votes[ballot.round] ??= [];
  const place = /** @type {HTMLElement} */ (byId("ballot"));
  place.replaceChildren();
  show(place, choice.selectedOptions[0].dataset.part);
  fill(all("[data-fill]", place));
  showBallot();
};

/** @returns {HTMLElement[]} */
const texts = () => all("#ballot [data-slot]");

const showBallot = () => {
  const picked = ballot.votes[ballot.round];
  const done = picked.length === texts().length;
  texts().forEach((text, number) => {
    const at = picked.indexOf(text.dataset.slot ?? "");
    const [button, said] = all(".pick, .picked", text);
    button.hidden = at >= 0;
    button.textContent = `Text ${number + 1} is ${PLACES[picked.length]}`;
    said.hidden = at < 0;
    said.textContent = `Text ${number + 1}: ${PLACES[at]}${done ? `, ${text.dataset.name}` : ""}`;
  });
  const [said] = all("#ballot .said");
  said.hidden = !done;
  if (done) {
    const first = texts().find((text) => text.dataset.slot === picked[0]);
    const votes = make("div");
    said.replaceChildren(first?.dataset.said ?? "", votes);
    showVotes(votes, all("#ballot .vote")[0].dataset.place, Infinity);
    hideRounds(false);
  }
  const complete = Object.values(ballot.votes).some((each) => each.length > 1);
  const save = /** @type {HTMLButtonElement | null} */ (byId("save"));
  if (save) save.disabled = !complete;
};

/** @param {HTMLElement | undefined} text */
const pick = (text) => {
  const picked = ballot.votes[ballot.round];
  const slot = text?.dataset.slot;
  if (!slot || picked.includes(slot)) return;
  picked.push(slot);
  const left = texts().filter((each) => !picked.includes(each.dataset.slot ?? ""));
  if (left.length === 1) picked.push(left[0].dataset.slot ?? "");
  showBallot();
};

/** @param {boolean} hidden */
const hideRounds = (hidden) => {
  const [story, note, button] = ["story", "hidden-note", "hide"].map(byId);
  if (!story || !note || !button) return;
  story.hidden = hidden;
  note.hidden = !hidden;
  button.textContent = hidden ? "Show the rounds" : "Judge it yourself first";
};

const vote = byId("view-vote");
if (vote) {
  vote.addEventListener("click", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (target.matches(".pick")) {
      pick(/** @type {HTMLElement} */ (target.parentElement));
      vote.focus({ preventScroll: true });
    }
    if (target.id === "again") {
      ballot.votes[ballot.round] = [];
      startVote();
    }
    if (target.id === "save") saveVotes();
  });
  // On its tab, too, which has the focus after a click.
  vote.parentElement?.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (vote.hidden || target.matches("select, input") || !/^[1-9]$/.test(event.key)) return;
    pick(texts()[Number(event.key) - 1]);
  });
  byId("vote-round")?.addEventListener("change", startVote);
  const hide = byId("hide");
  if (hide) hide.hidden = false;
  hide?.addEventListener("click", () => {
    const hidden = !byId("story")?.hidden;
    hideRounds(hidden);
    if (!hidden) return;
    choose(/** @type {HTMLElement} */ (byId("tab-vote")));
    byId("closer-h")?.scrollIntoView();
    vote.focus({ preventScroll: true });
  });
}

const saveVotes = () => {
  const rater = /** @type {HTMLInputElement} */ (byId("rater")).value.trim() || "me";
  const run = vote?.dataset.run ?? "";
  const ranked = Object.entries(ballot.votes).filter(([, slots]) => slots.length > 1);
  const rounds = ranked.map(([round, ranking]) => ({ round: Number(round), ranking }));
  const saved = JSON.stringify({ run, rater, saved: new Date().toISOString(), rounds }, null, 2);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([saved], { type: "application/json" }));
  link.download = `votes-${run}.json`;
  link.click();
  URL.revokeObjectURL(link.href);
};

// ---- what if ---------------------------------------------------------------------------------

const whatIf = byId("view-what-if");
const COUNTED = {
  same: "as recorded",
  more: "kept, and counts",
  fewer: "kept, and does not count",
  parted: "differs: ",
  unknown: "unknown: another text would stand here",
  unrun: "not run",
};

const showRecount = () => {
  if (!whatIf) return;
  const sizes = (whatIf.dataset.sizes ?? "").split(" ").map(Number);
  const chosen = all("input:checked", whatIf).map((each) =>
    Number(/** @type {HTMLInputElement} */ (each).value),
  );
  const place = chosen.reduce((sum, value, at) => sum * sizes[at] + value, 0);
  const number = Number((whatIf.dataset.places ?? "").split(" ")[place]);
  const outcome = all("#outcomes li")[number];
  const until = Number(outcome.dataset.until);
  const parted = outcome.dataset.parted;
  const [more, fewer] = ["more", "fewer"].map((name) => outcome.dataset[name]?.split(" "));
  /** @type {HTMLElement} */ (byId("what-if-said")).textContent = outcome.textContent;
  all("#recount tr").forEach((row, number) => {
    const after = parted ? (number === until ? "parted" : "unknown") : "unrun";
    const at = String(number + 1);
    const same = more?.includes(at) ? "more" : fewer?.includes(at) ? "fewer" : "same";
    const state = number < until ? same : after;
    const cell = all("td", row)[1];
    row.dataset.state = state;
    cell.className = state === "parted" ? "warn" : "muted";
    cell.textContent = COUNTED[state] + (state === "parted" ? parted : "");
  });
};

whatIf?.addEventListener("change", showRecount);

// ---- start -----------------------------------------------------------------------------------

const start = async () => {
  await unpack();
  fill(all("#story > [data-fill], #log, [open] [data-fill]"));
  const opened = (/** @type {Event} */ { target }) => {
    if (target instanceof HTMLDetailsElement) fill(all("[data-fill]", target));
  };
  document.addEventListener("toggle", opened, true);
  showMoment();
  document.documentElement.classList.add("ready");
};
start();
