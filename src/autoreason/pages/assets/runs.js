// A list of runs: what is typed, a kind and an outcome choose which rows are seen.

const runs = all("#runs > li");
const typed = /** @type {HTMLInputElement} */ (document.getElementById("words"));
const outcome = /** @type {HTMLSelectElement | null} */ (document.getElementById("outcome"));
const kinds = all("[data-kind]", /** @type {HTMLElement} */ (typed.closest(".filters")));
const found = runs.map((row) => (row.textContent ?? "").toLowerCase());

const filter = () => {
  const words = typed.value.toLowerCase().split(/\s+/);
  const kind = kinds.find((each) => each.ariaPressed === "true")?.dataset.kind;
  runs.forEach((row, at) => {
    const fits = words.every((word) => found[at].includes(word));
    const wanted = !outcome?.value || row.dataset.outcome === outcome.value;
    row.hidden = !(fits && wanted && (!kind || row.dataset.kind === kind));
  });
  const shown = runs.filter((row) => !row.hidden).length;
  const count = /** @type {HTMLElement} */ (document.getElementById("count"));
  count.textContent = `${shown} of ${runs.length} runs`;
  /** @type {HTMLElement} */ (document.getElementById("none")).hidden = shown > 0;
};

/** @param {HTMLElement} chosen */
const chooseKind = (chosen) => {
  for (const each of kinds) each.ariaPressed = String(each === chosen);
  filter();
};

/** @type {HTMLElement} */ (typed.closest(".filters")).hidden = false;
typed.addEventListener("input", filter);
outcome?.addEventListener("change", filter);
for (const each of kinds) each.addEventListener("click", () => chooseKind(each));
document.getElementById("clear")?.addEventListener("click", () => {
  typed.value = "";
  if (outcome) outcome.value = "";
  if (kinds.length) chooseKind(kinds[0]);
  filter();
  typed.focus();
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = /** @type {HTMLElement} */ (event.target);
  if (at.matches("input, select")) {
    if (event.key === "Escape") at.blur();
    return;
  }
  if (event.key === "/") {
    event.preventDefault();
    typed.focus();
  }
  const step = { j: 1, k: -1 }[event.key];
  if (!step) return;
  const links = runs.filter((row) => !row.hidden).map((row) => all("a", row)[0]);
  const here = links.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  links[Math.max(0, Math.min(links.length - 1, here + step))]?.focus();
});
