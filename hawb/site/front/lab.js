// The lab's page where Python runs in a worker: the stage as it is, and a drawer with text.

class TextDrawer {
  constructor(send) {
    this.send = send;
    this.title = make("h2");
    this.close = make("button", { type: "button", text: word("close"), onclick: () => send({ do: "close" }) });
    this.place = make("div", { class: "hawb-drawer-place" });
    this.box = make("section", { class: "hawb-drawer ws-drawer", hidden: true },
      make("div", { class: "ws-title" }, this.title, this.close), this.place);
  }

  draw(drawer) {
    this.box.hidden = !drawer;
    if (!drawer) return;
    this.title.textContent = drawer.title;
    this.close.textContent = word("close");
    this.place.replaceChildren(...("read" in drawer ? [make("pre", { text: drawer.read })] : this.form(drawer)));
  }

  form({ typed, about, message }) {
    const text = make("textarea", { rows: 7, spellcheck: "false", "aria-label": word("a step, as a scenario file has it") });
    text.value = typed;
    const play = () => this.send({ do: "step", text: text.value });
    text.addEventListener("keydown", (event) => event.key === "Enter" && event.ctrlKey && play());
    return [
      make("p", { text: word("A step, as a scenario file has it: one verb and its argument.") }), text,
      message ? make("p", { class: "hs-answer", role: "alert", text: message }) : null,
      make("button", { type: "button", text: word("play this step"), onclick: play }), make("pre", { class: "hs-none", text: about }),
    ].filter(Boolean);
  }
}

const told = {};
const listeners = {};
const waiting = document.getElementById("waiting");
const element = document.getElementById("stage");
if (location.protocol === "file:") {
  waiting.hidden = true;
  document.getElementById("unserved").hidden = false;
} else {
  const worker = new Worker("worker.js", { type: "module" });
  const send = (message) => worker.postMessage(message);
  const off = (name, listener) => { listeners[name] = listeners[name].filter((one) => one !== listener); };
  const drawer = new TextDrawer(send);
  const model = { get: (name) => told[name], on: (name, listener) => (listeners[name] ??= []).push(listener), off, send };
  worker.onmessage = ({ data: { stage, failed, state } }) => {
    if (failed || stage) waiting.textContent = failed ? `This did not work: ${failed}` : stage;
    if (failed) waiting.hidden = false;
    if (!state) return;
    const news = JSON.parse(state);
    Object.assign(told, news);
    if (!told.view) return;
    drawer.draw(told.drawer);
    if (waiting.hidden) Object.keys(news).flatMap((name) => listeners[`change:${name}`] ?? []).forEach((listener) => listener());
    else {
      waiting.hidden = true;
      element.parentElement.append(drawer.box);
      render({ model, el: element });
    }
  };
  worker.onerror = (error) => {
    waiting.textContent = `This did not work: ${error.message}`;
  };
  send({ begin: decodeURIComponent(location.hash.slice(1)) });
}
