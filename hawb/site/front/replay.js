// A story that was played: the stage's drawing, gone through step by step. What it needs is in the page.

const REST_MS = 1100; // between two steps, so that what was said can be read
const ENDS = { lost: "messages are lost", harmed: "a queue is out of use", well: "nothing is lost" };
const FAULT_SIGNS = { lost: "▼", fault: "✕", cut: "≠", promoted: "▲" };

/** The columns of a story: there is nothing to be done, and what would have kept something is told. */
class Told extends Columns {
  constructor(on_chain) {
    super(() => {}, on_chain);
    const section = this.box.querySelector(".hs-now");
    section.setAttribute("aria-label", section.querySelector("h2").textContent = "What would have kept the messages");
  }

  can() {
    return [];
  }

  why(leads, at) {
    if (leads.why.length || leads.chains.some((links) => links.length)) return super.why(leads, at);
    return [make("p", { class: "hs-none", text: "If messages are lost or a queue goes out of use, the reason appears here." })];
  }

  now({ kept }) {
    return kept.map(({ what, where, keeps, price }) => make("div", { class: "ws-kept" },
      make("b", { text: what }), where ? make("small", { text: ` ${where}` }) : null,
      make("span", { text: [keeps, price].filter(Boolean).join("; ") })));
  }
}

/** What a reader expects of a story, asked before it is played and compared with its end. */
class Question {
  constructor(story, play) {
    this.end = story.stops.at(-1).verdict.tone;
    this.guess = "";
    this.text = make("p", { role: "status", text: "What do you think happens?" });
    this.buttons = Object.entries(ENDS).map(([tone, text]) => make("button", {
      type: "button", "aria-pressed": "false", onclick: (event) => {
        this.guess = tone;
        for (const button of this.buttons) button.setAttribute("aria-pressed", String(button === event.currentTarget));
        play();
      },
    }, make("i", { class: `hs-${tone}`, "aria-hidden": "true", text: SIGNS[tone] }), ` ${text}`));
    this.box = make("section", { class: "ws-question", "aria-label": "your guess" }, this.text, ...this.buttons);
  }

  /** Says, at the end, whether that was right. */
  draw(is_over) {
    if (!is_over) return;
    for (const button of this.buttons) button.hidden = true;
    if (!this.guess) this.box.hidden = true;
    else if (this.guess === this.end) this.text.textContent = `You were right: ${ENDS[this.end]}.`;
    else this.text.textContent = `You expected: ${ENDS[this.guess]}. What happened: ${ENDS[this.end]}. Read why below.`;
  }
}

/** The steps, each of which can be gone to. The marks of those that were not yet seen would give the end away. */
class Steps {
  constructor(story, go) {
    this.marks = [];
    this.buttons = ["the beginning", ...story.done].map((text, at) => {
      const { mark } = story.stops[at];
      this.marks.push(make("i", { class: mark && `hs-${mark}`, "aria-hidden": "true", text: FAULT_SIGNS[mark] ?? "" }));
      return make("button", { type: "button", onclick: () => go(at) },
        make("span", { class: "ws-number", text: at || "" }), make("span", { text }), this.marks[at]);
    });
    this.box = make("nav", { class: "ws-steps", "aria-label": "steps" },
      make("h2", { text: "Steps" }), make("ol", {}, ...this.buttons.map((button) => make("li", {}, button))));
  }

  draw(at, seen) {
    this.marks.forEach((mark, place) => (mark.hidden = place > seen));
    this.buttons.forEach((button, place) => (place === at ? button.setAttribute("aria-current", "step") : button.removeAttribute("aria-current")));
    const list = this.box.querySelector("ol");
    const { offsetTop: top, offsetHeight: height } = this.buttons[at].parentElement;
    if (top < list.scrollTop || top + height > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 2;
  }
}

class Replay {
  constructor(root, story) {
    Object.assign(this, { root, story, last: story.stops.length - 1, at: -1, seen: 0, queue: "" });
    this.caption = make("p", { class: "hs-caption", role: "status" });
    this.picture = new Picture({
      menus: false,
      node: (node) => this.tell([`${node.label}: ${node.state}`, ...node.trouble, ...node.clients.map((client) => client.told)].join("; ")),
      queue: (row) => this.choose(row),
      choose: (row) => this.choose(row),
      client: (client) => this.tell(client.told),
    });
    this.player = new Player(this.picture, (caption) => {
      this.tell(caption);
      this.show_log();
      this.show_time();
    }, (direction) => this.ended(direction));
    this.time = new TimeBar({
      back: () => this.step(-1), next: () => this.step(1), play: () => this.play(), look: (at) => this.go(at),
    });
    this.columns = new Told({
      point: (link) => {
        this.picture.light(link);
        this.time.point(link?.position ?? null);
        if (!this.player.is_moving) this.tell(link?.told ?? this.player.caption());
      },
      go: (link) => this.go(link.position),
    });
    this.log = new LogView(() => this.choose({ queue: "" }));
    this.steps = new Steps(story, (at) => this.go(at));
    this.question = new Question(story, () => !this.player.is_moving && !this.player.goes_on && this.play());
    const screen = make("div", { class: "hs-main" }, make("div", { class: "hs-screen" }, this.picture.box, this.caption), this.log.box);
    root.classList.add("hs-stage");
    root.replaceChildren(this.question.box, this.columns.verdict, this.steps.box, screen, legend(), this.time.box, this.columns.box);
    new ResizeObserver(() => this.picture.measure()).observe(this.picture.box);
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => this.go(wanted(this.last)));
    this.go(wanted(this.last));
  }

