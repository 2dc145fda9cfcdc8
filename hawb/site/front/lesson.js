// A lesson's page: Python runs the cells in their order, and what they show replaces the stored outputs.

const KEPT = "hawb-answers";
const root = document.getElementById("lesson");
const waiting = document.getElementById("waiting");
const anew = document.getElementById("anew");
const has_engine = root.hasAttribute("data-engine") && location.protocol !== "file:";

/** A widget's values, as its front end knows a model of anywidget. What a reader sets comes back from Python. */
class Model {
  constructor(values, send) {
    Object.assign(this, { values, send, set_here: {}, listeners: [] });
  }

  get(name) {
    return this.values[name];
  }

  set(name, value) {
    this.values[name] = this.set_here[name] = value;
  }

  save_changes() {
    this.send(this.set_here);
    this.set_here = {};
  }

  on(names, listener) {
    this.listeners.push({ names: names.split(" "), listener });
  }

  off(names, listener) {
    this.listeners = this.listeners.filter((one) => one.listener !== listener);
  }

  take(news) {
    Object.assign(this.values, news);
    const changed = Object.keys(news).map((name) => `change:${name}`);
    for (const { names, listener } of [...this.listeners]) if (names.some((name) => changed.includes(name))) listener();
  }
}

function say(text) {
  waiting.textContent = text;
  waiting.hidden = !text;
}

class Page {
  constructor(worker) {
    this.worker = worker;
    this.models = {};
    this.cells = [...document.querySelectorAll(".wl-cell")];
    this.left = this.cells.filter((cell) => !cell.matches(".wl-answer"));
  }

  cell(number) {
    return this.cells.find((one) => one.dataset.cell === number);
  }

  begin() {
    this.worker.postMessage({ address: localStorage.getItem(KEPT) ?? "", language: document.documentElement.lang.slice(0, 2), messages: [] });
    this.next();
  }

  /** Has Python run the next cell; once all have been run, the reader can answer. */
  next() {
    const cell = this.left.shift();
    if (cell) {
      this.run(cell, cell.querySelector(".wl-code code").textContent);
      return;
    }
    say("");
    anew.disabled = false;
    for (const one of document.querySelectorAll(".wl-answer")) {
      const button = one.querySelector("button");
      button.disabled = false;
      button.addEventListener("click", () => {
        button.disabled = true;
        this.run(one, one.querySelector("textarea").value);
      });
    }
  }

  run(cell, code) {
    this.worker.postMessage({ cell: cell.dataset.cell, code });
  }

  take({ cell, shown, changed, answers }) {
    if (shown) this.show(this.cell(cell), shown);
    for (const [widget, news] of Object.entries(changed ?? {})) this.models[widget].take(news);
    if (answers) localStorage.setItem(KEPT, answers);
  }

  show(cell, shown) {
    const out = cell.querySelector(".wl-out");
    out.replaceChildren(...shown.map((one) => this.drawn(one, cell)));
    reachable(out);
    const button = cell.matches(".wl-answer") ? cell.querySelector("button") : null;
    if (button) button.disabled = false;
    else this.next();
  }

  drawn({ kind, text, html, widget, values }, cell) {
    const el = make(kind === "text" ? "pre" : "div");
    if (kind === "text") el.textContent = text;
    if (kind === "html") el.innerHTML = html; // of hawb.lessons.view, which escapes every name
    if (!widget) return el;
    const model = this.models[widget] = new Model(values, (set) => this.worker.postMessage({ widget, set }));
    if (kind === "box") {
      const fill = () => el.replaceChildren(...model.get("children").map((one) => this.drawn(one, cell)));
      model.on("change:children", fill);
      fill();
      return el;
    }
    const unfold = () => {
      if (model.get("over")) document.querySelectorAll(`[data-after="${cell.dataset.cell}"]`).forEach((one) => (one.open = true));
    };
    model.on("change:over", unfold);
    unfold();
    FRONT_ENDS[kind].render({ model, el });
    return el;
  }
}

/** Forgets the guesses and answers of this lesson, whose keys begin with its number. */
function forget() {
  const kept = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
  for (const part of [kept.guesses ?? {}, kept.answers ?? {}]) {
    for (const key of Object.keys(part)) if (key.split("-")[0] === root.dataset.lesson) delete part[key];
  }
  localStorage.setItem(KEPT, JSON.stringify(kept));
  location.reload();
}

function start() {
  say(waiting.dataset.loading);
  const worker = new Worker("../worker.js?lesson", { type: "module" });
  const page = new Page(worker);
  const fail = (error) => say(waiting.dataset.failed.replace("{error}", () => error));
  worker.onerror = (error) => fail(error.message);
  worker.onmessage = ({ data: { ready, failed, state } }) => {
    if (failed) fail(failed);
    if (ready) page.begin();
    if (state) page.take(JSON.parse(state));
  };
  anew.addEventListener("click", forget);
}

reachable(...document.querySelectorAll(".wl-prose table, .wl-out"));
if (has_engine) start();
else document.getElementById("unserved").hidden = false;
