// Switches beside a story: flip one, and the same story plays again; the one before stays beside it. Below, a grid of all
// the endings, each of which opens its story.

const NOTHING = { forecasts: {}, queue: "" };
const TONES = { lost: "▼", harmed: "◌", well: "✓" };

class Shown {
  constructor() {
    const asked = { menus: false, node: () => {}, queue: () => {}, choose: () => {}, client: () => {} };
    this.picture = new Picture(asked);
    this.caption = make("p", { class: "hs-caption", role: "status" });
    this.player = new Player(this.picture, (text) => { this.caption.textContent = text; }, () => {});
    this.title = make("h2", {});
    this.costs = make("ul", { class: "hw-costs" });
    this.screen = make("div", { class: "hs-screen" }, this.picture.box, this.caption);
    this.causes = make("div", {});
    this.box = make("section", { class: "hw-story" }, this.title, this.costs, this.screen, this.causes);
  }

  draw(title, story, plays) {
    this.title.textContent = [title, ...story.differs].join(" · ");
    this.costs.className = `hw-costs hw-${story.tone}`;
    this.costs.replaceChildren(...story.lines.map((text) =>
      make("li", {}, make("i", { "aria-hidden": "true", text: TONES[story.tone] }), ` ${text}`)));
    this.screen.style.setProperty("--rows", story.after.rows.length);
    this.player.take({ before: story.before, after: story.after, movements: story.movements, bar: NOTHING });
    this.causes.replaceChildren(played_chain(this.player, story.movements, story.chain, this.caption) ?? "");
    if (plays) this.player.play();
    else this.player.show();
  }
}

function render({ model, el }) {
  dictionary = model.get("words");
  el.lang = language = model.get("tag");
  el.classList.add("hawb-lesson", "hs-stage", "hw");
  const switches = make("div", { class: "hw-switches" });
  const [was, now] = [new Shown(), new Shown()];
  const changes = make("p", { class: "hw-changes", role: "status" });
  const again = make("button", { type: "button", text: word("play it again"), onclick: () => now.player.play() });
  const table = make("table", { class: "hw-grid" });
  const grid = make("div", { class: "hw-all", role: "group", "aria-label": word("what each setting leads to") }, table);
  const stories = make("div", { class: "hw-stories" }, was.box, now.box);
  el.replaceChildren(switches, changes, stories, make("div", {}, again), grid);
  keep_keys(el);
  const flip = (setting) => {
    const now = model.get("setting");
    if (Object.entries(setting).every(([key, value]) => now[key] === value)) return; // Python has nothing new to send
    const chosen = new Set(Object.entries(setting).map(([key, value]) => `${key} ${value}`));
    for (const button of switches.querySelectorAll("[data-switch]")) { // at once: Python's story takes longer
      button.setAttribute("aria-pressed", String(chosen.has(button.dataset.switch)));
    }
    grid.setAttribute("aria-busy", "true");
    model.set("setting", setting);
    model.save_changes();
  };

  /** Draws the switches; who had the keyboard on one keeps it there. */
  function draw_switches() {
    const setting = model.get("setting");
    const had = focused(el)?.dataset?.switch;
    switches.replaceChildren(...model.get("switches").map(({ key, label, applies, values }) =>
      make("div", { class: "hw-switch", role: "group", "aria-label": label }, make("span", { text: label }),
        make("span", { class: "hw-values" }, ...values.map(({ value, label: text }) =>
          make("button", { type: "button", "data-switch": `${key} ${value}`, disabled: !applies, text,
            "aria-pressed": String(setting[key] === value), onclick: () => flip({ ...model.get("setting"), [key]: value }) }))))));
    if (had) switches.querySelector(`[data-switch="${CSS.escape(had)}"]`)?.focus({ preventScroll: true });
  }

  function draw_grid() {
    const rows = model.get("grid");
    const had = focused(el)?.dataset?.cell;
    const head = make("tr", {}, make("th", { scope: "col" }), ...(rows[0]?.cells ?? []).map(({ fault }) => make("th", { scope: "col", text: fault })));
    table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows.map(({ label, cells }) =>
      make("tr", {}, make("th", { scope: "row", text: label }), ...cells.map((cell) => make("td", {}, ending(cell, label, flip)))))));
    if (had) table.querySelector(`[data-cell="${CSS.escape(had)}"]`)?.focus({ preventScroll: true });
    reachable(grid);
    grid.removeAttribute("aria-busy");
  }

  let drawn = false;
  function changed() {
    const told = model.get("stories");
    draw_switches();
    if (drawn) grid.setAttribute("aria-busy", "true"); // its endings come later
    was.box.hidden = !told.was;
    if (told.was) was.draw(word("before"), told.was, false);
    now.draw(told.was ? word("after") : word("the story"), told.now, drawn);
    changes.textContent = told.was && !told.changed.length ? word("Nothing changes.") : told.changed.join(" · ");
    drawn = true;
    performance.mark("hawb-drawn"); // for whoever measures from a click to the next painted frame
  }

  const resized = new ResizeObserver(() => [was, now].forEach(({ picture }) => picture.scene && picture.measure()));
  resized.observe(stories);
  model.on("change:stories", changed);
  model.on("change:grid", draw_grid);
  changed();
  draw_grid();
  return () => {
    [was, now].forEach(({ player }) => player.stop());
    resized.disconnect();
    model.off("change:stories", changed);
    model.off("change:grid", draw_grid);
  };
}

/** An ending as a small picture: what each node holds, and the worst of it in words; a click opens its story. */
function ending(cell, label, flip) {
  const bars = cell.held.map((share, at) => draw("g", {},
    draw("rect", { class: "hw-room", x: at * 12, y: 0, width: 9, height: 16 }),
    draw("rect", { class: "hw-held", x: at * 12, y: 16 - 16 * share, width: 9, height: 16 * share })));
  const picture = draw("svg", { viewBox: "-1 -1 35 18", "aria-hidden": "true" }, ...bars);
  return make("button", { type: "button", class: `hw-${cell.tone}`, "data-cell": `${label} ${cell.fault}`, title: cell.told,
    "aria-current": cell.is_now ? "true" : false, "aria-label": `${label}, ${cell.fault}: ${cell.told}`, onclick: () => flip(cell.setting) },
  picture, make("span", {}, make("i", { "aria-hidden": "true", text: TONES[cell.tone] }), ` ${cell.brief}`));
}

export default { render };
