// Building blocks of every page.

const main = document.getElementById("main");

export function make(tag, attributes = {}, ...children) {
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
export function prose(html, attributes = {}) {
  const element = make("div", { class: "prose", ...attributes });
  element.innerHTML = html;
  return element;
}

export function button(label, act, attributes = {}) {
  return make("button", { type: "button", onclick: act, ...attributes }, label);
}

export function code(name) {
  return make("span", { class: "code" }, name);
}

export function fill(narrow, ...children) {
  main.className = narrow ? "narrow" : "";
  main.replaceChildren(...children.filter((child) => child !== null));
  main.removeAttribute("aria-busy");
  window.scrollTo(0, 0);
  main.querySelector("h1")?.focus();
}

export function heading(...children) {
  return make("h1", { tabindex: -1 }, ...children);
}

export function noteOf(text) {
  return text ? make("p", { class: "note", role: "alert" }, text) : null;
}