  get stop() {
    return this.story.stops[this.at];
  }

  /** Goes to a stop; `moving` plays what led there. */
  go(at, moving = false) {
    if (!moving) this.player.goes_on = false;
    const before = this.story.stops[at - 1]?.scene ?? null;
    this.at = at;
    this.seen = Math.max(this.seen, at);
    this.player.take({ before, after: this.stop.scene, movements: this.stop.movements, bar: this.bar() });
    this.say();
    if (moving && this.stop.movements.length) this.player.play();
    else {
      this.player.show();
      if (moving) this.ended(1);
    }
    history.replaceState(null, "", `#${at}`);
  }

  say() {
    const { story, stop } = this;
    const kept = this.at === this.last ? story.kept : [];
    const { chains } = this.seen === this.last ? story.stops[this.last] : stop; // before, they would give the end away
    const step = this.at ? story.done[this.at - 1] : "the cluster as it is at the beginning";
    this.columns.draw({ verdict: stop.verdict, step, happened: stop.happened, why: stop.why, chains, now: { kept }, answers: [] }, {}, this.at);
    this.columns.box.classList.toggle("ws-with-kept", kept.length > 0);
    this.steps.draw(this.at, this.seen);
    this.show_log();
    this.root.style.setProperty("--rows", Math.max(1, stop.scene.rows.length));
    this.root.classList.toggle("hs-many", !stop.scene.detailed);
  }

  show_log() {
    const stop = this.player.is_over ? this.stop : this.story.stops[this.at - 1] ?? this.stop;
    const log = stop?.logs[this.queue] ?? null;
    this.log.draw(log);
    this.root.classList.toggle("hs-with-log", Boolean(log));
  }

  choose({ queue, told }) {
    this.queue = this.queue === queue ? "" : queue;
    this.player.bar = this.bar();
    this.player.show();
    this.show_log();
    if (this.queue && told) this.tell(told);
  }

  tell(text) {
    this.caption.textContent = text;
  }

  step(direction) {
    this.player.goes_on = false;
    this.player.pause();
    const next = this.at + direction;
    if (!this.player.nudge(direction) && next >= 0 && next <= this.last) this.go(next);
  }

  play() {
    if (this.player.is_moving || this.player.goes_on) {
      this.player.goes_on = false;
      this.player.pause();
    } else {
      this.player.goes_on = true;
      if (!this.player.is_over) this.player.play();
      else this.go(this.at === this.last ? 0 : this.at + 1, true);
    }
    this.show_time();
  }

  ended(direction) {
    const on = direction > 0 && this.player.goes_on && this.at < this.last;
    if (on) setTimeout(() => this.player.goes_on && this.go(this.at + 1, true), REST_MS / this.player.pace);
    else this.player.goes_on = false;
    this.show_time();
  }

  /** A story can always be played: at its end it begins again. */
  show_time() {
    if (this.at < 0) return;
    this.time.draw(this.bar(), this.player);
    this.time.play.disabled = false;
    this.question.draw(this.seen === this.last && this.player.is_over);
  }

  key(event) {
    const taken = event.target.closest("input, select") || event.ctrlKey || event.metaKey || event.altKey;
    const does = { ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), Home: () => this.go(0), End: () => this.go(this.last) }[event.key];
    if (taken || !does) return;
    event.preventDefault();
    does();
  }

  bar() {
    const { stops } = this.story;
    return {
      queue: this.queue, forecasts: {}, played: this.at, steps: this.last, next: this.story.done[this.at] ?? "", timers: false,
      time: stops[this.at]?.time, end: stops[this.last].time, moments: stops.length, position: this.at,
      marks: stops.flatMap(({ mark }, at) => (mark && at <= this.seen ? [[at, mark]] : [])),
    };
  }
}

/** The stop that the address names; the first step without. */
function wanted(last) {
  const at = location.hash ? Number(location.hash.slice(1)) : 1;
  return Number.isInteger(at) && at >= 0 && at <= last ? at : Math.min(1, last);
}

const root = document.getElementById("replay");
unpacked(document.getElementById("story").textContent).then((story) => {
  window.replay = new Replay(root, story); // for whoever tests or asks from the console
});
