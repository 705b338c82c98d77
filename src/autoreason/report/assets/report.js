"use strict";
// Pages of reports: which try is read, and whether its texts or their changes are.

document.addEventListener("click", (event) => {
  const target = /** @type {Element} */ (event.target);
  const button = /** @type {HTMLElement | null} */ (target.closest("[data-try], [data-mode]"));
  const side = /** @type {HTMLElement | null} */ (button?.closest(".side") ?? null);
  if (!button || !side) return;
  const { try: number, mode } = button.dataset;
  if (mode) side.dataset.show = mode;
  for (const each of all(mode ? "[data-mode]" : "[data-try]", side)) {
    const chosen = mode ? each === button : each.dataset.try === number;
    each.setAttribute("aria-pressed", String(chosen));
  }
  if (number) for (const each of all(".try", side)) each.hidden = each.dataset.of !== number;
});
