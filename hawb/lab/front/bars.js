// The bar above (which cluster, undo, what else there is), the bar of time below, and the legend.

const signs_of = () => [
  ["master", "■", word("master")], ["synchronised", "●", word("mirror or follower")],
  ["unsynchronised", "◔", word("mirror that lacks messages")], ["leader", "⬢", word("leader")],
  ["down", "✕", word("down; hatched: what its disk holds")],
];

class TopBar {
  constructor(choices, ask, more) {
    this.scenario = new Picker(choices, (number) => ask({ do: "open", number }));
    this.undo = make("button", { type: "button", text: word("⟲ undo"), title: word("undo the last action"), onclick: () => ask({ do: "undo" }) });
    this.redo = make("button", { type: "button", text: word("⟳ redo"), title: word("redo the action"), onclick: () => ask({ do: "redo" }) });
    this.more = make("button", { type: "button", text: word("more…"), "aria-haspopup": "menu", onclick: () => more(this.more) });
    this.box = make("div", { class: "hs-bar" }, make("h1", { text: "hawb lab" }), this.scenario.box, this.undo, this.redo, this.more);
  }

  draw(bar) {
    this.scenario.show(bar.title);
    this.undo.hidden = !bar.can_undo;
    this.redo.hidden = !bar.can_redo;
  }
}

class TimeBar {
  constructor(on) {
    this.back = make("button", { type: "button", "aria-label": word("step back"), title: word("go back by one animation, or to the moment before the last step"), onclick: on.back }, "◀");
    this.play = make("button", { type: "button", class: "hs-play", onclick: on.play });
    this.next = make("button", { type: "button", "aria-label": word("step forward"), title: word("go forward by one animation, or to the next step"), onclick: on.next }, "▶");
    this.stay = make("button", { type: "button", class: "hs-quiet", hidden: true, text: word("act here"), title: word("go to this moment: your next action happens here, while messages and votes are still under way"), onclick: on.stay });
    this.moment = make("input", { type: "range", min: 0, "aria-label": word("moment"), title: word("go to any moment of the story") });
    this.moment.addEventListener("change", () => on.look(Number(this.moment.value)));
    this.ticks = make("div", { class: "hs-ticks", "aria-hidden": "true" });
    this.pointed = make("b", { class: "hs-pointed", hidden: true, text: "▾" });
    this.where = make("span", { class: "hs-where" });
    this.box = make("div", { class: "hs-time" }, this.back, this.play, this.next, this.stay, this.where,
      make("div", { class: "hs-moments" }, this.ticks, this.moment));
  }

  draw(bar, player) {
    this.back.disabled = !bar.played && !player.phases.length;
    this.next.disabled = bar.played === bar.steps && player.is_over;
    this.next.title = bar.next ? word("go forward by one animation, or to the next step: {step}", { step: bar.next }) : word("go forward by one animation");
    this.moment.max = bar.moments - 1;
    this.moment.value = bar.position;
    this.moment.setAttribute("aria-valuetext", word("{time} of {end} seconds", { time: bar.time, end: bar.end }));
    this.where.textContent = word("step {played} of {steps} · {time} s", { played: bar.played, steps: bar.steps, time: bar.time });
    const last = Math.max(1, bar.moments - 1);
    const signs = { fault: "✕", cut: "≠", promoted: "▲", lost: "▼" };
    this.last = last;
    this.ticks.replaceChildren(...bar.marks.map(([at, look]) => make("i", { class: `hs-${look}`, style: `left:${(100 * at) / last}%`, text: signs[look] })), this.pointed);
    this.state(bar, player);
  }

  /** Marks a moment; none for null. */
  point(position) {
    this.pointed.hidden = position === null;
    this.pointed.style.left = `${(100 * (position ?? 0)) / this.last}%`;
  }

  /** What the button in the middle does now. */
  state(bar, player) {
    const moving = player.is_moving || player.goes_on;
    const ahead = bar.played < bar.steps || bar.timers;
    this.play.replaceChildren(moving ? word("‖ pause") : ahead || !player.is_over ? word("▶ play") : word("↻ again"));
    this.stay.hidden = player.moment === null;
    this.play.disabled = !moving && !ahead && !player.phases.length;
  }
}

function legend() {
  const items = signs_of().map(([look, sign, text]) => make("li", {}, glyph(look, sign), ` ${text}`));
  const bar = (name, text) => make("li", {}, make("i", { class: `hs-sample hs-${name}`, "aria-hidden": "true" }), ` ${text}`);
  return make("ul", { class: "hs-legend", "aria-label": word("legend") }, ...items, bar("full", word("messages held")), bar("missing", word("missing")),
    bar("gone", word("lost ▼")), bar("changed", word("just changed")));
}
