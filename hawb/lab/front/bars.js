// The bar above (which cluster, undo, what else there is), the bar of time below, and the legend.

const SIGNS_OF = [
  ["master", "■", "master"], ["synchronised", "●", "mirror or follower"], ["unsynchronised", "◔", "mirror that lacks some"],
  ["leader", "⬢", "leader"], ["down", "✕", "down, its disk hatched"],
];

class TopBar {
  constructor(choices, ask, more) {
    this.scenario = make("select", { "aria-label": "scenario", title: "the cluster and its story" },
      make("option", { value: "", text: "" }),
      ...choices.map(({ label, heading }, at) => make("option", { value: at, disabled: heading, text: label })));
    this.scenario.addEventListener("change", () => this.scenario.value !== "" && ask({ do: "open", number: Number(this.scenario.value) }));
    this.undo = make("button", { type: "button", text: "⟲ undo", title: "take the last action back", onclick: () => ask({ do: "undo" }) });
    this.redo = make("button", { type: "button", text: "⟳ redo", title: "do again what was taken back", onclick: () => ask({ do: "redo" }) });
    this.more = make("button", { type: "button", text: "more…", "aria-haspopup": "menu", onclick: () => more(this.more) });
    this.box = make("div", { class: "hs-bar" }, make("h1", { text: "hawb lab" }), this.scenario, this.undo, this.redo, this.more);
  }

  draw(bar) {
    this.scenario.options[0].textContent = bar.title;
    this.scenario.value = "";
    this.undo.hidden = !bar.can_undo;
    this.redo.hidden = !bar.can_redo;
  }
}

class TimeBar {
  constructor(on) {
    this.back = make("button", { type: "button", "aria-label": "step back", title: "a movement back, or to before the last step", onclick: on.back }, "◀");
    this.play = make("button", { type: "button", class: "hs-play", onclick: on.play });
    this.next = make("button", { type: "button", "aria-label": "step forward", title: "the next movement, or the next step", onclick: on.next }, "▶");
    this.moment = make("input", { type: "range", min: 0, "aria-label": "moment", title: "any moment of the story" });
    this.moment.addEventListener("change", () => on.look(Number(this.moment.value)));
    this.ticks = make("div", { class: "hs-ticks", "aria-hidden": "true" });
    this.where = make("span", { class: "hs-where" });
    this.box = make("div", { class: "hs-time" }, this.back, this.play, this.next, this.where,
      make("div", { class: "hs-moments" }, this.ticks, this.moment));
  }

  draw(bar, player) {
    this.back.disabled = !bar.played && !player.phases.length;
    this.next.disabled = bar.played === bar.steps && player.is_over;
    this.next.title = bar.next ? `the next movement, or the next step: ${bar.next}` : "the next movement";
    this.moment.max = bar.moments - 1;
    this.moment.value = bar.position;
    this.moment.setAttribute("aria-valuetext", `${bar.time} of ${bar.end} seconds`);
    this.where.textContent = `step ${bar.played} of ${bar.steps} · ${bar.time} s`;
    const last = Math.max(1, bar.moments - 1);
    const signs = { fault: "✕", cut: "≠", promoted: "▲", lost: "▼" };
    this.ticks.replaceChildren(...bar.marks.map(([at, look]) => make("i", { class: `hs-${look}`, style: `left:${(100 * at) / last}%`, text: signs[look] })));
    this.state(bar, player);
  }

  /** What the button in the middle does now. */
  state(bar, player) {
    const moving = player.is_moving || player.goes_on;
    const ahead = bar.played < bar.steps || bar.timers;
    this.play.replaceChildren(moving ? "‖ pause" : ahead || !player.is_over ? "▶ play" : "↻ again");
    this.play.disabled = !moving && !ahead && !player.phases.length;
  }
}

function legend() {
  const items = SIGNS_OF.map(([look, sign, text]) => make("li", {}, glyph(look, sign), ` ${text}`));
  const bar = (name, text) => make("li", {}, make("i", { class: `hs-sample hs-${name}`, "aria-hidden": "true" }), ` ${text}`);
  return make("ul", { class: "hs-legend", "aria-label": "legend" }, ...items, bar("full", "messages held"), bar("missing", "missing"),
    bar("gone", "lost ▼"), bar("changed", "just changed"));
}
