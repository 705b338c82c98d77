"use strict";
// Shared by all pages: tabs with arrow keys, and the switch between light and dark. Nothing is computed here.

/** @type {(selector: string, within?: ParentNode) => HTMLElement[]} */
const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));

/** Show one panel of a row of tabs, as the WAI pattern has it. @param {HTMLElement} tab */
const choose = (tab) => {
  const list = /** @type {HTMLElement} */ (tab.closest("[role=tablist]"));
  for (const each of all("[role=tab]", list)) {
    const chosen = each === tab;
    each.setAttribute("aria-selected", String(chosen));
    each.tabIndex = chosen ? 0 : -1;
    const panel = document.getElementById(each.getAttribute("aria-controls") ?? "");
    if (panel) panel.hidden = !chosen;
  }
  tab.dispatchEvent(new CustomEvent("chosen", { bubbles: true }));
};

document.addEventListener("click", (event) => {
  const target = /** @type {Element} */ (event.target);
  const tab = /** @type {HTMLElement | null} */ (target.closest("[role=tab]"));
  if (tab) choose(tab);
  if (target.closest("#theme")) {
    const root = document.documentElement;
    const dark = matchMedia("(prefers-color-scheme:dark)").matches ? "dark" : "light";
    root.dataset.theme = (root.dataset.theme || dark) === "dark" ? "light" : "dark";
  }
});

document.addEventListener("keydown", (event) => {
  const tab = /** @type {Element} */ (event.target).closest("[role=tab]");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!tab || !step) return;
  const tabs = all("[role=tab]", /** @type {HTMLElement} */ (tab.parentElement));
  const next =
    tabs[(tabs.indexOf(/** @type {HTMLElement} */ (tab)) + step + tabs.length) % tabs.length];
  choose(next);
  next.focus();
});
