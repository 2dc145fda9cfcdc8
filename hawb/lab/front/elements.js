// Elements made of values. Text is only ever set as text, so no name from outside can become part of the page.

let dictionary = {};
let language = "en";

/** A whole number as the language of the page writes it. */
const whole = (number) => number.toLocaleString(language);

/** A text in the language of the page, with `places` in the places that it names. */
function word(text, places = {}) {
  return (dictionary[text] ?? text).replace(/\{(\w+)\}/g, (_, name) => places[name]);
}

const SVG = "http://www.w3.org/2000/svg";

/** Sets attributes: `on…` are listeners, `text` is the text, false and null leave an attribute out. */
function dress(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  return element;
}

/** An element of HTML. Children may be texts; what is no child is left out. */
function make(tag, attributes = {}, ...children) {
  const element = dress(document.createElement(tag), attributes);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An element of SVG. */
function draw(tag, attributes = {}, ...children) {
  const element = dress(document.createElementNS(SVG, tag), attributes);
  element.append(...children);
  return element;
}

/** What has the focus, in the tree that an element is in: marimo has a shadow tree for each widget. */
const focused = (element) => element.getRootNode().activeElement ?? null;

/** Puts other children into an element; who had the focus there leaves it to the element itself. */
function refill(element, ...children) {
  const had = element.contains(focused(element)) && focused(element) !== element;
  element.replaceChildren(...children.filter((child) => child));
  if (had) {
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
  }
}

/** A thing that may have been drawn anew since: itself, or what stands in its place now. */
function still(thing, root) {
  const { place } = thing.dataset;
  return thing.isConnected || !place ? thing : root.querySelector(`[data-place="${CSS.escape(place)}"]`) ?? thing;
}

/** Lets the keyboard reach what has to be scrolled, once it has been laid out; nothing else becomes a stop. */
function reachable(...boxes) {
  requestAnimationFrame(() => {
    for (const box of boxes) {
      if (box.scrollHeight > box.clientHeight || box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else if (box !== focused(box)) box.removeAttribute("tabindex");
    }
  });
}

/** Keeps keys from being commands to the notebook around the lab: in JupyterLab `d d` deletes a cell. Lumino asks from
 * the element with the focus outwards, and commands of a notebook match that element itself (`:focus`): so each that gets
 * the focus says that it keeps its keys. What is clicked beside the controls gives the lab the focus. */
function keep_keys(el) {
  const root = el.closest(".hawb-lab") ?? el;
  root.tabIndex = -1;
  root.addEventListener("focusin", keeps_keys);
  keeps_keys({ target: root });
}

const keeps_keys = ({ target }) => dress(target, { "data-lm-suppress-shortcuts": "true" });

/** Elements by keys: what has not changed stays, what has is made anew, what is not asked for any more goes. */
class Kept {
  constructor(parent) {
    this.parent = parent;
    this.known = new Map();
    this.round = 0;
  }

  begin() {
    this.round += 1;
  }

  /** The element of a key, made by `build` unless its `value` is as it was; `area` is its place in the grid. */
  keep(key, value, area, build) {
    let found = this.known.get(key);
    const signature = found && found.value === value ? found.signature : JSON.stringify(value);
    if (!found || found.signature !== signature) {
      const element = build();
      if (found) {
        const had = found.element.contains(focused(found.element));
        found.element.replaceWith(element);
        if (had) (element.matches("button") ? element : element.querySelector("button"))?.focus({ preventScroll: true });
      } else {
        this.parent.append(element);
      }
      found = { element, area: "" };
      this.known.set(key, found);
    }
    Object.assign(found, { value, signature, round: this.round });
    if (found.area !== area) {
      found.element.style.gridArea = area;
      found.area = area;
    }
    return found.element;
  }

  end() {
    for (const [key, found] of this.known) {
      if (found.round !== this.round) {
        found.element.remove();
        this.known.delete(key);
      }
    }
  }
}

const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
