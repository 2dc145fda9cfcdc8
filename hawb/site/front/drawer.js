// The drawer of the site's lab: a step to be typed, or text to be read.

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
    const text = make("textarea", { rows: 7, spellcheck: "false", "aria-label": word("a step, as written in a scenario file") });
    text.value = typed;
    const play = () => this.send({ do: "step", text: text.value });
    text.addEventListener("keydown", (event) => event.key === "Enter" && event.ctrlKey && play());
    return [
      make("p", { text: word("A step, as written in a scenario file: one key and its value, such as kill: a.") }), text,
      message ? make("p", { class: "hs-answer", role: "alert", text: message }) : null,
      make("button", { type: "button", text: word("play this step"), onclick: play }), make("pre", { class: "hs-none", text: about }),
    ].filter(Boolean);
  }
}
