// The widget: it draws `view` whenever that changes, and sends what a person asks for. Another language is another stage.

function render({ model, el }) {
  const guide = new Guide();
  let leave = stage(model, el, guide);
  const speak = () => {
    leave();
    leave = stage(model, el, guide);
  };
  model.on("change:words", speak);
  return () => {
    model.off("change:words", speak);
    leave();
  };
}

function stage(model, el, guide) {
  dictionary = model.get("words");
  el.lang = language = model.get("tag");
  el.classList.add("hs-stage");
  let view = null;
  let shown = null;
  let sent = 0;
  let held = null;
  /** Sends a message; until the view that answers it is here, the stage is busy. */
  const send = (message) => {
    sent = Math.max(sent, view.answered) + 1;
    held = null;
    el.setAttribute("aria-busy", "true");
    model.send({ ...message, asked: sent });
  };
  const answered = () => {
    if (view.answered < sent) return;
    el.removeAttribute("aria-busy");
    const now = held;
    held = null;
    now?.();
  };
  /** What a press does depends on what is shown: while an answer is under way it waits for that, the last press only. */
  const in_turn = (press) => () => {
    if (view.answered < sent) held = press;
    else press();
  };
  const ask = (message) => {
    player.goes_on = false;
    guide.see({ undo: "undone", try: "tried" }[message.do]);
    send(message);
  };
  /** The groups of a menu with the entries that make sense now, by the list of them in the view. */
  const offered = (name, list) => model.get("menus")[name]
    .map(({ group, entries }) => ({ group, entries: entries.filter(({ entry }) => view.offers.lists[list].includes(entry)) }))
    .filter(({ entries }) => entries.length);
  /** Has Python look what RabbitMQ would refuse of a menu that has opened. */
  const look = (menu_of, name) => menu.is_open && send({ do: "menu", menu: menu_of, name });
  const asked = {
    node: (node, anchor) => {
      menu.open(anchor, word("node {about}", { about: node.label }), offered("node", view.offers.node[node.name]), (entry) => ask({ do: "node", node: node.name, entry }));
      look("node", node.name);
    },
    queue: (row, anchor) => {
      menu.open(anchor, word("queue {about}", { about: row.label }), offered("queue", view.offers.queue[row.queue]), (entry) => ask({ do: "queue", queue: row.queue, entry }));
      look("queue", row.queue);
    },
    choose: (row) => send({ do: "choose", queue: row.queue }),
    client: () => ask({ do: "panel", panel: "Clients" }),
  };
  const picture = new Picture(asked);
  const player = new Player(picture, (caption) => {
    subtitle.textContent = caption;
    log.draw(log_now());
    time.draw(view.bar, player);
  }, (direction) => ended(direction));
  const columns = new Columns(ask, {
    point: (link) => {
      picture.light(link);
      time.point(link?.position ?? null);
      if (!player.is_moving) subtitle.textContent = link?.told ?? player.caption();
    },
    go: (link) => link.position !== null && ask({ do: "look", position: link.position }),
  });
  const log = new LogView(() => send({ do: "choose", queue: "" }));
  const top = new TopBar(model.get("choices"), ask, (anchor) =>
    menu.open(anchor, word("more"), [{ group: word("language"), entries: languages() }, ...offered("more", view.offers.more),
      { group: word("animation"), entries: paces() }], (entry) => chosen(entry)));
  const time = new TimeBar({
    back: in_turn(() => step(-1)),
    next: in_turn(() => step(1)),
    play: () => play(),
    look: (position) => ask({ do: "look", position }),
    stay: () => ask({ do: "look", position: player.moment }),
  });
  const subtitle = make("p", { class: "hs-caption", role: "status" });
  const main = make("div", { class: "hs-main" }, make("div", { class: "hs-screen" }, picture.box, subtitle), log.box);
  el.replaceChildren(top.box, columns.verdict, main, legend(), time.box, columns.box);
  const menu = new Menu(el);
  drawable(picture, (found) => ask({ do: "part", ...found }));

  /** The logs of the chosen queue as they are where the movement stands. */
  const log_now = () => (player.is_over ? view.log : view.logs[Math.floor(player.position)] ?? view.log);
  const now = (is) => (is ? word("as it is now") : "");
  const paces = () => paces_of().map(([name, label, pace]) => ({ entry: { pace }, label, tells: now(pace === player.pace) }));
  /** The languages, the one in force first: whoever presses Enter at once changes nothing. */
  const languages = () => model.get("languages").map(([language, label, tag]) => ({ entry: { language }, label, tells: now(tag === el.lang) }))
    .sort((one, other) => Boolean(other.tells) - Boolean(one.tells));
  const chosen = (entry) => {
    if (entry.pace) player.pace = entry.pace;
    else if (entry.language) ask({ do: "language", ...entry });
    else ask({ do: "more", entry });
  };
  const redraw_columns = () => {
    const card = guide.card(view.guide, () => {
      guide.end();
      redraw_columns();
    });
    columns.draw(view.leads, card, view.bar.position);
    el.classList.toggle("hs-rest", Boolean(card.is_at_rest));
    picture.invite(card.node);
  };

  /** A movement back or forward or, where there is none, a step. */
  function step(direction) {
    player.goes_on = false;
    player.pause();
    if (!player.nudge(direction)) ask({ do: direction < 0 ? "step back" : "step forward" });
  }

  function play() {
    if (player.is_moving || player.goes_on) {
      player.goes_on = false;
      player.pause();
      time.state(view.bar, player);
      return;
    }
    const more = view.bar.played < view.bar.steps || view.bar.timers;
    player.goes_on = Boolean(more);
    if (player.is_over && more) go_on();
    else {
      guide.see("replayed");
      redraw_columns();
      player.play();
    }
    time.state(view.bar, player);
  }

  const go_on = () => send({ do: "play on", seconds: 5 * player.pace });

  function ended(direction) {
    const more = view.bar.played < view.bar.steps || view.bar.timers;
    if (direction > 0 && player.goes_on && more) setTimeout(() => player.goes_on && go_on(), calm() ? 600 : 150);
    else player.goes_on = false;
    time.draw(view.bar, player);
  }

  /** Takes another step up, and plays it if the page has just gone on by it. */
  function take({ at_once, movements, moments, before, still }, here) {
    player.take({ before: before ?? here, after: view.scene, movements, moments, still, bar: view.bar });
    if (at_once && movements.length) player.play();
    else {
      player.show();
      ended(1);
    }
  }

  function changed() {
    const before = shown;
    dictionary = model.get("words");
    language = model.get("tag");
    view = model.get("view");
    if (!view.scene) return;
    shown = view;
    redraw_columns();
    log.draw(log_now());
    el.classList.toggle("hs-with-log", Boolean(view.log));
    el.classList.toggle("hs-many", !view.scene.detailed);
    top.draw(view.bar);
    visit(view.panel);
    if (view.play) take(view.play, before?.scene ?? null);
    else {
      Object.assign(player, { after: view.scene, bar: view.bar });
      if (!player.is_moving) player.show();
    }
    menu.refuse(view.refused);
    answered();
    performance.mark("hawb-drawn"); // for whoever measures from a click to the next painted frame
  }

  /** Takes the focus to a panel that opens, and back to where it was from one that closes. */
  function visit(panel) {
    if (panel === open) return;
    if (panel && !open) left = focused(el);
    open = panel;
    requestAnimationFrame(() => {
      const drawer = el.parentElement?.querySelector(".hawb-drawer");
      if (open && drawer) {
        dress(drawer, { role: "dialog", "aria-label": view.title, lang: el.lang });
        dress(drawer.querySelector(".hawb-drawer-place"), { tabindex: "0", role: "group", "aria-label": view.title });
        drawer.querySelector("button")?.focus({ preventScroll: true });
      }
      else if (left) still(left, el).focus({ preventScroll: true });
    });
  }
  let open = "";
  let left = null;
  const escape = (event) => event.key === "Escape" && open && event.target.closest(".hawb-drawer") && send({ do: "close" });
  document.addEventListener("keydown", escape, true); // before a field of text keeps its keys to itself

  let width = 0;
  const resized = new ResizeObserver(() => {
    keep_keys(el);
    picture.measure();
    if (width !== el.clientWidth && view?.scene) redraw_columns();
    width = el.clientWidth;
  });
  resized.observe(picture.box);
  model.on("change:view", changed);
  changed();
  return () => {
    player.stop();
    model.off("change:view", changed);
    resized.disconnect();
    document.removeEventListener("keydown", escape, true);
  };
}

/** The first minute: what the page has seen of it. Where the story stands, and what is true there, the view tells. */
class Guide {
  constructor() {
    Object.assign(this, { seen: new Set(), over: false });
  }

  see(what) {
    if (what === "undone" && this.seen.has("tried")) this.end();
    if (what) this.seen.add(what);
  }

  end() {
    this.over = true;
  }

  /** The step that the tour stands at; without a text where it is over or has nothing to say. */
  card(told, skip) {
    if (this.over || !told) return {};
    const { phase, texts } = told;
    if (phase !== "lost") this.seen.delete("replayed");
    const [step, number] = phase === "lost" ? (this.seen.has("replayed") ? ["try", 3] : ["lost", 2])
      : this.seen.has("tried") ? ["tried", 4] : phase === "held" ? ["held", 2] : ["open", 1];
    const invites = step === "open" ? { kill: texts.kill, node: told.node, is_at_rest: told.is_at_rest } : {};
    return { now: texts[step], number: whole(number), count: whole(4), skip, ...invites };
  }
}

export default { render };
